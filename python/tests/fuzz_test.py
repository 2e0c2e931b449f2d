"""Random invalid input: whatever the arguments of matmul and einsum, they return what NumPy returns or raise one of Python's own
exceptions with a sentence, and then out is as it was. A crash ends the test run, which is a failure too."""

import string
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tilewright

REFUSALS = (TypeError, ValueError, MemoryError, OverflowError, RuntimeError, OSError, BufferError)
COMMON = {"deadline": None, "suppress_health_check": list(HealthCheck), "derandomize": True}
TYPES = ["f4", "f8", "c8", "c16", "i4", "u1", "?", "f2", "longdouble", "O", "S3", "M8[s]", ">f8", "V8"]


class Pretender:
    """Claims to be an array and is none."""

    def __init__(self, answer):
        self.answer = answer

    @property
    def __array_interface__(self):
        return self.answer

    def __repr__(self):
        return f"Pretender({self.answer!r})"


class BadCapsule:
    """Speaks DLPack badly."""

    def __init__(self, device, capsule):
        self.device, self.capsule = device, capsule

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **_):
        if isinstance(self.capsule, Exception):
            raise self.capsule
        return self.capsule


class OnNoGpu:
    """Says that it lies in the memory of a GPU, at null."""

    def __init__(self, shape):
        self.__cuda_array_interface__ = {"shape": shape, "typestr": "<f8", "data": (0, False), "version": 3}


shapes = st.lists(st.sampled_from([0, 1, 2, 3, 4, 4, 4, 5]), max_size=4).map(tuple)


@st.composite
def arrays(draw):
    """An array of any type, any small shape, and any strides that stay within its memory."""
    shape, kind = draw(shapes), draw(st.sampled_from(TYPES + ["f8"] * 12))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        array = np.arange(int(np.prod(shape, dtype=int)), dtype="f8").reshape(shape)
        try:
            array = array.astype(kind)
        except (TypeError, ValueError):
            array = np.zeros(shape, kind)
    for step in draw(st.lists(st.sampled_from(["flip", "transpose", "broadcast", "gap", "freeze", "byte", "matrix", "masked"]), max_size=3)):
        array = np.asanyarray(changed(array, step))
    return array


def changed(array, step):
    if step == "flip":
        return array[tuple(slice(None, None, -1) for _ in array.shape)]
    if step == "transpose":
        return array.T
    if step == "broadcast":
        return np.broadcast_to(array, (3, *array.shape))
    if step == "gap" and array.ndim:
        return np.repeat(array, 2, axis=-1)[..., ::2]
    if step == "freeze":
        array = np.array(array)
        array.flags.writeable = False
    if step == "byte" and array.dtype.kind in "fc":  # elements that begin at an odd address
        raw = np.zeros(array.nbytes + 1, "u1")[1:].view(array.dtype).reshape(array.shape)
        raw[...] = array
        return raw
    if step == "matrix" and array.ndim == 2:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return np.asmatrix(array)
    if step == "masked" and array.dtype.kind in "fc":
        return np.ma.masked_array(array, np.zeros(array.shape, bool))
    return array


interfaces = st.fixed_dictionaries({}, optional={
    "shape": st.one_of(shapes, st.just((-1, 3)), st.just((2 ** 62, 2 ** 62)), st.just("34"), st.none()),
    "typestr": st.sampled_from(["<f8", ">f8", "<i4", "x", 3]),  # not '|O': NumPy 2.5 itself crashes on it if there are no data
    "strides": st.one_of(st.none(), st.tuples(st.integers(-64, 64)), st.just("x")),
    "version": st.sampled_from([0, 3, "3"])})
things = st.one_of(
    arrays(), st.none(), st.integers(-3, 3), st.floats(allow_nan=True), st.text(max_size=3), st.binary(max_size=16),
    st.builds(object), st.lists(st.lists(st.floats(-1, 1), max_size=3), max_size=3), st.builds(Pretender, interfaces),
    st.builds(OnNoGpu, shapes),
    st.builds(BadCapsule, st.sampled_from([(1, 0), (2, 0), (2, 99), (13, 0), (4, 0), (99, 0), (1,), "cpu", None]),
              st.sampled_from([None, 3, "capsule", BufferError("gone"), RuntimeError("freed")])))
options = st.fixed_dictionaries({}, optional={
    "alpha": st.one_of(st.floats(-2, 2), st.complex_numbers(max_magnitude=2), st.sampled_from(["1", None, [1], 10 ** 400])),
    "beta": st.one_of(st.sampled_from([0, 0.0, 1, -1, 2.5, 1j, "0", None, float("nan")])),
    "threads": st.sampled_from([0, 1, 2, -1, 2 ** 40, "2", None, 1.5]),
    "target": st.sampled_from(["cpu", "auto", "gpu", "tpu", 7, None]),
    "objective": st.sampled_from(["time", "energy", "x", 3, None]),
    "promote": st.booleans(), "out": things, "no_such": st.just(1)})


def frozen(thing):
    """A copy of what out holds, to see afterwards that it is the same."""
    return np.array(thing, copy=True) if isinstance(thing, np.ndarray) and not isinstance(thing, np.ma.MaskedArray) else None


