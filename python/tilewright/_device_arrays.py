"""Arrays on a GPU of makers that the package does not know by name: what __cuda_array_interface__ or a DLPack capsule tells
of them. Results are only written to an `out`, because nobody says how to make such an array."""

import contextlib

import numpy

from . import _core


class _Seen:
    """An interface's description of an array, which keeps the array alive."""

    def __init__(self, owner, address, dtype, shape, strides, device, stream, read_only):
        self.owner, self.address, self.dtype = owner, address, dtype
        self.shape, self.strides = tuple(shape), tuple(strides)
        self.device, self.stream, self.read_only = device, stream, read_only

    def with_(self, shape, strides, address=None):
        return _Seen(self.owner, self.address if address is None else address, self.dtype, shape, strides, self.device,
                     self.stream, self.read_only)

    def __getitem__(self, index):  # leading dimensions: whole, cut to their first, or one of them
        shape, strides, address = [], [], self.address
        for i, (size, stride) in enumerate(zip(self.shape, self.strides)):
            part = index[i] if i < len(index) else slice(None)
            if isinstance(part, int):
                address += part * stride * numpy.dtype(self.dtype).itemsize
                continue
            shape.append(1 if part == slice(0, 1) else size)
            strides.append(stride)
        return self.with_(shape, strides, address)


class _SeenKind:
    lazily_conjugated = False

    def adopt_out(self, x):
        x = self.adopt(x, "out")
        if x.read_only:
            raise ValueError("out is read-only")
        return x

    def finish(self, x, like):
        return x

    def dtype(self, x):
        return x.dtype

    def operand(self, x):
        return _core.Operand(x.address, x.dtype, x.shape, x.strides, x.device, x.read_only)

    def strides(self, x):
        return x.strides

    def device(self, x):
        return x.device

    def stream(self, x):
        return x.stream

    def on(self, stream, x):
        return contextlib.nullcontext()  # nothing is made or copied

    def swapped(self, x):
        return x.with_((*x.shape[:-2], x.shape[-1], x.shape[-2]), (*x.strides[:-2], x.strides[-1], x.strides[-2]))

    def with_axis(self, x, axis):
        return x.with_((*x.shape[:axis], 1, *x.shape[axis:]), (*x.strides[:axis], 0, *x.strides[axis:]))

    def _unable(self, *_):
        raise NotImplementedError("the library of these arrays on a GPU is not supported: results need an out=, one element type "
                                  "and strides that a product can express (PyTorch and CuPy arrays need none of that)")

    cast = empty = packed = assign = _unable


def _packed_strides(shape):
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return strides[::-1]


def _is_number(value, least, most):
    return isinstance(value, int) and least <= value <= most


def _are_numbers(values, least, count=None):
    return isinstance(values, (tuple, list)) and count in (None, len(values)) and all(_is_number(one, least, 2 ** 62) for one in values)


def _dtype(typestr):
    """The type that a typestr names, None where it names none."""
    try:
        return numpy.dtype(typestr) if isinstance(typestr, str) else None
    except TypeError:
        return None


def _is_place(data):
    return isinstance(data, (tuple, list)) and len(data) == 2 and _is_number(data[0], 0, 2 ** 64 - 1)


# Tests each entry of the interface that is present; a missing one is None.
_ENTRIES = {
    "shape": lambda told: _are_numbers(told.get("shape"), 0),
    "typestr": lambda told: _dtype(told.get("typestr")) is not None,
    "data": lambda told: _is_place(told.get("data")),
    "strides": lambda told: told.get("strides") is None or _are_numbers(told["strides"], -(2 ** 62), len(told["shape"])),
    "stream": lambda told: told.get("stream") is None or _is_number(told["stream"], 0, 2 ** 64 - 1),
}


class CudaInterfaceKind(_SeenKind):
    """By __cuda_array_interface__, of version 3."""

    name = "cuda_array_interface"

    def adopt(self, x, name):
        if isinstance(x, _Seen):
            return x
        told = x.__cuda_array_interface__
        if not isinstance(told, dict):
            raise TypeError(f"the __cuda_array_interface__ of {name} is of type {type(told).__name__}, but must be a dictionary")
        for entry, is_right in _ENTRIES.items():
            if not is_right(told):
                raise TypeError(f"the __cuda_array_interface__ of {name} has {told.get(entry)!r} for {entry}, which is not valid")
        if told.get("mask") is not None:
            raise TypeError(f"{name} has a mask, and products do not support masks")
        dtype = _dtype(told["typestr"])
        if not dtype.isnative:
            raise TypeError(f"{name} has the element type {dtype.str}, whose byte order is not that of this machine")
        address, read_only = told["data"]
        shape = told["shape"]
        strides = told.get("strides")
        if strides is None:
            steps = _packed_strides(shape)
        else:
            steps = [stride // dtype.itemsize for stride in strides]
            if any(stride % dtype.itemsize for stride in strides):
                raise ValueError(f"{name} has strides that split its elements")
        return _Seen(x, address, dtype.name, shape, steps, self._device(x), told.get("stream") or 0, bool(read_only))

    @staticmethod
    def _device(x):
        device = getattr(x, "device", None)
        for name in ("id", "index"):
            number = getattr(device, name, None)
            if isinstance(number, int):
                return number
        if hasattr(x, "__dlpack_device__"):
            return x.__dlpack_device__()[1]
        return 0


class DlpackDeviceKind(_SeenKind):
    """Arrays known by DLPack alone. Work is queued on the default stream; the array's maker was asked to make it wait
    for the maker's work."""

    name = "dlpack_device"

    def adopt(self, x, name):
        if isinstance(x, _Seen):
            return x
        try:
            address, dtype, shape, strides, device, read_only, owner = _core.see_dlpack(x)
        except (BufferError, RuntimeError, TypeError, ValueError) as error:
            raise TypeError(f"{name}, of type {type(x).__name__}, provides no array by DLPack: {error}") from error
        if address == 0 and 0 not in shape:
            raise ValueError(f"{name} has elements {shape} at a null address")
        return _Seen((x, owner), address, dtype, shape, strides, device, 0, read_only)
