//===- TileOps.td - Ops of the tile dialect --------------------*- tablegen -*-===//
#ifndef TANDEM_DIALECT_TILE_TILEOPS_TD
#define TANDEM_DIALECT_TILE_TILEOPS_TD

include "dialect/tile/TileBase.td"
include "mlir/Dialect/LLVMIR/LLVMTypes.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Tile_Pointer : LLVM_PointerInAddressSpace<1>;

def Tile_IsTile : CPred<"::tandem::tile::isTile($_self)">;
/// A tile: rank 2, static shape, with a #tile.layout encoding.
class Tile_TensorOf<list<Type> elements, string what>
    : Type<And<[RankedTensorOf<elements>.predicate, Tile_IsTile]>,
           what # " tile (a rank-2 static tensor with a #tile.layout)",
           "::mlir::RankedTensorType">;
def Tile_Tensor : Tile_TensorOf<[AnyType], "a">;
def Tile_RowOffsets : Tile_TensorOf<[I64], "an i64">; // Rx1, elements
def Tile_RowMask : Tile_TensorOf<[I1], "an i1">;      // Rx1
def Tile_FloatTensor : Tile_TensorOf<[F32], "an f32">;

def Tile_ProgramIdOp : Tile_Op<"program_id", [Pure]> {
  let summary = "index of this CTA along a grid axis";
  let arguments = (ins ConfinedAttr<I32Attr, [IntMinValue<0>, IntMaxValue<2>]>:$axis);
  let results = (outs I64:$result);
  let assemblyFormat = "$axis attr-dict";
}

def Tile_RangeOp : Tile_Op<"range", [Pure]> {
  let summary = "row or column numbers of a tile";
  let description = [{
    Element (i, j) of the result is `start` + i for a `Rx1` tile and
    `start` + j for a `1xC` tile. The element type is i32 or i64.

    `granule` = g rounds i or j down to a multiple of g, a power of two: what is
    computed from such numbers is computed once for g neighbours. The registers
    of a thread hold g neighbours.
  }];
  let arguments = (ins I64:$start, DefaultValuedAttr<I32Attr, "1">:$granule);
  let results = (outs Tile_Tensor:$result);
  let assemblyFormat = "$start attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Tile_SplatOp : Tile_Op<"splat", [Pure]> {
  let summary = "one scalar in every element";
  let arguments = (ins AnyType:$scalar);
  let results = (outs Tile_Tensor:$result);
  let assemblyFormat = "$scalar attr-dict `:` type($scalar) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_LoadOp : Tile_Op<"load", [MemoryEffects<[MemRead]>, AttrSizedOperandSegments]> {
  let summary = "read a tile of global memory";
  let description = [{
    Element (i, j) comes from `base` + rows[i] + (start + j) * stride, counted in
    elements, when mask[i] is true and start + j < end; otherwise it is `pad`
    and memory is not touched. Without `rows` and `mask` all offsets are 0 and
    all rows exist. `stride` defaults to 1. `rows` and `mask` are `Rx1` tiles
    whose layout is the result's with the column bases dropped.

    `vector` = v promises that base, every rows[i], start and end are multiples
    of v elements, that v elements are naturally aligned and stride is 1: then v
    neighbouring columns are read by one access. The launch record's
    preconditions establish it.
  }];
  let arguments = (ins Tile_Pointer:$base, Optional<Tile_RowOffsets>:$rows,
                       Optional<Tile_RowMask>:$mask, I64:$start, I64:$end,
                       Optional<I64>:$stride, TypedAttrInterface:$pad,
                       DefaultValuedAttr<I32Attr, "1">:$vector);
  let results = (outs Tile_Tensor:$result);
  let assemblyFormat = [{
    $base (`rows` `(` $rows^ `:` type($rows) `)`)?
    (`mask` `(` $mask^ `:` type($mask) `)`)?
    `cols` `(` $start `,` $end (`,` $stride^)? `)` `pad` `(` $pad `)`
    attr-dict `:` type($result)
  }];
  let hasVerifier = 1;
}

