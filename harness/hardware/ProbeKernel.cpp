//===- ProbeKernel.cpp - The kernel that runs a probe ---------------------===//
#include "harness/hardware/ProbeKernel.h"

#include "harness/hardware/References.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstdio>
#include <limits>

using namespace tandem;
using namespace tandem::hardware;

namespace {
std::string literal(double value) {
  std::array<char, 24> text;
  std::snprintf(
      text.data(), text.size(), "0d%016llx",
      static_cast<unsigned long long>(std::bit_cast<uint64_t>(value)));
  return text.data();
}

constexpr double farthest = 2147483000;

std::string number(int64_t value) { return std::to_string(value); }

const char *registerType(int bits) {
  return bits == 1    ? ".pred"
         : bits == 16 ? ".b16"
         : bits == 64 ? ".b64"
                      : ".b32";
}

/// %x of operand \p i from %a of word \p word.
std::string operandFrom(const std::string &format, int i, int word) {
  const std::string x = "%x" + number(i), a = "%a" + number(word);
  switch (bitsOfFormat(format)) {
  case 1:
    return "setp.lt.s32 " + x + ", " + a + ", 0;\n";
  case 16:
    return "cvt.u16.u32 " + x + ", " + a + ";\n";
  case 64:
    return "mov.b64 " + x + ", {" + a + ", %a" + number(word + 1) + "};\n";
  default:
    return "mov.b32 " + x + ", " + a + ";\n";
  }
}

std::string resultFrom(const std::string &format) {
  switch (bitsOfFormat(format)) {
  case 1:
    return "selp.b32 %d0, 1, 0, %y;\n";
  case 16:
    return "cvt.u32.u16 %d0, %y;\n";
  case 64:
    return "mov.b64 {%d0, %d1}, %y;\n";
  default:
    return "mov.b32 %d0, %y;\n";
  }
}

/// \p from, of a float format, as f64 in \p to.
std::string widen(const std::string &format, const std::string &to,
                  const std::string &from) {
  if (format == "f64")
    return "mov.b64 " + to + ", " + from + ";\n";
  if (format == "bf16")
    return "cvt.u32.u16 %mi, " + from +
           ";\nshl.b32 %mi, %mi, 16;\ncvt.f64.f32 " + to + ", %mi;\n";
  return "cvt.f64." + format + " " + to + ", " + from + ";\n";
}

struct Range {
  double least, largest; // of normal numbers
};
Range rangeOf(const std::string &format) {
  if (format == "f16")
    return {0x1p-14, 65520};
  if (format == "f64")
    return {0x1p-1022, std::numeric_limits<double>::max()};
  return {0x1p-126, 0x1p128};
}

/// %mdev and whether there is one (%mreg); %mspec says that the bits are
/// compared instead. Near the ends of a format's range, where a result within
/// the error may be on either side, neither.
std::string deviation(const Probe &probe) {
  const Measure &measure = probe.measure;
  const bool flushes = probe.name.find(".ftz") != std::string::npos;
  const size_t operands = probe.inputs.size();
  std::string text;
  for (size_t i = 0; i < operands; ++i)
    text += widen(probe.inputs[i], "%w" + std::to_string(i),
                  "%x" + std::to_string(i));
  text += referenceText(measure.reference) + "abs.f64 %mr, %ref;\n";
  // Regular operands: finite, not zero, not flushed.
  text += "mov.pred %mreg, 1;\n";
  const auto demand = [&](const std::string &comparison, double bound) {
    text += "setp." + comparison + ".f64 %mq, %mx, " + literal(bound) +
            ";\nand.pred %mreg, %mreg, %mq;\n";
  };
  for (size_t i = 0; i < operands; ++i) {
    text += "abs.f64 %mx, %w" + std::to_string(i) + ";\n";
    const Range range = rangeOf(probe.inputs[i]);
    demand(flushes ? "ge" : "gt", flushes ? range.least : 0);
    demand("lt", std::numeric_limits<double>::infinity());
    if (i == 1 && probe.name.starts_with("div.approx"))
      demand("le", 0x1p126);
  }
  // Regular results.
  const Range range = rangeOf(probe.output);
  const bool isAbsolute = measure.floorExponent == 0;
  const double low = flushes && !isAbsolute ? range.least : 0;
  text += "mov.f64 %mx, %mr;\n";
  constexpr double margin = 0x1p-8;
  if (low > 0)
    demand("ge", low * (1 + margin));
  else if (!isAbsolute)
    demand("gt", 0);
  demand("le", range.largest * (1 - margin));
  text += "not.pred %mspec, %mreg;\n";
  const auto exclude = [&](double from, double to) {
    text += "setp.gt.f64 %mq, %mr, " + literal(from) +
            ";\nsetp.lt.and.f64 %mq, %mr, " + literal(to) +
            ", %mq;\nnot.pred %mq, %mq;\nand.pred %mspec, %mspec, %mq;\n";
  };
  if (low > 0)
    exclude(low * (1 - margin), low * (1 + margin));
  if (probe.output != "f64")
    exclude(range.largest * (1 - margin), range.largest * (1 + margin));
  if (measure.hasDomain) {
    const bool isInside = measure.low < measure.high;
    const double from = std::min(measure.low, measure.high);
    const double to = std::max(measure.low, measure.high);
    text += "abs.f64 %mx, %w0;\nsetp.ge.f64 %mq, %mx, " + literal(from) +
            ";\nsetp.le.and.f64 %mq, %mx, " + literal(to) + ", %mq;\n" +
            (isInside ? "" : "not.pred %mq, %mq;\n") +
            "and.pred %mreg, %mreg, %mq;\nand.pred %mspec, %mspec, %mq;\n";
  }
  text += widen(probe.output, "%mx", "%y");
  text += "sub.rn.f64 %mx, %mx, %ref;\nmax.f64 %mr, %mr, " +
          literal(std::ldexp(1.0, measure.floorExponent)) +
          ";\ndiv.rn.f64 %mx, %mx, %mr;\nmul.rn.f64 %mx, %mx, " +
          literal(std::ldexp(1.0, measure.bits)) +
          // A NaN is as far off as can be.
          ";\nsetp.num.f64 %mq, %mx, %mx;\nselp.f64 %mx, %mx, " +
          literal(farthest) + ", %mq;\nmax.f64 %mx, %mx, " +
          literal(-farthest) + ";\nmin.f64 %mx, %mx, " + literal(farthest) +
          ";\ncvt.rni.s32.f64 %mdev, %mx;\n"
          "@%mreg min.s32 %smin, %smin, %mdev;\n"
          "@%mreg max.s32 %smax, %smax, %mdev;\n"
          "@!%mreg mov.b32 %mdev, 0x80000001;\n"
          "@%mspec mov.b32 %mdev, 0x80000000;\n";
  return text;
}

/// Adds %d0 ... to the hashes, each mixed with its place.
std::string hashing(const Probe &probe) {
  std::string text;
  for (int w = 0; w < probe.outputWords; ++w) {
    text += "mul.lo.u32 %t0, %index, 0x85ebca6b;\n"
            "add.u32 %t0, %t0, " +
            number((w + 1) * 0x3779b97f & 0x7fffffff) +
            ";\nmad.lo.u32 %t0, %d" + number(w) +
            ", 0x9e3779b1, %t0;\nshr.u32 %t1, %t0, 15;\n"
            "xor.b32 %t0, %t0, %t1;\nmul.lo.u32 %t0, %t0, 0xc2b2ae3d;\n"
            "shr.u32 %t1, %t0, 13;\nxor.b32 %t0, %t0, %t1;\n"
            "add.u32 %sall, %sall, %t0;\n";
    if (probe.measure.exists())
      text += "@%mspec add.u32 %sspec, %sspec, %t0;\n";
  }
  return text;
}

std::string textOf(const Probe &probe) {
  const bool isMeasured = probe.measure.exists();
  const int words = std::max(1, probe.inputWords());
  std::string text = ".version " + probe.version +
                     "\n.target sm_90a\n.address_size 64\n"
                     ".visible .entry probe(.param .u64 control, .param .u64 "
                     "input, .param .u64 sums, .param .u64 output) {\n";
  text += ".reg .b64 %control, %input, %sums, %output, %at, %e;\n"
          ".reg .b32 %p, %stratum, %count, %step, %flags, %all, %i, %index, "
          "%t<2>, %sall, %sspec, %smin, %smax, %lane, %warp;\n"
          ".reg .pred %q, %wants;\n";
  text += ".reg .b32 %a<" + number(words + 1) + ">, %d<" +
          number(probe.outputWords + 1) + ">;\n";
  if (!probe.isMatrix) {
    for (size_t i = 0; i < probe.inputs.size(); ++i)
      text += std::string(".reg ") +
              registerType(bitsOfFormat(probe.inputs[i])) + " %x" +
              std::to_string(i) + ";\n";
    text += std::string(".reg ") + registerType(bitsOfFormat(probe.output)) +
            " %y;\n";
  }
  if (isMeasured)
    text += referenceRegisters() +
            ".reg .f64 %mx, %mr;\n.reg .pred %mreg, %mspec, %mq;\n"
            ".reg .b32 %mdev, %mi;\n";
  text += probe.declarations;
  text += "ld.param.u64 %control, [control];\nld.param.u64 %input, [input];\n"
          "ld.param.u64 %sums, [sums];\nld.param.u64 %output, [output];\n"
          "mov.u32 %p, %ctaid.x;\n"
          "ld.global.v4.u32 {%count, %step, %flags, %all}, [%control];\n"
          "mul.wide.u32 %at, %p, 4;\nadd.u64 %at, %at, %control;\n"
          "ld.global.u32 %stratum, [%at+16];\n"
          "and.b32 %flags, %flags, 1;\nsetp.ne.u32 %wants, %flags, 0;\n"
          "mov.u32 %sall, 0;\nmov.u32 %sspec, 0;\nmov.u32 %smin, 0x7fffffff;\n"
          "mov.u32 %smax, 0x80000000;\nmov.u32 %i, %tid.x;\n"
          "LOOP:\nsetp.ge.u32 %q, %i, %count;\n@%q bra DONE;\n"
          "mad.lo.u32 %index, %p, %count, %i;\n"
          "cvt.u64.u32 %e, %index;\n";
  if (probe.exhaustiveBits) {
    text += "shl.b32 %index, %stratum, " + number(probe.stratumBits()) +
            ";\nmad.lo.u32 %index, %i, %step, %index;\n"
            "mov.b32 %a0, %index;\n";
  } else {
    text += "mul.lo.u64 %at, %e, 4;\nadd.u64 %at, %at, %input;\n";
    text += "mul.wide.u32 %e, %all, 4;\n";
    for (int w = 0; w < probe.inputWords(); ++w)
      text +=
          "ld.global.u32 %a" + number(w) + ", [%at];\nadd.u64 %at, %at, %e;\n";
    text += "cvt.u64.u32 %e, %index;\nmov.b32 %index, %i;\n";
  }
  text += "{\n";
  if (!probe.isMatrix) {
    int word = 0;
    for (size_t i = 0; i < probe.inputs.size(); ++i) {
      text += operandFrom(probe.inputs[i], static_cast<int>(i), word);
      word += std::max(1, bitsOfFormat(probe.inputs[i]) / 32);
    }
  }
  text += probe.body;
  if (!probe.isMatrix)
    text += resultFrom(probe.output);
  text += "}\n";
  if (isMeasured)
    text += deviation(probe);
  text += hashing(probe);
  text += "@!%wants bra NEXT;\nmul.lo.u64 %at, %e, " +
          number(4 * outputStride(probe)) + ";\nadd.u64 %at, %at, %output;\n";
  for (int w = 0; w < probe.outputWords; ++w)
    text += "st.global.u32 [%at+" + number(4 * w) + "], %d" + number(w) + ";\n";
  if (isMeasured)
    text +=
        "st.global.u32 [%at+" + number(4 * probe.outputWords) + "], %mdev;\n";
  text += "NEXT:\nadd.u32 %i, %i, 128;\nbra LOOP;\nDONE:\n"
          "redux.sync.add.u32 %sall, %sall, 0xffffffff;\n"
          "redux.sync.add.u32 %sspec, %sspec, 0xffffffff;\n"
          "redux.sync.min.s32 %smin, %smin, 0xffffffff;\n"
          "redux.sync.max.s32 %smax, %smax, 0xffffffff;\n"
          "mov.u32 %i, %tid.x;\nand.b32 %lane, %i, 31;\nshr.u32 %warp, %i, 5;\n"
          "setp.ne.u32 %q, %lane, 0;\n@%q bra END;\n"
          "mad.lo.u32 %warp, %p, 4, %warp;\nmul.wide.u32 %at, %warp, 16;\n"
          "add.u64 %at, %at, %sums;\n"
          "st.global.v4.u32 [%at], {%sall, %sspec, %smin, %smax};\n"
          "END:\nret;\n}\n";
  return text;
}
} // namespace

Kernel tandem::hardware::probeKernel(const Probe &probe) {
  Kernel kernel;
  kernel.ptx = textOf(probe);
  LaunchRecord &record = kernel.launch;
  record.kernel = "probe";
  record.target = "sm_90a";
  record.block = {probeThreads, 1, 1};
  for (const char *name : {"control", "input", "sums", "output"}) {
    const int operand = static_cast<int>(record.operands.size());
    const bool isInput = operand < 2;
    record.operands.push_back(
        {name, DType::I32, 1,
         isInput ? RecordOperand::Role::In : RecordOperand::Role::State});
    record.args.push_back({KernelArg::Kind::Pointer, operand, IntExpr(0)});
  }
  const auto grid = IntExpr::parse("sums.shape[0] / " + number(sumWords));
  assert(grid && "the grid is an expression");
  record.grid[0] = *grid;
  return kernel;
}
