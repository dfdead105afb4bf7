"""Launching on tensors of other libraries."""

import ctypes

import numpy as np
import pytest

import tandem


@pytest.fixture
def recipe():
    b = tandem.RecipeBuilder("scaled")
    x = b.input("x", "float32", ("M", 64))
    b.output("y", b.mul(x, scale=3.0))
    return b.recipe()


@pytest.fixture
def launcher(recipe):
    return tandem.compile(recipe).launcher("emulator")


@pytest.fixture
def x():
    return np.arange(192, dtype="f4").reshape(3, 64)


class DlTensor(ctypes.Structure):
    """DLTensor, by the header of DLPack 1.3."""

    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32),
                ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("byte_offset", ctypes.c_uint64)]


FROM_OBJECT = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object,
                                ctypes.POINTER(DlTensor))


class ExchangeApi(ctypes.Structure):
    """DLPackExchangeAPI."""

    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32),
                ("previous", ctypes.c_void_p), ("allocate", ctypes.c_void_p),
                ("managed_from", ctypes.c_void_p),
                ("managed_to", ctypes.c_void_p), ("tensor_from", FROM_OBJECT),
                ("stream", ctypes.c_void_p)]


@FROM_OBJECT
def describe(tensor, out):
    """Fill a DLTensor from an `Exchanged`; its second half in bytes."""
    array = tensor.array
    tensor.asked += 1
    tensor.shape = (ctypes.c_int64 * array.ndim)(*array.shape)
    tensor.strides = (ctypes.c_int64 * array.ndim)(
        *(stride // array.itemsize for stride in array.strides))
    to = out.contents
    to.data = array.ctypes.data - 16
    to.byte_offset = 16
    to.device_type, to.device_id = tensor.device
    to.ndim, to.code, to.bits, to.lanes = array.ndim, 2, 32, 1
    to.shape, to.strides = tensor.shape, tensor.strides
    return 0


def exchange_capsule(major=1, previous=None):
    """Return the capsule of a type attribute, and what it points at."""
    api = ExchangeApi(major, 3, None, None, None, None, describe, None)
    if previous is not None:
        api.previous = ctypes.addressof(previous)
    make = ctypes.pythonapi.PyCapsule_New
    make.restype = ctypes.py_object
    make.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return make(ctypes.addressof(api), b"dlpack_exchange_api", None), api


CAPSULE, API = exchange_capsule()
NEWER, NEWER_API = exchange_capsule(2, API)


class Exchanged:
    """A tensor that only the C exchange interface can read."""

    __dlpack_c_exchange_api__ = CAPSULE

    def __init__(self, array, device=(1, 0)):
        self.array, self.device, self.asked = array, device, 0


class FromTheFuture(Exchanged):
    __dlpack_c_exchange_api__ = NEWER


def test_numpy_arrays_are_read_through_dlpack(launcher, x):
    y = np.empty_like(x)
    launcher(x, y)
    assert np.array_equal(y, 3 * x)


@pytest.mark.parametrize("kind", [Exchanged, FromTheFuture])
def test_the_exchange_interface_is_preferred(launcher, x, kind):
    y = np.zeros((3, 128), "f4")
    tensors = kind(x), kind(y[:, ::2])
    launcher(*tensors)
    assert np.array_equal(y[:, ::2], 3 * x)
    assert not y[:, 1::2].any()
    assert [tensor.asked for tensor in tensors] == [1, 1]


def test_a_prepared_launch_asks_its_tensors_once(launcher, x):
    y = np.empty_like(x)
    tensors = Exchanged(x), Exchanged(y)
    prepared = launcher.prepare(*tensors)
    for _ in range(2):
        y[:] = 0
        prepared()
        assert np.array_equal(y, 3 * x)
    assert [tensor.asked for tensor in tensors] == [1, 1]
    with pytest.raises(TypeError, match="has its tensors"):
        prepared(*tensors)


def test_every_call_is_checked(launcher, x):
    y = np.empty_like(x)
    for tensors, message in [
            ((x,), "takes 1 inputs and gives 1 outputs, got 1 tensors"),
            ((x.astype("f8"), y), "x'.* float64"),
            ((x, y[:2]), "y'.* expected 3, got 2"),
            ((x[:, :32], y), "x'.* 64"),
            ((x[:, ::-1], y), "x: stride -1 is negative"),
            ((x, y.astype("c8")), "tensor 1: no dtype"),
            ((x.ravel(), y), "x'"),
            ((x, np.broadcast_to(y[:1], (3, 64)).view()), "readonly|overlap"),
            ((Exchanged(x, (2, 0)), y),
             r"tensor 0: expected device \(1, 0\), got \(2, 0\)")]:
        y[:] = -1
        with pytest.raises((ValueError, BufferError), match=message):
            launcher(*tensors)
        assert (y == -1).all()
    memory = np.zeros(193, "f4")
    with pytest.raises(ValueError, match="overlap"):
        launcher(memory[:192].reshape(3, 64), memory[1:].reshape(3, 64))
    with pytest.raises(TypeError, match="__dlpack__"):
        launcher(1, y)
    with pytest.raises(TypeError, match="keyword"):
        launcher(x, y, streams=0)


def test_an_index_outside_its_table_is_told():
    b = tandem.RecipeBuilder("rows")
    ids = b.input("ids", "int32", ("M",))
    table = b.input("table", "float32", (4, 16))
    b.output("y", b.embed(ids, table))
    launcher = tandem.compile(b.recipe()).launcher("emulator")
    y = np.empty((2, 16), "f4")
    launcher(np.array([3, 0], "i4"), np.ones((4, 16), "f4"), y)
    launcher.check()
    with pytest.raises(ValueError, match=r"steps\[0\]: row 1"):
        launcher(np.array([3, 4], "i4"), np.ones((4, 16), "f4"), y)
