//===- Tiles.cpp - Memory, reductions and products of whole tiles ---------===//
#include "codegen/evaluate/Interpreter.h"
#include "codegen/evaluate/TensorCoreModel.h"

#include <algorithm>
#include <cstring>

using namespace mlir;
using namespace tandem;
using namespace tandem::evaluate;
using tile::LinearLayout;

static uint64_t bitsOfAttr(Attribute attribute) {
  if (auto number = dyn_cast<FloatAttr>(attribute))
    return number.getValue().bitcastToAPInt().getZExtValue();
  return cast<IntegerAttr>(attribute).getValue().getZExtValue();
}

static uint64_t loadBits(const std::byte *from, int bytes) {
  uint64_t bits = 0;
  std::memcpy(&bits, from, size_t(bytes)); // little-endian hosts only
  return bits;
}

namespace {
/// The window that load and store share.
struct Window {
  uint64_t base;
  int64_t start, stride, columns; // columns: those that exist
  const Tile *rows = nullptr, *mask = nullptr;
  int bytes, vector;

  bool hasRow(int64_t row) const { return !mask || mask->at(row, 0); }
  uint64_t address(int64_t row, int64_t column) const {
    const int64_t offset =
        (rows ? int64_t(rows->at(row, 0)) : 0) + (start + column) * stride;
    return base + uint64_t(offset) * uint64_t(bytes);
  }
};
} // namespace

/// Checks the promise of `vector` where a vector access would start.
static bool isVectorAligned(const Window &window, int64_t row) {
  const uint64_t width = std::min(window.vector * window.bytes, 16);
  return window.address(row, 0) % width == 0;
}

LogicalResult Interpreter::runLoad(tile::LoadOp op) {
  Tile result = shaped(op.getType());
  Window w;
  w.base = get(op.getBase()).bits[0];
  w.start = get(op.getStart()).scalarValue();
  w.stride = op.getStride() ? get(op.getStride()).scalarValue() : 1;
  w.columns = std::clamp<int64_t>(get(op.getEnd()).scalarValue() - w.start, 0,
                                  result.cols);
  w.rows = op.getRows() ? &get(op.getRows()) : nullptr;
  w.mask = op.getMask() ? &get(op.getMask()) : nullptr;
  w.bytes = bytesOf(result.kind);
  w.vector = int(op.getVector());
  const uint64_t pad = bitsOfAttr(op.getPad());
  for (int64_t row = 0; row < result.rows; ++row) {
    const int64_t columns = w.hasRow(row) ? w.columns : 0;
    if (columns && !isVectorAligned(w, row))
      return finding(op, "misaligned", w.address(row, 0),
                     "the row does not start at a multiple of vector = " +
                         std::to_string(w.vector) + " elements");
    for (int64_t column = 0; column < result.cols; ++column) {
      uint64_t &bits = result.at(row, column);
      bits = pad;
      if (column >= columns)
        continue;
      const uint64_t address = w.address(row, column);
      const std::byte *from = memory.find(address, uint64_t(w.bytes));
      if (!from)
        return finding(op, "out-of-bounds", address,
                       "element (" + std::to_string(row) + ", " +
                           std::to_string(column) +
                           ") lies outside of every allocation");
      bits = loadBits(from, w.bytes);
    }
  }
  set(op.getResult(), std::move(result));
  return success();
}

LogicalResult Interpreter::runLoadScalar(tile::LoadScalarOp op) {
  Tile result = shaped(op.getType());
  const int bytes = bytesOf(result.kind);
  const uint64_t address =
      get(op.getBase()).bits[0] +
      uint64_t(get(op.getOffset()).scalarValue()) * uint64_t(bytes);
  const std::byte *from = memory.find(address, uint64_t(bytes));
  if (!from)
    return finding(op, "out-of-bounds", address,
                   "the number lies outside of every allocation");
  result.bits[0] = loadBits(from, bytes);
  set(op.getResult(), std::move(result));
  return success();
}

