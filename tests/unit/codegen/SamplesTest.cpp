//===- SamplesTest.cpp - The sample recipes compile, as one kernel each ---===//
#include "Recipes.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

using namespace tandem;
using namespace tandem::tests;

static Recipe sample(const std::string &name) {
  std::ifstream file(std::string(TANDEM_SOURCE_DIR) + "/samples/recipes/" +
                     name + ".json");
  REQUIRE(file);
  std::ostringstream text;
  text << file.rdbuf();
  return recipeOf(text.str());
}

/// Median of cold compilations, in ms.
static double coldCompile(const Recipe &recipe, std::string &where) {
  std::vector<double> totals;
  for (int i = 0; i < 7; ++i) {
    CompileOptions options;
    options.useCache = false;
    auto program = compileTypical(recipe, options, {{"M", 128}});
    double total = 0;
    where.clear();
    for (const StageTiming &timing : program->timings) {
      total += timing.milliseconds;
      where += timing.stage + " " + std::to_string(timing.milliseconds) + "; ";
    }
    totals.push_back(total);
  }
  std::sort(totals.begin(), totals.end());
  return totals[totals.size() / 2];
}

TEST_SUITE("codegen") {
  TEST_CASE(
      "each sample is one kernel, or parts and their merge, quick to compile") {
    for (const char *name :
         {"llama32_1b_rmsnorm", "llama32_1b_residual_rmsnorm", "qwen3_swiglu",
          "minilm_layernorm_gelu", "softmax_vocab_128256",
          "minilm_gemm_bias_gelu", "llama32_1b_decode_attention", "leaky_relu",
          "swiglu_clamped"}) {
      Recipe recipe = sample(name);
      CHECK(recipe.name == name);
      std::string where;
      double milliseconds = coldCompile(recipe, where);
      MESSAGE(std::string(name), ": ", milliseconds, " ms: ", where);
      auto program = compileTypical(recipe);
      // A long window is cut into parts, which a second kernel merges.
      const bool isAttention =
          recipe.name.find("attention") != std::string::npos;
      CHECK(program->launches.size() == (isAttention ? 2 : 1));
      CHECK(program->temporaries.size() == (isAttention ? 1 : 0));
      // Ten times the budget: the time itself is what `--timing` prints, this
      // only fails where something is badly wrong. Attention's loop is unrolled
      // over query heads and tiles.
      auto has = [&](const char *word) {
        return std::string(name).find(word) != std::string::npos;
      };
      CHECK(milliseconds < (has("attention") ? 1000 : has("gemm") ? 600 : 200));
    }
  }
}
