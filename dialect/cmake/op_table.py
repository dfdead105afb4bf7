"""Derives the op table from the ODS record dump, so that ODS is the only list.

Reads the JSON of `llvm-tblgen --dump-json` on stdin. Writes Opcodes.inc,
OpTable.inc and OpDescriptions.inc into the folder named by the first argument,
and prints one line for each defined op: `mnemonic;CppClass`.
"""

import json
import pathlib
import sys
import textwrap


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def param(records, ref):
    p = records[ref["def"]]
    kind = {"bool": "Bool", "int": "Int", "float": "Float", "string": "String"}
    return "{%s, ParamType::%s, %s, %s, %s, %s}" % (
        quoted(p["paramName"]),
        kind[p["paramType"]],
        quoted(p["paramDefault"]),
        quoted(p["paramRange"]),
        quoted(p["paramDoc"]),
        "true" if p["mayBeOperand"] else "false",
    )


def write(path, text):
    """Keeps the time stamp of a file whose text is unchanged."""
    if not path.exists() or path.read_text() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def main():
    records = json.load(sys.stdin)
    folder = pathlib.Path(sys.argv[1])
    surface = [records[name]
               for name in records["!instanceof"]["Insn_SurfaceCase"]]
    cases = [records[name] for name in records["!instanceof"]["Insn_Case"]
             if records[name] not in surface]
    by_symbol = {case["symbol"]: case for case in cases + surface}
    cases.sort(key=lambda case: case["value"])
    if [case["value"] for case in cases] != list(range(len(cases))):
        sys.exit("opcodes must count up from 0 without a gap")
    ops = {}
    for name in records["!instanceof"]["Insn_Op"]:
        op = records[name]
        case = by_symbol[op["opcodeName"]]
        if op["opName"] != case["symbol"].lower():
            sys.exit(f"{name}: mnemonic '{op['opName']}' is not the lower case "
                     f"of its opcode {case['symbol']}")
        if case["symbol"] in ops:
            sys.exit(f"{name}: opcode {case['symbol']} has two ops")
        ops[case["symbol"]] = (name, op)

    note = "// Derived from dialect/insn/InsnOps.td; do not edit.\n"
    opcodes, table, descriptions = note, note, note
    for value, case in enumerate(cases + surface):
        symbol = case["symbol"]
        # The sentinel stands between opcodes and the rest.
        isOpcode = value < len(cases)
        args = f"{value if isOpcode else value + 1}, {symbol}, {symbol.lower()}"
        opcodes += f"TANDEM_{'OPCODE' if isOpcode else 'SURFACE_OP'}({args})\n"
        if symbol not in ops:
            table += f"TANDEM_UNDEFINED_OP({args})\n"
            continue
        name, op = ops[symbol]
        cpp_class = name.removeprefix("Insn_")
        params = ", ".join(param(records, p) for p in op["params"])
        table += (f"TANDEM_OP({args}, {cpp_class}, {quoted(op['signature'])}, "
                  f"{quoted(op['summary'])}, ({{{params}}}))\n")
        text = textwrap.dedent(op["description"]).strip("\n").rstrip()
        descriptions += (f'TANDEM_OP_DESCRIPTION({symbol.lower()}, '
                         f'R"ods({text})ods")\n')
        print(f"{symbol.lower()};{cpp_class}")
    write(folder / "Opcodes.inc", opcodes)
    write(folder / "OpTable.inc", table)
    write(folder / "OpDescriptions.inc", descriptions)


main()
