"""Interleaved batches: where elements lie, there and back, and their products."""

import numpy as np
import pytest

import tilewright
from support import DTYPES, assert_product, filled, strided


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("block", [1, 4, "whole", None])
def test_there_and_back(dtype, block):
    a = strided(np.random.default_rng(3), (11, 3, 5), dtype)
    blocks = tilewright.interleave(a, block)
    assert blocks.shape == (11, 3, 5)
    assert np.array_equal(blocks.deinterleave(), a)
    size = blocks.block
    for p, i, j in ((0, 0, 0), (10, 2, 4), (6, 1, 3)):
        assert blocks.data[p // size * size * 15 + (i * 5 + j) * size + p % size] == a[p, i, j]
    out = np.zeros((11, 3, 5), dtype)
    assert blocks.deinterleave(out) is out and np.array_equal(out, a)


@pytest.mark.parametrize("dtype", DTYPES)
def test_products(dtype):
    rng = np.random.default_rng(4)
    a, b, c = filled(rng, (21, 3, 5), dtype), filled(rng, (21, 5, 2), dtype), filled(rng, (21, 3, 2), dtype)
    x, y, z = (tilewright.interleave(one, 8) for one in (a, b, c))
    assert_product(tilewright.matmul_interleaved(x, y).deinterleave(), a, b)
    assert tilewright.matmul_interleaved(x, y, z, alpha=2, beta=-1, threads=1) is z
    assert_product(z.deinterleave(), a, b, c, 2, -1)


def test_what_is_refused():
    a = np.ones((4, 2, 3))
    with pytest.raises(ValueError, match="three dimensions"):
        tilewright.interleave(a[0])
    with pytest.raises(ValueError, match="block = 0"):
        tilewright.interleave(a, 0)
    with pytest.raises(TypeError, match="int64"):
        tilewright.interleave(a.astype(int))
    x, y = tilewright.interleave(a, 2), tilewright.interleave(a.swapaxes(1, 2), 4)
    with pytest.raises(ValueError, match="the block of a is 2, but that of b is 4"):
        tilewright.matmul_interleaved(x, y)
    with pytest.raises(ValueError, match="do not fit"):
        tilewright.matmul_interleaved(x, x)
    with pytest.raises(ValueError, match="but must be an array"):
        x.deinterleave(np.zeros((4, 3, 2)))


def test_elements_that_lie_anyhow():
    """In another byte order, in fields of records, unaligned, at distances that split elements, backwards and by columns."""
    rng = np.random.default_rng(5)
    a = filled(rng, (5, 2, 3), "float32")
    fields = np.zeros(a.shape, [("tag", "u1"), ("x", "f4"), ("y", "i4")])
    fields["x"], fields["y"] = a, 7
    split = np.zeros((5, 2, 3 * 4 + 6), "u1")[:, :, :12].view("f4")
    split[...] = a
    for x in (a.astype(a.dtype.newbyteorder()), fields["x"], split, a[::-1, ::-1, ::-1][::-1, ::-1, ::-1]):
        assert np.array_equal(tilewright.interleave(x, 2).deinterleave(), a)
    blocks = tilewright.interleave(a, 2)
    fields["x"], split[...] = 0, 0
    for out in (np.zeros(a.shape, a.dtype.newbyteorder()), fields["x"], split, np.zeros(a.shape, "f4")[::-1],
                np.zeros((5, 3, 2), "f4").swapaxes(1, 2)):
        assert blocks.deinterleave(out) is out
        assert np.array_equal(out, a)
    assert np.all(fields["y"] == 7) and not fields["tag"].any()
