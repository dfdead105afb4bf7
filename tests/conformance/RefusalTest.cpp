//===- RefusalTest.cpp - What no device may load or launch ----------------===//
//
// A refused launch writes nothing: each test looks at the output afterwards.
//
//===----------------------------------------------------------------------===//
#include "tests/conformance/Fixture.h"

#include <functional>

using namespace tandem;
using namespace tandem::conformance;
using Role = RecordOperand::Role;

/// The message with which index.ptx, changed by \p change, is refused.
static std::string
refusedBy(Device &device,
          const std::function<void(LaunchRecord &, Operand &)> &change) {
  Kernel kernel = indexKernel();
  Operand out =
      vectorOn(device, DType::I32, std::vector<int32_t>(256, -1), "out");
  Operand whole = out;
  change(kernel.launch, out);
  std::string text = refusal(run(device, kernel, {out}));
  CHECK(valuesOf<int32_t>(device, whole) == std::vector<int32_t>(256, -1));
  return text;
}

TEST_SUITE("refusal") {
  TEST_CASE("a precondition that does not hold") {
    auto device = open();
    if (!executesPtx(*device))
      return;
    std::string text =
        refusedBy(*device, [](LaunchRecord &record, Operand &out) {
          record.preconditions = {
              {expr("out.shape[0] < 100"), "out has fewer than 100 elements"}};
        });
    CHECK_CONTAINS(text, "out has fewer than 100 elements");
  }

  TEST_CASE("an address that is less aligned than promised") {
    auto device = open();
    if (!executesPtx(*device))
      return;
    std::string text =
        refusedBy(*device, [](LaunchRecord &record, Operand &out) {
          record.preconditions = {
              {expr("out.align >= 16"), "out is 16-byte aligned"}};
          out.address += 4;
          out.desc.shape[0] = 100;
        });
    CHECK_CONTAINS(text, "out is 16-byte aligned");
  }

  TEST_CASE("an operand of another dtype, rank or number") {
    auto device = open();
    if (!executesPtx(*device))
      return;
    CHECK_CONTAINS(
        refusedBy(*device, [](LaunchRecord &,
                              Operand &out) { out.desc.dtype = DType::F32; }),
        "float32");
    CHECK_CONTAINS(refusedBy(*device,
                             [](LaunchRecord &, Operand &out) {
                               out.desc = contiguous(DType::I32, {16, 16});
                             }),
                   "rank");
    refusedBy(*device, [](LaunchRecord &record, Operand &) {
      addOperand(record, "second", DType::I32, Role::Out);
    });
  }

  TEST_CASE("a grid beyond the hardware's") {
    auto device = open();
    if (!executesPtx(*device))
      return;
    for (size_t dim : {size_t{1}, size_t{2}})
      CHECK_CONTAINS(refusedBy(*device,
                               [&](LaunchRecord &record, Operand &) {
                                 record.grid[dim] = IntExpr(65536);
                               }),
                     "65535");
    CHECK_CONTAINS(refusedBy(*device,
                             [](LaunchRecord &record, Operand &) {
                               record.grid[0] = IntExpr(int64_t{1} << 31);
                             }),
                   "2147483647");
  }

  TEST_CASE("a block beyond the hardware's") {
    auto device = open();
    if (!executesPtx(*device))
      return;
    for (std::array<int, 3> block :
         {std::array<int, 3>{1025, 1, 1}, {512, 4, 1}, {1, 1, 65}, {0, 1, 1}})
      CHECK_CONTAINS(
          refusedBy(*device, [&](LaunchRecord &record,
                                 Operand &) { record.block = block; }),
          "a block of");
  }

  TEST_CASE("a cluster that is too large or does not divide the grid") {
    auto device = open();
    if (!executesPtx(*device))
      return;
    CHECK_CONTAINS(refusedBy(*device,
                             [](LaunchRecord &record, Operand &) {
                               record.grid[0] = IntExpr(32);
                               record.cluster = {32, 1, 1};
                             }),
                   "a cluster of 32x1x1");
    if (device->supports("sm_90"))
      CHECK_CONTAINS(refusedBy(*device,
                               [](LaunchRecord &record, Operand &) {
                                 record.grid[0] = IntExpr(5);
                                 record.cluster = {2, 1, 1};
                               }),
                     "whole clusters");
  }

  TEST_CASE("more shared memory than a CTA can have") {
    auto device = open();
    if (!executesPtx(*device))
      return;
    CHECK_CONTAINS(
        refusedBy(*device, [](LaunchRecord &record,
                              Operand &) { record.sharedBytes = 228 << 10; }),
        "shared memory");
  }

  TEST_CASE("PTX with a mistake, naming its line") {
    auto device = open();
    if (!executesPtx(*device))
      return;
    Kernel kernel = kernelFrom("syntax_error");
    LaunchRecord &record = kernel.launch;
    record.args = {pointerTo(addOperand(record, "out", DType::I32, Role::Out))};
    std::string text = refusal(device->load(kernel));
    CHECK_CONTAINS(text, "9");
    CHECK_CONTAINS(text, "frobnicate");
  }

  TEST_CASE("an entry point that the PTX does not have") {
    auto device = open();
    if (!executesPtx(*device))
      return;
    Kernel kernel = indexKernel();
    kernel.launch.kernel = "indxe";
    CHECK_CONTAINS(refusal(device->load(kernel)), "indxe");
  }

  TEST_CASE("fewer arguments than the kernel has parameters") {
    auto device = open();
    if (!executesPtx(*device))
      return;
    refusedBy(*device,
              [](LaunchRecord &record, Operand &) { record.args.pop_back(); });
  }

  TEST_CASE("a target that the device does not run") {
    auto device = open();
    if (!executesPtx(*device))
      return;
    Kernel kernel = indexKernel();
    kernel.launch.target = "sm_999";
    CHECK_CONTAINS(refusal(device->load(kernel)), "sm_999");
  }
}
