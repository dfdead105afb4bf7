//===- Device.h - One interface over the GPU and the emulator ---*- C++ -*-===//
//
// A device loads PTX text and launches it. The CUDA driver and the emulator are
// the two implementations, and a third executes the tile stage of a kernel so
// that a wrong result can be pinned to a lowering. All pass one conformance
// suite (tests/conformance/). No LLVM or MLIR type appears here.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_CODEGEN_DEVICE_DEVICE_H
#define TANDEM_CODEGEN_DEVICE_DEVICE_H

#include "codegen/device/GpuQueue.h"
#include "refops/core/LaunchRecord.h"
#include "refops/core/Result.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tandem {

/// A compiled kernel: the text that every device runs, how to launch it, and
/// the stages it went through (`tile`, `nvvm`, `llvm`), where kept.
struct Kernel {
  std::string ptx;
  LaunchRecord launch;
  std::map<std::string, std::string> stages;
};

/// The earlier access of a race.
struct FindingSide {
  std::string access; // read, write
  int ptxLine = 0;
  std::string source;
  std::array<int64_t, 3> block = {0, 0, 0};
  std::array<int64_t, 3> thread = {0, 0, 0};
};

/// What a checking device found wrong in a launch.
struct Finding {
  /// Worth knowing and not wrong: in LaunchReport::notes.
  bool isNote = false;
  /// out-of-bounds, use-after-free, misaligned, uninitialised, race, barrier,
  /// deadlock, budget, divergent, async, registers, trap, assert, call, stack.
  std::string kind;
  /// One sentence: actual and expected.
  std::string message;
  std::string kernel;
  int ptxLine = 0;
  /// `kernel.cu:12` or `step 3`, where the PTX says so with `.loc`.
  std::string source;
  std::array<int64_t, 3> block = {0, 0, 0};
  std::array<int64_t, 3> thread = {0, 0, 0};
  uint64_t address = 0;
  /// The nearest allocation, in words; empty if there is none.
  std::string allocation;
  /// The other side of a race: line and thread, in words.
  std::string other;
  std::optional<FindingSide> side;
  /// `kernel:line: kind: message (block 0,0,0 thread 3,0,0) ...` on one line.
  std::string text() const;
};

/// The first index error that a kernel reported through its error slot.
struct IndexError {
  int step = 0;
  int64_t row = 0;
};

struct LaunchOptions {
  /// Emulator: which checks to make.
  bool checkMemory = true;
  bool checkInit = true;
  bool checkRaces = true;
  bool checkAsync = true;
  /// Emulator: order of warps and CTAs; 0 is the plain order.
  uint64_t scheduleSeed = 0;
  /// Emulator: which member of an approximate op's envelope: nearest, low,
  /// high, random.
  std::string approximation = "nearest";
  /// Emulator: thread-instructions after which a launch is stopped; 0 is the
  /// default of 20 G.
  uint64_t budget = 0;
  /// Emulator: worker threads for kernels whose CTAs do not communicate.
  int jobs = 1;
};

struct LaunchReport {
  std::vector<Finding> findings;
  /// What is right only by a rule beyond the letter of the memory model, or
  /// permitted and surprising (docs/decisions/).
  std::vector<Finding> notes;
  std::vector<IndexError> indexErrors;
  uint64_t threadInstructions = 0;
  /// What the kernel printed.
  std::string output;
  bool ok() const { return findings.empty(); }
};

/// A loaded kernel. Must not outlive its device.
class LoadedKernel {
public:
  virtual ~LoadedKernel() = default;
};

