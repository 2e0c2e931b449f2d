from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias, TypedDict, TypeVar, overload

import numpy
from typing_extensions import Unpack

from . import wisdom as wisdom

__version__: str
__all__ = ["matmul", "grouped_matmul", "variable_matmul", "batch_reduce", "stack_matmul", "einsum", "einsum_path", "EinsumPath", "LU",
           "lu_factor", "solve", "inv", "cholesky", "det", "slogdet", "SlogdetResult", "qr", "QRResult", "lstsq", "eigh",
           "eigvalsh", "EighResult", "svd", "svdvals", "SVDResult", "Interleaved", "interleave", "matmul_interleaved", "Explanation", "explain", "problem_of", "prepare", "record", "tune", "info", "bench", "calibrate", "wisdom"]

# Whatever has __array_interface__, __cuda_array_interface__ or __dlpack__, and what numpy.asarray takes.
_Array: TypeAlias = Any
_A = TypeVar("_A")
_Out = TypeVar("_Out")
_S = TypeVar("_S", bound=numpy.generic)
_Ndarray: TypeAlias = numpy.ndarray[Any, numpy.dtype[_S]]
_AnyNdarray: TypeAlias = numpy.ndarray[Any, numpy.dtype[Any]]
_Listed: TypeAlias = _AnyNdarray | Sequence[Any]  # lists and tuples become NumPy's arrays
_Target: TypeAlias = Literal["auto", "cpu", "gpu", "hybrid"]
_Factor: TypeAlias = complex

class _Options(TypedDict, total=False):
    target: _Target
    objective: str
    threads: int
    checked: bool
    residency: Literal["auto", "cold", "l2", "l1"]
    arrival: Literal["back_to_back", "idle"]
    candidate: str
    config: str
    gpus: Iterable[int]
    gpu_memory_bytes: int
    split: Literal["model", "guided", "exhaustive", "fixed"]
    cpu_share: float | None
    on_device_failure: Literal["error", "redo"]
    tune_on_miss_s: float
    learn: bool | None

class _Product(_Options, total=False):
    alpha: _Factor
    beta: _Factor
    transpose_a: bool
    transpose_b: bool
    conjugate_a: bool
    conjugate_b: bool
    promote: bool

class _Queued(_Product, total=False):
    stream: int | None

class _Explained(_Product, total=False):
    out: _Array | None

class _LuOptions(TypedDict, total=False):
    target: _Target
    threads: int
    candidate: str
    nb: int

class _LuReport(TypedDict, total=False):
    info: int
    candidate: str
    nb: int
    panel_s: float
    swap_s: float
    solve_s: float
    update_s: float
    gpus: list[int]
    plan: str
    routine: str

class _Tuned(TypedDict):
    asked: str
    problem: str
    family: str
    config: dict[str, Any]
    wisdom: str
    seconds: float
    seconds_low: float
    seconds_high: float
    joules: float | None
    peer: str
    peer_seconds: float
    regret: float
    tie: bool
    candidates: int
    measured: int

class _Run(TypedDict):
    problem: str
    count: int
    seconds: float

class _InfoOfGpus(TypedDict, total=False):
    ceilings_kept: bool
    ceilings_note: str | None
    gpu_compiler: str | None
    gpu_compiler_error: str
    gpu_kernel_sources: str
    gpu_kernel_cache: str

class _Info(_InfoOfGpus):
    version: str
    device: str
    isa: str
    isa_available: list[str]
    avx2_fma: bool
    avx512: bool
    cores: int
    threads: int
    l1d_bytes: int
    l2_bytes: int
    l3_bytes: int
    numa_nodes: int
    gpus: list[dict[str, Any]]
    gpus_note: str | None
    libraries: dict[str, Any]
    energy_meters: list[Any]
    energy_note: str | None
    wisdom: list[str]
    ceilings: list[dict[str, Any]]
    gpu_ceilings: list[dict[str, Any]]
    ceilings_path: str

@overload
def matmul(a: _Ndarray[_S], b: _Array, out: None = None, *, alpha: _Factor = 1, beta: _Factor = 0, transpose_a: bool = False,
           transpose_b: bool = False, conjugate_a: bool = False, conjugate_b: bool = False, promote: Literal[False] = False,
           stream: int | None = None, **options: Unpack[_Options]) -> _Ndarray[_S]: ...
@overload
def matmul(a: _Listed, b: _Array, out: None = None, *, alpha: _Factor = 1, beta: _Factor = 0, transpose_a: bool = False,
           transpose_b: bool = False, conjugate_a: bool = False, conjugate_b: bool = False, promote: bool = False,
           stream: int | None = None, **options: Unpack[_Options]) -> _AnyNdarray: ...
