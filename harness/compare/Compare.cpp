//===- Compare.cpp - A kernel's output against its reference --------------===//
#include "harness/compare/Compare.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>

using namespace tandem;
using namespace tandem::harness;

static constexpr double inf = std::numeric_limits<double>::infinity();

static bool hasEqualBits(DType type, const std::byte *bytes, double value) {
  // The reference's value is a double: beyond 2^53 it stands for all int64 that
  // round to it.
  if (type == DType::I64 && std::abs(value) > 0x1p53)
    return loadDouble(type, bytes) == value;
  std::byte expected[8] = {};
  storeDouble(type, value, expected);
  return std::memcmp(bytes, expected, dtypeSize(type)) == 0;
}

bool tandem::harness::isAccepted(DType type, const std::byte *bytes, double ref,
                                 double bound, const CompareRules &rules) {
  const double y = loadDouble(type, bytes);
  if (std::isnan(ref))
    return std::isnan(y);
  if (bound == 0)
    return hasEqualBits(type, bytes, ref) ||
           (!rules.signOfZero && y == 0 && roundTo(type, ref) == 0);
  // ref - bound is itself rounded to double: one step outwards contains it.
  const double low = roundTo(type, std::nextafter(ref - bound, -inf));
  const double high = roundTo(type, std::nextafter(ref + bound, inf));
  return low <= y && y <= high;
}

double tandem::harness::observedRatio(DType type, double y, double ref,
                                      double bound) {
  if (std::isnan(ref) || std::isnan(y))
    return std::isnan(ref) && std::isnan(y) ? 0 : inf;
  const double rounded = roundTo(type, ref);
  if (y == rounded && (bound == 0 || std::isinf(y)))
    return 0;
  if (std::isinf(y) || std::isinf(rounded))
    return inf;
  const double next = nextUp(type, std::abs(rounded));
  // Above the largest finite value there is no spacing; below, the same one.
  const double unit =
      std::isinf(next) || next == std::abs(rounded)
          ? std::abs(rounded) - nextDown(type, std::abs(rounded))
          : next - std::abs(rounded);
  // What saturates is as far away as the largest value.
  const double limit = largestFinite(type);
  return std::abs(y - std::clamp(ref, -limit, limit)) / (bound + unit / 2);
}

