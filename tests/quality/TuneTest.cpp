//===- TuneTest.cpp - What may become a tuned schedule, without a GPU -----===//
#include "codegen/TunedSchedules.h"
#include "harness/io/Files.h"
#include "harness/mutate/Plant.h"
#include "harness/run/RealEngine.h"
#include "harness/tune/CheckCandidate.h"
#include "harness/tune/Space.h"

#include <algorithm>
#include <doctest/doctest.h>

using namespace tandem;
using namespace tandem::tune;

static bench::Row rowNamed(const std::string &suite, const std::string &name) {
  const std::string path =
      TANDEM_SOURCE_DIR "/harness/bench/suites/" + suite + ".json";
  const Result<std::string> text = harness::readFile(path);
  REQUIRE(text);
  const Result<bench::Suite> read = bench::readSuite(*text, path);
  REQUIRE(read);
  const auto row = std::ranges::find(read->rows, name, &bench::Row::name);
  REQUIRE(row != read->rows.end());
  return *row;
}

static harness::Engine engine() {
  Result<harness::Engine> real = harness::realEngine("emulator");
  REQUIRE(real);
  return real.take();
}

TEST_CASE("sizes shrink as far as the kernel stays what it is") {
  const bench::Row rows = rowNamed("rowwise", "softmax 16384x8192");
  DimBindings dims = smallDims(rows, {{"warps", "16"}}, "sm_90a", engine());
  CHECK(dims.at("M") == 256);
  CHECK(dims.at("K") >= 4096);
  CHECK(dims.at("K") <= 8192);
  const bench::Row gemm = rowNamed("gemm", "4097x4096x4104");
  dims = smallDims(gemm, {}, "sm_90a", engine());
  CHECK(dims.at("M") % 256 == 4097 % 256);
  CHECK(dims.at("K") < 4104);
}

TEST_CASE("a right candidate passes, a wrong one is told with its reason") {
  const bench::Row row = rowNamed("rowwise", "rmsnorm 65536x1024");
  const std::unique_ptr<Device> device = makeEmulator();
  const Result<int> right =
      checkCandidate(row, {{"warps", "4"}}, "sm_90a", engine(), *device);
  CHECK_MESSAGE(right, (right ? "" : right.error().text()));
  const harness::Engine wrong = harness::withEditedOutputs(
      engine(), [](Device &edited, const std::vector<Operand> &outputs) {
        harness::editLastElement(edited, outputs, [](DType, std::byte *last) {
          last[1] ^= std::byte{0x40};
        });
      });
  const Result<int> refused =
      checkCandidate(row, {{"warps", "4"}}, "sm_90a", wrong, *device);
  REQUIRE(!refused);
  CHECK(!refused.error().text().empty());
}

TEST_CASE("a recipe that updates a state is checked too") {
  const bench::Row row = rowNamed("memory", "gdn_step B64 32x128x128");
  const std::unique_ptr<Device> device = makeEmulator();
  const Result<int> passed =
      checkCandidate(row, {{"warps", "2"}}, "sm_90a", engine(), *device);
  CHECK_MESSAGE(passed, (passed ? "" : passed.error().text()));
}

TEST_CASE("the space holds parameters that the compiler knows") {
  const bench::Row row = rowNamed("gemm", "4096x4096x4096");
  const auto operands = typicalOperands(row.recipe, row.dims);
  REQUIRE(operands);
  for (const std::string_view family :
       {"row-wise", "matmul", "asynchronous matmul", "gemv", "attention",
        "recurrence"}) {
    CAPTURE(family);
    REQUIRE(!axesOf(family).empty());
    for (const Axis &axis : axesOf(family)) {
      CompileOptions options;
      options.set = {{std::string(axis.parameter), "no number"}};
      const auto program =
          compile(row.recipe, operands->first, operands->second, options);
      REQUIRE(!program);
      CHECK(program.error().text().find("no schedule parameter is named") ==
            std::string::npos);
    }
  }
  CHECK(axesOf("no family").empty());
}

TEST_CASE("what no multiprocessor can hold is left out") {
  Kernel kernel;
  kernel.launch.kernel = "k";
  kernel.launch.sharedBytes = (227 << 10) + 1;
  Program program;
  program.launches.emplace_back();
  program.launches[0].kernel = std::make_shared<const Kernel>(kernel);
  CHECK(
      misfit(program) ==
      "k: 232449 bytes of shared memory, a multiprocessor gives a CTA 232448");
  kernel.launch.sharedBytes = 0;
  kernel.launch.block = {1024, 2, 1};
  program.launches[0].kernel = std::make_shared<const Kernel>(kernel);
  CHECK(misfit(program) == "k: 2048 threads, a CTA has 1024");
}

TEST_CASE("every schedule that the compiler comes with is right and clean in "
          "eight orders") {
  const auto records = readTuned(shippedTuned(), "codegen/tune/tuned.json");
  REQUIRE(records);
  const std::unique_ptr<Device> device = makeEmulator();
  for (const TunedSchedule &record : *records) {
    CAPTURE(record.key);
    CAPTURE(record.set);
    bench::Row row;
    row.recipe = record.recipe;
    row.dims = record.dims;
    row.values.resize(record.recipe.inputs.size(),
                      harness::ValueSpec{.kind = "normal"});
    const Result<int> passed = checkCandidate(
        row, record.set, record.target, engine(), *device, /*schedules=*/8);
    CHECK_MESSAGE(passed, (passed ? "" : passed.error().text()));
  }
}
