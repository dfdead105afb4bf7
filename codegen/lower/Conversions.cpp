//===- Conversions.cpp - Between element types, each rounded once ---------===//
//
// Floats widen exactly. Narrowing rounds to nearest-even; fp8 saturates.
// Float to integer truncates, saturates, and turns NaN into 0. Integers that
// f32 cannot hold reach a narrower float through round-to-odd: an f32 that was
// rounded toward zero, with its lowest bit set when that was inexact, rounds to
// any type of at most 22 bits as the exact value would (Boldo and Melquiond,
// "Emulation of FMA and correctly rounded sums: proved algorithms using
// rounding to odd", 2008).
//
//===----------------------------------------------------------------------===//
#include "codegen/lower/Emitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace tandem;
using namespace tandem::lower;

static bool isFp8(Type type) {
  return isa<Float8E4M3FNType, Float8E5M2Type>(type);
}

/// Pairs of f16 and fp8 convert in one instruction; its vector type.
static VectorType pairOf(Type element) { return VectorType::get({2}, element); }

Value Emitter::floatToF32(Value value, Type from) {
  Type f32 = b.getF32Type(), i32 = b.getI32Type();
  if (from.isF32())
    return value;
  if (from.isBF16()) {
    // bf16 is the upper half of an f32.
    if (auto piece = pieces.find(value); piece != pieces.end()) {
      const auto &[word, shift, size, less] = piece->second;
      Value bits = shift ? andBits(word, constant(32, int32_t(0xFFFF0000)))
                         : LLVM::ShlOp::create(b, loc, word, constant(32, 16));
      return LLVM::BitcastOp::create(b, loc, f32, bits);
    }
    Value bits = LLVM::BitcastOp::create(b, loc, b.getI16Type(), value);
    bits = LLVM::ZExtOp::create(b, loc, i32, bits);
    bits = LLVM::ShlOp::create(b, loc, bits, constant(32, 16));
    return LLVM::BitcastOp::create(b, loc, f32, bits);
  }
  if (isFp8(from)) {
    Value bits = LLVM::ZExtOp::create(b, loc, b.getI16Type(), value);
    Value pair =
        intrinsic(isa<Float8E4M3FNType>(from) ? "llvm.nvvm.e4m3x2.to.f16x2.rn"
                                              : "llvm.nvvm.e5m2x2.to.f16x2.rn",
                  pairOf(b.getF16Type()), bits);
    value = LLVM::ExtractElementOp::create(b, loc, pair, constant(32, 0));
  }
  return LLVM::FPExtOp::create(b, loc, f32, value);
}

/// Two at a time.
Registers Emitter::fp8ToF16(ArrayRef<Value> values, Type from) {
  Registers results;
  for (size_t i = 0; i < values.size(); i += 2) {
    Value bits = LLVM::ZExtOp::create(b, loc, b.getI16Type(), values[i]);
    const size_t count = std::min<size_t>(2, values.size() - i);
    if (count == 2) {
      Value high = LLVM::ZExtOp::create(b, loc, b.getI16Type(), values[i + 1]);
      high = LLVM::ShlOp::create(b, loc, high, constant(16, 8));
      bits = LLVM::OrOp::create(b, loc, bits, high);
    }
    Value pair =
        intrinsic(isa<Float8E4M3FNType>(from) ? "llvm.nvvm.e4m3x2.to.f16x2.rn"
                                              : "llvm.nvvm.e5m2x2.to.f16x2.rn",
                  pairOf(b.getF16Type()), bits);
    for (size_t half = 0; half < count; ++half)
      results.push_back(LLVM::ExtractElementOp::create(
          b, loc, pair, constant(32, int64_t(half))));
  }
  return results;
}