def Tile_LoadScalarOp : Tile_Op<"load_scalar", [MemoryEffects<[MemRead]>]> {
  let summary = "read one number of global memory in every thread";
  let description = [{
    The element `offset` elements after `base`, the same in all threads of the
    CTA: a bound of a loop, an index that a kernel finds in memory.
  }];
  let arguments = (ins Tile_Pointer:$base, I64:$offset);
  let results = (outs AnyTypeOf<[I32, I64, F32]>:$result);
  let assemblyFormat = "$base `[` $offset `]` attr-dict `:` type($result)";
}

def Tile_GatherOp : Tile_Op<"gather", [MemoryEffects<[MemRead]>]> {
  let summary = "read elements of global memory by their own offsets";
  let description = [{
    Element (i, j) comes from `base` + offsets[i, j], counted in elements, when
    mask[i] is true; otherwise it is 0 and memory is not touched. Every offset
    of a row that exists must lie in the operand: columns beyond the end are
    clamped by whoever computes the offsets.

    `vector` = v promises that v neighbouring columns of a thread are v
    naturally aligned neighbours in memory: the first one's offset serves all.
  }];
  let arguments = (ins Tile_Pointer:$base, Tile_RowOffsets:$offsets,
                       Optional<Tile_RowMask>:$mask,
                       DefaultValuedAttr<I32Attr, "1">:$vector);
  let results = (outs Tile_Tensor:$result);
  let assemblyFormat = [{
    $base `[` $offsets `:` type($offsets) `]`
    (`mask` `(` $mask^ `:` type($mask) `)`)? attr-dict `:` type($result)
  }];
  let hasVerifier = 1;
}

def Tile_StoreOp : Tile_Op<"store", [MemoryEffects<[MemWrite]>, AttrSizedOperandSegments]> {
  let summary = "write a tile to global memory";
  let description = [{
    The mirror image of load: element (i, j) goes to
    `base` + rows[i] + (start + j) * stride when mask[i] is true and
    start + j < end, and nowhere otherwise. A replicated element is stored by
    one thread only.
  }];
  let arguments = (ins Tile_Tensor:$value, Tile_Pointer:$base,
                       Optional<Tile_RowOffsets>:$rows,
                       Optional<Tile_RowMask>:$mask, I64:$start, I64:$end,
                       Optional<I64>:$stride,
                       DefaultValuedAttr<I32Attr, "1">:$vector);
  let assemblyFormat = [{
    $value `,` $base (`rows` `(` $rows^ `:` type($rows) `)`)?
    (`mask` `(` $mask^ `:` type($mask) `)`)?
    `cols` `(` $start `,` $end (`,` $stride^)? `)` attr-dict `:` type($value)
  }];
  let hasVerifier = 1;
}

def Tile_MaskOp : Tile_Op<"mask", [Pure, AllTypesMatch<["value", "result"]>]> {
  let summary = "replace the columns beyond the end";
  let description = [{
    Element (i, j) of the result is value[i, j] when start + j < end and `fill`
    otherwise: the identity of the reduction that follows.
  }];
  let arguments = (ins Tile_Tensor:$value, I64:$start, I64:$end,
                       TypedAttrInterface:$fill);
  let results = (outs Tile_Tensor:$result);
  let assemblyFormat = "$value `cols` `(` $start `,` $end `)` `fill` `(` $fill `)` attr-dict `:` type($value)";
  let hasVerifier = 1;
}

def Tile_ReduceSum : I32EnumAttrCase<"Sum", 0, "sum">;
def Tile_ReduceMax : I32EnumAttrCase<"Max", 1, "max">;
def Tile_ReduceMaxU : I32EnumAttrCase<"MaxU", 2, "maxu">;
def Tile_ReduceKind : I32EnumAttr<"ReduceKind", "how two elements combine",
                                  [Tile_ReduceSum, Tile_ReduceMax, Tile_ReduceMaxU]> {
  let cppNamespace = "::tandem::tile";
}

