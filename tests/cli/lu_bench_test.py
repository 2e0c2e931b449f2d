#!/usr/bin/env python3
"""Drives `tilewright bench lu`, and `bench hybrid` with a simulated GPU, as users do, on the CPU and on a GPU that may be a fake one: which ways and peers take part, the keys
of the contract, what is refused. Takes the tool's path; further arguments go to unittest. How fast anything is no test can say."""

import sys
import unittest

sys.dont_write_bytecode = True
import gpu_bench_test
from gpu_bench_test import OnGpu

KEYS = ("family problem dtype m n lda layout batch_count location memory resident threads data impl impl_version seconds seconds_low "
        "seconds_high samples gflops bound_gflops bound_share bound_kind energy_j energy_note error error_bound verified info "
        "gpus gpu metrics device device_uuid driver commit time").split()
OWN_KEYS = "target select candidate nb ratio".split()
PARTS = "panel_s swap_s solve_s update_s".split()


class LuBench(OnGpu):
    FAMILY = ("lu",)

    def check(self, rows):
        for row in rows:
            ours = row["impl"] == "tilewright"
            self.assertEqual([key for key in (*KEYS, *(OWN_KEYS if ours else ())) if key not in row], [], row)
            self.assertEqual((row["family"], row["resident"], row["location"]), ("lu", "host", "host"))
            self.assertLess(row["error"], row["error_bound"])
            self.assertEqual((row["info"], row["metrics"]["other_pivots"]), (0, 0))
            if ours and row["candidate"] == "blocked":
                self.assertEqual([part for part in PARTS if not row["metrics"][part] >= 0], [])
            if ours:
                self.assertEqual(row["ratio"]["samples"], row["samples"])

    def variants(self, rows, **fields):
        return [row["metrics"]["variant"] for row in rows if all(row[key] == value for key, value in fields.items())]


