//===- FaultTest.cpp - Kernels that do something wrong --------------------===//
//
// A fault is a finding, not an error. A GPU is lost to the process whose kernel
// faulted, so there each test runs in a process of its own.
//
//===----------------------------------------------------------------------===//
#include "tests/conformance/Fixture.h"

#include "codegen/device/OpenDevice.h"

#include <cstdlib>

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

/// Whether the device works in this process.
static bool works() {
  auto device = openDevice(deviceName);
  if (!device)
    return false;
  Operand out = vectorOn<int32_t>(**device, DType::I32, {-1, -1, -1}, "out");
  runClean(**device, indexKernel(), {out});
  return valuesOf<int32_t>(**device, out) == std::vector<int32_t>{0, 1, 2};
}

/// Checks that kernel \p name faults with \p kind, and what is left after it.
static void checkFault(const char *testCase, const std::string &kind,
                       const std::string &name,
                       const std::vector<KernelArg> &more = {},
                       uint64_t skip = 0) {
  {
    auto device = open();
    if (!executesPtx(*device))
      return;
    if (device->kind() != "cuda") {
      CHECK(faultOf(name, more, 64, skip) == kind);
      CHECK(works());
      return;
    }
  }
  constexpr const char *isChild = "TANDEM_CONFORMANCE_CHILD";
  if (std::getenv(isChild)) {
    CHECK(faultOf(name, more, 64, skip) == kind);
    CHECK_CONTAINS(refusal(openDevice(deviceName)), "start a new process");
    return;
  }
  std::string command = std::string(isChild) + "=1 '" + programPath +
                        "' --device " + deviceName + " --inputs '" +
                        inputFolder + "' '--test-case=" + testCase + "'";
  CHECK(std::system(command.c_str()) == 0);
  CHECK(works());
}

TEST_SUITE("fault") {
  TEST_CASE("a store far outside every allocation") {
    checkFault("a store far outside every allocation", "out-of-bounds",
               "wild_store", {i64("1099511627776")});
  }

  TEST_CASE("a vector store at an address that does not fit it") {
    checkFault("a vector store at an address that does not fit it",
               "misaligned", "vector_store", {}, 4);
  }

  TEST_CASE("a trap") { checkFault("a trap", "trap", "trap"); }

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
