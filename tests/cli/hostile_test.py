#!/usr/bin/env python3
"""Drives the built tool where the environment is not its own: closed and full standard files, limits of the shell, files
that others left, links, paths that are no UTF-8, ignored signals. Takes the tool's path."""

import json
import os
import pathlib
import resource
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
import unittest

import numpy

TOOL = None
SMALL = "gemm_batched:f64:nn:m=3,n=4,k=5:strided:batch=100:residency=l1"
RECORD = {"family": "gemm_small_cpu", "device": "Abacus", "seconds": 1e-8, "config": {"isa": "portable"}, "problem": SMALL}


class Case(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.temporary.name)
        self.work = self.folder / "work"
        self.work.mkdir()
        generator = numpy.random.default_rng(20)
        self.a, self.b, self.c = (self.work / name for name in ("A.npy", "B.npy", "C.npy"))
        self.left, self.right = generator.uniform(-1, 1, (2, 4, 4))
        numpy.save(self.a, self.left)
        numpy.save(self.b, self.right)
        self.job = ("gemm", self.a, self.b, "-o", self.c)

    def tearDown(self):
        self.temporary.cleanup()

    def environment(self):
        data = str(self.folder / "data")  # the user's own files must not decide what a test sees
        return {**os.environ, "XDG_DATA_HOME": data, "XDG_CACHE_HOME": data, "TILEWRIGHT_NOTICES": "off"}

    def run_tool(self, *arguments, variables=None, **options):
        return subprocess.run([TOOL, *map(os.fsencode, map(os.fspath, arguments))], stdin=subprocess.DEVNULL,
                              env={**self.environment(), **(variables or {})}, timeout=300,
                              **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options})

    def shell(self, script, *arguments):
        """sh -c with the tool and its arguments as "$@"."""
        return subprocess.run(["sh", "-c", script, "sh", TOOL, *map(str, arguments)], capture_output=True, text=True,
                              env=self.environment(), timeout=300)

    def assert_product(self):
        numpy.testing.assert_allclose(numpy.load(self.c), self.left @ self.right, rtol=1e-12, atol=1e-14)

    def assert_one_sentence(self, result, code, *says):
        errors = result.stderr if isinstance(result.stderr, str) else result.stderr.decode(errors="replace")
        self.assertEqual(result.returncode, code, errors)
        self.assertRegex(errors, r"\Atilewright: [^\n]*[.?]\n\Z")
        for part in says:
            self.assertIn(str(part), errors)


class StandardFiles(Case):
    def test_closed_stdout_is_no_place_for_files(self):
        lines = self.work / "out.json"
        result = self.shell('"$@" >&-', *self.job, "--json", lines)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(json.loads(lines.read_text())["dtype"], "f64")
        self.assert_product()

    def test_all_closed(self):
        result = self.shell('"$@" <&- >&- 2>&-', *self.job, "--verify", "--explain")
        self.assertEqual(result.returncode, 0)
        self.assert_product()
        self.assertEqual(self.shell('"$@" <&- >&- 2>&-', "gemm", "absent").returncode, 2)

    def test_json_needs_a_stdout(self):
        self.assert_one_sentence(self.shell('"$@" >&-', *self.job, "--json", "-"), 2, "json", "closed")
        self.assertFalse(self.c.exists())

    def test_full_stdout_fails_every_verb(self):
        records = self.work / "w.jsonl"
        records.write_text("".join(json.dumps({**RECORD, "problem": SMALL.replace("m=3", f"m={m}")}) + "\n"
                                   for m in range(1, 65)))  # more than a buffer holds
        bench = ("bench", "--sizes", "2", "--residency", "l1", "--repetitions", "1", "--peers", "none")
        for arguments in (("info",), ("info", "--json", "-"), ("explain", SMALL), ("explain", SMALL, "--json", "-"),
                          ("--help",), ("--version",), ("tune", "--help"), self.job, (*self.job, "--json", "-"),
                          ("wisdom", "list", "--file", records), ("wisdom", "list", "--file", records, "--json", "-"), ("wisdom", "export", "--file", records), bench,
                          ("lu", self.a, "-o", self.work / "LU.npy", "--pivots", self.work / "P.npy")):
            with self.subTest(arguments=arguments), open("/dev/full", "w") as full:
                result = self.run_tool(*arguments, stdout=full)
                self.assertEqual(result.returncode, 1, result.stderr)
                said = [line for line in result.stderr.decode().splitlines() if line.startswith("tilewright: ")]
                self.assertEqual(len(said), 1, result.stderr)  # except for the lines that --json - moves to stderr
                self.assertRegex(said[0], r"^tilewright: (stdout|--json = '-') cannot be written: No space left")

    def test_no_peer_speaks_for_itself(self):
        result = self.run_tool("bench", "gemm", "--location", "host", "--dtype", "f64", "--sizes", "72", "--threads", "1,2",
                               "--repetitions", "1")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertNotIn(b"LIBXSMM ERROR", result.stdout + result.stderr)

    def test_full_stderr_changes_no_code(self):
        with open("/dev/full", "w") as full:
            self.assertEqual(self.run_tool("gemm", "absent", stderr=full).returncode, 2)
            self.assertEqual(self.run_tool("tune", SMALL, "--budget", "0.2s", "--clock", "turns", stderr=full).returncode, 0)


