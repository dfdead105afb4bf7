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

defvar Insn_WeightLayout =
    Insn_Param<"weight_layout", "string", "nk", "nk|kn",
               "layout of W: `nk` is [N, K], `kn` is [K, N]">;
defvar Insn_RepeatsK =
    Insn_Param<"K", "int", "", "value >= 0", "repeats the size of x's last axis">;

defvar Insn_QuantParams = [
    Insn_Param<"qdtype", "string", "", "int8|int4",
               "repeats how W is stored: int8 [N, K], or two int4 in a uint8 "
               "[N, ceil(K/2)]; the codes 6 (int8) and 7 (int4) are accepted">,
    Insn_Param<"group", "int", "", "value >= 1",
               "neighbouring k that share a scale, default all of K">];

defvar Insn_MatmulParams = [
    Insn_WeightLayout,
    Insn_Param<"n_off", "int", "0", "value >= 0",
               "first output column that the tile writes">,
    Insn_Param<"N_tile", "int", "", "value >= 0",
               "columns that the tile writes, default all from `n_off`">,
    Insn_RepeatsK,
    Insn_Param<"invariant", "bool", "false", "",
               "ask for a numerics contract that no batch dimension enters">,
    Insn_Param<"accumulate", "string", "promoted", "promoted|fast",
               "float8 operands: add to f32 every 128 of K, or let the tensor "
               "core accumulate all of K">,
    Insn_Param<"weight_dtype", "string", "", "float16|bfloat16",
               "quantised W: round (q - zero) * scale to this type before it "
               "is multiplied; by default it is not rounded">
    ] # Insn_QuantParams;

defvar Insn_MatmulSignature =
    "x: f[..,K], W: f[N,K], bias?: f[N] -> y: f[..,N] | "
    "x: f[..,K], W: int8[N,K], scales: f[N,G], zeros?: f[N,G] -> y: f[..,N] | "
    "x: f[..,K], W: uint8[N,ceil(K/2)], scales: f[N,G], zeros?: f[N,G] "
    "-> y: f[..,N]";

def Insn_GemmTileOp
    : Insn_Op<Insn_GEMM_TILE, "gemm_tile", "0.1", Insn_MatmulSignature,
              Insn_MatmulParams, [Pure]> {
  let summary = "tile of a matrix product with bias";
  let description = [{
        y[.., n] = sum_k x[.., k] * W[n, k] + bias[n],  n_off <= n < n_off + N_tile

    Columns outside the tile are not written. Products and sums accumulate in
    f32; an empty sum is 0. With `weight_layout = "kn"`, W is given as [K, N].

    With quantised weights W[n, k] stands for (q[n, k] - zeros[n, k / group]) *
    scales[n, k / group]; dequant says how q is stored. Such a W is always
    [N, K] and takes no bias.
  }];
}

def Insn_GemvTileOp
    : Insn_Op<Insn_GEMV_TILE, "gemv_tile", "0.1", Insn_MatmulSignature,
              Insn_MatmulParams, [Pure]> {
  let summary = "tile of a matrix-vector product with bias";
  let description = [{
    As gemm_tile, for few rows. M, K or N = 0 is refused.
  }];
}

def Insn_LmHeadOp
    : Insn_Op<Insn_LM_HEAD, "lm_head", "0.1",
              "h: f[1,K], W: f[N,K] -> y: f[1,N]",
              [Insn_Param<"weight_layout", "string", "kn", "nk|kn",
                          "layout of W: `nk` is [N, K], `kn` is [K, N]">,
               Insn_RepeatsK],
              [Pure]> {
  let summary = "logits of one hidden row";
  let description = [{
        y[0, n] = sum_k h[0, k] * W[k, n]

    As gemv_tile, for exactly one row and weights [K, N] unless
    `weight_layout` says otherwise. K or N = 0 is refused.
  }];
}

def Insn_DequantOp
    : Insn_Op<Insn_DEQUANT, "dequant", "0.1",
              "q: int8[N,K], scales: f[N,G], zeros?: f[N,G] -> y: f[N,K] | "
              "q: uint8[N,ceil(K/2)], scales: f[N,G], zeros?: f[N,G] "
              "-> y: f[N,K]",
              Insn_QuantParams # [
                  Insn_Param<"K", "int", "", "value >= 0",
                             "columns of the result; needed where packed int4 "
                             "ends in half a byte, default two a byte">],
              [Pure]> {
  let summary = "numbers of quantised weights";
  let description = [{
        y[n, k] = (q[n, k] - zeros[n, k / group]) * scales[n, k / group]

    int8: q as it is. int4: byte b of a row holds column 2b in its low nibble
    and 2b + 1 in its high one; a nibble stores q + 8, so q is -8 to 7, and
    zeros apply after the 8 is subtracted. The last group may be short, and a
    scales tensor with too few groups repeats its last column. One rounding.
    The result's type is the scales' unless the step says otherwise.
  }];
}

