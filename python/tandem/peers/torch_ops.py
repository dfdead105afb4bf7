"""Recipes in PyTorch: what its users would write, op by op."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from typing import Any

torch: Any = importlib.import_module("torch")
functional: Any = importlib.import_module("torch.nn.functional")

Params = dict[str, Any]
Op = Callable[[list[Any], Params, Any], Any]


def _layout(params: Params, weight: Any, default: str = "nk") -> Any:
    """Return the weight as [N, K]."""
    layout = params.get("weight_layout", default)
    return weight if layout == "nk" else weight.t()


def _by_group(numbers: Any, values: Any, params: Params,
              combine: Callable[[Any, Any], Any]) -> Any:
    """Combine [N, K] numbers with [N, G] values, one a group along k."""
    rows, k = numbers.shape
    group = params.get("group", k)
    if group * values.shape[1] == k:
        # A broadcast, which compilers fuse; repeated values they store.
        return combine(numbers.view(rows, -1, group),
                       values[:, :, None]).view(rows, k)
    return combine(numbers, values.repeat_interleave(group, dim=1)[:, :k])


def _unpack(q: Any, k: int) -> Any:
    """Return int8 values of a weight: two nibbles a byte, or as they are."""
    if q.dtype != torch.uint8:
        return q
    low = (q & 15).to(torch.int8) - 8
    high = (q >> 4).to(torch.int8) - 8
    return torch.stack((low, high), dim=-1).flatten(-2)[:, :k]


def _dequant(args: list[Any], params: Params, dtype: Any) -> Any:
    q, scales = args[0], args[1]
    k = params.get("K", q.shape[1] * (2 if q.dtype == torch.uint8 else 1))
    numbers = _unpack(q, k).float()
    if len(args) > 2:
        numbers = _by_group(numbers, args[2].float(), params, torch.sub)
    return _by_group(numbers, scales.float(), params, torch.mul).to(
        dtype or scales.dtype)


def _matmul(args: list[Any], params: Params, dtype: Any) -> Any:
    x, weight = args[0], args[1]
    if not weight.is_floating_point():
        dense = _dequant([weight, *args[2:]],
                         {**params, "K": x.shape[-1]}, x.dtype)
        return functional.linear(x, dense)
    bias = args[2] if len(args) > 2 else None
    return functional.linear(x, _layout(params, weight), bias)


def _rope(args: list[Any], params: Params, dtype: Any) -> Any:
    x, positions = args[0], args[1]
    size = params.get("rotary_dim", x.shape[-1])
    half = size // 2
    if len(args) > 2:
        frequencies = args[2]
    else:
        steps = torch.arange(half, device=x.device, dtype=torch.float32)
        frequencies = params.get("theta", 10000.0) ** (-steps / half)
    angle = positions.float()[:, None, None] * frequencies
    cos, sin = torch.cos(angle), torch.sin(angle)
    first, second = x[..., :half].float(), x[..., half:size].float()
    turned = torch.cat((first * cos - second * sin,
                        second * cos + first * sin), dim=-1).to(x.dtype)
    return turned if size == x.shape[-1] else torch.cat(
        (turned, x[..., size:]), dim=-1)


def _kv_append(args: list[Any], params: Params, dtype: Any) -> None:
    new, cache = args
    position = params["pos"]
    if cache.dim() == 3:
        cache[position:position + new.shape[0]] = new.view(
            -1, *cache.shape[1:])
    else:
        cache[:, position] = new.view(-1, *cache.shape[2:])


def _attention(args: list[Any], params: Params, dtype: Any) -> Any:
    q, keys, values = args
    batched = q.dim() == 3
    if not batched:
        q, keys, values = q[None], keys[None], values[None]
    out = functional.scaled_dot_product_attention(
        q[:, :, None], keys.transpose(1, 2), values.transpose(1, 2),
        scale=params.get("scale"), enable_gqa=True)[:, :, 0]
    return out if batched else out[0]


def _gdn_step(args: list[Any], params: Params, dtype: Any) -> Any:
    q, k, v, g, beta, state = args
    heads = state.shape[-3] // q.shape[-2]
    q, k = (one.float().repeat_interleave(heads, dim=-2) for one in (q, k))
    if params.get("qk_l2norm"):
        q, k = (one * torch.rsqrt((one * one).sum(-1, keepdim=True) + 1e-6)
                for one in (q, k))
    q = q * params.get("scale", 1 / math.sqrt(q.shape[-1]))
    decayed = state * torch.exp(g.float())[..., None, None]
    u = beta.float()[..., None] * (
        v.float() - (decayed * k[..., None]).sum(-2))
    updated = decayed + k[..., None] * u[..., None, :]
    state.copy_(updated)
    return (updated * q[..., None]).sum(-2).to(v.dtype)


OPS: dict[str, Op] = {
    "COPY": lambda a, p, t: a[0].to(t) if t else a[0].clone(),
    "ADD": lambda a, p, t: a[0] + a[1],
    "MUL": lambda a, p, t: a[0] * (a[1] if len(a) > 1 else p.get("scale", 1.0)),
    "GELU": lambda a, p, t: functional.gelu(
        a[0], approximate=p.get("approximate", "none")),
    "SILU_MUL": lambda a, p, t: functional.silu(a[0]) * a[1],
    "SOFTMAX": lambda a, p, t: torch.softmax(a[0], p.get("dim", -1)),
    "RMSNORM": lambda a, p, t: functional.rms_norm(
        a[0], a[1].shape, a[1], p.get("eps", 1e-6)),
    "LAYERNORM": lambda a, p, t: functional.layer_norm(
        a[0], a[1].shape, a[1], a[2] if len(a) > 2 else None,
        p.get("eps", 1e-5)),
    "EMBED": lambda a, p, t: functional.embedding(a[0], a[1]),
    "SAMPLE_ARGMAX": lambda a, p, t: torch.argmax(a[0], -1).to(torch.int32),
    "GEMM_TILE": _matmul,
    "GEMV_TILE": _matmul,
    "LM_HEAD": lambda a, p, t: functional.linear(a[0], _layout(p, a[1], "kn")),
    "DEQUANT": _dequant,
    "ROPE": _rope,
    "KV_APPEND": _kv_append,
    "ATTENTION_TILE": _attention,
    "GDN_STEP": _gdn_step,
}


def function_of(recipe: dict[str, Any]) -> Callable[..., tuple[Any, ...]]:
    """Return a function of the recipe's inputs that gives its outputs.

    Raises
    ------
    NotImplementedError
        If a step's op has no counterpart here.
    """
    steps = recipe["recipe"]["steps"]
    for step in steps:
        if step["op"] not in OPS:
            raise NotImplementedError(f"no counterpart of {step['op']}")
    outputs = recipe["outputs"]

    def call(*inputs: Any) -> tuple[Any, ...]:
        scratch: dict[int, Any] = {}
        results: list[Any] = [None] * len(outputs)
        for step in steps:
            args = [inputs[ref["in"]] if "in" in ref else scratch[ref["s"]]
                    for ref in step["args"]]
            named = step.get("out_dtype")
            dtype = getattr(torch, named) if named else None
            value = OPS[step["op"]](args, step.get("params", {}), dtype)
            out = step.get("out")
            if value is None or out is None:
                continue
            if dtype is not None:
                value = value.to(dtype)
            if out == "final" or out == -1:
                results[0] = value
            elif isinstance(out, dict):
                results[out["out"]] = value
            else:
                scratch[out] = value
        return tuple(one for one in results if one is not None)

    return call


def _tinygemm(recipe: dict[str, Any]) -> Callable[..., tuple[Any, ...]] | None:
    """Return PyTorch's own int4 product where the recipe is one."""
    steps = recipe["recipe"]["steps"]
    if len(steps) != 1 or steps[0]["op"] not in ("GEMM_TILE", "GEMV_TILE"):
        return None
    inputs = recipe["inputs"]
    if inputs[1]["dtype"] != "uint8" or len(inputs) != 3:
        return None
    group = steps[0].get("params", {}).get("group")
    packed: dict[int, tuple[Any, Any]] = {}

    def call(x: Any, q: Any, scales: Any) -> tuple[Any, ...]:
        # Its own format, made once for each weight.
        if q.data_ptr() not in packed:
            swapped = (q << 4) | (q >> 4)
            weight = torch._convert_weight_to_int4pack(swapped, 8)
            zeros = torch.zeros_like(scales)
            pairs = torch.stack((scales, zeros), dim=-1).transpose(0, 1)
            packed[q.data_ptr()] = (weight, pairs.contiguous())
        weight, pairs = packed[q.data_ptr()]
        return (torch._weight_int4pack_mm(x, weight, group, pairs),)

    return call


def make(recipe: dict[str, Any],
         compiled: bool) -> tuple[Callable[..., Any], str]:
    """Return a recipe as PyTorch runs it, and what that is in words."""
    if not compiled:
        tiny = _tinygemm(recipe)
        if tiny is not None:
            return tiny, f"torch {torch.__version__}, tinygemm"
        return function_of(recipe), f"torch {torch.__version__}, eager"
    torch._dynamo.reset()
    # What makes a product of one row a fused sum instead of a padded GEMM.
    products = {"GEMM_TILE", "GEMV_TILE", "LM_HEAD"}
    tuned = any(step["op"] in products for step in recipe["recipe"]["steps"])
    options = {"coordinate_descent_tuning": True} if tuned else None
    return (torch.compile(function_of(recipe), dynamic=False, fullgraph=True,
                          options=options),
            f"torch {torch.__version__}, compile")
