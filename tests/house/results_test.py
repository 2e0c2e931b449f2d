#!/usr/bin/env python3
"""What scripts/check_results.py finds in files of results that are made up here: files that do not begin with the command that repeats
them, and files that are called by another family than that of their rows."""

import json
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import check_results

HEAD = {"command": "make it", "device": "a card"}


class Results(unittest.TestCase):
    def faults(self, *lines, name="results/card/gemm-20260101.jsonl"):
        text = "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines)
        return list(check_results.check_text(name, text))

    def test_a_file_in_order(self):
        self.assertEqual(self.faults(HEAD, {"family": "gemm"}, {"impl": "cublas"}), [])
        self.assertEqual(self.faults(HEAD, {"impl": "cublas"}), [])
        self.assertEqual(self.faults(HEAD, '"ID","Kernel"', "1,gemm", name="results/card/sweep-20260101-ncu.csv"), [])

    def test_a_file_without_its_command(self):
        for first in ({"family": "gemm"}, {"command": ""}, {"command": None}, {"command": 3}, ["command"], "ID,Kernel", ""):
            self.assertEqual(len(self.faults(first, HEAD)), 1, first)
            self.assertIn("first line", self.faults(first, HEAD)[0])
        self.assertEqual(len(self.faults()), 1)

    def test_a_file_of_another_family(self):
        wrong = self.faults(HEAD, {"family": "overhead"})
        self.assertEqual(wrong, ["results/card/gemm-20260101.jsonl: is called gemm and has rows of overhead"])
        self.assertEqual(len(self.faults(HEAD, {"family": "gemm"}, name="results/card/gemm_large-20260101.jsonl")), 1)
        both = [HEAD, {"family": "calibrate"}, {"family": "hybrid"}]
        self.assertEqual(self.faults(*both, name="results/card/hybrid-20260101.jsonl"), [])
        self.assertEqual(self.faults(HEAD, {"family": "gemm"}, name="results/card/sweep-20260101.jsonl"), [])


if __name__ == "__main__":
    unittest.main()
