#!/usr/bin/env python3
"""Contractions in host memory: tilewright.einsum beside numpy.einsum(optimize=True) and, where it is installed, torch.einsum on the CPU.
The cases are sum factorization of high-order finite elements, and contractions of tensors as quantum chemistry and machine learning have
them. Each contender makes its own result; plans and paths are known before the clock runs."""

import turns

ELEMENTS = 20000

# name -> (subscripts, shapes)
CASES = {
    **{f"fem {axis}, p = {n - 1}": (text, [(n, n), (ELEMENTS * 512 // n ** 3, n, n, n)]) for n in (4, 6, 8) for axis, text in (
        ("x", "ai,eijk->eajk"), ("y", "bj,eijk->eibk"), ("z", "ck,eijk->eijc"))},
    **{f"fem xyz, p = {n - 1}": ("ai,bj,ck,eijk->eabc", [(n, n)] * 3 + [(ELEMENTS * 512 // n ** 3, n, n, n)]) for n in (4, 6, 8)},
    "fem 2d gradient": ("qi,eij,pj->eqp", [(10, 9), (50000, 9, 9), (10, 9)]),
    "tensor abcd,dbef": ("abcd,dbef->acef", [(40, 8, 40, 16), (16, 8, 20, 24)]),
    "tensor abc,cd": ("abc,cd->abd", [(300, 40, 24), (24, 24)]),
    "tensor ring": ("aib,bjc,ckd,dla->ijkl", [(12, 16, 12)] * 4),
    "attention scores": ("bqhd,bkhd->bhqk", [(8, 64, 16, 32), (8, 64, 16, 32)]),
    "attention values": ("bhqk,bkhd->bqhd", [(8, 16, 64, 64), (8, 64, 16, 32)]),
    "ladder": ("ijab,abcd->ijcd", [(14, 14, 20, 20), (20, 20, 20, 20)]),
    "batch of gram": ("bki,bkj->bij", [(20000, 16, 8), (20000, 16, 8)]),
    "radar covariances": ("csr,cst->crt", [(2000, 64, 16), (2000, 64, 16)]),
}


def arguments():
    parser = turns.parser(__doc__)
    parser.add_argument("--threads", type=turns.sizes, default=[1, 2])
    parser.add_argument("--cases", default="", help="words: cases whose names hold one of them, separated by commas")
    parser.add_argument("--dtype", default="float64")
    return parser.parse_args()


def contenders_of(numpy, tilewright, torch, text, operands, threads):
    path = numpy.einsum_path(text, *operands, optimize=True)[0]
    made = {turns.OURS: lambda: tilewright.einsum(text, *operands, threads=threads),
            "numpy": lambda: numpy.einsum(text, *operands, optimize=path)}
    if torch is not None:
        tensors = [torch.from_numpy(one) for one in operands]
        made["torch"] = lambda: torch.einsum(text, *tensors)
    wanted = made["numpy"]()
    scale = numpy.einsum(text, *[numpy.abs(one) for one in operands], optimize=path)
    for name, run in made.items():
        error = (numpy.abs(numpy.asarray(run()) - wanted) / numpy.maximum(scale, 1e-30)).max()
        assert error < 1e3 * numpy.finfo(wanted.dtype).eps, f"{text}, {name}: relative error {error}"
    return made


def torch_of(threads):
    try:
        import torch
    except ImportError:
        print("torch is not installed: numpy is the only peer", flush=True)
        return None
    torch.set_num_threads(threads)
    return torch


def main():
    wanted = arguments()
    threads = turns.with_threads(wanted.threads, wanted.json)
    import numpy
    import tilewright
    torch = torch_of(threads)
    report = turns.Report(wanted.json, device=turns.cpu_name(), versions=turns.versions("numpy", "torch", "opt_einsum", "tilewright"))
    words, kept = wanted.cases.split(","), []
    rng = numpy.random.default_rng(1)
    for name, (text, shapes) in CASES.items():
        if not any(word in name for word in words):
            continue
        operands = [rng.standard_normal(shape).astype(wanted.dtype) for shape in shapes]
        path = tilewright.einsum_path(text, *operands)
        clock = turns.HostClock(threads)
        case = {"bench": "einsum", "case": name, "subscripts": text, "shapes": shapes, "dtype": wanted.dtype, "threads": threads,
                "clock": clock.name}
        runs = turns.Turns(clock, contenders_of(numpy, tilewright, torch, text, operands, threads))
        rows = list(turns.rows_of(case, runs.samples(wanted.rounds), path.flops, copied_bytes=path.copied_bytes, copies=path.copy_count))
        report.add(rows)
        kept += rows
    report.add([turns.summary({"bench": "einsum", "dtype": wanted.dtype, "threads": threads, "peers": "numpy, torch"}, kept)])


if __name__ == "__main__":
    main()
