#!/usr/bin/env python3
"""Programs that know nothing of us: preloaded and linked, NumPy among them. What the library says at exit proves that their
calls reached it, and results prove that they were served. Environment: BLAS (libtilewright_blas), PROGRAM, LINKED (the
same program linked with it), TOOL, MAP (the linker's map), WIDE_CBLAS (a CBLAS of 64-bit integers under plain names).
Argument: a class of tests."""

import ctypes
import fcntl
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

BLAS = os.environ["BLAS"]


def environment(**more):
    kept = {key: value for key, value in os.environ.items() if not key.startswith("TILEWRIGHT_")}
    return kept | {"TILEWRIGHT_NOTICES": "off"} | {key: str(value) for key, value in more.items()}


def run(*command, preload=True, **more):
    if preload:
        more["LD_PRELOAD"] = BLAS
    done = subprocess.run(command, env=environment(**more), capture_output=True, text=True)
    assert done.returncode == 0, f"{command} {more}: {done.returncode}\n{done.stdout}\n{done.stderr[-3000:]}"
    return done


class Summary:
    """The lines that a process prints at its end; children of fork print their own before."""

    def __init__(self, text):
        self.text = text
        self.lines = re.findall(r"^ +([\d.]+) +(\d+) +([\d.]+)  ([^,]+), (\w+), (.*)$", text, re.M)
        last = re.findall(r"^tilewright: (\d+) of (\d+) calls, ([\d.]+) % of .* were served here$", text, re.M)
        self.here, self.calls, self.share = (int(last[-1][0]), int(last[-1][1]), float(last[-1][2])) if last else (0, 0, 0)

    def calls_of(self, routine, server=None):
        return sum(int(line[1]) for line in self.lines if line[4] == routine and server in (None, line[3]))


class Names(unittest.TestCase):
    def test_only_the_names_of_the_list_are_shown(self):
        listed = set(re.findall(r"(\w+);", pathlib.Path(os.environ["MAP"]).read_text()))
        shown = subprocess.run(["nm", "-D", "--defined-only", BLAS], capture_output=True, text=True, check=True).stdout
        self.assertEqual({line.split()[-1] for line in shown.splitlines()}, listed)
        for name in ("dgemm_", "scipy_dgemm_", "dgemm_64_", "cblas_dgemm", "scipy_cblas_dgemm64_", "cblas_zgemm_64",
                     "scipy_dgetrf_64_", "LAPACKE_dgesv", "blas_dgemm_batchf", "cblas_cherk", "zgemmt_"):
            self.assertIn(name, listed)
        self.assertNotIn("cblas_dherk", listed)

    def test_constructors_start_nothing(self):
        # The library is loaded and never called: no thread, no file of its own, no GPU's driver.
        script = "import os; print(len(os.listdir('/proc/self/task'))); print(open('/proc/self/maps').read())"
        plain = run(sys.executable, "-c", script, preload=False).stdout
        loaded = run(sys.executable, "-c", script).stdout
        self.assertEqual(plain.splitlines()[0], loaded.splitlines()[0])
        self.assertIn("libtilewright_blas", loaded)
        for part in ("libcuda", "openblas", "wisdom.sqlite"):
            self.assertNotIn(part, loaded)

    def test_opening_and_closing_many_times(self):
        script = """
import ctypes, _ctypes, sys
n, one = ctypes.c_int(8), ctypes.c_double(1)
a = (ctypes.c_double * 64)(*[1.0] * 64)
for turn in range(300):
    library = ctypes.CDLL(sys.argv[1])
    c = (ctypes.c_double * 64)()
    zero = ctypes.c_double(0)
    library.dgemm_(b'N', b'N', *[ctypes.byref(n)] * 3, ctypes.byref(one), a, ctypes.byref(n), a, ctypes.byref(n),
                   ctypes.byref(zero), c, ctypes.byref(n))
    assert c[63] == 8
    _ctypes.dlclose(library._handle)
"""
        run(sys.executable, "-c", script, BLAS, preload=False)

    def test_a_program_of_64_bit_integers_under_plain_names_keeps_its_library(self):
        script = """
import ctypes, os
wide = ctypes.CDLL(os.environ['WIDE_CBLAS'], mode=ctypes.RTLD_GLOBAL)
ours = ctypes.CDLL(os.environ['BLAS'])
long, value = ctypes.c_int64, ctypes.c_double
a = (value * 4)(1, 2, 3, 4); c = (value * 4)()
two = long(2)
ours.cblas_dgemm(102, 111, 111, two, two, two, value(1), a, two, a, two, value(0), c, two)
assert list(c) == [7, 10, 15, 22], list(c)
"""
        done = run(sys.executable, "-c", script, preload=False, TILEWRIGHT_BLAS="all", TILEWRIGHT_VERBOSE=1)
        self.assertEqual(Summary(done.stderr).here, 0, done.stderr)


