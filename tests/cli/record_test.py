#!/usr/bin/env python3
"""Drives the built tool's `record`. Takes the tool's path."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOL = None


class Record(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.temporary.name)

    def tearDown(self):
        self.temporary.cleanup()

    def record(self, *arguments):
        return subprocess.run([TOOL, "record", *map(str, arguments)], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=300)

    def test_records_that_would_count_wrongly(self):
        log, other = self.folder / "log.jsonl", self.folder / "other.jsonl"
        line = {"problem": "gemm:f64:nn:m=4,n=4,k=4", "count": 2, "seconds": 0.5, "residency": "l1"}
        log.write_text(json.dumps(line) + "\n")
        listed = self.record("list", log, "--top", "0")
        self.assertEqual(listed.returncode, 0, listed.stderr)
        self.assertNotIn("m=4", listed.stdout)
        self.assertIn("1 problem, 500 ms", listed.stdout)
        self.assertEqual(self.record("list", log, "--top", "-1").returncode, 2)
        (self.folder / "link.jsonl").symlink_to(log)
        for again in (log, self.folder / "link.jsonl"):
            merged = self.record("merge", log, again, "-o", other)
            self.assertEqual(merged.returncode, 2)
            self.assertIn("is given twice", merged.stderr)
            self.assertFalse(other.exists())
        for key, value in (("count", -2), ("seconds", -0.5)):
            other.write_text(json.dumps({**line, key: value}) + "\n")
            listed = self.record("list", other)
            self.assertEqual(listed.returncode, 1)
            self.assertIn(f"{key} = {value}", listed.stderr)


if __name__ == "__main__":
    TOOL = sys.argv.pop(1)
    unittest.main()
