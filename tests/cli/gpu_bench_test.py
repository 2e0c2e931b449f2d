#!/usr/bin/env python3
"""Drives `tilewright bench` of gemm, layout and transfer as users do, on a GPU that may be a fake one: who takes part, the keys of the contract, what
is refused. Takes the tool's path; further arguments go to unittest. How fast anything is no test can say."""

import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOL = None
KEYS = ("family problem dtype op m n k lda ldb ldc layout batch_count alpha beta residency arrival location memory pointer_order numa "
        "threads target data impl impl_version config wisdom_match seconds seconds_low seconds_high samples gflops "
        "bound_gflops bound_share bound_kind ceiling energy_j watts gflops_per_watt error error_bound read_s kernel_s write_s "
        "total_s metrics device device_uuid driver commit time").split()


class OnGpu(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.temporary.name)
        self.out = self.folder / "out.jsonl"

    def tearDown(self):
        self.temporary.cleanup()

    def run_tool(self, *arguments, code=0, **changes):
        environment = {**os.environ, "XDG_DATA_HOME": str(self.folder / "data"),
                       "XDG_CACHE_HOME": str(self.folder / "cache"), **changes}
        result = subprocess.run([TOOL, *map(str, arguments)], capture_output=True, text=True, timeout=300, env=environment)
        if code is not None:
            self.assertEqual(result.returncode, code, result.stderr)
        return result

    def bench(self, *arguments, code=0, **changes):
        return self.run_tool("bench", *self.FAMILY, "--repetitions", "2", "--json", self.out, *arguments, code=code,
                             **changes)

    def rows(self):
        lines = [json.loads(line) for line in self.out.read_text().splitlines()]
        self.assertIn("command", lines[0])
        return [line for line in lines[1:] if "summary" not in line], [line for line in lines if "summary" in line]

    def without_a_gpu(self, *arguments):
        """As on a machine without a GPU; on one with a GPU that is not the fake one the job runs, and says nothing."""
        result = self.bench(*arguments, code=None, LD_LIBRARY_PATH="")
        if result.returncode != 0:
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertIn("no GPU driver was found", result.stderr)


