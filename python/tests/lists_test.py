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
    (lambda: tilewright.variable_matmul([np.ones((2, 2))], []), ValueError, "len.a. = 1, but len.b. = 0"),
    (lambda: tilewright.variable_matmul([np.ones((2, 2, 2))], [np.ones((2, 2))]), ValueError, "problem 0: a has the shape"),
    (lambda: tilewright.variable_matmul([np.ones((2, 2))] * 2, [np.ones((2, 2)), np.ones((3, 2))]), ValueError, "problem 1: a"),
    (lambda: tilewright.grouped_matmul([np.ones((2, 2))], [np.ones((2, 2), int)]), TypeError, "problem 0"),
    (lambda: tilewright.grouped_matmul([np.ones((2, 2)), np.ones((2, 2), "f4")], [np.ones((2, 2)), np.ones((2, 2), "f4")]),
     ValueError, "problem 1: its element type differs from that of the first"),
    (lambda: tilewright.grouped_matmul([np.ones((2, 2))], [np.ones((2, 2))], beta=1), ValueError, "needs out"),
    (lambda: tilewright.grouped_matmul([np.ones((2, 2))], [np.ones((2, 2))], [np.ones((3, 2))]), ValueError, "problem 0: out"),
    (lambda: tilewright.batch_reduce(np.ones((2, 2)), np.ones(2)), ValueError, "not vectors"),
    (lambda: tilewright.batch_reduce(np.ones((2, 2, 2)), np.ones((2, 2)), np.ones((2, 2, 2))), ValueError, "out has the shape"),
    (lambda: tilewright.batch_reduce(np.ones((2, 2, 2)), np.ones((2, 2)), beta=2), ValueError, "needs out"),
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


def test_outs_that_are_operands_of_other_problems():
    """As if all products were formed before anything is written."""
    first, eye = np.arange(9.0).reshape(3, 3), np.eye(3)
    a, b = first.copy(), 3 * first
    tilewright.grouped_matmul([a, b], [eye, eye], [b, a])
    assert np.array_equal(a, 3 * first) and np.array_equal(b, first)
    memory = np.arange(36.0).reshape(6, 6)
    tiles = [memory[i:i + 3, j:j + 3] for i in (0, 3) for j in (0, 3)]
    before = memory.copy()
    tilewright.grouped_matmul([first] * 4, [*tiles[1:], tiles[0]], tiles, beta=1)  # each is multiplied by its neighbour
    kept = [before[i:i + 3, j:j + 3] for i in (0, 3) for j in (0, 3)]
    for tile, own, other in zip(tiles, kept, [*kept[1:], kept[0]]):
        assert np.allclose(tile, own + first @ other)


@pytest.mark.parametrize("outs", [lambda x: [x[0], x[0]], lambda x: [x[0], x.reshape(6, 3)[2:5]],
                                  lambda x: [x[0, ::-1], x[0].T]])
def test_outs_that_share_elements_are_refused(outs):
    memory = np.zeros((2, 3, 3))
    one, eye = np.arange(9.0).reshape(3, 3), np.eye(3)
    with pytest.raises(ValueError, match="problem 1: its out shares elements with that of problem 0"):
        tilewright.grouped_matmul([one, one], [eye, eye], outs(memory))
    assert not memory.any()


def test_outs_that_lie_between_each_other():
    memory = np.zeros((4, 3, 4))
    one, eye = np.arange(9.0).reshape(3, 3), np.eye(3)
    outs = [memory[1, :, 1:], memory[0, :, :3], memory[::2].reshape(-1, 4)[3:, 1:]]
    tilewright.grouped_matmul([one] * 3, [eye] * 3, outs)
    for out in outs:
        assert np.array_equal(out, one)
    columns = np.zeros((3, 6))
    tilewright.grouped_matmul([one] * 2, [eye] * 2, [columns[:, ::2], columns[:, 1::2]])
    assert np.array_equal(columns, np.repeat(one, 2, axis=1))


def test_all_of_a_problem_copied_in_turn():
    """Strides of each operand that the one before hides from the product."""
    memory = np.random.default_rng(0).standard_normal(1000)

    def lying(shape, strides, offset):
        return np.ndarray(shape, "f8", memory, offset * 8, strides)

    a, b = lying((2, 4, 4), (-8, -16, 64), 400), lying((2, 4, 3), (8, 64, -16), 400)
    out = lying((2, 4, 3), (32, -64, -8), 364)
    wanted = a @ b
    assert tilewright.grouped_matmul([a], [b], [out])[0] is out and np.allclose(out, wanted)
