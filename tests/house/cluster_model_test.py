"""The model of pdgemm and pdgetrf on clusters: what it must say where the answer is known, and its command line."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
sys.dont_write_bytecode = True
import cluster_model as model

PLAIN = {"start_s": 0.0, "s_per_product": 1e-12, "s_per_c": 0.0, "s_per_ab": 0.0, "waiting_k": 0.0}
LINK = {"to_device": {"start_s": 0.0, "s_per_byte": 2e-11}, "duplex": 1.0}
FREE = {"latency_s": 0.0, "bytes_per_s": 1e30}
NODE = [{"model": "gemm_host", "dtype": "f64", "coefficients": PLAIN},
        {"model": "gemm_device", "dtype": "f64", "coefficients": dict(PLAIN, s_per_product=2e-14)},
        {"model": "transfer", "coefficients": LINK}]


class Model(unittest.TestCase):
    def setUp(self):
        self.memory = model.Cluster.memory_bytes_per_s
        model.Cluster.memory_bytes_per_s = 1e30

    def tearDown(self):
        model.Cluster.memory_bytes_per_s = self.memory

    def cluster(self, p, q, network=FREE, gpu=False):
        return model.Cluster(model.Rank(NODE, gpu), network, p, q)

    def test_one_rank_takes_what_its_product_takes(self):
        fitted = dict(PLAIN, start_s=1e-3, s_per_c=1e-10, s_per_ab=1e-9, waiting_k=20)
        rank = model.Rank([dict(NODE[0], coefficients=fitted)])
        one = model.Cluster(rank, FREE, 1, 1)
        self.assertEqual(one.gemm(1000, 900, 800, 64, 4096), model.product(fitted, 1000, 900, 800))
        self.assertAlmostEqual(one.gemm(1000, 900, 800, 64, 200), 4 * model.product(fitted, 1000, 900, 200))
        self.assertAlmostEqual(one.gemm(1000, 900, 850, 64, 200),
                               4 * model.product(fitted, 1000, 900, 200) + model.product(fitted, 1000, 900, 50))

    def test_a_free_network_scales_products_perfectly(self):
        alone = self.cluster(1, 1).gemm(4096, 4096, 4096, 64, 256)
        self.assertAlmostEqual(self.cluster(2, 4).gemm(4096, 4096, 4096, 64, 256) * 8 / alone, 1)
        self.assertGreater(self.cluster(2, 4, {"latency_s": 0, "bytes_per_s": 1e9}).gemm(4096, 4096, 4096, 64, 256) * 8 / alone, 1.1)

    def test_both_ways_of_lu_do_its_operations(self):
        n, nb = 8192, 64
        least = 2 * n**3 / 3 * PLAIN["s_per_product"] / 2
        for halves in (True, False):
            ratio = self.cluster(1, 1).lu(n, nb, n, halves) / least
            self.assertTrue(1 <= ratio < 1.06, f"halves {halves}: {ratio}")

    def test_halves_pay_where_c_goes_through_a_link(self):
        by_blocks, by_halves = (self.cluster(1, 2, gpu=True).lu(16384, 128, 4096, halves) for halves in (False, True))
        self.assertGreater(by_blocks, 2 * by_halves)

    def test_shares_are_the_largest(self):
        c = self.cluster(2, 3)
        self.assertEqual([c.share(n, 3, 64) for n in (64, 65, 192, 193, 640)], [64, 64, 64, 128, 256])
        self.assertEqual(c.share(10, 3, 64), 10)

    def test_the_best_grid_is_the_fastest_of_all(self):
        rank, network = model.Rank(NODE, True), {"latency_s": 1e-5, "bytes_per_s": 1e10}
        seconds, nb, p, q = model.best("lu", rank, network, 8192, 4, 2048, True)
        self.assertEqual(seconds, model.Cluster(rank, network, p, q).lu(8192, nb, 2048))
        for other_p, other_q in ((1, 4), (2, 2)):
            for other in model.BLOCKS:
                self.assertLessEqual(seconds, model.Cluster(rank, network, other_p, other_q).lu(8192, other, 2048))


class CommandLine(unittest.TestCase):
    def run_it(self, *arguments, lines=()):
        with tempfile.TemporaryDirectory() as folder:
            models, runs = (pathlib.Path(folder) / name for name in ("models.jsonl", "runs.jsonl"))
            models.write_text("".join(json.dumps(row) + "\n" for row in NODE))
            runs.write_text("".join(json.dumps(row) + "\n" for row in lines))
            filled = [str({"MODELS": models, "RUNS": runs}.get(a, a)) for a in arguments]
            return subprocess.run([sys.executable, ROOT / "scripts/cluster_model.py", *filled], capture_output=True, text=True)

    def test_check_sets_runs_beside_predictions(self):
        run = {"family": "distributed", "routine": "pdgemm", "n": 1000, "nb": 100, "grid": "1x1", "logical_block": 1000, "best_s": 0.002,
               "label": "cpu"}
        network = {"family": "distributed", "routine": "network", "latency_s": 1e-6, "bytes_per_s": 1e10}
        done = self.run_it("check", "RUNS", "--models", "MODELS", "--network", "RUNS", "--json", lines=(network, run))
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual(len(rows), 1)
        self.assertAlmostEqual(rows[0]["predicted_s"], 0.001)
        self.assertAlmostEqual(rows[0]["deviation"], -0.5)

    def test_scaling_to_ten_thousand_ranks_has_a_row_each(self):
        for routine, how in (("gemm", ["--weak"]), ("lu", ["--weak"]), ("gemm", [])):
            done = self.run_it("scale", routine, "--n", "20000", "--nodes", "1,100,10000", "--models", "MODELS", "--gpu", "--json", *how)
            self.assertEqual(done.returncode, 0, done.stderr)
            rows = [json.loads(line) for line in done.stdout.splitlines()]
            self.assertEqual([row["ranks"] for row in rows], [1, 100, 10000])
            self.assertEqual(rows[0]["efficiency"], 1)
            self.assertTrue(0 < rows[2]["efficiency"] < rows[0]["efficiency"])
            self.assertEqual(rows[2]["n"], 2000000 if how else 20000)

    def test_models_without_products_are_named(self):
        done = self.run_it("time", "gemm", "--models", "RUNS", lines=({"model": "transfer", "coefficients": LINK},))
        self.assertEqual(done.returncode, 1)
        self.assertIn("gemm_host", done.stderr)


if __name__ == "__main__":
    unittest.main()
