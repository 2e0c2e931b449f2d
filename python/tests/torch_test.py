"""tilewright.torch: derivatives of first and second order against finite differences, and graphs of torch.compile without a break. Skipped
without PyTorch."""

import subprocess
import sys

import pytest

torch = pytest.importorskip("torch", minversion="2.6")
if not hasattr(torch, "__version__") or not hasattr(torch, "library"):
    pytest.skip("PyTorch itself is needed", allow_module_level=True)

import tilewright  # noqa: E402
import tilewright.torch as differentiable  # noqa: E402


def tensor(*shape, dtype=torch.float64, seed=1):
    return torch.randn(*shape, dtype=dtype, generator=torch.Generator().manual_seed(seed)).requires_grad_()


BOTH = pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])


@BOTH
@pytest.mark.parametrize("a, b, options", [
    ((3, 4), (4, 2), {}), ((4,), (4, 2), {}), ((3, 4), (4,), {}), ((4,), (4,), {}), ((2, 3, 4), (4, 2), {"threads": 1}),
    ((3, 1, 2, 4), (5, 4, 3), {}), ((4, 3), (2, 4), {"transpose_a": True, "transpose_b": True, "conjugate_a": True})])
def test_products_have_derivatives(dtype, a, b, options):
    a, b = tensor(*a, dtype=dtype), tensor(*b, dtype=dtype, seed=2)
    op = (lambda x, name: x.mT if options.get("transpose_" + name) else x)
    expected = torch.matmul(op(a.conj() if options.get("conjugate_a") else a, "a"), op(b, "b"))
    assert torch.allclose(differentiable.matmul(a, b, **options), expected)
    assert torch.autograd.gradcheck(lambda a, b: differentiable.matmul(a, b, **options), (a, b))
    assert torch.autograd.gradgradcheck(lambda a, b: differentiable.matmul(a, b, **options), (a, b))


@BOTH
@pytest.mark.parametrize("subscripts, shapes", [
    ("ij,jk->ik", [(3, 4), (4, 2)]), ("bij,bjk,bk->i", [(2, 3, 4), (2, 4, 3), (2, 3)]), ("ii,ij->j", [(3, 3), (3, 2)]), ("i,j->ji", [(3,), (2,)]),
    ("ij,kj->k", [(3, 4), (2, 4)]), ("...ij,jk->...ik", [(2, 1, 3, 4), (4, 2)]), ("bij,bjk->bik", [(1, 2, 3), (4, 3, 2)]), ("ijk->ki", [(2, 3, 4)])])
def test_contractions_have_derivatives(dtype, subscripts, shapes):
    operands = [tensor(*shape, dtype=dtype, seed=seed) for seed, shape in enumerate(shapes)]
    assert torch.allclose(differentiable.einsum(subscripts, *operands), torch.einsum(subscripts, *operands))
    assert torch.autograd.gradcheck(lambda *all: differentiable.einsum(subscripts, *all), operands)


@BOTH
@pytest.mark.parametrize("a, b", [((3, 3), (3,)), ((3, 3), (3, 2)), ((2, 3, 3), (3, 2)), ((3, 3), (2, 3, 1))])
def test_systems_have_derivatives(dtype, a, b):
    a, b = tensor(*a, dtype=dtype), tensor(*b, dtype=dtype, seed=2)
    assert torch.allclose(differentiable.solve(a, b), torch.linalg.solve(a, b if b.dim() == 1 or a.dim() == b.dim() else b))
    assert torch.autograd.gradcheck(differentiable.solve, (a, b))
    assert torch.autograd.gradgradcheck(differentiable.solve, (a, b))


@BOTH
@pytest.mark.parametrize("shape", [(3, 3), (2, 4, 4), (2, 1, 1, 1)])
def test_inverses_determinants_and_factors_have_derivatives(dtype, shape):
    a = tensor(*shape, dtype=dtype)
    unit = torch.eye(shape[-1], dtype=dtype)
    for ours, theirs in ((differentiable.inv, torch.linalg.inv), (differentiable.det, torch.linalg.det),
                         (lambda x: differentiable.cholesky(x @ x.mH + unit), lambda x: torch.linalg.cholesky(x @ x.mH + unit)),
                         (lambda x: differentiable.cholesky(x @ x.mH + unit, upper=True), lambda x: torch.linalg.cholesky(x @ x.mH + unit, upper=True))):
        assert torch.allclose(ours(a), theirs(a))
        assert torch.autograd.gradcheck(ours, (a,))
        assert torch.autograd.gradgradcheck(ours, (a,))
    h = (a @ a.mH + unit).detach()
    ours, theirs = h.clone().requires_grad_(), h.clone().requires_grad_()
    (differentiable.cholesky(ours, threads=1) * unit.cumsum(-1)).abs().sum().backward()
    (torch.linalg.cholesky(theirs) * unit.cumsum(-1)).abs().sum().backward()
    assert torch.allclose(ours.grad, theirs.grad)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="PyTorch sees no GPU")