LogicalResult Interpreter::runGather(tile::GatherOp op) {
  Tile result = shaped(op.getType());
  const uint64_t base = get(op.getBase()).bits[0];
  const Tile &offsets = get(op.getOffsets());
  const Tile *mask = op.getMask() ? &get(op.getMask()) : nullptr;
  const int bytes = bytesOf(result.kind);
  const int64_t vector = op.getVector();
  for (int64_t row = 0; row < result.rows; ++row) {
    if (mask && !mask->at(row, 0))
      continue;
    for (int64_t column = 0; column < result.cols; ++column) {
      const int64_t first = column / vector * vector;
      const uint64_t address =
          base +
          (offsets.at(row, first) + uint64_t(column - first)) * uint64_t(bytes);
      const std::byte *from = memory.find(address, uint64_t(bytes));
      if (!from)
        return finding(op, "out-of-bounds", address,
                       "element (" + std::to_string(row) + ", " +
                           std::to_string(column) +
                           ") lies outside of every allocation");
      result.at(row, column) = loadBits(from, bytes);
    }
  }
  set(op.getResult(), std::move(result));
  return success();
}

LogicalResult Interpreter::runStore(tile::StoreOp op) {
  const Tile &value = get(op.getValue());
  Window w;
  w.base = get(op.getBase()).bits[0];
  w.start = get(op.getStart()).scalarValue();
  w.stride = op.getStride() ? get(op.getStride()).scalarValue() : 1;
  w.columns = std::clamp<int64_t>(get(op.getEnd()).scalarValue() - w.start, 0,
                                  value.cols);
  w.rows = op.getRows() ? &get(op.getRows()) : nullptr;
  w.mask = op.getMask() ? &get(op.getMask()) : nullptr;
  w.bytes = bytesOf(value.kind);
  w.vector = int(op.getVector());
  for (int64_t row = 0; row < value.rows; ++row) {
    const int64_t columns = w.hasRow(row) ? w.columns : 0;
    if (columns && !isVectorAligned(w, row))
      return finding(op, "misaligned", w.address(row, 0),
                     "the row does not start at a multiple of vector = " +
                         std::to_string(w.vector) + " elements");
    for (int64_t column = 0; column < columns; ++column) {
      const uint64_t address = w.address(row, column);
      std::byte *to = memory.find(address, uint64_t(w.bytes));
      if (!to)
        return finding(op, "out-of-bounds", address,
                       "element (" + std::to_string(row) + ", " +
                           std::to_string(column) +
                           ") lies outside of every allocation");
      std::memcpy(to, &value.bits[size_t(row * value.cols + column)],
                  size_t(w.bytes));
    }
  }
  return success();
}

LogicalResult Interpreter::runMask(tile::MaskOp op) {
  Tile result = get(op.getValue());
  const int64_t exists =
      get(op.getEnd()).scalarValue() - get(op.getStart()).scalarValue();
  const uint64_t fill = bitsOfAttr(op.getFill());
  for (int64_t row = 0; row < result.rows; ++row)
    for (int64_t column = std::max<int64_t>(exists, 0); column < result.cols;
         ++column)
      result.at(row, column) = fill;
  set(op.getResult(), std::move(result));
  return success();
}

static uint64_t combine(tile::ReduceKind kind, uint64_t x, uint64_t y) {
  switch (kind) {
  case tile::ReduceKind::Sum:
    return fromF32(asF32(x) + asF32(y));
  case tile::ReduceKind::MaxU:
    return std::max(x, y);
  case tile::ReduceKind::Max: {
    const float a = asF32(x), b = asF32(y);
    if (std::isnan(a) || std::isnan(b))
      return 0x7fffffff;
    if (a == b)
      return std::signbit(a) ? y : x;
    return a > b ? x : y;
  }
  }
  llvm_unreachable("a reduce kind");
}

