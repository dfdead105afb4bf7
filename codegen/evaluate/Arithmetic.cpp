//===- Arithmetic.cpp - arith and math on whole tiles ---------------------===//
#include "codegen/evaluate/Interpreter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <optional>

using namespace mlir;
using namespace tandem;
using namespace tandem::evaluate;

/// IEEE 754-2019 maximum and minimum: NaN wins, +0 is above -0.
template <typename T>
static T maximum(T x, T y) {
  if (std::isnan(x) || std::isnan(y))
    return std::numeric_limits<T>::quiet_NaN();
  if (x == y)
    return std::signbit(x) ? y : x;
  return x > y ? x : y;
}
template <typename T>
static T minimum(T x, T y) {
  return -maximum(-x, -y);
}

/// A floating-point op on \p x; nothing for an op that is not one.
template <typename T>
static std::optional<T> computeFloat(Operation *op, const T *x) {
  if (isa<arith::AddFOp>(op))
    return x[0] + x[1];
  if (isa<arith::SubFOp>(op))
    return x[0] - x[1];
  if (isa<arith::MulFOp>(op))
    return x[0] * x[1];
  if (isa<arith::DivFOp>(op))
    return x[0] / x[1];
  if (isa<math::FmaOp>(op))
    return std::fma(x[0], x[1], x[2]);
  if (isa<arith::MaximumFOp>(op))
    return maximum(x[0], x[1]);
  if (isa<arith::MinimumFOp>(op))
    return minimum(x[0], x[1]);
  if (isa<arith::MaxNumFOp>(op))
    return std::isnan(x[0])   ? x[1]
           : std::isnan(x[1]) ? x[0]
                              : maximum(x[0], x[1]);
  if (isa<arith::MinNumFOp>(op))
    return std::isnan(x[0])   ? x[1]
           : std::isnan(x[1]) ? x[0]
                              : minimum(x[0], x[1]);
  if (isa<math::FloorOp>(op))
    return std::floor(x[0]);
  if (isa<math::CeilOp>(op))
    return std::ceil(x[0]);
  if (isa<math::RoundEvenOp>(op))
    return std::nearbyint(x[0]); // the rounding mode is never changed
  return std::nullopt;
}

static std::optional<bool> compareFloat(Operation *op, double x, double y) {
  auto compare = dyn_cast<arith::CmpFOp>(op);
  if (!compare)
    return std::nullopt;
  const bool unordered = std::isnan(x) || std::isnan(y);
  // Bits of a predicate: equal, greater, less, unordered; arith's numbering
  // follows them.
  const unsigned predicate = unsigned(compare.getPredicate());
  if (unordered)
    return predicate >> 3 & 1;
  if (x == y)
    return predicate & 1;
  return x > y ? (predicate >> 1 & 1) : (predicate >> 2 & 1);
}

static bool compareIntegers(arith::CmpIPredicate predicate, int64_t x,
                            int64_t y, uint64_t ux, uint64_t uy) {
  switch (predicate) {
  case arith::CmpIPredicate::eq:
    return x == y;
  case arith::CmpIPredicate::ne:
    return x != y;
  case arith::CmpIPredicate::slt:
    return x < y;
  case arith::CmpIPredicate::sle:
    return x <= y;
  case arith::CmpIPredicate::sgt:
    return x > y;
  case arith::CmpIPredicate::sge:
    return x >= y;
  case arith::CmpIPredicate::ult:
    return ux < uy;
  case arith::CmpIPredicate::ule:
    return ux <= uy;
  case arith::CmpIPredicate::ugt:
    return ux > uy;
  case arith::CmpIPredicate::uge:
    return ux >= uy;
  }
  llvm_unreachable("an integer predicate");
}

