"""Building a recipe step by step."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Callable

from tandem import _native
from tandem._recipe import Recipe

Shape = tuple[int | str, ...]


@dataclass(frozen=True)
class Value:
    """An input or the result of a step, to be used as an argument.

    Attributes
    ----------
    dtype : str
    shape : tuple of int or str
    """

    dtype: str
    shape: Shape
    _arg: tuple[str, int] = field(repr=False)


def json_params(params: dict[str, Any]) -> str:
    """Return params as JSON text, or raise `ValueError` for NaN and infinity."""
    for name, value in params.items():
        if isinstance(value, float) and not abs(value) < float("inf"):
            raise ValueError(f"{name}: {value}, expected a finite number")
    return json.dumps(params)


class RecipeBuilder:
    """Builds a recipe; every op is a method.

    ``b.rmsnorm(x, w, eps=1e-6)`` adds a step and gives its result, a `Value`
    (a tuple of them if the op has several). The keywords ``out_dtype`` and
    ``out_shape`` declare the result's type; all others are params. A wrong step
    raises at once.

    Parameters
    ----------
    name : str
        The recipe's name; kernels are named after it.

    Examples
    --------
    >>> b = RecipeBuilder("residual")
    >>> x = b.input("x", "bfloat16", ("M", 2048))
    >>> r = b.input("r", "bfloat16", ("M", 2048))
    >>> b.add(x, r)
    Value(dtype='bfloat16', shape=('M', 2048))
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._inputs: list[dict[str, Any]] = []
        self._steps: list[dict[str, Any]] = []
        self._slots = 0
        self._outputs: list[tuple[str, Value]] = []

    def input(self, name: str, dtype: str, shape: Shape, *,
              state: bool = False) -> Value:
        """Add an input.

        Parameters
        ----------
        name : str
        dtype : str
            ``float32``, ``bfloat16``, ...
        shape : tuple of int or str
            A str is a symbol that a call binds.
        state : bool
            Whether an op updates it in place.

        Returns
        -------
        Value
        """
        entry: dict[str, Any] = {"name": name, "dtype": dtype,
                                 "shape": list(shape)}
        if state:
            entry["role"] = "state"
        self._inputs.append(entry)
        return Value(dtype, tuple(shape), ("in", len(self._inputs) - 1))

    def output(self, name: str, value: Value) -> None:
        """Declare the result of a step as an output.

        Raises
        ------
        ValueError
            If `value` is an input (copy it first) or an output already.
        """
        if value._arg[0] != "s":
            raise ValueError(f"output '{name}': an input is no result; copy it")
        if any(value == other for _, other in self._outputs):
            raise ValueError(f"output '{name}': the value is an output already")
        self._outputs.append((name, value))

    def step(self, op: str, *args: Value, out_dtype: str | None = None,
             out_shape: Shape | None = None, **params: Any) -> Any:
        """Add a step by the op's name; the same as the op's method.

        Parameters
        ----------
        op : str
            ``rmsnorm``, ...
        *args : Value
            Inputs and earlier results.
        out_dtype : str, optional
            The dtype of the result.
        out_shape : tuple of int or str, optional
            The shape of the result, if it has to be said.
        **params : bool, int, float, str or Value
            As in `tandem.ops`; a Value is a param on the device.

        Returns
        -------
        Value, tuple of Value, or None
            One for each result.

        Raises
        ------
        KeyError
            If no op has that name.
        ValueError
            If operands or params do not fit it.
        """
        declared: dict[str, Any] = {}
        if out_dtype is not None:
            declared["dtype"] = out_dtype
        if out_shape is not None:
            declared["shape"] = list(out_shape)
        # Params on the device are operands after all others, by name.
        device = {name: value for name, value in sorted(params.items())
                  if isinstance(value, Value)}
        numbers = {name: {"in": len(args) + i} for i, name in enumerate(device)}
        operands = [{"dtype": a.dtype, "shape": list(a.shape)}
                    for a in (*args, *device.values())]
        types = json.loads(_native.infer(op, json.dumps(operands),
                                         json_params(params | numbers),
                                         json.dumps(declared)))
        results = tuple(
            Value(t["dtype"], tuple(t["shape"]), ("s", self._slots + i))
            for i, t in enumerate(types))
        entry: dict[str, Any] = {
            "op": op,
            "args": [dict([arg._arg]) for arg in args],
            "out": [value._arg[1] for value in results],
        }
        if params:
            entry["params"] = params | {name: dict([value._arg])
                                        for name, value in device.items()}
        if out_dtype is not None:
            entry["out_dtype"] = out_dtype
        if out_shape is not None:
            entry["out_shape"] = list(out_shape)
        self._steps.append(entry)
        self._slots += len(results)
        if not results:
            return None
        return results[0] if len(results) == 1 else results

    def __getattr__(self, op: str) -> Callable[..., Any]:
        if op.startswith("_"):
            raise AttributeError(op)

        def add(*args: Value, **kwargs: Any) -> Any:
            return self.step(op, *args, **kwargs)

        return add

    def recipe(self) -> Recipe:
        """Check the whole and return the recipe.

        Outputs have the types of the values that they are.

        Raises
        ------
        ValueError
            If anything is wrong; one line an error, each with its place.
        """
        steps = json.loads(json.dumps(self._steps))
        outputs = []
        for k, (name, value) in enumerate(self._outputs):
            outputs.append({"name": name, "dtype": value.dtype,
                            "shape": list(value.shape)})
            slot = value._arg[1]
            if any({"s": slot} in [*step["args"],
                                   *step.get("params", {}).values()]
                   for step in steps):
                # It is read later too, so it stays a scratch value; the output
                # is a copy, which keeps every bit.
                steps.append({"op": "copy", "args": [{"s": slot}],
                              "out": [{"out": k}]})
            else:
                for step in steps:
                    step["out"] = [{"out": k} if out == slot else out
                                   for out in step["out"]]
        for step in steps:
            if len(step["out"]) == 1:
                step["out"] = step["out"][0]
            elif not step["out"]:
                del step["out"]
        data = {"name": self._name, "inputs": self._inputs,
                "outputs": outputs, "recipe": {"steps": steps}}
        return Recipe(_native.Recipe.read(json.dumps(data), self._name))
