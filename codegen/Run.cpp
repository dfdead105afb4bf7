//===- Run.cpp - Launching a program on a device --------------------------===//
#include "codegen/Compiler.h"

#include "refops/core/HostNumbers.h"

using namespace tandem;

namespace {
/// Releases temporaries whatever happens.
class Temporaries {
public:
  explicit Temporaries(Device &device) : device(device) {}
  ~Temporaries() {
    for (const Operand &operand : operands)
      (void)device.release(operand.address);
  }
  Result<void> add(const TensorType &type, const DimBindings &bindings) {
    Operand operand;
    operand.desc = contiguous(type.dtype, bindShape(type.shape, bindings));
    uint64_t bytes = static_cast<uint64_t>(operand.desc.numElements()) *
                     dtypeSize(type.dtype);
    Result<uint64_t> address =
        device.allocate(bytes, "temporary " + std::to_string(operands.size()));
    if (!address)
      return address.error();
    operand.address = *address;
    operands.push_back(operand);
    return {};
  }
  Result<void> addTable(const ProgramTable &table,
                        const DimBindings &bindings) {
    const int64_t half = bindShape({table.turned}, bindings)[0] / 2;
    if (Result<void> ok = add({DType::F32, {half}}, {}); !ok)
      return ok;
    const std::vector<float> values = ropeFrequencies(table.theta, half);
    return device.write(operands.back().address, values.data(),
                        values.size() * sizeof(float));
  }
  const Operand &operator[](int index) const { return operands[index]; }

private:
  Device &device;
  std::vector<Operand> operands;
};
} // namespace

namespace {
/// The memory that a run needs beside its inputs and outputs.
class RunMemory {
public:
  RunMemory(Device &device, const std::vector<Operand> &inputs,
            const std::vector<Operand> &outputs)
      : inputs(inputs), outputs(outputs), temporaries(device), tables(device) {}

  Result<void> allocate(const Program &program) {
    std::vector<TensorDesc> descs;
    for (const Operand &input : inputs)
      descs.push_back(input.desc);
    Result<DimBindings> bindings = bindDims(program.recipe, descs);
    if (!bindings)
      return bindings.error();
    for (const Temporary &temporary : program.temporaries)
      if (Result<void> ok = temporaries.add(temporary.type, *bindings); !ok)
        return ok;
    for (const ProgramTable &table : program.tables)
      if (Result<void> ok = tables.addTable(table, *bindings); !ok)
        return ok;
    return {};
  }

  std::vector<Operand> operandsOf(const ProgramLaunch &launch) const {
    std::vector<Operand> operands;
    for (const OperandSource &source : launch.operands)
      operands.push_back(
          source.kind == OperandSource::Kind::Input    ? inputs[source.index]
          : source.kind == OperandSource::Kind::Output ? outputs[source.index]
          : source.kind == OperandSource::Kind::Table
              ? tables[source.index]
              : temporaries[source.index]);
    return operands;
  }

private:
  std::vector<Operand> inputs, outputs;
  Temporaries temporaries, tables;
};

class Prepared final : public PreparedProgram {
public:
  Prepared(Device &device, const std::vector<Operand> &inputs,
           const std::vector<Operand> &outputs)
      : numInputs(inputs.size()), numOutputs(outputs.size()),
        memory(device, inputs, outputs) {}

  Result<void> make(Device &device, const Program &program,
                    const LoadedProgram &kernels) {
    if (Result<void> ok = memory.allocate(program); !ok)
      return ok;
    hasTemporaries = !program.temporaries.empty() || !program.tables.empty();
    for (size_t i = 0; i < program.launches.size(); ++i) {
      operands.push_back(memory.operandsOf(program.launches[i]));
      sources.push_back(program.launches[i].operands);
      Result<std::unique_ptr<PreparedLaunch>> prepared =
          device.prepare(kernels[i], operands.back());
      if (!prepared)
        return prepared.error();
      launches.push_back(prepared.take());
    }
    return {};
  }

