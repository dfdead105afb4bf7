"""Prints numbers of 50 digits as C++ literals that read back as the nearest double."""

import struct

import mpmath

mpmath.mp.dps = 50


def f32(x):
    """The f32 nearest to `x`, exactly."""
    return mpmath.mpf(struct.unpack("f", struct.pack("f", x))[0])


def show(name, values):
    print(f"{name}: " + ", ".join(repr(float(v)) for v in values))
