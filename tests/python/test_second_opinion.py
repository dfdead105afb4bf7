"""Every reference against PyTorch eager on the CPU.

The references round once, PyTorch computes in float64: both agree within that
rounding. Where an op is meant to differ from PyTorch, the difference itself is
asserted.
"""

import json

import numpy as np
import pytest

import second_opinion as so
import tandem
from tandem import _native, ref
from tandem._arrays import numpy_dtype, view_of

ml_dtypes = pytest.importorskip("ml_dtypes")
torch, tensor = so.torch, so.tensor
F32, F16, BF16 = np.float32, np.float16, ml_dtypes.bfloat16
FLOATS = [F32, F16, BF16]
SEEDS = range(3)
CHECKED = {}


def second_opinion(*ops):
    """Mark what compares the named ops; a test checks that no op is left out."""
    def mark(test):
        for op in ops:
            CHECKED[op] = test.__name__
        return test
    return mark


def agree(got, expected, *, scale=0.0):
    """Check that `got` is `expected` rounded once to its dtype.

    PyTorch is wrong by some 2^-53 of the terms that it added, whose size is
    `scale`; ml_dtypes rounds through float32, so ties of 16 bits may go either
    way.
    """
    if isinstance(expected, torch.Tensor):
        expected = so.numbers(expected)
    assert got.shape == expected.shape
    slack = 1e-13 * (np.abs(expected) + scale) + 1e-300
    if got.dtype.itemsize < 4:
        slack = slack + np.abs(expected) * 2.0**-23
    with np.errstate(over="ignore", invalid="ignore"):
        low = (expected - slack).astype(got.dtype).astype(float)
        high = (expected + slack).astype(got.dtype).astype(float)
        y = got.astype(float)
        right = (low <= y) & (y <= high)
        right |= np.isnan(expected) & np.isnan(y)
        right |= (expected == y)
    where = np.argwhere(~right)
    assert not len(where), (
        f"{len(where)} of {y.size} differ, first at {where[0].tolist()}: got "
        f"{y[tuple(where[0])]!r}, PyTorch {expected[tuple(where[0])]!r}")


def normal(rng, *shape, dtype=F32, scale=1.0):
    return (scale * rng.standard_normal(shape)).astype(dtype)


@pytest.fixture(params=SEEDS)
def rng(request):
    return np.random.default_rng(request.param)


@pytest.fixture(params=FLOATS, ids=lambda t: np.dtype(t).name)
def dtype(request):
    return request.param


@second_opinion("copy")
def test_copy(rng, dtype):
    x = normal(rng, 5, 7, scale=100)
    x[0, :4] = [np.inf, -np.inf, np.nan, -0.0]
    name = np.dtype(dtype).name
    torched = tensor(x, torch.float32).to(getattr(torch, name))
    got = ref.copy(x, out_dtype=name)
    assert np.array_equal(got.astype(float), so.numbers(torched), equal_nan=True)
    back = ref.copy(got, out_dtype="int32")[1:]
    assert np.array_equal(back, so.numbers(torched[1:].to(torch.int32)))


@second_opinion("add", "mul")
def test_add_and_mul_are_f32_operations(rng, dtype):
    a, b = normal(rng, 3, 1, 5, dtype=dtype), normal(rng, 4, 1, dtype=dtype)
    ta, tb = tensor(a, torch.float32), tensor(b, torch.float32)
    name = getattr(torch, np.dtype(dtype).name)
    for got, want in [(ref.add(a, b), ta + tb), (ref.mul(a, b), ta * tb),
                      (ref.mul(a, scale=0.3), ta * 0.3)]:
        assert np.array_equal(got.astype(float), so.numbers(want.to(name)))


@second_opinion("gelu")
def test_gelu(rng, dtype):
    x = normal(rng, 300, dtype=dtype, scale=3)
    near = x[x > -3]
    gelu = torch.nn.functional.gelu
    agree(ref.gelu(near), gelu(tensor(near)), scale=1e-3)
    tail = np.linspace(-12, -3, 50).astype(dtype)
    t = tensor(tail)
    agree(ref.gelu(tail), t / 2 * torch.special.erfc(-t * 0.5**0.5),
          scale=np.abs(so.numbers(t)) ** 4 * 1e-7)


@second_opinion("gelu")
def test_gelu_by_tanh(rng):
    x = normal(rng, 300, scale=2)
    z = tensor(x)
    inner = (2 / np.pi) ** 0.5 * (z + 0.044715 * z**3)
    agree(ref.gelu(x, approximate="tanh"), z / 2 * (1 + inner.tanh()),
          scale=1.0)


