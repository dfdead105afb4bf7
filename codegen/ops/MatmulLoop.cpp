//===- MatmulLoop.cpp - The sums of gemm_tile and gemv_tile ---------------===//
#include "codegen/ops/MatmulLoop.h"

#include "codegen/ops/MatmulSum.h"
#include "codegen/schedule/ReductionOrder.h"

using namespace mlir;
using namespace tandem;
using namespace tandem::codegen;

/// Sums by fma: weights (q - zero) * scale are rounded to f32 on the way, or
/// sums are scaled, for which references count one more rounding.
static void noteFma(RowBuilder &k) {
  ReductionOrder order = reductionOrder(k.plan());
  StepContract &contract = k.contract();
  contract.dot = "fma";
  contract.depth = order.depth;
  contract.order = order.text;
  if (isFloat(k.inputType(1)))
    return;
  if (k.plan().plan.family != Family::Gemv || !scalesSumsOfGemv(k))
    contract.order = "W scaled in f32; " + order.text;
  else if (k.params().getInt("group", 0))
    contract.order += ", each sum of neighbours scaled by one fma";
  else
    contract.order += ", then one scale";
}

/// The sum of squares of a prologue, which the kernel's first product computes
/// again for each of its like.
static void notePrologue(RowBuilder &k) {
  const KernelPlan &plan = k.plan().plan;
  if (plan.prologue < 0)
    return;
  ReductionOrder order = normOrder(
      k.plan(), plan.family == Family::Gemv ? k.plan().tileDepth : normDepth);
  StepContract &contract = k.contractAt(0);
  contract.depth = order.depth;
  contract.order = order.text;
  contract.approx = {"rsqrt.approx"};
}

Tile codegen::matmulSum(RowBuilder &k) {
  if (k.plan().plan.family == Family::Gemv)
    return gemvSum(k);
  if (k.plan().pipeline.isUsed()) {
    StepContract &contract = k.contract();
    contract.dot = std::string("wgmma.k16.") +
                   (k.plan().dotType == DType::F16 ? "f16" : "bf16");
    contract.dotChunk = 16;
    contract.order = "k ascending";
    return {k.product(), &k};
  }
  notePrologue(k);
  if (!k.plan().usesTensorCore) {
    noteFma(k);
    return {sumByFma(k), &k};
  }
  StepContract &contract = k.contract();
  contract.dot = std::string("mma.m16n8k16.") +
                 (k.plan().dotType == DType::F16 ? "f16" : "bf16");
  contract.dotChunk = 16;
  contract.order = "k ascending";
  if (!isFloat(k.inputType(1)) && !k.params().has("weight_dtype")) {
    const int64_t group = k.params().getInt("group", 0);
    contract.depth = group ? "ceildiv(n, " + std::to_string(group) + ")" : "1";
    contract.order += group ? " in groups of " + std::to_string(group) +
                                  ", each scaled by one fma"
                            : ", then one scale";
  }
  return {sumOnTensorCores(k), &k};
}

Tile codegen::gemvSum(RowBuilder &k) {
  notePrologue(k);
  noteFma(k);
  return {sumOfGemv(k), &k};
}

void codegen::finishMatmul(RowBuilder &k, Tile sum) {
  if (k.numInputs() == 3 && isFloat(k.inputType(1)))
    sum = sum + k.input32(2);
  bool computesAll =
      k.plan().colEnd == k.plan().cols && k.plan().colBegin == "0";
  if (!writesAllColumns(k.step()) && computesAll) {
    ImplicitLocOpBuilder &b = k.ops();
    int64_t begin = k.params().getInt("n_off", 0);
    Tile columns = k.spaceColumns();
    auto isInside = [&](arith::CmpIPredicate predicate, int64_t bound) {
      Tile limit =
          k.likeInt(columns, b.getI64Type(), static_cast<uint64_t>(bound));
      return arith::CmpIOp::create(b, predicate, columns.value, limit.value);
    };
    Value inside = isInside(arith::CmpIPredicate::sge, begin);
    if (k.params().has("N_tile"))
      inside = arith::AndIOp::create(
          b, inside,
          isInside(arith::CmpIPredicate::slt,
                   begin + k.params().getInt("N_tile", 0)));
    sum = k.select({inside, &k}, sum, k.like(sum, 0));
  }
  k.result(sum);
}
