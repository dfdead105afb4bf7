//===- RowsTest.cpp - The shortest and the longest rows -------------------===//
//
// Rows of 0 and 1 elements, and of 200000 (beyond every vocabulary in use, and
// beyond what one CTA holds), for every op that works along rows: compiled, run
// on the emulator and compared as every case of a search is.
//
//===----------------------------------------------------------------------===//
#include "harness/run/RealEngine.h"
#include "harness/run/Runner.h"

#include <doctest/doctest.h>

using namespace tandem;
using namespace tandem::harness;

static constexpr int64_t numRows = 3;

/// \p op on `numRows` rows of \p cols elements; operands that hold one number a
/// column (weight, bias) come after \p numRowOperands operands with rows.
static CaseSpec rowsOf(Opcode op, DType dtype, int64_t cols, int numRowOperands,
                       int numColumnOperands) {
  std::vector<TensorType> types(static_cast<size_t>(numRowOperands),
                                TensorType{dtype, {Dim(numRows), Dim(cols)}});
  types.resize(types.size() + static_cast<size_t>(numColumnOperands),
               TensorType{dtype, {Dim(cols)}});
  Result<Recipe> recipe = singleOpRecipe(op, types);
  REQUIRE_MESSAGE(bool(recipe), recipe.error().text());
  CaseSpec spec;
  spec.recipe = recipe.take();
  spec.inputs.resize(types.size());
  for (size_t i = 0; i < types.size(); ++i) {
    spec.inputs[i].values.kind = "normal";
    spec.inputs[i].values.seed = i + 1;
  }
  spec.outputs.resize(1);
  spec.environment.repeat = true;
  return spec;
}

static Outcome run(const CaseSpec &spec) {
  Result<Engine> engine = realEngine("emulator");
  REQUIRE(bool(engine));
  Result<std::unique_ptr<Device>> device = engine->makeDevice();
  REQUIRE(bool(device));
  return runCase(spec, *engine, **device);
}

static void checkRows(Opcode op, int numRowOperands, int numColumnOperands,
                      std::vector<int64_t> lengths = {0, 1, 200000}) {
  for (DType dtype : {DType::F32, DType::BF16})
    for (int64_t cols : lengths) {
      const Outcome outcome =
          run(rowsOf(op, dtype, cols, numRowOperands, numColumnOperands));
      CAPTURE(cols);
      CAPTURE(dtypeName(dtype));
      CAPTURE(outcome.reason);
      CAPTURE(outcome.failure.message);
      CHECK(outcome.verdict == Verdict::Passed);
      REQUIRE(outcome.receipts.size() == 1);
      const int64_t elements =
          op == Opcode::SAMPLE_ARGMAX ? numRows : numRows * cols;
      CHECK(outcome.receipts[0].elements == elements);
      CHECK(outcome.receipts[0].unchecked == 0);
    }
}

TEST_SUITE("rows of 0, 1 and 200000 elements are right") {
  TEST_CASE("softmax") { checkRows(Opcode::SOFTMAX, 1, 0); }
  TEST_CASE("rmsnorm") { checkRows(Opcode::RMSNORM, 1, 1); }
  TEST_CASE("layernorm") { checkRows(Opcode::LAYERNORM, 1, 2); }
  TEST_CASE("gelu") { checkRows(Opcode::GELU, 1, 0); }
  TEST_CASE("silu_mul") { checkRows(Opcode::SILU_MUL, 2, 0); }
  TEST_CASE("sample_argmax, which refuses an empty row") {
    checkRows(Opcode::SAMPLE_ARGMAX, 1, 0, {1, 200000});
    const Result<Recipe> empty = singleOpRecipe(
        Opcode::SAMPLE_ARGMAX, {{DType::F32, {Dim(numRows), Dim(0)}}});
    REQUIRE(!empty);
    CHECK(empty.error().text() == "sample_argmax: V = 0 is refused");
  }
}
