"""solve, inv, det, slogdet and cholesky of matrices and stacks of them, with the meaning that numpy.linalg gives them. Stacks of
small matrices are one call; others are factored one by one as lu_factor does it. On a GPU nothing waits for the work, and a matrix
that is singular or not positive definite makes its result NaN."""

import math
import os
from typing import Any, NamedTuple

import numpy

from . import _core, _gpu_systems
from ._arrays import kind_of, resolved
from ._checks import flag, text, whole
from ._lu import adopt, calls, check_options, copied, in_one_call, lu_factor, right_side, singular, square
from ._matmul import check_places, common_dtype


PIECE_BYTES = 1 << 19  # for each thread
REAL = {"float32": "float32", "float64": "float64", "complex64": "float32", "complex128": "float64"}  # types of absolute values


class SlogdetResult(NamedTuple):
    """The determinant is sign * exp(logabsdet)."""

    sign: Any
    logabsdet: Any


def _threads_in_one_call(kind, a, options):
    """The threads of a call that computes all of a; None if each matrix is one of lu_factor, which checks its options."""
    target, candidate = text("target", options.get("target", "auto")), text("candidate", options.get("candidate", ""))
    threads, nb = whole("threads", options.get("threads", 0)), whole("nb", options.get("nb", 0))
    return threads if in_one_call(a.shape, target, candidate, nb, kind.device(a)) else None


def index(problem, batch):
    return [int(i) for i in numpy.unravel_index(problem, batch)]


def run(call, kind, a, *others):
    """Returns call(a, others); a is packed first where it lies as no batch can."""
    a = resolved(kind, a)
    found = call(kind.operand(a), *others)
    return call(kind.operand(kind.packed(a, False)), *others) if found is False else found


