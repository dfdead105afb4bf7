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

Result<LaunchReport> tandem::runProgram(Device &device, const Program &program,
                                        const std::vector<Operand> &inputs,
                                        const std::vector<Operand> &outputs,
                                        const LaunchOptions &options) {
  std::vector<TensorDesc> descs;
  for (const Operand &input : inputs)
    descs.push_back(input.desc);
  Result<DimBindings> bindings = bindDims(program.recipe, descs);
  if (!bindings)
    return bindings.error();
  Temporaries temporaries(device);
  for (const Temporary &temporary : program.temporaries)
    if (Result<void> ok = temporaries.add(temporary.type, *bindings); !ok)
      return ok.error();
  Temporaries tables(device);
  for (const ProgramTable &table : program.tables)
    if (Result<void> ok = tables.addTable(table, *bindings); !ok)
      return ok.error();

  LaunchReport merged;
  for (const ProgramLaunch &launch : program.launches) {
    std::vector<Operand> operands;
    for (const OperandSource &source : launch.operands)
      operands.push_back(
          source.kind == OperandSource::Kind::Input    ? inputs[source.index]
          : source.kind == OperandSource::Kind::Output ? outputs[source.index]
          : source.kind == OperandSource::Kind::Table
              ? tables[source.index]
              : temporaries[source.index]);
    Result<std::shared_ptr<LoadedKernel>> loaded = device.load(*launch.kernel);
    if (!loaded)
      return loaded.error();
    Result<LaunchReport> report = device.launch(**loaded, operands, options);
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
