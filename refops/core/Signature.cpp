//===- Signature.cpp - Signature texts and parameter checks ---------------===//
#include "refops/core/Signature.h"

#include "refops/core/IntExpr.h"
#include "refops/core/Spelling.h"

#include <array>
#include <cassert>
#include <charconv>
#include <cmath>

using namespace tandem;

std::string tandem::shapeText(const std::vector<Dim> &shape) {
  std::string dims;
  for (const Dim &dim : shape)
    dims += (dims.empty() ? "" : ", ") + dim.text();
  return "[" + dims + "]";
}

std::string TensorType::describe() const {
  return std::string(dtypeName(dtype)) + shapeText(shape);
}

static std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ')
    text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ')
    text.remove_suffix(1);
  return text;
}

/// The parts of \p text between separators that are not inside brackets.
static std::vector<std::string_view> splitOutside(std::string_view text) {
  std::vector<std::string_view> parts;
  int depth = 0;
  size_t start = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i == text.size() || (text[i] == ',' && depth == 0)) {
      const std::string_view part = trimmed(text.substr(start, i - start));
      if (!part.empty())
        parts.push_back(part);
      start = i + 1;
    } else if (text[i] == '[') {
      ++depth;
    } else if (text[i] == ']') {
      --depth;
    }
  }
  return parts;
}

static SignatureOperand parseOperand(std::string_view text) {
  SignatureOperand operand;
  const size_t colon = text.find(':');
  const size_t open = text.find('[');
  assert(colon != std::string_view::npos && open != std::string_view::npos &&
         text.back() == ']' && "an operand is NAME: CLASS[dims]");
  std::string_view name = trimmed(text.substr(0, colon));
  if (name.ends_with('?'))
    operand.count = SignatureOperand::Count::Optional;
  else if (name.ends_with('*'))
    operand.count = SignatureOperand::Count::OneOrMore;
  operand.isState = name.ends_with('&');
  if (operand.count != SignatureOperand::Count::One || operand.isState)
    name.remove_suffix(1);
  operand.name = name;
  operand.dtypeClass = trimmed(text.substr(colon + 1, open - colon - 1));
  for (std::string_view dim :
       splitOutside(text.substr(open + 1, text.size() - open - 2)))
    operand.dims.emplace_back(dim);
  return operand;
}

static Signature parseSignature(std::string_view text) {
  const size_t arrow = text.find("->");
  assert(arrow != std::string_view::npos && "a signature has an arrow");
  Signature signature;
  for (std::string_view operand : splitOutside(text.substr(0, arrow)))
    signature.operands.push_back(parseOperand(operand));
  for (std::string_view result : splitOutside(text.substr(arrow + 2)))
    signature.results.push_back(parseOperand(result));
  return signature;
}

static std::vector<Signature> parseAlternatives(std::string_view text) {
  std::vector<Signature> alternatives;
  while (true) {
    const size_t bar = text.find('|');
    alternatives.push_back(parseSignature(text.substr(0, bar)));
    if (bar == std::string_view::npos)
      return alternatives;
    text.remove_prefix(bar + 1);
  }
}

const std::vector<Signature> &tandem::signaturesOf(const OpInfo &op) {
  assert(op.defined && "an undefined op has no signature");
  static const std::vector<std::vector<Signature>> parsed = [] {
    std::vector<std::vector<Signature>> all;
    for (const OpInfo &entry : allOps())
      all.push_back(entry.defined ? parseAlternatives(entry.signature)
                                  : std::vector<Signature>());
    return all;
  }();
  return parsed[opIndex(op.code)];
}

const Signature &tandem::signatureOf(const OpInfo &op) {
  return signaturesOf(op).front();
}

namespace {
/// One comparison of a param's range, `value >= 0`.
struct Comparison {
  std::string_view relation;
  double bound;
  bool holds(double value) const {
    if (relation == ">=")
      return value >= bound;
    if (relation == "<=")
      return value <= bound;
    if (relation == ">")
      return value > bound;
    if (relation == "<")
      return value < bound;
    return relation == "==" ? value == bound : value != bound;
  }
};
} // namespace

