#!/usr/bin/env python3
"""The search program of batched small GEMM on the fake GPU: what it writes of every config that it times, one axis of the
space, single launches for a profiler and what the analysis makes of their counters. The times are those of plain loops on
the host and mean nothing."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

TOOL = ""
SEARCH, SHARE, METER = os.environ["SEARCH"], os.environ["SHARE"], os.environ["METER"]
SEED = {"blocks_per_sm": 0, "c_direct": False, "columns_together": False, "k_unroll": 0, "load": "bulk",
        "matrices_per_block": 16, "persistent": True, "refill": "late", "shift_bytes": 128, "stages": 2, "store": "bulk",
        "thread_m": 2, "thread_n": 2, "threads": 64}


class GemmSmallBench(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        cls.seeds = cls.folder / "seeds.jsonl"
        problem = "gemm_batched:f64:nn:m=4,n=4,k=4:strided:batch={}:beta=one:residency=cold:location=device"
        few = {"family": "gemm_small", "problem": problem.format(1), "config": SEED | {"matrices_per_block": 1, "threads": 32}}
        many = {"family": "gemm_small", "problem": problem.format(100000), "config": SEED}
        cls.seeds.write_text(json.dumps(few) + "\n" + json.dumps(many) + "\n")

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def search(self, *arguments, fails=False):
        environment = dict(os.environ)
        environment["LD_LIBRARY_PATH"] += ":" + METER
        result = subprocess.run([SEARCH, "--share", SHARE, "--cache", self.folder / "kernels", "--dtype", "f64", "--beta", "1",
                                 "--megabytes", "1", "--repetitions", "3", *map(str, arguments)],
                                capture_output=True, text=True, env=environment)
        self.assertEqual(result.returncode != 0, fails, result.stdout + result.stderr)
        return result

    def lines(self, name):
        return [json.loads(line) for line in (self.folder / name).read_text().splitlines()]

    def test_every_config_that_is_timed_leaves_a_row(self):
        sweep, best = self.folder / "sweep.jsonl", self.folder / "best.jsonl"
        self.search("--sizes", "2:3,5", "--configs", 4, "--sweep", sweep, "--json", best)
        rows = self.lines("sweep.jsonl")
        self.assertEqual(rows[0]["command"], "bench_gemm_small --dtype f64 --beta 1 --megabytes 1 --repetitions 3 --sizes 2:3,5 "
                                             "--configs 4 --sweep FILE --json FILE")
        winners = [row for row in self.lines("best.jsonl") if row.get("impl") == "tilewright"]
        self.assertEqual([row["n"] for row in winners], [2, 3, 5])
        for winner in winners:
            screened = [row for row in rows[1:] if row["n"] == winner["n"]]
            self.assertEqual(len(screened), 4)
            self.assertIn(winner["config"], [row["config"] for row in screened])
            for row in screened:
                self.assertEqual((row["phase"], row["problem"], row["samples"]), ("screen", winner["problem"], 3))
                self.assertEqual(row["ceiling"], winner["ceiling"])
                self.assertAlmostEqual(row["bound_share"] * row["seconds"], winner["bound_share"] * winner["seconds"])
                for key in ("registers", "spill_bytes", "shared_bytes", "blocks_per_multiprocessor", "predicted_cycles",
                            "forecast"):
                    self.assertIn(key, row["metrics"])

    def test_one_axis_of_the_best_known_config(self):
        sweep = self.folder / "vary.jsonl"
        self.search("--sizes", 4, "--seeds", self.seeds, "--vary", "matrices_per_block", "--sweep", sweep, "--json",
                    self.folder / "vary_best.jsonl")
        rows = self.lines("vary.jsonl")[1:]
        values = [row["value"] for row in rows]
        self.assertEqual(values, sorted(set(values)))
        self.assertLessEqual(len(values), 12)
        self.assertEqual(values[0], 1)
        self.assertIn(16, values)
        for row in rows:
            self.assertEqual((row["phase"], row["axis"], row["base_value"]), ("vary", "matrices_per_block", 16))
            own = {key: row["config"][key] for key in SEED}  # fields that a seed leaves out have their defaults
            self.assertEqual(own["matrices_per_block"], row["value"])
            self.assertLessEqual(own["threads"], 64)  # fewer where there is work for fewer
            self.assertEqual(own | {"matrices_per_block": 16, "threads": 64}, SEED)
        self.assertEqual(rows[0]["config"]["threads"], 32)

    def test_an_axis_that_is_none_is_named(self):
        result = self.search("--vary", "load", fails=True)
        self.assertIn("--vary 'load' is not one of matrices_per_block, threads", result.stderr)
        self.assertIn("persistent", result.stderr)
        result = self.search("--vary", "threads", "--once", 1, fails=True)
        self.assertIn("--once 1 launches one config, and --vary asks for several", result.stderr)
        result = self.search("--sizes", "4,0:3", fails=True)
        self.assertIn("--sizes 4,0:3: '0:3'", result.stderr)

    def test_single_launches_in_their_order(self):
        order = self.folder / "order.jsonl"
        self.search("--sizes", "3,4", "--seeds", self.seeds, "--once", 1, "--json", order)
        lines = self.lines("order.jsonl")
        self.assertIn("--once 1", lines[0]["command"])
        self.assertEqual([line["order"] for line in lines[1:]], [0, 1, 2, 3])
        self.assertEqual([line["impl"] for line in lines[1:]], ["tilewright", "cublas_strided"] * 2)
        self.assertEqual(lines[3]["config"] | SEED, lines[3]["config"])
        self.assertEqual(lines[3]["threads"], 64)
        self.assertEqual(lines[3]["n"], 4)
        count = int(lines[3]["problem"].split("batch=")[1].split(":")[0])
        self.assertEqual(lines[3]["bound_bytes"], 4 * 16 * 8 * count)
        self.check_counters(order, lines)

    def check_counters(self, order, lines):
        profile, rows = self.folder / "ncu.csv", self.folder / "counters.jsonl"
        with open(profile, "w") as file:
            print('"ID","Kernel Name","Block Size","Grid Size","gpu__time_duration.sum","dram__bytes.sum"', file=file)
            print('"","","","","ns","byte"', file=file)
            for i, line in enumerate(lines[1:]):
                name, blocks, threads = ("gemm_small", line["blocks"], line["threads"]) if "config" in line else ("other", 1, 8)
                print(f'"{i}","{name}","({threads}, 1, 1)","({blocks}, 1, 1)","1000","{2 * line["bound_bytes"]}"', file=file)
        arguments = [TOOL, "analyze", "--counters", profile, "--order", order]
        result = subprocess.run([*arguments, "--json", rows], capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stderr)
        joined = self.lines("counters.jsonl")
        self.assertEqual(joined[0], lines[0])
        self.assertEqual([row["counters"]["bound_bytes_share"] for row in joined[1:]], [0.5] * 4)
        self.assertEqual(joined[1]["config"], lines[1]["config"])
        result = subprocess.run([*arguments], capture_output=True, text=True)
        self.assertEqual(result.returncode, 2)
        self.assertIn("SWEEP is missing", result.stderr)


if __name__ == "__main__":
    TOOL = sys.argv.pop(1)
    unittest.main()