class BenchOnGpu(OnGpu):
    FAMILY = ("gemm", "--megabytes", "1")

    def test_ours_beside_cublas(self):
        self.bench("--dtype", "f64,c64", "--sizes", "35x33x40", "--op", "ct", "--beta", "0,1")
        rows, summaries = self.rows()
        self.assertEqual(len(rows), 2 * 2 * 3)
        self.assertEqual({row["impl"] for row in rows}, {"tilewright", "tilewright_default", "cublas"})
        for row in rows:
            self.assertEqual([key for key in KEYS if key not in row], [])
            self.assertEqual((row["family"], row["layout"], row["location"], row["target"], row["residency"]),
                             ("gemm", "single", "device", "gpu", "cold"))
            self.assertLessEqual(row["error"], row["error_bound"])
            self.assertLess(row["error_bound"], 1e-3)  # both are of an element, and not shares of anything
            self.assertIn(row["bound_kind"], ("memory", "compute"))
            if row["energy_j"] is None:
                self.assertTrue(row["energy_note"])
            if row["impl"] == "tilewright":
                ratio = row["ratio"]
                self.assertEqual((ratio["peer"], ratio["samples"]), ("cublas", 2))
                self.assertLessEqual(ratio["low"], ratio["centre"])
                self.assertLessEqual(ratio["centre"], ratio["high"])
        self.assertEqual(len(summaries), 2 * 2)
        for summary in summaries:
            for key in ("ratio_geomean", "ratio_min", "ratio_min_case", "bound_share_geomean", "bound_share_min_case"):
                self.assertIsNotNone(summary[key])

    def test_ours_alone(self):
        result = self.bench("--sizes", "96", "--candidate", "stencil", "--counters")
        ours = [row for row in self.rows()[0] if row["impl"] != "cublas"]
        self.assertEqual([row["metrics"]["candidate"] for row in ours], ["gpu_large", "gpu_large"])
        self.assertIn("tile_m", ours[0]["config"])
        self.assertIn("predicted_cycles", ours[0]["metrics"])
        self.assertIn("registers", result.stdout)
        result = self.run_tool("explain", "gemm:f64:nn:m=96,n=96,k=96:location=device", "--candidate", "stencil")
        self.assertIn("gemm", result.stdout)
        self.assertRegex(result.stdout, r"predicted  [0-9.]+ [mun]?s at 1500 MHz")
        config = {**ours[0]["config"], "raster": 1}
        self.bench("--sizes", "96", "--candidate", "gpu_large", "--config", json.dumps(config), "--peers", "none")
        rows, _ = self.rows()
        self.assertEqual([row["config"]["raster"] for row in rows], [1])

    def test_the_vendors_library_as_the_candidate(self):
        self.bench("--sizes", "96", "--candidate", "cublas", "--dtype", "f32")
        self.assertEqual(self.rows()[0][0]["metrics"]["candidate"], "cublas")

    def test_data_of_every_kind(self):
        for data in ("graded", "ill_scaled", "pow2"):
            self.bench("--sizes", "70x40x33", "--dtype", "f32", "--candidate", "stencil", "--data", data)
            for row in self.rows()[0]:
                self.assertEqual(row["data"], data)
                self.assertLessEqual(row["error"], row["error_bound"])

    def test_cublas_by_its_own_search_is_a_peer_where_it_is_named(self):
        job = ("--dtype", "f64,c64", "--sizes", "96", "--beta", "1", "--peers", "cublas,cublas_tuned")
        self.bench(*job)
        rows, _ = self.rows()
        self.assertEqual(collections.Counter(row["impl"] for row in rows if row["impl"] != "tilewright_default"),
                         {"tilewright": 2, "cublas": 2, "cublas_tuned": 2})
        for row in rows:
            self.assertLessEqual(row["error"], row["error_bound"])
        result = self.bench(*job, TILEWRIGHT_FAKE_CUBLAS="untuned")
        self.assertIn("left out: cublas_tuned (cuBLAS 13.1.0 does not tune this product", " ".join(result.stdout.split()))
        self.assertNotIn("cublas_tuned", {row["impl"] for row in self.rows()[0]})

    def test_errors_beside_those_of_cublas(self):
        """Both sum in turn on the fake GPU, so that their errors are the same and not nothing."""
        case = ("--sizes", "5x7x9000", "--dtype", "f32,c128", "--beta", "0", "--candidate", "stencil")
        self.bench(*case, "--most-error-ratio", "1.1")
        for row in self.rows()[0]:
            self.assertGreater(row["error_rms"], 0)
            self.assertLessEqual(row["error_rms"], row["error"] / row["error_bound"])  # shares of the bound, both
            if row["impl"] == "tilewright":
                self.assertAlmostEqual(row["error_ratio"], 1, 5)
        result = self.bench(*case, "--most-error-ratio", "0.9", code=1)
        self.assertIn("the errors of tilewright are larger in 2 cases", result.stderr)
        self.assertIn("no peer", self.bench(*case, "--most-error-ratio", "2", "--peers", "none", code=1).stderr)
        self.assertIn("--most-error-ratio", self.bench(*case, "--most-error-ratio", "0", code=2).stderr)

    def test_checks_alone_say_how_much_everybody_errs(self):
        case = ("--sizes", "5x7x900", "--dtype", "f32", "--beta", "0,1", "--candidate", "stencil", "--check-only")
        result = self.bench(*case)
        rows, summaries = self.rows()
        self.assertEqual((len(rows), summaries), (2, []))
        for row in rows:
            self.assertEqual((row["phase"], row["device_uuid"][:4]), ("check", "GPU-"))
            self.assertIn("5", row["problem"])
            self.assertAlmostEqual(row["error_ratio"], 1, 5)
            self.assertNotIn("seconds", row)
        self.assertEqual(" ".join(result.stdout.split()).count("the errors of tilewright are 1.000 times"), 2)
        self.bench(*case, "--most-error-ratio", "0.9", code=1)

    def test_long_windows_in_turn(self):
        meter = os.environ["LD_LIBRARY_PATH"] + ":" + os.environ["METER"]
        self.bench("--sizes", "96", "--beta", "0", "--energy-seconds", "0.1", "--energy-rounds", "3", LD_LIBRARY_PATH=meter,
                   FAKE_NVML_MOVES_PER_SECOND="1000")
        ours = next(row for row in self.rows()[0] if row["impl"] == "tilewright")
        self.assertEqual((ours["efficiency_ratio"]["peer"], ours["efficiency_ratio"]["samples"]), ("cublas", 3))
        self.assertGreater(ours["energy_j"], 0)
        self.assertIn("--energy-seconds", self.bench("--sizes", "96", "--energy-seconds", "0", code=2).stderr)
        self.bench("--sizes", "96", "--energy-rounds", "0", LD_LIBRARY_PATH=meter)
        self.assertEqual([row["energy_j"] for row in self.rows()[0]], [None] * 3)

    def test_races_are_looked_for(self):
        result = self.bench("--sizes", "96,65x70x33", "--beta", "0,1", "--candidate", "stencil", "--configs", "2", "--races", "3")
        rows, summaries = self.rows()
        self.assertEqual(summaries, [])
        self.assertEqual({(row["phase"], row["launches"], row["moved"]) for row in rows}, {("repeat", 3, 0)})
        self.assertIn("0 of 3 launches of tilewright differ from the first", " ".join(result.stdout.split()))

    def test_a_run_goes_on_with_its_file(self):
        case = ("--sizes", "64,80,96", "--peers", "none")
        self.assertIn("continue with --resume", self.bench(*case, "--budget", "0").stdout)
        self.bench("--sizes", "64,80", "--peers", "none")
        before = self.out.read_text()
        self.bench(*case, "--resume")
        self.assertTrue(self.out.read_text().startswith(before))
        rows, _ = self.rows()
        self.assertEqual([row["n"] for row in rows if row.get("impl") == "tilewright"], [64, 80, 96])
        self.assertIn("--resume", self.run_tool("bench", *self.FAMILY, "--resume", code=2).stderr)

    def test_a_card_that_is_not_alone_and_a_coarse_meter(self):
        meter = os.environ["LD_LIBRARY_PATH"] + ":" + os.environ["METER"]
        result = self.bench("--sizes", "96", "--candidate", "cublas", "--energy-seconds", "0.3", LD_LIBRARY_PATH=meter, FAKE_NVML_BUSY="40", FAKE_NVML_OTHERS="2",
                            FAKE_NVML_MOVES_PER_SECOND="1")
        said = ["2 other processes compute on the card", "the card was 40 % busy before the run began"]
        for row in self.rows()[0]:
            self.assertEqual(row["notes"], said)
            self.assertIn("moved", row["energy_note"])
        for note in said:
            self.assertEqual(result.stdout.count("NOTE " + note), 1)
        self.bench("--sizes", "96", "--candidate", "cublas", "--peers", "none", "--energy-seconds", "0.2", LD_LIBRARY_PATH=meter,
                   FAKE_NVML_MOVES_PER_SECOND="1000")  # every look is an edge, however busy this machine is
        self.assertFalse(any("notes" in row for row in self.rows()[0]))
        for row in self.rows()[0]:  # power belongs to the load whose energy was measured, not to the timed samples
            self.assertAlmostEqual(row["watts"], 500, delta=25)

    def test_strided_batches(self):
        self.bench("--sizes", "70", "--layout", "strided", "--batch", "3", "--beta", "1", "--configs", "2")
        self.assertEqual({row["batch_count"] for row in self.rows()[0]}, {3})

    def test_on_the_host(self):
        on_host = ("bench", "gemm", "--location", "host", "--sizes", "70x96x80", "--dtype", "f32,c128", "--op", "nt", "--repetitions", "2")
        self.run_tool(*on_host, "--peers", "openblas,eigen", "--json", self.out)
        rows, summaries = self.rows()
        self.assertEqual(len(summaries), 2)
        self.assertIn("tilewright", {row["impl"] for row in rows})
        for row in rows:
            self.assertEqual([key for key in KEYS if key not in row], [])
            self.assertEqual((row["family"], row["layout"], row["location"], row["target"], row["residency"], row["threads"]),
                             ("gemm", "single", "host", "cpu", "cold", 1))
            self.assertLessEqual(row["error"], row["error_bound"])
        for flag in ("--configs", "--check-only", "--megabytes"):
            value = () if flag == "--check-only" else ("1",)
            self.assertIn(flag, self.run_tool(*on_host, flag, *value, code=2).stderr)
        self.assertIn("--peers", self.run_tool(*on_host, "--peers", "cublas", code=2).stderr)

    def test_refusals(self):
        for arguments, says in ((("--layout", "pointer"), "--layout"), (("--peers", "openblas"), "--peers"),
                                (("--residency", "l2"), "--residency"),
                                (("--threads", "2"), "--threads"), (("--candidate", "fastest"), "candidate"),
                                (("--objective", "joules"), "--objective"), (("--config", '{"tile_m": 100}'), "config")):
            result = self.bench("--sizes", "96", *arguments, code=2)
            self.assertIn(says, result.stderr)
        result = self.bench("--sizes", "200000", code=2)
        self.assertIn("--sizes = gemm:f64:nn:m=200000", result.stderr)


