#!/usr/bin/env python3
"""Runs every family of `bench`, every verb and every example of the help texts, small, on a machine without a GPU and on the fake
one: each does its job or refuses with a reason, no library's exception is shown, tables for people hold no JSON, and rows have
the keys of the contract. Takes the tool's path; further arguments go to unittest."""

import json
import os
import re
import shlex
import subprocess
import sys
import unittest

import numpy

sys.dont_write_bytecode = True
import cli_test
import keys_test

SMALL = "gemm_batched:f64:nn:m=4,n=4,k=4:strided:batch=100:residency=l1"
# Texts that only exceptions of libraries contain.
FOREIGN = re.compile(r"json\.exception|std::|basic_string|terminate called|what\(\)|internal error|bad_|_M_|CLI::")
SHARED = "cpu_share gpus transfer_s compute_s predicted_s math_mode error_budget select".split()
QUICK = ("--repetitions", "1")
# Words of the examples, and the values that make them small.
SMALLER = {"--sizes": "4", "--budget": "0.5s", "--op": "nt", "--threads": "1"}
GPU_FLAGS = ("--gpus", "--gpu-memory")


class Everything(cli_test.Case):
    HAS_GPU = False

    def setUp(self):
        super().setUp()
        for name in ("A.npy", "B.npy"):
            numpy.save(self.folder / name, self.generator.uniform(-1, 1, (16, 16)))

    def tool(self, *arguments, codes=(0,)):
        environment = {**os.environ, "XDG_DATA_HOME": str(self.folder / "data"), "XDG_CACHE_HOME": str(self.folder / "cache"),
                       "TILEWRIGHT_NOTICES": "off"}
        if not self.HAS_GPU:
            environment.update(LD_LIBRARY_PATH="", CUDA_VISIBLE_DEVICES="")
        result = subprocess.run([cli_test.TOOL, *map(str, arguments)], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                                cwd=self.folder, env=environment, timeout=300)
        self.assertIn(result.returncode, codes, (arguments, result.stderr))
        self.assertNotRegex(result.stderr + result.stdout, FOREIGN, arguments)
        return result

    def bench(self, *arguments):
        """The rows of a run whose table is for people."""
        out = self.folder / "rows.jsonl"
        out.unlink(missing_ok=True)
        said = self.tool("bench", *arguments, *QUICK, "--json", out).stdout
        self.assertNotRegex(said, r'[{}]|"\w+":', arguments)
        lines = [json.loads(line) for line in out.read_text().splitlines()]
        self.assertIn("command", lines[0])
        rows = [line for line in lines[1:] if "summary" not in line]
        self.assertTrue(rows)
        for row in rows:
            self.assertEqual([key for key in keys_test.KEYS if key not in row], [], row)
            self.assertTrue(row["energy_j"] or row["energy_note"])
            if row["family"] in ("hybrid", "lu"):
                self.assertEqual([key for key in SHARED if key not in row], [])
        self.assertTrue([line for line in lines if "summary" in line])
        return rows

    def no_gpu(self, *arguments):
        self.assertRegex(self.tool(*arguments, codes=(2,)).stderr, "GPU")

    def smaller(self, words):
        words = [re.sub(r"\b([mnk])=\d+", r"\1=96" if word.startswith("gemm:") else r"\1=8", word) for word in words]
        return [SMALLER.get(words[i - 1], word) if i > 0 else word for i, word in enumerate(words)]

    def examples(self):
        """The words behind `tilewright` of each example in the help of each verb."""
        found, verbs = [], [()]
        while verbs:
            verb = verbs.pop()
            text = self.tool(*verb, "--help").stdout
            found += re.findall(r"Example: tilewright (.*(?:\n {2,}\S.*)*)", text)
            section = re.split(r"\n(?:Subcommands|SUBCOMMANDS):\n", text)
            if len(section) > 1:
                verbs += [(*verb, line.split()[0]) for line in section[1].splitlines() if re.match(r" {2}\w", line)]
        self.assertGreater(len(found), 20)
        return sorted({" ".join(text.split()) for text in found})


