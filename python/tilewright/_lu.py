"""LU factorization with partial pivoting and what it serves, for matrices and batches of them, in host memory or on a GPU."""

import itertools
import math

import numpy

from . import _core, _gpu_systems, _html
from ._arrays import alike, kind_of
from ._checks import flag, text, unknown_option, whole
from ._matmul import check_places, own_dtype

OPTIONS = ("target", "threads", "candidate", "nb")  # options of lu_factor
calls = [0]  # number of factorizations, which record() does not see
# A stack is one call if its matrices are small or many: fewer large ones fill the machine by themselves.
SMALL_ROWS, MANY, MOST_ROWS = 128, 32, 1024


# A GPU that has a block of threads for each matrix needs many to be full: where their number times this is less than the
# elements of one, they are computed one by one. Estimated, not measured: about 6 of 512 x 512, 24 of 1024 x 1024.
GPU_ELEMENTS = 44_000


def in_one_call(shape, target, candidate="", nb=0, device=None):
    """True if matrices of this shape are computed side by side; False if each is a call of its own, with all options. `device` is the
    GPU that they lie on."""
    if candidate or nb or target not in ("auto", "cpu" if device is None else "gpu"):
        return False
    rows = max(shape[-2:])
    if device is not None:
        return rows * rows <= GPU_ELEMENTS * max(1, math.prod(shape[:-2]))
    return rows <= SMALL_ROWS or (rows <= MOST_ROWS and math.prod(shape[:-2]) >= MANY)


def _columns(kind, x, dtype, batch=None):
    """A copy of x, (batch..., m, n), whose columns lie one after the other; with leading dimensions `batch` it is repeated to these."""
    shape = tuple(x.shape) if batch is None else (*batch, *x.shape[-2:])
    room = kind.swapped(kind.empty((*shape[:-2], shape[-1], shape[-2]), dtype, x))
    kind.assign(room, x)
    return room


def copied(kind, x, dtype, batch=None):
    """A copy of x by rows; with leading dimensions `batch` it is repeated to these."""
    room = kind.empty(x.shape if batch is None else (*batch, *x.shape[-2:]), dtype, x)
    kind.assign(room, x)
    return room


def by_rows(kind, x):
    """x by rows, copied where it lies otherwise."""
    return kind.packed(x, False) if min(x.shape[-2:], default=0) > 1 else x


def _each(batch):
    return itertools.product(*map(range, batch))


def _own(at, batch):
    """The index of what is broadcast to `at` from leading dimensions `batch`."""
    return tuple(0 if size == 1 else i for i, size in zip(at[len(at) - len(batch):], batch))


def check_options(options):
    for name in options:
        if name not in OPTIONS:
            raise unknown_option(name, OPTIONS, ("promote",))


def adopt(x, name, promote, least):
    kind = kind_of(x, name)
    x = kind.adopt(x, name)
    if len(x.shape) < least:
        raise numpy.linalg.LinAlgError(f"{name} has the shape {tuple(x.shape)}, but at least {least} dimensions are needed")
    if not hasattr(kind, "address"):
        raise TypeError(f"{name} is not an array that LU supports (expected a NumPy, PyTorch or CuPy array)")
    own = kind.dtype(x)
    dtype = own_dtype(name, own, promote)
    return kind, (kind.cast(x, dtype) if own != dtype else x), dtype


def square(x):
    """The order of adopted square matrices."""
    shape = x.shape
    if shape[-1] != shape[-2]:
        raise numpy.linalg.LinAlgError(f"Last 2 dimensions of the array must be square, but a has the shape {tuple(shape)}")
    return shape[-1]


def singular(at, info):
    return numpy.linalg.LinAlgError(f"Singular matrix: the U of a{list(at) if at else ''} has an exact zero on its diagonal, in row {info}")


