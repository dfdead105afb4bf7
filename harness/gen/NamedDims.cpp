//===- NamedDims.cpp - Sizes of dims that have a meaning ------------------===//
#include "harness/gen/NamedDims.h"

#include "harness/gen/Dims.h"
#include "refops/core/OpRules.h"
#include "refops/core/TypeRules.h"

#include <algorithm>

using namespace tandem;
using namespace tandem::harness;

static bool hasHeads(Opcode op) {
  return op == Opcode::ATTENTION_TILE || op == Opcode::ATTENTION_COMBINE ||
         op == Opcode::ATTN_STEP || op == Opcode::KV_APPEND ||
         op == Opcode::ROPE || op == Opcode::GDN_STEP;
}

std::vector<std::string>
tandem::harness::drawingOrder(Opcode op, std::vector<std::string> names) {
  // Small dims first: what is left over goes to the lengths.
  static constexpr std::string_view order[] = {"D", "Dk", "Dv",    "kvh",  "Hk",
                                               "h", "Hv", "heads", "B",    "n",
                                               "S", "K",  "N",     "half", "G"};
  if (!hasHeads(op) && op != Opcode::DEQUANT && op != Opcode::GEMM_TILE &&
      op != Opcode::GEMV_TILE)
    return names;
  const auto rankOf = [](const std::string &name) {
    return std::find(std::begin(order), std::end(order), name) -
           std::begin(order);
  };
  // Insertion keeps the order of equals, and there are few.
  for (size_t i = 1; i < names.size(); ++i)
    for (size_t j = i; j > 0 && rankOf(names[j]) < rankOf(names[j - 1]); --j)
      std::swap(names[j], names[j - 1]);
  return names;
}

static int64_t within(int64_t size, int64_t room) {
  return std::clamp<int64_t>(size, 1, std::max<int64_t>(room, 1));
}

/// 64 and 128 are what models have; the others have tails.
static int64_t drawHeadDim(Choices &choices, Opcode op, int64_t room) {
  static constexpr int64_t even[] = {16, 64, 128, 80, 96, 2, 34, 8, 256};
  static constexpr int64_t any[] = {16, 64, 128, 80, 96, 1, 33, 7, 256};
  const size_t which = choices.pick({6, 6, 4, 2, 2, 1, 2, 2, 1});
  const int64_t size = op == Opcode::ROPE ? even[which] : any[which];
  return size <= room ? size : 2;
}

static int64_t drawGroups(Choices &choices,
                          const std::map<std::string, int64_t> &sizes) {
  const auto k = sizes.find("K");
  const int64_t columns =
      k == sizes.end() ? 1 : std::max<int64_t>(k->second, 1);
  // 0 is one group; then lengths that K is a multiple of, or is not.
  static constexpr int64_t lengths[] = {32, 128, 64, 16, 1, 7};
  const size_t which = choices.pick({4, 5, 4, 2, 2, 1, 2});
  if (which == 0)
    return 1;
  const int64_t length = lengths[which - 1];
  return (columns + length - 1) / length;
}

std::optional<int64_t> tandem::harness::drawNamedDim(
    Choices &choices, Opcode op, const std::string &name,
    const std::map<std::string, int64_t> &sizes, int64_t room) {
  const auto sizeOf = [&](const char *other) {
    const auto found = sizes.find(other);
    return found == sizes.end() ? int64_t(1) : found->second;
  };
  if (name == "G")
    return drawGroups(choices, sizes);
  if (!hasHeads(op))
    return std::nullopt;
  if (name == "D" || name == "Dk" || name == "Dv")
    return drawHeadDim(choices, op, room);
  if (name == "kvh" || name == "Hk" || name == "heads") {
    static constexpr int64_t counts[] = {1, 2, 4, 3, 8};
    return within(counts[choices.pick({5, 5, 2, 1, 1})], room);
  }
  if (name == "h" || name == "Hv") {
    // One query head a key head, or groups of them (28 over 4, 8 over 1).
    static constexpr int64_t groups[] = {1, 2, 4, 7, 8, 3};
    const int64_t few = sizeOf(name == "h" ? "kvh" : "Hk");
    const int64_t group = groups[choices.pick({4, 3, 3, 1, 2, 1})];
    return few * within(group, room / std::max<int64_t>(few, 1));
  }
  if (name == "half") {
    const int64_t all = sizeOf("D") / 2;
    return choices.rarely(4) ? static_cast<int64_t>(
                                   choices.draw(static_cast<uint64_t>(all) + 1))
                             : all;
  }
  if (name == "S" && op == Opcode::KV_APPEND && sizes.contains("n"))
    // All new rows have a slot, where the position is a number.
    return sizeOf("n") + drawDim(choices, std::max<int64_t>(room, 1), false) -
           1;
  if (name == "B" || name == "n")
    return within(drawDim(choices, std::min<int64_t>(room, 5), false), room);
  return std::nullopt;
}

bool tandem::harness::isComputedFrom(const OpInfo &op,
                                     const std::string &name) {
  for (const Signature &signature : signaturesOf(op))
    for (const SignatureOperand &operand : signature.operands)
      for (const std::string &dim : operand.dims) {
        if (dim == ".." || dim == "~" || isIdentifier(dim) ||
            std::isdigit(static_cast<unsigned char>(dim[0])))
          continue;
        const DimExpr expr = parseDimExpr(dim);
        if (expr.name == name || expr.other == name)
          return true;
      }
  return false;
}
