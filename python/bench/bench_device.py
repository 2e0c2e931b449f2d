#!/usr/bin/env python3
"""Batches of square matrices in the memory of a GPU: tilewright.matmul on torch tensors beside torch.bmm and cupy.matmul on the same memory,
timed by events on one stream, 1 GiB per operand. Then what a call costs the host: batches so small that queueing is all there is."""

import time

import turns


def arguments():
    parser = turns.parser(__doc__)
    parser.add_argument("--sizes", type=turns.sizes, default=turns.sizes("2:32"))
    parser.add_argument("--dtype", default="float64,float32")
    parser.add_argument("--bytes", type=float, default=2.0 ** 30, help="of each operand")
    return parser.parse_args()


class EventClock:
    """Seconds of queued work by the GPU's events on torch's current stream."""

    name = "events"

    def __init__(self, torch):
        self.torch = torch
        self.begin, self.end = (torch.cuda.Event(enable_timing=True) for _ in "be")

    def seconds(self, run, repeats):
        self.begin.record()
        for _ in range(repeats):
            run()
        self.end.record()
        self.end.synchronize()
        return self.begin.elapsed_time(self.end) * 1e-3 / repeats


class QueueClock:
    """Seconds of the host until work is queued; a wait afterwards is not counted. Few enough at a time that no queue fills."""

    name = "host"

    def __init__(self, torch):
        self.torch = torch

    def seconds(self, run, repeats):
        spent, left = 0.0, repeats
        while left > 0:
            count = min(left, 200)
            begin = time.perf_counter()
            for _ in range(count):
                run()
            spent += time.perf_counter() - begin
            self.torch.cuda.synchronize()
            left -= count
        return spent / repeats


def cupy_of(torch):
    """cupy on torch's stream, or None."""
    try:
        import cupy
    except ImportError:
        print("cupy is not installed: torch is the only peer", flush=True)
        return None
    cupy.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream).use()
    return cupy


def contenders_of(torch, cupy, tilewright, n, batch, dtype):
    a, b = (torch.randn(batch, n, n, dtype=getattr(torch, dtype), device="cuda") for _ in "ab")
    ours, theirs = torch.empty_like(a), torch.empty_like(a)
    made = {turns.OURS: lambda: tilewright.matmul(a, b, out=ours), "torch.bmm": lambda: torch.bmm(a, b, out=theirs)}
    if cupy is not None:
        x, y, z = (cupy.from_dlpack(one) for one in (a, b, theirs))
        made["cupy.matmul"] = lambda: cupy.matmul(x, y, out=z)
    eps = torch.finfo(getattr(torch, dtype)).eps
    for name, run in made.items():
        if name == turns.OURS:
            continue
        ours.fill_(float("nan"))
        made[turns.OURS]()
        run()
        error = (ours - theirs).abs().max().item()
        assert error <= 200 * (n + 4) * eps, f"n = {n}, {dtype}: ours and {name} differ by {error}"
    return made


def main():
    wanted = arguments()
    import torch
    import tilewright
    torch.backends.cuda.matmul.allow_tf32 = False
    cupy = cupy_of(torch)
    report = turns.Report(wanted.json, device=torch.cuda.get_device_name(), versions=turns.versions("numpy", "torch", "cupy-cuda13x", "tilewright"))
    for dtype in wanted.dtype.split(","):
        item = torch.finfo(getattr(torch, dtype)).bits // 8
        kept = []
        for n in wanted.sizes:
            batch = int(wanted.bytes) // (n * n * item)
            clock = EventClock(torch)
            case = {"bench": "device_matmul", "case": f"{dtype} {batch} x {n}", "dtype": dtype, "m": n, "n": n, "k": n,
                    "batch_count": batch, "location": "device", "clock": clock.name}
            runs = turns.Turns(clock, contenders_of(torch, cupy, tilewright, n, batch, dtype), least_s=0.0)
            rows = list(turns.rows_of(case, runs.samples(wanted.rounds), 2.0 * n ** 3 * batch))
            report.add(rows)
            kept += rows
            del runs
            torch.cuda.empty_cache()
        report.add([turns.summary({"bench": "device_matmul", "dtype": dtype, "peers": "torch.bmm, cupy.matmul"}, kept)])
    for batch in (1, 100):
        clock = QueueClock(torch)
        case = {"bench": "device_call", "case": f"host side, {batch} x 8", "dtype": "float64", "n": 8, "batch_count": batch,
                "location": "device", "clock": clock.name}
        runs = turns.Turns(clock, contenders_of(torch, cupy, tilewright, 8, batch, "float64"))
        report.add(turns.rows_of(case, runs.samples(wanted.rounds), 0))


if __name__ == "__main__":
    main()
