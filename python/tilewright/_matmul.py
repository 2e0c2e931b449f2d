"""matmul for every kind of array and every option; two plain NumPy arrays go the short way of `_core`."""

import numpy

from . import _core
from ._arrays import DTYPES, kind_of
from ._checks import factors, flag
from ._checks import stream as checked_stream
from ._product import _product


def common_dtype(first, second, promote):
    """The element type of a product, or TypeError with what to do about it."""
    if first == second and first in DTYPES:
        return first
    if first == second:
        return own_dtype("a and b", first, promote)
    asked = f"the element types of a and b differ: {first} and {second}"
    if not promote:
        raise TypeError(f"{asked} (use one of {', '.join(DTYPES)} for both, or promote=True)")
    try:
        joined = numpy.result_type(first, second)
    except TypeError:
        raise TypeError(f"{asked}, and they have no common type") from None
    served = _served(joined)
    if served is None:
        raise TypeError(f"{asked}, and their common type {joined.name} is not one of {', '.join(DTYPES)}")
    return served


def _served(dtype):
    """The name of the element type to which promote=True converts a NumPy type, or None."""
    if dtype.kind in "biu":
        return "float64"
    name = "float32" if dtype.name == "float16" else dtype.name
    return name if name in DTYPES else None


def own_dtype(name, dtype, promote, promotable=True):
    """The element type to compute in of an operand that meets no other, or TypeError with what to do about it."""
    if dtype in DTYPES:
        return dtype
    if promote:
        try:
            served = _served(numpy.dtype(dtype))
        except TypeError:
            served = None
        if served is None:
            raise TypeError(f"element type {dtype} of {name} is not converted to one of {', '.join(DTYPES)}")
        return served
    instead = ", or promote=True" if promotable else ""
    raise TypeError(f"element type {dtype} of {name} is not supported (use {', '.join(DTYPES[:-1])} or {DTYPES[-1]}{instead})")


def _batch_shape(a, b):
    """The leading dimensions of the result, a's and b's broadcast to each other."""
    longer, shorter = (a, b) if len(a) >= len(b) else (b, a)
    shape = list(longer)
    offset = len(longer) - len(shorter)
    for i, size in enumerate(shorter):
        there = longer[offset + i]
        if size != there and size != 1 and there != 1:
            raise ValueError(f"the leading dimensions of a and b, {tuple(a)} and {tuple(b)}, do not broadcast: {there} and "
                             f"{size} differ and neither is 1")
        shape[offset + i] = there if size == 1 else size
    return tuple(shape)


def check_places(name, place, other):
    def text(device):
        return "host memory" if device is None else f"GPU {device}"

    if place != other:
        raise ValueError(f"a is in {text(other)}, but {name} is in {text(place)}: copy one of them")


def check_writable(kind, out):
    """Checks that each element of an adopted `out` can be written to and is distinct."""
    if kind.name in ("numpy", "dlpack") and not out.flags.writeable:
        why = ": NumPy treats arrays by DLPack as read-only if their capsule says so or is older than version 1.0" if kind.name == "dlpack" else ""
        raise ValueError("out is read-only" + why)
    if _core.repeats(kind.operand(out)):
        raise ValueError(f"elements of out overlap (shape {tuple(out.shape)}, strides {tuple(kind.strides(out))})")


