//===- Lookahead.cpp - What the decoder must know of a whole body ---------===//
#include "codegen/device/emulator/Lookahead.h"

#include "codegen/device/emulator/Exec.h"

#include <algorithm>
#include <set>
#include <unordered_map>

using namespace tandem;
using namespace tandem::emulator;

using OperandKind = emulator::Operand::Kind;

static bool has(const Instruction &one, std::string_view modifier) {
  return std::find(one.modifiers.begin(), one.modifiers.end(), modifier) !=
         one.modifiers.end();
}
static std::string_view typeOf(const Instruction &one) {
  return one.modifiers.empty() ? std::string_view()
                               : std::string_view(one.modifiers.back());
}
static bool isRegister(const emulator::Operand &operand) {
  return operand.kind == OperandKind::Register ||
         operand.kind == OperandKind::Symbol;
}

// Offsets -------------------------------------------------------------------

/// 64-bit arithmetic that an address goes through.
static bool passesAddress(const Instruction &one) {
  std::string_view type = typeOf(one);
  return (one.opcode == "add" || one.opcode == "sub" || one.opcode == "mov" ||
          one.opcode == "shl" || one.opcode == "cvta") &&
         (type == ".s64" || type == ".u64" || type == ".b64");
}
/// Where a 32-bit offset becomes 64-bit: which operands, and with which sign.
static Wrap widens(const Instruction &one, size_t &first, size_t &last) {
  first = 1;
  last = 2;
  if ((one.opcode == "mul" || one.opcode == "mad") && has(one, ".wide"))
    return typeOf(one) == ".s32"   ? Wrap::Signed
           : typeOf(one) == ".u32" ? Wrap::Unsigned
                                   : Wrap::No;
  last = 1;
  if (one.opcode != "cvt" || one.modifiers.size() != 2 ||
      (one.modifiers[0] != ".s64" && one.modifiers[0] != ".u64"))
    return Wrap::No;
  return one.modifiers[1] == ".s32"   ? Wrap::Signed
         : one.modifiers[1] == ".u32" ? Wrap::Unsigned
                                      : Wrap::No;
}
static bool is32BitArithmetic(const Instruction &one) {
  std::string_view type = typeOf(one);
  if (type != ".s32" && type != ".u32" && type != ".b32")
    return false;
  if (one.opcode == "add" || one.opcode == "sub")
    return one.modifiers.size() == 1;
  if (one.opcode == "shl")
    return true;
  return (one.opcode == "mul" || one.opcode == "mad") && has(one, ".lo") &&
         one.modifiers.size() == 2;
}

static void findWraps(const Entry &of, std::vector<Wrap> &wraps) {
  std::unordered_map<std::string, std::vector<size_t>> makers;
  std::vector<std::string> work;
  std::set<std::string> seen;
  auto follow = [&](const emulator::Operand &operand) {
    if (isRegister(operand) && seen.insert(operand.name).second)
      work.push_back(operand.name);
  };
  for (size_t i = 0; i < of.body.size(); ++i) {
    const Instruction &one = of.body[i];
    if (!one.operands.empty() && isRegister(one.operands[0]))
      makers[one.operands[0].name].push_back(i);
    for (const emulator::Operand &operand : one.operands)
      if (operand.kind == OperandKind::Address && !operand.parts.empty())
        follow(operand.parts[0]);
  }
  std::vector<std::pair<std::string, Wrap>> narrow;
  while (!work.empty()) {
    std::string name = std::move(work.back());
    work.pop_back();
    for (size_t i : makers[name]) {
      const Instruction &one = of.body[i];
      size_t first, last;
      Wrap wrap = widens(one, first, last);
      if (wrap != Wrap::No) {
        for (size_t k = first; k <= last && k < one.operands.size(); ++k)
          if (isRegister(one.operands[k]))
            narrow.emplace_back(one.operands[k].name, wrap);
        if (one.opcode == "mad" && one.operands.size() == 4)
          follow(one.operands[3]);
      } else if (passesAddress(one)) {
        for (size_t k = 1; k < one.operands.size(); ++k)
          follow(one.operands[k]);
      }
    }
  }
  std::set<std::pair<std::string, Wrap>> done;
  while (!narrow.empty()) {
    auto entry = std::move(narrow.back());
    narrow.pop_back();
    if (!done.insert(entry).second)
      continue;
    for (size_t i : makers[entry.first]) {
      const Instruction &one = of.body[i];
      bool isMove =
          one.opcode == "mov" && typeSize(typeNamed(typeOf(one))) == 4;
      if (!isMove && !is32BitArithmetic(one))
        continue;
      // Used with both signs: what is wrong with neither is not reported.
      if (!isMove)
        wraps[i] = wraps[i] == Wrap::No ? entry.second : Wrap::Signed;
      for (size_t k = 1; k < one.operands.size(); ++k)
        if (isRegister(one.operands[k]))
          narrow.emplace_back(one.operands[k].name, entry.second);
    }
  }
}

namespace {
enum class Sum : uint8_t { Add, Sub, Mul, Mad, Shl };
}

/// Lanes whose 32-bit sum wraps; 32 bits suffice to see it.
static uint32_t wrappingSums(const Exec &x, const Inst &i) {
  const uint32_t *a = x.lanes<uint32_t>(i.a);
  const uint32_t *b = x.lanes<uint32_t>(i.b);
  uint32_t any = 0;
  bool isSigned = i.flags;
  auto wraps = [=](int l) {
    uint32_t sum = a[l] + b[l];
    uint32_t asSigned = (a[l] ^ sum) & (b[l] ^ sum);
    // With a negative constant the carry means no borrow.
    uint32_t carry = (a[l] & b[l]) | ((a[l] | b[l]) & ~sum);
    return isSigned ? asSigned : carry ^ b[l];
  };
  for (int l = 0; l < warpSize; ++l)
    any |= wraps(l);
  if (!(any >> 31))
    return 0;
  return maskOf([=](int l) { return wraps(l) >> 31; });
}

