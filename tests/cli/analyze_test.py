#!/usr/bin/env python3
"""`tilewright analyze` as users drive it, on sweeps that are made up here: laws of time and energy over a config, two
cards that differ by known factors. What comes of them tests the report and is no measurement of anything."""

import html.parser
import json
import math
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

TOOL = ""
VOID = {"meta", "br", "hr", "img", "link"}


class Page(html.parser.HTMLParser):
    """Checks that every element is closed in order, and collects texts, identifiers and references."""

    def __init__(self, text):
        super().__init__()
        self.open, self.ids, self.references, self.texts, self.counts = [], [], [], [], {}
        self.feed(text)
        self.close()
        assert not self.open, f"left open: {self.open}"

    def handle_starttag(self, tag, attributes):
        self.counts[tag] = self.counts.get(tag, 0) + 1
        for key, value in attributes:
            if key == "id":
                self.ids.append(value)
            if key in ("src", "href", "xlink:href"):
                self.references.append(value)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, f"</{tag}> closes {self.open[-1:]}"
        self.open.pop()

    def handle_data(self, data):
        self.texts.append(data)


def tool(*arguments, environment=None):
    return subprocess.run([TOOL, *map(str, arguments)], capture_output=True, text=True, env=environment)


def made_up_row(config, card="A", n=4096, time_factor=1.0, energy_factor=1.0, phase="screen", noise=0.0):
    """Larger tiles are faster up to a point and move fewer bytes; more warps cost energy."""
    tile, stages, load = config["tile_m"], config["stages"], config["load"]
    seconds = 2.7e-3 * (1 + 8 / tile + 0.05 * abs(stages - 4) + (0.4 if load == "plain" else 0))
    joules = seconds * (480 + 2600 / tile + 25 * stages)
    scale = (n / 4096) ** 3
    seconds, joules = seconds * scale * time_factor * (1 + noise), joules * scale * energy_factor * (1 + noise)
    flops = 2 * n**3
    return {"family": "gemm", "problem": f"gemm:f64:nn:m={n},n={n},k={n}:location=device", "phase": phase,
            "impl": "tilewright", "device": "made up", "device_uuid": card, "source_hash": "0", "config": config,
            "seconds": seconds, "gflops": flops / seconds * 1e-9, "energy_j": joules, "watts": joules / seconds,
            "gflops_per_watt": flops / joules * 1e-9,
            "metrics": {"registers": 32 + tile, "occupancy": 8 / tile, "energy_edges": 12, "energy_error_share": 0.003,
                        "bytes": {"l2": 1e12 / tile, "memory": 2e9 + 1e10 / tile, "shared": 4e11},
                        "instructions": {"all": 1e9 + 1e10 / tile}, "launches": 400}}


def sentinel(card="A", n=4096, time_factor=1.0, energy_factor=1.0):
    row = made_up_row({"tile_m": 128, "stages": 4, "load": "async"}, card, n, time_factor, energy_factor)
    del row["config"]
    return row | {"impl": "cublas"}


CONFIGS = [{"tile_m": tile, "stages": stages, "load": load}
           for tile in (16, 24, 32, 48, 64, 96, 128, 192) for stages in (1, 2, 3, 4, 5, 6) for load in ("plain", "async")]


