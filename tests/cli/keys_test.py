#!/usr/bin/env python3
"""Every verb that measures writes every key of a measurement, null where it cannot know it; explain says in JSON what it says in
words. Takes the tool's path; further arguments go to unittest. No value here is a matter of how fast this machine is."""

import json
import math
import sys
import unittest

import numpy

sys.dont_write_bytecode = True
import cli_test
from cli_test import Case

KEYS = ("family problem dtype op m n k lda ldb ldc layout batch_count alpha beta residency arrival location memory pointer_order numa threads "
        "target data impl impl_version config wisdom_match seconds seconds_low seconds_high samples gflops bound_gflops bound_share "
        "bound_kind ceiling energy_j watts gflops_per_watt error error_bound read_s kernel_s write_s total_s metrics device "
        "device_uuid driver commit time").split()
SUMMARY = ("summary family dtype layout op beta residency arrival threads target ratio_geomean ratio_min ratio_min_case bound_share_geomean "
           "bound_share_min bound_share_min_case").split()
SMALL = "gemm_batched:f64:nn:m=8,n=8,k=8:strided:batch=1000:residency=l1"


class Keys(Case):
    def ran(self, *arguments, code=0, **environment):
        result = cli_test.run(*arguments, **environment)
        self.assertEqual(result.returncode, code, result.stderr + result.stdout)
        return result

    def json(self, *arguments, **environment):
        return [json.loads(line) for line in self.ran(*arguments, "--json", "-", **environment).stdout.splitlines()]

    def check(self, row):
        self.assertEqual([key for key in KEYS if key not in row], [], row)
        self.assertIsInstance(row["metrics"], dict)
        if row["energy_j"] is None:
            self.assertTrue(row["energy_note"])

    def bench(self, *arguments):
        """The measured rows of a run, all of them with all keys, and its summaries."""
        lines = self.json("bench", *arguments, "--repetitions", "3")
        rows = [line for line in lines if "seconds" in line]
        for row in rows:
            self.check(row)
        summaries = [line for line in lines if "summary" in line]
        for summary in summaries:
            self.assertEqual([key for key in SUMMARY if key not in summary], [], summary)
        return rows, summaries

    def files(self):
        return self.save("A.npy", self.array((40, 40))), self.save("B.npy", self.array((40, 40)))

    def test_lu_and_gemm_on_files(self):
        a, b = self.files()
        gemm, = self.json("gemm", a, b, "-o", self.folder / "C.npy")
        lu, = self.json("lu", a, "-o", self.folder / "LU.npy", "--pivots", self.folder / "P.npy", "--candidate", "blocked", "--nb", "8")
        solve, = self.json("solve", a, b, "-x", self.folder / "X.npy", "--verify")
        for row in (gemm, lu, solve):
            self.check(row)
            self.assertEqual(row["target"], "cpu")
        self.assertEqual(lu.get("energy_note"), gemm.get("energy_note"))  # one meter, read in one way
        self.assertIn("clock_mhz_low", lu["metrics"])
        self.assertEqual((lu["config"], lu["wisdom_match"], lu["k"]), ({"candidate": "blocked", "nb": 8}, "default", None))

    def test_bench_lu(self):
        rows, summaries = self.bench("lu", "--sizes", "50", "--ways", "automatic", "--memory", "pageable")
        self.assertEqual({row["target"] for row in rows if row["impl"] in ("lapack", "tilewright")}, {"cpu"})
        self.assertTrue(all(row["config"]["candidate"] for row in rows if row["impl"] == "tilewright"))
        self.assertEqual({summary["target"] for summary in summaries}, {"cpu"})

    def test_bench_layout(self):
        rows, _ = self.bench("layout", "--sizes", "4", "--residency", "l1", "--beta", "1", "--peers", "none")
        parts = {row["metrics"]["what"]: row for row in rows}
        self.assertLess(parts["direct"]["error"], parts["direct"]["error_bound"])
        self.assertIn(parts["direct"]["wisdom_match"], ("default", "exact", "near_shape", "near_device"))
        self.assertIsNone(parts["convert_in"]["error"])

    def test_bench_transfer(self):
        rows, _ = self.bench("transfer", "--sizes", "4", "--batch", "100")
        self.assertTrue(rows)

    def test_bench_overhead(self):
        rows, _ = self.bench("overhead", "--sizes", "4", "--beta", "1")
        for row in rows:
            self.assertEqual(row["target"], "gpu" if row["metrics"]["what"].startswith("g") and row["location"] == "device" else "cpu")
        call, = (row for row in rows if row["metrics"]["what"] == "plan_call")
        self.assertEqual((call["op"], call["lda"], call["layout"], call["batch_count"], call["threads"]), ("nn", 4, "single", 1, 1))

    def test_what_seconds_cover(self):
        rows, _ = self.bench("gemm_small_cpu", "--sizes", "8", "--residency", "l1", "--threads", "1,2", "--beta", "1", "--peers", "none")
        self.assertEqual({row["threads"] for row in rows}, {1, 2})
        for row in rows:
            self.assertEqual(row["batches_at_once"], row["threads"])
            work = 2 * 8 ** 3 * row["batch_count"] * row["batches_at_once"]
            self.assertTrue(math.isclose(row["gflops"], work / row["seconds"] * 1e-9, rel_tol=1e-5), row)

    def test_explain(self):
        rows = self.json("explain", SMALL, "gemm:f64:nn:m=300,n=300,k=300", "lu:f64:m=300,n=300", "lu:f64:m=0,n=3")
        for row in rows:
            for key in ("predicted_s", "threads", "recorded_seconds", "regret", "config", "config_source", "wisdom_match", "candidate",
                        "candidates"):
                self.assertIn(key, row)
        text = self.ran("explain", SMALL).stdout
        self.assertIn(f"predicted  about {rows[0]['predicted_s'] * 1e6:.3g} us", text)
        self.assertEqual(rows[0]["recorded_seconds"] is None, "\nrecorded " not in text)
        if rows[0]["regret"] is not None:
            self.assertIn(f"regret of the default {100 * rows[0]['regret']:.1f} %", " ".join(text.split()))
        taken = [one for one in rows[2]["candidates"] if one["taken"]]
        self.assertEqual([one["name"] for one in taken], [rows[2]["candidate"]])
        self.assertIn(f"{taken[0]['name']}: taken; {taken[0]['description']}", rows[2]["text"])
        self.assertEqual((rows[3]["candidate"], rows[3]["candidates"]), ("", []))

    def test_explain_tells_what_was_recorded(self):
        own = {"TILEWRIGHT_WISDOM": str(self.folder / "own.sqlite")}
        self.ran("tune", SMALL, "--budget", "0.5s", "--clock", "turns", **own)
        row, = self.json("explain", SMALL, **own)
        self.assertEqual(row["wisdom_match"], "exact")
        self.assertGreater(row["recorded_seconds"], 0)
        self.assertGreaterEqual(row["regret"], 0)

    def test_one_name_of_the_device(self):
        a, b = self.files()
        names = {self.json("info")[0]["device"], self.json("gemm", a, b, "-o", self.folder / "C.npy")[0]["device"],
                 self.json("explain", SMALL)[0]["device"]}
        names |= {row["device"] for row in self.bench("overhead", "--sizes", "4", "--beta", "1")[0] if row["target"] == "cpu"}
        names |= {row["device"] for row in self.json("tune", SMALL, "--budget", "0.2s", "--clock", "turns", "--wisdom", "none")}
        self.assertEqual(len(names), 1, names)

    def test_scalars_out_of_range(self):
        a, b = self.files()
        single = [self.save(name, numpy.ones((3, 3), "f4")) for name in ("S.npy", "T.npy")]
        job = ("gemm", a, b, "-o", self.folder / "C.npy")
        for arguments in ((*job, "--alpha", "1e400"), (*job, "--alpha=-1e400"), (*job, "--c", a, "--beta", "1e400"),
                          (*job, "--alpha", "1+1e400j"), ("gemm", *single, "-o", self.folder / "C.npy", "--alpha", "1e39"),
                          ("bench", "--alpha", "1e400"), ("bench", "--beta", "1e400"), ("bench", "--dtype", "f32", "--alpha", "1e39"),
                          ("bench", "--dtype", "c64", "--beta", "1e39")):
            self.assertIn("out of range", self.ran(*arguments, code=2).stderr, arguments)
        self.assertFalse((self.folder / "C.npy").exists())
        self.ran(*job, "--alpha", "1e300")

    def test_what_is_not_built_is_said_to_be(self):
        a, b = self.files()
        for arguments in (("bench", "clients"),
                          ("bench", "--math", "emulated"), ("gemm", a, b, "-o", self.folder / "C.npy", "--math=emulated"),
                          ("tune", "--part", "1/2")):
            self.assertIn("is not implemented in this version", self.ran(*arguments, code=2).stderr, arguments)
        self.assertIn("'facto' is not a verb", self.ran("facto", "--help", code=2).stderr)

    def test_hybrid_asks_for_a_gpu(self):
        """On a machine with a GPU the job runs."""
        has_gpu = bool(self.json("info")[0]["gpus"])
        for arguments in (("--memory", "pinned", "--gpus", "1"), ("--ways", "gpu")):
            result = self.ran("bench", "hybrid", "--sizes", "64", "--peers", "none", "--repetitions", "1", *arguments,
                              code=0 if has_gpu else 2)
            if not has_gpu:
                self.assertRegex(result.stderr, f"{arguments[0]} = '{arguments[1]}' needs a GPU: no GPU")

    def test_helps(self):
        self.assertIn("FILE...", self.ran("wisdom", "diff", "--help").stdout)
        self.assertIn("third file", self.ran("wisdom", "diff", "a", "b", "c", code=2).stderr)
        self.assertEqual(self.ran("analyze", "--help").stdout.count("Example: tilewright analyze"), 2)

    def test_tune_is_short(self):
        job = ("tune", SMALL, "--budget", "0.2s", "--clock", "turns", "--wisdom", "none")
        short, whole = self.ran(*job).stdout, self.ran(*job, "--verbose").stdout
        self.assertLessEqual(len(short.splitlines()), 4)
        self.assertNotIn("branches of the space", short)
        self.assertIn("branches of the space", whole)


if __name__ == "__main__":
    cli_test.TOOL = sys.argv.pop(1)
    unittest.main()