/// Columns in the order in which the layout reduces them:
/// [warp][lane][register] with lanes numbered from the lowest column basis up.
static std::vector<std::vector<std::vector<int64_t>>>
reductionOrder(const LinearLayout &layout) {
  auto columnBases = [](const tile::Bases &bases) {
    std::vector<int64_t> columns;
    for (const tile::Basis &basis : bases)
      if (basis[tile::colDim])
        columns.push_back(basis[tile::colDim]);
    return columns;
  };
  auto combined = [](const std::vector<int64_t> &bases, size_t index) {
    int64_t column = 0;
    for (size_t bit = 0; bit < bases.size(); ++bit)
      if (index >> bit & 1)
        column ^= bases[bit];
    return column;
  };
  const std::vector<int64_t> registers = columnBases(layout.registers);
  std::vector<int64_t> lanes = columnBases(layout.lanes);
  const std::vector<int64_t> warps = columnBases(layout.warps);
  std::sort(lanes.begin(), lanes.end());
  const int64_t period = layout.linearShape()[1];

  std::vector<std::vector<std::vector<int64_t>>> order(size_t(1)
                                                       << warps.size());
  for (size_t warp = 0; warp < order.size(); ++warp) {
    order[warp].resize(size_t(1) << lanes.size());
    for (size_t lane = 0; lane < order[warp].size(); ++lane)
      for (int64_t repeat = 0; repeat < layout.repeat[1]; ++repeat)
        for (size_t reg = 0; reg < size_t(1) << registers.size(); ++reg)
          order[warp][lane].push_back((combined(registers, reg) ^
                                       combined(lanes, lane) ^
                                       combined(warps, warp)) +
                                      repeat * period);
  }
  return order;
}

/// A power of two of numbers, neighbours first.
static uint64_t ofNeighbours(tile::ReduceKind kind,
                             std::vector<uint64_t> values) {
  while (values.size() > 1) {
    std::vector<uint64_t> next;
    for (size_t i = 0; i < values.size(); i += 2)
      next.push_back(combine(kind, values[i], values[i + 1]));
    values = std::move(next);
  }
  return values.front();
}

LogicalResult Interpreter::runReduce(tile::ReduceOp op) {
  const Tile &value = get(op.getValue());
  const auto order = reductionOrder(tile::layoutOf(op.getValue().getType()));
  const tile::ReduceKind kind = op.getKind();
  Tile result = shaped(op.getType());
  for (int64_t row = 0; row < value.rows; ++row) {
    std::vector<uint64_t> warps;
    for (size_t warp = 0; warp < order.size(); ++warp) {
      std::vector<uint64_t> lanes;
      for (const std::vector<int64_t> &columns : order[warp]) {
        std::vector<uint64_t> level;
        for (int64_t column : columns)
          level.push_back(value.at(row, column));
        while (level.size() > 1) {
          std::vector<uint64_t> next;
          for (size_t i = 0; i < level.size(); i += 2)
            next.push_back(i + 1 < level.size()
                               ? combine(kind, level[i], level[i + 1])
                               : level[i]);
          level = std::move(next);
        }
        lanes.push_back(level.front());
      }
      // Lane 0 of a butterfly: neighbours first.
      warps.push_back(ofNeighbours(kind, std::move(lanes)));
    }
    result.at(row, 0) = ofNeighbours(kind, std::move(warps));
  }
  set(op.getResult(), std::move(result));
  return success();
}

LogicalResult Interpreter::runBroadcast(tile::BroadcastOp op) {
  const Tile &value = get(op.getValue());
  Tile result = shaped(op.getType());
  for (int64_t row = 0; row < result.rows; ++row)
    for (int64_t column = 0; column < result.cols; ++column)
      result.at(row, column) =
          value.at(value.rows == 1 ? 0 : row, value.cols == 1 ? 0 : column);
  set(op.getResult(), std::move(result));
  return success();
}

