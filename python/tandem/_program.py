"""Compiling a recipe and running it."""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tandem import _native
from tandem._arrays import (Array, View, as_array, is_usable, numpy_dtype,
                            view_of)
from tandem._device import device_named, place_of
from tandem._recipe import Recipe


@dataclass(frozen=True)
class Launch:
    """One kernel of a program.

    Attributes
    ----------
    kernel : str
        Its entry point.
    steps : tuple of int
        The steps of the recipe that it computes.
    ptx : str
        Its text; the same on every device.
    stages : dict of str
        ``tile``, ``nvvm`` and ``llvm`` text, where kept.
    record : dict
        How to launch it: grid, block, arguments, preconditions, numerics.
    """

    kernel: str
    steps: tuple[int, ...]
    ptx: str
    stages: dict[str, str]
    record: dict[str, Any]


def input_views(recipe: Recipe, inputs: dict[str, npt.ArrayLike],
                ) -> tuple[list[Array], list[View]]:
    """Return the arrays of a call, which must stay alive, and their views."""
    known = {tensor.name for tensor in recipe.inputs}
    if unknown := sorted(set(inputs) - known):
        raise KeyError(f"{recipe.name} has no input '{unknown[0]}'; it takes "
                       f"{', '.join(t.name for t in recipe.inputs)}")
    arrays = []
    for tensor in recipe.inputs:
        if tensor.name not in inputs:
            raise ValueError(f"{recipe.name}: input '{tensor.name}' is missing")
        value = inputs[tensor.name]
        array = as_array(value, tensor.dtype, tensor.name)
        if tensor.is_state:
            if not isinstance(value, np.ndarray) or not is_usable(array) \
                    or not array.flags.writeable:
                raise ValueError(f"{tensor.name}: is updated in place, so it "
                                 "must be a writable array with non-negative "
                                 "strides")
        elif not is_usable(array):
            array = np.array(array, order="C")
        arrays.append(array)
    return arrays, [view_of(array, tensor.dtype)
                    for array, tensor in zip(arrays, recipe.inputs)]


class Program:
    """A compiled recipe, ready to run.

    ``program(x=..., w=...)`` runs it: positional names are the recipe's inputs.
    The kernels that the attributes show are those for contiguous operands with
    the sizes `dims`; a call with other strides or alignments compiles the
    variant that fits it, and caches it.
    """

    def __init__(self, recipe: Recipe, options: dict[str, Any]) -> None:
        self.recipe = recipe
        self._options = options
        self._program = _native.Program.compile(
            recipe._handle, json.dumps(options | {"stages": True}))

    @functools.cached_property
    def _description(self) -> dict[str, Any]:
        description: dict[str, Any] = json.loads(self._program.describe())
        return description

    @property
    def target(self) -> str:
        """``sm_90a`` or ``sm_80``."""
        return str(self._description["target"])

    @property
    def launches(self) -> tuple[Launch, ...]:
        """The kernels in the order in which they run."""
        return tuple(
            Launch(one["kernel"], tuple(one["steps"]), one["ptx"],
                   one["stages"], one["record"])
            for one in self._description["launches"])

    @property
    def ptx(self) -> str:
        """The PTX of all kernels."""
        return "\n".join(launch.ptx for launch in self.launches)

    @property
    def stages(self) -> dict[str, str]:
        """The text of every stage: insn, tile, nvvm, llvm, ptx."""
        stages = {"insn": self.recipe.insn}
        for name in ("tile", "nvvm", "llvm"):
            texts = [launch.stages[name] for launch in self.launches
                     if name in launch.stages]
            if texts:
                stages[name] = "\n".join(texts)
        stages["ptx"] = self.ptx
        return stages

    @property
    def explain(self) -> str:
        """Which steps share a kernel and why not, and each schedule."""
        return "\n".join(self._description["explanation"])

    @property
    def timings(self) -> dict[str, float]:
        """Milliseconds that each stage took; near 0 when it was cached."""
        return {t["stage"]: t["ms"] for t in self._description["timings"]}

    @property
    def contract(self) -> dict[str, Any]:
        """What the kernels promise about their numbers."""
        contract: dict[str, Any] = self._description["contract"]
        return contract

    def run(self, inputs: dict[str, npt.ArrayLike], *,
            device: str = "auto") -> Any:
        """Run on NumPy arrays.

        Parameters
        ----------
        inputs : dict of array_like
            One for each input of the recipe. Arrays must have its dtype; lists
            are converted. Inputs with the role ``state`` are updated in place.
        device : str
            ``auto``, ``cuda``, ``cuda:N``, ``emulator`` or ``tile``.

        Returns
        -------
        ndarray or tuple of ndarray
            One for each output of the recipe.

        Raises
        ------
        KeyError
            If a name is not an input, or no device has that name.
        ValueError
            If an array does not fit, or an index is outside its table.
        RuntimeError
            If the device is not there, or found something wrong: each finding
            with its PTX line.
        """
        arrays, views = input_views(self.recipe, inputs)
        described = json.loads(self.recipe._handle.outputs(views))
        outputs = [np.empty(o["shape"], numpy_dtype(o["dtype"]))
                   for o in described]
        output_views = [view_of(array, o["dtype"])
                        for array, o in zip(outputs, described)]
        options = dict(self._options)
        options.pop("dims", None)
        device_named(device).run(self.recipe._handle, json.dumps(options),
                                 views, output_views)
        del arrays
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def launcher(self, device: str = "auto") -> _native.Launcher:
        """Return a function that launches on tensors where they are.

        Its arguments are tensors of any library that speaks DLPack, inputs
        first, then outputs. It checks dtype, shape, strides, alignment and
        overlap, enqueues on the current stream of the tensors' library
        (``stream=`` names another) and returns. Its ``prepare`` takes the same
        tensors and gives a function of none that only enqueues. After the
        stream has been synchronised ``check`` raises `ValueError` if an index
        was outside its table.

        Parameters
        ----------
        device : str
            With ``emulator`` and ``tile`` tensors are the host's, and a call
            returns when the results are there.

        Returns
        -------
        Launcher
            Compiles at its first call, and for calls that need another kernel.
        """
        options = {name: value for name, value in self._options.items()
                   if name != "dims"}
        return _native.launcher(device_named(device), self.recipe._handle,
                                json.dumps(options), *place_of(device))

    def __call__(self, *, device: str = "auto",
                 **inputs: npt.ArrayLike) -> Any:
        """Run on NumPy arrays; see `run`."""
        return self.run(inputs, device=device)

    def __repr__(self) -> str:
        kernels = ", ".join(launch.kernel for launch in self.launches)
        return f"<Program {self.recipe.name} for {self.target}: {kernels}>"


def compile(recipe: Recipe, *, target: str = "sm_90a", fuse: bool = True,
            dims: dict[str, int] | None = None,
            set: dict[str, str | int] | None = None) -> Program:
    """Compile a recipe to PTX.

    Parameters
    ----------
    recipe : Recipe
    target : str
        ``sm_90a`` or ``sm_80``.
    fuse : bool
        Whether steps may share a kernel.
    dims : dict of int, optional
        Typical sizes of the recipe's symbols; 64 where not given.
    set : dict, optional
        Schedule parameters that override the chosen ones.

    Returns
    -------
    Program

    Raises
    ------
    ValueError
        If an option is wrong.
    RuntimeError
        If the recipe cannot be compiled for the target.
    """
    options: dict[str, Any] = {"target": target, "fuse": fuse}
    if dims:
        options["dims"] = dims
    if set:
        options["set"] = {name: str(value) for name, value in set.items()}
    return Program(recipe, options)
