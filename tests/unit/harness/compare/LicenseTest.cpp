//===- LicenseTest.cpp - A contract cannot excuse its kernel --------------===//
#include "harness/compare/License.h"

#include <doctest/doctest.h>

using namespace tandem;
using namespace tandem::harness;

static Recipe recipeOf(Opcode op) {
  Recipe recipe;
  Step step;
  step.op = op;
  recipe.steps = {step};
  return recipe;
}

static std::string complaint(Opcode op, const StepContract &step,
                             std::string accumulator = "float32") {
  Contract contract;
  contract.accumulator = std::move(accumulator);
  contract.steps = {step};
  Result<void> ok = checkLicense(contract, recipeOf(op));
  return ok ? "" : ok.error().text();
}

static StepContract softmax() {
  StepContract step;
  step.op = Opcode::SOFTMAX;
  step.depth = "ceildiv(n, 128) + 12";
  step.order = "chunk 4096, 32 lanes";
  step.approx = {"exp"};
  return step;
}

TEST_SUITE("harness license") {
  TEST_CASE("an honest contract is licensed") {
    CHECK(complaint(Opcode::SOFTMAX, softmax()) == "");
  }

  TEST_CASE("a narrower accumulator is not") {
    CHECK(complaint(Opcode::SOFTMAX, softmax(), "float16") ==
          "contract.accumulator: 'float16', expected float32");
  }

  TEST_CASE("a longer chain of additions is not, at any row length") {
    StepContract step = softmax();
    step.depth = "n";
    CHECK(complaint(Opcode::SOFTMAX, step) ==
          "contract.steps[0].depth: 'n' is 100 at n = 100, licensed are 0 to "
          "36");
    step.depth = "ceildiv(n, 32) + 32";
    CHECK(complaint(Opcode::SOFTMAX, step) == "");
    step.depth = "ceildiv(n, 31) + 32";
    CHECK(complaint(Opcode::SOFTMAX, step) != "");
    step.depth = "m + 1";
    CHECK(complaint(Opcode::SOFTMAX, step) ==
          "contract.steps[0].depth: unknown symbol 'm', expected n");
  }

  TEST_CASE("attention may rescale its sums, tile by tile and no oftener") {
    StepContract step;
    step.op = Opcode::ATTENTION_TILE;
    step.depth = "ceildiv(n, 64) + 32";
    step.dot = "fma";
    step.rescales = "ceildiv(n, 64) + 4";
    step.approx = {"exp", "rcp.approx"};
    CHECK(complaint(Opcode::ATTENTION_TILE, step) == "");
    step.rescales = "n";
    CHECK(complaint(Opcode::ATTENTION_TILE, step) ==
          "contract.steps[0].rescales: 'n' is 100 at n = 100, licensed are 0 "
          "to 39");
    step = softmax();
    step.rescales = "1";
    CHECK(complaint(Opcode::SOFTMAX, step) ==
          "contract.steps[0].rescales: '1', but softmax rescales nothing");
  }

  TEST_CASE("a state in float32 is not multiplied by tensor cores") {
    StepContract step;
    step.op = Opcode::GDN_STEP;
    step.depth = "32";
    step.dot = "mma.m16n8k16.f16";
    step.dotChunk = 16;
    CHECK(complaint(Opcode::GDN_STEP, step) ==
          "contract.steps[0].dot: 'mma.m16n8k16.f16' is not licensed for "
          "gdn_step, expected fma");
    step.dot = "fma";
    step.dotChunk = 0;
    CHECK(complaint(Opcode::GDN_STEP, step) == "");
  }

  TEST_CASE("an approximation is licensed for named ops only") {
    StepContract step = softmax();
    step.approx = {"tanh.approx"};
    CHECK(
        complaint(Opcode::SOFTMAX, step) ==
        "contract.steps[0].approx: 'tanh.approx' is not licensed for softmax");
    StepContract add;
    add.op = Opcode::ADD;
    CHECK(complaint(Opcode::ADD, add) == "");
    add.approx = {"exp"};
    CHECK(complaint(Opcode::ADD, add) != "");
    add.approx = {};
    add.depth = "2";
    CHECK(complaint(Opcode::ADD, add) ==
          "contract.steps[0].depth: '2', but add adds nothing up");
  }

  TEST_CASE("a dot product says how it is computed") {
    StepContract step;
    step.op = Opcode::GEMM_TILE;
    CHECK(complaint(Opcode::GEMM_TILE, step) != "");
    step.dot = "mma.m16n8k16.bf16";
    step.dotChunk = 16;
    CHECK(complaint(Opcode::GEMM_TILE, step) == "");
    step.dot = "mma.m16n8k16.f16.f16";
    CHECK(complaint(Opcode::GEMM_TILE, step) != "");
    step.dot = "fma";
    CHECK(complaint(Opcode::GEMM_TILE, step) ==
          "contract.steps[0].depth: missing, 'fma' adds in some order");
  }

  TEST_CASE("every step is covered once") {
    Contract none;
    CHECK(checkLicense(none, recipeOf(Opcode::SOFTMAX)).error().text() ==
          "contract.steps: step 0 appears 0 times, expected once");
    Contract other;
    other.steps = {softmax()};
    CHECK(checkLicense(other, recipeOf(Opcode::GELU)).error().messages.size() ==
          1);
  }
}
