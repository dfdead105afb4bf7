"""Devices by name."""

from __future__ import annotations

import functools
import json
from typing import Any

from tandem import _native


@functools.cache
def device_named(name: str) -> _native.Device:
    """Open a device once and keep it."""
    return _native.Device.open(name)


def device_info(name: str = "auto") -> dict[str, Any]:
    """Describe a device.

    Parameters
    ----------
    name : str
        ``cuda``, ``cuda:1``, ``emulator``, ``tile``, or ``auto``: a GPU where
        there is one, else the emulator.

    Returns
    -------
    dict
        ``kind``, ``name``, ``target``, ``driver`` and ``facts``.

    Raises
    ------
    KeyError
        If no device has that name.
    RuntimeError
        If there is no GPU; the message says what is missing.
    """
    info: dict[str, Any] = json.loads(device_named(name).describe())
    return info


def place_of(name: str) -> tuple[int, int]:
    """Return where a device's tensors lie, as DLPack numbers it."""
    if device_info(name)["kind"] != "cuda":
        return 1, 0
    ordinal = name.partition(":")[2]
    return 2, int(ordinal) if ordinal else 0
