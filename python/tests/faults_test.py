"""Faults that callers make elsewhere than in matmul's own arguments (errors_test.py): objects that lie about what they are, factors,
flags and options of every function, sums over nothing, records and searches used wrongly. Each is refused in a sentence that names
the argument, or right."""

import ctypes
import os
import struct
import tempfile

import numpy as np
import pytest

import tilewright

ONE = np.ones((4, 4))
STACK = np.ones((3, 4, 4))
BLOCKS = tilewright.interleave(STACK, 2)
HELD = []  # memory that capsules point to
PROBLEM = "gemm_batched:f64:nn:m=4,n=4,k=4:strided:batch=10"


def masked():
    return np.ma.masked_array(np.zeros((4, 4)), np.eye(4) > 0)


def read_only(shape):
    x = np.zeros(shape)
    x.flags.writeable = False
    return x


class Says:
    """Has an __array_interface__ of the object, not of its class."""

    def __init__(self, x, **other):
        self.owner = x
        self.__array_interface__ = {**x.__array_interface__, **other}


class OnGpu:
    def __init__(self, told):
        self.__cuda_array_interface__ = told


def on_gpu(**other):
    return OnGpu({"shape": (4, 4), "typestr": "<f8", "data": (4096, False), "version": 3, **other})


class Dlpack:
    def __init__(self, device=(1, 0), make=ONE.__dlpack__):
        self.device, self.make = device, make

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **_):
        return self.make()


def stacked(**other):
    indices = {"a_index": [0], "b_index": [0], "out_index": [0]}
    return tilewright.stack_matmul(**{"a": STACK, "b": STACK, "out": np.zeros((3, 4, 4)), **indices, **other})


def other_count():
    blocks = tilewright.interleave(STACK, 2)
    blocks.count = 10 ** 6
    return blocks


def other_type():
    blocks = tilewright.interleave(STACK, 2)
    blocks.data = blocks.data.astype("f4")
    return blocks


def null_capsule(versioned):
    """A capsule of a 3x3 tensor whose elements are nowhere."""
    sizes = np.array([3, 3], np.int64), np.array([3, 1], np.int64)
    tensor = struct.pack("@QiiiBBHQQQ", 0, 1, 0, 2, 2, 64, 1, sizes[0].ctypes.data, sizes[1].ctypes.data, 0)
    whole = struct.pack("@IIQQQ", 1, 0, 0, 0, 0) + tensor if versioned else tensor + struct.pack("@QQ", 0, 0)
    held = ctypes.create_string_buffer(whole, len(whole))
    HELD.append((sizes, held))
    make = ctypes.pythonapi.PyCapsule_New
    make.restype, make.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    return make(ctypes.addressof(held), b"dltensor_versioned" if versioned else b"dltensor", None)


class Bare:
    def __len__(self):
        return 4

    def __getitem__(self, index):
        return [object()][index]


class NoDevice:
    def __dlpack__(self, **options):
        return ONE.__dlpack__(**options)


def written_interleaved():
    out = tilewright.interleave(STACK, 2)
    out.data.flags.writeable = False
    return out


