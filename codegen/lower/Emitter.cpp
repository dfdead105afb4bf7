//===- Emitter.cpp - Walks a tile kernel, writes one thread's code --------===//
#include "codegen/lower/Emitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"

#include <bit>

using namespace mlir;
using namespace tandem;
using namespace tandem::lower;
using tile::LinearLayout;

/// The symbol of a kernel's exchange buffer.
static constexpr llvm::StringLiteral sharedSuffix = "_shared";

Emitter::Emitter(func::FuncOp kernel, ModuleOp target, int smVersion)
    : kernel(kernel), target(target), smVersion(smVersion),
      b(kernel.getContext()), loc(kernel.getLoc()) {}

LogicalResult Emitter::run() {
  auto warps = kernel->getAttrOfType<IntegerAttr>(tile::warpsAttrName);
  if (!warps)
    return kernel.emitOpError() << "a kernel needs " << tile::warpsAttrName;
  if (kernel.getNumResults() || kernel.isDeclaration())
    return kernel.emitOpError() << "a kernel has a body and no results";
  numWarps = int(warps.getInt());
  if (auto attribute =
          kernel->getAttrOfType<IntegerAttr>(tile::clusterAttrName))
    cluster = int(attribute.getInt());
  if (failed(plan.build(kernel)) ||
      failed(asyncPlan.build(kernel, plan.totalBytes())))
    return failure();

  SmallVector<Type> arguments;
  for (Type type : kernel.getArgumentTypes()) {
    if (isa<RankedTensorType>(type))
      return kernel.emitOpError() << "kernel arguments are pointers and "
                                     "scalars, got "
                                  << type;
    arguments.push_back(registerType(type));
  }
  b.setInsertionPointToEnd(target.getBody());
  if (plan.totalBytes()) {
    auto bytes = LLVM::LLVMArrayType::get(b.getI8Type(), plan.totalBytes());
    LLVM::GlobalOp::create(b, loc, bytes, /*isConstant=*/false,
                           LLVM::Linkage::Internal,
                           (kernel.getName() + sharedSuffix).str(), Attribute(),
                           /*alignment=*/16, /*addrSpace=*/3);
  }
  if (asyncPlan.totalBytes())
    declareDynamic();
  auto type = LLVM::LLVMFunctionType::get(
      LLVM::LLVMVoidType::get(b.getContext()), arguments);
  function = LLVM::LLVMFuncOp::create(b, loc, kernel.getName(), type);
  function->setAttr("nvvm.kernel", b.getUnitAttr());
  function->setAttr("nvvm.reqntid",
                    b.getDenseI32ArrayAttr({32 * numWarps, 1, 1}));
  if (asyncPlan.totalBytes())
    function->setAttr("nvvm.minctasm", b.getI32IntegerAttr(1));
  if (cluster > 1)
    function->setAttr("nvvm.cluster_dim",
                      b.getDenseI32ArrayAttr({cluster, 1, 1}));
  for (auto [index, type] : llvm::enumerate(kernel.getArgumentTypes()))
    if (isa<tile::MapType>(type))
      describeMap(unsigned(index));

  prologue = function.addEntryBlock(b);
  b.setInsertionPointToStart(prologue);
  Block *body = newBlock();
  LLVM::BrOp::create(b, loc, ValueRange{}, body);
  for (auto [from, to] :
       llvm::zip(kernel.getArguments(), function.getArguments()))
    set(from, {to});
  b.setInsertionPointToStart(body);
  return emitBlock(kernel.getBody().front());
}

/// A map is 128 bytes among the kernel's parameters; the copy engine reads them
/// there.
void Emitter::describeMap(unsigned argument) {
  auto bytes = LLVM::LLVMArrayType::get(b.getI8Type(), 128);
  function.setArgAttr(argument, LLVM::LLVMDialect::getByValAttrName(),
                      TypeAttr::get(bytes));
  function.setArgAttr(argument, LLVM::LLVMDialect::getAlignAttrName(),
                      b.getI64IntegerAttr(64));
  function.setArgAttr(argument, "nvvm.grid_constant", b.getUnitAttr());
}

LogicalResult Emitter::emitBlock(Block &block) {
  for (Operation *op = block.empty() ? nullptr : &block.front(); op;) {
    loc = op->getLoc();
    if (Operation *next = emitRun(op)) {
      op = next;
      continue;
    }
    if (failed(emit(op)))
      return failure();
    op = op->getNextNode();
  }
  return success();
}