def Tile_ReduceOp : Tile_Op<"reduce", [Pure]> {
  let summary = "combine the columns of each row";
  let description = [{
    `sum` adds f32, `max` is the IEEE 754-2019 maximum (NaN wins) of f32, `maxu`
    the unsigned maximum of i32 or i64. The order is fixed by the layout: first
    the registers of a thread, in ascending order of their index, in a balanced
    tree: each round combines neighbours (0 with 1, 2 with 3, ...) and passes an
    odd last one on. Then butterflies over the lane bits that have a column
    basis, in ascending order of that basis: x[lane] + x[lane ^ bit]. Then the
    warps that share the row, in a balanced tree of neighbours again: (w0 + w1)
    + (w2 + w3). The result is `Rx1` with the column bases
    dropped; every thread that holds the row has it.
  }];
  let arguments = (ins Tile_ReduceKind:$kind, Tile_Tensor:$value);
  let results = (outs Tile_Tensor:$result);
  let assemblyFormat = "$kind $value attr-dict `:` type($value) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_BroadcastOp : Tile_Op<"broadcast", [Pure]> {
  let summary = "repeat a column, a row or one element";
  let description = [{
    `Rx1` or `1xC` or `1x1` to `RxC`. The operand's layout is the result's with
    the bases of the broadcast dims dropped, so that no data moves.
  }];
  let arguments = (ins Tile_Tensor:$value);
  let results = (outs Tile_Tensor:$result);
  let assemblyFormat = "$value attr-dict `:` type($value) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_TransposeOp : Tile_Op<"transpose", [Pure]> {
  let summary = "swap rows and columns; no data moves";
  let arguments = (ins Tile_Tensor:$value);
  let results = (outs Tile_Tensor:$result);
  let assemblyFormat = "$value attr-dict `:` type($value) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_ReshapeOp : Tile_Op<"reshape", [Pure]> {
  let summary = "other rows and columns in the same row-major order; no data moves";
  let description = [{
    Element number r * C + c of the operand, counted along its rows of C columns,
    is the element of the same number of the result. Both have powers of two of
    rows and columns and no repetition, so that layouts stay linear.

    With positions in the columns, warp w holding the n from w * n on,
    `8x(W*n)` to `(8*W)xn` turns what each warp has of a row into a row of its
    own.
  }];
  let arguments = (ins Tile_Tensor:$value);
  let results = (outs Tile_Tensor:$result);
  let assemblyFormat = "$value attr-dict `:` type($value) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_UnpackOp : Tile_Op<"unpack", [Pure]> {
  let summary = "the two nibbles of each byte as neighbouring columns";
  let description = [{
    Element (i, 2j) of the result is the low nibble of value[i, j], element
    (i, 2j + 1) the high one, 0 to 15, each less `less`. The operand's layout is
    the result's with every two neighbouring columns as one: both lie in one
    thread.
  }];
  let arguments = (ins Tile_TensorOf<[I8], "an i8">:$value,
                       DefaultValuedAttr<I32Attr, "0">:$less);
  let results = (outs Tile_TensorOf<[I8], "an i8">:$result);
  let assemblyFormat = "$value attr-dict `:` type($value) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_ConvertLayoutOp : Tile_Op<"convert_layout", [Pure]> {
  let summary = "move elements to the threads that another layout names";
  let description = [{
    Registers are renamed where that is enough, one shuffle a register is taken
    where each comes from one register of a lane of the same warp, otherwise
    elements go through shared memory, in a padded row-major image.
  }];
  let arguments = (ins Tile_Tensor:$value);
  let results = (outs Tile_Tensor:$result);
  let assemblyFormat = "$value attr-dict `:` type($value) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_DotOp : Tile_Op<"dot", [Pure, AllTypesMatch<["acc", "result"]>]> {
  let summary = "multiply two tiles and accumulate in f32";
  let description = [{
        result[m, n] = acc[m, n] + sum_k a[m, k] * b[n, k]

    Both operands are K-major: `a` is MxK, `b` is NxK. f16 and bf16 operands
    use the tensor core, one mma.m16n8k16 for each 16 of k in ascending order;
    the layouts are LinearLayout::mmaAccumulator, mmaOperandA and mmaOperandB.
    f32 operands use one fma for each k in ascending order; then `a` has the
    accumulator's layout with the column bases replaced by registers over k, and
    `b` likewise with the row bases (fmaOperandA, fmaOperandB).

    Other layouts for the tensor core say which k an instruction takes: those
    that the four lanes of a row hold in four registers, in the order of the
    registers. Both operands agree on it, and threads can then read neighbouring
    columns of memory (LinearLayout::mmaProblem has the rules). With a single row
    of `a` a lane, half of each instruction's rows are 0.

    With `groups` = G there are G products, each of one warp:

        result[m, n G + g] = acc[m, n G + g] + sum_k a[m, g K + k] * b[n G + g, k]
  }];
  let arguments = (ins Tile_Tensor:$a, Tile_Tensor:$b, Tile_Tensor:$acc,
                       DefaultValuedAttr<I32Attr, "1">:$groups);
  let results = (outs Tile_Tensor:$result);
  let assemblyFormat = "$a `,` $b `,` $acc attr-dict `:` type($a) `,` type($b) `->` type($acc)";
  let hasVerifier = 1;
}

