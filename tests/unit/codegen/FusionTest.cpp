//===- FusionTest.cpp - Sequences that are one kernel ---------------------===//
//
// Counts kernels and looks for memory between them: what a fused sequence
// computes on the way exists in registers only.
//
//===----------------------------------------------------------------------===//
#include "Bench.h"

using namespace tandem;
using namespace tandem::tests;

namespace {
struct Sequence {
  const char *name;
  std::string inputs, outputs, steps;
};

std::string bf16(const std::string &name, const std::string &shape) {
  return tensor(name, "bfloat16", shape);
}

std::string product(const std::string &op, const std::string &args, int out,
                    const std::string &params = "{}") {
  return R"({"op": ")" + op + R"(", "args": [)" + args + R"(], "out": )" +
         std::to_string(out) + R"(, "params": )" + params + "},";
}

/// The sequences that a transformer's layer is made of.
std::vector<Sequence> sequences() {
  const std::string x = bf16("x", "\"M\", 64"), w = bf16("w", "64"),
                    W = bf16("W", "32, 64"), U = bf16("U", "32, 64"),
                    y = bf16("y", "\"M\", 32");
  const std::string norm =
      R"({"op": "rmsnorm", "args": [{"in": 0}, {"in": 1}], "out": 0},)";
  std::vector<Sequence> all = {
      {"residual, norm: both results",
       x + "," + bf16("r", "\"M\", 64") + "," + w,
       bf16("sum", "\"M\", 64") + "," + bf16("normed", "\"M\", 64"),
       R"({"op": "add", "args": [{"in": 0}, {"in": 1}], "out": {"out": 0}},
          {"op": "add", "args": [{"in": 0}, {"in": 1}], "out": 0},
          {"op": "rmsnorm", "args": [{"s": 0}, {"in": 2}],
           "out": {"out": 1}})"},
      {"rotated keys into the cache",
       bf16("k", "\"M\", 2, 16") + "," + tensor("pos", "int32", "\"M\"") +
           R"(,{"name": "cache", "dtype": "bfloat16", "role": "state",
                "shape": ["M", 8, 2, 16]})",
       "",
       R"({"op": "rope", "args": [{"in": 0}, {"in": 1}], "out": 0},
          {"op": "kv_append", "args": [{"s": 0}, {"in": 2}],
           "params": {"pos": {"in": 1}}})"}};
  for (const std::string op : {"gemv_tile", "gemm_tile"}) {
    all.push_back({"norm as prologue", x + "," + w + "," + W, y,
                   norm + R"({"op": ")" + op +
                       R"(", "args": [{"s": 0}, {"in": 2}], "out": "final"})"});
    all.push_back(
        {"bias, gelu", x + "," + W + "," + bf16("b", "32"), y,
         product(op, R"({"in": 0}, {"in": 1}, {"in": 2})", 0) +
             R"({"op": "gelu", "args": [{"s": 0}], "out": "final"})"});
    all.push_back({"gate and up", x + "," + W + "," + U, y,
                   product(op, R"({"in": 0}, {"in": 1})", 0) +
                       product(op, R"({"in": 0}, {"in": 2})", 1) +
                       R"({"op": "silu_mul", "args": [{"s": 0}, {"s": 1}],
                          "out": "final"})"});
    all.push_back({"norm, gate and up", x + "," + w + "," + W + "," + U, y,
                   norm + product(op, R"({"s": 0}, {"in": 2})", 1) +
                       product(op, R"({"s": 0}, {"in": 3})", 2) +
                       R"({"op": "silu_mul", "args": [{"s": 1}, {"s": 2}],
                          "out": "final"})"});
    all.push_back({"residual", x + "," + W + "," + bf16("r", "\"M\", 32"), y,
                   product(op, R"({"in": 0}, {"in": 1})", 0) +
                       R"({"op": "add", "args": [{"s": 0}, {"in": 2}],
                          "out": "final"})"});
    for (const std::string activation :
         {R"({"op": "gelu", "args": [{"s": 0}], "out": "final"})",
          R"({"op": "mul", "args": [{"s": 0}], "out": "final",
              "params": {"scale": 0.5}})",
          R"({"op": "copy", "args": [{"s": 0}], "out": "final"})",
          R"({"op": "silu_mul", "args": [{"s": 0}, {"in": 3}],
              "out": "final"})",
          R"({"op": "map", "expr": "sigmoid(b)*a",
              "args": [{"s": 0}, {"in": 3}], "out": "final"})"})
      all.push_back({"quantised, elementwise",
                     x + "," + tensor("q", "uint8", "32, 32") + "," +
                         bf16("scales", "32, 4") + "," +
                         bf16("up", "\"M\", 32"),
                     y,
                     product(op, R"({"in": 0}, {"in": 1}, {"in": 2})", 0,
                             R"({"qdtype": 7, "group": 16})") +
                         activation});
  }
  return all;
}

double wave(int64_t i) { return std::sin(static_cast<double>(i) * 0.7); }

/// Values that are right for every input of `sequences`.
Operand operandFor(Bench &bench, const TensorType &type, const Dims &shape) {
  return bench.tensor(type.dtype, shape, [&](int64_t i) {
    return type.dtype == DType::U8    ? static_cast<double>(i * 37 % 256)
           : type.dtype == DType::I32 ? static_cast<double>(i % 8)
                                      : wave(i);
  });
}

