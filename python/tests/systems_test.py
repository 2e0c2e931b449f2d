"""solve, inv, det, slogdet, cholesky and lu_factor of stacks against numpy.linalg: every element type, arrays that lie anyhow, leading dimensions
that broadcast, matrices without elements, and matrices that have no inverse or no Cholesky factor."""

import numpy as np
import pytest

import tilewright
from layouts import LAYOUTS, near
from support import DTYPES, filled

RNG = np.random.default_rng(11)


def regular(shape, dtype):
    """Matrices far from singular, with determinants near 1 or -1, whose rows are exchanged."""
    n = shape[-1]
    return (filled(RNG, shape, dtype) / (2 * n) + np.eye(n)).astype(dtype)[..., RNG.permutation(n), :]


def definite(shape, dtype):
    """Hermitian matrices with positive eigenvalues."""
    a = filled(RNG, shape, dtype)
    return (a @ np.conj(np.swapaxes(a, -1, -2)) / shape[-1] + np.eye(shape[-1])).astype(dtype)


def assert_as_numpy(a, b, dtype):
    kept = a.copy(), b.copy()
    plain = np.ascontiguousarray(a, a.dtype.newbyteorder("="))
    near(tilewright.solve(a, b), np.linalg.solve(plain, b), dtype)
    near(tilewright.inv(a), np.linalg.inv(plain), dtype)
    near(tilewright.det(a), np.linalg.det(plain), dtype, 2000)
    for got, wanted in zip(tilewright.slogdet(a), np.linalg.slogdet(plain)):
        near(got, wanted, dtype)
    factors = tilewright.lu_factor(a)
    near(factors.solve(b), np.linalg.solve(plain, b), dtype)
    near(factors.inverse(), np.linalg.inv(plain), dtype)
    adjoint = np.conj(plain.swapaxes(-1, -2))
    near(factors.solve(b, transpose=True, conjugate=True), np.linalg.solve(adjoint, b), dtype)
    assert np.array_equal(a, kept[0]) and np.array_equal(b, kept[1])


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_arrays_that_lie_anyhow(dtype, layout):
    for n in (1, 2, 5, 16):
        a, b = LAYOUTS[layout](regular((7, n, n), dtype)), filled(RNG, (7, n, 3), dtype)
        assert_as_numpy(a, b, dtype)
        assert np.array_equal(tilewright.solve(a, LAYOUTS["spread"](b)), tilewright.solve(a, b))
        s = definite((7, n, n), dtype)
        lower, kept = LAYOUTS[layout](s), LAYOUTS[layout](s).copy()
        near(tilewright.cholesky(lower), np.linalg.cholesky(kept.astype(dtype)), dtype)
        assert np.array_equal(lower, kept)


@pytest.mark.parametrize("shape", [(3, 3), (40, 40), (150, 150), (2, 3, 4, 4), (3, 1, 33, 33), (33, 140, 140), (2, 140, 140), (1000, 3, 3)])
@pytest.mark.parametrize("dtype", ["float64", "complex64"])
def test_sizes(dtype, shape):
    assert_as_numpy(regular(shape, dtype), filled(RNG, (*shape[:-1], 2), dtype), dtype)
    s = definite(shape, dtype)
    near(tilewright.cholesky(s, threads=2), np.linalg.cholesky(s), dtype)
    for call in (tilewright.inv, tilewright.cholesky):
        assert call(s, threads=1).flags.c_contiguous
    assert tilewright.solve(s, s[..., :2]).flags.c_contiguous and tilewright.lu_factor(s).solve(s).flags.c_contiguous


@pytest.mark.parametrize("a_batch, b_batch", [
    ((4,), ()), ((), (4,)), ((4, 1), (5,)), ((1,), (4, 3)), ((2, 1, 3), (1, 5, 1)), ((1, 6), (6,)), ((2, 3), (1, 2, 3)), ((2, 1) * 5, (2,) * 10),
    ((2,) * 10, (1, 2) * 5), ((0,), ()), ((), (0, 2)), ((3, 0), (1, 1))])
