"""qr, lstsq, eigh, eigvalsh, svd and svdvals of stacks against numpy.linalg: every element type, arrays that lie anyhow, leading dimensions
that broadcast, matrices without elements, and arguments that are refused."""

import numpy as np
import pytest

import tilewright
from layouts import LAYOUTS, near
from support import DTYPES, filled

RNG = np.random.default_rng(12)
MODES = ("reduced", "complete", "r", "raw")


def adjoint(a):
    return np.conj(np.swapaxes(a, -1, -2))


def hermitian(shape, dtype):
    a = filled(RNG, shape, dtype)
    return ((a + adjoint(a)) / 2).astype(dtype)


def assert_unitary(q, dtype):
    near(adjoint(q) @ q, np.broadcast_to(np.eye(q.shape[-1], dtype=dtype), (*q.shape[:-2], q.shape[-1], q.shape[-1])), dtype)


def assert_svd(a, plain, dtype):
    values = np.linalg.svd(plain, compute_uv=False)
    for full in (True, False):
        u, s, vh = tilewright.svd(a, full)
        wanted, k = np.linalg.svd(plain, full), s.shape[-1]
        near(s, values, dtype)
        assert [one.shape for one in (u, s, vh)] == [one.shape for one in wanted] and u.dtype == vh.dtype == dtype
        near((u[..., :k] * s[..., None, :]) @ vh[..., :k, :], plain, dtype)
        assert_unitary(u, dtype)
        assert_unitary(adjoint(vh), dtype)
    near(tilewright.svdvals(a), values, dtype)
    near(tilewright.svd(a, compute_uv=False), values, dtype)


def assert_qr(a, plain, dtype):
    for mode in MODES:
        made, wanted = tilewright.qr(a, mode), np.linalg.qr(plain, mode)
        for got, one in zip(made if mode != "r" else (made,), wanted if mode != "r" else (wanted,)):
            near(got, one, dtype, 2000)
    q, r = tilewright.qr(a, "complete")
    near(q @ r, plain, dtype)
    assert_unitary(q, dtype)


def assert_eigh(a, plain, dtype):
    for uplo in "LUlu":
        values, vectors = tilewright.eigh(a, uplo)
        near(values, np.linalg.eigvalsh(plain, uplo), dtype)
        near(tilewright.eigvalsh(a, UPLO=uplo), values, dtype)
        assert vectors.dtype == dtype and vectors.flags.c_contiguous
        near(plain @ vectors, vectors * values[..., None, :], dtype)
        assert_unitary(vectors, dtype)


def assert_lstsq(a, b, dtype):
    x, residuals, rank, s = tilewright.lstsq(a, b)
    batch, right = a.shape[:-2], b[..., None] if b.ndim == 1 else b
    every = np.broadcast_shapes(batch, right.shape[:-2])
    near(s, np.linalg.svd(a, compute_uv=False), dtype)
    assert rank.shape == batch and np.all(rank == min(a.shape[-2:]))
    columns = x[..., None] if b.ndim == 1 else x
    near(columns, (np.linalg.pinv(a) @ right).astype(dtype), dtype, 20000)
    near(residuals, (np.abs(right - a @ columns) ** 2).sum(axis=-2), dtype, 2000)
    assert columns.shape == (*every, a.shape[-1], right.shape[-1]) and residuals.shape == (*every, right.shape[-1])
    if a.shape[-2] >= a.shape[-1]:
        for got, wanted in zip(tilewright.lstsq(a, b, driver="gels"), (x, residuals, rank, s[..., :0])):
            near(got, wanted, dtype, 20000)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_arrays_that_lie_anyhow(dtype, layout):
    for m, n in ((1, 1), (3, 3), (6, 4), (4, 6)):
        a = LAYOUTS[layout](filled(RNG, (7, m, n), dtype))
        kept, plain = a.copy(), np.ascontiguousarray(a, dtype)
        assert_qr(a, plain, dtype)
        assert_svd(a, plain, dtype)
        b = LAYOUTS[layout](filled(RNG, (7, m, 2), dtype))
        for got, wanted in zip(tilewright.lstsq(a.astype(dtype), b.astype(dtype)), tilewright.lstsq(plain, np.ascontiguousarray(b, dtype))):
            near(got, wanted, dtype, 2000)
        assert np.array_equal(a, kept)
    s = LAYOUTS[layout](hermitian((7, 5, 5), dtype))
    assert_eigh(s, np.ascontiguousarray(s, dtype), dtype)


@pytest.mark.parametrize("shape", [(5, 5), (40, 9), (9, 40), (2, 3, 4, 4), (1, 70, 66), (500, 3, 2), (2, 90, 90)])
@pytest.mark.parametrize("dtype", ["float64", "complex64"])
def test_sizes(dtype, shape):
    a = filled(RNG, shape, dtype)
    assert_qr(a, a, dtype)
    assert_svd(a, a, dtype)
    if shape[-2] == shape[-1]:
        h = hermitian(shape, dtype)
        assert_eigh(h, h, dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (0, 3, 3), (3, 0, 0), (2, 0, 4), (2, 4, 0), (2, 0, 4, 4)])
