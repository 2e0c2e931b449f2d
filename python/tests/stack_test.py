"""Stacks of blocks against sums of NumPy's products: repeated blocks, strides, beta, what is not named, errors."""

import numpy as np
import pytest
from support import DTYPES, filled

import tilewright


def reference(a, b, out, lists, alpha, beta):
    """(wanted, sum of absolute values) of every block, in the widest type."""
    wide = np.clongdouble if a.dtype.kind == "c" else np.longdouble
    wanted, size = out.astype(wide), np.abs(out).astype(np.longdouble)
    for c in set(lists[2].tolist()):
        wanted[c], size[c] = (beta * wanted[c], abs(beta) * size[c]) if beta else (0, 0)
    for i, j, c in zip(*lists):
        wanted[c] += alpha * (a[i].astype(wide) @ b[j].astype(wide))
        size[c] += abs(alpha) * (np.abs(a[i]).astype(np.longdouble) @ np.abs(b[j]).astype(np.longdouble))
    return wanted, size


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("seed", range(12))
def test_random_stacks(dtype, seed):
    rng = np.random.default_rng(seed)
    m, n, k = rng.integers(1, 24, 3)
    counts = rng.integers(1, 9, 3)
    a, b, out = (filled(rng, (count, *shape), dtype) for count, shape in zip(counts, ((m, k), (k, n), (m, n))))
    swapped = seed % 3 == 1
    if seed % 2:
        a, out = a[::-1], np.ascontiguousarray(out.swapaxes(1, 2)).swapaxes(1, 2)
    products = int(rng.integers(0, 60))
    lists = [rng.integers(0, count, products) for count in counts]
    alpha, beta = rng.choice([1, -0.5]), rng.choice([0, 1, 2])
    wanted, size = reference(a, b, out, lists, alpha, beta)
    if swapped:
        a = a.swapaxes(1, 2)
    named = set(lists[2].tolist())
    if beta == 0:
        for c in named:
            out[c] = np.nan  # which must not be read
    assert tilewright.stack_matmul(a, b, out, *lists, alpha=alpha, beta=beta, transpose_a=swapped) is out
    limit = (products * k + 4) * np.finfo(dtype).eps * (4 if a.dtype.kind == "c" else 1) * size + np.finfo(dtype).tiny
    assert np.all(np.abs(out - wanted) <= limit)


def test_conjugates():
    rng = np.random.default_rng(1)
    a, b = filled(rng, (3, 4, 5), "complex128"), filled(rng, (2, 5, 6), "complex128")
    out = np.zeros((1, 4, 6), "complex128")
    tilewright.stack_matmul(a, b, out, [0, 2, 1], [1, 1, 0], [0, 0, 0], conjugate_a=True)
    assert np.allclose(out[0], a[0].conj() @ b[1] + a[2].conj() @ b[1] + a[1].conj() @ b[0])


def test_out_that_is_an_operand():
    rng = np.random.default_rng(2)
    a, b = filled(rng, (3, 4, 4), "float64"), filled(rng, (3, 4, 4), "float64")
    wanted = a.copy()
    wanted[1] = a[0] @ b[2] + a[1] @ b[0]
    tilewright.stack_matmul(a, b, a, [0, 1], [2, 0], [1, 1])
    assert np.allclose(a, wanted, rtol=1e-13)


A, B = np.ones((3, 4, 5)), np.ones((2, 5, 6))
READ_ONLY = np.zeros((2, 4, 6))
READ_ONLY.flags.writeable = False


@pytest.mark.parametrize("error, says, arguments", [
    (IndexError, "product 1 names block 3 of a, which has 3 blocks", (A, B, np.zeros((2, 4, 6)), [0, 3], [0, 0], [0, 0])),
    (IndexError, "product 0 names block -1 of out, which has 2 blocks", (A, B, np.zeros((2, 4, 6)), [0, 1], [0, 0], [-1, 0])),
    (ValueError, "differ in length: 2, 2, 1", (A, B, np.zeros((2, 4, 6)), [0, 1], [0, 0], [0])),
    (TypeError, "b_index is an array of float64 .* must be a list of whole numbers", (A, B, np.zeros((2, 4, 6)), [0], [0.5], [0])),
    (TypeError, "a_index is an array of int64 with 2 dimensions, but must be a list", (A, B, np.zeros((2, 4, 6)), [[0]], [0], [0])),
    (ValueError, "blocks have three dimensions", (A[0], B, np.zeros((2, 4, 6)), [0], [0], [0])),
    (ValueError, "differ in length|do not fit|rows of b", (A, A, np.zeros((2, 4, 6)), [0], [0], [0])),
    (TypeError, "out has the element type float32", (A, B, np.zeros((2, 4, 6), "float32"), [0], [0], [0])),
    (TypeError, "a and b differ: float64 and float32", (A, B.astype("float32"), np.zeros((2, 4, 6)), [0], [0], [0])),
    (ValueError, "read-only", (A, B, READ_ONLY, [0], [0], [0])),
])
def test_wrong_input(error, says, arguments):
    before = arguments[2].copy()
    with pytest.raises(error, match=says):
        tilewright.stack_matmul(*arguments)
    assert np.array_equal(before, arguments[2])
