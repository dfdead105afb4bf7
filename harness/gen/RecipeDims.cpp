//===- RecipeDims.cpp - The dims of a generated step ----------------------===//
#include "harness/gen/RecipeBuilder.h"

#include "harness/gen/Dims.h"
#include "harness/gen/NamedDims.h"
#include "harness/gen/Rules.h"
#include "refops/core/OpRules.h"
#include "refops/core/TypeRules.h"

#include <algorithm>
#include <cmath>

using namespace tandem;
using namespace tandem::harness;

int64_t RecipeBuilder::sizeOf(const Dim &dim) const {
  return dim.isSymbol() ? dims.find(dim.symbol())->second : dim.size();
}

int64_t RecipeBuilder::sizeOf(const std::vector<Dim> &shape) const {
  int64_t product = 1;
  for (const Dim &dim : shape)
    product *= sizeOf(dim);
  return product;
}

Dim RecipeBuilder::newDim(const std::string &name, int64_t limit,
                          bool allowZero) {
  return named(name, drawDim(choices, limit, allowZero));
}

/// A symbol of that size, or now and then the number.
Dim RecipeBuilder::named(const std::string &name, int64_t size) {
  // A number in the recipe asks the compiler for a kernel of that size.
  if (choices.rarely(10))
    return Dim(size);
  std::string symbol = name;
  for (int i = 2; dims.contains(symbol); ++i)
    symbol = name + std::to_string(i);
  dims[symbol] = size;
  return Dim(symbol);
}

Dim RecipeBuilder::dimOf(const std::string &formal, const Names &names) const {
  if (std::isdigit(static_cast<unsigned char>(formal[0])))
    return Dim(static_cast<int64_t>(std::stoll(formal)));
  if (isIdentifier(formal))
    return names.at(formal);
  const DimExpr expr = parseDimExpr(formal);
  const int64_t a = sizeOf(names.at(expr.name));
  switch (expr.kind) {
  case DimExpr::Kind::HalfUp:
    return Dim(a / 2 + a % 2);
  case DimExpr::Kind::Plus:
    return Dim(a + expr.number);
  case DimExpr::Kind::Times:
    break;
  }
  return Dim(a * sizeOf(names.at(expr.other)));
}

/// The names in a dim of a signature: none, itself, or those it is made of.
static std::vector<std::string> namesIn(const std::string &dim) {
  if (dim == ".." || dim == "~" ||
      std::isdigit(static_cast<unsigned char>(dim[0])))
    return {};
  if (isIdentifier(dim))
    return {dim};
  const DimExpr expr = parseDimExpr(dim);
  if (expr.other.empty())
    return {expr.name};
  return {expr.name, expr.other};
}

/// Draws every dim of \p signature that has no size yet: named ones first, so
/// that rows get the room they need, then the leading ones.
void RecipeBuilder::bindDims(const OpInfo &op, const Signature &signature,
                             Names &names,
                             std::optional<std::vector<Dim>> &lead) {
  std::vector<std::string> open;
  bool hasLead = false;
  for (const SignatureOperand &operand : signature.operands)
    for (const std::string &dim : operand.dims) {
      if (dim == ".." || dim == "~")
        hasLead = true;
      for (const std::string &name : namesIn(dim))
        if (!names.contains(name) &&
            std::find(open.begin(), open.end(), name) == open.end())
          open.push_back(name);
    }
  open = drawingOrder(op.code, std::move(open));
  double room = static_cast<double>(workLimit(op.code, elements));
  auto spend = [&](const Dim &dim) {
    room = std::max(1.0, room / std::max<double>(1, double(sizeOf(dim))));
  };
  for (const auto &[name, dim] : names)
    spend(dim);
  if (lead)
    for (const Dim &dim : *lead)
      spend(dim);
  for (size_t i = 0; i < open.size(); ++i) {
    const double share =
        i + 1 < open.size() ? std::min(room, 4 * std::sqrt(room)) : room;
    std::map<std::string, int64_t> sizes;
    for (const auto &[name, dim] : names)
      sizes[name] = sizeOf(dim);
    if (const std::optional<int64_t> size = drawNamedDim(
            choices, op.code, open[i], sizes, static_cast<int64_t>(share))) {
      // Lengths may be symbols; what heads and groups are is part of a kernel.
      const bool isLength =
          (open[i] == "S" || open[i] == "B") && !isComputedFrom(op, open[i]);
      const Dim dim = isLength ? named(open[i], *size) : Dim(*size);
      names.emplace(open[i], dim);
      spend(dim);
      continue;
    }
    if (isComputedFrom(op, open[i])) {
      const Dim dim(drawDim(choices, static_cast<int64_t>(share),
                            isAlone && !refusesEmpty(op.code, open[i])));
      names.emplace(open[i], dim);
      spend(dim);
      continue;
    }
    const Dim dim = newDim(open[i], static_cast<int64_t>(share),
                           isAlone && !refusesEmpty(op.code, open[i]));
    spend(dim);
    names.emplace(open[i], dim);
  }
  if (lead || !hasLead)
    return;
  lead.emplace();
  const bool needsOne = open.empty() && names.empty();
  size_t rank = choices.pick({10, 50, 25, 10, 3, 1, 1}) + (needsOne ? 1 : 0);
  // The last of them varies fastest; drawn first, it gets the larger part.
  static constexpr const char *letters[] = {"M", "B", "C", "D",
                                            "E", "F", "G", "H"};
  rank = std::min(rank, maxRank - names.size());
  for (size_t i = 0; i < rank; ++i) {
    const Dim dim = newDim(letters[i], static_cast<int64_t>(room),
                           isAlone && !refusesEmpty(op.code, "M"));
    spend(dim);
    lead->insert(lead->begin(), dim);
  }
}

/// A shape that broadcasts to \p shape: all of it, its tail, or ones.
std::vector<Dim> RecipeBuilder::broadcastPart(const std::vector<Dim> &shape) {
  switch (choices.pick({6, 2, 2})) {
  case 1: {
    const auto drop =
        static_cast<std::ptrdiff_t>(choices.draw(shape.size() + 1));
    return {shape.begin() + drop, shape.end()};
  }
  case 2: {
    std::vector<Dim> ones = shape;
    for (Dim &dim : ones)
      if (choices.rarely(2))
        dim = Dim(int64_t(1));
    return ones;
  }
  default:
    return shape;
  }
}
