"""Interleaved batches, in which equal elements of the matrices of a block are neighbours (Dongarra 2017, section 4): what
reads and writes them at full width however small the matrices are."""

import numpy

from . import _core, _html
from ._arrays import alike, conjugated, kind_of, resolved
from ._checks import factors, type_error, whole
from ._checks import stream as checked_stream
from ._matmul import check_writable, own_dtype
from ._product import make_options


class Interleaved:
    """`count` matrices of (rows, cols) in blocks of `block`; `data` is the vector that holds them, an array of the maker
    whose arrays were converted. Element (i, j) of matrix p lies at data[(p // block) * block * rows * cols +
    (i * cols + j) * block + p % block]. The last block is whole; what no matrix takes of it is padding."""

    def __init__(self, data, rows, cols, block, count, dtype):
        self.data, self.rows, self.cols, self.block, self.count = data, rows, cols, block, count
        self.dtype = dtype

    @property
    def shape(self):
        return self.count, self.rows, self.cols

    def __repr__(self):
        return f"<tilewright.Interleaved {self.shape} {self.dtype}, blocks of {self.block}>"

    def _repr_html_(self):
        facts = {"matrices": self.count, "rows": self.rows, "columns": self.cols, "element type": self.dtype, "block": self.block}
        return _html.table(("interleaved batch", ""), facts.items())

    def deinterleave(self, out=None, *, threads=0):
        """The matrices as an array (count, rows, cols): new, by rows, or `out`; one whose rows are not packed costs a copy."""
        (kind, data), threads = _vector("the batch", self), whole("threads", threads, 0)
        view = None if out is None else self._checked_out(out, kind, data)
        packed = view is not None and _by_rows(kind, view)
        made = view if packed else kind.empty(self.shape, self.dtype, data)
        _core.convert_interleaved(kind.operand(made), kind.operand(data), self.block, False, threads, kind.stream(made))
        if out is None:
            return kind.finish(made, self.data)
        if not packed:
            kind.assign(view, made)
        return out

    def _checked_out(self, out, own, data):
        kind = kind_of(out, "out")
        if not alike(kind, own):
            raise TypeError(f"out is an array of {kind.name}, but the batch is of {own.name}: convert one of them")
        out = kind.adopt_out(out)
        if tuple(out.shape) != self.shape or kind.dtype(out) != self.dtype:
            raise ValueError(f"out is an array {tuple(out.shape)} of {kind.dtype(out)}, but must be an array {self.shape} of {self.dtype}")
        if kind.device(out) != own.device(data):
            raise ValueError("out and the batch are not in the memory of one device")
        check_writable(kind, out)
        return out


def _vector(name, x, kind=None, writable=False):
    """(kind, array) of the elements of a batch, which its `data` must still be; of arrays that can meet those of `kind`."""
    if not isinstance(x, Interleaved):
        raise type_error(name, x, "an Interleaved, the result of interleave")
    own = kind_of(x.data, f"data of {name}")
    if kind is not None and not alike(own, kind):
        raise TypeError(f"{name} is a batch of {own.name}, but a is of {kind.name}: convert one of them")
    data = own.adopt_out(x.data) if writable else resolved(own, own.adopt(x.data, f"data of {name}"))
    if own.dtype(data) != x.dtype:
        raise TypeError(f"data of {name} has the element type {own.dtype(data)}, but the batch has {x.dtype}")
    return own, data


def _overlap(kind, x, y):
    """True if two vectors of elements share memory."""
    (first, end), (other, other_end) = (
        (kind.address(one), kind.address(one) + one.shape[0] * numpy.dtype(kind.dtype(one)).itemsize) for one in (x, y))
    return first < other_end and other < end


