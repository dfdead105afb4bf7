//===- Case.cpp - What replays a case -------------------------------------===//
#include "harness/case/Case.h"

#include "harness/case/Hash.h"
#include "harness/io/Files.h"
#include "refops/core/JsonText.h"
#include "refops/core/Spelling.h"

#include <charconv>
#include <nlohmann/json.hpp>

using namespace tandem;
using namespace tandem::harness;
using nlohmann::json;

std::string Case::line() const {
  std::string text = scope + ":" + std::to_string(generatorVersion) + ":";
  ChoiceSequence trimmed = choices;
  trimZeros(trimmed);
  for (size_t i = 0; i < trimmed.size(); ++i)
    text += (i ? "." : "") + std::to_string(trimmed[i]);
  return text;
}

std::string Case::name() const { return contentHash(line()).substr(0, 12); }

static Result<Case> badLine(std::string_view line, const std::string &why) {
  return Error("case " + quote(line) + ": " + why);
}

Result<Case> tandem::harness::parseCaseLine(std::string_view line) {
  // A file name may hold colons, so the two last ones count.
  const size_t last = line.rfind(':');
  const size_t middle = last == std::string_view::npos || last == 0
                            ? std::string_view::npos
                            : line.rfind(':', last - 1);
  if (middle == std::string_view::npos || middle == 0)
    return badLine(line, "expected SCOPE:VERSION:CHOICES, e.g. softmax:3:5.31");
  Case result;
  result.scope = line.substr(0, middle);
  const std::string_view version = line.substr(middle + 1, last - middle - 1);
  if (version != std::to_string(generatorVersion))
    return badLine(line, "made by generator version " + quote(version) +
                             ", this is version " +
                             std::to_string(generatorVersion));
  std::string_view rest = line.substr(last + 1);
  while (!rest.empty()) {
    const std::string_view word = rest.substr(0, rest.find('.'));
    uint64_t value = 0;
    const auto [end, code] =
        std::from_chars(word.data(), word.data() + word.size(), value);
    if (code != std::errc() || end != word.data() + word.size())
      return badLine(line, "choice " + std::to_string(result.choices.size()) +
                               ": expected a number, got " + quote(word));
    result.choices.push_back(value);
    rest = word.size() == rest.size() ? "" : rest.substr(word.size() + 1);
  }
  if (result.scope[0] == '@') {
    const std::string path = result.scope.substr(1);
    Result<std::string> text = readFile(path);
    if (!text)
      return text.error();
    Result<Recipe> recipe = readRecipe(*text, path);
    if (!recipe)
      return recipe.error();
    result.recipe = recipe.take();
    return result;
  }
  if (result.scope == "chain")
    return result;
  const OpInfo *op = findOpInfo(result.scope);
  if (!op || !op->defined) {
    const std::string_view near = nearestOpName(result.scope);
    return badLine(line, "no op is named " + quote(result.scope) +
                             (near.empty() ? ""
                                           : "; did you mean '" +
                                                 std::string(near) + "'?"));
  }
  return result;
}

std::string tandem::harness::writeCaseFile(const CaseFile &file) {
  json j = json::object();
  j["tandem_case"] = 1;
  if (!file.note.empty())
    j["note"] = file.note;
  if (!file.failure.empty())
    j["failure"] = file.failure;
  if (!file.line.empty())
    j["line"] = file.line;
  j["spec"] = file.spec;
  return j.dump(1) + "\n";
}

Result<CaseFile> tandem::harness::readCaseFile(std::string_view text,
                                               std::string_view file) {
  const std::string place(file);
  const Result<json> parsed = parseJson(text, file);
  if (!parsed)
    return parsed.error();
  const json &j = *parsed;
  if (!j.is_object())
    return Error(place + ": expected an object, got " + describeJson(j));
  if (!j.contains("tandem_case") || j["tandem_case"] != 1)
    return Error(place +
                 ": tandem_case: expected 1, the version of the format");
  if (!j.contains("spec"))
    return Error(place + ": spec: missing");
  Result<CaseSpec> spec = specFromJson(j["spec"], place + ": spec");
  if (!spec)
    return spec.error();
  CaseFile result;
  result.spec = spec.take();
  for (auto [name, member] :
       {std::pair<const char *, std::string *>{"line", &result.line},
        {"note", &result.note},
        {"failure", &result.failure}}) {
    if (!j.contains(name))
      continue;
    if (!j[name].is_string())
      return Error(place + ": " + name + ": expected a string");
    *member = j[name].get<std::string>();
  }
  return result;
}
