"""Fits the Gaussian tail of codegen/ops/Math.cpp; prints ErfcCoefficients.inc.

    tail(a) = 0.5 erfc(a / sqrt(2)) = exp(-a^2 / 2) g(a),   a >= 0

g falls smoothly from 1/2 like 1/(a sqrt(2 pi)). With t = 1/(a + K), g(a) / t is
smooth on [0, LAST], so that a polynomial in s = A t + B (s from -1 to 1) times t
fits it. Beyond LAST the tail is below 2^-149. The interpolation at Chebyshev
nodes is done in 40 digits (mpmath), the coefficients are rounded to f32 once.

    python3 erfc.py > ../ErfcCoefficients.inc
    clang++ -O2 -ffp-contract=off -march=native -I ../../.. sweep_erfc.cpp && ./a.out
"""

import math
import struct
import sys

import mpmath as mp

mp.mp.dps = 40
K = mp.mpf(sys.argv[1]) if len(sys.argv) > 1 else mp.mpf(2)
DEGREE = int(sys.argv[2]) if len(sys.argv) > 2 else 10
LAST = mp.mpf(15)
T0, T1 = 1 / (LAST + K), 1 / K
A, B = 2 / (T1 - T0), -(T1 + T0) / (T1 - T0)


def f32(x):
    return struct.unpack("f", struct.pack("f", float(x)))[0]


def g_over_t(s):
    t = (s - B) / A
    z = (1 / t - K) / mp.sqrt(2)
    return mp.erfc(z) * mp.exp(z * z) / 2 / t


def chebyshev(f, degree):
    """Coefficients in powers of s of the interpolant at Chebyshev nodes."""
    n = degree + 1
    angles = [mp.pi * (mp.mpf(i) + mp.mpf(1) / 2) / n for i in range(n)]
    values = [f(mp.cos(angle)) for angle in angles]
    weights = [2 * sum(v * mp.cos(j * a) for v, a in zip(values, angles)) / n
               for j in range(n)]
    weights[0] /= 2
    previous, current = [mp.mpf(1)], [mp.mpf(0), mp.mpf(1)]
    total = [mp.mpf(0)] * n
    for j, weight in enumerate(weights):
        for i, c in enumerate(previous):
            total[i] += weight * c
        following = [mp.mpf(0)] + [2 * c for c in current]
        for i, c in enumerate(previous):
            following[i] -= c
        previous, current = current, following
    return total


print("// Printed by codegen/ops/evidence/erfc.py; do not edit.")
print(f"inline constexpr float tailK = {f32(K).hex()}f;")
print(f"inline constexpr float tailA = {f32(A).hex()}f;")
print(f"inline constexpr float tailB = {f32(B).hex()}f;")
print("inline constexpr float tailCoefficients[] = {")
for c in chebyshev(g_over_t, DEGREE):
    print(f"    {f32(c).hex()}f,")
print("};")