def test_leading_dimensions_broadcast(a_batch, b_batch):
    a, b = regular((*a_batch, 3, 3), "float64"), filled(RNG, (*b_batch, 3, 2), "float64")
    wanted = np.linalg.solve(a, b)
    near(tilewright.solve(a, b), wanted, "float64")
    near(tilewright.lu_factor(a).solve(b), wanted, "float64")
    near(tilewright.solve(a, b[..., :1].copy()), wanted[..., :1], "float64")
    vector = filled(RNG, (3,), "float64")
    near(tilewright.solve(a, vector), np.linalg.solve(a, vector), "float64")


def test_matrices_whose_elements_are_shared():
    windows = np.lib.stride_tricks.sliding_window_view(filled(RNG, (40,), "float64"), 4)  # rows that overlap
    a = np.lib.stride_tricks.sliding_window_view(windows, 4, axis=0)[5:9] + 0
    shared = np.lib.stride_tricks.sliding_window_view(windows, 4, axis=0)[5:9]
    assert np.array_equal(tilewright.solve(shared, np.ones(4)), tilewright.solve(a, np.ones(4)))
    assert np.array_equal(tilewright.inv(np.broadcast_to(a[:, :1, :1], (4, 1, 1))), tilewright.inv(a[:, :1, :1]))
    repeated = np.broadcast_to(a[..., :1], a.shape)
    assert np.array_equal(tilewright.det(repeated), tilewright.det(repeated.copy()))


def test_more_levels_than_a_batch_has():
    a = np.broadcast_to(regular((2, 1) * 5 + (3, 3), "float64"), (2,) * 10 + (3, 3))
    assert_as_numpy(a, filled(RNG, (2,) * 10 + (3, 1), "float64"), "float64")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(0, 0), (0, 3, 3), (3, 0, 0), (2, 0, 4, 4)])
def test_matrices_without_elements(shape, dtype):
    a = np.zeros(shape, dtype)
    for name in ("inv", "det", "cholesky"):
        near(getattr(tilewright, name)(a), getattr(np.linalg, name)(a), dtype)
    for got, wanted in zip(tilewright.slogdet(a), np.linalg.slogdet(a)):
        near(got, wanted, dtype)
    factors = tilewright.lu_factor(a)
    assert factors.lu.shape == shape and factors.pivots.shape == shape[:-1] and not np.any(factors.info)
    assert factors.inverse().shape == shape


def test_determinants_of_one_matrix_are_numbers():
    for dtype in DTYPES:
        a = regular((4, 4), dtype)
        assert type(tilewright.det(a)) is type(np.linalg.det(a)) is np.dtype(dtype).type
        made, wanted = tilewright.slogdet(a), np.linalg.slogdet(a)
        assert made._fields == ("sign", "logabsdet") and [type(one) for one in made] == [type(one) for one in wanted]
    assert tilewright.det(np.zeros((0, 0))) == 1 and tilewright.slogdet(np.zeros((0, 0))) == (1, 0)


@pytest.mark.parametrize("dtype", DTYPES)
def test_logarithms_do_not_overflow(dtype):
    unit = regular((5, 30, 30), dtype)
    for scale in (np.finfo(dtype).max / 1e4, np.finfo(dtype).tiny * 1e4):
        a = (unit * np.dtype(dtype).type(scale)).astype(dtype)
        sign, log = tilewright.slogdet(a)
        wanted = np.linalg.slogdet(unit)
        near(sign, wanted[0], dtype)
        assert np.allclose(log, wanted[1] + 30 * np.log(float(scale)), rtol=1e-5)
        assert log.dtype == wanted[1].dtype and not np.any(np.isfinite(tilewright.det(a)) & (tilewright.det(a) != 0))


