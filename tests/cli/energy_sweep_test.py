#!/usr/bin/env python3
"""The sweep of large GEMM from its list to the report, on the fake GPU with a fake meter: what is written when, going on
after a kill, refusals, and what is said when the meter is missing or coarse or the card is not alone. The numbers are
those of plain loops on the host and of a made-up counter."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

TOOL = ""
SWEEP, METER = os.environ["SWEEP"], os.environ["METER"]
QUICK = ("--seconds", 0.06, "--heat", 0.02, "--edges", 5, "--sentinel-every", 3)
# The counter moves so often that every reading is an edge, however late it comes: the load of the machine does not
# affect the watts.
MOVES_PER_SECOND = "1000"


def whole_rows(path):
    """The rows of a file that a process is adding to, or was killed while adding to."""
    return [json.loads(line) for line in path.read_text().splitlines(keepends=True) if line.endswith("\n")]


class EnergySweep(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        cls.list = cls.folder / "list.jsonl"
        result = cls.run_sweep("compile", "--n", 64, "--count", 8)
        assert result.returncode == 0, result.stderr

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    @classmethod
    def environment(cls, meter=True, **settings):
        environment = dict(os.environ, FAKE_NVML_MOVES_PER_SECOND=MOVES_PER_SECOND, TILEWRIGHT_CACHE=str(cls.folder / "kernels"))
        if meter:
            environment["LD_LIBRARY_PATH"] += ":" + METER
        return environment | {f"FAKE_NVML_{key.upper()}": str(value) for key, value in settings.items()}

    @classmethod
    def run_sweep(cls, verb, *arguments, **settings):
        return subprocess.run(cls.command(verb, *arguments), capture_output=True, text=True, env=cls.environment(**settings))

    @classmethod
    def command(cls, verb, *arguments):
        common = () if "--configs" in arguments else ("--configs", cls.list)
        return [SWEEP, verb, *map(str, common), *map(str, arguments)]

    def screen(self, name, *arguments, **settings):
        path = self.folder / name
        result = self.run_sweep("screen", "--json", path, *QUICK, *arguments, **settings)
        rows = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
        return result, rows, path

    @staticmethod
    def measured(rows):
        return [row for row in rows if row.get("impl") == "tilewright" and "seconds" in row]

    def test_1_the_list(self):
        lines = [json.loads(line) for line in self.list.read_text().splitlines()]
        self.assertIn("bench_gemm_large_sweep compile", lines[0]["command"])
        self.assertEqual(lines[0]["configs"]["kept"], 8)
        self.assertEqual(len([line for line in lines[1:] if "refused" not in line]), 8)
        again = self.folder / "again.jsonl"
        self.run_sweep("compile", "--n", 64, "--count", 8, "--configs", again)
        self.assertEqual([json.loads(line) for line in again.read_text().splitlines()][1:], lines[1:])

    def test_2_screen_kill_resume_long_sample_analyze(self):
        result, rows, path = self.screen("sweep.jsonl", "--budget", 0)
        self.assertIn("8 measurements left; go on with --resume", result.stdout)
        self.assertEqual(result.returncode, 3)
        process = subprocess.Popen(self.command("screen", "--json", path, *QUICK, "--resume"), env=self.environment(),
                                   stdout=subprocess.DEVNULL)
        while len(self.measured(whole_rows(path))) < 2:
            time.sleep(0.02)
            self.assertIsNone(process.poll())
        process.send_signal(signal.SIGKILL)
        process.wait()
        before = self.measured(whole_rows(path))
        with open(path, "a") as file:
            file.write('{"torn')
        result, rows, path = self.screen("sweep.jsonl", "--resume")
        self.assertEqual(result.returncode, 0, result.stderr)
        after = self.measured(rows)
        self.assertEqual(after[:len(before)], before)
        self.assertEqual(len({json.dumps(row["config"]) for row in after}), 8)
        self.assertEqual(len(after), 8)
        self.check_rows(rows)
        self.check_long(path)
        self.check_long_of_earlier_sources(path)
        self.check_sizes(path)
        self.check_sample(path)
        self.check_report(path)

    def check_rows(self, rows):
        self.assertIn("screen", rows[0]["command"])
        sentinels = [row for row in rows if row.get("impl") == "cublas"]
        self.assertGreaterEqual(len(sentinels), 3)
        for row in self.measured(rows):
            for key in ("family", "problem", "seconds", "seconds_low", "seconds_high", "samples", "gflops", "energy_j", "watts",
                        "gflops_per_watt", "error", "error_bound", "device", "device_uuid", "driver", "commit", "time"):
                self.assertIn(key, row)
            metrics = row["metrics"]
            for key in ("registers", "shared_bytes", "occupancy", "clock_mhz", "temperature_c", "bytes", "energy_edges",
                        "sentinel_time_ratio"):
                self.assertIn(key, metrics)
            self.assertGreaterEqual(metrics["energy_edges"], 5)
            self.assertEqual(metrics["clock_mhz"], 1500)
            self.assertAlmostEqual(row["watts"] / 500, 1, delta=0.15)
            self.assertAlmostEqual(row["energy_j"] / (row["watts"] * metrics["mean_seconds"]), 1, delta=1e-6)
            self.assertGreaterEqual(metrics["bytes"]["l2"], 2 * 64 * 64 * 8)

    def check_long(self, path):
        screened = path.read_text()
        # It continues the file with or without the flag: the configs that it chooses from are there.
        result = self.run_sweep("long", "--json", path, *QUICK, "--best", 3, "--repeated", 2, "--repeats", 3)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertTrue(path.read_text().startswith(screened))
        counts = {}
        for line in path.read_text().splitlines():
            row = json.loads(line)
            if row.get("phase") == "long" and row.get("config"):
                counts[json.dumps(row["config"])] = counts.get(json.dumps(row["config"]), 0) + 1
        self.assertGreaterEqual(len(counts), 3)
        self.assertEqual(sorted(counts.values())[-2:], [3, 3])

    def check_long_of_earlier_sources(self, path):
        """A screening from before an axis came is chosen from, and gone on with, as if its configs had the axis's default."""
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        for line in lines:
            (line.get("config") or {}).pop("tail_k", None)
        earlier = path.with_name("earlier.jsonl")
        earlier.write_text("".join(json.dumps(line) + "\n" for line in lines if line.get("phase") != "long"))
        flags = ("--best", 2, "--repeated", 1, "--repeats", 1)
        result = self.run_sweep("long", "--json", earlier, *QUICK, *flags)
        self.assertEqual(result.returncode, 0, result.stderr)
        rows = [json.loads(line) for line in earlier.read_text().splitlines()]
        configs = [row["config"] for row in rows if row.get("phase") == "long" and row.get("config")]
        self.assertGreaterEqual(len(configs), 2)
        self.assertEqual({config["tail_k"] for config in configs}, {1})
        self.assertIn(" 0 measurements are left", self.run_sweep("long", "--json", earlier, *QUICK, *flags).stdout)
        other = path.with_name("other.jsonl")
        self.assertIn(" 0 measurements are left", self.run_sweep("long", "--json", other, "--done", earlier, *QUICK, *flags).stdout)
        self.assertIn("is the file of --json", self.run_sweep("long", "--json", earlier, "--done", earlier, *QUICK, *flags).stderr)

    def check_sizes(self, path):
        for _ in range(2):  # the second finds nothing left to do
            result = self.run_sweep("sizes", "--json", path, *QUICK, "--resume", "--sizes", "32,96", "--count", 2)
            self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("sizes: 0 measured", result.stdout)
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        sizes = [row for row in rows if row.get("phase") == "sizes"]
        self.assertEqual({row["problem"].split(":")[3] for row in sizes}, {"m=32,n=32,k=32", "m=96,n=96,k=96"})
        self.assertEqual(len([row for row in sizes if row.get("config")]), 4)
        # Columns of 65 numbers are aligned to 8 bytes: configs that need 16 are reported and not launched.
        result = self.run_sweep("sizes", "--json", path, *QUICK, "--sizes", "65", "--count", 8)
        self.assertEqual(result.returncode, 0, result.stderr)
        odd = [row for row in map(json.loads, path.read_text().splitlines()) if "m=65" in row.get("problem", "")]
        faults = [row["fault"] for row in odd if "fault" in row]
        self.assertEqual(len([row for row in odd if row.get("config")]), 8)
        self.assertTrue(faults)
        self.assertTrue(all("16 bytes" in fault or "are aligned" in fault for fault in faults), faults)

    def check_sample(self, path):
        order = self.folder / "order.jsonl"
        result = self.run_sweep("sample", "--json", path, "--done", path)
        self.assertIn("is a log of another kind: its first line has no 'device_uuid'", result.stderr)
        result = self.run_sweep("sample", "--json", order, "--done", path, "--count", 8)
        self.assertEqual(result.returncode, 0, result.stderr)
        lines = [json.loads(line) for line in order.read_text().splitlines()][1:]
        self.assertEqual([line["order"] for line in lines], list(range(8)))
        self.assertTrue(all("m=64" in line["problem"] for line in lines))
        with open(self.folder / "ncu.csv", "w") as file:
            print('"ID","Kernel Name","Block Size","Grid Size","lts__t_bytes.sum.per_second"', file=file)
            print('"","","","","byte/second"', file=file)
            for line in lines:
                print(f'"{line["order"]}","k","({line["threads"]}, 1, 1)","({line["blocks"]}, 1, 1)","{line["order"]}e9"', file=file)

    def check_report(self, path):
        lines = self.folder / "report.jsonl"
        result = subprocess.run([TOOL, "analyze", path, "--json", lines, "--counters", self.folder / "ncu.csv", "--order",
                                 self.folder / "order.jsonl"], capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stderr)
        summaries = [json.loads(line) for line in lines.read_text().splitlines()]
        summary = next(line for line in summaries if line["section"] == "sweep" and "m=64" in line["problem"])
        self.assertEqual((summary["configs"], summary["with_energy"], summary["sentinel"]), (8, 8, "cublas"))
        self.assertEqual(summary["profiled"], 8)
        for line in summaries:  # of the sample's problem alone
            if line["section"] == "sweep" and "m=64" not in line["problem"]:
                self.assertEqual(line["profiled"], 0)

    def test_3_another_card_is_refused_and_left_what_it_did(self):
        result, rows, path = self.screen("one.jsonl")
        self.assertEqual(result.returncode, 0, result.stderr)
        text = path.read_text()
        other = self.folder / "other.jsonl"
        other.write_text(text.replace(rows[0]["sweep"]["device_uuid"], "GPU-another"))
        result, _, _ = self.screen("other.jsonl", "--resume")
        self.assertEqual(result.returncode, 2)
        self.assertIn("was started with device_uuid", result.stderr)
        other.write_text(text.replace(rows[0]["sweep"]["source_hash"], "0123"))
        result, _, _ = self.screen("other.jsonl", "--resume")
        self.assertIn("was started with source_hash", result.stderr)
        # Another card's configs are left to it, except for the anchors.
        other.write_text(text.replace(rows[0]["sweep"]["device_uuid"], "GPU-another"))
        result, rows, _ = self.screen("two.jsonl", "--done", other, "--anchors", 2)
        self.assertEqual(len(self.measured(rows)), 2, result.stdout)
        result, _, _ = self.screen("three.jsonl", "--done", path)
        self.assertIn("was measured on this very card", result.stderr)

    def notes_of(self, rows):
        return [note for row in rows for note in row.get("notes", [])]

    def test_4_a_missing_meter_is_said(self):
        result, rows, _ = self.screen("no_meter.jsonl", meter=False)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("no energy is measured: NVML was not found", result.stdout)
        for row in self.measured(rows):
            self.assertIsNone(row["energy_j"])
            self.assertIn("NVML was not found", row["energy_note"])
            self.assertGreater(row["seconds"], 0)
        result, rows, _ = self.screen("no_energy.jsonl", moves_per_second=0)
        self.assertIn("no energy is measured: the device reports none", result.stdout)
        self.assertEqual(self.measured(rows)[0]["energy_note"], "the device reports no energy")

    def test_5_a_coarse_counter_is_said(self):
        _, rows, _ = self.screen("coarse.jsonl", moves_per_second=2)
        for row in self.measured(rows):
            self.assertIsNone(row["energy_j"])
            self.assertRegex(row["energy_note"], r"the energy counter moved \d times under the load, and 5 are needed")

    def test_6_a_busy_card_is_said(self):
        result, rows, _ = self.screen("busy.jsonl", busy=60, others=2)
        self.assertIn("NOTE the card was 60 % busy before the run began", result.stdout)
        self.assertIn("NOTE 2 other processes compute on the card", result.stdout)
        self.assertIn("2 other processes compute on the card", self.notes_of(self.measured(rows)))

    def test_7_wrong_use_is_named(self):
        result = self.run_sweep("screen", "--json", self.folder / "x.jsonl", "--configs", self.folder / "none.jsonl")
        self.assertIn("none.jsonl' cannot be read", result.stderr)
        other = self.folder / "old_list.jsonl"
        other.write_text(self.list.read_text().replace('"source_hash":"', '"source_hash":"0'))
        result = self.run_sweep("screen", "--configs", other, "--json", self.folder / "x.jsonl")
        self.assertIn("was compiled from sources 0", result.stderr)
        foreign = self.folder / "foreign.jsonl"
        foreign.write_text("my notes\n")
        result = self.run_sweep("screen", "--json", foreign, *QUICK)
        self.assertIn("exists and is not a sweep log", result.stderr)
        self.assertEqual(foreign.read_text(), "my notes\n")
        result = self.run_sweep("compile", "--configs", foreign)
        self.assertIn("--configs = ", result.stderr)
        self.assertEqual(foreign.read_text(), "my notes\n")
        for arguments, words in ((("--op", "n"), "--op = 'n'"), (("--op", "nnn"), "--op = 'nnn'"), (("--op", "ab"), "'a'"),
                                 (("--n", 0), "--n: 0 is no number from 1"), (("--n", -4), "--n: -4"),
                                 (("--count", 0), "--count: 0"), (("--jobs", 100000), "--jobs: 100000")):
            result = self.run_sweep("compile", *arguments, "--configs", self.folder / "not.jsonl")
            self.assertIn(result.returncode, (1, 2), arguments)
            self.assertIn(words, result.stderr)
            self.assertFalse((self.folder / "not.jsonl").exists(), arguments)
        limits = self.folder / "limits.json"
        for text, words in (("[]", "cannot be read"), ('{"name": "x"}', "compute_capability = 0"), ('{"nume": 1}', "'nume'"),
                            ('{"multiprocessors": "many"}', "multiprocessors = \"many\"")):
            limits.write_text(text)
            result = self.run_sweep("compile", "--limits", limits, "--configs", self.folder / "not.jsonl")
            self.assertEqual(result.returncode, 1)
            self.assertRegex(result.stderr, f"--limits = '{limits}'.*{words}")
        result = self.run_sweep("compile", "--configs", self.folder / "none" / "list.jsonl")
        self.assertIn(f"'{self.folder / 'none'}' is no folder", result.stderr)

    def test_8_what_has_no_screening_is_refused_and_not_begun(self):
        result, _, path = self.screen("empty.jsonl", "--budget", 0)
        text = path.read_text()
        absent = self.folder / "absent.jsonl"
        for verb in ("long", "sizes"):
            result = self.run_sweep(verb, "--json", path, *QUICK)
            self.assertEqual(result.returncode, 2)
            self.assertRegex(result.stderr, "'.*empty.jsonl' holds no measured row of a screening")
            self.assertEqual(path.read_text(), text)
            result = self.run_sweep(verb, "--json", absent, *QUICK)
            self.assertIn(f"'{absent}' cannot be read", result.stderr)
            self.assertFalse(absent.exists())
        for arguments in (("--sizes", "0,-3"), ("--seconds", -1), ("--heat", -1), ("--seconds", "nan"),
                          ("--sentinel-every", 0)):
            result = self.run_sweep("sizes", "--json", absent, *arguments)
            self.assertIn(f"{arguments[0]}: ", result.stderr)
            self.assertEqual(result.returncode, 2)
            self.assertFalse(absent.exists())


if __name__ == "__main__":
    TOOL = sys.argv.pop(1)
    unittest.main()
