//===- WgmmaOps.cpp - The instructions of warpgroups ----------------------===//
#include "codegen/device/emulator/async/Cluster.h"
#include "codegen/device/emulator/async/Wgmma.h"
#include "codegen/device/emulator/ops/Families.h"

#include <charconv>

using namespace tandem;
using namespace tandem::emulator;

using OperandKind = tandem::emulator::Operand::Kind;

static bool formatNamed(std::string_view name, DotFormat &format) {
  if (name == ".f16")
    format = DotFormat::F16;
  else if (name == ".bf16")
    format = DotFormat::BF16;
  else if (name == ".tf32")
    format = DotFormat::TF32;
  else if (name == ".e4m3")
    format = DotFormat::E4M3;
  else if (name == ".e5m2")
    format = DotFormat::E5M2;
  else
    return false;
  return true;
}

/// An immediate 1 or -1 (\p isTrue: -1), or 0 or 1 (\p isTrue: 1).
static bool immediate(Builder &b, size_t i, int64_t other, int64_t truth,
                      bool &isTrue) {
  const tandem::emulator::Operand &operand = b.operand(i);
  auto value = static_cast<int64_t>(operand.bits);
  if (operand.kind != OperandKind::Integer ||
      (value != other && value != truth)) {
    b.fail(cat("operand ", i, " of '", b.ast->text(), "' is ", other, " or ",
               truth));
    return false;
  }
  isTrue = value == truth;
  return true;
}

/// Whether wgmma has \p n columns: multiples of 8 up to 256; of integers only
/// 8, 24 and multiples of 16.
static bool isWidth(int n, bool isInteger) {
  bool isListed = n >= 8 && n <= 256 && n % 8 == 0;
  return isListed && (!isInteger || n == 8 || n == 24 || n % 16 == 0);
}

/// `d, a, b, scale-d {, imm-scale-a, imm-scale-b {, imm-trans-a},
/// imm-trans-b}`. Parts: mma_async, sync, aligned, shape, then types.
static void buildMma(Builder &b, const Match &m) {
  WgmmaForm form;
  std::string_view shape = m.parts[3];
  size_t nAt = shape.find('n'), kAt = shape.rfind('k');
  std::from_chars(&shape[nAt + 1], shape.data() + kAt, form.n);
  std::from_chars(&shape[kAt + 1], shape.data() + shape.size(), form.k);
  const bool isBits = m.parts.back() == ".popc";
  const size_t last = m.parts.size() - (isBits ? 3 : 1);
  std::string_view aType = m.parts[last - 1];
  std::string_view bType = m.parts[last];
  std::string_view dType = m.parts[last - 2];
  Type result = Type::F32;
  if (dType == ".s32") {
    form.kind = WgmmaForm::Kind::Integer;
    form.elementBytes = 1;
    form.aSigned = aType == ".s8";
    form.bSigned = bType == ".s8";
    form.saturates = !isBits && m.has(4);
    form.isBits = isBits;
    if (isBits) {
      form.elementBytes = 4;
      form.k /= 32;
    }
    result = Type::S32;
  } else {
    formatNamed(aType, form.a);
    formatNamed(bType, form.b);
    form.elementBytes = form.a == DotFormat::TF32   ? 4
                        : form.a <= DotFormat::BF16 ? 2
                                                    : 1;
    form.halfResult = dType == ".f16";
    if (form.halfResult)
      result = Type::B32;
  }
  if (!isWidth(form.n, form.kind == WgmmaForm::Kind::Integer)) {
    b.fail(cat("'", b.ast->text(), "': there is no n = ", form.n,
               " for this type"));
    return;
  }
  bool hasTranspose =
      form.kind == WgmmaForm::Kind::Float && form.elementBytes == 2;
  bool hasScales = form.kind == WgmmaForm::Kind::Float;
  if (b.operands() < 3) {
    b.expect(4);
    return;
  }
  form.aInRegisters = b.operand(1).kind == OperandKind::Vector;
  size_t transposes = hasTranspose ? (form.aInRegisters ? 1 : 2) : 0;
  if (!b.expect(4 + (hasScales ? 2 : 0) + transposes))
    return;
  form.resultCount =
      static_cast<uint32_t>(form.halfResult ? form.n / 4 : form.n / 2);
  form.results = b.vector(b.operand(0), form.resultCount, result, true);
  if (form.aInRegisters) {
    form.operandA = b.vector(b.operand(1), 4, Type::B32, false);
  } else {
    form.descriptorA = b.read(1, Type::B64);
    b.critical(form.descriptorA);
  }
  form.descriptorB = b.read(2, Type::B64);
  b.critical(form.descriptorB);
  // The accumulator is read unless scale-d says no: only known when it runs,
  // or here when it is a constant.
  const tandem::emulator::Operand &scale = b.operand(3);
  form.scaleD = b.readPredicate(3);
  form.scaleNegated = scale.negated;
  if (scale.kind == OperandKind::Integer && scale.bits)
    for (uint32_t i = 0; i < form.resultCount; ++i)
      b.use->reads.push_back(b.program->slots[form.results + i]);
  size_t at = 4;
  if (hasScales && (!immediate(b, at, 1, -1, form.negateA) ||
                    !immediate(b, at + 1, 1, -1, form.negateB)))
    return;
  at += 2;
  if (transposes == 2 && !immediate(b, at++, 0, 1, form.transposeA))
    return;
  if (transposes && !immediate(b, at, 0, 1, form.transposeB))
    return;
  b.program->hasAsync = true;
  b.inst->flow = Flow::Converge;
  b.inst->imm = static_cast<int64_t>(b.program->wgmmas.size());
  b.inst->run = issueWgmma;
  b.program->wgmmas.push_back(form);
}