t = tilewright
CASES = [
    # objects that claim to be an array
    (lambda: t.matmul(Says(ONE, typestr="<f9"), ONE), TypeError, "^a, of type Says, is not an array"),
    (lambda: t.matmul(ONE, Says(ONE, shape=(4, -4))), ValueError, "^b, of type Says, is not an array"),
    (lambda: t.matmul(ONE, Says(ONE, strides=(32,))), ValueError, "^b, of type Says, is not an array"),
    (lambda: t.matmul(Says(ONE, data=(None, False)), ONE), TypeError, "^a, of type Says, is not an array"),
    (lambda: t.matmul(ONE, ONE, out=masked()), TypeError, "out is a masked array"),
    (lambda: t.einsum("ij,jk", ONE, ONE, out=masked()), TypeError, "out is a masked array"),
    *((lambda told=told: t.matmul(OnGpu(told), on_gpu(), out=on_gpu()), TypeError, "__cuda_array_interface__ of a is of type")
      for told in (None, "x", 7)),
    *((lambda entry=entry, value=value: t.matmul(on_gpu(), on_gpu(**{entry: value}), out=on_gpu()), TypeError,
       f"__cuda_array_interface__ of b has .* for {entry}")
      for entry, value in [("shape", None), ("shape", (4, -4)), ("shape", ("x", 4)), ("shape", (2 ** 70, 4)), ("typestr", None),
                           ("typestr", "<f9"), ("data", None), ("data", (1,)), ("data", (-5, False)), ("data", (2 ** 70, False)),
                           ("strides", (8,)), ("strides", "ab"), ("stream", "x"), ("stream", -1)]),
    *((lambda name=name: t.matmul(**{**{one: on_gpu() for one in ("a", "b", "out")}, name: on_gpu(data=(0, False))}), ValueError,
       f"^{name} has elements at the address 0") for name in ("a", "b", "out")),
    (lambda: t.matmul(on_gpu(typestr=">f8"), on_gpu(), out=on_gpu()), TypeError, "a has .* >f8, whose byte order"),
    *((lambda device=device: t.matmul(Dlpack(device), ONE), TypeError, "^a, of type Dlpack, says that it lies on the device")
      for device in ((), (1,), (1, 0, 3), None, "cpu", ("x", 0), 1)),
    (lambda: t.matmul(Dlpack((2, 0)), ONE), TypeError, "^a, of type Dlpack, provides no array by DLPack: .*device of type 1"),
    *((lambda versioned=versioned: t.matmul(Dlpack(make=lambda: null_capsule(versioned)), np.eye(3)), ValueError, "a has elements .* null")
      for versioned in (False, True)),
    (lambda: t.matmul(ONE, NoDevice()), TypeError, "b, of type NoDevice, has __dlpack__ but no __dlpack_device__"),
    (lambda: t.matmul(ONE, ONE, out=Dlpack()), ValueError, "out is read-only: NumPy treats .* older than version 1.0"),
    *((lambda x=x: t.matmul(x, ONE), TypeError, "a is of type (str|dict|set|map|Bare), which is not an array")
      for x in ("abcd", {0: 1.0}, {1.0}, map(float, range(4)), Bare())),
    # factors, flags and streams of every function
    *((lambda alpha=alpha: t.matmul(ONE, ONE, alpha=alpha), TypeError, "alpha is of type") for alpha in (None, "2", [1], np.ones(1), b"1")),
    (lambda: t.matmul(ONE, ONE, alpha=10 ** 400), ValueError, "alpha is a whole number out of the range"),
    (lambda: t.einsum("ij->ji", ONE, alpha=10 ** 400), ValueError, "alpha is a whole number out of the range"),
    (lambda: t.grouped_matmul([ONE], [ONE], alpha="x"), TypeError, "alpha is of type str"),
    (lambda: t.grouped_matmul([ONE], [ONE], alpha=1j), ValueError, "alpha = 1j is complex"),
    (lambda: t.grouped_matmul([ONE, ONE], [ONE, ONE], [np.zeros((4, 4)), None], beta=1), ValueError, "beta = 1 needs out"),
    (lambda: t.batch_reduce(STACK, ONE, beta=None), TypeError, "beta is of type NoneType"),
    (lambda: stacked(alpha=1j), ValueError, "alpha = 1j is complex"),
    (lambda: stacked(beta="x"), TypeError, "beta is of type str"),
    (lambda: t.matmul_interleaved(BLOCKS, BLOCKS, alpha=1j), ValueError, "alpha = 1j is complex"),
    (lambda: t.problem_of(ONE, ONE, alpha="x"), TypeError, "alpha is of type str"),
    (lambda: t.matmul(ONE, ONE, transpose_a="no"), TypeError, "transpose_a = 'no' is not one of True, False"),
    (lambda: t.matmul(ONE, ONE, conjugate_b=np.ones(2)), TypeError, "conjugate_b = .* is not one of True, False"),
    (lambda: t.solve(ONE, ONE, promote=2), TypeError, "promote = 2 is not one of True, False"),
    (lambda: t.matmul(ONE, ONE, stream="x"), TypeError, "stream is of type str"),
    (lambda: t.matmul(ONE, ONE, stream=-1), ValueError, "stream = -1 is negative"),
    (lambda: t.grouped_matmul([ONE], [ONE], stream=5), ValueError, "stream = 0x5 is given"),
    (lambda: t.batch_reduce(STACK, ONE, stream="x"), TypeError, "stream is of type str"),
    (lambda: t.matmul_interleaved(BLOCKS, BLOCKS, stream=5), ValueError, "stream = 0x5 is given"),
    # options
    (lambda: t.matmul(ONE, ONE, gpus=1), TypeError, "gpus is of type int"),
    (lambda: t.matmul(ONE, ONE, gpus="ab"), TypeError, "gpus is of type str"),
    (lambda: t.matmul(ONE, ONE, gpus=[0.5]), TypeError, r"gpus\[0\] is of type float"),
    (lambda: t.matmul(ONE, ONE, gpus=[0, 999]), ValueError, r"gpus\[.\] = (0|999), but there (is|are) \w+ GPU"),
    *((lambda options=options: t.matmul(ONE, ONE, **options), error, says) for options, error, says in [
        ({"threads": 1, "cpu_share": "x", "residency": "l2"}, TypeError, "^cpu_share is of type str"),
        ({"threads": 2 ** 40}, ValueError, "^threads = 1099511627776 must be at most"),
        ({"target": None}, TypeError, "^target is of type NoneType"),
        ({"objective": ["time"]}, TypeError, "^objective is of type list"),
        ({"checked": "yes"}, TypeError, "^checked = 'yes' is not one of True, False"),
        ({"target": "cpu\0"}, ValueError, "^target = 'cpu.x00' contains a null character"),
        ({"objective": "alpha=7"}, ValueError, "^objective = 7"),
        ({"tune_on_miss_s": -1}, ValueError, "^tune_on_miss_s = -1")]),
    (lambda: t.matmul(ONE, ONE, candidate="gemm\0x"), ValueError, "candidate = .* null character"),
    *((lambda value=value: t.einsum("ij->ji", ONE, promote=value), TypeError, "promote = .* is not one of True, False") for value in ("no", 3)),
    (lambda: t.einsum("ij,jk", np.ma.masked_array(ONE), ONE), TypeError, "pass the result of its filled"),
    (lambda: t.einsum("ij->ji", ONE, threads=-1), ValueError, "threads = -1"),
    (lambda: t.einsum("ij->ji", ONE, thread=1), TypeError, "unknown option 'thread'"),
    *((lambda path=path: t.einsum("ij,jk,kl->il", ONE, ONE, ONE, optimize=path), TypeError, "einsum optimize: .* is not a word")
      for path in (3, None, [("a", "b")], [[[0], [1]]])),
    (lambda: t.einsum(ONE, [0, 1.5], ONE, [1.5, 2]), TypeError, "label 1.5 of a sublist"),
    # lists and blocks
    (lambda: t.grouped_matmul(3, [ONE]), TypeError, "a is of type int"),
    (lambda: t.variable_matmul([ONE], None), TypeError, "b is of type NoneType"),
    (lambda: t.variable_matmul([[1.0, 2.0]], [[[1.0], [2.0]]]), ValueError, r"problem 0: a has the shape \(2,\)"),
    (lambda: stacked(b=np.ones((2, 5, 4)), a_index=[], b_index=[], out_index=[]), ValueError, "do not fit"),
    (lambda: stacked(out=np.ones((3, 4, 5)), a_index=[], b_index=[], out_index=[]), ValueError, "do not fit"),
    (lambda: stacked(a_index=np.array([2 ** 63], np.uint64)), IndexError, "a_index contains 9223372036854775808"),
    # systems
    (lambda: t.lu_factor(ONE, nb="x"), TypeError, "nb is of type str"),
    (lambda: t.lu_factor(ONE, threads=2.5), TypeError, "threads is of type float"),
    (lambda: t.lu_factor(ONE, threads=2 ** 40), ValueError, "threads = 1099511627776 must be at most"),
    (lambda: t.solve(np.eye(4), None), TypeError, "b is of type NoneType"),
    (lambda: t.lu_factor(ONE.astype(int)), TypeError, "^element type int64 of a is not supported"),
    (lambda: t.solve(ONE.astype(int), ONE), TypeError, "^element type int64 of a is not supported"),
    (lambda: t.solve(ONE, ONE, foo=1), TypeError, "^unknown option 'foo' .expected one of target"),
    (lambda: t.inv(ONE, foo=1), TypeError, "^unknown option 'foo' .expected one of target"),
    (lambda: t.inv(3.0), ValueError, r"a has the shape \(\)"),
    (lambda: t.inv(None), TypeError, "a is of type NoneType"),
    # interleaved batches
    (lambda: t.interleave(STACK, "half"), TypeError, "block is of type str"),
    (lambda: t.interleave(STACK.astype(int)), TypeError, "^element type int64 of a is not supported .*complex128\\)"),
    (lambda: t.interleave(STACK, 2 ** 61), ValueError, "^block = 2305843009213693952"),
    (lambda: t.matmul_interleaved(BLOCKS, BLOCKS, out=BLOCKS), ValueError, "^out must not share memory with a"),
    (lambda: t.matmul_interleaved(t.interleave(STACK, 2), BLOCKS, out=BLOCKS), ValueError, "^out must not share memory with b"),
    (lambda: t.interleave(STACK, 2.5), TypeError, "block is of type float"),
    (lambda: t.interleave(STACK, threads="x"), TypeError, "threads is of type str"),
    (lambda: BLOCKS.deinterleave(out=[1]), TypeError, "out is of type list"),
    (lambda: BLOCKS.deinterleave(out=read_only((3, 4, 4))), ValueError, "out is read-only"),
    (lambda: BLOCKS.deinterleave(out=np.zeros((3, 4, 5))), ValueError, "but must be an array"),
    (lambda: t.matmul_interleaved(other_type(), BLOCKS), TypeError, "data of a has the element type float32, but the batch has float64"),
    (lambda: t.matmul_interleaved(BLOCKS, other_type()), TypeError, "data of b has the element type float32"),
    (lambda: t.matmul_interleaved(BLOCKS, BLOCKS, out=other_type()), TypeError, "data of out has the element type float32"),
    (lambda: other_type().deinterleave(), TypeError, "data of the batch has the element type float32"),
    (lambda: other_count().deinterleave(), ValueError, "^data is not a vector of the .* elements that are needed"),
    (lambda: t.matmul_interleaved(BLOCKS, STACK), TypeError, "b is of type ndarray"),
    (lambda: t.matmul_interleaved(BLOCKS, BLOCKS, out=STACK), TypeError, "out is of type ndarray"),
    (lambda: t.matmul_interleaved(BLOCKS, BLOCKS, out=written_interleaved()), ValueError, "out is read-only"),
    # problems, records, searches
    (lambda: t.problem_of(ONE, ONE, out=[1]), TypeError, "out is of type list"),
    (lambda: t.problem_of(ONE, ONE, out=np.zeros((4, 4), np.float32)), TypeError, "out has the element type float32"),
    (lambda: t.explain(PROBLEM, device="x"), TypeError, "device is of type str"),
    *((lambda call=call: call(PROBLEM, device=999), ValueError, r"^device = 999, but there (is|are) \w+ GPU")
      for call in (t.explain, t.prepare, t.tune)),
    (lambda: t.explain(PROBLEM, ONE), TypeError, "b needs an array a"),
    (lambda: t.explain(PROBLEM + "\0"), ValueError, "null character"),
    (lambda: t.prepare(3), TypeError, "a problem is of type int"),
    (lambda: t.prepare(PROBLEM, device=-1), ValueError, "device = -1 is negative"),
    (lambda: t.tune({}), TypeError, "a problem is of type dict"),
    (lambda: t.tune({"problem": 3}), TypeError, "problem of a row is of type int"),
    (lambda: t.tune(b"x"), TypeError, "a problem is of type bytes"),
    (lambda: t.tune(PROBLEM, budget_s="x"), TypeError, "budget_s is of type str"),
    (lambda: t.explain("gemm:f64\ud800"), ValueError, "part of a character"),
    (lambda: t.matmul(Says(np.ones((2, 2)), strides=(2 ** 64, 8)), np.ones((2, 2))), ValueError, "^a, of type Says, is not an array"),
    (lambda: t.tune(PROBLEM, strategy="best"), ValueError, "^strategy = 'best'"),
    (lambda: t.tune(PROBLEM, progress=3), TypeError, "progress is of type int"),
    (lambda: t.tune(PROBLEM, log=3), TypeError, "log is of type int"),
    (lambda: t.tune(PROBLEM, log="/nowhere/x"), OSError, "^log = '/nowhere/x'"),
    (lambda: t.record(3), TypeError, "path is of type int"),
    (lambda: t.record().__exit__(None, None, None), RuntimeError, "not in use by a block"),
    (lambda: t.wisdom.list("--help"), ValueError, "problem = '--help' begins with a dash"),
    (lambda: t.wisdom.import_(3), TypeError, "a file is of type int"),
    (lambda: t.bench("-h"), ValueError, "family = '-h' begins with a dash"),
    (lambda: t.wisdom.import_(), TypeError, "at least one file"),
    (lambda: t.wisdom.diff(), TypeError, "at least one file"),
    (lambda: t.wisdom.export(path=3.5), TypeError, "path is of type float"),
    *((lambda call=call, name=name: call(**{name: True}), TypeError, f"takes no '{name}'")
      for call in (t.info, t.bench, t.calibrate) for name in ("help", "json", "version")),
    (lambda: t.info(foo_bar=1), ValueError, "^unknown keyword 'foo_bar'"),
    (lambda: t.info(measure="x"), TypeError, "measure = 'x' is not one of True, False"),
    (lambda: t.calibrate(quick="x"), TypeError, "quick = 'x' is not one of True, False"),
    (lambda: t.bench(sizes="a\0b"), ValueError, "null character"),
]


