#!/usr/bin/env python3
"""Compares what `tilewright explain` decides for some hundreds of problems on machines that are played with the recorded
decisions: implementation, config, split, threads, prediction and every reason. The machines are a CPU alone, the fake GPU with the
wisdom of a card, and a node whose models were fitted. `--update` records anew. Takes the tool and the preloaded machine."""

import argparse
import difflib
import gzip
import itertools
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
CACHES = {"1": ("Data", "32K"), "2": ("Unified", "1024K"), "3": ("Unified", "32768K")}
MODELS = ROOT / "results/h200/calibrate-20261127-four-gpus.jsonl.gz"
DTYPES = ("f64", "f32", "c128", "c64")
OPS = ("nn", "nt", "tn", "cn", "tt", "nc")
BETAS = ("", ":beta=one", ":beta=general")


def sequence(*parts):
    """Endless tuples of the parts' values, each part at a pace of its own, so that a few hundred show most pairs."""
    return zip(*(itertools.cycle(part) for part in parts))


def small(location, count):
    """Batches of small products in every layout."""
    sizes = [(1, 1, 1), (2, 2, 2), (3, 3, 3), (4, 4, 4), (5, 13, 23), (7, 7, 7), (8, 8, 8), (9, 1, 4), (12, 12, 12), (16, 16, 16), (17, 3, 31),
             (23, 23, 23), (32, 32, 32), (33, 20, 8), (37, 37, 37), (48, 48, 48), (64, 64, 64), (64, 1, 64), (1, 64, 2)]
    layouts = ["strided:batch=100000", "strided:batch=7", "pointer:batch=5000", "interleaved:batch=4096", "block_interleaved:batch=10000:block=8",
               "strided:batch=600:outer=20", "strided:batch=500:stride_a=0", "pointer:batch=1", "variable:batch=3000",
               "interleaved:batch=77", "strided:batch=3000000"]
    for size, dtype, ops, layout, beta, residency, _ in itertools.islice(
            sequence(sizes, DTYPES, OPS, layouts, BETAS, ("", ":residency=cold", ":residency=l1", "", ":residency=l2"), range(count)), count):
        yield problem("gemm_batched", dtype, ops, size, f":{layout}{beta}{residency}{location}")


def single(location, sizes, count):
    for size, dtype, ops, beta, _ in itertools.islice(sequence(sizes, DTYPES, OPS, BETAS, range(count)), count):
        yield problem("gemm", dtype, ops, size, beta + location)


def sums(location, count):
    sizes = [(4, 4, 4), (13, 13, 13), (16, 16, 16), (23, 23, 23), (32, 8, 5), (64, 64, 64), (3, 40, 12), (100, 100, 100), (128, 64, 90)]
    kinds = [("gemm_batch_reduce", ":strided:batch=100"), ("gemm_stack", ":batch=30000:run=10"), ("gemm_batch_reduce", ":pointer:batch=3000"),
             ("gemm_stack", ":batch=500:run=500"), ("gemm_stack", ":batch=100000:run=2")]
    for size, dtype, ops, (family, layout), beta, _ in itertools.islice(sequence(sizes, DTYPES, OPS, kinds, BETAS[1:], range(count)), count):
        yield problem(family, dtype, ops, size, layout + beta + location)


def factorizations(location, count):
    sizes = [(1, 1), (8, 8), (64, 64), (200, 200), (500, 300), (1000, 1000), (2000, 2000), (3000, 100), (5000, 5000), (12000, 12000), (300, 4000)]
    for (m, n), dtype, _ in itertools.islice(sequence(sizes, DTYPES, range(count)), count):
        yield f"lu:{dtype}:m={m},n={n}{location}"


def recorded(name, step):
    """Problems that shipped records are of, and others near them."""
    for line in (ROOT / f"wisdom/{name}.jsonl").read_text().splitlines()[::step]:
        text = json.loads(line).get("problem", "model")
        if text == "model":
            continue
        yield text
        size = re.search(r"m=(\d+)", text)
        yield text.replace(size[0], f"m={int(size[1]) + 1}")


def problem(family, dtype, ops, size, rest):
    m, n, k = size
    return f"{family}:{dtype}:{ops}:m={m},n={n},k={k}{rest}"


LARGE = [(65, 65, 65), (100, 100, 100), (128, 1000, 64), (300, 300, 300), (1000, 1000, 1000), (2500, 2500, 2500), (4096, 4096, 4096), (7000, 1100, 900),
         (40000, 333, 777), (3, 1000000, 3), (1000000, 3, 3), (300, 20000, 150), (8192, 8192, 64), (64, 64, 100000), (20000, 20000, 20000),
         (700, 1, 900), (1, 5000, 5000)]
TINY = [(1, 1, 1), (4, 4, 4), (7, 12, 30), (0, 4, 4), (4, 4, 0), (20, 20, 20), (64, 64, 64), (50, 64, 33)]
DEVICE = ":location=device"


