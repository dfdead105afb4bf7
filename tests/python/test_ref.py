"""References as Python functions, against formulas written here."""

import inspect
import math

import numpy as np
import pytest

import tandem


def test_every_op_has_a_documented_function():
    for op in tandem.ops():
        if not op.defined or op.name == "fused":
            continue
        function = getattr(tandem.ref, op.name)
        assert function.__name__ == op.name
        doc = inspect.getdoc(function)
        for operand in op.operands:
            assert operand["name"] in inspect.signature(function).parameters
            assert operand["name"] + " :" in doc
        for param in op.params:
            assert param["doc"] in doc


def test_rmsnorm_puts_eps_inside_the_root():
    y = tandem.ref.rmsnorm([[1.0, 3.0]], [3.0, 2.0], eps=4.0)
    assert y.tolist() == [[1.0, 2.0]]


def test_softmax_of_any_axis():
    x = np.random.default_rng(2).standard_normal((3, 5), dtype="f4")
    e = np.exp(x.astype("f8") - x.max(0, keepdims=True))
    expected = (e / e.sum(0, keepdims=True)).astype("f4")
    assert np.array_equal(tandem.ref.softmax(x, dim=0), expected)


def test_gelu_holds_in_the_tail():
    y = tandem.ref.gelu(np.array([-10.0], "f4"))[0]
    exact = -5.0 * math.erfc(10 / math.sqrt(2))
    assert y == np.float32(exact)


def test_optional_operands_and_many_operands():
    x = np.array([[1.0, 2.0, 6.0]], "f4")
    one = np.ones(3, "f4")
    with_bias = tandem.ref.layernorm(x, one, one)
    without = tandem.ref.layernorm(x, one)
    # Both are rounded once to float32, which moves a number by at most 2^-24 of
    # itself; the arithmetic before is double's (2^-20 of that is plenty for it).
    apart = np.abs(with_bias.astype("f8") - (without.astype("f8") + 1))
    rounding = 2.0**-24 * (np.abs(with_bias) + np.abs(without))
    assert (apart <= rounding * (1 + 2.0**-20)).all()
    assert tandem.ref.allreduce_shard(x, x, x).tolist() == [[3.0, 6.0, 18.0]]
    assert tandem.ref.mul(x, scale=2.0).tolist() == [[2.0, 4.0, 12.0]]


def test_views_keep_their_strides():
    x = np.arange(24, dtype="f4").reshape(4, 6)
    for view in (x.T, x[::2, ::3], x[::-1], np.broadcast_to(x[0], (3, 6))):
        assert np.array_equal(tandem.ref.copy(view), view)


def test_small_floats():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = np.array([1.0, 3.1415926, 1e30], "f4")
    y = tandem.ref.copy(x, out_dtype="bfloat16")
    assert y.dtype == ml_dtypes.bfloat16
    assert np.array_equal(y, x.astype(ml_dtypes.bfloat16))
    # Beyond the largest float8 a copy saturates.
    y = tandem.ref.copy(x, out_dtype="float8_e4m3fn")
    assert y.astype("f4").tolist() == [1.0, 3.25, 448.0]


def test_mistakes_raise():
    with pytest.raises(ValueError, match="takes 2 operands|shape|K"):
        tandem.ref.rmsnorm(np.ones((2, 3), "f4"), np.ones(4, "f4"))
    with pytest.raises(TypeError):
        tandem.ref.rmsnorm(np.ones((2, 3), "f4"))
    with pytest.raises(ValueError, match="complex"):
        tandem.ref.copy(np.ones(2, "c8"))
    with pytest.raises(ValueError, match="7"):
        tandem.ref.embed(np.array([0, 7], "i4"), np.ones((3, 2), "f4"))
