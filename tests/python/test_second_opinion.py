"""Every reference against PyTorch eager on the CPU: rows, products, expressions.

Where an op is meant to differ from PyTorch, the difference itself is asserted.
"""

import json

import numpy as np
import pytest

import second_opinion as so
import tandem
from agreement import (  # noqa: F401
    BF16, F32, agree, dtype, ml_dtypes, normal, rng, second_opinion)
from tandem import _native, ref
from tandem._arrays import numpy_dtype, view_of

torch, tensor = so.torch, so.tensor


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