class SmallOnGpu(OnGpu):
    FAMILY = ("gemm_small", "--megabytes", "1")

    def test_every_layout_is_measured_as_what_it_says(self):
        # The fake library has no grouped routine.
        peers = {"strided": {"cublas_strided", "cublas_pointer"}, "pointer": {"cublas_strided", "cublas_pointer"},
                 "interleaved": set(), "block_interleaved": set()}
        for layout, theirs in peers.items():
            self.bench("--dtype", "f32", "--sizes", "5", "--layout", layout, "--beta", "1", "--pointer-order", "random")
            rows, _ = self.rows()
            self.assertEqual({row["impl"] for row in rows}, {"tilewright", "tilewright_default"} | theirs)
            for row in rows:
                self.assertEqual((row["layout"], row["family"]), (layout, "gemm_small"))
                self.assertLessEqual(row["error"], row["error_bound"])
                # The batch fits the operands: 100 bytes a matrix, 128 if each has its own sectors.
                self.assertAlmostEqual(row["batch_count"] * (128 if layout == "pointer" else 100), 1 << 20, delta=3200)

    def test_single_launches_for_a_profiler(self):
        self.bench("--sizes", "3,4", "--beta", "1", "--batch", "100", "--peers", "cublas_strided", "--once")
        lines = [json.loads(line) for line in self.out.read_text().splitlines()]
        rows = lines[1:]
        self.assertEqual([row["order"] for row in rows], [0, 1, 2, 3])
        self.assertEqual([row["impl"] for row in rows], ["tilewright", "cublas_strided"] * 2)
        self.assertEqual((rows[2]["n"], rows[2]["bound_bytes"]), (4, 4 * 16 * 8 * 100))
        self.assertIn("threads", rows[2]["config"])
        profile, joined = self.folder / "ncu.csv", self.folder / "counters.jsonl"
        with open(profile, "w") as file:
            print('"ID","Kernel Name","Block Size","Grid Size","gpu__time_duration.sum","dram__bytes.sum"', file=file)
            print('"","","","","ns","byte"', file=file)
            for i, row in enumerate(rows):
                name, blocks, threads = ("gemm_small", row["blocks"], row["threads"]) if "config" in row else ("other", 1, 8)
                print(f'"{i}","{name}","({threads}, 1, 1)","({blocks}, 1, 1)","1000","{2 * row["bound_bytes"]}"', file=file)
        arguments = ("analyze", "--counters", profile, "--order", self.out)
        self.run_tool(*arguments, "--json", joined)
        counted = [json.loads(line) for line in joined.read_text().splitlines()]
        self.assertEqual(counted[0], lines[0])
        self.assertEqual([row["counters"]["bound_bytes_share"] for row in counted[1:]], [0.5] * 4)
        self.assertEqual(counted[1]["config"], rows[0]["config"])
        self.assertIn("SWEEP is missing", self.run_tool(*arguments, code=2).stderr)

    def test_blocks_end_with_the_batch(self):
        self.bench("--sizes", "4x3x6", "--layout", "block_interleaved", "--batch", "101", "--op", "tn",
                   "--pad-ld", "2")
        self.assertEqual({row["batch_count"] for row in self.rows()[0]}, {101})

    def test_blocks_are_as_asked_for(self):
        self.bench("--sizes", "4", "--layout", "block_interleaved", "--block", "4,32", "--batch", "64")
        problems = {row["problem"] for row in self.rows()[0]}
        self.assertEqual(len(problems), 2)
        for block in (4, 32):
            self.assertTrue(any(f":block={block}:" in problem for problem in problems), problems)
        self.assertIn("--block", self.bench("--sizes", "4", "--block", "32", code=2).stderr)

    def test_layouts_whose_sizes_come_in_arrays(self):
        for layout in ("grouped", "variable"):
            self.bench("--dtype", "f64,c64", "--sizes", "5x7x9", "--op", "nt", "--layout", layout, "--beta", "0,1",
                       "--batch", "203", "--pad-ld", "1", "--pointer-order", "random", "--alpha", "0.5")
            rows, _ = self.rows()
            self.assertLessEqual({"tilewright", "tilewright_default"}, {row["impl"] for row in rows})
            ours = [row for row in rows if row["impl"].startswith("tilewright")]
            self.assertEqual(len(ours), 2 * 2 * 2)
            for row in rows:
                self.assertEqual((row["layout"], row["batch_count"]), (layout, 203))
                self.assertLessEqual(row["error"], row["error_bound"])
        self.assertIn("--configs", self.bench("--sizes", "5", "--layout", "variable", "--configs", "2", code=2).stderr)
        self.assertIn("limit of 512", self.bench("--sizes", "1x513x1", "--layout", "variable", code=2).stderr)