def _by_rows(kind, x):
    """True if x (count, rows, cols) can be read in place: elements of a row are neighbours, rows and matrices follow each other."""
    if 0 in x.shape:
        return True
    size = 1
    if kind.name not in ("torch", "dlpack_device", "cuda_array_interface"):  # these count elements
        size = x.dtype.itemsize
        if kind.name in ("numpy", "dlpack") and not (x.dtype.isnative and x.flags.aligned):
            return False
    (count, rows, cols), strides = x.shape, kind.strides(x)
    if any(stride % size and extent > 1 for stride, extent in zip(strides, x.shape)):
        return False
    outer, row, column = (stride // size for stride in strides)
    packed = (cols <= 1 or column == 1) and (rows <= 1 or row >= max(cols, 1))
    return packed and (count <= 1 or outer >= (rows - 1) * (row if rows > 1 else 0) + cols or outer == 0)


def interleave(a, block=None, *, threads=0):
    """Copies a (count, rows, cols) into blocks of `block` matrices; None takes what kernels like best on this machine, and
    "whole" one block of all. Returns an Interleaved, on a GPU of work that is queued. Raises ValueError for other shapes."""
    kind, threads = kind_of(a, "a"), whole("threads", threads, 0)
    like, a = a, kind.adopt(a, "a")
    if len(a.shape) != 3:
        raise ValueError(f"a has the shape {tuple(a.shape)}, but a batch has three dimensions: (count, rows, cols)")
    dtype = own_dtype("a", kind.dtype(a), False, promotable=False)
    count, rows, cols = a.shape
    if block is None:
        block = _core.recommended_block(dtype)
    elif block == "whole":
        block = max(count, 1)
    block = whole("block", block, most=2 ** 62)
    if block < 1:
        raise ValueError(f"block = {block} must be at least 1")
    if block * max(rows, 1) * max(cols, 1) >= 2 ** 59:
        raise ValueError(f"block = {block} of {rows} x {cols} matrices exceeds any memory")
    if conjugated(kind, a) or not _by_rows(kind, a):
        a = kind.packed(a, conjugated(kind, a))
    data = kind.empty((_core.interleaved_elements(rows, cols, block, count),), dtype, a)
    _core.convert_interleaved(kind.operand(a), kind.operand(data), block, True, threads, kind.stream(a))
    return Interleaved(kind.finish(data, like), rows, cols, block, count, dtype)


def matmul_interleaved(a, b, out=None, *, alpha=1, beta=0, stream=None, **options):
    """The products of two Interleaved batches of one block and count, as an Interleaved: new, or `out`, which shares no memory with a
    or b. alpha, beta, stream and options are those of matmul; there is nothing that transposes, conjugates or promotes."""
    kind, x = _vector("a", a)
    _, y = _vector("b", b, kind)
    for name, other in (("block", b.block), ("count", b.count), ("dtype", b.dtype)):
        if getattr(a, name) != other:
            raise ValueError(f"the {name} of a is {getattr(a, name)}, but that of b is {other}")
    if a.cols != b.rows:
        raise ValueError(f"a {a.shape} and b {b.shape} do not fit: a row of a has {a.cols} elements, but a column of b has {b.rows}")
    alpha, beta = factors(alpha, beta, a.dtype, out is not None)
    stream = checked_stream(stream, kind.device(x) is not None)
    if out is None:
        with kind.on(stream, x):
            z = kind.empty((_core.interleaved_elements(a.rows, b.cols, a.block, a.count),), a.dtype, x)
    else:
        own, z = _vector("out", out, kind, True)
        check_writable(own, z)
        for name, one in (("a", x), ("b", y)):
            if _overlap(kind, z, one):
                raise ValueError(f"out must not share memory with {name}: elements of {name} would be lost before they are read")
        if (out.shape, out.block, out.dtype) != ((a.count, a.rows, b.cols), a.block, a.dtype):
            raise ValueError(f"out is {out!r}, but the products are {(a.count, a.rows, b.cols)} of {a.dtype} in blocks of {a.block}")
    _core.multiply_interleaved(kind.operand(x), kind.operand(y), kind.operand(z), a.rows, b.cols, a.cols, a.block, a.count, alpha, beta,
                               make_options(options), kind.stream(z) if stream is None else stream)
    if out is None:
        return Interleaved(kind.finish(z, a.data), a.rows, b.cols, a.block, a.count, a.dtype)
    return out
