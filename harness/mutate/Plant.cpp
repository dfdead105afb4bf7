//===- Plant.cpp - An engine with a bug planted in it ---------------------===//
#include "harness/mutate/Plant.h"

#include <map>
#include <mutex>

using namespace tandem;
using namespace tandem::harness;

Engine tandem::harness::withEditedKernels(Engine engine, KernelEdit edit) {
  struct Memory {
    std::mutex mutex;
    std::map<std::string, std::shared_ptr<const Kernel>> kernels;
  };
  auto memory = std::make_shared<Memory>();
  const auto original = engine.compile;
  engine.compile = [=](const Recipe &recipe, const std::vector<Operand> &inputs,
                       const std::vector<Operand> &outputs,
                       const CompileOptions &options)
      -> Result<std::shared_ptr<const Program>> {
    auto compiled = original(recipe, inputs, outputs, options);
    if (!compiled)
      return compiled;
    auto program = std::make_shared<Program>(**compiled);
    for (ProgramLaunch &launch : program->launches) {
      const std::string key = launch.kernel->launch.target +
                              launch.kernel->ptx +
                              writeLaunchRecord(launch.kernel->launch);
      const std::scoped_lock lock(memory->mutex);
      std::shared_ptr<const Kernel> &known = memory->kernels[key];
      if (!known) {
        Result<Kernel> edited = edit(*launch.kernel);
        if (!edited)
          return edited.error();
        known = std::make_shared<Kernel>(edited.take());
      }
      launch.kernel = known;
    }
    return std::shared_ptr<const Program>(program);
  };
  return engine;
}

Engine tandem::harness::withEditedPtx(Engine engine, TextEdit edit) {
  return withEditedKernels(std::move(engine),
                           [=](const Kernel &kernel) -> Result<Kernel> {
                             Kernel edited = kernel;
                             edited.ptx = edit(kernel.ptx);
                             return edited;
                           });
}

Engine tandem::harness::withEditedTileStage(Engine engine, TextEdit edit) {
  engine.makeDevice = engine.makeTileDevice;
  return withEditedKernels(std::move(engine),
                           [=](const Kernel &kernel) -> Result<Kernel> {
                             Kernel edited = kernel;
                             std::string &tile = edited.stages["tile"];
                             tile = edit(tile);
                             return edited;
                           });
}

Engine tandem::harness::withEditedRecipe(Engine engine,
                                         std::function<void(Recipe &)> edit) {
  const auto original = engine.compile;
  engine.compile = [=](const Recipe &recipe, const std::vector<Operand> &inputs,
                       const std::vector<Operand> &outputs,
                       const CompileOptions &options) {
    Recipe edited = recipe;
    edit(edited);
    return original(edited, inputs, outputs, options);
  };
  return engine;
}

Engine tandem::harness::withEditedOutputs(
    Engine engine,
    std::function<void(Device &, const std::vector<Operand> &)> edit) {
  const auto original = engine.run;
  engine.run = [=](Device &device, const Program &program,
                   const std::vector<Operand> &inputs,
                   const std::vector<Operand> &outputs,
                   const LaunchOptions &options) {
    auto report = original(device, program, inputs, outputs, options);
    if (report && report->ok())
      edit(device, outputs);
    return report;
  };
  return engine;
}

Engine tandem::harness::withEditedReference(
    Engine engine, std::function<void(std::vector<refops::Expected> &)> edit) {
  const auto original = engine.evaluate;
  engine.evaluate = [=](const Recipe &recipe, const std::vector<View> &inputs,
                        const Contract &contract,
                        std::vector<refops::IndexFault> *faults) {
    auto expected = original(recipe, inputs, contract, faults);
    if (expected)
      edit(*expected);
    return expected;
  };
  return engine;
}

void tandem::harness::editLastElement(
    Device &device, const std::vector<Operand> &outputs,
    const std::function<void(DType, std::byte *element)> &edit) {
  // A recipe of nothing but states has none.
  if (outputs.empty())
    return;
  const Operand &y = outputs.front();
  if (y.desc.numElements() == 0)
    return;
  int64_t offset = 0;
  for (size_t d = 0; d < y.desc.rank(); ++d)
    offset += (y.desc.shape[d] - 1) * y.desc.strides[d];
  const size_t size = dtypeSize(y.desc.dtype);
  const uint64_t address = y.address + static_cast<uint64_t>(offset) * size;
  std::byte element[8] = {};
  // A device that cannot read its own output has failed already.
  if (!device.read(address, element, size))
    return;
  edit(y.desc.dtype, element);
  (void)device.write(address, element, size);
}
