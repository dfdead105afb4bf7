//===- Interpreter.cpp - Executes a tile kernel, one CTA at a time --------===//
#include "codegen/evaluate/Interpreter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tandem;
using namespace tandem::evaluate;

/// Findings after which a launch stops: the first ones say enough.
static constexpr size_t mostFindings = 20;

FailureOr<Kind> tandem::evaluate::kindOf(Type type) {
  if (auto pending = dyn_cast<tile::PendingType>(type))
    type = pending.getTile();
  // Numbers that stand for what they name.
  if (isa<tile::MapType, tile::RingType, tile::SharedType>(type))
    return Kind::I64;
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    type = tensor.getElementType();
  if (type.isIndex() || isa<LLVM::LLVMPointerType>(type))
    return Kind::I64;
  if (type.isInteger())
    switch (type.getIntOrFloatBitWidth()) {
    case 1:
      return Kind::I1;
    case 8:
      return Kind::I8;
    case 16:
      return Kind::I16;
    case 32:
      return Kind::I32;
    case 64:
      return Kind::I64;
    }
  if (type.isF16())
    return Kind::F16;
  if (type.isBF16())
    return Kind::BF16;
  if (type.isF32())
    return Kind::F32;
  if (type.isF64())
    return Kind::F64;
  if (isa<Float8E4M3FNType>(type))
    return Kind::E4M3;
  if (isa<Float8E5M2Type>(type))
    return Kind::E5M2;
  return failure();
}

Tile Interpreter::shaped(Type type) {
  FailureOr<Kind> kind = kindOf(type);
  assert(succeeded(kind) && "types are checked before ops run");
  if (auto pending = dyn_cast<tile::PendingType>(type))
    type = pending.getTile();
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    return Tile(*kind, tensor.getDimSize(0), tensor.getDimSize(1));
  return Tile(*kind, 1, 1);
}

LogicalResult Interpreter::fail(Operation *op, const std::string &what) {
  error = "tile: " + op->getName().getStringRef().str() + ": " + what;
  return failure();
}

LogicalResult Interpreter::finding(Operation *op, const char *kind,
                                   uint64_t address,
                                   const std::string &message) {
  Finding found;
  found.kind = kind;
  found.message = op->getName().getStringRef().str() + ": " + message;
  found.kernel = kernelName;
  if (auto place = dyn_cast<FileLineColLoc>(op->getLoc()))
    found.ptxLine = int(place.getLine());
  found.block = block;
  found.address = address;
  found.allocation = memory.nearest(address);
  report.findings.push_back(std::move(found));
  return failure();
}

Result<void> Interpreter::run(func::FuncOp kernel,
                              const std::vector<uint64_t> &arguments,
                              std::array<int64_t, 3> blockIndex) {
  block = blockIndex;
  kernelName = kernel.getName().str();
  values.clear();
  rings.clear();
  stages.clear();
  error.clear();
  for (auto [argument, bits] : llvm::zip(kernel.getArguments(), arguments)) {
    Tile value = shaped(argument.getType());
    value.bits[0] = truncated(value.kind, bits);
    set(argument, std::move(value));
  }
  if (failed(runBlock(kernel.getBody().front())) && !error.empty())
    return Error(error);
  return {};
}

LogicalResult Interpreter::runBlock(Block &body) {
  for (Operation &op : body)
    if (failed(runOp(&op)) || report.findings.size() >= mostFindings)
      return failure();
  return success();
}