@overload
def matmul(a: _A, b: _Array, out: None = None, *, alpha: _Factor = 1, beta: _Factor = 0, transpose_a: bool = False,
           transpose_b: bool = False, conjugate_a: bool = False, conjugate_b: bool = False, promote: bool = False,
           stream: int | None = None, **options: Unpack[_Options]) -> _A: ...
@overload
def matmul(a: _Array, b: _Array, out: _Out, *, alpha: _Factor = 1, beta: _Factor = 0, transpose_a: bool = False,
           transpose_b: bool = False, conjugate_a: bool = False, conjugate_b: bool = False, promote: bool = False,
           stream: int | None = None, **options: Unpack[_Options]) -> _Out: ...
@overload
def batch_reduce(a: _Ndarray[_S], b: _Array, out: None = None, *, alpha: _Factor = 1, beta: _Factor = 0, transpose_a: bool = False,
                 transpose_b: bool = False, conjugate_a: bool = False, conjugate_b: bool = False, promote: Literal[False] = False,
                 stream: int | None = None, **options: Unpack[_Options]) -> _Ndarray[_S]: ...
@overload
def batch_reduce(a: _Listed, b: _Array, out: None = None, *, alpha: _Factor = 1, beta: _Factor = 0, transpose_a: bool = False,
                 transpose_b: bool = False, conjugate_a: bool = False, conjugate_b: bool = False, promote: bool = False,
                 stream: int | None = None, **options: Unpack[_Options]) -> _AnyNdarray: ...
@overload
def batch_reduce(a: _A, b: _Array, out: None = None, *, alpha: _Factor = 1, beta: _Factor = 0, transpose_a: bool = False,
                 transpose_b: bool = False, conjugate_a: bool = False, conjugate_b: bool = False, promote: bool = False,
                 stream: int | None = None, **options: Unpack[_Options]) -> _A: ...
@overload
def batch_reduce(a: _Array, b: _Array, out: _Out, *, alpha: _Factor = 1, beta: _Factor = 0, transpose_a: bool = False,
                 transpose_b: bool = False, conjugate_a: bool = False, conjugate_b: bool = False, promote: bool = False,
                 stream: int | None = None, **options: Unpack[_Options]) -> _Out: ...
@overload
def grouped_matmul(a: Iterable[_Ndarray[_S]], b: Iterable[_Array], out: None = None, *, alpha: _Factor = 1,
                   beta: _Factor = 0, transpose_a: bool = False,
                   transpose_b: bool = False, conjugate_a: bool = False, conjugate_b: bool = False, promote: Literal[False] = False,
                   stream: int | None = None, **options: Unpack[_Options]) -> list[_Ndarray[_S]]: ...
@overload
def grouped_matmul(a: Iterable[_Listed], b: Iterable[_Array], out: None = None, *, alpha: _Factor = 1,
                   beta: _Factor = 0, transpose_a: bool = False,
                   transpose_b: bool = False, conjugate_a: bool = False, conjugate_b: bool = False, promote: bool = False,
                   stream: int | None = None, **options: Unpack[_Options]) -> list[_AnyNdarray]: ...
@overload
def grouped_matmul(a: Iterable[_A], b: Iterable[_Array], out: None = None, *, alpha: _Factor = 1,
                   beta: _Factor = 0, transpose_a: bool = False,
                   transpose_b: bool = False, conjugate_a: bool = False, conjugate_b: bool = False, promote: bool = False,
                   stream: int | None = None, **options: Unpack[_Options]) -> list[_A]: ...
@overload
def grouped_matmul(a: Iterable[_Array], b: Iterable[_Array], out: Iterable[_Out], *, alpha: _Factor = 1,
                   beta: _Factor = 0, transpose_a: bool = False,
                   transpose_b: bool = False, conjugate_a: bool = False, conjugate_b: bool = False, promote: bool = False,
                   stream: int | None = None, **options: Unpack[_Options]) -> list[_Out]: ...
@overload
def variable_matmul(a: Iterable[_Listed], b: Iterable[_Array], out: None = None,
                    **options: Unpack[_Queued]) -> list[_AnyNdarray]: ...
@overload
def variable_matmul(a: Iterable[_A], b: Iterable[_Array], out: None = None, **options: Unpack[_Queued]) -> list[_A]: ...
@overload
def variable_matmul(a: Iterable[_Array], b: Iterable[_Array], out: Iterable[_Out], **options: Unpack[_Queued]) -> list[_Out]: ...