class Files(Case):
    def test_what_others_left_is_not_in_the_way(self):
        record = self.work / "log.jsonl"
        left = 'for f in C.npy.$$ .tilewright.$$.0 .tilewright.$$.1 log.jsonl.$$; do touch "$f.partial"; done; exec "$@"'
        result = subprocess.run(["sh", "-c", left, "sh", TOOL, *map(str, self.job), "--record", str(record)],
                                cwd=self.work, capture_output=True, text=True, env=self.environment(), timeout=300)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assert_product()
        self.assertEqual(json.loads(record.read_text())["count"], 1)
        self.assertEqual(sorted(path.suffix for path in self.work.iterdir()), [".jsonl", *[".npy"] * 3, *[".partial"] * 4])

    def test_names_as_long_as_they_may_be(self):
        self.c = self.work / ("C" * 251 + ".npy")
        record = self.work / ("r" * 255)
        result = self.run_tool("gemm", self.a, self.b, "-o", self.c, "--record", record)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assert_product()
        self.assertTrue(record.read_text())

    def test_a_link_stays_and_its_file_is_written(self):
        target = self.work / "there.npy"
        for exists in (False, True):
            self.c.unlink(missing_ok=True)
            self.c.symlink_to("there.npy")
            self.assertEqual(self.run_tool(*self.job).returncode, 0)
            self.assertTrue(self.c.is_symlink())
            self.assert_product()
            self.assertTrue(target.is_file() and not target.is_symlink())
        log = self.work / "log"
        log.symlink_to("log.jsonl")
        for count in (1, 2):
            self.assertEqual(self.run_tool(*self.job, "--record", log).returncode, 0)
            self.assertTrue(log.is_symlink())
            self.assertEqual(json.loads((self.work / "log.jsonl").read_text())["count"], count)

    def test_links_that_lead_nowhere_are_refused(self):
        self.c.symlink_to("round.npy")
        (self.work / "round.npy").symlink_to("C.npy")
        self.assert_one_sentence(self.run_tool(*self.job), 2, "output", self.c)
        self.assert_one_sentence(self.run_tool("gemm", self.a, self.b, "-o", self.work / "D.npy", "--record", self.c), 2,
                                 "record", self.c)
        self.assertTrue(self.c.is_symlink() and (self.work / "round.npy").is_symlink())
        self.c.unlink()
        self.c.symlink_to("no/such.npy")
        self.assert_one_sentence(self.run_tool(*self.job), 2, f"output = '{self.c}' is a link to", "no/such.npy'")

    def test_a_dash_is_no_array(self):
        self.assert_one_sentence(self.run_tool("gemm", self.a, self.b, "-o", "-", cwd=self.work), 2, "output = '-'", "stdout")
        self.assert_one_sentence(self.run_tool("lu", self.a, "-o", "LU.npy", "--pivots", "-", cwd=self.work), 2,
                                 "pivots = '-'", "stdout")
        self.assertFalse((self.work / "-").exists())

    def test_bytes_of_headers_that_nobody_can_read(self):
        whole = self.a.read_bytes()
        for descr, shown in ((b"<f8\0", "<f8\\x00"), (b"<\x1b8", "<\\x1b8")):
            self.a.write_bytes(whole.replace(b"'<f8', ", b"'" + descr + b"'," + b" " * (4 - len(descr))))
            self.assert_one_sentence(self.run_tool(*self.job), 2, f"dtype '{shown}', which is not one of")

    def test_access_rights_stay(self):
        for rights in (0o400, 0o640):
            self.c.write_text("before")
            self.c.chmod(rights)
            self.assertEqual(self.run_tool(*self.job).returncode, 0)
            self.assertEqual(stat.S_IMODE(self.c.stat().st_mode), rights)
            self.assert_product()

    def test_devices_are_not_replaced(self):
        self.assert_one_sentence(self.run_tool(*self.job, "--record", "/dev/null"), 2, "record", "/dev/null")
        self.assertTrue(stat.S_ISCHR(os.stat("/dev/null").st_mode))
        self.assertFalse(self.c.exists())

    def test_a_log_that_cannot_be_written_is_refused_first(self):
        self.assert_one_sentence(self.run_tool(*self.job, "--record", self.work / "no" / "log"), 2, "record", "no/log")
        self.assertFalse(self.c.exists())

    def test_paths_that_are_no_utf8(self):
        lines = os.path.join(os.fsencode(self.work), b"out\xff.json")
        result = self.run_tool("bench", "--sizes", "2", "--residency", "l1", "--repetitions", "1", "--peers", "none",
                               "--json", lines)
        self.assertEqual(result.returncode, 0, result.stderr)
        with open(lines, encoding="utf-8") as file:
            rows = [json.loads(line) for line in file]
        self.assertIn("out\ufffd.json", str(rows[0]["command"]))
        self.assertTrue(rows[-1]["summary"])
        bad = os.path.join(os.fsencode(self.work), b"\xff.npy")
        self.assert_one_sentence(self.run_tool("gemm", self.a, bad, "-o", self.c), 2, "B = ")
        self.assert_one_sentence(self.run_tool(*self.job, "--objective", b"\xff"), 2, "objective")
        self.assert_one_sentence(self.run_tool("explain", b"gemm:\xff"), 2, "problem")
        self.assertEqual(self.run_tool("info", "--json", "-").returncode, 0)