def test_matrices_without_elements(shape, dtype):
    a = np.zeros(shape, dtype)
    assert_qr(a, a, dtype)
    for got, wanted in zip(tilewright.svd(a), np.linalg.svd(a)):
        near(got, wanted, dtype)
    if shape[-1] == shape[-2]:
        for got, wanted in zip(tilewright.eigh(a), np.linalg.eigh(a)):
            near(got, wanted, dtype)
    x, residuals, rank, s = tilewright.lstsq(a, np.ones((shape[-2], 2), dtype))
    assert x.shape == (*shape[:-2], shape[-1], 2) and not x.any() and s.shape == (*shape[:-2], min(shape[-2:])) and not np.any(rank)
    assert residuals.shape == ((*shape[:-2], 2) if len(shape) > 2 or shape[-2] > shape[-1] else (0,))


@pytest.mark.parametrize("dtype", DTYPES)
def test_results_of_one_matrix_are_those_of_numpy(dtype):
    for m, n in ((5, 3), (3, 5), (4, 4)):
        a = filled(RNG, (m, n), dtype)
        for b in (filled(RNG, (m,), dtype), filled(RNG, (m, 2), dtype)):
            for got, wanted in zip(tilewright.lstsq(a, b), np.linalg.lstsq(a, b)):
                assert np.shape(got) == np.shape(wanted)
                assert np.allclose(got, wanted, rtol=1e-3 if dtype in ("float32", "complex64") else 1e-9)
    a[:, 1] = a[:, 0]
    x, residuals, rank, _ = tilewright.lstsq(a, np.ones(4, dtype), rcond=1e-3)
    assert rank == 3 and residuals.shape == (0,) and np.allclose(x, np.linalg.lstsq(a, np.ones(4, dtype), rcond=1e-3)[0], atol=1e-3)
    assert tilewright.qr(a)._fields == ("Q", "R") and tilewright.svd(a)._fields == ("U", "S", "Vh")
    assert tilewright.eigh(a)._fields == ("eigenvalues", "eigenvectors") and type(tilewright.lstsq(a, a)) is tuple


@pytest.mark.parametrize("a_batch, b_batch", [((4,), ()), ((), (4,)), ((4, 1), (5,)), ((2, 1, 3), (1, 5, 1)), ((0,), ()), ((3,), (1,)), ((2,) * 10, ())])
def test_leading_dimensions_broadcast(a_batch, b_batch):
    for dtype, m, n in (("float64", 5, 3), ("complex128", 3, 4)):
        a = filled(RNG, (*a_batch, m, n), dtype)
        assert_lstsq(a, filled(RNG, (*b_batch, m, 2), dtype), dtype) if a_batch else None
        if a_batch:
            assert_lstsq(a, filled(RNG, (m,), dtype), dtype)
    many = filled(RNG, (*b_batch, 5, 2), "float64")
    one = filled(RNG, (5, 3), "float64")
    near(tilewright.lstsq(one, many)[0], np.linalg.pinv(one) @ many, "float64", 20000)


def test_more_levels_than_a_batch_has():
    a = np.broadcast_to(hermitian((2, 1) * 5 + (3, 3), "float64"), (2,) * 10 + (3, 3))
    assert_qr(a, a, "float64")
    assert_svd(a, a, "float64")
    assert_eigh(a, a, "float64")


def test_ranks_and_least_norms():
    a = filled(RNG, (4, 6, 3), "float64")
    a[1, :, 2] = a[1, :, 0] + a[1, :, 1]
    a[3] = 0
    b = filled(RNG, (6, 2), "float64")
    x, residuals, rank, s = tilewright.lstsq(a, b)
    assert rank.tolist() == [3, 2, 3, 0] and not x[3].any()
    near(x, np.linalg.pinv(a, rcond=1e-12) @ b, "float64", 2000)
    near(residuals, ((b - a @ x) ** 2).sum(axis=-2), "float64", 2000)
    assert tilewright.lstsq(a, b, rcond=0.9)[2][0] < 3 and tilewright.lstsq(a, b, -1)[2][0] == 3
    with pytest.raises(np.linalg.LinAlgError, match=r"^Singular matrix: the R of a\[3\] has an exact zero on its diagonal, in row 1$"):
        tilewright.lstsq(a, b, driver="gels")


@pytest.mark.parametrize("dtype", DTYPES)
def test_one_triangle_is_read(dtype):
    h = hermitian((6, 5, 5), dtype)
    spoiled = np.tril(h) + np.triu(np.full_like(h, np.nan), 1)
    near(tilewright.eigvalsh(spoiled), np.linalg.eigvalsh(h), dtype)
    near(tilewright.eigvalsh(adjoint(spoiled), "U"), np.linalg.eigvalsh(h), dtype)
    for full in (True, False):
        u, s, vh = tilewright.svd(spoiled, full, hermitian=True)
        near(s, np.linalg.svd(h, compute_uv=False), dtype)
        near((u * s[..., None, :]) @ vh, h, dtype)
        assert_unitary(u, dtype)
        assert_unitary(vh, dtype)
    near(tilewright.svd(spoiled, compute_uv=False, hermitian=True), np.linalg.svd(h, compute_uv=False), dtype)


