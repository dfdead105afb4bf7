"""Python signatures and docstrings from the op table.

Used at import to make `tandem.ref`, and at build time, before the package can
be imported, to write its stubs. So it needs nothing but the table itself.
"""

from __future__ import annotations

from typing import Any

_CLASSES = {"f": "any float", "i": "int32 or int64", "any": "any dtype",
            "s": "the dtype of the first operand"}
_TYPES = {"bool": "bool", "int": "int", "float": "float", "string": "str"}


def is_required(param: dict[str, Any]) -> bool:
    """Tell whether a call must give the param."""
    return bool(param["default"] == "required")


def default_of(param: dict[str, Any]) -> bool | int | float | str | None:
    """Return a param's default as a Python value; None if shapes decide.

    A param that must be given has none either.
    """
    text = param["default"]
    if text == "" or is_required(param):
        return None
    if param["type"] == "bool":
        return bool(text == "true")
    if param["type"] == "int":
        return int(text)
    if param["type"] == "float":
        return float(text)
    return str(text)


def parameters(op: dict[str, Any]) -> list[str]:
    """Return the parameter list of the op's function, one text each."""
    listed, rest = [], []
    for operand in op["operands"]:
        if operand["count"] == "one_or_more":
            rest.append(f"*{operand['name']}: npt.ArrayLike")
        elif operand["count"] == "optional":
            listed.append(f"{operand['name']}: npt.ArrayLike | None = None")
        else:
            listed.append(f"{operand['name']}: npt.ArrayLike")
    if not rest:
        rest.append("*")
    for param in op["params"]:
        kind = _TYPES[param["type"]]
        if param["may_be_operand"]:
            kind += " | npt.ArrayLike"
        default = default_of(param)
        if is_required(param):
            rest.append(f"{param['name']}: {kind}")
            continue
        if default is None:
            kind += " | None"
        rest.append(f"{param['name']}: {kind} = {default!r}")
    rest.append("out_dtype: str | None = None")
    return listed + rest


def result_type(op: dict[str, Any]) -> str:
    """Return the annotation of what the op's function gives."""
    count = len(op["results"])
    if count == 0:
        return "None"
    return "Array" if count == 1 else (
        "tuple[" + ", ".join(["Array"] * count) + "]")


def _shape(operand: dict[str, Any]) -> str:
    dims = ["..." if d in ("..", "~") else d for d in operand["dims"]]
    return "(" + ", ".join(dims) + ("," if len(dims) == 1 else "") + ")"


def _lines(operand: dict[str, Any]) -> list[str]:
    dtype = _CLASSES.get(operand["dtype"], operand["dtype"])
    star = "*" if operand["count"] == "one_or_more" else ""
    optional = ", optional" if operand["count"] == "optional" else ""
    kind = "ndarray" if operand.get("state") else "array_like"
    lines = [f"{star}{operand['name']} : {kind} of {dtype}, shape "
             f"{_shape(operand)}{optional}"]
    if operand.get("state"):
        lines.append("    Updated in place.")
    return lines


def docstring(op: dict[str, Any]) -> str:
    """Return the numpy-doc text of the op's function."""
    summary = op["summary"]
    lines = [summary[:1].upper() + summary[1:] + ".", ""]
    lines += op["description"].splitlines() + [""]
    lines += ["Computed in double by the reference; each result is rounded once.",
              ""]
    lines += ["Parameters", "----------"]
    for operand in op["operands"]:
        lines += _lines(operand)
    for param in op["params"]:
        kind = _TYPES[param["type"]]
        if param["may_be_operand"]:
            kind += " or array_like of int32"
        lines.append(f"{param['name']} : {kind}" +
                     ("" if is_required(param) else ", optional"))
        text = param["doc"]
        if param["range"]:
            text += f" ({param['range']})"
        if param["default"] and not is_required(param):
            text += f"; default {param['default']}"
        lines.append("    " + text)
    lines += ["out_dtype : str, optional",
              "    The dtype of the result; by default that of the first float "
              "operand."]
    if op["results"]:
        lines += ["", "Returns", "-------"]
        for result in op["results"]:
            lines += _lines(result)
    lines += ["", "Raises", "------", "ValueError",
              "    If a shape, dtype or param is wrong, or an index is outside "
              "its table."]
    return "\n".join(lines) + "\n"


def stub(ops: list[dict[str, Any]]) -> str:
    """Return the text of ref.pyi."""
    text = ('"""References of every op; made from the op table."""\n\n'
            "from typing import Any\n\n"
            "import numpy as np\nimport numpy.typing as npt\n\n"
            "Array = npt.NDArray[Any]\n")
    for op in ops:
        if not op["defined"] or op["mnemonic"] == "fused":
            continue
        doc = "\n".join(("    " + line).rstrip()
                        for line in docstring(op).splitlines())
        text += (f"\ndef {op['mnemonic']}(\n    " +
                 ",\n    ".join(parameters(op)) +
                 f",\n) -> {result_type(op)}:\n" +
                 f'    """{doc.strip()}\n    """\n    ...\n')
    return text
