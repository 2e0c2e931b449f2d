"""Stacks of matrices on a GPU: each function is one call of the library, queued on the current stream of the stack's maker, and waits
for nothing. A matrix without result, whose info is on the GPU, becomes NaN."""

import contextlib

from . import _core
from ._arrays import resolved
from ._cuda import load_libraries


@contextlib.contextmanager
def instead(what):
    """Adds to the library's reason, why it does not compute a stack, what does."""
    try:
        yield
    except NotImplementedError as error:
        raise NotImplementedError(f"{error} ({what})") from None


def queue(call, kind, a, *others, threads, info=None):
    """Queues call(a, others); a is packed first where it lies as no launch can read it. Raises NotImplementedError where no kernel
    serves, before anything is queued."""
    load_libraries()
    where = {"threads": threads, "info": 0 if info is None else kind.address(info), "stream": kind.stream(a)}
    a = resolved(kind, a)
    if call(kind.operand(a), *others, **where) is False and call(kind.operand(kind.packed(a, False)), *others, **where) is False:
        raise RuntimeError(f"internal error: a packed stack of the shape {tuple(a.shape)} has several levels")


def serves(call, *arguments):
    """Makes a call that writes to its arguments; False if no kernel serves them, which are then as they were."""
    try:
        call(*arguments)
    except NotImplementedError:
        return False
    return True


def as_type(kind, x, dtype):
    return x if kind.dtype(x) == dtype else kind.cast(x, dtype)


def infos_of(kind, x):
    return kind.empty(tuple(x.shape[:-2]), "int32", x)


def solve(kind, a, right, threads):
    """Overwrites new right sides, (batch..., n, nrhs), by the solutions."""
    info = infos_of(kind, right)
    queue(_core.gesv, kind, a, kind.operand(right), threads=threads, info=info)
    kind.spoil(right, info)


def inverses(kind, a, dtype, threads):
    inverse, info = kind.empty(tuple(a.shape), dtype, a), infos_of(kind, a)
    queue(_core.inv, kind, a, kind.operand(inverse), threads=threads, info=info)
    kind.spoil(inverse, info)
    return inverse


def determinants(kind, a, dtype, threads):
    made = kind.empty(tuple(a.shape[:-2]), dtype, a)
    queue(_core.det, kind, a, kind.operand(made), threads=threads)
    return made


def factor(kind, lu, pivots, info, threads):
    """Overwrites a new stack by its factors; pivots and infos have 32 bits and count from 1."""
    queue(_core.getrf, kind, lu, kind.address(pivots), threads=threads, info=info)


def solve_by_factors(kind, op, lu, pivots, right, threads):
    """Overwrites new right sides by the solutions with factors that are broadcast to them."""
    every, steps = tuple(right.shape[:-2]), pivots.shape[-1]
    own = as_type(kind, pivots, "int32")
    if tuple(lu.shape[:-2]) != every:
        own, narrow = kind.empty((*every, steps), "int32", right), own
        kind.assign(own, narrow)
    if lu.shape[:-2] and tuple(lu.shape[:-2]) != every:
        lu, narrow = kind.empty((*every, *lu.shape[-2:]), kind.dtype(lu), right), lu
        kind.assign(lu, narrow)
    queue(_core.getrs, kind, lu, kind.operand(right), op, kind.address(own), threads=threads)


def inverted(kind, inverse, pivots, threads):
    """Overwrites new factors by the inverse."""
    swaps, info = as_type(kind, pivots, "int32"), infos_of(kind, inverse)
    queue(_core.getri, kind, inverse, kind.address(swaps), threads=threads, info=info)
    kind.spoil(inverse, info)
    return inverse


def cholesky(kind, a, upper, threads):
    factor = kind.triangle(a, upper)
    info = infos_of(kind, factor)
    queue(_core.potrf, kind, factor, kind.operand(factor), upper, threads=threads, info=info)
    kind.spoil(factor, info)
    return factor


def sign_and_log(kind, lu, pivots):
    """The sign of the determinant and the logarithm of its absolute value, from the diagonal of U and the exchanges of rows."""
    its = kind.library
    with kind.on(kind.stream(lu), lu):
        diagonal = its.diagonal(lu, 0, -2, -1)
        size = abs(diagonal)
        units = its.where(size == 0, its.zeros_like(diagonal), diagonal / size)
        rows = its.cumsum(its.ones_like(pivots), -1)
        odd = its.sum(pivots != rows, -1) % 2
        return its.prod(units, -1) * kind.cast(1 - 2 * odd, kind.dtype(lu)), its.sum(its.log(size), -1)