@second_opinion("silu_mul")
def test_silu_mul(rng, dtype):
    g, u = (normal(rng, 4, 9, dtype=dtype, scale=20) for _ in range(2))
    agree(ref.silu_mul(g, u), torch.nn.functional.silu(tensor(g)) * tensor(u))


@second_opinion("softmax")
def test_softmax(rng, dtype):
    x = normal(rng, 3, 40, 5, dtype=dtype, scale=10)
    x[0, 3, 0] = -np.inf
    x[1, :, 1] = -np.inf
    x[2, 0, 2] = np.nan
    for dim in (-1, 0, 1):
        agree(ref.softmax(x, dim=dim), torch.softmax(tensor(x), dim),
              scale=1e-3)
    far = normal(rng, 2, 8) - F32(1e5)
    agree(ref.softmax(far), torch.softmax(tensor(far), -1))


@second_opinion("rmsnorm")
def test_rmsnorm(rng, dtype):
    x, w = normal(rng, 3, 65, dtype=dtype), normal(rng, 65, dtype=dtype)
    t = tensor(x)
    root = torch.rsqrt(t.square().mean(-1, keepdim=True) + float(F32(1e-5)))
    agree(ref.rmsnorm(x, w, eps=1e-5), t * root * tensor(w))


@second_opinion("layernorm")
def test_layernorm(rng, dtype):
    x = normal(rng, 3, 65, dtype=dtype) + dtype(100)
    w, b = normal(rng, 65, dtype=dtype), normal(rng, 65, dtype=dtype)
    eps = float(F32(1e-5))
    norm = torch.nn.functional.layer_norm
    agree(ref.layernorm(x, w, b), norm(tensor(x), (65,), tensor(w), tensor(b),
                                       eps), scale=1e3)
    agree(ref.layernorm(x, w), norm(tensor(x), (65,), tensor(w), None, eps),
          scale=1e3)


@second_opinion("embed")
def test_embed(rng, dtype):
    table = normal(rng, 11, 6, dtype=dtype)
    for kind in (np.int32, np.int64):
        ids = rng.integers(0, 11, (2, 5)).astype(kind)
        want = torch.nn.functional.embedding(tensor(ids, torch.int64),
                                             tensor(table))
        agree(ref.embed(ids, table), want)


@second_opinion("sample_argmax")
def test_argmax(rng, dtype):
    x = normal(rng, 4, 3, 50, dtype=dtype, scale=1000)
    x[..., 7] += dtype(8000)  # no ties: PyTorch does not define them
    assert np.array_equal(ref.sample_argmax(x),
                          so.numbers(tensor(x).argmax(-1)))


@second_opinion("allreduce_shard")
def test_allreduce_adds_left_to_right(rng, dtype):
    shards = [normal(rng, 4, 5, dtype=dtype, scale=10.0**i) for i in range(5)]
    total = tensor(shards[0], torch.float32)
    for shard in shards[1:]:
        total = total + tensor(shard, torch.float32)
    want = total.to(getattr(torch, np.dtype(dtype).name))
    assert np.array_equal(ref.allreduce_shard(*shards).astype(float),
                          so.numbers(want))


def expression(expr, *operands):
    """Evaluate MAP, which only recipes have: `tandem.ref` does not list it."""
    views = [view_of(a, a.dtype.name) for a in operands]
    recipe = _native.Recipe.for_op("map", views, json.dumps({"expr": expr}),
                                   None)
    (described,) = json.loads(recipe.outputs(views))
    y = np.zeros(described["shape"], numpy_dtype(described["dtype"]))
    recipe.evaluate(views, [view_of(y, described["dtype"])])
    return y


def test_expressions(rng, dtype):
    a, b = normal(rng, 3, 1, 7, dtype=dtype), normal(rng, 4, 7, dtype=dtype)
    x, y = tensor(a), tensor(b)
    for expr, want in [
            ("a * sigmoid(b) + b", x * torch.sigmoid(y) + y),
            ("where(a < b, 0.5 * a, max(a, b) - relu(b))",
             torch.where(x < y, x / 2, torch.maximum(x, y) - torch.relu(y))),
            ("silu(a) * exp(b) / (1 + abs(a))",
             torch.nn.functional.silu(x) * y.exp() / (1 + x.abs())),
            ("floor(4 * a) + tanh(b) * rsqrt(2 + abs(b)) - min(a, sqrt(abs(b)))",
             (4 * x).floor() + y.tanh() * torch.rsqrt(2 + y.abs()) -
             torch.minimum(x, y.abs().sqrt()))]:
        agree(expression(expr, a, b), want, scale=10)


