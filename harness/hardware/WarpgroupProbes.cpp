//===- WarpgroupProbes.cpp - wgmma ----------------------------------------===//
//
// Operands lie in shared memory without swizzle, two core matrices of 8 rows x
// 16 bytes along k. All types have 32 bytes along k.
//
//===----------------------------------------------------------------------===//
#include "harness/hardware/Probe.h"

using namespace tandem::hardware;

namespace {
struct Row {
  /// Behind `m64nN`.
  const char *types;
  const char *aFormat, *bFormat, *cFormat;
  /// Behind scale-d, with a in shared memory.
  const char *immediates;
  bool isHalf = false; // two results a register
};

constexpr Row rows[] = {
    {"k16.f32.f16.f16", "f16x2", "f16x2", "f32", ", 1, 1, 0, 0"},
    {"k16.f32.bf16.bf16", "bf16x2", "bf16x2", "f32", ", 1, 1, 0, 0"},
    {"k16.f16.f16.f16", "f16x2", "f16x2", "f16x2", ", 1, 1, 0, 0", true},
    {"k8.f32.tf32.tf32", "f32", "f32", "f32", ", 1, 1"},
    {"k32.f32.e4m3.e4m3", "e4m3x4", "e4m3x4", "f32", ", 1, 1"},
    {"k32.f32.e5m2.e5m2", "e5m2x4", "e5m2x4", "f32", ", 1, 1"},
    {"k32.f32.e4m3.e5m2", "e4m3x4", "e5m2x4", "f32", ", 1, 1"},
    {"k32.f32.e5m2.e4m3", "e5m2x4", "e4m3x4", "f32", ", -1, 1"},
    {"k32.f16.e4m3.e4m3", "e4m3x4", "e4m3x4", "f16x2", ", 1, 1", true},
    {"k32.f16.e5m2.e5m2", "e5m2x4", "e5m2x4", "f16x2", ", 1, 1", true},
    {"k32.f16.e4m3.e5m2", "e4m3x4", "e5m2x4", "f16x2", ", 1, 1", true},
    {"k32.s32.s8.s8", "bits", "bits", "u32", ""},
    {"k32.s32.s8.u8", "bits", "bits", "u32", ""},
    {"k32.s32.u8.s8", "bits", "bits", "u32", ""},
    {"k32.s32.u8.u8", "bits", "bits", "u32", ""},
    {"k32.satfinite.s32.s8.s8", "bits", "bits", "u32", ""},
    {"k256.s32.b1.b1.and.popc", "bits", "bits", "u32", ""},
};

std::string word(const char *name, int i) {
  return "%" + std::string(name) + std::to_string(i);
}

/// Thread t stores word w at 4 (128 w + t).
std::string store(const char *array, int first, int words, int bytes) {
  std::string text = "mov.u32 %sp, " + std::string(array) +
                     ";\nmov.u32 %sq, %tid.x;\nmad.lo.u32 %sp, %sq, 4, %sp;\n";
  const bool isPartial = bytes < 512;
  if (isPartial)
    text += "setp.lt.u32 %sr, %sq, " + std::to_string(bytes / 4) + ";\n";
  for (int w = 0; w < words; ++w)
    text += std::string(isPartial ? "@%sr " : "") + "st.shared.b32 [%sp+" +
            std::to_string(512 * w) + "], " + word("a", first + w) + ";\n";
  return text;
}

/// The descriptor of \p array: 128 bytes to the next core matrix along k, 256
/// to the next along m or n.
std::string describe(const char *array, const char *to) {
  return "mov.u32 %sp, " + std::string(array) +
         ";\nshr.u32 %sp, %sp, 4;\nand.b32 %sp, %sp, 0x3fff;\n"
         "or.b32 %sp, %sp, 0x80000;\nmov.u32 %sq, 16;\nmov.b64 " +
         to + ", {%sp, %sq};\n";
}

Probe probeOf(const Row &row, int n, bool inRegisters) {
  Probe probe;
  const std::string shape = "m64n" + std::to_string(n);
  const std::string instruction =
      "wgmma.mma_async.sync.aligned." + shape + row.types;
  probe.name = instruction + (inRegisters ? " a in registers" : "");
  probe.isMatrix = true;
  probe.group = 128;
  probe.version = "8.4"; // s8 with u8
  const int bBytes = n * 32, bWords = (bBytes + 511) / 512;
  const int results = row.isHalf ? n / 4 : n / 2;
  probe.inputs.assign(4, row.aFormat);
  probe.inputs.insert(probe.inputs.end(), static_cast<size_t>(bWords),
                      row.bFormat);
  probe.inputs.insert(probe.inputs.end(), static_cast<size_t>(results),
                      row.cFormat);
  probe.outputWords = results;
  probe.declarations =
      ".shared .align 128 .b8 sa[2048];\n.shared .align 128 .b8 sb[" +
      std::to_string(bBytes) +
      "];\n.reg .b32 %sp, %sq;\n.reg .pred %sr;\n.reg .b64 %sd<2>;\n";
  std::string text = "bar.sync 0;\n";
  if (!inRegisters)
    text += store("sa", 0, 4, 2048);
  text += store("sb", 4, bWords, bBytes) + "fence.proxy.async;\nbar.sync 0;\n" +
          describe("sa", "%sd0") + describe("sb", "%sd1");
  std::string list;
  for (int i = 0; i < results; ++i) {
    text +=
        "mov.b32 " + word("d", i) + ", " + word("a", 4 + bWords + i) + ";\n";
    list += (i ? ", " : "") + word("d", i);
  }
  std::string immediates = row.immediates;
  // With a in registers only b may be transposed.
  if (inRegisters && immediates.size() > 8)
    immediates.resize(immediates.size() - 3);
  probe.body = text + "wgmma.fence.sync.aligned;\n" + instruction + " {" +
               list + "}, " + (inRegisters ? "{%a0, %a1, %a2, %a3}" : "%sd0") +
               ", %sd1, 1" + immediates +
               ";\nwgmma.commit_group.sync.aligned;\n"
               "wgmma.wait_group.sync.aligned 0;\n";
  return probe;
}
} // namespace

void tandem::hardware::addWarpgroupProbes(std::vector<Probe> &probes) {
  for (const Row &row : rows) {
    probes.push_back(probeOf(row, 8, false));
    probes.push_back(probeOf(row, 64, false));
    probes.push_back(probeOf(row, 8, true));
  }
  probes.push_back(probeOf(rows[0], 256, false));
}