class LuOnCpu(LuBench):
    """Without a GPU, or leaving it alone."""

    def no_gpu(self, *arguments):
        """On a machine with a GPU the job runs, and says nothing."""
        result = self.bench("--sizes", "60", *arguments, code=None)
        if result.returncode != 0:
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertIn("no GPU", result.stderr)

    def test_ours_beside_lapack(self):
        self.bench("--dtype", "f64,c64", "--sizes", "60,90x40,40x90", "--ways", "automatic,cpu", "--memory", "pageable", "--peers", "lapack")
        rows, summaries = self.rows()
        self.check(rows)
        self.assertEqual(self.variants(rows, m=90, dtype="c64"), ["getrf", "automatic", "cpu"])
        self.assertEqual({row["impl"] for row in rows}, {"lapack", "tilewright"})
        self.assertEqual({(row["m"], row["n"]) for row in rows}, {(60, 60), (90, 40), (40, 90)})
        self.assertEqual([(row["target"], row["candidate"]) for row in rows if row["m"] == 60 and row["impl"] == "tilewright"],
                         [("cpu", "lapack"), ("cpu", "blocked")] * 2)
        self.assertEqual([(line["dtype"], line["memory"]) for line in summaries], [("c64", "pageable"), ("f64", "pageable")])
        for summary in summaries:
            for key in ("ratio_geomean", "ratio_min", "ratio_min_case", "bound_share_geomean", "bound_share_min_case"):
                self.assertIsNotNone(summary[key])

    def test_panels_by_list_and_by_search(self):
        result = self.bench("--sizes", "130,64", "--nb", "auto,16,100,exhaustive", "--ways", "cpu", "--memory", "pageable")
        rows, summaries = self.rows()
        self.check(rows)
        tried = self.variants(rows, impl="tilewright", n=130)
        self.assertEqual(tried[:3], ["cpu", "cpu nb=16", "cpu nb=100"])
        self.assertEqual(tried[3:], ["exhaustive nb=16"])  # a panel of 100 leaves no update of note
        for row in rows:
            if row["impl"] == "tilewright":
                self.assertGreaterEqual(row["metrics"]["deviation"], 0)
            if row["metrics"]["variant"] == "exhaustive nb=16":
                self.assertEqual([one["nb"] for one in row["metrics"]["tried"]], [16])
        self.assertIn("nb = 100 is left out, because it exceeds the 64 columns", result.stdout)
        self.assertEqual(self.variants(rows, impl="tilewright", n=64)[:2], ["cpu", "cpu nb=16"])
        self.assertGreaterEqual(summaries[0]["deviation"]["cpu"]["mean"], 0)

    def test_targets_are_ways(self):
        self.bench("--sizes", "50", "--target", "cpu,auto", "--peers", "none", "--threads", "1", "--memory", "pageable")
        rows, _ = self.rows()
        self.assertEqual(sorted(self.variants(rows)), ["automatic", "cpu"])
        self.assertEqual({row["threads"] for row in rows}, {1})
        self.assertNotIn("ratio", rows[0])

    def test_a_simulated_gpu(self):
        result = self.bench("--sizes", "200", "--simulated-gpu", "50,4", "--nb", "auto,64,exhaustive", "--peers", "lapack")
        rows, summaries = self.rows()
        self.check(rows)
        self.assertEqual({(row["memory"], row["simulated"], row["gpu"], row["gpus"]) for row in rows},
                         {("pinned", "50 GFLOP/s of f64, 4 GB/s each way", None, 1)})
        variants = self.variants(rows)
        for variant in ("cpu", "gpu", "hybrid panel", "hybrid square nb=64", "hybrid flops", "exhaustive nb=64"):
            self.assertIn(variant, variants)
        self.assertIn("a simulated GPU: 50 GFLOP/s", result.stdout)
        self.assertEqual(summaries[0]["memory"], "pinned")

    def test_wrong_use(self):
        for arguments, says in ((("--ways", "sideways"), "--ways = 'sideways'"), (("--target", "tpu"), "--target = 'tpu'"),
                                (("--sizes", "0"), "--sizes"), (("--sizes", "4x5x6"), "MxN"), (("--nb", "0"), "--nb"),
                                (("--nb", "61"), "contains 61, more than the 60 columns"), (("--selects", "guess"), "--selects"),
                                (("--memory", "wet"), "--memory"), (("--peers", "openblas"), "--peers"),
                                (("--ways", "cpu", "--target", "cpu"), "--target = 'cpu'"), (("--split", "0.5"), "--split"),
                                (("--simulated-gpu", "50"), "--simulated-gpu"), (("--simulated-gpu", "0,4"), "positive"),
                                (("--simulated-gpu", "50,4", "--memory", "pageable"), "--memory"),
                                (("--simulated-gpu", "50,4", "--gpus", "1"), "--gpus"), (("--candidate", "magic"), "candidate"), (("--layout", "strided"), "--layout")):
            sizes = () if arguments[0] == "--sizes" else ("--sizes", "60")
            result = self.bench(*sizes, *arguments, code=2)
            self.assertIn(says, result.stderr, arguments)
        for arguments in (("--ways", "gpu"), ("--target", "hybrid"), ("--memory", "pinned")):
            self.no_gpu(*arguments)
        result = self.run_tool("bench", "gemm_small_cpu", "--nb", "8", "--json", self.out, code=2)
        self.assertIn("--nb", result.stderr)