Registers Emitter::roundF32(ArrayRef<Value> f32, Type to) {
  Registers results;
  if (to.isF32())
    return Registers(f32.begin(), f32.end());
  for (size_t i = 0; i < f32.size(); i += 2) {
    const bool isPair = i + 1 < f32.size();
    Value low = f32[i], high = isPair ? f32[i + 1] : f32[i];
    // The instruction's first operand goes to the upper half.
    if (isFp8(to)) {
      Value pair =
          intrinsic(isa<Float8E4M3FNType>(to) ? "llvm.nvvm.ff.to.e4m3x2.rn"
                                              : "llvm.nvvm.ff.to.e5m2x2.rn",
                    b.getI16Type(), {high, low});
      results.push_back(LLVM::TruncOp::create(b, loc, b.getI8Type(), pair));
      if (isPair) {
        pair = LLVM::LShrOp::create(b, loc, pair, constant(16, 8));
        results.push_back(LLVM::TruncOp::create(b, loc, b.getI8Type(), pair));
      }
      continue;
    }
    if (!isPair) {
      results.push_back(LLVM::FPTruncOp::create(b, loc, to, low));
      continue;
    }
    Value pair = intrinsic(to.isBF16() ? "llvm.nvvm.ff2bf16x2.rn"
                                       : "llvm.nvvm.ff2f16x2.rn",
                           pairOf(to), {high, low});
    for (int half : {0, 1})
      results.push_back(
          LLVM::ExtractElementOp::create(b, loc, pair, constant(32, half)));
  }
  return results;
}

Value Emitter::derivedWord(llvm::DenseMap<Value, Value> &known, Value word,
                           llvm::function_ref<Value()> make) {
  Value &derived = known[word];
  if (!derived) {
    OpBuilder::InsertionGuard guard(b);
    if (Operation *producer = word.getDefiningOp())
      b.setInsertionPointAfter(producer);
    else
      b.setInsertionPointToStart(word.getParentBlock());
    derived = make();
  }
  return derived;
}

/// Bits of an f32 between 2^23 and 2^24 count its distance from 2^23: what is
/// put there becomes a float by one subtraction, at the full rate of the
/// arithmetic units, where cvt has a fraction of it. A nibble may stay where it
/// lies in the low 23 bits, as a multiple of 2^shift. All steps are exact.
Value Emitter::pieceToF32(const Piece &piece, bool isUnsigned) {
  Type f32 = b.getF32Type();
  constexpr int64_t two23 = 0x4B000000; // the bits of 2^23
  auto number = [&](double value) {
    return constant(f32, b.getF32FloatAttr(static_cast<float>(value)));
  };
  auto asFloat = [&](Value word) {
    return LLVM::BitcastOp::create(b, loc, f32, word);
  };
  if (piece.bits == 8) {
    Value word = piece.word;
    if (!isUnsigned)
      word = derivedWord(flippedWords, word, [&] {
        return LLVM::XOrOp::create(b, loc, piece.word,
                                   constant(32, int32_t(0x80808080)));
      });
    // Its byte below the upper three of 2^23.
    Value bits = intrinsic(
        "llvm.nvvm.prmt", b.getI32Type(),
        {word, constant(32, two23), constant(32, 0x7440 | piece.shift / 8)});
    return LLVM::FAddOp::create(b, loc, asFloat(bits),
                                number(-(0x1p23 + (isUnsigned ? 0 : 128))));
  }
  Value word = piece.word;
  int shift = piece.shift;
  if (constexpr int by = 12; shift + piece.bits > 23) {
    word = derivedWord(shiftedWords, word, [&] {
      return LLVM::LShrOp::create(b, loc, piece.word, constant(32, by));
    });
    shift -= by;
  }
  // One instruction (PTX ISA, lop3: 0xEA is (a & b) | c); ptxas makes two of
  // an and and an or with immediates.
  const std::string text = "lop3.b32 $0, $1, " + std::to_string(15 << shift) +
                           ", " + std::to_string(two23) + ", 0xEA;";
  Value bits = pureAsm(text, "=r,r", b.getI32Type(), word);
  const double unit = 1 << shift;
  Value less = number(-(0x1p23 / unit + piece.less));
  if (!shift)
    return LLVM::FAddOp::create(b, loc, asFloat(bits), less);
  return LLVM::FMAOp::create(b, loc, asFloat(bits), number(1 / unit), less);
}

