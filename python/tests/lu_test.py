"""lu_factor, solve and inv against NumPy, for matrices and batches, and what they refuse."""

import copy
import pickle

import numpy as np
import pytest

import tilewright
from support import DTYPES, filled, strided


def unpacked(lu, pivots):
    """P^T L U of one matrix."""
    m, n = lu.shape
    least = min(m, n)
    product = (np.tril(lu, -1)[:, :least] + np.eye(m, least)) @ np.triu(lu)[:least]
    for i in reversed(range(least)):
        product[[i, pivots[i]]] = product[[pivots[i], i]]
    return product


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(1, 1), (7, 7), (90, 90), (12, 5), (5, 12), (3, 6, 6), (2, 2, 9, 4), (0, 0), (0, 3, 3)])
def test_factors(dtype, shape):
    rng = np.random.default_rng(1)
    a = strided(rng, shape, dtype)
    kept = a.copy()
    lu, pivots = factors = tilewright.lu_factor(a, threads=1)
    assert np.array_equal(a, kept)
    assert lu.shape == a.shape and pivots.shape == (*shape[:-2], min(shape[-2:])) and pivots.dtype == np.int64
    for at in np.ndindex(shape[:-2]):
        off = np.abs(unpacked(lu[at], pivots[at]) - a[at])
        assert off.size == 0 or off.max() <= 20 * max(shape[-2:]) * np.finfo(dtype).eps
    assert not np.any(factors.info)


@pytest.mark.parametrize("dtype", DTYPES)
def test_systems_and_inverses(dtype):
    rng = np.random.default_rng(2)
    for shape in ((8, 8), (70, 70), (4, 6, 6)):
        a = filled(rng, shape, dtype) + shape[-1] * np.eye(shape[-1], dtype=dtype)
        eps = np.finfo(dtype).eps * shape[-1] * 20
        b = filled(rng, (*shape[:-1], 3), dtype)
        assert np.abs(a @ tilewright.solve(a, b) - b).max() <= eps * 10
        assert np.abs(a @ tilewright.inv(a) - np.eye(shape[-1])).max() <= eps
        factors = tilewright.lu_factor(a)
        h = np.conj(np.swapaxes(a, -1, -2))
        assert np.abs(h @ factors.solve(b, transpose=True, conjugate=True) - b).max() <= eps * 10
    vector = filled(rng, (70,), dtype)
    square = filled(rng, (70, 70), dtype) + 70 * np.eye(70, dtype=dtype)
    x = tilewright.solve(square, vector)
    assert x.shape == (70,) and np.abs(square @ x - vector).max() <= np.finfo(dtype).eps * 20000


@pytest.mark.parametrize("a_shape, b_shape, x_shape", [
    ((4, 3, 3), (3,), (4, 3)), ((4, 3, 3), (3, 2), (4, 3, 2)), ((3, 3), (4, 3, 3), (4, 3, 3)), ((4, 1, 3, 3), (5, 3, 2), (4, 5, 3, 2)),
    ((1, 3, 3), (0, 3, 2), (0, 3, 2)), ((2, 3, 3, 3), (3, 3, 1), (2, 3, 3, 1))])
def test_right_sides_broadcast(a_shape, b_shape, x_shape):
    rng = np.random.default_rng(3)
    a, b = filled(rng, a_shape, "float64") + 3 * np.eye(3), filled(rng, b_shape, "float64")
    x = tilewright.solve(a, b)
    assert x.shape == x_shape
    right = b[:, None] if b.ndim == 1 else b
    left = a @ (x[..., None] if b.ndim == 1 else x)
    assert np.allclose(left, np.broadcast_to(right, left.shape), rtol=1e-10)
    with pytest.raises(ValueError, match="do not broadcast"):
        tilewright.lu_factor(np.stack([np.eye(3)] * 2)).solve(np.ones((3, 3, 2)))


def test_singular_matrices_say_so():
    a = np.array([[1.0, 2], [2, 4]])
    factors = tilewright.lu_factor(a)
    assert factors.info == 2
    with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
        factors.solve(np.ones(2))
    with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
        tilewright.inv(np.stack([np.eye(2), a]))


@pytest.mark.parametrize("call, error, says", [
    (lambda: tilewright.lu_factor(np.ones(3)), ValueError, r"a has the shape \(3,\)"),
    (lambda: tilewright.lu_factor(np.ones((3, 3), int)), TypeError, "int64"),
    (lambda: tilewright.lu_factor(np.ones((3, 3)), target="nobody"), ValueError, "target = 'nobody'"),
    (lambda: tilewright.solve(np.ones((3, 4)), np.ones(3)), ValueError, "square"),
    (lambda: tilewright.solve(np.eye(3), np.ones(4)), ValueError, "does not fit"),
    (lambda: tilewright.solve(np.eye(3), np.ones(3, "f4")), TypeError, "float32"),
    (lambda: tilewright.inv(np.ones((3, 4))), ValueError, "square"),
])
def test_what_is_refused(call, error, says):
    with pytest.raises(error, match=says):
        call()


def test_integers_on_request():
    assert np.allclose(tilewright.solve([[2, 0], [0, 4]], [2, 4], promote=True), [1, 1])


@pytest.mark.parametrize("shape", [(3, 3), (2, 3, 3), (2, 2, 4, 4)])
def test_factors_are_pickled_and_copied(shape):
    a = np.random.default_rng(3).random(shape) + shape[-1] * np.eye(shape[-1])
    b = np.ones((*shape[:-1], 2))
    factors = tilewright.lu_factor(a)
    for other in (pickle.loads(pickle.dumps(factors)), copy.copy(factors), copy.deepcopy(factors)):
        assert np.allclose(a @ other.solve(b), b) and np.allclose(a @ other.inverse(), np.eye(shape[-1]))
        assert np.array_equal(other.lu, factors.lu) and np.array_equal(other.pivots, factors.pivots)
        assert np.array_equal(other.info, factors.info) and other.report == factors.report
