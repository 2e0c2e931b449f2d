"""matmul on NumPy arrays against numpy.matmul: shapes, strides, every option of the description."""

import numpy as np
import pytest

import tilewright
from support import DTYPES, assert_product, filled, strided


def random_shapes(rng):
    """Shapes of a and b that NumPy multiplies: vectors, matrices, batches that broadcast."""
    m, n, k = (int(x) for x in rng.choice([0, 1, 2, 3, 4, 5, 8, 9, 16, 17, 33], 3, p=[.03] + [.97 / 10] * 10))
    batch = [int(x) for x in rng.choice([1, 2, 3, 5, 0], int(rng.integers(0, 5)), p=[.2, .3, .3, .17, .03])]

    def part():
        kept = batch[int(rng.integers(0, len(batch) + 1)):]
        return [1 if rng.random() < 0.2 else size for size in kept]

    a = [k] if rng.random() < 0.08 else part() + [m, k]
    b = [k] if rng.random() < 0.08 else part() + [k, n]
    return a, b


@pytest.mark.parametrize("seed", range(20))
def test_random_shapes_and_strides(seed):
    rng = np.random.default_rng(seed)
    for case in range(150):
        dtype = DTYPES[case % 4]
        shape_a, shape_b = random_shapes(rng)
        a, b = strided(rng, shape_a, dtype), strided(rng, shape_b, dtype)
        want = np.matmul(a, b)
        got = tilewright.matmul(a, b)
        assert got.shape == want.shape, (shape_a, shape_b)
        full_a, full_b = a if a.ndim > 1 else a[None], b if b.ndim > 1 else b[:, None]
        assert_product(np.asarray(got).reshape(np.matmul(full_a, full_b).shape), full_a, full_b)


@pytest.mark.parametrize("seed", range(10))
def test_out_alpha_beta_and_operations(seed):
    rng = np.random.default_rng(100 + seed)
    for case in range(60):
        dtype = DTYPES[case % 4]
        m, n, k = (int(x) for x in rng.integers(1, 20, 3))
        batch = [int(x) for x in rng.integers(1, 4, int(rng.integers(0, 4)))]
        ta, tb, ca, cb = (bool(x) for x in rng.integers(0, 2, 4))
        a = strided(rng, batch + ([k, m] if ta else [m, k]), dtype)
        b = strided(rng, batch + ([n, k] if tb else [k, n]), dtype)
        out = strided(rng, batch + [m, n], dtype, writeable=True)
        before = out.copy()
        complex_factors = np.dtype(dtype).kind == "c"
        alpha = rng.choice([0, 1, -0.5]) + (0.25j if complex_factors and case % 3 else 0)
        beta = rng.choice([0, 1, 2]) + (0.5j if complex_factors and case % 5 == 0 else 0)
        if case % 2:
            alpha, beta = alpha.item(), beta.item()  # Python's own numbers take the fast path
        if beta == 0:
            out[...] = np.nan
            before = np.zeros_like(before)
        got = tilewright.matmul(a, b, out, alpha=alpha, beta=beta, transpose_a=ta, transpose_b=tb, conjugate_a=ca, conjugate_b=cb)
        assert got is out
        x = np.swapaxes(a, -1, -2) if ta else a
        y = np.swapaxes(b, -1, -2) if tb else b
        assert_product(got, np.conj(x) if ca else x, np.conj(y) if cb else y, before, alpha, beta)


def test_more_batch_dimensions_than_levels():
    rng = np.random.default_rng(5)
    a = filled(rng, (2, 3, 2, 3, 2, 4, 5), "float64").transpose(4, 2, 0, 3, 1, 5, 6)
    b = filled(rng, (3, 5, 6), "float64")
    assert_product(tilewright.matmul(a, b), a, b)
    out = np.zeros((3, 2, 2, 2, 3, 4, 6)).transpose(4, 3, 2, 0, 1, 5, 6)[:2, :2, :2]
    a, b = filled(rng, (*out.shape[:-2], 4, 5), "float64"), filled(rng, (5, 6), "float64")
    tilewright.matmul(a, b, out=out)
    assert_product(out, a, b)


@pytest.mark.parametrize("dtype", DTYPES)
def test_large_products(dtype):
    rng = np.random.default_rng(6)
    a, b = filled(rng, (130, 201), dtype), filled(rng, (201, 97), dtype)
    assert_product(tilewright.matmul(a, b), a, b)
    assert_product(tilewright.matmul(a.T, b.T, transpose_a=True, transpose_b=True), a, b)
    assert_product(tilewright.matmul(np.asfortranarray(a), np.asfortranarray(b)), a, b)


@pytest.mark.parametrize("share", ["same", "shifted", "transposed", "within"])
def test_an_overlapping_out_gets_what_a_separate_one_would(share):
    rng = np.random.default_rng(7)
    room = filled(rng, (12, 8), "float64")
    a, b = room[:8], filled(rng, (8, 8), "float64")
    out = {"same": room[:8], "shifted": room[3:11], "transposed": room[:8].T, "within": room[4:12][::1]}[share]
    x, before = a.copy(), out.copy()
    tilewright.matmul(a, b, out=out, beta=0.5)
    assert_product(out, x, b, before, 1, 0.5)


def test_the_result_is_numpys():
    a = np.ones((3, 4))
    assert type(tilewright.matmul(a, a.T)) is np.ndarray
    assert tilewright.matmul(a, a.T).flags.c_contiguous
    assert tilewright.matmul([[1.0, 2.0]], [[3.0], [4.0]]).tolist() == [[11.0]]
    assert float(tilewright.matmul(np.ones(5), np.ones(5))) == 5
    assert tilewright.matmul(a, np.ones(4)).shape == (3,)
    assert tilewright.matmul(np.ones((2, 7, 3)), a).shape == (2, 7, 4)


def test_threads_and_candidates_are_options():
    rng = np.random.default_rng(8)
    a, b = filled(rng, (50, 6, 7), "float64"), filled(rng, (50, 7, 5), "float64")
    one = tilewright.matmul(a, b, threads=1)
    assert np.array_equal(one, tilewright.matmul(a, b, threads=2))
    reference = tilewright.matmul(a, b, candidate="reference", target="cpu", residency="cold")
    assert_product(reference, a, b)


def test_promotion_is_asked_for():
    whole = np.arange(6).reshape(2, 3)
    assert np.array_equal(tilewright.matmul(whole, whole.T, promote=True), whole @ whole.T)
    assert tilewright.matmul(whole, whole.T, promote=True).dtype == np.float64
    mixed = tilewright.matmul(np.ones((2, 2), np.float32), np.ones((2, 2), np.complex128), promote=True)
    assert mixed.dtype == np.complex128
    assert tilewright.matmul(np.ones((2, 2), np.float16), np.ones((2, 2), np.float16), promote=True).dtype == np.float32


@pytest.mark.parametrize("threads", [0, 1, 2])
def test_large_new_results_are_those_into_an_array(threads):
    # A new result of 32 MiB or more is computed with other options.
    rng = np.random.default_rng(5)
    a, b = rng.standard_normal((2, 16500, 16, 16))
    out = np.full_like(a, np.nan)
    assert tilewright.matmul(a, b, out=out, threads=threads) is out
    made = tilewright.matmul(a, b, threads=threads)
    assert made.nbytes > 2 ** 25
    np.testing.assert_allclose(made, out, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(made[::1000], a[::1000] @ b[::1000], rtol=1e-12, atol=1e-12)
