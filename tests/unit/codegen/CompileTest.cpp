//===- CompileTest.cpp - Recipes compile, and say how ---------------------===//
#include "Recipes.h"

#include "refops/Numerics.h"

using namespace tandem;
using namespace tandem::tests;

TEST_SUITE("codegen") {
  TEST_CASE("every op compiles for both targets and all float dtypes") {
    for (const char *target : {"sm_80", "sm_90a"})
      for (DType dtype : {DType::F32, DType::F16, DType::BF16, DType::F8E4M3,
                          DType::F8E5M2}) {
        bool isFp8 = dtype == DType::F8E4M3 || dtype == DType::F8E5M2;
        if (isFp8 && std::string(target) == "sm_80")
          continue;
        for (const Recipe &recipe : oneOfEach(dtype)) {
          CAPTURE(target);
          CAPTURE(recipe.name);
          CAPTURE(dtypeName(dtype));
          CompileOptions options;
          options.target = target;
          options.useCache = false;
          auto program = compileTypical(recipe, options);
          REQUIRE(program->launches.size() == 1);
          CHECK(program->launches[0].kernel->ptx.find(target) !=
                std::string::npos);
        }
      }
  }

  TEST_CASE("float8 is refused below sm_89 with a sentence") {
    Recipe recipe = oneOfEach(DType::F8E4M3)[0];
    auto operands = typicalOperands(recipe, {{"M", 4}});
    REQUIRE(bool(operands));
    CompileOptions options;
    options.target = "sm_80";
    auto program = compile(recipe, operands->first, operands->second, options);
    REQUIRE(!program);
    CHECK(program.error().text() ==
          "steps[0]: float8 needs sm_89 or newer, the target is sm_80");
  }

  TEST_CASE("contracts stay within the licence for every length") {
    for (int64_t cols : {1, 5, 32, 63, 64, 1000, 4096, 4097, 200000})
      for (Opcode op :
           {Opcode::SOFTMAX, Opcode::GEMV_TILE, Opcode::GEMM_TILE}) {
        TensorType x{DType::F32, {2, cols}}, w{DType::F32, {3, cols}};
        std::vector<TensorType> inputs = {x};
        if (op != Opcode::SOFTMAX)
          inputs.push_back(w);
        Result<Recipe> recipe = singleOpRecipe(op, inputs);
        REQUIRE(bool(recipe));
        auto program = compileTypical(*recipe);
        Contract contract = program->contract();
        REQUIRE(contract.steps.size() == 1);
        auto at = [&](const std::string &text) {
          Result<IntExpr> expr = IntExpr::parse(text);
          REQUIRE(bool(expr));
          Result<int64_t> value = expr->evaluate(
              [&](const std::string &) -> Result<int64_t> { return cols; });
          REQUIRE(bool(value));
          return *value;
        };
        CAPTURE(cols);
        CAPTURE(contract.steps[0].depth);
        CHECK(at(contract.steps[0].depth) <= at(refops::licensedDepth));
        for (const std::string &name : contract.steps[0].approx)
          CHECK(refops::findApproxError(name));
      }
  }

  TEST_CASE("fused and separate steps have equal contracts") {
    Recipe recipe =
        chain(tensor("x", "bfloat16", "\"M\", 384") + "," +
                  tensor("w", "bfloat16", "384"),
              tensor("y", "float16", "\"M\", 384"),
              R"({"op": "rmsnorm", "args": [{"in": 0}, {"in": 1}], "out": 0,
            "out_dtype": "float32"},
           {"op": "softmax", "args": [{"s": 0}], "out": 1},
           {"op": "gelu", "args": [{"s": 1}], "out": "final",
            "out_dtype": "float16"})");
    auto fused = compileTypical(recipe);
    CompileOptions options;
    options.fuse = false;
    auto separate = compileTypical(recipe, options);
    CHECK(fused->launches.size() == 1);
    CHECK(separate->launches.size() == 3);
    CHECK(separate->temporaries.size() == 2);
    CHECK(fused->contract() == separate->contract());
  }

  TEST_CASE("schedule parameters are checked by name and value") {
    Recipe recipe = oneOfEach(DType::F32)[5];
    auto operands = typicalOperands(recipe, {{"M", 4}});
    REQUIRE(bool(operands));
    auto errorOf = [&](const char *name, const char *value) {
      CompileOptions options;
      options.set = {{name, value}};
      auto program =
          compile(recipe, operands->first, operands->second, options);
      REQUIRE(!program);
      return program.error().text();
    };
    CHECK(errorOf("blok", "64") ==
          "set: no schedule parameter is named 'blok', expected one of block, "
          "chunk, rows, warps, tile_m, tile_n, tile_k, stages, cluster_m, "
          "cluster_n, group, registers, splits, columns, tiles, heads, "
          "early");
    CHECK(errorOf("tile_n", "64") ==
          "set: tile_n: only matmul and gemv kernels read it, this recipe has "
          "row-wise");
    CHECK(errorOf("block", "100") ==
          "set: block: expected a power of two from 8 to 8192, got '100'");
    CHECK(errorOf("block", "many") ==
          "set: block: expected a power of two from 8 to 8192, got 'many'");
  }

  TEST_CASE("a smaller block makes a loop and another contract") {
    Recipe recipe = oneOfEach(DType::F32)[5];
    CompileOptions options;
    options.set = {{"block", "32"}};
    auto looped = compileTypical(recipe, options);
    auto whole = compileTypical(recipe);
    CHECK(looped->launches[0].kernel->stages.at("tile").find("scf.for") !=
          std::string::npos);
    CHECK(looped->contract() != whole->contract());
    CHECK(looped->contract().steps[0].depth == "ceildiv(n, 32) + 5");
  }
}
