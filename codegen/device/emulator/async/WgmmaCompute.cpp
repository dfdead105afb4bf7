//===- WgmmaCompute.cpp - The arithmetic of wgmma -------------------------===//
//
// Fragments, with g = lane / 4 and t = lane % 4 in warp w: result register
// 4 j + 2 h + e is row 16 w + g + 8 h, column 8 j + 2 t + e (two in one
// register for f16 results). Register r of A is row 16 w + g + 8 (r % 2); with
// P elements in 32 bits its columns begin at P t + 4 P (r / 2).
//
//===----------------------------------------------------------------------===//
#include "codegen/device/emulator/async/WgmmaCompute.h"

#include "codegen/device/emulator/Rounding.h"

#include <cstring>

using namespace tandem;
using namespace tandem::emulator;

namespace {
constexpr int rows = 64;

/// Scratch that is kept from one operation to the next.
struct Scratch {
  DotOperand a, b;
  std::vector<int32_t> aIntegers, bIntegers;
  std::vector<uint32_t> result; // [64][n], floats or integers
};

uint32_t elementAt(const char *unit, int i, unsigned bytes) {
  uint32_t bits = 0;
  std::memcpy(&bits, unit + static_cast<unsigned>(i) * bytes, bytes);
  return bits;
}

/// Calls f(major, k, bits) for the elements of an operand in shared memory.
template <typename F>
void forEachShared(const Cta &cta, uint64_t bits, const WgmmaForm &form,
                   int extent, bool transposed, F f) {
  MatrixDescriptor descriptor(bits, form.elementBytes, transposed);
  int unit = static_cast<int>(16 / form.elementBytes);
  int majorStep = transposed ? unit : 1, kStep = transposed ? 1 : unit;
  static constexpr char nothing[16] = {};
  for (int major = 0; major < extent; major += majorStep)
    for (int k = 0; k < form.k; k += kStep) {
      uint64_t at = descriptor.unitOf(major, k);
      const char *from =
          at + 16 <= cta.shared.bytes ? cta.sharedStorage.data() + at : nothing;
      for (int i = 0; i < unit; ++i)
        f(transposed ? major + i : major, transposed ? k : k + i,
          elementAt(from, i, form.elementBytes));
    }
}

template <typename F>
void forEachRegister(const Cta &cta, int firstWarp, const WgmmaForm &form,
                     F f) {
  int perRegister = static_cast<int>(4 / form.elementBytes);
  for (int w = 0; w < 4; ++w) {
    const char *arena = cta.warps[static_cast<size_t>(firstWarp + w)].arena;
    for (int r = 0; r < 4; ++r) {
      const auto *lanes = reinterpret_cast<const uint32_t *>(
          arena + cta.program->slots[form.operandA + static_cast<unsigned>(r)]);
      for (int l = 0; l < warpSize; ++l)
        for (int i = 0; i < perRegister; ++i)
          f(16 * w + l / 4 + 8 * (r % 2),
            perRegister * (l % 4) + 4 * perRegister * (r / 2) + i,
            elementAt(reinterpret_cast<const char *>(&lanes[l]), i,
                      form.elementBytes));
    }
  }
}

/// Calls f(register of the warp's lanes, row, column) for all results.
template <typename F>
void forEachResult(Cta &cta, int firstWarp, const WgmmaForm &form, F f) {
  for (int w = 0; w < 4; ++w) {
    char *arena = cta.warps[static_cast<size_t>(firstWarp + w)].arena;
    for (uint32_t r = 0; r < form.resultCount; ++r) {
      auto *lanes = reinterpret_cast<uint32_t *>(
          arena + cta.program->slots[form.results + r]);
      auto i = static_cast<int>(r);
      // Two registers a half with e = 0 and 1, or one that holds both.
      int pair = form.halfResult ? i : i / 2;
      f(lanes, 16 * w + 8 * (pair % 2),
        8 * (pair / 2) + (form.halfResult ? 0 : i % 2));
    }
  }
}

int32_t widenInteger(uint32_t bits, const WgmmaForm &form, bool isSigned) {
  if (form.isBits)
    return static_cast<int32_t>(bits);
  return isSigned ? int32_t(static_cast<int8_t>(bits)) : int32_t(bits & 255);
}
} // namespace

void emulator::computeWgmma(Cta &cta, int firstWarp, const WgmmaOp &op) {
  const WgmmaForm &form =
      cta.program->wgmmas[static_cast<size_t>(op.inst->imm)];
  static thread_local Scratch scratch;
  const int n = form.n, k = form.k;
  scratch.result.assign(static_cast<size_t>(rows * n), 0);
  uint32_t *result = scratch.result.data();
  if (op.scaleD)
    forEachResult(
        cta, firstWarp, form, [&](const uint32_t *lanes, int row, int column) {
          for (int l = 0; l < warpSize; ++l) {
            uint32_t *to = result + (row + l / 4) * n + column + 2 * (l % 4);
            if (!form.halfResult) {
              *to = lanes[l];
              continue;
            }
            to[0] = bitsOf(halfToFloat(static_cast<uint16_t>(lanes[l])));
            to[1] = bitsOf(halfToFloat(static_cast<uint16_t>(lanes[l] >> 16)));
          }
        });
  if (form.kind == WgmmaForm::Kind::Integer) {
    scratch.aIntegers.resize(static_cast<size_t>(rows * k));
    scratch.bIntegers.resize(static_cast<size_t>(k * n));
    auto setA = [&](int row, int at, uint32_t bits) {
      scratch.aIntegers[static_cast<size_t>(row * k + at)] =
          widenInteger(bits, form, form.aSigned);
    };
    if (form.aInRegisters)
      forEachRegister(cta, firstWarp, form, setA);
    else
      forEachShared(cta, op.a, form, rows, false, setA);
    forEachShared(cta, op.b, form, n, false,
                  [&](int column, int at, uint32_t bits) {
                    scratch.bIntegers[static_cast<size_t>(at * n + column)] =
                        widenInteger(bits, form, form.bSigned);
                  });
    if (form.isBits)
      dotRowsBits(scratch.aIntegers.data(), scratch.bIntegers.data(), rows, k,
                  n, result, n, false);
    else
      dotRowsInteger(scratch.aIntegers.data(), scratch.bIntegers.data(), rows,
                     k, n, reinterpret_cast<int32_t *>(result), n,
                     form.saturates);
  } else {
    scratch.a.reset(rows, k);
    scratch.b.reset(k, n);
    auto setA = [&](int row, int at, uint32_t bits) {
      setDotOperand(scratch.a, form.a, row, at, bits, form.negateA, false);
    };
    if (form.aInRegisters)
      forEachRegister(cta, firstWarp, form, setA);
    else
      forEachShared(cta, op.a, form, rows, form.transposeA, setA);
    forEachShared(cta, op.b, form, n, form.transposeB,
                  [&](int column, int at, uint32_t bits) {
                    setDotOperand(scratch.b, form.b, at, column, bits,
                                  form.negateB, true);
                  });
    dotRows(form.a, scratch.a, scratch.b, reinterpret_cast<float *>(result), n,
            form.halfResult);
  }
  forEachResult(
      cta, firstWarp, form, [&](uint32_t *lanes, int row, int column) {
        for (int l = 0; l < warpSize; ++l) {
          const uint32_t *from =
              result + (row + l / 4) * n + column + 2 * (l % 4);
          lanes[l] = form.halfResult
                         ? uint32_t(dotToHalf(floatOf(from[0]))) |
                               uint32_t(dotToHalf(floatOf(from[1]))) << 16
                         : *from;
        }
      });
}
