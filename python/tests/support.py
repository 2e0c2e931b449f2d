"""Shared by the tests: random arrays with any strides, and the bound that a product's error is held to."""

import numpy as np

DTYPES = ("float32", "float64", "complex64", "complex128")


def filled(rng, shape, dtype):
    """Random values of a type, between -1 and 1 in each part."""
    x = rng.uniform(-1, 1, shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * rng.uniform(-1, 1, shape)
    return np.ascontiguousarray(x.astype(dtype))


def strided(rng, shape, dtype, writeable=False):
    """Random values that lie anyhow: axes in any order, steps, backwards, at an offset and, unless it is to be written to,
    repeated along leading dimensions."""
    order = rng.permutation(len(shape)) if rng.random() < 0.5 else np.arange(len(shape))
    steps = rng.choice([1, 1, 1, 2, 3], len(shape))
    signs = rng.choice([1, 1, 1, 1, -1], len(shape))
    repeats = rng.random(len(shape)) < (0 if writeable else 0.15)
    repeats[-2:] = False
    stored = [1 if repeats[i] else shape[i] * steps[i] + int(rng.integers(0, 2)) for i in order]
    x = filled(rng, stored, dtype).transpose(np.argsort(order))
    index = tuple(slice(None) if repeats[i] else slice(0, shape[i] * steps[i], steps[i]) for i in range(len(shape)))
    x = x[index][tuple(slice(None, None, sign) for sign in signs)]
    return np.broadcast_to(x, shape) if repeats.any() else x


def exact(a, b):
    """a @ b in the widest type that NumPy has."""
    wide = np.clongdouble if a.dtype.kind == "c" else np.longdouble
    return np.matmul(a.astype(wide), b.astype(wide))


def bound(a, b, c=0, alpha=1, beta=0):
    """Returns the largest error of an element of alpha a b + beta c: the roundings of k + 3 operations, each on at most the sum of the
    absolute values (Higham 2002, section 3.5; complex products cost some more)."""
    eps = np.finfo(a.dtype).eps
    k = a.shape[-1]
    wide = np.longdouble
    size = abs(alpha) * np.matmul(np.abs(a).astype(wide), np.abs(b).astype(wide)) + abs(beta) * np.abs(c)
    return (k + 3) * eps * (4 if a.dtype.kind == "c" else 1) * size + np.finfo(a.dtype).tiny


def assert_product(got, a, b, c=0, alpha=1, beta=0):
    want = alpha * exact(a, b) + beta * np.asarray(c)
    assert got.shape == want.shape, (got.shape, want.shape)
    assert got.dtype == a.dtype
    off = np.abs(got - want)
    assert np.all(off <= bound(a, b, c, alpha, beta)), float(np.max(off / bound(a, b, c, alpha, beta)))
