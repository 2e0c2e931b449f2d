"""qr, lstsq, eigh, eigvalsh, svd and svdvals of matrices and stacks of them in host memory, with the meaning that numpy.linalg gives
them. A stack is one call for each routine. Jacobi's rotations find eigenvalues and singular values, which is meant for small matrices."""

from typing import Any, NamedTuple

import numpy

from . import _core
from ._checks import flag, seconds, text, whole
from ._lu import copied, right_side
from ._matmul import matmul
from ._systems import REAL, copied_pieces, index, on_host, promoted, run, scalar


class QRResult(NamedTuple):
    """A = Q R."""

    Q: Any
    R: Any


class EighResult(NamedTuple):
    """A = V diag(w) V^H, w in ascending order."""

    eigenvalues: Any
    eigenvectors: Any


class SVDResult(NamedTuple):
    """A = U diag(S) Vh, S in descending order."""

    U: Any
    S: Any
    Vh: Any


def _raise(found, batch, what):
    """Raises LinAlgError for the first problem that has an info."""
    if found is not None:
        at = index(found[0], batch)
        raise numpy.linalg.LinAlgError(f"{what}, or a{at or ''} contains NaN or infinity")


def qr(a, mode="reduced", *, threads=0, promote=False):
    """A = Q R for each matrix of a, (batch..., m, n), by Householder's reflectors (LAPACK xGEQRF, xORMQR), as numpy.linalg.qr: Q has
    orthonormal columns and R zeros below its diagonal. With k = min(m, n), mode is reduced: a named tuple (Q, R) of (batch..., m, k) and
    (batch..., k, n); complete: of (batch..., m, m) and (batch..., m, n); r: R of reduced alone; or raw: (h, tau) of (batch..., n, m), which
    is transposed, and (batch..., k), as LAPACK has them. threads, promote: as in lu_factor. Raises ValueError for other modes,
    numpy.linalg.LinAlgError for less than two dimensions, TypeError for other element types."""
    if mode not in ("reduced", "complete", "r", "raw"):
        raise ValueError(f"Unrecognized mode {mode!r}: mode is one of 'reduced', 'complete', 'r', 'raw'")
    kind, x, dtype = on_host(a, promote, "QR factorizations", is_square=False)
    threads, batch, (m, n) = whole("threads", threads), tuple(x.shape[:-2]), tuple(x.shape[-2:])
    if mode == "raw":
        factors, tau = copied(kind, x, dtype), kind.empty((*batch, min(m, n)), dtype, x)
        _core.geqrf(kind.operand(factors), kind.address(tau), threads)
        return kind.finish(kind.swapped(factors), a), kind.finish(tau, a)
    columns = m if mode == "complete" else min(m, n)
    r = kind.empty((*batch, columns, n), dtype, x)
    q = None if mode == "r" else kind.empty((*batch, m, columns), dtype, x)
    for piece, factors in copied_pieces(kind, x, dtype, threads):
        _core.qr(kind.operand(factors), None if q is None else kind.operand(q[piece]), kind.operand(r[piece]), threads)
    return kind.finish(r, a) if q is None else QRResult(kind.finish(q, a), kind.finish(r, a))


def _upper(UPLO):
    name = text("UPLO", UPLO).upper()
    if name not in ("L", "U"):
        raise ValueError(f"UPLO argument must be 'L' or 'U', but is {UPLO!r}")
    return name == "U"


def _eigen(a, UPLO, threads, promote, has_vectors):
    upper, threads = _upper(UPLO), whole("threads", threads)
    kind, x, dtype = on_host(a, promote, "eigenvalues")
    values = kind.empty(x.shape[:-1], REAL[dtype], x)
    vectors = kind.empty(x.shape, dtype, x) if has_vectors else None
    found = run(_core.syev, kind, x, kind.address(values), kind.operand(vectors) if has_vectors else None, upper, threads)
    _raise(found, x.shape[:-2], "Eigenvalues did not converge")
    return kind.finish(values, a), kind.finish(vectors, a) if has_vectors else None


