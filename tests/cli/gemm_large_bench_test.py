#!/usr/bin/env python3
"""The bench of large GEMM on the fake GPU with a fake meter: the rows of each phase, going on with a file, the process's code,
and what is said of a card that is shared, a meter that is missing and a disassembler that is not there. The numbers are
those of plain loops on the host and of a made-up counter."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

BENCH, SHARE, METER = os.environ["BENCH"], os.environ["SHARE"], os.environ["METER"]
ENERGY = ("--phase", "energy", "--dtype", "f64", "--sizes", 40, "--configs", 2, "--energy-seconds", 0.12, "--screen-seconds",
          0.06, "--edges", 3)
# Two shared loads and four products a turn.
DISASSEMBLY = "\n".join([".text.kernel:", ".L_x_0:"] + [f"        /*{16 * i:04x}*/                   {code} ;" for i, code in enumerate(
    ["LDS.128 R4, [R2]", "LDS.128 R8, [R3]"] + ["DFMA R8, R4, R6, R8"] * 4 + ["MOV R1, R2", "@!P0 BRA `(.L_x_0)", "EXIT"])])


class GemmLargeBench(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.temporary.name)
        self.out = self.folder / "out.jsonl"

    def tearDown(self):
        self.temporary.cleanup()

    def bench(self, *arguments, code=0, meter=True, **changes):
        environment = {**os.environ, "FAKE_NVML_MOVES_PER_SECOND": "50", **changes}
        if meter:
            environment["LD_LIBRARY_PATH"] += ":" + METER
        result = subprocess.run([BENCH, "--share", SHARE, "--cache", self.folder / "kernels", "--json", self.out,
                                 *map(str, arguments)], capture_output=True, text=True, timeout=300, env=environment)
        if code is not None:
            self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        return result

    def rows(self, phase=None):
        lines = [json.loads(line) for line in self.out.read_text().splitlines()]
        self.assertIn("command", lines[0])
        return [line for line in lines if phase in (None, line.get("phase"))]

    def test_energy_is_measured_in_turn_and_gone_on_with(self):
        self.bench(*ENERGY, "--seconds", 0, code=3)
        self.assertEqual(self.rows("energy"), [])
        self.bench(*ENERGY, "--resume")
        rows = self.rows("energy")
        self.assertEqual([row["impl"] for row in rows], ["cublas", "tilewright"] * 3)
        self.assertEqual(len({json.dumps(row["config"]) for row in rows if "config" in row}), 1)
        self.assertEqual(len(self.rows("energy_screen")), 2)
        ratio, = self.rows("energy_ratio")
        pairs = sorted(ours["gflops_per_watt"] / theirs["gflops_per_watt"] for theirs, ours in zip(rows[::2], rows[1::2]))
        for key, value in zip(("low", "centre", "high"), pairs):
            self.assertAlmostEqual(ratio["ratio"][key], value)
        self.assertEqual(ratio["ratio"]["samples"], 3)
        before = self.out.read_text()
        self.bench(*ENERGY, "--resume")
        self.assertEqual(self.out.read_text().replace(before, "").count("\n"), 1, "the line of having resumed")
        lines = before.splitlines()  # as if the run had been ended before the last window
        self.out.write_text("\n".join(line for line in lines[:-2]) + "\n")
        self.bench(*ENERGY, "--resume")
        self.assertEqual([row["impl"] for row in self.rows("energy")], ["cublas", "tilewright"] * 3)
        self.assertEqual(len(self.rows("energy_ratio")), 1)
        head = json.loads(lines[0]) | {"device_uuid": "GPU-of-somebody-else"}
        self.out.write_text(json.dumps(head) + "\n")
        self.assertIn("device_uuid", self.bench(*ENERGY, "--resume", code=2).stderr)

    def test_c_is_added_to(self):
        self.bench("--phase", "compare", "--dtype", "f64", "--op", "nn", "--sizes", 40, "--configs", 2, "--rounds", 6, "--beta", "0,1")
        best = [row for row in self.rows("compare") if row.get("best")]
        self.assertEqual([row["beta"] for row in best], [0, 1])
        self.assertIn(":beta=one", best[1]["problem"])
        self.assertIn("--beta", self.bench("--phase", "compare", "--beta", 2, code=2).stderr)

    def test_what_disturbs_is_said(self):
        result = self.bench(*ENERGY, FAKE_NVML_BUSY="40", FAKE_NVML_OTHERS="2")
        said = ["2 other processes compute on the card", "the card was 40 % busy before the run began"]
        for row in self.rows("energy"):
            self.assertEqual(row["notes"], said)
        for note in said:
            self.assertEqual(result.stdout.count("NOTE " + note), 1)
        result = self.bench(*ENERGY, meter=False)
        self.assertIn("NOTE no energy is measured: NVML was not found", result.stdout)
        self.assertEqual(self.rows("energy_ratio"), [])
        for row in self.rows("energy"):
            self.assertIsNone(row["gflops_per_watt"])
            self.assertTrue(row["energy_note"])
        self.bench(*ENERGY, "--resume")
        self.assertEqual(len(self.rows("energy_ratio")), 1, "windows without energy are measured again")
        self.bench(*ENERGY[:-6], "--energy-seconds", 0.2, *ENERGY[-4:], "--resume")
        self.assertEqual(len(self.rows("energy")), 12, "the ratio stands")
        self.bench(*ENERGY, FAKE_NVML_MOVES_PER_SECOND="1")
        for row in self.rows("energy"):
            self.assertIn("moved", row["energy_note"])

    def test_the_ladder_counts_instructions(self):
        program = self.folder / "nvdisasm"
        program.write_text(f"#!/bin/sh\ncat <<'E'\n{DISASSEMBLY}\nE\n")
        program.chmod(0o755)
        ladder = ("--phase", "ladder", "--dtype", "f64", "--sizes", 40, "--rounds", 7)
        self.bench(*ladder, "--nvdisasm", program)
        rows = self.rows("ladder")
        self.assertGreater(len({row["step"] for row in rows}), 8)
        for row in rows:
            counts = row["main_loop"]
            self.assertEqual(counts["products_per_shared_load"], 2)
            self.assertEqual(counts["shared_load"] * 4, counts["all"])
            self.assertEqual((counts["move"] * 4, row["ratio"]["samples"]), (counts["product"], 7))
            self.assertIn("registers", row["metrics"])
        result = self.bench(*ladder, "--nvdisasm", self.folder / "none")
        self.assertEqual(result.stdout.count("NOTE instructions are not counted"), 1)
        for row in self.rows("ladder"):
            self.assertIsNone(row["main_loop"])
            self.assertIn("was not found", row["main_loop_note"])

    def test_ours_beside_cublas(self):
        case = ("--phase", "compare", "--dtype", "f64,c64", "--op", "nt,tt", "--sizes", "40,24x48x16", "--configs", 2, "--rounds",
                6)
        self.bench(*case)
        best = [row for row in self.rows("compare") if row.get("best")]
        self.assertEqual(len(best), 2 * 2 * 2)
        summaries = [row for row in self.rows("compare") if row.get("summary")]
        self.assertEqual([(row["dtype"], row["cases"]) for row in summaries], [("f64", 4), ("c64", 4)])
        self.assertEqual(summaries[0]["ratio_min"], min(row["ratio"]["centre"] for row in best if row["dtype"] == "f64"))
        count = len(self.rows("compare"))
        self.bench(*case, "--resume")
        self.assertEqual(len(self.rows("compare")), count + 2, "the summaries")

    def test_seeds_are_what_won_before(self):
        case = ("--phase", "compare", "--dtype", "f32", "--op", "nt", "--sizes", 40, "--rounds", 6)
        self.bench(*case, "--configs", 3)
        best, = (row for row in self.rows("compare") if row.get("best"))
        seeds, taken = self.folder / "seeds.jsonl", self.folder / "again.jsonl"
        seeds.write_text(json.dumps(best) + "\n")
        first, self.out = self.out, taken
        result = self.bench(*case, "--configs", 0, "--seeds", seeds)
        self.assertIn(f"1 configs from {seeds}", result.stdout)
        screened = self.rows("screened")
        self.out = first
        self.assertEqual([row["config"] for row in screened], [best["config"]])
        record = {"family": "gemm", "problem": best["problem"].replace(":location", ":residency=cold:location"),
                  "config": best["config"], "verdict": "passed"}
        seeds.write_text("".join(json.dumps(line) + "\n" for line in (record, record | {"family": "gemm_small", "config": {}})))
        self.out = taken
        self.assertIn("1 configs from", self.bench(*case, "--configs", 0, "--seeds", seeds).stdout)
        self.assertEqual([row["config"] for row in self.rows("screened")], [best["config"]])
        self.bench(*case[2:], "--phase", "energy", "--configs", 0, "--seeds", seeds, *ENERGY[8:])
        self.assertEqual({json.dumps(row["config"]) for row in self.rows("energy") if "config" in row}, {json.dumps(best["config"])})
        seeds.write_text(json.dumps(best) + "\n" + json.dumps(best)[:99])
        self.assertIn("1 configs from", self.bench(*case, "--configs", 0, "--seeds", seeds).stdout)
        self.out = first
        before = self.out.read_text()
        for line, says in ((best | {"config": {"tile_q": 1}}, "tile_q"), (best | {"problem": 3}, "line 1"),
                           (best | {"best": False}, "no winner"), ([1], "line 1")):
            seeds.write_text(json.dumps(line) + "\n")
            self.assertIn(says, self.bench(*case, "--seeds", seeds, code=2).stderr)
            self.assertEqual(self.out.read_text(), before)
        illegal = '{"tile_m": 7}'
        for phase in (case, ("--phase", "repeat", *case[2:])):
            said = self.bench(*phase, "--configs", 1, "--config", illegal).stdout
            self.assertIn(f"--config = '{illegal}' is left out: ", said)
        result = self.bench(*case, "--configs", 0, "--config", illegal, code=1)
        self.assertIn("no config ran for 1 problems", result.stderr)

    def test_what_is_wrong_ends_with_1(self):
        self.bench("--phase", "variety", "--problems", 2)
        self.assertEqual(self.rows("variety")[0]["wrong"], 0)
        self.bench("--phase", "variety", "--problems", 2, code=1, TILEWRIGHT_FAKE_WRONG="gemm_large")
        self.bench("--phase", "compare", "--sizes", 24, "--dtype", "f32", "--op", "nn", "--configs", 2, code=1,
                   TILEWRIGHT_FAKE_WRONG="gemm_large")

    def test_refusals(self):
        for arguments, says in ((("--sizes", "7x9"), "7x9"), (("--sizes", "-4"), "-4"), (("--op", "n"), "--op"),
                                (("--phase", "all"), "--phase"), (("--rounds", 0), "--rounds"), (("--dtype", "f16"), "f16"),
                                (("--configs", -1), "--configs"), (("--edges", 1), "--edges"),
                                (("--energy-seconds", "nan"), "nan"), (("--seconds", "nan"), "nan"), (("--config", "{"), "--config = '{'"),
                                (("--config", "[1]"), "--config = '[1]'"), (("--config", '{"tile_q": 1}'), "tile_q")):
            result = self.bench("--phase", "compare", *arguments, code=2)
            self.assertIn(says, result.stderr)
        self.out.write_text("somebody's\n")
        self.assertIn("exists and is", self.bench(*ENERGY, code=2).stderr)
        self.assertEqual(self.out.read_text(), "somebody's\n")


if __name__ == "__main__":
    sys.argv.pop(1)
    unittest.main()
