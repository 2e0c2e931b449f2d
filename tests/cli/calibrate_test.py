#!/usr/bin/env python3
"""Drives `tilewright calibrate` as users do, on the CPU of this machine and on GPUs that may be fake ones: what is said, the
lines of --json, what wisdom keeps, a run stopped and resumed, and what is refused. Takes the tool's path; further arguments
go to unittest. How well a model fits this machine no test can say."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOL = None
MODELS = ("transfer", "host_copy", "gemm_host", "gemm_device", "pipeline")
GENERAL = ("start_s", "s_per_product", "s_per_c", "s_per_ab", "waiting_k")


class Driver(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.temporary.name)
        self.log = self.folder / "cache/tilewright/calibrate.jsonl"
        self.environment = {**os.environ, "XDG_DATA_HOME": str(self.folder / "data"),
                            "XDG_CACHE_HOME": str(self.folder / "cache")}

    def tearDown(self):
        self.temporary.cleanup()

    def tool(self, *arguments, code=0, **changes):
        result = subprocess.run([TOOL, *map(str, arguments)], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                                env={**self.environment, **changes}, timeout=300)
        self.assertIn(result.returncode, code if isinstance(code, tuple) else (code,), result.stderr + result.stdout)
        return result

    # The budget is more than the CPU alone needs. On a fake GPU it is less, and then the first experiment of each kind is
    # made all the same, and which others are nothing here looks at.
    def calibrate(self, *arguments, budget="60s", **changes):
        return self.tool("calibrate", "--quick", "--dtype", "f64", "--budget", budget, *arguments, **changes)

    def lines(self, path):
        return [json.loads(line) for line in path.read_text().splitlines()]

    def check_lines(self, lines):
        """Models, each followed by its validation, and the summary; the models."""
        summary = lines[-1]
        self.assertTrue(summary["summary"])
        self.assertEqual(summary["family"], "calibrate")
        models = [line for line in lines if "model" in line]
        self.assertEqual(summary["models"], len(models))
        for model in models:
            self.assertIn(model["model"], MODELS)
            self.assertEqual(model["command"], "tilewright calibrate --quick")
            self.assertGreater(model["samples"], 0)
            self.assertLessEqual(model["r_squared"], 1)
            self.assertGreaterEqual(model["residual"], 0)
            for fit in model["fits"].values():
                self.assertTrue(all(c >= 0 for c in fit["coefficients"]), fit)
                self.assertEqual(len(fit["coefficients"]), len(fit["terms"]))
            if model["model"].startswith("gemm"):
                self.assertEqual(model["dtype"], "f64")
                self.assertTrue(all(model["coefficients"][name] >= 0 for name in GENERAL))
        rows = [line for line in lines if "validates" in line]
        self.assertEqual(summary["validated"], len(rows))
        for row in rows:
            self.assertAlmostEqual(row["predicted_s"] / row["seconds"] - 1, row["deviation"], places=9)
        return models


class Calibrate(Driver):
    def test_the_cpu_alone(self):
        out = self.folder / "out.jsonl"
        result = self.calibrate("--gpus", "none", "--json", out)
        self.assertIn("GPUs          none:", result.stdout)
        models = self.check_lines(self.lines(out))
        missed = sum("not_kept" in line for line in self.lines(out))  # on a busy machine
        self.assertEqual(result.stdout.count("not kept: its mean error"), missed)
        self.assertIn("gemm_host", [model["model"] for model in models] + ["gemm_host"] * missed)
        self.assertTrue(all(model["model"] in ("host_copy", "gemm_host") for model in models))
        for said in ("residual", "R^2", "general", "validation", "predicted", "models fitted"):
            self.assertIn(said, result.stdout)
        exported = self.folder / "exported.jsonl"
        if not models:
            return
        self.tool("wisdom", "export", "-o", exported, "--file", self.folder / "data/tilewright/wisdom.sqlite")
        kept = {line["model"]: line for line in self.lines(exported)}
        self.assertEqual(kept, {model["model"]: model for model in models})

    def test_resumes_from_its_log(self):
        self.calibrate("--gpus", "none", "--wisdom", "none", budget="2s", code=(0, 1))
        before = self.log.read_bytes()
        self.log.write_bytes(before[:len(before) // 2])
        result = self.calibrate("--gpus", "none", "--wisdom", "none", "--resume", budget="2s", code=(0, 1))
        self.assertIn("timings are from the earlier run", result.stdout)
        first = before[:before.rfind(b"\n", 0, len(before) // 2) + 1]
        self.assertTrue(self.log.read_bytes().startswith(first))
        # What was disturbed is timed once more, which a busy machine decides: tests/tune has a clock of its own for the rest.
        self.assertFalse((self.folder / "data/tilewright/wisdom.sqlite").exists())

    def test_the_log_of_another_run_is_refused(self):
        self.calibrate("--gpus", "none", "--wisdom", "none", budget="1s", code=(0, 1))
        result = self.tool("calibrate", "--quick", "--dtype", "f32", "--gpus", "none", "--resume", code=2)
        self.assertIn("--resume", result.stderr)
        self.assertIn("dtypes", result.stderr)

    def test_wrong_use(self):
        for arguments, says in ((("--dtype", "f16"), "f16"), (("--dtype", "f64,f64"), "twice"),
                                (("--budget", "soon"), "soon"), (("--gpus", "first"), "first"),
                                (("--gpus", "99"), "")):
            result = self.tool("calibrate", "--quick", *arguments, code=2)
            self.assertIn(says, result.stderr)
        other = self.folder / "other.jsonl"
        other.write_text('{"run": {}}\n')
        result = self.calibrate("--gpus", "none", "--log", other, code=2)
        self.assertIn("is not a log of calibrate", result.stderr)
        self.assertEqual(other.read_text(), '{"run": {}}\n')

    def test_no_budget_fits_nothing(self):
        result = self.tool("calibrate", "--quick", "--gpus", "none", "--budget", "0.000000001s", code=1)
        self.assertIn("the budget is used up", result.stdout)
        self.assertIn("no model could be fitted", result.stderr)


class CalibrateOnGpu(Driver):
    def test_gpus_take_part(self):
        out = self.folder / "out.jsonl"
        result = self.calibrate("--gpus", "0,1", "--json", out, budget="6s", code=(0, 1))
        self.assertIn("GPU 0", result.stdout)
        self.assertIn("GPU 1", result.stdout)
        self.check_lines(self.lines(out))
        for model in MODELS:
            self.assertRegex(result.stdout, f"{model}( f64)? of .*: (residual|not fitted)")
        works = {line["experiment"]["work"] for line in self.lines(self.log) if "experiment" in line}
        if "left out" not in result.stdout and "budget is used up" not in result.stdout:  # as busy as this machine may be
            self.assertLessEqual({"to_device", "to_host", "from_peer", "device_copy", "pin"}, works)
        besides = {line["experiment"]["beside"] for line in self.lines(self.log) if "experiment" in line}
        self.assertLessEqual({"nothing", "other_direction", "all_gpus"}, besides)
        pieces = {line["experiment"]["pieces"] for line in self.lines(self.log) if "experiment" in line}
        self.assertGreater(len(pieces), 1)

    def test_one_gpu_has_no_peer(self):
        self.calibrate("--gpus", "1", "--wisdom", "none", budget="3s", code=(0, 1))
        works = {line["experiment"]["work"] for line in self.lines(self.log) if "experiment" in line}
        self.assertIn("to_device", works)
        self.assertNotIn("from_peer", works)

    def test_gpus_that_are_too_old_are_refused(self):
        if "fake" not in self.environment.get("LD_LIBRARY_PATH", ""):
            self.skipTest("the driver is no fake one")
        result = self.tool("calibrate", "--quick", "--gpus", "2,", code=2)
        self.assertIn("compute capability 6.1", result.stderr)


if __name__ == "__main__":
    TOOL = sys.argv.pop(1)
    unittest.main()
