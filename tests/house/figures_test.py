#!/usr/bin/env python3
"""The figures and tables that scripts/make_tables.py makes, from results that are made up here: which rows enter a drawing,
when it is out of date, empty cells for counters that are not there, and which run of a problem a ratio is of."""

import gzip
import itertools
import json
import pathlib
import re
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


TEXT = re.compile(r'translate\(([\d.]+),([\d.]+)\)( rotate\(-90[^"]*)?"[^>]*font-size="([\d.]+)"\s+text-anchor="(\w+)">\s*<text>(.*?)</text>', re.S)


def boxes_of(svg):
    """(left, right, top, bottom, text) of each horizontal text of a drawing, as wide as letters are in the mean, as high as a line."""
    for x, y, turned, size, anchor, inner in TEXT.findall(svg):
        text, size = re.sub(r"<[^>]*>", "", inner).strip(), float(size)
        if not turned and text:
            width = 0.55 * size * len(text)
            left = float(x) - {"start": 0, "middle": width / 2, "end": width}[anchor]
            yield left, left + width, float(y) - 1.2 * size, float(y), text


def collisions(svg):
    for one, other in itertools.combinations(boxes_of(svg), 2):
        if one[0] < other[1] and other[0] < one[1] and one[2] < other[3] and other[2] < one[3]:
            yield one[4], other[4]


class Drawings(unittest.TestCase):
    def test_no_text_of_the_figures_lies_on_another(self):
        drawings = sorted((pathlib.Path(__file__).resolve().parents[2] / "docs" / "figures").glob("*.svg"))
        self.assertGreater(len(drawings), 5)
        for path in drawings:
            svg = path.read_text()
            self.assertGreater(len(list(boxes_of(svg))), 5, path.name)
            self.assertEqual(list(collisions(svg)), [], path.name)

    def test_a_label_on_a_key_is_seen(self):
        text = '<g transform="translate({},{})" font-size="11.00"  text-anchor="{}">\n<text><tspan>{}</tspan></text>'
        label = text.format(260, 245, "middle", "n")
        self.assertEqual(list(collisions(label + text.format(270, 257, "end", "libxsmm"))), [("n", "libxsmm")])
        self.assertEqual(list(collisions(label + text.format(270, 262, "end", "libxsmm"))), [])

    def test_keys_stand_above_the_drawing(self):
        scripts = (pathlib.Path(__file__).resolve().parents[2] / "scripts").glob("*.py")
        keys = {key for path in scripts for key in re.findall(r"(?<!un)set key [a-z ]+", path.read_text())}
        self.assertEqual(keys, {"set key outside top center horizontal"})


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

    def test_rates_of_ours_and_of_each_peer(self):
        words = "kind=rates family=gemm_small_cpu machine=card dtype=f64 residency=cold"
        self.assertIsNone(self.draw(words))

        def rate(n, impl, gflops, **more):
            return measured(n, impl, 0.5, threads=1, bound_gflops=2 * n) | {"gflops": gflops} | more
        self.record("gemm_small_cpu-20260101.jsonl", [
            rate(4, "tilewright", 3), rate(8, "tilewright", 7), rate(8, "openblas", 5), rate(4, "loop_ijk", 1), rate(4, "loop_ikj", 2),
            rate(4, "tilewright_default", 9), rate(4, "libxsmm", 9, threads=2), rate(4, "libxsmm", 9, residency="l2")])
        script = self.draw(words).script
        for name, points in (("tilewright", "4 3\n8 7\n"), ("openblas", "8 5\n"), ("loops", "4 2\n"), ("bound", "4 8\n8 16\n")):
            self.assertIn(f"${name}0 << EOD\n{points}EOD", script)
        self.assertNotIn("libxsmm", script)

    def test_clients_one_by_one_and_with_many_shapes(self):
        self.record("clients-20260101.jsonl", [
            {"client": "single_calls", "n": 4, "ns": {"tilewright plan": 2, "openblas": 3}},
            {"client": "many_shapes", "case": "first pass", "operands": "in cache", "products": 10, "ns": {"openblas": 1},
             "over_best_peer": {"tilewright gemm": 1.25}},
            {"client": "variable_batch", "case": "4x4", "ns": {}, "over_best_peer": {"tilewright gemm_grouped": 0.5}}])
        script = self.draw("kind=single_calls family=clients machine=card").script
        self.assertIn("<< EOD\n4 2\nEOD", script)
        self.assertIn("title 'openblas'", script)
        script = self.draw("kind=many_shapes family=clients machine=card").script
        self.assertIn('"4x4: gemm_grouped" 0.5\n"10 products, first pass, in cache: gemm" 1.25\nEOD', script)

    def test_some_types_alone(self):
        self.record("gemm_small-20260101.jsonl", [measured(4, impl, 0.5) | {"dtype": dtype, "beta": beta} for beta in (0, 1)
                                                  for dtype in ("f64", "c64") for impl in ("tilewright", "cublas_strided")])
        drawing = self.draw("kind=share layout=strided machine=card types=f64 beta=1")
        self.assertEqual(drawing.name, "gemm_small_share_strided_f64_1")
        self.assertEqual(drawing.script.count("set title"), 1)
        self.assertEqual(self.draw().script.count("set title"), 4)

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
        self.record("gemm-20260101.jsonl", [best(8, 0.5, 1), best(9, 2.0, 1), best(9, 9.0, 1, best=False)])
        self.record("gemm-20260102-again.jsonl.gz", [best(8, 4.0, 2)])
        self.record("gemm-20260103-probe.jsonl", [best(8, 7.0, 3)])
        self.record("gemm-20260103-shapes.jsonl", [best(3, 0.25, 3, m=5)])
        lines = ratio_tables.ratios("machine=card without=probe", self.root).splitlines()
        self.assertEqual(lines[2:4], ["| squares | f64 | 8 to 9 | nn | 2 | 2.828 | 2.000 (9, nn) |",
                                      "| skinny and odd shapes | f64 |  | nn | 1 | 0.250 | 0.250 (5x3x3, nn) |"])
        self.assertIn("[card 20260102-again]({up}results/card/gemm-20260102-again.jsonl.gz)", lines[5])
        self.assertNotIn("probe", lines[5])


if __name__ == "__main__":
    unittest.main()