@second_opinion("gemm_tile", "gemv_tile", "lm_head")
def test_products(rng, dtype):
    m, k, n = (int(v) for v in rng.integers(1, 40, 3))
    x, w = normal(rng, m, k, dtype=dtype), normal(rng, n, k, dtype=dtype)
    bias = normal(rng, n, dtype=dtype)
    mass = float(k) * 10
    for op in (ref.gemm_tile, ref.gemv_tile):
        agree(op(x, w, bias), so.linear(x, w, bias), scale=mass)
        kn = np.ascontiguousarray(w.T)
        agree(op(x, kn, weight_layout="kn"), so.linear(x, kn, layout="kn"),
              scale=mass)
        off = int(rng.integers(0, n))
        tile = op(x, w, bias, n_off=off, N_tile=3)
        agree(tile[:, off:off + 3], so.linear(x, w, bias)[:, off:off + 3],
              scale=mass)
        assert not tile[:, :off].any() and not tile[:, off + 3:].any()
    h = x[:1]
    agree(ref.lm_head(h, np.ascontiguousarray(w.T)), so.linear(h, w),
          scale=mass)
    agree(ref.lm_head(h, w, weight_layout="nk"), so.linear(h, w), scale=mass)


@second_opinion("gemm_tile")
def test_float8_products(rng):
    for small in (ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2):
        x, w = normal(rng, 4, 33, dtype=small), normal(rng, 6, 33, dtype=small)
        for accumulate in ("promoted", "fast"):
            got = ref.gemm_tile(x, w, accumulate=accumulate,
                                out_dtype="float32")
            agree(got, so.linear(x, w), scale=100)


