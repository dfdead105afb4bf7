//===- TileAsyncOps.td - Shared memory, copies, groups of warps -*- tablegen -*-===//
//
// What a warp-specialised kernel needs beyond tiles in registers: memory that
// outlives an op (a ring), work that outlives a thread's program order (copies,
// products), and groups of warps that do different things (a partition).
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_DIALECT_TILE_TILEASYNCOPS_TD
#define TANDEM_DIALECT_TILE_TILEASYNCOPS_TD

include "dialect/tile/TileBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Tile_Type<string name, string typeMnemonic> : TypeDef<Tile_Dialect, name> {
  let mnemonic = typeMnemonic;
}

class Tile_ShapedType<string name, string typeMnemonic> : Tile_Type<name, typeMnemonic> {
  let parameters = (ins "int64_t":$rows, "int64_t":$cols, "::mlir::Type":$element);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    int64_t getBytes() const {
      return getRows() * getCols() * getElement().getIntOrFloatBitWidth() / 8;
    }
  }];
}

def Tile_SharedType : Tile_ShapedType<"Shared", "shared"> {
  let summary = "a tile in shared memory";
  let description = [{
    `!tile.shared<128x64xbf16>`: rows of 128 bytes one after the other; within
    a row, the 16-byte chunk c lies at place c xor (row mod 8). That one pattern
    is what a bulk copy writes, the tensor core reads and stmatrix fills without
    bank conflicts, so it is no parameter.
  }];
}

def Tile_MapType : Tile_ShapedType<"Map", "map"> {
  let summary = "a matrix in global memory, addressed by boxes";
  let description = [{
    `!tile.map<128x64xbf16>`: a kernel argument of kind TensorMap that moves a
    box of 128 x 64 elements at a time. Elements of a box beyond the matrix are
    read as 0 and never written.
  }];
}

def Tile_RingType : Tile_Type<"Ring", "ring"> {
  let summary = "stages in shared memory that are filled and used in turns";
  let description = [{
    `!tile.ring<4, !tile.shared<128x64xbf16>, !tile.shared<256x64xbf16>>`: 4
    stages of two tiles each. Turn t, counted from 0, uses stage t mod 4. A ring
    knows which turns have been filled and which have been released; the
    barriers for that, their phases and their counts belong to it.
  }];
  let parameters = (ins "int64_t":$stages, ArrayRefParameter<"::mlir::Type">:$parts);
  let assemblyFormat = "`<` $stages `,` $parts `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Bytes of one stage.
    int64_t getStageBytes() const;
    /// Where part \p index of a stage starts.
    int64_t getPartOffset(size_t index) const;
  }];
}

def Tile_PendingType : Tile_Type<"Pending", "pending"> {
  let summary = "a product that the tensor core may still be adding to";
  let description = [{
    `!tile.pending<tensor<128x256xf32, #acc>>`: only another product may use it;
    `tile.await` makes a tile of it. So no code can read an accumulator early.
  }];
  let parameters = (ins "::mlir::RankedTensorType":$tile);
  let assemblyFormat = "`<` $tile `>`";
  let genVerifyDecl = 1;
}

def Tile_PartitionOp : Tile_Op<"partition", [NoTerminator]> {
  let summary = "groups of warps that do different things";
  let description = [{
    Each region runs on the next `warps` warps of the CTA, a multiple of 4, with
    `registers` registers a thread; in sum the warps of the kernel. Layouts in a
    region are relative to its warps. A region that holds no tile in registers
    runs in one thread. The kernel returns after it.

    ```mlir
    tile.partition warps(4) registers(40) {
      ... fill a ring
    } warps(8) registers(232) {
      ... use it
    }
    ```
  }];
  let arguments = (ins DenseI32ArrayAttr:$warps, DenseI32ArrayAttr:$registers);
  let regions = (region VariadicRegion<SizedRegion<1>>:$groups);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Tile_RingOp : Tile_Op<"ring", [MemoryEffects<[MemAlloc]>]> {
  let summary = "make a ring of stages, all free";
  let description = [{
    Before the partition whose regions fill and use it. One region acquires, one
    receives and releases.
  }];
  let results = (outs Tile_RingType:$ring);
  let assemblyFormat = "attr-dict `:` type($ring)";
  let hasVerifier = 1;
}

class Tile_StageOp<string mnemonic> : Tile_Op<mnemonic, [MemoryEffects<[MemRead, MemWrite]>]> {
  let arguments = (ins Tile_RingType:$ring, I32:$turn);
  let results = (outs Variadic<Tile_SharedType>:$parts);
  let assemblyFormat = "$ring `[` $turn `]` attr-dict `:` type($ring) `->` type($parts)";
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::Value":$ring, "::mlir::Value":$turn)>];
}

def Tile_AcquireOp : Tile_StageOp<"acquire"> {
  let summary = "wait until the stage of a turn is free, to fill it";
  let description = [{
    Turns are acquired in ascending order, each once. The stage counts as filled
    when copies have written all of its bytes; the region must issue them.
  }];
}

def Tile_ReceiveOp : Tile_StageOp<"receive"> {
  let summary = "wait until the stage of a turn is filled, to use it";
}

def Tile_ReleaseOp : Tile_Op<"release", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "give the stage of a turn back";
  let description = [{
    Waits until at most `pending` of the region's products are still running,
    in the order of their start: the products that read the stage must not be
    among them. Every turn that was received is released once.
  }];
  let arguments = (ins Tile_RingType:$ring, I32:$turn,
                       DefaultValuedAttr<ConfinedAttr<I32Attr, [IntNonNegative]>, "0">:$pending);
  let assemblyFormat = "$ring `[` $turn `]` attr-dict `:` type($ring)";
}

