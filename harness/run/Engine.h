//===- Engine.h - What a harness tests --------------------------*- C++ -*-===//
//
// The compiler, the reference and the device behind one set of functions, so
// that the tester itself is tested with engines that are wrong on purpose
// (tests/quality/). harness/run/RealEngine.h has the real one.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_HARNESS_RUN_ENGINE_H
#define TANDEM_HARNESS_RUN_ENGINE_H

#include "codegen/Compiler.h"
#include "refops/Evaluate.h"

#include <functional>
#include <memory>

namespace tandem::harness {

struct Engine {
  std::function<Result<std::shared_ptr<const Program>>(
      const Recipe &, const std::vector<Operand> &inputs,
      const std::vector<Operand> &outputs, const CompileOptions &)>
      compile;
  std::function<Contract(const Program &)> contractOf;
  std::function<Result<LaunchReport>(
      Device &, const Program &, const std::vector<Operand> &inputs,
      const std::vector<Operand> &outputs, const LaunchOptions &)>
      run;
  /// Appends indices outside their tables to the last argument when there is
  /// one, else fails on the first.
  std::function<Result<std::vector<refops::Expected>>(
      const Recipe &, const std::vector<View> &, const Contract &,
      std::vector<refops::IndexFault> *)>
      evaluate;
  /// The reference's outputs, rounded; rows with an index outside its table
  /// keep what they hold. May be empty.
  std::function<Result<void>(const Recipe &, const std::vector<View> &inputs,
                             const std::vector<View> &outputs)>
      runReference;
  /// A device for one thread.
  std::function<Result<std::unique_ptr<Device>>()> makeDevice;
  /// The emulator, to ask what the same PTX does there; may be empty.
  std::function<Result<std::unique_ptr<Device>>()> makeEmulator;
  /// Executes the tile stage; may be empty.
  std::function<Result<std::unique_ptr<Device>>()> makeTileDevice;
};

} // namespace tandem::harness

#endif // TANDEM_HARNESS_RUN_ENGINE_H
