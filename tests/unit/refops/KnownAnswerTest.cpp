//===- KnownAnswerTest.cpp - Is each reference right? ---------------------===//
#include "refops/KnownAnswers.h"
#include "refops/Registry.h"
#include "refops/core/Signature.h"

#include <doctest/doctest.h>

using namespace tandem;
using namespace tandem::refops;

/// The outputs of \p answer's op, then its states, from the error-carrying run.
static std::vector<Buffer> runBounded(const RefOp &op,
                                      const KnownAnswer &answer,
                                      const StepNumerics &numerics) {
  const Signature &signature = signatureOf(opInfo(op.code));
  std::vector<HostTensor> inputs;
  std::vector<Buffer> written;
  FaultLog log;
  OpCall<Bounded> call;
  for (const KnownTensor &input : answer.inputs)
    inputs.emplace_back(input);
  written.reserve(answer.expected.size());
  for (size_t o = 0; o < signature.results.size(); ++o)
    call.out.emplace_back(written.emplace_back(
        answer.expected[o].dtype, answer.expected[o].shape, false, true));
  for (size_t i = 0; i < inputs.size(); ++i) {
    call.in.emplace_back(inputs[i].view());
    if (i >= signature.operands.size() || !signature.operands[i].isState)
      continue;
    Buffer &state = written.emplace_back(inputs[i].desc.dtype,
                                         inputs[i].desc.shape, true, true);
    call.in[i].read(0, state.desc.numElements(), state.value.data());
    call.in[i] = Source(state);
    call.state.emplace_back(state);
  }
  call.params = &answer.params;
  call.numerics = &numerics;
  call.log = &log;
  REQUIRE(op.evaluateBounded(call));
  return written;
}

static void checkAgainst(const KnownTensor &expected, const Buffer &y,
                         double maxUlp) {
  const DType type = y.desc.dtype;
  for (size_t i = 0; i < y.value.size(); ++i) {
    CAPTURE(i);
    const double want = expected.values[i];
    if (want == untouched) {
      REQUIRE(!y.unwritten.empty());
      CHECK(y.unwritten[i] == 2);
      continue;
    }
    CHECK(ulpDistance(type, roundTo(type, y.value[i]), roundTo(type, want)) <=
          maxUlp);
    CHECK(y.error[i] >= 0);
    // The widest: a subnormal exp(-100) times 2^100 in silu_mul.
    CHECK(y.error[i] <= std::max(0x1p-126, 0.05 * std::fabs(want)));
  }
}

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
        for (size_t o = 0; const Buffer &y : runBounded(*op, answer, numerics))
          checkAgainst(answer.expected[o++], y, answer.maxUlp);
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
    CHECK(op_coverage() == "");
    CHECK(find_op("rope") == find_op(Opcode::ROPE));
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