def copied_pieces(kind, x, dtype, threads):
    """Parts of the first axis of a stack that stay in the caches between being copied and being computed: pairs of an index and a copy,
    all in the same memory."""
    pieces = [...]
    if len(x.shape) > 2:
        bytes_each = math.prod(x.shape[1:]) * numpy.dtype(dtype).itemsize
        step = max(1, (threads or os.cpu_count() or 1) * PIECE_BYTES // max(1, bytes_each))
        pieces = [slice(begin, begin + step) for begin in range(0, max(1, x.shape[0]), step)]  # one of nothing checks its threads
    room = None
    for piece in pieces:
        part = x[piece]
        if room is None:
            room = kind.empty(part.shape, dtype, x)
        copy = room if part.shape == room.shape else room[:part.shape[0]]
        kind.assign(copy, part)
        yield piece, copy


def scalar(kind, x):
    """NumPy's functions return numbers where others return arrays without dimensions."""
    return x[()] if kind.name == "numpy" else x


def matrices(a, promote, is_square=True):
    """(kind, a, element type) of adopted matrices."""
    kind, a, dtype = adopt(a, "a", flag("promote", promote), 2)
    if is_square:
        square(a)
    return kind, a, dtype


def on_host(a, promote, what, is_square=True):
    """The same of matrices in host memory, which `what` names where they lie elsewhere."""
    kind, a, dtype = matrices(a, promote, is_square)
    if kind.device(a) is not None:
        raise NotImplementedError(f"{what} of matrices on a GPU are not implemented: copy them into host memory")
    calls[0] += 1
    return kind, a, dtype


def promoted(a, b):
    """a and b in the element type that both are converted to."""
    kinds = kind_of(a, "a"), kind_of(b, "b")
    a, b = (kind.adopt(x, name) for kind, x, name in zip(kinds, (a, b), "ab"))
    dtype = common_dtype(*(kind.dtype(x) for kind, x in zip(kinds, (a, b))), True)
    return tuple(kind.cast(x, dtype) for kind, x in zip(kinds, (a, b)))


def solve(a, b, *, promote=False, **options):
    """X with A X = B, as numpy.linalg.solve of NumPy 2: a (batch..., n, n), b (n,) or (batch..., n, nrhs), whose leading dimensions
    broadcast to each other. Returns a new array by rows. Options are those of lu_factor. Raises numpy.linalg.LinAlgError for matrices
    that are not square, and for a singular one in host memory; on a GPU its X is NaN or infinite, and lu_factor(a).info tells.
    ValueError for shapes that do not fit; TypeError for element types."""
    if options:
        check_options(options)
    if flag("promote", promote):
        a, b = promoted(a, b)
    kind, x, dtype = adopt(a, "a", False, 2)
    threads = _threads_in_one_call(kind, x, options)
    if threads is None:
        return lu_factor(a, **options).solve(b)
    square(x)
    right, vector, every = right_side(kind, x.shape, dtype, b)
    if right.shape[-1] == 0 or (every != x.shape[:-2] and math.prod(every) > math.prod(x.shape[:-2])):
        return lu_factor(a, **options).solve(b)  # each matrix is factored once
    on_gpu = kind.device(x) is not None
    check_places("b", kind.device(right), kind.device(x))
    if on_gpu and not every:
        return lu_factor(a, **options).solve(b)
    made = copied(kind, right, dtype, every)
    if on_gpu and not _gpu_systems.serves(_gpu_systems.solve, kind, x, made, threads):
        return lu_factor(a, **options).solve(b)
    calls[0] += 1
    found = None if on_gpu else run(_core.gesv, kind, x, kind.operand(made), threads)
    if found is not None:
        raise singular(index(found[0], every), found[1])
    return kind.finish(made[..., 0] if vector else made, a)


def inv(a, *, promote=False, **options):
    """The inverse of each matrix of a, (batch..., n, n), as numpy.linalg.inv: a new array by rows. Options, and promote, are those of
    lu_factor. Raises numpy.linalg.LinAlgError for matrices that are not square or, in host memory, singular; NotImplementedError for
    matrices on a GPU that are too large."""
    if options:
        check_options(options)
    kind, x, dtype = adopt(a, "a", flag("promote", promote), 2)
    square(x)
    threads = _threads_in_one_call(kind, x, options)
    if kind.device(x) is not None:
        calls[0] += 1
        with _gpu_systems.instead("solve with the identity computes their inverses"):
            return kind.finish(_gpu_systems.inverses(kind, x, dtype, whole("threads", options.get("threads", 0))), a)
    if threads is None:
        return lu_factor(a, promote=promote, **options).inverse()
    calls[0] += 1
    inverse = kind.empty(x.shape, dtype, x)
    found = run(_core.inv, kind, x, kind.operand(inverse), threads)
    if found is not None:
        raise singular(index(found[0], x.shape[:-2]), found[1])
    return kind.finish(inverse, a)


def det(a, *, threads=0, promote=False):
    """The determinant of each matrix of a, (batch..., n, n), as numpy.linalg.det: (batch...), and a number for one NumPy matrix. slogdet
    cannot overflow. threads, promote: as in lu_factor. Raises numpy.linalg.LinAlgError for matrices that are not square,
    NotImplementedError for matrices on a GPU that are too large."""
    threads = whole("threads", threads)
    kind, x, dtype = matrices(a, promote)
    calls[0] += 1
    if kind.device(x) is not None:
        with _gpu_systems.instead("slogdet computes them"):
            return kind.finish(_gpu_systems.determinants(kind, x, dtype, threads), a)
    made = kind.empty(x.shape[:-2], dtype, x)
    run(_core.det, kind, x, kind.operand(made), threads)
    return scalar(kind, kind.finish(made, a))


def slogdet(a, *, threads=0, promote=False):
    """The sign of the determinant of each matrix of a, (batch..., n, n), and the logarithm of its absolute value, as numpy.linalg.slogdet:
    a named tuple (sign, logabsdet), 0 and -inf for singular matrices. Of complex matrices the sign has the absolute value 1. threads,
    promote: as in lu_factor. Raises numpy.linalg.LinAlgError for matrices that are not square."""
    threads = whole("threads", threads)
    kind, x, dtype = matrices(a, promote)
    if kind.device(x) is not None:
        factors = lu_factor(x, threads=threads)
        return SlogdetResult(*(kind.finish(one, a) for one in _gpu_systems.sign_and_log(kind, factors._lu, factors._pivots)))
    calls[0] += 1
    sign = kind.empty(x.shape[:-2], dtype, x)
    log = kind.empty(x.shape[:-2], REAL[dtype], x)
    for piece, factors in copied_pieces(kind, x, dtype, threads):
        _core.slogdet(kind.operand(factors), kind.address(sign[piece]), kind.address(log[piece]), threads)
    return SlogdetResult(*(scalar(kind, kind.finish(one, a)) for one in (sign, log)))


def cholesky(a, *, upper=False, threads=0, promote=False):
    """L with A = L L^H for each matrix of a, (batch..., n, n), or U with A = U^H U if `upper`, as numpy.linalg.cholesky: a new array by rows
    with zeros in its other triangle; the other triangle of a is not read. threads, promote: as in lu_factor. Raises
    numpy.linalg.LinAlgError for matrices that are not square or not positive definite; on a GPU, where nothing waits, the factor of
    such a matrix is NaN. Raises NotImplementedError for matrices on a GPU that are too large."""
    upper, threads = flag("upper", upper), whole("threads", threads)
    kind, x, dtype = matrices(a, promote)
    calls[0] += 1
    if kind.device(x) is not None:
        return kind.finish(_gpu_systems.cholesky(kind, x, upper, threads), a)
    factor = kind.empty(x.shape, dtype, x)
    found = run(_core.potrf, kind, x, kind.operand(factor), upper, threads)
    if found is not None:
        at = index(found[0], x.shape[:-2])
        raise numpy.linalg.LinAlgError(f"Matrix is not positive definite: the leading minor of order {found[1]} of a{at or ''} is not positive")
    return kind.finish(factor, a)
