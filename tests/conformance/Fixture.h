//===- Fixture.h - What every device test starts from -----------*- C++ -*-===//
#ifndef TANDEM_TESTS_CONFORMANCE_FIXTURE_H
#define TANDEM_TESTS_CONFORMANCE_FIXTURE_H

#include "codegen/device/Device.h"

#include <doctest/doctest.h>

#include <span>

namespace tandem::conformance {

/// The device that this run tests, as for openDevice; set by main.
extern std::string deviceName;
/// Where the PTX of the tests is; set by main.
extern std::string inputFolder;
/// This program; set by main.
extern std::string programPath;

/// Opens the device anew: a test that makes a GPU fault spoils no other.
std::unique_ptr<Device> open();

/// A test that needs a device that executes PTX leaves at once on one that
/// executes another stage. Prints the reason.
bool executesPtx(const Device &device);

/// The value, or a test failure with the error's text.
template <typename T>
T get(Result<T> result) {
  REQUIRE_MESSAGE(bool(result), (result ? "" : result.error().text()));
  return result.take();
}
inline void ok(const Result<void> &result) {
  REQUIRE_MESSAGE(bool(result), (result ? "" : result.error().text()));
}

/// The error's text, or a test failure when there is a value.
template <typename T>
std::string refusal(const Result<T> &result) {
  REQUIRE_MESSAGE(!bool(result), "expected an error");
  return result.error().text();
}

/// Whether \p text contains \p part; a failure prints both.
#define CHECK_CONTAINS(text, part)                                             \
  CHECK_MESSAGE(std::string(text).find(part) != std::string::npos,             \
                "'" << (text) << "' lacks '" << (part) << "'")

/// The kernel of tests/inputs/ptx/conformance/NAME.ptx with one thread; the
/// test adds operands, arguments, grid and block.
Kernel kernelFrom(const std::string &name);

/// An expression that must parse.
IntExpr expr(std::string_view text);
KernelArg pointerTo(int operand);
KernelArg i32(std::string_view value);
KernelArg i64(std::string_view value);

/// Adds an operand of rank 1 to \p record and gives its index.
int addOperand(LaunchRecord &record, std::string name, DType dtype,
               RecordOperand::Role role);

/// A contiguous vector on \p device, filled with \p values.
template <typename T>
Operand vectorOn(Device &device, DType dtype, const std::vector<T> &values,
                 std::string_view name = "vector") {
  uint64_t bytes = values.size() * sizeof(T);
  uint64_t address = get(device.allocate(bytes, name));
  ok(device.write(address, values.data(), bytes));
  return {contiguous(dtype, {static_cast<int64_t>(values.size())}), address};
}

template <typename T>
std::vector<T> valuesOf(Device &device, const Operand &operand) {
  std::vector<T> values(static_cast<size_t>(operand.desc.numElements()));
  ok(device.read(operand.address, values.data(), values.size() * sizeof(T)));
  return values;
}

/// Loads and launches once.
Result<LaunchReport> run(Device &device, const Kernel &kernel,
                         const std::vector<Operand> &operands);

/// Launches; any error, finding or index error fails the test.
void runClean(Device &device, const Kernel &kernel,
              const std::vector<Operand> &operands);

/// `index.ptx`: out[i] = i for all of out.
Kernel indexKernel();

} // namespace tandem::conformance

#endif // TANDEM_TESTS_CONFORMANCE_FIXTURE_H
