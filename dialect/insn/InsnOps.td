//===- InsnOps.td - The instruction set ------------------------*- tablegen -*-===//
#ifndef TANDEM_DIALECT_INSN_INSNOPS_TD
#define TANDEM_DIALECT_INSN_INSNOPS_TD

include "dialect/insn/InsnBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"

def Insn_NopOp : Insn_Op<Insn_NOP, "nop", "0.1", "->"> {
  let summary = "nothing";
  let description = [{
    Takes nothing and gives nothing; a placeholder in plans.
  }];
}

def Insn_CopyOp : Insn_Op<Insn_COPY, "copy", "0.1", "x: any[..] -> y: any[..]",
                          [], [Pure]> {
  let summary = "copy, with a cast when the types differ";
  let description = [{
    Between equal types every bit is kept, NaN payloads included. Otherwise:
    float to float and integer to float round once to nearest-even; float to
    integer truncates, saturates and turns NaN into 0; float8 saturates to the
    largest finite value on overflow and on infinities, and keeps NaN.
  }];
}

def Insn_AddOp : Insn_Op<Insn_ADD, "add", "0.1", "a: f[~], b: f[~] -> y: f[~]",
                         [], [Pure]> {
  let summary = "elementwise sum with broadcasting";
  let description = [{
        y = round(f32(a) + f32(b))

    One f32 addition, rounded once more to the result's type, so the result is
    bit-exact. Shapes broadcast as in NumPy.
  }];
}

def Insn_MulOp
    : Insn_Op<Insn_MUL, "mul", "0.1", "a: f[~], b?: f[~] -> y: f[~]",
              [Insn_Param<"scale", "float", "1.0", "",
                          "factor when `b` is absent; ignored otherwise">],
              [Pure]> {
  let summary = "elementwise product with broadcasting, or scaling";
  let description = [{
        y = round(f32(a) * f32(b))        with two operands
        y = round(f32(a) * f32(scale))    with one

    One f32 multiplication, rounded once more to the result's type, so the
    result is bit-exact.
  }];
}

def Insn_GeluOp
    : Insn_Op<Insn_GELU, "gelu", "0.1", "x: f[..] -> y: f[..]",
              [Insn_Param<"approximate", "string", "none", "none|tanh",
                          "`tanh` selects the tanh form">],
              [Pure]> {
  let summary = "Gaussian error linear unit";
  let description = [{
        y = 0.5 * x * erfc(-x / sqrt(2))                              none
        y = 0.5 * x * (1 + tanh(sqrt(2/pi) * (x + 0.044715 * x^3)))   tanh

    The exact form holds to relative accuracy in the negative tail, where
    `1 + erf` cancels. Results below 2^-126 carry an absolute bound of 2^-126.

    Source: Hendrycks and Gimpel 2016, arXiv:1606.08415.
  }];
}

def Insn_SiluMulOp
    : Insn_Op<Insn_SILU_MUL, "silu_mul", "0.1",
              "gate: f[..], up: f[..] -> y: f[..]", [], [Pure]> {
  let summary = "SwiGLU activation";
  let description = [{
        y = gate * sigmoid(gate) * up

    The sigmoid overflows on neither side.

    Source: Shazeer 2020, arXiv:2002.05202.
  }];
}

def Insn_SoftmaxOp
    : Insn_Op<Insn_SOFTMAX, "softmax", "0.1", "x: f[..] -> y: f[..]",
              [Insn_Param<"dim", "int", "-1", "",
                          "axis to normalise; negative counts from the end">],
              [Pure]> {
  let summary = "softmax along one axis";
  let description = [{
        m = max_j x[j];  y[i] = exp(x[i] - m) / sum_j exp(x[j] - m)

    A NaN or +inf anywhere in a row, or a row of -inf only, makes the whole row
    NaN.
  }];
}

def Insn_RmsNormOp
    : Insn_Op<Insn_RMSNORM, "rmsnorm", "0.1",
              "x: f[..,K], w: f[K] -> y: f[..,K]",
              [Insn_Param<"eps", "float", "1e-6", "value >= 0",
                          "added to the mean square, inside the root">],
              [Pure]> {
  let summary = "root-mean-square normalization over the last axis";
  let description = [{
        y[i] = x[i] * rsqrt(mean_j(x[j]^2) + eps) * w[i]

    All in f32. Right while the sum of squares is below 2^127.

    Source: Zhang and Sennrich 2019, arXiv:1910.07467, eq. 4; the place of
    `eps` follows the Llama reference model.
  }];
}

def Insn_LayerNormOp
    : Insn_Op<Insn_LAYERNORM, "layernorm", "0.1",
              "x: f[..,K], w: f[K], b?: f[K] -> y: f[..,K]",
              [Insn_Param<"eps", "float", "1e-5", "value >= 0",
                          "added to the variance, inside the root">,
               Insn_Param<"hidden", "int", "", "value >= 0",
                          "repeats the size of the last axis">],
              [Pure]> {
  let summary = "layer normalization over the last axis";
  let description = [{
        mu = mean_j x[j];  var = mean_j (x[j] - mu)^2
        y[i] = (x[i] - mu) * rsqrt(var + eps) * w[i] + b[i]

    Biased variance, by two passes or Welford's method: the one-pass form
    cancels for means of 1e4 with unit spread. Right while the sum of squares
    is below 2^127.

    Source: Ba, Kiros and Hinton 2016, arXiv:1607.06450.
  }];
}

