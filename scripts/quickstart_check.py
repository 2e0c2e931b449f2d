#!/usr/bin/env python3
"""Writes matrices with NumPy, multiplies them with the tool and compares with NumPy's product. Takes the tool and a
folder for the files; exits 1 at the first product that is further from NumPy's than rounding explains."""

import pathlib
import subprocess
import sys

import numpy

CASES = [
    # name, shape of A, shape of B, dtype
    ("100000 problems of 8x8", (100000, 8, 8), (100000, 8, 8), "f8"),
    ("10000 problems of 5x13 times 13x23, single precision", (10000, 5, 13), (10000, 13, 23), "f4"),
    ("1000 complex problems of 16x16", (1000, 16, 16), (1000, 16, 16), "c16"),
    ("one pair of 512x512", (512, 512), (512, 512), "f8"),
    ("one pair of 300x700 and 700x200", (300, 700), (700, 200), "f8"),
]


def random(generator, shape, dtype):
    values = generator.uniform(-1, 1, shape)
    if dtype.startswith("c"):
        values = values + 1j * generator.uniform(-1, 1, shape)
    return values.astype(dtype)


def main():
    tool, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    generator = numpy.random.default_rng(1)
    a_file, b_file, c_file = (str(folder / name) for name in ("A.npy", "B.npy", "C.npy"))
    for what, a_shape, b_shape, dtype in CASES:
        a, b = random(generator, a_shape, dtype), random(generator, b_shape, dtype)
        numpy.save(a_file, a)
        numpy.save(b_file, b)
        print(f"\n{what}: tilewright gemm A.npy B.npy -o C.npy", flush=True)
        if subprocess.run([tool, "gemm", a_file, b_file, "-o", c_file], stdin=subprocess.DEVNULL).returncode != 0:
            print(f"FAILED: {what}: the tool gave up (its message stands above)")
            return 1
        expected = a @ b
        c = numpy.load(c_file)
        # |error| <= c * k * eps * |A| |B| element by element; c = 4 leaves room for complex arithmetic and for NumPy's
        # own rounding.
        bound = 4 * a.shape[-1] * numpy.finfo(dtype).eps * (abs(a) @ abs(b))
        if c.shape != expected.shape or not (abs(c - expected) <= bound).all():
            print(f"WRONG: {what}: the product differs from NumPy's")
            return 1
        print(f"equal to NumPy's product within rounding: largest difference {abs(c - expected).max():.1e}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
