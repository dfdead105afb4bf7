//===- Report.cpp - Findings ----------------------------------------------===//
#include "codegen/device/emulator/Exec.h"
#include "codegen/device/emulator/FindingKinds.h"

#include <cassert>

using namespace tandem;
using namespace tandem::emulator;

std::array<int64_t, 3> emulator::threadId(const Launch &launch, int warp,
                                          unsigned lane) {
  int64_t linear = int64_t(warp) * warpSize + lane;
  int64_t x = launch.block[0], y = launch.block[1];
  return {linear % x, linear / x % y, linear / (x * y)};
}

std::string emulator::threadText(const Launch &launch, int warp,
                                 unsigned lane) {
  std::array<int64_t, 3> t = threadId(launch, warp, lane);
  return cat("thread ", t[0], ",", t[1], ",", t[2]);
}

std::string emulator::sourceOf(const Program &program, uint32_t pc) {
  auto [file, line] = program.sources[pc];
  if (!line)
    return {};
  auto name = program.files.find(file);
  return cat(name == program.files.end() ? cat("file ", file) : name->second,
             ":", line);
}

static void add(Exec &x, const Inst &inst, unsigned lane, bool isNote,
                std::string_view kind, std::string message, uint64_t address,
                std::string allocation, std::string other,
                const FindingSide *side) {
  assert(isFindingKind(kind) && "FindingKinds.h lacks a kind");
  Cta &cta = *x.cta;
  if (!cta.reported.emplace(x.pcOf(inst), std::string(kind)).second)
    return;
  Finding finding;
  finding.isNote = isNote;
  finding.kind = std::string(kind);
  finding.message = std::move(message);
  finding.kernel = cta.program->kernel;
  finding.ptxLine = inst.line;
  finding.source = sourceOf(*cta.program, x.pcOf(inst));
  finding.block = cta.id;
  if (x.warp)
    finding.thread = threadId(*x.launch, x.warp->index, lane);
  finding.address = address;
  finding.allocation = std::move(allocation);
  finding.other = std::move(other);
  if (side)
    finding.side = *side;
  cta.findings.push_back(std::move(finding));
}

void emulator::report(Exec &x, const Inst &inst, unsigned lane,
                      std::string_view kind, std::string message,
                      uint64_t address, std::string allocation,
                      std::string other, const FindingSide *side) {
  add(x, inst, lane, false, kind, std::move(message), address,
      std::move(allocation), std::move(other), side);
}

void emulator::note(Exec &x, const Inst &inst, unsigned lane,
                    std::string_view kind, std::string message,
                    uint64_t address, std::string allocation,
                    std::string other) {
  add(x, inst, lane, true, kind, std::move(message), address,
      std::move(allocation), std::move(other), nullptr);
}
