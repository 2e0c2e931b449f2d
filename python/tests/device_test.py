"""Arrays on a GPU: CuPy's and PyTorch's, and those that only __cuda_array_interface__ or DLPack tell of. Skipped where a
maker is not installed or sees no GPU; with fake_cupy on the path and the fake driver loaded, CuPy's half runs anywhere."""

import numpy as np
import pytest

import tilewright
from device_makers import CupyMaker, TorchMaker, maker  # noqa: F401: a fixture
from support import DTYPES, assert_product, filled


@pytest.mark.parametrize("dtype", DTYPES)
def test_products(maker, dtype):
    rng = np.random.default_rng(1)
    for shape_a, shape_b in (((4, 4), (4, 4)), ((100, 8, 8), (100, 8, 8)), ((3, 5, 7), (7, 6)), ((2, 3, 4, 5), (3, 5, 6)),
                             ((130, 70), (70, 90)), ((5,), (5, 3)), ((6, 5), (5,)), ((0, 4, 4), (4, 4)), ((4, 0), (0, 3))):
        a, b = filled(rng, shape_a, dtype), filled(rng, shape_b, dtype)
        for _ in range(2):  # the second call takes the fast path
            x, y = maker.put(a), maker.put(b)
            got = tilewright.matmul(x, y)
            assert type(got) is type(x)
            full_a, full_b = a if a.ndim > 1 else a[None], b if b.ndim > 1 else b[:, None]
            assert_product(maker.get(got).reshape(np.matmul(full_a, full_b).shape), full_a, full_b)


def test_strides_and_factors(maker):
    rng = np.random.default_rng(2)
    a, b, c = filled(rng, (6, 5, 9), "float64"), filled(rng, (9, 7), "float64"), filled(rng, (6, 5, 7), "float64")
    x, y, out = maker.put(a), maker.put(b), maker.put(c)
    assert tilewright.matmul(x, y, out, alpha=2, beta=-1) is out
    assert_product(maker.get(out), a, b, c, 2, -1)
    assert_product(maker.get(tilewright.matmul(maker.swap(x), maker.swap(x), transpose_a=True)), a, np.swapaxes(a, 1, 2))
    assert_product(maker.get(tilewright.matmul(x[:, ::2, 1::2], y[1::2])), a[:, ::2, 1::2], b[1::2])
    assert_product(maker.get(tilewright.matmul(maker.repeat(x[:1], (4, 5, 9)), y)), np.broadcast_to(a[:1], (4, 5, 9)), b)
    z = maker.put(np.zeros((6, 7, 5)))
    tilewright.matmul(x, y, out=maker.swap(z))
    assert_product(np.swapaxes(maker.get(z), 1, 2), a, b)
    square = maker.put(a[:, :, :5].copy())
    tilewright.matmul(square, square, out=square)
    assert_product(maker.get(square), a[:, :, :5], a[:, :, :5])
    w = maker.put(a + 1j * a)
    assert_product(maker.get(tilewright.matmul(w, maker.swap(w), conjugate_a=True, conjugate_b=True)), a - 1j * a,
                   np.swapaxes(a - 1j * a, 1, 2))


def test_work_is_queued_on_the_current_stream(maker):
    rng = np.random.default_rng(3)
    a, b = filled(rng, (50, 8, 8), "float64"), filled(rng, (50, 8, 8), "float64")
    x, y = maker.put(a), maker.put(b)
    stream = maker.stream()
    with maker.on(stream):
        z = tilewright.matmul(x, y)
        z = tilewright.matmul(z, y, threads=1)
    stream.synchronize()
    assert_product(maker.get(z), np.matmul(a, b), b)
    address = getattr(stream, "ptr", None) or stream.cuda_stream
    w = tilewright.matmul(x[:, ::-1] if hasattr(x, "get") else x.flip(1), y, stream=address)
    out = tilewright.matmul(x, y, maker.put(np.zeros((50, 8, 8))), stream=address)
    stream.synchronize()
    assert_product(maker.get(w), a[:, ::-1], b)
    assert_product(maker.get(out), a, b)


def test_outs_of_lists_that_share_elements(maker):
    first = np.arange(9.0).reshape(3, 3)
    a, b, eye = maker.put(first), maker.put(3 * first), maker.put(np.eye(3))
    with pytest.raises(ValueError, match="problem 1: its out shares elements"):
        tilewright.grouped_matmul([a, b], [eye, eye], [b, b])
    tilewright.grouped_matmul([a, b], [eye, eye], [b, a])
    assert np.array_equal(maker.get(a), 3 * first) and np.array_equal(maker.get(b), first)


