//===- Census.cpp - What an output is full of -----------------------------===//
#include "harness/compare/Census.h"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace tandem;
using namespace tandem::harness;

static constexpr int64_t sampleSize = 4096;

std::string tandem::harness::vacuityText(Vacuity vacuity) {
  switch (vacuity) {
  case Vacuity::Zero:
    return "mostly zero";
  case Vacuity::NaN:
    return "mostly NaN";
  case Vacuity::Constant:
    return "mostly one constant";
  case Vacuity::None:
    break;
  }
  return "";
}

void Census::add(DType type, const std::byte *element) {
  const double value = loadDouble(type, element);
  zeros += value == 0;
  nans += std::isnan(value);
  if (checked++ >= sampleSize)
    return;
  uint64_t bits = 0;
  std::memcpy(&bits, element, dtypeSize(type));
  mostCommon = std::max(mostCommon, ++histogram[bits]);
}

Vacuity Census::vacuity() const {
  if (2 * nans > checked)
    return Vacuity::NaN;
  if (checked < 4)
    return Vacuity::None;
  if (2 * zeros > checked)
    return Vacuity::Zero;
  return 2 * mostCommon > std::min(checked, sampleSize) ? Vacuity::Constant
                                                        : Vacuity::None;
}
