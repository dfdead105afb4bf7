"""The op table."""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from typing import Any

from tandem import _native


@dataclass(frozen=True)
class Op:
    """One opcode of the instruction set.

    Attributes
    ----------
    code : int
        Frozen; plans and caches store it.
    name : str
        Lower case, as in recipes.
    defined : bool
        False for an opcode whose op does not exist yet.
    signature : str
        Operand and result shapes, ``x: f[..,K], w: f[K] -> y: f[..,K]``.
    summary, description : str
        What it computes.
    operands, results, params : tuple of dict
        The signature and the params as data.
    """

    code: int
    name: str
    defined: bool
    signature: str
    summary: str
    description: str
    operands: tuple[dict[str, Any], ...]
    results: tuple[dict[str, Any], ...]
    params: tuple[dict[str, Any], ...]


@functools.cache
def ops() -> tuple[Op, ...]:
    """Return all opcodes in the order of their codes.

    Returns
    -------
    tuple of Op
    """
    return tuple(
        Op(o["code"], o["mnemonic"], o["defined"], o["signature"],
           o["summary"], o["description"], tuple(o["operands"]),
           tuple(o["results"]), tuple(o["params"]))
        for o in json.loads(_native.ops()))


def version() -> str:
    """Return the version of libtandem, ``0.1.0``."""
    return _native.version()
