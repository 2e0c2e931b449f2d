#!/usr/bin/env python3
"""The documentation is what scripts/make_docs.py writes from results/ and docs/tables/; and the script notices a number that was
changed, a file of results that is missing or that nothing names, and numbers beside links to runs."""

import itertools
import json
import pathlib
import re
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "scripts"))
import docs_figures
import docs_tables
from make_docs import Docs

TABLE = """[speed]
files = [["box/gemm-20260101", "box/gemm-20260102"]]
unique = ["n", "impl"]
head = "n"
rows = "n"
columns = [
  {head = "ms", impl = "ours", get = "seconds", times = 1e3},
  {head = "ratio", impl = "theirs", get = "seconds", over = {impl = "ours"}, form = ".2f", total = "geomean"},
]
total = "mean"
note = "The least is {least}."

[speed.say]
least = {impl = "ours", get = "metrics/spread", how = "min", form = "{:.1f} ({n})"}
"""
PAGE = "Speeds:\n\n<!-- begin page.speed -->\n<!-- end -->\n"
LINES = ["| n | ms | ratio |", "|---|--:|--:|", "| 8 | 2.04 | 1.50 |", "| 16 | 10.0 | 6.00 |", "| mean |  | 3.00 |", "",
         "The least is 0.1 (16). Data and command: [box/gemm-20260101](../results/box/gemm-20260101.jsonl), "
         "[box/gemm-20260102](../results/box/gemm-20260102.jsonl)."]


def row(n, impl, seconds, **metrics):
    return {"n": n, "impl": impl, "seconds": seconds, "family": "gemm", "metrics": metrics}


class Tree(unittest.TestCase):
    def test_the_documentation_is_what_results_say(self):
        docs = Docs(ROOT)
        docs.check()
        self.assertEqual(docs.faults, [])


TEXT = re.compile(r'translate\(([\d.]+),([\d.]+)\)"[^>]*font-size="([\d.]+)"\s+text-anchor="(\w+)">\s*<text>(.*?)</text>', re.S)


def boxes_of(svg):
    """(left, right, top, bottom) of each horizontal text of a drawing, as wide as letters are in the mean."""
    for x, y, size, anchor, inner in TEXT.findall(svg):
        width = 0.55 * float(size) * len(re.sub(r"<[^>]*>", "", inner).strip())
        left = float(x) - {"start": 0, "middle": width / 2, "end": width}[anchor]
        yield left, left + width, float(y) - 1.2 * float(size), float(y)


class Figures(unittest.TestCase):
    def test_no_text_lies_on_another(self):
        for path in sorted((ROOT / "docs" / "figures").glob("*.svg")):
            boxes = [box for box in boxes_of(path.read_text()) if box[0] < box[1]]
            self.assertGreater(len(boxes), 5, path.name)
            for one, other in itertools.combinations(boxes, 2):
                self.assertFalse(one[0] < other[1] and other[0] < one[1] and one[2] < other[3] and other[2] < one[3], path.name)


