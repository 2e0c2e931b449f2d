"""Arrays of every maker, seen alike: what a product needs to know of NumPy arrays, PyTorch tensors, CuPy arrays and
whatever else speaks DLPack or __cuda_array_interface__. One class per maker; nothing here multiplies."""

import contextlib
import operator
import sys
import weakref

import numpy

from . import _core
from ._importing import importing

DTYPES = ("float32", "float64", "complex64", "complex128")
_names = {numpy.dtype(name): name for name in DTYPES}  # NumPy builds the names anew each time


class _Capsules:
    """Hands on the capsule of x, and keeps the address that it has: NumPy makes memory of its own of a null one."""

    def __init__(self, x):
        self.x, self.address = x, None

    def __dlpack_device__(self):
        return self.x.__dlpack_device__()

    def __dlpack__(self, **options):
        capsule = self.x.__dlpack__(**options)
        self.address = _core.dlpack_address(capsule)
        return capsule


class NumpyKind:
    """Arrays in host memory that NumPy can see."""

    name = "numpy"
    lazily_conjugated = False

    def adopt(self, x, name):
        if type(x) is numpy.ndarray:
            return x
        if isinstance(x, numpy.ma.MaskedArray):
            raise TypeError(f"{name} is a masked array, and products do not support masks: pass the result of its filled(value)")
        try:
            return numpy.asarray(x)
        except (OverflowError, TypeError, ValueError) as error:
            said = TypeError if isinstance(error, TypeError) else ValueError
            raise said(f"{name}, of type {type(x).__name__}, is not an array that NumPy can read: {error}") from error

    def adopt_out(self, x):
        if not isinstance(x, numpy.ndarray):
            raise TypeError(f"out is of type {type(x).__name__}, which cannot be written to: pass an array")
        if isinstance(x, numpy.ma.MaskedArray):
            raise TypeError("out is a masked array, and products do not support masks: pass out.data")
        return x

    def finish(self, x, like):
        return x

    def dtype(self, x):
        return _names.get(x.dtype) or (x.dtype.name if x.dtype.kind in "fciub" else str(x.dtype))

    def cast(self, x, dtype):
        return x.astype(dtype)

    def operand(self, x):
        return x if type(x) is numpy.ndarray else x.view(numpy.ndarray)

    def strides(self, x):
        return x.strides

    def device(self, x):
        return None

    def stream(self, x):
        return 0

    def on(self, stream, x):
        return contextlib.nullcontext()

    def empty(self, shape, dtype, like):
        return numpy.empty(shape, dtype)

    def address(self, x):
        return x.__array_interface__["data"][0]

    def packed(self, x, conjugate):
        if conjugate:
            return numpy.conjugate(x, order="C")
        return x.astype(x.dtype.newbyteorder("="), order="C", copy=True)

    def writing(self, x):
        return contextlib.nullcontext()

    def assign(self, to, values):
        to[...] = values

    def swapped(self, x):
        return x.swapaxes(-1, -2)

    def with_axis(self, x, axis):
        return numpy.expand_dims(x, axis)


class ForeignHostKind(NumpyKind):
    """Host arrays of other makers, by DLPack."""

    name = "dlpack"

    def adopt(self, x, name):
        capsules = _Capsules(x)
        try:
            array = numpy.from_dlpack(capsules)
        except (BufferError, RuntimeError, TypeError, ValueError) as error:
            raise TypeError(f"{name}, of type {type(x).__name__}, provides no array by DLPack: {error}") from error
        if array.size and capsules.address == 0:
            raise ValueError(f"{name} has elements {tuple(array.shape)} at a null address")
        return array

    def adopt_out(self, x):
        return self.adopt(x, "out")

    def finish(self, x, like):
        namespace = getattr(like, "__array_namespace__", None)
        if not namespace:
            return x
        return namespace().from_dlpack(x if x.flags.c_contiguous else x.copy("C"))  # not all take other orders


def _address(x, name):
    """Returns the address of a tensor's first element. Raises TypeError for one that has elements and no memory (wrapping subclasses,
    storage that was resized to nothing)."""
    try:
        address, count = x.data_ptr(), x.numel()
    except RuntimeError as error:
        raise TypeError(f"{name}, of type {type(x).__name__}, has no memory: {str(error).partition(chr(10))[0]}") from error
    if address == 0 and count > 0:
        raise TypeError(f"{name}, of type {type(x).__name__}, has {count} elements and no memory for them")
    return address


