//===- Values.cpp - Values that find bugs ---------------------------------===//
#include "harness/gen/Values.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>

using namespace tandem;
using namespace tandem::harness;

/// In the order of the table below.
enum class Kind : uint8_t {
  Zero,
  One,
  SmallInt,
  Int,
  OneHot,
  Position,
  Normal,
  Uniform,
  Outlier,
  LargeMean,
  LargeOffset,
  Equal,
  Ties,
  SignedZero,
  Subnormal,
  Largest,
  Negative,
  Logits,
  Steep,
  Codes
};

static constexpr ValueKind kinds[] = {
    {"zero", 1, 1, true},          {"one", 1, 1, true},
    {"small-int", 10, 8, true},    {"int", 8, 6, true},
    {"one-hot", 8, 1, true},       {"position", 8, 8, false},
    {"normal", 24, 40, false},     {"uniform", 6, 10, false},
    {"outlier", 5, 4, false},      {"large-mean", 5, 3, false},
    {"large-offset", 4, 3, false}, {"equal", 1, 1, false},
    {"ties", 4, 3, false},         {"signed-zero", 1, 1, true},
    {"subnormal", 2, 2, false},    {"largest", 1, 2, false},
    {"negative", 4, 3, false},     {"logits", 4, 2, false},
    {"steep", 4, 3, false},        {"codes", 1, 2, false},
};

static constexpr std::string_view patches[] = {
    "none",           "nan",           "plus-inf",
    "minus-inf",      "minus-inf-row", "minus-inf-head",
    "minus-inf-rows", "zero-row"};

std::span<const ValueKind> tandem::harness::valueKinds() { return kinds; }
std::span<const std::string_view> tandem::harness::patchKinds() {
  return patches;
}

static const ValueKind *findKind(std::string_view name) {
  for (const ValueKind &kind : kinds)
    if (kind.name == name)
      return &kind;
  return nullptr;
}

bool tandem::harness::isExact(const ValueSpec &spec) {
  const ValueKind *kind = findKind(spec.kind);
  return kind && kind->isExact &&
         (spec.patch == "none" || spec.patch == "zero-row");
}

ValueSpec tandem::harness::drawValues(Choices &choices, DType type,
                                      bool isReduced, int64_t limit,
                                      bool exact) {
  ValueSpec spec;
  spec.limit = limit;
  std::vector<int> weights;
  if (isInteger(type)) {
    static constexpr std::string_view integerKinds[] = {"zero", "small-int",
                                                        "uniform", "position"};
    spec.kind = integerKinds[choices.pick(
        limit ? std::vector<int>{1, 2, 8, 2} : std::vector<int>{1, 3, 8, 3})];
    spec.seed = choices.draw(uint64_t(1) << 16);
    // An index outside its table is a directed edge case.
    if (limit && choices.rarely(25)) {
      spec.patch = "outside";
      spec.patchAt = choices.draw(4096);
    }
    return spec;
  }
  for (const ValueKind &kind : kinds)
    weights.push_back(exact && !kind.isExact ? 0
                      : isReduced            ? kind.weightReduced
                                             : kind.weightOther);
  spec.kind = kinds[choices.pick(weights)].name;
  if (spec.kind != "zero" && spec.kind != "one")
    spec.seed = choices.draw(uint64_t(1) << 16);
  if (exact)
    return spec;
  const size_t patch = choices.pick({88, 2, 1, 3, 2, 2, 1, 1});
  spec.patch = patches[patch];
  if (patch)
    spec.patchAt = choices.draw(4096);
  return spec;
}

namespace {
/// Where an element is, and the random bits that belong to it.
struct Place {
  uint64_t seed;
  int64_t linear, row, col, numRows, numCols;
  DType type;

  Random random(uint64_t salt = 0) const {
    return Random(mix64(seed + 0x632be59bd9b4e019 * (salt + 1)) ^
                  mix64(static_cast<uint64_t>(linear)));
  }
  /// Random bits that all elements of a row share.
  Random rowRandom(uint64_t salt) const {
    return Random(mix64(seed + 0x632be59bd9b4e019 * (salt + 1)) ^
                  mix64(static_cast<uint64_t>(row) + (uint64_t(1) << 62)));
  }
};
} // namespace