LogicalResult Interpreter::runOp(Operation *op) {
  for (Type type : op->getResultTypes())
    if (failed(kindOf(type)))
      return fail(op,
                  "has a result of a type that the evaluator does not know");
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](tile::LoadOp op) { return runLoad(op); })
      .Case([&](tile::LoadScalarOp op) { return runLoadScalar(op); })
      .Case([&](tile::GatherOp op) { return runGather(op); })
      .Case([&](tile::StoreOp op) { return runStore(op); })
      .Case([&](tile::MaskOp op) { return runMask(op); })
      .Case([&](tile::ReduceOp op) { return runReduce(op); })
      .Case([&](tile::BroadcastOp op) { return runBroadcast(op); })
      .Case([&](tile::TransposeOp op) { return runTranspose(op); })
      .Case([&](tile::DotOp op) { return runDot(op); })
      .Case([&](tile::PartitionOp op) {
        for (Region &group : op.getGroups())
          if (failed(runBlock(group.front())))
            return failure();
        return success();
      })
      .Case<tile::RingOp, tile::GridWaitOp, tile::GridReleaseOp>(
          [&](auto) { return success(); })
      .Case([&](tile::AcquireOp op) { return runAcquire(op); })
      .Case([&](tile::ReceiveOp op) { return runReceive(op); })
      .Case([&](tile::ReleaseOp op) { return runRelease(op); })
      .Case([&](tile::AsyncCopyOp op) { return runAsyncCopy(op); })
      .Case([&](tile::AsyncStoreOp op) { return runAsyncStore(op); })
      .Case([&](tile::AsyncDotOp op) { return runAsyncDot(op); })
      .Case([&](tile::AwaitOp op) {
        set(op.getResult(), Tile(get(op.getValue())));
        return success();
      })
      .Case([&](tile::ColumnsOp op) { return runColumns(op); })
      .Case([&](tile::ReportErrorOp op) { return runReportError(op); })
      .Case([&](tile::ApproxOp op) { return runApprox(op); })
      .Case([&](tile::SqrtOp op) {
        Tile result = get(op.getValue());
        for (uint64_t &bits : result.bits)
          bits = fromF32(std::sqrt(asF32(bits)));
        set(op.getResult(), std::move(result));
        return success();
      })
      .Case([&](tile::ReshapeOp op) {
        Tile result = shaped(op.getType());
        result.bits = get(op.getValue()).bits;
        set(op.getResult(), std::move(result));
        return success();
      })
      .Case([&](tile::ConvertLayoutOp op) {
        set(op.getResult(), get(op.getValue()));
        return success();
      })
      .Case([&](tile::UnpackOp op) {
        const Tile &bytes = get(op.getValue());
        Tile result = shaped(op.getType());
        for (size_t i = 0; i < result.bits.size(); ++i)
          result.bits[i] = truncated(
              result.kind, (bytes.bits[i / 2] >> (i % 2 ? 4 : 0) & 15) -
                               uint64_t(op.getLess()));
        set(op.getResult(), std::move(result));
        return success();
      })
      .Case([&](tile::NeighbourDotOp op) { return runNeighbourDot(op); })
      .Case([&](tile::SplatOp op) {
        Tile result = shaped(op.getType());
        std::fill(result.bits.begin(), result.bits.end(),
                  get(op.getScalar()).bits[0]);
        set(op.getResult(), std::move(result));
        return success();
      })
      .Case([&](tile::RangeOp op) {
        Tile result = shaped(op.getType());
        const uint64_t start = get(op.getStart()).bits[0];
        for (size_t i = 0; i < result.bits.size(); ++i)
          result.bits[i] = truncated(
              result.kind, start + (i & ~uint64_t(op.getGranule() - 1)));
        set(op.getResult(), std::move(result));
        return success();
      })
      .Case([&](tile::ProgramIdOp op) {
        set(op.getResult(),
            Tile::scalar(Kind::I64, uint64_t(block[op.getAxis()])));
        return success();
      })
      .Case([&](scf::ForOp op) { return runFor(op); })
      .Case([&](scf::IfOp op) { return runIf(op); })
      .Case<scf::YieldOp, func::ReturnOp>([&](auto) { return success(); })
      .Case([&](arith::ConstantOp) { return runConstant(op); })
      .Default([&](Operation *op) { return runArithmetic(op); });
}

LogicalResult Interpreter::runFor(scf::ForOp op) {
  const Kind kind = get(op.getLowerBound()).kind;
  const int64_t upper = asSigned(kind, get(op.getUpperBound()).bits[0]);
  const int64_t step = asSigned(kind, get(op.getStep()).bits[0]);
  if (step <= 0)
    return fail(op, "step must be positive, got " + std::to_string(step));
  std::vector<Tile> carried;
  for (Value init : op.getInitArgs())
    carried.push_back(get(init));
  for (int64_t i = asSigned(kind, get(op.getLowerBound()).bits[0]); i < upper;
       i += step) {
    set(op.getInductionVar(), Tile::scalar(kind, truncated(kind, uint64_t(i))));
    for (auto [argument, tile] : llvm::zip(op.getRegionIterArgs(), carried))
      set(argument, std::move(tile));
    if (failed(runBlock(*op.getBody())))
      return failure();
    carried.clear();
    for (Value value : op.getYieldedValues())
      carried.push_back(get(value));
  }
  for (auto [result, tile] : llvm::zip(op.getResults(), carried))
    set(result, std::move(tile));
  return success();
}

LogicalResult Interpreter::runIf(scf::IfOp op) {
  Block *taken =
      get(op.getCondition()).bits[0] ? op.thenBlock() : op.elseBlock();
  if (!taken)
    return success();
  if (failed(runBlock(*taken)))
    return failure();
  for (auto [result, value] :
       llvm::zip(op.getResults(), taken->getTerminator()->getOperands()))
    set(result, Tile(get(value)));
  return success();
}
