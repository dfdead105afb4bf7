"""How a reference and PyTorch agree, and the numbers that they are given.

The references round once, PyTorch computes in float64: both agree within that
rounding.
"""

import numpy as np
import pytest

import second_opinion as so

ml_dtypes = pytest.importorskip("ml_dtypes")
torch = so.torch
F32, F16, BF16 = np.float32, np.float16, ml_dtypes.bfloat16
FLOATS = [F32, F16, BF16]
SEEDS = range(3)
CHECKED = {}


def second_opinion(*ops):
    """Mark what compares the named ops; a test checks that no op is left out."""
    def mark(test):
        for op in ops:
            CHECKED[op] = test.__name__
        return test
    return mark


def agree(got, expected, *, scale=0.0):
    """Check that `got` is `expected` rounded once to its dtype.

    PyTorch is wrong by some 2^-53 of the terms that it added, whose size is
    `scale`; ml_dtypes rounds through float32, so ties of 16 bits may go either
    way.
    """
    if isinstance(expected, torch.Tensor):
        expected = so.numbers(expected)
    assert got.shape == expected.shape
    slack = 1e-13 * (np.abs(expected) + scale) + 1e-300
    if got.dtype.itemsize < 4:
        slack = slack + np.abs(expected) * 2.0**-23
    with np.errstate(over="ignore", invalid="ignore"):
        low = (expected - slack).astype(got.dtype).astype(float)
        high = (expected + slack).astype(got.dtype).astype(float)
        y = got.astype(float)
        right = (low <= y) & (y <= high)
        right |= np.isnan(expected) & np.isnan(y)
        right |= (expected == y)
    where = np.argwhere(~right)
    assert not len(where), (
        f"{len(where)} of {y.size} differ, first at {where[0].tolist()}: got "
        f"{y[tuple(where[0])]!r}, PyTorch {expected[tuple(where[0])]!r}")


def normal(rng, *shape, dtype=F32, scale=1.0):
    return (scale * rng.standard_normal(shape)).astype(dtype)


@pytest.fixture(params=SEEDS)
def rng(request):
    return np.random.default_rng(request.param)


@pytest.fixture(params=FLOATS, ids=lambda t: np.dtype(t).name)
def dtype(request):
    return request.param
