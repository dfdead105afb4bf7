//===- FaultTest.cpp - Kernels that do something wrong --------------------===//
//
// A fault is a finding, not an error, and the device can be opened again.
//
//===----------------------------------------------------------------------===//
#include "tests/conformance/Fixture.h"

using namespace tandem;
using namespace tandem::conformance;
using Role = RecordOperand::Role;

/// The kind of the one finding of a kernel with a pointer `out` and \p more
/// arguments, on an output of \p words words that starts \p skip bytes late.
static std::string faultOf(const std::string &name,
                           const std::vector<KernelArg> &more = {},
                           size_t words = 64, uint64_t skip = 0) {
  auto device = open();
  Kernel kernel = kernelFrom(name);
  LaunchRecord &record = kernel.launch;
  record.args = {pointerTo(addOperand(record, "out", DType::I32, Role::Out))};
  record.args.insert(record.args.end(), more.begin(), more.end());
  Operand out =
      vectorOn(*device, DType::I32, std::vector<int32_t>(words, 0), "out");
  out.address += skip;
  out.desc.shape[0] -= static_cast<int64_t>((skip + 3) / 4);
  LaunchReport report = get(run(*device, kernel, {out}));
  REQUIRE(!report.findings.empty());
  CHECK(report.findings[0].kernel == name);
  CHECK(!report.findings[0].message.empty());
  CHECK_CONTAINS(report.findings[0].text(), name);
  return report.findings[0].kind;
}

/// A device that is opened after a fault works.
static void worksAgain() {
  auto device = open();
  Operand out = vectorOn<int32_t>(*device, DType::I32, {-1, -1, -1}, "out");
  runClean(*device, indexKernel(), {out});
  CHECK(valuesOf<int32_t>(*device, out) == std::vector<int32_t>{0, 1, 2});
}

TEST_SUITE("fault") {
  TEST_CASE("a store far outside every allocation") {
    if (!executesPtx(*open()))
      return;
    CHECK(faultOf("wild_store", {i64("1099511627776")}) == "out-of-bounds");
    worksAgain();
  }

  TEST_CASE("a vector store at an address that does not fit it") {
    if (!executesPtx(*open()))
      return;
    CHECK(faultOf("vector_store", {}, 64, 4) == "misaligned");
    worksAgain();
  }

  TEST_CASE("a trap") {
    if (!executesPtx(*open()))
      return;
    CHECK(faultOf("trap") == "trap");
    worksAgain();
  }

  TEST_CASE("a store one word behind its allocation, where that is checked") {
    if (!executesPtx(*open()))
      return;
    if (open()->kind() == "cuda") {
      MESSAGE("SKIPPED: a GPU does not check within its pages");
      return;
    }
    CHECK(faultOf("wild_store", {i64("256")}) == "out-of-bounds");
    CHECK(faultOf("wild_store", {i64("-4")}) == "out-of-bounds");
  }
}