class Programs(unittest.TestCase):
    def test_all_calls_are_served_preloaded_and_linked(self):
        for program, preload in ((os.environ["PROGRAM"], True), (os.environ["LINKED"], False)):
            done = run(program, "threads", preload=preload, TILEWRIGHT_BLAS="all", TILEWRIGHT_VERBOSE=1)
            self.assertEqual(done.stdout, "right\n")
            summary = Summary(done.stderr)
            # 20 rounds of two sizes on three threads.
            for routine in ("dgemm_", "cblas_dgemm", "dsyrk_", "dgesv_"):
                self.assertEqual(summary.calls_of(routine, "tilewright"), 120, done.stderr)
            self.assertEqual((summary.here, summary.share), (summary.calls, 100.0))

    def test_auto_takes_what_wins(self):
        done = run(os.environ["PROGRAM"], TILEWRIGHT_VERBOSE=1)
        summary = Summary(done.stderr)
        self.assertEqual(summary.calls_of("dgemm_"), 40)
        self.assertEqual(summary.calls_of("dgemm_", "tilewright"), 20, done.stderr)  # those of 24; 100 is no small one
        self.assertEqual(summary.calls_of("dgesv_", "tilewright"), 0)

    def test_off_takes_nothing(self):
        done = run(os.environ["PROGRAM"], TILEWRIGHT_BLAS="off", TILEWRIGHT_VERBOSE=1)
        summary = Summary(done.stderr)
        self.assertEqual((summary.here, summary.calls_of("dgemm_")), (0, 40))
        self.assertEqual(run(os.environ["PROGRAM"], TILEWRIGHT_BLAS="off").stderr, "")

    def test_a_child_of_fork_goes_on_and_counts_for_itself(self):
        for mode in ("auto", "all"):
            # Debian's serial OpenBLAS, to which auto forwards, supports one thread at a time.
            locked = ["locked"] if mode == "auto" else []
            done = run(os.environ["PROGRAM"], *locked, "threads", "fork", TILEWRIGHT_BLAS=mode, TILEWRIGHT_VERBOSE=1)
            self.assertEqual(done.stdout, "right\n")
            ends = re.findall(r"of (\d+) calls, .* were served here", done.stderr)
            self.assertEqual([int(end) for end in ends], [160, 480], done.stderr)  # the child's 20 rounds, and three times those

    def test_bad_settings_are_said_and_the_program_goes_on(self):
        done = run(os.environ["PROGRAM"], TILEWRIGHT_BLAS="some")
        self.assertEqual(done.stdout, "right\n")
        self.assertIn("TILEWRIGHT_BLAS = 'some' is not one of off, auto, all", done.stderr)

    def test_each_new_shape_and_each_call_can_be_told(self):
        told = run(os.environ["PROGRAM"], TILEWRIGHT_VERBOSE=2).stderr
        self.assertEqual(len(re.findall(r"^tilewright: dgemm_ gemm:f64:nt:m=24.* by tilewright", told, re.M)), 1)
        told = run(os.environ["PROGRAM"], TILEWRIGHT_VERBOSE=3).stderr
        self.assertEqual(len(re.findall(r"^tilewright: dgemm_ gemm:f64:nt:m=24.* by tilewright", told, re.M)), 20)


