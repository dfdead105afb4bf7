//===- Calls.cpp - Calls of device functions ------------------------------===//
//
// Arguments and results are copied between the frames of caller and callee,
// byte for byte with what is known of them. Each lane has a stack of its own:
// lanes that call different functions, or at different depths, diverge as at a
// branch and meet again where they return to.
//
//===----------------------------------------------------------------------===//
#include "codegen/device/emulator/Calls.h"

#include "codegen/device/emulator/WarpRunner.h"

#include <algorithm>
#include <cstring>

using namespace tandem;
using namespace tandem::emulator;

uint64_t emulator::localOffset(const Exec &x, unsigned lane, uint64_t at) {
  return (uint64_t(x.warp->index) * warpSize + lane) *
             x.cta->program->localBytes +
         at;
}

/// Both ranges lie inside the thread's local memory.
static void copyLocal(Exec &x, unsigned lane, uint64_t from, uint64_t to,
                      uint64_t bytes) {
  from = localOffset(x, lane, from);
  to = localOffset(x, lane, to);
  std::memmove(&x.cta->local[to], &x.cta->local[from], bytes);
  std::memmove(&x.cta->localWritten[to], &x.cta->localWritten[from], bytes);
}

static void saveRegisters(const Exec &x, unsigned lane,
                          const Function &function, CallRecord &record) {
  for (auto [slot, bytes] : function.registers) {
    uint64_t value[2] = {};
    if (bytes)
      std::memcpy(value, x.arena + slot + bytes * lane, bytes);
    else
      value[0] = x.mask(slot) >> lane & 1;
    record.saved.push_back(value[0]);
    if (bytes == 16)
      record.saved.push_back(value[1]);
  }
}
static void restoreRegisters(const Exec &x, unsigned lane,
                             const Function &function,
                             const CallRecord &record) {
  if (record.saved.empty())
    return;
  const uint64_t *saved = record.saved.data();
  for (auto [slot, bytes] : function.registers) {
    if (bytes) {
      std::memcpy(x.arena + slot + bytes * lane, saved, bytes);
    } else {
      uint32_t &mask = x.mask(slot);
      uint32_t bit = uint32_t(1) << lane;
      mask = *saved ? mask | bit : mask & ~bit;
    }
    saved += bytes == 16 ? 2 : 1;
  }
}

bool WarpRunner::call(const Inst &inst, uint32_t active) {
  if (!active) {
    ++pc;
    return true;
  }
  const Program &program = *cta.program;
  const CallSite &site = program.calls[inst.target];
  uint64_t *frame = x.lanes<uint64_t>(program.frame);
  uint64_t *frameEnd = x.lanes<uint64_t>(program.frameEnd);
  savePc(group & ~active, pc + 1);
  savePc(active, pc);
  forEachLane(active, [&](unsigned l) {
    if (cta.aborted)
      return;
    auto callee = static_cast<uint32_t>(site.callee);
    if (site.callee < 0) {
      uint64_t address = x.lanes<uint64_t>(inst.a)[l];
      auto found = program.functionAt.find(address);
      if (found == program.functionAt.end()) {
        report(x, inst, l, "call",
               cat("calls ", hex(address), ", which is no function"), address);
        cta.aborted = true;
        return;
      }
      callee = found->second;
    }
    const Function &function = program.functions[callee];
    uint64_t begin = (frameEnd[l] + 15) & ~uint64_t(15);
    if (begin + function.frameBytes > program.localBytes) {
      report(x, inst, l, "stack",
             cat("the call of '", function.name, "' needs ",
                 begin + function.frameBytes, " bytes of stack, there are ",
                 program.localBytes));
      cta.aborted = true;
      return;
    }
    CallRecord record{pc + 1, inst.target, callee, frame[l], frameEnd[l], {}};
    if (function.isRecursive)
      saveRegisters(x, l, function, record);
    std::memset(&cta.localWritten[localOffset(x, l, begin)], 0,
                function.frameBytes);
    size_t args = std::min(site.args.size(), function.params.size());
    for (size_t i = 0; i < args; ++i)
      copyLocal(x, l, frame[l] + site.args[i].offset,
                begin + function.params[i].offset,
                std::min(site.args[i].bytes, function.params[i].bytes));
    if (site.args.size() != function.params.size())
      report(x, inst, l, "call",
             cat("'", function.name, "' takes ", function.params.size(),
                 " parameters, the call gives ", site.args.size()));
    warp.calls[l].push_back(std::move(record));
    frame[l] = begin;
    frameEnd[l] = begin + function.frameBytes;
    warp.pc[l] = function.begin;
  });
  return false;
}

bool WarpRunner::leave(uint32_t active) {
  const Program &program = *cta.program;
  uint64_t *frame = x.lanes<uint64_t>(program.frame);
  uint64_t *frameEnd = x.lanes<uint64_t>(program.frameEnd);
  savePc(group & ~active, pc + 1);
  forEachLane(active, [&](unsigned l) {
    // A function is entered by calls only, so there is a record.
    CallRecord record = std::move(warp.calls[l].back());
    warp.calls[l].pop_back();
    const Function &function = program.functions[record.callee];
    const CallSite &site = program.calls[record.site];
    size_t results = std::min(site.results.size(), function.results.size());
    for (size_t i = 0; i < results; ++i)
      copyLocal(x, l, frame[l] + function.results[i].offset,
                record.frame + site.results[i].offset,
                std::min(site.results[i].bytes, function.results[i].bytes));
    restoreRegisters(x, l, function, record);
    frame[l] = record.frame;
    frameEnd[l] = record.frameEnd;
    warp.pc[l] = record.back;
  });
  return false;
}
