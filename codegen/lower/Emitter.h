//===- Emitter.h - One tile kernel to the llvm dialect ----------*- C++ -*-===//
//
// Walks a tile function once and writes llvm and nvvm ops for one thread. A
// tile becomes the registers that its layout gives each thread, a scalar one
// register; ops then differ only in how they combine registers, lanes and
// warps. No rewrite patterns: a row-wise kernel has 20 ms from recipe to PTX,
// and one walk costs about a microsecond an op written.
//
//   Emitter.cpp        function, blocks, dispatch, constants, thread numbers
//   Elementwise.cpp    arith and math on registers
//   Conversions.cpp    between element types, each rounded once
//   Memory.cpp         load, store, mask, range, report_error
//   Words.cpp          elements in the words of an access
//   Rearrange.cpp      broadcast, transpose, convert_layout
//   Reduce.cpp         registers, then lanes, then warps
//   Dot.cpp            tensor core and fma
//   Control.cpp        scf.for, scf.if
//   Partition.cpp      groups of warps
//   Ring.cpp           stages in shared memory, barriers, copies into them
//   Wgmma.cpp          products of tiles in shared memory
//   AsyncStore.cpp     tiles to global memory through shared memory
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_CODEGEN_LOWER_EMITTER_H
#define TANDEM_CODEGEN_LOWER_EMITTER_H

#include "codegen/lower/AsyncPlan.h"
#include "codegen/lower/SharedPlan.h"
#include "dialect/tile/TileDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

#include <map>

namespace tandem::lower {

using Registers = llvm::SmallVector<mlir::Value, 4>;

class Emitter {
public:
  /// \p smVersion is 80 or 90; the kernel is added to \p target.
  Emitter(mlir::func::FuncOp kernel, mlir::ModuleOp target, int smVersion);

  /// Emits diagnostics and fails on what has no lowering.
  mlir::LogicalResult run();
  int64_t sharedBytes() const { return plan.totalBytes(); }
  int64_t dynamicBytes() const { return asyncPlan.totalBytes(); }

private:
  //===--- Emitter.cpp
  //-----------------------------------------------------===//
  mlir::LogicalResult emitBlock(mlir::Block &block);
  void describeMap(unsigned argument);
  mlir::LogicalResult emit(mlir::Operation *op);
  mlir::Type registerType(mlir::Type type);
  int64_t numRegisters(mlir::Type type);
  const Registers &get(mlir::Value value);
  mlir::Value scalar(mlir::Value value) { return get(value).front(); }
  void set(mlir::Value value, Registers registers);
  mlir::Value constant(mlir::Type type, mlir::Attribute value);
  mlir::Value constant(int bits, int64_t value);
  mlir::Value intrinsic(llvm::StringRef name, mlir::Type result,
                        mlir::ValueRange args);
  /// One instruction of one operand without an intrinsic.
  mlir::Value pureAsm(llvm::StringRef text, llvm::StringRef constraints,
                      mlir::Type result, mlir::ValueRange args);
  /// Lane-and-warp part of the coordinate along \p dim as i32.
  mlir::Value threadCoordinate(const tile::LinearLayout &layout, int dim);
  mlir::Value threadId();
  /// i1: the thread owns its elements (all bits of replication are 0); null
  /// when every thread does.
  mlir::Value ownerPredicate(const tile::LinearLayout &layout);
  /// The same with column bits: the thread owns its rows.
  mlir::Value threadBitsAreZero(uint32_t threadBits);
  void barrier();

  // Short spellings of the integer arithmetic that addresses need.
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value andBits(mlir::Value a, mlir::Value b);
  mlir::Value toI64(mlir::Value i32);

  //===--- Elementwise.cpp
  //-------------------------------------------------===//
  mlir::LogicalResult emitElementwise(mlir::Operation *op);
  mlir::Value emitScalar(mlir::Operation *op, mlir::ValueRange args);
  mlir::LogicalResult emitConstant(mlir::Operation *op);
  mlir::Value emitApprox(tile::ApproxKind kind, mlir::Value x);
  /// One register of an op that combines registers of equal number only; null
  /// when it has no lowering.
  mlir::Value emitOne(mlir::Operation *op, mlir::ValueRange args);
  /// Emits the run of such ops that starts at \p op, a few registers at a time
  /// through all of them, and gives the op after it; null where there is no
  /// such run.
  mlir::Operation *emitRun(mlir::Operation *op);

