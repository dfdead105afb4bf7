//===- Harness.h - Runs small PTX texts in tests ----------------*- C++ -*-===//
//
// A test writes the body of a kernel that has one parameter `out` and perhaps
// `in`; the harness declares registers and runs it with one thread or more.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_TESTS_UNIT_DEVICE_EMULATOR_HARNESS_H
#define TANDEM_TESTS_UNIT_DEVICE_EMULATOR_HARNESS_H

#include "codegen/device/Device.h"

#include <doctest/doctest.h>

#include <bit>
#include <cstring>
#include <fstream>
#include <sstream>

namespace tandem::test {

/// A kernel with pointer arguments in order, and how to launch it.
struct Case {
  std::string ptx;
  std::string name = "k";
  std::array<int, 3> block = {1, 1, 1};
  std::array<int64_t, 3> grid = {1, 1, 1};
  std::array<int, 3> cluster = {1, 1, 1};
  int64_t sharedBytes = 0;
  bool ctasCommunicate = false;
  LaunchOptions options;
  /// One buffer an argument, in bytes; what the kernel left is read back.
  std::vector<std::vector<uint8_t>> buffers;
  /// Buffers that count as never written before the launch.
  std::vector<bool> uninitialised;
  /// Tensor maps of buffers, after the pointers; dims and strides are
  /// constants.
  std::vector<std::pair<int, TensorMapSpec>> maps;
  /// 32-bit arguments after the buffers.
  std::vector<int> integers;
};

inline std::string header() {
  return ".version 8.0\n.target sm_90a\n.address_size 64\n";
}

/// Declares registers of every kind: %p, %h (16), %r (32), %d (64), %f, %g.
inline std::string registers() {
  return ".reg .pred %p<9>; .reg .b16 %h<20>; .reg .b32 %r<40>; "
         ".reg .b64 %d<20>; .reg .f32 %f<20>; .reg .f64 %g<9>;\n";
}

/// A kernel `k(out, in)` whose %d1 and %d2 hold the two global addresses.
inline std::string kernelWith(const std::string &body,
                              const std::string &variables = "") {
  return header() + variables +
         ".visible .entry k(.param .u64 out, .param .u64 in) {\n" +
         registers() +
         "ld.param.u64 %d1, [out]; cvta.to.global.u64 %d1, %d1;\n"
         "ld.param.u64 %d2, [in]; cvta.to.global.u64 %d2, %d2;\n" +
         body + "\nret;\n}\n";
}

inline Kernel kernelOf(const Case &c) {
  Kernel kernel;
  kernel.ptx = c.ptx;
  kernel.launch.kernel = c.name;
  kernel.launch.target = "sm_90a";
  kernel.launch.block = c.block;
  kernel.launch.cluster = c.cluster;
  for (size_t i = 0; i < 3; ++i)
    kernel.launch.grid[i] = IntExpr(c.grid[i]);
  kernel.launch.sharedBytes = c.sharedBytes;
  kernel.launch.ctasCommunicate = c.ctasCommunicate;
  for (size_t i = 0; i < c.buffers.size(); ++i) {
    kernel.launch.operands.push_back(
        {"b" + std::to_string(i), DType::U8, 1, RecordOperand::Role::State});
    kernel.launch.args.push_back(
        {KernelArg::Kind::Pointer, static_cast<int>(i), IntExpr(0)});
  }
  for (const auto &[buffer, map] : c.maps)
    kernel.launch.args.push_back(
        {KernelArg::Kind::TensorMap, buffer, IntExpr(0), map});
  for (int value : c.integers)
    kernel.launch.args.push_back({KernelArg::Kind::I32, -1, IntExpr(value)});
  return kernel;
}

/// Loads and runs; buffers are updated in place.
inline Result<LaunchReport> run(Case &c, Device *given = nullptr) {
  std::unique_ptr<Device> own;
  if (!given)
    own = makeEmulator();
  Device &device = given ? *given : *own;
  auto loaded = device.load(kernelOf(c));
  if (!loaded)
    return loaded.error();
  std::vector<Operand> operands;
  for (size_t i = 0; i < c.buffers.size(); ++i) {
    auto address =
        device.allocate(c.buffers[i].size(), "b" + std::to_string(i));
    if (!address)
      return address.error();
    bool isPoison = i < c.uninitialised.size() && c.uninitialised[i];
    if (Result<void> r =
            isPoison ? device.fill(*address, 0xaa, c.buffers[i].size(), false)
                     : device.write(*address, c.buffers[i].data(),
                                    c.buffers[i].size());
        !r)
      return r.error();
    Operand operand;
    operand.desc.dtype = DType::U8;
    operand.desc.shape = {static_cast<int64_t>(c.buffers[i].size())};
    operand.desc.strides = {1};
    operand.address = *address;
    operands.push_back(operand);
  }
  auto report = device.launch(**loaded, operands, c.options);
  for (size_t i = 0; i < operands.size(); ++i) {
    CHECK(bool(device.read(operands[i].address, c.buffers[i].data(),
                           c.buffers[i].size())));
    CHECK(bool(device.release(operands[i].address)));
  }
  return report;
}

inline std::string textOf(const LaunchReport &report) {
  std::string text;
  for (const Finding &finding : report.findings)
    text += finding.text() + "\n";
  return text;
}

/// Runs and expects no finding.
inline void runClean(Case &c) {
  auto report = run(c);
  REQUIRE_MESSAGE(bool(report), report.error().text());
  CHECK_MESSAGE(report->ok(), textOf(*report));
}

/// Runs and gives the findings' kinds, each once, in order.
inline std::vector<std::string> kindsOf(Case &c, std::string *text = nullptr) {
  auto report = run(c);
  REQUIRE_MESSAGE(bool(report), report.error().text());
  std::vector<std::string> kinds;
  for (const Finding &finding : report->findings)
    if (kinds.empty() || kinds.back() != finding.kind)
      kinds.push_back(finding.kind);
  if (text)
    *text = textOf(*report);
  return kinds;
}

template <typename T>
std::vector<uint8_t> bytesOf(const std::vector<T> &values) {
  std::vector<uint8_t> bytes(values.size() * sizeof(T));
  if (!bytes.empty())
    std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}
template <typename T>
std::vector<T> valuesOf(const std::vector<uint8_t> &bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty())
    std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

/// The result of instructions that leave 64 bits in %d9, by one thread.
inline uint64_t evaluate(const std::string &instructions,
                         LaunchOptions options = {}) {
  Case c;
  c.ptx = kernelWith(instructions + "\nst.global.u64 [%d1], %d9;");
  c.buffers = {std::vector<uint8_t>(8), std::vector<uint8_t>(8)};
  c.options = options;
  runClean(c);
  return valuesOf<uint64_t>(c.buffers[0])[0];
}
/// `op %r9, a, b, c` on 32-bit constants.
inline uint32_t evaluate32(const std::string &instructions,
                           LaunchOptions options = {}) {
  return static_cast<uint32_t>(
      evaluate(instructions + "\ncvt.u64.u32 %d9, %r9;", options));
}

inline std::string readFile(const std::string &path) {
  std::ifstream in(path);
  REQUIRE_MESSAGE(bool(in), path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

} // namespace tandem::test

#endif // TANDEM_TESTS_UNIT_DEVICE_EMULATOR_HARNESS_H
