"""Products of blocks that are added to each other, as block-sparse matrices are multiplied."""

import numpy

from . import _core
from ._arrays import kind_of, resolved
from ._checks import factors, flag
from ._matmul import check_writable, common_dtype
from ._product import make_options


def _indices(name, values):
    found = numpy.asarray(values)
    if found.ndim != 1 or found.dtype.kind not in "iu" and found.size:
        raise TypeError(f"{name} is an array of {found.dtype} with {found.ndim} dimension{'' if found.ndim == 1 else 's'}, but must be a list of whole numbers")
    if found.dtype.kind == "u" and found.size and found.max() > numpy.iinfo(numpy.int64).max:
        raise IndexError(f"{name} contains {found.max()}, but no array has so many blocks")
    return numpy.ascontiguousarray(found, numpy.int64)


def _blocks(name, x, promote):
    kind = kind_of(x, name)
    x = kind.adopt(x, name)
    if kind.device(x) is not None:
        raise NotImplementedError(f"{name} is on a GPU, but stacks need arrays in host memory")
    if len(x.shape) != 3:
        raise ValueError(f"{name} has the shape {tuple(x.shape)}, but blocks have three dimensions: (count, rows, columns)")
    return kind, resolved(kind, x)


def stack_matmul(a, b, out, a_index, b_index, out_index, *, alpha=1, beta=0, transpose_a=False, transpose_b=False, conjugate_a=False,
                 conjugate_b=False, promote=False, **options):
    """Products of blocks, added up: for every i, out[out_index[i]] += alpha op(a[a_index[i]]) op(b[b_index[i]]), once each block of out that is
    named has been multiplied by beta.

    a (blocks, m, k), b (blocks, k, n), out (blocks, m, n): arrays in host memory. The three lists of indices are of one length, in any
    order, and may name the same block again and again, which is what matmul and grouped_matmul do not allow. Blocks of out that are
    not named stay as they are. Products of one block are summed in the order of the lists, by one thread. Other arguments are those of
    matmul. Returns out. Raises IndexError naming a product whose block is not there; nothing has been written then.
    """
    (kind_a, a), (kind_b, b) = _blocks("a", a, promote), _blocks("b", b, promote)
    kind = kind_of(out, "out")
    to = kind.adopt_out(out)
    _blocks("out", to, promote)
    dtype = common_dtype(kind_a.dtype(a), kind_b.dtype(b), promote)
    if kind.dtype(to) != dtype:
        raise TypeError(f"out has the element type {kind.dtype(to)}, but the product has {dtype}")
    check_writable(kind, to)
    alpha, beta = factors(alpha, beta, dtype, True)
    transpose_a, transpose_b = flag("transpose_a", transpose_a), flag("transpose_b", transpose_b)
    conjugate_a, conjugate_b = flag("conjugate_a", conjugate_a), flag("conjugate_b", conjugate_b)
    a, b = (x if own.dtype(x) == dtype else own.cast(x, dtype) for own, x in ((kind_a, a), (kind_b, b)))
    a, b = kind_a.swapped(a) if transpose_a else a, kind_b.swapped(b) if transpose_b else b
    if a.shape[2] != b.shape[1] or tuple(to.shape[1:]) != (a.shape[1], b.shape[2]):
        raise ValueError(f"blocks of {tuple(a.shape[1:])} in a, of {tuple(b.shape[1:])} in b and of {tuple(to.shape[1:])} in out do not fit")
    lists = [_indices(name, one) for name, one in (("a_index", a_index), ("b_index", b_index), ("out_index", out_index))]
    if len({len(one) for one in lists}) != 1:
        raise ValueError(f"the lists of indices differ in length: {', '.join(str(len(one)) for one in lists)}")
    for name, one, x in zip("ab", lists, (a, b)):
        _check_indices(name, one, x)
    _check_indices("out", lists[2], to)
    if len(lists[0]) and 0 not in to.shape:
        _run((kind_a, a), (kind_b, b), (kind, to), lists, (alpha, beta, conjugate_a, conjugate_b), make_options(options))
    return out


def _check_indices(name, indices, x):
    wrong = numpy.flatnonzero((indices < 0) | (indices >= x.shape[0]))
    if len(wrong):
        raise IndexError(f"product {wrong[0]} names block {indices[wrong[0]]} of {name}, which has {x.shape[0]} blocks")


def _run(a, b, out, lists, factors, options):
    """The stack, once what no problem can express is copied."""
    (kind_a, x), (kind_b, y), (kind, z) = a, b, out
    alpha, beta, conj_a, conj_b = factors
    for _ in range(4):
        copies = _core.stack(kind_a.operand(x), kind_b.operand(y), kind.operand(z), *(one.ctypes.data for one in lists), len(lists[0]), alpha,
                             beta, conj_a, conj_b, options)
        if copies == 0:
            break
        if copies & _core.COPY_A:
            x, conj_a = kind_a.packed(a[1], conj_a), False
        if copies & _core.COPY_B:
            y, conj_b = kind_b.packed(b[1], conj_b), False
        if copies & _core.COPY_OUT:
            z = kind.packed(out[1], False)
    else:
        raise RuntimeError("packed copies of all operands were refused too: this is a bug of tilewright")
    if z is not out[1]:
        kind.assign(out[1], z)
