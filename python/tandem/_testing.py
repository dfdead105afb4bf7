"""Comparing with the references, and searching for failures."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Sequence

import numpy.typing as npt

from tandem import _native
from tandem._device import device_named
from tandem._program import Program, input_views
from tandem._recipe import Recipe


@dataclass(frozen=True)
class CheckResult:
    """What a comparison with the reference gave.

    True in a condition if and only if it passed.

    Attributes
    ----------
    verdict : str
        ``passed``, ``failed``, or ``unchecked`` when no verdict is possible for
        most elements.
    ratio : float
        The largest error, as a share of what is allowed at that element.
    outputs : tuple of dict
        For each output its worst element: place, got, expected, bound.
    findings : tuple of str
        What the device found wrong.
    """

    verdict: str
    ratio: float
    outputs: tuple[dict[str, Any], ...]
    findings: tuple[str, ...]

    def __bool__(self) -> bool:
        return self.verdict == "passed"


def check(what: Recipe | Program, inputs: dict[str, npt.ArrayLike], *,
          device: str = "auto", target: str | None = None) -> CheckResult:
    """Run on a device and compare with the reference.

    The bound is computed from what the kernels promise about their numbers; it
    is not a tolerance that somebody chose. Inputs are not changed.

    Parameters
    ----------
    what : Recipe or Program
    inputs : dict of array_like
        One for each input of the recipe.
    device : str
        ``auto``, ``cuda``, ``cuda:N``, ``emulator`` or ``tile``.
    target : str, optional
        ``sm_90a`` or ``sm_80``; by default the program's, or the best that the
        device runs.

    Returns
    -------
    CheckResult

    Raises
    ------
    KeyError, ValueError, RuntimeError
        As `Program.run`; a wrong result is a verdict and raises nothing.
    """
    options: dict[str, Any] = {}
    if isinstance(what, Program):
        options = dict(what._options)
        options.pop("dims", None)
        recipe = what.recipe
    else:
        recipe = what
    if target is not None:
        options["target"] = target
    arrays, views = input_views(recipe, inputs)
    report = json.loads(device_named(device).check(
        recipe._handle, json.dumps(options), views))
    del arrays
    outputs = tuple(report["outputs"])
    # An infinite ratio has no JSON.
    ratios = [float("inf") if o["ratio"] is None else o["ratio"]
              for o in outputs]
    return CheckResult(report["verdict"], max(ratios, default=0.0), outputs,
                       tuple(report["findings"]))


@dataclass(frozen=True)
class FuzzReport:
    """What a search found.

    True in a condition if and only if nothing failed.

    Attributes
    ----------
    data : dict
        All of it, as ``tandem fuzz --json`` prints it.
    """

    data: dict[str, Any]

    def __bool__(self) -> bool:
        return not self.data.get("failures")


def fuzz(*recipes: str, ops: Sequence[str] = (), cases: int | None = None,
         seconds: float | None = None, seed: int = 0, jobs: int | None = None,
         device: str = "emulator", corpus: str | None = None) -> FuzzReport:
    """Search for inputs on which kernel and reference disagree.

    Every failure is shrunk to a minimal case with a line that replays it.

    Parameters
    ----------
    *recipes : str
        Recipe files; without any, and without `ops`, all ops are searched.
    ops : sequence of str
        Names of ops.
    cases, seconds : optional
        When to stop; one of them.
    seed : int
        The same seed gives the same report.
    jobs : int, optional
        Threads; all cores by default.
    device : str
        As for `Program.run`.
    corpus : str, optional
        A folder whose cases run first, and that keeps new ones.

    Returns
    -------
    FuzzReport

    Raises
    ------
    ValueError
        If the search could not run.
    """
    words = [*recipes, "--seed", str(seed), "--device", device]
    for op in ops:
        words += ["--op", op]
    if cases is not None:
        words += ["--cases", str(cases)]
    if seconds is not None:
        words += ["--seconds", str(seconds)]
    if jobs is not None:
        words += ["--jobs", str(jobs)]
    if corpus is not None:
        words += ["--corpus", corpus]
    return FuzzReport(json.loads(_native.fuzz(json.dumps(words))))
