//===- StepShape.cpp - How one step lies in a row space -------------------===//
#include "codegen/fuse/StepShape.h"

using namespace tandem;
using namespace tandem::codegen;

StepShape codegen::shapeOf(const Step &step, const Graph &graph, int index) {
  StepShape shape;
  // A step without a result moves its first operand into a state.
  shape.space = step.results.empty()
                    ? graph.values[graph.args[index][0]].type.shape
                    : step.results[0].shape;
  int last = static_cast<int>(shape.space.size()) - 1;
  switch (step.op) {
  case Opcode::SOFTMAX: {
    int64_t dim = step.params.getInt("dim", -1);
    shape.axis = static_cast<int>(dim < 0 ? dim + last + 1 : dim);
    break;
  }
  case Opcode::RMSNORM:
  case Opcode::LAYERNORM:
    shape.axis = last;
    break;
  case Opcode::EMBED:
    shape.axis = last;
    shape.beginsKernel = true;
    break;
  case Opcode::SAMPLE_ARGMAX:
    shape.space = graph.values[graph.args[index][0]].type.shape;
    shape.axis = static_cast<int>(shape.space.size()) - 1;
    shape.endsBecause = "it gives one value a row";
    break;
  case Opcode::GEMM_TILE:
    shape.family = Family::Matmul;
    shape.beginsKernel = true;
    break;
  case Opcode::GEMV_TILE:
  case Opcode::LM_HEAD:
    shape.family = Family::Gemv;
    shape.beginsKernel = true;
    break;
  case Opcode::ATTENTION_TILE:
  case Opcode::ATTN_STEP:
    shape.family = Family::Attention;
    shape.beginsKernel = true;
    shape.endsBecause = "its CTAs are heads";
    break;
  case Opcode::GDN_STEP:
    shape.family = Family::Recurrence;
    shape.beginsKernel = true;
    shape.endsBecause = "its CTAs are heads";
    break;
  case Opcode::ATTENTION_COMBINE:
    shape.axis = last;
    break;
  case Opcode::KV_APPEND: {
    // Rows of the cache: [n, kvh, D] also where they are given as [n, kvh * D].
    const std::vector<Dim> &cache =
        graph.values[graph.args[index][1]].type.shape;
    shape.space = {shape.space[0], cache[cache.size() - 2], cache.back()};
    shape.axis = 2;
    shape.isElementwise = true;
    break;
  }
  case Opcode::DEQUANT:
  case Opcode::ROPE:
    shape.axis = last;
    shape.isElementwise = true;
    break;
  default:
    break;
  }
  return shape;
}

bool codegen::reportsIndices(Opcode op) {
  switch (op) {
  case Opcode::EMBED:
  case Opcode::KV_APPEND:
  case Opcode::ATTENTION_TILE:
  case Opcode::ATTN_STEP:
    return true;
  default:
    return false;
  }
}

bool codegen::isMatmul(Opcode op) {
  return op == Opcode::GEMM_TILE || op == Opcode::GEMV_TILE ||
         op == Opcode::LM_HEAD;
}

bool codegen::isKn(const Step &step) {
  const char *otherwise = step.op == Opcode::LM_HEAD ? "kn" : "nk";
  return step.params.getString("weight_layout", otherwise) == "kn";
}

bool codegen::readsInPlace(const Step &step, size_t arg, DType type) {
  switch (step.op) {
  case Opcode::ROPE:
    return false;
  case Opcode::DEQUANT:
    return arg == 0 && type == DType::I8;
  default:
    return true;
  }
}

bool codegen::writesAllColumns(const Step &step) {
  if (!isMatmul(step.op))
    return true;
  if (step.params.getInt("n_off", 0) != 0)
    return false;
  if (!step.params.has("N_tile"))
    return true;
  const Dim &columns = step.results[0].shape.back();
  return !columns.isSymbol() &&
         step.params.getInt("N_tile", 0) >= columns.size();
}
