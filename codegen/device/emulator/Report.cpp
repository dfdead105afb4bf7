//===- Report.cpp - Findings ----------------------------------------------===//
#include "codegen/device/emulator/Exec.h"

using namespace tandem;
using namespace tandem::emulator;

void emulator::report(Exec &x, const Inst &inst, unsigned lane,
                      std::string_view kind, std::string message,
                      uint64_t address, std::string allocation,
                      std::string other) {
  Cta &cta = *x.cta;
  if (!cta.reported.emplace(x.pcOf(inst), std::string(kind)).second)
    return;
  Finding finding;
  finding.kind = std::string(kind);
  finding.message = std::move(message);
  finding.kernel = cta.program->kernel;
  finding.ptxLine = inst.line;
  finding.block = cta.id;
  if (x.warp)
    finding.thread = threadId(*x.launch, x.warp->index, lane);
  finding.address = address;
  finding.allocation = std::move(allocation);
  finding.other = std::move(other);
  cta.findings.push_back(std::move(finding));
}
