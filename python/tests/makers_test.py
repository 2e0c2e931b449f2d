"""Arrays of other makers: PyTorch tensors in host memory, and whatever speaks DLPack, the buffer protocol or
__array_interface__. What lies on a GPU is in device_test.py."""

import numpy as np
import pytest

import tilewright
from support import DTYPES, assert_product, filled


class ByInterface:
    def __init__(self, x):
        self.x = x

    @property
    def __array_interface__(self):
        return self.x.__array_interface__


class ByDlpack:
    def __init__(self, x):
        self.x = x

    def __dlpack__(self, **options):
        return self.x.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.x.__dlpack_device__()


def test_interfaces_are_read_without_copies():
    a, b = filled(np.random.default_rng(1), (5, 3, 4), "float64"), filled(np.random.default_rng(2), (4, 6), "float64")
    for wrap in (ByInterface, ByDlpack, memoryview):
        got = tilewright.matmul(wrap(a), wrap(b))
        assert type(got) is np.ndarray
        assert_product(got, a, b)
        assert_product(tilewright.matmul(a, wrap(b)), a, b)
        assert_product(tilewright.matmul(wrap(a), b), a, b)


def test_an_out_by_dlpack_is_written_to():
    out = np.zeros((3, 3))
    wrapped = ByDlpack(out)
    if not np.from_dlpack(wrapped).flags.writeable:
        pytest.skip("this NumPy hands out nothing to write to")
    assert tilewright.matmul(np.eye(3), np.eye(3), out=wrapped) is wrapped
    assert np.array_equal(out, np.eye(3))


class Freed:
    def __dlpack__(self, **options):
        raise BufferError("the memory is gone")

    def __dlpack_device__(self):
        return 1, 0


class Elsewhere:
    def __dlpack__(self, **options):
        raise AssertionError("nobody should ask")

    def __dlpack_device__(self):
        return 10, 0  # ROCm


class Spent:
    """A capsule that somebody has taken already."""

    def __init__(self, x):
        self.capsule = x.__dlpack__()
        np.from_dlpack(self)

    def __dlpack__(self, **options):
        return self.capsule

    def __dlpack_device__(self):
        return 1, 0


def test_what_gives_no_array_is_refused():
    with pytest.raises(TypeError, match="the memory is gone"):
        tilewright.matmul(Freed(), np.eye(3))
    with pytest.raises((TypeError, ValueError), match="DLPack"):
        tilewright.matmul(Spent(np.eye(3)), np.eye(3))
    with pytest.raises(TypeError, match="Elsewhere"):
        tilewright.matmul(Elsewhere(), np.eye(3))


@pytest.fixture
def torch():
    return pytest.importorskip("torch")


@pytest.mark.parametrize("dtype", DTYPES)
def test_tensors(torch, dtype):
    rng = np.random.default_rng(3)
    a, b = filled(rng, (4, 7, 5), dtype), filled(rng, (4, 5, 6), dtype)
    x, y = torch.from_numpy(a), torch.from_numpy(b)
    got = tilewright.matmul(x, y)
    assert isinstance(got, torch.Tensor) and got.is_contiguous()
    assert_product(got.numpy(), a, b)
    assert_product(tilewright.matmul(x[:, ::2, 1:], y[:, 1:].flip(2)).numpy(), a[:, ::2, 1:], b[:, 1:, ::-1])
    assert_product(tilewright.matmul(x.mT, y.mT, transpose_a=True, transpose_b=True).numpy(), a, b)
    out = torch.full((4, 7, 6), 2.0, dtype=x.dtype)
    assert tilewright.matmul(x, y, out, alpha=3, beta=1) is out
    assert_product(out.numpy(), a, b, np.full((4, 7, 6), 2.0), 3, 1)
    assert_product(tilewright.matmul(x, y[0, :, 0]).numpy()[..., None], a, b[0, :, :1])
    many = x[:1].expand(9, 7, 5)
    assert_product(tilewright.matmul(many, y[0]).numpy(), np.broadcast_to(a[:1], (9, 7, 5)), b[0])
    if dtype.startswith("complex"):
        assert_product(tilewright.matmul(x.conj(), y).numpy(), a.conj(), b)
        assert_product(tilewright.matmul(x.mH, x.conj()).numpy(), np.swapaxes(a.conj(), 1, 2), a.conj())
        assert_product(tilewright.matmul(x.conj(), y, conjugate_a=True).numpy(), a, b)
        assert_product(tilewright.matmul(x.mH, x, conjugate_a=True).numpy(), np.swapaxes(a, 1, 2), a)


def test_other_functions_take_tensors(torch):
    rng = np.random.default_rng(4)
    a, b = filled(rng, (6, 5, 5), "float64") + 5 * np.eye(5), filled(rng, (6, 5, 5), "float64")
    x, y = torch.from_numpy(a), torch.from_numpy(b)
    assert_product(tilewright.variable_matmul(list(x), list(y))[2].numpy(), a[2], b[2])
    assert np.allclose(tilewright.batch_reduce(x, y).numpy(), (a @ b).sum(0))
    solution = tilewright.solve(x, y)
    assert isinstance(solution, torch.Tensor) and np.allclose(a @ solution.numpy(), b)
    blocks = tilewright.interleave(x, 4)
    assert isinstance(blocks.data, torch.Tensor) and torch.equal(blocks.deinterleave(), x)
    assert tilewright.problem_of(x, y) == tilewright.problem_of(a, b)


def test_tensors_that_are_refused(torch):
    one = torch.ones(3, 3)
    for x, error, says in ((one.clone().requires_grad_(), ValueError, "requires grad"), (one.to_sparse(), TypeError, "layout"),
                           (one.to("meta"), ValueError, "meta"), (one.bfloat16(), TypeError, "bfloat16"),
                           (one.int(), TypeError, "int32")):
        with pytest.raises(error, match=says):
            tilewright.matmul(x, one)
    with pytest.raises(ValueError, match="lazily conjugated"):
        tilewright.matmul(one + 0j, one + 0j, out=(one + 0j).conj())
