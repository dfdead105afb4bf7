//===- Lookahead.h - What the decoder must know of a whole body -*- C++ -*-===//
//
// Two questions about the use of an instruction's result, answered by names
// before a body is decoded:
//
//   wraps       does 32-bit arithmetic make an offset that is then widened into
//               an address? If it wraps, that is worth a note
//   contracts   may ptxas fuse this addition with the product before it? Plain
//               mul and add, without a rounding modifier, permit it
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_CODEGEN_DEVICE_EMULATOR_LOOKAHEAD_H
#define TANDEM_CODEGEN_DEVICE_EMULATOR_LOOKAHEAD_H

#include "codegen/device/emulator/Program.h"
#include "codegen/device/emulator/ptx/Ast.h"

namespace tandem::emulator {

enum class Wrap : uint8_t { No, Signed, Unsigned };

struct Lookahead {
  /// By place in the body.
  std::vector<Wrap> wraps;
  /// The product that an addition may swallow; -1 if none.
  std::vector<int> contracts;
};
Lookahead lookAhead(const Entry &of);

/// The check that is executed before a 32-bit add, sub, mul.lo, mad.lo or shl
/// with the operands of \p inst. `run` stays null when there is none for it.
Inst wrapCheck(const Instruction &ast, const Inst &inst, Wrap wrap);

} // namespace tandem::emulator

#endif // TANDEM_CODEGEN_DEVICE_EMULATOR_LOOKAHEAD_H
