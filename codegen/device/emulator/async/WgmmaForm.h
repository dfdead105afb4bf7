//===- WgmmaForm.h - One decoded wgmma.mma_async ----------------*- C++ -*-===//
#ifndef TANDEM_CODEGEN_DEVICE_EMULATOR_ASYNC_WGMMAFORM_H
#define TANDEM_CODEGEN_DEVICE_EMULATOR_ASYNC_WGMMAFORM_H

#include "codegen/device/emulator/Types.h"
#include "codegen/device/emulator/ops/DotRows.h"

namespace tandem::emulator {

/// One form of wgmma.mma_async; Inst::imm is its index in Program::wgmmas.
struct WgmmaForm {
  enum class Kind : uint8_t { Float, Integer } kind = Kind::Float;
  DotFormat a = DotFormat::F16, b = DotFormat::F16;
  bool aSigned = false, bSigned = false, saturates = false;
  /// Integer: operands are bits, k counts words of 32.
  bool isBits = false;
  bool halfResult = false;
  int n = 8, k = 16;
  unsigned elementBytes = 2;
  bool aInRegisters = false;
  bool negateA = false, negateB = false;
  bool transposeA = false, transposeB = false;
  /// Slots: results, then A's registers or descriptor, then B's descriptor.
  uint32_t results = 0, resultCount = 0, operandA = 0;
  Slot descriptorA = noSlot, descriptorB = noSlot;
  Slot scaleD = noSlot; // predicate
  bool scaleNegated = false;
};

} // namespace tandem::emulator

#endif // TANDEM_CODEGEN_DEVICE_EMULATOR_ASYNC_WGMMAFORM_H