/// A launch whose operands are bound: arguments packed, tensor maps encoded,
/// nothing left to look up or to allocate. Must not outlive its device.
class PreparedLaunch {
public:
  virtual ~PreparedLaunch() = default;
  /// Enqueues the launch on \p stream (a CUstream) and returns. May be called
  /// while the stream is captured.
  virtual Result<void> enqueue(uint64_t stream) = 0;
  /// Binds other operands, checked as the first were. Looks nothing up, and
  /// allocates only where a workspace grows.
  virtual Result<void> bind(const std::vector<Operand> &operands) = 0;
  /// The same launch by the driver's plain call, which takes a pointer to every
  /// argument: what the cost of `enqueue` is measured against.
  virtual Result<void> enqueuePlainly(uint64_t stream) = 0;
  /// What the kernel reported through its error slot since it was prepared;
  /// only after the stream has been synchronised.
  virtual Result<std::vector<IndexError>> indexErrors() = 0;
};

struct DeviceInfo {
  std::string name;
  /// The newest target it loads, `sm_90a`; empty when any.
  std::string target;
  std::string driver;
  /// Free-form facts for a report (clocks, memory).
  std::map<std::string, std::string> facts;
};

class Device {
public:
  virtual ~Device() = default;

  /// `cuda`, `emulator` or `tile`.
  virtual std::string_view kind() const = 0;
  virtual DeviceInfo info() const = 0;

  /// Whether kernels for \p target (`sm_80`, `sm_90a`) run here.
  virtual bool supports(std::string_view target) const = 0;

  /// Allocates \p bytes (256-byte aligned), uninitialised to the checker.
  /// \p name appears in findings. 0 bytes give a valid, empty allocation.
  virtual Result<uint64_t> allocate(uint64_t bytes, std::string_view name) = 0;
  virtual Result<void> release(uint64_t address) = 0;
  /// Copies to and from device memory; both ranges must lie inside one
  /// allocation. Writing marks the bytes as initialised.
  virtual Result<void> write(uint64_t address, const void *source,
                             uint64_t bytes) = 0;
  virtual Result<void> read(uint64_t address, void *target, uint64_t bytes) = 0;
  /// Repeats one byte. \p initialised false leaves the bytes "never written"
  /// to the checker (poison under a kernel's output).
  virtual Result<void> fill(uint64_t address, uint8_t byte, uint64_t bytes,
                            bool initialised) = 0;

  /// The device's own 128 bytes of \p map, for kernels that read their maps
  /// from memory; a TensorMap argument of a launch record is encoded by the
  /// launch.
  virtual Result<std::array<std::byte, tensorMapBytes>>
  encodeTensorMap(const TensorMap &map) {
    (void)map;
    return Error(std::string(kind()) + ": has no tensor maps");
  }

  /// Parses or JIT-compiles \p kernel. Fails with the PTX line or the driver's
  /// call and code.
  virtual Result<std::shared_ptr<LoadedKernel>> load(const Kernel &kernel) = 0;

  /// Runs to completion and reports. Operands are in the order of the record.
  /// An Error means that the launch was refused (preconditions, limits) or
  /// failed (driver); a Finding, that the kernel did something wrong.
  virtual Result<LaunchReport> launch(LoadedKernel &kernel,
                                      const std::vector<Operand> &operands,
                                      const LaunchOptions &options) = 0;

  /// Binds \p operands to \p kernel for many launches. The workspace, if the
  /// kernel has one, is zeroed once: kernels leave it zeroed.
  virtual Result<std::unique_ptr<PreparedLaunch>>
  prepare(std::shared_ptr<LoadedKernel> kernel,
          const std::vector<Operand> &operands) {
    (void)kernel, (void)operands;
    return Error(std::string(kind()) + ": has no streams to launch on");
  }
  /// The stream of a GPU; null elsewhere.
  virtual GpuQueue *queue() { return nullptr; }
};

/// The emulator; always available.
std::unique_ptr<Device> makeEmulator();
/// The CUDA device, or why there is none (no libcuda, no GPU, driver too old).
Result<std::unique_ptr<Device>> makeCudaDevice(int ordinal = 0);

} // namespace tandem

#endif // TANDEM_CODEGEN_DEVICE_DEVICE_H
