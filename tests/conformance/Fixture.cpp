//===- Fixture.cpp - What every device test starts from -------------------===//
#include "tests/conformance/Fixture.h"

#include "codegen/device/OpenDevice.h"

#include <fstream>
#include <sstream>

using namespace tandem;
using namespace tandem::conformance;

std::string conformance::deviceName = "emulator";
std::string conformance::inputFolder;
std::string conformance::programPath;

std::unique_ptr<Device> conformance::open() {
  return get(openDevice(deviceName));
}

bool conformance::executesPtx(const Device &device) {
  if (device.kind() != "tile")
    return true;
  MESSAGE("SKIPPED: executes the tile stage, and this kernel is only PTX");
  return false;
}

Kernel conformance::kernelFrom(const std::string &name) {
  std::ifstream file(inputFolder + "/ptx/conformance/" + name + ".ptx");
  REQUIRE_MESSAGE(file.is_open(), "no PTX file of " << name);
  std::stringstream text;
  text << file.rdbuf();
  Kernel kernel;
  kernel.ptx = text.str();
  kernel.launch.kernel = name;
  kernel.launch.target = "sm_80";
  return kernel;
}

IntExpr conformance::expr(std::string_view text) {
  return get(IntExpr::parse(text));
}

KernelArg conformance::pointerTo(int operand) {
  return {KernelArg::Kind::Pointer, operand, IntExpr()};
}
KernelArg conformance::i32(std::string_view value) {
  return {KernelArg::Kind::I32, -1, expr(value)};
}
KernelArg conformance::i64(std::string_view value) {
  return {KernelArg::Kind::I64, -1, expr(value)};
}

int conformance::addOperand(LaunchRecord &record, std::string name, DType dtype,
                            RecordOperand::Role role) {
  record.operands.push_back({std::move(name), dtype, 1, role});
  return static_cast<int>(record.operands.size()) - 1;
}

Result<LaunchReport> conformance::run(Device &device, const Kernel &kernel,
                                      const std::vector<Operand> &operands) {
  auto loaded = device.load(kernel);
  if (!loaded)
    return loaded.error();
  return device.launch(**loaded, operands, LaunchOptions());
}

void conformance::runClean(Device &device, const Kernel &kernel,
                           const std::vector<Operand> &operands) {
  LaunchReport report = get(run(device, kernel, operands));
  for (const Finding &finding : report.findings)
    FAIL_CHECK(finding.text());
  CHECK(report.indexErrors.empty());
}

Kernel conformance::indexKernel() {
  Kernel kernel = kernelFrom("index");
  LaunchRecord &record = kernel.launch;
  int out = addOperand(record, "out", DType::I32, RecordOperand::Role::Out);
  record.args = {pointerTo(out), i64("out.shape[0]")};
  record.grid[0] = expr("ceildiv(out.shape[0], 128)");
  record.block = {128, 1, 1};
  return kernel;
}
