"""Operations on arrays that a contraction needs beyond those of a product (.._arrays): views with any strides into their memory,
sums, stores."""

import functools

import numpy

from .._arrays import DTYPES, CupyKind, ForeignHostKind, NumpyKind, TorchKind, alike, kind_of, resolved
from .._matmul import common_dtype

ITEM_BYTES = {name: numpy.dtype(name).itemsize for name in DTYPES}


class _Interface:
    """Keeps `owner` alive for arrays that are made from its memory."""

    def __init__(self, owner, interface):
        self.owner = owner
        self.__array_interface__ = interface


class NumpyViews:
    def strides(self, array):
        """In elements, or None where elements do not lie at multiples of their size, or cannot be read as they are."""
        item = array.itemsize
        found = []
        for stride in array.strides:
            if stride % item:
                return None
            found.append(stride // item)
        return tuple(found) if array.flags.aligned and array.dtype.isnative else None

    def view(self, array, shape, strides, offset=0):
        item = array.itemsize
        byte_strides = tuple([item * stride for stride in strides])
        if offset == 0 and array.shape == shape and array.strides == byte_strides:
            return array
        interface = array.__array_interface__
        address, read_only = interface["data"]
        interface["shape"], interface["strides"], interface["data"] = shape, byte_strides, (address + item * offset, read_only)
        return numpy.asarray(_Interface(array, interface))

    def total(self, array, axes, made):
        array.sum(axis=axes, out=made)

    def overlap(self, a, b):
        return numpy.may_share_memory(a, b)

    def finished(self, array):
        """Returns the caller's result from a new array: a scalar instead of one without axes, as in numpy.einsum."""
        return array[()] if array.ndim == 0 else array


class CupyViews(NumpyViews):
    def strides(self, array):
        return tuple(stride // array.itemsize for stride in array.strides)

    def view(self, array, shape, strides, offset=0):
        item = array.itemsize
        return type(array)(shape, array.dtype, memptr=array.data + item * offset, strides=tuple(item * one for one in strides))

    def total(self, array, axes, made):
        with array.device:
            array.sum(axis=axes, out=made)

    def overlap(self, a, b):
        (a_first, a_end), (b_first, b_end) = (span(one.data.ptr, one.shape, one.strides, one.itemsize) for one in (a, b))
        return a_first < b_end and b_first < a_end

    def finished(self, array):
        return array


class TorchViews(CupyViews):
    def strides(self, array):
        return tuple(array.stride())

    def view(self, array, shape, strides, offset=0):
        return array.as_strided(shape, strides, array.storage_offset() + offset)

    def total(self, array, axes, made):
        made.copy_(array.sum(dim=axes))

    def overlap(self, a, b):
        (a_first, a_end), (b_first, b_end) = (
            span(one.data_ptr(), one.shape, [stride * one.element_size() for stride in one.stride()], one.element_size()) for one in (a, b))
        return a_first < b_end and b_first < a_end


def span(first, shape, byte_strides, item):
    """(first, end) of the addresses that an array reaches; empty where it has no elements."""
    if 0 in shape:
        return first, first
    reach = [(size - 1) * stride for size, stride in zip(shape, byte_strides)]
    return first + sum(one for one in reach if one < 0), first + sum(one for one in reach if one > 0) + item


VIEWS = {NumpyKind: NumpyViews(), ForeignHostKind: NumpyViews(), TorchKind: TorchViews(), CupyKind: CupyViews()}


class Library:
    """The maker of the operands: its kind in products, with views."""

    def __init__(self, kind):
        self.kind = kind
        self.views = VIEWS.get(type(kind))
        if self.views is None:
            raise TypeError("einsum takes arrays of NumPy, PyTorch and CuPy, and host arrays with DLPack; convert other arrays of a GPU "
                            "by torch.as_tensor or cupy.asarray, which copy nothing")
        self.strides, self.view, self.overlap = self.views.strides, self.views.view, self.views.overlap

    def empty(self, like, shape, dtype):
        return self.kind.empty(shape, dtype, like)

    def contiguous(self, array):
        return self.kind.packed(array, False)

    def total(self, array, axes, dtype):
        made = self.empty(array, tuple(size for axis, size in enumerate(array.shape) if axis not in axes), dtype)
        self.views.total(array, axes, made)
        return made

    def finished(self, array, like):
        made = self.kind.finish(array, like)
        return self.views.finished(array) if made is array else made


_libraries: dict = {}


def library_of(kind):
    found = _libraries.get(type(kind))
    if found is None:
        found = _libraries[type(kind)] = Library(kind)
    return found


def adopted(operands):
    """(operands as arrays, their Library). Raises TypeError for what is no array and for arrays of different makers, ValueError for arrays
    of different devices."""
    kinds = [kind_of(one, f"operand {index}") for index, one in enumerate(operands)]
    library = library_of(kinds[0])
    arrays = []
    for index, (kind, one) in enumerate(zip(kinds, operands)):
        if not alike(kind, library.kind):
            raise TypeError(f"einsum: operand 0 is an array of {library.kind.name}, but operand {index} is of {kind.name}: convert one of them")
        arrays.append(resolved(kind, kind.adopt(one, f"operand {index}")))
        if kind.device(arrays[-1]) != kind.device(arrays[0]):
            raise ValueError(f"einsum: operand 0 is on device {kind.device(arrays[0])}, but operand {index} is on {kind.device(arrays[-1])}")
    return arrays, library


def joined_dtype(names, promote):
    """The element type of a contraction of operands with these types. Raises TypeError with what to do."""
    if promote:
        try:
            return functools.reduce(lambda one, other: common_dtype(one, other, True), names, names[0])
        except TypeError:
            raise TypeError(f"einsum: operands of {', '.join(names)} have no common type among {', '.join(DTYPES)}") from None
    for index, name in enumerate(names):
        if name not in ITEM_BYTES:
            raise TypeError(f"einsum: element type {name} of operand {index} is not supported (use {', '.join(DTYPES[:-1])} or {DTYPES[-1]}, or promote=True)")
        if name != names[0]:
            raise TypeError(f"einsum: the element types of operands 0 and {index} differ: {names[0]} and {name} (use one type, or promote=True)")
    return names[0]
