"""How the IR tests run: `lit tests/lit`, with the tools of one build.

TANDEM_BUILD_DIR names the build folder (default: `build/`), TANDEM_LLVM_TOOLS
the folder of FileCheck and not.
"""

import os
import pathlib

import lit.formats

source = pathlib.Path(__file__).resolve().parents[2]
build = pathlib.Path(os.environ.get("TANDEM_BUILD_DIR", source / "build"))
llvm = os.environ.get("TANDEM_LLVM_TOOLS", "/usr/lib/llvm-22/bin")

config.name = "tandem"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs"]
config.test_source_root = str(source / "tests" / "lit")
config.test_exec_root = str(build / "tests" / "lit")
config.environment["PATH"] = os.pathsep.join(
    [str(build / "bin"), llvm, os.environ["PATH"]])
# A test neither reads nor fills the cache of whoever runs it.
config.environment["TANDEM_CACHE_DIR"] = str(build / "tests" / "lit-cache")
config.substitutions.append(("%samples", str(source / "samples")))
config.substitutions.append(("%inputs", str(source / "tests" / "inputs")))
