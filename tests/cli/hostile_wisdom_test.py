#!/usr/bin/env python3
"""Drives the built tool with wisdom that others wrote, locked or changed: lines and databases that no measurement gives, and
several searches at once. Takes the tool's path."""

import contextlib
import json
import signal
import sqlite3
import subprocess
import sys
import time
import unittest

sys.dont_write_bytecode = True
import hostile_test
from hostile_test import RECORD, SMALL, Case


class Wisdom(Case):
    MODEL = {"model": "transfer", "device": "Abacus", "coefficients": {}}

    def refused(self, line, *says):
        lines = self.work / "w.jsonl"
        lines.write_text(json.dumps(RECORD) + "\n" + json.dumps(line) + "\n")
        own = self.work / "own.sqlite"
        for result in (self.run_tool("wisdom", "import", lines, "--into", own),
                       self.run_tool("explain", SMALL, variables={"TILEWRIGHT_WISDOM": str(lines), "TILEWRIGHT_CPU": "portable"})):
            self.assert_one_sentence(result, 1, f"'{lines}': line 2 is invalid", *says)
        self.assertFalse(own.exists())

    def test_what_no_measurement_gives_is_refused(self):
        for key, value in (("seconds", -1), ("samples", -7), ("energy_j", -5), ("default_seconds", -1e-9),
                           ("time", "yesterday"), ("verdict", "maybe"), ("error", -1)):
            with self.subTest(key=key):
                self.refused({**RECORD, key: value}, key, value)
        for key, value in (("mr", 100000), ("prefetch_bytes", -1)):
            with self.subTest(key=key):
                self.refused({**RECORD, "config": {"isa": "portable", key: value}}, f"{key} = {value}")
        self.refused({"model": "transfer"}, "device")
        self.refused({**self.MODEL, "samples": -1}, "samples = -1")
        lines = self.work / "good.jsonl"
        lines.write_text(json.dumps({**RECORD, "time": "2016-11-21", "verdict": "failed"}) + "\n" +
                         json.dumps(self.MODEL) + "\n")
        result = self.run_tool("wisdom", "import", lines, "--into", self.work / "own.sqlite")
        self.assertIn("1 of 1 record", result.stdout.decode(), result.stderr)

    def test_many_lines_are_announced(self):
        lines = self.work / "w.jsonl"
        lines.write_text(json.dumps({**RECORD, "note": "x" * 999000}) + "\n")
        text = lines.read_text()
        with open(lines, "a") as file:
            for _ in range(40):
                file.write(text)
        own = {"TILEWRIGHT_WISDOM": str(lines), "TILEWRIGHT_NOTICES": "on"}
        for result in (self.run_tool("explain", SMALL, variables=own),
                       self.run_tool("wisdom", "import", lines, "--into", self.work / "own.sqlite")):
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn(f"reading the 39 MiB of '{lines}'", result.stderr.decode())

    def test_a_hostile_database_is_refused_by_every_verb_and_left_alone(self):
        own, lines = self.work / "own.sqlite", self.work / "w.jsonl"
        lines.write_text(json.dumps(RECORD) + "\n")
        endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n"
        for name, change, says in (
                ("trigger", "CREATE TRIGGER wipe AFTER INSERT ON records BEGIN DELETE FROM records; END", "trigger 'wipe'"),
                ("view", f"DROP TABLE models; CREATE VIEW models AS {endless}", "view 'models'"),
                ("text", "UPDATE records SET device = CAST(x'ff41' AS TEXT)", "a 'device' that is not UTF-8 text")):
            evil = self.work / f"{name}.sqlite"
            self.assertEqual(self.run_tool("wisdom", "import", lines, "--into", evil).returncode, 0)
            with contextlib.closing(sqlite3.connect(evil, isolation_level=None)) as connection:
                connection.executescript(change)
            before = evil.read_bytes()
            verbs = [("wisdom", "import", evil, "--into", own), ("wisdom", "merge", evil, "--into", own),
                     ("wisdom", "list", "--file", evil), ("wisdom", "export", "--file", evil), ("wisdom", "diff", lines, evil)]
            if name != "text":
                verbs += [("wisdom", "import", lines, "--into", evil), ("tune", SMALL, "--budget", "0.2s", "--wisdom", evil)]
            for verb in verbs:
                with self.subTest(name=name, verb=verb):
                    self.assert_one_sentence(self.run_tool(*verb), 1, evil, says)
            if name != "text":
                self.assert_one_sentence(self.run_tool("explain", SMALL, variables={"TILEWRIGHT_WISDOM": str(evil)}), 1, evil, says)
            self.assertEqual(evil.read_bytes(), before)
        self.assertFalse(own.exists())

    def test_an_export_never_replaces_a_database(self):
        own, lines = self.work / "own.sqlite", self.work / "w.jsonl"
        lines.write_text(json.dumps(RECORD) + "\n")
        self.assertEqual(self.run_tool("wisdom", "import", lines, "--into", own).returncode, 0)
        before = own.read_bytes()
        self.assert_one_sentence(self.run_tool("wisdom", "export", "--file", lines, "-o", own), 2, own, "is a database")
        self.assertEqual(own.read_bytes(), before)

    def test_a_locked_database_is_seen_before_the_search(self):
        own = self.work / "own.sqlite"
        tune = ("tune", SMALL, "--budget", "0.2s", "--clock", "turns", "--wisdom", own)
        self.assertEqual(self.run_tool(*tune).returncode, 0)
        log = self.folder / "data" / "tilewright" / "sweep.jsonl"
        before = log.read_bytes()
        connection = sqlite3.connect(own, isolation_level=None)
        connection.execute("BEGIN EXCLUSIVE")
        try:
            self.assert_one_sentence(self.run_tool(*tune), 1, own, "locked")
        finally:
            connection.close()
        self.assertEqual(log.read_bytes(), before)

    def test_a_database_that_is_locked_later_costs_no_measurements(self):
        own = self.work / "own.sqlite"
        log = self.folder / "data" / "tilewright" / "sweep.jsonl"
        process = subprocess.Popen([hostile_test.TOOL, "tune", SMALL, "--clock", "turns", "--budget", "1s", "--wisdom", str(own)],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.environment())
        while process.poll() is None and not (log.exists() and log.read_bytes().count(b"\n") > 2):
            time.sleep(0.01)
        connection = sqlite3.connect(own, isolation_level=None)
        connection.execute("BEGIN EXCLUSIVE")
        _, errors = process.communicate(timeout=120)
        connection.close()
        self.assertEqual(process.returncode, 1, errors)
        self.assertIn("--resume reads them", errors)
        again = self.run_tool("tune", SMALL, "--clock", "turns", "--budget", "1s", "--wisdom", own, "--resume")
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertIn("kept in", again.stdout.decode())

    def test_two_searches_at_once(self):
        tune = [hostile_test.TOOL, "tune", SMALL, "--clock", "turns", "--wisdom", str(self.work / "own.sqlite")]
        log = self.folder / "data" / "tilewright" / "sweep.jsonl"
        first = subprocess.Popen([*tune, "--budget", "60s"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 env=self.environment())
        try:
            while first.poll() is None and not (log.exists() and log.read_bytes()):
                time.sleep(0.01)
            second = self.run_tool(*tune[1:], "--budget", "0.2s")
            self.assertEqual(second.returncode, 0, second.stderr)
            self.assertIn("sweep.2.jsonl", second.stderr.decode())
            self.assertTrue(log.with_name("sweep.2.jsonl").read_bytes())
            self.assert_one_sentence(self.run_tool(*tune[1:], "--sweep", log), 1, "sweep", "another run")
            self.assert_one_sentence(self.run_tool(*tune[1:], "--resume"), 1, "sweep", "another run")
        finally:
            first.send_signal(signal.SIGINT)
            first.communicate(timeout=120)


if __name__ == "__main__":
    hostile_test.TOOL = sys.argv.pop(1)
    unittest.main()
