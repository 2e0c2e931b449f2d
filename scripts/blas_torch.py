#!/usr/bin/env python3
"""Prints what PyTorch computes where it multiplies, factors or solves: for each operation of its own list of operations and each data type,
sums of the results of its own samples, and of their gradients in double precision; then the losses of layers that are trained. Seeds are fixed, so two runs differ by rounding alone; scripts/blas_programs.py compares them. It judges nothing."""

import re
import sys
import types
import unittest
import warnings

import numpy
import torch
from torch import nn

sys.modules["expecttest"] = types.SimpleNamespace(TestCase=unittest.TestCase, ACCEPT=False)  # Debian lacks it and no test here calls it
from torch.testing._internal.common_methods_invocations import op_db

OPERATIONS = re.compile(r"linalg\..*|(add|addb|badd)?(mm|mv|bmm)|addr|v?dot|inner|outer|matmul|__rmatmul__|einsum|tensordot|kron|cdist|"
                        r"cov|corrcoef|cholesky.*|lu.*|geqrf|ormqr|qr|svd.*|pca_lowrank|pinverse|logdet|triangular_solve|symeig|eig|matrix_exp|"
                        r"nn\.functional\.(linear|bilinear|conv.*)")
DOUBLE = (torch.float64, torch.complex128)


def tensors(found):
    if isinstance(found, torch.Tensor):
        return [found]
    return [one for part in found for one in tensors(part)] if isinstance(found, (tuple, list)) else []


def sums(found):
    """Returns for each tensor the sum of absolute values, and the share of it that remains if each value
    is scaled by a cosine of its place, which shows signs and places; as many digits as the type is sure of, and no rounding errors."""
    digits, most = (8, 12) if any(one.dtype in DOUBLE for one in found) else (2, 5)
    said = []
    for one in found:
        flat = one.detach().flatten().to(torch.complex128)
        size = round(flat.abs().sum().item(), most)
        left = (flat * torch.arange(flat.numel(), dtype=torch.float64).cos()).sum().item() / size if size else 0j
        said.append(f"{size:.{digits}e} {left.real:.{digits}f} {left.imag:.{digits}f}")
    return " ".join(said)


def sampled(op, dtype):
    """One line for each sample."""
    gradients = dtype in DOUBLE and op.supports_autograd
    for i, sample in enumerate(op.sample_inputs("cpu", dtype, requires_grad=gradients)):
        torch.manual_seed(i)
        try:
            found = tensors(sample.output_process_fn_grad(op(sample.input, *sample.args, **sample.kwargs)))
            line = sums(found)
            if gradients and any(one.requires_grad for one in found):
                sum(one.abs().square().sum() for one in found if one.requires_grad).backward()
                wanted = tensors([sample.input, list(sample.args), list(sample.kwargs.values())])
                line += " gradients " + sums([one.grad for one in wanted if one.grad is not None])
        except (RuntimeError, ValueError, TypeError) as error:
            line = type(error).__name__
        print(op.name, op.variant_test_name, str(dtype).removeprefix("torch."), i, line)


def sized(n, dtype):
    """Products and systems larger than the samples, of which most have 5 rows: transposed, conjugated, strided, in batches."""
    torch.manual_seed(n)
    a, b, c, many = (torch.randn(shape, dtype=dtype) for shape in ((n, n + 3), (n + 3, n), (n, n), (3, n, n)))
    spd, x = c @ c.mH + n * torch.eye(n, dtype=dtype), b.mT[:, ::2]
    yield "products", [a @ b, a.mH @ b.mH, a.conj() @ b, x.mT @ c, torch.addmm(c, a, b, beta=-0.5, alpha=2)]
    yield "batches", [torch.bmm(many, many.mT), many @ c]
    yield "systems", [torch.linalg.solve(spd, c), torch.linalg.inv(spd), torch.linalg.lstsq(b, a.mT).solution,
                      torch.cholesky_solve(c, torch.linalg.cholesky(spd))]
    yield "spectra", [torch.linalg.svdvals(a), torch.linalg.eigvalsh(spd), torch.linalg.qr(b)[1], torch.linalg.slogdet(spd)[1]]


class Last(nn.Module):
    """Returns the output of a layer that also returns its state."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return self.layer(x)[0]


def trained(name, make, shape, dtype):
    torch.manual_seed(7)
    layer, x = make().to(dtype), torch.randn(shape, dtype=dtype)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.05)
    for _ in range(5):
        optimizer.zero_grad()
        loss = (layer(x) - 0.5).square().mean()
        loss.backward()
        optimizer.step()
        print(name, str(dtype).removeprefix("torch."), ("{:.10f}" if dtype in DOUBLE else "{:.4f}").format(loss.item()))


def main():
    warnings.filterwarnings("ignore")
    for op in sorted((op for op in op_db if OPERATIONS.fullmatch(op.name)), key=lambda op: (op.name, op.variant_test_name)):
        for dtype in sorted(op.supported_dtypes("cpu"), key=str):
            torch.manual_seed(1)
            numpy.random.seed(1)
            sampled(op, dtype)
    layers = {"perceptron": (lambda: nn.Sequential(nn.Linear(70, 96), nn.ReLU(), nn.Linear(96, 40)), (33, 70)),
              "convolutions": (lambda: nn.Sequential(nn.Conv2d(3, 12, 3), nn.Tanh(), nn.ConvTranspose2d(12, 5, 4, 2)), (4, 3, 17, 17)),
              "lstm": (lambda: Last(nn.LSTM(24, 40, 2, bidirectional=True)), (9, 6, 24)), "gru": (lambda: Last(nn.GRU(24, 40)), (9, 6, 24)),
              "transformer": (lambda: nn.TransformerEncoderLayer(48, 4, 80, dropout=0.0), (11, 5, 48))}
    for dtype in (torch.float32, torch.float64, torch.complex64, torch.complex128):
        for n in (2, 7, 24, 61, 130, 300):
            for name, found in sized(n, dtype):
                print(name, n, str(dtype).removeprefix("torch."), sums(found))
    for dtype in (torch.float32, torch.float64):
        for name, (make, shape) in layers.items():
            trained(name, make, shape, dtype)


if __name__ == "__main__":
    main()
