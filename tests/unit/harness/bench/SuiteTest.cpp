//===- SuiteTest.cpp - Rows to measure, as JSON ---------------------------===//
#include "harness/bench/Suite.h"
#include "harness/io/Files.h"

#include <doctest/doctest.h>
#include <filesystem>
#include <set>

using namespace tandem;
using namespace tandem::bench;

static std::string suiteWith(const std::string &row) {
  return R"({"suite": "s", "title": "t", "recipes": {"mul": {
    "name": "mul",
    "inputs": [{"name": "x", "dtype": "float32", "shape": ["M", 4]}],
    "outputs": [{"name": "y", "dtype": "float32", "shape": ["M", 4]}],
    "recipe": {"steps": [{"op": "mul", "args": [{"in": 0}], "out": "final",
                          "params": {"scale": 2}}]}}},
   "rows": [)" +
         row + "]}";
}

static std::string errorOf(const std::string &row) {
  const Result<Suite> suite = readSuite(suiteWith(row), "f");
  return suite ? "" : suite.error().text();
}

TEST_CASE("a row counts each operand once, or as it says") {
  const Result<Suite> suite =
      readSuite(suiteWith(R"({"name": "a", "recipe": "mul", "dims": {"M": 8}},
        {"name": "b", "recipe": "mul", "dims": {"M": 8}, "bytes": "3*M",
         "flops": "M*M", "ceiling": "read", "peers": ["torch"],
         "set": [{"warps": 8}], "values": {"x": {"kind": "one"}},
         "reach": {"share": 0.9, "ratio": 1}})"),
                "f");
  REQUIRE(suite);
  REQUIRE(suite->rows.size() == 2);
  CHECK(suite->rows[0].bytes == 8 * 4 * 4 * 2);
  CHECK(suite->rows[0].values[0].kind == "normal");
  const Row &row = suite->rows[1];
  CHECK(row.bytes == 24);
  CHECK(row.flops == 64);
  CHECK(row.ceiling == Ceiling::Read);
  CHECK(row.peers == std::vector<std::string>{"torch"});
  CHECK(row.sets[0].at("warps") == "8");
  CHECK(row.values[0].kind == "one");
  CHECK(row.reachShare == 0.9);
}

TEST_CASE("errors of a suite have their place") {
  CHECK(errorOf(R"({"name": "a", "recipe": "nul", "dims": {}})")
            .find("f: rows[0].recipe: no recipe is named 'nul'") !=
        std::string::npos);
  CHECK(errorOf(R"({"name": "a", "recipe": "mul"})")
            .find("f: rows[0].dims: no size for 'M'") != std::string::npos);
  CHECK(errorOf(R"({"name": "a", "recipe": "mul", "dims": {"M": 1},
                    "bytes": "N"})")
            .find("rows[0].bytes") != std::string::npos);
  CHECK(errorOf(R"({"name": "a", "recipe": "mul", "dims": {"M": 1},
                    "ceiling": "sky"})")
            .find("expected copy, read or flops, got 'sky'") !=
        std::string::npos);
  CHECK(errorOf(R"({"name": "a", "recipe": "mul", "dims": {"M": 1},
                    "ceiling": "flops"})")
            .find("needs 'flops'") != std::string::npos);
  CHECK(errorOf(R"({"name": "a", "recipe": "mul", "dims": {"M": 1},
                    "peers": ["numpy"]})")
            .find("rows[0].peers[0]: expected cublas") != std::string::npos);
  CHECK(errorOf(R"({"name": "a", "recipe": "mul", "dims": {"M": 1},
                    "values": {"z": {}}})")
            .find("no input is named 'z'") != std::string::npos);
}

TEST_CASE("every suite of the project is right") {
  int count = 0;
  for (const auto &entry : std::filesystem::directory_iterator(
           TANDEM_SOURCE_DIR "/harness/bench/suites")) {
    const std::string path = entry.path();
    const Result<std::string> text = harness::readFile(path);
    REQUIRE(text);
    const Result<Suite> suite = readSuite(*text, path);
    CHECK_MESSAGE(suite, (suite ? "" : suite.error().text()));
    if (!suite)
      continue;
    ++count;
    CHECK(entry.path().stem() == suite->name);
    std::set<std::string> names;
    for (const Row &row : suite->rows)
      CHECK_MESSAGE(names.insert(row.name).second, row.name);
  }
  CHECK(count >= 5);
}
