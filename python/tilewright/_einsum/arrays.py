"""What a contraction asks of an array, for NumPy, PyTorch and CuPy alike: views with any strides, new memory, sums, stores. Nothing
is imported here that the caller has not imported: an array's own type says which library made it."""

import sys

import numpy

NATIVE = {numpy.dtype(name).str: name for name in ("float32", "float64", "complex64", "complex128")}
NAMES = {"float32": 4, "float64": 8, "complex64": 8, "complex128": 16}


class _Interface:
    """Keeps `owner` alive for arrays that are made from its memory."""

    def __init__(self, owner, interface):
        self.owner = owner
        self.__array_interface__ = interface


class NumpyArrays:
    """The same for CuPy but for views."""

    def __init__(self, module):
        self.module = module

    def name(self, array):
        dtype = array.dtype
        known = NATIVE.get(dtype.str)
        return known or (dtype.name if dtype.isnative else f"{dtype.name} in foreign byte order")

    def strides(self, array):
        """In elements, or None where an element does not begin at a multiple of elements."""
        item = array.itemsize
        found = []
        for stride in array.strides:
            if stride % item:
                return None
            found.append(stride // item)
        return tuple(found)

    def view(self, array, shape, strides, offset=0):
        item = array.itemsize
        byte_strides = tuple([item * stride for stride in strides])
        if offset == 0 and array.shape == shape and array.strides == byte_strides:
            return array
        interface = array.__array_interface__
        address, read_only = interface["data"]
        interface["shape"], interface["strides"], interface["data"] = shape, byte_strides, (address + item * offset, read_only)
        return numpy.asarray(_Interface(array, interface))

    def empty(self, like, shape):
        return self.module.empty(shape, like.dtype)

    def cast(self, array, name):
        return array.astype(name)

    def contiguous(self, array):
        return array.copy(order="C")

    def total(self, array, axes):
        made = self.module.empty(tuple(size for axis, size in enumerate(array.shape) if axis not in axes), array.dtype)
        array.sum(axis=axes, out=made)
        return made

    def overlap(self, a, b):
        return numpy.may_share_memory(a, b)

    def is_writable(self, array):
        return array.flags.writeable

    def promoted(self, arrays):
        return numpy.result_type(*(array.dtype for array in arrays), numpy.float32).name

    def finished(self, array):
        """What the caller gets of a new array: a scalar instead of one without axes, as of numpy.einsum."""
        return array[()] if array.ndim == 0 else array


class CupyArrays(NumpyArrays):
    def view(self, array, shape, strides, offset=0):
        item = array.dtype.itemsize
        return self.module.ndarray(shape, array.dtype, memptr=array.data + item * offset, strides=tuple(item * one for one in strides))

    def overlap(self, a, b):
        return self.module.may_share_memory(a, b)

    def is_writable(self, array):
        return True

    def finished(self, array):
        return array


class TorchArrays:
    def __init__(self, module):
        self.module = module

    def name(self, array):
        return str(array.dtype).removeprefix("torch.")

    def strides(self, array):
        return tuple(array.stride())

    def view(self, array, shape, strides, offset=0):
        return array.as_strided(shape, strides, array.storage_offset() + offset)

    def empty(self, like, shape):
        return self.module.empty(shape, dtype=like.dtype, device=like.device)

    def cast(self, array, name):
        return array.to(getattr(self.module, name))

    def contiguous(self, array):
        return array.clone(memory_format=self.module.contiguous_format)

    def total(self, array, axes):
        return array.sum(dim=axes).contiguous()

    def overlap(self, a, b):
        if a.device != b.device or a.numel() == 0 or b.numel() == 0:
            return False
        (a_first, a_end), (b_first, b_end) = self.span(a), self.span(b)
        return a_first < b_end and b_first < a_end

    def span(self, array):
        first = array.data_ptr()
        reach = 1 + sum((size - 1) * stride for size, stride in zip(array.shape, array.stride()))
        return first, first + reach * array.element_size()

    def is_writable(self, array):
        return True

    def promoted(self, arrays):
        dtype = self.module.float32
        for array in arrays:
            dtype = self.module.promote_types(dtype, array.dtype)
        return str(dtype).removeprefix("torch.")

    def finished(self, array):
        return array


def library_of(array):
    """The name of the library that made an array; '' where it is none of those known."""
    for one in type(array).__mro__:
        root = one.__module__.partition(".")[0]
        if root in ("numpy", "torch", "cupy"):
            return root
    return ""


def arrays_of(operands):
    """(operands as arrays, what serves them). Lists and numbers become NumPy arrays beside NumPy arrays."""
    names = [library_of(one) for one in operands]
    known = {name for name in names if name}
    if len(known) > 1:
        raise TypeError("einsum: the operands are arrays of " + " and ".join(sorted(known)) + "; convert them to one library first")
    name = known.pop() if known else "numpy"
    if name == "numpy":
        return [one if made == "numpy" and type(one) is numpy.ndarray else numpy.asarray(one) for one, made in zip(operands, names)], (
            NumpyArrays(numpy))
    foreign = next((index for index, one in enumerate(names) if not one), None)
    if foreign is not None:
        raise TypeError(f"einsum: operand {foreign} is a {type(operands[foreign]).__name__} beside arrays of {name}; convert it first")
    module = sys.modules[name]
    return (plain_tensors(operands), TorchArrays(module)) if name == "torch" else (list(operands), CupyArrays(module))


def plain_tensors(operands):
    """Tensors whose memory holds what they say. Products are not recorded for gradients, so tensors that ask for it are refused."""
    for index, one in enumerate(operands):
        if one.requires_grad:
            raise TypeError(f"einsum: operand {index} requires grad, which products here do not record; pass its detach()")
    return [one.resolve_conj().resolve_neg() for one in operands]
