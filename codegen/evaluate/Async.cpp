//===- Async.cpp - Rings, copies and products, one after the other --------===//
//
// Regions of a partition run one after the other, the one that fills a ring
// first: a copy happens where it is started, and a ring has as many stages as
// there are turns. What depends on time (a stage that is overwritten too early,
// a wait that never ends) is the emulator's to find.
//
//===----------------------------------------------------------------------===//
#include "codegen/evaluate/Interpreter.h"
#include "codegen/evaluate/TensorCoreModel.h"

#include <cstring>

using namespace mlir;
using namespace tandem;
using namespace tandem::evaluate;

static uint32_t turnOf(const Tile &turn) { return uint32_t(turn.bits[0]); }

LogicalResult Interpreter::runAcquire(tile::AcquireOp op) {
  auto [place, isNew] =
      rings[op.getRing()].try_emplace(turnOf(get(op.getTurn())), nextStage);
  if (!isNew)
    return finding(op, "async", 0, "the turn was acquired before");
  for (Value part : op.getParts()) {
    auto type = cast<tile::SharedType>(part.getType());
    FailureOr<Kind> kind = kindOf(type.getElement());
    if (failed(kind))
      return fail(op, "has a part of a type that the evaluator does not know");
    stages[nextStage] = Tile(*kind, type.getRows(), type.getCols());
    set(part, Tile::scalar(Kind::I64, nextStage++));
  }
  return success();
}

LogicalResult Interpreter::runReceive(tile::ReceiveOp op) {
  const auto &filled = rings[op.getRing()];
  auto found = filled.find(turnOf(get(op.getTurn())));
  if (found == filled.end())
    return finding(op, "deadlock", 0, "nothing fills the turn");
  uint64_t handle = found->second;
  for (Value part : op.getParts())
    set(part, Tile::scalar(Kind::I64, handle++));
  return success();
}

LogicalResult Interpreter::runRelease(tile::ReleaseOp op) {
  auto &filled = rings[op.getRing()];
  auto found = filled.find(turnOf(get(op.getTurn())));
  if (found == filled.end())
    return finding(op, "async", 0, "the turn was not received");
  const size_t parts = op.getRing().getType().getParts().size();
  for (size_t i = 0; i < parts; ++i)
    stages.erase(found->second + i);
  filled.erase(found);
  return success();
}

/// The host's element of \p map at \p row and \p col; null beyond the matrix.
/// A finding where the matrix lies in no allocation.
FailureOr<std::byte *> Interpreter::elementOf(Operation *op,
                                              const TensorMap &map, int64_t row,
                                              int64_t col) {
  if (row < 0 || col < 0 || uint64_t(row) >= map.dims[1] ||
      uint64_t(col) >= map.dims[0])
    return static_cast<std::byte *>(nullptr);
  const uint64_t bytes = mapTypeBytes(map.type);
  const uint64_t address =
      map.address + uint64_t(row) * map.strides[0] + uint64_t(col) * bytes;
  if (std::byte *found = memory.find(address, bytes))
    return found;
  return finding(op, "out-of-bounds", address,
                 "element (" + std::to_string(row) + ", " +
                     std::to_string(col) +
                     ") lies outside of every allocation");
}

LogicalResult Interpreter::runAsyncCopy(tile::AsyncCopyOp op) {
  const TensorMap &map = maps[get(op.getMap()).bits[0]];
  Tile &to = stages[get(op.getStage()).bits[0]];
  const int64_t firstRow = asSigned(Kind::I32, get(op.getRow()).bits[0]);
  const int64_t firstCol = asSigned(Kind::I32, get(op.getCol()).bits[0]);
  for (int64_t row = 0; row < to.rows; ++row)
    for (int64_t col = 0; col < to.cols; ++col) {
      FailureOr<std::byte *> from =
          elementOf(op, map, firstRow + row, firstCol + col);
      if (failed(from))
        return failure();
      to.at(row, col) = 0;
      if (*from)
        std::memcpy(&to.at(row, col), *from, size_t(bytesOf(to.kind)));
    }
  return success();
}

LogicalResult Interpreter::runAsyncStore(tile::AsyncStoreOp op) {
  const TensorMap &map = maps[get(op.getMap()).bits[0]];
  const Tile &value = get(op.getValue());
  const int64_t firstRow = asSigned(Kind::I32, get(op.getRow()).bits[0]);
  const int64_t firstCol = asSigned(Kind::I32, get(op.getCol()).bits[0]);
  for (int64_t row = 0; row < value.rows; ++row)
    for (int64_t col = 0; col < value.cols; ++col) {
      FailureOr<std::byte *> to =
          elementOf(op, map, firstRow + row, firstCol + col);
      if (failed(to))
        return failure();
      if (*to)
        std::memcpy(*to, &value.bits[size_t(row * value.cols + col)],
                    size_t(bytesOf(value.kind)));
    }
  return success();
}

LogicalResult Interpreter::runAsyncDot(tile::AsyncDotOp op) {
  const Tile &a = stages[get(op.getA()).bits[0]];
  const Tile &b = stages[get(op.getB()).bits[0]];
  Tile result = op.getAcc() ? get(op.getAcc()) : shaped(op.getType());
  constexpr int64_t stepBytes = 32;
  const int64_t k = stepBytes / bytesOf(a.kind);
  for (int64_t row = 0; row < result.rows; ++row)
    for (int64_t col = 0; col < result.cols; ++col)
      for (int64_t at = 0; at < a.cols; at += k)
        result.at(row, col) = tensorCoreDot(
            a.kind, &a.bits[size_t(row * a.cols + at)],
            &b.bits[size_t(col * b.cols + at)], int(k), result.at(row, col));
  set(op.getResult(), std::move(result));
  return success();
}

LogicalResult Interpreter::runColumns(tile::ColumnsOp op) {
  const Tile &value = get(op.getValue());
  Tile result = shaped(op.getType());
  for (int64_t row = 0; row < result.rows; ++row)
    for (int64_t col = 0; col < result.cols; ++col)
      result.at(row, col) = value.at(row, int64_t(op.getStart()) + col);
  set(op.getResult(), std::move(result));
  return success();
}