@pytest.mark.parametrize("call, error, says", CASES)
def test_is_refused(call, error, says):
    with pytest.raises(error, match=says) as raised:
        call()
    assert "incompatible function arguments" not in str(raised.value)


def test_what_an_object_of_its_own_says_is_read():
    x = np.random.default_rng(1).random((4, 4))
    assert np.array_equal(tilewright.matmul(Says(x), ONE), tilewright.matmul(x, ONE))
    with pytest.raises(TypeError, match="is not an array"):
        says_nothing = Says(x)
        del says_nothing.__array_interface__
        tilewright.matmul(says_nothing, ONE)


def test_a_capsule_is_used_once():
    class Once:
        def __init__(self, x):
            self.capsule = x.__dlpack__()

        def __dlpack_device__(self):
            return 1, 0

        def __dlpack__(self, **_):
            return self.capsule

    once = Once(ONE.copy())
    assert np.array_equal(tilewright.matmul(once, ONE), ONE @ ONE)
    with pytest.raises(TypeError, match="^a, of type Once, provides no array by DLPack"):
        tilewright.matmul(once, ONE)


@pytest.mark.parametrize("error", [KeyError, OSError, KeyboardInterrupt])
def test_errors_of_a_maker_are_passed_on(error):
    def fail():
        raise error("the maker's own")

    with pytest.raises(error, match="the maker's own"):
        tilewright.matmul(Dlpack(make=fail), ONE)


