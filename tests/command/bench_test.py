#!/usr/bin/env python3
"""`tandem bench run` on a driver that computes nothing: bench_test.py TANDEM FOLDER.

FOLDER holds the fake libcuda.so.1, on which every launch takes a microsecond.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

FOLDER = pathlib.Path(sys.argv.pop()).resolve()
TANDEM = pathlib.Path(sys.argv.pop()).resolve()
RECIPE = {
    "name": "softmax",
    "inputs": [{"name": "x", "dtype": "float32", "shape": ["M", 64]}],
    "outputs": [{"name": "y", "dtype": "float32", "shape": ["M", 64]}],
    "recipe": {"steps": [{"op": "softmax", "args": [{"in": 0}], "out": "final"}]},
}

PRODUCT = {
    "name": "product",
    "inputs": [{"name": "x", "dtype": "bfloat16", "shape": ["M", 128]},
               {"name": "w", "dtype": "bfloat16", "shape": [256, 128]}],
    "outputs": [{"name": "y", "dtype": "bfloat16", "shape": ["M", 256]}],
    "recipe": {"steps": [{"op": "gemm_tile", "args": [{"in": 0}, {"in": 1}],
                          "out": "final"}]},
}


def row(name, m, **more):
    return {"name": name, "recipe": "softmax", "dims": {"M": m}, **more}


class Bench(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="tandem-bench-")
        self.path = pathlib.Path(self.folder.name)
        self.addCleanup(self.folder.cleanup)

    def run_suite(self, rows, *options):
        suite = self.path / "s.json"
        suite.write_text(json.dumps({"suite": "s", "title": "a suite", "recipes":
                                     {"softmax": RECIPE, "product": PRODUCT},
                                     "rows": rows}))
        result = self.path / "r.json"
        run = subprocess.run(
            [TANDEM, "bench", "run", suite, "--json", result, *options],
            capture_output=True, text=True, timeout=120, check=False,
            env=os.environ | {"LD_LIBRARY_PATH": str(FOLDER),
                              "TANDEM_CACHE_DIR": str(self.path / "cache")})
        documents = json.loads(result.read_text()) if result.exists() else []
        return run, documents

    def test_a_row_has_a_share_and_a_table(self):
        run, documents = self.run_suite(
            [row("one", 4096), row("two", 64, ceiling="read",
                                   reach={"share": 0.5})])
        self.assertEqual(run.returncode, 0, run.stderr)
        one, two = documents[0]["rows"]
        self.assertEqual((one["us"], one["share"]), (1, 1))
        self.assertTrue(two["reached"])
        # Twice the cache, at least.
        self.assertGreater(one["sets"] * one["bytes"], 2 << 20)
        self.assertIn("Fake GPU", run.stdout)
        self.assertLess(len(run.stdout), 2000)

    def test_tensor_maps_do_not_come_in_one_buffer(self):
        run, documents = self.run_suite(
            [{"name": "product", "recipe": "product", "dims": {"M": 256}}])
        self.assertEqual(run.returncode, 0, run.stderr)
        (ours,) = [c for c in documents[0]["rows"][0]["contenders"]
                   if c["kind"] == "ours"]
        self.assertIn("asynchronous copies", ours["detail"])

    def test_resume_keeps_what_is_there(self):
        rows = [row("one", 64), row("two", 128)]
        _, first = self.run_suite(rows, "--filter", "one")
        _, second = self.run_suite(rows, "--resume")
        self.assertEqual(second[0]["rows"][0], first[0]["rows"][0])
        self.assertEqual(len(second[0]["rows"]), 2)

    def test_a_schedule_that_does_not_exist_fails_alone(self):
        run, documents = self.run_suite(
            [row("one", 64, set=[{"warps": 3}])])
        self.assertEqual(run.returncode, 1, run.stderr)
        ours = [c for c in documents[0]["rows"][0]["contenders"]
                if c["kind"] == "ours"]
        self.assertEqual([c.get("us") for c in ours], [1, None])
        self.assertIn("warps", ours[1]["error"])

    def test_peers_in_python_are_refused_here(self):
        run, _ = self.run_suite([row("one", 64)], "--peers", "torch,cublas")
        self.assertEqual(run.returncode, 2)
        self.assertIn("torch runs in Python", run.stderr)
        run, _ = self.run_suite([row("one", 64)], "--peers", "numpy")
        self.assertIn("no peer is named 'numpy'", run.stderr)


if __name__ == "__main__":
    unittest.main()
