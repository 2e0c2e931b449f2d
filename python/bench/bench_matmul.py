#!/usr/bin/env python3
"""Stacks of square matrices in host memory: tilewright.matmul beside numpy.matmul, both into an array that is there. The bar is the
geometric mean over n = 2 to 32 of 100,000 matrices in f64."""

import turns


def arguments():
    parser = turns.parser(__doc__)
    parser.add_argument("--sizes", type=turns.sizes, default=turns.sizes("2:32"))
    parser.add_argument("--batch", type=int, default=100000)
    parser.add_argument("--dtype", default="float64", help="several with commas")
    parser.add_argument("--threads", type=turns.sizes, default=[1, 2])
    return parser.parse_args()


def case_of(numpy, tilewright, n, batch, dtype, threads):
    """name -> what is timed, checked against each other."""
    rng = numpy.random.default_rng(n)
    a, b = (rng.standard_normal((batch, n, n)).astype(dtype) for _ in "ab")
    ours, theirs = numpy.empty_like(a), numpy.empty_like(a)
    contenders = {turns.OURS: lambda: tilewright.matmul(a, b, out=ours, threads=threads), "numpy": lambda: numpy.matmul(a, b, out=theirs)}
    for run in contenders.values():
        run()
    error = numpy.abs(ours - theirs).max()
    bound = 2 * (n + 4) * numpy.finfo(dtype).eps * numpy.matmul(numpy.abs(a), numpy.abs(b)).max()
    assert error <= bound, f"n = {n}: {error} is above {bound}"
    return contenders


def main():
    wanted = arguments()
    threads = turns.with_threads(wanted.threads, wanted.json)
    import numpy
    import tilewright
    report = turns.Report(wanted.json, device=turns.cpu_name(), versions=turns.versions("numpy", "tilewright"))
    for dtype in wanted.dtype.split(","):
        kept = []
        for n in wanted.sizes:
            contenders = case_of(numpy, tilewright, n, wanted.batch, dtype, threads)
            clock = turns.HostClock(threads)
            case = {"bench": "matmul", "case": f"{dtype} {wanted.batch} x {n}", "dtype": dtype, "m": n, "n": n, "k": n,
                    "batch_count": wanted.batch, "threads": threads, "clock": clock.name}
            flops = 2.0 * n ** 3 * wanted.batch
            kept += list(turns.rows_of(case, turns.Turns(clock, contenders).samples(wanted.rounds), flops))
            report.add(kept[-len(contenders):])
        report.add([turns.summary({"bench": "matmul", "dtype": dtype, "threads": threads, "peers": "numpy"}, kept)])


if __name__ == "__main__":
    main()
