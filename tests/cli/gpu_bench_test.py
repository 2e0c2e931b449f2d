#!/usr/bin/env python3
"""Drives `tilewright bench gemm` as users do, on a GPU that may be a fake one: who takes part, the keys of the contract, what
is refused. Takes the tool's path; further arguments go to unittest. How fast anything is no test can say."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOL = None
KEYS = ("family problem dtype op m n k lda ldb ldc layout batch_count alpha beta residency location memory pointer_order numa "
        "threads target data impl impl_version config wisdom_match seconds seconds_low seconds_high samples gflops "
        "bound_gflops bound_share bound_kind ceiling energy_j watts gflops_per_watt error error_bound read_s kernel_s write_s "
        "total_s metrics device device_uuid driver commit time").split()


class BenchOnGpu(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.temporary.name)
        self.out = self.folder / "out.jsonl"

    def tearDown(self):
        self.temporary.cleanup()

    def bench(self, *arguments, code=0):
        environment = {**os.environ, "XDG_DATA_HOME": str(self.folder / "data"),
                       "XDG_CACHE_HOME": str(self.folder / "cache")}
        command = [TOOL, "bench", "gemm", "--megabytes", "1", "--repetitions", "2", "--json", str(self.out)]
        result = subprocess.run([*command, *map(str, arguments)], capture_output=True, text=True, timeout=300,
                                env=environment)
        self.assertEqual(result.returncode, code, result.stderr)
        return result

    def rows(self):
        lines = [json.loads(line) for line in self.out.read_text().splitlines()]
        self.assertIn("command", lines[0])
        return [line for line in lines[1:] if "summary" not in line], [line for line in lines if "summary" in line]

    def test_ours_beside_cublas(self):
        self.bench("--dtype", "f64,c64", "--sizes", "96,70x66x80", "--op", "nn,ct", "--beta", "0,1")
        rows, summaries = self.rows()
        self.assertEqual(len(rows), 2 * 2 * 2 * 2 * 3)
        self.assertEqual({row["impl"] for row in rows}, {"tilewright", "tilewright_default", "cublas"})
        for row in rows:
            self.assertEqual([key for key in KEYS if key not in row], [])
            self.assertEqual((row["family"], row["layout"], row["location"], row["target"], row["residency"]),
                             ("gemm", "single", "device", "gpu", "cold"))
            self.assertLessEqual(row["error"], row["error_bound"])
            self.assertIn(row["bound_kind"], ("memory", "compute"))
            if row["energy_j"] is None:
                self.assertTrue(row["energy_note"])
        self.assertEqual(len(summaries), 2 * 2 * 2)
        for summary in summaries:
            for key in ("ratio_geomean", "ratio_min", "ratio_min_case", "bound_share_geomean", "bound_share_min_case"):
                self.assertIsNotNone(summary[key])

    def test_ours_alone(self):
        result = self.bench("--sizes", "96", "--candidate", "stencil", "--counters")
        ours = [row for row in self.rows()[0] if row["impl"] != "cublas"]
        self.assertEqual([row["metrics"]["candidate"] for row in ours], ["gemm", "gemm"])
        self.assertIn("tile_m", ours[0]["config"])
        self.assertIn("predicted_cycles", ours[0]["metrics"])
        self.assertIn("registers", result.stdout)
        config = {**ours[0]["config"], "raster": 1}
        self.bench("--sizes", "96", "--candidate", "gemm", "--config", json.dumps(config), "--peers", "none")
        rows, _ = self.rows()
        self.assertEqual([row["config"]["raster"] for row in rows], [1])

    def test_the_vendors_library_as_the_candidate(self):
        self.bench("--sizes", "96", "--candidate", "cublas", "--dtype", "f32")
        self.assertEqual(self.rows()[0][0]["metrics"]["candidate"], "cublas")

    def test_strided_batches(self):
        self.bench("--sizes", "70", "--layout", "strided", "--batch", "3", "--beta", "1", "--configs", "2")
        self.assertEqual({row["batch_count"] for row in self.rows()[0]}, {3})

    def test_refusals(self):
        for arguments, says in ((("--layout", "pointer"), "--layout"), (("--peers", "openblas"), "--peers"),
                                (("--location", "host"), "--location"), (("--residency", "l2"), "--residency"),
                                (("--threads", "2"), "--threads"), (("--candidate", "fastest"), "candidate"),
                                (("--objective", "joules"), "--objective"), (("--config", '{"tile_m": 100}'), "config")):
            result = self.bench("--sizes", "96", *arguments, code=2)
            self.assertIn(says, result.stderr)
        result = self.bench("--sizes", "200000", code=2)
        self.assertIn("--sizes = gemm:f64:nn:m=200000", result.stderr)


if __name__ == "__main__":
    TOOL = sys.argv.pop(1)
    unittest.main()
