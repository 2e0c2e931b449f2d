"""solve, inv, det, slogdet, cholesky and lu_factor of stacks on a GPU against numpy.linalg: one launch per stack on the current stream,
arrays that lie anyhow, leading dimensions that broadcast, matrices without result, and sizes that no kernel serves."""

import numpy as np
import pytest

import tilewright
from tilewright import _core
from device_makers import count, launches, maker  # noqa: F401: a fixture
from layouts import near
from support import DTYPES, filled

RNG = np.random.default_rng(12)


def regular(shape, dtype):
    n = shape[-1]
    return (filled(RNG, shape, dtype) / (2 * n) + np.eye(n)).astype(dtype)[..., RNG.permutation(n), :]


def definite(shape, dtype):
    a = filled(RNG, shape, dtype)
    return (a @ np.conj(np.swapaxes(a, -1, -2)) / shape[-1] + np.eye(shape[-1])).astype(dtype)


def assert_as_numpy(maker, x, a, b):
    dtype = a.dtype.name
    near(maker.get(tilewright.solve(x, maker.put(b))), np.linalg.solve(a, b), dtype)
    near(maker.get(tilewright.inv(x)), np.linalg.inv(a), dtype)
    near(maker.get(tilewright.det(x)), np.linalg.det(a), dtype, 2000)
    for got, wanted in zip(tilewright.slogdet(x), np.linalg.slogdet(a)):
        near(maker.get(got), wanted, dtype)
    factors = tilewright.lu_factor(x)
    assert factors.report == {"routine": "getrf_batched"} and not np.any(factors.info)
    assert str(factors.pivots.dtype).endswith("int64")
    near(maker.get(factors.solve(maker.put(b))), np.linalg.solve(a, b), dtype)
    near(maker.get(factors.solve(maker.put(b), transpose=True, conjugate=True)), np.linalg.solve(np.conj(a.swapaxes(-1, -2)), b), dtype)
    near(maker.get(factors.inverse()), np.linalg.inv(a), dtype)
    near(maker.get(x), a, dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_stacks_that_lie_anyhow(maker, dtype):
    for n in (1, 2, 5, 16):
        a, b = regular((7, n, n), dtype), filled(RNG, (7, n, 3), dtype)
        assert_as_numpy(maker, maker.put(a), a, b)
        assert_as_numpy(maker, maker.swap(maker.put(a.swapaxes(-1, -2).copy())), a, b)
        spread = maker.put(np.repeat(np.repeat(a, 2, axis=-1), 2, axis=0))
        assert_as_numpy(maker, spread[::2, :, ::2], a, b)
        s = definite((7, n, n), dtype)
        for upper in (False, True):
            wanted = np.linalg.cholesky(s)
            got = maker.get(tilewright.cholesky(maker.put(s), upper=upper))
            near(got, np.conj(wanted.swapaxes(-1, -2)) if upper else wanted, dtype)


def test_one_matrix(maker):
    a, s = regular((6, 6), "float64"), definite((6, 6), "float64")
    near(maker.get(tilewright.inv(maker.put(a))), np.linalg.inv(a), "float64")
    near(maker.get(tilewright.det(maker.put(a))), np.linalg.det(a), "float64", 2000)
    near(maker.get(tilewright.cholesky(maker.put(s))), np.linalg.cholesky(s), "float64")
    for got, wanted in zip(tilewright.slogdet(maker.put(a)), np.linalg.slogdet(a)):
        near(maker.get(got), wanted, "float64")


@pytest.mark.parametrize("a_batch, b_batch", [
    ((4,), ()), ((), (4,)), ((4, 1), (5,)), ((1,), (4, 3)), ((2, 1, 3), (1, 5, 1)), ((2, 3), (1, 2, 3)), ((0,), ()), ((), (0, 2)), ((3, 0), (1, 1))])
def test_leading_dimensions_broadcast(maker, a_batch, b_batch):
    a, b = regular((*a_batch, 3, 3), "float64"), filled(RNG, (*b_batch, 3, 2), "float64")
    wanted = np.linalg.solve(a, b)
    near(maker.get(tilewright.solve(maker.put(a), maker.put(b))), wanted, "float64")
    near(maker.get(tilewright.lu_factor(maker.put(a)).solve(maker.put(b))), wanted, "float64")
    vector = filled(RNG, (3,), "float64")
    near(maker.get(tilewright.solve(maker.put(a), maker.put(vector))), np.linalg.solve(a, vector), "float64")


def test_a_stack_is_one_launch_on_the_current_stream(maker):
    a, s, b = regular((3, 50, 4, 4), "float64"), definite((3, 50, 4, 4), "float64"), filled(RNG, (3, 50, 4, 2), "float64")
    x, y, z = maker.put(a), maker.put(s), maker.put(b)
    factors = tilewright.lu_factor(x)
    stream = maker.stream()
    for call, wanted in ((lambda: tilewright.solve(x, z), np.linalg.solve(a, b)), (lambda: tilewright.inv(x), np.linalg.inv(a)),
                         (lambda: tilewright.det(x), np.linalg.det(a)), (lambda: tilewright.cholesky(y), np.linalg.cholesky(s)),
                         (lambda: tilewright.slogdet(x).logabsdet, np.linalg.slogdet(a).logabsdet),
                         (lambda: factors.solve(z), np.linalg.solve(a, b)), (lambda: factors.inverse(), np.linalg.inv(a))):
        call()  # which may compile
        before = launches()
        with maker.on(stream):
            made = call()
        assert before is None or launches() == before + 1
        stream.synchronize()
        near(maker.get(made), wanted, "float64", 2000)
    waits, made = count("synchronize"), tilewright.det(x)
    assert waits is None or count("synchronize") == waits
    near(maker.get(made), np.linalg.det(a), "float64", 2000)


def test_matrices_without_result_become_nan(maker):
    a = regular((3, 4, 2, 2), "float64")
    a[1, 2] = [[1, 2], [2, 4]]
    x, ones, others = maker.put(a), maker.put(np.ones((2, 1))), np.arange(12).reshape(3, 4) != 6
    factors = tilewright.lu_factor(x)
    assert np.array_equal(factors.info, np.where(others, 0, 2))
    for made in (tilewright.solve(x, maker.put(np.ones((3, 4, 2, 1)))), tilewright.inv(x), factors.inverse()):
        got = maker.get(made)
        assert np.isnan(got[1, 2]).all() and np.isfinite(got[others]).all()
    assert not np.isfinite(maker.get(factors.solve(ones))[1, 2]).all()
    assert maker.get(tilewright.det(x))[1, 2] == 0
    sign, log = (maker.get(one) for one in tilewright.slogdet(x))
    assert sign[1, 2] == 0 and log[1, 2] == -np.inf and np.isfinite(log[others]).all()
    s = definite((4, 3, 3), "complex128")
    s[2, 1, 1] = -1
    factor = maker.get(tilewright.cholesky(maker.put(s)))
    assert np.isnan(factor[2]).all() and np.isfinite(factor[[0, 1, 3]]).all()


@pytest.mark.parametrize("shape", [(0, 0), (0, 3, 3), (3, 0, 0), (2, 0, 4, 4)])
def test_matrices_without_elements(maker, shape):
    a = np.zeros(shape, "float32")
    x = maker.put(a)
    for name in ("inv", "det", "cholesky"):
        near(maker.get(getattr(tilewright, name)(x)), getattr(np.linalg, name)(a), "float32")
    for got, wanted in zip(tilewright.slogdet(x), np.linalg.slogdet(a)):
        near(maker.get(got), wanted, "float32")
    factors = tilewright.lu_factor(x)
    assert factors.lu.shape == shape and factors.pivots.shape == shape[:-1] and not np.any(factors.info)
    assert factors.inverse().shape == shape


def test_stacks_that_no_kernel_serves(maker, monkeypatch):
    def refuse(*_, **__):
        raise NotImplementedError("no candidate")

    stack = maker.put(regular((3, 5, 5), "float64"))
    for name, core, what in (("inv", "inv", r" \(solve with the identity computes their inverses\)"), ("det", "det", r" \(slogdet computes them\)"),
                             ("cholesky", "potrf", "")):
        with monkeypatch.context() as patched:
            patched.setattr(_core, core, refuse)
            with pytest.raises(NotImplementedError, match=rf"^no candidate{what}$"):
                getattr(tilewright, name)(stack)
    # Few large matrices are faster one after the other.
    assert "plan" in tilewright.lu_factor(maker.put(filled(RNG, (1, 300, 20), "float64"))).report
    for shape in ((2, 4, 7), (2, 7, 4)):
        assert tilewright.lu_factor(maker.put(filled(RNG, shape, "float64"))).report == {"routine": "getrf_batched"}
    a, b = regular((5, 6, 6), "float64"), filled(RNG, (5, 6, 2), "float64")
    x, z, wanted = maker.put(a), maker.put(b), np.linalg.solve(a, b)
    monkeypatch.setattr(_core, "gesv", refuse)
    near(maker.get(tilewright.solve(x, z)), wanted, "float64")
    monkeypatch.setattr(_core, "getrs", refuse)
    near(maker.get(tilewright.lu_factor(x).solve(z)), wanted, "float64")
    monkeypatch.setattr(_core, "getrf", refuse)
    near(maker.get(tilewright.solve(x, z)), wanted, "float64")
    near(maker.get(tilewright.slogdet(x).logabsdet), np.linalg.slogdet(a).logabsdet, "float64")


@pytest.mark.parametrize("name", ["inv", "det", "slogdet", "cholesky", "lu_factor", "solve"])
def test_what_is_refused(maker, name):
    call = (lambda a, **options: tilewright.solve(a, a, **options)) if name == "solve" else getattr(tilewright, name)
    for shape in ((2, 3, 3), (0, 3, 3)):
        with pytest.raises(ValueError, match="threads = -1"):
            call(maker.put(np.broadcast_to(np.eye(3), shape).copy()), threads=-1)
    with pytest.raises(TypeError, match="element type int64 of a is not supported"):
        call(maker.put(np.ones((2, 3, 3), np.int64)))
    if name != "lu_factor":
        with pytest.raises(np.linalg.LinAlgError, match="must be square"):
            call(maker.put(np.ones((2, 3, 4))))


def test_arrays_in_two_places_are_refused(maker):
    x = maker.put(np.ones((2, 3, 3)))
    with pytest.raises((ValueError, TypeError), match="b is (in host memory|an array of numpy)"):
        tilewright.solve(x, np.ones((3, 1)))