class LayoutOnGpu(OnGpu):
    FAMILY = ("layout", "--location", "device", "--megabytes", "1")

    def test_parts_of_a_conversion(self):
        result = self.bench("--dtype", "f64,c64", "--sizes", "5x13x23", "--op", "tc", "--beta", "0,1", "--batch", "77",
                            "--block", "8,32", "--pad-ld", "1", "--layout", "strided,pointer", "--pointer-order", "random")
        self.assertIn("of the streaming bound: ", result.stdout)
        rows, _ = self.rows()
        parts = [row for row in rows if row["metrics"]["what"] != "costs"]
        cases = 2 * 2 * 2 * 2
        self.assertEqual(len(rows) - len(parts), cases)
        for row in parts:
            self.assertEqual([key for key in ("family", "seconds", "samples", "impl", "device_uuid") if key not in row], [])
            self.assertEqual((row["location"], row["residency"], row["batch_count"], row["device"]),
                             ("device", "cold", 77, "NVIDIA H200"))
            if row["metrics"]["what"] != "converted":
                self.assertEqual(row["bound_kind"], "memory")
                self.assertGreater(row["bound_share"], 0)
        ours = [row["metrics"] for row in parts if row["impl"] == "tilewright"]
        for what in ("convert_in", "convert_out", "direct", "converted"):
            self.assertEqual(sum(metrics["what"] == what for metrics in ours), cases)
        ways = [metrics["way"] for metrics in ours if metrics["what"] == "interleaved"]
        self.assertEqual((ways.count("shared memory"), ways.count("no shared memory")), (cases, cases))
        loads = {row["config"]["load"] for row in parts if row["metrics"].get("way") == "no shared memory"}
        self.assertLessEqual(loads, {"direct", "read_only"})
        self.assertTrue(loads)
        self.assertEqual({row["impl"] for row in parts} - {"tilewright", "cublas_strided", "cublas_pointer", "cublas_grouped"},
                         set())

    def test_blocks_are_an_axis(self):
        self.bench("--sizes", "4", "--batch", "256", "--beta", "1", "--peers", "none", "--configs", "2")
        records = [row for row in self.rows()[0] if row["metrics"]["what"] == "costs"]
        self.assertGreater(len({row["block"] for row in records}), 3)
        for row in records:
            for key in ("convert_in_s", "convert_out_s", "direct_s", "interleaved_s"):
                self.assertGreater(row[key], 0)
            self.assertIn("reuse_threshold", row)

    def test_explain_is_served(self):
        problem = "gemm_batched:f64:nn:m=4,n=4,k=4:strided:batch=1000:beta=one:location=device"
        self.assertIn("no costs are recorded", self.words("explain", problem))
        self.bench("--sizes", "4", "--batch", "256", "--beta", "1", "--peers", "none", "--block", "32")
        explained = self.words("explain", problem)
        self.assertIn("conversion: ", explained)
        self.assertIn("the kernel takes", explained)
        self.assertIn("no costs are recorded", self.words("explain", problem.replace(":location=device", "")))

    def words(self, *arguments):
        """What the tool prints, wherever its lines are broken."""
        return " ".join(self.run_tool(*arguments).stdout.split())

    def test_refusals(self):
        for arguments, says in ((("--layout", "block_interleaved"), "--layout"), (("--threads", "2"), "--threads"),
                                (("--residency", "l2"), "--residency"), (("--block", "0"), "--block"),
                                (("--check-only",), "--check-only"), (("--memory", "pinned"), "--memory"),
                                (("--sizes", "65"), "65"), (("--device", "7"), "device = 7 does not exist"),
                                (("--batch", "1e6"), "--batch"), (("--peers", "openblas"), "--peers"),
                                (("--target", "cpu"), "--target")):
            sizes = () if "--sizes" in arguments else ("--sizes", "4")
            self.assertIn(says, self.bench(*sizes, *arguments, code=2).stderr)
        both = self.run_tool("bench", "layout", "--location", "host,device", code=2)
        self.assertIn("one location per run", both.stderr)
        tuned = self.run_tool("tune", "--family", "layout", "--location", "device", "--sizes", "4", code=2)
        self.assertIn("bench layout --location device", tuned.stderr)
        self.without_a_gpu("--sizes", "4")

    def test_wrong_kernels_end_the_run(self):
        result = self.bench("--sizes", "4", "--beta", "0", code=1, TILEWRIGHT_FAKE_WRONG="layout_convert")
        self.assertIn("wrong result", result.stderr)


