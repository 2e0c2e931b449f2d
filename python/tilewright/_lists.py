"""Products of lists of arrays, and sums of products."""

import itertools

import numpy

from . import _core
from ._arrays import conjugated, kind_of, resolved
from ._checks import flag, sequence
from ._matmul import Operands
from ._product import _distinct, _product, make_options


def _run_host(entries, alpha, beta, conj_a, conj_b, options):
    """entries: [kind, a, b, out view]. What no problem can express is copied, entry by entry."""
    back = []
    conjugated = {"a": conj_a, "b": conj_b}
    for _ in range(4):
        copies = _core.grouped([kind.operand(a) for kind, a, _, _ in entries], [kind.operand(b) for kind, _, b, _ in entries],
                               [kind.operand(out) for kind, _, _, out in entries], alpha, beta, conjugated["a"],
                               conjugated["b"], options)
        if not copies:
            break
        for index, name, bit in ((1, "a", _core.COPY_A), (2, "b", _core.COPY_B)):
            if any(flags & bit for flags in copies):  # all operands if copies conjugate
                for entry, flags in zip(entries, copies):
                    if conjugated[name] or flags & bit:
                        entry[index] = entry[0].packed(_distinct(entry[0], entry[index]), conjugated[name])
                conjugated[name] = False
        for entry, flags in zip(entries, copies):
            if flags & _core.COPY_OUT:
                kind, _, _, out = entry
                entry[3] = kind.empty(out.shape, kind.dtype(out), out)
                if beta != 0:
                    kind.assign(entry[3], out)
                back.append((kind, out, entry[3]))
    else:
        raise RuntimeError("packed copies of all operands were refused too: this is a bug of tilewright")
    for kind, out, values in back:
        kind.assign(out, values)


def _copy_shared(operands, views):
    """Copies operands that are part of the out of another problem, so that the order of the problems does not matter. Raises ValueError
    for outs that share elements."""
    shared = _core.shared([one.kind_a.operand(one.a) for one in operands], [one.kind_b.operand(one.b) for one in operands],
                          [kind.operand(view) for kind, view in views])
    for one, flags in zip(operands, shared):
        for name, bit in (("a", _core.COPY_A), ("b", _core.COPY_B)):
            if flags & bit:
                kind, x = getattr(one, f"kind_{name}"), getattr(one, name)
                setattr(one, name, kind.packed(x, conjugated(kind, x)))


def _named(index, make):
    """make(), with the number of the problem in what it raises."""
    try:
        return make()
    except (TypeError, ValueError) as error:
        raise type(error)(f"problem {index}: {error}") from None


def grouped_matmul(a, b, out=None, *, alpha=1, beta=0, transpose_a=False, transpose_b=False, conjugate_a=False,
                   conjugate_b=False, promote=False, stream=None, **options):
    """The products of many batches, each of its own shape, in one call.

    a, b: sequences of as many arrays; entry i of both multiplies as in matmul, (batch..., m, k) by (batch..., k, n), and
    all have one element type. out: a sequence of arrays of the results' shapes, or None for new ones. No two results may share
    elements (ValueError); operands may share some with any of them, at the price of a copy. Other arguments are those of matmul.
    In host memory this is one call of the library for all; on a GPU each entry is queued by itself. Returns the list of results. Raises what matmul raises, naming the problem; nothing is written then.
    """
    a, b = sequence("a", a, "arrays"), sequence("b", b, "arrays")
    if len(a) != len(b):
        raise ValueError(f"len(a) = {len(a)}, but len(b) = {len(b)}")
    outs = [None] * len(a) if out is None else sequence("out", out, "arrays")
    if len(outs) != len(a):
        raise ValueError(f"len(out) = {len(outs)}, but len(a) = {len(a)}")
    conjugate_a, conjugate_b = flag("conjugate_a", conjugate_a), flag("conjugate_b", conjugate_b)
    operands = [_named(i, lambda: Operands(x, y, transpose_a, transpose_b, promote)) for i, (x, y) in enumerate(zip(a, b))]
    if not operands:
        make_options(options)
        return []
    alpha, beta, stream = operands[0].checked_call(alpha, beta, all(to is not None for to in outs), stream)
    results, views = [], []
    for i, (one, to) in enumerate(zip(operands, outs)):
        kind = one.kind_a if to is None else kind_of(to, "out")
        with kind.on(stream, one.a):
            result = kind.empty(one.shape, one.dtype, one.a) if to is None else _named(i, lambda: one.checked_out(to, kind))
        results.append(kind.finish(result, one.like) if to is None else to)
        views.append((kind, one.as_matrices(kind, result)))
    if out is not None:
        _copy_shared(operands, views)
    if all(one.kind_a.device(one.a) is None for one in operands):
        entries = [[kind, resolved(one.kind_a, one.a), resolved(one.kind_b, one.b), view] for one, (kind, view) in zip(operands, views)]
        _run_host(entries, alpha, beta, conjugate_a, conjugate_b, make_options(options))
        return results
    for one, (kind, view) in zip(operands, views):
        _product(one.a, one.b, view, alpha, beta, conj_a=conjugate_a, conj_b=conjugate_b, stream=stream, **options)
    return results