def stack_matmul(a: _Array, b: _Array, out: _Out, a_index: Sequence[int], b_index: Sequence[int], out_index: Sequence[int], *,
                 alpha: _Factor = 1, beta: _Factor = 0, transpose_a: bool = False, transpose_b: bool = False,
                 conjugate_a: bool = False, conjugate_b: bool = False, promote: bool = False,
                 **options: Unpack[_Options]) -> _Out: ...
@overload
def einsum(*arguments: Any, out: None = None, alpha: _Factor = 1, beta: _Factor = 0, optimize: Any = "auto",
           promote: bool = False, **options: Unpack[_Options]) -> Any: ...
@overload
def einsum(*arguments: Any, out: _Out, alpha: _Factor = 1, beta: _Factor = 0, optimize: Any = "auto",
           promote: bool = False, **options: Unpack[_Options]) -> _Out: ...
def einsum_path(*arguments: Any, out: _Array | None = None, optimize: Any = "auto", promote: bool = False) -> EinsumPath: ...

class EinsumPath:
    contraction: str
    dtype: str
    steps: list[dict[str, Any]]
    flops: float
    copied_bytes: int
    copy_count: int
    piece: tuple[str, int] | None
    def __init__(self, expression: Any, plan: Any, dtype: str, item_bytes: int, pieces: Any = None) -> None: ...
    def rows(self) -> Iterable[tuple[str, ...]]: ...
    def _repr_html_(self) -> str: ...

class LU:
    lu: _Array
    pivots: _Array
    report: _LuReport | None
    def __init__(self, kind: Any, dtype: str, lu: _Array, pivots: _Array, info: Any, report: _LuReport | None, target: str,
                 threads: int, like: Any) -> None: ...
    @property
    def info(self) -> Any: ...
    def __iter__(self) -> Any: ...
    def _repr_html_(self) -> str: ...
    @overload
    def solve(self, b: _Ndarray[_S], *, transpose: bool = False, conjugate: bool = False) -> _Ndarray[_S]: ...
    @overload
    def solve(self, b: Sequence[Any], *, transpose: bool = False, conjugate: bool = False) -> _AnyNdarray: ...
    @overload
    def solve(self, b: _A, *, transpose: bool = False, conjugate: bool = False) -> _A: ...
    def inverse(self) -> Any: ...

def lu_factor(a: _Array, *, target: _Target = "auto", threads: int = 0, candidate: str = "", nb: int = 0,
              promote: bool = False) -> LU: ...
@overload
def solve(a: _Ndarray[_S], b: _Listed, *, promote: Literal[False] = False, **options: Unpack[_LuOptions]) -> _Ndarray[_S]: ...
@overload
def solve(a: _Listed, b: _Array, *, promote: bool = False, **options: Unpack[_LuOptions]) -> _AnyNdarray: ...
@overload
def solve(a: _A, b: _Array, *, promote: bool = False, **options: Unpack[_LuOptions]) -> _A: ...
@overload
def inv(a: _Ndarray[_S], *, promote: Literal[False] = False, **options: Unpack[_LuOptions]) -> _Ndarray[_S]: ...
@overload
def inv(a: _Listed, *, promote: bool = False, **options: Unpack[_LuOptions]) -> _AnyNdarray: ...
@overload
def inv(a: _A, *, promote: bool = False, **options: Unpack[_LuOptions]) -> _A: ...

@overload
def cholesky(a: _Ndarray[_S], *, upper: bool = False, threads: int = 0, promote: Literal[False] = False) -> _Ndarray[_S]: ...
@overload
def cholesky(a: _Listed, *, upper: bool = False, threads: int = 0, promote: bool = False) -> _AnyNdarray: ...
@overload
def cholesky(a: _A, *, upper: bool = False, threads: int = 0, promote: bool = False) -> _A: ...

class SlogdetResult(NamedTuple):
    sign: Any
    logabsdet: Any

def det(a: _Array, *, threads: int = 0, promote: bool = False) -> Any: ...
def slogdet(a: _Array, *, threads: int = 0, promote: bool = False) -> SlogdetResult: ...

class QRResult(NamedTuple):
    Q: Any
    R: Any

class EighResult(NamedTuple):
    eigenvalues: Any
    eigenvectors: Any

class SVDResult(NamedTuple):
    U: Any
    S: Any
    Vh: Any

