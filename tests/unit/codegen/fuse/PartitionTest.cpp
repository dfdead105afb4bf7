//===- PartitionTest.cpp - Which steps share a kernel, and why not --------===//
#include "../Recipes.h"

#include "codegen/fuse/Partition.h"

using namespace tandem;
using namespace tandem::tests;

namespace {
struct Parts {
  std::vector<std::vector<int>> kernels;
  std::vector<std::string> explanation;
};

Parts partsOf(const Recipe &recipe, bool fuse = true) {
  codegen::Graph graph = codegen::buildGraph(recipe);
  codegen::Partition partition = codegen::partition(recipe, graph, fuse);
  Parts parts;
  for (const codegen::KernelPlan &plan : partition.kernels)
    parts.kernels.push_back(plan.steps);
  parts.explanation = partition.explanation;
  return parts;
}

const std::string x = tensor("x", "float32", "\"M\", 8");
const std::string w = tensor("w", "float32", "8");
const std::string y = tensor("y", "float32", "\"M\", 8");
using Kernels = std::vector<std::vector<int>>;
} // namespace

TEST_SUITE("codegen/fuse") {
  TEST_CASE("steps with one row space share a kernel") {
    Parts parts =
        partsOf(chain(x + "," + w, y,
                      R"({"op": "gelu", "args": [{"in": 0}], "out": 0},
           {"op": "rmsnorm", "args": [{"s": 0}, {"in": 1}], "out": 0},
           {"op": "softmax", "args": [{"s": 0}], "out": "final"})"));
    CHECK(parts.kernels == Kernels{{0, 1, 2}});
    CHECK(parts.explanation.empty());
  }

  TEST_CASE("rows along another axis start a new kernel") {
    Parts parts = partsOf(
        chain(x + "," + w, y,
              R"({"op": "rmsnorm", "args": [{"in": 0}, {"in": 1}], "out": 0},
           {"op": "softmax", "args": [{"s": 0}], "out": "final",
            "params": {"dim": 0}})"));
    CHECK(parts.kernels == Kernels{{0}, {1}});
    CHECK(parts.explanation ==
          std::vector<std::string>{
              "step 1 (softmax) starts a new kernel: its rows run along dim 0, "
              "those of step 0 (rmsnorm) along dim 1"});
  }

  TEST_CASE("another shape starts a new kernel") {
    Parts parts =
        partsOf(chain(x + "," + w, y,
                      R"({"op": "gelu", "args": [{"in": 1}], "out": 0},
           {"op": "add", "args": [{"in": 0}, {"s": 0}], "out": "final"})"));
    CHECK(parts.kernels == Kernels{{0}, {1}});
    CHECK(parts.explanation ==
          std::vector<std::string>{
              "step 1 (add) starts a new kernel: its rows have shape [M, 8], "
              "step 0 (gelu)'s [8]"});
  }

  TEST_CASE(
      "an elementwise step joins a matrix product, a reduction does not") {
    Parts parts = partsOf(
        chain(x + "," + tensor("W", "float32", "8, 8"), y,
              R"({"op": "gemm_tile", "args": [{"in": 0}, {"in": 1}], "out": 0},
           {"op": "gelu", "args": [{"s": 0}], "out": 0},
           {"op": "softmax", "args": [{"s": 0}], "out": "final"})"));
    CHECK(parts.kernels == Kernels{{0, 1}, {2}});
    CHECK(
        parts.explanation ==
        std::vector<std::string>{
            "step 2 (softmax) starts a new kernel: it reduces along dim 1, of "
            "which a tile of step 0 (gemm_tile) holds a part"});
  }

  TEST_CASE("a matrix product and a gather begin, an argmax ends a kernel") {
    Parts parts = partsOf(
        chain(tensor("ids", "int32", "\"M\"") + "," +
                  tensor("table", "float32", "9, 8") + "," +
                  tensor("W", "float32", "8, 8"),
              tensor("y", "int32", "\"M\"") + "," +
                  tensor("z", "float32", "\"M\", 8"),
              R"({"op": "embed", "args": [{"in": 0}, {"in": 1}], "out": 0},
           {"op": "gemm_tile", "args": [{"s": 0}, {"in": 2}], "out": 1},
           {"op": "sample_argmax", "args": [{"s": 0}], "out": {"out": 0}},
           {"op": "gelu", "args": [{"s": 1}], "out": {"out": 1}})"));
    CHECK(parts.kernels == Kernels{{0}, {1}, {2}, {3}});
    CHECK(
        parts.explanation ==
        std::vector<std::string>{
            "step 1 (gemm_tile) starts a new kernel: a matrix product computes "
            "its own tiles",
            "step 2 (sample_argmax) starts a new kernel: it reduces along dim "
            "1, of which a tile of step 1 (gemm_tile) holds a part",
            "step 3 (gelu) starts a new kernel: step 2 (sample_argmax) ends "
            "its "
            "kernel: it gives one value a row"});
  }

  TEST_CASE("nothing is compiled for a result that nobody reads") {
    Parts parts =
        partsOf(chain(x + "," + w, y,
                      R"({"op": "gelu", "args": [{"in": 1}], "out": 0},
           {"op": "gelu", "args": [{"in": 0}], "out": "final"})"));
    CHECK(parts.kernels == Kernels{{1}});
    CHECK(parts.explanation.back() ==
          "step 0 (gelu) needs no kernel: nothing reads its result");
  }

  TEST_CASE("without fusion each step is a kernel") {
    Parts parts = partsOf(chain(x, y,
                                R"({"op": "nop", "args": []},
           {"op": "gelu", "args": [{"in": 0}], "out": 0},
           {"op": "gelu", "args": [{"s": 0}], "out": "final"})"),
                          false);
    CHECK(parts.kernels == Kernels{{1}, {2}});
    CHECK(parts.explanation ==
          std::vector<std::string>{
              "step 2 (gelu) starts a new kernel: fusion is turned off"});
  }

  TEST_CASE("a kernel does not grow without end") {
    std::string steps;
    for (int i = 0; i < 200; ++i)
      steps += std::string(i ? "," : "") + R"({"op": "mul", "args": [)" +
               (i ? R"({"s": 0})" : R"({"in": 0})") + R"(], "out": )" +
               (i < 199 ? "0" : "\"final\"") + "}";
    Parts parts = partsOf(chain(x, y, steps));
    CHECK(parts.kernels.size() > 200 / codegen::maxKernelSteps);
    for (const std::vector<int> &kernel : parts.kernels)
      CHECK(kernel.size() <= codegen::maxKernelSteps);
  }

  TEST_CASE("a state is a new value after each step that updates it") {
    const std::string cache =
        R"({"name": "cache", "dtype": "float32", "role": "state",
            "shape": [16, 2, 8]})";
    const std::string rows = tensor("rows", "float32", "4, 2, 8");
    const std::string all = tensor("all", "float32", "16, 2, 8");
    Recipe recipe = chain(rows + "," + cache, all,
                          R"({"op": "gelu", "args": [{"in": 1}], "out": 0},
           {"op": "kv_append", "args": [{"in": 0}, {"in": 1}],
            "params": {"pos": 1}},
           {"op": "add", "args": [{"in": 1}, {"s": 0}], "out": "final"})");
    codegen::Graph graph = codegen::buildGraph(recipe);
    const int updated = graph.updates[1][1];
    REQUIRE(updated >= 0);
    CHECK(graph.updates[1][0] == -1);
    CHECK(graph.args[0] == std::vector<int>{1});
    CHECK(graph.args[1] == std::vector<int>{0, 1});
    CHECK(graph.args[2][0] == updated);
    CHECK(graph.values[updated].input == 1);
    CHECK(graph.values[updated].producer == 1);
    CHECK(graph.values[updated].isFinal());
    CHECK(!graph.values[1].isFinal());

    Parts parts = partsOf(recipe);
    CHECK(parts.kernels == Kernels{{0}, {1}, {2}});
  }

  TEST_CASE("what one step does to a state, no other of the kernel may see") {
    const std::string cache =
        R"({"name": "cache", "dtype": "float32", "role": "state",
            "shape": [4, 2, 8]})";
    const std::string rows = tensor("rows", "float32", "4, 2, 8");
    Parts parts =
        partsOf(chain(rows + "," + cache, tensor("y", "float32", "4, 2, 8"),
                      R"({"op": "kv_append", "args": [{"in": 0}, {"in": 1}],
            "params": {"pos": 0}},
           {"op": "add", "args": [{"in": 1}, {"in": 0}], "out": "final"})"));
    CHECK(parts.kernels == Kernels{{0}, {1}});
    CHECK(parts.explanation ==
          std::vector<std::string>{
              "step 1 (add) starts a new kernel: it reads 'cache', which step "
              "0 (kv_append) updates"});
  }

  TEST_CASE("a norm that only products read, and products of one x, share a "
            "kernel with what follows") {
    const std::string weights =
        tensor("G", "float32", "16, 8") + "," + tensor("U", "float32", "16, 8");
    Parts parts = partsOf(
        chain(x + "," + w + "," + weights, tensor("z", "float32", "\"M\", 16"),
              R"({"op": "rmsnorm", "args": [{"in": 0}, {"in": 1}], "out": 0},
           {"op": "gemv_tile", "args": [{"s": 0}, {"in": 2}], "out": 1},
           {"op": "gemv_tile", "args": [{"s": 0}, {"in": 3}], "out": 2},
           {"op": "silu_mul", "args": [{"s": 1}, {"s": 2}], "out": "final"})"));
    CHECK(parts.kernels == Kernels{{0, 1, 2, 3}});
    CHECK(parts.explanation.empty());
  }

  TEST_CASE("a norm that something else reads too is computed once") {
    Parts parts = partsOf(
        chain(x + "," + w + "," + tensor("W", "float32", "8, 8"), y,
              R"({"op": "rmsnorm", "args": [{"in": 0}, {"in": 1}], "out": 0},
           {"op": "gemm_tile", "args": [{"s": 0}, {"in": 2}], "out": 1},
           {"op": "add", "args": [{"s": 1}, {"s": 0}], "out": "final"})"));
    CHECK(parts.kernels == Kernels{{0}, {1, 2}});
  }

  TEST_CASE("products of different x do not share a kernel") {
    Parts parts = partsOf(
        chain(x + "," + tensor("x2", "float32", "\"M\", 8") + "," +
                  tensor("W", "float32", "8, 8"),
              y,
              R"({"op": "gemm_tile", "args": [{"in": 0}, {"in": 2}], "out": 0},
           {"op": "gemm_tile", "args": [{"in": 1}, {"in": 2}], "out": 1},
           {"op": "add", "args": [{"s": 0}, {"s": 1}], "out": "final"})"));
    CHECK(parts.kernels == Kernels{{0}, {1, 2}});
    CHECK(parts.explanation ==
          std::vector<std::string>{
              "step 1 (gemm_tile) starts a new kernel: a matrix product "
              "computes its own tiles"});
  }

  TEST_CASE("rotated keys go straight into the cache") {
    const std::string inputs =
        tensor("k", "float32", "\"B\", 2, 8") + "," +
        tensor("positions", "int32", "\"B\"") +
        R"(,{"name": "cache", "dtype": "bfloat16", "role": "state",
             "shape": ["B", 32, 2, 8]})";
    Parts parts = partsOf(
        chain(inputs, "",
              R"({"op": "rope", "args": [{"in": 0}, {"in": 1}], "out": 0},
           {"op": "kv_append", "args": [{"s": 0}, {"in": 2}],
            "params": {"pos": {"in": 1}}})"));
    CHECK(parts.kernels == Kernels{{0, 1}});
  }

  TEST_CASE("quantised weights never leave the kernel of their product") {
    Parts parts = partsOf(
        chain(x + "," + tensor("W", "uint8", "16, 4") + "," +
                  tensor("scales", "float32", "16, 1") + "," +
                  tensor("up", "float32", "\"M\", 16"),
              tensor("z", "float32", "\"M\", 16"),
              R"({"op": "gemv_tile", "args": [{"in": 0}, {"in": 1}, {"in": 2}],
            "out": 0},
           {"op": "silu_mul", "args": [{"s": 0}, {"in": 3}], "out": "final"})"));
    CHECK(parts.kernels == Kernels{{0, 1}});
  }
}
