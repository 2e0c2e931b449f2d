#!/usr/bin/env python3
"""Which rows of benches become records: of a comparison the config that won it, cuBLAS as it ran beside that one, and after
a change of the sources what compiles to the same machine code."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).parents[2] / "scripts" / "gpu_wisdom.py"


def row(impl, seconds, **more):
    return {"phase": "compare", "impl": impl, "impl_version": "13.1.0", "family": "gemm", "layout": "single", "seconds": seconds,
            "seconds_low": seconds, "seconds_high": seconds, "samples": 7, "problem": "gemm:f64:nn:m=9,n=9,k=9:location=device",
            "device": "NVIDIA H200", "device_uuid": "GPU-1", "driver": "580", "source_hash": "old", "time": "2026-01-01T00:00:00Z",
            **more}


class GpuWisdom(unittest.TestCase):
    def records(self, *files, anew=()):
        with tempfile.TemporaryDirectory() as folder:
            paths = [pathlib.Path(folder) / f"{i}.jsonl" for i in range(len(files) + len(anew))]
            for path, lines in zip(paths, [*files, *anew]):
                path.write_text("".join(json.dumps(line) + "\n" for line in lines))
            if anew:
                paths.insert(len(files), "--anew")
            done = subprocess.run([sys.executable, SCRIPT, *paths], capture_output=True, text=True, check=True)
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        return {line["family"] + ("" if line["objective"] == "time" else " " + line["objective"]): line for line in lines}

    def test_the_winner_and_cublas_beside_it(self):
        first = [row("cublas", 5.0), row("tilewright", 3.0, best=False, config={"tile_m": 1}),
                 row("tilewright", 4.0, best=True, config={"tile_m": 2})]
        other = [row("cublas", 4.5, device_uuid="GPU-2"), row("tilewright", 4.2, best=True, config={"tile_m": 3}, device_uuid="GPU-2")]
        found = self.records(first, other)
        self.assertEqual((found["gemm"]["config"], found["gemm"]["seconds"]), ({"tile_m": 2}, 4.0))
        self.assertEqual(found["cublas"]["seconds"], 5.0, "of the same run")
        self.assertEqual(found["gemm"]["problem"], "gemm:f64:nn:m=9,n=9,k=9:residency=cold:location=device")

    def test_windows_of_energy_are_of_that_objective(self):
        windows = [row("cublas", 5.0, phase="energy", energy_j=3.0), row("tilewright", 4.0, best=True, config={"tile_m": 2}),
                   row("tilewright", 4.5, phase="energy", energy_j=2.5, config={"tile_m": 3}),
                   row("tilewright", 4.4, phase="energy", energy_j=2.6, config={"tile_m": 3}),
                   row("tilewright", 4.4, phase="energy", energy_j=2.7, config={"tile_m": 3}),
                   row("tilewright", 3.0, phase="energy", energy_j=None, config={"tile_m": 4}),
                   row("tilewright", 1.0, phase="energy_screen", energy_j=1.0, config={"tile_m": 5})]
        found = self.records(windows)
        self.assertEqual({key: (one["config"].get("tile_m"), one.get("energy_j")) for key, one in found.items()},
                         {"gemm": (4, None), "gemm energy": (3, 2.6), "cublas energy": (None, 3.0)})
        self.assertEqual(self.records([row("cublas", 5.0, phase="energy", energy_j=3.0)]), {}, "cuBLAS alone")

    def test_what_compiles_to_the_same_code_holds(self):
        rows = [row("cublas", 5.0), row("tilewright", 4.0, best=True, config={"tile_m": 2})]
        problem = "gemm:f64:nn:m=9,n=9,k=9:residency=cold:location=device"
        proof = {"family": "gemm", "problem": problem, "config": {"tile_m": 2}, "old_hash": "old", "new_hash": "new"}
        self.assertEqual(self.records(rows, [proof | {"same_code": True}])["gemm"]["source_hash"], "new")
        self.assertEqual(self.records(rows, [proof | {"same_code": False}])["gemm"]["source_hash"], "old")
        small = proof | {"family": "gemm_small", "new_hash": "of another family", "same_code": True}
        self.assertEqual(self.records(rows, [proof | {"same_code": True}, small])["gemm"]["source_hash"], "new")

    def test_what_is_measured_anew_counts_though_it_is_slower(self):
        old = [row("cublas", 5.0), row("tilewright", 3.0, best=True, config={"tile_m": 1}),
               row("tilewright", 4.0, phase="energy", energy_j=2.5, config={"tile_m": 3})]
        new = [row("cublas", 5.2), row("tilewright", 4.5, best=True, config={"tile_m": 2})]
        found = self.records(old, anew=[new])
        self.assertEqual((found["gemm"]["config"], found["cublas"]["seconds"]), ({"tile_m": 2}, 5.2))
        self.assertEqual(found["gemm energy"]["config"], {"tile_m": 3}, "another objective")
        screened = [{"phase": "screened", "problem": new[0]["problem"], "config": {"tile_m": 9}, "seconds": 1.0}]
        self.assertEqual(self.records(old, anew=[screened])["gemm"]["config"], {"tile_m": 1}, "nothing won there")

    def test_what_cannot_be_read_is_named(self):
        for arguments, words in (([], "FILE"), (["none.jsonl"], "none.jsonl"), (["--anwe", "x"], "--anwe")):
            done = subprocess.run([sys.executable, SCRIPT, *arguments], capture_output=True, text=True, check=False)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(words, done.stderr)
            self.assertNotIn("Traceback", done.stderr)


if __name__ == "__main__":
    unittest.main()
