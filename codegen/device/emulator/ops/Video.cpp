//===- Video.cpp - Video instructions -------------------------------------===//
//
// One to four parts of 32-bit words, widened to 64 bits, an operation, then
// saturation to the part of the result that is written, and at last a second
// operation or a merge with c (PTX ISA, scalar and SIMD video instructions).
//
//===----------------------------------------------------------------------===//
#include "codegen/device/emulator/ops/Families.h"

#include <algorithm>

using namespace tandem::emulator;

namespace {
enum class VideoOp : uint8_t {
  Add,
  Sub,
  AbsDiff,
  Min,
  Max,
  Average,
  Shl,
  Shr,
  Mad
};
constexpr uint8_t aSigned = 1, bSigned = 2, dSigned = 4, saturates = 8,
                  wraps = 16;
enum class Second : uint8_t { None, Add, Min, Max, Merge };

/// Which bytes of the eight of a and b, or of the one word, make a part.
struct Part {
  uint8_t at = 0, bytes = 4;
};

int64_t widen(uint64_t word, Part part, bool isSigned) {
  uint64_t bits = word >> (8 * part.at);
  unsigned unused = 64 - 8 * part.bytes;
  return isSigned ? static_cast<int64_t>(bits << unused) >> unused
                  : static_cast<int64_t>(bits << unused >> unused);
}

int64_t saturateTo(int64_t value, unsigned bytes, bool isSigned) {
  int64_t one = 1;
  int64_t most = (one << (8 * bytes - (isSigned ? 1 : 0))) - 1;
  int64_t least = isSigned ? -(one << (8 * bytes - 1)) : 0;
  return std::clamp(value, least, most);
}

int64_t apply(VideoOp op, int64_t a, int64_t b, uint8_t flags) {
  switch (op) {
  case VideoOp::Add:
    return a + b;
  case VideoOp::Sub:
    return a - b;
  case VideoOp::AbsDiff:
    return a < b ? b - a : a - b;
  case VideoOp::Min:
    return std::min(a, b);
  case VideoOp::Max:
    return std::max(a, b);
  case VideoOp::Average:
    // Rounds away from zero for a positive sum and toward it for a negative.
    return (a + b + (a + b >= 0 ? 1 : 0)) >> 1;
  case VideoOp::Shl:
  case VideoOp::Shr: {
    int64_t by = flags & wraps ? b & 31 : std::min<int64_t>(b, 32);
    return op == VideoOp::Shl
               ? static_cast<int64_t>(static_cast<uint64_t>(a) << by)
               : a >> by;
  }
  case VideoOp::Mad:
    break;
  }
  return a * b;
}

/// The parts of an instruction, packed into Inst::imm: 4 bits of place and 4 of
/// width for a, b and d, four times each where SIMD.
struct Plan {
  Part a[4], b[4], d[4];
  uint8_t parts = 1;
};
} // namespace

// list: the plan's words in program.slots; mode: operation; extra: second.
static uint32_t storePlan(Builder &b, const Plan &plan) {
  auto first = static_cast<uint32_t>(b.program->slots.size());
  b.program->slots.push_back(plan.parts);
  for (const Part *which : {plan.a, plan.b, plan.d})
    for (unsigned p = 0; p < 4; ++p)
      b.program->slots.push_back(uint32_t(which[p].at) |
                                 uint32_t(which[p].bytes) << 8);
  return first;
}
static Plan loadPlan(const Slot *slots) {
  Plan plan;
  plan.parts = static_cast<uint8_t>(*slots++);
  for (Part *which : {plan.a, plan.b, plan.d})
    for (unsigned p = 0; p < 4; ++p, ++slots)
      which[p] = {static_cast<uint8_t>(*slots & 255),
                  static_cast<uint8_t>(*slots >> 8)};
  return plan;
}

static uint32_t second(Second how, int64_t value, uint32_t c, Part d,
                       bool isSigned) {
  auto third = isSigned ? int64_t(static_cast<int32_t>(c)) : int64_t(c);
  switch (how) {
  case Second::None:
    return static_cast<uint32_t>(value);
  case Second::Add:
    return static_cast<uint32_t>(value) + c;
  case Second::Min:
    return static_cast<uint32_t>(std::min(value, third));
  case Second::Max:
    return static_cast<uint32_t>(std::max(value, third));
  case Second::Merge:
    break;
  }
  uint32_t mask =
      d.bytes == 4 ? ~0u : ((1u << (8 * d.bytes)) - 1) << (8 * d.at);
  return (c & ~mask) |
         (static_cast<uint32_t>(static_cast<uint64_t>(value) << (8 * d.at)) &
          mask);
}