/// The elements of all outputs and states after a run.
std::vector<std::vector<double>> resultsOf(const Recipe &recipe, int64_t m,
                                           bool fuse) {
  Bench bench;
  const DimBindings dims = {{"M", m}};
  std::vector<Operand> inputs, outputs;
  for (const RecipeInput &input : recipe.inputs)
    inputs.push_back(
        operandFor(bench, input.type, bindShape(input.type.shape, dims)));
  for (const RecipeOutput &output : recipe.outputs)
    outputs.push_back(
        bench.output(output.type.dtype, bindShape(output.type.shape, dims)));
  CompileOptions options;
  options.fuse = fuse;
  bench.launch(recipe, inputs, outputs, options);
  std::vector<std::vector<double>> results;
  for (const Operand &output : outputs)
    results.push_back(bench.values(output));
  for (size_t i = 0; i < inputs.size(); ++i)
    if (recipe.inputs[i].isState)
      results.push_back(bench.values(inputs[i]));
  return results;
}

std::vector<std::string> reasonsOf(const std::string &inputs,
                                   const std::string &outputs,
                                   const std::string &steps) {
  std::vector<std::string> reasons;
  const auto program = compileTypical(chain(inputs, outputs, steps));
  for (const std::string &sentence : program->explanation)
    if (sentence.find(" starts a new kernel: ") != std::string::npos)
      reasons.push_back(sentence);
  return reasons;
}
} // namespace

TEST_SUITE("codegen/fusion") {
  TEST_CASE("one kernel, and nothing but inputs and outputs in memory") {
    for (const Sequence &one : sequences())
      for (int64_t m : {1, 4, 300})
        for (const char *target : {"sm_80", "sm_90a"}) {
          CAPTURE(one.name);
          CAPTURE(one.steps);
          CAPTURE(m);
          CAPTURE(target);
          CompileOptions options;
          options.target = target;
          const auto program = compileTypical(
              chain(one.inputs, one.outputs, one.steps), options, {{"M", m}});
          CHECK(program->launches.size() == 1);
          CHECK(program->temporaries.empty());
          for (const ProgramLaunch &launch : program->launches)
            for (const OperandSource &source : launch.operands)
              CHECK(source.kind != OperandSource::Kind::Temporary);
          options.fuse = false;
          CHECK(compileTypical(chain(one.inputs, one.outputs, one.steps),
                               options, {{"M", m}})
                    ->launches.size() > 1);
        }
  }

  TEST_CASE("the kernel gives the bits of the steps on their own") {
    for (const Sequence &one : sequences())
      for (int64_t m : {1, 5}) {
        CAPTURE(one.name);
        CAPTURE(one.steps);
        CAPTURE(m);
        const Recipe recipe = chain(one.inputs, one.outputs, one.steps);
        CHECK(resultsOf(recipe, m, true) == resultsOf(recipe, m, false));
      }
  }

  TEST_CASE("other sequences say which step split them, and why") {
    const std::string x = bf16("x", "\"M\", 64"), w = bf16("w", "64"),
                      W = bf16("W", "64, 64"), y = bf16("y", "\"M\", 64");
    using Reasons = std::vector<std::string>;
    CHECK(reasonsOf(x + "," + W, y,
                    R"({"op": "gemm_tile", "args": [{"in": 0}, {"in": 1}],
                        "out": 0},
                       {"op": "softmax", "args": [{"s": 0}],
                        "out": "final"})") ==
          Reasons{"step 1 (softmax) starts a new kernel: it reduces along dim "
                  "1, of which a tile of step 0 (gemm_tile) holds a part"});
    CHECK(reasonsOf(x + "," + W, y,
                    R"({"op": "softmax", "args": [{"in": 0}], "out": 0},
                       {"op": "gemm_tile", "args": [{"s": 0}, {"in": 1}],
                        "out": "final"})") ==
          Reasons{"step 1 (gemm_tile) starts a new kernel: a matrix product "
                  "computes its own tiles"});
    CHECK(reasonsOf(x, y,
                    R"({"op": "softmax", "args": [{"in": 0}], "out": 0},
                       {"op": "softmax", "args": [{"s": 0}], "out": "final",
                        "params": {"dim": 0}})") ==
          Reasons{"step 1 (softmax) starts a new kernel: its rows run along "
                  "dim 0, those of step 0 (softmax) along dim 1"});
    CHECK(reasonsOf(tensor("ids", "int32", "\"M\"") + "," +
                        bf16("table", "9, 64") + "," + w + "," + x,
                    y,
                    R"({"op": "gelu", "args": [{"in": 3}], "out": 0},
                       {"op": "embed", "args": [{"in": 0}, {"in": 1}],
                        "out": 1},
                       {"op": "add", "args": [{"s": 0}, {"s": 1}],
                        "out": "final"})") ==
          Reasons{"step 1 (embed) starts a new kernel: it gathers its rows "
                  "from a table"});
    CHECK(reasonsOf(bf16("q", "4, 16") + "," + bf16("k", "8, 2, 16") + "," +
                        bf16("v", "8, 2, 16"),
                    bf16("o", "4, 16"),
                    R"({"op": "gelu", "args": [{"in": 0}], "out": 0},
                       {"op": "attention_tile",
                        "args": [{"s": 0}, {"in": 1}, {"in": 2}],
                        "out": "final"})") ==
          Reasons{"step 1 (attention_tile) starts a new kernel: its CTAs are "
                  "heads"});
  }
}
