"""Compiles the Python extension of an unpacked bundle, with g++ alone.

Exit status 77 and a reason if this machine cannot.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig


def main() -> int:
    include = sysconfig.get_path("include")
    if not pathlib.Path(include, "Python.h").exists() or not shutil.which("g++"):
        print("SKIPPED: no Python.h or no g++")
        return 77
    try:
        import numpy  # noqa: F401, the package needs it
    except ImportError:
        print("SKIPPED: no numpy")
        return 77
    os.chdir(pathlib.Path(__file__).resolve().parent)
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    module = pathlib.Path(f"python/tandem/_native{suffix}")
    folder = pathlib.Path("python/src")
    newest = max(file.stat().st_mtime for file in folder.iterdir())
    if module.exists() and module.stat().st_mtime > newest:
        return 0
    sources = [str(file) for file in sorted(folder.glob("*.cpp"))]
    subprocess.run(
        ["g++", "-std=c++17", "-O2", "-shared", "-fPIC", "-Iinclude",
         f"-I{include}", *sources, "-o", str(module), "-Llib", "-ltandem",
         "-Wl,-rpath,$ORIGIN/../../lib"], check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