class Analyze(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def write(self, name, rows):
        path = self.folder / name
        with open(path, "w") as file:
            for row in [{"command": "made up by a test"}] + rows:
                print(json.dumps(row), file=file)
        return path

    def sweep(self, **options):
        rng = random.Random(1)
        rows = [sentinel(**options)]
        for i, config in enumerate(CONFIGS):
            rows.append(made_up_row(config, noise=rng.gauss(0, 0.002), **options))
            if i % 16 == 15:
                rows.append(sentinel(**options))
        return rows

    def analyse(self, *arguments):
        report, lines = self.folder / "report.html", self.folder / "report.jsonl"
        result = tool("analyze", *arguments, "--html", report, "--json", lines)
        self.assertEqual(result.returncode, 0, result.stderr)
        text = report.read_text()
        return Page(text), text, [json.loads(line) for line in lines.read_text().splitlines()], result.stdout

    def check_drawings(self, text, page):
        begin = 0
        while (begin := text.find("<svg", begin)) >= 0:
            end = text.find("</svg>", begin) + len("</svg>")
            xml.etree.ElementTree.fromstring(text[begin:end])
            begin = end
        self.assertEqual(len(page.ids), len(set(page.ids)), "an identifier is given twice")
        self.assertTrue(all(reference.startswith("#") for reference in page.references), "the page needs other files")

    @unittest.skipUnless(shutil.which("gnuplot"), "gnuplot is not installed")
    def test_the_whole_report(self):
        rows = self.sweep() + [made_up_row(CONFIGS[i], n=n) for i in (70, 90) for n in (1024, 2048)]
        rows += [made_up_row(CONFIGS[90], phase="long", noise=0.002 * k) for k in range(10)]
        wrong = made_up_row({"tile_m": 256, "stages": 1, "load": "plain"}) | {"fault": "element (1, 2) is wrong"}
        del wrong["seconds"]
        rows.append(wrong)
        page, text, lines, out = self.analyse(self.write("sweep.jsonl", rows), "--problem", rows[0]["problem"])
        self.check_drawings(text, page)
        self.assertGreaterEqual(page.counts["svg"], 10)
        said = " ".join(page.texts)
        for words in ("Fig. 4", "Fig. 5", "Table II", "Figs. 6 to 8", "Fig. 9", "3.3", "3.4", "section 4",
                      "96 configs on made up", "1 config not measured: element (1, 2) is wrong", "bytes.l2_per_s",
                      "counters of a profiler (--counters was not given)"):
            self.assertIn(words, said)
        self.assertIn("96 configs, 96 with energy", out)
        self.assertEqual(lines[0]["section"], "run")
        self.assertTrue(lines[0]["command"].startswith("tilewright analyze "), lines[0])
        quadrants = next(line for line in lines if line["section"] == "quadrants")
        best = min(self.sweep(), key=lambda row: row["seconds"] if "config" in row else math.inf)
        self.assertEqual(quadrants["fastest"]["config"] | best["config"], quadrants["fastest"]["config"])  # axes it lacks are added
        chosen = {line["objective"]: line for line in lines if line["section"] == "best"}
        points = [(row["seconds"], row["energy_j"]) for row in chosen.values()]
        self.assertEqual(chosen["time"]["seconds"], min(t for t, _ in points))
        self.assertEqual(chosen["energy"]["energy_j"], min(e for _, e in points))
        self.assertEqual(chosen["edp"]["seconds"] * chosen["edp"]["energy_j"], min(t * e for t, e in points))
        within = chosen["energy_within=5%"]
        self.assertLessEqual(within["seconds"], 1.05 * chosen["time"]["seconds"])
        self.assertLessEqual(within["energy_j"], chosen["time"]["energy_j"])
        repeat = next(line for line in lines if line["section"] == "repeat")
        self.assertEqual(repeat["times"], 10)
        self.assertAlmostEqual(repeat["time_share"], 0.018 / 1.009, places=4)
        prediction = [line for line in lines if line["section"] == "prediction" and line["of"] == "energy"]
        self.assertLess(prediction[-1]["median_error"], prediction[-1]["median_error_of_mean"])
        negative = next(line for line in lines if line.get("metric") == "bytes.l2")
        self.assertLess(negative["efficiency"], -0.5)

    @unittest.skipUnless(shutil.which("gnuplot"), "gnuplot is not installed")
    def test_what_is_missing_is_said(self):
        rows = self.sweep()
        for row in rows:
            row["energy_j"], row["energy_note"] = None, "NVML was not found"
        page, text, lines, _ = self.analyse(self.write("time.jsonl", rows))
        self.check_drawings(text, page)
        said = " ".join(page.texts)
        self.assertIn("96 configs time only: NVML was not found", said)
        self.assertIn("no energy was measured for at least three configs", said)
        self.assertEqual(text.count('class="missing"'), 1)
        self.assertIn("What each axis is worth", said)
        self.assertIn("No config was measured at two sizes", said)
        self.assertNotIn("hull", [line["section"] for line in lines])
        self.assertEqual([line["objective"] for line in lines if line["section"] == "best"], ["time"])

    def test_energy_that_was_not_measured_is_null(self):
        rows = self.sweep() + [sentinel("B")] + [made_up_row(config, "B") for config in CONFIGS[:5]]
        rows += [made_up_row(CONFIGS[90], phase="long", noise=0.002 * k) for k in range(3)]
        for weighed in (True, False):
            if not weighed:
                for row in rows:
                    row["energy_j"], row["watts"], row["energy_note"] = None, None, "NVML was not found"
            found = self.folder / "found.jsonl"
            result = tool("analyze", self.write("sweep.jsonl", rows), "--json", found)
            self.assertEqual(result.returncode, 0, result.stderr)
            lines = [json.loads(line) for line in found.read_text().splitlines()]
            of_energy = [(line, key) for line in lines for key in ("efficiency", "efficiency_rank", "product")
                         if line.get("section") == "correlation"]
            of_energy += [(join, key) for join in lines[1]["joins"] for key in ("energy_factor", "energy_residual")]
            of_energy += [(line, key) for line in lines for key in ("energy_share", "energy_deviation") if line.get("section") == "repeat"]
            self.assertGreater(len(of_energy), 6)
            for line, key in of_energy:
                self.assertEqual(line[key] is not None, weighed, (key, line))
            for line in lines:
                if line["section"] == "correlation":
                    self.assertIsNotNone(line["performance"])

    def test_cards_are_joined_with_the_factor_shown(self):
        rows = self.sweep()
        path = self.write("a.jsonl", rows[:60])
        other = [made_up_row(row["config"], "B", time_factor=1.1, energy_factor=0.9) for row in rows[55:] if "config" in row]
        there = self.write("b.jsonl", [sentinel("B", time_factor=1.1, energy_factor=0.9)] + other)
        result = tool("analyze", path, there, "--json", self.folder / "joined.jsonl")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stdout, r"card B joined by the sentinel: time x 0\.909\d, energy x 1\.11")
        line = json.loads((self.folder / "joined.jsonl").read_text().splitlines()[1])
        self.assertEqual(line["configs"], 96)
        self.assertGreater(line["joins"][1]["anchors"], 2)
        self.assertLess(line["joins"][1]["time_residual"], 0.02)

    def test_cards_without_a_sentinel_are_refused(self):
        path = self.write("a.jsonl", [made_up_row(CONFIGS[0]), made_up_row(CONFIGS[1], "B")])
        result = tool("analyze", path, "--json", self.folder / "x")
        self.assertEqual(result.returncode, 2)
        self.assertRegex(result.stderr, r"^tilewright: .*'A'.*'B'.* has no sentinel")

    def test_wrong_use_is_named(self):
        path = self.write("a.jsonl", self.sweep())
        for arguments, words in ((("missing.jsonl", "--json", "-"), "SWEEP = 'missing.jsonl' cannot be read"),
                                 ((path,), "--html or --json is required"),
                                 ((path, "--json", "-", "--problem", "gemm:f32"), "--problem = 'gemm:f32' is not in"),
                                 ((path, "--json", "-", "--counters", path), "must be given together"),
                                 ((path, "--json", "-", "--counters", path, "--order", path), "is not a CSV file of ncu")):
            result = tool("analyze", *arguments)
            self.assertNotEqual(result.returncode, 0)
            self.assertIn(words, result.stderr)
        self.assertEqual(tool("analyze", "missing.jsonl", "--json", "-").returncode, 2)
        for wrong in ({"seconds": "1e-3"}, {"energy_j": -1}, {"watts": "x"}):  # named, not passed over
            rows = self.sweep()
            rows[5].update(wrong)
            result = tool("analyze", self.write("wrong.jsonl", rows), "--json", "-")
            self.assertIn("line 7 has " + next(iter(wrong)), result.stderr)
        result = tool("analyze", path, path, "--json", "-")
        self.assertEqual((result.returncode, "is given twice" in result.stderr), (2, True), result.stderr)
        empty = self.write("empty.jsonl", [])
        self.assertIn("contains no measured config", tool("analyze", empty, "--json", "-").stderr)

    def test_a_torn_last_line_is_passed_over(self):
        path, whole = self.write("a.jsonl", self.sweep()), self.folder / "whole.jsonl"
        path.write_text(path.read_text() + '{"seconds": 1.0, "conf')
        result = tool("analyze", path, "--json", whole)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(json.loads(whole.read_text().splitlines()[1])["configs"], 96)
        path.write_text(path.read_text() + "\n")  # ended: no kill wrote that
        result = tool("analyze", path, "--json", whole)
        self.assertNotEqual(result.returncode, 0)
        self.assertRegex(result.stderr, r"line \d+ is invalid \(invalid JSON at byte \d+\)")

    def test_inputs_are_not_written_over(self):
        path, other = self.write("a.jsonl", self.sweep()), self.write("b.jsonl", self.sweep())
        link = self.folder / "link.jsonl"
        link.symlink_to(path)
        text, keep = path.read_text(), self.folder / "keep.jsonl"
        keep.write_text("kept\n")
        for arguments, words in (((path, "--json", path), "--json = "), ((other, path, "--html", link), "--html = "),
                                 ((path, "--json", keep, "--html", keep), "also the file of --json"),
                                 (("--counters", "none.csv", "--order", path, "--json", keep), "none.csv")):
            result = tool("analyze", *arguments)
            self.assertNotEqual(result.returncode, 0)
            self.assertIn(words, result.stderr)
            self.assertEqual((path.read_text(), keep.read_text()), (text, "kept\n"))

    def test_without_gnuplot_json_still_comes(self):
        path, lines = self.write("a.jsonl", self.sweep()), self.folder / "report.jsonl"
        result = tool("analyze", path, "--html", self.folder / "report.html", "--json", lines,
                      environment=os.environ | {"PATH": str(self.folder)})
        self.assertEqual(result.returncode, 2)
        self.assertIn("gnuplot was not found (Debian: gnuplot-nox); --json needs none", result.stderr)
        self.assertGreater(len(lines.read_text().splitlines()), 20)
        self.assertFalse((self.folder / "report.html").exists())

    def test_help_has_an_example(self):
        self.assertIn("Example: tilewright analyze", tool("analyze", "--help").stdout)


if __name__ == "__main__":
    TOOL = sys.argv.pop(1)
    unittest.main()
