//===- NumericsTest.cpp - Arithmetic that IEEE 754 fixes ------------------===//
#include "tests/conformance/Fixture.h"

#include <bit>
#include <cmath>
#include <limits>

using namespace tandem;
using namespace tandem::conformance;
using Role = RecordOperand::Role;

TEST_SUITE("numerics") {
  TEST_CASE("fma.rn.f32 rounds once, keeps subnormals and makes one NaN") {
    auto device = open();
    if (!executesPtx(*device))
      return;
    using Limits = std::numeric_limits<float>;
    const std::vector<float> edge = {0.0f,
                                     -0.0f,
                                     1.0f,
                                     -1.0f,
                                     1.0f + 0x1p-23f,
                                     0x1p-149f,
                                     -0x1.fffffcp-127f,
                                     Limits::min(),
                                     Limits::max(),
                                     -Limits::max(),
                                     Limits::infinity(),
                                     -Limits::infinity(),
                                     Limits::quiet_NaN(),
                                     0x1.000002p-75f,
                                     3.14159274f,
                                     -0x1p24f};
    std::vector<float> x, y, z;
    for (float a : edge)
      for (float b : edge)
        for (float c : edge) {
          x.push_back(a);
          y.push_back(b);
          z.push_back(c);
        }
    Kernel kernel = kernelFrom("fma");
    LaunchRecord &record = kernel.launch;
    for (const char *name : {"x", "y", "z"})
      record.args.push_back(
          pointerTo(addOperand(record, name, DType::F32, Role::In)));
    record.args.push_back(
        pointerTo(addOperand(record, "out", DType::F32, Role::Out)));
    record.args.push_back(i32("out.shape[0]"));
    record.grid[0] = expr("ceildiv(out.shape[0], 256)");
    record.block = {256, 1, 1};
    std::vector<Operand> operands = {
        vectorOn(*device, DType::F32, x, "x"),
        vectorOn(*device, DType::F32, y, "y"),
        vectorOn(*device, DType::F32, z, "z"),
        vectorOn(*device, DType::F32, std::vector<float>(x.size()), "out")};
    runClean(*device, kernel, operands);
    std::vector<float> got = valuesOf<float>(*device, operands[3]);
    for (size_t i = 0; i < got.size(); ++i) {
      float expected = std::fma(x[i], y[i], z[i]);
      // Every NaN of the hardware is this one.
      uint32_t bits = std::isnan(expected) ? 0x7fffffffu
                                           : std::bit_cast<uint32_t>(expected);
      CAPTURE(x[i]);
      CAPTURE(y[i]);
      CAPTURE(z[i]);
      CHECK(std::bit_cast<uint32_t>(got[i]) == bits);
    }
  }
}