@pytest.mark.parametrize("dtype", DTYPES)
def test_odd_permutations_change_the_sign(dtype):
    a = np.stack([np.eye(4)[[1, 0, 2, 3]], np.eye(4)[[1, 2, 0, 3]], -np.eye(4), np.diag([1, -2, 1, 1])]).astype(dtype)
    assert np.array_equal(tilewright.det(a), [-1, 1, 1, -2])
    assert np.array_equal(tilewright.slogdet(a).sign, [-1, 1, 1, -1])
    if np.dtype(dtype).kind == "c":
        assert np.allclose(tilewright.slogdet(a[:1] * np.dtype(dtype).type(np.exp(0.3j))).sign, -np.exp(1.2j))


def test_singular_matrices():
    a = regular((3, 4, 2, 2), "float64")
    a[1, 2] = [[1, 2], [2, 4]]
    for call in (lambda: tilewright.solve(a, np.ones((2, 1))), lambda: tilewright.inv(a), lambda: tilewright.lu_factor(a).solve(np.ones(2)),
                 lambda: tilewright.lu_factor(a).inverse(), lambda: tilewright.solve(a, np.ones((1, 4, 2, 1)))):
        with pytest.raises(np.linalg.LinAlgError, match=r"^Singular matrix: the U of a\[1, 2\] has an exact zero on its diagonal, in row 2"):
            call()
    with pytest.raises(np.linalg.LinAlgError, match="^Singular matrix: the U of a has"):
        tilewright.inv(np.zeros((3, 3)))
    assert tilewright.det(a)[1, 2] == 0 and tilewright.lu_factor(a).info[1, 2] == 2
    sign, log = tilewright.slogdet(a)
    assert sign[1, 2] == 0 and log[1, 2] == -np.inf and np.count_nonzero(np.isinf(log)) == 1
    assert tilewright.solve(a, np.ones((0, 1, 1, 2, 1))).shape == (0, 3, 4, 2, 1)  # no matrix takes part


@pytest.mark.parametrize("dtype", DTYPES)
def test_cholesky_reads_one_triangle(dtype):
    s = definite((6, 5, 5), dtype)
    near(tilewright.cholesky(np.tril(s) + np.triu(np.full_like(s, np.nan), 1)), np.linalg.cholesky(s), dtype)
    upper = np.conj(np.linalg.cholesky(s).swapaxes(-1, -2))
    near(tilewright.cholesky(np.triu(s) + np.tril(np.full_like(s, np.nan), -1), upper=True), upper, dtype)
    assert not np.any(np.triu(tilewright.cholesky(s), 1)) and not np.any(np.tril(tilewright.cholesky(s, upper=True), -1))


@pytest.mark.parametrize("n", [2, 9, 200])
def test_indefinite_matrices(n):
    s = definite((4, n, n), "float64")
    s[2, 1, 1] = -1
    with pytest.raises(np.linalg.LinAlgError, match=r"^Matrix is not positive definite: the leading minor of order 2 of a\[2\] is not"):
        tilewright.cholesky(s)
    s[2] = np.nan
    with pytest.raises(np.linalg.LinAlgError, match="^Matrix is not positive definite: the leading minor of order 1 of a is not"):
        tilewright.cholesky(s[2], upper=True)


def test_not_a_number_spoils_its_own_matrix_alone():
    a = regular((20, 3, 3), "float64")
    a[7, 1, 1] = np.nan
    others = np.arange(20) != 7
    for x in (tilewright.solve(a, np.ones((3, 1))), tilewright.inv(a), tilewright.det(a), tilewright.slogdet(a).logabsdet):
        assert np.isfinite(x[others]).all() and np.isnan(x[7]).any()


CALLS = {"solve": lambda a, **options: tilewright.solve(a, a, **options), **{name: getattr(tilewright, name) for name in ("inv", "det", "slogdet", "cholesky")}}


