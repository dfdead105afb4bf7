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
