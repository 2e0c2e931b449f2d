#!/usr/bin/env python3
"""What scripts/check_numbers.py finds in pages and results that are made up here: numbers that are not those of the results, marks
that say nothing, and blocks that quote results without one."""

import json
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import check_numbers

ROWS = [{"command": "make it"},
        {"n": 8, "impl": "ours", "seconds": 0.00204, "ratio": {"centre": 1.496}, "m": 8},
        {"n": 8, "impl": "theirs", "seconds": 0.00306, "m": 8}, {"n": 8, "impl": "theirs", "seconds": 0.00408, "m": 8},
        {"n": 16, "impl": "ours", "seconds": 0.01, "m": 4}, {"n": 16, "impl": "theirs", "seconds": 0.005, "m": 4}]


class Numbers(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.temporary.name)
        (self.root / "results" / "card").mkdir(parents=True)
        (self.root / "results" / "card" / "run.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))

    def tearDown(self):
        self.temporary.cleanup()

    def faults(self, text, *lines, file="results/card/run.jsonl"):
        mark = "<!-- numbers " + file + "\n" + "".join(line + "\n" for line in lines) + "-->\n"
        return check_numbers.check_page(text + "\n" + mark + "\nMore, 7.5.\n", self.root)[0]

    def test_numbers_that_are_right(self):
        text = "First 9.9.\n\nOurs takes 2.04 and 10.0 ms, 1.5 times as fast as the better 3.06; at m = n 1 row of ours. 0.50 at 16."
        self.assertEqual(self.faults(text, "2.04 10.0 = impl=ours n=8|16 get=seconds times=1e3",
                                     "1.5 = n=8 impl=theirs over=impl=ours best=min get=seconds", "1.5 = impl=ours n=8 get=ratio/centre",
                                     "3.06 = impl=theirs n=8 best=min get=seconds times=1e3", "1 = impl=ours n=@m get=seconds count",
                                     "0.50 = impl=theirs n=16 over=impl=ours get=seconds"), [])

    def test_rows_that_are_paired(self):
        text = "Theirs over ours is 1.00 in the mean, 0.50 at least; 4.1 ms in the middle of three."
        self.assertEqual(self.faults(text, "1.00 = impl=theirs get=seconds over=impl=ours by=n best=max times=0.5",
                                     "0.50 = impl=theirs get=seconds over=impl=ours by=n best=min",
                                     "4.1 = impl=theirs get=seconds median times=1e3"), [])
        (fault,) = self.faults(text, "0.50 = impl=theirs get=seconds over=impl=nobody by=n best=min")
        self.assertIn("no row has seconds", fault)

    def test_rows_of_a_range(self):
        text = "Ours takes 2.04 to 10.0 ms, 4.5 in the mean of 2."
        self.assertEqual(self.faults(text, "2.04 = impl=ours n=4:15 get=seconds times=1e3", "10.0 = impl=ours n=9:16 get=seconds times=1e3",
                                     "4.5 = impl=ours n=8:16 get=seconds geomean times=1e3", "2 = impl=ours n=1:16 get=seconds count"), [])
        self.assertIn("no row has seconds", self.faults(text, "2.04 = impl=ours n=9:15 get=seconds")[0])

    def test_a_later_file_counts(self):
        rows = [{"problem": "p", "impl": "ours", "seconds": seconds} for seconds in (1.5, 2.5)]
        for name, row in zip(("first", "second"), rows):
            (self.root / "results" / "card" / f"{name}.jsonl").write_text(json.dumps(row) + "\n")
        files = [f"results/card/{name}.jsonl" for name in ("first", "second")]
        self.assertEqual(self.faults("It takes 2.5 s.", "2.5 = impl=ours get=seconds", file=" ".join(files)), [])
        self.assertEqual(self.faults("It takes 1.5 s.", "1.5 = impl=ours get=seconds", file=" ".join(files[::-1])), [])
        self.assertIn("is not there", self.faults("It takes 1.5 s.", "1.5 = get=seconds", file=files[0] + " results/none")[0])

    def test_numbers_that_are_wrong(self):
        text = "Ours takes 2.05 ms and 10.0, 1,234 in all."
        ours = "impl=ours n=8 get=seconds times=1e3"
        for line, says in (("2.05 = " + ours, "2.05 is 2.04 in the results"), ("7.5 = " + ours, "7.5 is not in the text"),
                           ("10.0 2.05 = impl=ours n=16|8 get=seconds times=1e3", "not in this order"),
                           ("2.05 10.0 = " + ours, "2 numbers and 1 values"), ("2.05 = impl=nobody get=seconds", "no row has seconds"),
                           ("2.05 = impl=theirs n=8 get=seconds", "2 rows have seconds"), ("2.05 is it", "is not NUMBERS = QUERY"),
                           ("2.05 = impl=ours n=8|16 m=8|4 get=seconds", "two keys have lists"),
                           ("1,234 = impl=ours n=16 get=seconds times=1e5", "1,234 is 1000 in the results")):
            with self.subTest(line=line):
                (fault,) = self.faults(text, line)
                self.assertIn(says, fault)
        self.assertIn("is not there", self.faults(text, "2.05 = " + ours, file="results/card/gone.jsonl")[0])

    def test_blocks_without_a_mark_are_counted(self):
        quoting = "It takes 2.04 ms ([run](results/card/run.jsonl)).\n"
        mark = "<!-- numbers results/card/run.jsonl\n2.04 = impl=ours n=8 get=seconds times=1e3\n-->\n"
        generated = "<!-- table x=y -->\n" + quoting + "<!-- end of table -->\n"
        for text, count in ((quoting, 1), (quoting + mark, 0), (quoting + "\n" + mark, 0), (quoting + mark + "\n" + quoting, 1),
                            (generated, 0), ("Nothing is quoted of [it](results/card/run.jsonl), see `2.04`.\n", 0)):
            with self.subTest(text=text):
                faults, unmarked = check_numbers.check_page(text, self.root)
                self.assertEqual((faults, len(unmarked)), ([], count))


if __name__ == "__main__":
    unittest.main()
