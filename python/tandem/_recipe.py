"""Recipes: reading, looking at and writing them."""

from __future__ import annotations

import json
import os
import pathlib
from dataclasses import dataclass
from typing import Any

from tandem import _native


@dataclass(frozen=True)
class Tensor:
    """An input or output of a recipe.

    Attributes
    ----------
    name : str
    dtype : str
        ``float32``, ``bfloat16``, ...
    shape : tuple of int or str
        A str is a symbol that a call binds.
    is_state : bool
        Updated in place (inputs only).
    """

    name: str
    dtype: str
    shape: tuple[int | str, ...]
    is_state: bool = False


class Recipe:
    """A sequence of instructions with named inputs and outputs.

    A recipe that exists is valid: reading it checks every step and reports all
    errors at once. Make one with `load`, `from_json`, `from_dict`, `from_insn`
    or a `RecipeBuilder`.
    """

    def __init__(self, handle: _native.Recipe) -> None:
        self._handle = handle
        self._data: dict[str, Any] = json.loads(handle.json())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Recipe:
        """Read a recipe from a ``.json`` or ``.mlir`` file.

        Parameters
        ----------
        path : path_like

        Returns
        -------
        Recipe

        Raises
        ------
        OSError
            If the file cannot be read.
        ValueError
            If the recipe is wrong; the message has one line an error, each with
            its place.
        """
        text = pathlib.Path(path).read_text(encoding="utf-8")
        if pathlib.Path(path).suffix == ".mlir":
            return cls.from_insn(text, file=os.fspath(path))
        return cls.from_json(text, file=os.fspath(path))

    @classmethod
    def from_json(cls, text: str, *, file: str = "recipe") -> Recipe:
        """Read a recipe from JSON text; `file` is used in messages."""
        text.encode()  # a lone surrogate is a ValueError, too
        return cls(_native.Recipe.read(text, file))

    @classmethod
    def from_dict(cls, data: dict[str, Any], *, file: str = "recipe") -> Recipe:
        """Read a recipe from the dict that its JSON would give."""
        return cls.from_json(json.dumps(data), file=file)

    @classmethod
    def from_insn(cls, text: str, *, file: str = "recipe") -> Recipe:
        """Read a recipe from the text of an ``insn`` module."""
        text.encode()  # as in from_json
        return cls(_native.Recipe.from_insn(text, file))

    @property
    def name(self) -> str:
        """The recipe's name."""
        return str(self._data["name"])

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """What a call takes, in order."""
        return tuple(
            Tensor(i["name"], i["dtype"], tuple(i["shape"]),
                   i.get("role") == "state") for i in self._data["inputs"])

    @property
    def outputs(self) -> tuple[Tensor, ...]:
        """What a call gives, in order."""
        return tuple(Tensor(o["name"], o["dtype"], tuple(o["shape"]))
                     for o in self._data["outputs"])

    @property
    def steps(self) -> tuple[dict[str, Any], ...]:
        """The steps, as in JSON."""
        return tuple(self._data["recipe"]["steps"])

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is legal but probably not meant: unused inputs and results."""
        return tuple(json.loads(self._handle.warnings()))

    @property
    def insn(self) -> str:
        """The text of the recipe as an ``insn`` module."""
        return self._handle.insn()

    def to_dict(self) -> dict[str, Any]:
        """Return the recipe as the dict of its canonical JSON."""
        data: dict[str, Any] = json.loads(self._handle.json())
        return data

    def to_json(self) -> str:
        """Return the canonical JSON; reading it gives an equal recipe."""
        return self._handle.json()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Recipe):
            return NotImplemented
        return self._data == other._data

    def __hash__(self) -> int:
        return hash(self.to_json())

    def __repr__(self) -> str:
        def listed(tensors: tuple[Tensor, ...]) -> str:
            return ", ".join(
                f"{t.name}: {t.dtype}[{', '.join(map(str, t.shape))}]"
                for t in tensors)

        steps = ", ".join(str(step["op"]).lower() for step in self.steps)
        return (f"<Recipe {self.name}({listed(self.inputs)}) -> "
                f"({listed(self.outputs)}): {steps}>")
