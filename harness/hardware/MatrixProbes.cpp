//===- MatrixProbes.cpp - mma.sync ----------------------------------------===//
//
// Fragments are words with random elements: which element is where shows in
// the results, because both devices get the same words.
//
//===----------------------------------------------------------------------===//
#include "harness/hardware/Probe.h"

using namespace tandem::hardware;

namespace {
/// Registers of a, b and of the accumulator, of 32 bits but for f64.
struct Row {
  const char *instruction;
  const char *aFormat, *bFormat, *cFormat;
  int a, b, c;
  const char *version = "8.0";
};

constexpr Row rows[] = {
    {"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "f16x2", "f16x2",
     "f32", 4, 2, 4},
    {"mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32", "f16x2", "f16x2",
     "f32", 2, 1, 4},
    {"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", "bf16x2", "bf16x2",
     "f32", 4, 2, 4},
    {"mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32", "bf16x2", "bf16x2",
     "f32", 2, 1, 4},
    {"mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16", "f16x2", "f16x2",
     "f16x2", 4, 2, 2},
    {"mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16", "f16x2", "f16x2",
     "f16x2", 2, 1, 2},
    {"mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", "f32", "f32", "f32",
     4, 2, 4},
    {"mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32", "f32", "f32", "f32",
     2, 1, 4},
    {"mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32", "e4m3x4", "e4m3x4",
     "f32", 4, 2, 4, "8.4"},
    {"mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e5m2.f32", "e5m2x4", "e5m2x4",
     "f32", 4, 2, 4, "8.4"},
    {"mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32", "e4m3x4", "e5m2x4",
     "f32", 4, 2, 4, "8.4"},
    {"mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64", "f64", "f64", "f64", 1,
     1, 2},
    {"mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64", "f64", "f64", "f64", 2,
     1, 4},
    {"mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64", "f64", "f64", "f64", 4,
     2, 4},
    {"mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64", "f64", "f64", "f64",
     8, 4, 4},
    {"mma.sync.aligned.m16n8k32.row.col{,.satfinite}.s32.{s8,u8}.{s8,u8}.s32",
     "bits", "bits", "u32", 4, 2, 4},
    {"mma.sync.aligned.m16n8k16.row.col{,.satfinite}.s32.{s8,u8}.{s8,u8}.s32",
     "bits", "bits", "u32", 2, 1, 4},
    {"mma.sync.aligned.m8n8k16.row.col{,.satfinite}.s32.{s8.s8,u8.s8}.s32",
     "bits", "bits", "u32", 1, 1, 2},
    {"mma.sync.aligned.m16n8k64.row.col{,.satfinite}.s32.{s4,u4}.{s4,u4}.s32",
     "bits", "bits", "u32", 4, 2, 4},
    {"mma.sync.aligned.m16n8k32.row.col.s32.{s4.s4,u4.s4}.s32", "bits", "bits",
     "u32", 2, 1, 4},
    {"mma.sync.aligned.m8n8k32.row.col.s32.{s4.s4,u4.u4}.s32", "bits", "bits",
     "u32", 1, 1, 2},
    {"mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.{and,xor}.popc", "bits",
     "bits", "u32", 4, 2, 4},
    {"mma.sync.aligned.m16n8k128.row.col.s32.b1.b1.s32.{and,xor}.popc", "bits",
     "bits", "u32", 2, 1, 4},
    {"mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.{and,xor}.popc", "bits",
     "bits", "u32", 1, 1, 2},
};

/// `{%NAMEfirst, ...}`.
std::string registers(const char *name, int first, int count) {
  std::string text = "{";
  for (int i = 0; i < count; ++i)
    text += (i ? ", %" : "%") + std::string(name) + std::to_string(first + i);
  return text + "}";
}

Probe probeOf(const Row &row, const std::string &instruction) {
  Probe probe;
  probe.name = instruction;
  probe.version = row.version;
  probe.isMatrix = true;
  probe.group = 32;
  probe.inputs.assign(static_cast<size_t>(row.a), row.aFormat);
  probe.inputs.insert(probe.inputs.end(), static_cast<size_t>(row.b),
                      row.bFormat);
  probe.inputs.insert(probe.inputs.end(), static_cast<size_t>(row.c),
                      row.cFormat);
  const bool isDouble = bitsOfFormat(row.aFormat) == 64;
  probe.outputWords = isDouble ? 2 * row.c : row.c;
  const int all = row.a + row.b + row.c;
  const char *in = "a", *out = "d";
  if (isDouble) {
    probe.body = ".reg .f64 %u<16>, %v<4>;\n";
    for (int i = 0; i < all; ++i)
      probe.body += "mov.b64 %u" + std::to_string(i) + ", " +
                    registers("a", 2 * i, 2) + ";\n";
    in = "u", out = "v";
  }
  probe.body += instruction + " " + registers(out, 0, row.c) + ", " +
                registers(in, 0, row.a) + ", " + registers(in, row.a, row.b) +
                ", " + registers(in, row.a + row.b, row.c) + ";\n";
  if (isDouble)
    for (int i = 0; i < row.c; ++i)
      probe.body += "mov.b64 " + registers("d", 2 * i, 2) + ", %v" +
                    std::to_string(i) + ";\n";
  return probe;
}
} // namespace

void tandem::hardware::addMatrixProbes(std::vector<Probe> &probes) {
  for (const Row &row : rows)
    for (const std::string &instruction : expandBraces(row.instruction))
      probes.push_back(probeOf(row, instruction));
}
