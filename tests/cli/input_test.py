#!/usr/bin/env python3
"""Feeds the built tool files and flags that no honest program writes: deep and huge JSON, numbers beyond 64 bits, records
whose sums end, problems without a product, names with control characters. Each ends in one sentence. Takes the tool's path."""

import gzip
import itertools
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOL = None
PROBLEM = "gemm_batched:f64:nn:m=3,n=4,k=5:strided:batch=100"
LARGEST = 2**63 - 1
RECORD = {"problem": PROBLEM, "count": 1, "seconds": 1.5, "residency": "l1"}


class Case(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.temporary.name)

    def tearDown(self):
        self.temporary.cleanup()

    def run_tool(self, *arguments):
        data = str(self.folder / "data")
        return subprocess.run([TOOL, *map(os.fsencode, map(os.fspath, arguments))], stdin=subprocess.DEVNULL, timeout=300,
                              env={**os.environ, "XDG_DATA_HOME": data, "XDG_CACHE_HOME": data, "TILEWRIGHT_NOTICES": "off"},
                              capture_output=True)

    def file(self, name, *lines):
        path = self.folder / name
        path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
        return path

    def assert_one_sentence(self, result, codes=(1, 2)):
        errors = result.stderr.decode()  # it is UTF-8
        self.assertIn(result.returncode, codes, errors)
        self.assertRegex(errors, r"\Atilewright: [^\n]*[.?]\n\Z")
        self.assertNotRegex(errors, r"[\x00-\x09\x0b-\x1f\x7f]|json\.exception|basic_|std::|internal error")
        self.assertLess(len(errors), 10000)
        return errors


class Json(Case):
    DEEP = ("[" * 80000, '{"a":' * 80000, "[" * 80000 + "]" * 80000)

    def readers(self, line):
        """Every verb that reads a file of JSON lines, which has `line` in it."""
        path = self.file("x.jsonl", {"run": {}}, line)
        other = self.file("y.jsonl", line)
        return (("tune", "--from", other, "--budget", "1s"), ("tune", PROBLEM, "--seeds", other, "--budget", "1s"),
                ("tune", PROBLEM, "--log", path, "--resume", "--budget", "1s"), ("analyze", path),
                ("analyze", other), ("record", "merge", other, "-o", self.folder / "merged"), ("record", "list", other),
                ("wisdom", "import", other), ("wisdom", "list", "--file", other), ("wisdom", "diff", other, other))

    def test_deep_files_are_refused(self):
        for deep in self.DEEP:
            lines = (deep, json.dumps({**RECORD, "unknown": 0})[:-2] + deep + ("" if deep.endswith("]") else "") + "}")
            for line in lines:
                for arguments in self.readers(line):
                    with self.subTest(arguments=arguments[:2], line=line[:60]):
                        self.assert_one_sentence(self.run_tool(*arguments))

    def test_deep_flags_are_refused(self):
        for deep in self.DEEP[::2]:
            self.assert_one_sentence(self.run_tool("explain", PROBLEM, "--config", deep[:100_000]))
            self.assert_one_sentence(self.run_tool("bench", "--config", deep[:100_000], "--sizes", "4", "--peers", "none"))

    def test_numbers_and_keys(self):
        for number in ("1e30", "1e999", "9223372036854775808", "-1", "1.5", "null", '"1"'):
            log = self.file("log.jsonl", json.dumps(RECORD).replace('"count": 1', f'"count": {number}'))
            self.assert_one_sentence(self.run_tool("record", "list", log))
            self.assert_one_sentence(self.run_tool("record", "merge", log, "-o", self.folder / "merged"))
        self.assert_one_sentence(self.run_tool("record", "list", self.file("log.jsonl", '{"count":1,"count":2}')))

    def test_files_without_end(self):
        self.assert_one_sentence(self.run_tool("tune", "--from", "/dev/zero", "--budget", "1s"))
        bomb = self.folder / "x.jsonl.gz"
        with gzip.open(bomb, "wb", compresslevel=1) as file:
            file.write(b"[" * (20 << 20))
        self.assert_one_sentence(self.run_tool("analyze", bomb))


class Records(Case):
    def test_sums_that_end_stay_readable(self):
        log = self.file("log.jsonl", {**RECORD, "count": LARGEST, "seconds": 1.7e308})
        merged = self.folder / "merged.jsonl"
        for _ in range(3):
            self.assertEqual(self.run_tool("record", "merge", log, "-o", merged).returncode, 0)
        self.assertEqual(json.loads(merged.read_text())["count"], LARGEST)
        listed = self.run_tool("record", "list", merged)
        self.assertEqual(listed.returncode, 0, listed.stderr)
        self.assertNotIn(b"inf", listed.stdout)