/// An integer op on elements of \p kind; nothing for an op that is not one.
/// Division by zero and over-long shifts give 0: kernels must not do it.
static std::optional<uint64_t> computeInteger(Operation *op, Kind kind,
                                              const uint64_t *u) {
  const int64_t x = asSigned(kind, u[0]);
  const int64_t y = op->getNumOperands() > 1 ? asSigned(kind, u[1]) : 0;
  const bool dividesBadly =
      !y || (y == -1 && x == std::numeric_limits<int64_t>::min());
  const bool shiftsFar = u[1] >= uint64_t(bitsOf(kind));
  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    return compareIntegers(compare.getPredicate(), x, y, u[0], u[1]);
  if (isa<arith::AddIOp>(op))
    return u[0] + u[1];
  if (isa<arith::SubIOp>(op))
    return u[0] - u[1];
  if (isa<arith::MulIOp>(op))
    return u[0] * u[1];
  if (isa<arith::DivSIOp>(op))
    return dividesBadly ? 0 : uint64_t(x / y);
  if (isa<arith::RemSIOp>(op))
    return dividesBadly ? 0 : uint64_t(x % y);
  if (isa<arith::DivUIOp>(op))
    return u[1] ? u[0] / u[1] : 0;
  if (isa<arith::RemUIOp>(op))
    return u[1] ? u[0] % u[1] : 0;
  if (isa<arith::AndIOp>(op))
    return u[0] & u[1];
  if (isa<arith::OrIOp>(op))
    return u[0] | u[1];
  if (isa<arith::XOrIOp>(op))
    return u[0] ^ u[1];
  if (isa<arith::ShLIOp>(op))
    return shiftsFar ? 0 : u[0] << u[1];
  if (isa<arith::ShRUIOp>(op))
    return shiftsFar ? 0 : u[0] >> u[1];
  if (isa<arith::ShRSIOp>(op))
    return shiftsFar ? 0 : uint64_t(x >> u[1]);
  if (isa<arith::MaxSIOp>(op))
    return uint64_t(std::max(x, y));
  if (isa<arith::MinSIOp>(op))
    return uint64_t(std::min(x, y));
  if (isa<arith::MaxUIOp>(op))
    return std::max(u[0], u[1]);
  if (isa<arith::MinUIOp>(op))
    return std::min(u[0], u[1]);
  return std::nullopt;
}

/// Ops that move or flip bits of any type.
static std::optional<uint64_t> computeBits(Operation *op, Kind kind,
                                           const uint64_t *u) {
  const uint64_t sign = uint64_t(1) << (bitsOf(kind) - 1);
  if (isa<arith::SelectOp>(op))
    return u[0] ? u[1] : u[2];
  if (isa<arith::NegFOp>(op))
    return u[0] ^ sign;
  if (isa<math::AbsFOp>(op))
    return u[0] & ~sign;
  if (isa<math::CopySignOp>(op))
    return (u[0] & ~sign) | (u[1] & sign);
  return std::nullopt;
}

LogicalResult Interpreter::runArithmetic(Operation *op) {
  if (isa<arith::ExtFOp, arith::TruncFOp, arith::SIToFPOp, arith::UIToFPOp,
          arith::FPToSIOp, arith::FPToUIOp, arith::ExtSIOp, arith::ExtUIOp,
          arith::TruncIOp, arith::BitcastOp, arith::IndexCastOp,
          arith::IndexCastUIOp>(op))
    return runConversion(op);
  StringRef dialect = op->getName().getDialectNamespace();
  if ((dialect != "arith" && dialect != "math") || op->getNumResults() != 1 ||
      op->getNumOperands() == 0 || op->getNumOperands() > 3)
    return fail(op, "the evaluator does not know this op");
  Tile result = shaped(op->getResult(0).getType());
  SmallVector<const Tile *, 3> x;
  for (Value operand : op->getOperands())
    x.push_back(&get(operand));
  const Kind kind = x.back()->kind; // a select's first operand is i1
  for (size_t i = 0; i < result.bits.size(); ++i) {
    uint64_t u[3] = {0, 0, 0};
    for (size_t k = 0; k < x.size(); ++k)
      u[k] = x[k]->bits.size() == 1 ? x[k]->bits[0] : x[k]->bits[i];
    std::optional<uint64_t> bits = computeBits(op, kind, u);
    if (!bits && kind == Kind::F32) {
      const float f[3] = {asF32(u[0]), asF32(u[1]), asF32(u[2])};
      if (std::optional<float> value = computeFloat(op, f))
        bits = fromF32(*value);
      else if (std::optional<bool> test = compareFloat(op, f[0], f[1]))
        bits = *test;
    } else if (!bits && kind == Kind::F64) {
      const double f[3] = {asF64(u[0]), asF64(u[1]), asF64(u[2])};
      if (std::optional<double> value = computeFloat(op, f))
        bits = fromF64(*value);
      else if (std::optional<bool> test = compareFloat(op, f[0], f[1]))
        bits = *test;
    } else if (!bits && !isFloat(kind)) {
      bits = computeInteger(op, kind, u);
    }
    if (!bits)
      return fail(op, "the evaluator does not know this op on these types");
    result.bits[i] = truncated(result.kind, *bits);
  }
  set(op->getResult(0), std::move(result));
  return success();
}

