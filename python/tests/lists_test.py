"""grouped_matmul, variable_matmul and batch_reduce against NumPy, and what they refuse."""

import numpy as np
import pytest

import tilewright
from support import DTYPES, assert_product, bound, exact, filled, strided


@pytest.mark.parametrize("seed", range(8))
def test_variable_products(seed):
    rng = np.random.default_rng(seed)
    dtype = DTYPES[seed % 4]
    sizes = rng.integers(0 if seed < 4 else 1, 20, (30, 3))
    ta, tb, ca, cb = (bool(x) for x in rng.integers(0, 2, 4))
    a = [strided(rng, (k, m) if ta else (m, k), dtype) for m, n, k in sizes]
    b = [strided(rng, (n, k) if tb else (k, n), dtype) for m, n, k in sizes]
    out = [strided(rng, (m, n), dtype, writeable=True) for m, n, k in sizes]
    before = [x.copy() for x in out]
    got = tilewright.variable_matmul(a, b, out, alpha=2, beta=-1, transpose_a=ta, transpose_b=tb, conjugate_a=ca,
                                     conjugate_b=cb)
    for x, y, z, old, g in zip(a, b, out, before, got):
        assert g is z
        x, y = x.T if ta else x, y.T if tb else y
        assert_product(z, np.conj(x) if ca else x, np.conj(y) if cb else y, old, 2, -1)


def test_groups_of_batches():
    rng = np.random.default_rng(9)
    a = [strided(rng, (5, 2, 3, 4), "float64"), strided(rng, (7, 2), "float64"), strided(rng, (0, 3, 3), "float64")]
    b = [strided(rng, (2, 4, 6), "float64"), strided(rng, (3, 2, 8), "float64"), strided(rng, (3, 3), "float64")]
    for x, y, z in zip(a, b, tilewright.grouped_matmul(a, b, threads=2)):
        assert_product(z, x, y)
    assert tilewright.grouped_matmul([], []) == []


@pytest.mark.parametrize("call, error, says", [
    (lambda: tilewright.variable_matmul([np.ones((2, 2))], []), ValueError, "a has 1 arrays and b 0"),
    (lambda: tilewright.variable_matmul([np.ones((2, 2, 2))], [np.ones((2, 2))]), ValueError, "problem 0: a has the shape"),
    (lambda: tilewright.variable_matmul([np.ones((2, 2))] * 2, [np.ones((2, 2)), np.ones((3, 2))]), ValueError, "problem 1: a"),
    (lambda: tilewright.grouped_matmul([np.ones((2, 2))], [np.ones((2, 2), int)]), TypeError, "problem 0"),
    (lambda: tilewright.grouped_matmul([np.ones((2, 2)), np.ones((2, 2), "f4")], [np.ones((2, 2)), np.ones((2, 2), "f4")]),
     ValueError, "problem 1: its arrays are not of the type of the first"),
    (lambda: tilewright.grouped_matmul([np.ones((2, 2))], [np.ones((2, 2))], beta=1), ValueError, "needs an out"),
    (lambda: tilewright.grouped_matmul([np.ones((2, 2))], [np.ones((2, 2))], [np.ones((3, 2))]), ValueError, "problem 0: out"),
    (lambda: tilewright.batch_reduce(np.ones((2, 2)), np.ones(2)), ValueError, "no vectors"),
    (lambda: tilewright.batch_reduce(np.ones((2, 2, 2)), np.ones((2, 2)), np.ones((2, 2, 2))), ValueError, "out has the shape"),
    (lambda: tilewright.batch_reduce(np.ones((2, 2, 2)), np.ones((2, 2)), beta=2), ValueError, "needs an out"),
])
def test_what_is_refused(call, error, says):
    with pytest.raises(error, match=says):
        call()


@pytest.mark.parametrize("seed", range(12))
def test_batch_reduce(seed):
    rng = np.random.default_rng(50 + seed)
    dtype = DTYPES[seed % 4]
    m, n, k = (int(x) for x in rng.integers(1, 12, 3))
    batch = [int(x) for x in rng.integers(0 if seed == 3 else 1, 5, seed % 4)]
    ta, ca = bool(seed & 1), bool(seed & 2)
    a = strided(rng, [*batch, *((k, m) if ta else (m, k))], dtype)
    b = strided(rng, [*batch[len(batch) // 2:], k, n], dtype)
    out = strided(rng, (m, n), dtype, writeable=True)
    before = out.copy()
    assert tilewright.batch_reduce(a, b, out, alpha=-1, beta=2, transpose_a=ta, conjugate_a=ca) is out
    x = np.swapaxes(a, -1, -2) if ta else a
    x = np.conj(x) if ca else x
    axes = tuple(range(len(batch)))
    want = 2 * before - exact(x, b).sum(axis=axes)
    count = max(int(np.prod(batch)), 1)
    room = count * (np.abs(bound(x, b)).sum(axis=axes) + np.finfo(dtype).eps * 8 * np.abs(before))
    assert np.all(np.abs(out - want) <= room + np.finfo(dtype).tiny)
    plain = tilewright.batch_reduce(a, b, transpose_a=ta, conjugate_a=ca)
    assert plain.shape == (m, n) and np.allclose(plain, exact(x, b).sum(axis=axes), rtol=1e-4, atol=1e-4)
