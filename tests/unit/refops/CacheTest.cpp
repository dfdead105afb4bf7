//===- CacheTest.cpp - Ops on caches: faults, states and exact cases ------===//
#include "refops/Evaluate.h"
#include "refops/KnownAnswers.h"

#include <cstring>
#include <doctest/doctest.h>

using namespace tandem;
using namespace tandem::refops;

namespace {

struct Run {
  std::vector<Expected> written;
  std::vector<IndexFault> faults;
};

/// What \p op writes under the widest contract.
Run evaluateOp(Opcode op, std::vector<HostTensor> inputs,
               const Params &params) {
  std::vector<TensorType> types;
  std::vector<View> views;
  for (HostTensor &input : inputs) {
    TensorType type{input.desc.dtype, {}};
    for (int64_t size : input.desc.shape)
      type.shape.emplace_back(size);
    types.push_back(type);
    views.push_back(input.view());
  }
  const Result<Recipe> recipe = singleOpRecipe(op, types, params);
  REQUIRE_MESSAGE(recipe, (recipe ? "" : recipe.error().text()));
  StepContract step;
  step.op = op;
  step.depth = licensedDepth;
  step.rescales = licensedRescales;
  step.dot = "fma";
  step.approx = {"exp", "rcp.approx"};
  Contract contract;
  contract.steps = {step};
  Run run;
  EvaluateOptions options;
  options.faults = &run.faults;
  Result<std::vector<Expected>> written =
      evaluate(*recipe, views, contract, options);
  REQUIRE_MESSAGE(written, (written ? "" : written.error().text()));
  run.written = written.take();
  return run;
}

HostTensor f32(const Dims &shape, const std::vector<double> &values) {
  return {DType::F32, shape, values};
}

Params onDevice(const char *name, int64_t operand) {
  Params params;
  params.values[name] = OperandParam{operand};
  return params;
}

} // namespace

