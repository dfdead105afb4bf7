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
  if ((dialect != "arith" && dialect != "math") || op->getNumResults() != 1)
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
      result = emitScalar(op, args);
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

LogicalResult Emitter::emitApprox(tile::ApproxOp op) {
  Type f32 = b.getF32Type();
  Registers results;
  const Registers &operand = get(op.getValue());
  Known known;
  for (Value x : operand) {
    if (Value done = known[x]) {
      results.push_back(done);
      continue;
    }
    switch (op.getKind()) {
    case tile::ApproxKind::Ex2:
      results.push_back(intrinsic("llvm.nvvm.ex2.approx", f32, x));
      break;
    case tile::ApproxKind::Lg2:
      results.push_back(intrinsic("llvm.nvvm.lg2.approx.f", f32, x));
      break;
    case tile::ApproxKind::Rcp:
      // The intrinsic exists only with .ftz.
      results.push_back(pureAsm("rcp.approx.f32 $0, $1;", "=f,f", f32, x));
      break;
    case tile::ApproxKind::Rsqrt:
      results.push_back(intrinsic("llvm.nvvm.rsqrt.approx.f", f32, x));
      break;
    case tile::ApproxKind::Tanh:
      results.push_back(pureAsm("tanh.approx.f32 $0, $1;", "=f,f", f32, x));
      break;
    }
    known[x] = results.back();
  }
  set(op.getResult(), std::move(results));
  return success();
}
