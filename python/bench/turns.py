"""Shared by the benches of the Python package: contenders that alternate within one process, medians with intervals, and lines of
JSON in the form of docs/measuring.md. Nothing here imports NumPy, so that a program can set the number of its threads before it does."""

import argparse
import datetime
import json
import math
import os
import platform
import subprocess
import sys
import time

OURS = "tilewright"


def median(values):
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else 0.5 * (ordered[middle - 1] + ordered[middle])


def interval(values):
    """Order statistics that enclose the true median with at least 95 % confidence (all there are, of less than six)."""
    ordered, count = sorted(values), len(values)
    outside, left = 0.0, 0
    while left < count // 2:
        outside += math.comb(count, left) / 2.0 ** count
        if 2 * outside > 0.05:
            break
        left += 1
    left = max(left - 1, 0)
    return ordered[left], ordered[count - 1 - left]


class HostClock:
    """CPU time of this thread where it alone works, which other programs on the machine disturb little; else the wall's."""

    def __init__(self, threads):
        self.now = time.thread_time if threads == 1 else time.perf_counter
        self.name = "thread_cpu" if threads == 1 else "wall"

    def seconds(self, run, repeats):
        begin = self.now()
        for _ in range(repeats):
            run()
        return (self.now() - begin) / repeats


class Turns:
    """contenders: name -> function of no arguments. Each round times everybody once, and begins with another one each time."""

    def __init__(self, clock, contenders, least_s=2e-3):
        self.clock = clock
        self.contenders = contenders
        self.repeats = {}
        for name, run in contenders.items():
            run()  # makes kernels and touches memory
            once = max(min(clock.seconds(run, 1) for _ in range(3)), 1e-7)
            self.repeats[name] = max(1, math.ceil(least_s / once))

    def samples(self, rounds):
        names = list(self.contenders)
        found = {name: [] for name in names}
        for number in range(rounds):
            for at in range(len(names)):
                name = names[(at + number) % len(names)]
                found[name].append(self.clock.seconds(self.contenders[name], self.repeats[name]))
        return found


def rows_of(case, samples, flops, **more):
    """A row for each contender. `ratio`: tilewright's seconds over its own, paired by rounds; above 1 this contender is faster."""
    for name, seconds in samples.items():
        low, high = interval(seconds)
        row = {**case, "impl": name, "seconds": median(seconds), "seconds_low": low, "seconds_high": high, "samples": len(seconds),
               **more}
        if flops:
            row["gflops"] = flops / row["seconds"] * 1e-9
        if name != OURS and OURS in samples:
            speedups = [other / ours for other, ours in zip(seconds, samples[OURS])]
            row["speedup"] = {"centre": median(speedups), **dict(zip(("low", "high"), interval(speedups)))}
        yield row


def summary(case, rows, peers=None):
    """Returns geometric mean and least speedup of tilewright over the fastest peer of each case; rows of one family in any order. `peers`: the
    names that count, all where none are given."""
    fastest = {}
    for row in rows:
        if "speedup" in row and (peers is None or row["impl"] in peers):
            fastest.setdefault(row["case"], []).append(row["speedup"]["centre"])
    if not fastest:
        return None
    least = {name: min(all_of) for name, all_of in fastest.items()}
    worst = min(least, key=least.get)
    return {**case, "summary": True, "cases": len(least), "speedup_geomean": math.exp(sum(map(math.log, least.values())) / len(least)),
            "speedup_min": least[worst], "speedup_min_case": worst}


def cpu_name():
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def versions(*names):
    """name -> version of those that are installed, without importing them."""
    from importlib import metadata
    found = {"python": platform.python_version()}
    for name in names:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            pass
    return found


class Report:
    """Prints a line per row and, with a path, keeps them as lines of JSON, the first of which says how to repeat them."""

    def __init__(self, path, **machine):
        self.file = None
        if path:
            exists = os.path.exists(path) and os.path.getsize(path) > 0
            self.file = open(path, "a", encoding="utf-8")
            if not exists:
                command = " ".join([os.path.basename(sys.executable), *sys.argv])
                self.write({"command": os.environ.get("TILEWRIGHT_BENCH_COMMAND", command), **machine})

    def write(self, row):
        if self.file:
            self.file.write(json.dumps(row) + "\n")
            self.file.flush()

    def add(self, rows):
        now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        for row in rows:
            if row is None:
                continue
            self.write({**row, "time": now})
            if row.get("summary"):
                print(f"geometric mean {row['speedup_geomean']:.2f}, least {row['speedup_min']:.2f} ({row['speedup_min_case']})",
                      flush=True)
            else:
                beside = f"  ours is {row['speedup']['centre']:.2f} times as fast" if "speedup" in row else ""
                print(f"{row['case']:<40} {row['impl']:<22} {row['seconds'] * 1e6:12.2f} us{beside}", flush=True)


def sizes(text):
    """'2:16,20,32' as numbers."""
    found = []
    for part in text.split(","):
        first, colon, last = part.partition(":")
        found += range(int(first), int(last) + 1) if colon else [int(first)]
    return found


def parser(description):
    made = argparse.ArgumentParser(description=description)
    made.add_argument("--rounds", type=int, default=11)
    made.add_argument("--json", default="", metavar="FILE", help="results/<machine>/python-<yyyymmdd>[-what].jsonl")
    return made


def with_threads(threads, json_path):
    """Runs this program again once per number of threads, since libraries read the environment when they are loaded. Returns the
    number in such a child, else ends the program."""
    asked = os.environ.get("TILEWRIGHT_BENCH_THREADS")
    if asked:
        return int(asked)
    if json_path and os.path.exists(json_path):
        raise SystemExit(f"{json_path} is there already")
    command = " ".join([os.path.basename(sys.executable), *sys.argv])
    for count in threads:
        environment = {**os.environ, "TILEWRIGHT_BENCH_THREADS": str(count), "TILEWRIGHT_BENCH_COMMAND": command}
        environment.update({name: str(count) for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")})
        code = subprocess.run([sys.executable, *sys.argv], env=environment, check=False).returncode
        if code:
            raise SystemExit(code)
    raise SystemExit(0)