def test_systems_on_a_gpu_have_derivatives():
    for dtype in (torch.float64, torch.complex128):
        a, b, unit = tensor(3, 4, 4, dtype=dtype), tensor(3, 4, 2, dtype=dtype, seed=2), torch.eye(4, dtype=dtype, device="cuda")
        a, b = (one.detach().cuda().requires_grad_() for one in (a, b))
        assert torch.allclose(differentiable.solve(a, b), torch.linalg.solve(a, b))
        assert torch.autograd.gradcheck(differentiable.solve, (a, b))
        for ours in (differentiable.inv, differentiable.det, lambda x: differentiable.cholesky(x @ x.mH + unit)):
            assert torch.autograd.gradcheck(ours, (a,))
        for got, wanted in zip(tilewright.slogdet(a.detach()), torch.linalg.slogdet(a.detach())):
            assert torch.allclose(got, wanted)


def test_decompositions_of_tensors():
    a = tensor(4, 5, 3, dtype=torch.complex64).detach()
    q, r = tilewright.qr(a)
    assert torch.allclose(q @ r, a, atol=1e-5) and isinstance(tilewright.qr(a, "raw")[1], torch.Tensor)
    u, s, vh = tilewright.svd(a.mH, full_matrices=False)
    assert s.dtype == torch.float32 and torch.allclose((u * s[:, None, :]) @ vh, a.mH, atol=1e-5)
    assert torch.allclose(tilewright.svdvals(a), torch.linalg.svdvals(a), atol=1e-5)
    h = a.mH @ a
    values, vectors = tilewright.eigh(h)
    assert torch.allclose(values, torch.linalg.eigvalsh(h), atol=1e-4) and torch.allclose(h @ vectors, vectors * values[:, None, :], atol=1e-4)
    b = tensor(5, 2, dtype=torch.complex64).detach()
    for driver in ("gelsd", "gels"):
        x, residuals, rank, s = tilewright.lstsq(a, b, driver=driver)
        assert torch.allclose(x, torch.linalg.lstsq(a, b.expand(4, 5, 2)).solution, atol=1e-4) and rank.tolist() == [3] * 4
        assert residuals.shape == (4, 2) and s.shape == ((4, 3) if driver == "gelsd" else (4, 0))


def test_compiled_functions_are_one_graph():
    def step(a, b, x):
        y = tilewright.matmul(differentiable.matmul(a, b, threads=1), x)
        return differentiable.det(a) * differentiable.solve(a, differentiable.einsum("ij,jk,kl->il", b, y, y)).sum()

    a, b, x = tensor(3, 3), tensor(3, 3, seed=2), tensor(3, 3, seed=3)
    compiled = torch.compile(step, backend="aot_eager", fullgraph=True)
    y = a @ b @ x
    expected = torch.linalg.det(a) * torch.linalg.solve(a, b @ y @ y).sum()
    assert torch.allclose(compiled(a, b, x), expected)
    compiled(a, b, x).backward()
    grads = [one.grad.clone() for one in (a, b, x)]
    for one in (a, b, x):
        one.grad = None
    expected.backward()
    assert all(torch.allclose(grad, one.grad) for grad, one in zip(grads, (a, b, x)))


def test_wrong_arguments_are_refused_where_no_element_is_there():
    with pytest.raises(ValueError, match="do not fit"):
        differentiable.matmul(tensor(3, 4), tensor(3, 4))
    with torch.device("meta"):
        assert differentiable.matmul(torch.empty(2, 3, 4), torch.empty(4, 5)).shape == (2, 3, 5)
        with pytest.raises(ValueError, match="do not fit"):
            differentiable.matmul(torch.empty(3, 4), torch.empty(3, 4))
    with pytest.raises(TypeError, match="tilewright.torch"):
        tilewright.matmul(tensor(3, 3), tensor(3, 3))


def test_the_package_does_not_load_pytorch():
    code = "import sys, tilewright; tilewright.matmul([[1.0]], [[1.0]]); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