LogicalResult Emitter::emit(Operation *op) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](tile::LoadOp op) { return emitLoad(op); })
      .Case([&](tile::GatherOp op) { return emitGather(op); })
      .Case([&](tile::StoreOp op) { return emitStore(op); })
      .Case([&](tile::MaskOp op) { return emitMask(op); })
      .Case([&](tile::RangeOp op) { return emitRange(op); })
      .Case([&](tile::ReportErrorOp op) { return emitReportError(op); })
      .Case([&](tile::ReduceOp op) { return emitReduce(op); })
      .Case([&](tile::BroadcastOp op) { return emitBroadcast(op); })
      .Case([&](tile::TransposeOp op) { return emitTranspose(op); })
      .Case([&](tile::ReshapeOp op) { return emitReshape(op); })
      .Case([&](tile::UnpackOp op) { return emitUnpack(op); })
      .Case([&](tile::ConvertLayoutOp op) { return emitConvertLayout(op); })
      .Case([&](tile::DotOp op) { return emitDot(op); })
      .Case([&](tile::NeighbourDotOp op) { return emitNeighbourDot(op); })
      .Case([&](tile::PartitionOp op) { return emitPartition(op); })
      .Case([&](tile::RingOp) { return success(); })
      .Case([&](tile::AcquireOp op) { return emitAcquire(op); })
      .Case([&](tile::ReceiveOp op) { return emitReceive(op); })
      .Case([&](tile::ReleaseOp op) { return emitRelease(op); })
      .Case([&](tile::AsyncCopyOp op) { return emitAsyncCopy(op); })
      .Case([&](tile::AsyncStoreOp op) { return emitAsyncStore(op); })
      .Case([&](tile::AsyncDotOp op) { return emitAsyncDot(op); })
      .Case([&](tile::AwaitOp op) { return emitAwait(op); })
      .Case([&](tile::ColumnsOp op) { return emitColumns(op); })
      .Case<tile::GridWaitOp, tile::GridReleaseOp>([&](auto op) {
        constexpr bool waits = std::is_same_v<decltype(op), tile::GridWaitOp>;
        NVVM::GriddepcontrolOp::create(
            b, loc,
            waits ? NVVM::GridDepActionKind::wait
                  : NVVM::GridDepActionKind::launch_dependents);
        return success();
      })
      .Case([&](tile::SqrtOp op) {
        Registers results;
        for (Value x : get(op.getValue()))
          results.push_back(
              intrinsic("llvm.nvvm.sqrt.rn.f", b.getF32Type(), x));
        set(op.getResult(), results);
        return success();
      })
      .Case([&](tile::SplatOp op) {
        set(op.getResult(),
            Registers(numRegisters(op.getType()), scalar(op.getScalar())));
        return success();
      })
      .Case([&](tile::ProgramIdOp op) {
        Type i32 = b.getI32Type();
        Value id;
        if (op.getAxis() == 0)
          id = NVVM::BlockIdXOp::create(b, loc, i32);
        else if (op.getAxis() == 1)
          id = NVVM::BlockIdYOp::create(b, loc, i32);
        else
          id = NVVM::BlockIdZOp::create(b, loc, i32);
        set(op.getResult(), {toI64(id)});
        return success();
      })
      .Case([&](tile::LoadScalarOp op) {
        Value base = scalar(op.getBase());
        Value address =
            LLVM::GEPOp::create(b, loc, base.getType(), op.getType(), base,
                                ValueRange{scalar(op.getOffset())});
        set(op.getResult(),
            {LLVM::LoadOp::create(b, loc, op.getType(), address)});
        return success();
      })
      .Case([&](scf::ForOp op) { return emitFor(op); })
      .Case([&](scf::IfOp op) { return emitIf(op); })
      .Case([&](scf::YieldOp) { return success(); })
      .Case([&](func::ReturnOp) {
        LLVM::ReturnOp::create(b, loc, ValueRange{});
        return success();
      })
      .Case([&](arith::ConstantOp) { return emitConstant(op); })
      .Default([&](Operation *op) { return emitElementwise(op); });
}

//===--- Values -----------------------------------------------------------===//

Type Emitter::registerType(Type type) {
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    type = tensor.getElementType();
  if (type.isIndex())
    return b.getI64Type();
  // Offsets in dynamic shared memory.
  if (isa<tile::SharedType>(type))
    return b.getI32Type();
  if (isa<tile::MapType>(type))
    return LLVM::LLVMPointerType::get(b.getContext());
  // One value a slab of 64 rows: what one instruction adds to.
  if (auto pending = dyn_cast<tile::PendingType>(type)) {
    const LinearLayout &layout = tile::layoutOf(pending.getTile());
    SmallVector<Type> parts(layout.numRegisters() / layout.repeat[0],
                            b.getF32Type());
    return LLVM::LLVMStructType::getLiteral(b.getContext(), parts);
  }
  // Floats of 8 bits are bits: only conversions compute with them.
  if (isa<FloatType>(type) && type.getIntOrFloatBitWidth() == 8)
    return b.getI8Type();
  return type;
}

