#!/usr/bin/env python3
"""Bad input to the command: one clear message, exit code 2, nothing half-written.

Usage: hostile_test.py TANDEM. Needs nothing but the standard library.
"""

import json
import os
import pathlib
import signal
import subprocess
import time
import unittest

from hostile_support import Hostile, MATMUL, ROWS, SOFTMAX, TANDEM, VERSIONED


class Command(Hostile):
    # --- options

    def test_numbers_out_of_range_name_a_range(self):
        for arguments, message in [
            (["fuzz", "--cases", "-1"],
             "--cases: expected a whole number from 0 to 1000000000, got '-1'"),
            (["fuzz", "--cases", "99999999999999999999"], "got '99999999999999999999'"),
            (["fuzz", "--cases", "1e3"], "got '1e3'"),
            (["fuzz", "--seed", "-1"], "--seed: expected a whole number from 0 to"),
            (["fuzz", "--seconds", "nan"], "--seconds: expected seconds from 0"),
            (["fuzz", "--seconds", "inf"], "--seconds: expected seconds from 0"),
            (["fuzz", "--jobs", "0"], "--jobs: expected a whole number from 1 to 1024"),
            (["shrink", "x:1:2", "--steps", "-5"], "--steps: expected a whole number"),
            (["emulate", "a", "--launch", "b", "--explore", "0"], "--explore: expected"),
        ]:
            self.refused(message, *arguments)

    def test_parameters_of_another_family_are_refused(self):
        self.refused("set: tile_n: only matmul and gemv kernels read it, this recipe "
                     "has row-wise", "compile", ROWS, "--set", "tile_n=32")
        self.refused("set: block: only row-wise kernels read it",
                     "compile", MATMUL, "--set", "block=64")
        self.refused("no schedule parameter is named 'tile_q'",
                     "compile", MATMUL, "--set", "tile_q=64")

    def test_dims_are_those_of_the_recipe(self):
        self.refused("--dim: the recipe has no symbol named 'q'; it has m, n",
                     "compile", self.recipe, "--dim", "q=4")
        self.refused("--dim: m: expected a size from 0 to", "compile", self.recipe,
                     "--dim", "m=9223372036854775807")
        self.refused("2^62 elements", "compile", self.recipe,
                     "--dim", "m=4611686018427387904")

    # --- outputs

    def test_outputs_that_cannot_be_written(self):
        self.refused("cannot be written", "compile", self.recipe, "-o", "/proc/x.ptx")
        self.refused("it is a folder", "compile", self.recipe, "-o", self.path)
        self.refused("is given for two outputs", "compile", self.recipe, "-o",
                     self.path / "a", "--launch", self.path / "a")
        # All or nothing: the first file is not left behind.
        self.refused("cannot be written", "compile", self.recipe, "-o",
                     self.path / "k.ptx", "--launch", "/proc/x")
        self.assertFalse((self.path / "k.ptx").exists())
        self.assertEqual([p.name for p in self.path.iterdir() if "tmp" in p.name], [])

    def test_devices_and_links_are_written_through(self):
        done = self.run_("compile", self.recipe, "-o", "/dev/null")
        self.assertEqual(done.returncode, 0)
        self.assertFalse(pathlib.Path("/dev/null").is_file())
        target, link = self.path / "target", self.path / "link"
        target.write_text("old")
        target.chmod(0o640)
        link.symlink_to(target)
        self.assertEqual(self.run_("compile", self.recipe, "-o", link).returncode, 0)
        self.assertTrue(link.is_symlink())
        self.assertIn("softmax", target.read_text())
        self.assertEqual(target.stat().st_mode & 0o777, 0o640)
        self.refused("cannot be written", "compile", self.recipe, "-o", "/dev/full")

    def test_standard_output_that_takes_nothing(self):
        with open("/dev/full", "w") as full:
            done = subprocess.run([TANDEM, "compile", self.recipe], stdout=full,
                                  stderr=subprocess.PIPE, timeout=300)
        self.assertEqual(done.returncode, 2)
        self.assertEqual(done.stderr.decode(), "tandem compile: standard output: cannot "
                         "be written: No space left on device\n")
        read, write = os.pipe()
        os.close(read)
        done = subprocess.run([TANDEM, "compile", self.recipe], stdout=write,
                              stderr=subprocess.PIPE, timeout=300)
        os.close(write)
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"Broken pipe", done.stderr)
        # Its number must not go to the first file that is opened.
        done = subprocess.run(["sh", "-c", f"'{TANDEM}' compile '{self.recipe}' -o "
                               f"'{self.path}/k' >&-"], timeout=300)
        self.assertIn("softmax", (self.path / "k").read_text())

    # --- recipes

    def test_bad_recipes(self):
        self.refused("nested deeper than 64", "compile",
                     self.file("deep.json", b"[" * 100000))
        self.refused("expected at most 16777216 bytes, got 16777300", "compile",
                     self.file("large.json", b" " * 16777300))
        self.refused("expected at most", "compile", "/dev/zero")
        self.refused("the key 'name' is given twice", "compile",
                     self.file("twice.json", b'{"name": "a", "name": "b"}'))
        self.refused("ill-formed UTF-8", "compile", self.file("latin.json", b'{"\xff": 1}'))

        def steps(count):
            recipe = json.loads(json.dumps(SOFTMAX))
            chain = [{"op": "add", "args": [{"in": 0}, {"s": i - 1} if i else {"in": 0}],
                      "out": i} for i in range(count)]
            chain[-1]["out"] = "final"
            recipe["recipe"]["steps"] = chain
            return self.file("chain.json", json.dumps(recipe).encode())

        done = self.run_("compile", steps(1024), "--emit", "insn")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.refused("expected at most 1024 steps, got 1025", "compile", steps(1025))

    # --- cases

    def test_bad_cases(self):
        for line, message in [
            ("softmax:1", "expected SCOPE:VERSION:CHOICES"),
            ("softmax:999:1", "made by generator version '999'"),
            (VERSIONED + "-1", "choice 0: expected a number, got '-1'"),
            (VERSIONED + "99999999999999999999", "choice 0: expected a number"),
            (VERSIONED + "1..2", "choice 1: expected a number, got ''"),
            ("soft\nmax:999:1", "case 'soft\\x0amax:999:1'"),
            ("@/none.json" + VERSIONED[7:] + "1", "/none.json: cannot be read"),
            ("nothing", "cannot be read"),
        ]:
            for command in ("replay", "shrink", "blame"):
                self.refused(message, command, line, "--device", "emulator")
        empty = self.path / "empty"
        empty.mkdir()
        self.refused("the folder has none", "replay", empty, "--device", "emulator")
        self.refused("nested deeper than 64", "replay",
                     self.file("deep-case.json", b'{"a":' * 100000))
        self.refused("'nop' cannot be fuzzed", "fuzz", "--op", "nop")

    # --- the cache

    def test_cache_directories_that_are_none(self):
        for directory in (self.recipe, "/proc/none", "/dev/null/x"):
            done = self.run_("compile", self.recipe,
                             environment={"TANDEM_CACHE_DIR": directory})
            self.assertEqual((done.returncode, done.stderr), (0, b""), directory)
        self.refused("it is no folder", "cache", "clear",
                     environment={"TANDEM_CACHE_DIR": self.recipe})
        self.assertTrue(pathlib.Path(self.recipe).exists())

    def test_damaged_entries_are_compiled_again(self):
        def ptx():
            done = self.run_("compile", self.recipe)
            self.assertEqual((done.returncode, done.stderr), (0, b""))
            return done.stdout

        whole = ptx()
        [entry] = self.cache.glob("*.kernel")
        text = entry.read_bytes()
        for damage in (b"", text[:10], text[:-1], text + b"x", b"\0" * 100, text[:70] + text):
            entry.write_bytes(damage)
            self.assertEqual(ptx(), whole)
            self.assertEqual(entry.read_bytes(), text)
        entry.unlink()
        entry.mkdir()
        self.assertEqual(ptx(), whole)
        entry.rmdir()
        os.mkfifo(entry)
        self.assertEqual(ptx(), whole)
        entry.unlink()
        entry.symlink_to(entry)
        self.assertEqual(ptx(), whole)

    def test_processes_share_a_cache(self):
        environment = dict(os.environ, TANDEM_CACHE_DIR=str(self.cache))
        running = [subprocess.Popen([TANDEM, "compile", self.recipe], env=environment,
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                   for _ in range(6)]
        texts = [process.communicate(timeout=300) for process in running]
        self.assertEqual({process.returncode for process in running}, {0})
        self.assertEqual(len(set(texts)), 1)
        self.assertEqual([p.suffix for p in self.cache.iterdir()], [".kernel"])

    def test_the_limit_is_kept_and_evicts(self):
        self.run_("compile", self.recipe)
        self.run_("compile", ROWS)
        info = json.loads(self.run_("cache", "info", "--json").stdout)
        self.assertEqual(info["entries"], 2)
        # The older one goes.
        done = self.run_("cache", "limit", str(info["bytes"] - 1), "--json")
        info = json.loads(done.stdout)
        self.assertEqual(info["entries"], 1)
        self.assertGreater(info["limit_bytes"], info["bytes"])
        self.assertIn(b"softmax", self.run_("compile", self.recipe).stdout)
        self.run_("cache", "limit", "2G")
        info = json.loads(self.run_("cache", "--json").stdout)
        self.assertEqual(info["limit_bytes"], 2 << 30)
        for size in ("-1", "5X", "nan", "99999999999999999999", "9999999T", "1.5G"):
            self.refused("limit: expected a size such as", "cache", "limit", size)
        self.refused("info: takes no size", "cache", "info", "5M")
        done = self.run_("cache", environment={"TANDEM_CACHE_LIMIT": "lots"})
        self.assertIn(b"TANDEM_CACHE_LIMIT: expected a size", done.stderr)

    # --- signals

    def test_ctrl_c_finishes_the_case_and_prints_the_summary(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            process = subprocess.Popen(
                [TANDEM, "fuzz", "--op", "add", "--cases", "1000000", "--jobs", "1",
                 "--device", "emulator", "--json"], stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=dict(os.environ, TANDEM_CACHE_DIR=str(self.cache)))
            time.sleep(3)
            process.send_signal(number)
            out, err = process.communicate(timeout=120)
            self.assertEqual(process.returncode, 128 + number, err)
            report = json.loads(out)
            self.assertTrue(report["stopped"])
            self.assertGreater(report["cases"], 0)


if __name__ == "__main__":
    unittest.main()
