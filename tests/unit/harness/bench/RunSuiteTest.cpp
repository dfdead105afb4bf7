//===- RunSuiteTest.cpp - A suite on a GPU whose times are told -----------===//
#include "FakeGpu.h"

#include <doctest/doctest.h>

using namespace tandem;
using namespace tandem::bench;
using nlohmann::json;

static Suite suiteOf(const std::string &rows) {
  const Result<Suite> suite = readSuite(
      R"({"suite": "s", "title": "t", "recipes": {"mul": {"name": "mul",
      "inputs": [{"name": "x", "dtype": "float32", "shape": ["M"]}],
      "outputs": [{"name": "y", "dtype": "float32", "shape": ["M"]}],
      "recipe": {"steps": [{"op": "mul", "args": [{"in": 0}], "out": "final",
                            "params": {"scale": 2}}]}}}, "rows": [)" +
          rows + "]}",
      "f");
  REQUIRE(suite);
  return *suite;
}

static const json &contender(const json &row, const std::string &name,
                             const std::string &kind) {
  static const json none;
  for (const json &one : row["contenders"])
    if (one["name"] == name && one["kind"] == kind)
      return one;
  return none;
}

static json run(FakeGpu &gpu, const Bench &bench, const Suite &suite,
                RunOptions options = {}) {
  (void)gpu;
  if (options.peers.empty())
    options.peers = {"torch", "compile"};
  Result<json> document = runSuite(suite, bench, options, [](const json &) {});
  REQUIRE_MESSAGE(document, (document ? "" : document.error().text()));
  return document.take();
}

TEST_CASE("shares and ratios come from the same rounds") {
  FakeGpu gpu;
  Bench bench = fakeBench(gpu);
  std::vector<float> right(64), wrong(64, 1);
  std::vector<json> requests;
  bench.peers = [&](const json &request) -> json {
    requests.push_back(request);
    if (request["do"] != "capture")
      return json::object();
    if (request["peer"] == "compile")
      return {{"error", "does not compile"}};
    const auto *x = reinterpret_cast<const float *>(
        request["sets"][0]["inputs"][0]["address"].get<uint64_t>());
    for (size_t i = 0; i < right.size(); ++i)
      right[i] = 2 * x[i];
    // A graph of 8 us a launch.
    return {{"graph", 8 * request["launches"].get<uint64_t>()},
            {"outputs", {reinterpret_cast<uint64_t>(right.data())}}};
  };
  const json document = run(
      gpu, bench, suiteOf(R"({"name": "r", "recipe": "mul", "dims": {"M": 64},
                  "peers": ["torch", "compile"], "set": [{"fast": 1}, {"bad": 1}],
                  "reach": {"share": 0.5, "ratio": 2.5}})"));
  const json &row = document["rows"][0];
  CHECK(!row.contains("error"));
  CHECK(row["us"] == 3);
  CHECK(row["share"].get<double>() == doctest::Approx(2.0 / 3).epsilon(1e-3));
  CHECK(row["ratio"].get<double>() == doctest::Approx(8.0 / 3).epsilon(1e-3));
  CHECK(row["reached"] == true);
  CHECK(contender(row, "torch", "peer")["difference"] == 0);
  CHECK(contender(row, "compile", "peer")["error"] == "does not compile");
  CHECK(contender(row, "torch", "control")["ratio"] == 1);
  CHECK(contender(row, "tandem bad=1", "ours")["error"] == "set: no kernel");
  CHECK(requests.back()["do"] == "release");
  // The table names them in few words.
  const std::string table = tableOf(document);
  CHECK(table.find("2.667") != std::string::npos);
  CHECK(table.find("r: compile: does not compile") != std::string::npos);
  CHECK(table.find("software power cap") != std::string::npos);
  // All graphs and buffers are given back.
  CHECK(gpu.fakeQueue.graphs.empty());
}

