"""Finds the libraries of CUDA: they are not part of the package, and the library asks the loader for them by
name. What the loader has, or another package has loaded already, it finds by itself; what lies in NVIDIA's wheels, in a
conda environment or under CUDA_HOME is loaded here first, so that the name is known. Nothing of it is called."""

import ctypes
import os
import sys

from . import _core
from ._checks import whole

# The names are those that the library opens, the newest first.
NAMES = (("libnvrtc.so.13", "libnvrtc.so.12"), ("libcublas.so.13", "libcublas.so.12"), ("libcusolver.so.12", "libcusolver.so.11"))
WHEELS = ("cu13", "cuda_nvrtc", "cublas", "cusolver")

loaded = False


def _folders():
    for path in sys.path:
        for wheel in WHEELS:
            yield os.path.join(path, "nvidia", wheel, "lib")
    if "CONDA_PREFIX" in os.environ:
        yield os.path.join(os.environ["CONDA_PREFIX"], "lib")
    yield None  # the system's library
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        if variable in os.environ:
            yield os.path.join(os.environ[variable], "lib64")


def _open(name, mode=0):
    try:
        ctypes.CDLL(name, mode=os.RTLD_LOCAL | os.RTLD_NOW | mode)
    except OSError:
        return False
    return True


def _load(names):
    if any(_open(name, os.RTLD_NOLOAD) for name in names):
        return
    for folder in _folders():
        for name in names:
            if folder is None and _open(name):
                return
            if folder is not None:
                path = os.path.join(folder, name)
                if os.path.exists(path) and _open(path):
                    return


def load_libraries():
    """Loads what of NAMES is found, in the order: already loaded, NVIDIA's wheels, conda, the system, CUDA_HOME. Once."""
    global loaded
    if not loaded:
        loaded = True
        for names in NAMES:
            _load(names)
        _core.set_cuda_sought()


def checked_gpu(name, value):
    """The number of a GPU that is there."""
    number = whole(name, value, 0)
    load_libraries()
    count = _core.gpu_count()
    if number >= count:
        raise ValueError(f"{name} = {number}, but there {'is' if count == 1 else 'are'} {count or 'no'} GPU{'' if count == 1 else 's'}")
    return number


def checked_device(value):
    """The GPU that problems in device memory lie on; 0 also where there is none, for problems that do not."""
    number = whole("device", value, 0)
    return checked_gpu("device", number) if number else 0