  //===--- Conversions.cpp
  //-------------------------------------------------===//
  mlir::LogicalResult emitConversion(mlir::Operation *op);
  mlir::Value floatToF32(mlir::Value value, mlir::Type from);
  Registers fp8ToF16(llvm::ArrayRef<mlir::Value> values, mlir::Type from);
  mlir::Value intToFloat(mlir::Value value, bool isUnsigned, mlir::Type to);
  /// Bits of a 32-bit word: a bf16, a byte, or a nibble less \p less.
  struct Piece {
    mlir::Value word;
    int shift = 0, bits = 8, less = 0;
  };
  mlir::Value pieceToF32(const Piece &piece, bool isUnsigned);
  /// The word that \p make makes of \p word, once.
  mlir::Value derivedWord(llvm::DenseMap<mlir::Value, mlir::Value> &known,
                          mlir::Value word,
                          llvm::function_ref<mlir::Value()> make);
  mlir::Value floatToInt(mlir::Value f32, bool isUnsigned, int bits);
  /// Rounds f32 registers to \p to, in pairs where an instruction does two.
  Registers roundF32(llvm::ArrayRef<mlir::Value> f32, mlir::Type to);

  //===--- Memory.cpp
  //------------------------------------------------------===//
  mlir::LogicalResult emitLoad(tile::LoadOp op);
  mlir::LogicalResult emitGather(tile::GatherOp op);
  mlir::LogicalResult emitStore(tile::StoreOp op);
  mlir::LogicalResult emitMask(tile::MaskOp op);
  mlir::LogicalResult emitRange(tile::RangeOp op);
  mlir::LogicalResult emitReportError(tile::ReportErrorOp op);
  /// i32: columns of the tile before the end, counted from this thread's first
  /// column; register column c exists when c < it. Null where the window is
  /// written as `start + n` with n columns or more, so that all exist.
  mlir::Value columnsLeft(mlir::Value start, mlir::Value end,
                          const tile::LinearLayout &layout);
  mlir::Value isBefore(int32_t column, mlir::Value left);
  mlir::Value ofOwner(mlir::Value owner, mlir::Value left,
                      const tile::LinearLayout &layout);

  //===--- Words.cpp
  //-------------------------------------------------------===//
  /// How v elements travel: as `count` values of `type` (elements, or words of
  /// several elements).
  struct Words {
    mlir::Type type; // of the access: a word or a vector of words
    mlir::Type word;
    int count = 1;     // words of an access
    int perWord = 1;   // elements of a word
    int elements = 1;  // elements of an access
    int64_t bytes = 0; // bytes of an access
  };
  Words wordsOf(mlir::Type element, int elements);
  void unpack(mlir::Value access, const Words &words, mlir::Type element,
              Registers &out);
  mlir::Value pack(llvm::ArrayRef<mlir::Value> elements, const Words &words);

  //===--- Rearrange.cpp
  //---------------------------------------------------===//
  mlir::LogicalResult emitBroadcast(tile::BroadcastOp op);
  mlir::LogicalResult emitTranspose(tile::TransposeOp op);
  mlir::LogicalResult emitReshape(tile::ReshapeOp op);
  mlir::LogicalResult emitUnpack(tile::UnpackOp op);
  Registers shuffled(const Registers &operand, const WarpShuffle &shuffle);
  mlir::LogicalResult emitConvertLayout(tile::ConvertLayoutOp op);
  mlir::Value sharedPointer(int64_t byteOffset);

  //===--- Reduce.cpp
  //------------------------------------------------------===//
  mlir::LogicalResult emitReduce(tile::ReduceOp op);
  mlir::Value combine(tile::ReduceKind kind, mlir::Value a, mlir::Value b);
  mlir::Value tree(tile::ReduceKind kind, Registers values);
  mlir::Value shuffleXor(mlir::Value value, int laneMask);
  void combineWarps(tile::ReduceOp op, Registers &partial);

  //===--- Dot.cpp
  //---------------------------------------------------------===//
  mlir::LogicalResult emitDot(tile::DotOp op);
  mlir::LogicalResult emitNeighbourDot(tile::NeighbourDotOp op);
  void emitMma(tile::DotOp op);
  void emitFma(tile::DotOp op);

