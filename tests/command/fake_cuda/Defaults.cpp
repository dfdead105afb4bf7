//===- Defaults.cpp - A driver that agrees to everything ------------------===//
//
// libcuda.so.1 for tests of the CUDA device where there is no GPU: every
// function of Symbols.inc succeeds and does nothing, unless Driver.cpp defines
// it.
//
//===----------------------------------------------------------------------===//
#include "codegen/device/cuda/Driver.h"

namespace fake {
using namespace tandem::cuda;

#define TANDEM_CUDA(member, symbol, parameters)                                \
  [[gnu::weak]] CUresult member parameters asm(symbol);                        \
  CUresult member parameters { return success; }
// As in an older driver: the optional ones are missing.
#define TANDEM_CUDA_OPTIONAL(member, symbol, parameters)
#include "codegen/device/cuda/Symbols.inc"
#undef TANDEM_CUDA

} // namespace fake
