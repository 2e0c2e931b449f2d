#!/usr/bin/env python3
"""Stacks of square systems in host memory: tilewright's solve, inv, det, cholesky, qr, eigh and svd beside numpy.linalg's, all with new
results. Each stack takes --bytes, at most --batch matrices. Results are compared before anything is timed."""

import turns

FUNCTIONS = ("solve", "inv", "det", "cholesky", "qr", "eigh", "svd")


def arguments():
    parser = turns.parser(__doc__)
    parser.add_argument("--functions", default=",".join(FUNCTIONS), help="several with commas")
    parser.add_argument("--sizes", type=turns.sizes, default=turns.sizes("2:17,20,24,28,32,48,64,96,128"))
    parser.add_argument("--batch", type=int, default=10000)
    parser.add_argument("--bytes", type=float, default=128e6, help="of A")
    parser.add_argument("--dtype", default="float64", help="several with commas")
    parser.add_argument("--threads", type=turns.sizes, default=[1])
    return parser.parse_args()


def products_of(numpy, name, found):
    """What the results of a function say A is; the function's value where it is unique."""
    if name == "qr":
        return found[0] @ found[1]
    if name == "eigh":
        return (found[1] * found[0][..., None, :]) @ numpy.swapaxes(found[1], -1, -2)
    if name == "svd":
        return (found[0] * found[1][..., None, :]) @ found[2]
    return found


def case_of(numpy, tilewright, name, n, batch, dtype, threads):
    """name -> what is timed, checked against each other."""
    rng = numpy.random.default_rng(n)
    a = (rng.standard_normal((batch, n, n)) + 2 * n * numpy.eye(n)).astype(dtype)
    if name == "cholesky":
        a = a @ numpy.swapaxes(a, -1, -2)
    if name == "eigh":
        a = a + numpy.swapaxes(a, -1, -2)
    others = [rng.standard_normal((batch, n, 1)).astype(dtype)] if name == "solve" else []
    ours, theirs = getattr(tilewright, name), getattr(numpy.linalg, name)
    contenders = {turns.OURS: lambda: ours(a, *others, threads=threads), "numpy": lambda: theirs(a, *others)}
    found, expected = (products_of(numpy, name, run()) for run in contenders.values())
    tolerance = 100 * n * float(numpy.finfo(dtype).eps)
    assert numpy.allclose(found, expected, rtol=tolerance, atol=tolerance * float(numpy.abs(expected).max())), f"{name}, n = {n}"
    return contenders


def main():
    wanted = arguments()
    threads = turns.with_threads(wanted.threads, wanted.json)
    import numpy
    import tilewright
    report = turns.Report(wanted.json, device=turns.cpu_name(), versions=turns.versions("numpy", "tilewright"))
    for dtype in wanted.dtype.split(","):
        for name in wanted.functions.split(","):
            kept = []
            for n in wanted.sizes:
                batch = max(1, min(wanted.batch, int(wanted.bytes / (n * n * numpy.dtype(dtype).itemsize))))
                clock = turns.HostClock(threads)
                case = {"bench": "systems", "function": name, "case": f"{name} {dtype} {batch} x {n}", "dtype": dtype, "n": n,
                        "batch_count": batch, "threads": threads, "clock": clock.name}
                contenders = case_of(numpy, tilewright, name, n, batch, dtype, threads)
                kept += list(turns.rows_of(case, turns.Turns(clock, contenders).samples(wanted.rounds), None))
                report.add(kept[-len(contenders):])
            report.add([turns.summary({"bench": "systems", "function": name, "dtype": dtype, "threads": threads, "peers": "numpy"}, kept)])


if __name__ == "__main__":
    main()
