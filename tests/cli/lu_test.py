#!/usr/bin/env python3
"""Drives `tilewright lu` as users do: factors, pivots and solutions in files, compared with NumPy (and SciPy's getrf where
it is installed); wrong use with its exit code and outputs left alone. Takes the tool's path; further arguments go to
unittest."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy

sys.dont_write_bytecode = True
import keys_test

try:
    import scipy.linalg
except ImportError:
    scipy = None

TOOL = None


class Lu(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.temporary.name)
        self.generator = numpy.random.default_rng(28)

    def tearDown(self):
        self.temporary.cleanup()

    def run_tool(self, *arguments, wisdom=""):
        environment = {**os.environ, "XDG_DATA_HOME": str(self.folder), "XDG_CACHE_HOME": str(self.folder),
                       "TILEWRIGHT_NOTICES": "off", "TILEWRIGHT_WISDOM": str(wisdom)}
        return subprocess.run([TOOL, *map(str, arguments)], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              env=environment, timeout=300)

    def array(self, shape, dtype="f8", order="C"):
        values = self.generator.uniform(-1, 1, shape)
        if dtype.startswith("c"):
            values = values + 1j * self.generator.uniform(-1, 1, shape)
        return numpy.array(values, dtype=dtype, order=order)

    def save(self, name, array):
        numpy.save(self.folder / name, array)
        return self.folder / name

    def lu(self, a, *flags):
        """Factors and returns LU, pivots and what was printed."""
        done = self.run_tool("lu", self.save("A.npy", a), "-o", self.folder / "LU.npy", "--pivots",
                             self.folder / "P.npy", *flags)
        self.assertEqual(done.returncode, 0, done.stderr)
        return numpy.load(self.folder / "LU.npy"), numpy.load(self.folder / "P.npy"), done.stdout

    def check(self, a, lu, pivots):
        count = min(a.shape)
        self.assertEqual(pivots.dtype, numpy.int64)
        self.assertEqual(pivots.shape, (count,))
        swapped = a.copy()
        for i, pivot in enumerate(pivots):
            swapped[[i, pivot - 1]] = swapped[[pivot - 1, i]]
        lower = numpy.tril(lu[:, :count], -1) + numpy.eye(a.shape[0], count)
        upper = numpy.triu(lu[:count])
        epsilon = numpy.finfo(a.dtype).eps
        self.assertEqual(lu.dtype, a.dtype)
        if a.size:
            error = numpy.linalg.norm(lower @ upper - swapped, 1) / (numpy.linalg.norm(a, 1) * a.shape[1] * epsilon)
            self.assertLess(error, 10)

    def test_factors(self):
        for dtype in ("f4", "f8", "c8", "c16"):
            for shape in ((1, 1), (60, 60), (70, 20), (20, 70), (5, 0)):
                for order in "CF":
                    for flags in ((), ("--target", "cpu", "--nb", "7"), ("--candidate", "reference")):
                        a = self.array(shape, dtype, order)
                        lu, pivots, _ = self.lu(a, "--verify", *flags)
                        self.check(a, lu, pivots)

    @unittest.skipIf(scipy is None, "SciPy is not installed")
    def test_pivots_are_lapacks(self):
        a = self.array((80, 80))
        _, pivots, _ = self.lu(a)
        _, expected = scipy.linalg.lu_factor(a)
        self.assertEqual(list(pivots - 1), list(expected))

    def test_solves_and_refines(self):
        a = self.array((50, 50)) + 4 * numpy.eye(50)
        for b in (self.array((50, 3)), self.array((50, 3), order="F"), self.array((50,))):
            _, _, text = self.lu(a, "--solve", self.save("B.npy", b), "--x", self.folder / "X.npy", "--refine", "--verify")
            x = numpy.load(self.folder / "X.npy")
            self.assertEqual(x.shape, b.shape)
            numpy.testing.assert_allclose(x, numpy.linalg.solve(a, b), rtol=1e-10)
            self.assertIn("backward error", text)

    def test_json_and_explain(self):
        _, _, text = self.lu(self.array((40, 30)), "--json", self.folder / "out.jsonl", "--explain", "--candidate", "blocked",
                             "--nb", "8", "--select", "square", "--verify")
        self.assertIn("blocked: taken; panels of nb=8", text)
        row = json.loads((self.folder / "out.jsonl").read_text())
        self.assertEqual((row["family"], row["m"], row["n"], row["nb"], row["candidate"]), ("lu", 40, 30, 8, "blocked"))
        self.assertEqual((row["select"], row["info"], row["problem"]), ("square", 0, "lu:f64:m=40,n=30"))
        self.assertLess(row["error"], row["error_bound"])

    def test_tunes_and_explains(self):
        job = ("tune", "lu:f64:m=260,n=260", "--set", "candidate=blocked", "--set", "nb=32,64", "--budget", "1s",
               "--wisdom", self.folder / "w.sqlite", "--sweep", self.folder / "s.jsonl")
        done = self.run_tool(*job, "--json", self.folder / "w.jsonl")
        self.assertEqual(done.returncode, 0, done.stderr)
        for word in ("/3 ", "best", "default", "regret"):
            self.assertIn(word, done.stdout)
        self.assertIn("kept in", done.stdout)
        record = json.loads((self.folder / "w.jsonl").read_text())
        self.assertEqual([key for key in keys_test.KEYS if key not in record], [])
        self.assertAlmostEqual(record["gflops"], 2 / 3 * 260**3 / record["seconds"] * 1e-9, delta=record["gflops"] / 50)
        self.assertEqual((record["family"], record["problem"], record["verdict"]), ("lu", "lu:f64:m=260,n=260", "passed"))
        self.assertLess(record["error"], record["error_bound"])
        again = self.run_tool(*job, "--resume", "--json", self.folder / "again.jsonl")
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertIn("measurements of the earlier run are used", again.stdout)
        self.assertEqual(json.loads((self.folder / "again.jsonl").read_text()), record)
        explained = self.run_tool("explain", "lu:f64:m=280,n=280", wisdom=self.folder / "w.sqlite")
        self.assertIn("wisdom (near_shape", explained.stdout)
        self.assertIn(record["config"]["candidate"] + ": taken", explained.stdout)
        listed = self.run_tool("wisdom", "list", "--file", self.folder / "w.sqlite")
        self.assertIn("lu f64 260x260", listed.stdout)
        moved = self.run_tool("wisdom", "import", self.folder / "w.jsonl", "--into", self.folder / "moved.sqlite")
        self.assertIn("1 of 1 record imported", moved.stdout)

    def test_tuning_in_vain(self):
        for arguments, says in ((("lu:f64:m=20,n=20", "gemm:f64:nn:m=4,n=4,k=4"), "in one run"),
                                (("lu:f64:m=20,n=20", "--objective", "edp"), "--objective"),
                                (("lu:f64:m=20,n=20", "--set", "rows=4"), "rows"),
                                (("lu:f64:m=0,n=20",), "m=0"), (("lu:f64:m=20",), "'m=20'")):
            done = self.run_tool("tune", *arguments, "--wisdom", "none")
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(says, done.stderr)
            self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)

    def test_singular(self):
        a = self.array((20, 20))
        a[:, 4] = 0
        _, _, text = self.lu(a, "--verify")
        self.assertIn("pivot 5 is exactly zero", text)
        self.refused("-o", self.folder / "L2.npy", "--pivots", self.folder / "P2.npy", "--solve", self.save("B.npy", a),
                     "--x", self.folder / "X.npy", code=1, says=("singular", "U(5, 5)"))
        self.assertFalse((self.folder / "L2.npy").exists())

    def test_verify_of_no_numbers(self):
        for value in (numpy.nan, numpy.inf):
            a = self.array((20, 20))
            a[3, 4] = value
            self.save("A.npy", a)
            output = self.folder / "L3.npy"
            self.refused("-o", output, "--pivots", self.folder / "P3.npy", "--verify", code=1,
                         says=("A contains NaN or infinite elements", "was not written"))
            self.assertFalse(output.exists())

    def refused(self, *arguments, code=2, says=()):
        done = self.run_tool("lu", self.folder / "A.npy", *arguments)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        for part in says:
            self.assertIn(part, done.stderr)

    def test_wrong_use(self):
        self.save("A.npy", self.array((6, 6)))
        outputs = ("-o", self.folder / "LU.npy", "--pivots", self.folder / "P.npy")
        b = self.save("B.npy", self.array((5, 2)))
        self.refused(*outputs, "--nb", "0", says=("nb", "0"))
        self.refused(*outputs, "--select", "all", says=("select", "'all'"))
        self.refused(*outputs, "--candidate", "fast", says=("'fast'",))
        self.refused(*outputs, "--refine", says=("--solve",))
        self.refused(*outputs, "--solve", b, says=("--x",))
        self.refused(*outputs, "--solve", b, "--x", self.folder / "X.npy", says=("5 rows", "6 x 6"))
        self.refused("-o", self.folder / "A.npy", "--pivots", self.folder / "P.npy", says=("output", "also the file of A"))
        self.assertFalse((self.folder / "LU.npy").exists())
        self.save("A.npy", self.array((2, 6, 6)))
        self.refused(*outputs, says=("one matrix",))


if __name__ == "__main__":
    TOOL = sys.argv.pop(1)
    unittest.main()
