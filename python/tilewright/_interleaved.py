"""Interleaved batches, in which equal elements of the matrices of a block are neighbours (Dongarra 2017, section 4): what
reads and writes them at full width however small the matrices are."""

import numpy

from . import _core
from ._arrays import alike, kind_of
from ._checks import factors, type_error, whole
from ._checks import stream as checked_stream
from ._matmul import check_writable, own_dtype
from ._product import make_options


class Interleaved:
    """`count` matrices of (rows, cols) in blocks of `block`; `data` is the vector that holds them, an array of the maker
    whose arrays were converted. Element (i, j) of matrix p lies at data[(p // block) * block * rows * cols +
    (i * cols + j) * block + p % block]. The last block is whole; what no matrix takes of it is padding."""

    def __init__(self, data, rows, cols, block, count, dtype, kind):
        self.data, self.rows, self.cols, self.block, self.count = data, rows, cols, block, count
        self.dtype, self._kind = dtype, kind

    @property
    def shape(self):
        return self.count, self.rows, self.cols

    def __repr__(self):
        return f"<tilewright.Interleaved {self.shape} {self.dtype}, blocks of {self.block}>"

    def deinterleave(self, out=None, *, threads=0):
        """The matrices as an array (count, rows, cols) by rows: new, or `out`, packed by rows."""
        kind, threads = self._kind, whole("threads", threads, 0)
        if out is None:
            out = kind.empty(self.shape, self.dtype, self.data)
            view = out
        else:
            view = self._checked_out(out)
        _core.convert_interleaved(kind.operand(view), kind.operand(self.data), self.block, False, threads, kind.stream(view))
        return out

    def _checked_out(self, out):
        kind = kind_of(out, "out")
        if not alike(kind, self._kind):
            raise TypeError(f"out is an array of {kind.name} and the batch of {self._kind.name}: convert one of them")
        out = kind.adopt_out(out)
        if tuple(out.shape) != self.shape or kind.dtype(out) != self.dtype or not _by_rows(kind, out):
            raise ValueError(f"out must be an array {self.shape} of {self.dtype} whose rows are packed")
        if kind.device(out) != kind.device(self.data):
            raise ValueError("out and the batch do not lie in the memory of one device")
        check_writable(kind, out)
        return out


def _check_interleaved(name, x, kind):
    if not isinstance(x, Interleaved):
        raise type_error(name, x, "an Interleaved, as interleave makes them")
    if kind is not None and not alike(x._kind, kind):
        raise TypeError(f"{name} is a batch of {x._kind.name} and a of {kind.name}: convert one of them")


def _overlap(kind, x, y):
    """Whether two vectors of elements share memory."""
    (first, end), (other, other_end) = (
        (kind.address(one), kind.address(one) + one.shape[0] * numpy.dtype(kind.dtype(one)).itemsize) for one in (x, y))
    return first < other_end and other < end


def _by_rows(kind, x):
    if 0 in x.shape:
        return True
    size = {"float32": 4, "float64": 8, "complex64": 8, "complex128": 16}[kind.dtype(x)]
    unit = 1 if kind.name == "torch" else size
    strides = [stride // unit for stride in kind.strides(x)]
    packed = (x.shape[2] <= 1 or strides[2] == 1) and (x.shape[1] <= 1 or strides[1] >= max(x.shape[2], 1))
    return packed and (x.shape[0] <= 1 or strides[0] >= x.shape[1] * max(strides[1], x.shape[2]) or strides[0] == 0)


def interleave(a, block=None, *, threads=0):
    """Copies a (count, rows, cols) into blocks of `block` matrices; None takes what kernels like best on this machine, and
    "whole" one block of all. Returns an Interleaved, on a GPU of work that is queued. Raises ValueError for other shapes."""
    kind, threads = kind_of(a, "a"), whole("threads", threads, 0)
    a = kind.adopt(a, "a")
    if len(a.shape) != 3:
        raise ValueError(f"a has the shape {tuple(a.shape)}, and a batch has three dimensions: (count, rows, cols)")
    dtype = own_dtype("a", kind.dtype(a), False, promotable=False)
    count, rows, cols = a.shape
    if block is None:
        block = _core.recommended_block(dtype)
    elif block == "whole":
        block = max(count, 1)
    block = whole("block", block, most=2 ** 62)
    if block < 1:
        raise ValueError(f"block = {block} but a block holds at least one matrix")
    if block * max(rows, 1) * max(cols, 1) >= 2 ** 59:
        raise ValueError(f"block = {block} of {rows} x {cols} matrices is more than any memory holds")
    if getattr(a, "is_conj", bool)() or not _by_rows(kind, a):
        a = kind.packed(a, False)
    data = kind.empty((_core.interleaved_elements(rows, cols, block, count),), dtype, a)
    _core.convert_interleaved(kind.operand(a), kind.operand(data), block, True, threads, kind.stream(a))
    return Interleaved(data, rows, cols, block, count, dtype, kind)


def matmul_interleaved(a, b, out=None, *, alpha=1, beta=0, stream=None, **options):
    """The products of two Interleaved batches of one block and count, as an Interleaved: new, or `out`, which shares no memory with a
    or b. alpha, beta, stream and options are those of matmul; there is nothing that transposes, conjugates or promotes."""
    for name, one in (("a", a), ("b", b)):
        _check_interleaved(name, one, a._kind if isinstance(a, Interleaved) else None)
    for name, other in (("block", b.block), ("count", b.count), ("dtype", b.dtype)):
        if getattr(a, name) != other:
            raise ValueError(f"the {name} of a is {getattr(a, name)} and that of b {other}")
    if a.cols != b.rows:
        raise ValueError(f"a {a.shape} and b {b.shape} do not fit: a row of a has {a.cols} elements and a column of b {b.rows}")
    kind = a._kind
    alpha, beta = factors(alpha, beta, a.dtype, out is not None)
    stream = checked_stream(stream, kind.device(a.data) is not None)
    if out is not None:
        _check_interleaved("out", out, kind)
        check_writable(kind, out.data)
        for name, one in (("a", a), ("b", b)):
            if _overlap(kind, out.data, one.data):
                raise ValueError(f"out must not share memory with {name}: elements of {name} would be lost before they are read")
    if out is None:
        with kind.on(stream, a.data):
            data = kind.empty((_core.interleaved_elements(a.rows, b.cols, a.block, a.count),), a.dtype, a.data)
        out = Interleaved(data, a.rows, b.cols, a.block, a.count, a.dtype, kind)
    elif (out.shape, out.block, out.dtype) != ((a.count, a.rows, b.cols), a.block, a.dtype):
        raise ValueError(f"out is {out!r}, but the products are {(a.count, a.rows, b.cols)} of {a.dtype} in blocks of {a.block}")
    _core.multiply_interleaved(kind.operand(a.data), kind.operand(b.data), kind.operand(out.data), a.rows, b.cols, a.cols,
                               a.block, a.count, alpha, beta, make_options(options),
                               kind.stream(out.data) if stream is None else stream)
    return out