class TransferOnGpu(OnGpu):
    FAMILY = ("transfer", "--location", "device")
    STAGES = ["allocate", "release", "to_device_a", "to_device_b", "to_device_c", "to_host_c"]

    def test_separate_matrices_against_one_block(self):
        result = self.bench("--dtype", "f64,f32", "--sizes", "4,5x13x23", "--batch", "300")
        self.assertIn("one_block_per_matrix", result.stdout)
        rows, _ = self.rows()
        self.assertEqual(len(rows), 2 * 2 * 2 * 2)
        for row in rows:
            self.assertEqual((row["family"], row["location"], row["batch_count"]), ("transfer", "device", 300))
            stages = row["metrics"]["stages"]
            self.assertEqual(sorted(stages), self.STAGES)
            size = 8 if row["dtype"] == "f64" else 4
            bytes_of_c = 300 * size * row["m"] * row["n"]
            for name in ("to_device_c", "to_host_c"):
                self.assertEqual(stages[name]["bytes"], bytes_of_c)
                self.assertAlmostEqual(stages[name]["gbs"], bytes_of_c / stages[name]["seconds"] * 1e-9)
            self.assertNotIn("gbs", stages["allocate"])
            self.assertGreater(row["metrics"]["ratio"], 0)
            if row["impl"] == "one_block":
                self.assertEqual(row["metrics"]["ratio"], 1)
        self.assertEqual({(row["memory"], row["impl"]) for row in rows},
                         {(memory, impl) for memory in ("pageable", "pinned")
                          for impl in ("one_block_per_matrix", "one_block")})

    def test_the_usual_batch_and_one_memory(self):
        self.run_tool("bench", *self.FAMILY, "--sizes", "2", "--memory", "pinned", "--repetitions", "1", "--json", self.out)
        rows, _ = self.rows()
        self.assertEqual({row["memory"] for row in rows}, {"pinned"})
        self.assertEqual({row["metrics"]["asked_batch_count"] for row in rows}, {10000})

    def test_long_cases_are_shortened(self):
        result = self.run_tool("bench", *self.FAMILY, "--sizes", "2", "--batch", "20000000", "--memory", "pinned",
                               "--repetitions", "50", "--json", self.out)
        self.assertIn("of 20000000 problems", result.stdout)
        for row in self.rows()[0]:
            self.assertLess(row["batch_count"], 20000000)
            self.assertEqual(row["metrics"]["asked_batch_count"], 20000000)

    def test_refusals(self):
        for arguments, says in ((("--memory", "unified"), "--memory"), (("--peers", "none"), "--peers"),
                                (("--megabytes", "1"), "--megabytes"), (("--threads", "2"), "--threads"),
                                (("--device", "7"), "device = 7 does not exist")):
            self.assertIn(says, self.bench("--sizes", "4", *arguments, code=2).stderr)
        on_host = self.run_tool("bench", "transfer", "--sizes", "4", "--memory", "pinned", code=2)
        self.assertIn("--memory", on_host.stderr)
        self.without_a_gpu("--sizes", "4", "--batch", "10")


