"""Every reference against PyTorch eager on the CPU: positions, caches, states.

Where an op is meant to differ from PyTorch, the difference itself is asserted.
"""

import numpy as np
import pytest

import second_opinion as so
import test_second_opinion  # noqa: F401  (its ops count, too)
import tandem
from agreement import (  # noqa: F401
    CHECKED, F16, F32, agree, dtype, ml_dtypes, normal, rng, second_opinion)
from tandem import ref

torch, tensor = so.torch, so.tensor


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