static void aligned(Builder &b, Handler run) {
  b.program->hasAsync = true;
  b.inst->flow = Flow::Converge;
  b.inst->run = run;
}
static void buildFence(Builder &b, const Match &) {
  if (b.expect(0))
    aligned(b, fenceWgmma);
}
static void buildCommit(Builder &b, const Match &) {
  if (b.expect(0))
    aligned(b, commitWgmma);
}
static void buildWait(Builder &b, const Match &) {
  if (!b.expect(1))
    return;
  if (b.operand(0).kind != OperandKind::Integer)
    b.fail("the number of groups is a constant");
  b.inst->imm = static_cast<int64_t>(b.operand(0).bits);
  b.inst->extra = static_cast<uint8_t>(WaitKind::Wgmma);
  aligned(b, waitWgmma);
}

std::span<const Row> tandem::emulator::wgmmaRows() {
  static const char *measured = "bit for bit as measured on an H200";
  static const Row rows[] = {
      {"wgmma", ".fence .sync .aligned", buildFence},
      {"wgmma", ".commit_group .sync .aligned", buildCommit},
      {"wgmma", ".wait_group .sync .aligned", buildWait},
      {"wgmma", ".mma_async .sync .aligned .m64n#k16 .f32 .f16 .f16", buildMma,
       measured},
      {"wgmma", ".mma_async .sync .aligned .m64n#k16 .f32 .bf16 .bf16",
       buildMma, measured},
      {"wgmma", ".mma_async .sync .aligned .m64n#k16 .f16 .f16 .f16", buildMma,
       measured},
      {"wgmma", ".mma_async .sync .aligned .m64n#k8 .f32 .tf32 .tf32", buildMma,
       measured},
      {"wgmma",
       ".mma_async .sync .aligned .m64n#k32 .f32 .e4m3|.e5m2 .e4m3|.e5m2",
       buildMma, measured},
      {"wgmma",
       ".mma_async .sync .aligned .m64n#k32 .f16 .e4m3|.e5m2 .e4m3|.e5m2",
       buildMma, measured},
      {"wgmma",
       ".mma_async .sync .aligned .m64n#k32 .satfinite? .s32 .s8|.u8 .s8|.u8",
       buildMma, "exact; wraps without .satfinite"},
      {"wgmma", ".mma_async .sync .aligned .m64n#k256 .s32 .b1 .b1 .and .popc",
       buildMma},
  };
  return rows;
}
