"""Selects the CBLAS for large matrices of the host: the one inside NumPy's wheel, which is present and loaded, else
whatever the library finds (TILEWRIGHT_CBLAS precedes both)."""

import os

import numpy


def find_cblas():
    """The path of the library in NumPy's wheel; '' where it has none."""
    folder = os.path.join(os.path.dirname(os.path.dirname(numpy.__file__)), "numpy.libs")
    try:
        names = sorted(name for name in os.listdir(folder) if "openblas" in name)
    except OSError:
        return ""
    return os.path.join(folder, names[0]) if names else ""