class Records(unittest.TestCase):
    def test_problems_of_threads_and_children_are_recorded_merged_and_read_by_tune(self):
        with tempfile.TemporaryDirectory() as folder:
            # Both processes use one file, and then one each.
            shared = f"{folder}/log.jsonl"
            run(os.environ["PROGRAM"], "locked", "threads", "fork", TILEWRIGHT_RECORD=shared)
            counts = {line["problem"]: line["count"] for line in map(json.loads, open(shared))}
            self.assertEqual(counts["gemm:f64:nt:m=24,n=24,k=24"], 80, counts)
            self.assertEqual(counts["gemm:f64:nt:m=100,n=100,k=100"], 80)
            run(os.environ["PROGRAM"], "locked", "threads", "fork", TILEWRIGHT_RECORD=f"{folder}/rank-%p.jsonl")
            ranks = sorted(str(path) for path in pathlib.Path(folder).glob("rank-*.jsonl"))
            self.assertEqual(len(ranks), 2)
            tool, merged = os.environ["TOOL"], f"{folder}/merged.jsonl"
            run(tool, "record", "merge", *ranks, "-o", merged, preload=False)
            self.assertEqual({line["problem"]: line["count"] for line in map(json.loads, open(merged))}, counts)
            listed = run(tool, "record", "list", merged, "--top", "1", preload=False).stdout
            self.assertIn(f"{len(counts)} problems", listed)
            tuned = run(tool, "tune", "--from", merged, "--configs", "1", "--budget", "1s", "--wisdom", f"{folder}/w.sqlite",
                        preload=False)
            self.assertIn("f64 nt 24 l1", tuned.stdout + tuned.stderr)

    def test_a_bad_log_is_named_and_nothing_is_merged(self):
        with tempfile.TemporaryDirectory() as folder:
            bad = pathlib.Path(folder, "bad.jsonl")
            bad.write_text("nonsense\n")
            done = subprocess.run([os.environ["TOOL"], "record", "merge", str(bad), "-o", f"{folder}/out.jsonl"],
                                  capture_output=True, text=True)
            self.assertEqual(done.returncode, 1)
            self.assertIn("line 1", done.stderr)
            self.assertFalse(pathlib.Path(folder, "out.jsonl").exists())

    def test_children_that_end_without_a_word_have_written_before(self):
        with tempfile.TemporaryDirectory() as folder:
            script = """if 1:
                import os, numpy as np
                a = np.ones((30, 30)); b = a.copy()
                for child in range(3):
                    if os.fork() == 0:
                        for call in range(100): a @ b
                        os._exit(0)
                    os.wait()"""
            run(sys.executable, "-c", script, TILEWRIGHT_RECORD=f"{folder}/log.jsonl", TILEWRIGHT_BLAS="all")
            counts = [line["count"] for line in map(json.loads, open(f"{folder}/log.jsonl"))]
            self.assertEqual(len(counts), 1)
            self.assertGreaterEqual(counts[0], 3)

    def test_what_is_no_file_is_neither_written_nor_read(self):
        with tempfile.TemporaryDirectory() as folder:
            os.mkfifo(f"{folder}/pipe")
            for path in (f"{folder}/pipe", "/dev/null", folder):
                done = run(os.environ["PROGRAM"], TILEWRIGHT_RECORD=path)
                self.assertEqual(done.stdout, "right\n")
                self.assertIn("nothing more is recorded: record = ", done.stderr)
            for verb in (["record", "list", folder], ["tune", "--from", folder]):
                done = subprocess.run([os.environ["TOOL"], *verb], capture_output=True, text=True, env=environment())
                self.assertNotEqual(done.returncode, 0)
                self.assertIn("cannot be opened", done.stderr)

    def test_plans_are_made_before_the_clock_starts(self):
        script = "import numpy as np; a = np.ones((9, 7)); a @ a.T.copy()"
        with tempfile.TemporaryDirectory() as folder:
            done = run(sys.executable, "-c", script, TILEWRIGHT_BLAS="all", TILEWRIGHT_VERBOSE=3, TILEWRIGHT_NOTICES="",
                       XDG_DATA_HOME=folder)
        notice, took = done.stderr.find("wisdom has no exact record"), done.stderr.find(" took ")
        self.assertTrue(0 <= notice < took, done.stderr)

    def test_a_limit_of_the_size_of_files_ends_no_program(self):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(["sh", "-c", 'ulimit -f 0; exec "$0"', os.environ["PROGRAM"]], capture_output=True, text=True,
                                  env=environment(LD_PRELOAD=BLAS, TILEWRIGHT_BLAS="all", TILEWRIGHT_RECORD=f"{folder}/log"))
        self.assertEqual((done.returncode, done.stdout), (0, "right\n"), done.stderr)
        self.assertIn("File too large", done.stderr)

    def test_a_record_that_another_process_keeps_locked_is_waited_for_in_vain_but_briefly(self):
        with tempfile.TemporaryDirectory() as folder, open(f"{folder}/log", "w") as log:
            fcntl.flock(log, fcntl.LOCK_EX)  # until this process releases it, which to the program is never
            done = run(os.environ["PROGRAM"], TILEWRIGHT_BLAS="all", TILEWRIGHT_RECORD=f"{folder}/log")
            self.assertEqual(done.stdout, "right\n")
            self.assertIn("the last calls are not recorded", done.stderr)

    def test_a_program_that_changes_its_folder_writes_one_file(self):
        script = "import os, numpy as np; a = np.ones((9, 7)); a @ a.T.copy(); os.chdir('sub'); a[:5] @ a.T.copy()"
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(f"{folder}/sub")
            subprocess.run([sys.executable, "-c", script], check=True, cwd=folder,
                           env=environment(LD_PRELOAD=BLAS, TILEWRIGHT_BLAS="all", TILEWRIGHT_RECORD="log"))
            self.assertEqual((sorted(os.listdir(folder)), os.listdir(f"{folder}/sub")), (["log", "sub"], []))
            self.assertEqual(len(pathlib.Path(folder, "log").read_text().splitlines()), 2)

    def test_a_file_that_cannot_be_written_stops_recording_alone(self):
        done = run(os.environ["PROGRAM"], TILEWRIGHT_RECORD="/nowhere/log.jsonl")
        self.assertEqual(done.stdout, "right\n")
        self.assertEqual(done.stderr.count("nothing more is recorded"), 1)


