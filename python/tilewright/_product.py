"""One product of arrays that lie anyhow: as few calls of the library as its levels of batches allow, and copies only of
what no problem can express."""

import functools

from . import _core, _cuda
from ._arrays import kind_of
from ._checks import sequence, text


@functools.lru_cache(maxsize=256)
def _options(items):
    return _core.Options(**dict(items))


def make_options(options):
    """The library's options from keywords; None where there are none. Equal keywords give the same object."""
    if not options:
        return None
    if options.get("target") in ("gpu", "hybrid"):
        _cuda.load_libraries()
    if "gpus" in options:
        options = {**options, "gpus": tuple(sequence("gpus", options["gpus"], "numbers of GPUs"))}
    for name in ("candidate", "config"):
        if isinstance(options.get(name), str):
            text(name, options[name])
    try:
        return _options(tuple(sorted(options.items())))
    except TypeError as error:
        known = ("target", "objective", "threads", "checked", "residency", "candidate", "config", "gpus", "gpu_memory_bytes",
                 "split", "cpu_share", "on_device_failure", "tune_budget_s")
        unknown = [name for name in options if name not in known]
        if unknown:
            raise TypeError(f"unknown option '{unknown[0]}'; there are {', '.join(known)}") from None
        raise TypeError(f"an option has a value of the wrong type: {options}") from error


def _distinct(kind, x):
    """x without what only repeats it: leading dimensions of stride 0 become 1."""
    strides = kind.strides(x)
    index = tuple(slice(0, 1) if stride == 0 and size > 1 else slice(None) for stride, size in zip(strides[:-2], x.shape[:-2]))
    return x[index] if index else x


def _product(a_view, b_view, out_view, alpha=1, beta=0, *, conj_a=False, conj_b=False, stream=None, **options):
    """out = alpha op(a) op(b) + beta out for every matrix of a batch, where op conjugates or not.

    a_view is (batch..., m, k), b_view (batch..., k, n), out_view (batch..., m, n); the batches of a and b broadcast to
    that of out. All three are arrays of one kind, element type and device, with any strides: rows or columns that are
    neighbours, stride 0 and any number of batch dimensions are taken as they lie. Copied are operands where neither rows
    nor columns are neighbours, that repeat or go backwards within a matrix, that are conjugated without being transposed,
    and an `out` that lies so or shares memory with a or b. `options` are those of matmul. Work on a GPU is queued on
    `stream` (the address of a CUstream; None: the array's current one). Raises ValueError for shapes that do not fit.
    """
    kind_a, kind_b, kind = kind_of(a_view, "a"), kind_of(b_view, "b"), kind_of(out_view, "out")
    if stream is not None:
        with kind.on(stream, out_view):
            return _run(kind_a, kind_b, kind, a_view, b_view, out_view, alpha, beta, conj_a, conj_b, stream, options)
    stream = kind.stream(out_view)
    return _run(kind_a, kind_b, kind, a_view, b_view, out_view, alpha, beta, conj_a, conj_b, stream, options)


def _run(kind_a, kind_b, kind, a_view, b_view, out_view, alpha, beta, conj_a, conj_b, stream, options):
    """_product, of known kinds and on a known stream."""
    if not _cuda.loaded and kind.device(out_view) is not None:
        _cuda.load_libraries()
    built = make_options(options)
    a, b, out = a_view, b_view, out_view
    if kind_a.lazily_conjugated:
        conj_a ^= a.is_conj()
    if kind_b.lazily_conjugated:
        conj_b ^= b.is_conj()
    held = []  # what the caller does not hold, until the work is done or queued
    for _ in range(4):
        copies = _core.product(kind_a.operand(a), kind_b.operand(b), kind.operand(out), alpha, beta, conj_a, conj_b, built,
                               stream)
        if copies == 0:
            break
        if copies & _core.COPY_A:
            a, conj_a = kind_a.packed(_distinct(kind_a, a_view), conj_a), False
            held.append(a)
        if copies & _core.COPY_B:
            b, conj_b = kind_b.packed(_distinct(kind_b, b_view), conj_b), False
            held.append(b)
        if copies & _core.COPY_OUT:
            out = kind.empty(out_view.shape, kind.dtype(out_view), out_view)
            if beta != 0:
                kind.assign(out, out_view)
    else:
        raise RuntimeError("packed copies of all operands were refused too: this is a defect of tilewright")
    if out is not out_view:
        kind.assign(out_view, out)
    return out_view
