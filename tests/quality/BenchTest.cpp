//===- BenchTest.cpp - What `tandem bench run` measures, without a GPU ----===//
#include "codegen/Compiler.h"
#include "harness/bench/Ceilings.h"
#include "harness/io/Files.h"

#include <algorithm>
#include <doctest/doctest.h>
#include <filesystem>

using namespace tandem;
using namespace tandem::bench;

TEST_CASE("plain kernels move all bytes and no others") {
  const std::unique_ptr<Device> device = makeEmulator();
  for (const Ceiling ceiling : {Ceiling::Copy, Ceiling::Read})
    // A tail, whole blocks and a tail, more than a persistent grid.
    for (const int64_t bytes : {int64_t(48), int64_t(16) * 5003})
      for (const PlainKernel &plain : plainKernels(ceiling, 2)) {
        CAPTURE(plain.name);
        std::vector<uint8_t> values(static_cast<size_t>(bytes)), got;
        for (size_t i = 0; i < values.size(); ++i)
          values[i] = static_cast<uint8_t>(i * 7 + i / 251);
        const int64_t outBytes = ceiling == Ceiling::Copy ? bytes : 16;
        const uint64_t x = *device->allocate(values.size(), "x");
        const uint64_t y =
            *device->allocate(static_cast<uint64_t>(outBytes), "y");
        REQUIRE(device->write(x, values.data(), values.size()));
        const auto kernel = device->load(plain.kernel);
        REQUIRE_MESSAGE(kernel, (kernel ? "" : kernel.error().text()));
        const auto report =
            device->launch(**kernel,
                           {{contiguous(DType::U8, {bytes}), x},
                            {contiguous(DType::U8, {outBytes}), y}},
                           LaunchOptions());
        REQUIRE_MESSAGE(report, (report ? "" : report.error().text()));
        CHECK_MESSAGE(report->ok(),
                      (report->ok() ? "" : report->findings[0].text()));
        if (ceiling == Ceiling::Copy) {
          got.resize(values.size());
          REQUIRE(device->read(y, got.data(), got.size()));
          CHECK(got == values);
        }
        REQUIRE(device->release(x));
        REQUIRE(device->release(y));
      }
}

TEST_CASE("every row of every suite compiles") {
  for (const auto &entry : std::filesystem::directory_iterator(
           TANDEM_SOURCE_DIR "/harness/bench/suites")) {
    const Result<std::string> text = harness::readFile(entry.path());
    REQUIRE(text);
    const Result<Suite> suite = readSuite(*text, std::string(entry.path()));
    REQUIRE_MESSAGE(suite, (suite ? "" : suite.error().text()));
    for (const Row &row : suite->rows) {
      CAPTURE(suite->name);
      CAPTURE(row.name);
      const auto operands = typicalOperands(row.recipe, row.dims);
      REQUIRE_MESSAGE(operands, (operands ? "" : operands.error().text()));
      const auto checked =
          checkCall(row.recipe, operands->first, operands->second);
      CHECK_MESSAGE(checked, (checked ? "" : checked.error().text()));
      std::vector<std::map<std::string, std::string>> sets = row.sets;
      sets.emplace_back();
      for (const auto &set : sets) {
        CompileOptions options;
        options.set = set;
        const auto program =
            compile(row.recipe, operands->first, operands->second, options);
        CHECK_MESSAGE(program, (program ? "" : program.error().text()));
      }
    }
  }
}
