//===- Compiler.h - Recipes to kernels: the one entry point -----*- C++ -*-===//
//
// What the harness, the tools and Python see of code generation. No LLVM or
// MLIR type appears here.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_CODEGEN_COMPILER_H
#define TANDEM_CODEGEN_COMPILER_H

#include "codegen/device/Device.h"
#include "refops/core/Recipe.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace tandem {

struct CompileOptions {
  /// sm_80 or sm_90a.
  std::string target = "sm_90a";
  /// One kernel a step when false (with temporaries in between).
  bool fuse = true;
  /// Schedule parameters that override the chosen ones, e.g. {"block", "1024"}.
  /// An unknown name or impossible value is an error.
  std::map<std::string, std::string> set;
  /// Take parameters from the databases of tuned schedules where `set` is empty
  /// (codegen/TunedSchedules.h).
  bool useTuned = true;
  /// Keep the text of every stage in Kernel::stages (tile is always kept).
  bool keepStages = false;
  /// Look in, and add to, the memory and disk caches.
  bool useCache = true;
};

/// A value between two kernels of a program.
struct Temporary {
  TensorType type;
};

/// A table that the host computes for a call: theta^(-i/half), i below half of
/// `turned`.
struct ProgramTable {
  float theta = 0;
  Dim turned = 0;
};

/// Where a kernel's operand comes from.
struct OperandSource {
  enum class Kind : uint8_t { Input, Output, Temporary, Table };
  Kind kind = Kind::Input;
  int index = 0;
};

struct ProgramLaunch {
  std::shared_ptr<const Kernel> kernel;
  std::vector<OperandSource> operands;
  /// The steps of the recipe that this kernel computes.
  std::vector<int> steps;
  /// What kind of schedule it has (codegen::familyName).
  std::string family;
};

struct StageTiming {
  std::string stage;
  double milliseconds = 0;
};

/// A recipe compiled for a class of calls: kernels to launch in order.
struct Program {
  Recipe recipe;
  std::string target;
  std::vector<Temporary> temporaries;
  std::vector<ProgramTable> tables;
  std::vector<ProgramLaunch> launches;
  /// One sentence for each pair of steps that does not share a kernel, and one
  /// for each kernel's schedule.
  std::vector<std::string> explanation;
  std::vector<StageTiming> timings;
  bool fromCache = false;

  /// The contracts of all kernels, steps in recipe order.
  Contract contract() const;
};

/// Compiles \p recipe for calls like the given one: the specialisation (stride
/// classes, divisibility, row-length class, dims that coalesce) is derived from
/// \p inputs and \p outputs, and each kernel's preconditions state it. Safe to
/// call from many threads and processes at once.
Result<std::shared_ptr<const Program>>
compile(const Recipe &recipe, const std::vector<Operand> &inputs,
        const std::vector<Operand> &outputs, const CompileOptions &options);

/// Operands as a compiler would like them for a recipe: contiguous, 256-byte
/// aligned, symbols bound by \p bindings. Addresses are not memory.
Result<std::pair<std::vector<Operand>, std::vector<Operand>>>
typicalOperands(const Recipe &recipe, const DimBindings &bindings);

/// The text of the recipe as an `insn` module, and back. The text form is what
/// tandem-opt reads.
Result<std::string> recipeToInsn(const Recipe &recipe);
Result<Recipe> recipeFromInsn(std::string_view mlir, std::string_view file);

/// Runs a program: allocates temporaries, evaluates launch records, launches in
/// order and merges the reports. The call must have passed checkCall.
Result<LaunchReport> runProgram(Device &device, const Program &program,
                                const std::vector<Operand> &inputs,
                                const std::vector<Operand> &outputs,
                                const LaunchOptions &options);

/// A program whose launches are all prepared, with its temporaries and tables.
/// Must not outlive its device.
class PreparedProgram {
public:
  virtual ~PreparedProgram() = default;
  /// Enqueues every launch in order on \p stream (a CUstream).
  virtual Result<void> enqueue(uint64_t stream) = 0;
  /// Binds other operands: every precondition of every kernel is checked.
  /// Between kernels lie temporaries of the first operands' sizes: where there
  /// are any, other shapes are refused.
  virtual Result<void> bind(const std::vector<Operand> &inputs,
                            const std::vector<Operand> &outputs) = 0;
  /// PreparedLaunch::enqueuePlainly of every launch.
  virtual Result<void> enqueuePlainly(uint64_t stream) = 0;
  /// After the stream has been synchronised.
  virtual Result<std::vector<IndexError>> indexErrors() = 0;
};

/// The kernels of a program, in the order of its launches.
using LoadedProgram = std::vector<std::shared_ptr<LoadedKernel>>;
Result<LoadedProgram> loadProgram(Device &device, const Program &program);

/// Binds \p program, loaded as \p kernels, for many runs on the same operands.
/// The call must have passed checkCall. Fails where the device has no streams.
Result<std::unique_ptr<PreparedProgram>>
prepareProgram(Device &device, const Program &program,
               const LoadedProgram &kernels, const std::vector<Operand> &inputs,
               const std::vector<Operand> &outputs);

/// A device that executes the tile stage of kernels instead of their PTX.
std::unique_ptr<Device> makeTileDevice();

/// What is cached, where, and how much (`tandem cache`).
struct CacheInfo {
  std::string directory;
  uint64_t entries = 0;
  uint64_t bytes = 0;
  uint64_t limitBytes = 0;
};
CacheInfo cacheInfo();
Result<void> clearCache();

} // namespace tandem

#endif // TANDEM_CODEGEN_COMPILER_H