class Pages(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for name in ("docs/tables", "results/box"):
            (self.root / name).mkdir(parents=True)
        (self.root / "README.md").write_text("# box\n")
        (self.root / "docs/tables/page.toml").write_text(TABLE)
        self.page = self.root / "docs/page.md"
        self.page.write_text(PAGE)
        self.record("gemm-20260101", row(8, "ours", 0.00204, spread=0.3), row(8, "theirs", 0.00306), row(16, "ours", 0.5, spread=0.9))
        self.record("gemm-20260102", row(16, "ours", 0.01, spread=0.1), row(16, "theirs", 0.06))
        Docs(self.root).write()

    def record(self, name, *rows):
        lines = [json.dumps(line) + "\n" for line in ({"command": f"make {name}"}, *rows)]
        (self.root / f"results/box/{name}.jsonl").write_text("".join(lines))

    def faults(self):
        docs_tables.rows_of.cache_clear()
        docs = Docs(self.root)
        docs.check()
        return docs.faults

    def test_a_table_is_made_and_a_newer_run_replaces(self):
        self.assertEqual(self.page.read_text().splitlines()[3:-1], LINES)
        self.assertEqual(self.faults(), [])

    def test_a_changed_number_is_noticed(self):
        self.page.write_text(self.page.read_text().replace("1.50", "1.51"))
        self.assertIn("docs/page.md: is not what results/ and docs/tables/ say", self.faults()[0])

    def test_changed_results_are_noticed(self):
        self.record("gemm-20260102", row(16, "ours", 0.02, spread=0.1), row(16, "theirs", 0.06))
        self.assertIn("docs/page.md: is not what results/ and docs/tables/ say", self.faults()[0])

    def test_a_missing_file_and_a_column_without_values_are_noticed(self):
        (self.root / "results/box/gemm-20260102.jsonl").unlink()
        self.assertIn("page.speed: results/box/gemm-20260102.jsonl is not there", self.faults()[0])
        self.record("gemm-20260102", row(16, "ours", 0.01, spread=0.1))
        self.record("gemm-20260101", row(8, "ours", 0.01))
        self.assertIn("has a value for the column 'ratio'", self.faults()[0])

    def test_files_of_results_in_disorder_are_noticed(self):
        self.record("lu-20260103", row(8, "ours", 1))
        (self.root / "results/box/gemm-20260104.jsonl").write_text("{}\n")
        self.assertEqual(self.faults(), [
            "results/box/gemm-20260104.jsonl: does not begin with an object that has the command",
            "results/box/lu-20260103.jsonl: is called lu and has rows of gemm",
            "results/box/gemm-20260104.jsonl: no page, table or test names it",
            "results/box/lu-20260103.jsonl: no page, table or test names it"])

    def test_numbers_beside_a_link_to_a_run_and_dead_links_are_noticed(self):
        self.page.write_text(self.page.read_text() + "\n[It](../results/box/gemm-20260101.jsonl) took 2.04 ms.\n\n[Gone](gone.md)\n")
        self.assertEqual(self.faults(), ["docs/page.md: decimals beside a link to a run: '[It](../results/box/gemm-20260101.jsonl) took 2.04 ms....'",
                                         "docs/page.md: links to gone.md, which is not there"])

    def test_points_and_dots_are_where_the_rows_say(self):
        spec = {"figure": "points", "name": "page", "files": ["box/gemm-20260101"], "x": "n", "y": "metrics/spread", "panels": [{}, {"y": "seconds"}],
                "columns": [{"head": "ours", "impl": "ours"}, {"head": "all", "mean": True}]}
        script = docs_figures.script_of(self.root, spec)
        self.assertIn("$points0_0 << EOD\n8 0.3\n16 0.9\nEOD\n", script)
        self.assertIn("$points1_0 << EOD\n8 0.00204\n16 0.5\nEOD\n", script)
        self.assertIn("$points1_1 << EOD\n8 0.00255\n16 0.5\nEOD\n", script)
        with self.assertRaisesRegex(ValueError, "is in the panel"):
            docs_figures.script_of(self.root, spec | {"x": "m"})
        spec = {"figure": "dots", "name": "page", "files": ["box/gemm-20260101"], "rows": "n", "where": {"impl": "ours"},
                "columns": ["time = seconds", "spread = metrics/spread"]}
        script = docs_figures.script_of(self.root, spec)
        self.assertIn("$dots0_0 << EOD\n0.00204 1\n0.5 0\nEOD\n$dots0_1 << EOD\n0.3 1\n0.9 0\nEOD\n", script)
        self.assertIn('set ytics noenhanced ("8" 1, "16" 0)', script)

    def test_a_table_that_no_page_shows_is_noticed(self):
        self.page.write_text("[a](../results/box/gemm-20260101.jsonl) [b](../results/box/gemm-20260102.jsonl)\n")
        self.assertEqual(self.faults(), ["docs/tables: no page shows page.speed"])


if __name__ == "__main__":
    unittest.main()
