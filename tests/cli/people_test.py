#!/usr/bin/env python3
"""What people see: no line is wider than 100 columns on a terminal, colours are for terminals alone, misspelt words are met with a
suggestion, generated kernels have names for perf, and the pages of the manual and the completions are complete. Takes the tool's
path; further arguments go to unittest."""

import fcntl
import os
import pathlib
import pty
import re
import shutil
import struct
import subprocess
import sys
import termios
import unittest

import numpy

sys.dont_write_bytecode = True
import cli_test

WIDTH = 100
SMALL = "gemm_batched:f64:nn:m=8,n=8,k=8:strided:batch=1e6"
HOT = "gemm_batched:f64:nn:m=4,n=4,k=4:strided:batch=100:residency=l1"
ESCAPE = re.compile(r"\x1b\[[0-9;]*[mK]")


class People(cli_test.Case):
    def setUp(self):
        super().setUp()
        for name in ("A.npy", "B.npy"):
            numpy.save(self.folder / name, self.generator.uniform(-1, 1, (5, 8, 8)))

    def environment(self, **more):
        return {**os.environ, "XDG_DATA_HOME": str(self.folder / "data"), "XDG_CACHE_HOME": str(self.folder / "cache"), "TERM": "xterm", **more}

    def tool(self, *words, **variables):
        return subprocess.run([cli_test.TOOL, *words], capture_output=True, text=True, stdin=subprocess.DEVNULL, cwd=self.folder,
                              env=self.environment(**variables), timeout=300)

    def on_terminal(self, *words, **variables):
        """What the tool writes to a terminal of 100 columns, and its exit code."""
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, WIDTH, 0, 0))
        process = subprocess.Popen([cli_test.TOOL, *words], stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs, cwd=self.folder,
                                   env=self.environment(**variables))
        os.close(theirs)
        text = b""
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            text += part
        os.close(ours)
        return text.decode(), process.wait()

    def assert_narrow(self, *words, codes=(0,)):
        text, code = self.on_terminal(*words)
        self.assertIn(code, codes, text)
        for line in re.split(r"[\r\n]+", ESCAPE.sub("", text)):
            self.assertLessEqual(len(line), WIDTH, (words, line))
        return text

    def test_no_line_is_wider_than_the_terminal(self):
        quick = ("--repetitions", "1", "--beta", "1")
        for words in (("explain", SMALL, "gemm:f32:tn:m=4096,n=4096,k=4096", "lu:f64:m=2000,n=2000"), ("explain", "--all", SMALL, "lu:f64:m=300,n=300"),
                      ("tune", HOT, "gemm_batched:c128:tt:m=5,n=13,k=23:pointer:batch=1:residency=l2", "--budget", "2s", "--clock", "turns"),
                      ("tune", HOT, "--budget", "1s", "--clock", "turns", "--verbose"),
                      ("bench", "--sizes", "4,5x13x23", "--residency", "l1", "--layout", "strided,block_interleaved", *quick),
                      ("bench", "overhead", "--sizes", "4", *quick), ("bench", "transfer", "--sizes", "4", "--batch", "20", "--repetitions", "1"),
                      ("bench", "layout", "--sizes", "4", "--batch", "256", "--residency", "l2", *quick),
                      ("bench", "lu", "--sizes", "64", "--repetitions", "1"), ("bench", "factor", "--sizes", "16", "--batch", "9", "--repetitions", "1"),
                      ("bench", "hybrid", "--sizes", "64", "--repetitions", "1"),
                      ("wisdom", "list"), ("wisdom", "list", "--shipped"), ("info",), ("info", "--environment"),
                      ("solve", "A.npy", "B.npy", "-x", "X.npy", "--verify", "--explain"),
                      ("gemm", "A.npy", "B.npy", "-o", "C.npy", "--verify", "--explain")):
            with self.subTest(words):
                self.assert_narrow(*words)
        with self.subTest("tune --check"):
            self.assert_narrow("tune", "--check", "--budget", "1s", codes=(0, 1))
        with self.subTest("left out, for lack of time"):
            cold = HOT.replace("residency=l1", "residency=cold")
            self.assert_narrow("tune", cold, HOT, "--budget", "0.3s", codes=(0, 1))
        with self.subTest("layout"):
            told = self.assert_narrow("tune", "--family", "layout", HOT, "--budget", "1s")
            self.assertNotRegex(told, r"blocks of (\d+) instead of \1:")
            self.assertNotRegex(told, r"\d\.\. ", "no number is cut")

    def test_helps_and_errors_fit_the_terminal(self):
        self.assert_narrow()
        verbs = re.findall(r"^  (\w+)  ", self.tool("--help").stdout.partition("Subcommands:")[2], re.M)
        self.assertGreater(len(verbs), 8)
        for words in ((), *((verb,) for verb in verbs), ("wisdom", "list"), ("wisdom", "export"), ("record", "list")):
            with self.subTest(words):
                told = self.assert_narrow(*words, "--help")
                self.assertNotRegex(told.replace("\r", ""), r"Example: .*\n  ", "examples can be copied as they are")
        self.assert_narrow("multiply", codes=(2,))
        self.assertEqual(len(self.tool("multiply").stderr.splitlines()), 1, "one line for scripts")

    def test_colours_are_for_terminals(self):
        explain = ("explain", HOT)
        self.assertIn("\x1b[1mplan", self.on_terminal(*explain)[0])
        for variables in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
            self.assertNotIn("\x1b", self.on_terminal(*explain, **variables)[0], variables)
        self.assertNotIn("\x1b", self.tool(*explain).stdout)

    def test_explain_begins_with_the_verdict(self):
        lines = self.tool("explain", HOT).stdout.splitlines()
        self.assertTrue(lines[0].startswith("problem ") and lines[1].startswith("plan "), lines)
        self.assertNotIn("candidates", " ".join(line.split()[0] for line in lines[:-1]))
        self.assertIn("--all tells why", lines[-1])
        self.assertIn("\ncandidates\n", self.tool("explain", "--all", HOT).stdout)
        nothing = self.tool("explain", "gemm:f64:nn:m=800,n=8,k=8:location=device")
        self.assertEqual(nothing.returncode, 1)
        self.assertIn("no candidate serves", nothing.stdout)
        self.assertIn("not taken; ", nothing.stdout)

    def test_words_that_are_almost_right(self):
        for words, meant in ((("tunee",), "tune"), (("wisdom", "lisst"), "list"), (("explain", HOT, "--candidate", "cpu_smal"), "cpu_small"),
                             (("explain", HOT, "--objectiv", "time"), "--objective"), (("tune", HOT, "--strategy", "locl"), "local"),
                             (("bench", "gemm_smal_cpu"), "gemm_small_cpu"), (("explain", HOT, "--target", "cpuu"), "cpu"),
                             (("explain", "gem:f64:nn:m=3,n=2,k=4"), "gemm"), (("tune", "--sizes", "4", "--layout", "stridet"), "strided"),
                             (("explain", "gemm:f64:nn:m=3,n=2,k=4:bach=10"), "batch"),
                             (("gemm", "A.npy", "B.npy", "-o", "C.npy", "--op", "t"), "--op-a' or '--op-b")):
            with self.subTest(words):
                result = self.tool(*words)
                self.assertEqual(result.returncode, 2, result.stdout)
                self.assertIn(f"did you mean '{meant}'?", result.stderr)
        self.assertNotIn("did you mean", self.tool("multiply").stderr)
        for words, says in ((("tunee",), "'tunee' is not a verb of tilewright; did you mean 'tune'? (see tilewright --help).\n"),
                            (("wisdom", "x"), "(see tilewright wisdom --help).\n"),
                            (("gemm", "A.npy", "B.npy", "-o", "C.npy", "--op", "t"), "unexpected argument: --op t; "),
                            (("explain", HOT, "--target", "cpuu"), "auto, cpu, gpu, hybrid; did you mean 'cpu'?\n"),
                            (("explain", HOT, "--target"), "--target needs a value"),
                            (("calibrate", "--budget", "0s"), "--budget = '0s' must be positive"),
                            (("wisdom", "import", "none.jsonl"), "'none.jsonl' cannot be opened: No such file or directory")):
            with self.subTest(words):
                self.assertIn(says, self.tool(*words).stderr)
        self.assertRegex(self.tool("--help").stdout, "\nExit codes: 0: .*\n +2: ")
        self.assertNotIn("Exit codes", self.tool("tune", "--help").stdout)

    def test_help_is_a_verb_and_json_goes_to_stdout(self):
        self.assertEqual(self.tool("help").stdout, self.tool("--help").stdout)
        self.assertEqual(self.tool("help", "tune").stdout, self.tool("tune", "--help").stdout)
        self.assertTrue(self.tool("info", "--json").stdout.startswith("{"))

    def test_a_batch_is_tuned_where_it_can_be(self):
        result = self.tool("tune", "gemm_batched:f64:nn:m=4,n=4,k=4:strided:batch=1e5", "--configs", "3", "--json", "out.jsonl")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("residency=cold", (self.folder / "out.jsonl").read_text())
        self.assertNotRegex((self.folder / "out.jsonl").read_text(), "residency=l[12]")
        self.assertNotIn("batch=", result.stdout)

    def test_generated_kernels_have_names_for_perf(self):
        for words, size in ((("gemm", "A.npy", "B.npy", "-o", "C.npy"), 8), (("tune", HOT, "--configs", "3"), 4),
                            (("tune", "--family", "layout", HOT, "--budget", "0.3s"), 4)):
            with self.subTest(words):
                process = subprocess.Popen([cli_test.TOOL, *words], cwd=self.folder, stdout=subprocess.DEVNULL,
                                           env=self.environment(TILEWRIGHT_PERF_MAP="1"))
                self.assertEqual(process.wait(), 0)
                path = pathlib.Path(f"/tmp/perf-{process.pid}.map")
                if not path.exists():
                    self.skipTest("this machine runs no generated code")
                lines = path.read_text().splitlines()
                path.unlink()
                for line in lines:
                    self.assertRegex(line, rf"^[0-9a-f]+ [0-9a-f]+ tilewright gemm\S*:f64:nn:m={size},n={size},k={size}\S*$")
                    self.assertGreater(int(line.split()[1], 16), 0)

    def test_pages(self):
        self.assertEqual(self.tool("pages", "share").returncode, 0)
        names = {path.name for path in (self.folder / "share/man/man1").iterdir()}
        self.assertLessEqual({"tilewright.1", "tilewright-bench.1", "tilewright-wisdom-list.1"}, names)
        page = (self.folder / "share/man/man1/tilewright-explain.1").read_text()
        for part in (".TH TILEWRIGHT-EXPLAIN 1", ".SH SYNOPSIS", "\\-\\-objective", ".SH EXAMPLES"):
            self.assertIn(part, page)
        bash = self.folder / "share/bash-completion/completions/tilewright"
        script = f"""source {bash}; COMP_WORDS=(tilewright wisdom l); COMP_CWORD=2; _tilewright; echo "${{COMPREPLY[@]}}"
                     COMP_WORDS=(tilewright ex); COMP_CWORD=1; _tilewright; echo "${{COMPREPLY[@]}}"
                     COMP_WORDS=(tilewright tune --str); COMP_CWORD=2; _tilewright; echo "${{COMPREPLY[@]}}" """
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True)
        self.assertEqual((done.stdout.split(), done.stderr), (["list", "explain", "--strategy"], ""))
        for shell, file in (("zsh", "zsh/site-functions/_tilewright"), ("fish", "fish/vendor_completions.d/tilewright.fish")):
            self.assertIn("strategy", (self.folder / "share" / file).read_text())
            if shutil.which(shell):
                subprocess.run([shell, "-n", str(self.folder / "share" / file)], check=True)


if __name__ == "__main__":
    cli_test.TOOL = sys.argv.pop(1)
    unittest.main()
