#!/usr/bin/env python3
"""How good the choice is on a GPU: random problems that nobody tuned, by the plan, by each of its own implementations and by
cuBLAS, one after the other in the same run of `bench`; and how far the truth was from what `explain` expected.

    choice.py TOOL PART [--count 60] [--seed 1] [--seconds 500] --json FILE

Compiles what it needs first, on all cores.

PART is large (sides log-uniform from 32 to 20,000), small (batches of rectangles from 2 to 64) or thin (one long side and two up to
64). Prints for each type the plan over the best of its offers and over cuBLAS, and the share of times within one standard deviation of
the expected ones; writes a row for each problem."""

import argparse
import collections
import concurrent.futures
import json
import math
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

OFFERS = {"large": ("gpu_large", "cublas"), "small": ("gpu_small",), "thin": ("gpu_thin", "gpu_large", "cublas")}
MOST_FLOPS = 1.5e12  # of a product, so that samples take a tenth of a second at most
MOST_ELEMENTS = 6e8


def drawn(part, count, rng):
    """(type, operations, beta, sizes) of random problems."""
    while count > 0:
        dtype, ops, beta = rng.choice(("f64", "f32")), rng.choice(("nn", "nt", "tn", "tt")), rng.choice((0, 1))
        if part == "small":
            m, n, k = (rng.randint(2, 64) for _ in range(3))
        elif part == "thin":
            long, short, k = int(10 ** rng.uniform(4, 6.3)), rng.randint(2, 64), rng.randint(2, 64)
            m, n = rng.choice(((long, short), (short, long)))
        else:
            m, n, k = (int(math.exp(rng.uniform(math.log(32), math.log(20000)))) for _ in range(3))
        if 2.0 * m * n * k > MOST_FLOPS or m * n + m * k + n * k > MOST_ELEMENTS:
            continue
        count -= 1
        yield dtype, ops, beta, f"{m}x{n}x{k}"