/// A value of \p bytes as its type holds it.
static int64_t wrapTo(int64_t value, unsigned bytes, bool isSigned) {
  return widen(static_cast<uint64_t>(value), {0, static_cast<uint8_t>(bytes)},
               isSigned);
}

static void video(Exec &x, const Inst &i) {
  Plan plan = loadPlan(&x.cta->program->slots[i.list]);
  const uint32_t *a = x.lanes<uint32_t>(i.a);
  const uint32_t *b = x.lanes<uint32_t>(i.b);
  const uint32_t *c = i.c == noSlot ? nullptr : x.lanes<uint32_t>(i.c);
  auto how = static_cast<Second>(i.extra);
  bool isSigned = i.flags & dSigned;
  setLanes<uint32_t>(x, i.d, [&](int l) {
    bool isSimd = plan.parts > 1;
    // SIMD selectors choose among the bytes of both words.
    uint64_t both = uint64_t(b[l]) << 32 | a[l];
    uint32_t result = c ? c[l] : 0;
    int64_t sum = 0;
    for (unsigned p = 0; p < plan.parts; ++p) {
      if (!plan.d[p].bytes)
        continue; // not in the mask
      int64_t left = widen(isSimd ? both : a[l], plan.a[p], i.flags & aSigned);
      int64_t right = widen(isSimd ? both : b[l], plan.b[p], i.flags & bSigned);
      int64_t value = apply(static_cast<VideoOp>(i.mode), left, right, i.flags);
      if (static_cast<VideoOp>(i.mode) == VideoOp::Mad) {
        value += isSigned ? int64_t(static_cast<int32_t>(c[l])) : int64_t(c[l]);
        value >>= i.size;
      }
      value = i.flags & saturates ? saturateTo(value, plan.d[p].bytes, isSigned)
                                  : wrapTo(value, plan.d[p].bytes, isSigned);
      if (isSimd && how == Second::Add)
        sum += value;
      else
        result = second(how, value, result, plan.d[p], isSigned);
    }
    return isSimd && how == Second::Add
               ? static_cast<uint32_t>(sum) + (c ? c[l] : 0)
               : result;
  });
}

/// Splits `%r1.b2` into the register and its selector.
static std::string_view takeSelector(tandem::emulator::Operand &operand) {
  size_t dot = operand.name.rfind('.');
  if (dot == std::string::npos || dot == 0 || dot + 1 == operand.name.size())
    return {};
  static constexpr std::string_view none;
  std::string_view selector = std::string_view(operand.name).substr(dot + 1);
  return (selector[0] == 'b' || selector[0] == 'h') ? selector : none;
}
static tandem::emulator::Operand without(tandem::emulator::Operand operand,
                                         std::string_view selector) {
  if (!selector.empty())
    operand.name.resize(operand.name.size() - selector.size() - 1);
  return operand;
}

/// `.b2` or `.h1` of a scalar instruction.
static bool scalarPart(std::string_view selector, Part &part) {
  if (selector.empty()) {
    part = {0, 4};
    return true;
  }
  auto at = static_cast<unsigned>(selector[1] - '0');
  bool isByte = selector[0] == 'b';
  part = {static_cast<uint8_t>(at * (isByte ? 1 : 2)),
          static_cast<uint8_t>(isByte ? 1 : 2)};
  return selector.size() == 2 && at < (isByte ? 4u : 2u);
}
/// `.b7531` or `.h32` of a SIMD one: which byte or half makes each part, the
/// highest first. \p from is where the plain order begins.
static bool simdParts(std::string_view selector, unsigned parts, unsigned from,
                      Part (&out)[4]) {
  unsigned bytes = 4 / parts;
  for (unsigned p = 0; p < parts; ++p) {
    unsigned which = from + p;
    if (!selector.empty()) {
      if (selector.size() != parts + 1)
        return false;
      which = static_cast<unsigned>(selector[parts - p] - '0');
      if (which >= 2 * parts)
        return false;
    }
    out[p] = {static_cast<uint8_t>(which * bytes), static_cast<uint8_t>(bytes)};
  }
  return true;
}
/// `.b20` of a SIMD target: the parts that are written.
static bool simdMask(std::string_view selector, unsigned parts,
                     Part (&out)[4]) {
  unsigned mask = selector.empty() ? ~0u : 0;
  for (char c : selector.substr(selector.empty() ? 0 : 1)) {
    if (c < '0' || c >= static_cast<char>('0' + parts))
      return false;
    mask |= 1u << (c - '0');
  }
  for (unsigned p = 0; p < parts; ++p)
    out[p] = {static_cast<uint8_t>(p * 4 / parts),
              static_cast<uint8_t>(mask >> p & 1 ? 4 / parts : 0)};
  return true;
}

