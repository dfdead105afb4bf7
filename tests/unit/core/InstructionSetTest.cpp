//===- InstructionSetTest.cpp - Ranks, states and params on the device ----===//
#include "refops/core/Recipe.h"
#include "refops/core/Signature.h"

#include <doctest/doctest.h>

using namespace tandem;

namespace {
TensorType f16(std::vector<Dim> shape) { return {DType::F16, shape}; }
TensorType f32(std::vector<Dim> shape) { return {DType::F32, shape}; }
TensorType i32(std::vector<Dim> shape) { return {DType::I32, shape}; }
TensorType i8(std::vector<Dim> shape) { return {DType::I8, shape}; }
TensorType u8(std::vector<Dim> shape) { return {DType::U8, shape}; }

Params given(std::map<std::string, ParamValue, std::less<>> values) {
  return Params{std::move(values)};
}

std::string infer(Opcode op, const std::vector<TensorType> &operands,
                  const Params &params = {},
                  std::optional<std::vector<Dim>> outShape = std::nullopt) {
  const Result<std::vector<TensorType>> types =
      inferResults(opInfo(op), operands, params, outShape);
  if (!types)
    return types.error().text();
  return types->empty() ? "nothing" : types->front().describe();
}

std::string errorsOf(std::string_view json) {
  const Result<Recipe> recipe = readRecipe(json, "r.json");
  return recipe ? "ok" : recipe.error().text();
}
} // namespace