TEST_CASE("a peer that computes something else is marked") {
  FakeGpu gpu;
  Bench bench = fakeBench(gpu);
  std::vector<float> wrong(64, 1);
  bench.peers = [&](const json &request) -> json {
    if (request["do"] != "capture")
      return json::object();
    return {{"graph", 100},
            {"outputs", {reinterpret_cast<uint64_t>(wrong.data())}}};
  };
  const json document =
      run(gpu, bench, suiteOf(R"({"name": "r", "recipe": "mul",
                                  "dims": {"M": 64}, "peers": ["torch"]})"));
  CHECK(contender(document["rows"][0], "torch", "peer")["difference"] > 0.5);
  CHECK(tableOf(document).find("!") != std::string::npos);
}

TEST_CASE("a row that fails leaves the others") {
  FakeGpu gpu;
  Bench bench = fakeBench(gpu);
  const auto compile = bench.compile;
  bench.compile = [&](const Recipe &recipe, const std::vector<Operand> &in,
                      const std::vector<Operand> &out,
                      const CompileOptions &options) {
    if (in[0].desc.shape[0] == 32)
      return Result<std::shared_ptr<const Program>>(Error("no such kernel"));
    return compile(recipe, in, out, options);
  };
  const Suite suite =
      suiteOf(R"({"name": "bad", "recipe": "mul", "dims": {"M": 32}},
                 {"name": "good", "recipe": "mul", "dims": {"M": 64}})");
  const json document = run(gpu, bench, suite);
  REQUIRE(document["rows"].size() == 2);
  CHECK(contender(document["rows"][0], "tandem", "ours")["error"] ==
        "no such kernel");
  CHECK(document["rows"][0].contains("ceiling_us"));
  CHECK(document["rows"][1]["us"] == 4);
  CHECK(!isComplete(document));
  RunOptions options;
  options.filter = "good";
  CHECK(isComplete(run(gpu, bench, suite, options)));
}

TEST_CASE(
    "a slowdown of the hardware refuses the run, the power cap does not") {
  FakeGpu gpu;
  const Bench bench = fakeBench(gpu);
  const Suite suite =
      suiteOf(R"({"name": "r", "recipe": "mul", "dims": {"M": 64}})");
  CHECK(isComplete(run(gpu, bench, suite)));
  gpu.fakeQueue.reasons = 0x40;
  const json document = run(gpu, bench, suite);
  CHECK(!isComplete(document));
  CHECK(tableOf(document).find("REFUSED") != std::string::npos);
  CHECK(tableOf(document).find("hardware thermal slowdown") !=
        std::string::npos);
}

TEST_CASE("a process that loses the GPU stops, and the next one resumes") {
  FakeGpu gpu;
  Bench bench = fakeBench(gpu);
  const auto prepare = bench.prepare;
  bench.prepare =
      [&](Device &device, const Program &program, const LoadedProgram &kernels,
          const std::vector<Operand> &in, const std::vector<Operand> &out) {
        if (in[0].desc.shape[0] == 32)
          gpu.fakeQueue.isLost = true;
        return prepare(device, program, kernels, in, out);
      };
  const Suite suite =
      suiteOf(R"({"name": "fine", "recipe": "mul", "dims": {"M": 16}},
                 {"name": "fatal", "recipe": "mul", "dims": {"M": 32}},
                 {"name": "left", "recipe": "mul", "dims": {"M": 64}})");
  const json first = run(gpu, bench, suite);
  REQUIRE(first["rows"].size() == 2);
  CHECK(first["lost"] == true);
  CHECK(first["rows"][1]["error"] == "lost");

  FakeGpu next;
  RunOptions options;
  options.known = first["rows"];
  const json second = run(next, fakeBench(next), suite, options);
  REQUIRE(second["rows"].size() == 3);
  CHECK(second["rows"][0] == first["rows"][0]);
  CHECK(second["rows"][1]["error"] == "lost");
  CHECK(second["rows"][2]["us"] == 4);
}

TEST_CASE("no row begins after its time") {
  FakeGpu gpu;
  RunOptions options;
  options.seconds = 0;
  const json document = run(
      gpu, fakeBench(gpu),
      suiteOf(R"({"name": "r", "recipe": "mul", "dims": {"M": 64}})"), options);
  CHECK(document["rows"][0]["error"] == "no time was left");
}
