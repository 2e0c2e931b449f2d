"""As much of PyTorch as lazy_test.py uses, over NumPy: tensors that note a conjugation or a negation beside memory that stays as it is.
So the package's ways to such tensors are tested where PyTorch is not installed; about PyTorch itself this shows nothing."""

import contextlib
import types

import numpy

strided, sparse_coo = "torch.strided", "torch.sparse_coo"
float32, float64, complex64, complex128, int32, int64, uint8 = (
    numpy.dtype(name) for name in ("float32", "float64", "complex64", "complex128", "int32", "int64", "uint8"))
_C = types.SimpleNamespace()
nn = types.SimpleNamespace(parameter=types.SimpleNamespace(UninitializedTensorMixin=type("UninitializedTensorMixin", (), {})))
contiguous_format = None
_state = types.SimpleNamespace(grad=True, inference=False)


@contextlib.contextmanager
def _setting(name, value):
    before = getattr(_state, name)
    setattr(_state, name, value)
    yield
    setattr(_state, name, before)


def no_grad():
    return _setting("grad", False)


def inference_mode():
    return _setting("inference", True)


def is_grad_enabled():
    return _state.grad


class Tensor:
    is_nested = is_quantized = is_cuda = requires_grad = False
    layout = strided
    device = types.SimpleNamespace(type="cpu", index=None)

    def __init__(self, memory, conjugated=False, negated=False, zero=False):
        self.memory, self.conjugated, self.negated, self.zero = memory, conjugated, negated, zero
        self.made_in_inference = _state.inference

    shape = property(lambda self: self.memory.shape)
    dtype = property(lambda self: self.memory.dtype)

    def numpy(self):
        """The elements that the tensor stands for."""
        x = numpy.zeros_like(self.memory) if self.zero else self.memory
        x = x.conj() if self.conjugated else x
        return -x if self.negated else x

    def stride(self):
        return tuple(stride // self.memory.itemsize for stride in self.memory.strides)

    def data_ptr(self):
        return 0 if self.zero else self.memory.__array_interface__["data"][0]

    def numel(self):
        return self.memory.size

    def is_conj(self):
        return self.conjugated

    def is_neg(self):
        return self.negated

    def _is_zerotensor(self):
        return self.zero

    def is_inference(self):
        return self.made_in_inference

    def resolve_neg(self):
        return Tensor(self.numpy().copy()) if self.negated else self

    def resolve_conj(self):
        return Tensor(self.numpy().copy()) if self.conjugated else self

    def conj(self):
        return Tensor(self.memory, not self.conjugated, self.negated)

    def clone(self, memory_format=None):
        return Tensor(self.numpy().copy("C"))

    def copy_(self, values):
        if self.made_in_inference and not _state.inference:
            raise RuntimeError("Inplace update to inference tensor outside InferenceMode is not allowed.")
        x = values.numpy()
        x = -x if self.negated else x
        self.memory[...] = x.conj() if self.conjugated else x

    def view_of(self, memory):
        return Tensor(memory, self.conjugated, self.negated, self.zero)

    def __getitem__(self, index):
        return self.view_of(self.memory[index])

    def __setitem__(self, index, values):
        Tensor.copy_(self[index], values if isinstance(values, Tensor) else Tensor(numpy.asarray(values)))

    def __imul__(self, factor):
        self.copy_(Tensor(self.numpy() * factor))
        return self

    def __iadd__(self, other):
        self.copy_(Tensor(self.numpy() + other.numpy()))
        return self

    def __sub__(self, number):
        return Tensor(self.numpy() - number)

    def transpose(self, i, j):
        return self.view_of(self.memory.swapaxes(i, j))

    def unsqueeze(self, axis):
        return self.view_of(numpy.expand_dims(self.memory, axis))

    def as_strided(self, shape, strides, offset):
        item, tricks = self.memory.itemsize, numpy.lib.stride_tricks
        first = tricks.as_strided(self.memory, (offset + 1,), (item,))[offset:]
        return self.view_of(tricks.as_strided(first, shape, [item * stride for stride in strides]))

    def storage_offset(self):
        return 0

    def element_size(self):
        return self.memory.itemsize

    def sum(self, dim):
        return Tensor(self.numpy().sum(tuple(dim)))


def from_numpy(x):
    return Tensor(x)


def _neg_view(x):
    return Tensor(x.memory, x.conjugated, not x.negated)


def _efficientzerotensor(shape, dtype=float64):
    return Tensor(numpy.zeros(shape, dtype), zero=True)


def empty(shape, dtype, device):
    return Tensor(numpy.empty(shape, dtype))


def zeros(shape, dtype, device):
    return Tensor(numpy.zeros(shape, dtype))
