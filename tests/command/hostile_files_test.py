#!/usr/bin/env python3
"""Bad tensors, PTX and launch records: refused with one message, never a crash.

Usage: hostile_files_test.py TANDEM. Needs nothing but the standard library.
"""

import json
import random
import struct
import unittest

from hostile_support import Hostile, DATA, ENTRY, header, npy, safetensors


class Files(Hostile):
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


if __name__ == "__main__":
    unittest.main()