  //===--- Control.cpp
  //-----------------------------------------------------===//
  mlir::LogicalResult emitFor(mlir::scf::ForOp op);
  mlir::LogicalResult emitIf(mlir::scf::IfOp op);
  mlir::Block *newBlock(mlir::TypeRange types = {});
  void branchTo(mlir::Block *block, mlir::ValueRange args = {});
  /// Runs \p body under \p condition; the values it returns merge with
  /// \p otherwise. Null condition: always.
  Registers guarded(mlir::Value condition, mlir::ValueRange otherwise,
                    llvm::function_ref<Registers()> body);

  //===--- Partition.cpp
  //---------------------------------------------------===//
  mlir::LogicalResult emitPartition(tile::PartitionOp op);
  mlir::LogicalResult emitGroup(tile::PartitionOp op, mlir::Region &region,
                                int first, mlir::Value warp, mlir::Block *done);

  //===--- Ring.cpp
  //--------------------------------------------------------===//
  struct Turn {
    mlir::Value stage, parity;
  };
  void declareDynamic();
  mlir::Value dynamicBase();
  /// The same as an i32.
  mlir::Value dynamicAddress();
  mlir::Value dynamicPointer(mlir::Value byteOffset);
  mlir::Value multiply(mlir::Value a, int64_t by);
  mlir::Value clusterRank();
  void initialiseRings();
  Turn turnOf(const AsyncPlan::Ring &ring, mlir::Value turn);
  mlir::Value barrierOffset(int64_t barriers, mlir::Value stage);
  void waitParity(mlir::Value barrier, mlir::Value parity);
  void setParts(mlir::ValueRange parts, const AsyncPlan::Ring &ring,
                mlir::Value stage, mlir::Value full);
  mlir::LogicalResult emitAcquire(tile::AcquireOp op);
  mlir::LogicalResult emitReceive(tile::ReceiveOp op);
  mlir::LogicalResult emitRelease(tile::ReleaseOp op);
  mlir::LogicalResult emitAsyncCopy(tile::AsyncCopyOp op);

  //===--- Wgmma.cpp
  //-------------------------------------------------------===//
  mlir::Value descriptor(mlir::Value byteOffset);
  /// The number of this thread's four warps within its group.
  mlir::Value groupOfWarps();
  mlir::LogicalResult emitAsyncDot(tile::AsyncDotOp op);
  mlir::LogicalResult emitAwait(tile::AwaitOp op);
  mlir::LogicalResult emitColumns(tile::ColumnsOp op);

  //===--- AsyncStore.cpp
  //--------------------------------------------------===//
  mlir::Value matrixOffset();
  mlir::LogicalResult emitAsyncStore(tile::AsyncStoreOp op);

  /// The warps that the code at hand is for, and what their threads know of
  /// themselves. No warps: the whole CTA.
  struct GroupState {
    int index = 0, firstWarp = 0, warps = 0;
    mlir::Value tid, ofWarps;
    std::map<std::vector<int32_t>, mlir::Value> coordinates;
    llvm::DenseMap<uint32_t, mlir::Value> zeroBitTests;
  };

  mlir::func::FuncOp kernel;
  mlir::ModuleOp target;
  int smVersion;
  int numWarps = 1;
  int cluster = 1;
  SharedPlan plan;
  AsyncPlan asyncPlan;
  mlir::OpBuilder b;
  mlir::Location loc;
  mlir::LLVM::LLVMFuncOp function;
  /// Dominates everything: constants and thread numbers live here.
  mlir::Block *prologue = nullptr;
  mlir::Value sharedBase;
  mlir::Value dynamic, dynamicInt;
  GroupState group;
  llvm::DenseMap<mlir::Value, Registers> values;
  llvm::DenseMap<std::pair<mlir::Type, mlir::Attribute>, mlir::Value> constants;
  /// What bf16 and integers of 8 bits are pieces of, and words made of their
  /// words.
  llvm::DenseMap<mlir::Value, Piece> pieces;
  llvm::DenseMap<mlir::Value, mlir::Value> flippedWords, shiftedWords;
};

} // namespace tandem::lower

#endif // TANDEM_CODEGEN_LOWER_EMITTER_H