TEST_SUITE("instruction set") {
  TEST_CASE("rope takes heads, tokens and batches") {
    CHECK(infer(Opcode::ROPE, {f16({8, 64}), i32({1})}) == "float16[8, 64]");
    CHECK(infer(Opcode::ROPE, {f16({5, 8, 64}), i32({5})}) ==
          "float16[5, 8, 64]");
    CHECK(infer(Opcode::ROPE, {f16({2, 5, 8, 64}), i32({5})}) ==
          "float16[2, 5, 8, 64]");
    CHECK(infer(Opcode::ROPE, {f16({2, 5, 8, 64}), i32({10})}) ==
          "float16[2, 5, 8, 64]");
    CHECK(infer(Opcode::ROPE, {f16({Dim("B"), 5, 8, 64}), i32({Dim("B"), 5}),
                               f32({32})}) == "float16[B, 5, 8, 64]");
  }

  TEST_CASE("rope says which half is wrong") {
    CHECK(infer(Opcode::ROPE, {f16({5, 8, 64}), i32({4})}) ==
          "rope: operand 'positions': dim 0: expected S = 5 as in operand 'x', "
          "got int32[4]");
    CHECK(infer(Opcode::ROPE, {f16({8, 63}), i32({1})}) ==
          "rope: head_dim: expected an even number, got 63");
    CHECK(infer(Opcode::ROPE, {f16({8, 64}), i32({1}), f32({31})}) ==
          "rope: operand 'inv_freq': expected 32 frequencies, half of what "
          "turns, got 31");
    CHECK(infer(Opcode::ROPE, {f16({8, 64}), i32({1})},
                given({{"rotary_dim", int64_t(66)}})) ==
          "rope: param 'rotary_dim': expected at most head_dim = 64, got 66");
  }

  TEST_CASE("packed weights have half a byte a column, rounded up") {
    CHECK(infer(Opcode::GEMV_TILE, {f16({1, 101}), u8({7, 51}), f16({7, 4})}) ==
          "float16[1, 7]");
    CHECK(infer(Opcode::GEMV_TILE, {f16({1, 101}), u8({7, 50}), f16({7, 4})}) ==
          "gemv_tile: operand 'W': dim 1: expected ceil(K/2) = 51, got "
          "uint8[7, 50]");
    CHECK(infer(Opcode::GEMM_TILE, {f16({3, 100}), i8({7, 100}), f16({7, 4})},
                given({{"qdtype", std::string("int4")}})) ==
          "gemm_tile: param 'qdtype': expected int8 for operand 'W' of int8, "
          "got int4");
    CHECK(infer(Opcode::GEMM_TILE, {f16({3, 100}), f16({7, 100})},
                given({{"group", int64_t(32)}})) ==
          "gemm_tile: param 'group': operand 'W' is not quantised, it is "
          "float16[7, 100]");
  }

  TEST_CASE("dequant learns an odd K from its result") {
    CHECK(infer(Opcode::DEQUANT, {u8({7, 51}), f16({7, 4})}) ==
          "float16[7, 102]");
    CHECK(infer(Opcode::DEQUANT, {u8({7, 51}), f16({7, 4})}, {},
                std::vector<Dim>{7, 101}) == "float16[7, 101]");
    CHECK(infer(Opcode::DEQUANT, {u8({7, 51}), f16({7, 4})},
                given({{"K", int64_t(100)}})) ==
          "dequant: operand 'q': expected ceil(K/2) = 50 columns, got "
          "uint8[7, 51]");
  }

  TEST_CASE("attention checks its head counts") {
    const auto heads = [](int64_t h, int64_t kvh) {
      return infer(Opcode::ATTENTION_TILE,
                   {f16({h, 64}), f16({9, kvh, 64}), f16({9, kvh, 64})});
    };
    CHECK(heads(28, 4) == "float16[28, 64]");
    CHECK(heads(33, 2) ==
          "attention_tile: expected a number of query heads that is a multiple "
          "of the 2 key and value heads, got 33");
    CHECK(heads(4, 0) ==
          "attention_tile: expected a number of query heads that is a multiple "
          "of the 0 key and value heads, got 4");
  }

  TEST_CASE("partial writes are float32 and two wider, and combine narrows") {
    const Params partial = given({{"flags", int64_t(2)}});
    const TensorType q = f16({Dim("B"), 8, 64});
    const TensorType cache = f16({Dim("B"), Dim("S"), 2, 64});
    CHECK(infer(Opcode::ATTENTION_TILE, {q, cache, cache}, partial) ==
          "float32[B, 8, 66]");
    CHECK(infer(Opcode::ATTENTION_COMBINE, {f32({8, 66}), f32({8, 66})}) ==
          "float32[8, 64]");
    CHECK(infer(Opcode::ATTENTION_COMBINE, {f32({8, 1})}) ==
          "attention_combine: operand 'partials[0]': dim 1: expected a number "
          "from 2, got float32[8, 1]");
  }

  TEST_CASE("lm_head takes one row and weights [K, N]") {
    CHECK(infer(Opcode::LM_HEAD, {f16({1, 64}), f16({64, 100})}) ==
          "float16[1, 100]");
    CHECK(infer(Opcode::LM_HEAD, {f16({2, 64}), f16({64, 100})}) ==
          "lm_head: operand 'h': dim 0: expected 1, got float16[2, 64]");
    CHECK(infer(Opcode::LM_HEAD, {f16({1, 64}), f16({100, 64})},
                given({{"weight_layout", std::string("nk")}})) ==
          "float16[1, 100]");
  }

  TEST_CASE("a param on the device is an int32, or one a sequence") {
    const TensorType cache = f16({3, 9, 2, 64}), row = f16({3, 2, 64});
    const Params held = given({{"pos", OperandParam{2}}});
    CHECK(infer(Opcode::KV_APPEND, {row, cache, i32({3})}, held) == "nothing");
    CHECK(infer(Opcode::KV_APPEND, {row, cache, i32({})}, held) == "nothing");
    CHECK(infer(Opcode::KV_APPEND, {row, cache, i32({2})}, held) ==
          "kv_append: param 'pos': expected int32[], int32[1] or int32[3], got "
          "int32[2]");
    CHECK(infer(Opcode::KV_APPEND, {row, cache, f16({3})}, held) ==
          "kv_append: param 'pos': expected int32[], int32[1] or int32[B], got "
          "float16[3]");
    CHECK(infer(Opcode::KV_APPEND, {row, cache}) ==
          "kv_append: param 'pos' is missing");
    CHECK(infer(Opcode::RMSNORM, {f16({3, 4}), f16({4})},
                given({{"eps", OperandParam{1}}})) ==
          "rmsnorm: param 'eps': expected a number, got a value of the recipe");
  }

  TEST_CASE("slots that the host knows are checked before anything runs") {
    const auto at = [](int64_t pos) { return given({{"pos", pos}}); };
    CHECK(infer(Opcode::KV_APPEND, {f32({2, 1, 4}), f32({9, 1, 4})}, at(7)) ==
          "nothing");
    CHECK(
        infer(Opcode::KV_APPEND, {f32({2, 1, 4}), f32({9, 1, 4})}, at(8)) ==
        "kv_append: param 'pos': expected at most 7, where the new rows still "
        "fit the 9 slots of the cache, got 8");
    CHECK(infer(Opcode::KV_APPEND, {f32({0, 1, 4}), f32({9, 1, 4})}, at(99)) ==
          "nothing");
    CHECK(
        infer(Opcode::KV_APPEND, {f32({2, 1, 4}), f32({2, 9, 1, 4})}, at(9)) ==
        "kv_append: param 'pos': expected at most 8, where the new rows still "
        "fit the 9 slots of the cache, got 9");
    CHECK(infer(Opcode::KV_APPEND, {f32({2, 1, 4}), f32({Dim("S"), 1, 4})},
                at(8)) == "nothing");
    CHECK(
        infer(Opcode::ATTN_STEP,
              {f32({2, 4}), f32({1, 4}), f32({1, 4}), f32({9, 1, 4}),
               f32({9, 1, 4})},
              at(9)) ==
        "attn_step: param 'pos': expected at most 8, where one row still fits "
        "the 9 slots of the cache, got 9");
    const auto window = [](int64_t start, int64_t count) {
      return given({{"kv_start", start}, {"kv_len", count}});
    };
    const std::vector<TensorType> qkv = {f32({2, 4}), f32({9, 1, 4}),
                                         f32({9, 1, 4})};
    CHECK(infer(Opcode::ATTENTION_TILE, qkv, window(4, 5)) == "float32[2, 4]");
    CHECK(infer(Opcode::ATTENTION_TILE, qkv, window(9, 0)) == "float32[2, 4]");
    CHECK(infer(Opcode::ATTENTION_TILE, qkv, window(4, 6)) ==
          "attention_tile: param 'kv_len': expected at most 5, to the end of "
          "the 9 slots of the cache, got 6");
    CHECK(infer(Opcode::ATTENTION_TILE, qkv, window(10, 0)) ==
          "attention_tile: param 'kv_start': expected at most 9, the slots of "
          "the cache, got 10");
  }

  TEST_CASE("a recipe may do nothing but update its states") {
    const std::string text = R"({"name": "append", "inputs": [
        {"name": "k", "dtype": "float16", "shape": ["n", 2, 64]},
        {"name": "cache", "dtype": "float16", "shape": ["S", 2, 64],
         "role": "state"},
        {"name": "pos", "dtype": "int32", "shape": [1]}],
      "outputs": [], "recipe": {"steps": [{"op": "KV_APPEND",
        "args": [{"in": 0}, {"in": 1}], "params": {"pos": {"in": 2}}}]}})";
    const Result<Recipe> recipe = readRecipe(text, "r.json");
    REQUIRE(recipe);
    CHECK(recipe->steps[0].args.size() == 3);
    CHECK(recipe->steps[0].params.operandOf("pos") == size_t(2));
    CHECK(writtenValues(*recipe).size() == 1);
    const Result<Recipe> again = readRecipe(writeRecipe(*recipe), "again");
    REQUIRE(again);
    CHECK(*again == *recipe);
  }

  TEST_CASE("what a step updates in place is a state, and only once") {
    const std::string head = R"({"name": "append", "inputs": [
        {"name": "k", "dtype": "float16", "shape": [1, 2, 64]},
        {"name": "cache", "dtype": "float16", "shape": [9, 2, 64]},
        {"name": "kept", "dtype": "float16", "shape": [1, 2, 64],
         "role": "state"}],
      "outputs": [], "recipe": {"steps": [{"op": "KV_APPEND", )";
    CHECK(errorsOf(
              head +
              R"("args": [{"in": 0}, {"in": 1}], "params": {"pos": 0}}]}})") ==
          "r.json: steps[0].args[1]: kv_append updates 'cache' in place: "
          "expected an input with the role 'state', got input 1");
    CHECK(errorsOf(
              head +
              R"("args": [{"in": 2}, {"in": 2}], "params": {"pos": 0}}]}})") ==
          "r.json: steps[0].args[1]: it is updated in place and is also "
          "steps[0].args[0]");
    CHECK(errorsOf(head +
                   R"("args": [{"in": 0}, {"in": 2}], "params":
                      {"pos": {"in": 7}}}]}})") ==
          "r.json: steps[0].params.pos: no input 7: the recipe has 3");
  }
}