def check_sentence(error):
    text = str(error)
    assert len(text.split()) >= 3, f"{type(error).__name__} without a sentence: '{text}'"
    assert "defect" not in text, text


def run_or_refuse(function, arguments, named):
    """(whether it ran, result). Leaves no trace where it refused."""
    out = named.get("out")
    before = frozen(out)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return True, function(*arguments, **named)
        except REFUSALS as error:
            check_sentence(error)
    if before is not None:
        assert before.tobytes() == np.array(out, copy=True).tobytes(), "out was written to by a call that failed"
    return False, None


flags = st.fixed_dictionaries({}, optional={name: st.booleans() for name in ("transpose_a", "transpose_b", "conjugate_a", "conjugate_b")})


@settings(**COMMON)
@given(things, things, options, flags)
def test_matmul_of_anything(a, b, named, swapped):
    ran, got = run_or_refuse(tilewright.matmul, (a, b), {**named, **swapped})
    if ran and not swapped and not named and isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        assert np.allclose(np.asarray(got), np.matmul(np.asarray(a), np.asarray(b)), rtol=1e-4, equal_nan=True)


@settings(**COMMON)
@given(arrays(), arrays())
def test_matmul_of_any_two_arrays(a, b):
    """Products equal NumPy's in the type of the result; arguments that NumPy cannot multiply are refused."""
    ran, got = run_or_refuse(tilewright.matmul, (a, b), {"promote": True})
    try:
        np.matmul(np.asarray(a), np.asarray(b))
    except (TypeError, ValueError):
        assert not ran, "NumPy refuses these"
        return
    if not ran:
        return
    wanted = np.matmul(*(np.asarray(one).astype(np.asarray(got).dtype) for one in (a, b)))
    assert np.shape(got) == wanted.shape and np.allclose(np.asarray(got), wanted, rtol=1e-3, equal_nan=True)


texts = st.one_of(
    st.text(alphabet="ijk,->. ", max_size=12), st.text(max_size=6), st.sampled_from(["ij,jk", "ij,jk->ik", "...ij,...jk->...ik", "ii,ij->j", "i,j->ij", ""]),
    st.lists(st.text(alphabet=string.ascii_letters[:5], max_size=4), min_size=1, max_size=3).map(",".join))


@settings(**COMMON)
@given(texts, st.lists(things, max_size=3), options)
def test_einsum_of_anything(text, operands, named):
    named = {key: value for key, value in named.items() if key != "no_such"}
    ran, got = run_or_refuse(tilewright.einsum, (text, *operands), named)
    if ran and not named and all(isinstance(one, np.ndarray) for one in operands):
        assert np.allclose(got, np.einsum(text, *operands), rtol=1e-4, atol=1e-4, equal_nan=True)


@st.composite
def contractions(draw):
    """Subscripts that mostly fit the operands drawn with them."""
    sizes = draw(st.fixed_dictionaries({letter: st.sampled_from([1, 2, 3, 3, 4, 0]) for letter in "abc"}))
    parts, operands = [], []
    for _ in range(draw(st.integers(1, 3))):
        labels = draw(st.text(alphabet="abc", max_size=3))
        shape = [draw(st.sampled_from([sizes[letter]] * 12 + [1, 5])) for letter in labels]
        if draw(st.integers(0, 5)) == 0:
            at = draw(st.integers(0, len(labels)))
            labels = labels[:at] + "..." + labels[at:]
            shape[at:at] = draw(st.sampled_from([(), (2,), (1, 2)]))
        parts.append(labels)
        operands.append(np.ones(shape))
    text = ",".join(parts)
    if draw(st.booleans()):
        ellipsis = draw(st.booleans()) if "..." in text else draw(st.integers(0, 15)) == 0
        text += "->" + "..." * ellipsis + "".join(draw(st.lists(st.sampled_from("abc"), unique=draw(st.integers(0, 9)) != 0, max_size=3)))
    return text, operands


@settings(**COMMON)
@given(contractions())
def test_einsum_takes_and_refuses_what_numpy_does(contraction):
    text, operands = contraction
    ran, got = run_or_refuse(tilewright.einsum, (text, *operands), {})
    try:
        wanted = np.einsum(text, *operands)
    except (TypeError, ValueError):
        assert not ran, f"NumPy refuses '{text}' for {[one.shape for one in operands]}"
        return
    assert ran, f"NumPy computes '{text}' for {[one.shape for one in operands]}"
    assert np.shape(got) == np.shape(wanted) and np.allclose(got, wanted)


@pytest.mark.parametrize("shape", [(2 ** 29, 2 ** 29), (2 ** 20, 2 ** 20, 8), (2 ** 58,), (3, 2 ** 57)])
def test_results_that_no_machine_holds(shape):
    huge = np.broadcast_to(np.ones(()), shape)
    with pytest.raises(REFUSALS):
        tilewright.matmul(huge[..., None], np.broadcast_to(np.ones(()), (1, 2 ** 40)))
    with pytest.raises(REFUSALS):
        tilewright.einsum("a,b->ab", np.broadcast_to(np.ones(()), (2 ** 31,)), np.broadcast_to(np.ones(()), (2 ** 31,)))
