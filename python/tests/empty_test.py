"""Calls without a product to form, through every function: NumPy's results, and never the end of the interpreter."""

import itertools

import numpy as np
import pytest
from support import DTYPES

import tilewright

KINDS = ["gemm:f64:nn:{}", "gemm_batched:f64:nn:{}:strided:batch={}", "gemm_batched:f64:nn:{}:pointer:batch={}",
         "gemm_batched:f64:nn:{}:interleaved:batch={}", "gemm_batched:f64:nn:{}:block_interleaved:block=2:batch={}",
         "gemm_batch_reduce:f64:nn:{}:strided:batch={}", "gemm_batch_reduce:f64:nn:{}:pointer:batch={}",
         "gemm_stack:f64:nn:{}:batch={}"]
SIZES = [f"m={m},n={n},k={k}" for m, n, k in itertools.product((0, 1, 70), repeat=3)]


@pytest.mark.parametrize("kind", KINDS)
def test_texts(kind):
    for size, batch, factors in itertools.product(SIZES, (0, 4), ("", ":beta=general", ":alpha=zero:beta=one")):
        problem = kind.format(size, batch) + factors
        assert "plan " in str(tilewright.explain(problem)), problem
        tilewright.prepare(problem)


def operands(shape, dtype):
    m, n, k, *batch = shape
    a, b = np.full((*batch, m, k), np.nan, dtype), np.full((*batch, k, n), np.nan, dtype)
    return a, b, np.full((*batch, m, n), 2, dtype)


EMPTY = [(0, 3, 4), (3, 0, 4), (3, 4, 0), (0, 0, 0), (0, 3, 4, 5), (3, 4, 0, 5), (3, 4, 5, 0), (70, 0, 70, 2), (3, 4, 0, 2, 0),
         (3, 4, 0, 2, 3)]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", EMPTY)
def test_products(shape, dtype):
    a, b, out = operands(shape, dtype)
    result = tilewright.matmul(a, b)
    np.testing.assert_array_equal(result, np.matmul(a, b))
    assert result.dtype == a.dtype
    for beta in (0, 1, 3):
        np.testing.assert_array_equal(tilewright.matmul(a, b, out.copy(), beta=beta), beta * out)
    if a.ndim == 3:
        tilewright_of_stacks(a, b, out)


def tilewright_of_stacks(a, b, out):
    count, m, n = out.shape
    np.testing.assert_array_equal(tilewright.batch_reduce(a, b), np.matmul(a, b).sum(axis=0))
    one = np.full((m, n), 2, a.dtype)
    np.testing.assert_array_equal(tilewright.batch_reduce(a, b, one.copy(), beta=3), 3 * one)
    lists = [list(range(count)) * 2] * 3
    np.testing.assert_array_equal(tilewright.stack_matmul(a, b, out.copy(), *lists, beta=3), 3 * out)
    np.testing.assert_array_equal(tilewright.stack_matmul(a, b, out.copy(), [], [], [], beta=3), out)
    for function in (tilewright.variable_matmul, tilewright.grouped_matmul):
        results = function(list(a), list(b)) if function is tilewright.variable_matmul else function([a], [b])
        for x, y in zip(results, list(out) if function is tilewright.variable_matmul else [out]):
            np.testing.assert_array_equal(x, 0 * y)
    assert list(tilewright.variable_matmul([], [])) == []
    if count:
        x, y = tilewright.interleave(a), tilewright.interleave(b)
        np.testing.assert_array_equal(tilewright.matmul_interleaved(x, y).deinterleave(), np.matmul(a, b))


def test_lu():
    for shape in ((0, 0), (0, 3), (3, 0)):
        tilewright.lu_factor(np.zeros(shape))
    np.testing.assert_array_equal(tilewright.inv(np.zeros((0, 0))), np.zeros((0, 0)))
    for n, nrhs in ((0, 3), (0, 0), (2, 0)):
        solved = tilewright.solve(np.eye(n), np.zeros((n, nrhs)))
        np.testing.assert_array_equal(solved, np.linalg.solve(np.eye(n), np.zeros((n, nrhs))))


def test_errors_are_text():
    """Names of files may hold anything; they reach Python as text that a terminal can show."""
    name = "/nowhere/\x1b[2J\udcff"
    with pytest.raises((OSError, ValueError)) as raised:
        with tilewright.record(name):
            tilewright.matmul(np.ones((2, 2)), np.ones((2, 2)))
    assert "\x1b" not in str(raised.value)