TEST_SUITE("caches") {
  TEST_CASE("a row outside the cache is a fault beside right rows") {
    const Run run = evaluateOp(Opcode::KV_APPEND,
                               {f32({3, 1}, {1, 2, 3}),
                                f32({3, 2, 1, 1}, {4, 5, 6, 7, 8, 9}),
                                HostTensor(DType::I32, {3}, {1, -1, 2})},
                               onDevice("pos", 2));
    CHECK(run.faults == std::vector<IndexFault>{{0, 1, -1}, {0, 2, 2}});
    REQUIRE(run.written.size() == 1);
    CHECK(run.written[0].value == std::vector<double>{4, 1, 6, 7, 8, 9});
    CHECK(run.written[0].error == std::vector<double>(6));
    CHECK(run.written[0].unchecked == std::vector<uint8_t>(6));
  }

  TEST_CASE("a wrong window leaves the rows of its sequence untouched") {
    std::vector<HostTensor> inputs = {
        f32({4, 2, 1}, std::vector<double>(8)),
        f32({4, 3, 1, 1}, std::vector<double>(12, 1)),
        f32({4, 3, 1, 1}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}),
        HostTensor(DType::I32, {4}, {2, 4, -1, 3})};
    const Run run =
        evaluateOp(Opcode::ATTENTION_TILE, inputs, onDevice("kv_len", 3));
    // Rows count heads: sequence 1 starts at row 2.
    CHECK(run.faults == std::vector<IndexFault>{{0, 2, 3}, {0, 4, -1}});
    CHECK(run.written[0].unchecked ==
          std::vector<uint8_t>{0, 0, 2, 2, 2, 2, 0, 0});
    CHECK(run.written[0].value[0] == 1.5);
    CHECK(run.written[0].value[7] == 11);
    const Run late =
        evaluateOp(Opcode::ATTENTION_TILE, inputs, onDevice("kv_start", 3));
    CHECK(late.faults == std::vector<IndexFault>{{0, 2, 4}, {0, 4, -1}});
    CHECK(late.written[0].value[0] == 3);
    CHECK(late.written[0].value[7] == 0); // an empty window
  }

  TEST_CASE("a position outside writes nothing of its sequence") {
    const Run run = evaluateOp(Opcode::ATTN_STEP,
                               {f32({2, 1, 1}, {0, 0}), f32({2, 1}, {5, 6}),
                                f32({2, 1}, {7, 8}), f32({2, 1, 1, 1}, {1, 2}),
                                f32({2, 1, 1, 1}, {3, 4}),
                                HostTensor(DType::I32, {2}, {1, 0})},
                               onDevice("pos", 5));
    CHECK(run.faults == std::vector<IndexFault>{{0, 0, 1}});
    REQUIRE(run.written.size() == 3);
    CHECK(run.written[0].unchecked == std::vector<uint8_t>{2, 0});
    CHECK(run.written[0].value[1] == 8);
    CHECK(run.written[1].value == std::vector<double>{1, 6});
    CHECK(run.written[2].value == std::vector<double>{3, 8});
  }

  TEST_CASE("the message names the cache") {
    const Result<Recipe> recipe = singleOpRecipe(
        Opcode::KV_APPEND,
        {TensorType{DType::F32, {1, 1}}, TensorType{DType::F32, {2, 1, 1}},
         TensorType{DType::I32, {1}}},
        onDevice("pos", 2));
    REQUIRE_MESSAGE(recipe, (recipe ? "" : recipe.error().text()));
    HostTensor row = f32({1, 1}, {1}), cache = f32({2, 1, 1}, {8, 9});
    HostTensor pos(DType::I32, {1}, {2});
    const Result<void> done =
        run(*recipe, {row.view(), cache.view(), pos.view()}, {});
    REQUIRE(!done);
    CHECK(done.error().text().ends_with(
        "kv_append: row 0: index 2 is outside its cache"));
    CHECK(cache.at(0) == 8);
    CHECK(cache.at(1) == 9);
  }

  TEST_CASE("rows of the cache's own type keep their bits") {
    HostTensor row = f32({1, 1, 1}, {0}), cache = f32({2, 1, 1}, {0, 0});
    const uint32_t payload = 0x7fa12345;
    std::memcpy(row.bytes.data(), &payload, 4);
    const Result<Recipe> recipe = singleOpRecipe(
        Opcode::KV_APPEND,
        {TensorType{DType::F32, {1, 1, 1}}, TensorType{DType::F32, {2, 1, 1}}},
        Params{{{"pos", int64_t(1)}}});
    REQUIRE_MESSAGE(recipe, (recipe ? "" : recipe.error().text()));
    REQUIRE(run(*recipe, {row.view(), cache.view()}, {}));
    CHECK(std::memcmp(cache.bytes.data() + 4, &payload, 4) == 0);

    HostTensor small = HostTensor::filled(DType::F8E5M2, {1, 1, 1}, 0);
    small.bytes[0] = std::byte{0x7c}; // infinity, which a cast would saturate
    const Run moved =
        evaluateOp(Opcode::KV_APPEND,
                   {small, HostTensor::filled(DType::F8E5M2, {1, 1, 1}, 0)},
                   Params{{{"pos", int64_t(0)}}});
    CHECK(moved.written[0].value[0] == infinity);
  }

  TEST_CASE("empty windows and scores of -inf are exact") {
    const double inf = infinity;
    const HostTensor q = f32({1, 2}, {1, 2});
    const HostTensor v = f32({3, 1, 2}, {1, 2, 3, 4, 5, 6});
    const HostTensor lost =
        f32({3, 1, 2}, {-inf, -inf, -inf, -inf, -inf, -inf});
    const Expected none = evaluateOp(Opcode::ATTENTION_TILE, {q, v, v},
                                     Params{{{"kv_len", int64_t(0)}}})
                              .written[0];
    CHECK(none.value == std::vector<double>{0, 0});
    CHECK(none.error == std::vector<double>{0, 0});
    const Expected nan =
        evaluateOp(Opcode::ATTENTION_TILE, {q, lost, v}, {}).written[0];
    for (size_t i = 0; i < 2; ++i) {
      CHECK(std::isnan(nan.value[i]));
      CHECK(nan.error[i] == 0);
      CHECK(nan.unchecked[i] == 0);
    }
    // Two keys at -inf beside one: its own value, to a few roundings.
    const HostTensor one = f32({3, 1, 2}, {-inf, -inf, 1, 1, -inf, -inf});
    const Expected kept =
        evaluateOp(Opcode::ATTENTION_TILE, {q, one, v}, {}).written[0];
    CHECK(kept.value == std::vector<double>{3, 4});
    CHECK(kept.error[0] < 3 * 0x1p-15);
    // A weight of 0 does not hide an infinity (no zero skipping).
    const HostTensor wild = f32({3, 1, 2}, {inf, 2, 3, 4, 5, 6});
    const Expected hidden =
        evaluateOp(Opcode::ATTENTION_TILE, {q, one, wild}, {}).written[0];
    CHECK(std::isnan(hidden.value[0]));
    CHECK(hidden.error[0] == 0);
    CHECK(hidden.value[1] == 4);
    const Expected partial =
        evaluateOp(Opcode::ATTENTION_TILE, {q, v, v},
                   Params{{{"kv_len", int64_t(0)}, {"flags", int64_t(2)}}})
            .written[0];
    CHECK(partial.value == std::vector<double>{0, 0, -inf, 0});
    CHECK(partial.error == std::vector<double>(4));
  }

  TEST_CASE("the weights' rounding to the values' type is in the bound") {
    const auto errorWith = [](DType type) {
      HostTensor v(type, {2, 1, 1}, {1, 3});
      return evaluateOp(Opcode::ATTENTION_TILE,
                        {f32({1, 1}, {1}), f32({2, 1, 1}, {0, 1}), v}, {})
          .written[0]
          .error[0];
    };
    CHECK(errorWith(DType::F32) < 0x1p-14);
    CHECK(errorWith(DType::F16) > 0x1p-11);
    CHECK(errorWith(DType::F16) < 0x1p-9);
    CHECK(errorWith(DType::BF16) > 0x1p-8);
  }
}