class TorchKind:
    """PyTorch tensors, in host memory or on a GPU."""

    name = "torch"
    lazily_conjugated = True

    def __init__(self):
        torch = sys.modules["torch"]
        self.torch = self.library = torch
        _kinds[torch.Tensor] = self
        self.names = {getattr(torch, name): name for name in DTYPES}
        self.types = {name: getattr(torch, name) for name in (*DTYPES, "int32", "int64", "uint8")}
        self.raw_stream = getattr(torch._C, "_cuda_getCurrentRawStream", None)
        self.is_wrapped = getattr(getattr(torch._C, "_functorch", None), "is_functorch_wrapped_tensor", lambda x: False)
        self.derivatives = getattr(getattr(torch, "autograd", None), "forward_ad", None)
        if hasattr(torch.Tensor, "__dlpack_c_exchange_api__"):
            _core.add_exchanging(torch.Tensor, torch.Tensor.new_empty, self.derivatives and vars(self.derivatives))

    def adopt(self, x, name):
        """x with elements that lie in memory as they are, but for a lazy conjugation."""
        self._check(x, name)
        if x._is_zerotensor():
            return self.torch.zeros(x.shape, dtype=x.dtype, device=x.device)
        x = x.resolve_neg()
        _address(x, name)
        return x

    def adopt_out(self, x):
        self._check(x, "out")
        for what, is_so in (("conjugated", x.is_conj()), ("negated", x.is_neg()), ("zero", x._is_zerotensor())):
            if is_so:
                raise TypeError(f"out is a lazily {what} tensor, whose memory does not hold its elements: pass the tensor that it views, "
                                "or copy the result into it")
        _address(x, "out")
        return x

    def _check(self, x, name):
        """Raises TypeError for tensors of other kinds than dense ones of a host or GPU."""
        fake = sys.modules.get("torch._subclasses.fake_tensor")
        if fake is not None and isinstance(x, fake.FakeTensor):
            raise TypeError(f"{name} is a fake tensor, which has no elements")
        if isinstance(x, self.torch.nn.parameter.UninitializedTensorMixin):
            raise TypeError(f"{name} is a parameter that has not been initialized")
        if self.is_wrapped(x):
            raise TypeError(f"{name} is a tensor within torch.func (vmap, grad and others), which products do not support: call them outside of it")
        if x.is_nested:
            raise TypeError(f"{name} is a nested tensor: pass the tensors of its unbind() to grouped_matmul")
        if x.layout is not self.torch.strided:
            raise TypeError(f"{name} is a tensor of layout {x.layout}: products need dense (strided) tensors")
        if x.is_quantized:
            raise TypeError(f"{name} is a quantized tensor: pass the result of its dequantize()")
        if x.device.type not in ("cpu", "cuda"):
            raise TypeError(f"{name} is on the device '{x.device}', which is not one of cpu, cuda")
        if getattr(self.derivatives, "_current_level", -1) >= 0 and self.derivatives.unpack_dual(x).tangent is not None:
            raise TypeError(f"{name} has a forward derivative, which products would lose: pass the primal of unpack_dual()")
        if x.requires_grad and self.torch.is_grad_enabled():
            raise TypeError(f"{name} requires grad, but products are not recorded: pass the result of its detach(), call them within "
                            "torch.no_grad(), or use tilewright.torch, which records them")

    def finish(self, x, like):
        return x

    def dtype(self, x):
        return self.names.get(x.dtype) or str(x.dtype).removeprefix("torch.")

    def cast(self, x, dtype):
        return x.to(self.types[dtype])

    def operand(self, x):
        device = x.device.index if x.is_cuda else None
        return _core.Operand(_address(x, "an array"), self.names[x.dtype], x.shape, x.stride(), device)

    def strides(self, x):
        return x.stride()

    def device(self, x):
        return x.device.index if x.is_cuda else None

    def stream(self, x):
        if not x.is_cuda:
            return 0
        index = x.device.index
        if self.raw_stream is not None:
            return self.raw_stream(index)
        return self.torch.cuda.current_stream(index).cuda_stream

    def on(self, stream, x):
        """Within it, what is made and copied is the stream's: it must not be met by work that is queued elsewhere."""
        if stream is None or not x.is_cuda:
            return contextlib.nullcontext()
        cuda = self.torch.cuda
        return cuda.stream(cuda.ExternalStream(stream, device=x.device) if stream else cuda.default_stream(x.device))

    def empty(self, shape, dtype, like):
        return self.torch.empty(shape, dtype=self.types[dtype], device=like.device)

    def address(self, x):
        return x.data_ptr()

    def packed(self, x, conjugate):
        values = x.conj() if conjugate != x.is_conj() else x  # for the elements as stored
        return values.clone(memory_format=self.torch.contiguous_format).resolve_conj()

    def writing(self, x):
        """Within it PyTorch writes to x: to tensors of inference mode it does in that mode alone."""
        return self.torch.inference_mode() if x.is_inference() else contextlib.nullcontext()

    def assign(self, to, values):
        with self.writing(to):
            to.copy_(values)

    def triangle(self, x, upper):
        """A copy by rows with zeros outside of one triangle."""
        return (self.torch.triu if upper else self.torch.tril)(x).resolve_conj().contiguous()

    def spoil(self, x, info):
        """Sets the matrices of x to NaN whose info is not 0."""
        with self.writing(x):
            x.masked_fill_((info != 0)[..., None, None], float("nan"))

    def swapped(self, x):
        return x.transpose(-1, -2)

    def with_axis(self, x, axis):
        return x.unsqueeze(axis)


