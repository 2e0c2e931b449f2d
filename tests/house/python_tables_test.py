"""Tables of docs/python.md from results that are made up here, and the statistics of python/bench that such results are written with."""

import json
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "python" / "bench")]
import python_tables
import turns


def rows(bench, case, seconds, **more):
    """What a bench writes of contenders that take `seconds` {name: samples}."""
    return list(turns.rows_of({"bench": bench, "case": case, **more}, seconds, 1e6))


class Tables(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.folder.name)
        (self.root / "results" / "box").mkdir(parents=True)

    def tearDown(self):
        self.folder.cleanup()

    def write(self, name, lines):
        path = self.root / "results" / "box" / name
        path.write_text("".join(json.dumps(line) + "\n" for line in [{"command": "bench", "device": "A box"}, *lines]))

    def test_without_a_run_a_table_says_so(self):
        for name in python_tables.TABLES:
            self.assertIn("No run of python/bench/bench_", python_tables.table(f"table={name} machine=box", self.root))

    def test_matmul_has_each_size_and_the_mean_and_newer_runs_win(self):
        about = {"dtype": "float64", "batch_count": 1000, "threads": 1}
        first = rows("matmul", "f 2", {"tilewright": [1e-6] * 3, "numpy": [9e-6] * 3}, n=2, **about)
        newer = rows("matmul", "f 2", {"tilewright": [1e-6] * 3, "numpy": [4e-6] * 3}, n=2, **about)
        other = rows("matmul", "f 3", {"tilewright": [2e-6] * 3, "numpy": [2e-6] * 3}, n=3, **about)
        self.write("python-20260101.jsonl", first + other)
        self.write("python-20260102.jsonl", newer)
        table = python_tables.table("table=matmul machine=box", self.root)
        self.assertIn("| 2 | 4 | 1 | 4.00 |", table)
        self.assertIn("| 3 | 2 | 2 | 1.00 |", table)
        self.assertIn("| all, geometric mean |  |  | 2.00 |", table)
        self.assertIn("A box", table)

    def test_the_fastest_peer_counts(self):
        seconds = {"tilewright": [1e-3] * 3, "numpy": [5e-3] * 3, "torch": [3e-3] * 3}
        self.write("python-20260101.jsonl", rows("einsum", "chain", seconds, subscripts="ab,bc", threads=1, copies=0))
        table = python_tables.table("table=einsum machine=box", self.root)
        self.assertIn("| chain: `ab,bc` | 5 | 3 | 1 | 3.00 | 0 |", table)
        summed = turns.summary({"bench": "einsum"}, rows("einsum", "chain", seconds))
        self.assertAlmostEqual(summed["speedup_geomean"], 3.0)
        self.assertEqual(summed["speedup_min_case"], "chain")

    def test_device_has_types_side_by_side(self):
        for dtype, factor in (("float64", 2), ("float32", 4)):
            self.write(f"python-20260101-{dtype}.jsonl", rows(
                "device_matmul", dtype, {"tilewright": [1e-3], "torch.bmm": [factor * 1e-3]}, n=8, dtype=dtype))
        self.assertIn("| 8 | 0 | 1 | 2.00 | 0 | 1 | 4.00 |", python_tables.table("table=device machine=box", self.root))


class Statistics(unittest.TestCase):
    def test_intervals_of_the_median(self):
        self.assertEqual(turns.interval(range(5)), (0, 4))  # five samples give no 95 %
        self.assertEqual(turns.interval(range(6)), (0, 5))
        self.assertEqual(turns.interval(range(11)), (1, 9))  # 2 * (1 + 11) / 2 ** 11 is 1.2 %, one more 6.5 %
        self.assertEqual(turns.median([3, 1, 2, 10]), 2.5)

    def test_speedups_are_paired_by_rounds(self):
        made = rows("x", "y", {"tilewright": [1.0, 2.0, 4.0], "peer": [3.0, 6.0, 12.0]})
        self.assertEqual(made[1]["speedup"]["centre"], 3.0)
        self.assertNotIn("speedup", made[0])

    def test_turns_begin_with_another_contender_each_round(self):
        order = []

        class Clock:
            def seconds(self, run, repeats):
                run()
                return 1.0

        runs = turns.Turns(Clock(), {"a": lambda: order.append("a"), "b": lambda: order.append("b")})
        order.clear()
        self.assertEqual(runs.samples(2), {"a": [1.0, 1.0], "b": [1.0, 1.0]})
        self.assertEqual(order, ["a", "b", "b", "a"])

    def test_sizes(self):
        self.assertEqual(turns.sizes("2:4,7"), [2, 3, 4, 7])


if __name__ == "__main__":
    unittest.main()
