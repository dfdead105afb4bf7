"""Kernels of other frameworks for ``tandem bench run``.

The library asks for a peer in JSON and gets a captured CUDA graph back, which it
times like every other contender (docs/decisions/0008-one-timer.md). PyTorch and
Triton are imported when the first request comes.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from typing import Any

__all__ = ["Host"]

Answer = dict[str, Any]


class Host:
    """Answers the requests of one run of ``tandem bench run``."""

    def __init__(self) -> None:
        self._kept: list[Any] = []

    def __call__(self, request: str) -> str:
        """Answer one request; a failure is an answer too."""
        try:
            answer = self._answer(json.loads(request))
        except Exception as error:  # a peer may raise anything
            text = str(error).strip().splitlines()
            answer = {"error": f"{type(error).__name__}: "
                               f"{text[0] if text else ''}"}
        return json.dumps(answer)

    def _answer(self, request: dict[str, Any]) -> Answer:
        do = request["do"]
        if do == "release":
            return self._release()
        if do == "capture":
            return self._capture(request)
        if do == "launch":
            from tandem.peers import launches
            return launches.measure(request)
        return {"error": f"no request is named '{do}'"}

    def _release(self) -> Answer:
        if self._kept:
            from tandem.peers import graphs
            self._kept.clear()
            graphs.release_memory()
        return {}

    def _capture(self, request: dict[str, Any]) -> Answer:
        from tandem.peers import graphs
        call, detail = make_peer(request)
        kept, answer = graphs.capture(call, request)
        self._kept.append(kept)
        return answer | {"detail": detail}


def make_peer(request: dict[str, Any]) -> tuple[Callable[..., Any], str]:
    """Return what a request asks for and what it is, in words.

    Parameters
    ----------
    request : dict
        With ``peer`` (torch, compile or triton) and ``recipe``.

    Returns
    -------
    callable
        Of one tensor an input of the recipe; gives a tuple, one tensor an
        output.
    str
    """
    from tandem.peers import torch_ops
    peer, recipe = request["peer"], request["recipe"]
    if peer == "triton":
        # Untyped: Triton reads its source.
        triton_gemm: Any = importlib.import_module("tandem.peers.triton_gemm")
        call: Callable[..., Any]
        call, detail = triton_gemm.make(recipe)
        return call, detail
    return torch_ops.make(recipe, compiled=peer == "compile")