class HybridOnGpu(OnGpu):
    FAMILY = ("hybrid", "--beta", "1", "--sizes", "160", "--gpus", "1")

    def test_ways_and_peers_by_memory(self):
        self.bench("--peers", "openblas,copy_cublas", "--ways", "automatic,gpu,model")
        rows, summaries = self.rows()
        for memory in ("pageable", "pinned"):
            self.assertEqual([row["metrics"]["variant"] or row["impl"] for row in rows if row["memory"] == memory],
                             ["automatic", "gpu", "model", "CPU only", "copy_cublas"])
        for row in rows:
            self.assertEqual((row["family"], row["gpus"]), ("hybrid", 1))
            self.assertGreater(row["transfer_s"], 0)
        self.assertEqual(sorted(summary["memory"] for summary in summaries), ["pageable", "pinned"])
        for summary in summaries:
            for key in ("family dtype layout op beta residency threads target ratio_geomean ratio_min ratio_min_case "
                        "bound_share_geomean bound_share_min bound_share_min_case").split():
                self.assertIn(key, summary)
            self.assertIn("m=160", summary["ratio_min_case"])

    def test_a_wrong_product_fails_the_job_after_the_last_case(self):
        """Small products by kernels of ours, which compute nothing here; larger ones are the library's and right."""
        result = self.run_tool("bench", "hybrid", "--beta", "1", "--gpus", "1", "--sizes", "8,160", "--memory", "pageable", "--ways",
                               "automatic,gpu", "--peers", "openblas", "--repetitions", "1", "--json", self.out, code=1,
                               TILEWRIGHT_FAKE_WRONG="gemm_small")
        self.assertIn("f64 nn 8 ", result.stderr)
        self.assertIn("C differs by", result.stderr)
        rows, summaries = self.rows()
        wrong, right = ({row["metrics"]["variant"] for row in rows if row["n"] == n} for n in (8, 160))
        self.assertNotIn("gpu", wrong)
        self.assertIn("gpu", right)
        self.assertEqual(len(summaries), 1)


