//===- map.cpp - Lowering of insn.map -------------------------------------===//
//
// Each node of the expression is one f32 operation on tiles. Numbers take the
// shape of what they meet, so that an expression over a row operand alone is
// computed once for all rows.
//
//===----------------------------------------------------------------------===//
#include "codegen/ops/MapParser.h"
#include "codegen/ops/Math.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include <limits>
#include <optional>

using namespace mlir;
using namespace tandem;
using namespace tandem::codegen;
using Predicate = arith::CmpFPredicate;

template <Predicate predicate>
static Tile compare(Tile x, Tile y) {
  x.k->unify(x, y);
  return {arith::CmpFOp::create(x.k->ops(), predicate, x.value, y.value), x.k};
}

/// A NaN on either side wins.
static Tile maximum(Tile x, Tile y) {
  x.k->unify(x, y);
  return {arith::MaximumFOp::create(x.k->ops(), x.value, y.value), x.k};
}
static Tile minimum(Tile x, Tile y) {
  x.k->unify(x, y);
  return {arith::MinimumFOp::create(x.k->ops(), x.value, y.value), x.k};
}

static Tile floorOf(Tile x) {
  return {math::FloorOp::create(x.k->ops(), x.value), x.k};
}
static Tile squareRoot(Tile x) {
  return {tile::SqrtOp::create(x.k->ops(), x.type(), x.value), x.k};
}
static Tile relu(Tile x) { return maximum(x, x.k->like(x, 0)); }
static Tile silu(Tile x) { return x * sigmoid(x); }
static Tile negative(Tile x) { return -x; }
static Tile add(Tile x, Tile y) { return x + y; }
static Tile subtract(Tile x, Tile y) { return x - y; }
static Tile multiply(Tile x, Tile y) { return x * y; }
static Tile divide(Tile x, Tile y) { return x / y; }

static constexpr struct {
  std::string_view name;
  Tile (*emit)(Tile x);
} unary[] = {
    {"neg", negative},       {"exp", codegen::exp},   {"sqrt", squareRoot},
    {"rsqrt", rsqrt},        {"tanh", codegen::tanh}, {"sigmoid", sigmoid},
    {"erfc", codegen::erfc}, {"abs", codegen::abs},   {"floor", floorOf},
    {"relu", relu},          {"silu", silu},
};

static constexpr struct {
  std::string_view name;
  Tile (*emit)(Tile x, Tile y);
} binary[] = {
    {"+", add},
    {"-", subtract},
    {"*", multiply},
    {"/", divide},
    {"min", minimum},
    {"max", maximum},
    {"<", compare<Predicate::OLT>},
    {"<=", compare<Predicate::OLE>},
    {">", compare<Predicate::OGT>},
    {">=", compare<Predicate::OGE>},
    {"==", compare<Predicate::OEQ>},
    // The one relation that holds for a NaN.
    {"!=", compare<Predicate::UNE>},
};

/// The call of \p name, or nothing if there is no such function.
static std::optional<Tile> emitCall(RowBuilder &k, std::string_view name,
                                    ArrayRef<Tile> args) {
  if (args.size() == 1)
    for (const auto &known : unary)
      if (known.name == name)
        return known.emit(args[0]);
  if (args.size() == 2)
    for (const auto &known : binary)
      if (known.name == name)
        return known.emit(args[0], args[1]);
  if (args.size() == 3 && name == "where" && args[0].element().isInteger(1))
    return k.select(args[0], args[1], args[2]);
  return std::nullopt;
}

/// \p number in the shape of \p other, of whatever type.
static Tile numberLike(Tile other, float number) {
  RowBuilder &k = *other.k;
  auto type = cast<RankedTensorType>(other.type().clone(k.ops().getF32Type()));
  return {arith::ConstantOp::create(
              k.ops(), DenseElementsAttr::get(type, llvm::APFloat(number))),
          &k};
}

static std::optional<Tile> emitExpression(RowBuilder &k,
                                          ArrayRef<MapNode> nodes) {
  const Tile first = k.input32(0);
  // Numbers have no tile before something meets them.
  std::vector<std::optional<Tile>> tiles;
  for (const MapNode &node : nodes) {
    std::optional<Tile> tile;
    switch (node.kind) {
    case MapNode::Kind::Number:
      break;
    case MapNode::Kind::Operand:
      if (node.operand >= k.numInputs())
        return std::nullopt;
      tile = k.input32(node.operand);
      break;
    case MapNode::Kind::Call: {
      Tile shape = first;
      for (size_t arg : llvm::reverse(node.args))
        if (tiles[arg])
          shape = *tiles[arg];
      SmallVector<Tile, 3> args;
      for (size_t arg : node.args)
        args.push_back(tiles[arg] ? *tiles[arg]
                                  : numberLike(shape, nodes[arg].number));
      tile = emitCall(k, node.name, args);
      if (!tile)
        return std::nullopt;
      break;
    }
    }
    tiles.push_back(tile);
  }
  if (nodes.empty())
    return std::nullopt;
  if (!tiles.back())
    return numberLike(first, nodes.back().number);
  // A relation is a condition, and no value.
  return tiles.back()->element().isF32() ? tiles.back() : std::nullopt;
}

static void emit(RowBuilder &k) {
  const std::string text = k.params().getString("expr", "");
  std::optional<Tile> value = emitExpression(k, parseMapText(text));
  assert(value && "the checks of recipes refuse malformed expressions");
  // Without assertions nothing that could pass for a result.
  k.result(
      value ? *value
            : k.like(k.input32(0), std::numeric_limits<double>::quiet_NaN()));
}

OpLowering codegen::lowering_map() { return {emit}; }