class Bench:
    def __init__(self, tool, part):
        self.tool, self.part, self.folder = tool, part, tempfile.mkdtemp()
        # Nothing that the user has recorded decides.
        self.environment = os.environ | {"XDG_DATA_HOME": self.folder}
        self.family = "gemm_small" if part == "small" else "gemm"

    def run(self, group, sizes, repetitions, file, *flags):
        dtype, ops, beta = group
        peer = "cublas_strided" if self.part == "small" else "cublas"
        subprocess.run([self.tool, "bench", self.family, "--dtype", dtype, "--op", ops, "--beta", str(beta), "--sizes", ",".join(sizes),
                        "--repetitions", str(repetitions), "--peers", peer, "--json", str(file), *flags],
                       env=self.environment, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def compile_ahead(self, groups):
        """Fills the cache of kernels on all cores, so that the timed runs compile nothing."""
        if self.part == "small":
            return
        calls = [[self.tool, "explain", text_of(group, size), *flags_of(name)] for group, sizes in groups for size in sizes for name in self.names()]
        with concurrent.futures.ThreadPoolExecutor(max(1, (os.cpu_count() or 2) - 2)) as pool:
            list(pool.map(lambda call: subprocess.run(call, env=self.environment, check=False, capture_output=True), calls))

    def names(self):
        """Those that are timed: the plan, and its offers of our own."""
        return ("plan", *(offer for offer in OFFERS[self.part] if offer != "cublas"))

    def rows(self, group, sizes, *flags):
        """Rows of `bench` for problems of one type, operations and beta; none if it refuses."""
        file = pathlib.Path(self.folder, "rows.jsonl")
        file.unlink(missing_ok=True)
        self.run(group, sizes, 7, file, *flags)
        lines = file.read_text().splitlines() if file.exists() else []
        return [row for row in map(json.loads, lines) if "impl" in row and "seconds" in row]

    def expected(self, problems):
        """{problem: {candidate: (seconds, error)}} by explain."""
        done = subprocess.run([self.tool, "explain", "--json", "-", *problems], env=self.environment, check=False, capture_output=True, text=True)
        plans = [plan for plan in (json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")) if "problem" in plan]
        return {problem: {one["name"]: (one["predicted_s"], one["predicted_error"]) for one in plan["candidates"] if "predicted_s" in one}
                for problem, plan in zip(problems, plans, strict=True)}


def text_of(group, size):
    (dtype, ops, beta), (m, n, k) = group, size.split("x")
    return f"gemm:{dtype}:{ops}:m={m},n={n},k={k}:{'beta=one:' if beta else ''}location=device"


def flags_of(name):
    return () if name == "plan" else ("--candidate", name)


def measured(bench, group, sizes):
    """A row for each problem: seconds by name, of the plan, of every offer and of cuBLAS beside each."""
    found = collections.defaultdict(dict)
    for name in bench.names():
        for row in bench.rows(group, sizes, *flags_of(name)):
            one = found[row["problem"]]
            if row["impl"] == "tilewright":
                one[name] = row["seconds"]
                if name == "plan":
                    one["candidate"], one["match"] = row.get("metrics", {}).get("candidate"), row.get("wisdom_match")
            elif row["impl"] == "tilewright_default":
                one["default"] = row["seconds"]
            else:
                one.setdefault("cublas_beside", {})[name] = row["seconds"]
    return found


def over_best(one):
    """The plan's speed over the best of its offers, each by its ratio to the cuBLAS of its own run; None if nothing is known."""
    beside = one.get("cublas_beside", {})
    if "plan" not in one:
        return None
    base = beside.get("plan", one["plan"])
    offers = [one[name] / beside.get(name, base) * base for name in one if name in ("gpu_large", "gpu_small", "gpu_thin", "default")]
    if "plan" in beside:
        offers.append(base)
    return min([*offers, one["plan"]]) / one["plan"] if offers else None


def geometric(values):
    return math.exp(statistics.fmean(map(math.log, values)))


def truths(row):
    """The measured seconds of what was expected."""
    times = {name: row[name] for name in ("gpu_large", "gpu_small", "gpu_thin") if name in row}
    times.setdefault(row.get("candidate"), row.get("plan"))
    times.pop(None, None)
    return times | ({"cublas": row["cublas_beside"]["plan"]} if "plan" in row.get("cublas_beside", {}) else {})


def summary(part, rows):
    for dtype in ("f64", "f32"):
        mine = [row for row in rows if row["dtype"] == dtype]
        best = [row["over_best"] for row in mine if row["over_best"]]
        vendor = [row["cublas_beside"]["plan"] / row["plan"] for row in mine if "plan" in row.get("cublas_beside", {})]
        errors = [(math.log(truth / row["expected"][name][0]), row["expected"][name][1]) for row in mine for name, truth in truths(row).items()
                  if row["expected"].get(name, (0, 0))[1] > 0]
        if not best:
            continue
        text = f"{part} {dtype}: {len(best)} problems; plan over the best of its offers {geometric(best):.3f}, least {min(best):.3f}"
        if vendor:
            text += f"; over cuBLAS {geometric(vendor):.3f}, least {min(vendor):.3f}"
        if errors:
            text += f"; {100 * statistics.fmean(abs(error) <= sd for error, sd in errors):.0f} % of {len(errors)} times within one deviation"
        print(text, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tool")
    parser.add_argument("part", choices=OFFERS)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=500, help="begin nothing new after this time")
    parser.add_argument("--json", required=True)
    arguments = parser.parse_args()
    end, bench, groups = time.monotonic() + arguments.seconds, Bench(arguments.tool, arguments.part), collections.defaultdict(list)
    for dtype, ops, beta, size in drawn(arguments.part, 2 * arguments.count, random.Random(arguments.seed)):
        groups[dtype, ops, beta].append(size)
    rows = []
    bench.compile_ahead(groups.items())
    with open(arguments.json, "w", encoding="utf-8") as out:
        print(json.dumps({"command": " ".join(["experiments/choice.py", *sys.argv[1:]])}), file=out, flush=True)
        for group, sizes in random.Random(arguments.seed).sample(sorted(groups.items()), len(groups)):
            if time.monotonic() > end:
                print(f"left out for lack of time: {group}", file=sys.stderr)
                continue
            found = measured(bench, group, sizes)
            expected = bench.expected(list(found))
            for problem, one in found.items():
                row = {"part": arguments.part, "dtype": group[0], "problem": problem, **one, "over_best": over_best(one),
                       "expected": expected.get(problem, {})}
                rows.append(row)
                print(json.dumps(row), file=out, flush=True)
    summary(arguments.part, rows)


if __name__ == "__main__":
    main()
