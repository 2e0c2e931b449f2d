"""Wrong input is an exception with a sentence, and leaves out as it was."""

import warnings

import numpy as np
import pytest

import tilewright

ONE = np.ones((4, 4))


def overlapping_rows():
    return np.lib.stride_tricks.as_strided(np.ones(16), (4, 4), (8, 8))


@pytest.mark.parametrize("arguments, options, error, says", [
    ((np.float64(1), ONE), {}, ValueError, "a has no dimensions"),
    ((ONE, np.array(2.0)), {}, ValueError, "b has no dimensions"),
    ((ONE, ONE.astype(np.float32)), {}, TypeError, "a and b differ: float64 and float32 .*promote=True"),
    ((ONE.astype(int), ONE.astype(int)), {}, TypeError, "int64"),
    ((ONE.astype(np.longdouble), ONE), {"promote": True}, TypeError, "float128|longdouble"),
    ((ONE.astype(object), ONE), {}, TypeError, "object"),
    ((ONE.astype(object), ONE), {"promote": True}, TypeError, "object"),
    ((np.array([["a"]]), ONE), {}, TypeError, "<U1"),
    ((ONE[:3], ONE[:3]), {}, ValueError, r"\(3, 4\) and b \(3, 4\) do not fit"),
    ((np.ones((2, 4, 4)), np.ones((3, 4, 4))), {}, ValueError, r"\(2,\) and \(3,\), do not broadcast"),
    ((ONE, np.ones(3)), {}, ValueError, "do not fit"),
    ((ONE, ONE, np.ones((4, 5))), {}, ValueError, r"out has the shape \(4, 5\)"),
    ((ONE, ONE, np.ones((4, 4), np.float32)), {}, TypeError, "out has the element type float32"),
    ((ONE, ONE, np.ones((1, 4, 4))), {}, ValueError, "out has the shape"),
    ((ONE, ONE, [[0.0] * 4] * 4), {}, TypeError, "out is of type list"),
    ((ONE, ONE), {"beta": 1}, ValueError, "beta = 1 needs out"),
    ((ONE, ONE), {"alpha": 1j}, ValueError, "alpha = .* complex"),
    ((ONE, ONE), {"alpha": "2"}, TypeError, "alpha is of type str"),
    ((ONE, ONE), {"target": "tpu"}, ValueError, "target = 'tpu' is not one of auto, cpu, gpu, hybrid"),
    ((ONE, ONE), {"objective": "speed"}, ValueError, "objective = 'speed' is not one of"),
    ((ONE, ONE), {"objective": "alpha=x"}, ValueError, "is not one of time"),
    ((ONE, ONE), {"threads": -1}, ValueError, "threads = -1"),
    ((ONE, ONE), {"threads": 1.5}, TypeError, "threads is of type float"),
    ((ONE, ONE), {"threds": 1}, TypeError, "unknown option 'threds' .did you mean 'threads'"),
    ((ONE, ONE), {"transB": True}, TypeError, "unknown option 'transB' .did you mean 'transpose_b'"),
    ((ONE.astype(int), ONE.astype(int)), {}, TypeError, "^element type int64 of a and b is not supported .use float32"),
    ((ONE, ONE), {"candidate": "nobody"}, Exception, "nobody"),
    ((ONE, ONE), {"stream": 1}, ValueError, "stream"),
    ((object(), ONE), {}, TypeError, "a is of type object, which is not an array"),
    ((ONE, None), {}, TypeError, "b is of type NoneType"),
    ((np.ma.masked_array(ONE, ONE > 0), ONE), {}, TypeError, "masked"),
])
def test_wrong_input_is_refused_in_a_sentence(arguments, options, error, says):
    with pytest.raises(error, match=says):
        tilewright.matmul(*arguments, **options)


def test_ragged_lists_are_refused():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises((TypeError, ValueError)):
            tilewright.matmul([[1.0, 2.0], [3.0]], ONE)


def test_read_only_out_is_refused_and_stays():
    out = np.zeros((4, 4))
    out.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        tilewright.matmul(ONE, ONE, out=out)
    assert not out.any()


def test_a_result_that_no_memory_holds_is_an_exception():
    wide = np.lib.stride_tricks.as_strided(np.ones(1), (2 ** 33, 1), (0, 8))
    with pytest.raises((MemoryError, ValueError)):
        tilewright.matmul(wide, wide.T)
    with pytest.raises((MemoryError, ValueError)):
        tilewright.matmul(np.broadcast_to(ONE, (2 ** 60, 4, 4)), ONE)


def test_operands_whose_rows_overlap_are_copied():
    hankel = overlapping_rows()
    assert np.array_equal(tilewright.matmul(hankel, ONE), hankel @ ONE)


@pytest.mark.parametrize("shape, strides", [((4, 4), (0, 8)), ((4, 4), (8, 8)), ((3, 4, 4), (0, 32, 8)), ((3, 4, 4), (8, 32, 8)),
                                            ((2, 3, 4, 4), (32, 128, 32, 8)), ((3, 4, 4), (4, 320, 32))])
def test_an_out_whose_elements_lie_on_each_other_is_refused_and_stays(shape, strides):
    memory = np.zeros(400, np.float32).view(np.float64)
    out = np.lib.stride_tricks.as_strided(memory, shape, strides)
    a = np.ones(shape)
    calls = [lambda: tilewright.matmul(a, ONE, out), lambda: tilewright.matmul(a, ONE, out, alpha=2),
             lambda: tilewright.einsum("...ij,jk->...ik", a, ONE, out=out), lambda: tilewright.einsum("...->...", a, out=out),
             lambda: tilewright.grouped_matmul([a], [ONE], [out])]
    if len(shape) == 2:
        calls.append(lambda: tilewright.batch_reduce(a[None], ONE, out))
    if len(shape) == 3:
        calls.append(lambda: tilewright.stack_matmul(a, a, out, [0, 1], [0, 1], [0, 1]))
        calls.append(lambda: tilewright.interleave(a, 2).deinterleave(out))
    for call in calls:
        with pytest.raises(ValueError, match="elements of out overlap"):
            call()
        assert not memory.any()


def test_an_out_whose_matrices_interleave_is_written_to():
    """Their extents meet, their elements do not."""
    memory = np.zeros((4, 3, 4))
    assert np.array_equal(tilewright.matmul(np.stack([ONE] * 3), ONE, memory.swapaxes(0, 1)), np.full((3, 4, 4), 4.0))
    assert np.all(memory == 4)
    out = np.lib.stride_tricks.as_strided(np.zeros(16), (2, 3, 2), (6 * 8, 4 * 8, 8))  # the strides give no order
    assert np.all(tilewright.matmul(np.ones((2, 3, 4)), ONE[:, :2], out) == 4)


def test_unaligned_and_swapped_arrays_are_copied():
    raw = np.zeros(16 * 8 + 1, np.uint8)
    unaligned = raw[1:].view(np.float64).reshape(4, 4)
    unaligned[...] = ONE
    assert not unaligned.flags.aligned
    assert np.array_equal(tilewright.matmul(unaligned, ONE), ONE @ ONE)
    tilewright.matmul(ONE, ONE, out=unaligned)
    assert np.array_equal(unaligned, ONE @ ONE)
    swapped = ONE.astype(ONE.dtype.newbyteorder())
    assert np.array_equal(tilewright.matmul(swapped, ONE), ONE @ ONE)
    pairs = np.zeros((4, 4), [("x", "f4"), ("y", "f8")])
    pairs["y"] = 2
    assert np.array_equal(tilewright.matmul(pairs["y"], ONE), 2 * ONE @ ONE)