@unittest.skipUnless(os.geteuid() == 0 and shutil.which("mount"), "only root can mount a small disk")
class FullDisk(Case):
    def setUp(self):
        super().setUp()
        self.disk = self.folder / "disk"
        self.disk.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", str(self.disk)], capture_output=True)
        if mounted.returncode != 0:
            self.skipTest("nothing can be mounted here")
        (self.disk / "filler").write_bytes(b"x" * 16384)

    def tearDown(self):
        subprocess.run(["umount", str(self.disk)], check=False)
        super().tearDown()

    def test_no_empty_files_stay(self):
        records = self.work / "w.jsonl"
        records.write_text(json.dumps(RECORD) + "\n")
        out = self.disk / "out"
        bench = ("bench", "--sizes", "2", "--residency", "l1", "--repetitions", "1", "--peers", "none")
        for argument, arguments in (("json", (*bench, "--json", out)), ("json", (*self.job, "--json", out)),
                                    ("output", ("wisdom", "export", "--file", records, "-o", out)),
                                    ("record", (*self.job, "--record", out)),
                                    ("json", ("wisdom", "list", "--file", records, "--json", out))):
            with self.subTest(arguments=arguments):
                result = self.run_tool(*arguments)
                self.assertEqual(result.returncode, 1, result.stderr)
                self.assertRegex(result.stderr.decode(), rf"{argument} = '{out}' cannot be written: No space left")
                self.assertEqual([path.name for path in self.disk.iterdir()], ["filler"])