static Comparison parseComparison(std::string_view text) {
  text = trimmed(text);
  assert(text.starts_with("value") && "a range compares `value`");
  text = trimmed(text.substr(5));
  static constexpr std::array<std::string_view, 6> relations = {
      ">=", "<=", "==", "!=", ">", "<"};
  for (std::string_view relation : relations) {
    if (!text.starts_with(relation))
      continue;
    const std::string_view number = trimmed(text.substr(relation.size()));
    double bound = 0;
    [[maybe_unused]] const auto parsed =
        std::from_chars(number.data(), number.data() + number.size(), bound);
    assert(parsed.ec == std::errc() &&
           parsed.ptr == number.data() + number.size() &&
           "a range compares with a number");
    return {relation, bound};
  }
  assert(false && "a range compares");
  return {"!=", NAN};
}

static bool isInRange(std::string_view range, double value) {
  while (!range.empty()) {
    const size_t conjunction = range.find("&&");
    if (!parseComparison(range.substr(0, conjunction)).holds(value))
      return false;
    if (conjunction == std::string_view::npos)
      break;
    range.remove_prefix(conjunction + 2);
  }
  return true;
}

static bool isChoice(std::string_view choices, std::string_view value,
                     std::vector<std::string_view> &all) {
  bool found = choices.empty();
  while (!choices.empty()) {
    const size_t bar = choices.find('|');
    all.push_back(choices.substr(0, bar));
    found |= all.back() == value;
    choices.remove_prefix(bar == std::string_view::npos ? choices.size()
                                                        : bar + 1);
  }
  return found;
}

static std::string describeValue(const ParamValue &value) {
  if (const bool *b = std::get_if<bool>(&value))
    return *b ? "true" : "false";
  if (const int64_t *i = std::get_if<int64_t>(&value))
    return std::to_string(*i);
  if (const std::string *s = std::get_if<std::string>(&value))
    return quote(*s);
  if (std::holds_alternative<OperandParam>(value))
    return "a value of the recipe";
  std::array<char, 32> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(),
                                 std::get<double>(value));
  return std::string(text.data(), end.ptr);
}

/// What is wrong with \p value, or nothing.
static std::string problemOf(const ParamInfo &info, const ParamValue &value) {
  static constexpr std::array<std::string_view, 4> typeNames = {
      "true or false", "an integer", "a number", "a string"};
  const size_t type = static_cast<size_t>(info.type);
  static_assert(std::variant_size_v<ParamValue> == typeNames.size() + 1);
  if (info.mayBeOperand && std::holds_alternative<OperandParam>(value))
    return {};
  if (value.index() != type)
    return "expected " + std::string(typeNames[type]) + ", got " +
           describeValue(value);
  switch (info.type) {
  case ParamType::Bool:
    return {};
  case ParamType::Int:
    if (!isInRange(info.range, static_cast<double>(std::get<int64_t>(value))))
      break;
    return {};
  case ParamType::Float: {
    // Checked as it is used: rounded to f32.
    const float used = static_cast<float>(std::get<double>(value));
    if (!std::isfinite(used))
      return "expected a finite float32, got " + describeValue(value);
    if (!isInRange(info.range, used))
      break;
    return {};
  }
  case ParamType::String: {
    std::vector<std::string_view> choices;
    const std::string &text = std::get<std::string>(value);
    if (isChoice(info.range, text, choices))
      return {};
    std::string expected;
    for (std::string_view choice : choices)
      expected +=
          (expected.empty() ? "'" : " or '") + std::string(choice) + "'";
    return "expected " + expected + ", got " + quote(text);
  }
  }
  return "expected " + std::string(info.range) + ", got " +
         describeValue(value);
}

Result<void> tandem::checkParams(const OpInfo &op, const Params &params) {
  std::vector<std::string_view> names;
  for (const ParamInfo &info : op.params)
    names.push_back(info.name);
  Error error;
  const std::string place = std::string(op.mnemonic) + ": ";
  for (const auto &[name, value] : params.values) {
    const ParamInfo *info = nullptr;
    for (const ParamInfo &candidate : op.params)
      if (candidate.name == name)
        info = &candidate;
    if (!info) {
      error.messages.push_back(place + "no param is named " + quote(name) +
                               didYouMean(name, names));
      continue;
    }
    const std::string problem = problemOf(*info, value);
    if (!problem.empty())
      error.messages.push_back(place + "param " + quote(name) + ": " + problem);
  }
  for (const ParamInfo &info : op.params)
    if (info.defaultValue == "required" && !params.has(info.name))
      error.messages.push_back(place + "param " +
                               quote(std::string(info.name)) + " is missing");
  if (!error.messages.empty())
    return error;
  return {};
}
