//===- Element.cpp - Numbers of the tile evaluator, as bits ---------------===//
#include "codegen/evaluate/Element.h"

#include "refops/core/DType.h"

using namespace tandem;
using namespace tandem::evaluate;

int tandem::evaluate::bitsOf(Kind kind) {
  switch (kind) {
  case Kind::I1:
    return 1;
  case Kind::I8:
  case Kind::E4M3:
  case Kind::E5M2:
    return 8;
  case Kind::I16:
  case Kind::F16:
  case Kind::BF16:
    return 16;
  case Kind::I32:
  case Kind::F32:
    return 32;
  case Kind::I64:
  case Kind::F64:
    return 64;
  }
  return 64;
}

bool tandem::evaluate::isFloat(Kind kind) { return kind >= Kind::F16; }

int64_t tandem::evaluate::asSigned(Kind kind, uint64_t bits) {
  const int unused = 64 - bitsOf(kind);
  return int64_t(bits << unused) >> unused;
}

uint64_t tandem::evaluate::truncated(Kind kind, uint64_t bits) {
  const int width = bitsOf(kind);
  return width == 64 ? bits : bits & ((uint64_t(1) << width) - 1);
}

static DType dtypeOf(Kind kind) {
  switch (kind) {
  case Kind::F16:
    return DType::F16;
  case Kind::BF16:
    return DType::BF16;
  case Kind::F32:
    return DType::F32;
  case Kind::E4M3:
    return DType::F8E4M3;
  case Kind::E5M2:
    return DType::F8E5M2;
  default:
    return DType::F64;
  }
}

double tandem::evaluate::toDouble(Kind kind, uint64_t bits) {
  return loadDouble(dtypeOf(kind), &bits); // little-endian hosts only
}

uint64_t tandem::evaluate::roundedTo(Kind kind, double value) {
  if (kind == Kind::F32)
    return fromF32(float(value));
  if (kind == Kind::F64)
    return fromF64(value);
  uint64_t bits = 0;
  storeDouble(dtypeOf(kind), value, &bits);
  return bits;
}

uint64_t tandem::evaluate::intToFloat(Kind to, uint64_t bits, Kind from,
                                      bool isUnsigned) {
  const int64_t value = isUnsigned ? int64_t(bits) : asSigned(from, bits);
  uint64_t result = 0;
  if (isUnsigned && value < 0) {
    // Half of it, rounded to odd, rounds to half of the result.
    storeInteger(dtypeOf(to), int64_t((bits >> 1) | (bits & 1)), &result);
    return roundedTo(to, 2 * toDouble(to, result));
  }
  storeInteger(dtypeOf(to), value, &result);
  return result;
}

uint64_t tandem::evaluate::floatToInt(Kind to, double value, bool isUnsigned) {
  if (std::isnan(value))
    return 0;
  const int width = bitsOf(to);
  const double most = std::ldexp(1.0, isUnsigned ? width : width - 1);
  const double least = isUnsigned ? 0.0 : -most;
  if (value >= most)
    return truncated(to, isUnsigned ? ~uint64_t(0)
                                    : (uint64_t(1) << (width - 1)) - 1);
  if (value <= least)
    return truncated(to, isUnsigned ? 0 : uint64_t(1) << (width - 1));
  const double whole = std::trunc(value);
  return truncated(to, isUnsigned ? uint64_t(whole) : uint64_t(int64_t(whole)));
}