/// Box and Muller 1958; one of the pair.
static double normal(Random random) {
  const double radius = std::sqrt(-2 * std::log(1 - random.uniform()));
  return radius * std::cos(2 * std::numbers::pi * random.uniform());
}

static double integer(Random random, int64_t magnitude) {
  const auto width = static_cast<uint64_t>(2 * magnitude + 1);
  return static_cast<double>(static_cast<int64_t>(random.below(width)) -
                             magnitude);
}

static bool isChosenColumn(const Place &at, uint64_t salt) {
  const auto cols = static_cast<uint64_t>(at.numCols);
  return static_cast<uint64_t>(at.col) == at.rowRandom(salt).below(cols);
}

static double floatValue(Kind kind, const Place &at) {
  switch (kind) {
  case Kind::Zero:
  case Kind::Codes: // written as bits
    return 0;
  case Kind::One:
    return 1;
  case Kind::SmallInt:
    return integer(at.random(), 2);
  case Kind::Int:
    return integer(at.random(), 8);
  case Kind::OneHot:
    return isChosenColumn(at, 1) ? 1 + double(at.random().below(8)) : 0;
  case Kind::Position: { // i * K + j, while the type can tell numbers apart
    const int64_t distinct = at.type == DType::F32    ? 1 << 20
                             : at.type == DType::F16  ? 2048
                             : at.type == DType::BF16 ? 256
                                                      : 16;
    return static_cast<double>(at.linear % distinct);
  }
  case Kind::Normal:
    return normal(at.random());
  case Kind::Uniform:
    return 2 * at.random().uniform() - 1;
  case Kind::Outlier:
    return isChosenColumn(at, 2) ? 1e4 : normal(at.random());
  case Kind::LargeMean: // as large as the type can tell neighbours apart
    return (dtypeSize(at.type) == 1 ? 8 : 100) + normal(at.random());
  case Kind::LargeOffset:
    if (at.type == DType::F32)
      return 1000 + static_cast<double>(at.col % 1000) / 1000;
    return at.type == DType::F16    ? 1000 + static_cast<double>(at.col % 32)
           : at.type == DType::BF16 ? 256 + 2 * static_cast<double>(at.col % 64)
                                    : 16 + 2 * static_cast<double>(at.col % 8);
  case Kind::Equal:
    return normal(Random(at.seed));
  case Kind::Ties: { // the maximum, a zero of either sign, in about a third
    const double tie = static_cast<double>(at.random().below(3)) * 0.5 - 1;
    return tie == 0 && at.random(1).below(2) ? -0.0 : tie;
  }
  case Kind::SignedZero:
    return at.random().below(2) ? -0.0 : 0.0;
  case Kind::Subnormal:
    return integer(at.random(), 7) * smallestSubnormal(at.type);
  case Kind::Largest:
    return at.random().below(2) ? largestFinite(at.type)
                                : -largestFinite(at.type);
  case Kind::Negative:
    return -std::abs(normal(at.random())) * 50 - 1;
  case Kind::Logits: // near -1e5, or what the type has of it
    return at.type == DType::F32    ? normal(at.random()) * 4 - 1e5
           : at.type == DType::BF16 ? normal(at.random()) * 2000 - 1e5
           : at.type == DType::F16  ? normal(at.random()) * 60 - 6e4
                                    : normal(at.random()) * 40 - 200;
  case Kind::Steep:
    return 100 * normal(at.random());
  }
  return 0;
}

static int64_t integerValue(const ValueSpec &spec, const Place &at) {
  if (spec.kind == "zero")
    return 0;
  if (spec.limit > 0) {
    const auto limit = static_cast<uint64_t>(spec.limit);
    if (spec.kind == "small-int")
      return static_cast<int64_t>(
          at.random().below(std::min<uint64_t>(limit, 3)));
    return spec.kind == "position"
               ? at.linear % spec.limit
               : static_cast<int64_t>(at.random().below(limit));
  }
  if (spec.kind == "small-int")
    return static_cast<int64_t>(at.random().below(5)) - 2;
  // Every code of a byte, packed int4 included.
  const bool isByte = dtypeSize(at.type) == 1;
  if (isByte && spec.kind != "small-int") {
    const uint64_t code = spec.kind == "position"
                              ? static_cast<uint64_t>(at.linear)
                              : at.random().next();
    return at.type == DType::I8
               ? static_cast<int64_t>(static_cast<int8_t>(code & 255))
               : static_cast<int64_t>(code & 255);
  }
  if (spec.kind == "position")
    return at.linear;
  // Every magnitude, the extremes included.
  const uint64_t bits = at.random().next();
  return static_cast<int64_t>(bits) >> at.random(1).below(64);
}