def test_what_subclasses_say_of_themselves_counts_for_nothing_but_shapes():
    class Lies(np.ndarray):
        shape = property(lambda self: (2, 2))
        strides = property(lambda self: (800, 800))

    x = np.random.default_rng(2).random((4, 4))
    assert np.allclose(tilewright.matmul(x.view(Lies), ONE), x @ ONE)
    with pytest.raises(ValueError, match="out has the shape"):
        tilewright.matmul(x, ONE, out=np.zeros((4, 4)).view(Lies))


def test_memory_maps():
    x = np.random.default_rng(3).random((4, 4))
    with tempfile.NamedTemporaryFile() as file:
        held = np.memmap(file.name, "f8", "w+", shape=(4, 4))
        held[...] = x
        assert np.allclose(tilewright.matmul(np.memmap(file.name, "f8", "r", shape=(4, 4)), ONE), x @ ONE)
        with pytest.raises(ValueError, match="out is read-only"):
            tilewright.matmul(ONE, ONE, out=np.memmap(file.name, "f8", "r", shape=(4, 4)))
        assert tilewright.matmul(x, x, out=held) is held and np.allclose(held, x @ x)


@pytest.mark.parametrize("batch", [(0,), (0, 2), (2, 0)])
@pytest.mark.parametrize("b", [np.ones((4, 5)), None])
def test_a_sum_of_no_products(batch, b):
    a, b = np.ones((*batch, 3, 4)), np.ones((*batch, 4, 5)) if b is None else b
    assert not tilewright.batch_reduce(a, b).any()
    out = np.full((3, 5), 7.0)
    assert np.all(tilewright.batch_reduce(a, b, out=out, beta=2) == 14)
    assert not tilewright.batch_reduce(a * 1j, b * 1j, conjugate_a=True).any()
    assert tilewright.batch_reduce(a[..., :0, :], b).shape == (0, 5)