  Result<void> bind(const std::vector<Operand> &inputs,
                    const std::vector<Operand> &outputs) override {
    if (inputs.size() != numInputs || outputs.size() != numOutputs)
      return Error("bind: expected " + std::to_string(numInputs) +
                   " inputs and " + std::to_string(numOutputs) +
                   " outputs, got " + std::to_string(inputs.size()) + " and " +
                   std::to_string(outputs.size()));
    for (size_t i = 0; i < launches.size(); ++i) {
      for (size_t k = 0; k < sources[i].size(); ++k) {
        const OperandSource &source = sources[i][k];
        if (source.kind != OperandSource::Kind::Input &&
            source.kind != OperandSource::Kind::Output)
          continue;
        const Operand &given = source.kind == OperandSource::Kind::Input
                                   ? inputs[source.index]
                                   : outputs[source.index];
        Operand &bound = operands[i][k];
        if (hasTemporaries && given.desc.shape != bound.desc.shape)
          return Error("bind: " + given.desc.describe() +
                       " has another shape than the prepared " +
                       bound.desc.describe());
        bound = given;
      }
      if (Result<void> done = launches[i]->bind(operands[i]); !done)
        return done;
    }
    return {};
  }

  Result<void> enqueuePlainly(uint64_t stream) override {
    for (const std::unique_ptr<PreparedLaunch> &launch : launches)
      if (Result<void> done = launch->enqueuePlainly(stream); !done)
        return done;
    return {};
  }

  Result<void> enqueue(uint64_t stream) override {
    for (const std::unique_ptr<PreparedLaunch> &launch : launches)
      if (Result<void> done = launch->enqueue(stream); !done)
        return done;
    return {};
  }

  Result<std::vector<IndexError>> indexErrors() override {
    std::vector<IndexError> all;
    for (const std::unique_ptr<PreparedLaunch> &launch : launches) {
      Result<std::vector<IndexError>> errors = launch->indexErrors();
      if (!errors)
        return errors;
      all.insert(all.end(), errors->begin(), errors->end());
    }
    return all;
  }

private:
  size_t numInputs, numOutputs;
  RunMemory memory;
  bool hasTemporaries = false;
  /// One a launch: where its operands come from, and those bound last.
  std::vector<std::vector<OperandSource>> sources;
  std::vector<std::vector<Operand>> operands;
  std::vector<std::unique_ptr<PreparedLaunch>> launches;
};
} // namespace

Result<LaunchReport> tandem::runProgram(Device &device, const Program &program,
                                        const std::vector<Operand> &inputs,
                                        const std::vector<Operand> &outputs,
                                        const LaunchOptions &options) {
  RunMemory memory(device, inputs, outputs);
  if (Result<void> ok = memory.allocate(program); !ok)
    return ok.error();
  LaunchReport merged;
  for (const ProgramLaunch &launch : program.launches) {
    Result<std::shared_ptr<LoadedKernel>> loaded = device.load(*launch.kernel);
    if (!loaded)
      return loaded.error();
    Result<LaunchReport> report =
        device.launch(**loaded, memory.operandsOf(launch), options);
    if (!report)
      return report.error();
    for (Finding &finding : report->findings)
      merged.findings.push_back(std::move(finding));
    for (const IndexError &error : report->indexErrors)
      merged.indexErrors.push_back(error);
    merged.threadInstructions += report->threadInstructions;
    if (!merged.ok())
      break;
  }
  return merged;
}

Result<LoadedProgram> tandem::loadProgram(Device &device,
                                          const Program &program) {
  LoadedProgram kernels;
  for (const ProgramLaunch &launch : program.launches) {
    Result<std::shared_ptr<LoadedKernel>> loaded = device.load(*launch.kernel);
    if (!loaded)
      return loaded.error();
    kernels.push_back(loaded.take());
  }
  return kernels;
}

Result<std::unique_ptr<PreparedProgram>> tandem::prepareProgram(
    Device &device, const Program &program, const LoadedProgram &kernels,
    const std::vector<Operand> &inputs, const std::vector<Operand> &outputs) {
  auto prepared = std::make_unique<Prepared>(device, inputs, outputs);
  if (Result<void> ok = prepared->make(device, program, kernels); !ok)
    return ok.error();
  return std::unique_ptr<PreparedProgram>(std::move(prepared));
}
