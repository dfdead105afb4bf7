"""scripts/lint must refuse what it says it refuses: `lint_test.py SOURCE`."""

import importlib.machinery
import importlib.util
import pathlib
import sys

SOURCE = pathlib.Path(sys.argv[1])
loader = importlib.machinery.SourceFileLoader("lint",
                                              str(SOURCE / "scripts/lint"))
spec = importlib.util.spec_from_loader("lint", loader)
lint = importlib.util.module_from_spec(spec)
sys.dont_write_bytecode = True
loader.exec_module(lint)
TABLE = lint.layers()

# (file, its only line, what lint says; None where it must be silent)
INCLUDES = [
    ("harness/run/New.cpp", '#include "codegen/Compiler.h"', None),
    ("harness/run/New.cpp", '#include "codegen/lower/Emitter.h"',
     "codegen/lower/Emitter.h is out of bounds for harness/"),
    ("harness/run/New.cpp", "#include <refops/Evaluate.h>",
     "<refops/Evaluate.h> is ours: include it in quotes"),
    ("harness/run/New.cpp", '#include "mlir/IR/Builders.h"',
     "mlir/IR/Builders.h is MLIR's, which harness/ must not see"),
    ("codegen/lower/New.cpp", '#include "mlir/IR/Builders.h"', None),
    ("codegen/Compiler.h", '#include "llvm/ADT/StringRef.h"',
     "llvm/ADT/StringRef.h is MLIR's, which codegen/Compiler.h must not see"),
    ("codegen/device/emulator/New.cpp", '#include "refops/Evaluate.h"',
     "refops/Evaluate.h is out of bounds for codegen/device/emulator/"),
    ("codegen/device/emulator/New.cpp", '#include "refops/Numerics.h"', None),
    ("codegen/device/cuda/New.cpp", '#include "refops/Numerics.h"',
     "refops/Numerics.h is out of bounds for codegen/device/cuda/"),
    ("refops/ops/new.cpp", '#include "harness/run/Runner.h"',
     "harness/run/Runner.h is out of bounds for refops/"),
    ("tests/unit/core/NewTest.cpp", '#include "RecipeText.h"', None),
    ("tests/unit/core/NewTest.cpp", '#include "refops/Evaluate.h"',
     "refops/Evaluate.h is out of bounds for tests/unit/core/"),
    ("tests/unit/harness/NewTest.cpp", '#include "codegen/lower/Emitter.h"',
     "codegen/lower/Emitter.h is out of bounds for tests/unit/harness/"),
    ("samples/cpp/new.cpp", "#include <tandem/tandem.h>", None),
    ("samples/cpp/new.cpp", '#include "refops/core/Recipe.h"',
     "refops/core/Recipe.h is out of bounds for samples/"),
    ("python/src/New.cpp", '#include "harness/run/Runner.h"',
     "harness/run/Runner.h is out of bounds for python/"),
    ("elsewhere/new.cpp", "",
     "no row of ARCHITECTURE.md's table holds this file"),
]
MARKDOWN = [
    ("docs/new.md", "[a](../README.md)", None),
    ("docs/new.md", "[a](missing.md)", "the link to missing.md leads nowhere"),
    ("docs/new.md", "[a](../HACKING.md#adding-an-op)", None),
    ("docs/new.md", "[a](../HACKING.md#adding-a-pony)",
     "the link to ../HACKING.md#adding-a-pony names no heading"),
    ("docs/new.md", "see `refops/Numerics.h`, `a/b` and `build/bin`", None),
    ("docs/new.md", "see `refops/Gone.h`", "`refops/Gone.h` does not exist"),
]


def expect(check, file, line, what):
    said = [message for _, message in check(file, [line], TABLE)]
    if said != ([what] if what else []):
        sys.exit(f"FAILED: {file}: {line!r}: lint says {said}, expected {what}")


for case in INCLUDES:
    expect(lint.check_includes, *case)
for case in MARKDOWN:
    expect(lint.check_markdown, *case)
print(f"{len(INCLUDES) + len(MARKDOWN)} lines are judged as they should be")