def quantised(rng, n, k, group, packed):
    """Return q, scales and zeros, sometimes with too few groups."""
    groups = -(-k // group)
    groups = max(1, groups - int(rng.integers(0, 2)))
    q = (rng.integers(0, 256, (n, -(-k // 2))).astype(np.uint8) if packed else
         rng.integers(-128, 128, (n, k)).astype(np.int8))
    scales = (rng.random((n, groups)) + 0.5).astype(F32)
    zeros = rng.integers(-8, 16, (n, groups)).astype(F32)
    return q, scales, zeros


@second_opinion("dequant", "gemm_tile", "gemv_tile")
@pytest.mark.parametrize("packed", [True, False])
def test_quantised_weights(rng, packed):
    m, n = 3, 5
    for k, group in [(1, 1), (7, 3), (100, 32), (16, 64), (65, 16)]:
        q, scales, zeros = quantised(rng, n, k, group, packed)
        columns = {"K": k} if packed else {}
        for z in (None, zeros):
            weights = so.dequant(q, scales, z, group=group, columns=k)
            agree(ref.dequant(q, scales, z, group=group, **columns), weights)
            x = normal(rng, m, k)
            for op in (ref.gemm_tile, ref.gemv_tile):
                got = op(x, q, scales=scales, zeros=z, group=group)
                agree(got, so.linear(x, weights), scale=200.0 * k)
            got = ref.gemv_tile(x, q, scales=scales.astype(BF16).astype(F32),
                                zeros=z, group=group, weight_dtype="bfloat16")
            short = so.dequant(q, scales.astype(BF16), z, group=group,
                               columns=k)
            rounded = short.to(torch.float32).to(torch.bfloat16).to(so.F64)
            agree(got, so.linear(x, rounded), scale=200.0 * k)


@second_opinion("rope")
def test_rope_with_one_table(rng, dtype):
    inv_freq = (F32(500000) ** (-np.arange(8) / 8)).astype(F32)
    far = [0, 1, 40, 2**15, 131071, 2**20, 2**24 + 1]
    for shape, positions in [
            ((4, 16), [131071]), ((7, 2, 16), far), ((2, 7, 3, 16), far),
            ((2, 3, 1, 16), [5, 0, 9, 2**20, 1, 7]),
            ((2, 3, 1, 16), [[5, 0, 9], [2**20, 1, 7]])]:
        x = normal(rng, *shape, dtype=dtype)
        ids = np.array(positions, np.int64)
        agree(ref.rope(x, ids, inv_freq), so.rope(x, ids, inv_freq), scale=4)
        half = inv_freq[:4]
        agree(ref.rope(x, ids, half, rotary_dim=8),
              so.rope(x, ids, half, rotary_dim=8), scale=4)


@second_opinion("rope")
def test_rope_makes_the_shared_table():
    x = np.array([[1, 0, 0, 0, 0, 0]], F32)
    table = (1e4 ** -(np.arange(3) / 3)).astype(F32)
    ids = np.array([777], np.int32)
    assert np.array_equal(ref.rope(x, ids), ref.rope(x, ids, table))


@second_opinion("kv_append")
def test_kv_append(rng, dtype):
    cache, new = normal(rng, 6, 2, 4, dtype=F16), normal(rng, 2, 8, dtype=dtype)
    want = tensor(cache).clone()
    want[3:5] = tensor(new).reshape(2, 2, 4).to(torch.float32).to(torch.float16)
    assert ref.kv_append(new, cache, pos=3) is None
    agree(cache, want)
    batched = normal(rng, 3, 6, 2, 4, dtype=dtype)
    new = normal(rng, 3, 2, 4, dtype=dtype)
    pos = np.array([5, 0, 3], np.int32)
    want = tensor(batched).clone()
    want[torch.arange(3), tensor(pos, torch.int64)] = tensor(new)
    ref.kv_append(new, batched, pos=pos)
    agree(batched, want)


def test_kv_append_refuses_what_does_not_fit():
    cache = np.zeros((4, 1, 1), F32)
    with pytest.raises(ValueError, match="param 'pos': expected at most 3"):
        ref.kv_append(np.ones((1, 1, 1), F32), cache, pos=4)
    with pytest.raises(ValueError, match="row 1: index 4"):
        ref.kv_append(np.ones((2, 1, 1), F32), cache,
                      pos=np.array([3], np.int32))
    with pytest.raises(ValueError, match="updated in place"):
        ref.kv_append(np.ones((1, 1, 1), F32), [[[0.0]]], pos=0)


@second_opinion("attention_tile")
@pytest.mark.parametrize("heads, kv_heads", [(2, 2), (8, 1), (28, 4)])
def test_attention(rng, dtype, heads, kv_heads):
    width, slots = 16, 37
    q = np.abs(normal(rng, heads, width, dtype=dtype, scale=3))
    k, v = (normal(rng, slots, kv_heads, width, dtype=dtype) for _ in range(2))
    k[7:9] = -np.inf
    for start, count in [(6, 31), (6, 1), (7, 2), (7, 9), (0, 37)]:
        args = {"kv_start": start, "kv_len": count}
        agree(ref.attention_tile(q, k, v, **args),
              so.attention(q, k, v, start=start, count=count), scale=10)
        got = ref.attention_tile(q, k, v, **args, flags=2)
        assert got.dtype == F32
        agree(got, so.attention(q, k, v, start=start, count=count,
                                partial=True), scale=100)
    empty = ref.attention_tile(q, k, v, kv_start=slots, kv_len=0)
    assert not empty.astype(float).any()


@second_opinion("attention_tile", "attention_combine")
def test_attention_in_a_batch_and_in_shards(rng, dtype):
    batch, heads, width, slots = 3, 4, 8, 24
    q = normal(rng, batch, heads, width, dtype=dtype, scale=2)
    k, v = (normal(rng, batch, slots, 2, width, dtype=dtype) for _ in range(2))
    start = np.array([0, 3, 20], np.int32)
    count = np.array([24, 1, 4], np.int32)
    got = ref.attention_tile(q, k, v, kv_start=start, kv_len=count, scale=0.3)
    scale = float(F32(0.3))
    agree(got, so.attention(q, k, v, start=start, count=count, scale=scale),
          scale=10)
    # Five shards, one of them empty, merge to the whole.
    shards = [ref.attention_tile(q, k, v, kv_start=s, kv_len=c, flags=2)
              for s, c in [(0, 7), (7, 0), (7, 10), (17, 1), (18, 6)]]
    merged = ref.attention_combine(*shards)
    agree(merged, so.combine(*shards), scale=10)
    whole = so.numbers(so.attention(q, k, v))
    assert np.abs(merged - whole).max() < 1e-5


@second_opinion("attention_combine")
def test_combine_skips_empty_shards(rng):
    shards = [normal(rng, 6, 10) for _ in range(4)]
    for shard in shards:
        shard[:, -1] = np.abs(shard[:, -1]) + F32(0.1)
        shard[:, -2] *= 50
    shards[1][:, -1] = 0
    shards[2][:3, -1] = 0
    clean = [s.copy() for s in shards]
    shards[1][:, :-1] = np.nan  # not read
    agree(ref.attention_combine(*shards), so.combine(*clean), scale=10)
    nothing = np.zeros((2, 5), F32)
    assert not ref.attention_combine(nothing, nothing).any()


@second_opinion("attn_step")
def test_attn_step(rng, dtype):
    heads, kv_heads, width, slots = 6, 2, 8, 12
    for pos in (0, 5, slots - 1):
        q = normal(rng, heads, width, dtype=dtype)
        new = [normal(rng, kv_heads * width, dtype=dtype)[None]
               for _ in range(2)]
        caches = [normal(rng, slots, kv_heads, width, dtype=dtype)
                  for _ in range(2)]
        want = [c.copy() for c in caches]
        for cache, row in zip(want, new):
            cache[pos] = row.reshape(kv_heads, width)
        got = ref.attn_step(q, *new, *caches, pos=pos)
        agree(got, so.attention(q, *want, count=pos + 1), scale=10)
        for cache, wanted in zip(caches, want):
            assert np.array_equal(cache, wanted)


@second_opinion("attn_step")
def test_attn_step_in_a_batch(rng):
    q = normal(rng, 3, 4, 8)
    new = [normal(rng, 3, 2, 8) for _ in range(2)]
    caches = [normal(rng, 3, 9, 2, 8) for _ in range(2)]
    pos = np.array([8, 0, 4], np.int32)
    want = [c.copy() for c in caches]
    for cache, rows in zip(want, new):
        cache[np.arange(3), pos] = rows
    got = ref.attn_step(q, *new, *caches, pos=pos)
    agree(got, so.attention(q, *want, count=pos + 1), scale=10)
    assert np.array_equal(caches[0], want[0])
    assert np.array_equal(caches[1], want[1])


@second_opinion("gdn_step")
@pytest.mark.parametrize("normalise", [False, True])
def test_gated_delta_rule(rng, dtype, normalise):
    for batch in ((), (3,)):
        q, k = (normal(rng, *batch, 2, 12, dtype=dtype) for _ in range(2))
        v = normal(rng, *batch, 6, 5, dtype=dtype)
        g = -np.abs(normal(rng, *batch, 6)).astype(dtype)
        beta = np.abs(normal(rng, *batch, 6)).astype(dtype)
        state = normal(rng, *batch, 6, 12, 5)
        o, want = so.gated_delta(q, k, v, g, beta, state, normalise=normalise)
        got = ref.gdn_step(q, k, v, g, beta, state, qk_l2norm=normalise)
        agree(got, o, scale=1e3)
        agree(state, want, scale=1e3)


def test_every_op_has_a_second_opinion():
    left = {op.name for op in tandem.ops() if op.defined} - set(CHECKED)
    assert left == {"nop", "fused"}


# What is meant to differ from PyTorch (SEMANTICS, "Opcodes").

def test_float8_saturates():
    x = np.array([1e6, -1e6, np.inf, 449], F32)
    got = ref.copy(x, out_dtype="float8_e4m3fn").astype(float)
    assert got.tolist() == [448, -448, 448, 448]
    assert np.isnan(x.astype(ml_dtypes.float8_e4m3fn).astype(float)[:3]).all()
    got = ref.copy(x, out_dtype="float8_e5m2").astype(float)
    assert got.tolist() == [57344, -57344, 57344, 448]
    assert np.isinf(x.astype(ml_dtypes.float8_e5m2).astype(float)[:3]).all()


def test_float_to_int8_saturates():
    x = np.array([300.0, -129.0, np.nan, 127.9], F32)
    assert ref.copy(x, out_dtype="int8").tolist() == [127, -128, 0, 127]
    wrapped = torch.tensor([300.0]).to(torch.int32).to(torch.int8)
    assert wrapped.tolist() == [44]


def test_argmax_defines_ties_and_nan():
    x = np.array([[1, 5, 5, 5], [np.nan, 7, np.nan, 9], [7, np.nan, 9, 1]], F32)
    assert ref.sample_argmax(x).tolist() == [1, 0, 1]
    # PyTorch gives an index of a maximum, or of a NaN, but not which.
    given = tensor(x).argmax(-1).tolist()
    assert given[0] in (1, 2, 3) and given[1] in (0, 2) and given[2] == 1


def test_zeros_of_packed_int4_apply_after_the_eight():
    q = np.array([[0x9A]], np.uint8)
    one, seven = np.ones((1, 1), F32), np.full((1, 1), 7, F32)
    got = ref.dequant(q, one, seven)
    stored = tensor(q, torch.uint8)
    nibbles = torch.cat([stored & 15, stored >> 4], dim=1).to(so.F64)
    # Frameworks whose nibbles are unsigned subtract the zero from them alone.
    unsigned = so.numbers(nibbles - 7)
    assert got.tolist() == (unsigned - 8).tolist() == [[-5, -6]]
