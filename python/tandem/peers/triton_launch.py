# mypy: ignore-errors
"""A launch in Triton with as many arguments as ours has."""

import torch
import triton
import triton.language as tl


@triton.jit
def _nothing(a, b, c, d, e, s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, s10, s11,
             s12, s13, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    inside = at < s0 + s1 + s2 + s3 + s4 + s5 + s6 + s7 + s8 + s9 + s10 + s11
    total = (tl.load(a + at, inside) + tl.load(b + at, inside)
             + tl.load(c + at, inside) + tl.load(d + at, inside))
    tl.store(e + at, total, inside & (at < s12 + s13))


def make(tensors):
    """Return a call on five tensors of a row and 14 sizes."""
    five = [tensors[min(i, len(tensors) - 2)] for i in range(4)] + [tensors[-1]]
    # Neither 1 nor a multiple of 16, which Triton would make constants.
    sizes = [3 + 2 * i for i in range(14)]
    grid = (1,)

    def call():
        _nothing[grid](*five, *sizes, BLOCK=32)

    torch.cuda.synchronize()
    return call