@overload
def qr(a: _Array, mode: Literal["reduced", "complete"] = "reduced", *, threads: int = 0, promote: bool = False) -> QRResult: ...
@overload
def qr(a: _Array, mode: Literal["raw"], *, threads: int = 0, promote: bool = False) -> tuple[Any, Any]: ...
@overload
def qr(a: _Ndarray[_S], mode: Literal["r"], *, threads: int = 0, promote: Literal[False] = False) -> _Ndarray[_S]: ...
@overload
def qr(a: _Listed, mode: Literal["r"], *, threads: int = 0, promote: bool = False) -> _AnyNdarray: ...
@overload
def qr(a: _A, mode: Literal["r"], *, threads: int = 0, promote: bool = False) -> _A: ...
def lstsq(a: _Array, b: _Array, rcond: float | None = None, *, driver: Literal["gelsd", "gels"] = "gelsd", threads: int = 0,
          promote: bool = False) -> tuple[Any, Any, Any, Any]: ...
def eigh(a: _Array, UPLO: Literal["L", "U", "l", "u"] = "L", *, threads: int = 0, promote: bool = False) -> EighResult: ...
@overload
def eigvalsh(a: _Listed, UPLO: Literal["L", "U", "l", "u"] = "L", *, threads: int = 0, promote: bool = False) -> _AnyNdarray: ...
@overload
def eigvalsh(a: _A, UPLO: Literal["L", "U", "l", "u"] = "L", *, threads: int = 0, promote: bool = False) -> _A: ...
@overload
def svd(a: _Array, full_matrices: bool = True, compute_uv: Literal[True] = True, hermitian: bool = False, *, threads: int = 0,
        promote: bool = False) -> SVDResult: ...
@overload
def svd(a: _Array, full_matrices: bool = True, *, compute_uv: Literal[False], hermitian: bool = False, threads: int = 0,
        promote: bool = False) -> Any: ...
@overload
def svd(a: _Array, full_matrices: bool, compute_uv: Literal[False], hermitian: bool = False, *, threads: int = 0,
        promote: bool = False) -> Any: ...
@overload
def svdvals(x: _Listed, /, *, threads: int = 0, promote: bool = False) -> _AnyNdarray: ...
@overload
def svdvals(x: _A, /, *, threads: int = 0, promote: bool = False) -> _A: ...

class Interleaved:
    data: _Array
    rows: int
    cols: int
    block: int
    count: int
    dtype: str
    def __init__(self, data: _Array, rows: int, cols: int, block: int, count: int, dtype: str) -> None: ...
    @property
    def shape(self) -> tuple[int, int, int]: ...
    def _repr_html_(self) -> str: ...
    def deinterleave(self, out: _Array | None = None, *, threads: int = 0) -> _Array: ...

def interleave(a: _Array, block: int | Literal["whole"] | None = None, *, threads: int = 0) -> Interleaved: ...
def matmul_interleaved(a: Interleaved, b: Interleaved, out: Interleaved | None = None, *, alpha: _Factor = 1, beta: _Factor = 0,
                       stream: int | None = None, **options: Unpack[_Options]) -> Interleaved: ...

class Explanation(str):
    def __new__(cls, text: str) -> Explanation: ...
    def _repr_html_(self) -> str: ...

def problem_of(a: _Array, b: _Array, out: _Array | None = None, *, alpha: _Factor = 1, beta: _Factor = 0, transpose_a: bool = False,
               transpose_b: bool = False, conjugate_a: bool = False, conjugate_b: bool = False,
               promote: bool = False) -> str: ...
def explain(problem: str | _Array, b: _Array | None = None, *, device: int = 0,
            **options: Unpack[_Explained]) -> Explanation: ...
def prepare(*problems: str | Iterable[str], device: int = 0, **options: Unpack[_Options]) -> None: ...

class record:
    rows: list[_Run]
    def __init__(self, path: Any = None) -> None: ...
    def __enter__(self) -> record: ...
    def __exit__(self, *_: Any) -> bool: ...
    def _repr_html_(self) -> str: ...
    @property
    def problems(self) -> list[str]: ...

def tune(*problems: Any, budget_s: float = 2.0, objective: str = "time",
         strategy: Literal["exhaustive", "random", "local", "model"] = "exhaustive", device: int = 0, log: Any = "", resume: bool = False,
         progress: Callable[[str, int, float], bool | None] | Literal["bar"] | None = None) -> list[_Tuned]: ...
def info(measure: bool = False, **options: Any) -> _Info: ...
def bench(family: str = "gemm_small_cpu", *, progress: Callable[[str], Any] | None = None,
          **options: Any) -> list[dict[str, Any]]: ...
def calibrate(quick: bool = False, *, progress: Callable[[str], Any] | None = None,
              **options: Any) -> list[dict[str, Any]]: ...