NUMPY = """
import numpy as np
rng = np.random.default_rng(3)
for kind in (np.float32, np.float64, np.complex64, np.complex128):
    for n in (7, 40, 64, 90):
        a = rng.standard_normal((n, n)).astype(kind); b = rng.standard_normal((n, n)).astype(kind)
        if np.iscomplexobj(a): a, b = a + 1j * b, b - 1j * a.T
        near = 3e-4 if kind in (np.float32, np.complex64) else 1e-11
        slow = lambda x, y: np.einsum('ik,kj->ij', x, y, optimize=False)
        assert abs(a @ b - slow(a, b)).max() < near * n
        assert abs(a @ a.T - slow(a, a.T)).max() < near * n
        assert abs(a[::2, ::-1] @ b - slow(a[::2, ::-1], b)).max() < near * n
        regular = a + n * np.eye(n, dtype=kind)
        assert abs(slow(regular, np.linalg.solve(regular, b)) - b).max() < near * n
stack = rng.standard_normal((50, 5, 5))
assert abs(stack @ stack - np.einsum('pik,pkj->pij', stack, stack, optimize=False)).max() < 1e-12
print('right')
"""


class NumPy(unittest.TestCase):
    def test_products_and_systems(self):
        for mode in ("auto", "all", "off"):
            done = run(sys.executable, "-c", NUMPY, TILEWRIGHT_BLAS=mode, TILEWRIGHT_VERBOSE=1)
            self.assertEqual(done.stdout, "right\n")
            summary = Summary(done.stderr)
            self.assertGreater(summary.calls, 60)
            if mode == "all":
                self.assertGreaterEqual(summary.share, 99)
            if mode == "off":
                self.assertEqual(summary.here, 0)


ON_GPU = """
import ctypes, os
import numpy as np
library = ctypes.CDLL(os.environ['BLAS'])
n = 600
rng = np.random.default_rng(5)
a, b, c, s = rng.standard_normal((n, n)), rng.standard_normal((n, n)), np.zeros((n, n)), np.zeros((n, n))
at = lambda x: x.ctypes.data_as(ctypes.c_void_p)
one, zero = ctypes.c_double(1), ctypes.c_double(0)
library.cblas_dgemm(101, 111, 111, n, n, n, one, at(a), n, at(b), n, zero, at(c), n)
library.cblas_dsyrk(101, 122, 111, n, n, one, at(a), n, zero, at(s), n)
near = lambda x, y: abs(x - y).max() < 1e-10
product, square = a @ b, np.tril(a @ a.T)
assert near(c, product) and near(s, square)
# Sums that others formed in another order: that of the CPU's BLAS would be the same, bit by bit.
half = n // 2
print(np.array_equal(c, product), np.array_equal(s[half:, :half], square[half:, :half]))
"""


class OnGpu(unittest.TestCase):
    def test_what_the_models_give_to_gpus_is_taken(self):
        done = run(sys.executable, "-c", ON_GPU, preload=False, TILEWRIGHT_VERBOSE=1,
                   TILEWRIGHT_NVRTC=os.environ["TILEWRIGHT_NVRTC"])
        self.assertEqual(done.stdout, "False False\n", done.stderr)
        summary = Summary(done.stderr)
        self.assertEqual((summary.here, summary.calls), (2, 2), done.stderr)


if __name__ == "__main__":
    unittest.main()
