"""Writes the stubs of `tandem.ref`: make_stubs.py LIBTANDEM OUTPUT.

Runs while the package is built, so it asks the library through ctypes.
"""

import ctypes
import json
import pathlib
import runpy
import sys

here = pathlib.Path(__file__).resolve().parent
signatures = runpy.run_path(str(here / "tandem" / "_signatures.py"))
library = ctypes.CDLL(sys.argv[1])
library.tandem_ops.restype = ctypes.c_char_p
table = json.loads(library.tandem_ops())
pathlib.Path(sys.argv[2]).write_text(signatures["stub"](table))
