#!/usr/bin/env python3
"""Drives the built tool as users do: arrays that NumPy wrote, multiplied and compared with NumPy's product; wrong use, with
its exit code, its one sentence and the output left alone; the JSON and the log that scripts read. Takes the tool's path;
further arguments go to unittest."""

import itertools
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy

TOOL = None
DTYPES = ("f4", "f8", "c8", "c16")
VERBS = ("gemm", "bench", "tune", "explain", "info", "wisdom", "analyze", "calibrate", "lu", "factor", "solve", "record", "pages")


def run(*arguments, **environment):
    with tempfile.TemporaryDirectory() as data:  # the user's own files must not decide what a test sees
        return subprocess.run([TOOL, *map(str, arguments)], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              env={**os.environ, "XDG_DATA_HOME": data, "XDG_CACHE_HOME": data,
                                   "TILEWRIGHT_NOTICES": "off", **environment}, timeout=300)


def apply_op(array, op):
    if op == "n":
        return array
    transposed = numpy.swapaxes(array, -1, -2)
    return transposed.conj() if op == "c" else transposed


class Case(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.temporary.name)
        self.generator = numpy.random.default_rng(20)

    def tearDown(self):
        self.temporary.cleanup()

    def array(self, shape, dtype="f8", order="C"):
        values = self.generator.uniform(-1, 1, shape)
        if dtype.startswith("c"):
            values = values + 1j * self.generator.uniform(-1, 1, shape)
        return numpy.array(values, dtype=dtype, order=order)

    def save(self, name, array):
        path = self.folder / name
        numpy.save(path, array)
        return path

    def gemm(self, a, b, *flags, c0=None):
        """Runs gemm and returns its result; C as loaded by NumPy is in self.c."""
        arguments = ["gemm", self.save("A.npy", a), self.save("B.npy", b), "-o", self.folder / "C.npy", *flags]
        if c0 is not None:
            arguments += ["--c", self.save("C0.npy", c0)]
        result = run(*arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.c = numpy.load(self.folder / "C.npy")
        return result

    def assert_product(self, a, b, op_a="n", op_b="n", alpha=1, beta=0, c0=None):
        left, right = apply_op(a, op_a), apply_op(b, op_b)
        wide = "c16" if a.dtype.kind == "c" else "f8"
        expected = alpha * (left.astype(wide) @ right.astype(wide))
        bound = abs(alpha) * (abs(left).astype("f8") @ abs(right).astype("f8"))
        if c0 is not None:
            expected = expected + beta * c0.astype(wide)
            bound = bound + abs(beta) * abs(c0)
        self.assertEqual(self.c.shape, expected.shape)
        self.assertEqual(self.c.dtype, a.dtype)
        k = left.shape[-1]
        difference = abs(self.c - expected)
        self.assertTrue((difference <= 4 * (k + 4) * numpy.finfo(a.dtype).eps * bound).all(), difference.max())


class Products(Case):
    def check_all(self, a_shape, b_shape, ops, orders="CF", dtypes=DTYPES):
        """Shapes are of op(A) and op(B)."""
        for dtype, op_a, op_b, order_a, order_b in itertools.product(dtypes, ops, ops, orders, orders):
            with self.subTest(dtype=dtype, ops=op_a + op_b, orders=order_a + order_b):
                a = self.array(a_shape if op_a == "n" else (*a_shape[:-2], a_shape[-1], a_shape[-2]), dtype, order_a)
                b = self.array(b_shape if op_b == "n" else (*b_shape[:-2], b_shape[-1], b_shape[-2]), dtype, order_b)
                self.gemm(a, b, "--op-a", op_a, "--op-b", op_b)
                self.assert_product(a, b, op_a, op_b)

    def test_matrices(self):
        self.check_all((5, 3), (3, 7), "ntc")

    def test_batches(self):
        self.check_all((6, 5, 3), (6, 3, 7), "ntc")

    def test_large_matrices(self):
        self.check_all((70, 90), (90, 66), "nc", dtypes=("f8", "c8"))

    def test_large_batches(self):
        self.check_all((3, 70, 20), (3, 20, 66), "nc", dtypes=("f4", "c16"))

    def test_one_array_shared_by_a_batch(self):
        self.check_all((6, 5, 3), (3, 7), "nc", dtypes=("f8", "c16"))
        self.check_all((5, 3), (6, 3, 7), "nt", dtypes=("f4", "c8"))
        self.check_all((1, 5, 3), (6, 3, 7), "n", dtypes=("f8",))
        self.check_all((6, 5, 3), (1, 3, 7), "n", dtypes=("f8",))

    def test_output_order_follows_a(self):
        for shape, order in itertools.product(((5, 5), (6, 5, 5)), "CF"):
            a, b = self.array(shape, order=order), self.array(shape, order=order)
            self.gemm(a, b)
            self.assertTrue(self.c.flags.c_contiguous if order == "C" else self.c.flags.f_contiguous)

    def test_many_problems_on_several_threads(self):
        a, b = self.array((20000, 8, 8)), self.array((20000, 8, 8))
        self.gemm(a, b, "--threads", 2, "--verify")
        self.assert_product(a, b)

    def test_no_products(self):
        for a_shape, b_shape in (((3, 0), (0, 4)), ((0, 3), (3, 4)), ((0, 4, 4), (0, 4, 4)), ((5, 4, 0), (5, 0, 2))):
            with self.subTest(a=a_shape, b=b_shape):
                a, b = self.array(a_shape), self.array(b_shape)
                self.gemm(a, b, "--verify")
                self.assertEqual(self.c.shape, (a @ b).shape)
                self.assertTrue((self.c == 0).all())


class Scalars(Case):
    def test_beta_and_c0(self):
        for dtype, order_a, order_c in itertools.product(DTYPES, "CF", "CF"):
            with self.subTest(dtype=dtype, order_a=order_a, order_c=order_c):
                a, b = self.array((6, 5, 3), dtype, order_a), self.array((6, 3, 7), dtype, order_a)
                c0 = self.array((6, 5, 7), dtype, order_c)
                self.gemm(a, b, "--alpha", "1.5", "--beta", "-0.25", c0=c0)
                self.assert_product(a, b, alpha=1.5, beta=-0.25, c0=c0)

    def test_complex_scalars(self):
        a, b, c0 = self.array((5, 3), "c16"), self.array((3, 7), "c16"), self.array((5, 7), "c16", "F")
        self.gemm(a, b, "--alpha=1-2j", "--beta=0.5j", "--verify", c0=c0)
        self.assert_product(a, b, alpha=1 - 2j, beta=0.5j, c0=c0)

    def test_c0_alone_is_added(self):
        a, b, c0 = self.array((6, 5, 3)), self.array((6, 3, 7)), self.array((5, 7))
        self.gemm(a, b, c0=c0)
        self.assert_product(a, b, beta=1, c0=numpy.broadcast_to(c0, (6, 5, 7)))

    def test_beta_zero_reads_no_c0_and_alpha_zero_no_a(self):
        nan = numpy.full((5, 5), numpy.nan)
        a, b = self.array((5, 5)), self.array((5, 5))
        self.gemm(a, b, "--beta", "0", "--verify", c0=nan)
        self.assert_product(a, b)
        self.gemm(nan, b, "--alpha", "0", "--verify", c0=a)
        self.assertTrue((self.c == a).all())

    def test_output_may_replace_an_input(self):
        a, b = self.array((64, 8, 8)), self.array((64, 8, 8))
        path_a, path_b = self.save("A.npy", a), self.save("B.npy", b)
        self.assertEqual(run("gemm", path_a, path_b, "-o", path_b).returncode, 0)
        self.c = numpy.load(path_b)
        self.assert_product(a, b)


class Outputs(Case):
    def test_json(self):
        a, b = self.array((100, 8, 8)), self.array((100, 8, 8))
        result = self.gemm(a, b, "--json", "-", "--verify", "--threads", "1")
        measured = json.loads(result.stdout)
        for key in ("pointer_order", "numa", "memory", "target", "config", "wisdom_match", "energy_j", "watts", "gflops_per_watt",
                    "metrics", "device", "commit", "time"):
            self.assertIn(key, measured)
        self.assertEqual(measured["energy_j"] is None, "energy_note" in measured)
        self.assertEqual(measured["energy_j"] is None, measured["gflops_per_watt"] is None)
        for key in ("read_s", "kernel_s", "write_s", "total_s", "gflops", "seconds", "error", "error_bound"):
            self.assertGreaterEqual(measured[key], 0, key)
        self.assertEqual(measured["problem"].split(":residency")[0], "gemm_batched:f64:nn:m=8,n=8,k=8:strided:batch=100")
        self.assertEqual((measured["m"], measured["batch_count"], measured["threads"]), (8, 100, 1))
        self.assertEqual(measured["impl"], "tilewright")
        self.assertIn(measured["wisdom_match"], ("exact", "near_shape", "near_device", "default"))
        self.assertIn("mr", measured["config"])
        self.assertLessEqual(measured["error"], measured["error_bound"])
        self.assertIn("verified all 100 problems", result.stderr)
        self.gemm(a, b, "--json", self.folder / "out.jsonl")
        self.assertEqual(json.loads((self.folder / "out.jsonl").read_text())["layout"], "strided")

    def test_record_merges_equal_problems(self):
        log = self.folder / "log.jsonl"
        a, b = self.array((10, 4, 4)), self.array((10, 4, 4))
        for _ in range(3):
            self.gemm(a, b, "--record", log)
        self.gemm(a, b, "--op-a", "t", "--record", log)
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        self.assertEqual([line["count"] for line in lines], [3, 1])
        self.assertEqual(lines[0]["problem"], "gemm_batched:f64:nn:m=4,n=4,k=4:strided:batch=10")
        for line in lines:
            self.assertGreater(line["seconds"], 0)
            self.assertIn(line["residency"], ("cold", "l2", "l1"))

    def test_the_tool_alone_names_pages_that_are_there(self):
        told = run().stdout
        self.assertIn("Try first", told)
        page = pathlib.Path(told.split("Pages by task: ")[1].strip())
        self.assertTrue(page.is_absolute() and page.is_file(), page)

    def test_what_is_shipped_is_not_taken_from_where_the_tool_is_started(self):
        started = self.folder / "here"
        for folder in (started, self.folder / "share" / "tilewright" / "kernel", self.folder / "share" / "tilewright" / "wisdom"):
            folder.mkdir(parents=True)
        (started / "tilewright").touch()  # what the word in PATH would be if it were a file of this folder
        path = f"{pathlib.Path(TOOL).resolve().parent}:{os.environ['PATH']}"
        told = subprocess.run(["tilewright", "info", "--json", "-"], capture_output=True, text=True, cwd=started, check=True,
                              env={**os.environ, "PATH": path, "XDG_DATA_HOME": str(self.folder)})
        shipped = json.loads(told.stdout.splitlines()[-1])["gpu_kernel_sources"]
        self.assertNotIn(str(self.folder), shipped)
        self.assertEqual(shipped, json.loads(run("info", "--json", "-").stdout.splitlines()[-1])["gpu_kernel_sources"])

    def test_explain_tells_of_copies(self):
        result = self.gemm(self.array((6, 5, 5)), self.array((6, 5, 5), order="F"), "--explain")
        self.assertIn("B (Fortran order, interleaved) is copied to C order", result.stdout)
        result = self.gemm(self.array((6, 5, 5), order="F"), self.array((6, 5, 5), order="F"), "--explain")
        self.assertNotIn("copied", result.stdout)
        self.assertIn("interleaved", result.stdout)
        result = self.gemm(self.array((5, 5)), self.array((5, 5), order="F"), "--explain")
        self.assertNotIn("copied", result.stdout)

    def test_report_names_phases(self):
        result = self.gemm(self.array((6, 5, 5)), self.array((6, 5, 5)), "--verify")
        for word in ("read", "kernel", "write", "total", "GFLOP/s", "verified all 6 problems"):
            self.assertIn(word, result.stdout)


class WrongUse(Case):
    def setUp(self):
        super().setUp()
        self.a = self.save("A.npy", self.array((10, 4, 4)))
        self.b = self.save("B.npy", self.array((10, 4, 4)))
        self.c = self.folder / "C.npy"
        self.c.write_bytes(b"untouched")

    def refused(self, *arguments, code=2, says=()):
        before = sorted(path.name for path in self.folder.iterdir())
        result = run(*arguments)
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertEqual(len(result.stderr.strip().splitlines()), 1, result.stderr)
        self.assertTrue(result.stderr.startswith("tilewright: ") and result.stderr.endswith((".\n", "?\n")), result.stderr)
        for part in says:
            self.assertIn(str(part), result.stderr)
        self.assertEqual(self.c.read_bytes(), b"untouched")
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), before)

    def refused_input(self, array, *says):
        bad = self.save("bad.npy", array)
        self.refused("gemm", self.a, bad, "-o", self.c, says=("B = ", bad, *says))

    def test_shapes(self):
        self.refused_input(self.array((10, 5, 4)), "(10, 5, 4)", "5 rows", "4 columns")
        self.refused_input(self.array((9, 4, 4)), "batch of 9", "batch of 10")
        self.refused_input(self.array((4,)), "(4,)")
        self.refused_input(self.array((2, 10, 4, 4)), "(2, 10, 4, 4)")
        self.refused("gemm", self.a, self.b, "-o", self.c, "--c", self.save("D.npy", self.array((10, 4, 5))),
                     says=("c = ", "(10, 4, 5)", "(10, 4, 4)"))

    def test_configs(self):
        problem = "gemm_batched:f64:nn:m=8,n=8,k=8:strided:batch=1e6"
        for config, part in (({"mr": 0}, "mr"), ({"vector_bits": -1}, "vector_bits"), ({"nr": 4294967304}, "nr"),
                             ({"mr": 1.5}, "mr"), ({"mr": True}, "mr"), ({"k_sets": 0}, "k_sets")):
            self.refused("explain", problem, "--config", json.dumps(config), says=(part,))
        for config in ("{nonsense", "8"):  # also where there is no device whose candidate could say so
            self.refused("explain", "gemm:f64:nn:m=8,n=8,k=8:location=device", "--config", config,
                         says=("config = ", config))

    def test_files_are_not_written_over(self):
        before = self.a.read_bytes()
        for flag in ("--json", "--record"):
            self.refused("gemm", self.a, self.b, "-o", self.c, flag, self.a, says=(flag[2:], self.a))
        self.assertEqual(self.a.read_bytes(), before)
        kept = self.folder / "kept.json"
        kept.write_text("kept")
        self.refused("gemm", self.a, self.save("D.npy", self.array((9, 4, 4))), "-o", self.c, "--json", kept)
        self.assertEqual(kept.read_text(), "kept")
        self.refused("tune", "gemm_batched:f64:nn:m=4,n=4,k=4:strided:batch=8:residency=l1", "--sweep", kept,
                     says=("sweep", kept))
        self.assertEqual(kept.read_text(), "kept")

    def test_types(self):
        self.refused_input(self.array((10, 4, 4), "f4"), "f32", "f64")
        self.refused_input(numpy.zeros((10, 4, 4), "i8"), "'<i8'")
        self.refused_input(numpy.zeros((10, 4, 4), ">f8"), "'>f8'", "big-endian")
        self.refused_input(numpy.zeros((10, 4, 4), [("x", "f8")]), "fields")

    def test_files(self):
        self.refused("gemm", self.a, self.folder / "absent.npy", "-o", self.c, says=("B = ", "absent.npy"))
        self.refused("gemm", self.folder, self.b, "-o", self.c, says=("A = ", "folder"))
        self.refused("gemm", self.a, self.b, "-o", self.folder / "no" / "C.npy", says=("output = ", "no/C.npy"))
        broken = self.folder / "broken.npy"
        whole = self.a.read_bytes()
        for size in (0, 5, 9, 50, 128, len(whole) - 1):
            broken.write_bytes(whole[:size])
            self.refused("gemm", broken, self.b, "-o", self.c, says=("A = ", broken))
        broken.write_bytes(b"PK" + whole[2:])
        self.refused("gemm", broken, self.b, "-o", self.c, says=("magic",))

    def test_flags(self):
        job = ("gemm", self.a, self.b, "-o", self.c)
        self.refused(*job, "--op-a", "x", says=("op-a", "'x'"))
        self.refused(*job, "--target", "tpu", says=("target", "'tpu'"))
        self.refused(*job, "--target", "gpu", says=("target", "gpu", "no GPU"))
        self.refused(*job, "--target", "hybrid", says=("target", "hybrid"))
        for objective in ("energy", "edp", "alpha=0.7", "energy_within=5%"):
            result = run(*job[:-1], self.folder / "out.npy", "--objective", objective, "--explain", TILEWRIGHT_NOTICES="on",
                         TILEWRIGHT_WISDOM=str(self.folder / "none.sqlite"))
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn(f"objective = {objective}", result.stdout)
        self.refused(*job, "--objective", "alpha=7", says=("objective", "alpha=7"))
        self.refused(*job, "--alpha", "one", says=("alpha", "'one'"))
        self.refused(*job, "--alpha", "1+2j", says=("alpha", "complex", "f64"))
        self.refused(*job, "--beta", "2", says=("beta", "2", "--c"))
        self.refused(*job, "--threads", "0", says=("threads", "0"))
        self.refused(*job, "--candidate", "none", says=("candidate", "'none'"))
        self.refused(*job, "--nonsense", says=("--nonsense",))
        self.refused("gemm", self.a, self.b, says=("output",))
        self.refused("gemm", says=("A",))

    def test_bench_refuses_what_a_family_does_not_read(self):
        self.refused("bench", "transfer", "--counters", says=("--counters", "transfer"))
        self.refused("bench", "layout", "--config", "{}", says=("--config", "layout"))
        self.refused("bench", "overhead", "--threads", "2", says=("--threads", "overhead"))
        self.refused("bench", "--alpha", "1,2", says=("--alpha", "1,2"))
        self.refused("bench", "--repetitions", "3:5", says=("--repetitions", "3:5"))

    def test_failed_jobs(self):
        self.refused("gemm", self.a, self.b, "-o", "/dev/null", says=("/dev/null",))
        broken = self.folder / "wisdom.jsonl"
        broken.write_text('{"family": "gemm_small_cpu"}\n')
        self.refused("wisdom", "list", "--file", broken, code=1, says=("wisdom.jsonl': line 1 is invalid",))

    def test_verbs(self):
        self.refused("wisdom", says=("a verb is required",))
        self.refused("multiply", says=("'multiply'",))
        self.refused("wisdom", "foo", says=("'foo'", "tilewright wisdom"))
        self.refused("wisdom", "export", "-o", "", says=("--output", "empty"))
        for verb in ("import", "merge", "diff"):
            self.refused("wisdom", verb, "/nowhere/x.jsonl", says=("/nowhere/x.jsonl",))
        self.refused("explain", "gemm:f64:nn:m=8", says=("problem", "gemm:f64:nn:m=8"))