def questions(machine):
    """(flags, problems) of each run of the tool."""
    if machine == "cpu":
        yield (), [*small("", 150), *single("", TINY + LARGE, 60), *sums("", 30), *factorizations("", 22),
                   *recorded("xeon-amx-2core", 9)]
        yield ("--threads", "1"), [*small("", 30), *single("", LARGE, 12)]
        yield ("--objective", "energy"), list(small("", 20))
        yield ("--target", "cpu"), [*single("", LARGE, 10), *factorizations("", 6)]
        for name in ("cpu_small", "host_blas", "reference", "bands", "batch_reduce"):
            yield ("--candidate", name), ["gemm_batched:f64:nn:m=8,n=8,k=8:strided:batch=1000", "gemm:f32:tn:m=300,n=8,k=90",
                                          "gemm_batch_reduce:f64:nn:m=16,n=16,k=16:strided:batch=100:beta=one"]
    elif machine == "gpu":
        yield (), [*small(DEVICE, 150), *single(DEVICE, TINY + LARGE, 60), *sums(DEVICE, 30), *factorizations(DEVICE, 22),
                   *recorded("h200", 16)]
        yield (), [*small("", 10), *single("", LARGE, 17), *factorizations("", 11)]
        yield ("--objective", "energy"), [*small(DEVICE, 12), *single(DEVICE, LARGE, 6)]
        for name in ("gpu_small", "gpu_large", "cublas", "hybrid"):
            yield ("--candidate", name), ["gemm_batched:f64:nn:m=8,n=8,k=8:strided:batch=1000:location=device",
                                          "gemm:f32:tn:m=3000,n=800,k=900:location=device", "gemm:f64:nn:m=3000,n=3000,k=3000"]
    else:
        batches = [f"gemm_batched:{dtype}:nn:m={n},n={n},k={n}:strided:batch={count}" for dtype, n, count in
                   (("f64", 200, 3000), ("f64", 16, 1000000), ("f64", 1000, 40))]
        products = [*single("", LARGE, 68), *factorizations("", 22)]
        yield ("--gpus", "1"), products + batches
        yield (), products[:20] + batches
        for split in ("guided", "exhaustive", "0.25", "0", "1"):
            yield ("--gpus", "1", "--target", "hybrid", "--split", split), ["gemm:f64:nn:m=3000,n=4000,k=2000", "gemm:f64:nn:m=20000,n=20000,k=20000"]
        yield ("--gpus", "2", "--target", "hybrid"), ["gemm:f64:nn:m=9000,n=9000,k=9000"]
        shared = [problem("gemm", dtype, "nn", (n, n + 500, k), beta) for dtype, n, k, beta in
                  itertools.islice(sequence(("f32", "c64"), (3000, 6000, 9000, 14000), (100, 1500, 8000), BETAS), 24)]
        yield ("--target", "hybrid"), shared
        yield (), [*shared, *(f"lu:f32:m={n},n={n}" for n in (3000, 7000, 12000))]
        yield ("--gpus", "1", "--target", "gpu"), [*products[:12], *batches]
        yield ("--gpus", "1", "--gpu-memory", "500MiB"), [*products[:12], *batches]


