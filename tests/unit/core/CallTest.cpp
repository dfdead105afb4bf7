//===- CallTest.cpp - Checks of a call with actual tensors ----------------===//
#include "refops/core/Recipe.h"

#include <doctest/doctest.h>

using namespace tandem;

namespace {
Recipe recipeOf(Opcode op, std::vector<TensorType> inputs, Params params = {}) {
  Result<Recipe> recipe = singleOpRecipe(op, std::move(inputs), params);
  REQUIRE_MESSAGE(bool(recipe), recipe.error().text());
  return recipe.take();
}

const TensorType rows = {DType::BF16, {Dim("M"), Dim("K")}};
const TensorType gain = {DType::F32, {Dim("K")}};

Operand at(uint64_t address, DType dtype, Dims shape) {
  return {contiguous(dtype, std::move(shape)), address};
}

std::string callError(const Recipe &recipe, const std::vector<Operand> &inputs,
                      const std::vector<Operand> &outputs) {
  const Result<DimBindings> bindings = checkCall(recipe, inputs, outputs);
  return bindings ? "ok" : bindings.error().text();
}

std::string bindError(const Recipe &recipe,
                      const std::vector<TensorDesc> &inputs) {
  const Result<DimBindings> bindings = bindDims(recipe, inputs);
  return bindings ? "ok" : bindings.error().text();
}
} // namespace