def variable_matmul(a, b, out=None, **options):
    """The products of many pairs of matrices, each of its own size, in one call: a[i] (m_i, k_i) by b[i] (k_i, n_i).
    Arguments and result are those of grouped_matmul, with matrices for batches."""
    a, b = sequence("a", a, "matrices"), sequence("b", b, "matrices")
    for name, arrays in (("a", a), ("b", b)):
        for i, x in enumerate(arrays):
            shape = x.shape if type(x) is numpy.ndarray else _named(i, lambda: kind_of(x, name).adopt(x, name)).shape
            if len(shape) != 2:
                raise ValueError(f"problem {i}: {name} has the shape {tuple(shape)}, which is not that of a matrix; grouped_matmul takes "
                                 "batches")
    return grouped_matmul(a, b, out, **options)


def batch_reduce(a, b, out=None, *, alpha=1, beta=0, transpose_a=False, transpose_b=False, conjugate_a=False,
                 conjugate_b=False, promote=False, stream=None, **options):
    """The products of a batch, summed: out = alpha sum_p op(a[p]) op(b[p]) + beta out.

    a (batch..., m, k), b (batch..., k, n), whose leading dimensions broadcast to each other; out (m, n). Arguments are
    those of matmul. Small sizes are summed in registers, by one thread, in the order of the batch. On a GPU each product is
    queued by itself and added.
    """
    operands = Operands(a, b, transpose_a, transpose_b, promote)
    if operands.row or operands.column:
        raise ValueError("batch_reduce takes matrices, not vectors")
    alpha, beta, stream = operands.checked_call(alpha, beta, out is not None, stream)
    conjugate_a, conjugate_b = flag("conjugate_a", conjugate_a), flag("conjugate_b", conjugate_b)
    kind = operands.kind_a if out is None else kind_of(out, "out")
    batch, operands.shape = operands.shape[:-2], operands.shape[-2:]
    if out is None:
        with kind.on(stream, operands.a):
            result = kind.empty(operands.shape, operands.dtype, operands.a)
    else:
        result = operands.checked_out(out, kind)
    if kind.device(result) is None:
        _reduce_host(operands, kind, batch, result, alpha, beta, conjugate_a, conjugate_b, make_options(options))
    else:
        _reduce_device(operands, batch, result, alpha, beta, conj_a=conjugate_a, conj_b=conjugate_b, stream=stream, **options)
    if out is not None:
        return out
    return kind.finish(result, operands.like)


def _reduce_host(operands, kind, batch, result, alpha, beta, conj_a, conj_b, options):
    a, b, to = operands.a, operands.b, result
    kind_a, kind_b = operands.kind_a, operands.kind_b
    conj_a ^= conjugated(kind_a, a)
    conj_b ^= conjugated(kind_b, b)
    for _ in range(4):
        copies = _core.product(kind_a.operand(a), kind_b.operand(b), _repeated(kind, to, batch), alpha, beta, conj_a, conj_b,
                               options, 0, True)
        if copies == 0:
            break
        if copies & _core.COPY_A:
            a, conj_a = kind_a.packed(_distinct(kind_a, operands.a), conj_a), False
        if copies & _core.COPY_B:
            b, conj_b = kind_b.packed(_distinct(kind_b, operands.b), conj_b), False
        if copies & _core.COPY_OUT:
            to = kind.empty(result.shape, kind.dtype(result), result)
            if beta != 0:
                kind.assign(to, result)
    else:
        raise RuntimeError("packed copies of all operands were refused too: this is a bug of tilewright")
    if to is not result:
        kind.assign(result, to)


def _repeated(kind, x, batch):
    """The operand of x for every problem of the batch."""
    operand = kind.operand(x)
    return _core.repeated(operand, batch)


def _reduce_device(operands, batch, result, alpha, beta, **options):
    if not all(batch):
        raise ValueError(f"the batch {batch} has no products to sum on a GPU")
    for index in itertools.product(*map(range, batch)):
        def part(x):
            own = index[len(index) - (len(x.shape) - 2):]
            return x[tuple(i if size > 1 else 0 for i, size in zip(own, x.shape))]

        _product(part(operands.a), part(operands.b), result, alpha, beta, **options)
        beta = 1