class Sizes(Case):
    def test_bench_flags(self):
        huge = str(9 * 10**15)
        for flags in (("--sizes", huge), ("--batch", huge), ("--batch", huge, "--sizes", "1000x1000x1000"),
                      ("--layout", "block_interleaved", "--block", huge), ("--layout", "interleaved", "--batch", huge),
                      ("--pad-ld", huge), ("--configs", huge), ("--repetitions", huge), ("--races", huge),
                      ("--device", huge), ("--threads", huge), ("--layout", "pointer", "--batch", huge, "--pad-ld", huge)):
            with self.subTest(flags=flags):
                self.assert_one_sentence(self.run_tool("bench", "--dtype", "f64", "--residency", "cold", "--peers", "none",
                                                       *(() if "--sizes" in flags else ("--sizes", "4")), *flags))

    def test_problems(self):
        for x in (LARGEST, 2**62, 4 * 10**9):
            for problem in (f"gemm:f64:nn:m={x},n={x},k={x}", f"gemm_batched:f64:nn:m=4,n=4,k=4:strided:batch={x}:stride_c={x}",
                            f"gemm_batched:f64:nn:m=4,n=4,k=4:strided:batch=0:outer={x}:outermost={x}:lda={x}",
                            f"gemm_stack:f64:nn:m={x},n={x},k=4:batch={x}:run={x}", f"lu:f64:m={x},n={x}"):
                with self.subTest(problem=problem):
                    result = self.run_tool("explain", problem)
                    if result.returncode != 0:
                        self.assert_one_sentence(result, (2,))


class Nothing(Case):
    def test_empty_problems(self):
        sizes = [f"m={m},n={n},k={k}" for m, n, k in itertools.product((0, 1, 100), repeat=3) if 0 in (m, n, k)]
        kinds = ("gemm:f64:nn:{}", "gemm_batched:f32:nn:{}:strided:batch=2", "gemm_batched:f32:nn:{}:pointer:batch=0",
                 "gemm_batch_reduce:c64:nn:{}:batch=3", "gemm_stack:f64:nn:{}:batch=1", "gemm_stack:f64:nn:{}:batch=0")
        for kind in kinds:
            for size in sizes[::2]:
                result = self.run_tool("explain", kind.format(size))
                self.assertEqual(result.returncode, 0, (kind, size, result.stderr))
        for kind in kinds[::2]:
            self.assert_one_sentence(self.run_tool("tune", kind.format("m=0,n=1,k=1"), "--budget", "1s"))


class Headers(Case):
    def test_what_numpy_refuses_is_refused(self):
        form = "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2), }"
        for word, header in (("continues after its dictionary", form + "x"), ("twice", form[:-1] + "'shape': (1, 1), }")):
            text = header.ljust(117) + "\n"
            path = self.folder / "bad.npy"
            path.write_bytes(b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode() + bytes(32))
            result = self.run_tool("gemm", path, path, "-o", self.folder / "c.npy")
            self.assert_one_sentence(result, (2,))
            self.assertIn(word, result.stderr.decode())


class Names(Case):
    def test_messages_are_text(self):
        """Neither names nor what files hold reach a terminal as they are."""
        bad = "\x1b[2J\x07\udcff"
        log = self.file("log.jsonl", {**RECORD, "problem": "gemm:f64:nn:m=4,n=5,k=\x1b[2J"})
        for arguments in (("gemm", bad, bad, "-o", self.folder / "c.npy"), ("explain", bad), ("record", "list", log),
                          ("tune", "--from", log, "--budget", "1s"), ("analyze", bad), (bad,), ("bench", "--sizes", bad),
                          ("wisdom", "list", "--file", bad, "--device", bad), ("info", "--" + bad)):
            with self.subTest(arguments=arguments):
                self.assert_one_sentence(self.run_tool(*arguments))

    def test_wisdom_of_others_is_text(self):
        line = {"config": {"isa": "portable"}, "device": "\x1b[2J\u009b", "family": "gemm_small_cpu", "problem": PROBLEM,
                "source_hash": "0", "seconds": 1e-8, "samples": 9, "verdict": "passed"}
        result = self.run_tool("wisdom", "list", "--file", self.file("w.jsonl", line))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertNotRegex(result.stdout.decode(), "[\x1b\x9b]")


if __name__ == "__main__":
    TOOL = sys.argv.pop(1)
    unittest.main()
