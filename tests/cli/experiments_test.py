#!/usr/bin/env python3
"""Experiments on the fake GPU. The ladder of techniques of large GEMM: its rows, going on with a file, and what is said of a
disassembler that is not there. Random problems through random configs: right ones and wrong ones; and by the plan beside its offers. The times are those of plain
loops on the host."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

LADDER, VARIETY, CHOICE = os.environ["LADDER"], os.environ["VARIETY"], os.environ["CHOICE"]
# The loop has two shared loads and four products per iteration.
DISASSEMBLY = "\n".join([".text.kernel:", ".L_x_0:"] + [f"        /*{16 * i:04x}*/                   {code} ;" for i, code in enumerate(
    ["LDS.128 R4, [R2]", "LDS.128 R8, [R3]"] + ["DFMA R8, R4, R6, R8"] * 4 + ["MOV R1, R2", "@!P0 BRA `(.L_x_0)", "EXIT"])])


class Choice(unittest.TestCase):
    def test_a_row_for_the_choice_and_for_each_offer(self):
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder, "out.jsonl")
            done = subprocess.run([CHOICE, "large", "--count", "1", "--gigabytes", "0.001", "--json", out], capture_output=True, text=True,
                                  timeout=300, check=True)
            rows = [json.loads(line) for line in out.read_text().splitlines()]
        self.assertIn("command", rows[0])
        for choice in (row for row in rows if row.get("phase") == "choice"):
            offers = {row["impl"]: row for row in rows if row.get("problem") == choice["problem"] and "impl" in row}
            self.assertEqual(set(offers), {"tilewright", "cublas"})
            self.assertLessEqual(choice["over_best"], 1)
            self.assertIsInstance(offers["tilewright"]["config"], dict)
            self.assertIn(f"large {choice['dtype']}: 1 problems; plan over the best of its offers", done.stdout)
        self.assertEqual(sum(row.get("phase") == "choice" for row in rows), 2)


class Ladder(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.temporary.name)
        self.out = self.folder / "out.jsonl"

    def tearDown(self):
        self.temporary.cleanup()

    def climb(self, *arguments, code=0):
        result = subprocess.run([LADDER, "--dtype", "f64", "--sizes", "40", "--launches", "7", "--json", self.out, *map(str, arguments)],
                                capture_output=True, text=True, timeout=300,
                                env={**os.environ, "TILEWRIGHT_CACHE": str(self.folder / "kernels")})
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        return result

    def rows(self):
        return [json.loads(line) for line in self.out.read_text().splitlines()]

    def test_instructions_are_counted(self):
        program = self.folder / "nvdisasm"
        program.write_text(f"#!/bin/sh\ncat <<'E'\n{DISASSEMBLY}\nE\n")
        program.chmod(0o755)
        self.climb("--nvdisasm", program, "--seconds", 0, code=3)
        self.assertEqual(len(self.rows()), 1)
        self.climb("--nvdisasm", program, "--resume")
        rows = [row for row in self.rows() if row.get("phase") == "ladder"]
        self.assertGreater(len({row["step"] for row in rows}), 8)
        for row in rows:
            counts = row["main_loop"]
            self.assertEqual(counts["products_per_shared_load"], 2)
            self.assertEqual(counts["shared_load"] * 4, counts["all"])
            self.assertEqual((counts["move"] * 4, row["ratio"]["samples"]), (counts["product"], 7))
            self.assertIn("registers", row["metrics"])
            self.assertLessEqual(row["error"], row["error_bound"])
        before = self.out.read_text()
        self.climb("--nvdisasm", program, "--resume")
        self.assertEqual(self.out.read_text().replace(before, "").count("\n"), 1, "the line of having resumed")
        head = self.rows()[0] | {"device_uuid": "GPU-of-somebody-else"}
        self.out.write_text(json.dumps(head) + "\n")
        self.assertIn("device_uuid", self.climb("--resume", code=2).stderr)

    def test_the_chapter_has_five_rows(self):
        self.climb("--chapter", "--nvdisasm", self.folder / "none")
        rows = [row for row in self.rows() if row.get("phase") == "ladder"]
        self.assertEqual([row["step"] for row in rows], ["unroll", "unroll+128b", "unroll+128b+prefsmem", "unroll+db+128b",
                                                         "unroll+db+128b+prefsmem"])
        self.assertEqual({row["op"] for row in rows}, {"nn"})
        for row in rows:
            self.assertLessEqual(row["error"], row["error_bound"])

    def test_no_disassembler_is_said(self):
        result = self.climb("--nvdisasm", self.folder / "none")
        self.assertEqual(result.stdout.count("NOTE instructions are not counted"), 1)
        for row in self.rows()[1:]:
            self.assertIsNone(row["main_loop"])
            self.assertIn("was not found", row["main_loop_note"])

    def test_refusals(self):
        for arguments, says in ((("--sizes", "-4"), "-4"), (("--op", "n"), "--op"), (("--launches", 0), "--launches"),
                                (("--dtype", "f16"), "f16"), (("--seconds", "nan"), "nan")):
            self.assertIn(says, self.climb(*arguments, code=2).stderr)
        self.out.write_text("somebody's\n")
        self.assertIn("exists and is", self.climb(code=2).stderr)
        self.assertEqual(self.out.read_text(), "somebody's\n")


class Variety(unittest.TestCase):
    def check(self, *arguments, code, **changes):
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "out.jsonl"
            result = subprocess.run([VARIETY, "--configs", "3", "--json", out, *map(str, arguments)], capture_output=True, text=True,
                                    timeout=300, env={**os.environ, "TILEWRIGHT_CACHE": folder, **changes})
            self.assertEqual(result.returncode, code, result.stdout + result.stderr)
            return json.loads(out.read_text().splitlines()[1]) if out.exists() else result.stderr

    def test_right_and_wrong_kernels(self):
        for family, kernel in (("gemm_small", "gemm_small"), ("gemm", "gemm_large")):
            right = self.check("--family", family, "--problems", 3, code=0)
            self.assertEqual(right["wrong"], 0)
            self.assertGreater(right["right"], 12)
            self.assertGreater(self.check("--family", family, "--problems", 2, code=1, TILEWRIGHT_FAKE_WRONG=kernel)["wrong"], 0)
        self.assertIn("f16", self.check("--dtype", "f16", code=2))


if __name__ == "__main__":
    unittest.main()
