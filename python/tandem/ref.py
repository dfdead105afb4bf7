"""References of every op: ``tandem.ref.rmsnorm(x, w, eps=1e-6)``.

One function an op, made from the op table when the package is imported, so that
a new op appears here by itself. Each computes in double and rounds its result
once; none shares code with the kernels.
"""

from __future__ import annotations

import inspect
import json
from typing import Any

import numpy as np
import numpy.typing as npt

from tandem import _native
from tandem._arrays import (Array, _converted, dtype_name, is_usable, numpy_dtype,
                            view_of)
from tandem._builder import json_params
from tandem._signatures import default_of, docstring, parameters, result_type


def _signature(op: dict[str, Any]) -> inspect.Signature:
    """Return what `inspect` and editors show."""
    namespace: dict[str, Any] = {"npt": npt, "Array": Array}
    source = (f"def f({', '.join(parameters(op))}) -> {result_type(op)}: ...")
    exec(source, namespace)
    return inspect.signature(namespace["f"])


def _operand(value: npt.ArrayLike) -> tuple[Array, str]:
    if isinstance(value, (np.ndarray, np.generic)):
        array = np.asarray(value)
    else:
        # Plain numbers: the types that recipes know.
        array = np.asarray(value)
        wanted = np.dtype("float32" if array.dtype.kind == "f" else "int32")
        array = _converted(array, wanted, "operand")
    name = dtype_name(array.dtype)
    return (array if is_usable(array) else np.array(array, order="C")), name


def _state(value: Any, name: str) -> tuple[Array, str]:
    if not (isinstance(value, np.ndarray) and is_usable(value)
            and value.flags.writeable):
        raise ValueError(f"{name}: it is updated in place, expected a writeable "
                         f"NumPy array with non-negative strides")
    return value, dtype_name(value.dtype)


def _make(op: dict[str, Any]) -> Any:
    signature = _signature(op)
    optional = {o["name"] for o in op["operands"] if o["count"] == "optional"}
    on_device = {p["name"] for p in op["params"] if p["may_be_operand"]}

    def function(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        arrays: list[tuple[Array, str]] = []
        for operand in op["operands"]:
            value = bound.arguments[operand["name"]]
            if operand["count"] == "one_or_more":
                arrays += [_operand(v) for v in value]
            elif operand.get("state"):
                arrays.append(_state(value, operand["name"]))
            elif value is not None or operand["name"] not in optional:
                arrays.append(_operand(value))
        params = {}
        for param in op["params"]:
            value = bound.arguments[param["name"]]
            if value is not None and (param["name"] in kwargs
                                      or default_of(param) is None):
                params[param["name"]] = value
        # Params on the device are operands after all others, by name.
        for name in sorted(on_device & params.keys()):
            if not isinstance(params[name], (int, np.integer)):
                value, dtype = _operand(params[name])
                params[name] = {"in": len(arrays)}
                arrays.append((value, dtype))
        views = [view_of(array, name) for array, name in arrays]
        recipe = _native.Recipe.for_op(op["mnemonic"], views,
                                       json_params(params),
                                       bound.arguments["out_dtype"])
        described = json.loads(recipe.outputs(views))
        outputs = [np.zeros(o["shape"], numpy_dtype(o["dtype"]))
                   for o in described]
        recipe.evaluate(views, [view_of(array, o["dtype"])
                                for array, o in zip(outputs, described)])
        if not outputs:
            return None
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    function.__name__ = function.__qualname__ = op["mnemonic"]
    function.__doc__ = docstring(op)
    function.__signature__ = signature  # type: ignore[attr-defined]
    function.__module__ = __name__
    return function


__all__ = []
for _op in json.loads(_native.ops()):
    # A FUSED step is a recipe: compile or check it as one.
    if _op["defined"] and _op["mnemonic"] != "fused":
        globals()[_op["mnemonic"]] = _make(_op)
        __all__.append(_op["mnemonic"])
del _op
