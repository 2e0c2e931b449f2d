"""As much of CuPy as device_test.py and device_systems_test.py use, over the fake driver of tests/fake_cuda, whose device memory the host can read.
So the package's ways to CuPy arrays are tested on machines without a GPU; about CuPy itself this shows nothing."""

import ctypes
import types

import numpy

_driver = ctypes.CDLL("libcuda.so.1")
_contexts = {}


def _check(status):
    if status != 0:
        raise RuntimeError(f"the fake driver returns {status}")


def _context(device):
    if device not in _contexts:
        _check(_driver.cuInit(0))
        context = ctypes.c_void_p()
        _check(_driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
        _contexts[device] = context
    return _contexts[device]


class _Memory:
    def __init__(self, size, device):
        self.device_id = device
        address = ctypes.c_uint64()
        _check(_driver.cuCtxPushCurrent_v2(_context(device)))
        _check(_driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(max(size, 1))))
        _check(_driver.cuCtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p())))
        self.address = address.value

    def __del__(self):
        _check(_driver.cuCtxPushCurrent_v2(_context(self.device_id)))
        _driver.cuMemFree_v2(ctypes.c_uint64(self.address))
        _driver.cuCtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p()))


class ndarray:
    def __init__(self, memory, seen):
        self._memory, self._seen = memory, seen
        self.data = types.SimpleNamespace(ptr=seen.__array_interface__["data"][0], device_id=memory.device_id)
        self.shape, self.strides, self.dtype = seen.shape, seen.strides, seen.dtype
        self.device = types.SimpleNamespace(id=memory.device_id)

    def _like(self, seen):
        return ndarray(self._memory, seen)

    def __getitem__(self, index):
        index = index if isinstance(index, tuple) else (index,)
        return self._like(self._seen[index if Ellipsis in index else (*index, ...)])  # a view, also for one element

    def __setitem__(self, index, values):
        cuda.synchronize()
        self._seen[index] = values._seen if isinstance(values, ndarray) else values

    def swapaxes(self, i, j):
        return self._like(self._seen.swapaxes(i, j))

    def transpose(self, *axes):
        return self._like(self._seen.transpose(*axes))

    def conj(self):
        cuda.synchronize()
        return asarray(self._seen.conj())

    def astype(self, dtype):
        cuda.synchronize()
        return asarray(self._seen.astype(dtype))

    def get(self):
        cuda.synchronize()
        return self._seen.copy()

    def tolist(self):
        return self.get().tolist()

    def __sub__(self, other):
        return _computed(numpy.subtract, self, other)

    def __rsub__(self, other):
        return _computed(numpy.subtract, other, self)

    def __mul__(self, other):
        return _computed(numpy.multiply, self, other)

    __rmul__ = __mul__

    def __truediv__(self, other):
        return _computed(numpy.divide, self, other)

    def __mod__(self, other):
        return _computed(numpy.remainder, self, other)

    def __abs__(self):
        return _computed(numpy.abs, self)

    def __eq__(self, other):
        return _computed(numpy.equal, self, other)

    def __ne__(self, other):
        return _computed(numpy.not_equal, self, other)

    @property
    def __cuda_array_interface__(self):
        return {"shape": self.shape, "strides": self.strides, "typestr": self.dtype.str, "data": (self.data.ptr, False),
                "version": 3, "stream": None}


def empty(shape, dtype):
    dtype = numpy.dtype(dtype)
    size = int(numpy.prod(shape)) * dtype.itemsize
    memory = _Memory(size, cuda.current)
    raw = (ctypes.c_uint8 * max(size, 1)).from_address(memory.address)
    seen = numpy.ndarray(shape, dtype, buffer=raw)
    return ndarray(memory, seen)


def asarray(x):
    to = empty(x.shape, x.dtype)
    to._seen[...] = x
    return to


def array(x, order="C"):
    cuda.synchronize()
    return asarray(x._seen)


def _computed(function, *arguments):
    """What NumPy's function makes of the elements, once queued work has written them."""
    cuda.synchronize()
    with numpy.errstate(all="ignore"):
        return asarray(numpy.asarray(function(*(one._seen if isinstance(one, ndarray) else one for one in arguments))))


def _function(name):
    return lambda *arguments: _computed(getattr(numpy, name), *arguments)


where, zeros_like, ones_like, cumsum, sum, prod, log, diagonal, tril, triu, ascontiguousarray = map(_function, (
    "where", "zeros_like", "ones_like", "cumsum", "sum", "prod", "log", "diagonal", "tril", "triu", "ascontiguousarray"))


def copyto(to, value, where):
    cuda.synchronize()
    numpy.copyto(to._seen, value, where=where._seen)


def expand_dims(x, axis):
    return x._like(numpy.expand_dims(x._seen, axis))


def broadcast_to(x, shape):
    return x._like(numpy.broadcast_to(x._seen, shape))


class _Device:
    def __init__(self, number):
        self.number = number

    def __enter__(self):
        self.before, cuda.current = cuda.current, self.number

    def __exit__(self, *_):
        cuda.current = self.before


class _Stream:
    def __init__(self, ptr=None):
        if ptr is None:
            address = ctypes.c_void_p()
            _check(_driver.cuCtxPushCurrent_v2(_context(cuda.current)))
            _check(_driver.cuStreamCreate(ctypes.byref(address), 1))
            _check(_driver.cuCtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p())))
            ptr = address.value
        self.ptr = ptr

    def __enter__(self):
        self.before, cuda.stream = cuda.stream, self

    def __exit__(self, *_):
        cuda.stream = self.before

    def synchronize(self):
        _check(_driver.cuStreamSynchronize(ctypes.c_void_p(self.ptr)))


class _Cuda:
    Device, Stream = _Device, _Stream
    runtime = types.SimpleNamespace(getDevice=lambda: cuda.current)

    @staticmethod
    def ExternalStream(ptr, device_id=-1):
        return _Stream(ptr)

    def __init__(self):
        self.current, self.streams = 0, []
        self.stream = _Stream(0)

    def get_current_stream(self, device=None):
        return self.stream

    def synchronize(self):
        for context in list(_contexts.values()):
            _check(_driver.cuCtxPushCurrent_v2(context))
            _check(_driver.cuCtxSynchronize())
            _check(_driver.cuCtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p())))


cuda = _Cuda()
_Stream.null = cuda.stream
fake = True