class Variables(Case):
    MEASURE = ("info", "--measure", "--threads", "1", "--megabytes", "1")

    def test_a_cblas_that_is_named_must_be_one(self):
        generator = numpy.random.default_rng(3)
        self.left, self.right = generator.uniform(-1, 1, (2, 300, 300))
        numpy.save(self.a, self.left)
        numpy.save(self.b, self.right)
        for name in ("nonsense", "/tmp", str(self.a), "libm.so.6"):
            with self.subTest(name=name):
                result = self.run_tool(*self.job, variables={"TILEWRIGHT_CBLAS": name})
                self.assert_one_sentence(result, 1, f"TILEWRIGHT_CBLAS = '{name}' cannot be used")
                self.assertFalse(self.c.exists())
        self.assertEqual(self.run_tool(*self.job, variables={"TILEWRIGHT_CBLAS": "none"}).returncode, 0)
        numpy.testing.assert_allclose(numpy.load(self.c), self.left @ self.right, rtol=0, atol=1e-11)

    def test_a_cpu_is_named_as_it_was_given(self):
        self.assert_one_sentence(self.run_tool(*self.job, variables={"TILEWRIGHT_CPU": "nonsense"}), 2,
                                 "TILEWRIGHT_CPU = 'nonsense'")

    def test_folders_that_are_relative_are_ignored(self):
        for variables in ({"HOME": "", "XDG_CACHE_HOME": "", "XDG_DATA_HOME": ""},
                          {"HOME": "here", "XDG_CACHE_HOME": "cache", "XDG_DATA_HOME": "data"}):
            with self.subTest(variables=variables):
                before = sorted(self.work.iterdir())
                result = self.run_tool(*self.MEASURE, "--json", "-", variables=variables, cwd=self.work)
                self.assertEqual(result.returncode, 0, result.stderr)
                info = json.loads(result.stdout)
                self.assertEqual((info["ceilings_path"], info["ceilings"][0]["threads"]), ("", 1))
                self.assertNotIn("data/tilewright", str(info["wisdom"]))
                said = self.run_tool("info", variables=variables, cwd=self.work).stdout.decode()
                self.assertIn("kept in       no folder", said)
                self.assert_one_sentence(self.run_tool("tune", SMALL, variables=variables, cwd=self.work), 2,
                                         "TILEWRIGHT_WISDOM", "absolute")
                tuned = self.run_tool("tune", SMALL, "--wisdom", "none", "--budget", "0.2s", "--clock", "turns",
                                      variables=variables, cwd=self.work)
                self.assertEqual(tuned.returncode, 0, tuned.stderr)
                self.assert_one_sentence(self.run_tool("tune", SMALL, "--wisdom", "none", "--resume",
                                                       variables=variables, cwd=self.work), 2, "--resume", "--sweep")
                self.assertEqual(sorted(self.work.iterdir()), before)
        self.assertFalse((pathlib.Path.cwd() / ".cache").exists())

    def test_ceilings_that_cannot_be_kept_are_shown(self):
        result = self.run_tool(*self.MEASURE, variables={"XDG_DATA_HOME": str(self.a)})
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("ceilings      1 thread: FMA", result.stdout.decode())
        self.assertIn("are not kept", result.stderr.decode())
        self.assertIn(str(self.a), result.stderr.decode())

    def test_logs_need_a_folder(self):
        for verb, flag in ((("tune", SMALL), "--sweep"), (("calibrate", "--quick"), "--log")):
            with self.subTest(verb=verb):
                result = self.run_tool(*verb, variables={"XDG_CACHE_HOME": str(self.a)})
                self.assert_one_sentence(result, 1, flag, f"'{self.a}/tilewright' cannot be made")


class BeyondNumbers(Case):
    """What --verify says where C holds NaN, or infinities, or where no bound holds."""

    def verified(self, *flags):
        numpy.save(self.a, self.left)
        numpy.save(self.b, self.right)
        result = self.run_tool(*self.job, "--verify", *flags)
        self.assertEqual(result.returncode, 0, result.stderr)
        said = " ".join(result.stdout.decode().split())  # where its lines break does not matter
        self.assertIn("verified the whole product", said)
        self.assertNotIn("NOT verified", said)
        self.assertNotIn("inf of", said)
        return said

    def test_nan_and_infinities_that_must_be(self):
        self.assertIn("; NaN or infinite, as they must be: 16 elements", self.verified("--alpha", "nan"))
        self.left[1, 2] = numpy.nan
        self.assertIn("; NaN or infinite, as they must be: 4 elements", self.verified())
        self.left[1, 2] = -numpy.inf
        self.assertIn("; NaN or infinite, as they must be: 4 elements", self.verified())
        self.left[1, 2] = 1e308
        self.right[2] = (100, -100, 1e-3, 1e-3)
        said = self.verified("--json", self.work / "out.json")
        self.assertIn("; NaN or infinite, as they must be: 2 elements", said)
        self.assertIn("worst element", said)
        self.assertEqual(json.loads((self.work / "out.json").read_text())["verified_not_finite"], 2)

    def test_where_nothing_is_promised(self):
        self.left[0], self.right[:, 0] = (1e308, 1e308, -1e308, -1e308), 1
        self.right[:, 1:] *= 0.1
        said = self.verified("--json", self.work / "out.json")
        self.assertIn("; not verified, since sums of that size overflow: 1 element", said)
        self.assertEqual(json.loads((self.work / "out.json").read_text())["verified_unbounded"], 1)


