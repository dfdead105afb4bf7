"""GPU kernels from recipes, each checked against its reference.

A *recipe* is a short sequence of instructions of a small instruction set
(`ops` lists it). `compile` makes PTX of it, `Program` runs that PTX on a GPU or
on the emulator, `check` compares the result with an independent reference
within a bound that is computed and not chosen, and `fuzz` searches for inputs
on which the two disagree.

Arrays are NumPy's. The types ``bfloat16``, ``float8_e4m3fn`` and
``float8_e5m2`` are those of the package ``ml_dtypes`` where it is installed;
without it, arrays of ``uint16`` and ``uint8`` stand for their bits.

Examples
--------
>>> import numpy as np, tandem
>>> b = tandem.RecipeBuilder("norm")
>>> x = b.input("x", "float32", ("M", 4))
>>> w = b.input("w", "float32", (4,))
>>> b.output("y", b.rmsnorm(x, w, eps=1e-6))
>>> program = tandem.compile(b.recipe(), target="sm_80")
>>> program(x=np.ones((2, 4), "f4"), w=np.full(4, 2, "f4"), device="emulator")
array([[1.999999, 1.999999, 1.999999, 1.999999],
       [1.999999, 1.999999, 1.999999, 1.999999]], dtype=float32)
"""

from tandem import ref
from tandem._builder import RecipeBuilder, Value
from tandem._device import device_info
from tandem._ops import Op, ops, version
from tandem._program import Launch, Program, compile
from tandem._recipe import Recipe, Tensor
from tandem._testing import CheckResult, FuzzReport, check, fuzz

__version__ = version()

__all__ = [
    "CheckResult",
    "FuzzReport",
    "Launch",
    "Op",
    "Program",
    "Recipe",
    "RecipeBuilder",
    "Tensor",
    "Value",
    "check",
    "compile",
    "device_info",
    "fuzz",
    "ops",
    "ref",
    "version",
]