/// Parts: dtype, atype, btype, sat, then mode or second operation.
template <VideoOp Op, unsigned Parts>
static void buildVideo(Builder &b, const Match &m) {
  if (!b.expect(Parts > 1 || Op == VideoOp::Mad ? 4 : 3, 4))
    return;
  tandem::emulator::Operand operands[3] = {b.operand(0), b.operand(1),
                                           b.operand(2)};
  std::string_view selectors[3];
  for (size_t i = 0; i < 3; ++i)
    selectors[i] = takeSelector(operands[i]);
  Plan plan;
  plan.parts = Parts;
  bool isRight = Parts == 1 ? scalarPart(selectors[0], plan.d[0]) &&
                                  scalarPart(selectors[1], plan.a[0]) &&
                                  scalarPart(selectors[2], plan.b[0])
                            : simdMask(selectors[0], Parts, plan.d) &&
                                  simdParts(selectors[1], Parts, 0, plan.a) &&
                                  simdParts(selectors[2], Parts, Parts, plan.b);
  if (!isRight) {
    b.fail(cat("'", b.ast->text(), "' has a selector that names no part"));
    return;
  }
  b.inst->a = b.readOperand(without(operands[1], selectors[1]), Type::B32);
  b.inst->b = b.readOperand(without(operands[2], selectors[2]), Type::B32);
  Second how = Second::None;
  b.inst->flags = static_cast<uint8_t>((m.is(1, ".s32") ? aSigned : 0) |
                                       (m.is(2, ".s32") ? bSigned : 0) |
                                       (m.is(0, ".s32") ? dSigned : 0));
  for (std::string_view part : m.parts) {
    b.inst->flags |= part == ".sat" ? saturates : part == ".wrap" ? wraps : 0;
    if (part == ".shr7" || part == ".shr15")
      b.inst->size = part == ".shr7" ? 7 : 15;
    how = part == ".add"   ? Second::Add
          : part == ".min" ? Second::Min
          : part == ".max" ? Second::Max
                           : how;
  }
  if (b.operands() == 4) {
    b.inst->c = b.read(3, Type::B32);
    if (how == Second::None && Op != VideoOp::Mad)
      how = Second::Merge;
  } else if (how != Second::None || !selectors[0].empty()) {
    b.fail(cat("'", b.ast->text(), "' needs a third source"));
    return;
  }
  b.inst->d = b.writeOperand(without(operands[0], selectors[0]), Type::B32);
  b.inst->mode = static_cast<uint8_t>(Op);
  b.inst->extra = static_cast<uint8_t>(how);
  b.inst->list = storePlan(b, plan);
  b.inst->run = video;
}

std::span<const Row> tandem::emulator::videoRows() {
  static constexpr const char *scalar =
      ".u32|.s32 .u32|.s32 .u32|.s32 .sat? .add|.min|.max?";
  static constexpr const char *shift =
      ".u32|.s32 .u32|.s32 .u32 .sat? .clamp|.wrap .add|.min|.max?";
  static constexpr const char *simd =
      ".u32|.s32 .u32|.s32 .u32|.s32 .sat? .add?";
  static const Row rows[] = {
      {"vadd", scalar, buildVideo<VideoOp::Add, 1>},
      {"vsub", scalar, buildVideo<VideoOp::Sub, 1>},
      {"vabsdiff", scalar, buildVideo<VideoOp::AbsDiff, 1>},
      {"vmin", scalar, buildVideo<VideoOp::Min, 1>},
      {"vmax", scalar, buildVideo<VideoOp::Max, 1>},
      {"vshl", shift, buildVideo<VideoOp::Shl, 1>},
      {"vshr", shift, buildVideo<VideoOp::Shr, 1>},
      {"vmad", ".u32|.s32 .u32|.s32 .u32|.s32 .sat? .shr7|.shr15?",
       buildVideo<VideoOp::Mad, 1>, "no negated operands, no .po"},
      {"vadd2", simd, buildVideo<VideoOp::Add, 2>},
      {"vsub2", simd, buildVideo<VideoOp::Sub, 2>},
      {"vavrg2", simd, buildVideo<VideoOp::Average, 2>},
      {"vabsdiff2", simd, buildVideo<VideoOp::AbsDiff, 2>},
      {"vmin2", simd, buildVideo<VideoOp::Min, 2>},
      {"vmax2", simd, buildVideo<VideoOp::Max, 2>},
      {"vadd4", simd, buildVideo<VideoOp::Add, 4>},
      {"vsub4", simd, buildVideo<VideoOp::Sub, 4>},
      {"vavrg4", simd, buildVideo<VideoOp::Average, 4>},
      {"vabsdiff4", simd, buildVideo<VideoOp::AbsDiff, 4>},
      {"vmin4", simd, buildVideo<VideoOp::Min, 4>},
      {"vmax4", simd, buildVideo<VideoOp::Max, 4>},
  };
  return rows;
}