int64_t Emitter::numRegisters(Type type) {
  if (tile::isTile(type))
    return tile::layoutOf(type).numRegisters();
  if (auto pending = dyn_cast<tile::PendingType>(type))
    return tile::layoutOf(pending.getTile()).repeat[0];
  return isa<tile::SharedType>(type) ? 2 : 1; // the tile, its full barrier
}

const Registers &Emitter::get(Value value) {
  auto found = values.find(value);
  assert(found != values.end() && "operands are emitted before their users");
  return found->second;
}

void Emitter::set(Value value, Registers registers) {
  assert(int64_t(registers.size()) == numRegisters(value.getType()) &&
         "one value for each register of the layout");
  values[value] = std::move(registers);
}

Value Emitter::constant(Type type, Attribute value) {
  Value &cached = constants[{type, value}];
  if (!cached) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(prologue);
    cached = LLVM::ConstantOp::create(b, loc, type, cast<TypedAttr>(value));
  }
  return cached;
}

Value Emitter::constant(int bits, int64_t value) {
  Type type = b.getIntegerType(bits);
  return constant(type, b.getIntegerAttr(type, value));
}

Value Emitter::intrinsic(StringRef name, Type result, ValueRange args) {
  return LLVM::CallIntrinsicOp::create(b, loc, result, b.getStringAttr(name),
                                       args)
      .getResult(0);
}

Value Emitter::pureAsm(StringRef text, StringRef constraints, Type result,
                       ValueRange args) {
  return LLVM::InlineAsmOp::create(
             b, loc, result, args, text, constraints,
             /*has_side_effects=*/false, /*is_align_stack=*/false,
             LLVM::TailCallKind::None,
             LLVM::AsmDialectAttr::get(b.getContext(),
                                       LLVM::AsmDialect::AD_ATT),
             ArrayAttr())
      .getResult(0);
}

Value Emitter::add(Value a, Value c) {
  return LLVM::AddOp::create(b, loc, a, c);
}
Value Emitter::andBits(Value a, Value c) {
  return LLVM::AndOp::create(b, loc, a, c);
}
Value Emitter::toI64(Value i32) {
  return LLVM::ZExtOp::create(b, loc, b.getI64Type(), i32);
}

//===--- Threads ----------------------------------------------------------===//

Value Emitter::threadId() {
  if (!group.tid) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(prologue);
    group.tid = NVVM::ThreadIdXOp::create(b, loc, b.getI32Type());
    if (group.firstWarp)
      group.tid = LLVM::SubOp::create(
          b, loc, group.tid,
          LLVM::ConstantOp::create(
              b, loc, b.getI32Type(),
              b.getI32IntegerAttr(group.firstWarp * tile::lanesPerWarp)));
  }
  return group.tid;
}

Value Emitter::threadCoordinate(const LinearLayout &layout, int dim) {
  std::vector<int32_t> bases;
  for (const tile::Bases *part : {&layout.lanes, &layout.warps})
    for (const tile::Basis &basis : *part)
      bases.push_back(basis[dim]);
  if (auto found = group.coordinates.find(bases);
      found != group.coordinates.end())
    return found->second;

  Value thread = threadId();
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(prologue->getTerminator());
  Value sum;
  auto combine = [&](Value term) {
    sum = sum ? LLVM::XOrOp::create(b, loc, sum, term).getResult() : term;
  };
  // Runs of bits whose bases double move together: one shift, one mask.
  for (size_t bit = 0; bit < bases.size();) {
    if (!bases[bit]) {
      ++bit;
      continue;
    }
    size_t end = bit + 1;
    while (end < bases.size() && bases[end] == bases[end - 1] * 2)
      ++end;
    const bool isPower = std::has_single_bit(uint32_t(bases[bit]));
    if (!isPower)
      end = bit + 1;
    Value term = thread;
    if (bit)
      term = LLVM::LShrOp::create(b, loc, term, constant(32, int64_t(bit)));
    if (end < bases.size() || !isPower)
      term = andBits(term, constant(32, (int64_t(1) << (end - bit)) - 1));
    if (bases[bit] != 1)
      term = LLVM::MulOp::create(b, loc, term, constant(32, bases[bit]));
    combine(term);
    bit = end;
  }
  if (!sum)
    sum = constant(32, 0);
  group.coordinates[bases] = sum;
  return sum;
}

Value Emitter::threadBitsAreZero(uint32_t threadBits) {
  if (!threadBits)
    return {};
  Value &cached = group.zeroBitTests[threadBits];
  if (!cached) {
    Value thread = threadId();
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(prologue->getTerminator());
    Value bits = andBits(thread, constant(32, threadBits));
    cached = LLVM::ICmpOp::create(b, loc, LLVM::ICmpPredicate::eq, bits,
                                  constant(32, 0));
  }
  return cached;
}

Value Emitter::ownerPredicate(const LinearLayout &layout) {
  return threadBitsAreZero(layout.replicatedLaneBits() |
                           layout.replicatedWarpBits() << 5);
}
