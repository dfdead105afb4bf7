"""Compare sweep_sincos.cpp with 60-digit arithmetic.

Random f32 angles of every exponent, and the positions that tests name. Prints
the largest error in units in the last place; `./sweep` is the built program.

    python3 check_sincos.py ./sweep
"""
import random
import struct
import subprocess
import sys

from mpmath import cos, mp, mpf, sin

mp.dps = 60


def bits_of(x):
    return struct.unpack("<I", struct.pack("<f", x))[0]


def ulp(exact):
    exponent = max(mp.frexp(exact)[1], -125)
    return mpf(2) ** (exponent - 24)


random.seed(1)
patterns = [bits_of(x) for x in (0.0, 1.0, 40.0, 2.0**15, 131071.0, 2.0**20)]
for exponent in range(1, 255):
    for _ in range(8):
        patterns.append(exponent << 23 | random.getrandbits(23))
text = "\n".join(f"{p:x}" for p in patterns)
lines = subprocess.run(
    [sys.argv[1], "--points"], input=text, capture_output=True, text=True, check=True
).stdout.split("\n")
worst = [mpf(0), mpf(0)]
for line in filter(None, lines):
    pattern, *values = line.split()
    x = mpf(struct.unpack("<f", struct.pack("<I", int(pattern, 16)))[0])
    for i, (function, value) in enumerate(zip((sin, cos), values)):
        exact = function(x)
        error = abs(mpf(float.fromhex(value)) - exact) / ulp(exact)
        worst[i] = max(worst[i], error)
print(f"{len(patterns)} angles: sin {float(worst[0]):.4f} ulp, cos {float(worst[1]):.4f} ulp")