def eigh(a, UPLO="L", *, threads=0, promote=False):
    """The eigenvalues of each symmetric or Hermitian matrix of a, (batch..., n, n), in ascending order, and its eigenvectors as columns
    (LAPACK xSYEV, xHEEV), as numpy.linalg.eigh: a named tuple (eigenvalues, eigenvectors) of (batch..., n), real, and (batch..., n, n).
    UPLO: the triangle that is read, L or U. threads, promote: as in lu_factor. Raises numpy.linalg.LinAlgError for matrices that are not
    square, and for elements that are not finite; ValueError for another UPLO; TypeError for other element types."""
    return EighResult(*_eigen(a, UPLO, threads, promote, True))


def eigvalsh(a, UPLO="L", *, threads=0, promote=False):
    """The eigenvalues of eigh alone, as numpy.linalg.eigvalsh: (batch..., n)."""
    return _eigen(a, UPLO, threads, promote, False)[0]


def svd(a, full_matrices=True, compute_uv=True, hermitian=False, *, threads=0, promote=False):
    """The singular values of each matrix of a, (batch..., m, n), in descending order, and its singular vectors (LAPACK xGESVD), as
    numpy.linalg.svd: a named tuple (U, S, Vh) of (batch..., m, m), (batch..., k), real, and (batch..., n, n) with k = min(m, n); U has k
    columns and Vh k rows unless full_matrices. S alone unless compute_uv. hermitian: a is square and only its lower triangle is read.
    threads, promote: as in lu_factor. Raises numpy.linalg.LinAlgError for less than two dimensions, and for elements that are not finite;
    TypeError for other element types."""
    full, has_vectors = flag("full_matrices", full_matrices), flag("compute_uv", compute_uv)
    is_hermitian, threads = flag("hermitian", hermitian), whole("threads", threads)
    kind, x, dtype = on_host(a, promote, "singular values", is_square=is_hermitian)
    batch, (m, n) = tuple(x.shape[:-2]), tuple(x.shape[-2:])
    k = min(m, n)
    values, u, vh = kind.empty((*batch, k), REAL[dtype], x), None, None
    if has_vectors:
        u, vh = (kind.empty((*batch, *shape), dtype, x) for shape in ((m, m if full else k), (n if full else k, n)))
    call = _core.hermitian_svd if is_hermitian else _core.gesvd
    found = run(call, kind, x, kind.address(values), *(None if one is None else kind.operand(one) for one in (u, vh)), threads)
    _raise(found, batch, "SVD did not converge")
    values = kind.finish(values, a)
    return SVDResult(kind.finish(u, a), values, kind.finish(vh, a)) if has_vectors else values


def svdvals(x, /, *, threads=0, promote=False):
    """The singular values of svd alone, as numpy.linalg.svdvals: (batch..., k)."""
    return svd(x, compute_uv=False, threads=threads, promote=promote)


def _sums_of_squares(kind, x, first, dtype):
    sums = kind.empty((*x.shape[:-2], x.shape[-1]), REAL[dtype], x)
    _core.sum_squares(kind.operand(x), first, kind.address(sums))
    return sums