def right_side(kind, shape, dtype, b):
    """(b as (batch..., n, nrhs), True if it was a vector, leading dimensions of the solution) for matrices of `shape` and `dtype`."""
    own = kind_of(b, "b")
    if not alike(own, kind):
        raise TypeError(f"b is an array of {own.name}, but a is of {kind.name}: convert one of them")
    b = own.adopt(b, "b")
    vector = len(b.shape) == 1
    right = b[:, None] if vector else b
    if own.dtype(b) != dtype:
        raise TypeError(f"b has the element type {own.dtype(b)}, but a has {dtype}")
    if len(b.shape) == 0 or right.shape[-2] != shape[-2]:
        raise ValueError(f"b has the shape {tuple(b.shape)}, which does not fit a {tuple(shape)}: it must have as many rows")
    batch, other = tuple(shape[:-2]), tuple(right.shape[:-2])
    try:
        every = batch if batch == other or not other else numpy.broadcast_shapes(batch, other)
    except ValueError:
        raise ValueError(f"b has the shape {tuple(b.shape)}, which does not fit a {tuple(shape)}: their leading dimensions "
                         "do not broadcast to each other") from None
    return right, vector, every


class LU:
    """P A = L U. `lu` holds L below the diagonal (its own is 1) and U, `pivots` (int64, from 0) which row each row was
    swapped with, in order; both are arrays of A's maker with A's leading dimensions. `info` is 0, or the first exact zero of
    U's diagonal counted from 1, for each matrix; on a GPU, looking at it waits for the work. `report` says who
    computed. Unpacks as (lu, pivots), as scipy.linalg.lu_solve takes them."""

    def __init__(self, kind, dtype, lu, pivots, info, report, target, threads, like):
        self._kind, self._dtype, self._lu, self._pivots = kind, dtype, lu, pivots
        self.lu, self.pivots = kind.finish(lu, like), kind.finish(_gpu_systems.as_type(kind, pivots, "int64") - 1, like)
        self._info, self.report = info, report
        self._target, self._threads = target, threads

    def __repr__(self):
        who = [self.report[key] for key in ("candidate", "routine") if key in (self.report or {})]
        by = f", by {who[0]}" if who else ""
        singular = ", singular" if isinstance(self._info, (int, numpy.ndarray)) and numpy.any(self._info) else ""
        return f"<tilewright.LU {tuple(self.lu.shape)} {self._dtype}{by}{singular}>"

    def _repr_html_(self):
        facts = {"shape": tuple(self.lu.shape), "element type": self._dtype}
        if isinstance(self._info, (int, numpy.ndarray)):  # on a GPU, looking would wait
            facts["info"] = self._info
        return _html.table(("P A = L U", ""), {**facts, **(self.report or {})}.items())

    def __reduce__(self):
        return _restored, (self._dtype, self.lu, self.pivots, self._info, self.report, self._target, self._threads)

    def __iter__(self):
        return iter((self.lu, self.pivots))

    @property
    def info(self):
        return self._info if isinstance(self._info, (int, numpy.ndarray)) else self._info.tolist()

    def _check_regular(self):
        info = numpy.asarray(self._info) if self._kind.device(self._lu) is None else numpy.zeros(())
        if info.any():
            at = numpy.unravel_index(info.ravel().nonzero()[0][0], info.shape)
            raise singular([int(i) for i in at], info[at])

    def solve(self, b, *, transpose=False, conjugate=False):
        """X with op(A) X = B. b: (n,), or (batch..., n, nrhs), whose leading dimensions and A's broadcast to each other; of A's
        element type and maker. Returns a new array by rows, (batch..., n) for a vector b. Raises numpy.linalg.LinAlgError for a singular A in
        host memory; on a GPU, where nobody has looked, X then has infinities or NaN."""
        kind, lu = self._kind, self._lu
        transpose, conjugate = flag("transpose", transpose), flag("conjugate", conjugate)
        if conjugate and not transpose:
            raise ValueError("conjugate = True needs transpose = True: systems are solved with A, its transpose, or its conjugate transpose")
        n = square(lu)
        right, vector, every = right_side(kind, lu.shape, self._dtype, b)
        check_places("b", kind.device(right), kind.device(lu))
        if 0 not in every:  # otherwise no matrix takes part
            self._check_regular()
        op = ("c" if conjugate else "t") if transpose else "n"
        if kind.device(lu) is not None:
            x = self._solve_on_device(op, right, every, n)
        elif len(lu.shape) > 2 and in_one_call(lu.shape, self._target):
            x = self._solve_stack(op, right, every)
        else:
            x = by_rows(kind, self._solve_each(op, right, every))
        return kind.finish(x[..., 0] if vector else x, self.lu)

    def _solve_stack(self, op, right, every):
        kind, lu, pivots = self._kind, self._lu, self._pivots
        x = copied(kind, right, self._dtype, every)
        if _core.getrs(kind.operand(lu), kind.operand(x), op, kind.address(pivots), self._threads) is False:
            lu, wide = copied(kind, lu, self._dtype, every), kind.empty((*every, pivots.shape[-1]), "int64", lu)
            kind.assign(wide, pivots)
            _core.getrs(kind.operand(lu), kind.operand(x), op, kind.address(wide), self._threads)
        return x

    def _solve_each(self, op, right, every):
        kind, n, batch = self._kind, self._lu.shape[-1], tuple(self._lu.shape[:-2])
        x = _columns(kind, right, self._dtype, every)
        if batch:
            systems = ((x[at], _own(at, batch)) for at in _each(every))
        else:  # the columns of all right sides are those of one
            systems = ((kind.swapped(kind.swapped(x).reshape((-1, n))), ()),) if n and 0 not in x.shape else ()
        for columns, of_a in systems:
            _core.lu_solve(op, kind.operand(self._lu[of_a]), kind.address(self._pivots[of_a]), kind.operand(columns), self._target,
                           self._threads)
        return x

    def _solve_on_device(self, op, right, every, n):
        kind, lu = self._kind, self._lu
        if every and in_one_call((*every, n, n), self._target, device=kind.device(lu)):
            x = copied(kind, right, self._dtype, every)
            if _gpu_systems.serves(_gpu_systems.solve_by_factors, kind, op, lu, self._pivots, x, self._threads):
                return x
        x = _columns(kind, right, self._dtype, every)
        pivots, batch = _gpu_systems.as_type(kind, self._pivots, "int64"), tuple(lu.shape[:-2])
        plan = _core.plan_lu_solve(self._dtype, n, max(n, 1), op, x.shape[-1], max(n, 1), kind.device(x))
        workspace = kind.empty((max(plan.workspace_bytes, 256),), "uint8", x)
        self._plans = getattr(self, "_plans", []) + [plan, workspace]
        for at in _each(every):
            of_a = _own(at, batch)
            plan.solve(self._dtype, kind.address(lu[of_a]), kind.address(pivots[of_a]), kind.address(x[at]), kind.address(workspace),
                       kind.stream(x))
        return by_rows(kind, x)

    def inverse(self):
        """The inverse of A, a new array. Raises numpy.linalg.LinAlgError where A is singular, but on a GPU, where the inverse then is NaN;
        NotImplementedError for matrices on a GPU that are too large."""
        kind = self._kind
        square(self._lu)
        self._check_regular()
        if kind.device(self._lu) is not None:
            with _gpu_systems.instead("solve with the identity computes their inverses"):
                inverse = _gpu_systems.inverted(kind, copied(kind, self._lu, self._dtype), self._pivots, self._threads)
            return kind.finish(inverse, self.lu)
        if len(self._lu.shape) > 2 and in_one_call(self._lu.shape, self._target):
            inverse = copied(kind, self._lu, self._dtype)
            _core.getri(kind.operand(inverse), kind.address(self._pivots), self._threads)
            return kind.finish(inverse, self.lu)
        inverse = _columns(kind, self._lu, self._dtype)
        for at in _each(inverse.shape[:-2]):
            _core.lu_inverse(kind.operand(inverse[at]), kind.address(self._pivots[at]), self._target, self._threads)
        return kind.finish(by_rows(kind, inverse), self.lu)