class InfoOnGpu(OnGpu):
    """Ceilings of a card that multiplies nothing: that they are measured, kept, shown and bound what is planned there."""

    PROBLEMS = ("gemm_batched:f64:nn:m=8,n=8,k=8:strided:batch=1000:beta=one:location=device", "gemm:f32:nn:m=96,n=96,k=96:location=device")

    def test_ceilings_and_the_bounds_they_give(self):
        for problem in self.PROBLEMS:
            self.assertIn("no ceilings measured yet", self.run_tool("explain", problem).stdout)
        self.assertIn("GPU ceilings  none measured yet", self.run_tool("info").stdout)
        self.run_tool("info", "--measure", "--threads", "1", "--megabytes", "1", "--json", self.out)
        (info,) = (json.loads(line) for line in self.out.read_text().splitlines())
        (card,) = (one for one in info["gpu_ceilings"] if one["device"] == "NVIDIA H200")
        for key in ("multiply_f64", "multiply_f32", "memory_update", "memory_write"):
            self.assertGreater(card[key], 0)
        self.assertRegex(self.run_tool("info").stdout, r"ceilings +NVIDIA H200: multiply-add \d+ f64")
        for problem in self.PROBLEMS:
            text = " ".join(self.run_tool("explain", problem).stdout.split())
            self.assertRegex(text, r"bound .*; at least .* by (memory|compute) on NVIDIA H200 \(ceilings of 20")
            self.run_tool("explain", problem, "--json", self.out)
            plan = json.loads(self.out.read_text().splitlines()[-1])
            rate = card["memory_update" if "beta=one" in problem else "memory_write"]
            if plan["bound_kind"] == "memory":
                self.assertAlmostEqual(plan["ceiling"] / rate, 1, 6)
            self.assertGreater(plan["bound_s"], 0)
        # Without a verb, the tool suggests first steps, but none that were done already.
        first = self.run_tool().stdout
        for said in ("NVIDIA H200", "calibrate", "bench gemm_small"):
            self.assertIn(said, first)
        self.assertNotIn("info --measure", first)

    def test_refusals(self):
        self.assertIn("--megabytes", self.run_tool("info", "--measure", "--megabytes", "0", code=2).stderr)


if __name__ == "__main__":
    TOOL = sys.argv.pop(1)
    unittest.main()
