"""The statistics that python/bench writes its results with."""

import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "python" / "bench"))
import turns


def rows(bench, case, seconds, **more):
    """What a bench writes of contenders that take `seconds` {name: samples}."""
    return list(turns.rows_of({"bench": bench, "case": case, **more}, seconds, 1e6))


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

    def test_the_fastest_peer_counts(self):
        made = rows("einsum", "chain", {"tilewright": [1e-3] * 3, "numpy": [5e-3] * 3, "torch": [3e-3] * 3})
        summed = turns.summary({"bench": "einsum"}, made)
        self.assertAlmostEqual(summed["speedup_geomean"], 3.0)
        self.assertEqual(summed["speedup_min_case"], "chain")

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
