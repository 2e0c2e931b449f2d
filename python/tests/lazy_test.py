"""Tensors whose memory does not hold their elements as they are (lazily conjugated, negated, zero, fake, wrapped), as operand and as out of
every function: the right result in the caller's memory, or a TypeError before anything is written. Where PyTorch is not installed the file
runs itself with fake_torch."""

import importlib.util
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import tilewright

FAKE = pathlib.Path(__file__).with_name("fake_torch")
IS_FAKE = str(FAKE) in sys.path
HERE = importlib.util.find_spec("torch") is not None

if HERE:
    import torch

needs_torch = pytest.mark.skipif(not HERE, reason="needs PyTorch, or what stands in for it")
needs_real_torch = pytest.mark.skipif(not HERE or IS_FAKE, reason="needs PyTorch itself")


@pytest.mark.skipif(HERE, reason="PyTorch is installed")
def test_with_what_stands_in():
    path = os.pathsep.join([str(FAKE), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": path})
    assert done.returncode == 0, done.stdout + done.stderr


def values(dtype, seed=1):
    x = np.random.default_rng(seed).integers(-4, 5, (3, 3)).astype(dtype)
    return x + 1j * x.T if x.dtype.kind == "c" else x


def lazy(dtype):
    """name -> (tensor, its elements)."""
    x = values(dtype)
    made = {"plain": (torch.from_numpy(x.copy()), x), "transposed": (torch.from_numpy(x.copy()).transpose(0, 1), x.T),
            "negated": (torch._neg_view(torch.from_numpy(x.copy())), -x),
            "zero": (torch._efficientzerotensor((3, 3), dtype=torch.from_numpy(x).dtype), 0 * x)}
    with torch.inference_mode():
        made["inference"] = torch.from_numpy(x.copy()).clone(), x
    if x.dtype.kind == "c":
        made["conjugated"] = torch.from_numpy(x.copy()).conj(), x.conj()
        made["both"] = torch._neg_view(torch.from_numpy(x.copy())).conj(), -x.conj()
    elif not IS_FAKE:
        made["imag"] = torch.complex(torch.from_numpy(x), torch.from_numpy(x)).conj().imag, -x
        made["view of a part"] = torch.complex(torch.from_numpy(x), torch.from_numpy(x)).imag, x
    return made


IS_LAZY = ("negated", "zero", "conjugated", "both", "imag")


def read(x):
    """The elements of a tensor."""
    return x.numpy() if IS_FAKE else (x.resolve_conj().resolve_neg() + 0).numpy()


def products(a, b, out, beta):
    """name -> call of every function that multiplies, with out where there is one."""
    one = {} if out is None else {"out": out, "beta": beta}
    many = {} if out is None else {"out": [out], "beta": beta}

    def last(x):  # a result with a batch of one
        return x[0]

    calls = {"matmul": lambda: tilewright.matmul(a, b, **one), "options": lambda: tilewright.matmul(a, b, **one, threads=1),
             "einsum": lambda: tilewright.einsum("ij,jk->ik", a, b, **one), "grouped": lambda: last(tilewright.grouped_matmul([a], [b], **many)),
             "reduce": lambda: tilewright.batch_reduce(a[None], b[None], **one),
             "variable": lambda: last(tilewright.variable_matmul([a], [b], **many))}
    if out is not None:
        calls["stack"] = lambda: last(tilewright.stack_matmul(a[None], b[None], out[None], [0], [0], [0], beta=beta))
    return calls


CALLS = ("matmul", "options", "einsum", "grouped", "reduce", "variable", "stack")


@needs_torch
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_operands_are_read_as_what_they_stand_for(dtype):
    right = values(dtype, 2)
    for name, (x, elements) in lazy(dtype).items():
        b = torch.from_numpy(right)
        for call in CALLS[:-1]:
            assert np.array_equal(read(products(x, b, None, 0)[call]()), elements @ right), (name, call)
            assert np.array_equal(read(products(b, x, None, 0)[call]()), right @ elements), (name, call)
        system = right + 40 * np.eye(3, dtype=dtype)
        assert np.allclose(system @ read(tilewright.solve(torch.from_numpy(system), x)), elements, atol=1e-4), name
        assert np.array_equal(read(tilewright.interleave(x[None], 2).deinterleave())[0], elements), name
        if dtype.startswith("complex"):
            assert np.array_equal(read(tilewright.matmul(x, b, conjugate_a=True)), elements.conj() @ right), name


@needs_torch
@pytest.mark.parametrize("beta", [0, 1])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_an_out_is_written_to_or_refused(dtype, beta):
    left, right = values(dtype, 3), values(dtype, 4)
    a, b = torch.from_numpy(left), torch.from_numpy(right)
    for name in lazy(dtype):
        for call in CALLS:
            out, before = lazy(dtype)[name]
            if name in IS_LAZY:
                with pytest.raises(TypeError, match="out is a lazily (conjugated|negated|zero) tensor"):
                    products(a, b, out, beta)[call]()
                assert np.array_equal(read(out), before), (name, call)
            else:
                products(a, b, out, beta)[call]()
                assert np.array_equal(read(out), left @ right + beta * before), (name, call)
        out, before = lazy(dtype)[name]
        blocks = tilewright.interleave(a[None], 2)
        if name in IS_LAZY:
            with pytest.raises(TypeError, match="lazily"):
                blocks.deinterleave(out[None])
        else:
            blocks.deinterleave(out[None])
            before = left
        assert np.array_equal(read(out), before), name


@needs_torch
def test_a_problem_is_that_of_what_the_operand_stands_for():
    x = torch.from_numpy(values("complex128"))
    assert tilewright.problem_of(x.conj(), x) == tilewright.problem_of(x, x, conjugate_a=True)
    assert tilewright.problem_of(x, x.conj(), transpose_b=True) == tilewright.problem_of(x, x, transpose_b=True, conjugate_b=True)


def without_memory():
    """name -> tensor that no product can read or write."""
    from torch._subclasses import FakeTensorMode

    x = torch.ones(3, 3)
    with FakeTensorMode():
        fake = torch.ones(3, 3)
    resized = torch.ones(3, 3)
    resized.untyped_storage().resize_(0)
    return {"fake": fake, "resized": resized, "meta": x.to("meta"), "sparse": x.to_sparse(), "csr": x.to_sparse_csr(),
            "nested": torch.nested.nested_tensor([x]), "jagged": torch.nested.nested_tensor([x, x], layout=torch.jagged),
            "quantized": torch.quantize_per_tensor(x, 0.1, 0, torch.quint8), "uninitialized": torch.nn.UninitializedParameter(requires_grad=False),
            "masked": torch.masked.masked_tensor(x, x > 0), "grad": x.clone().requires_grad_()}


@needs_real_torch
@pytest.mark.filterwarnings("ignore")
def test_tensors_without_memory_are_refused():
    one = torch.ones(3, 3)
    for name, x in without_memory().items():
        for call in CALLS[:4]:
            with pytest.raises(TypeError):
                products(x, one, None, 0)[call]()
            with pytest.raises(TypeError):
                products(one, one, x, 0)[call]()
        with pytest.raises(TypeError):
            tilewright.solve(one, x)
    assert torch.equal(one, torch.ones(3, 3))


@needs_real_torch
def test_tensors_within_transforms_are_refused():
    one, seen = torch.ones(3, 3), []

    def inside(x):
        for call in CALLS[:3]:
            for run in (lambda: products(x, one, None, 0)[call](), lambda: products(one, one, x, 0)[call]()):
                with pytest.raises(TypeError, match="torch.func|has no memory"):
                    run()
                seen.append(call)
        return x.sum()

    torch.func.vmap(inside)(torch.ones(2, 3, 3))
    torch.func.grad(inside)(torch.ones(3, 3))
    torch.func.functionalize(inside)(torch.ones(3, 3))
    assert len(seen) == 18


@needs_real_torch
def test_forward_derivatives_are_not_lost():
    one = torch.ones(3, 3)
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(torch.ones(3, 3), one)
        for call in CALLS[:4]:
            with pytest.raises(TypeError, match="forward derivative"):
                products(one, dual, None, 0)[call]()
            with pytest.raises(TypeError, match="forward derivative"):
                products(one, one, dual, 0)[call]()
        assert torch.equal(tilewright.matmul(one, one), 3 * one)
    assert torch.equal(tilewright.matmul(one, one), 3 * one)


@needs_real_torch
def test_copies_on_write_and_parameters():
    x = torch.ones(3, 3)
    copy = torch._lazy_clone(x)
    tilewright.matmul(2 * torch.eye(3), torch.ones(3, 3), out=copy)
    assert torch.equal(x, torch.ones(3, 3)) and torch.equal(copy, 2 * x)
    parameter = torch.nn.Parameter(torch.ones(3, 3))
    with pytest.raises(TypeError, match="no_grad"):
        tilewright.matmul(parameter, x)
    with torch.no_grad():
        assert torch.equal(tilewright.matmul(parameter, x), 3 * x)
        tilewright.matmul(2 * torch.eye(3), x, out=parameter)
        assert torch.equal(parameter, 2 * x)


def numpy_views(dtype):
    """name -> array of another kind than a plain one, that may be written to."""
    x = values(dtype)
    fields = np.zeros((3, 3), [("before", "i4"), ("x", dtype), ("y", dtype)])
    fields["x"] = x
    shared = np.zeros(9 * x.itemsize + 1, np.uint8)[1:].view(dtype).reshape(3, 3)
    shared[...] = x
    return {"field": fields["x"], "record": fields.view(np.recarray).x, "matrix": np.matrix(x), "swapped": x.astype(x.dtype.newbyteorder()),
            "unaligned": shared, "backwards": x[::-1].copy()[::-1], "own class": x.copy().view(type("Own", (np.ndarray,), {}))}


@pytest.mark.filterwarnings("ignore:the matrix subclass")
@pytest.mark.parametrize("beta", [0, 1])
@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_arrays_of_numpy_that_are_not_plain(dtype, beta):
    left, right = values(dtype, 3), values(dtype, 4)
    for name in numpy_views(dtype):
        for call in CALLS:
            x = numpy_views(dtype)[name]
            elements = np.array(x, dtype)
            if name == "matrix" and call in ("reduce", "stack"):
                continue  # a matrix has no leading dimension
            if call != "stack":
                assert np.array_equal(products(x, right, None, 0)[call](), elements @ right), (name, call)
            products(left, right, x, beta)[call]()
            assert np.array_equal(np.array(x, dtype), left @ right + beta * elements), (name, call)


def test_arrays_of_numpy_that_are_refused():
    right = np.ones((3, 3))
    fixed = np.ones((3, 3))
    fixed.flags.writeable = False
    refused = {"read-only": (fixed, ValueError), "repeated": (np.lib.stride_tricks.as_strided(np.ones(3), (3, 3), (0, 8)), ValueError),
               "masked": (np.ma.masked_array(np.ones((3, 3)), np.eye(3)), TypeError), "object": (np.ones((3, 3), object), TypeError),
               "structured": (np.zeros((3, 3), [("x", "f8")]), TypeError), "list": ([[1.0] * 3] * 3, TypeError)}
    for name, (x, error) in refused.items():
        before = np.array(x)
        for call in CALLS:
            with pytest.raises((error, TypeError)):
                products(right, right, x if call not in ("stack",) or name != "list" else [x], 0)[call]()
        assert np.array_equal(np.array(x), before), name
