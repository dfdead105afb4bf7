//===- Wgmma.h - Warpgroup matrix products ----------------------*- C++ -*-===//
//
// The four warps of a warpgroup issue an operation one after the other; it
// starts, and its reads of shared memory begin, when the last one has. It is
// computed, in order, when a warp waits for its group: as late as is legal.
// Until a warp has waited, it may not touch the registers; and between other
// instructions that touched them and an operation lies a wgmma.fence.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_CODEGEN_DEVICE_EMULATOR_ASYNC_WGMMA_H
#define TANDEM_CODEGEN_DEVICE_EMULATOR_ASYNC_WGMMA_H

#include "codegen/device/emulator/async/Hazards.h"

namespace tandem::emulator {

/// An operation that a warpgroup has begun to issue.
struct WgmmaOp {
  const Inst *inst = nullptr;
  uint64_t a = 0, b = 0; // descriptors
  bool scaleD = true;
  uint8_t arrived = 0; // warps
  bool isDone = false;
  uint32_t op = 0; // AsyncOp::id
};

/// Of four warps; numbers begin at 1.
struct WarpGroup {
  uint64_t agent = 0;
  uint32_t firstNumber = 1;
  std::deque<WgmmaOp> ops;
  uint32_t next() const {
    return firstNumber + static_cast<uint32_t>(ops.size());
  }
  WgmmaOp *find(uint32_t number) {
    return number < firstNumber || number >= next()
               ? nullptr
               : &ops[number - firstNumber];
  }
};

/// The 16-byte units of an operand in shared memory.
class MatrixDescriptor {
public:
  MatrixDescriptor(uint64_t bits, unsigned elementBytes, bool isTransposed);
  /// Of the unit that holds element (\p major, \p k): 16 bytes along k, or,
  /// when transposed, along the major dim.
  uint64_t unitOf(int major, int k) const;
  bool hasBaseOffset() const { return baseOffset != 0; }

private:
  uint64_t start, leading, stride;
  unsigned baseOffset;
  int swizzle; // as MapSwizzle
  int perUnit; // elements
  bool isTransposed;
};

void issueWgmma(Exec &x, const Inst &inst);
void fenceWgmma(Exec &x, const Inst &inst);
void commitWgmma(Exec &x, const Inst &inst);
/// inst.imm groups may stay.
void waitWgmma(Exec &x, const Inst &inst);
/// Computes one operation that has started; false when there is none.
bool computeOneWgmma(Cta &cta, uint64_t chosen);

/// What keeps a warp at a wait, in words; empty when nothing does.
std::string wgmmaWait(const Cta &cta, const Warp &warp);

/// What the registers of the CTA are, at a setmaxnreg that waits for some.
std::string registerWait(const Cta &cta, const Inst &inst);

/// Finds the instructions that touch registers of a wgmma, and has them checked
/// before they run.
void watchRegisters(Program &program);

} // namespace tandem::emulator

#endif // TANDEM_CODEGEN_DEVICE_EMULATOR_ASYNC_WGMMA_H
