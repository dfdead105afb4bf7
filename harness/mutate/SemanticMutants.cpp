//===- SemanticMutants.cpp - The mistake that an op invites ---------------===//
//
// Planted in the tile stage, whose lines are values with names, or in the
// recipe that is compiled. Patterns go by operation and constant, so that they
// hold for every shape and schedule.
//
//===----------------------------------------------------------------------===//
#include "harness/mutate/Tables.h"
#include "harness/mutate/TextEdits.h"

using namespace tandem;
using namespace tandem::harness;

namespace {
struct TileRow {
  std::string_view op;
  const char *name;
  const char *pattern, *replacement;
  Where where = Where::All;
};
struct ParamRow {
  std::string_view op;
  const char *name;
  void (*edit)(Params &params);
};
} // namespace

/// `a = x` of the same type, spelt as two negations.
#define TANDEM_SAME_AS(x)                                                      \
  "%m$1 = arith.negf " x " : $4\n    %$1 = arith.negf %m$1 : $4"

static const std::vector<TileRow> &tileRows() {
  static const std::vector<TileRow> rows = {
      // softmax
      {"softmax", "the maximum is not subtracted",
       R"(%(\w+) = arith\.subf (%\w+), (%\w+) : (.*)$)", TANDEM_SAME_AS("$2")},
      {"softmax", "the running maximum starts from 0", R"(fill\(0xFF800000)",
       "fill(0.000000e+00"},
      {"softmax", "the running maximum starts from a finite sentinel",
       R"((tile\.mask .*)fill\(0xFF800000)", "$1fill(-5.000000e+04"},
      {"softmax", "exp becomes exp2", R"(dense<1\.44269502>)",
       "dense<1.000000e+00>"},
      {"softmax", "the sum is a maximum", R"(tile\.reduce sum)",
       "tile.reduce max"},
      // rmsnorm
      {"rmsnorm", "the squares are not masked",
       R"(%(\w+) = tile\.mask (%\w+) (cols.*fill.*) : (.*)$)",
       TANDEM_SAME_AS("$2")},
      {"rmsnorm", "the maximum of the squares", R"(tile\.reduce sum)",
       "tile.reduce max"},
      // layernorm
      {"layernorm", "the mean is not subtracted",
       R"(%(\w+) = arith\.subf (%\w+), (%\w+) : (.*)$)", TANDEM_SAME_AS("$2")},
      {"layernorm", "the variance is a maximum", R"(tile\.reduce sum)",
       "tile.reduce max", Where::Last},
      // sample_argmax
      {"sample_argmax", "the last index among equal maxima",
       R"(dense<4294967295>)", "dense<0>"},
      {"sample_argmax", "NaN counts as the minimum", R"(dense<-1>)",
       "dense<0>"},
      {"sample_argmax", "-0 is less than +0",
       R"(%(\w+) = arith\.addf (%\w+), (%cst\w*) : (.*)$)",
       TANDEM_SAME_AS("$2"), Where::First},
      // gather and elementwise
      {"embed", "a bad index is not reported", R"(^\s*tile\.report_error.*$)",
       ""},
      {"embed", "a negative index passes", R"(arith\.cmpi ult)",
       "arith.cmpi slt"},
      {"gelu", "a coefficient in its sixth digit", R"(0\.711735606)",
       "0.711734"},
      {"gelu", "the sign of x decides the other way", R"(arith\.cmpf olt)",
       "arith.cmpf ogt", Where::Last},
      {"silu_mul", "sigmoid of -g", R"(arith\.cmpf olt)", "arith.cmpf ogt"},
      {"silu_mul", "up is ignored",
       R"(%(\w+) = arith\.mulf (%\w+), (%\w+) : (.*)$)", TANDEM_SAME_AS("$2"),
       Where::Last},
      {"add", "subtracts", R"(arith\.addf)", "arith.subf"},
      {"mul", "adds", R"(arith\.mulf)", "arith.addf"},
      {"allreduce_shard", "the last shard is subtracted", R"(arith\.addf)",
       "arith.subf", Where::Last},
      // products
      {"gemm_tile", "each step starts from zero",
       R"((tile\.dot %\w+, %\w+), %arg\w+ )", "$1, %cst "},
      {"gemm_tile", "the bias is dropped",
       R"(%(\w+) = arith\.addf (%\w+), (%\w+) : (.*)$)", TANDEM_SAME_AS("$2"),
       Where::Last},
      {"gemv_tile", "each step starts from zero",
       R"((math\.fma %\w+, %\w+), %arg\w+ )", "$1, %cst "},
      {"gemv_tile", "the bias is dropped",
       R"(%(\w+) = arith\.addf (%\w+), (%\w+) : (.*)$)", TANDEM_SAME_AS("$2"),
       Where::Last},
      {"gemv_tile", "the sum is a maximum", R"(tile\.reduce sum)",
       "tile.reduce max"},
  };
  return rows;
}

