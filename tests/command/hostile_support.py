"""What the tests of bad input share: the command, its samples, and a folder each."""

import json
import os
import pathlib
import random
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

TANDEM = pathlib.Path(sys.argv.pop(1)).resolve()
SAMPLES = pathlib.Path(__file__).resolve().parents[2] / "samples" / "recipes"
ROWS = str(SAMPLES / "qwen3_swiglu.json")
MATMUL = str(SAMPLES / "minilm_gemm_bias_gelu.json")
SOFTMAX = {
    "name": "c",
    "inputs": [{"name": "x", "dtype": "float32", "shape": ["m", "n"]}],
    "outputs": [{"name": "y", "dtype": "float32", "shape": ["m", "n"]}],
    "recipe": {"steps": [{"op": "softmax", "args": [{"in": 0}], "out": "final"}]},
}


# The version of the generator is in its source, and in what it refuses.
VERSIONED = "softmax:" + subprocess.run(
    [TANDEM, "replay", "softmax:0:1", "--device", "emulator"], capture_output=True,
    text=True).stderr.strip().split("version ")[-1] + ":"


def npy(header, data=b"", version=1, length=None):
    text = header.encode("latin1")
    size = len(text) if length is None else length
    return (b"\x93NUMPY" + bytes([version, 0])
            + struct.pack("<H" if version == 1 else "<I", size) + text + data)


def header(descr="'<f4'", order="False", shape="(4, 6)"):
    return f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}"


def safetensors(entries, data, length=None):
    text = entries if isinstance(entries, bytes) else json.dumps(entries).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + data


DATA = struct.pack("<24f", *range(24))
ENTRY = {"dtype": "F32", "shape": [4, 6], "data_offsets": [0, 96]}


class Hostile(unittest.TestCase):
    """A test with a folder and a cache of its own."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="tandem-hostile-")
        self.path = pathlib.Path(self.folder.name)
        self.cache = self.path / "cache"
        self.recipe = self.file("softmax.json", json.dumps(SOFTMAX).encode())

    def tearDown(self):
        self.folder.cleanup()

    def file(self, name, contents):
        path = self.path / name
        path.write_bytes(contents)
        return str(path)

    def run_(self, *arguments, **options):
        environment = dict(os.environ, TANDEM_CACHE_DIR=str(self.cache))
        environment.update(options.pop("environment", {}))
        return subprocess.run([TANDEM, *map(str, arguments)], env=environment,
                              capture_output=True, timeout=300, **options)

    def refused(self, message, *arguments, lines=1, **options):
        """Runs the command and expects exactly this complaint."""
        done = self.run_(*arguments, **options)
        text = done.stderr.decode("utf8", "replace")
        with self.subTest(arguments=arguments):
            self.assertEqual(done.returncode, 2, text)
            self.assertIn(message, text)
            self.assertEqual(len(text.strip().split("\n")), lines, text)
            self.assertEqual(done.stdout, b"")
        return text
