"""One product of arrays that lie anyhow: as few calls of the library as its levels of batches allow, and copies only of
what no problem can express."""

import functools

from . import _core, _cuda
from ._arrays import conjugated, kind_of
from ._checks import flag, seconds, sequence, text, type_error, unknown_option, whole
from ._importing import importing


def _share(name, value):
    return None if value is None else seconds(name, value, "a number or None")


def _budget(name, value):
    seconds_ = seconds(name, value)
    if not seconds_ >= 0:
        raise ValueError(f"{name} = {value} must be positive")
    return seconds_


def _choice(name, value):
    return None if value is None else flag(name, value)


# The required types; checked if the library's own check of the type fails, and for ranges.
_CHECKS = {
    "target": text, "objective": text, "threads": lambda name, value: whole(name, value, 0), "checked": flag, "residency": text,
    "arrival": text, "candidate": text, "config": text, "gpus": lambda name, value: _numbers_of_gpus(value),
    "gpu_memory_bytes": lambda name, value: whole(name, value, most=2 ** 63 - 1), "split": text, "cpu_share": _share,
    "on_device_failure": text, "tune_on_miss_s": _budget, "learn": _choice,
}


# The keywords of products besides options.
_ARGUMENTS = ("out", "alpha", "beta", "transpose_a", "transpose_b", "conjugate_a", "conjugate_b", "promote", "stream")


@functools.lru_cache(maxsize=256)
def _options(items):
    return _core.Options(**dict(items))


@functools.lru_cache(maxsize=1)
def _install_tuner():
    """For plans that search for what wisdom lacks, and for these alone: it takes as long to load as the rest."""
    with importing:
        from . import _tune
    _tune.install(_core.context_capsule())


def make_options(options):
    """The library's options from keywords; None where there are none. Equal keywords give the same object."""
    if not options:
        return None
    if options.get("target") in ("gpu", "hybrid"):
        _cuda.load_libraries()
    if "tune_on_miss_s" in options:
        _install_tuner()
    if "gpus" in options:
        options = {**options, "gpus": _numbers_of_gpus(options["gpus"])}
    for name, value in options.items():
        if isinstance(value, str):
            text(name, value)
    try:
        return _options(tuple(sorted(options.items())))
    except TypeError:
        unknown = [name for name in options if name not in _CHECKS]
        if unknown:
            raise unknown_option(unknown[0], _CHECKS, _ARGUMENTS) from None
        return _options(tuple(sorted((name, _CHECKS[name](name, value)) for name, value in options.items())))


def _numbers_of_gpus(value):
    if isinstance(value, (str, bytes)):
        raise type_error("gpus", value, "a sequence of GPU numbers")
    return tuple(_cuda.checked_gpu(f"gpus[{i}]", one) for i, one in enumerate(sequence("gpus", value, "numbers of GPUs")))


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
    conj_a ^= conjugated(kind_a, a)
    conj_b ^= conjugated(kind_b, b)
    held = []  # arrays that the caller does not hold, kept until the work is done or queued
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
        raise RuntimeError("packed copies of all operands were refused too: this is a bug of tilewright")
    if out is not out_view:
        kind.assign(out_view, out)
    return out_view
