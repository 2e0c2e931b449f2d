#!/usr/bin/env python3
"""The figures and tables that scripts/make_tables.py makes, from results that are made up here: which rows enter a drawing,
when it is out of date, empty cells for counters that are not there, and which run of a problem a ratio is of."""

import gzip
import json
import pathlib
import shutil
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import figures
import make_tables
import ratio_tables

AXIS = "kind=axis axis=matrices_per_block machine=card"


def measured(n, impl, share, **more):
    return {"dtype": "f64", "beta": 1, "m": n, "n": n, "k": n, "lda": n, "op": "nn", "layout": "strided", "residency": "cold",
            "impl": impl, "bound_share": share, "gflops": 1} | more


class Figures(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp())
        (self.root / "results" / "card").mkdir(parents=True)

    def tearDown(self):
        shutil.rmtree(self.root)

    def record(self, name, rows):
        lines = [{"command": f"make {name}", "device": "a card"}, *rows]
        text = "".join(json.dumps(line) + "\n" for line in lines).encode()
        (self.root / "results" / "card" / name).write_bytes(gzip.compress(text) if name.endswith(".gz") else text)

    def draw(self, words="kind=share layout=strided machine=card"):
        return figures.figure(words, self.root)

    def test_newer_runs_replace_and_other_rows_stay_out(self):
        self.assertIsNone(self.draw())
        self.record("gemm_small-20260101.jsonl", [measured(4, "tilewright", 0.5), measured(4, "cublas_strided", 0.25),
                                                  measured(5, "tilewright", 0.875), measured(5, "cublas_strided", 0.125)])
        self.record("gemm_small-20260102.jsonl", [measured(4, "tilewright", 0.75), measured(4, "cublas_strided", 0.375),
                                                  measured(6, "tilewright", 0.99),
                                                  measured(7, "tilewright", 0.98, lda=9), measured(7, "cublas_strided", 0.1, lda=9),
                                                  measured(4, "tilewright", 0.01, phase="screen")])
        drawing = self.draw()
        self.assertIn("4 0.75 0.375\n5 0.875 0.125\nEOD", drawing.script)
        self.assertEqual([run.command for run in drawing.runs.values()],
                         ["make gemm_small-20260102.jsonl", "make gemm_small-20260101.jsonl"])
        self.assertIsNone(self.draw("kind=share layout=pointer machine=card"))

    def test_a_drawing_of_other_data_is_stale(self):
        self.record("gemm_small-20260101.jsonl", [measured(4, "tilewright", 0.5), measured(4, "cublas_strided", 0.25)])
        drawing, folder = self.draw(), self.root / "figures"
        self.assertTrue(drawing.is_stale(folder))
        folder.mkdir()
        (folder / f"{drawing.name}.svg").write_text("<svg></svg>\n" + drawing.mark())
        self.assertFalse(drawing.is_stale(folder))
        self.record("gemm_small-20260101.jsonl", [measured(4, "tilewright", 0.6), measured(4, "cublas_strided", 0.25)])
        self.assertTrue(self.draw().is_stale(folder))

    def test_every_value_of_an_axis_and_the_base(self):
        self.assertIsNone(self.draw(AXIS))
        tried = {"phase": "vary", "axis": "matrices_per_block", "base_value": 2}
        self.record("gemm_small-20260101-vary.jsonl", [measured(n, "tilewright", value / 32, value=value, **tried)
                                                       for n in (4, 5) for value in (1, 2, 16)])
        script = self.draw(AXIS).script
        self.assertIn("4 1 0.03125\n4 2 0.0625\n4 16 0.5\n5 1 ", script)
        self.assertIn("$base0 << EOD\n4 2\n5 2\nEOD", script)
        self.assertIn("logscale", script)

    def test_counters_that_are_missing_are_empty_cells(self):
        root, make_tables.ROOT = make_tables.ROOT, self.root
        try:
            self.assertIn("No run", make_tables.counters("machine=card"))
            launch = {"n": 4, "dtype": "f64"}
            self.record("gemm_small-20260101-counters.jsonl", [
                launch | {"impl": "tilewright", "kernels": 1,
                          "counters": {"integer_share": 0.256, "dram_gbs": 4201.4, "top_stall": "wait", "top_stall_share": 0.5}},
                launch | {"impl": "cublas_strided", "kernels": 3, "counters": {}}])
            lines = make_tables.counters("machine=card").splitlines()
        finally:
            make_tables.ROOT = root
        self.assertEqual(lines[2], "| 4 | f64 | tilewright | 1 | 0.26 |  |  |  |  |  | 4201 |  | wait 0.50 |")
        self.assertEqual(lines[3], "| 4 | f64 | cublas | 3 |  |  |  |  |  |  |  |  |  |")
        self.assertEqual(len({line.count("|") for line in lines[:4]}), 1)
        self.assertIn("a card; [results/card/gemm_small-20260101-counters.jsonl]", lines[5])

    def test_ratios_are_of_the_newest_run_of_each_problem(self):
        def best(n, ratio, day, **more):
            return measured(n, "tilewright", 0.5) | {"phase": "compare", "best": True, "problem": f"n={n}", "beta": 0, "device": "a card",
                                                     "ratio": {"centre": ratio}, "time": f"2026-01-0{day}"} | more
        self.record("gemm_large-20260101.jsonl", [best(8, 0.5, 1), best(9, 2.0, 1), best(9, 9.0, 1, best=False)])
        self.record("gemm_large-20260102-again.jsonl.gz", [best(8, 4.0, 2)])
        self.record("gemm_large-20260103-probe.jsonl", [best(8, 7.0, 3)])
        self.record("gemm_large-20260103-shapes.jsonl", [best(3, 0.25, 3, m=5)])
        lines = ratio_tables.ratios("machine=card without=probe", self.root).splitlines()
        self.assertEqual(lines[2:4], ["| squares | f64 | 8 to 9 | nn | 2 | 2.828 | 2.000 (9, nn) |",
                                      "| skinny and odd shapes | f64 |  | nn | 1 | 0.250 | 0.250 (5x3x3, nn) |"])
        self.assertIn("[card 20260102-again]({up}results/card/gemm_large-20260102-again.jsonl.gz)", lines[5])
        self.assertNotIn("probe", lines[5])


if __name__ == "__main__":
    unittest.main()
