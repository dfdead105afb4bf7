//===- FakeEngine.h - An engine that is right, or wrong on purpose -*- C++
//-*-===//
//
// Every op doubles its first operand; the "device" is the host. What a planted
// bug may change is the launch (before and after each element) and the
// contract. The harness cannot tell it from a compiler.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_TESTS_UNIT_HARNESS_FAKEENGINE_H
#define TANDEM_TESTS_UNIT_HARNESS_FAKEENGINE_H

#include "harness/run/Engine.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>

namespace tandem::harness {

class HostDevice : public Device {
public:
  ~HostDevice() override {
    for (auto &[address, bytes] : allocations)
      std::free(reinterpret_cast<void *>(address));
  }
  std::string_view kind() const override { return "host"; }
  DeviceInfo info() const override { return {"host", "", "", {}}; }
  bool supports(std::string_view) const override { return true; }
  Result<uint64_t> allocate(uint64_t bytes, std::string_view) override {
    void *memory = std::aligned_alloc(256, (bytes + 511) / 256 * 256);
    const auto address = reinterpret_cast<uint64_t>(memory);
    allocations[address] = bytes;
    return address;
  }
  Result<void> release(uint64_t address) override {
    std::free(reinterpret_cast<void *>(address));
    allocations.erase(address);
    return {};
  }
  Result<void> write(uint64_t address, const void *source,
                     uint64_t bytes) override {
    if (bytes)
      std::memcpy(reinterpret_cast<void *>(address), source, bytes);
    return {};
  }
  Result<void> read(uint64_t address, void *target, uint64_t bytes) override {
    std::memcpy(target, reinterpret_cast<void *>(address), bytes);
    return {};
  }
  Result<void> fill(uint64_t address, uint8_t byte, uint64_t bytes,
                    bool) override {
    std::memset(reinterpret_cast<void *>(address), byte, bytes);
    return {};
  }
  Result<std::shared_ptr<LoadedKernel>> load(const Kernel &) override {
    return Error("host: loads nothing");
  }
  Result<LaunchReport> launch(LoadedKernel &, const std::vector<Operand> &,
                              const LaunchOptions &) override {
    return Error("host: launches nothing");
  }

  std::map<uint64_t, uint64_t> allocations;
};

/// What a planted bug sees of an element that the kernel is about to write.
struct FakeStore {
  const TensorDesc &desc;
  int64_t linear;
  double value;
  std::byte *target;
  const LaunchOptions &options;
  size_t numSteps;
};

struct FakeBug {
  /// Gives false to leave the element unwritten; may change the value.
  std::function<bool(FakeStore &)> store = [](FakeStore &) { return true; };
  std::function<void(Contract &)> contract = [](Contract &) {};
  std::function<void(LaunchReport &)> report = [](LaunchReport &) {};
};

/// Which input an output doubles: the first operand of the first step.
inline double fakeAnswer(const Recipe &recipe, const View &x, int64_t linear) {
  double value = loadDouble(x.desc.dtype, x.atLinear(linear));
  for (size_t i = 0; i < recipe.steps.size(); ++i)
    value *= 2;
  return value;
}

/// Whether the fake can run \p recipe: one output shaped like its first input,
/// floats everywhere.
inline bool fakeSupports(const Recipe &recipe) {
  return recipe.outputs.size() == 1 && !recipe.inputs.empty() &&
         recipe.inputs[0].type.shape == recipe.outputs[0].type.shape &&
         isFloat(recipe.inputs[0].type.dtype) &&
         isFloat(recipe.outputs[0].type.dtype);
}

inline Engine fakeEngine(FakeBug bug = {}) {
  Engine engine;
  engine.compile =
      [](const Recipe &recipe, const std::vector<Operand> &,
         const std::vector<Operand> &,
         const CompileOptions &) -> Result<std::shared_ptr<const Program>> {
    if (!fakeSupports(recipe))
      return Error("fake: cannot compile " + recipe.name);
    auto program = std::make_shared<Program>();
    program->recipe = recipe;
    return std::shared_ptr<const Program>(program);
  };
  engine.contractOf = [bug](const Program &program) {
    Contract contract;
    for (size_t i = 0; i < program.recipe.steps.size(); ++i) {
      StepContract step;
      step.step = static_cast<int>(i);
      step.op = program.recipe.steps[i].op;
      contract.steps.push_back(step);
    }
    bug.contract(contract);
    return contract;
  };
  engine.run = [bug](Device &, const Program &program,
                     const std::vector<Operand> &inputs,
                     const std::vector<Operand> &outputs,
                     const LaunchOptions &options) -> Result<LaunchReport> {
    const View x{inputs[0].desc,
                 reinterpret_cast<std::byte *>(inputs[0].address)};
    const View y{outputs[0].desc,
                 reinterpret_cast<std::byte *>(outputs[0].address)};
    for (int64_t i = 0; i < y.desc.numElements(); ++i) {
      FakeStore store{y.desc,        i,       fakeAnswer(program.recipe, x, i),
                      y.atLinear(i), options, program.recipe.steps.size()};
      if (bug.store(store))
        storeDouble(y.desc.dtype, store.value, store.target);
    }
    LaunchReport report;
    bug.report(report);
    return report;
  };
  engine.evaluate = [](const Recipe &recipe, const std::vector<View> &inputs,
                       const Contract &, std::vector<refops::IndexFault> *)
      -> Result<std::vector<refops::Expected>> {
    refops::Expected expected;
    expected.desc =
        contiguous(recipe.outputs[0].type.dtype, inputs[0].desc.shape);
    for (int64_t i = 0; i < expected.desc.numElements(); ++i)
      expected.value.push_back(fakeAnswer(recipe, inputs[0], i));
    expected.error.assign(expected.value.size(), 0);
    expected.unchecked.assign(expected.value.size(), 0);
    return std::vector<refops::Expected>{expected};
  };
  engine.makeDevice = []() -> Result<std::unique_ptr<Device>> {
    return std::unique_ptr<Device>(new HostDevice());
  };
  return engine;
}

} // namespace tandem::harness

#endif // TANDEM_TESTS_UNIT_HARNESS_FAKEENGINE_H
