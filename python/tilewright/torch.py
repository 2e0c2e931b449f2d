"""matmul, einsum, solve, inv, det and cholesky of PyTorch tensors with derivatives, as operators that torch.compile keeps in its graphs:

    import tilewright.torch
    loss = tilewright.torch.matmul(a, b).square().sum()
    loss.backward()

The functions of `tilewright` itself refuse tensors that require grad, because they would lose the derivative. These record it, of any order,
for real and complex tensors in host memory or on a GPU. Each call costs some 25 us more, for PyTorch's dispatcher. Importing this module
also makes `tilewright.matmul` one of these operators inside of torch.compile. Threads: as the functions of `tilewright`.
"""

from __future__ import annotations

import ast
from typing import Any

import torch  # type: ignore[import-not-found,unused-ignore]

import tilewright

from ._einsum.parse import parse

__all__ = ["matmul", "einsum", "solve", "inv", "det", "cholesky"]


def _options(text):
    return ast.literal_eval(text) if text else {}


def _text(options):
    """Options as a text, which operators take; torch.compile follows every step."""
    return "{" + ", ".join([f"'{name}': {value!r}" for name, value in options.items()]) + "}" if options else ""


# C = A B
@torch.library.custom_op("tilewright::matmul", mutates_args=())
def _matmul(a: torch.Tensor, b: torch.Tensor, options: str) -> torch.Tensor:
    return tilewright.matmul(a.detach(), b.detach(), **_options(options))


@_matmul.register_fake
def _(a, b, options):
    if a.shape[-1] != b.shape[-2]:
        raise ValueError(f"a {tuple(a.shape)} and b {tuple(b.shape)} do not fit: a row of a has {a.shape[-1]} elements and a column of b {b.shape[-2]}")
    return a.new_empty((*torch.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-1]))


def _keep_two(ctx, inputs, output):
    a, b, ctx.options = inputs
    ctx.save_for_backward(a, b)


def _matmul_backward(ctx, grad):
    # dL/dA = G B^H and dL/dB = A^H G, summed over what was broadcast
    a, b = ctx.saved_tensors
    of_a = _matmul(grad, b.mH, ctx.options).sum_to_size(a.shape) if ctx.needs_input_grad[0] else None
    of_b = _matmul(a.mH, grad, ctx.options).sum_to_size(b.shape) if ctx.needs_input_grad[1] else None
    return of_a, of_b, None


_matmul.register_autograd(_matmul_backward, setup_context=_keep_two)


# A contraction in which every letter is in the result or in two operands
@torch.library.custom_op("tilewright::einsum", mutates_args=())
def _einsum(subscripts: str, operands: list[torch.Tensor], options: str) -> torch.Tensor:
    return tilewright.einsum(subscripts, *(one.detach() for one in operands), **_options(options))


@_einsum.register_fake
def _(subscripts, operands, options):
    inputs, _, output = subscripts.partition("->")
    sizes = {letter: size for labels, one in zip(inputs.split(","), operands) for letter, size in zip(labels, one.shape)}
    return operands[0].new_empty([sizes[letter] for letter in output])


def _keep_operands(ctx, inputs, output):
    ctx.subscripts, operands, ctx.options = inputs
    ctx.save_for_backward(*operands)


def _einsum_backward(ctx, grad):
    # The derivative by one operand is the contraction of G with the conjugates of all others.
    inputs, _, output = ctx.subscripts.partition("->")
    labels, operands = inputs.split(","), ctx.saved_tensors
    grads = []
    for i, own in enumerate(labels):
        others = [j for j in range(len(labels)) if j != i]
        text = ",".join([output, *(labels[j] for j in others)]) + "->" + own
        grads.append(_einsum(text, [grad, *(operands[j].conj() for j in others)], ctx.options))
    return None, grads, None


_einsum.register_autograd(_einsum_backward, setup_context=_keep_operands)