class LuOnGpu(LuBench):
    """Over a GPU that may be the fake one."""

    def test_every_version_selection_and_memory(self):
        self.bench("--sizes", "150", "--nb", "48", "--gpus", "1", "--threads", "1")
        rows, summaries = self.rows()
        self.check(rows)
        for memory in ("pageable", "pinned"):
            self.assertEqual(self.variants(rows, memory=memory),
                             ["getrf", "getrf", "xgetrf", "automatic nb=48", "cpu nb=48", "gpu nb=48", "hybrid panel nb=48",
                              "hybrid square nb=48", "hybrid flops nb=48", "streamed nb=48"])
        self.assertEqual({row["impl"] for row in rows}, {"tilewright", "lapack", "cusolver"})
        self.assertEqual({row["gpus"] for row in rows}, {1})
        self.assertEqual({row["candidate"] for row in rows if row["metrics"]["variant"] in ("gpu nb=48", "hybrid flops nb=48")},
                         {"blocked"})
        self.assertEqual({row["candidate"] for row in rows if row["metrics"]["variant"] == "streamed nb=48"}, {"streamed"})
        selected = {row["metrics"]["variant"]: (row["target"], row["select"]) for row in rows if row["impl"] == "tilewright"}
        self.assertEqual(selected["hybrid square nb=48"], ("hybrid", "square"))
        self.assertEqual(selected["cpu nb=48"], ("cpu", None))
        self.assertEqual(sorted(summaries[0]["select_order"]), ["flops", "panel", "square"])

    def test_the_optimum_of_panels_and_shares(self):
        self.bench("--sizes", "120", "--nb", "auto,24,40,60,exhaustive", "--ways", "hybrid", "--selects", "panel,flops", "--threads", "1", "--memory",
                   "pinned")
        rows, summaries = self.rows()
        self.check(rows)
        found = [row for row in rows if row["metrics"]["variant"].startswith("exhaustive")]
        self.assertEqual(len(found), 2)
        self.assertEqual(sorted(one["nb"] for one in found[0]["metrics"]["tried"]), [24, 40, 60])
        self.assertEqual((found[0]["target"], found[0]["select"]), ("hybrid", None))
        self.assertEqual(set(summaries[0]["deviation"]), {"hybrid panel", "hybrid flops"})

    def test_peers_that_err_do_not_count(self):
        result = self.bench("--sizes", "70", "--ways", "automatic", "--memory", "pageable", TILEWRIGHT_FAKE_CUSOLVER="wrong")
        rows, _ = self.rows()
        self.assertEqual({row["impl"] for row in rows}, {"tilewright", "lapack"})
        self.assertIn("cusolver xgetrf: wrong factors", result.stdout)


class HybridOnCpu(OnGpu):
    """Products shared with a GPU that is simulated."""

    FAMILY = ("hybrid", "--beta", "1")

    def test_a_simulated_gpu(self):
        result = self.bench("--sizes", "384", "--simulated-gpu", "20,4", "--ways", "gpu,model,exhaustive", "--peers", "openblas")
        self.assertIn("a simulated GPU: 20 GFLOP/s of f64, 4 GB/s each way", result.stdout)
        rows, summaries = self.rows()
        self.assertEqual([row["metrics"]["variant"] for row in rows], ["gpu", "model", "exhaustive", "CPU only"])
        self.assertEqual({(row["memory"], row["simulated"], row["gpus"]) for row in rows}, {("pinned", "20 GFLOP/s of f64, 4 GB/s each way", 1)})
        of = {row["metrics"]["variant"]: row for row in rows}
        self.assertEqual(of["gpu"]["metrics"]["n_cpu"], 0)
        self.assertGreater(of["gpu"]["predicted_s"], 2 * 384**3 / 20e9)
        for variant in ("model", "exhaustive"):
            self.assertLessEqual(of[variant]["metrics"]["n_cpu"], 384)
        self.assertGreater(of["model"]["predicted_s"], 0)
        self.assertEqual(summaries[0]["memory"], "pinned")

    def test_wrong_use(self):
        for arguments, says in ((("--simulated-gpu", "20"), "--simulated-gpu"), (("--simulated-gpu", "20,4", "--memory", "pageable"), "--memory"),
                                (("--simulated-gpu", "20,4", "--gpus", "1"), "--gpus")):
            self.assertIn(says, self.bench("--sizes", "64", *arguments, code=2).stderr)
        self.assertIn("--simulated-gpu", self.run_tool("bench", "gemm_small_cpu", "--simulated-gpu", "20,4", code=2).stderr)


if __name__ == "__main__":
    gpu_bench_test.TOOL = sys.argv.pop(1)
    unittest.main()
