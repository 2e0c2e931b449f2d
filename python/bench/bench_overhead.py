#!/usr/bin/env python3
"""What a call from Python costs beyond the call of the library: tilewright.matmul on NumPy arrays beside the same products by a loop in
C++ (python/bench/call_loop.cpp, built by the target python_call_loop), one thread, and beside numpy.matmul. Bars: two 8x8 arrays 1.5 us,
1000 of them 1 %. Then the import: `import tilewright` beyond `import numpy`, in processes of their own."""

import ctypes
import os
import pathlib
import subprocess
import sys
import time

import turns


def arguments():
    parser = turns.parser(__doc__)
    parser.add_argument("--loop", required=True, metavar="LIBRARY", help="libpython_call_loop.so of the build")
    parser.set_defaults(rounds=31)
    return parser.parse_args()


class Loop:
    """`repeats` calls of the library's gemm_batched in C++, of row-major (batch, n, n) arrays."""

    def __init__(self, path):
        self.call = ctypes.CDLL(str(pathlib.Path(path).resolve())).tilewright_call_loop
        self.call.restype = ctypes.c_int
        self.call.argtypes = [ctypes.c_int64, ctypes.c_int64, ctypes.c_int64, *[ctypes.c_void_p] * 3]

    def run(self, repeats, a, b, c):
        code = self.call(repeats, len(a) if a.ndim == 3 else 1, a.shape[-1], a.ctypes.data, b.ctypes.data, c.ctypes.data)
        assert code == 0, "the loop in C++ failed"


class LoopClock(turns.HostClock):
    """Runs the loop in C++ once with all repeats, anybody else in a loop of Python's, whose own cost is taken off."""

    def __init__(self):
        super().__init__(1)
        self.empty = min(super(LoopClock, self).seconds(lambda: None, 100000) for _ in range(5))

    def seconds(self, run, repeats):
        if getattr(run, "takes_repeats", False):
            begin = self.now()
            run(repeats)
            return (self.now() - begin) / repeats
        return super().seconds(run, repeats) - self.empty


def contenders_of(numpy, tilewright, loop, shape):
    rng = numpy.random.default_rng(1)
    a, b = (rng.standard_normal(shape) for _ in "ab")
    outs = {name: numpy.zeros(shape) for name in ("c++", turns.OURS, "numpy")}

    def in_cpp(repeats=1):
        loop.run(repeats, a, b, outs["c++"])

    in_cpp.takes_repeats = True
    made = {turns.OURS: lambda: tilewright.matmul(a, b, outs[turns.OURS]), "c++": in_cpp, "numpy": lambda: numpy.matmul(a, b, outs["numpy"])}
    made[turns.OURS + " without out"] = lambda: tilewright.matmul(a, b)
    for run in made.values():
        run()
    for name, out in outs.items():
        assert numpy.allclose(out, outs["numpy"], rtol=1e-12, atol=1e-12), name
    return made


def import_seconds(statement):
    begin = time.perf_counter()
    subprocess.run([sys.executable, "-c", statement], check=True)
    return time.perf_counter() - begin


def imports(rounds):
    """Returns rows of both imports, measured alternately; tilewright's additional time is paired by rounds."""
    statements = {"numpy": "import numpy", "tilewright": "import numpy, tilewright"}
    samples = {name: [] for name in statements}
    for statement in statements.values():
        import_seconds(statement)
    for _ in range(rounds):
        for name, statement in statements.items():
            samples[name].append(import_seconds(statement))
    beyond = [ours - theirs for ours, theirs in zip(samples["tilewright"], samples["numpy"])]
    low, high = turns.interval(beyond)
    yield {"bench": "import", "case": "import beyond numpy", "impl": turns.OURS, "seconds": turns.median(beyond), "seconds_low": low,
           "seconds_high": high, "samples": len(beyond), "clock": "wall"}


def main():
    wanted = arguments()
    os.environ.update({"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"})
    import numpy
    import tilewright
    report = turns.Report(wanted.json, device=turns.cpu_name(), versions=turns.versions("numpy", "tilewright"))
    loop = Loop(wanted.loop)
    for shape in ((8, 8), (1000, 8, 8)):
        case = {"bench": "overhead", "case": " x ".join(map(str, shape)), "dtype": "float64", "threads": 1, "clock": "thread_cpu"}
        runs = turns.Turns(LoopClock(), contenders_of(numpy, tilewright, loop, shape), least_s=1e-2)
        samples = runs.samples(wanted.rounds)
        over = [ours - theirs for ours, theirs in zip(samples[turns.OURS], samples["c++"])]
        report.add(turns.rows_of(case, samples, 0))
        low, high = turns.interval(over)
        share = turns.median([one / theirs for one, theirs in zip(over, samples["c++"])])
        report.add([{**case, "impl": "overhead over c++", "seconds": turns.median(over), "seconds_low": low, "seconds_high": high,
                     "samples": len(over), "share": share}])
    report.add(imports(wanted.rounds))


if __name__ == "__main__":
    main()