# A X = B
@torch.library.custom_op("tilewright::solve", mutates_args=())
def _solve(a: torch.Tensor, b: torch.Tensor, options: str) -> torch.Tensor:
    return tilewright.solve(a.detach(), b.detach(), **_options(options))


@_solve.register_fake
def _(a, b, options):
    batch = torch.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return b.new_empty((*batch, *b.shape[-2:]))


def _keep_solution(ctx, inputs, output):
    a, b, ctx.options = inputs
    ctx.b_shape = b.shape
    ctx.save_for_backward(a, output)


def _solve_backward(ctx, grad):
    # dL/dB = A^-H G and dL/dA = -(dL/dB) X^H
    a, x = ctx.saved_tensors
    of_b = _solve(a.mH, grad, ctx.options)
    of_a = -_matmul(of_b, x.mH, "").sum_to_size(a.shape) if ctx.needs_input_grad[0] else None
    return of_a, of_b.sum_to_size(ctx.b_shape), None


_solve.register_autograd(_solve_backward, setup_context=_keep_solution)


def _keep_result(ctx, inputs, output):
    a, ctx.options = inputs
    ctx.save_for_backward(a, output)


# Y = A^-1
@torch.library.custom_op("tilewright::inv", mutates_args=())
def _inv(a: torch.Tensor, options: str) -> torch.Tensor:
    return tilewright.inv(a.detach(), **_options(options))


@_inv.register_fake
def _(a, options):
    return a.new_empty(a.shape)


def _inv_backward(ctx, grad):
    # dL/dA = -Y^H G Y^H
    _, y = ctx.saved_tensors
    return -_matmul(_matmul(y.mH, grad, ""), y.mH, ""), None


_inv.register_autograd(_inv_backward, setup_context=_keep_result)


# The determinant d of A
@torch.library.custom_op("tilewright::det", mutates_args=())
def _det(a: torch.Tensor, options: str) -> torch.Tensor:
    return tilewright.det(a.detach(), **_options(options))


@_det.register_fake
def _(a, options):
    return a.new_empty(a.shape[:-2])


def _det_backward(ctx, grad):
    # dL/dA = G conj(d) A^-H
    a, d = ctx.saved_tensors
    return (grad * d.conj())[..., None, None] * _inv(a, ctx.options).mH, None


_det.register_autograd(_det_backward, setup_context=_keep_result)


# A = L L^H
@torch.library.custom_op("tilewright::cholesky", mutates_args=())
def _cholesky(a: torch.Tensor, options: str) -> torch.Tensor:
    return tilewright.cholesky(a.detach(), **_options(options))


@_cholesky.register_fake
def _(a, options):
    return a.new_empty(a.shape)


def _cholesky_backward(ctx, grad):
    # dL/dA = L^-H M L^-1 / 2, where the lower triangle of the Hermitian M is that of L^H G
    _, factor = ctx.saved_tensors
    product = _matmul(factor.mH, grad, "")
    middle = product.tril() + product.tril(-1).mH
    left = _solve(factor.mH, middle, "")
    return _solve(factor.mH, left.mH, "").mH / 2, None


_cholesky.register_autograd(_cholesky_backward, setup_context=_keep_result)


def _op(x, transpose, conjugate):
    x = x.mT if transpose else x
    return x.conj() if conjugate else x


def matmul(a: torch.Tensor, b: torch.Tensor, *, transpose_a: bool = False, transpose_b: bool = False, conjugate_a: bool = False,
           conjugate_b: bool = False, **options: Any) -> torch.Tensor:
    """op(a) op(b) with the shapes of torch.matmul, and its derivative. Options, element types and errors are those of
    tilewright.matmul; there is no out, alpha or beta."""
    row, column = a.dim() == 1, b.dim() == 1
    left = a.unsqueeze(0) if row else a
    right = b.unsqueeze(1) if column else b
    made = _matmul(_op(left, transpose_a and not row, conjugate_a), _op(right, transpose_b and not column, conjugate_b), _text(options))
    made = made.squeeze(-1) if column else made
    return made.squeeze(-1 if column else -2) if row else made


