//===- KnownAnswerTest.cpp - Is each reference right? ---------------------===//
#include "refops/KnownAnswers.h"
#include "refops/Registry.h"
#include "refops/core/OpInfo.h"

#include <doctest/doctest.h>

using namespace tandem;
using namespace tandem::refops;

TEST_SUITE("refops") {
  TEST_CASE("every op reproduces its known answers") {
    for (const OpInfo &info : opTable()) {
      const RefOp *op = find_op(info.code);
      if (!op)
        continue;
      CAPTURE(info.mnemonic);
      CHECK(op->code == info.code);
      CHECK(op->name == info.mnemonic);
      const bool isExempt =
          op->code == Opcode::NOP || op->code == Opcode::FUSED;
      CHECK(op->knownAnswers.size() >= (isExempt ? 0 : 3));
      const Result<void> checked = checkKnownAnswers(*op);
      CHECK_MESSAGE(checked, (checked ? "" : checked.error().text()));
      for (const KnownAnswer &answer : op->knownAnswers) {
        CAPTURE(answer.name);
        CHECK(!answer.from.how.empty());
        CHECK((answer.from.kind == Provenance::Kind::ByHand) ==
              answer.from.command.empty());
        CHECK(answer.maxUlp <= 1);
      }
    }
  }

  TEST_CASE("the error-carrying run gives the same values") {
    StepNumerics numerics = licensedNumerics();
    numerics.tanh = nullptr; // tanh.approx cancels in the tail of gelu
    for (const OpInfo &info : opTable()) {
      const RefOp *op = find_op(info.code);
      if (!op)
        continue;
      for (const KnownAnswer &answer : op->knownAnswers) {
        CAPTURE(info.mnemonic);
        CAPTURE(answer.name);
        FaultLog log;
        OpCall<Bounded> call;
        std::vector<HostTensor> inputs;
        for (const KnownTensor &input : answer.inputs)
          inputs.emplace_back(input);
        for (HostTensor &input : inputs)
          call.in.emplace_back(input.view());
        Buffer y(answer.expected[0].dtype, answer.expected[0].shape, false,
                 true);
        call.out.emplace_back(y);
        call.params = &answer.params;
        call.numerics = &numerics;
        call.log = &log;
        REQUIRE(op->evaluateBounded(call));
        for (size_t i = 0; i < y.value.size(); ++i) {
          CAPTURE(i);
          const DType type = y.desc.dtype;
          const double expected = answer.expected[0].values[i];
          if (expected == untouched) {
            REQUIRE(!y.unwritten.empty());
            CHECK(y.unwritten[i] == 2);
            continue;
          }
          CHECK(ulpDistance(type, roundTo(type, y.value[i]),
                            roundTo(type, expected)) <= answer.maxUlp);
          CHECK(y.error[i] >= 0);
          // The widest: a subnormal exp(-100) times 2^100 in silu_mul.
          CHECK(y.error[i] <= std::max(0x1p-126, 0.05 * std::fabs(expected)));
        }
      }
    }
  }

  TEST_CASE("a wrong known answer is named with got and expected") {
    RefOp op = *find_op("ADD");
    op.knownAnswers.resize(2);
    op.knownAnswers[1].expected[0].values[4] = 6.5;
    const Result<void> checked = checkKnownAnswers(op);
    REQUIRE(!checked);
    CHECK(checked.error().text() ==
          "add: known answer 'row_and_column_broadcast': output 0 element 4 is "
          "22, expected 6.5 (a[i, 0] + b[j])");
  }

  TEST_CASE("the ops without a reference are a decision") {
    CHECK(op_coverage() == "attention_tile,attention_combine,rope,dequant,"
                           "kv_append,gdn_step,attn_step,lm_head");
    CHECK(find_op(Opcode::ROPE) == nullptr);
    CHECK(find_op("rope") == nullptr);
    CHECK(find_op("no_such_op") == nullptr);
    CHECK(find_op(Opcode::count) == nullptr);
    CHECK(find_op("RMSNORM") == find_op(Opcode::RMSNORM));
    CHECK(find_op("3") == find_op("rmsnorm"));
  }

  TEST_CASE("distance in units in the last place") {
    CHECK(ulpDistance(DType::F32, 1, 1 + 0x1p-23) == 1);
    CHECK(ulpDistance(DType::BF16, 1, 1 + 0x1p-6) == 2);
    CHECK(ulpDistance(DType::F16, -0.0, 0.0) == 0.5);
    CHECK(ulpDistance(DType::F32, NAN, NAN) == 0);
    CHECK(ulpDistance(DType::F32, NAN, 1) == infinity);
    CHECK(ulpDistance(DType::F32, INFINITY, 3e38) == infinity);
    CHECK(ulpDistance(DType::I8, 3, 5) == 2);
  }
}