static const std::vector<ParamRow> &paramRows() {
  static const std::vector<ParamRow> rows = {
      {"gelu", "tanh for erf and erf for tanh",
       [](Params &p) {
         const bool isTanh = p.getString("approximate", "none") == "tanh";
         p.values["approximate"] = std::string(isTanh ? "none" : "tanh");
       }},
      {"softmax", "along the last axis whatever `dim` says",
       [](Params &p) { p.values.erase("dim"); }},
      {"rmsnorm", "layernorm's eps",
       [](Params &p) { p.values.try_emplace("eps", 1e-5); }},
      {"layernorm", "rmsnorm's eps",
       [](Params &p) { p.values.try_emplace("eps", 1e-6); }},
      {"rmsnorm", "eps is dropped", [](Params &p) { p.values["eps"] = 0.0; }},
      {"layernorm", "eps is dropped", [](Params &p) { p.values["eps"] = 0.0; }},
      {"mul", "the scale in 16 bits",
       [](Params &p) {
         std::byte bytes[2];
         storeDouble(DType::BF16, p.getFloat("scale", 1), bytes);
         if (p.has("scale"))
           p.values["scale"] = loadDouble(DType::BF16, bytes);
       }},
      {"mul", "the scale is ignored",
       [](Params &p) { p.values.erase("scale"); }},
      {"gemm_tile", "the tile starts one column late",
       [](Params &p) { p.values["n_off"] = p.getInt("n_off", 0) + 1; }},
      {"gemv_tile", "the tile starts one column late",
       [](Params &p) { p.values["n_off"] = p.getInt("n_off", 0) + 1; }},
      {"gemm_tile", "N_tile is ignored",
       [](Params &p) { p.values.erase("N_tile"); }},
      {"gemv_tile", "N_tile is ignored",
       [](Params &p) { p.values.erase("N_tile"); }},
  };
  return rows;
}

/// eps / (1) outside of the root: rsqrt(mean) + eps.
static std::string epsOutside(const std::string &tile) {
  const std::string root = nameOn(tile, R"((%\w+) = tile\.approx rsqrt)");
  const std::string inside = nameOn(tile, R"(= tile\.approx rsqrt (%\w+))");
  if (root.empty())
    return tile;
  const std::string sum = nameOn(tile, inside + R"( = arith\.addf (%\w+), %)");
  const std::string eps =
      nameOn(tile, inside + R"( = arith\.addf %\w+, (%\w+))");
  const TextEdit edit = inSequence({replaceLines(
      "%" + root.substr(1) + R"( = tile\.approx rsqrt %\w+ : (.*)$)",
      "%mroot = tile.approx rsqrt " + sum + " : $1\n    " + root +
          " = arith.addf %mroot, " + eps + " : $1")});
  return sum.empty() || eps.empty() ? tile : edit(tile);
}

/// mean(x^2) - mean(x)^2, which cancels where the mean is large.
static std::string onePassVariance(const std::string &tile) {
  const std::string centred = nameOn(tile, R"((%\w+) = arith\.subf %)");
  const std::string x = nameOn(tile, R"(= arith\.subf (%\w+), %)");
  const std::string root = nameOn(tile, R"(= tile\.approx rsqrt (%\w+))");
  const std::string spread = nameOn(tile, root + R"( = arith\.addf (%\w+), %)");
  const std::string wideMean =
      nameOn(tile, centred + R"( = arith\.subf %\w+, (%\w+))");
  const std::string narrowMean =
      nameOn(tile, wideMean + R"( = tile\.broadcast (%\w+))");
  if (spread.empty() || narrowMean.empty())
    return tile;
  return inSequence(
      {replaceLines("= arith\\.mulf " + centred + ", " + centred + " :",
                    "= arith.mulf " + x + ", " + x + " :"),
       replaceLines(
           "(" + root + R"() = arith\.addf )" + spread + R"(, (%\w+) : (.*)$)",
           "%msq = arith.mulf " + narrowMean + ", " + narrowMean +
               " : $3\n    %mvar = arith.subf " + spread +
               ", %msq : $3\n    $1 = arith.addf %mvar, $2 : $3")})(tile);
}

/// The divisor of the last mean is n - 1.
static std::string unbiased(const std::string &tile) {
  return replaceLines(R"((%\w+) = arith\.uitofp (%\w+) : i64 to f32)",
                      "%mone = arith.constant 1 : i64\n    %mless = "
                      "arith.subi $2, %mone : i64\n    $1 = arith.uitofp "
                      "%mless : i64 to f32",
                      Where::Last)(tile);
}

/// K that is no multiple of the step loses its tail.
static std::string tailDropped(const std::string &tile) {
  return replaceLines(
      R"((%\w+ = scf\.for %\w+ = (%\w+) to )(%\w+)( step )(%\w+)( .*)$)",
      "%mrest = arith.remui $3, $5 : i64\n    %mwhole = arith.subi $3, "
      "%mrest : i64\n    $1%mwhole$4$5$6",
      Where::First)(tile);
}

void tandem::harness::addSemanticMutants(const OpInfo &op,
                                         std::vector<Mutant> &mutants) {
  auto add = [&](MutantStage stage, const char *name) -> Mutant & {
    Mutant mutant;
    mutant.op = op.mnemonic;
    mutant.stage = stage;
    mutant.name = name;
    mutants.push_back(std::move(mutant));
    return mutants.back();
  };
  for (const TileRow &row : tileRows())
    if (row.op == op.mnemonic)
      add(MutantStage::Tile, row.name).editText =
          replaceLines(row.pattern, row.replacement, row.where);
  struct Special {
    Opcode op;
    const char *name;
    std::string (*edit)(const std::string &);
  };
  for (const Special &special : {
           Special{Opcode::RMSNORM, "eps outside the root", epsOutside},
           Special{Opcode::LAYERNORM, "eps outside the root", epsOutside},
           Special{Opcode::LAYERNORM, "one-pass variance", onePassVariance},
           Special{Opcode::LAYERNORM, "unbiased variance", unbiased},
           Special{Opcode::GEMM_TILE, "the tail of K dropped", tailDropped},
           Special{Opcode::GEMV_TILE, "the tail of K dropped", tailDropped},
       })
    if (special.op == op.code)
      add(MutantStage::Tile, special.name).editText = special.edit;
  for (const ParamRow &row : paramRows())
    if (row.op == op.mnemonic)
      add(MutantStage::Recipe, row.name).editRecipe =
          [edit = row.edit](Recipe &recipe) {
            for (Step &step : recipe.steps)
              edit(step.params);
          };
}
