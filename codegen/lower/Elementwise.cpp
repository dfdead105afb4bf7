//===- Elementwise.cpp - arith and math, one register at a time -----------===//
//
// Floating-point arithmetic is f32 (or f64) only: 16-bit types are for memory,
// so that every rounding is a conversion that tile code wrote. No fast-math
// flag is ever set; with contraction off, the backend prints .rn forms.
//
//===----------------------------------------------------------------------===//
#include "codegen/lower/Emitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"

#include <map>

using namespace mlir;
using namespace tandem;
using namespace tandem::lower;

static LLVM::ICmpPredicate toLLVM(arith::CmpIPredicate predicate) {
  // Both enumerations follow LLVM's order.
  return static_cast<LLVM::ICmpPredicate>(predicate);
}

static LLVM::FCmpPredicate toLLVM(arith::CmpFPredicate predicate) {
  return static_cast<LLVM::FCmpPredicate>(predicate);
}

static bool isArithmeticFloat(Type type) {
  Type element = getElementTypeOrSelf(type);
  return !isa<FloatType>(element) || element.isF32() || element.isF64();
}

Value Emitter::emitScalar(Operation *op, ValueRange x) {
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](arith::AddFOp) {
        return LLVM::FAddOp::create(b, loc, x[0], x[1]);
      })
      .Case([&](arith::SubFOp) {
        return LLVM::FSubOp::create(b, loc, x[0], x[1]);
      })
      .Case([&](arith::MulFOp) {
        return LLVM::FMulOp::create(b, loc, x[0], x[1]);
      })
      .Case([&](arith::DivFOp) {
        return LLVM::FDivOp::create(b, loc, x[0], x[1]);
      })
      .Case([&](arith::NegFOp) { return LLVM::FNegOp::create(b, loc, x[0]); })
      .Case([&](arith::MaximumFOp) {
        return LLVM::MaximumOp::create(b, loc, x[0], x[1]);
      })
      .Case([&](arith::MinimumFOp) {
        return LLVM::MinimumOp::create(b, loc, x[0], x[1]);
      })
      .Case([&](arith::MaxNumFOp) {
        return LLVM::MaxNumOp::create(b, loc, x[0], x[1]);
      })
      .Case([&](arith::MinNumFOp) {
        return LLVM::MinNumOp::create(b, loc, x[0], x[1]);
      })
      .Case([&](math::FmaOp) {
        return LLVM::FMAOp::create(b, loc, x[0], x[1], x[2]);
      })
      .Case([&](math::AbsFOp) { return LLVM::FAbsOp::create(b, loc, x[0]); })
      .Case([&](math::FloorOp) { return LLVM::FFloorOp::create(b, loc, x[0]); })
      .Case([&](math::CeilOp) { return LLVM::FCeilOp::create(b, loc, x[0]); })
      .Case([&](math::RoundEvenOp) {
        return LLVM::RoundEvenOp::create(b, loc, x[0]);
      })
      .Case([&](math::CopySignOp) {
        return LLVM::CopySignOp::create(b, loc, x[0], x[1]);
      })
      .Case([&](arith::CmpFOp cmp) {
        return LLVM::FCmpOp::create(b, loc, toLLVM(cmp.getPredicate()), x[0],
                                    x[1]);
      })
      .Case([&](arith::CmpIOp cmp) {
        return LLVM::ICmpOp::create(b, loc, toLLVM(cmp.getPredicate()), x[0],
                                    x[1]);
      })
      .Case([&](arith::SelectOp) {
        return LLVM::SelectOp::create(b, loc, x[0], x[1], x[2]);
      })
      .Case([&](arith::AddIOp) {
        return LLVM::AddOp::create(b, loc, x[0], x[1]);
      })
      .Case([&](arith::SubIOp) {
        return LLVM::SubOp::create(b, loc, x[0], x[1]);
      })
      .Case([&](arith::MulIOp) {
        return LLVM::MulOp::create(b, loc, x[0], x[1]);
      })
      .Case([&](arith::DivSIOp) {
        return LLVM::SDivOp::create(b, loc, x[0], x[1]);
      })
      .Case([&](arith::DivUIOp) {
        return LLVM::UDivOp::create(b, loc, x[0], x[1]);
      })
      .Case([&](arith::RemSIOp) {
        return LLVM::SRemOp::create(b, loc, x[0], x[1]);
      })
      .Case([&](arith::RemUIOp) {
        return LLVM::URemOp::create(b, loc, x[0], x[1]);
      })
      .Case([&](arith::AndIOp) {
        return LLVM::AndOp::create(b, loc, x[0], x[1]);
      })
      .Case(
          [&](arith::OrIOp) { return LLVM::OrOp::create(b, loc, x[0], x[1]); })
      .Case([&](arith::XOrIOp) {
        return LLVM::XOrOp::create(b, loc, x[0], x[1]);
      })
      .Case([&](arith::ShLIOp) {
        return LLVM::ShlOp::create(b, loc, x[0], x[1]);
      })
      .Case([&](arith::ShRUIOp) {
        return LLVM::LShrOp::create(b, loc, x[0], x[1]);
      })
      .Case([&](arith::ShRSIOp) {
        return LLVM::AShrOp::create(b, loc, x[0], x[1]);
      })
      .Case([&](arith::MaxSIOp) {
        return LLVM::SMaxOp::create(b, loc, x[0], x[1]);
      })
      .Case([&](arith::MinSIOp) {
        return LLVM::SMinOp::create(b, loc, x[0], x[1]);
      })
      .Case([&](arith::MaxUIOp) {
        return LLVM::UMaxOp::create(b, loc, x[0], x[1]);
      })
      .Case([&](arith::MinUIOp) {
        return LLVM::UMinOp::create(b, loc, x[0], x[1]);
      })
      .Default([](Operation *) { return Value(); });
}