def Insn_EmbedOp
    : Insn_Op<Insn_EMBED, "embed", "0.1",
              "ids: i[..], table: f[V,H] -> y: f[..,H]", [], [Pure]> {
  let summary = "rows of a table";
  let description = [{
        y[.., h] = table[ids[..], h]

    Rows come in row-major order of `ids`. An id outside [0, V) is an error that
    names the row; that row of the output stays untouched, other rows are right.
  }];
}

def Insn_SampleArgmaxOp
    : Insn_Op<Insn_SAMPLE_ARGMAX, "sample_argmax", "0.1",
              "logits: f[..,V] -> id: int32[..]", [], [Pure]> {
  let summary = "index of the largest logit";
  let description = [{
    The lowest index among equal maxima. NaN counts as the maximum, and the
    lowest NaN index wins. V = 0 is refused.
  }];
}

def Insn_AllreduceShardOp
    : Insn_Op<Insn_ALLREDUCE_SHARD, "allreduce_shard", "0.1",
              "x*: f[..] -> y: f[..]", [], [Pure]> {
  let summary = "sum of shards";
  let description = [{
        y = round(((x_0 + x_1) + x_2) + ...)

    f32 additions from left to right, rounded once more to the result's type,
    so the result is bit-exact.
  }];
}

defvar Insn_MatmulParams = [
    Insn_Param<"weight_layout", "string", "nk", "nk|kn",
               "layout of W: `nk` is [N, K], `kn` is [K, N]">,
    Insn_Param<"n_off", "int", "0", "value >= 0",
               "first output column that the tile writes">,
    Insn_Param<"N_tile", "int", "", "value >= 0",
               "columns that the tile writes, default all from `n_off`">,
    Insn_Param<"K", "int", "", "value >= 0", "repeats the size of x's last axis">,
    Insn_Param<"invariant", "bool", "false", "",
               "ask for a numerics contract that no batch dimension enters">];

def Insn_GemmTileOp
    : Insn_Op<Insn_GEMM_TILE, "gemm_tile", "0.1",
              "x: f[..,K], W: f[N,K], bias?: f[N] -> y: f[..,N]",
              Insn_MatmulParams, [Pure]> {
  let summary = "tile of a matrix product with bias";
  let description = [{
        y[.., n] = sum_k x[.., k] * W[n, k] + bias[n],  n_off <= n < n_off + N_tile

    Columns outside the tile are not written. Products and sums accumulate in
    f32; an empty sum is 0. With `weight_layout = "kn"`, W is given as [K, N].
  }];
}

def Insn_GemvTileOp
    : Insn_Op<Insn_GEMV_TILE, "gemv_tile", "0.1",
              "x: f[..,K], W: f[N,K], bias?: f[N] -> y: f[..,N]",
              Insn_MatmulParams, [Pure]> {
  let summary = "tile of a matrix-vector product with bias";
  let description = [{
    As gemm_tile, for few rows. M, K or N = 0 is refused.
  }];
}

def Insn_FusedOp
    : Insn_Op<Insn_FUSED, "fused", "0.1", "->", [],
              [IsolatedFromAbove, SingleBlock]> {
  let summary = "a recipe: steps in order";
  let description = [{
    The region holds the recipe's steps in order. Block arguments are the
    inputs, the yielded values are the outputs, and every other value is a typed
    scratch slot: it is rounded to its element type exactly where the separate
    steps would round.

    A step that writes a final output cannot be read again (the JSON form has no
    such reference): copy the value.

    ```mlir
    insn.fused "norm" inputs ["x", "w"] outputs ["y"] {
    ^bb0(%x: tensor<?x64xbf16, #insn.dims<"M", 64>>, %w: tensor<64xbf16>):
      %y = insn.rmsnorm %x, %w {eps = 1.0e-05 : f64} : (...) -> ...
      insn.yield %y : ...
    }
    ```
  }];
  let arguments = (ins StrAttr:$recipe, StrArrayAttr:$inputs,
                       StrArrayAttr:$outputs,
                       OptionalAttr<StrArrayAttr>:$states);
  let results = (outs);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $recipe `inputs` $inputs `outputs` $outputs (`states` $states^)?
    attr-dict-with-keyword $body
  }];
  let extraClassDefinition = "";
}

def Insn_YieldOp : Op<Insn_Dialect, "yield", [HasParent<"FusedOp">, Terminator]> {
  let summary = "the outputs of a recipe";
  let arguments = (ins Variadic<Insn_Tensor>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

#endif // TANDEM_DIALECT_INSN_INSNOPS_TD