LogicalResult Interpreter::runTranspose(tile::TransposeOp op) {
  const Tile &value = get(op.getValue());
  Tile result = shaped(op.getType());
  for (int64_t row = 0; row < result.rows; ++row)
    for (int64_t column = 0; column < result.cols; ++column)
      result.at(row, column) = value.at(column, row);
  set(op.getResult(), std::move(result));
  return success();
}

/// The k of each tensor-core instruction: what four lanes hold of a row in four
/// registers.
static std::vector<int64_t> orderOfK(const LinearLayout &layout, int64_t k) {
  std::vector<int64_t> registers, order;
  for (int64_t reg = 0; reg < layout.numRegisters(); ++reg)
    if (tile::Basis at = layout.registerCoordinate(reg); at[tile::rowDim] == 0)
      registers.push_back(at[tile::colDim]);
  for (size_t first = 0; first < registers.size(); first += 4)
    for (int lane = 0; lane < 4; ++lane)
      for (size_t reg = first; reg < first + 4; ++reg)
        order.push_back(registers[reg] ^
                        layout.threadCoordinate(lane, 0)[tile::colDim]);
  assert(int64_t(order.size()) == k && "lanes and registers hold all of k");
  return order;
}

LogicalResult Interpreter::runDot(tile::DotOp op) {
  const Tile &a = get(op.getA()), &b = get(op.getB());
  Tile result = get(op.getAcc());
  const int64_t groups = op.getGroups();
  std::vector<int64_t> order;
  if (a.kind != Kind::F32)
    order = orderOfK(tile::layoutOf(op.getB().getType()), b.cols);
  std::vector<uint64_t> left(order.size()), right(order.size());
  for (int64_t row = 0; row < result.rows; ++row)
    for (int64_t column = 0; column < result.cols; ++column) {
      uint64_t &acc = result.at(row, column);
      const uint64_t *x =
          &a.bits[size_t(row * a.cols + column % groups * b.cols)];
      const uint64_t *y = &b.bits[size_t(column * b.cols)];
      if (a.kind == Kind::F32) {
        for (int64_t k = 0; k < b.cols; ++k)
          acc = fromF32(std::fma(asF32(x[k]), asF32(y[k]), asF32(acc)));
        continue;
      }
      for (size_t i = 0; i < order.size(); ++i)
        left[i] = x[order[i]], right[i] = y[order[i]];
      for (size_t k = 0; k < order.size(); k += 16)
        acc = tensorCoreDot(a.kind, &left[k], &right[k], 16, acc);
    }
  set(op.getResult(), std::move(result));
  return success();
}

LogicalResult Interpreter::runNeighbourDot(tile::NeighbourDotOp op) {
  const Tile &a = get(op.getA()), &b = get(op.getB());
  Tile result = shaped(op.getType());
  const size_t n = a.bits.size() / result.bits.size();
  for (size_t i = 0; i < result.bits.size(); ++i) {
    float sum = 0;
    for (size_t t = i * n; t < (i + 1) * n; ++t)
      sum = std::fma(asF32(a.bits[t]), asF32(b.bits[t]), sum);
    result.bits[i] = fromF32(sum);
  }
  set(op.getResult(), std::move(result));
  return success();
}

LogicalResult Interpreter::runReportError(tile::ReportErrorOp op) {
  const Tile &bad = get(op.getBad()), &index = get(op.getRowIndex());
  const uint64_t slot = get(op.getSlot()).bits[0];
  for (size_t row = 0; row < bad.bits.size(); ++row) {
    if (!bad.bits[row])
      continue;
    std::byte *word = memory.find(slot, 8);
    if (!word)
      return finding(op, "out-of-bounds", slot,
                     "the error slot lies outside of every allocation");
    const uint64_t report = (uint64_t(op.getStep()) << 48) | index.bits[row];
    const uint64_t least = std::min(loadBits(word, 8), report);
    std::memcpy(word, &least, 8);
  }
  return success();
}
