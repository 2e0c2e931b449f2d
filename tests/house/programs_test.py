#!/usr/bin/env python3
"""How scripts/blas_programs.py holds what programs print with the library against what they print without it: words must be equal, numbers
to rounding; lines that differ between two runs without the library say nothing, nor do programs whose course rounding decides. And what it
reads of the library's summary."""

import pathlib
import sys
import tempfile
import types
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
from blas_programs import Runner, Texts

PLAIN = ["Coefficients:", "x 1.2345 2.5e-17", "took 0.5 s", "done"]


def compare(preloaded, again=("Coefficients:", "x 1.2345 2.5e-17", "took 0.7 s", "done")):
    found = Texts.compare(PLAIN, list(again), preloaded)
    return found["lines_identical"], found["lines_to_rounding"], found["lines_different"], found["lines_left_out"]


class Programs(unittest.TestCase):
    def test_equal_and_rounded_lines(self):
        self.assertEqual(compare(PLAIN), (3, 0, 0, 1))
        self.assertEqual(compare([PLAIN[0], "x 1.2346 -3.1e-18", "took 9.5 s", "done"]), (2, 1, 0, 1))

    def test_what_is_wrong_is_told(self):
        for wrong in ("x 1.2355 2.5e-17", "x 1.2345 2.5e-3", "x NaN 2.5e-17", "x 1.2345", "y 1.2345 2.5e-17"):
            self.assertEqual(compare([PLAIN[0], wrong, *PLAIN[2:]]), (2, 0, 1, 1), wrong)
        self.assertEqual(compare(PLAIN[:1]), (1, 0, 2, 1))  # it ended early
        self.assertEqual(compare([*PLAIN, "Error in solve"])[2], 1)

    def test_lines_about_the_library_or_time_are_left_out(self):
        for line in ('"/usr/lib/libtilewright_blas.so"', "LD_PRELOAD: x", "  0.003   0.000   0.012", "solve   cputime:  0.01",
                     "costly memory reallocations: 1", "B = 0x5627fff125c0"):
            found = Texts.compare([line, "done"], [line, "done"], [line + " 0x7f00000000", "done"])
            self.assertEqual((found["lines_identical"], found["lines_different"]), (1, 0), line)

    def test_commands_are_compared_one_by_one_and_added_up(self):
        both = Texts.together([Texts.compare(PLAIN, PLAIN, PLAIN), Texts.compare(PLAIN, PLAIN, PLAIN[:3])])
        self.assertEqual((both["lines"], both["lines_identical"], both["lines_different"], both["different"]), (8, 7, 1, [["done", ""]]))

    def test_what_rounding_decides_is_left_out_and_named(self):
        with tempfile.TemporaryDirectory() as folder:
            runner = Runner(types.SimpleNamespace(library="", folder=pathlib.Path(folder), timeout=9))
            commands = [["echo", "steady"], ["sh", "-c", "echo ${OPENBLAS_CORETYPE:-ours} ${TILEWRIGHT_BLAS}"]]
            found = dict(runner.text("some", commands, adaptive=True))
            self.assertEqual((found["all"]["passed"], found["all"]["lines"], len(found["all"]["rounding_decides"])), (True, 1, 1))
            self.assertFalse(dict(runner.text("some", commands))["all"]["passed"])

    def test_the_summary_of_the_library(self):
        said = ["tilewright: 3 of 4 calls, 25.0 % of 1 MFLOP and 10.0 % of 500 ms were served here", "else",
                "tilewright: 1 of 6 calls, 0.0 % of 10 FLOP and 0.0 % of 500 ms were served here"]
        self.assertEqual(Runner.served(said), {"calls": 10, "calls_served": 4, "flops": 1000010.0, "flops_served": 250000.0})


if __name__ == "__main__":
    unittest.main()