@pytest.mark.parametrize("name", CALLS)
def test_element_types(name):
    call, whole = CALLS[name], 5 * np.eye(3, dtype=np.int32)
    for other, dtype in ((whole, "int32"), (whole.astype("float16"), "float16"), (whole.astype(bool), "bool"), (whole.astype("longdouble"), "longdouble|float128")):
        with pytest.raises(TypeError, match=f"^element type ({dtype}) of a is not supported"):
            call(other)
    for other, dtype in ((whole, "float64"), (whole.astype("float16"), "float32"), (whole.astype("float32"), "float32"), (whole.tolist(), "float64")):
        made = call(other, promote=True)
        made = made[0] if name == "slogdet" else made
        assert made.dtype == dtype


@pytest.mark.parametrize("name", CALLS)
def test_shapes_that_are_refused(name):
    with pytest.raises(np.linalg.LinAlgError, match=r"^Last 2 dimensions of the array must be square, but a has the shape \(2, 3, 4\)"):
        CALLS[name](np.ones((2, 3, 4)))
    for shape in ((), (3,)):
        with pytest.raises(np.linalg.LinAlgError, match="but at least 2 dimensions are needed"):
            CALLS[name](np.ones(shape))
    for threads, error in ((-1, ValueError), (5000, ValueError), ("2", TypeError)):
        with pytest.raises(error, match="threads"):
            CALLS[name](np.eye(3), threads=threads)
        with pytest.raises(error, match="threads"):
            CALLS[name](np.stack([np.eye(3)] * 2), threads=threads)
        for shape in ((0, 3, 3), (2, 0, 0), (0, 0)):
            with pytest.raises(error, match="threads"):
                CALLS[name](np.zeros(shape), threads=threads)


def test_rectangular_stacks_are_factored():
    for shape in ((50, 3, 6), (50, 6, 3), (2, 1, 4)):
        a = filled(RNG, shape, "float64")
        lu, pivots = tilewright.lu_factor(a)
        least = min(shape[-2:])
        product = (np.tril(lu, -1)[..., :least] + np.eye(shape[-2], least)) @ np.triu(lu)[..., :least, :]
        for at in np.ndindex(shape[:-2]):
            for i in reversed(range(least)):
                product[at][[i, pivots[at][i]]] = product[at][[pivots[at][i], i]]
        near(product, a, "float64")
        with pytest.raises(np.linalg.LinAlgError, match="^Last 2 dimensions"):
            tilewright.lu_factor(a).inverse()


def test_calls_that_ask_for_a_candidate_factor_each_matrix():
    a, b = regular((3, 6, 6), "float64"), np.ones((6, 1))
    assert tilewright.lu_factor(a).report == {"routine": "getrf_batched"}
    assert tilewright.lu_factor(a, candidate="blocked").report["candidate"] == "blocked"
    near(tilewright.solve(a, b, candidate="blocked", nb=2), np.linalg.solve(a, b), "float64")
    near(tilewright.inv(a, candidate="blocked"), np.linalg.inv(a), "float64")


def test_stacks_that_are_computed_in_pieces():
    s = definite((3000, 2, 9, 9), "float64")
    for threads in (1, 2):
        near(tilewright.cholesky(s, threads=threads), np.linalg.cholesky(s), "float64")
        for got, wanted in zip(tilewright.slogdet(-s[:, 0], threads=threads), np.linalg.slogdet(-s[:, 0])):
            near(got, wanted, "float64")
    s[2900, 1] *= -1
    with pytest.raises(np.linalg.LinAlgError, match=r"order 1 of a\[2900, 1\]"):
        tilewright.cholesky(s, threads=1)


def test_types_that_nothing_is_promoted_to_are_named():
    for dtype in ("longdouble", object):
        a = np.eye(3).astype(dtype)
        with pytest.raises(TypeError, match=rf"^element type {a.dtype} of a is not converted to one of float32, float64, complex64, complex128$"):
            tilewright.inv(a, promote=True)
        with pytest.raises(TypeError, match=rf"^element type {a.dtype} of a and b is not converted to one of float32"):
            tilewright.matmul(a, a, promote=True)
