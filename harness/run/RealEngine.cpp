//===- RealEngine.cpp - The compiler and the devices of this build --------===//
#include "harness/run/RealEngine.h"

#include "codegen/device/OpenDevice.h"

using namespace tandem;
using namespace tandem::harness;

Result<Engine> tandem::harness::realEngine(const std::string &device) {
  Engine engine;
  engine.compile = [](const Recipe &recipe, const std::vector<Operand> &inputs,
                      const std::vector<Operand> &outputs,
                      const CompileOptions &options) {
    return compile(recipe, inputs, outputs, options);
  };
  engine.contractOf = [](const Program &program) { return program.contract(); };
  engine.run = [](Device &target, const Program &program,
                  const std::vector<Operand> &inputs,
                  const std::vector<Operand> &outputs,
                  const LaunchOptions &options) {
    return runProgram(target, program, inputs, outputs, options);
  };
  engine.evaluate = [](const Recipe &recipe, const std::vector<View> &inputs,
                       const Contract &contract,
                       std::vector<refops::IndexFault> *faults) {
    refops::EvaluateOptions options;
    options.faults = faults;
    return refops::evaluate(recipe, inputs, contract, options);
  };
  engine.runReference = [](const Recipe &recipe,
                           const std::vector<View> &inputs,
                           const std::vector<View> &outputs) {
    std::vector<refops::IndexFault> faults;
    refops::EvaluateOptions options;
    options.faults = &faults;
    return refops::run(recipe, inputs, outputs, options);
  };
  engine.makeEmulator = []() -> Result<std::unique_ptr<Device>> {
    return makeEmulator();
  };
  engine.makeTileDevice = []() -> Result<std::unique_ptr<Device>> {
    return makeTileDevice();
  };
  // Asked once here, so that a wrong name or an absent GPU is one message.
  Result<std::unique_ptr<Device>> first = openDevice(device);
  if (!first)
    return first.error();
  const std::string name = (*first)->kind() == "cuda" && device == "auto"
                               ? "cuda"
                           : device == "auto" ? "emulator"
                                              : device;
  engine.makeDevice = [name] { return openDevice(name); };
  return engine;
}