class WithoutGpu(Everything):
    def test_every_family(self):
        small = ("--sizes", "4", "--beta", "1")
        hybrid = self.bench("hybrid", "--sizes", "24", "--beta", "1")
        ours = [row for row in hybrid if row["impl"] == "tilewright"]
        self.assertEqual({(row["cpu_share"], row["predicted_s"] is None) for row in ours}, {(1.0, True)})
        self.bench("hybrid", "--sizes", "8", "--beta", "0", "--layout", "strided", "--batch", "50")
        for row in self.bench("lu", "--sizes", "24,20x9"):
            self.assertIn(row["cpu_share"], (1.0, None))
        self.bench("gemm_small_cpu", *small, "--residency", "l1", "--peers", "none")
        self.bench("gemm", "--location", "host", "--sizes", "70", "--beta", "0", "--residency", "l2")
        rows = self.bench("layout", *small, "--residency", "l1", "--peers", "none")
        costs, = (row for row in rows if "convert_in_s" in row)
        self.assertEqual(costs["impl"], "tilewright")
        self.bench("transfer", "--sizes", "4", "--batch", "20")
        factored = self.bench("factor", "--sizes", "4,20", "--batch", "50", "--dtype", "f64,c64")
        self.assertEqual({row["routine"] for row in factored if row["impl"] == "tilewright"}, {"potrf", "getrf", "posv", "gesv", "inv"})
        self.assertTrue(all(row["error"] < row["error_bound"] for row in factored))
        self.bench("overhead", *small)
        for family in ("gemm_small", "gemm"):
            self.no_gpu("bench", family, "--sizes", "4")
        for arguments in (("hybrid", "--ways", "gpu"), ("lu", "--ways", "gpu"), ("hybrid", "--memory", "pinned"),
                          ("layout", "--location", "device"), ("transfer", "--location", "device")):
            self.no_gpu("bench", *arguments, "--sizes", "8")

    def test_a_run_goes_on_behind_the_costs_of_layouts(self):
        job = ("bench", "layout", "--sizes", "4", "--beta", "1", "--residency", "l1", "--peers", "none", *QUICK, "--json", "out.jsonl")
        self.tool(*job)
        self.tool(*job, "--resume")

    def test_every_example(self):
        run = []
        for text in self.examples():
            words = self.smaller(shlex.split(text))
            with self.subTest(text):
                run.append(words[0])
                if "--counters" in words or words[0] == "analyze":  # what a profiler wrote, which analyze_test makes
                    continue
                self.prepare(words)
                if words[0] == "bench":
                    words += QUICK
                if words[:2] == ["info", "--measure"]:  # as the test of the ceilings does
                    continue
                if words[0] == "calibrate":
                    words += ["--budget", "0.5s"]
                result = self.tool(*words, codes=(0, 1) if words[0] == "calibrate" else (0, 2))
                if result.returncode == 2:
                    self.assertRegex(result.stderr, "no GPU|on a GPU")
                    self.assertTrue("device" in text or "--gpus" in text or "pinned" in text or "bench gemm" in text, text)
        self.assertEqual({"analyze", "bench", "calibrate", "explain", "factor", "gemm", "info", "lu", "pages", "record", "solve", "tune", "wisdom"}, set(run))

    def prepare(self, words):
        """Makes the folders and files that an example names."""
        for word in words:
            if "/" in word:
                (self.folder / word).parent.mkdir(exist_ok=True)
        if words[0] == "record":
            for name in ("rank0.jsonl", "rank1.jsonl", "all.jsonl"):
                (self.folder / name).unlink(missing_ok=True)
                self.tool("gemm", "A.npy", "B.npy", "-o", "D.npy", "--record", name)
        for name in {"f32.jsonl", "colleague.jsonl", "node1.sqlite", "node2.sqlite"} & set(words):
            self.tool("wisdom", "export", "f32:nn:m=4,n=4,k=4", "--shipped", "-o", "lines.jsonl")
            if name.endswith("jsonl"):
                (self.folder / "lines.jsonl").rename(self.folder / name)
            else:
                self.tool("wisdom", "import", "lines.jsonl", "--into", name)

    def test_tuning_without_problems(self):
        out = self.folder / "out.jsonl"
        tune = ("tune", "--budget", "1s", "--clock", "turns", "--wisdom", "none", "--residency", "l1", "--beta", "1")
        self.assertIn("no PROBLEM is given", self.tool(*tune, "--json", out).stdout)
        rows = [json.loads(line) for line in out.read_text().splitlines()]
        self.assertEqual({row["dtype"] for row in rows}, {"f64", "f32"})
        self.assertLessEqual({4, 8, 16, 32}, {row["m"] for row in rows})
        again = self.tool(*tune, "--resume")
        self.assertRegex(again.stdout, r"[1-9]\d* measurements of the earlier run are used")
        narrow = self.tool("tune", "--budget", "0.5s", "--clock", "turns", "--wisdom", "none", "--dtype", "c64", "--residency", "l1",
                           "--beta", "1")
        self.assertIn("c64", narrow.stdout)
        self.assertNotIn("f64", narrow.stdout)

    def test_what_is_not_built_is_refused_with_that_reason(self):
        for routine in ("potrf", "inv"):
            for verb in ("explain", "tune"):
                said = self.tool(verb, f"{routine}:f64:n=8,batch=10", codes=(2,)).stderr
                self.assertIn(f"`tilewright factor {routine} A.npy -o X.npy --explain` explains it", " ".join(said.split()))
        for problem in ("gemm:f64:nn:m=8,n=8,k=8:math=emulated", "gemm_batched:f64:nn:m=8,n=8,k=8:strided:batch=9:error_budget=1e-9",
                        "gemm:f64:nn:m=8,n=8,k=8:bits=fixed", "lu:f64:m=8,n=8:math=emulated"):
            for verb in ("explain", "tune"):
                with self.subTest(problem, verb=verb):
                    self.assertIn("is not implemented in this version", self.tool(verb, problem, codes=(2,)).stderr)
            log = self.folder / "log.jsonl"
            log.write_text(json.dumps({"problem": problem, "count": 1, "seconds": 1.0}) + "\n")
            self.assertIn("is not implemented in this version", self.tool("tune", "--from", log, codes=(1, 2)).stderr)
        for words in (("bench", "clients"), ("bench", "--math", "emulated"),
                      ("bench", "--bits", "fixed"), ("tune", SMALL, "--part", "1/2")):
            with self.subTest(words):
                self.assertIn("is not implemented in this version", self.tool(*words, codes=(2,)).stderr)
        # An error of grammar is still one.
        self.assertNotIn("not implemented", self.tool("explain", "gemm:f64:nn:m=8,n=8,k=8:maths=full", codes=(2,)).stderr)

    def test_rates_below_those_of_fewer_threads_are_not_kept(self):
        measure = ("info", "--measure", "--megabytes", "1", "--json", "-")
        one, = json.loads(self.tool(*measure, "--threads", "1").stdout)["ceilings"]
        kept = lambda: json.loads(self.tool("wisdom", "export", "ceilings").stdout)
        model = kept()
        self.assertEqual({**model["coefficients"], "device": model["device"], "time": model["time"]}, one)  # what is printed is what is kept
        model["coefficients"] = {key: 1e6 if isinstance(value, float) else value for key, value in model["coefficients"].items()}
        (self.folder / "impossible.jsonl").write_text(json.dumps(model) + "\n")
        self.tool("wisdom", "import", "impossible.jsonl")
        two = json.loads(self.tool(*measure, "--threads", "2").stdout)
        self.assertRegex(two["ceilings_note"], "disturbed.*2 threads reached less than 1 did: .*memory_read .* instead of 1000000")
        self.assertEqual([ceilings["threads"] for ceilings in two["ceilings"]], [1])
        self.assertEqual(kept(), model)


