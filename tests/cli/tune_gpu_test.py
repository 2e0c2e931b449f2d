#!/usr/bin/env python3
"""Drives `tilewright tune` on a GPU as users do, where a fake one will do: searches, logs, refusals, energy by a meter, and the
vendor's library in the contest. Takes the tool's path; further arguments go to unittest."""

import json
import os
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
import tune_test


class TuneOnGpu(tune_test.Driver):
    """The same search over the kernels of a GPU. A fake one will do, whose times mean nothing."""

    PROBLEM = "gemm_batched:f64:nn:m=8,n=8,k=8:strided:batch=1000:beta=one:residency=cold:location=device"

    def test_check_measures_records_of_the_gpu_again(self):
        large = "gemm:f64:nt:m=96,n=80,k=72:beta=one:residency=cold:location=device"
        for problem in (self.PROBLEM, large):
            wisdom = self.folder / "checked.jsonl"
            wisdom.unlink(missing_ok=True)
            self.tune(problem, "--budget", "0.2s", "--megabytes", "2", "--json", wisdom)
            again = (problem, "--check", "--megabytes", "2", "--wisdom", wisdom)
            # Times on a fake mean nothing, so that a sound record may do better or worse than it did.
            result = self.tune(*again, "--budget", "0.4s", "--json", "-", code=(0, 1))
            line = json.loads(result.stdout.splitlines()[0])
            self.assertEqual(line["problem"].split(":")[0], problem.split(":")[0])
            self.assertGreater(line["samples"], 0)
            self.assertNotIn("wrong", line["verdict"])
            self.assertIn("of 1 record hold", result.stderr)  # the vendor's has no config to measure
            self.assertIn("of 1 record hold", self.tune("--check", "--location", "device", *again[2:], "--budget",
                                                         "0.4s", code=(0, 1)).stdout)
            record = self.lines(wisdom)[0]
            record.update(regret=99, seconds=1, default_seconds=100)  # it promises too much
            wisdom.write_text(json.dumps(record) + "\n")
            result = self.tune(*again, "--budget", "0.4s", code=(0, 1))
            if "unknown" not in result.stdout:  # as busy as this machine may be
                self.assertIn("regression", result.stdout)
                self.assertEqual(result.returncode, 1)
            record["config"].update({"threads": 7} if problem == self.PROBLEM else {"tile_m": 7})
            wisdom.write_text(json.dumps(record) + "\n")
            result = self.tune(*again, code=1)
            self.assertIn("no longer legal", result.stdout)
            self.assertIn("1 of 1 stored record regressed", result.stderr)
        self.assertIn("--check", self.tune(self.PROBLEM, tune_test.PROBLEM, "--check", code=2).stderr)

    def test_isolated_calls_are_single_launches(self):
        self.tune(self.PROBLEM, "--arrival", "idle", "--budget", "0.3s", "--megabytes", "2", "--json", self.folder / "w.jsonl")
        record = self.lines(self.folder / "w.jsonl")[0]
        self.assertEqual((record["arrival"], record["batch_count"]), ("idle", 1000))
        self.assertIn(":arrival=idle", record["problem"])

    def test_tunes_and_resumes(self):
        job = (self.PROBLEM, "--budget", "0.5s", "--megabytes", "2", "--json", self.folder / "w.jsonl")
        self.assertIn("of the default", self.tune(*job).stdout)
        record = self.lines(self.folder / "w.jsonl")[0]
        self.assertEqual((record["family"], record["target"]), ("gemm_small", "gpu"))
        self.assertLessEqual(record["error"], record["error_bound"])
        self.assertLess(record["error_bound"], 1e-12)  # of the worst element, and not a share of it
        lines = self.lines(self.sweep)
        self.sweep.write_text("".join(json.dumps(line) + "\n" for line in lines if "result" not in line))
        self.tune(*job, "--resume")
        passed = [json.dumps(line["config"]) for line in self.lines(self.sweep) if "passed" in line]
        self.assertEqual(len(passed), len(set(passed)), "a config passed the gate twice")

    def test_refusals(self):
        for arguments, says in ((("--where", "no_such>=1"), "--where no_such"), (("--set", "load=x"), "--set load"),
                                (("--objective", "edp"), "energy meter")):
            for problem in (self.PROBLEM, self.LARGE):
                result = self.tune(problem, "--budget", "0.4s", "--megabytes", "2", *arguments, code=2)
                self.assertIn(says, result.stderr)
        result = self.tune("gemm:f64:nn:m=200000,n=200000,k=200000:location=device", "--budget", "0.4s", "--megabytes", "2",
                           code=2)
        self.assertIn("PROBLEM = gemm:f64:nn:m=200000", result.stderr)
        for problem in (self.PROBLEM, self.LARGE + ":location=device"):
            old = self.tune(problem, "--budget", "0.4s", "--megabytes", "2", "--device", "2", "--wisdom", "none", code=(1, 2))
            self.assertIn("compute capability 6.1", old.stderr)
        self.assertIn("GiB of memory", result.stderr)
        for where in (":location=device", ""):
            result = self.tune("gemm_batched:f64:nn:m=3,n=4,k=5:block_interleaved:batch=1000:residency=cold" + where, code=2)
            self.assertIn("block = 0", result.stderr)

    # It names no place, and has no space on the host.
    LARGE = "gemm:f64:nn:m=96,n=80,k=72"
    FEW = ("--set", "tile_m=32", "--set", "tile_n=32,64", "--where", "stages<=4")

    def test_energy_that_is_not_decided_is_not_kept(self):
        meter = os.environ["LD_LIBRARY_PATH"] + ":" + os.environ["METER"]
        wisdom = self.folder / "w.sqlite"
        job = (self.LARGE, "--objective", "energy", "--megabytes", "1", *self.FEW, "--wisdom", wisdom)
        result = self.tune(*job, "--budget", "0.4s", code=(0, 1), LD_LIBRARY_PATH=meter, FAKE_NVML_OTHERS="2")
        weighed = [line for line in self.lines(self.sweep) if "energy_j" in line or "joules" in line]
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("undecided and not kept: energy needs a larger --budget than 0.4s", " ".join(result.stderr.split()))
        self.assertIn("0 of 1 problems are done", result.stderr)
        self.assertIn("NOTE 2 other processes compute on the card", result.stdout)
        self.assertIn("0 records", self.tool("wisdom", "list", "--file", wisdom))
        self.assertGreaterEqual(len(weighed), 2)
        result = self.tune(*job, "--budget", "0.4s", code=1, LD_LIBRARY_PATH=meter, FAKE_NVML_MOVES_PER_SECOND="1")
        self.assertIn("no energy was measured of gemm:f64", result.stderr)
        self.assertIn("moved", result.stderr)

    def test_others_on_the_card_are_kept_with_the_record(self):
        meter = os.environ["LD_LIBRARY_PATH"] + ":" + os.environ["METER"]
        out = self.folder / "w.jsonl"
        self.tune(self.LARGE, "--budget", "0.4s", "--megabytes", "1", *self.FEW, "--json", out, LD_LIBRARY_PATH=meter,
                  FAKE_NVML_BUSY="90", FAKE_NVML_OTHERS="3")
        self.assertEqual(self.lines(out)[0]["notes"], ["3 other processes compute on the card",
                                                       "the card was 90 % busy before the run began"])

    def test_large_problems_meet_cublas(self):
        out, wisdom = self.folder / "w.jsonl", self.folder / "w.sqlite"
        job = (self.LARGE, "--budget", "0.6s", "--megabytes", "1", *self.FEW, "--json", out, "--wisdom", wisdom)
        self.assertIn("regret against it", self.tune(*job).stdout)
        ours, cublas = self.lines(out)
        self.assertEqual((ours["family"], ours["impl"], ours["location"]), ("gemm", "tilewright", "device"))
        self.assertEqual((cublas["family"], cublas["impl"], cublas["impl_version"]), ("cublas", "cublas", "13.1.0"))
        self.assertIsInstance(ours["regret_cublas"], float)
        self.assertEqual((ours["config"]["tile_m"], ours["config"]["stages"] <= 4), (32, True))
        listed = self.tool("wisdom", "list", "--file", wisdom, "--json", "-")
        self.assertIn('"tile_m":32', listed)
        self.assertIn('"version":"13.1.0"', listed)
        plan = self.tool("explain", ours["problem"], TILEWRIGHT_WISDOM=str(wisdom))
        taken = "gpu_large" if ours["seconds"] <= cublas["seconds"] else "cublas"
        self.assertIn(f"plan       {taken}\n", plan)
        self.assertIn("exact", plan)
        # All of it again from the log: nothing is timed, and both records are there.
        again = self.folder / "again.sqlite"
        self.tune(*job[:-1], again, "--resume")
        self.assertEqual(self.lines(out), [ours, cublas])
        self.assertIn("2 records", self.tool("wisdom", "list", "--file", again))
        # The log says which card it was and which turns are the library's; another card's is not gone on with.
        report = self.folder / "report.jsonl"
        self.tool("analyze", self.sweep, "--json", report)
        summary = self.lines(report)[1]  # behind the command
        turns = [line for line in self.lines(self.sweep) if "seconds" in line]
        configs = {json.dumps(line["config"]) for line in turns if line.get("impl") != "cublas"}
        self.assertEqual((summary["configs"], summary["sentinel"]), (len(configs), "cublas"))
        self.assertLess(len(configs), len({json.dumps(line["config"]) for line in turns}))
        uuid = self.lines(self.sweep)[0]["run"]["gpu_uuid"]
        self.assertEqual(summary["joins"][0]["device_uuid"], uuid)
        self.sweep.write_text(self.sweep.read_text().replace(uuid, "GPU-another"))
        self.assertIn("was started with gpu_uuid", self.tune(*job, "--resume", code=2).stderr)

    def test_large_problems_from_the_whole_space(self):
        self.tune(self.LARGE, "--budget", "0.3s", "--megabytes", "1", "--space", "whole", "--strategy", "random",
                  "--set", "tile_m=32", "--set", "tile_n=32", "--json", self.folder / "w.jsonl", "--wisdom", "none")
        self.assertEqual(self.lines(self.folder / "w.jsonl")[0]["config"]["tile_m"], 32)

    def test_failing_configs_are_kept_with_their_reason(self):
        wisdom = self.folder / "w.sqlite"
        job = (self.LARGE, "--budget", "0.5s", "--megabytes", "1", "--set", "tile_m=32", "--set", "tile_n=32",
               "--set", "stages=2,3", "--wisdom", wisdom)
        self.tune(*job, TILEWRIGHT_FAKE_SPILLS=".stages=3", TILEWRIGHT_CACHE=str(self.folder / "jit"))
        failed = [json.loads(line) for line in self.tool("wisdom", "export", "--file", wisdom)
                  .splitlines() if '"failed"' in line]
        self.assertTrue(failed)
        self.assertTrue(all("spilled" in record["reason"] for record in failed), failed)

    def test_large_problems_without_cublas(self):
        fakes = pathlib.Path(os.environ["LD_LIBRARY_PATH"])
        (self.folder / "lib").mkdir()
        (self.folder / "lib" / "libcuda.so.1").symlink_to(fakes / "libcuda.so.1")
        # A library that is none hides whatever the machine has.
        for name in ("libcublas.so.13", "libcublas.so.12", "libcublas.so"):
            (self.folder / "lib" / name).write_text("none")
        result = self.tune(self.LARGE, "--budget", "0.3s", "--megabytes", "1", *self.FEW, "--json", self.folder / "w.jsonl",
                           LD_LIBRARY_PATH=str(self.folder / "lib"))
        self.assertIn("not compared: cublas", result.stdout)
        (ours,) = self.lines(self.folder / "w.jsonl")
        self.assertEqual(ours["family"], "gemm")
        self.assertIn("cuBLAS was not found", ours["peers_left_out"][0])


if __name__ == "__main__":
    tune_test.TOOL = sys.argv.pop(1)
    unittest.main()
