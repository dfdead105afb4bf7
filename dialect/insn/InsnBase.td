//===- InsnBase.td - Vocabulary and op base of insn ------------*- tablegen -*-===//
//
// The opcodes are the vocabulary of the instruction set: recipes, plans and
// caches store their values. An op definition binds one of them to a
// signature, parameters and a description; everything else about the op (C++
// table, recipe checks, verifier, generators, Python wrappers, manual) is
// derived from that record by dialect/cmake/op_table.py.
//
//===----------------------------------------------------------------------===//
#ifndef TANDEM_DIALECT_INSN_INSNBASE_TD
#define TANDEM_DIALECT_INSN_INSNBASE_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/TensorEncoding.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Insn_Dialect : Dialect {
  let name = "insn";
  let cppNamespace = "::tandem::insn";
  let summary = "instruction set for LLM inference";
  let description = [{
    Each operation computes one instruction on tensors, with the meaning that
    its description states: operands are widened to f32, reductions accumulate
    in f32, and the result is rounded once to its element type.
  }];
  let useDefaultAttributePrinterParser = 1;
  let extraClassDeclaration = "void registerAttributes();";
}

/// Names of the dims of a tensor with `?` in its shape.
def Insn_DimsAttr : AttrDef<Insn_Dialect, "Dims",
    [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let mnemonic = "dims";
  let summary = "sizes and symbols of a tensor's dims";
  let description = [{
    A recipe's dims are numbers or symbols that a call binds; MLIR's `?` has no
    name. This tensor encoding repeats the shape with the names:

    ```mlir
    tensor<?x64xf32, #insn.dims<"M", 64>>
    ```

    It is there when, and only when, a dim is `?`.
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::Attribute">:$dims);
  let hasCustomAssemblyFormat = 1;
}

/// One opcode. Values count up from 0 and never change: a new one comes last.
class Insn_Case<string symbol_, int value_> {
  string symbol = symbol_;
  int value = value_;
}

def Insn_NOP : Insn_Case<"NOP", 0>;
def Insn_COPY : Insn_Case<"COPY", 1>;
def Insn_EMBED : Insn_Case<"EMBED", 2>;
def Insn_RMSNORM : Insn_Case<"RMSNORM", 3>;
def Insn_LAYERNORM : Insn_Case<"LAYERNORM", 4>;
def Insn_GEMV_TILE : Insn_Case<"GEMV_TILE", 5>;
def Insn_GEMM_TILE : Insn_Case<"GEMM_TILE", 6>;
def Insn_ATTENTION_TILE : Insn_Case<"ATTENTION_TILE", 7>;
def Insn_ATTENTION_COMBINE : Insn_Case<"ATTENTION_COMBINE", 8>;
def Insn_ROPE : Insn_Case<"ROPE", 9>;
def Insn_SILU_MUL : Insn_Case<"SILU_MUL", 10>;
def Insn_GELU : Insn_Case<"GELU", 11>;
def Insn_ADD : Insn_Case<"ADD", 12>;
def Insn_MUL : Insn_Case<"MUL", 13>;
def Insn_DEQUANT : Insn_Case<"DEQUANT", 14>;
def Insn_SOFTMAX : Insn_Case<"SOFTMAX", 15>;
def Insn_KV_APPEND : Insn_Case<"KV_APPEND", 16>;
def Insn_SAMPLE_ARGMAX : Insn_Case<"SAMPLE_ARGMAX", 17>;
def Insn_ALLREDUCE_SHARD : Insn_Case<"ALLREDUCE_SHARD", 18>;
def Insn_FUSED : Insn_Case<"FUSED", 19>;
def Insn_GDN_STEP : Insn_Case<"GDN_STEP", 20>;
def Insn_ATTN_STEP : Insn_Case<"ATTN_STEP", 21>;
def Insn_LM_HEAD : Insn_Case<"LM_HEAD", 22>;

/// What recipes may say beside the opcodes; plans and stored codes know nothing
/// of it.
class Insn_SurfaceCase<string symbol_> : Insn_Case<symbol_, -1>;

def Insn_MAP : Insn_SurfaceCase<"MAP">;

/// A parameter of an op. `paramType` is bool, int, float or string; `default`
/// is empty when it follows from shapes, and `required` when there is none;
/// `range` is a condition on `value`, or the choices of a string separated by
/// `|`.
class Insn_Param<string name_, string paramType_, string default_,
                 string range_, string doc_> {
  string paramName = name_;
  string paramType = paramType_;
  string paramDefault = default_;
  string paramRange = range_;
  string paramDoc = doc_;
  bit mayBeOperand = 0;
}

/// An integer that a step may also read on the device: `{"in": k}` or
/// `{"s": j}` in the place of the number, an int32 of shape [], [1] or [B].
class Insn_DeviceParam<string name_, string default_, string range_,
                       string doc_>
    : Insn_Param<name_, "int", default_, range_, doc_> {
  let mayBeOperand = 1;
}

/// Numbers and token ids that the instruction set computes with.
def Insn_Tensor : RankedTensorOf<[F32, F16, BF16, F8E4M3FN, F8E5M2, I32, I64,
                                  I8, UI8]>;

/// Base of every instruction. The mnemonic is the opcode in lower case.
/// Operands and results follow `signature` (refops/core/Signature.h), which
/// verifiers and shape inference read; parameters are attributes of the same
/// names; `pos = 2 : index` is a param that operand 2 holds. `since` is the first release that accepts the op.
class Insn_Op<Insn_Case case, string mnemonic, string since_, string sig,
              list<Insn_Param> params_ = [], list<Trait> traits = []>
    : Op<Insn_Dialect, mnemonic, traits> {
  string opcodeName = case.symbol;
  string since = since_;
  string signature = sig;
  list<Insn_Param> params = params_;

  let arguments = (ins Variadic<Insn_Tensor>:$operands_);
  let results = (outs Variadic<Insn_Tensor>:$results_);
  let assemblyFormat =
      "$operands_ attr-dict `:` functional-type($operands_, $results_)";
  let hasVerifier = 1;
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::verify() {
      return ::tandem::insn::verifyBySignature(getOperation());
    }
  }];
}

#endif // TANDEM_DIALECT_INSN_INSNBASE_TD
