#!/usr/bin/env python3
"""Drives the tool that was built for 64-bit Arm, under an emulator of a Neoverse N1: what it says of the processor and of its
choice, and products compared with NumPy's. Takes the path of a program that starts it; further arguments go to unittest."""

import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
import cli_test


class Arm(cli_test.Case):
    def test_info_names_the_core(self):
        result = cli_test.run("info", "--json", "-")
        self.assertEqual(result.returncode, 0, result.stderr)
        info = json.loads(result.stdout)
        self.assertEqual(info["device"], "Arm Neoverse N1")
        self.assertEqual(info["isa_available"], ["portable"])
        self.assertIn("Arm Neoverse N1", cli_test.run("info").stdout)

    def test_explain_names_the_vectors_of_neon(self):
        result = cli_test.run("explain", "gemm_batched:f64:nn:m=8,n=8,k=8:strided:batch=1e6")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stdout, r"isa=portable\b.*vector_bits=128")

    def test_generated_kernels_are_refused(self):
        result = cli_test.run("explain", "gemm:f64:nn:m=8,n=8,k=8", TILEWRIGHT_CPU="avx2")
        self.assertEqual(result.returncode, 2)
        self.assertIn("'avx2' is not available: Arm Neoverse N1", result.stderr)

    def test_products(self):
        for dtype in cli_test.DTYPES:
            for shape_a, shape_b in (((5, 3), (3, 7)), ((6, 16, 9), (6, 9, 31)), ((70, 90), (90, 66))):
                with self.subTest(dtype=dtype, a=shape_a, b=shape_b):
                    a, b = self.array(shape_a, dtype), self.array(shape_b[:-2] + shape_b[:-3:-1], dtype)
                    self.gemm(a, b, "--op-b", "c", "--alpha", "1.5", "--verify")
                    self.assert_product(a, b, op_b="c", alpha=1.5)


if __name__ == "__main__":
    cli_test.TOOL = sys.argv.pop(1)
    unittest.main()
