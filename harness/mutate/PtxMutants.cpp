//===- PtxMutants.cpp - Edits of the PTX text of any op -------------------===//
#include "harness/mutate/Tables.h"
#include "harness/mutate/TextEdits.h"

#include <algorithm>

using namespace tandem;
using namespace tandem::harness;

namespace {
struct PtxRow {
  const char *name;
  const char *pattern, *replacement;
  Where where = Where::All;
  /// The ops in which this is a bug; empty for all.
  std::vector<std::string_view> ops = {};
};
} // namespace

/// Synchronisation, control, addresses, rounding, and what is computed.
static const std::vector<PtxRow> &ptxRows() {
  static const std::vector<std::string_view> exact = {"add", "mul",
                                                      "allreduce_shard"};
  static const std::vector<PtxRow> rows = {
      {"barrier dropped, the first", R"(bar(rier)?\.sync[^;]*;)", "",
       Where::First},
      {"barriers dropped", R"(bar(rier)?\.sync[^;]*;)", ""},
      {"wait dropped", R"(cp\.async\.wait[^;]*;)", ""},
      {"fence dropped", R"(fence[^;]*;)", ""},
      {"shuffle from another lane", R"((shfl\.sync\.bfly\.b32\s+[^;]*), 1, )",
       "$1, 2, ", Where::First},
      {"shuffle of the lane itself",
       R"(shfl\.sync\.bfly\.b32\s+(%r\d+), (%r\d+),[^;]*;)", "mov.b32 $1, $2;",
       Where::Last},
      {"store dropped, the first", R"(st\.global[^;]*;)", "", Where::First},
      {"store dropped, the last", R"(st\.global[^;]*;)", "", Where::Last},
      {"load 16 bytes further on, the first",
       R"((ld\.global\S*\s+[^\[]*\[%rd\d+)\])", "$1+16]", Where::First},
      {"store 16 bytes further on, the first",
       R"((st\.global\S*\s+\[%rd\d+)\])", "$1+16]", Where::First},
      {"rows: < becomes <=", R"(setp\.lt\.s64(\s+%p\d+, %rd\d+, %rd))",
       "setp.le.s64$1"},
      {"columns: > becomes >=", R"(setp\.gt\.s32(\s+%p\d+, %r\d+, ))",
       "setp.ge.s32$1"},
      {"predicate flipped, the last", R"(@%p(\d+) bra)", "@!%p$1 bra",
       Where::Last},
      {"predicates flipped", R"(@%p(\d+) bra)", "@!%p$1 bra"},
      {"guards dropped", R"(@%p\d+ bra[^;]*;)", ""},
      {"half of each guard dropped",
       R"(and\.pred\s+(%p\d+), (%p\d+), (%p\d+);)", "mov.pred $1, $2;"},
      {"the other half dropped", R"(and\.pred\s+(%p\d+), (%p\d+), (%p\d+);)",
       "mov.pred $1, $3;"},
      {"additions toward zero", R"(add\.rn\.f32)", "add.rz.f32", Where::All,
       exact},
      {"products toward zero", R"(mul\.rn\.f32)", "mul.rz.f32", Where::All,
       exact},
      {"conversion toward zero", R"(cvt\.rn(\.satfinite)?\.(bf16|f16)\.f32)",
       "cvt.rz$1.$2.f32"},
      {"conversions toward zero, in pairs", R"(cvt\.rn\.(bf16x2|f16x2)\.f32)",
       "cvt.rz.$1.f32"},
      {"maximum becomes minimum",
       R"(max(\.NaN)?\.f32)",
       "min$1.f32",
       Where::All,
       {"softmax"}},
      {"maximum becomes minimum, one of them",
       R"(max\.u64)",
       "min.u64",
       Where::Last,
       {"sample_argmax"}},
      {"addition becomes subtraction, the last", R"(add\.rn\.f32)",
       "sub.rn.f32", Where::Last},
      {"operands swapped, the first",
       R"(sub\.rn\.f32(\s+%r\d+), (%r\d+), (%r\d+);)", "sub.rn.f32$1, $3, $2;",
       Where::First},
      {"operands of the division swapped",
       R"(div\.rn\.f32(\s+%r\d+), (%r\d+), (%r\d+);)", "div.rn.f32$1, $3, $2;",
       Where::First},
      {"shared memory read elsewhere, the first",
       R"((ld\.shared\S*\s+[^\[]*\[%r\w+)\])", "$1+16]", Where::First},
      {"shared store dropped, the first", R"(st\.shared[^;]*;)", "",
       Where::First},
      {"operands of the tensor core loaded elsewhere, the first",
       R"((ldmatrix\S*\s+[^\[]*\[%r\w+)\])", "$1+16]", Where::First},
      {"index error not reported",
       R"(atom\.[^;]*min[^;]*;)",
       "",
       Where::All,
       {"embed"}},
  };
  return rows;
}

/// After each fma its result goes through f16.
static TextEdit narrowAccumulator() {
  return inSequence({replaceLines(R"((\.reg \.b32\s+%r<\d+>;))",
                                  "$1\n\t.reg .b16 %narrow;", Where::First),
                     replaceLines(R"((fma\.rn\.f32\s+(%r\d+),[^;]*;))",
                                  "$1\n\tcvt.rn.f16.f32 %narrow, $2;\n\t"
                                  "cvt.f32.f16 $2, %narrow;")});
}

void tandem::harness::addPtxMutants(const OpInfo &op,
                                    std::vector<Mutant> &mutants) {
  auto add = [&](const char *name, TextEdit edit) {
    Mutant mutant;
    mutant.op = op.mnemonic;
    mutant.stage = MutantStage::Ptx;
    mutant.name = name;
    mutant.editText = std::move(edit);
    mutants.push_back(std::move(mutant));
  };
  for (const PtxRow &row : ptxRows())
    if (row.ops.empty() ||
        std::find(row.ops.begin(), row.ops.end(), op.mnemonic) != row.ops.end())
      add(row.name, replaceLines(row.pattern, row.replacement, row.where));
  if (op.code == Opcode::GEMV_TILE || op.code == Opcode::GEMM_TILE)
    add("accumulator of 16 bits", narrowAccumulator());
}