LogicalResult Interpreter::runConversion(Operation *op) {
  const Tile &x = get(op->getOperand(0));
  Tile result = shaped(op->getResult(0).getType());
  const Kind from = x.kind, to = result.kind;
  for (size_t i = 0; i < result.bits.size(); ++i) {
    const uint64_t u = x.bits[i];
    uint64_t bits = u;
    if (isa<arith::ExtFOp>(op) && from == Kind::BF16 && to == Kind::F32)
      bits = u << 16; // a shift, so that NaNs keep their payload
    else if (isa<arith::ExtFOp, arith::TruncFOp>(op))
      bits = roundedTo(to, toDouble(from, u));
    else if (isa<arith::SIToFPOp>(op))
      bits = intToFloat(to, u, from, false);
    else if (isa<arith::UIToFPOp>(op))
      bits = intToFloat(to, u, from, true);
    else if (isa<arith::FPToSIOp>(op))
      bits = floatToInt(to, toDouble(from, u), false);
    else if (isa<arith::FPToUIOp>(op))
      bits = floatToInt(to, toDouble(from, u), true);
    else if (isa<arith::ExtSIOp, arith::IndexCastOp>(op))
      bits = uint64_t(asSigned(from, u));
    result.bits[i] = truncated(to, bits);
  }
  set(op->getResult(0), std::move(result));
  return success();
}

LogicalResult Interpreter::runConstant(Operation *op) {
  Attribute value = cast<arith::ConstantOp>(op).getValue();
  Tile result = shaped(op->getResult(0).getType());
  auto bitsOfAttr = [](Attribute attribute) {
    if (auto number = dyn_cast<FloatAttr>(attribute))
      return number.getValue().bitcastToAPInt().getZExtValue();
    return cast<IntegerAttr>(attribute).getValue().getZExtValue();
  };
  if (auto dense = dyn_cast<DenseElementsAttr>(value)) {
    if (!dense.isSplat())
      return fail(op, "a tile constant has one value for all elements");
    value = dense.getSplatValue<Attribute>();
  }
  std::fill(result.bits.begin(), result.bits.end(), bitsOfAttr(value));
  set(op->getResult(0), std::move(result));
  return success();
}

/// Each function in double, rounded once: the nearest member of the
/// instruction's envelope.
LogicalResult Interpreter::runApprox(tile::ApproxOp op) {
  Tile result = get(op.getValue());
  for (uint64_t &bits : result.bits) {
    const double x = asF32(bits);
    double y = 0;
    switch (op.getKind()) {
    case tile::ApproxKind::Ex2:
      y = std::exp2(x);
      break;
    case tile::ApproxKind::Lg2:
      y = std::log2(x);
      break;
    case tile::ApproxKind::Rcp:
      y = 1 / x;
      break;
    case tile::ApproxKind::Rsqrt:
      y = 1 / std::sqrt(x);
      break;
    case tile::ApproxKind::Tanh:
      y = std::tanh(x);
      break;
    }
    bits = fromF32(float(y));
    // A subnormal argument gives 1 with or without.
    if (op.getFlushes() && std::fabs(y) < 0x1p-126)
      bits = 0;
  }
  set(op.getResult(), std::move(result));
  return success();
}