static std::string number(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

static std::string place(const std::string &name, const TensorDesc &desc,
                         int64_t linear) {
  std::string index;
  for (size_t i = desc.rank(); i-- > 0;) {
    const int64_t size = std::max<int64_t>(desc.shape[i], 1);
    index = std::to_string(linear % size) + (index.empty() ? "" : ", ") + index;
    linear /= size;
  }
  return name + "[" + index + "]";
}

namespace {
/// Counts elements and remembers the first wrong one.
class Collector {
public:
  Collector(const std::string &name, const refops::Expected &expected,
            const CompareRules &rules, Comparison &result)
      : name(name), expected(expected), rules(rules), result(result) {}

  void wrong(int64_t i, const std::string &kind, const std::string &what) {
    ++result.numWrong;
    if (!result.failure)
      result.failure = Failure{{"result", kind, {}},
                               place(name, expected.desc, i) + ": " + what,
                               ""};
  }

  void checkFloat(int64_t i, const std::byte *bytes, bool isUntouched);
  void checkInteger(int64_t i, const std::byte *bytes, bool isUntouched);
  void checkBytes(int64_t i, const std::byte *bytes, bool isUntouched);

private:
  const std::string &name;
  const refops::Expected &expected;
  const CompareRules &rules;
  Comparison &result;
};
} // namespace

void Collector::checkFloat(int64_t i, const std::byte *bytes,
                           bool isUntouched) {
  const auto at = static_cast<size_t>(i);
  const DType type = expected.desc.dtype;
  const double ref = expected.value[at];
  const double bound = at < expected.error.size() ? expected.error[at] : 0;
  const double y = loadDouble(type, bytes);
  Receipt &receipt = result.receipt;
  receipt.hasBound |= bound > 0;
  result.zerosMatch &= roundTo(type, ref) != 0 || y == 0;
  const bool isMoved =
      expected.isStored && y == ref &&
      (!rules.signOfZero || std::signbit(y) == std::signbit(ref));
  const double ratio = isMoved ? 0 : observedRatio(type, y, ref, bound);
  if (ratio > receipt.ratio || receipt.worst < 0) {
    receipt.ratio = ratio;
    receipt.worst = i;
    receipt.got = y;
    receipt.expected = ref;
    receipt.bound = bound;
  }
  if (isMoved || isAccepted(type, bytes, ref, bound, rules))
    return;
  const char *kind = isUntouched                             ? "unwritten"
                     : std::isnan(y) || std::isnan(ref)      ? "nan"
                     : std::isinf(y) || std::isinf(ref)      ? "inf"
                     : y == roundTo(type, ref) && bound == 0 ? "zero-sign"
                                                             : "value";
  wrong(i, kind,
        "got " + number(y) + ", expected " + number(ref) +
            (bound == 0 ? " exactly" : " within " + number(bound)) +
            " before rounding to " + std::string(dtypeName(type)));
}

void Collector::checkInteger(int64_t i, const std::byte *bytes,
                             bool isUntouched) {
  const auto at = static_cast<size_t>(i);
  const DType type = expected.desc.dtype;
  const int64_t y = loadInteger(type, bytes);
  std::byte rounded[8] = {};
  storeDouble(type, expected.value[at], rounded);
  // Beyond 2^53 a double stands for many int64.
  const int64_t ref = at < expected.integers.size()
                          ? expected.integers[at]
                          : loadInteger(type, rounded);
  bool isRight = y == ref;
  if (at < expected.alternatives.size() && !expected.alternatives[at].empty()) {
    ++result.receipt.nearTies;
    const auto &others = expected.alternatives[at];
    isRight |= std::find(others.begin(), others.end(), y) != others.end();
  }
  if (!isRight)
    wrong(i, isUntouched ? "unwritten" : "value",
          "got " + std::to_string(y) + ", expected " + std::to_string(ref));
}

void Collector::checkBytes(int64_t i, const std::byte *bytes,
                           bool isUntouched) {
  const size_t size = dtypeSize(expected.desc.dtype);
  const std::byte *right = rules.bytes.data() + static_cast<size_t>(i) * size;
  const double value = loadDouble(expected.desc.dtype, right);
  if (std::memcmp(bytes, right, size) == 0 ||
      (!rules.nanPayload && std::isnan(value) &&
       std::isnan(loadDouble(expected.desc.dtype, bytes))))
    return;
  auto hex = [size](const std::byte *element) {
    std::string text = "0x";
    for (size_t b = size; b-- > 0;)
      for (int shift : {4, 0})
        text += "0123456789abcdef"[(std::to_integer<int>(element[b]) >> shift) &
                                   15];
    return text;
  };
  wrong(i, isUntouched ? "unwritten" : "bits",
        "got the bits " + hex(bytes) + ", expected " + hex(right));
}

Comparison tandem::harness::compareOutput(const std::string &name,
                                          const refops::Expected &expected,
                                          std::span<const std::byte> bytes,
                                          std::span<const uint8_t> untouched,
                                          const CompareRules &rules) {
  Comparison result;
  Collector collect(name, expected, rules, result);
  const DType type = expected.desc.dtype;
  const size_t size = dtypeSize(type);
  const int64_t count = expected.desc.numElements();
  result.receipt.output = name;
  result.receipt.elements = count;
  for (int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<size_t>(i);
    const std::byte *element = bytes.data() + at * size;
    const bool isUntouched = at < untouched.size() && untouched[at];
    const uint8_t mark =
        at < expected.unchecked.size() ? expected.unchecked[at] : 0;
    if (mark == 2) {
      if (at < untouched.size() && !untouched[at])
        collect.wrong(i, "touched", "written, but the op leaves it alone");
      continue;
    }
    if (mark == 1) {
      ++result.receipt.unchecked;
      continue;
    }
    result.census.add(type, element);
    if (!rules.bytes.empty())
      collect.checkBytes(i, element, isUntouched);
    else if (isFloat(type))
      collect.checkFloat(i, element, isUntouched);
    else
      collect.checkInteger(i, element, isUntouched);
  }
  return result;
}

std::optional<std::string>
tandem::harness::vacuity(const Comparison &comparison,
                         const std::string &expect) {
  const Vacuity found = comparison.census.vacuity();
  // NaN are always compared exactly; a zero may lie within a bound.
  if (found == Vacuity::None || (found == Vacuity::NaN && expect == "nan") ||
      (found == Vacuity::Zero && expect == "zero" && comparison.zerosMatch))
    return std::nullopt;
  return vacuityText(found);
}