class Played:
    """A folder with the machine's files, and the environment in which the tool takes it for its own."""

    def __init__(self, folder, machine, arguments):
        self.folder, self.machine, self.tool = folder, machine, arguments.tool
        self.write_sysfs()
        self.environment = {key: value for key, value in os.environ.items() if not key.startswith(("TILEWRIGHT_", "OMP_", "LD_", "OPENBLAS_"))}
        self.environment |= {"LD_PRELOAD": arguments.machine, "PLAYED_SYSFS": str(folder / "sys"), "OMP_NUM_THREADS": "2", "TILEWRIGHT_CPU": "avx2",
                             "TILEWRIGHT_CBLAS": arguments.cblas, "TILEWRIGHT_NOTICES": "off", "HWLOC_SYNTHETIC": "node:1 core:2 pu:1",
                             "TILEWRIGHT_GPUS": "none", "TILEWRIGHT_CACHE": str(folder / "cache"), "XDG_DATA_HOME": str(folder / "data"),
                             "XDG_CACHE_HOME": str(folder / "cache"), "LC_ALL": "C.UTF-8"}
        if machine != "cpu":
            del self.environment["TILEWRIGHT_GPUS"]
            self.environment |= {"LD_LIBRARY_PATH": arguments.fakes, "TILEWRIGHT_NVRTC": f"{arguments.fakes}/libfake_nvrtc.so",
                                 "TILEWRIGHT_FAKE_CARD": "h200"}
        self.device = json.loads(self.run_tool("info", "--json", "-").stdout.splitlines()[-1])["device"]
        self.environment["TILEWRIGHT_WISDOM"] = str(self.wisdom())

    def write_sysfs(self):
        for processor in ("cpu0", "cpu1"):
            for level, (kind, size) in CACHES.items():
                place = self.folder / f"sys/cpu/{processor}/cache/index{int(level) - 1}"
                place.mkdir(parents=True)
                for name, text in (("level", level), ("type", kind), ("size", size)):
                    (place / name).write_text(text + "\n")
        (self.folder / "sys/node").mkdir()
        (self.folder / "sys/node/online").write_text("0\n")

    def run_tool(self, *words):
        return subprocess.run([self.tool, *words], env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)

    def wisdom(self):
        """Shipped records as of this machine and of a foreign one, and the models of a node."""
        file = self.folder / "wisdom.jsonl"
        shipped = {"cpu": ("xeon-amx-2core", "zen5-2core"), "gpu": ("h200", "sm_90"), "node": ("h200", "sm_90")}[self.machine]
        with open(file, "w", encoding="utf-8") as out:
            for name in shipped:
                for line in (ROOT / f"wisdom/{name}.jsonl").read_text().splitlines():
                    record = json.loads(line)
                    if name == "xeon-amx-2core":
                        record["device"] = self.device
                    print(json.dumps(record), file=out)
            if self.machine == "node":
                for line in gzip.open(MODELS, "rt"):
                    model = json.loads(line)
                    for one in self.as_here(model) if "model" in model else ():
                        print(json.dumps(one), file=out)
        return file

    def as_here(self, model):
        """The model as of this machine: of its CPU and BLAS, of both GPUs that the fake driver has, and of all types."""
        if model["model"] in ("host_copy", "pipeline", "gemm_host"):
            model |= {"device": self.device}
        if model["model"] == "gemm_host":
            model |= {"library": self.environment["TILEWRIGHT_CBLAS"], "library_version": ""}
        devices = ("NVIDIA H200", "Fake Turing") if model["device"] == "NVIDIA H200" else (model["device"],)
        for device, dtype in itertools.product(devices, DTYPES if "dtype" in model else (None,)):
            one = model | {"device": device} | ({"dtype": dtype} if dtype else {})
            if model["model"] == "gemm_device" and dtype in ("f32", "c64"):  # so slow that the CPU has a part
                one["coefficients"] = model["coefficients"] | {key: 4000 * model["coefficients"][key] for key in ("s_per_product", "s_per_ab", "s_per_c")}
            yield one

    def decisions(self):
        for flags, problems in questions(self.machine):
            for row in self.explained(flags, problems):
                yield json.dumps({"flags": " ".join(flags), **rounded(row)}, sort_keys=True)

    def explained(self, flags, problems):
        """The rows of these problems; where one is refused, each is asked by itself, and a refusal is a row."""
        rows = self.folder / "rows.jsonl"
        done = self.run_tool("explain", *flags, "--json", str(rows), *problems)
        # 1: some are served by no candidate; their rows are there like the others'.
        found = [json.loads(self.without_folder(line)) for line in rows.read_text().splitlines()] if rows.exists() else []
        rows.unlink(missing_ok=True)
        if done.returncode == 0 or (done.returncode == 1 and len(found) == len(problems)):
            return [row for row in found if "problem" in row]
        if done.returncode not in (1, 2):
            sys.exit(f"explain {problems} ended with {done.returncode}: {done.stderr[-2000:]}")
        if len(problems) > 1:
            return [row for one in problems for row in self.explained(flags, [one])]
        return [{"problem": problems[0], "refused": self.without_folder(done.stderr.strip()), "candidates": []}]

    def without_folder(self, text):
        text = text.replace(str(self.folder), "FOLDER").replace(self.environment["TILEWRIGHT_CBLAS"], "CBLAS")
        return text.replace(self.device, "CPU")


def rounded(value):
    """Numbers to six digits: sums of doubles end otherwise where a compiler orders them otherwise."""
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, dict):
        return {key: rounded(one) for key, one in value.items() if key != "text"}
    return [rounded(one) for one in value] if isinstance(value, list) else value


def readable(line):
    """The lines of one decision in a comparison."""
    row = json.loads(line)
    head = f"{row.pop('problem')} {row.pop('flags')}"
    reasons = [f"    {one['name']}{' TAKEN' if one['taken'] else ''}: {one['reason']}" for one in row.pop("candidates")]
    return [head, *(f"    {key} = {json.dumps(value)}" for key, value in row.items()), *reasons]


def compare(machine, file, lines):
    recorded = gzip.open(file, "rt").read().splitlines()
    if recorded == lines:
        return True
    texts = [[text for line in one for text in readable(line)] for one in (recorded, lines)]
    print(f"{sum(a != b for a, b in zip(recorded, lines))} of {len(recorded)} decisions of {machine} differ ({len(lines)} made)")
    print("\n".join(itertools.islice(difflib.unified_diff(*texts, "recorded", "now", lineterm="", n=2), 200)))
    return False


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("--tool", "--machine", "--cblas", "--fakes"):
        parser.add_argument(name, required=name != "--fakes", type=lambda path: str(pathlib.Path(path).resolve()))
    parser.add_argument("--update", action="store_true")
    parser.add_argument("machines", nargs="*", default=["cpu"])
    arguments = parser.parse_args()
    fine = True
    for machine in arguments.machines:
        with tempfile.TemporaryDirectory() as folder:
            lines = list(Played(pathlib.Path(folder), machine, arguments).decisions())
        file = HERE / f"decisions_{machine}.jsonl.gz"
        if arguments.update:
            file.write_bytes(gzip.compress("\n".join(lines).encode() + b"\n", mtime=0))
        else:
            fine &= compare(machine, file, lines)
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
