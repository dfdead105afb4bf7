"""An op that lacks a part must stop the configure step with a sentence.

    missing_part_test.py SOURCE LLVM_TOOLS MLIR_INCLUDE CMAKE

Copies the dialect into a scratch tree, adds one opcode with an op to it, and
derives the op table there as CMakeLists.txt does.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

source, llvm_tools, mlir_include, cmake = sys.argv[1:]
SOURCE = pathlib.Path(source)

PROJECT = """
cmake_minimum_required(VERSION 3.25)
project(scratch LANGUAGES NONE)
set(LLVM_TOOLS_BINARY_DIR {llvm_tools})
set(TANDEM_MLIR_INCLUDE_DIR {mlir_include})
include(dialect/cmake/OpTable.cmake)
tandem_derive_op_table(dialect/insn/InsnOps.td)
message(STATUS "ops: ${{TANDEM_OPS}}")
"""
OP = """
def Insn_PlantedOp : Insn_Op<Insn_PLANTED, "planted", "0.1",
                             "x: f[..] -> y: f[..]"> {
  let summary = "an op that a test added";
  let description = [{ Nothing. }];
}
"""
PARTS = ["refops/ops/planted.cpp", "codegen/ops/planted.cpp",
         "tests/lit/ops/planted.mlir"]


def scratch_tree(folder):
    """Copies what the op table is derived from, with empty parts of all ops."""
    for file in SOURCE.glob("dialect/**/*"):
        if file.suffix in {".td", ".py", ".cmake"}:
            copy = folder / file.relative_to(SOURCE)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(file.read_text())
    (folder / "CMakeLists.txt").write_text(
        PROJECT.format(llvm_tools=llvm_tools, mlir_include=mlir_include))
    ops = (folder / "dialect/insn/InsnOps.td").read_text()
    for mnemonic in re.findall(r'Insn_Op<Insn_\w+,\s*"(\w+)"', ops):
        for part in PARTS:
            path = folder / part.replace("planted", mnemonic)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()


def plant(folder):
    """Adds an opcode behind the last one, and its op."""
    base = folder / "dialect/insn/InsnBase.td"
    text = base.read_text()
    codes = [int(n) for n in re.findall(r'Insn_Case<"\w+", (\d+)>', text)]
    last = re.findall(r'def Insn_\w+ : Insn_Case<.*>;\n', text)[-1]
    text = text.replace(
        last, last + f'def Insn_PLANTED : Insn_Case<"PLANTED", '
        f'{max(codes) + 1}>;\n')
    base.write_text(text)
    ops = folder / "dialect/insn/InsnOps.td"
    text = ops.read_text()
    ops.write_text(text.replace("#endif", OP + "\n#endif"))


def configure(folder):
    run = subprocess.run([cmake, "-S", folder, "-B", folder / "build"],
                         capture_output=True, text=True)
    # CMake wraps its messages.
    return run.returncode, " ".join((run.stdout + run.stderr).split())


def expect(condition, what, text):
    if not condition:
        sys.exit(f"FAILED: {what}\n{text}")


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        scratch_tree(folder)
        code, text = configure(folder)
        expect(code == 0, "the tree as it is must configure", text)

        plant(folder)
        whats = ["a reference with known answers", "a lowering", "a lit test"]
        for missing, what in zip(PARTS, whats):
            code, text = configure(folder)
            sentence = (f"defines insn.planted, but {missing} does not exist: "
                        f"write {what}; see HACKING.md")
            expect(code != 0, f"without {missing} the build must stop", text)
            expect(sentence in text, f"expected '{sentence}'", text)
            (folder / missing).touch()
        code, text = configure(folder)
        expect(code == 0, "with all parts it must configure", text)
        expect("planted" in text, "the table must have the new op", text)
    print("an op without reference, lowering or lit test stops the build")


main()