class OnFakeGpu(Everything):
    HAS_GPU = True

    def test_every_family(self):
        small = ("--sizes", "4", "--beta", "1")
        self.bench("hybrid", "--sizes", "40", "--beta", "1", "--gpus", "1", "--memory", "pageable")
        self.bench("hybrid", "--sizes", "40", "--beta", "0", "--memory", "pinned", "--ways", "automatic,model", "--peers", "none")
        self.bench("hybrid", "--sizes", "8", "--beta", "0", "--layout", "strided", "--batch", "50", "--gpus", "1", "--memory", "pageable")
        self.bench("lu", "--sizes", "40", "--memory", "pageable")
        self.bench("gemm_small", *small, "--megabytes", "1")
        self.bench("gemm", "--sizes", "40", "--beta", "1", "--megabytes", "1", "--energy-rounds", "0")
        self.bench("layout", "--location", "device", *small, "--megabytes", "1", "--peers", "none")
        self.bench("transfer", "--location", "device", "--sizes", "4", "--batch", "20")
        self.bench("overhead", *small)

    def test_every_verb(self):
        self.tool()
        for words in (("info",), ("gemm", "A.npy", "B.npy", "-o", "C.npy", "--target", "hybrid", "--verify"),
                      ("gemm", "A.npy", "B.npy", "-o", "C.npy", "--target", "gpu", "--verify", "--explain"),
                      ("lu", "A.npy", "-o", "LU.npy", "--pivots", "P.npy", "--target", "gpu", "--verify"),
                      ("explain", "gemm_batched:f64:nn:m=8,n=8,k=8:strided:batch=1e6:location=device", "lu:f64:m=300,n=300"),
                      ("tune", "gemm_batched:f64:nn:m=4,n=4,k=4:strided:batch=9:location=device", "--megabytes", "1", "--budget", "1s",
                       "--configs", "3"),
                      ("wisdom", "list"), ("wisdom", "list", "--shipped"), ("wisdom", "export", "--shipped", "-o", "w.jsonl"), ("wisdom", "diff", "w.jsonl"),
                      ("wisdom", "import", "w.jsonl"), ("tune", "--check", "--budget", "1s", "--megabytes", "1")):
            with self.subTest(words):
                self.tool(*words, codes=(0, 1, 2) if "--check" in words else (0,))
        self.tool("calibrate", "--quick", "--gpus", "1", "--dtype", "f64", "--budget", "1s", codes=(0, 1))


if __name__ == "__main__":
    cli_test.TOOL = sys.argv.pop(1)
    unittest.main()
