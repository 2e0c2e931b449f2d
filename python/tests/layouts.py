"""Stacks of the same values that lie in memory in different ways, and the comparison of results with NumPy's."""

import numpy as np


def unaligned(a):
    room = np.zeros(a.nbytes + 1, np.uint8)[1:].view(a.dtype).reshape(a.shape)
    room[...] = a
    return room


def backwards(a):
    """The same values, stored from the last to the first."""
    return np.ascontiguousarray(a[..., ::-1, ::-1])[..., ::-1, ::-1]


def spread(a):
    room = np.zeros((*a.shape[:-2], 2 * a.shape[-2], 3 * a.shape[-1]), a.dtype)
    room[..., ::2, ::3] = a
    return room[..., ::2, ::3]


def frozen(a):
    a = a.copy()
    a.flags.writeable = False
    return a


LAYOUTS = {
    "by rows": lambda a: a, "by columns": lambda a: np.ascontiguousarray(a.swapaxes(-1, -2)).swapaxes(-1, -2), "Fortran": np.asfortranarray,
    "backwards": backwards, "columns backwards": lambda a: np.asfortranarray(a[..., ::-1])[..., ::-1], "spread": spread, "read-only": frozen,
    "unaligned": unaligned, "foreign byte order": lambda a: a.astype(a.dtype.newbyteorder()), "stack backwards": lambda a: a[::-1].copy()[::-1],
    "one matrix many times": lambda a: np.broadcast_to(a[:1], a.shape),
}


def near(got, wanted, dtype, factor=200):
    assert got.shape == wanted.shape and got.dtype == wanted.dtype, (got.shape, wanted.shape, got.dtype, wanted.dtype)
    scale = np.abs(wanted).max(initial=1)
    assert np.all(np.abs(got - wanted) <= factor * np.finfo(dtype).eps * scale), np.abs(got - wanted).max() / scale
