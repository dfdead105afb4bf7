#!/usr/bin/env python3
"""Bad input to the command: one clear message, exit code 2, nothing half-written.

Usage: hostile_test.py TANDEM. Needs nothing but the standard library.
"""

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

    # --- tensors

    def test_bad_npy_files(self):
        good = npy(header(), DATA)
        for name, contents, message in [
            ("empty", b"", "not an npy file"),
            ("cut_magic", good[:8], "the header is cut off"),
            ("cut_header", good[:40], "the header is cut off"),
            ("cut_data", good[:-1], "expected 96 bytes of elements, got 95"),
            ("more_data", good + b"x", "expected 96 bytes of elements, got 97"),
            ("version", npy(header(), DATA, 9), "version 1, 2 or 3 of the format, got 9"),
            ("length", npy(header(), DATA, 2, 2**32 - 1), "the header is cut off"),
            ("big_endian", npy(header("'>f4'"), DATA), "big-endian"),
            ("objects", npy(header("'|O'"), DATA), "Python objects"),
            ("fields", npy(header("[('a', '<f4')]"), DATA), "arrays with fields"),
            ("complex", npy(header("'<c8'"), DATA), "no type that tandem knows"),
            ("huge", npy(header(shape="(4611686018427387904, 4)"), DATA), "elements"),
            ("empty_huge", npy(header(shape="(0, 4611686018427387904, 8)")), "elements"),
            ("large", npy(header(shape="(99999999999999999999, )"), DATA), "sizes"),
            ("negative", npy(header(shape="(-4, 6)"), DATA), "expected sizes, got '-4'"),
            ("fraction", npy(header(shape="(4.0, 6)"), DATA), "got '4.0'"),
            ("commas", npy(header(shape="(4,,6)"), DATA), "expected sizes"),
            ("number", npy(header(shape="24"), DATA), "expected a tuple, got '24'"),
            ("open", npy(header(shape="(4, 6")[:-2], DATA), "shape"),
            ("order", npy(header(order="Maybe"), DATA), "expected True or False"),
            ("no_shape", npy("{'descr': '<f4', 'fortran_order': False}", DATA),
             "'shape' is missing"),
            ("twice", npy("{'descr': '<f4', 'descr': '<f8', }", DATA), "given twice"),
            ("nul", npy(header("'<f4\0'"), DATA), "'<f4\\x00'"),
            ("rank", npy(header(shape="(1,1,1,1,1,1,1,1,24)"), DATA), "9 dims, at most 8"),
            ("scalar", npy(header(shape="()"), DATA[:4]), "expected float32[m, n]"),
            ("double", npy(header("'<f8'", shape="(2, 6)"), DATA), "got float64[2, 6]"),
        ]:
            self.refused(message, "run", self.recipe, "--device", "emulator",
                         "--no-admission", "--input",
                         "x=" + self.file(name + ".npy", contents),
                         "--output", self.path / "y.npy")
            self.assertFalse((self.path / "y.npy").exists(), name)

    def test_bad_safetensors_files(self):
        def entry(**changes):
            return {"x": dict(ENTRY, **changes)}

        good = safetensors({"x": ENTRY}, DATA)
        for name, contents, message in [
            ("short", b"1234", "the header is cut off"),
            ("cut", good[:50], "the header is cut off"),
            ("length", safetensors({"x": ENTRY}, DATA, 2**63), "the header is cut off"),
            ("text", safetensors(b"{{{{", DATA), "not JSON"),
            ("deep", safetensors(b"[" * 100000, DATA), "nested deeper than 64"),
            ("bytes", safetensors(b'{"x\xff":{}}', DATA), "not JSON"),
            ("twice", safetensors(b'{"x":{},"x":{}}', DATA), "given twice"),
            ("string", safetensors({"x": "s"}, DATA), "expected an object"),
            ("missing", safetensors({"x": {"dtype": "F32", "shape": [4]}}, DATA),
             "'data_offsets' is missing"),
            ("dtype", safetensors(entry(dtype="F33"), DATA), "'F33' is no type"),
            ("fraction", safetensors(entry(shape=[4.7, 6]), DATA), "got 4.7"),
            ("bool", safetensors(entry(shape=[True, 24]), DATA), "got true"),
            ("negative", safetensors(entry(shape=[-4, 6]), DATA), "got -4"),
            ("huge", safetensors(entry(shape=[2**62, 2**62]), DATA), "elements"),
            ("empty_huge", safetensors(entry(shape=[0, 2**62, 2**62],
                                             data_offsets=[0, 0]), b""), "elements"),
            ("backwards", safetensors(entry(data_offsets=[96, 0]), DATA), "96 bytes"),
            ("overlap", safetensors({"x": ENTRY, "z": dict(ENTRY, data_offsets=[48, 144])},
                                    DATA + DATA), "without gap or overlap"),
            ("gap", safetensors({"x": ENTRY}, DATA + DATA), "96 bytes of elements"),
            ("other", safetensors({"a": ENTRY,
                                   "b": dict(ENTRY, data_offsets=[96, 192])},
                                  DATA + DATA), "no tensor is named 'x'"),
        ]:
            self.refused(message, "run", self.recipe, "--device", "emulator",
                         "--no-admission", "--input",
                         "x=" + self.file(name + ".safetensors", contents))

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

    # --- emulate

    def launch_files(self):
        ptx, record = self.path / "k.ptx", self.path / "k.json"
        done = self.run_("compile", self.recipe, "-o", ptx, "--launch", record,
                         "--dim", "m=4", "--dim", "n=64")
        self.assertEqual(done.returncode, 0, done.stderr)
        document = json.loads(record.read_text())
        document["call"] = {"x": {"shape": [4, 64]}, "y": {"shape": [4, 64]}}
        return ptx, document

    def emulated(self, ptx, document):
        launch = self.file("l.json", json.dumps(document).encode())
        return self.run_("emulate", ptx, "--launch", launch)

    def test_what_is_no_launch_record(self):
        ptx, document = self.launch_files()
        self.refused("expected a launch record, as `tandem compile --launch` writes it",
                     "emulate", ptx, "--launch", self.recipe)
        for change, message in [
            ({"call": {"x": {"shape": [4, 64]}}}, "'y' is missing"),
            ({"call": {"x": {}, "y": {"shape": [4]}}}, "'shape' is missing"),
            ({"call": {"x": 5, "y": {}}}, "call.x: expected an object, got 5"),
            ({"call": {"x": {"shape": [4, 2**53]}, "y": {"shape": [4, 64]}}}, "no memory"),
            ({"call": {"x": {"shape": [2**62, 2**62]}, "y": {"shape": []}}},
             "more than 2^62 elements"),
            ({"call": {"x": {"shape": [4, 64], "strides": [2**60, 1]},
                       "y": {"shape": [4, 64]}}}, "2^59 elements"),
            ({"shared_bytes": 2**62}, "dynamic shared memory"),
            ({"grid": ["9223372036854775807 * 2", "1", "1"]}, "does not fit 64 bits"),
            ({"grid": ["1 / 0", "1", "1"]}, "division by zero"),
            ({"grid": ["-1", "1", "1"]}, "expected 0 to 2147483647, got -1"),
            ({"block": [0, 1, 1]}, "expected 1 to 1024, got 0"),
            ({"operands": []}, "no operand"),
        ]:
            done = self.emulated(ptx, {**document, **change})
            with self.subTest(change=change):
                self.assertEqual(done.returncode, 2)
                self.assertIn(message, done.stderr.decode())

    def test_operands_are_reported_once(self):
        ptx, document = self.launch_files()
        document["operands"][0]["rank"] = "two"
        done = self.emulated(ptx, document)
        self.assertEqual(done.stderr.decode().count("\n"), 1, done.stderr)

    def test_a_fortran_file_is_the_same_operand(self):
        ptx, document = self.launch_files()
        values = [[float(i * 64 + j) % 7 for j in range(64)] for i in range(4)]
        rows = struct.pack("<256f", *[v for row in values for v in row])
        columns = struct.pack("<256f", *[values[i][j] for j in range(64) for i in range(4)])
        results = []
        for name, order, data in [("c", "False", rows), ("f", "True", columns)]:
            path = self.file(name + ".npy", npy(header(order=order, shape="(4, 64)"), data))
            # The kernel wants rows of neighbours, so the view is declared.
            document["call"]["x"] = {"file": path, "strides": [64, 1]}
            launch = self.file("l.json", json.dumps(document).encode())
            out = self.path / (name + ".out.npy")
            done = self.run_("emulate", ptx, "--launch", launch, "--output", f"y={out}")
            self.assertEqual(done.returncode, 0, done.stderr)
            results.append(out.read_bytes())
        self.assertEqual(*results)

    def test_mutated_ptx_and_records_never_crash(self):
        ptx, document = self.launch_files()
        choose = random.Random(7)
        lines = ptx.read_text().split("\n")
        pieces = ["%r1", "-1", "99999999999999999999", "{", "}", "[", ";", '"', "\\", "/*",
                  "\x00", ".shared .align 16 .b8 s[99999999999];", ".reg .b32 %q<999999999>;",
                  ".local .b8 z[9223372036854775807];", "bra $L__BB0_1;", "ret;"]
        mutant = self.path / "m.ptx"
        for i in range(40):
            changed = list(lines)
            at = choose.randrange(len(changed))
            if i % 4 == 0:
                del changed[at]
            elif i % 4 == 1:
                changed = changed[:at]
            elif i % 4 == 2:
                changed.insert(at, choose.choice(pieces))
            else:
                words = changed[at].split(" ")
                words[choose.randrange(len(words))] = choose.choice(pieces)
                changed[at] = " ".join(words)
            mutant.write_text("\n".join(changed))
            done = self.emulated(mutant, document)
            self.assertIn(done.returncode, (0, 1, 2), "\n".join(changed))
            self.assertTrue(done.returncode != 2 or done.stderr, "\n".join(changed))

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
