//===- TwoDevices.h - One tile kernel on the evaluator and emulator -*- C++
//-*-//
//
// Compiles a tile kernel, runs its tile stage on the evaluator and its PTX on
// the emulator, for both targets, and demands equal bytes and no finding.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_TESTS_UNIT_CODEGEN_LOWER_TWODEVICES_H
#define TANDEM_TESTS_UNIT_CODEGEN_LOWER_TWODEVICES_H

#include "codegen/Compiler.h"
#include "codegen/lower/TileToPtx.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace tandem::test {

using Bytes = std::vector<uint8_t>;

template <typename T>
Bytes bytesOf(const std::vector<T> &values) {
  Bytes bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}
template <typename T>
std::vector<T> valuesOf(const Bytes &bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

/// An argument: a buffer of bytes, or an i64.
struct Argument {
  Bytes bytes;
  int64_t number = 0;
  bool isBuffer = false;
  bool isOutput = false;
};
inline Argument in(Bytes bytes) { return {std::move(bytes), 0, true, false}; }
inline Argument out(size_t bytes) {
  return {Bytes(bytes, 0xAA), 0, true, true};
}
inline Argument number(int64_t value) { return {{}, value, false, false}; }

struct Run {
  std::vector<Bytes> outputs;
  std::vector<std::string> findings;
  std::string error;
};

inline Kernel kernelOf(const std::string &name, const std::string &text,
                       const std::string &target, int warps,
                       const std::vector<Argument> &arguments, int64_t grid) {
  Kernel kernel;
  kernel.stages["tile"] = text;
  Result<PtxOutput> ptx = tileTextToPtx(text, name + ".mlir", target);
  REQUIRE_MESSAGE(bool(ptx), (ptx ? "" : ptx.error().text()));
  kernel.ptx = ptx->ptx;
  LaunchRecord &record = kernel.launch;
  record.kernel = name;
  record.target = target;
  record.grid[0] = IntExpr(grid);
  record.block = {32 * warps, 1, 1};
  for (const Argument &argument : arguments) {
    KernelArg arg;
    if (argument.isBuffer) {
      arg.operand = int(record.operands.size());
      RecordOperand operand;
      operand.name = "op" + std::to_string(record.operands.size());
      operand.dtype = DType::U8;
      operand.rank = 1;
      operand.role = argument.isOutput ? RecordOperand::Role::Out
                                       : RecordOperand::Role::In;
      record.operands.push_back(operand);
    } else {
      arg.kind = KernelArg::Kind::I64;
      arg.value = IntExpr(argument.number);
    }
    record.args.push_back(arg);
  }
  return kernel;
}

inline Run runOn(Device &device, const Kernel &kernel,
                 const std::vector<Argument> &arguments) {
  Run run;
  std::vector<Operand> operands;
  for (const Argument &argument : arguments) {
    if (!argument.isBuffer)
      continue;
    const auto size = argument.bytes.size();
    Result<uint64_t> address =
        device.allocate(size, "op" + std::to_string(operands.size()));
    REQUIRE(bool(address));
    if (argument.isOutput)
      REQUIRE(bool(device.fill(*address, 0xAA, size, false)));
    else
      REQUIRE(bool(device.write(*address, argument.bytes.data(), size)));
    operands.push_back({contiguous(DType::U8, {int64_t(size)}), *address});
  }
  Result<std::shared_ptr<LoadedKernel>> loaded = device.load(kernel);
  REQUIRE_MESSAGE(bool(loaded), (loaded ? "" : loaded.error().text()));
  LaunchOptions options;
  options.scheduleSeed = 7;
  Result<LaunchReport> report = device.launch(**loaded, operands, options);
  if (!report) {
    run.error = report.error().text();
    return run;
  }
  for (const Finding &finding : report->findings)
    run.findings.push_back(finding.kind + ": " + finding.message);
  size_t next = 0;
  for (const Argument &argument : arguments) {
    if (!argument.isBuffer)
      continue;
    Bytes bytes(argument.bytes.size());
    REQUIRE(
        bool(device.read(operands[next].address, bytes.data(), bytes.size())));
    if (argument.isOutput)
      run.outputs.push_back(std::move(bytes));
    REQUIRE(bool(device.release(operands[next].address)));
    ++next;
  }
  return run;
}

/// The GPU, when TANDEM_TEST_CUDA is set and there is one.
inline Device *cudaDevice() {
  static std::unique_ptr<Device> device = []() -> std::unique_ptr<Device> {
    if (!std::getenv("TANDEM_TEST_CUDA"))
      return nullptr;
    Result<std::unique_ptr<Device>> opened = makeCudaDevice();
    REQUIRE_MESSAGE(bool(opened), (opened ? "" : opened.error().text()));
    return opened.take();
  }();
  return device.get();
}

/// The outputs, equal on both devices and both targets; on a GPU too, except
/// for approximations, of which it takes another member of the envelope.
inline std::vector<Bytes>
runEverywhere(const std::string &name, const std::string &text, int warps,
              const std::vector<Argument> &arguments, int64_t grid = 1,
              std::vector<std::string> targets = {"sm_80", "sm_90a"}) {
  CAPTURE(text);
  std::unique_ptr<Device> tile = makeTileDevice();
  std::vector<Bytes> expected;
  for (const std::string &target : targets) {
    CAPTURE(target);
    Kernel kernel = kernelOf(name, text, target, warps, arguments, grid);
    if (expected.empty()) {
      Run run = runOn(*tile, kernel, arguments);
      REQUIRE(run.error == "");
      REQUIRE(run.findings == std::vector<std::string>{});
      expected = std::move(run.outputs);
    }
    CAPTURE(kernel.ptx);
    std::unique_ptr<Device> emulator = makeEmulator();
    Run run = runOn(*emulator, kernel, arguments);
    CHECK(run.error == "");
    REQUIRE(run.findings == std::vector<std::string>{});
    REQUIRE(run.outputs.size() == expected.size());
    for (size_t i = 0; i < expected.size(); ++i)
      CHECK(run.outputs[i] == expected[i]);
    if (Device *cuda = cudaDevice(); cuda && cuda->supports(target)) {
      Run onGpu = runOn(*cuda, kernel, arguments);
      REQUIRE(onGpu.error == "");
      for (size_t i = 0; i < expected.size(); ++i)
        if (text.find("tile.approx") == std::string::npos)
          CHECK_MESSAGE(onGpu.outputs[i] == expected[i], "on the GPU");
    }
  }
  return expected;
}

/// A small generator, so that a seed names its numbers on every platform.
class Random {
public:
  explicit Random(uint64_t seed) : state(seed * 2 + 1) {}
  uint64_t bits() {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state * 0x2545F4914F6CDD1Dull;
  }
  int64_t below(int64_t limit) { return int64_t((bits() >> 33) % limit); }
  /// About normal in [-4, 4].
  float real() {
    float sum = 0;
    for (int i = 0; i < 4; ++i)
      sum += float(bits() >> 40) / float(1 << 24) * 2 - 1;
    return sum;
  }

private:
  uint64_t state;
};

inline std::vector<float> reals(size_t count, uint64_t seed) {
  Random random(seed);
  std::vector<float> values(count);
  for (float &value : values)
    value = random.real();
  return values;
}

/// How far a sum may be from the exact one when every addend passes through at
/// most \p depth rounded f32 additions and their magnitudes add up to
/// \p magnitude: each addition is off by a factor of at most 1 + u with
/// u = 2^-24, so the sum by depth u / (1 - depth u) of the magnitude (Higham,
/// Accuracy and Stability of Numerical Algorithms, eq. 4.4).
inline double sumBound(double depth, double magnitude) {
  const double relative = depth * 0x1p-24;
  return relative / (1 - relative) * magnitude;
}

/// The longest chain of additions of a tile.reduce over \p layout: a thread's
/// registers one by one, lanes in a butterfly, warps one by one.
inline double reductionDepth(const tile::LinearLayout &layout) {
  return static_cast<double>(layout.numRegisters() - 1) + 5 +
         layout.numWarps() - 1;
}

/// Reals as elements of a 16-bit or other float type.
inline Bytes elements(DType type, const std::vector<float> &values) {
  Bytes bytes(values.size() * dtypeSize(type));
  for (size_t i = 0; i < values.size(); ++i)
    storeDouble(type, values[i], &bytes[i * dtypeSize(type)]);
  return bytes;
}

} // namespace tandem::test

#endif // TANDEM_TESTS_UNIT_CODEGEN_LOWER_TWODEVICES_H