class WithoutGpu(Case):
    def test_who_asks_for_a_gpu_is_named(self):
        if subprocess.run([TOOL, "info"], capture_output=True, text=True).stdout.find("no GPU driver was found") < 0:
            self.skipTest("there is a GPU driver, or no GPU runtime")
        large = "gemm:f64:nn:m=4096,n=4096,k=4096:location=device"
        for arguments, says in ((("bench", "gemm", "--sizes", "1024"), "location = device (the default of gemm): no GPU"),
                                (("bench", "gemm", "--sizes", "1024"), "; --location host measures the CPU"),
                                (("bench", "transfer", "--location", "device"), "--location = device: no GPU"),
                                (("bench", "gemm_small"), "; gemm_small_cpu measures the CPU"),
                                (("tune", large, "--budget", "1s"), "location = device: no GPU driver")):
            with self.subTest(arguments=arguments):
                self.assert_one_sentence(self.run_tool(*arguments), 2, says)


class Limits(Case):
    def limited(self, which, limit, *arguments):
        return self.run_tool(*arguments, preexec_fn=lambda: resource.setrlimit(which, (limit, limit)))

    def test_size_of_files(self):
        before = sorted(self.work.iterdir())
        self.assert_one_sentence(self.limited(resource.RLIMIT_FSIZE, 100, *self.job), 1, "output", "File too large")
        self.assertEqual(sorted(self.work.iterdir()), before)
        lines = self.work / "out.json"
        self.assert_one_sentence(self.limited(resource.RLIMIT_FSIZE, 300, *self.job, "--json", lines), 1, "json")
        self.assertEqual(lines.read_bytes() if lines.exists() else b"", b"")
        log = self.work / "log"
        for op in ("n", "t", "c"):
            for flag in ("--op-a", "--op-b"):
                self.assertEqual(self.run_tool(*self.job, flag, op, "--record", log).returncode, 0)
        whole = log.read_bytes()
        self.assertGreater(len(whole), 256)  # bytes of the output
        other = (*self.job, "--op-a", "t", "--op-b", "t", "--record", log)
        self.assert_one_sentence(self.limited(resource.RLIMIT_FSIZE, len(whole) + 20, *other), 1, "record")
        self.assertEqual(log.read_bytes(), whole)
        self.assertEqual([path.name for path in self.work.iterdir() if path.suffix == ".partial"], [])

    def test_address_space_and_threads(self):
        generator = numpy.random.default_rng(1)
        self.left, self.right = generator.uniform(-1, 1, (2, 3000, 8, 8))
        numpy.save(self.a, self.left)
        numpy.save(self.b, self.right)
        result = self.limited(resource.RLIMIT_AS, 1 << 30, *self.job, "--threads", "4000", "--explain", "--verify")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assert_product()

    def test_more_threads_than_there_can_be(self):
        for threads in ("100000", "5000"):
            self.c.unlink(missing_ok=True)
            result = subprocess.run([TOOL, *map(str, self.job), "--verify"], stdin=subprocess.DEVNULL, capture_output=True,
                                    env={**self.environment(), "OMP_NUM_THREADS": threads}, timeout=300)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assert_product()


class Signals(Case):
    def interrupted(self, ignores):
        process = subprocess.Popen(
            [TOOL, "tune", "gemm_batched:f64:nn:m=5,n=4,k=5:strided:batch=100:residency=l1", "--clock", "turns",
             "--budget", "1s" if ignores else "60s"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.environment(),
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN if ignores else signal.SIG_DFL))
        log = self.folder / "data" / "tilewright" / "sweep.jsonl"
        while process.poll() is None and (not log.exists() or log.read_bytes().count(b"\n") < 20):
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=120)
        return process.returncode, errors

    def test_ignored_ones_stay_ignored(self):
        code, errors = self.interrupted(ignores=True)
        self.assertEqual(code, 0, errors)
        self.assertNotIn("interrupted", errors)

    def test_others_end_the_search(self):
        code, errors = self.interrupted(ignores=False)
        self.assertEqual(code, 1, errors)
        self.assertIn("interrupted", errors)


if __name__ == "__main__":
    TOOL = sys.argv.pop(1)
    unittest.main()