class CupyKind:
    """CuPy arrays."""

    name = "cupy"
    lazily_conjugated = False

    def __init__(self):
        cupy = self.cupy = self.library = sys.modules["cupy"]
        _kinds[cupy.ndarray] = self
        current = cupy.cuda.runtime.getDevice

        def empty(like, shape):
            if like.data.device_id == current():
                return cupy.empty(shape, like.dtype)
            return self.empty(shape, like.dtype, like)

        def stream(device):
            return cupy.cuda.get_current_stream(device).ptr

        _core.add_attributed(cupy.ndarray, empty, stream)

    def adopt(self, x, name):
        return x

    def adopt_out(self, x):
        return x

    def finish(self, x, like):
        return x

    def dtype(self, x):
        return x.dtype.name

    def cast(self, x, dtype):
        return x.astype(dtype)

    def operand(self, x):
        size = x.dtype.itemsize
        strides = [stride // size for stride in x.strides]
        return _core.Operand(x.data.ptr, x.dtype.name, x.shape, strides, x.data.device_id)

    def strides(self, x):
        return x.strides

    def device(self, x):
        return x.data.device_id

    def stream(self, x):
        return self.cupy.cuda.get_current_stream(x.data.device_id).ptr

    @contextlib.contextmanager
    def on(self, stream, x):
        """Within it, what is made and copied is the stream's: it must not be met by work that is queued elsewhere."""
        if stream is None:
            yield
            return
        cuda = self.cupy.cuda
        with cuda.Device(x.data.device_id), cuda.ExternalStream(stream, x.data.device_id) if stream else cuda.Stream.null:
            yield

    def empty(self, shape, dtype, like):
        with self.cupy.cuda.Device(like.data.device_id):
            return self.cupy.empty(shape, dtype)

    def address(self, x):
        return x.data.ptr

    def packed(self, x, conjugate):
        with self.cupy.cuda.Device(x.data.device_id):
            return self.cupy.array(x.conj() if conjugate else x, order="C")

    def writing(self, x):
        return contextlib.nullcontext()

    def assign(self, to, values):
        with self.cupy.cuda.Device(to.data.device_id):
            to[...] = values

    def triangle(self, x, upper):
        with self.cupy.cuda.Device(x.data.device_id):
            return self.cupy.ascontiguousarray((self.cupy.triu if upper else self.cupy.tril)(x))

    def spoil(self, x, info):
        with self.cupy.cuda.Device(x.data.device_id):
            self.cupy.copyto(x, float("nan"), where=(info != 0)[..., None, None])

    def swapped(self, x):
        return x.swapaxes(-1, -2)

    def with_axis(self, x, axis):
        return self.cupy.expand_dims(x, axis)


# The result for a type is cached; the cache keeps no type alive.
_kinds = dict.fromkeys((numpy.ndarray, list, tuple), NumpyKind())
_other_kinds: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()
_foreign: dict = {}  # other kinds, by name


def _known(name, make):
    if name not in _foreign:
        _foreign[name] = make()
    return _foreign[name]


def _device_kind(name):
    with importing:
        from . import _device_arrays
    _foreign.setdefault("seen", _device_arrays._Seen)
    return _foreign.setdefault(name, getattr(_device_arrays, name)())


def _dlpack_place(x, name, ask):
    """The type, as DLPack numbers them, of the device that x says it lies on."""
    told = ask()
    try:
        place, _ = told
        return operator.index(place)
    except (TypeError, ValueError):
        raise TypeError(f"{name}, of type {type(x).__name__}, says that it lies on the device {told!r}, where DLPack has a pair of "
                        "numbers") from None


def _by_dlpack(x, name, has_array):
    """The kind of what speaks DLPack; None for what lies in host memory and is rather read as NumPy reads it."""
    ask = getattr(x, "__dlpack_device__", None)
    if ask is None:
        if has_array:
            return None
        raise TypeError(f"{name}, of type {type(x).__name__}, has __dlpack__ but no __dlpack_device__, which says where it lies")
    device = _dlpack_place(x, name, ask)
    if device in (2, 13):  # CUDA, and its managed memory
        return _device_kind("DlpackDeviceKind")
    if device not in (1, 3):  # the host, pinned or not
        raise TypeError(f"{name}, of type {type(x).__name__}, lies on a device of DLPack's type {device}, which is neither the host "
                        "nor a GPU of CUDA")
    if has_array and not hasattr(x, "__array_namespace__"):
        return None
    return _known("dlpack", ForeignHostKind)


def _numpy_reads(x, cls):
    """True if NumPy sees x, which has no interface, as more than one object: a buffer, or a sequence of numbers."""
    try:
        memoryview(x)
        return True
    except TypeError:
        pass
    if issubclass(cls, (str, dict)) or not (hasattr(cls, "__len__") and hasattr(cls, "__getitem__")):
        return False
    try:
        return numpy.asarray(x).dtype.kind in "biufc"
    except (TypeError, ValueError):
        return False


def _find(cls, x, name):
    if cls is _foreign.get("seen"):
        return _foreign.get("CudaInterfaceKind") or _foreign["DlpackDeviceKind"]
    if issubclass(cls, numpy.ndarray):
        return _kinds[numpy.ndarray]
    maker = cls.__module__.partition(".")[0]
    torch, cupy = sys.modules.get("torch"), sys.modules.get("cupy")
    if torch is not None and issubclass(cls, torch.Tensor):
        return _known("torch", TorchKind)
    if cupy is not None and maker == "cupy" and issubclass(cls, cupy.ndarray):
        return _known("cupy", CupyKind)
    if hasattr(x, "__cuda_array_interface__"):  # tested on the object: tensors in host memory lack it, though their class has it
        return _device_kind("CudaInterfaceKind")
    has_array = hasattr(x, "__array__") or any(hasattr(x, f"__array_{one}__") for one in ("interface", "struct"))
    if hasattr(x, "__dlpack__"):
        kind = _by_dlpack(x, name, has_array)
        if kind is not None:
            return kind
    if has_array or issubclass(cls, (list, tuple, int, float, complex)) or _numpy_reads(x, cls):
        return _kinds[numpy.ndarray]
    raise TypeError(f"{name} is of type {cls.__name__}, which is not an array: it has none of __array_interface__, "
                    "__cuda_array_interface__ and __dlpack__, and is not a sequence of numbers")


def alike(one, other):
    """True if arrays of two kinds may be operands of one product: of one maker, or both such that NumPy sees them."""
    return type(one) is type(other) or (isinstance(one, NumpyKind) and isinstance(other, NumpyKind))


def conjugated(kind, x):
    """True if the memory of x holds the conjugates of its elements."""
    return kind.lazily_conjugated and x.is_conj()


def resolved(kind, x):
    """x without lazy conjugation, which an operand does not tell of."""
    return kind.packed(x, True) if conjugated(kind, x) else x


def kind_of(x, name):
    """The kind of an argument called `name`. Raises TypeError for what is no array."""
    cls = type(x)
    kind = _kinds.get(cls) or _other_kinds.get(cls)
    if kind is None:
        kind = _find(cls, x, name)
        if cls not in _kinds and (kind.name in ("torch", "cupy") or issubclass(cls, (numpy.ndarray, list, tuple))):
            _other_kinds[cls] = kind  # attributes of other classes have their own meaning
    return kind
