"""tilewright: products of matrices, from batches of tiny ones to one that fills a GPU.

    import numpy, tilewright
    a, b = numpy.random.rand(2, 100000, 8, 8)
    c = tilewright.matmul(a, b)

NumPy arrays, PyTorch tensors and CuPy arrays are multiplied where they lie, and the result is an array of the same maker.

matmul                                  numpy.matmul with factors, transposes, an out, streams and options
grouped_matmul, variable_matmul         lists of arrays, each of its own shape, in one call
batch_reduce                            the sum of the products of a batch
stack_matmul                            products of blocks added up by lists of indices, as of block-sparse matrices
einsum, einsum_path                     contractions of tensors, as products without transposing copies
lu_factor, solve, inv, cholesky         linear systems, of stacks of matrices too
det, slogdet                            determinants
qr, lstsq                               orthogonal factors, least squares
eigh, eigvalsh, svd, svdvals            eigenvalues and singular values of small matrices
interleave, matmul_interleaved          batches whose equal elements are neighbours
explain, problem_of, prepare            what a call would do and why; make what it needs ahead
record, tune, wisdom, calibrate         what a program multiplies, and how it gets faster on this machine
info, bench                             the machine; ours beside other libraries
"""

from . import _core
from ._blas import find_cblas as _find_cblas
from ._importing import importing as _importing
from ._matmul import matmul as _general_matmul

_core.set_cblas(_find_cblas())
matmul = _core.make_matmul(
    _general_matmul,
    "matmul(a, b, out=None, *, alpha=1, beta=0, transpose_a=False, transpose_b=False, conjugate_a=False, conjugate_b=False, "
    "promote=False, stream=None, **options)\n--\n\n" + (_general_matmul.__doc__ or ""))  # python -OO has none

__version__ = _core.version

# These are loaded at their first use, so that importing the package takes no longer than matmul needs.
_LATER = {
    "grouped_matmul": "_lists", "variable_matmul": "_lists", "batch_reduce": "_lists", "stack_matmul": "_stack",
    "einsum": "_einsum", "einsum_path": "_einsum", "EinsumPath": "_einsum",
    "LU": "_lu", "lu_factor": "_lu", "solve": "_systems", "inv": "_systems", "cholesky": "_systems",
    "det": "_systems", "slogdet": "_systems", "SlogdetResult": "_systems",
    **dict.fromkeys(("qr", "QRResult", "lstsq", "eigh", "eigvalsh", "EighResult", "svd", "svdvals", "SVDResult"), "_decompositions"),
    "Interleaved": "_interleaved", "interleave": "_interleaved", "matmul_interleaved": "_interleaved",
    "Explanation": "_learning", "explain": "_learning", "problem_of": "_learning", "prepare": "_learning",
    "record": "_learning", "tune": "_learning",
    "info": "_tool", "bench": "_tool", "calibrate": "_tool",
    "wisdom": None,
}
__all__ = ["matmul", *_LATER]


def __getattr__(name):
    import importlib
    if name not in _LATER:
        raise AttributeError(f"module 'tilewright' has no attribute '{name}'")
    module = _LATER[name]
    with _importing:
        value = importlib.import_module(f".{module or name}", __name__)
    if module is not None:
        value = getattr(value, name)
    globals()[name] = value
    return value


def __dir__():
    return sorted({*globals(), *_LATER})