/// Registers that hold the same operands have the same result: one instruction
/// serves all of them.
namespace {
class Known {
public:
  /// The result for \p args, or null and a place for it.
  Value &operator[](ArrayRef<Value> args) {
    SmallVector<const void *, 3> key;
    for (Value arg : args)
      key.push_back(arg.getAsOpaquePointer());
    return results[key];
  }

private:
  std::map<SmallVector<const void *, 3>, Value> results;
};
} // namespace

LogicalResult Emitter::emitElementwise(Operation *op) {
  StringRef dialect = op->getName().getDialectNamespace();
  const bool isKnown =
      dialect == "arith" || dialect == "math" || isa<tile::ApproxOp>(op);
  if (!isKnown || op->getNumResults() != 1)
    return op->emitOpError() << "has no lowering";
  if (isa<arith::ExtFOp, arith::TruncFOp, arith::SIToFPOp, arith::UIToFPOp,
          arith::FPToSIOp, arith::FPToUIOp, arith::ExtSIOp, arith::ExtUIOp,
          arith::TruncIOp, arith::BitcastOp, arith::IndexCastOp,
          arith::IndexCastUIOp>(op))
    return emitConversion(op);
  const bool movesBits = isa<arith::SelectOp>(op);
  for (Value operand : op->getOperands())
    if (!movesBits && !isArithmeticFloat(operand.getType()))
      return op->emitOpError() << "computes in f32, got "
                               << getElementTypeOrSelf(operand.getType())
                               << "; widen it with arith.extf";
  SmallVector<const Registers *> operands;
  for (Value operand : op->getOperands())
    operands.push_back(&get(operand));
  const int64_t count = numRegisters(op->getResult(0).getType());
  Registers results;
  Known known;
  for (int64_t i = 0; i < count; ++i) {
    SmallVector<Value, 3> args;
    for (const Registers *registers : operands)
      args.push_back(registers->size() == 1 ? registers->front()
                                            : (*registers)[i]);
    Value &result = known[args];
    if (!result)
      result = emitOne(op, args);
    if (!result)
      return op->emitOpError() << "has no lowering";
    results.push_back(result);
  }
  set(op->getResult(0), std::move(results));
  return success();
}