def Insn_RopeOp
    : Insn_Op<Insn_ROPE, "rope", "0.1",
              "x: f[heads,D], positions: i[1], inv_freq?: float32[half] "
              "-> y: f[heads,D] | "
              "x: f[S,heads,D], positions: i[S], inv_freq?: float32[half] "
              "-> y: f[S,heads,D] | "
              "x: f[B,S,heads,D], positions: i[S], inv_freq?: float32[half] "
              "-> y: f[B,S,heads,D] | "
              "x: f[B,S,heads,D], positions: i[B*S], inv_freq?: float32[half] "
              "-> y: f[B,S,heads,D] | "
              "x: f[B,S,heads,D], positions: i[B,S], inv_freq?: float32[half] "
              "-> y: f[B,S,heads,D]",
              [Insn_Param<"theta", "float", "10000", "value > 0",
                          "base of the frequencies when inv_freq is absent">,
               Insn_Param<"head_dim", "int", "", "value >= 0",
                          "repeats the size of the last axis">,
               Insn_Param<"rotary_dim", "int", "", "value >= 0",
                          "leading elements of a head that turn, an even "
                          "number, default all; the rest is copied">],
              [Pure]> {
  let summary = "rotary position embedding, rotate-half";
  let description = [{
    With half = rotary_dim / 2 and a = f32(f32(position) * inv_freq[i]):

        y[i]        = x[i] * cos(a) - x[i + half] * sin(a)
        y[i + half] = x[i + half] * cos(a) + x[i] * sin(a)

    Without `inv_freq` the host computes theta^(-i/half) in double and rounds
    once to f32; reference and kernel share that table. The angle is exact by
    contract; sin and cos are within 2 ulp of it for any angle.

    Source: Su et al. 2021, arXiv:2104.09864, section 3.4; the pairing of
    i with i + half follows the Llama reference model.
  }];
}

def Insn_KvAppendOp
    : Insn_Op<Insn_KV_APPEND, "kv_append", "0.1",
              "new: f[n,kvh,D], cache&: f[S,kvh,D] -> | "
              "new: f[n,kvh*D], cache&: f[S,kvh,D] -> | "
              "new: f[B,kvh,D], cache&: f[B,S,kvh,D] -> | "
              "new: f[B,kvh*D], cache&: f[B,S,kvh,D] ->",
              [Insn_DeviceParam<"pos", "required", "value >= 0",
                                "slot of the first new row; one for all "
                                "sequences, or one for each">]> {
  let summary = "new keys or values into a cache, in place";
  let description = [{
    A cache [S, kvh, D] takes n rows at pos ... pos + n - 1; a batched one takes
    one row a sequence in slot `pos`. Elements are cast to the cache's type as
    copy does; the other slots stay as they are. A row outside the cache is an
    error and is not written.
  }];
}

defvar Insn_HeadParams = [
    Insn_Param<"scale", "float", "", "",
               "factor of the scores, default 1 / sqrt(D)">,
    Insn_Param<"head_dim", "int", "", "value >= 0", "repeats D">,
    Insn_Param<"n_heads", "int", "", "value >= 0", "repeats the query heads">,
    Insn_Param<"n_kv_heads", "int", "", "value >= 0",
               "repeats the key and value heads">];

def Insn_AttentionTileOp
    : Insn_Op<Insn_ATTENTION_TILE, "attention_tile", "0.1",
              "q: f[h,D], k_cache: f[S,kvh,D], v_cache: f[S,kvh,D] "
              "-> o: f[h,D] | "
              "q: f[B,h,D], k_cache: f[B,S,kvh,D], v_cache: f[B,S,kvh,D] "
              "-> o: f[B,h,D]",
              Insn_HeadParams # [
                  Insn_DeviceParam<"kv_start", "0", "value >= 0",
                                   "first slot of the window">,
                  Insn_DeviceParam<"kv_len", "", "value >= 0",
                                   "slots of the window, default to the end of "
                                   "the cache">,
                  Insn_Param<"flags", "int", "0", "value >= 0 && value <= 3",
                             "bit 0: causal (no effect for one query token); "
                             "bit 1: PARTIAL_WRITE">],
              [Pure]> {
  let summary = "attention of one query token over a window of the cache";
  let description = [{
        s[j] = scale * sum_d q[i, d] * k_cache[j, i / (h / kvh), d]
        o[i] = sum_j exp(s[j] - m) * v_cache[j, ..] / sum_j exp(s[j] - m)

    with m = max_j s[j] and j over [kv_start, kv_start + kv_len). h is a
    multiple of kvh. A window that runs past the cache is an error. An empty
    window gives zeros; scores that are all -inf give NaN. The weights
    exp(s - m) are rounded to v_cache's type before they are multiplied when it
    has 16 bits.

    With PARTIAL_WRITE the result is float32 and D + 2 wide: the sum over j not
    divided, then m, then sum_j exp(s[j] - m); for an empty window 0, -inf, 0.

    Source: Dao et al. 2022, arXiv:2205.14135, section 3.1.
  }];
}

