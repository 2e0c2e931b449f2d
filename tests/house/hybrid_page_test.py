#!/usr/bin/env python3
"""The page that scripts/hybrid_page.py makes, from a small run that is made up here: the paper's figures beside ours, deviations,
peers, and nothing at all without a run."""

import json
import pathlib
import shutil
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import hybrid_page


def measured(n, impl, variant, seconds, memory="pinned", **more):
    row = {"family": "hybrid", "dtype": "f64", "m": n, "n": n, "k": n, "impl": impl, "memory": memory, "seconds": seconds,
           "transfer_s": 0.001, "compute_s": 0.002, "metrics": {"variant": variant, "n_cpu": n // 8}}
    return row | more


class HybridPage(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp())
        (self.root / "results" / "card").mkdir(parents=True)

    def tearDown(self):
        shutil.rmtree(self.root)

    def record(self, rows, name="hybrid-20260101.jsonl"):
        lines = [{"command": "tilewright bench hybrid", "device": "a card"}, *rows]
        (self.root / "results" / "card" / name).write_text("".join(json.dumps(line) + "\n" for line in lines))

    def test_no_run_no_page(self):
        self.assertEqual(hybrid_page.page_of(self.root), (None, []))
        self.record([measured(768, "tilewright", "model", 1)])  # nothing to hold it against
        self.assertEqual(hybrid_page.page_of(self.root), (None, []))

    def test_table_1_and_peers(self):
        self.record([measured(768, "tilewright", "model", 0.0033, predicted_s=0.003), measured(768, "tilewright", "guided", 0.0031),
                     measured(768, "tilewright", "exhaustive", 0.003), measured(768, "tilewright", "automatic", 0.0032),
                     measured(768, "cublasxt", "block 1024 CPU 0", 0.008), measured(768, "cublasxt", "block 2048 CPU 0", 0.007),
                     measured(768, "openblas", "CPU only", 0.02), measured(512, "tilewright", "model", 0.001, memory="pageable"),
                     {"summary": True, "family": "hybrid", "memory": "pinned"}])
        page, drawn = hybrid_page.page_of(self.root)
        self.assertIn("| 768 | 0 | 0.0036 | 0 | 0.0036 | 0.00 | 96 | 3.300 | 96 | 3.100 | 96 | 3.000 | 10.00 | 3.000 |", page)
        self.assertIn("| 9216 | 1376 | 1.9682 | 1280 | 1.5803 | 24.55 |", page)
        self.assertIn("Mean deviation 10.00 %", page)
        self.assertIn("| 768 | 3.200 | 7.000 | 20.000 | 2.000 |", page)
        self.assertIn("pageable operands", page)
        self.assertEqual(len(drawn), 1)
        self.assertIn("768 1.1\n", drawn[0].script)

    def test_deviations_of_the_paper_are_those_it_printed(self):
        self.record([measured(1536, "tilewright", "model", 2), measured(1536, "tilewright", "exhaustive", 1)])
        page, _ = hybrid_page.page_of(self.root)
        self.assertIn("| 1536 | 48 | 0.0199 | 0 | 0.0171 | 16.61 |", page)
        self.assertIn("(the paper: 3.90 %), worst 100.00 % (24.55 %)", page)

    def test_a_split_that_gives_the_cpu_nothing_is_no_selection(self):
        nothing = {"metrics": {"variant": "model", "n_cpu": 0}}
        self.record([measured(768, "tilewright", "model", 0.0033, **nothing), measured(768, "tilewright", "exhaustive", 0.003)])
        page, _ = hybrid_page.page_of(self.root)
        self.assertIn("The model gives the CPU nothing in all 1 sizes", page)
        self.assertNotIn("(the paper: 3.90 %)", page)

    def test_shares_of_other_products(self):
        thin = [measured(768, "tilewright", variant, seconds, k=64) for variant, seconds in
                (("automatic", 0.0011), ("exhaustive", 0.0012), ("gpu", 0.001))]
        square = [measured(768, "tilewright", "model", 0.0033), measured(768, "tilewright", "exhaustive", 0.003)]
        self.record(square)
        self.assertNotIn("Where the CPU has a share", hybrid_page.page_of(self.root)[0])
        self.record(thin, "hybrid-20260102.jsonl")
        page, _ = hybrid_page.page_of(self.root)
        self.assertIn("| 768x768x64 | pinned | 96 | 1.100 | 96 | 1.200 | 1.000 | 10.00 |", page)

    def test_the_newest_run_counts(self):
        best = measured(768, "tilewright", "exhaustive", 0.5)
        self.record([measured(768, "tilewright", "model", 1), best])
        self.record([measured(768, "tilewright", "model", 2), best], "hybrid-20260202.jsonl")
        self.record([measured(768, "tilewright", "model", 3)], "hybrid-20260303.jsonl")
        page, _ = hybrid_page.page_of(self.root)
        self.assertIn("2000.000", page)
        self.assertNotIn("1000.000", page)


if __name__ == "__main__":
    unittest.main()