def _distinct(labels, x, sizes, everywhere):
    """An operand whose labels are different and are all used elsewhere: diagonals are taken, axes that are broadcast dropped, labels of
    this operand alone summed. Its labels and the view or sum of it."""
    for letter in labels:
        while labels.count(letter) > 1:
            first = labels.index(letter)
            second = labels.index(letter, first + 1)
            x = torch.diagonal(x, dim1=first, dim2=second)  # which puts the diagonal last
            labels = labels[:first] + labels[first + 1:second] + labels[second + 1:] + letter
    for axis in range(len(labels) - 1, -1, -1):
        letter = labels[axis]
        if everywhere.count(letter) == 1:
            x = x.sum(axis)
        elif x.shape[axis] == 1 and sizes[letter] != 1:
            x = x.squeeze(axis)
        else:
            continue
        labels = labels[:axis] + labels[axis + 1:]
    return labels, x


def einsum(subscripts: str, *operands: torch.Tensor, **options: Any) -> torch.Tensor:
    """The contraction that `subscripts` names, as torch.einsum reads them, and its derivative by every operand. Options and errors are
    those of tilewright.einsum; there is no out, alpha, beta, optimize or promote."""
    expression = parse(subscripts, [tuple(one.shape) for one in operands])
    everywhere = "".join(["".join(dict.fromkeys(labels)) for labels in expression.inputs]) + expression.output
    distinct = [_distinct(labels, one, expression.sizes, everywhere) for labels, one in zip(expression.inputs, operands)]
    text = ",".join([labels for labels, _ in distinct]) + "->" + expression.output
    return _einsum(text, [one for _, one in distinct], _text(options))


def solve(a: torch.Tensor, b: torch.Tensor, **options: Any) -> torch.Tensor:
    """X with a X = b, as torch.linalg.solve: b is a vector (n,) or (batch..., n, nrhs), whose leading dimensions and a's broadcast to each
    other; and its derivative. Options and errors are those of tilewright.solve."""
    if b.dim() == 1:
        return _solve(a, b.unsqueeze(-1), _text(options)).squeeze(-1)
    return _solve(a, b, _text(options))


def inv(a: torch.Tensor, **options: Any) -> torch.Tensor:
    """The inverse of each matrix of a, as torch.linalg.inv, and its derivative. Options and errors are those of tilewright.inv."""
    return _inv(a, _text(options))


def det(a: torch.Tensor, **options: Any) -> torch.Tensor:
    """The determinant of each matrix of a, as torch.linalg.det, and its derivative, which needs regular matrices. Options and errors are
    those of tilewright.det, and of tilewright.inv for the derivative."""
    return _det(a, _text(options))


def cholesky(a: torch.Tensor, *, upper: bool = False, **options: Any) -> torch.Tensor:
    """The Cholesky factor of each matrix of a, as torch.linalg.cholesky, and its derivative, which is Hermitian. Options and errors are
    those of tilewright.cholesky."""
    return _cholesky(a.mH, _text(options)).mH if upper else _cholesky(a, _text(options))


def _compiled_matmul(a, b, out=None, *, alpha=1, beta=0, transpose_a=False, transpose_b=False, conjugate_a=False, conjugate_b=False,
                     promote=False, stream=None, **options):
    if out is not None or beta != 0 or promote or stream is not None:
        raise NotImplementedError("tilewright.matmul inside of torch.compile takes no out, beta, promote and stream")
    made = matmul(a, b, transpose_a=transpose_a, transpose_b=transpose_b, conjugate_a=conjugate_a, conjugate_b=conjugate_b, **options)
    return made if alpha == 1 else alpha * made


torch.compiler.substitute_in_graph(tilewright.matmul, skip_signature_check=True)(_compiled_matmul)