/// An index that no table of `limit` rows has; 2^32 + a valid one is what a
/// kernel that reads half of an int64 takes for right.
static int64_t outsideIndex(const ValueSpec &spec, DType type) {
  const int64_t wide[] = {-1, spec.limit, int64_t(1) << 32,
                          std::numeric_limits<int64_t>::min()};
  const int64_t narrow[] = {-1, spec.limit, std::numeric_limits<int32_t>::max(),
                            std::numeric_limits<int32_t>::min()};
  return (type == DType::I64 ? wide : narrow)[spec.seed % 4];
}

static bool isPatched(const ValueSpec &spec, const Place &at) {
  const auto row =
      static_cast<int64_t>(spec.patchAt % static_cast<uint64_t>(at.numRows));
  if (spec.patch == "minus-inf-row" || spec.patch == "zero-row")
    return at.row == row;
  if (spec.patch == "minus-inf-head") // a row whose first tile is masked
    return at.row == row && at.col < std::max<int64_t>(at.numCols / 2, 1);
  if (spec.patch == "minus-inf-rows") // the leading rows
    return at.row <= row;
  return at.linear ==
         static_cast<int64_t>(spec.patchAt %
                              static_cast<uint64_t>(at.numRows * at.numCols));
}

Result<void> tandem::harness::fillValues(const ValueSpec &spec,
                                         const View &view) {
  const int64_t count = view.desc.numElements();
  const DType type = view.desc.dtype;
  const bool isGiven = spec.kind == givenKind && !spec.given.empty();
  const ValueKind *found = isGiven ? kinds : findKind(spec.kind);
  if (!found)
    return Error("values: no kind is named '" + spec.kind + "'");
  const auto kind = static_cast<Kind>(found - kinds);
  bool isKnownPatch = spec.patch == "outside";
  for (std::string_view patch : patches)
    isKnownPatch |= patch == spec.patch;
  if (!isKnownPatch)
    return Error("patch: no kind is named '" + spec.patch + "'");
  if (count == 0)
    return {};
  Place at{.seed = spec.seed,
           .linear = 0,
           .row = 0,
           .col = 0,
           .numRows = 1,
           .numCols = view.desc.rank() ? view.desc.shape.back() : 1,
           .type = type};
  at.numRows = count / at.numCols;
  const double patchValue =
      spec.patch == "nan"        ? std::numeric_limits<double>::quiet_NaN()
      : spec.patch == "plus-inf" ? std::numeric_limits<double>::infinity()
      : spec.patch == "zero-row" ? 0
                                 : -std::numeric_limits<double>::infinity();
  const bool hasPatch = spec.patch != "none";
  const size_t size = dtypeSize(type);
  std::byte *target = view.data;
  for (; at.linear < count; ++at.linear, target += size) {
    at.row = at.linear / at.numCols;
    at.col = at.linear % at.numCols;
    const bool patched = hasPatch && isPatched(spec, at);
    if (isGiven && !patched) {
      storeDouble(
          type, spec.given[static_cast<size_t>(at.linear) % spec.given.size()],
          target);
    } else if (isInteger(type)) {
      storeInteger(type,
                   patched && spec.patch == "outside" ? outsideIndex(spec, type)
                                                      : integerValue(spec, at),
                   target);
    } else if (patched) {
      storeDouble(type, patchValue, target);
    } else if (kind == Kind::Codes) { // bit patterns, NaN payloads included
      const uint64_t bits = size == 1
                                ? static_cast<uint64_t>(at.linear) + spec.seed
                                : at.random().next();
      std::memcpy(target, &bits, size);
    } else {
      storeDouble(type, floatValue(kind, at), target);
    }
  }
  return {};
}