@pytest.mark.parametrize("shape", [(0, 3, 3), (4, 0, 3), (4, 3, 0), (0, 0, 0)])
def test_matrices_without_elements(shape):
    a, b = np.ones(shape), np.ones((shape[0], shape[2], 4))
    x, y = tilewright.interleave(a), tilewright.interleave(b)
    assert x.deinterleave(np.zeros(shape)).shape == shape
    assert np.array_equal(tilewright.matmul_interleaved(x, y).deinterleave(), a @ b)
    assert tilewright.lu_factor(a).lu.shape == shape
    if all(shape[:2]):
        assert stacked(a=a, b=b, out=np.ones((shape[0], shape[1], 4)), beta=2)[0, 0, 0] == 2
    assert tilewright.solve(np.ones((shape[0], 0, 0)), np.ones((shape[0], 0, 3))).shape == (shape[0], 0, 3)


def test_promotion_of_systems_loses_nothing():
    a, b = np.random.default_rng(4).random((5, 5)), np.arange(5) * 1j
    x = tilewright.solve(a, b, promote=True)
    assert x.dtype == np.complex128 and np.allclose(a @ x, b)
    assert tilewright.solve(a.astype("f4"), np.arange(5.0), promote=True).dtype == np.float64


def test_options_that_are_nearly_of_the_type():
    assert np.all(tilewright.matmul(ONE, ONE, threads=np.int64(1), checked=np.bool_(True), cpu_share=None, gpus=np.zeros(0, int)) == 4)


def test_a_record_is_in_one_block():
    log = tilewright.record()
    with log:
        with pytest.raises(RuntimeError, match="already in use by a block"):
            log.__enter__()
        with tilewright.record() as inner:
            tilewright.matmul(ONE, ONE)
        tilewright.matmul(ONE, ONE[:, :3])
    assert len(inner.problems) == 1 and len(log.problems) == 2
    with log:
        pass
    assert log.problems == []


def test_a_path_of_a_record_is_no_file_descriptor():
    read, write = os.pipe()
    try:
        with pytest.raises(TypeError, match="path"):
            tilewright.record(write)
    finally:
        os.close(read), os.close(write)