LogicalResult Emitter::emitConstant(Operation *op) {
  Attribute value = cast<arith::ConstantOp>(op).getValue();
  Type type = op->getResult(0).getType();
  if (auto dense = dyn_cast<DenseElementsAttr>(value)) {
    if (!dense.isSplat())
      return op->emitOpError() << "a tile constant has one value for all "
                                  "elements";
    value = dense.getSplatValue<Attribute>();
  }
  Type element = registerType(type);
  if (auto number = dyn_cast<FloatAttr>(value); number && element.isInteger(8))
    value = b.getIntegerAttr(element, number.getValue().bitcastToAPInt());
  else if (auto number = dyn_cast<IntegerAttr>(value);
           number && number.getType() != element)
    value = b.getIntegerAttr(element, number.getInt());
  set(op->getResult(0),
      Registers(numRegisters(type), constant(element, value)));
  return success();
}

static bool isConstantIn(Value value, double least, double most) {
  auto constant = value.getDefiningOp<arith::ConstantOp>();
  auto dense = constant ? dyn_cast<DenseElementsAttr>(constant.getValue())
                        : DenseElementsAttr();
  if (!dense || !dense.isSplat() || !dense.getElementType().isF32())
    return false;
  const double number = dense.getSplatValue<APFloat>().convertToDouble();
  return number >= least && number <= most;
}

/// Whether \p value is written as |x|, perhaps as bits without the sign.
static bool isMagnitude(Value value) {
  if (value.getDefiningOp<math::AbsFOp>())
    return true;
  auto cast = value.getDefiningOp<arith::BitcastOp>();
  auto bits = cast ? cast.getIn().getDefiningOp<arith::AndIOp>() : nullptr;
  auto mask = bits ? bits.getRhs().getDefiningOp<arith::ConstantOp>() : nullptr;
  auto dense =
      mask ? dyn_cast<DenseElementsAttr>(mask.getValue()) : DenseElementsAttr();
  return dense && dense.isSplat() && dense.getElementType().isInteger(32) &&
         dense.getSplatValue<APInt>() == 0x7fffffff;
}

/// Whether \p value is NaN or has a normal reciprocal and is normal, as the
/// code that computes it says: c + min(|x|, d) or c + 2^(-|x| d) with positive
/// constants. Then flushing changes nothing and saves six instructions.
static bool staysNormal(Value value) {
  constexpr double most = 0x1p100;
  auto sum = value.getDefiningOp<arith::AddFOp>();
  if (!sum || !isConstantIn(sum.getRhs(), 1, most))
    return false;
  if (auto least = sum.getLhs().getDefiningOp<arith::MinimumFOp>())
    return isMagnitude(least.getLhs()) && isConstantIn(least.getRhs(), 0, most);
  auto power = sum.getLhs().getDefiningOp<tile::ApproxOp>();
  if (!power || power.getKind() != tile::ApproxKind::Ex2)
    return false;
  auto product = power.getValue().getDefiningOp<arith::MulFOp>();
  auto minus =
      product ? product.getLhs().getDefiningOp<arith::NegFOp>() : nullptr;
  return minus && isMagnitude(minus.getOperand()) &&
         isConstantIn(product.getRhs(), 0, most);
}

Value Emitter::emitApprox(tile::ApproxKind kind, Value x) {
  Type f32 = b.getF32Type();
  switch (kind) {
  case tile::ApproxKind::Ex2:
    return intrinsic("llvm.nvvm.ex2.approx", f32, x);
  case tile::ApproxKind::Lg2:
    return intrinsic("llvm.nvvm.lg2.approx.f", f32, x);
  case tile::ApproxKind::Rcp:
    // The intrinsic exists only with .ftz.
    return pureAsm("rcp.approx.f32 $0, $1;", "=f,f", f32, x);
  case tile::ApproxKind::Rsqrt:
    return intrinsic("llvm.nvvm.rsqrt.approx.f", f32, x);
  case tile::ApproxKind::Tanh:
    return pureAsm("tanh.approx.f32 $0, $1;", "=f,f", f32, x);
  }
  llvm_unreachable("all kinds are handled");
}