class OtherVerbs(Case):
    def test_help_has_an_example(self):
        self.assertIn("Example: tilewright", run("--help").stdout)
        for verb in VERBS:
            result = run(verb, "--help")
            self.assertEqual(result.returncode, 0)
            self.assertIn(f"Example: tilewright {verb}", result.stdout)

    def test_version(self):
        self.assertRegex(run("--version").stdout, r"^tilewright \d+\.\d+\.\d+\n$")

    def test_without_a_verb(self):
        """What to try first on this machine."""
        empty = {"TILEWRIGHT_CACHE": self.temporary.name, "TILEWRIGHT_WISDOM": str(self.folder / "none.sqlite"),
                 "TILEWRIGHT_SHARE": self.temporary.name}
        first = run(**empty)
        self.assertEqual((first.returncode, first.stderr), (0, ""))
        for word in ("tilewright gemm", "info --measure", "tune --budget", "bench", "--help"):
            self.assertIn(word, first.stdout)

    def test_explain(self):
        result = run("explain", "gemm_batched:f64:nn:m=8,n=8,k=8:strided:batch=1e6", "gemm:f32:tn:m=500,n=500,k=500")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("gemm_batched:f64:nn:m=8,n=8,k=8:strided:batch=1000000", result.stdout)
        self.assertIn("gemm:f32:tn:m=500,n=500,k=500", result.stdout)
        self.assertIn("cpu_small", result.stdout)

    def test_info(self):
        own = {"TILEWRIGHT_WISDOM": str(self.folder / "none.sqlite")}
        result = run("info", "--json", "-", **own)
        self.assertEqual(result.returncode, 0, result.stderr)
        info = json.loads(result.stdout)
        self.assertGreaterEqual(info["cores"], 1)
        self.assertIn("portable", info["isa_available"])
        self.assertEqual(info["ceilings"], [])
        self.assertEqual(info["ceilings_path"], own["TILEWRIGHT_WISDOM"])
        self.assertIn("none measured yet", run("info", **own).stdout)

    def test_wisdom_list_and_export(self):
        records = self.folder / "wisdom.jsonl"
        lines = [json.dumps({"family": "gemm_small_cpu", "device": "Abacus", "seconds": 1e-8, "config": {"isa": "avx2"},
                             "problem": f"gemm_batched:{dtype}:nn:m=8,n=8,k=8:strided:batch=1000"})
                 for dtype in ("f32", "f64")]
        records.write_text("".join(line + "\n" for line in lines))
        listed = run("wisdom", "list", "f64", "--file", records)
        self.assertEqual(listed.returncode, 0, listed.stderr)
        self.assertIn("1 record\n", listed.stdout)
        self.assertIn("Abacus: 1 record\n", listed.stdout)
        self.assertRegex(listed.stdout, r"f64 nn 8 strided +10 ns .* current")
        energy = self.folder / "energy.jsonl"
        energy.write_text(json.dumps({**json.loads(lines[0]), "objective": "energy", "energy_j": 2e-6}))
        self.assertIn("f32 nn 8 strided for energy", run("wisdom", "list", "--file", energy).stdout)
        exported = run("wisdom", "export", "--file", records).stdout.splitlines()
        for line, kept in zip(lines, exported, strict=True):
            self.assertLessEqual(json.loads(line).items(), json.loads(kept).items())
        self.assertEqual(run("wisdom", "export", "f32", "-o", self.folder / "o", "--file", records).returncode, 0)
        self.assertEqual((self.folder / "o").read_text(), exported[0] + "\n")
        own = run("wisdom", "export", TILEWRIGHT_WISDOM=str(records))
        self.assertEqual(own.stdout.splitlines()[:2], exported)

    def test_wisdom_knows_fitted_models(self):
        model = {"model": "cpu_gemm", "device": "Abacus", "coefficients": {"flops": 2.5e10}, "samples": 40,
                 "residual": 0.03, "time": "2016-01-01T00:00:00Z", "dtype": "f64", "operation": "gemm"}
        lines = self.lines("models.jsonl", model)
        own = {"TILEWRIGHT_WISDOM": str(self.folder / "own.sqlite")}
        imported = run("wisdom", "import", lines, **own)
        self.assertIn("1 of 1 fitted model taken", imported.stdout, imported.stderr)
        self.assertIn("0 of 1 fitted model taken", run("wisdom", "merge", lines, **own).stdout)
        file = ("--file", own["TILEWRIGHT_WISDOM"])
        listed = run("wisdom", "list", *file).stdout
        self.assertIn("model cpu_gemm of gemm f64  Abacus  40 samples, residual 0.03", listed)
        self.assertIn("0 records and 1 fitted model\n", listed)
        self.assertEqual(json.loads(run("wisdom", "export", *file).stdout), model)
        better = self.lines("better.jsonl", {**model, "samples": 400})
        self.assertRegex(run("wisdom", "diff", lines, better).stdout, r"model cpu_gemm of gemm f64 +40 samples +400 samples second")
        diff = run("wisdom", "diff", lines, better, "--json").stdout.splitlines()[0]
        self.assertEqual((json.loads(diff)["diff"], json.loads(diff)["better"]), ("differs", "second"))
        self.assertIn("1 of 1 fitted model taken", run("wisdom", "merge", better, **own).stdout)
        result = run("wisdom", "import", self.lines("bad.jsonl", {"model": "x", "device": "y"}), **own)
        self.assertEqual(result.returncode, 1)
        self.assertIn("bad.jsonl': line 1 is invalid: 'coefficients'", result.stderr)

    def record(self, problem, nr, **fields):
        return {"family": "gemm_small_cpu", "device": "Abacus", "seconds": 1e-8, "seconds_low": 0.9e-8,
                "seconds_high": 1.1e-8, "samples": 11, "config": {"isa": "avx2", "nr": nr}, "verdict": "passed",
                "objective": "time", "time": "2016-01-01T00:00:00Z", "problem": problem, **fields}

    def lines(self, name, *records):
        path = self.folder / name
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
        return path

    def test_wisdom_import_merge_and_diff(self):
        problem = "gemm_batched:f64:nn:m={},n=8,k=8:strided:batch=1000:residency=cold"
        own = {"TILEWRIGHT_WISDOM": str(self.folder / "own.sqlite")}
        first = self.lines("first.jsonl", self.record(problem.format(8), 1), self.record(problem.format(9), 2))
        self.assertEqual(run("wisdom", "import", first, **own).returncode, 0)

        def exported():
            lines = run("wisdom", "export", "--file", own["TILEWRIGHT_WISDOM"]).stdout.splitlines()
            return {line["problem"]: line["config"]["nr"] for line in map(json.loads, lines)}

        self.assertEqual(exported(), {problem.format(8): 1, problem.format(9): 2})
        listed = run("wisdom", "list", "m=9", "--file", own["TILEWRIGHT_WISDOM"], "--json", "-")
        listed = [json.loads(line) for line in listed.stdout.splitlines()]
        self.assertEqual([record["state"] for record in listed], ["stale"])  # no source hash of this build

        second = self.lines("second.jsonl", self.record(problem.format(8), 3, samples=1),  # measured worse
                            self.record(problem.format(9), 4, samples=400), self.record(problem.format(10), 5))
        self.assertIn("1 only in", run("wisdom", "diff", second, **own).stdout)
        diff = run("wisdom", "diff", second, "--json", "-", **own)
        self.assertEqual(diff.returncode, 0, diff.stderr)
        diff = [json.loads(line) for line in diff.stdout.splitlines()]
        self.assertEqual(sorted((line["diff"], line.get("better", "")) for line in diff),
                         [("differs", "first"), ("differs", "second"), ("only_second", "")])
        merged = run("wisdom", "merge", second, **own)
        self.assertIn("2 of 3 records", merged.stdout)
        self.assertEqual(exported(), {problem.format(8): 1, problem.format(9): 4, problem.format(10): 5})
        run("wisdom", "import", second, **own)
        self.assertEqual(exported(), {problem.format(8): 3, problem.format(9): 4, problem.format(10): 5})

        nothing = self.folder / "nothing.sqlite"  # as a database is whose log was left behind
        nothing.touch()
        self.assertIn(f"'{nothing}' is empty", run("wisdom", "merge", nothing, **own).stdout)

        broken = self.lines("broken.jsonl", self.record(problem.format(11), 6), {"family": "gemm_small_cpu"})
        result = run("wisdom", "import", broken, **own)
        self.assertEqual(result.returncode, 1)
        self.assertIn("broken.jsonl': line 2 is invalid", result.stderr)
        self.assertEqual(len(exported()), 3)  # all or nothing
        result = run("wisdom", "import", first, TILEWRIGHT_WISDOM=str(second))
        self.assertEqual(result.returncode, 2)
        self.assertIn("only read", result.stderr)

    def test_tune_keeps_its_winners(self):
        own = {"TILEWRIGHT_WISDOM": str(self.folder / "own.sqlite")}
        problem = "gemm_batched:f64:nn:m=3,n=4,k=5:strided:batch=100:residency=l1"
        self.assertIn("no exact record", run("explain", problem, TILEWRIGHT_NOTICES="on", **own).stdout)
        tuned = run("tune", problem, "--budget", "1s", **own)
        self.assertEqual(tuned.returncode, 0, tuned.stderr)
        self.assertIn("own.sqlite", tuned.stdout)
        explained = run("explain", problem, TILEWRIGHT_NOTICES="on", **own)
        self.assertIn("exact (" + own["TILEWRIGHT_WISDOM"] + "#1)", explained.stdout)
        self.assertNotIn("no exact record", explained.stdout + explained.stderr)
        (self.folder / "text.sqlite").write_text("x" * 5000)
        result = run("tune", problem, "--budget", "1s", TILEWRIGHT_WISDOM=str(self.folder / "text.sqlite"))
        self.assertEqual(result.returncode, 1)
        self.assertIn("not a wisdom database", result.stderr)
        self.assertEqual((self.folder / "text.sqlite").read_text(), "x" * 5000)


if __name__ == "__main__":
    TOOL = sys.argv.pop(1)
    unittest.main()
