//===- PlanTest.cpp - Plans are read, ordered and refused -----------------===//
#include "harness/plan/Plan.h"
#include "harness/plan/Machine.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

using namespace tandem;
using namespace tandem::harness;

namespace {
/// Buffers x -> h -> y of eight numbers, and weights of one row.
std::string plan(const std::string &tasks, int counters = 2) {
  return R"({"buffers": [
    {"name": "x", "dtype": "float32", "shape": [1, 8], "role": "input"},
    {"name": "h", "dtype": "float32", "shape": [1, 8], "role": "scratch"},
    {"name": "y", "dtype": "float32", "shape": [1, 8], "role": "output"},
    {"name": "w", "dtype": "float32", "shape": [8, 8], "role": "weight"}],
    "counters": )" +
         std::to_string(counters) + R"(, "tasks": [)" + tasks + "]}";
}

std::string errorsOf(const std::string &json) {
  const Result<Plan> read = readPlan(json, "p.json");
  return read ? "ok" : read.error().text();
}

const std::string gelu =
    R"({"op": "GELU", "inputs": ["x"], "outputs": ["h"], "signal": 0})";
const std::string copy =
    R"({"op": "COPY", "inputs": ["h"], "outputs": ["y"], "queue": 1,
        "wait": [{"counter": 0, "value": 1}]})";
} // namespace