def _restored(dtype, lu, pivots, *others):
    """The LU that was pickled: its maker need not have kept how its elements lie."""
    kind = kind_of(lu, "lu")
    x, swaps = kind.adopt(lu, "lu"), kind.adopt(pivots, "pivots")
    return LU(kind, dtype, _columns(kind, x, dtype), swaps + 1, *others, like=lu)


def lu_factor(a, *, target="auto", threads=0, candidate="", nb=0, promote=False):
    """Factors P A = L U with partial pivoting (LAPACK xGETRF).

    a: (batch..., m, n), which stays as it is. target: who computes, auto, cpu, gpu or hybrid; threads: 0 for all; candidate, nb:
    as in tilewright/lu.hpp. Returns an LU. A stack of small or of many matrices in host memory is
    one call, unless target, candidate or nb say more; so is a stack on a GPU that a kernel serves. Work on a GPU is queued on the
    current stream; other matrices there follow one another. Raises ValueError for less than two dimensions, TypeError for other
    element types (promote=True converts).
    """
    like = a
    calls[0] += 1
    kind, a, dtype = adopt(a, "a", flag("promote", promote), 2)
    threads, nb, candidate = whole("threads", threads), whole("nb", nb), text("candidate", candidate)
    target = text("target", target)
    batch, (m, n) = tuple(a.shape[:-2]), tuple(a.shape[-2:])
    if kind.device(a) is not None:
        one_call = batch and in_one_call(a.shape, target, candidate, nb, kind.device(a))
        return _factor_on_device(kind, dtype, _columns(kind, a, dtype), one_call, target, threads, like)
    pivots = kind.empty((*batch, min(m, n)), "int64", a)
    info = numpy.zeros(batch, numpy.int64)
    report = None
    if batch and in_one_call(a.shape, target, candidate, nb):
        lu, report = copied(kind, a, dtype), {"routine": "getrf_batched"}
        _core.getrf(kind.operand(lu), kind.address(pivots), threads, info.__array_interface__["data"][0])
        return LU(kind, dtype, lu, pivots, info, report, target, threads, like)
    lu = _columns(kind, a, dtype)
    for at in _each(batch):
        report = _core.lu_factor(kind.operand(lu[at]), kind.address(pivots[at]), target, threads, candidate, nb)
        info[at] = report["info"]
    return LU(kind, dtype, lu, pivots, info if batch else int(info), report, target, threads, like)


def _factor_on_device(kind, dtype, lu, one_call, target, threads, like):
    m, n = lu.shape[-2:]
    batch = tuple(lu.shape[:-2])
    if one_call or min(m, n) == 0:  # plans of matrices without elements write no info
        pivots, info = kind.empty((*batch, min(m, n)), "int32", lu), _gpu_systems.infos_of(kind, lu)
        if _gpu_systems.serves(_gpu_systems.factor, kind, lu, pivots, info, threads):
            return LU(kind, dtype, lu, pivots, info, {"routine": "getrf_batched"}, target, threads, like)
    pivots = kind.empty((*batch, min(m, n)), "int64", lu)
    plan = _core.plan_lu(dtype, m, n, max(m, 1), kind.device(lu))
    workspace = kind.empty((max(plan.workspace_bytes, 256),), "uint8", lu)
    info = kind.empty(batch or (1,), "int64", lu)
    for at in _each(batch):
        plan.factor(kind.address(lu[at]), kind.address(pivots[at]), kind.address(info[at] if batch else info),
                    kind.address(workspace), kind.stream(lu))
    result = LU(kind, dtype, lu, pivots, info, {"plan": plan.explain()}, target, threads, like)
    result._plans = [plan, workspace]  # queued work may still use the array
    return result