Value Emitter::intToFloat(Value value, bool isUnsigned, Type to) {
  const unsigned bits = value.getType().getIntOrFloatBitWidth();
  auto convert = [&](Type type) -> Value {
    if (isUnsigned)
      return LLVM::UIToFPOp::create(b, loc, type, value);
    return LLVM::SIToFPOp::create(b, loc, type, value);
  };
  Type f32 = b.getF32Type();
  if (auto piece = pieces.find(value); piece != pieces.end() && !to.isF64() &&
                                       !(isUnsigned && piece->second.less))
    return pieceToF32(piece->second, isUnsigned);
  if (to.isF32() || to.isF64())
    return convert(to);
  if (bits < 32) // f32 holds it exactly
    return convert(f32);
  const bool wide = bits == 64;
  Value rounded =
      intrinsic(wide ? (isUnsigned ? "llvm.nvvm.ull2f.rz" : "llvm.nvvm.ll2f.rz")
                     : (isUnsigned ? "llvm.nvvm.ui2f.rz" : "llvm.nvvm.i2f.rz"),
                f32, value);
  Value back =
      intrinsic(wide ? (isUnsigned ? "llvm.nvvm.f2ull.rz" : "llvm.nvvm.f2ll.rz")
                     : (isUnsigned ? "llvm.nvvm.f2ui.rz" : "llvm.nvvm.f2i.rz"),
                value.getType(), rounded);
  Value inexact =
      LLVM::ICmpOp::create(b, loc, LLVM::ICmpPredicate::ne, back, value);
  Value odd = LLVM::ZExtOp::create(b, loc, b.getI32Type(), inexact);
  Value word = LLVM::BitcastOp::create(b, loc, b.getI32Type(), rounded);
  word = LLVM::OrOp::create(b, loc, word, odd);
  return LLVM::BitcastOp::create(b, loc, f32, word);
}

Value Emitter::floatToInt(Value f32, bool isUnsigned, int bits) {
  if (bits == 64) {
    // cvt to 64 bits saturates, but turns NaN into 2^63.
    Value wide =
        intrinsic(isUnsigned ? "llvm.nvvm.f2ull.rz" : "llvm.nvvm.f2ll.rz",
                  b.getI64Type(), f32);
    Value isNumber =
        LLVM::FCmpOp::create(b, loc, LLVM::FCmpPredicate::ord, f32, f32);
    return LLVM::SelectOp::create(b, loc, isNumber, wide, constant(64, 0));
  }
  // cvt to 32 bits saturates and turns NaN into 0.
  Value word = intrinsic(isUnsigned && bits == 32 ? "llvm.nvvm.f2ui.rz"
                                                  : "llvm.nvvm.f2i.rz",
                         b.getI32Type(), f32);
  if (bits == 32)
    return word;
  const int64_t least = isUnsigned ? 0 : -(int64_t(1) << (bits - 1));
  const int64_t most = (int64_t(1) << (isUnsigned ? bits : bits - 1)) - 1;
  word = LLVM::SMaxOp::create(b, loc, word, constant(32, least));
  word = LLVM::SMinOp::create(b, loc, word, constant(32, most));
  return LLVM::TruncOp::create(b, loc, b.getIntegerType(bits), word);
}

/// Whether \p op widens what only tile.neighbour_dot reads. Its chains then
/// widen each number where they use it: all at once would live in as many
/// registers, and ptxas keeps the order that it gets.
static bool isLeftToDots(Operation *op) {
  Type from = getElementTypeOrSelf(op->getOperand(0).getType());
  if (!getElementTypeOrSelf(op->getResult(0).getType()).isF32() ||
      !((isa<arith::SIToFPOp>(op) && from.isInteger(8)) ||
        (isa<arith::ExtFOp>(op) && from.isBF16())))
    return false;
  SmallVector<Operation *> open(op->getUsers());
  while (!open.empty()) {
    Operation *user = open.pop_back_val();
    if (isa<tile::BroadcastOp>(user))
      llvm::append_range(open, user->getUsers());
    else if (!isa<tile::NeighbourDotOp>(user))
      return false;
  }
  return true;
}