class Operands:
    """a and b as matrices in batches, with the shape of their product."""

    def __init__(self, a, b, transpose_a, transpose_b, promote):
        transpose_a, transpose_b = flag("transpose_a", transpose_a), flag("transpose_b", transpose_b)
        promote = flag("promote", promote)
        self.kind_a, self.kind_b = kind_of(a, "a"), kind_of(b, "b")
        self.like = a
        a, b = self.kind_a.adopt(a, "a"), self.kind_b.adopt(b, "b")
        check_places("b", self.kind_b.device(b), self.kind_a.device(a))
        for name, x in (("a", a), ("b", b)):
            if len(x.shape) == 0:
                raise ValueError(f"{name} has no dimensions: products take vectors, matrices and batches of matrices")
        first, second = self.kind_a.dtype(a), self.kind_b.dtype(b)
        self.dtype = common_dtype(first, second, promote)
        if first != self.dtype:
            a = self.kind_a.cast(a, self.dtype)
        if second != self.dtype:
            b = self.kind_b.cast(b, self.dtype)
        self.row, self.column = len(a.shape) == 1, len(b.shape) == 1
        self.a = self._matrix(self.kind_a, a, 0, transpose_a)
        self.b = self._matrix(self.kind_b, b, 1, transpose_b)
        m, k = self.a.shape[-2:]
        rows, n = self.b.shape[-2:]
        if k != rows:
            raise ValueError(f"a {tuple(a.shape)} and b {tuple(b.shape)} do not fit: a row of op(a) has {k} elements and a "
                             f"column of op(b) {rows}")
        self.full_shape = (*_batch_shape(self.a.shape[:-2], self.b.shape[:-2]), m, n)
        self.shape = self.full_shape[:-2] + (() if self.row else (m,)) + (() if self.column else (n,))

    @staticmethod
    def _matrix(kind, x, axis, transpose):
        if len(x.shape) == 1:
            return kind.with_axis(x, axis)
        return kind.swapped(x) if transpose else x

    def checked_call(self, alpha, beta, has_out, stream):
        """(alpha, beta, stream) as the library takes them."""
        alpha, beta = factors(alpha, beta, self.dtype, has_out)
        return alpha, beta, checked_stream(stream, self.kind_a.device(self.a) is not None)

    def checked_out(self, out, kind):
        out = kind.adopt_out(out)
        if tuple(out.shape) != self.shape:
            raise ValueError(f"out has the shape {tuple(out.shape)}, but the product has {self.shape}")
        if kind.dtype(out) != self.dtype:
            raise TypeError(f"out has the element type {kind.dtype(out)}, but the product has {self.dtype}")
        check_places("out", kind.device(out), self.kind_a.device(self.a))
        check_writable(kind, out)
        return out

    def as_matrices(self, kind, out):
        """A view of the result with the dimensions that vectors took from it."""
        if self.row:
            out = kind.with_axis(out, len(out.shape) - (0 if self.column else 1))
        if self.column:
            out = kind.with_axis(out, len(out.shape))
        return out


def matmul(a, b, out=None, *, alpha=1, beta=0, transpose_a=False, transpose_b=False, conjugate_a=False, conjugate_b=False,
           promote=False, stream=None, **options):
    """out = alpha op(a) op(b) + beta out, with the shapes of numpy.matmul.

    a, b: arrays of one maker, element type and device: NumPy arrays (and what numpy.asarray takes), PyTorch tensors, CuPy
        arrays, or others by DLPack or __cuda_array_interface__. Shapes are (batch..., m, k) and (batch..., k, n), whose leading
        dimensions broadcast to each other; a vector is one row of a, or one column of b, and the result has no such
        dimension. float32, float64, complex64 and complex128.
    out: where the result goes, (batch..., m, n), of the same type and device; it may share memory with a or b, which costs
        a copy; no two of its elements may share any. None: a new array of a's maker, by rows.
    alpha, beta: factors; beta other than 0 needs an out. With beta = 0 out is not read.
    transpose_a, transpose_b, conjugate_a, conjugate_b: op, of the last two dimensions.
    promote: True converts operands to the type that NumPy would compute in (integers: float64).
    stream: the address of a CUstream (cudaStream_t), for arrays on a GPU; None: their maker's current one. Work is queued
        and nothing waits.
    target: "auto", "cpu", "gpu", "hybrid": who multiplies single matrices of host memory.
    objective: "time", "energy", "edp", "alpha=0.7", "energy_within=5%": what the call should cost least.
    threads: on the CPU; 0: OpenMP's default.
    checked, residency, arrival, candidate, config, gpus, gpu_memory_bytes, split, cpu_share, on_device_failure, tune_on_miss_s: as
        GemmOptions of tilewright/options.hpp has them.
    learn: True: repeated calls try the best configs in turn and stay with the fastest, which wisdom keeps; False: they do
        not; None: as TILEWRIGHT_LEARN says.

    Rows or columns that are neighbours, in batches with any strides that do not go backwards, are multiplied where they lie;
    other operands are copied first. The lock of Python is given up while products of more than some microseconds run.
    Returns out, or the new array. Raises ValueError for shapes that do not fit, bad options, arrays of two devices and an out
    that is read-only; TypeError for element types; MemoryError; NotImplementedError for what nothing serves. out is
    untouched then.
    """
    operands = Operands(a, b, transpose_a, transpose_b, promote)
    alpha, beta, stream = operands.checked_call(alpha, beta, out is not None, stream)
    conjugate_a, conjugate_b = flag("conjugate_a", conjugate_a), flag("conjugate_b", conjugate_b)
    if out is None:
        kind = operands.kind_a
        with kind.on(stream, operands.a):
            result = kind.empty(operands.shape, operands.dtype, operands.a)
    else:
        kind = kind_of(out, "out")
        result = operands.checked_out(out, kind)
    view = operands.as_matrices(kind, result)
    _product(operands.a, operands.b, view, alpha, beta, conj_a=conjugate_a, conj_b=conjugate_b, stream=stream, **options)
    if out is not None:
        return out
    return kind.finish(result, operands.like)
