"""Arrays of other makers: PyTorch tensors in host memory, and whatever speaks DLPack, the buffer protocol or
__array_interface__. What lies on a GPU is in device_test.py."""

import collections
import gc
import pickle
import weakref

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


class Wrapped(ByDlpack):
    """An array of a namespace."""

    def __array_namespace__(self, api_version=None):
        return Namespace

    @property
    def shape(self):
        return self.x.shape


class Jax(Wrapped):
    """One that NumPy can read too."""

    def __array__(self, dtype=None, copy=None):
        return self.x


class Namespace:
    @staticmethod
    def from_dlpack(x):
        assert x.flags.c_contiguous
        return Wrapped(np.array(np.from_dlpack(x)))


@pytest.mark.parametrize("wrap", [Wrapped, Jax])
def test_results_are_arrays_of_the_namespace(wrap):
    a = filled(np.random.default_rng(6), (2, 3, 3), "float64") + 4 * np.eye(3)
    x, eye = wrap(a), np.eye(3)
    factors, blocks = tilewright.lu_factor(x), tilewright.interleave(x, 2)
    results = [
        (tilewright.matmul(x, x), a @ a), (tilewright.matmul(x, eye), a), (tilewright.einsum("eij,ejk->eik", x, x), a @ a),
        (tilewright.einsum("eij,eij->", x, x), (a * a).sum()), (tilewright.einsum("eij,jk->eik", x, eye), a),
        (tilewright.batch_reduce(x, x), (a @ a).sum(0)), (tilewright.grouped_matmul([x], [x])[0], a @ a),
        (factors.lu, tilewright.lu_factor(a).lu), (factors.pivots, tilewright.lu_factor(a).pivots), (factors.solve(wrap(a)), [eye, eye]),
        (factors.solve(a), [eye, eye]), (tilewright.solve(x, x), [eye, eye]), (factors.inverse(), np.linalg.inv(a)),
        (tilewright.inv(x), np.linalg.inv(a)), (tilewright.det(x), np.linalg.det(a)), (tilewright.slogdet(x)[1], np.linalg.slogdet(a)[1]),
        (tilewright.cholesky(tilewright.matmul(x, x, transpose_b=True)), np.linalg.cholesky(a @ a.swapaxes(1, 2))), (tilewright.qr(x).R, np.linalg.qr(a)[1]),
        (tilewright.svd(x).S, np.linalg.svd(a)[1]), (tilewright.svdvals(x), np.linalg.svd(a)[1]), (tilewright.eigh(x)[0], np.linalg.eigh(a)[0]),
        (tilewright.lstsq(x, x)[0], [eye, eye]), (tilewright.lstsq(x, x)[2], [3, 3]), (tilewright.lstsq(x, wrap(eye), driver="gels")[0], np.linalg.inv(a)), (blocks.deinterleave(), a), (blocks.data, tilewright.interleave(a, 2).data),
        (tilewright.matmul_interleaved(blocks, blocks).deinterleave(), a @ a), (pickle.loads(pickle.dumps(factors)).solve(a), [eye, eye]),
    ]
    for index, (got, wanted) in enumerate(results):
        assert type(got) is Wrapped and np.allclose(got.x, wanted), index
    out = np.zeros((2, 3, 3))
    if np.from_dlpack(Wrapped(out)).flags.writeable:
        assert tilewright.matmul(x, x, out=wrap(out)) is not None and np.allclose(out, a @ a)


def test_einsum_mixes_what_numpy_sees():
    a, b = np.random.default_rng(7).random((2, 3, 3))
    out = np.zeros((3, 3))
    assert np.allclose(tilewright.einsum("ij,jk", a, ByDlpack(b)), a @ b)
    assert np.allclose(tilewright.einsum("ij,jk", ByDlpack(a), b), a @ b)
    assert tilewright.einsum("ij,jk", ByDlpack(a), ByDlpack(b), out=out) is out and np.allclose(out, a @ b)
    total = tilewright.einsum("ij,ij", ByDlpack(a), ByDlpack(b))
    assert type(total) is np.float64 and np.isclose(total, (a * b).sum())


class OnGpu(Jax):
    """A class whose objects NumPy would copy to the host."""

    def __dlpack_device__(self):
        return 2, 0


class OfTheHost:
    """As tensors in host memory, whose class has an interface that the object does not have."""

    def __init__(self, x):
        self.x = x

    @property
    def __cuda_array_interface__(self):
        raise AttributeError("it is on no GPU")

    def __array__(self, dtype=None, copy=None):
        return self.x


def test_the_object_is_asked_and_not_its_class():
    a = np.random.default_rng(8).random((3, 3))
    with pytest.raises(TypeError, match="a, of type OnGpu, provides no array by DLPack: .*device of type 1"):
        tilewright.matmul(OnGpu(a), OnGpu(a))
    assert np.allclose(tilewright.matmul(OfTheHost(a), a), a @ a)

    class Both(ByDlpack):
        __cuda_array_interface__ = OfTheHost.__cuda_array_interface__

    assert np.allclose(tilewright.matmul(a, Both(a)), a @ a)


def test_what_numpy_reads_beside_arrays():
    class Struct:
        def __init__(self, x):
            self.__array_struct__ = x.__array_struct__

    a = np.random.default_rng(9).random((3, 3))
    assert np.array_equal(tilewright.matmul(range(3), a, promote=True), tilewright.matmul(np.arange(3.0), a))
    assert np.array_equal(tilewright.matmul(Struct(a), a), tilewright.matmul(a, a))
    assert np.array_equal(tilewright.matmul(collections.deque([1.0, 2.0, 3.0]), a), tilewright.matmul(np.arange(1.0, 4), a))


def test_types_that_are_gone_are_not_kept():
    def use():
        class Own(np.ndarray):
            pass

        assert tilewright.matmul(np.eye(3).view(Own), np.eye(3), alpha=2).trace() == 6
        return weakref.ref(Own)

    gone = use()
    gc.collect()
    assert gone() is None


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
    """A capsule that was used already."""

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


def test_lazily_conjugated_tensors_in_lists_and_stacks(torch):
    a, b = filled(np.random.default_rng(10), (2, 3, 3), "complex128"), filled(np.random.default_rng(11), (2, 3, 3), "complex128")
    x, y = torch.from_numpy(a), torch.from_numpy(b)
    assert_product(tilewright.grouped_matmul([x.conj()], [y])[0].numpy(), a.conj(), b)
    assert_product(tilewright.grouped_matmul([x], [y.mH], conjugate_a=True)[0].numpy(), a.conj(), np.swapaxes(b.conj(), 1, 2))
    out = torch.zeros_like(x)
    assert_product(tilewright.stack_matmul(x.conj(), y, out, [0, 1], [0, 1], [0, 1]).numpy(), a.conj(), b)


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
    for x, error, says in ((one.clone().requires_grad_(), TypeError, "requires grad"), (one.to_sparse(), TypeError, "layout"),
                           (one.to("meta"), TypeError, "meta"), (one.bfloat16(), TypeError, "bfloat16"),
                           (one.int(), TypeError, "int32")):
        with pytest.raises(error, match=says):
            tilewright.matmul(x, one)
    with pytest.raises(TypeError, match="lazily conjugated"):
        tilewright.matmul(one + 0j, one + 0j, out=(one + 0j).conj())