def Tile_AsyncCopyOp : Tile_Op<"async_copy", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "start copying a box into a stage";
  let description = [{
    Element (i, j) of the stage becomes element (row + i, col + j) of the
    matrix; one beyond it becomes 0. It is there when the turn has been received.

    With `multicast` all CTAs of the cluster pass the same row and col, each
    copies an equal part of the rows and all get all of them; the map's box is
    that part.

    `cache evict_first` says that nothing reads these elements again soon,
    `cache evict_last` that much does. It changes no value.
  }];
  let arguments = (ins Tile_MapType:$map, I32:$row, I32:$col,
                       Tile_SharedType:$stage, UnitAttr:$multicast,
                       DefaultValuedAttr<StrAttr, "\"\"">:$cache);
  let assemblyFormat = [{
    $map `[` $row `,` $col `]` `->` $stage (`multicast` $multicast^)?
    (`cache` $cache^)? attr-dict
    `:` type($map) `->` type($stage)
  }];
  let hasVerifier = 1;
}

def Tile_AsyncStoreOp : Tile_Op<"async_store", [MemoryEffects<[MemWrite]>]> {
  let summary = "write a tile to a matrix by way of shared memory";
  let description = [{
    Element (i, j) of a tile in the accumulator's layout, with rows of 128
    bytes, goes to element (row + i, col + j) of the matrix, where it has one.
    The map's box is 64 rows. The writes are complete when the kernel has
    ended; the shared memory that they leave from belongs to the lowering.
  }];
  let arguments = (ins Tile_Tensor:$value, Tile_MapType:$map, I32:$row, I32:$col);
  let assemblyFormat = [{
    $value `->` $map `[` $row `,` $col `]` attr-dict `:` type($value) `->` type($map)
  }];
  let hasVerifier = 1;
}

def Tile_AsyncDotOp : Tile_Op<"async_dot", [MemoryEffects<[MemRead]>]> {
  let summary = "start multiplying two tiles in shared memory";
  let description = [{
        result[m, n] = acc[m, n] + sum_k a[m, k] * b[n, k]

    in f32, one instruction for each 32 bytes of k (16 elements of f16 or bf16)
    in ascending order; without `acc` the sum starts from 0. The layout of the
    result is LinearLayout::mmaAccumulator with all warps along the rows.
  }];
  let arguments = (ins Tile_SharedType:$a, Tile_SharedType:$b,
                       Optional<Tile_PendingType>:$acc);
  let results = (outs Tile_PendingType:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Tile_AwaitOp : Tile_Op<"await", [MemoryEffects<[MemRead, MemWrite]>,
    TypesMatchWith<"the result is the tile that is pending", "value", "result",
                   "::llvm::cast<::tandem::tile::PendingType>($_self).getTile()">]> {
  let summary = "wait for all products of the region";
  let arguments = (ins Tile_PendingType:$value);
  let results = (outs Tile_Tensor:$result);
  let assemblyFormat = "$value attr-dict `:` type($value)";
  let builders = [OpBuilder<(ins "::mlir::Value":$value)>];
}

def Tile_ColumnsOp : Tile_Op<"columns", [Pure]> {
  let summary = "some neighbouring columns of a tile; no data moves";
  let description = [{
    Columns start ... of the operand; result and operand have the same linear
    part and repeat along rows, and start is a multiple of its columns.
  }];
  let arguments = (ins Tile_Tensor:$value, I64Attr:$start);
  let results = (outs Tile_Tensor:$result);
  let assemblyFormat = "$value `[` $start `]` attr-dict `:` type($value) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_GridWaitOp : Tile_Op<"grid_wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "wait until the launch before this one has ended";
  let description = [{
    A kernel whose launch record says `programmatic` may start earlier; nothing
    that an earlier launch writes may be read, and nothing that it reads be
    written, before.
  }];
  let assemblyFormat = "attr-dict";
}

def Tile_GridReleaseOp : Tile_Op<"grid_release", [MemoryEffects<[MemWrite]>]> {
  let summary = "let the next launch start, as far as it does not wait";
  let assemblyFormat = "attr-dict";
}

#endif // TANDEM_DIALECT_TILE_TILEASYNCOPS_TD