Value Emitter::emitOne(Operation *op, ValueRange args) {
  if (auto approx = dyn_cast<tile::ApproxOp>(op); approx && approx.getFlushes())
    return intrinsic("llvm.nvvm.ex2.approx.ftz", b.getF32Type(), args[0]);
  if (auto approx = dyn_cast<tile::ApproxOp>(op))
    return approx.getKind() == tile::ApproxKind::Rcp &&
                   staysNormal(approx.getValue())
               ? intrinsic("llvm.nvvm.rcp.approx.ftz.f", b.getF32Type(),
                           args[0])
               : emitApprox(approx.getKind(), args[0]);
  if (isa<arith::BitcastOp>(op)) {
    Type type = registerType(op->getResult(0).getType());
    if (args[0].getType() == type)
      return args[0];
    return LLVM::BitcastOp::create(b, loc, type, args[0]);
  }
  return emitScalar(op, args);
}

/// Whether registers of the op's operands combine one by one.
static bool isElementwise(Operation *op) {
  if (isa<tile::ApproxOp, arith::BitcastOp, arith::SelectOp>(op))
    return true;
  StringRef dialect = op->getName().getDialectNamespace();
  if ((dialect != "arith" && dialect != "math") || op->getNumResults() != 1 ||
      op->getNumOperands() == 0 ||
      isa<arith::ExtFOp, arith::TruncFOp, arith::SIToFPOp, arith::UIToFPOp,
          arith::FPToSIOp, arith::FPToUIOp, arith::ExtSIOp, arith::ExtUIOp,
          arith::TruncIOp, arith::IndexCastOp, arith::IndexCastUIOp>(op))
    return false;
  return llvm::all_of(op->getOperandTypes(), isArithmeticFloat);
}

/// An accumulator's epilogue has dozens of registers and dozens of ops: op by
/// op, each intermediate would live in all of them at once, and ptxas keeps the
/// order that it gets.
Operation *Emitter::emitRun(Operation *first) {
  constexpr int64_t together = 4;
  if (!isElementwise(first))
    return nullptr;
  const int64_t count = numRegisters(first->getResult(0).getType());
  if (count <= together)
    return nullptr;
  SmallVector<Operation *> run;
  Operation *op = first;
  for (; op; op = op->getNextNode()) {
    if (isa<arith::ConstantOp, tile::SplatOp>(op)) {
      // No instruction; a splat of a number from before.
      if (failed(emit(op)))
        return nullptr;
      continue;
    }
    if (!isElementwise(op) || numRegisters(op->getResult(0).getType()) != count)
      break;
    run.push_back(op);
  }
  SmallVector<Known> known(run.size());
  llvm::DenseMap<Value, Registers> inside;
  for (int64_t begin = 0; begin < count; begin += together)
    for (auto [index, member] : llvm::enumerate(run))
      for (int64_t i = begin; i < std::min(begin + together, count); ++i) {
        SmallVector<Value, 3> args;
        for (Value operand : member->getOperands()) {
          auto found = inside.find(operand);
          const Registers &registers =
              found == inside.end() ? get(operand) : found->second;
          args.push_back(numRegisters(operand.getType()) == 1 ? registers[0]
                                                              : registers[i]);
        }
        Value &result = known[index][args];
        loc = member->getLoc();
        if (!result)
          result = emitOne(member, args);
        if (!result)
          return nullptr; // whoever emits it alone says so
        inside[member->getResult(0)].push_back(result);
      }
  for (auto &[value, registers] : inside)
    set(value, std::move(registers));
  return op;
}
