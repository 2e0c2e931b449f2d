#!/usr/bin/env python3
"""The page that scripts/lu_page.py makes, from a small run that is made up here: the paper's figures beside ours, deviations of the
selections, gains over gpuLU, peers, the run that is missing, and nothing at all without a run."""

import json
import pathlib
import shutil
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import lu_page


def measured(n, variant, seconds, impl="tilewright", memory="pinned", **more):
    row = {"family": "lu", "dtype": "f64", "m": n, "n": n, "impl": impl, "memory": memory, "seconds": seconds, "resident": "host",
           "device": "a CPU", "gpu": "a card", "threads": 2, "candidate": "blocked", "nb": 128, "bound_share": 0.5,
           "metrics": {"variant": variant, "panel_s": 0.001, "swap_s": 0.002, "solve_s": 0.003, "update_s": 0.004}}
    return row | more


class LuPage(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp())
        (self.root / "results" / "card").mkdir(parents=True)

    def tearDown(self):
        shutil.rmtree(self.root)

    def record(self, rows, name="lu-20260101.jsonl"):
        lines = [{"command": "tilewright bench lu"}, *rows]
        (self.root / "results" / "card" / name).write_text("".join(json.dumps(line) + "\n" for line in lines))

    def test_no_run_no_page(self):
        self.assertEqual(lu_page.page_of(self.root), (None, []))
        self.record([{"m": 1000, "n": 1000, "ours_s": 0.1}])  # of an experiment
        self.assertEqual(lu_page.page_of(self.root), (None, []))

    def test_ours_beside_the_paper(self):
        self.record([measured(1000, "cpu", 0.02), measured(1000, "gpu", 0.012), measured(1000, "hybrid panel", 0.01),
                     measured(1000, "hybrid square", 0.0125), measured(1000, "hybrid flops", 0.015),
                     measured(1000, "automatic", 0.0105, ratio={"centre": 2.0}), measured(1000, "exhaustive nb=64", 0.008),
                     measured(1000, "streamed", 0.005, candidate="streamed"), measured(1000, "getrf", 0.021, impl="lapack"), measured(1000, "xgetrf", 0.03, impl="cusolver"),
                     measured(512, "cpu", 0.001, memory="pageable"), {"summary": True, "family": "lu", "memory": "pinned"}])
        page, drawn = lu_page.page_of(self.root)
        self.assertIn("| 10000 | 7.0255 | 4.5811 | 3.7258 | 3.6710 | 3.5240 | 5.2981 |", page)
        self.assertIn("| 1000 | 0.0887 | 0.2825 | 0.2912 | 0.2844 | 0.2717 | 20.000 | 12.000 | 15.000 | 12.500 | 10.000 | 8.000 | "
                      "exhaustive nb=64 | 25.00 |", page)
        self.assertIn("panel: mean 25.00 %, worst 25.00 %; square: mean 56.25 %", page)
        self.assertIn("| 1000 | -8.0 | -8.8 | 1.3 | -3.0 | -0.7 | 4.0 | -20.0 | -4.0 | 20.0 |", page)
        self.assertIn("| 1000 | 10.500 | blocked | 5.000 | 30.000 | 21.000 | 2.00 | 0.50 |", page)
        self.assertIn("| 1000 | cpugpuLU, panel | 128 | 10.000 | 1.000 | 2.000 | 3.000 | 4.000 |", page)
        self.assertIn("pageable matrices", page)
        self.assertNotIn("No run with a GPU", page)
        self.assertIn("Of the paper's 10 sizes 1 was timed", page)
        self.assertEqual(drawn, [])  # one size makes no line

    def test_figure_2_takes_two_sizes(self):
        self.record([measured(n, variant, seconds) for n in (1000, 2000) for variant, seconds in
                     (("gpu", 0.012), ("hybrid panel", 0.01))])
        page, (figure,) = lu_page.page_of(self.root)
        self.assertIn("1000 20\n2000 20\n", figure.script)
        self.assertIn(f"../figures/{figure.name}.svg", page)
        self.assertIn("Of the paper's 10 sizes 2 were timed", page)

    def test_what_was_not_timed_has_no_table(self):
        self.record([measured(10000, "automatic", 0.04, candidate="streamed", metrics={"variant": "automatic"})])
        page, drawn = lu_page.page_of(self.root)
        of_ours = page.partition("## card")[2]
        self.assertIn("None of the paper's versions was timed", of_ours)
        self.assertNotIn("ours: cpuLU", of_ours)
        self.assertNotIn("Where the time goes", of_ours)
        self.assertIn("| 10000 | 40.000 | streamed |", of_ours)
        self.assertEqual(drawn, [])

    def test_a_note_of_the_run_is_said(self):
        path = self.root / "results" / "card" / "lu-20260101.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in (
            {"command": "make it", "note": "of older sources"}, measured(1000, "cpu", 0.02))))
        self.assertIn("recorded by `make it`. It is of older sources.", lu_page.page_of(self.root)[0])

    def test_without_a_gpu_the_page_says_how_to_make_the_run(self):
        for gpu in ({"gpu": None}, {"gpu": None, "simulated": "100 GFLOP/s"}):
            self.record([measured(1000, "cpu", 0.02, **gpu)])
            page, drawn = lu_page.page_of(self.root)
            self.assertIn(lu_page.COMMAND, page)
            self.assertEqual(drawn, [])

    def test_the_newest_run_counts(self):
        self.record([measured(1000, "cpu", 1)])
        self.record([measured(1000, "cpu", 2)], "lu-20260202.jsonl")
        self.record([{"m": 1000, "n": 1000}], "lu-20260303.jsonl")
        page, _ = lu_page.page_of(self.root)
        self.assertIn("| 2000.000 |", page)
        self.assertNotIn("| 1000.000 |", page)


if __name__ == "__main__":
    unittest.main()
