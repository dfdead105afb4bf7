"""The instruction set in PyTorch, to compare the references with.

Written from the op's formulas in the words of a framework: reshapes, einsum,
repeat_interleave, masks. Everything is computed in float64 except where an op
is defined by f32 operations. Debian's torch is older than NumPy 2, so arrays
cross over as lists.
"""

import importlib
import sys
import warnings

import numpy as np
import pytest

DEBIAN = "/usr/lib/python3/dist-packages"


def import_torch():
    """Return torch from this environment or from Debian, or skip with a reason."""
    try:
        return importlib.import_module("torch")
    except ImportError:
        pass
    # After everything else, so that only torch and what it needs come from it.
    sys.path.append(DEBIAN)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it cannot use NumPy 2
            module = importlib.import_module("torch")
            module.tensor([0.0])  # warns the first time
            return module
    except ImportError as error:
        sys.path.remove(DEBIAN)
        pytest.skip(f"PyTorch is absent: {error}", allow_module_level=True)


torch = import_torch()
F64 = torch.float64


def tensor(array, dtype=F64):
    """Return a NumPy array of any dtype as a tensor; tensors stay."""
    if isinstance(array, torch.Tensor):
        return array
    array = np.asarray(array)
    kind = float if array.dtype.kind not in "iu" else int
    flat = array.astype(kind).ravel().tolist()
    return torch.tensor(flat, dtype=dtype).reshape(array.shape)


def numbers(result):
    """Return a tensor as a float64 array."""
    return np.array(result.to(F64).flatten().tolist()).reshape(result.shape)


def linear(x, weights, bias=None, *, layout="nk"):
    w = tensor(weights) if isinstance(weights, np.ndarray) else weights
    w = w.t() if layout == "kn" else w
    return torch.nn.functional.linear(
        tensor(x), w, None if bias is None else tensor(bias))


def dequant(q, scales, zeros=None, *, group=None, columns=None):
    """Unpack with bit operations and spread the scales with repeat_interleave."""
    if q.dtype == np.uint8:
        stored = tensor(q, torch.uint8)
        nibbles = torch.stack([stored & 15, stored >> 4], dim=-1)
        integers = nibbles.reshape(q.shape[0], -1)[:, :columns].to(F64) - 8
    else:
        integers = tensor(q)
    k = integers.shape[1]
    group = group or max(k, 1)

    def spread(per_group):
        wide = tensor(per_group).repeat_interleave(group, dim=1)[:, :k]
        missing = k - wide.shape[1]
        if missing > 0:
            last = tensor(per_group)[:, -1:].expand(-1, missing)
            wide = torch.cat([wide, last], dim=1)
        return wide

    if zeros is not None:
        integers = integers - spread(zeros)
    return integers * spread(scales)


def rotate_half(x):
    half = x.shape[-1] // 2
    return torch.cat([-x[..., half:], x[..., :half]], dim=-1)


def rope(x, positions, inv_freq, *, rotary_dim=None):
    """Rotate as the Llama reference model does, from a shared table."""
    x = tensor(x)
    turned = rotary_dim or x.shape[-1]
    position = tensor(positions, torch.int64).to(torch.float32).flatten()
    angles = position[:, None] * tensor(inv_freq, torch.float32)[None]
    angles = torch.cat([angles, angles], dim=-1).to(F64)
    heads, width = x.shape[-2:]
    tokens = x.reshape(-1, heads, width)
    repeats = tokens.shape[0] // max(1, angles.shape[0])
    angles = angles.repeat(repeats, 1)[:, None, :]
    head, rest = tokens[..., :turned], tokens[..., turned:]
    head = head * angles.cos() + rotate_half(head) * angles.sin()
    return torch.cat([head, rest], dim=-1).reshape(x.shape)


def attention(q, k, v, *, start=0, count=None, scale=None, partial=False):
    """Attend over a window with kv heads repeated for their queries."""
    q, k, v = tensor(q), tensor(k), tensor(v)
    if q.dim() == 2:
        one = attention(q[None], k[None], v[None], start=[start],
                        count=None if count is None else [count], scale=scale,
                        partial=partial)
        return one[0]
    if scale is None:
        scale = float(np.float32(1 / np.sqrt(q.shape[-1])))
    rows = []
    for b in range(q.shape[0]):
        first = start[b] if np.ndim(start) else start
        length = k.shape[1] - first if count is None else (
            count[b] if np.ndim(count) else count)
        window = slice(first, first + length)
        share = q.shape[1] // k.shape[2]
        keys = k[b, window].repeat_interleave(share, dim=1)
        values = v[b, window].repeat_interleave(share, dim=1)
        scores = torch.einsum("hd,khd->hk", q[b], keys) * scale
        if partial and length == 0:
            tail = torch.tensor([[-np.inf, 0.0]], dtype=F64)
            rows.append(torch.cat([torch.zeros_like(q[b]),
                                   tail.expand(q.shape[1], 2)], dim=1))
        elif partial:
            m = scores.amax(dim=-1, keepdim=True)
            e = (scores - m).exp()
            rows.append(torch.cat([torch.einsum("hk,khd->hd", e, values), m,
                                   e.sum(dim=-1, keepdim=True)], dim=1))
        else:
            weights = torch.softmax(scores, dim=-1)
            rows.append(torch.einsum("hk,khd->hd", weights, values))
    return torch.stack(rows)


def combine(*partials):
    """Merge through the logarithm of the sums: log(l) + m for each shard."""
    stacked = torch.stack([tensor(p) for p in partials])
    acc, m, l = stacked[..., :-2], stacked[..., -2], stacked[..., -1]
    empty = l == 0
    mass = torch.where(empty, torch.full_like(l, -np.inf), m + l.log())
    weights = torch.softmax(mass, dim=0)
    weights = torch.where(empty.all(dim=0), torch.zeros_like(l), weights)
    mean = torch.where(empty[..., None], torch.zeros_like(acc),
                       acc / l[..., None])
    return (weights[..., None] * mean).sum(dim=0)


def gated_delta(q, k, v, g, beta, state, *, scale=None, normalise=False):
    """Return o and the new state of one token of every sequence."""
    q, k, v, g, beta, state = (tensor(t) for t in (q, k, v, g, beta, state))
    if scale is None:
        scale = float(np.float32(1 / np.sqrt(q.shape[-1])))
    if normalise:
        q, k = (t * torch.rsqrt(t.square().sum(-1, keepdim=True) + 1e-6)
                for t in (q, k))
    share = v.shape[-2] // q.shape[-2]
    q, k = (t.repeat_interleave(share, dim=-2) for t in (q, k))
    state = state * g.exp()[..., None, None]
    predicted = torch.einsum("...kv,...k->...v", state, k)
    update = beta[..., None] * (v - predicted)
    state = state + torch.einsum("...k,...v->...kv", k, update)
    return torch.einsum("...kv,...k->...v", state, q * scale), state
