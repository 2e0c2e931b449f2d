#!/usr/bin/env python3
"""Files that are also something else: outputs that are databases or inputs, names that SQLite has for other things, databases
that are locked or that somebody else made, lines without an end, pipes. Takes the tool's path."""

import contextlib
import json
import os
import sqlite3
import sys
import threading
import unittest

import hostile_test
from hostile_test import SMALL, Case

RECORD = {"family": "gemm_small_cpu", "device": "Abacus", "seconds": 1e-8, "config": {"isa": "portable"}, "problem": SMALL}


class Files(Case):
    def setUp(self):
        super().setUp()
        self.lines = self.work / "w.jsonl"
        self.lines.write_text(json.dumps(RECORD) + "\n")

    def database(self, name, change=""):
        path = self.work / name
        result = self.run_tool("wisdom", "import", self.lines, "--into", path)
        self.assertEqual(result.returncode, 0, result.stderr)
        if change:
            with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
                connection.executescript(change)
        return path

    def test_json_never_replaces_a_database(self):
        own = self.database("own.sqlite")
        before = own.read_bytes()
        for verb in (self.job, ("explain", SMALL), ("info",), ("bench", "gemm_small", "--sizes", "2"),
                     ("lu", self.a, "-o", self.c, "--pivots", self.work / "P.npy"), ("tune", SMALL, "--budget", "0.2s"),
                     ("wisdom", "list")):
            with self.subTest(verb=verb):
                self.assert_one_sentence(self.run_tool(*verb, "--json", own), 2, "json", own, "is a database")
        self.assert_one_sentence(self.run_tool("wisdom", "diff", self.lines, self.lines, "-o", own), 2, own, "is a database")
        self.assertEqual(own.read_bytes(), before)

    def test_outputs_are_no_inputs(self):
        log = self.work / "log"
        self.assertEqual(self.run_tool(*self.job, "--record", log).returncode, 0)
        link = self.work / "link"
        link.symlink_to(self.lines)
        before = log.read_bytes(), self.lines.read_bytes()
        for verb, says in ((("tune", "--from", log, "--json", log), "file of from"),
                           (("tune", SMALL, "--seeds", self.lines, "--json", link), "file of seeds"),
                           (("tune", SMALL, "--json", self.work / "new", "--sweep", self.work / "new"), "file of sweep"),
                           (("tune", "--check", "--wisdom", self.lines, "--json", self.lines), "file of wisdom"),
                           (("calibrate", "--log", log, "--json", log), "file of log"),
                           (("wisdom", "export", "--file", self.lines, "-o", self.lines), "file of file"),
                           (("wisdom", "list", "--file", self.lines, "--json", link), "file of file"),
                           (("wisdom", "diff", self.lines, log, "-o", self.lines), "file of FILE"),
                           (("bench", "gemm_small", "--record", log, "--json", log), "file of --record")):
            with self.subTest(verb=verb):
                self.assert_one_sentence(self.run_tool(*verb), 2, says)
        self.assertEqual((log.read_bytes(), self.lines.read_bytes()), before)

    def test_names_that_sqlite_has_for_other_things_are_files(self):
        for name in (":memory:", "file:x.db?mode=memory", "file::memory:"):
            result = self.run_tool("wisdom", "import", self.lines, "--into", name, cwd=self.work)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual((self.work / name).read_bytes()[:15], b"SQLite format 3")
            listed = self.run_tool("wisdom", "list", "--file", name, cwd=self.work)
            self.assertIn("1 record", listed.stdout.decode())

    def test_an_export_waits_for_a_lock(self):
        own = self.folder / "data" / "tilewright" / "wisdom.sqlite"
        own.parent.mkdir(parents=True)
        self.assertEqual(self.run_tool("wisdom", "import", self.lines).returncode, 0)
        connection = sqlite3.connect(own, isolation_level=None, check_same_thread=False)
        connection.execute("BEGIN EXCLUSIVE")
        held = threading.Timer(2, connection.close)
        held.start()
        result = self.run_tool("wisdom", "export", "-o", self.work / "backup.jsonl")
        held.join()
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("Abacus", (self.work / "backup.jsonl").read_text())
        self.assertIn("1 record written to ", result.stdout.decode())

    def test_rows_that_no_line_may_have_are_refused(self):
        for change, says in (("UPDATE records SET problem = 'nonsense'", "nonsense"),
                             ("UPDATE records SET time = 'yesterday'", "yesterday")):
            evil = self.database("evil.sqlite", change)
            self.assert_one_sentence(self.run_tool("wisdom", "import", evil, "--into", self.work / "own.sqlite"), 1, evil, says)
            result = self.run_tool("explain", SMALL, variables={"TILEWRIGHT_WISDOM": str(evil)})
            self.assertEqual(result.returncode, 0, result.stderr)
            evil.unlink()

    def test_numbers_of_records_come_to_an_end(self):
        full = self.database("full.sqlite", "UPDATE records SET id = 9223372036854775807")
        self.lines.write_text(json.dumps({**RECORD, "device": "Another"}) + "\n")
        result = self.run_tool("wisdom", "import", self.lines, "--into", full)
        if result.returncode != 0:
            self.assert_one_sentence(result, 1, full, "its record numbers are used up")

    def test_a_line_without_an_end_is_refused(self):
        log = self.work / "log"
        log.write_bytes(b"x" * (17 << 20))
        self.assert_one_sentence(self.run_tool("tune", "--from", log), 2, log, "line 1")

    def test_pipes_keep_nobody(self):
        own = self.folder / "data" / "tilewright"
        own.mkdir(parents=True)
        os.mkfifo(own / "wisdom.sqlite")
        for verb in (("info",), ("explain", SMALL), self.job):
            self.assertEqual(self.run_tool(*verb).returncode, 0)
        pipe = self.work / "blas.so"
        os.mkfifo(pipe)
        result = self.run_tool("info", variables={"TILEWRIGHT_CBLAS": str(pipe)})
        self.assertIn("is a pipe", result.stdout.decode() + result.stderr.decode())

    @unittest.skipIf(os.geteuid() != 0, "files of another user take root")
    def test_databases_follow_no_links_of_others_where_everybody_writes(self):
        shared = self.folder / "shared"
        shared.mkdir()
        shared.chmod(0o1777)
        link, target = shared / "link", self.work / "target.sqlite"
        link.symlink_to(target)
        os.lchown(link, 12345, 12345)
        self.assert_one_sentence(self.run_tool("wisdom", "import", self.lines, "--into", link), 1, link)
        self.assertFalse(target.exists())

    def test_what_is_not_kept_is_not_said_to_be(self):
        result = self.run_tool("info", "--measure", "--threads", "1", variables={"XDG_DATA_HOME": "/dev/null"})
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertNotIn("kept in       /dev/null", result.stdout.decode())
        self.assertIn("not kept", result.stdout.decode())

    def test_flags_that_do_nothing_are_refused(self):
        for verb, flag in ((("info", "--threads", "3"), "--threads"), (("info", "--megabytes", "5"), "--megabytes"),
                           (("bench", "gemm_small", "--sizes", "2", "--budget", "-1"), "--budget")):
            self.assert_one_sentence(self.run_tool(*verb), 2, flag)


if __name__ == "__main__":
    hostile_test.TOOL = sys.argv.pop(1)
    unittest.main()