def test_lists_sums_blocks_and_systems(maker):
    rng = np.random.default_rng(4)
    a, b = filled(rng, (6, 5, 5), "float64") + 5 * np.eye(5), filled(rng, (6, 5, 5), "float64")
    x, y = maker.put(a), maker.put(b)
    assert_product(maker.get(tilewright.variable_matmul([x[0], x[1]], [y[0], y[1]])[1]), a[1], b[1])
    assert np.allclose(maker.get(tilewright.batch_reduce(x, y)), (a @ b).sum(0))
    blocks = tilewright.interleave(x, 4)
    assert np.array_equal(maker.get(blocks.deinterleave()), a)
    other = tilewright.interleave(y, 4)
    assert_product(maker.get(tilewright.matmul_interleaved(blocks, other).deinterleave()), a, b)
    factors = tilewright.lu_factor(x[0])
    assert factors.pivots.shape == (5,)
    assert np.allclose(a[0] @ maker.get(factors.solve(y[0])), b[0])
    assert np.allclose(a @ maker.get(tilewright.solve(x, y)), b)
    assert np.allclose(a @ maker.get(tilewright.solve(x, y[0])), b[0])
    assert np.allclose(a[0] @ maker.get(tilewright.solve(x[0], y)), b)
    with tilewright.record() as log:
        tilewright.matmul_interleaved(blocks, other)
    assert len(log.problems) == 1 and log.problems[0].endswith(":block=4:location=device")
    with pytest.raises(ValueError, match="out must not share memory with b"):
        tilewright.matmul_interleaved(tilewright.interleave(x, 4), other, out=other)


def test_what_is_refused(maker):
    x = maker.put(np.ones((3, 3)))
    with pytest.raises(ValueError, match="a is in GPU 0, but b is in host memory|a is in host memory, but b is in GPU 0"):
        tilewright.matmul(x, np.ones((3, 3)))
    with pytest.raises(ValueError, match="out is in host memory"):
        tilewright.matmul(x, x, out=np.ones((3, 3)))
    with pytest.raises(ValueError, match="do not fit"):
        tilewright.matmul(x, x[:2])
    with pytest.raises(TypeError, match="int"):
        tilewright.matmul(maker.put(np.ones((3, 3), np.int64)), x)
    for call in (tilewright.qr, tilewright.eigh, tilewright.svd):
        with pytest.raises(NotImplementedError, match="of matrices on a GPU are not implemented"):
            call(maker.put(np.eye(3)))


def test_arrays_of_two_devices_are_refused():
    cupy = CupyMaker().module
    try:
        with cupy.cuda.Device(1):
            y = cupy.asarray(np.ones((3, 3)))
    except Exception as error:
        pytest.skip(f"one GPU only: {error}")
    with pytest.raises(ValueError, match="GPU 0 and b in GPU 1"):
        tilewright.matmul(cupy.asarray(np.ones((3, 3))), y)
    with cupy.cuda.Device(1):
        assert_product(tilewright.matmul(y, y).get(), np.ones((3, 3)), np.ones((3, 3)))


class ByInterface:
    def __init__(self, x):
        self.x = x
        self.device = x.device

    @property
    def __cuda_array_interface__(self):
        return self.x.__cuda_array_interface__


def test_arrays_of_unknown_makers_need_an_out(maker):
    rng = np.random.default_rng(5)
    a, b = filled(rng, (4, 3, 5), "float32"), filled(rng, (5, 6), "float32")
    x, y, out = maker.put(a), maker.put(b), maker.put(np.zeros((4, 3, 6), np.float32))
    wrapped = ByInterface(out)
    assert tilewright.matmul(ByInterface(x), ByInterface(y), out=wrapped) is wrapped
    assert_product(maker.get(out), a, b)
    swapped = ByInterface(maker.swap(maker.put(np.ascontiguousarray(b.T))))
    tilewright.matmul(ByInterface(x), swapped, out=wrapped)
    assert_product(maker.get(out), a, b)
    with pytest.raises(NotImplementedError, match="need an out"):
        tilewright.matmul(ByInterface(x), ByInterface(y))


def test_prepared_products_are_captured_in_graphs(maker):
    if hasattr(maker.module, "fake"):
        pytest.skip("needs graphs of the maker")
    rng = np.random.default_rng(6)
    a, b = filled(rng, (64, 8, 8), "float64"), filled(rng, (64, 8, 8), "float64")
    x, y, out = maker.put(a), maker.put(b), maker.put(np.zeros((64, 8, 8)))
    tilewright.prepare(tilewright.problem_of(x, y, out))
    if isinstance(maker, TorchMaker):
        torch = maker.module
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            tilewright.matmul(x, y, out=out)
        x.copy_(2 * x)
        graph.replay()
        torch.cuda.synchronize()
    else:
        stream = maker.stream()
        with stream:
            stream.begin_capture()
            tilewright.matmul(x, y, out=out)
            graph = stream.end_capture()
            x *= 2
            graph.launch()
            stream.synchronize()
    assert_product(maker.get(out), 2 * a, b)
