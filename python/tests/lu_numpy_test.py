"""solve and inv return what numpy.linalg's do and raise where it raises: every shape, singular matrices, Inf, NaN, and pivots whose reciprocal
overflows."""

import itertools
import zlib

import numpy as np
import pytest

import tilewright

# The leading dimensions of a and b.
BATCHES = [((), ()), ((0,), ()), ((), (0,)), ((3,), ()), ((), (2,)), ((3, 1), (2,)), ((2, 3), (2, 3)), ((0, 2), (1, 2)), ((2,), (3,))]
KINDS = ["regular", "nan", "inf", "-inf", "zero column", "zero row", "zero", "equal columns", "one singular", "nan in b", "inf in b"]


def outcome(function, *arguments):
    try:
        with np.errstate(all="ignore"):
            return function(*arguments)
    except Exception as error:  # noqa: BLE001
        return error


def assert_same(got, wanted, what, may_spread=False):
    if isinstance(wanted, Exception) or isinstance(got, Exception):
        assert type(got) is type(wanted), (what, got, wanted)
        return
    assert got.shape == wanted.shape and got.dtype == wanted.dtype and got.flags.c_contiguous, what
    finite = np.isfinite(got) & np.isfinite(wanted)
    # The order of operations decides where Inf and NaN go: none is lost, more may be NaN.
    assert np.array_equal(np.isfinite(got), finite) and (may_spread or np.array_equal(finite, np.isfinite(wanted))), (what, got, wanted)
    eps = np.finfo(wanted.dtype).eps
    assert np.all(np.abs(got[finite] - wanted[finite]) <= 1000 * eps * (1 + np.abs(wanted[finite]).max(initial=0))), (what, got, wanted)


def problem(dtype, n, batch_a, batch_b, nrhs, kind):
    rng = np.random.default_rng(zlib.crc32(repr((dtype, n, batch_a, batch_b, nrhs, kind)).encode()))

    def drawn(shape):
        x = rng.standard_normal(shape) + (1j * rng.standard_normal(shape) if dtype.startswith("complex") else 0)
        return x.astype(dtype)

    a = drawn((*batch_a, n, n)) + (3 * np.eye(n)).astype(dtype)
    b = drawn((n,)) if nrhs is None else drawn((*batch_b, n, nrhs))
    if n:
        i, j = rng.integers(n, size=2)
        column = () if nrhs is None else (0,)
        if kind in ("nan", "inf", "-inf"):
            a[..., i, j] = float(kind)
        elif kind == "zero column":
            a[..., j] = 0
        elif kind == "zero row":
            a[..., i, :] = 0
        elif kind == "zero":
            a[...] = 0
        elif kind == "equal columns" and n == 2:
            a[...] = 1
        elif kind == "one singular" and batch_a and a.size:
            a[(0,) * len(batch_a)] = 0
        elif kind.endswith("in b") and b.size:
            b[(..., i, *column)] = float(kind.split()[0])
    return a, b


@pytest.mark.parametrize("dtype", ["float64", "complex128", "float32", "complex64"])
def test_values_and_errors_are_those_of_numpy(dtype):
    # NumPy computes single precision in double, so its pivots for NaN and Inf come from other kernels.
    kinds = [kind for kind in KINDS if dtype in ("float64", "complex128") or kind[-3:] not in ("nan", "inf")]
    for n, (batch_a, batch_b), nrhs, kind in itertools.product((0, 1, 2, 8), BATCHES, (None, 0, 1, 3), kinds):
        a, b = problem(dtype, n, batch_a, batch_b, nrhs, kind)
        what, has_others = (dtype, n, batch_a, batch_b, nrhs, kind), "nan" in kind or "inf" in kind
        assert_same(outcome(tilewright.solve, a, b), outcome(np.linalg.solve, a, b), what, has_others)
        if nrhs is None:
            assert_same(outcome(tilewright.inv, a), outcome(np.linalg.inv, a), what, has_others)


@pytest.mark.parametrize("a, b", [((3,), (3,)), ((), (3,)), ((2, 3), (2,)), ((3, 2), (3,)), ((0, 3), (0,)), ((3, 0), (3,)), ((2, 2), ()),
                                  ((2, 2), (3,)), ((2, 2), (3, 1)), ((2, 2), (2, 2, 3)), ((2, 3, 3), (3, 3, 1)), ((4, 2, 3), (2, 1))])
def test_shapes_that_do_not_fit(a, b):
    a, b = np.ones(a), np.ones(b)
    wanted = outcome(np.linalg.solve, a, b)
    if isinstance(wanted, Exception):
        assert type(outcome(tilewright.solve, a, b)) is type(wanted)
    assert type(outcome(tilewright.inv, a)) is type(outcome(np.linalg.inv, a))


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_pivots_without_a_reciprocal(dtype):
    least, most = np.finfo(dtype).tiny / 4, np.finfo(dtype).max / 8
    for scale in (least, most, -least, *((1j * least, most * (1 + 1j)) if dtype.startswith("complex") else ())):
        for n, nrhs in itertools.product((1, 2, 70), (None, 1, 9)):
            unit = np.eye(n) + np.eye(n, k=-1) / 4 + np.eye(n, k=1) / 2
            a = (unit * np.dtype(dtype).type(scale)).astype(dtype)
            x = (np.arange(n * (nrhs or 1)) % 3).reshape((n,) if nrhs is None else (n, nrhs)).astype(dtype)
            b = ((unit @ x) * np.dtype(dtype).type(scale)).astype(dtype)
            got = tilewright.solve(a, b)
            assert np.allclose(got, x, atol=100 * np.finfo(dtype).eps), (scale, n, nrhs, got)
            assert np.allclose(tilewright.lu_factor(a).solve(b, transpose=True), np.linalg.solve(unit.T, unit @ x), atol=1e-3), (scale, n, nrhs)
