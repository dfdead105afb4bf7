//===- Driver.h - The CUDA driver, opened at run time -----------*- C++ -*-===//
//
// libcuda.so.1 is never linked: the table of Symbols.inc is filled by dlopen
// when a CUDA device is first asked for, so that one binary runs with and
// without a GPU and says what is missing.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_CODEGEN_DEVICE_CUDA_DRIVER_H
#define TANDEM_CODEGEN_DEVICE_CUDA_DRIVER_H

#include "refops/core/Result.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tandem::cuda {

using CUresult = int;
using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUcontext = struct OpaqueContext *;
using CUstream = struct OpaqueStream *;
using CUmodule = struct OpaqueModule *;
using CUfunction = struct OpaqueFunction *;
using CUgraph = struct OpaqueGraph *;
using CUgraphExec = struct OpaqueGraphExec *;
using CUevent = struct OpaqueEvent *;

/// Codes that tandem tells apart; all others are reported by name.
enum ResultCode : CUresult {
  success = 0,
  noDevice = 100,
  invalidContext = 201,
  illegalAddress = 700,
  launchTimeout = 702,
  assertFailed = 710,
  hardwareStack = 714,
  illegalInstruction = 715,
  misalignedAddress = 716,
  invalidAddressSpace = 717,
  invalidPc = 718,
  launchFailed = 719,
};

/// CUdevice_attribute.
enum DeviceAttribute : int {
  multiprocessorCount = 16,
  clockRate = 13,
  l2CacheBytes = 38,
  capabilityMajor = 75,
  capabilityMinor = 76,
  maxSharedOptin = 97,
};

/// CUfunction_attribute.
enum FunctionAttribute : int {
  maxThreadsPerBlock = 0,
  staticSharedBytes = 1,
  maxDynamicShared = 8,
  nonPortableCluster = 14,
};

/// CUstreamCaptureMode: other threads may go on calling.
inline constexpr int captureThreadLocal = 1;

/// CUjit_option.
enum JitOption : int { errorLogBuffer = 5, errorLogBytes = 6 };

/// CUlaunchAttribute with the attributes that are used: cluster dimensions, and
/// programmatic stream serialization, whose value is a 1 in the first word.
struct LaunchAttribute {
  static constexpr int clusterDimension = 4;
  static constexpr int programmaticSerialization = 6;
  int id = clusterDimension;
  int padding = 0;
  unsigned cluster[3] = {1, 1, 1};
  char rest[52] = {};
};
static_assert(sizeof(LaunchAttribute) == 72, "CUlaunchAttribute is 72 bytes");

/// CUlaunchConfig.
struct LaunchConfig {
  unsigned grid[3] = {1, 1, 1};
  unsigned block[3] = {1, 1, 1};
  unsigned sharedBytes = 0;
  CUstream stream = nullptr;
  LaunchAttribute *attributes = nullptr;
  unsigned numAttributes = 0;
};
static_assert(sizeof(LaunchConfig) == 56, "CUlaunchConfig is 56 bytes");

/// Markers of the `extra` list of a launch: one packed parameter buffer.
inline void *const paramBufferPointer = reinterpret_cast<void *>(1);
inline void *const paramBufferSize = reinterpret_cast<void *>(2);
inline void *const paramEnd = nullptr;

/// The functions of Symbols.inc.
struct Driver {
#define TANDEM_CUDA(member, symbol, parameters) CUresult(*member) parameters;
#include "codegen/device/cuda/Symbols.inc"
#undef TANDEM_CUDA
  /// 12040 for CUDA 12.4.
  int version = 0;

  /// `cuLaunchKernelEx(rmsnorm): CUDA_ERROR_...: what the driver says about
  /// it`. The one place where a code becomes words.
  Error describe(std::string_view call, CUresult code) const;
};

/// The oldest driver whose PTX version covers every target: CUDA 12.0 (8.0).
inline constexpr int oldestDriver = 12000;

/// The loaded and initialised driver, or why there is none. Tried once a
/// process.
const Result<Driver> &driver();

} // namespace tandem::cuda

#endif // TANDEM_CODEGEN_DEVICE_CUDA_DRIVER_H
