//===- TileBase.td - The tile dialect --------------------------*- tablegen -*-===//
#ifndef TANDEM_DIALECT_TILE_TILEBASE_TD
#define TANDEM_DIALECT_TILE_TILEBASE_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/TensorEncoding.td"

def Tile_Dialect : Dialect {
  let name = "tile";
  let cppNamespace = "::tandem::tile";
  let summary = "what one CTA does with tiles";
  let description = [{
    A tile is a builtin `tensor<RxCxT, #tile.layout<...>>` of rank 2 that the
    threads of a CTA hold in registers; the layout says which thread holds which
    element. `arith` and `math.fma` work on tiles elementwise, `scf.for` and
    `scf.if` (with uniform conditions) carry them. A kernel is a `func.func`
    with `tile.warps`; its pointers are `!llvm.ptr<1>`.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::LLVM::LLVMDialect"];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  // tile.warps on a function: every tile in it belongs to that many warps.
  let hasOperationAttrVerify = 1;
  let extraClassDeclaration = [{
    void registerTypes();
  }];
}

def Tile_LayoutAttr : AttrDef<Tile_Dialect, "Layout",
    [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let mnemonic = "layout";
  let summary = "which thread holds which element of a tile";
  let description = [{
    A linear layout over F2 times an outer repetition (arXiv:2505.23819). Each
    list holds one [row, column] basis vector for each bit of the register,
    lane and warp index; the coordinate of an element is the exclusive or of
    the bases of the bits that are set. `repeat` = [r, c] tiles that linear part
    r times along rows and c times along columns: the register index counts the
    linear part's registers fastest, then columns of repetitions, then rows, so
    that tiles need not be powers of two. A [0, 0] lane or warp basis means that
    the element is replicated. The bases span the linear part; the tile's shape
    is the linear part's times `repeat` and must be the tensor's. `repeat` may be
    left out when it is [1, 1].

    ```mlir
    // 4 warps side by side, each lane 8 neighbouring columns, 2 such blocks
    #tile.layout<register = [[0, 1], [0, 2], [0, 4]],
                 lane = [[0, 8], [0, 16], [0, 32], [0, 64], [0, 128]],
                 warp = [[0, 256], [0, 512]], repeat = [1, 2]>
    ```
  }];
  let parameters = (ins
      AttrParameter<"::tandem::tile::LinearLayout", "the layout",
                    "const ::tandem::tile::LinearLayout &">:$value);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

class Tile_Op<string mnemonic, list<Trait> traits = []>
    : Op<Tile_Dialect, mnemonic, traits>;

#endif // TANDEM_DIALECT_TILE_TILEBASE_TD