def Insn_AttentionCombineOp
    : Insn_Op<Insn_ATTENTION_COMBINE, "attention_combine", "0.1",
              "partials*: float32[h,D+2] -> o: f[h,D] | "
              "partials*: float32[B,h,D+2] -> o: f[B,h,D]",
              [Insn_Param<"head_dim", "int", "", "value >= 0", "repeats D">,
               Insn_Param<"n_heads", "int", "", "value >= 0",
                          "repeats the query heads">],
              [Pure]> {
  let summary = "merges the partial results of attention over shards";
  let description = [{
    With (acc, m, l) from each shard p whose l is above 0, M = max_p m_p:

        o = sum_p acc_p * exp(m_p - M) / max(sum_p l_p * exp(m_p - M), 1e-20)

    A shard with l = 0 is skipped: its acc and m are not read. Without any other
    shard the result is 0.

    Source: Dao et al. 2023, "Flash-Decoding for long-context inference".
  }];
}

def Insn_AttnStepOp
    : Insn_Op<Insn_ATTN_STEP, "attn_step", "0.1",
              "q: f[h,D], k_new: f[kvh,D], v_new: f[kvh,D], "
              "k_cache&: f[S,kvh,D], v_cache&: f[S,kvh,D] -> o: f[h,D] | "
              "q: f[h,D], k_new: f[1,kvh,D], v_new: f[1,kvh,D], "
              "k_cache&: f[S,kvh,D], v_cache&: f[S,kvh,D] -> o: f[h,D] | "
              "q: f[h,D], k_new: f[1,kvh*D], v_new: f[1,kvh*D], "
              "k_cache&: f[S,kvh,D], v_cache&: f[S,kvh,D] -> o: f[h,D] | "
              "q: f[B,h,D], k_new: f[B,kvh,D], v_new: f[B,kvh,D], "
              "k_cache&: f[B,S,kvh,D], v_cache&: f[B,S,kvh,D] "
              "-> o: f[B,h,D] | "
              "q: f[B,h,D], k_new: f[B,kvh*D], v_new: f[B,kvh*D], "
              "k_cache&: f[B,S,kvh,D], v_cache&: f[B,S,kvh,D] -> o: f[B,h,D]",
              Insn_HeadParams # [
                  Insn_DeviceParam<"pos", "required", "value >= 0",
                                   "slot of the new token; one for all "
                                   "sequences, or one for each">]> {
  let summary = "one decode step of attention with its cache, in place";
  let description = [{
    kv_append of k_new and v_new at `pos`, then attention_tile over
    [0, pos + 1), which reads the new row as the cache holds it. A `pos` outside
    the cache is an error; nothing of that sequence is written.
  }];
}

def Insn_GdnStepOp
    : Insn_Op<Insn_GDN_STEP, "gdn_step", "0.1",
              "q: f[Hk,Dk], k: f[Hk,Dk], v: f[Hv,Dv], g: f[Hv], beta: f[Hv], "
              "state&: float32[Hv,Dk,Dv] -> o: f[Hv,Dv] | "
              "q: f[B,Hk,Dk], k: f[B,Hk,Dk], v: f[B,Hv,Dv], g: f[B,Hv], "
              "beta: f[B,Hv], state&: float32[B,Hv,Dk,Dv] -> o: f[B,Hv,Dv]",
              [Insn_Param<"scale", "float", "", "",
                          "factor of q, default 1 / sqrt(Dk)">,
               Insn_Param<"qk_l2norm", "bool", "false", "",
                          "first divide each head of q and k by "
                          "sqrt(sum of squares + 1e-6)">]> {
  let summary = "one token of the gated delta rule, state in place";
  let description = [{
    For each value head, with the q and k of head i / (Hv / Hk):

        S <- S * exp(g)
        u  = beta * (v - S^T k)
        S <- S + k (x) u
        o  = S^T (q * scale)

    Hv is a multiple of Hk. The state is float32.

    Source: Yang et al. 2024, arXiv:2412.06464, eq. 10.
  }];
}

def Insn_MapOp
    : Insn_Op<Insn_MAP, "map", "0.1", "x*: f[~] -> y: f[~]",
              [Insn_Param<"expr", "string", "required", "",
                          "the expression, see refops/core/MapExpr.h">],
              [Pure]> {
  let summary = "elementwise expression";
  let description = [{
    Each element of the result is the value of `expr` for the elements of the
    operands a, b, c, ..., which broadcast as in NumPy. For example

        a * sigmoid(b) + c        where(a < 0, 0.01 * a, a)

    has + - * /, the functions exp sqrt rsqrt tanh sigmoid erfc abs floor relu
    silu min max, and where(x < y, yes, no). Everything is f32, each operation
    rounds once, and the result once more to its type.
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
