//===- EvaluateTest.cpp - Recipes in, values and bounds out ---------------===//
#include "refops/Evaluate.h"
#include "refops/KnownAnswers.h"

#include <cstring>
#include <doctest/doctest.h>
#include <random>

using namespace tandem;
using namespace tandem::refops;

static Recipe recipeOf(const char *json) {
  Result<Recipe> recipe = readRecipe(json, "r.json");
  REQUIRE_MESSAGE(recipe, (recipe ? "" : recipe.error().text()));
  return recipe.take();
}

static StepContract stepContract(int step, Opcode op, std::string depth = "",
                                 std::string dot = "", int chunk = 0) {
  StepContract contract;
  contract.step = step;
  contract.op = op;
  contract.depth = std::move(depth);
  contract.dot = std::move(dot);
  contract.dotChunk = chunk;
  return contract;
}

static HostTensor randomTensor(DType dtype, const Dims &shape, int seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  HostTensor tensor = HostTensor::filled(dtype, shape, 0);
  for (int64_t i = 0; i < tensor.desc.numElements(); ++i)
    storeDouble(dtype, normal(random),
                tensor.bytes.data() + i * int64_t(dtypeSize(dtype)));
  return tensor;
}

TEST_SUITE("evaluate") {
  TEST_CASE("scratch is rounded where the unfused sequence rounds") {
    const Recipe recipe = recipeOf(R"({"name": "r",
      "inputs": [{"name": "a", "dtype": "float32", "shape": ["N"]}],
      "outputs": [{"name": "y", "dtype": "float32", "shape": ["N"]}],
      "recipe": {"steps": [
        {"op": "MUL", "args": [{"in": 0}], "out": 0,
         "params": {"scale": 1.0}, "out_dtype": "bfloat16"},
        {"op": "ADD", "args": [{"s": 0}, {"in": 0}], "out": "final",
         "out_dtype": "float32"}]}})");
    // 1 + 2^-8 is a tie of bfloat16 that goes to 1.
    HostTensor a(DType::F32, {2}, {1 + 0x1p-8, 3});
    const auto expected = evaluate(recipe, {a.view()}, Contract());
    REQUIRE_MESSAGE(expected, (expected ? "" : expected.error().text()));
    CHECK((*expected)[0].value == std::vector<double>{2 + 0x1p-8, 6});
    CHECK((*expected)[0].error == std::vector<double>{0, 0});
    HostTensor y = HostTensor::filled(DType::F32, {2}, 0);
    REQUIRE(run(recipe, {a.view()}, {y.view()}));
    CHECK(y.at(0) == 2 + 0x1p-8);
    CHECK(y.at(1) == 6);
  }

  TEST_CASE("a partial write leaves its output untouched and scratch zero") {
    const Recipe recipe = recipeOf(R"({"name": "r",
      "inputs": [{"name": "x", "dtype": "float32", "shape": [1, 1]},
                 {"name": "w", "dtype": "float32", "shape": [3, 1]}],
      "outputs": [{"name": "y", "dtype": "float32", "shape": [1, 3]},
                  {"name": "z", "dtype": "float32", "shape": [1, 3]}],
      "recipe": {"steps": [
        {"op": "GEMM_TILE", "args": [{"in": 0}, {"in": 1}], "out": 0,
         "params": {"n_off": 1, "N_tile": 1}},
        {"op": "GEMM_TILE", "args": [{"in": 0}, {"in": 1}], "out": {"out": 0},
         "params": {"n_off": 1, "N_tile": 1}},
        {"op": "MUL", "args": [{"s": 0}], "out": {"out": 1},
         "params": {"scale": 2.0}}]}})");
    HostTensor x(DType::F32, {1, 1}, {5}), w(DType::F32, {3, 1}, {1, 2, 3});
    Contract contract;
    contract.steps = {stepContract(0, Opcode::GEMM_TILE, "n", "fma"),
                      stepContract(1, Opcode::GEMM_TILE, "n", "fma")};
    const auto expected = evaluate(recipe, {x.view(), w.view()}, contract);
    REQUIRE_MESSAGE(expected, (expected ? "" : expected.error().text()));
    CHECK((*expected)[0].unchecked == std::vector<uint8_t>{2, 0, 2});
    CHECK((*expected)[0].value[1] == 10);
    CHECK((*expected)[1].unchecked == std::vector<uint8_t>{0, 0, 0});
    CHECK((*expected)[1].value == std::vector<double>{0, 20, 0});
    CHECK((*expected)[1].error[0] == 0);
  }

  TEST_CASE("a bad id is an error, or a fault beside the right rows") {
    const Recipe recipe = recipeOf(R"({"name": "r",
      "inputs": [{"name": "ids", "dtype": "int32", "shape": ["N"]},
                 {"name": "t", "dtype": "float32", "shape": ["V", 2]}],
      "outputs": [{"name": "y", "dtype": "float32", "shape": ["N", 2]},
                  {"name": "z", "dtype": "float32", "shape": ["N", 2]}],
      "recipe": {"steps": [
        {"op": "EMBED", "args": [{"in": 0}, {"in": 1}], "out": {"out": 0}},
        {"op": "EMBED", "args": [{"in": 0}, {"in": 1}], "out": 0},
        {"op": "MUL", "args": [{"s": 0}], "out": {"out": 1},
         "params": {"scale": 2.0}}]}})");
    HostTensor ids(DType::I32, {3}, {1, 7, 0});
    HostTensor table(DType::F32, {2, 2}, {1, 2, 3, 4});
    const auto failed =
        evaluate(recipe, {ids.view(), table.view()}, Contract());
    REQUIRE(!failed);
    CHECK(failed.error().text() ==
          "r: steps[0]: embed: row 1: index 7 is outside its table");
    std::vector<IndexFault> faults;
    EvaluateOptions options;
    options.faults = &faults;
    const auto expected =
        evaluate(recipe, {ids.view(), table.view()}, Contract(), options);
    REQUIRE(expected);
    CHECK(faults == std::vector<IndexFault>{{0, 1, 7}, {1, 1, 7}});
    CHECK((*expected)[0].unchecked == std::vector<uint8_t>{0, 0, 2, 2, 0, 0});
    CHECK((*expected)[1].unchecked == std::vector<uint8_t>{0, 0, 1, 1, 0, 0});
    CHECK((*expected)[1].value[4] == 2);
  }

  TEST_CASE("computed near-ties allow other indices") {
    const Recipe recipe = recipeOf(R"({"name": "r",
      "inputs": [{"name": "x", "dtype": "float32", "shape": [1, 2]},
                 {"name": "w", "dtype": "float32", "shape": [4, 2]}],
      "outputs": [{"name": "id", "dtype": "int32", "shape": [1]}],
      "recipe": {"steps": [
        {"op": "GEMV_TILE", "args": [{"in": 0}, {"in": 1}], "out": 0},
        {"op": "SAMPLE_ARGMAX", "args": [{"s": 0}], "out": "final"}]}})");
    HostTensor x(DType::F32, {1, 2}, {1, 1});
    HostTensor w(DType::F32, {4, 2},
                 {0.1, 0.2, 0.7, 0.2, 0.7, 0.2 - 0x1p-26, 0.6, 0.2});
    Contract contract;
    contract.steps = {stepContract(0, Opcode::GEMV_TILE, "n", "fma")};
    const auto expected = evaluate(recipe, {x.view(), w.view()}, contract);
    REQUIRE(expected);
    CHECK((*expected)[0].value[0] == 1);
    CHECK((*expected)[0].error[0] == 0);
    REQUIRE((*expected)[0].alternatives.size() == 1);
    CHECK((*expected)[0].alternatives[0] == std::vector<int64_t>{2});
    HostTensor exact(DType::F32, {4, 2}, {1, 1, 3, 1, 2, 2, 0, 0});
    const auto plain = evaluate(recipe, {x.view(), exact.view()}, Contract());
    REQUIRE(plain);
    CHECK((*plain)[0].value[0] == 1);
  }

  TEST_CASE("a computed number may truncate to a neighbour") {
    const Recipe recipe = recipeOf(R"({"name": "r",
      "inputs": [{"name": "x", "dtype": "float32", "shape": [1, 2]},
                 {"name": "w", "dtype": "float32", "shape": [3, 2]}],
      "outputs": [{"name": "y", "dtype": "int32", "shape": [1, 3]}],
      "recipe": {"steps": [
        {"op": "GEMV_TILE", "args": [{"in": 0}, {"in": 1}], "out": 0},
        {"op": "COPY", "args": [{"s": 0}], "out": "final",
         "out_dtype": "int32"}]}})");
    HostTensor x(DType::F32, {1, 2}, {1, 1});
    HostTensor w(DType::F32, {3, 2}, {2, 1, 2, 0.5, 1e10, 1e10});
    Contract contract;
    contract.steps = {stepContract(0, Opcode::GEMV_TILE, "n", "fma")};
    const auto expected = evaluate(recipe, {x.view(), w.view()}, contract);
    REQUIRE(expected);
    const Expected &y = (*expected)[0];
    CHECK(y.value == std::vector<double>{3, 2, 2147483647});
    REQUIRE(y.alternatives.size() == 3);
    // 3 - error truncates to 2; an error is symmetric, so 4 comes with it.
    CHECK((y.alternatives[0] == std::vector<int64_t>{2, 4}));
    CHECK(y.alternatives[1].empty());
    CHECK(y.alternatives[2].empty()); // saturates in any case
    CHECK(y.error == std::vector<double>{0, 0, 0});
    CHECK(y.unchecked == std::vector<uint8_t>{0, 0, 0});
  }

  TEST_CASE("a contract that is silent where a bound needs it is an error") {
    const Result<Recipe> recipe = singleOpRecipe(
        Opcode::GEMM_TILE, {TensorType{DType::F32, {int64_t(1), int64_t(1)}},
                            TensorType{DType::F32, {int64_t(1), int64_t(1)}}});
    REQUIRE(recipe);
    HostTensor one(DType::F32, {1, 1}, {1});
    const auto messageOf = [&](const StepContract &step) {
      Contract contract;
      contract.steps = {step};
      const auto expected =
          evaluate(*recipe, {one.view(), one.view()}, contract);
      const std::string text = expected ? "" : expected.error().text();
      return text.substr(text.find("contract"));
    };
    CHECK(messageOf(stepContract(0, Opcode::GEMM_TILE)) ==
          "contract: steps[0]: gemm_tile needs a 'dot'");
    CHECK(messageOf(stepContract(0, Opcode::GEMM_TILE, "", "fma")) ==
          "contract: steps[0]: gemm_tile needs a 'depth'");
    CHECK(messageOf(stepContract(0, Opcode::GEMM_TILE, "m", "fma")) ==
          "contract: steps[0]: depth: 'm' reads 'm', expected only 'n'");
    CHECK(messageOf(stepContract(0, Opcode::GEMM_TILE, "n", "dp4a")) ==
          "contract: steps[0]: dot: 'dp4a', expected 'fma', 'mma...' or "
          "'wgmma...'");
    CHECK(messageOf(stepContract(0, Opcode::GEMM_TILE, "n", "mma.x")) ==
          "contract: steps[0]: dotChunk: 0, expected at least 1 for 'mma.x'");
    StepContract step = stepContract(0, Opcode::GEMM_TILE, "n", "fma");
    step.approx = {"magic"};
    CHECK(messageOf(step) == "contract: steps[0]: approx: 'magic' is not in "
                             "the table of errors");
  }

  TEST_CASE("parallel and serial runs give the same bits, views included") {
    struct Case {
      Opcode op;
      std::vector<Dims> shapes;
    };
    const std::vector<Case> cases = {
        {Opcode::SOFTMAX, {{301, 700}}},
        {Opcode::RMSNORM, {{301, 700}, {700}}},
        {Opcode::LAYERNORM, {{301, 700}, {700}, {700}}},
        {Opcode::GELU, {{301, 700}}},
        {Opcode::SILU_MUL, {{301, 700}, {301, 700}}},
        {Opcode::ADD, {{301, 700}, {301, 1}}},
        {Opcode::GEMM_TILE, {{131, 300}, {77, 300}, {77}}},
        {Opcode::SAMPLE_ARGMAX, {{301, 700}}},
    };
    for (const Case &c : cases) {
      CAPTURE(static_cast<int>(c.op));
      std::vector<HostTensor> inputs;
      std::vector<View> views, transposed;
      std::vector<HostTensor> storage;
      std::vector<TensorType> types;
      for (const Dims &shape : c.shapes) {
        inputs.push_back(
            randomTensor(DType::F32, shape, static_cast<int>(types.size())));
        TensorType type{DType::F32, {}};
        for (int64_t size : shape)
          type.shape.emplace_back(size);
        types.push_back(type);
      }
      for (HostTensor &input : inputs) {
        views.push_back(input.view());
        // The same elements with every second one of memory left out.
        Dims wide = input.desc.shape;
        wide.back() *= 2;
        storage.push_back(HostTensor::filled(DType::F32, wide, NAN));
        View view = storage.back().view();
        view.desc.shape = input.desc.shape;
        view.desc.strides.back() = 2;
        for (int64_t i = 0; i < input.desc.numElements(); ++i)
          std::memcpy(view.atLinear(i), input.view().atLinear(i), 4);
        transposed.push_back(view);
      }
      for (size_t i = 0; i < storage.size(); ++i)
        transposed[i].data = storage[i].bytes.data();
      const Result<Recipe> recipe = singleOpRecipe(c.op, types);
      REQUIRE_MESSAGE(recipe, (recipe ? "" : recipe.error().text()));
      Contract contract;
      contract.steps = {stepContract(0, c.op, "ceildiv(n, 32) + 32", "fma")};
      contract.steps[0].approx = {"erfc", "ex2.approx", "exp", "sigmoid"};
      EvaluateOptions parallel;
      parallel.jobs = 5;
      const auto serial = evaluate(*recipe, views, contract);
      const auto spread = evaluate(*recipe, views, contract, parallel);
      const auto strided = evaluate(*recipe, transposed, contract, parallel);
      REQUIRE_MESSAGE(serial, (serial ? "" : serial.error().text()));
      REQUIRE(spread);
      REQUIRE_MESSAGE(strided, (strided ? "" : strided.error().text()));
      CHECK((*serial)[0].value == (*spread)[0].value);
      CHECK((*serial)[0].error == (*spread)[0].error);
      CHECK((*serial)[0].value == (*strided)[0].value);
      CHECK((*serial)[0].error == (*strided)[0].error);
    }
  }

  TEST_CASE("an output may overwrite its input") {
    const Result<Recipe> recipe =
        singleOpRecipe(Opcode::RMSNORM,
                       {TensorType{DType::F32, {int64_t(2), int64_t(2)}},
                        TensorType{DType::F32, {int64_t(2)}}},
                       Params{{{"eps", 0.0}}});
    REQUIRE(recipe);
    HostTensor x(DType::F32, {2, 2}, {3, 3, -2, 2}), w(DType::F32, {2}, {1, 5});
    const Result<void> done = run(*recipe, {x.view(), w.view()}, {x.view()});
    REQUIRE_MESSAGE(done, (done ? "" : done.error().text()));
    CHECK(x.at(0) == 1);
    CHECK(x.at(1) == 5);
    CHECK(x.at(2) == -1);
    CHECK(x.at(3) == 5);
  }

  TEST_CASE("copy keeps every bit of equal types and all of int64") {
    const Result<Recipe> recipe =
        singleOpRecipe(Opcode::COPY, {TensorType{DType::F32, {int64_t(2)}}});
    REQUIRE(recipe);
    HostTensor x(DType::F32, {2}, {0, 0}), y(DType::F32, {2}, {0, 0});
    const uint32_t payload[2] = {0x7fa12345, 0xffc00001};
    std::memcpy(x.bytes.data(), payload, sizeof payload);
    REQUIRE(run(*recipe, {x.view()}, {y.view()}));
    CHECK(std::memcmp(y.bytes.data(), payload, sizeof payload) == 0);

    const Result<Recipe> toF32 = singleOpRecipe(
        Opcode::COPY, {TensorType{DType::I64, {int64_t(1)}}}, {}, DType::F32);
    REQUIRE(toF32);
    // Rounded through double it would be a tie, and go down.
    const int64_t odd = (int64_t(1) << 60) + (int64_t(1) << 36) + 1;
    HostTensor id = HostTensor::filled(DType::I64, {1}, 0);
    storeInteger(DType::I64, odd, id.bytes.data());
    CHECK(!run(*toF32, {id.view()}, {y.view()})); // two elements
    HostTensor one = HostTensor::filled(DType::F32, {1}, 0);
    REQUIRE(run(*toF32, {id.view()}, {one.view()}));
    CHECK(one.at(0) == 0x1p60 + 0x1p37);
    const auto expected = evaluate(*toF32, {id.view()}, Contract());
    REQUIRE(expected);
    CHECK((*expected)[0].value[0] == 0x1p60 + 0x1p37);
  }

  TEST_CASE("int64 scratch keeps integers that no double holds") {
    const Recipe recipe = recipeOf(R"({"name": "r",
      "inputs": [{"name": "a", "dtype": "int64", "shape": ["N"]}],
      "outputs": [{"name": "y", "dtype": "int64", "shape": ["N"]},
                  {"name": "z", "dtype": "float32", "shape": ["N"]}],
      "recipe": {"steps": [
        {"op": "COPY", "args": [{"in": 0}], "out": 0},
        {"op": "COPY", "args": [{"s": 0}], "out": {"out": 1},
         "out_dtype": "float32"},
        {"op": "COPY", "args": [{"s": 0}], "out": {"out": 0}}]}})");
    const int64_t odd = (int64_t(1) << 60) + (int64_t(1) << 36) + 1;
    HostTensor a = HostTensor::filled(DType::I64, {2}, 0);
    HostTensor y = a, z = HostTensor::filled(DType::F32, {2}, 0);
    storeInteger(DType::I64, odd, a.bytes.data());
    storeInteger(DType::I64, -odd, a.bytes.data() + 8);
    REQUIRE(run(recipe, {a.view()}, {y.view(), z.view()}));
    CHECK(loadInteger(DType::I64, y.bytes.data()) == odd);
    CHECK(loadInteger(DType::I64, y.bytes.data() + 8) == -odd);
    // Through a double it would be a tie, and go down.
    CHECK(z.at(0) == 0x1p60 + 0x1p37);
    const auto expected = evaluate(recipe, {a.view()}, Contract());
    REQUIRE(expected);
    CHECK((*expected)[0].integers == std::vector<int64_t>{odd, -odd});
    CHECK((*expected)[1].value[0] == 0x1p60 + 0x1p37);
  }

  TEST_CASE("a bad index takes the verdict from all that depends on its row") {
    // Softmax along the rows mixes them: what the untouched row holds is in
    // every element.
    const Recipe recipe = recipeOf(R"({"name": "r",
      "inputs": [{"name": "ids", "dtype": "int32", "shape": ["N"]},
                 {"name": "table", "dtype": "float32", "shape": ["V", "H"]}],
      "outputs": [{"name": "y", "dtype": "float32", "shape": ["N", "H"]},
                  {"name": "z", "dtype": "float32", "shape": ["N", "H"]}],
      "recipe": {"steps": [
        {"op": "EMBED", "args": [{"in": 0}, {"in": 1}], "out": 0},
        {"op": "GELU", "args": [{"s": 0}], "out": {"out": 1}},
        {"op": "SOFTMAX", "args": [{"s": 0}], "out": {"out": 0},
         "params": {"dim": 0}}]}})");
    HostTensor ids(DType::I32, {3}, {1, 2, 0});
    HostTensor table(DType::F32, {2, 2}, {1, 2, 3, 4});
    std::vector<IndexFault> faults;
    EvaluateOptions options;
    options.faults = &faults;
    Contract contract;
    contract.steps = {stepContract(1, Opcode::GELU, ""),
                      stepContract(2, Opcode::SOFTMAX, "n")};
    const auto expected =
        evaluate(recipe, {ids.view(), table.view()}, contract, options);
    REQUIRE_MESSAGE(expected, (expected ? "" : expected.error().text()));
    CHECK(faults == std::vector<IndexFault>{{0, 1, 2}});
    CHECK((*expected)[0].unchecked == std::vector<uint8_t>(6, 1));
    CHECK((*expected)[1].unchecked == std::vector<uint8_t>{0, 0, 1, 1, 0, 0});
  }
}
