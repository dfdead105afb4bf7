"""NumPy arrays as views of the C interface, and back."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

ml_dtypes: ModuleType | None
try:
    ml_dtypes = importlib.import_module("ml_dtypes")
except ImportError:
    ml_dtypes = None

Array = npt.NDArray[Any]
View = tuple[str, tuple[int, ...], tuple[int, ...], int]

_PLAIN = ["float32", "float16", "float64", "int8", "int32", "int64", "uint8"]
_BITS = {"bfloat16": "uint16", "float8_e4m3fn": "uint8", "float8_e5m2": "uint8"}


def numpy_dtype(name: str) -> np.dtype[Any]:
    """Return the NumPy type of a recipe's dtype.

    Without ``ml_dtypes`` the small floats are the unsigned integers that hold
    their bits.

    Parameters
    ----------
    name : str
        As in a recipe: ``float32``, ``bfloat16``, ...

    Returns
    -------
    numpy.dtype

    Raises
    ------
    KeyError
        If no dtype has that name.
    """
    if name in _PLAIN:
        return np.dtype(name)
    if name not in _BITS:
        raise KeyError(f"no dtype is named '{name}'")
    if ml_dtypes is not None:
        dtype: np.dtype[Any] = np.dtype(getattr(ml_dtypes, name))
        return dtype
    return np.dtype(_BITS[name])


def dtype_name(dtype: np.dtype[Any]) -> str:
    """Return the recipe's name of a NumPy type, or raise `ValueError`."""
    if not dtype.isnative:
        raise ValueError(f"no recipe dtype corresponds to {dtype}: its bytes are "
                         "swapped; convert it with .astype")
    if dtype.name in _PLAIN or dtype.name in _BITS:
        return dtype.name
    raise ValueError(f"no recipe dtype corresponds to {dtype}")


def _converted(array: Array, wanted: np.dtype[Any], name: str) -> Array:
    """Convert plain numbers, or raise `ValueError` where that would lose them."""
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{name}: expected numbers, got {array.dtype}")
    if wanted.kind in "iu" and array.size:
        info = np.iinfo(wanted)
        if array.dtype.kind == "f":
            raise ValueError(f"{name}: expected whole numbers for {wanted}, got "
                             f"{array.dtype}")
        if int(array.min()) < info.min or int(array.max()) > info.max:
            raise ValueError(f"{name}: expected {info.min} to {info.max} for "
                             f"{wanted}, got {array.min()} to {array.max()}")
    return array.astype(wanted)


def as_array(value: npt.ArrayLike, dtype: str, name: str) -> Array:
    """Return `value` as an array of a recipe's dtype, without converting arrays.

    Lists and scalars become arrays of `dtype`. An array must have the dtype
    already, or be the unsigned integers that hold its bits.

    Raises
    ------
    ValueError
        If an array has another dtype, or plain numbers do not fit `dtype`.
    """
    wanted = numpy_dtype(dtype)
    if not isinstance(value, (np.ndarray, np.generic)):
        return _converted(np.asarray(value), wanted, name)
    array = np.asarray(value)
    if array.dtype == wanted:
        return array
    # A dtype's name does not tell the order of its bytes.
    if array.dtype.name == _BITS.get(dtype) and array.dtype.isnative:
        return array.view(wanted)
    raise ValueError(f"{name}: {array.dtype} array, expected {dtype}; convert "
                     f"it with .astype")


def has_plain_strides(array: Array) -> bool:
    """Tell whether the strides are non-negative and whole elements."""
    return all(size <= 1 or (stride >= 0 and stride % array.itemsize == 0)
               for size, stride in zip(array.shape, array.strides))


def is_usable(array: Array) -> bool:
    """Tell whether the array can be passed without a copy."""
    return has_plain_strides(array) and array.flags.aligned


def view_of(array: Array, dtype: str) -> View:
    """Describe an array whose memory stays alive during the call."""
    strides = tuple(0 if size <= 1 and stride < 0 else stride // array.itemsize
                    for size, stride in zip(array.shape, array.strides))
    return dtype, array.shape, strides, array.__array_interface__["data"][0]