def test_elements_that_are_not_finite():
    for value in (np.nan, np.inf):
        a = hermitian((3, 4, 5, 5), "float64")
        a[1, 2, 3, 3] = value
        for call, text in ((tilewright.eigh, "Eigenvalues"), (tilewright.eigvalsh, "Eigenvalues"), (tilewright.svd, "SVD"), (tilewright.svdvals, "SVD"),
                           (lambda x: tilewright.svd(x, hermitian=True), "SVD"), (lambda x: tilewright.lstsq(x, np.ones(5)), "SVD")):
            with pytest.raises(np.linalg.LinAlgError, match=rf"^{text} did not converge.*, or a\[1, 2\] contains NaN or infinity$"):
                call(a)
            with pytest.raises(np.linalg.LinAlgError, match=rf"^{text} did not converge.*, or a contains NaN or infinity$"):
                call(a[1, 2])
        q, r = tilewright.qr(a)
        others = np.ones((3, 4), bool)
        others[1, 2] = False
        assert np.isfinite(q[others]).all() and np.isfinite(r[others]).all() and not np.isfinite(r[1, 2]).all()


def test_stacks_that_are_computed_in_pieces():
    a = filled(RNG, (3000, 2, 9, 7), "float64")
    for threads in (1, 2):
        for got, wanted in zip(tilewright.qr(a, threads=threads), np.linalg.qr(a)):
            near(got, wanted, "float64", 2000)


CALLS = {"qr": tilewright.qr, "svd": tilewright.svd, "svdvals": tilewright.svdvals, "eigh": tilewright.eigh, "eigvalsh": tilewright.eigvalsh,
         "lstsq": lambda a, **options: tilewright.lstsq(a, a, **options)}


@pytest.mark.parametrize("name", CALLS)
def test_what_is_refused(name):
    call, whole = CALLS[name], 5 * np.eye(3, dtype=np.int32)
    for other, dtype in ((whole, "int32"), (whole.astype("float16"), "float16"), (whole.astype("longdouble"), "longdouble|float128")):
        with pytest.raises(TypeError, match=f"^element type ({dtype}) of a is not supported"):
            call(other)
    for other, dtype in ((whole, "float64"), (whole.astype("float16"), "float32"), (whole.tolist(), "float64")):
        made = call(other, promote=True)
        assert (made if isinstance(made, np.ndarray) else made[0]).dtype == dtype
    for shape in ((), (3,)):
        with pytest.raises(np.linalg.LinAlgError, match="but at least 2 dimensions are needed"):
            call(np.ones(shape))
    for threads, error in ((-1, ValueError), (5000, ValueError), ("2", TypeError)):
        for a in (np.eye(3), np.zeros((0, 3, 3)), np.zeros((2, 0, 0))):
            with pytest.raises(error, match="threads"):
                call(a, threads=threads)


def test_arguments_that_are_refused():
    a = np.ones((2, 3, 4))
    for call in (tilewright.eigh, tilewright.eigvalsh, lambda x: tilewright.svd(x, hermitian=True)):
        with pytest.raises(np.linalg.LinAlgError, match=r"^Last 2 dimensions of the array must be square, but a has the shape \(2, 3, 4\)"):
            call(a)
    with pytest.raises(ValueError, match="^Unrecognized mode 'economic'"):
        tilewright.qr(a, "economic")
    with pytest.raises(ValueError, match="^UPLO argument must be 'L' or 'U', but is 'lower'"):
        tilewright.eigh(np.eye(2), "lower")
    with pytest.raises(ValueError, match="^driver = 'gelsy' is not one of"):
        tilewright.lstsq(a, a, driver="gelsy")
    with pytest.raises(ValueError, match="^driver = 'gels' needs at least as many rows as columns"):
        tilewright.lstsq(a, a, driver="gels")
    for b, error in ((np.ones((2, 4, 1)), "Incompatible dimensions"), (np.ones((3, 3, 1)), "leading dimensions"), (np.ones(()), "Incompatible")):
        with pytest.raises(np.linalg.LinAlgError, match=error):
            tilewright.lstsq(a, b)
    with pytest.raises(TypeError, match="^b has the element type float32, but a has float64"):
        tilewright.lstsq(a, np.ones(3, "float32"))
    with pytest.raises(TypeError, match="^full_matrices = 'no' is not one of True, False"):
        tilewright.svd(a, "no")
    with pytest.raises(TypeError, match="^rcond is of type str"):
        tilewright.lstsq(a, a, "1")