LogicalResult Emitter::emitConversion(Operation *op) {
  Type from = getElementTypeOrSelf(op->getOperand(0).getType());
  Type to = getElementTypeOrSelf(op->getResult(0).getType());
  if ((isFp8(from) || isFp8(to)) && smVersion < 89 &&
      !isa<arith::BitcastOp>(op))
    return op->emitOpError() << "float8 conversions need sm_89 or newer, the "
                                "target is sm_"
                             << smVersion;
  const Registers operand = get(op->getOperand(0));
  if (isLeftToDots(op)) {
    set(op->getResult(0), operand);
    return success();
  }
  Type result = registerType(to);
  auto eachRegister = [&](llvm::function_ref<Value(Value)> convert) {
    Registers results;
    llvm::SmallDenseMap<Value, Value> known;
    for (Value x : operand) {
      Value &converted = known[x];
      if (!converted)
        converted = convert(x);
      results.push_back(converted);
    }
    set(op->getResult(0), std::move(results));
    return success();
  };

  if (isa<arith::BitcastOp>(op))
    return eachRegister([&](Value x) -> Value {
      if (x.getType() == result)
        return x;
      return LLVM::BitcastOp::create(b, loc, result, x);
    });
  if (isa<arith::ExtSIOp>(op))
    return eachRegister([&](Value x) -> Value {
      return LLVM::SExtOp::create(b, loc, result, x);
    });
  if (isa<arith::ExtUIOp>(op))
    return eachRegister([&](Value x) -> Value {
      return LLVM::ZExtOp::create(b, loc, result, x);
    });
  if (isa<arith::TruncIOp>(op))
    return eachRegister([&](Value x) -> Value {
      return LLVM::TruncOp::create(b, loc, result, x);
    });
  if (isa<arith::IndexCastOp, arith::IndexCastUIOp>(op))
    return eachRegister([&](Value x) -> Value {
      const unsigned had = x.getType().getIntOrFloatBitWidth();
      const unsigned has = result.getIntOrFloatBitWidth();
      if (had == has)
        return x;
      if (had > has)
        return LLVM::TruncOp::create(b, loc, result, x);
      if (isa<arith::IndexCastUIOp>(op))
        return LLVM::ZExtOp::create(b, loc, result, x);
      return LLVM::SExtOp::create(b, loc, result, x);
    });
  if (isa<arith::ExtFOp>(op)) {
    if (to.isF32())
      return eachRegister([&](Value x) { return floatToF32(x, from); });
    if (to.isF64())
      return eachRegister([&](Value x) -> Value {
        return LLVM::FPExtOp::create(b, loc, to, floatToF32(x, from));
      });
    if (isFp8(from) && to.isF16()) {
      set(op->getResult(0), fp8ToF16(operand, from));
      return success();
    }
    Registers wide; // float8 to a 16-bit float: exact both ways
    for (Value x : operand)
      wide.push_back(floatToF32(x, from));
    set(op->getResult(0), roundF32(wide, to));
    return success();
  }
  if (isa<arith::TruncFOp>(op)) {
    if (from.isF64()) {
      if (!to.isF32())
        return op->emitOpError()
               << "would round twice, from f64 to f32 to " << to;
      return eachRegister([&](Value x) -> Value {
        return LLVM::FPTruncOp::create(b, loc, to, x);
      });
    }
    Registers wide;
    for (Value x : operand)
      wide.push_back(floatToF32(x, from));
    set(op->getResult(0), roundF32(wide, to));
    return success();
  }
  if (isa<arith::SIToFPOp, arith::UIToFPOp>(op)) {
    const bool isUnsigned = isa<arith::UIToFPOp>(op);
    Registers wide;
    for (Value x : operand)
      wide.push_back(intToFloat(x, isUnsigned, to));
    set(op->getResult(0), to.isF64() ? std::move(wide) : roundF32(wide, to));
    return success();
  }
  const bool isUnsigned = isa<arith::FPToUIOp>(op);
  if (from.isF64())
    return op->emitOpError() << "converts f32 or narrower, got f64";
  return eachRegister([&](Value x) {
    return floatToInt(floatToF32(x, from), isUnsigned,
                      int(to.getIntOrFloatBitWidth()));
  });
}
