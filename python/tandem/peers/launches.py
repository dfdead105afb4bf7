"""What a launch costs the host in Python: ours, and other libraries'."""

from __future__ import annotations

import importlib
import json
import statistics
import time
from collections.abc import Callable
from typing import Any

import tandem
from tandem._recipe import Recipe

torch: Any = importlib.import_module("torch")

# As harness/bench/HostRows.cpp: a batch is shorter than the driver's queue,
# which is empty when a batch begins.
_CALLS, _BATCHES = 100, 41


def _ns_of(call: Callable[..., Any], *args: Any) -> float:
    """Return the median over batches of the nanoseconds of one call."""
    times = []
    for batch in range(-2, _BATCHES):
        repeats = range(_CALLS)
        begin = time.perf_counter_ns()
        for _ in repeats:
            call(*args)
        took = time.perf_counter_ns() - begin
        torch.cuda.synchronize()
        if batch >= 0:
            times.append(took / _CALLS)
    return statistics.median(times)


def _spread(dtype: str, shape: list[int]) -> Any:
    """Return a zeroed tensor with a gap behind every row.

    No dims can be merged then, and every stride is an argument.
    """
    strides, stride = [0] * len(shape), 1
    for d in reversed(range(len(shape))):
        strides[d] = stride
        stride = (stride * shape[d] + 16 + 15) // 16 * 16
    tensor = torch.empty_strided(shape, strides, device="cuda",
                                 dtype=getattr(torch, dtype))
    return tensor.zero_()


def _contenders(request: dict[str, Any], tensors: list[Any],
                ) -> list[tuple[str, str, Callable[[], Callable[..., Any]],
                                list[Any]]]:
    """Return name, kind, maker and arguments of everything that is measured."""
    program = tandem.compile(Recipe.from_json(json.dumps(request["recipe"])),
                             dims=request["dims"])
    launcher = program.launcher("cuda")
    found: list[Any] = [
        ("python checked call", "ours", lambda: launcher, tensors),
        ("python prepared", "ours", lambda: launcher.prepare(*tensors), []),
    ]
    peers = request["peers"]
    if "torch" in peers:
        x, y = tensors[0], tensors[-1]
        found.append(("torch.add", "peer", lambda: torch.add,
                      [x, tensors[-1] if x.shape == y.shape else x]))
    if "triton" in peers:
        def triton_call() -> Callable[..., Any]:
            # Untyped: Triton reads its source.
            module: Any = importlib.import_module("tandem.peers.triton_launch")
            made: Callable[..., Any] = module.make(tensors)
            return made
        found.append(("triton 5 tensors + 14 scalars", "peer", triton_call, []))
    return found


def measure(request: dict[str, Any]) -> dict[str, Any]:
    """Answer a ``launch`` request with the contenders and their nanoseconds."""
    dims = request["dims"]
    recipe = request["recipe"]
    tensors = [_spread(one["dtype"], [dims.get(dim, dim) for dim in one["shape"]])
               for one in recipe["inputs"] + recipe["outputs"]]
    contenders = []
    for name, kind, make, args in _contenders(request, tensors):
        one: dict[str, Any] = {"name": name, "kind": kind}
        try:
            call = make()
            call(*args)
            torch.cuda.synchronize()
            one["ns"] = round(_ns_of(call, *args), 2)
        except Exception as error:  # a contender may raise anything
            text = str(error).strip().splitlines()
            one["error"] = f"{type(error).__name__}: {text[0] if text else ''}"
        contenders.append(one)
    has_exchange = hasattr(torch.Tensor, "__dlpack_c_exchange_api__")
    for one in contenders:
        if one["kind"] == "ours":
            one["detail"] = (f"torch {torch.__version__}, "
                             + ("DLPack C exchange" if has_exchange
                                else "__dlpack__"))
    return {"contenders": contenders}