TEST_SUITE("plan") {
  TEST_CASE("two tasks that a counter orders are a plan") {
    const Result<Plan> read = readPlan(plan(gelu + "," + copy), "p.json");
    REQUIRE(read);
    CHECK(read->tasks.size() == 2);
    CHECK(read->tasks[1].recipe.steps[0].op == Opcode::COPY);
    CHECK(*scheduleTasks(*read, 0) == std::vector<size_t>{0, 1});
  }

  TEST_CASE("the queue alone orders, too") {
    CHECK(errorsOf(plan(R"(
      {"op": "GELU", "inputs": ["x"], "outputs": ["h"]},
      {"op": "COPY", "inputs": ["h"], "outputs": ["y"]})")) == "ok");
  }

  TEST_CASE("a read that nothing orders behind its write is refused") {
    CHECK(errorsOf(plan(R"(
      {"op": "GELU", "inputs": ["x"], "outputs": ["h"]},
      {"op": "COPY", "inputs": ["h"], "outputs": ["y"], "queue": 1})")) ==
          "p.json: tasks[1]: it reads 'h', which tasks[0] writes, and nothing "
          "orders the two\n"
          "p.json: tasks[1]: it reads 'h' before any task writes it");
  }

  TEST_CASE("one signal of two does not order a task behind both") {
    const std::string tiles = R"(
      {"op": "GEMV_TILE", "inputs": ["x", "w"], "outputs": ["h"],
       "params": {"N_tile": 4}, "signal": 0, "queue": 0},
      {"op": "GEMV_TILE", "inputs": ["x", "w"], "outputs": ["h"],
       "params": {"n_off": 4}, "signal": 0, "queue": 1},
      {"op": "COPY", "inputs": ["h"], "outputs": ["y"], "queue": 2,
       "wait": [{"counter": 0, "value": )";
    CHECK(errorsOf(plan(tiles + "2}]}")) == "ok");
    CHECK(errorsOf(plan(tiles + "1}]}")) ==
          "p.json: tasks[2]: it reads 'h', which tasks[0] writes, and nothing "
          "orders the two\n"
          "p.json: tasks[2]: it reads 'h' before any task writes it");
  }

  TEST_CASE("the first signals of one queue are certain") {
    CHECK(errorsOf(plan(R"(
      {"op": "GELU", "inputs": ["x"], "outputs": ["h"], "signal": 0},
      {"op": "NOP", "inputs": [], "outputs": [], "signal": 0},
      {"op": "COPY", "inputs": ["h"], "outputs": ["y"], "queue": 1,
       "wait": [{"counter": 0, "value": 1}]})")) == "ok");
  }

  TEST_CASE("sibling tiles may run in any order, overlapping ones may not") {
    const auto tiles = [](const std::string &offset) {
      return plan(R"(
      {"op": "GEMV_TILE", "inputs": ["x", "w"], "outputs": ["y"],
       "params": {"N_tile": 4}},
      {"op": "GEMV_TILE", "inputs": ["x", "w"], "outputs": ["y"],
       "params": {"n_off": )" +
                  offset + R"(}, "queue": 1})");
    };
    CHECK(errorsOf(tiles("4")) == "ok");
    CHECK(errorsOf(tiles("3")) ==
          "p.json: tasks[1]: it writes 'y', which tasks[0] writes, and nothing "
          "orders the two");
  }

  TEST_CASE("a circle of waits is a deadlock, and each queue says why") {
    CHECK(errorsOf(plan(R"(
      {"op": "GELU", "inputs": ["x"], "outputs": ["h"], "signal": 0,
       "wait": [{"counter": 1, "value": 1}]},
      {"op": "COPY", "inputs": ["h"], "outputs": ["y"], "queue": 1,
       "signal": 1, "wait": [{"counter": 0, "value": 1}]})")) ==
          "p.json: deadlock: tasks[0] of queue 0 waits for counter 1 to reach "
          "1, it stays at 0\n"
          "p.json: deadlock: tasks[1] of queue 1 waits for counter 0 to reach "
          "1, it stays at 0");
  }

  TEST_CASE("a counter that too few tasks signal is named") {
    CHECK(errorsOf(plan(gelu + R"(,
      {"op": "COPY", "inputs": ["h"], "outputs": ["y"],
       "wait": [{"counter": 0, "value": 2}]})")) ==
          "p.json: tasks[1].wait[0]: counter 0 never reaches 2: 1 task signals "
          "it");
  }

  TEST_CASE("all errors of a plan are listed with their place") {
    CHECK(errorsOf(plan(R"(
      {"op": "GELLU", "inputs": ["x"], "outputs": ["h"]},
      {"op": "COPY", "inputs": ["hh"], "outputs": ["y"], "signal": 7},
      {"op": "RMSNORM", "inputs": ["x"], "outputs": ["x"]},
      {"op": "GELU", "inputs": ["x"], "outputs": ["w"]},
      {"op": "GELU", "inputs": ["x"], "outputs": ["x"], "que": 1})")) ==
          "p.json: tasks[0].op: no op is named 'GELLU'; did you mean 'gelu'?\n"
          "p.json: tasks[1].inputs[0]: no buffer is named 'hh'; did you mean "
          "'h'?\n"
          "p.json: tasks[1].signal: no counter 7: the plan has 2\n"
          "p.json: tasks[2]: rmsnorm: takes 2 operands (x, w), got 1\n"
          "p.json: tasks[3]: gelu: result 'y': expected shape [1, 8], got "
          "[8, 8]\n"
          "p.json: tasks[4]: no member is named 'que'; did you mean 'queue'?");
  }

  TEST_CASE("inputs are not written, and outputs are") {
    CHECK(
        errorsOf(plan(gelu + R"(,
      {"op": "COPY", "inputs": ["h"], "outputs": ["x"]})")) ==
        "p.json: tasks[1].outputs[0]: 'x' is an input of the plan; expected a "
        "scratch, a state or an output");
    CHECK(errorsOf(plan(gelu)) ==
          "p.json: buffers[2]: no task writes the output 'y'");
  }

  TEST_CASE("a task may see a buffer in another shape of as many elements") {
    CHECK(errorsOf(plan(R"(
      {"op": "SOFTMAX", "inputs": [{"buffer": "x", "shape": [2, 4]}],
       "outputs": [{"buffer": "y", "shape": [2, 4]}]})")) == "ok");
    CHECK(errorsOf(plan(R"(
      {"op": "COPY", "inputs": [{"buffer": "x", "shape": [2, 3]}],
       "outputs": ["y"]})")) ==
          "p.json: tasks[0].inputs[0].shape: expected as many elements as 'x' "
          "has, float32[1, 8], got float32[2, 3]");
  }

  TEST_CASE("seeds give different orders, and each respects the counters") {
    std::string tasks = gelu;
    for (int queue = 1; queue <= 4; ++queue)
      tasks += R"(, {"op": "NOP", "inputs": [], "outputs": [], "queue": )" +
               std::to_string(queue) + "}";
    const Result<Plan> read = readPlan(
        plan(tasks + R"(, {"op": "COPY", "inputs": ["h"], "outputs": ["y"],
             "queue": 5, "wait": [{"counter": 0, "value": 1}]})"),
        "p.json");
    REQUIRE(read);
    std::set<std::vector<size_t>> seen;
    for (uint64_t seed = 1; seed <= 20; ++seed) {
      const Result<std::vector<size_t>> order = scheduleTasks(*read, seed);
      REQUIRE(order);
      CHECK(*order == *scheduleTasks(*read, seed));
      const auto at = [&](size_t task) {
        return std::find(order->begin(), order->end(), task);
      };
      CHECK(at(0) < at(5));
      seen.insert(*order);
    }
    CHECK(seen.size() > 10);
  }
}