TEST_SUITE("calls") {
  TEST_CASE("symbols are bound by the inputs") {
    const Recipe recipe = recipeOf(Opcode::RMSNORM, {rows, gain});
    const Result<DimBindings> bindings = bindDims(
        recipe, {contiguous(DType::BF16, {3, 8}), contiguous(DType::F32, {8})});
    REQUIRE_MESSAGE(bool(bindings), bindings.error().text());
    CHECK(*bindings == DimBindings{{"K", 8}, {"M", 3}});
    CHECK(bindShape({Dim("M"), Dim(7), Dim("K")}, *bindings) == Dims{3, 7, 8});
  }

  TEST_CASE("inputs that do not fit are all listed") {
    const Recipe recipe = recipeOf(Opcode::RMSNORM, {rows, gain});
    CHECK(bindError(recipe, {}) == "rmsnorm: takes 2 inputs, got 0");
    CHECK(bindError(recipe, {contiguous(DType::F16, {3, 8}),
                             contiguous(DType::F32, {8, 1})}) ==
          "rmsnorm: input 'x': expected bfloat16[M, K], got float16[3, 8] "
          "strides [8, 1]\n"
          "rmsnorm: input 'w': expected float32[K], got float32[8, 1] strides "
          "[1, 1]");
    CHECK(bindError(recipe, {contiguous(DType::BF16, {3, 8}),
                             contiguous(DType::F32, {9})}) ==
          "rmsnorm: input 'w': dim 0: expected K = 8 as in an earlier dim, got "
          "9");
    const Recipe fixed =
        recipeOf(Opcode::GELU, {{DType::F32, {Dim("M"), Dim(64)}}});
    CHECK(bindError(fixed, {contiguous(DType::F32, {2, 65})}) ==
          "gelu: input 'x': dim 1: expected 64, got 65");
    CHECK(bindError(fixed, {{DType::F32, {2, 64}, {64}}}) ==
          "gelu: input 'x': expected one stride a dim, got float32[2, 64] "
          "strides [64]");
    CHECK(bindError(fixed, {{DType::F32, {2, 64}, {-64, 1}}}) ==
          "gelu: input 'x': stride -64 is negative");
    CHECK(bindError(fixed, {{DType::F32, {-2, 64}, {64, 1}}}) ==
          "gelu: input 'x': dim -2 is negative");
    CHECK(bindError(fixed, {{DType::I4, {2, 64}, {64, 1}}}) ==
          "gelu: input 'x': int4 is not a tensor's dtype");
    CHECK(bindError(fixed, {{DType::F32, {3, 64}, {int64_t(1) << 60, 1}}}) ==
          "gelu: input 'x': it spans more than 2^59 elements: float32[3, 64] "
          "strides [1152921504606846976, 1]");
    CHECK(bindError(fixed, {{DType::F32, {3, 64}, {int64_t(1) << 33, 1}}}) ==
          "ok");
  }

  TEST_CASE("rules on sizes are checked again once the sizes are known") {
    const TensorType weight = {DType::BF16, {Dim("N"), Dim("K")}};
    const TensorDesc x = contiguous(DType::BF16, {2, 8});
    const Recipe gemv = recipeOf(Opcode::GEMV_TILE, {rows, weight});
    CHECK(bindError(gemv, {x, contiguous(DType::BF16, {4, 8})}) == "ok");
    CHECK(bindError(gemv, {x, contiguous(DType::BF16, {0, 8})}) ==
          "gemv_tile: steps[0]: gemv_tile: N = 0 is refused");
    CHECK(bindError(gemv, {contiguous(DType::BF16, {0, 8}),
                           contiguous(DType::BF16, {4, 8})}) ==
          "gemv_tile: steps[0]: gemv_tile: M = 0 is refused");
    Params window;
    window.values.emplace("n_off", int64_t(5));
    window.values.emplace("K", int64_t(8));
    const Recipe gemm = recipeOf(Opcode::GEMM_TILE, {rows, weight}, window);
    CHECK(bindError(gemm, {x, contiguous(DType::BF16, {5, 8})}) == "ok");
    CHECK(bindError(gemm, {x, contiguous(DType::BF16, {4, 8})}) ==
          "gemm_tile: steps[0]: gemm_tile: param 'n_off': expected at most N = "
          "4, got 5");
    CHECK(bindError(gemm, {contiguous(DType::BF16, {2, 9}),
                           contiguous(DType::BF16, {5, 9})}) ==
          "gemm_tile: steps[0]: gemm_tile: param 'K': expected 9, the size of "
          "the axis, got 8");
    CHECK(bindError(recipeOf(Opcode::SAMPLE_ARGMAX, {rows}),
                    {contiguous(DType::BF16, {2, 0})}) ==
          "sample_argmax: steps[0]: sample_argmax: V = 0 is refused");
  }

  TEST_CASE("outputs have the step's shape, dtype and a place an element") {
    const Recipe gelu = recipeOf(Opcode::GELU, {rows});
    const Operand x = at(0x1000, DType::BF16, {4, 8});
    CHECK(callError(gelu, {x}, {at(0x2000, DType::BF16, {4, 8})}) == "ok");
    CHECK(callError(gelu, {x}, {}) == "gelu: gives 1 outputs, got 0");
    CHECK(callError(gelu, {x}, {at(0x2000, DType::F32, {4, 8})}) ==
          "gelu: output 'y': expected bfloat16[4, 8], got float32[4, 8] "
          "strides [8, 1]");
    CHECK(callError(gelu, {x}, {at(0x2000, DType::BF16, {4, 9})}) ==
          "gelu: output 'y': dim 1: expected 8, got 9");
    CHECK(callError(gelu, {x}, {at(0x2001, DType::BF16, {4, 8})}) ==
          "gelu: output 'y': address 8193 is not a multiple of the element "
          "size 2");
    CHECK(callError(gelu, {x}, {at(~uint64_t(0) - 15, DType::BF16, {4, 8})}) ==
          "gelu: output 'y': it runs past the end of the address space");
    const Operand repeated = {{DType::BF16, {4, 8}, {0, 1}}, 0x2000};
    CHECK(callError(gelu, {x}, {repeated}) ==
          "gelu: output 'y': two elements share an address: bfloat16[4, 8] "
          "strides [0, 1]");
    CHECK(callError(gelu, {repeated}, {x}) == "ok");
    CHECK(callError(gelu, {at(0x1001, DType::BF16, {4, 8})},
                    {at(0x2000, DType::BF16, {4, 8})}) ==
          "gelu: input 'x': address 4097 is not a multiple of the element size "
          "2");
  }

  TEST_CASE("an output partly over an input is refused, interleaved is not") {
    const Recipe gelu = recipeOf(Opcode::GELU, {rows});
    const Operand x = {{DType::BF16, {4, 8}, {16, 1}}, 0x1000};
    Operand y = x;
    y.address = 0x1000 + 16;
    CHECK(callError(gelu, {x}, {y}) == "ok");
    y.address = 0x1000 + 14;
    CHECK(callError(gelu, {x}, {y}) ==
          "gelu: output 'y': it overlaps input 'x'");
    y.address = x.address;
    CHECK(callError(gelu, {x}, {y}) == "ok");
    // The same bytes in another order are not the same elements.
    const Operand square = at(0x1000, DType::BF16, {8, 8});
    Operand transposed = square;
    transposed.desc.strides = {1, 8};
    CHECK(callError(gelu, {square}, {transposed}) ==
          "gelu: output 'y': it overlaps input 'x'");
  }

  TEST_CASE("an input that others still read is not written in place") {
    const TensorType square = {DType::BF16, {Dim("K"), Dim("K")}};
    const Operand x = at(0x1000, DType::BF16, {8, 8});
    const Operand w = at(0x2000, DType::BF16, {8, 8});
    CHECK(callError(recipeOf(Opcode::GEMM_TILE, {square, square}), {x, w},
                    {x}) == "gemm_tile: output 'y': it is written over input "
                            "'x', which is still read elsewhere");
    CHECK(callError(recipeOf(Opcode::ADD, {square, square}), {x, w}, {w}) ==
          "ok");
    CHECK(callError(recipeOf(Opcode::ADD, {square, square}), {x, x}, {x}) ==
          "ok");
  }

  TEST_CASE("two outputs do not overlap, nor does a state with anything") {
    const Result<Recipe> recipe = readRecipe(R"({"name": "two", "inputs": [
        {"name": "x", "dtype": "float32", "shape": [4]},
        {"name": "s", "dtype": "float32", "shape": [4], "role": "state"}],
      "outputs": [{"name": "a", "dtype": "float32", "shape": [4]},
                  {"name": "b", "dtype": "float32", "shape": [4]}],
      "recipe": {"steps": [
        {"op": "COPY", "args": [{"in": 0}], "out": "final"},
        {"op": "ADD", "args": [{"in": 0}, {"in": 1}], "out": {"out": 1}}]}})",
                                             "r");
    REQUIRE_MESSAGE(bool(recipe), recipe.error().text());
    const Operand x = at(0x100, DType::F32, {4}),
                  s = at(0x200, DType::F32, {4}),
                  a = at(0x300, DType::F32, {4}),
                  b = at(0x400, DType::F32, {4});
    CHECK(callError(*recipe, {x, s}, {a, b}) == "ok");
    CHECK(callError(*recipe, {x, s}, {a, a}) ==
          "two: output 'b': it overlaps output 'a'");
    CHECK(callError(*recipe, {x, s}, {a, s}) ==
          "two: output 'b': it overlaps input 's'");
    CHECK(callError(*recipe, {x, x}, {a, b}) ==
          "two: input 's': it overlaps input 'x'");
    // x is read again by the step after the one that writes a.
    CHECK(callError(*recipe, {x, s}, {x, b}) ==
          "two: output 'a': it is written over input 'x', which is still read "
          "elsewhere");
    CHECK(callError(*recipe, {x, s}, {a, x}) == "ok");
    const Operand repeated = {{DType::F32, {4}, {0}}, 0x200};
    CHECK(callError(*recipe, {x, repeated}, {a, b}) ==
          "two: input 's': two elements share an address: float32[4] strides "
          "[0]");
  }

  TEST_CASE("empty operands overlap nothing") {
    const Recipe gelu = recipeOf(Opcode::GELU, {rows});
    const Operand empty = at(0x1000, DType::BF16, {0, 8});
    CHECK(callError(gelu, {empty}, {empty}) == "ok");
  }
}