def _by_values(kind, x, dtype, right, every, rcond, threads):
    """(x, residuals, rank, s) from the singular values of each matrix."""
    batch, (m, n) = tuple(x.shape[:-2]), tuple(x.shape[-2:])
    k = min(m, n)
    u, vh, s = (kind.empty((*batch, *shape), one, x) for shape, one in (((m, k), dtype), ((k, n), dtype), ((k,), REAL[dtype])))
    found = run(_core.gesvd, kind, x, kind.address(s), kind.operand(u), kind.operand(vh), threads)
    _raise(found, batch, "SVD did not converge in Linear Least Squares")
    rank = kind.empty(batch, "int64", x)
    _core.divide_by_values(kind.operand(vh), kind.address(s), rcond, kind.address(rank))

    def nearest(b, **product):
        within = matmul(u, b, transpose_a=True, conjugate_a=True, threads=threads)
        return matmul(vh, within, transpose_a=True, conjugate_a=True, threads=threads, **product)

    solution, beside = nearest(right), copied(kind, right, dtype, every)
    matmul(x, solution, out=beside, alpha=-1, beta=1, threads=threads)
    solution = nearest(beside, out=solution, beta=1)  # one step of refinement
    kind.assign(beside, right)
    matmul(x, solution, out=beside, alpha=-1, beta=1, threads=threads)
    return solution, _sums_of_squares(kind, beside, 0, dtype), rank, s


def _by_reflectors(kind, x, dtype, right, every, threads):
    """(x, residuals, rank, s), where s is empty and rank n, from the QR factors of each matrix."""
    n = x.shape[-1]
    if x.shape[-2] < n:
        raise ValueError(f"driver = 'gels' needs at least as many rows as columns, but a has the shape {tuple(x.shape)}")
    made = copied(kind, right, dtype, every)
    found = run(_core.gels, kind, x, kind.operand(made), threads)
    if found is not None:
        raise numpy.linalg.LinAlgError(f"Singular matrix: the R of a{index(found[0], every) or ''} has an exact zero on its diagonal, in "
                                       f"row {found[1]}")
    rank = kind.empty(x.shape[:-2], "int64", x)
    rank[...] = n
    return copied(kind, made[..., :n, :], dtype), _sums_of_squares(kind, made, n, dtype), rank, kind.empty((*x.shape[:-2], 0), REAL[dtype], x)


def lstsq(a, b, rcond=None, *, driver="gelsd", threads=0, promote=False):
    """The x of least norm that make each column of a x - b smallest, as numpy.linalg.lstsq, which takes no stacks: a (batch..., m, n), b
    (m,) or (batch..., m, nrhs), whose leading dimensions broadcast to each other. Returns (x, residuals, rank, s): (n,) or (batch..., n,
    nrhs); the squared norms of the columns of b - a x, (batch..., nrhs), for one matrix empty unless rank = n < m; the rank and the singular
    values, (batch..., k), of each matrix of a, of which those up to rcond times the largest count as 0 (None: max(m, n) eps). driver gels
    takes QR factors instead (LAPACK xGELS), which is faster and needs m >= n and full rank; its s are empty. threads, promote: as in
    lu_factor. Raises numpy.linalg.LinAlgError for shapes that do not fit, elements that are not finite, and gels with an exact zero on R's
    diagonal; ValueError for other drivers; TypeError for other element types."""
    if driver not in ("gelsd", "gels"):
        raise ValueError(f"driver = {driver!r} is not one of 'gelsd', 'gels'")
    if flag("promote", promote):
        a, b = promoted(a, b)
    threads = whole("threads", threads)
    kind, x, dtype = on_host(a, False, "least squares", is_square=False)
    try:
        right, vector, every = right_side(kind, x.shape, dtype, b)
    except ValueError as error:
        raise numpy.linalg.LinAlgError(f"Incompatible dimensions: {error}") from None
    m, n = x.shape[-2:]
    if driver == "gels":
        solution, residuals, rank, s = _by_reflectors(kind, x, dtype, right, every, threads)
    else:
        eps = float(numpy.finfo(REAL[dtype]).eps)
        least = eps * max(m, n) if rcond is None else seconds("rcond", rcond, "a number")
        solution, residuals, rank, s = _by_values(kind, x, dtype, right, every, least if least >= 0 else eps / 2, threads)
    if not every and not (int(rank) == n < m):
        residuals = residuals[:0]
    solution = solution[..., 0] if vector else solution
    return kind.finish(solution, a), kind.finish(residuals, a), scalar(kind, kind.finish(rank, a)), kind.finish(s, a)
