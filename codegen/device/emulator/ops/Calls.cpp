//===- Calls.cpp - call, ret, alloca --------------------------------------===//
#include "codegen/device/emulator/ops/Families.h"

using namespace tandem::emulator;

static void buildCall(Builder &b, const Match &) { b.call(); }

static void buildReturn(Builder &b, const Match &) {
  if (b.expect(0))
    b.inst->flow = b.inFunction() ? Flow::Return : Flow::Exit;
}

/// alloca d, size [, align]: d is an address in local memory.
static void buildAlloca(Builder &b, const Match &m) {
  using Kind = tandem::emulator::Operand::Kind;
  Type type = m.type(0);
  if (!b.expect(2, 3))
    return;
  b.inst->d = b.write(0, type);
  b.inst->a = b.read(1, type);
  b.critical(b.inst->a);
  uint64_t align = 8;
  if (b.operands() == 3) {
    align = b.operand(2).bits;
    if (b.operand(2).kind != Kind::Integer || !align || (align & (align - 1)) ||
        align > 4096) {
      b.fail("the alignment of alloca is a power of two up to 4096");
      return;
    }
  }
  b.inst->imm = static_cast<int64_t>(align);
  b.inst->size = static_cast<uint8_t>(typeSize(type));
  b.inst->run = [](Exec &x, const Inst &i) {
    const Program &program = *x.cta->program;
    uint64_t *end = x.lanes<uint64_t>(program.frameEnd);
    auto align = static_cast<uint64_t>(i.imm);
    forEachLane(x.active, [&](unsigned l) {
      uint64_t size =
          i.size == 8 ? x.lanes<uint64_t>(i.a)[l] : x.lanes<uint32_t>(i.a)[l];
      uint64_t begin = (end[l] + align - 1) & ~(align - 1);
      if (size > program.localBytes || begin + size > program.localBytes) {
        report(x, i, l, "stack",
               cat("alloca of ", size, " bytes, ", program.localBytes - end[l],
                   " of the stack are left"));
        x.cta->aborted = true;
        return;
      }
      end[l] = begin + size;
      if (i.size == 8)
        x.lanes<uint64_t>(i.d)[l] = begin;
      else
        x.lanes<uint32_t>(i.d)[l] = static_cast<uint32_t>(begin);
    });
  };
}

/// The end of the stack as a number that stackrestore takes back.
static void buildStackSave(Builder &b, const Match &m) {
  Type type = m.type(0);
  if (!b.expect(1))
    return;
  b.inst->d = b.write(0, type);
  b.inst->run =
      typeSize(type) == 8
          ? Handler([](Exec &x, const Inst &i) {
              const auto *end = x.lanes<uint64_t>(x.cta->program->frameEnd);
              setLanes<uint64_t>(x, i.d, [=](int l) { return end[l]; });
            })
          : Handler([](Exec &x, const Inst &i) {
              const auto *end = x.lanes<uint64_t>(x.cta->program->frameEnd);
              setLanes<uint32_t>(
                  x, i.d, [=](int l) { return static_cast<uint32_t>(end[l]); });
            });
}
static void buildStackRestore(Builder &b, const Match &m) {
  Type type = m.type(0);
  if (!b.expect(1))
    return;
  b.inst->a = b.read(0, type);
  b.inst->size = static_cast<uint8_t>(typeSize(type));
  b.critical(b.inst->a);
  b.inst->run = [](Exec &x, const Inst &i) {
    const Program &program = *x.cta->program;
    uint64_t *end = x.lanes<uint64_t>(program.frameEnd);
    forEachLane(x.active, [&](unsigned l) {
      uint64_t to =
          i.size == 8 ? x.lanes<uint64_t>(i.a)[l] : x.lanes<uint32_t>(i.a)[l];
      if (to > program.localBytes)
        report(x, i, l, "stack",
               cat("stackrestore to ", to, ", the stack has ",
                   program.localBytes, " bytes"));
      else
        end[l] = to;
    });
  };
}

std::span<const Row> tandem::emulator::callRows() {
  static const Row rows[] = {
      {"call", ".uni?", buildCall,
       "direct and through pointers; of the system's functions vprintf and "
       "__assertfail"},
      {"ret", ".uni?", buildReturn},
      {"alloca", ".u32|.u64", buildAlloca},
      {"stacksave", ".u32|.u64", buildStackSave},
      {"stackrestore", ".u32|.u64", buildStackRestore},
  };
  return rows;
}