// mode: operation; flags: signed.
static void checkWrap(Exec &x, const Inst &i) {
  const uint32_t *a = x.lanes<uint32_t>(i.a);
  const uint32_t *b = x.lanes<uint32_t>(i.b);
  const uint32_t *c = i.c == noSlot ? a : x.lanes<uint32_t>(i.c);
  auto op = static_cast<Sum>(i.mode);
  bool isSigned = i.flags;
  auto widen = [=](uint32_t v) {
    return isSigned ? int64_t(static_cast<int32_t>(v)) : int64_t(v);
  };
  // An unsigned sum with a negative constant is a difference.
  auto exact = [=](int l) -> int64_t {
    int64_t p = widen(a[l]), q = widen(b[l]);
    switch (op) {
    case Sum::Add:
      return p + (isSigned ? q : int64_t(static_cast<int32_t>(b[l])));
    case Sum::Sub:
      return p - q;
    case Sum::Mul:
      return p * q;
    case Sum::Mad:
      return p * q + int64_t(static_cast<int32_t>(c[l]));
    case Sum::Shl:
      break;
    }
    return b[l] > 31 ? 0 : p * (int64_t(1) << b[l]);
  };
  uint32_t bad = op == Sum::Add ? wrappingSums(x, i) : maskOf([=](int l) {
    int64_t value = exact(l);
    return value != widen(static_cast<uint32_t>(value));
  });
  bad &= x.active;
  if (bad) {
    unsigned lane = firstLane(bad);
    note(x, i, lane, "wrap",
         cat("an offset into memory is ", exact(static_cast<int>(lane)),
             " and wraps in 32 bits"));
  }
}

Inst emulator::wrapCheck(const Instruction &ast, const Inst &inst, Wrap wrap) {
  Inst check;
  check.line = inst.line;
  check.guard = inst.guard;
  check.guardNegated = inst.guardNegated;
  check.a = inst.a;
  check.b = inst.b;
  check.c = inst.c;
  check.flags = wrap == Wrap::Signed;
  check.mode = static_cast<uint8_t>(ast.opcode == "add"   ? Sum::Add
                                    : ast.opcode == "sub" ? Sum::Sub
                                    : ast.opcode == "mul" ? Sum::Mul
                                    : ast.opcode == "mad" ? Sum::Mad
                                                          : Sum::Shl);
  check.run = checkWrap;
  return check;
}

// Contraction ---------------------------------------------------------------

/// `mul.f32`, `mul.ftz.f32`, `mul.f64`: without rounding and saturation.
static bool isPlain(const Instruction &one, std::string_view type) {
  return typeOf(one) == type &&
         (one.modifiers.size() == 1 ||
          (one.modifiers.size() == 2 && one.modifiers[0] == ".ftz"));
}

static void findContractions(const Entry &of, std::vector<int> &contracts) {
  std::set<size_t> labels;
  for (const auto &[place, at] : of.labels)
    labels.insert(at);
  // Products of the basic block that still hold, by their register.
  std::unordered_map<std::string, size_t> products;
  for (size_t i = 0; i < of.body.size(); ++i) {
    const Instruction &one = of.body[i];
    if (labels.contains(i))
      products.clear();
    std::string_view type = typeOf(one);
    bool isFloat = type == ".f32" || type == ".f64";
    if (isFloat && (one.opcode == "add" || one.opcode == "sub") &&
        isPlain(one, type) && one.guard.empty() && one.operands.size() == 3)
      for (size_t k : {size_t(1), size_t(2)}) {
        auto found = products.find(one.operands[k].name);
        if (isRegister(one.operands[k]) && found != products.end() &&
            of.body[found->second].modifiers == one.modifiers)
          contracts[i] = static_cast<int>(found->second);
      }
    // What this writes ends products that it made or read.
    std::vector<const emulator::Operand *> writes;
    for (const emulator::Operand &operand : one.operands) {
      writes.push_back(&operand);
      for (const emulator::Operand &part : operand.parts)
        writes.push_back(&part);
      if (one.pairAt < 0)
        break;
    }
    for (const emulator::Operand *written : writes)
      std::erase_if(products, [&](const auto &entry) {
        const Instruction &product = of.body[entry.second];
        return entry.first == written->name ||
               product.operands[1].name == written->name ||
               product.operands[2].name == written->name;
      });
    bool isProduct = isFloat && one.opcode == "mul" && isPlain(one, type) &&
                     one.guard.empty() && one.operands.size() == 3;
    // A product that overwrites its own operand cannot be computed again.
    if (isProduct && one.operands[0].name != one.operands[1].name &&
        one.operands[0].name != one.operands[2].name)
      products[one.operands[0].name] = i;
    if (one.opcode == "bra" || one.opcode == "brx" || one.opcode == "call")
      products.clear();
  }
}

Lookahead emulator::lookAhead(const Entry &of) {
  Lookahead result;
  result.wraps.assign(of.body.size(), Wrap::No);
  result.contracts.assign(of.body.size(), -1);
  findWraps(of, result.wraps);
  findContractions(of, result.contracts);
  return result;
}
