"""Makers of arrays on a GPU, as the tests of these meet them: CuPy and PyTorch. Tests are skipped where a maker is not installed or sees no
GPU."""

import ctypes

import numpy as np
import pytest


class CupyMaker:
    def __init__(self):
        self.module = pytest.importorskip("cupy")
        if not hasattr(self.module, "fake") and self.module.cuda.runtime.getDeviceCount() == 0:
            pytest.skip("CuPy sees no GPU")

    def put(self, x):
        return self.module.asarray(x)

    def get(self, x):
        return x.get()

    def swap(self, x):
        return x.swapaxes(-1, -2)

    def repeat(self, x, shape):
        return self.module.broadcast_to(x, shape)

    def stream(self):
        return self.module.cuda.Stream()

    def on(self, stream):
        return stream


class TorchMaker:
    def __init__(self):
        self.module = pytest.importorskip("torch")
        if not self.module.cuda.is_available():
            pytest.skip("PyTorch sees no GPU")

    def put(self, x):
        return self.module.from_numpy(np.ascontiguousarray(x)).cuda()

    def get(self, x):
        return x.cpu().resolve_conj().numpy()

    def swap(self, x):
        return x.transpose(-1, -2)

    def repeat(self, x, shape):
        return x.expand(shape)

    def stream(self):
        return self.module.cuda.Stream()

    def on(self, stream):
        return self.module.cuda.stream(stream)


@pytest.fixture(params=[CupyMaker, TorchMaker], ids=["cupy", "torch"])
def maker(request):
    return request.param()


def launches():
    """The kernels launched so far, by the fake driver's count; None with a real driver."""
    return count("launch")


def count(what):
    ask = getattr(ctypes.CDLL("libcuda.so.1"), "fake_cuda_count", None)
    if ask is None:
        return None
    ask.restype = ctypes.c_longlong
    return ask(what.encode())