def Tile_ApproxEx2 : I32EnumAttrCase<"Ex2", 0, "ex2">;
def Tile_ApproxLg2 : I32EnumAttrCase<"Lg2", 1, "lg2">;
def Tile_ApproxRcp : I32EnumAttrCase<"Rcp", 2, "rcp">;
def Tile_ApproxRsqrt : I32EnumAttrCase<"Rsqrt", 3, "rsqrt">;
def Tile_ApproxTanh : I32EnumAttrCase<"Tanh", 4, "tanh">;
def Tile_ApproxKind : I32EnumAttr<"ApproxKind", "an approximate instruction",
                                  [Tile_ApproxEx2, Tile_ApproxLg2, Tile_ApproxRcp,
                                   Tile_ApproxRsqrt, Tile_ApproxTanh]> {
  let cppNamespace = "::tandem::tile";
}

def Tile_ApproxOp : Tile_Op<"approx", [Pure, AllTypesMatch<["value", "result"]>]> {
  let summary = "one approximate hardware instruction on each f32 element";
  let description = [{
    Exactly one PTX instruction without flushing of subnormals: ex2.approx.f32,
    lg2.approx.f32, rcp.approx.f32, rsqrt.approx.f32 or tanh.approx.f32. Its error is in refops/Numerics.h; the kernel's contract
    names it. `flushes`, for ex2: subnormal arguments and results become 0, which
    saves three of four instructions of the hardware.
  }];
  let arguments = (ins Tile_ApproxKind:$kind, Tile_FloatTensor:$value,
                       UnitAttr:$flushes);
  let results = (outs Tile_FloatTensor:$result);
  let assemblyFormat = "$kind $value (`flushes` $flushes^)? attr-dict `:` type($value)";
}

def Tile_SqrtOp : Tile_Op<"sqrt", [Pure, AllTypesMatch<["value", "result"]>]> {
  let summary = "correctly rounded square root (sqrt.rn.f32)";
  let arguments = (ins Tile_FloatTensor:$value);
  let results = (outs Tile_FloatTensor:$result);
  let assemblyFormat = "$value attr-dict `:` type($value)";
}

def Tile_NeighbourDotOp
    : Tile_Op<"neighbour_dot", [Pure, AllTypesMatch<["a", "b"]>]> {
  let summary = "add the products of neighbouring columns";
  let description = [{
        result[i, j] = sum_t a[i, n j + t] * b[i, n j + t]

    where n, a power of two, is the quotient of the numbers of columns. One fma
    for each t in ascending order, the first onto 0. The result's layout is the
    operands' with every n neighbouring columns as one: they lie in one thread.
  }];
  let arguments = (ins Tile_TensorOf<[F32], "an f32">:$a,
                       Tile_TensorOf<[F32], "an f32">:$b);
  let results = (outs Tile_TensorOf<[F32], "an f32">:$result);
  let assemblyFormat = "$a `,` $b attr-dict `:` type($a) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_ReportErrorOp : Tile_Op<"report_error", [MemoryEffects<[MemWrite]>]> {
  let summary = "report rows whose index is out of range";
  let description = [{
    For each row i with bad[i], the error slot becomes the minimum of itself and
    step * 2^48 + rowIndex[i], so that the first step and row win whatever the
    order of threads.
  }];
  let arguments = (ins Tile_Pointer:$slot, Tile_RowMask:$bad,
                       Tile_RowOffsets:$rowIndex, I32Attr:$step);
  let assemblyFormat = "$slot `,` $bad `,` $rowIndex `step` $step attr-dict `:` type($bad) `,` type($rowIndex)";
  let hasVerifier = 1;
}

include "dialect/tile/TileAsyncOps.td"

#endif // TANDEM_DIALECT_TILE_TILEOPS_TD
