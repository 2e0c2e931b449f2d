#!/usr/bin/env python3
"""Record, tune, ship, on programs that know nothing of the library (docs/blas.md). Each runs with its BLAS alone, with the library
before it, then records what it multiplies; the tool tunes that, and the program runs again with the wisdom found. Prints a line
that says where it ran, and one of JSON for each: CPU seconds of the whole process, least of several runs in turn, with one thread.

    experiments/recorded/run.py [--build build/dev] [--folder build/recorded] [--runs 3] [--budget 60s] [--rounds 10] [PROGRAM...]

Programs: numpy, scipy (Debian's), numpy_wheel, scipy_wheel (of build/blas_check), octave, blocks, hpl (--xhpl PROGRAM, as
scripts/cluster_bundle builds it). Those that are not there are left out, with a line that says so."""

import argparse
import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
HPL = """title
title
HPL.out
6 device
1 Ns
1000
1 NBs
48
0 PMAP
1 grids
1
1
16.0
1 PFACTs
2
1 NBMINs
8
1 NDIVs
2
1 RFACTs
2
1 BCASTs
1
1 DEPTHs
0
2 SWAP
64
0 L1
0 U
1 Equil
8 align
##
0 P
0
0 B
0
"""


def commands(a, folder):
    """The programs that can run here, and a reason for each that cannot."""
    wheel = pathlib.Path(a.wheels) / "bin/python"
    octave = shutil.which("octave-cli") or shutil.which("octave")
    blocks = folder / "blocks"
    built = subprocess.run(["cc", "-O2", HERE / "blocks.c", "-o", blocks, "-l:libblas.so.3"], capture_output=True, text=True)
    (folder / "hpccinf.txt").write_text(HPL)

    def python(program, script, module):
        there = pathlib.Path(program).exists() and subprocess.run([program, "-c", f"import {module}"], capture_output=True).returncode == 0
        return ([str(program), str(HERE / script), str(a.rounds)], None) if there else (None, f"{program} has no {module}")

    return {
        "numpy": python("/usr/bin/python3", "stacks.py", "numpy"),
        "scipy": python("/usr/bin/python3", "factors.py", "scipy"),
        "numpy_wheel": python(wheel, "stacks.py", "numpy"),
        "scipy_wheel": python(wheel, "factors.py", "scipy"),
        "octave": ([octave, "--norc", "--quiet", str(HERE / "blocks.m"), str(a.rounds)], None) if octave else (None, "there is no octave"),
        "blocks": ([str(blocks), str(a.rounds)], None) if built.returncode == 0 else (None, built.stderr.strip().splitlines()[-1]),
        "hpl": ([a.xhpl], None) if a.xhpl else (None, "--xhpl names none"),
    }


def cpu_seconds(command, folder, environment):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True,
                          env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "TILEWRIGHT_NOTICES": "off", **environment})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        sys.exit(f"recorded: {' '.join(command)} failed: {done.stderr.strip()[-400:]}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stderr


def measure(name, command, a, folder):
    library = str(pathlib.Path(a.build) / "lib/libtilewright_blas.so")
    tool = str(pathlib.Path(a.build) / "cli/tilewright")
    log, data = folder / f"{name}.jsonl", folder / f"{name}.data"
    log.unlink(missing_ok=True)
    shutil.rmtree(data, ignore_errors=True)
    own = {"LD_PRELOAD": library, "XDG_DATA_HOME": str(data)}
    untuned = {**own, "XDG_DATA_HOME": str(folder / "none")}
    _, said = cpu_seconds(command, folder, {**own, "TILEWRIGHT_RECORD": str(log), "TILEWRIGHT_VERBOSE": "1"})
    served = [line for line in said.splitlines() if "were served here" in line]
    tuned = subprocess.run([tool, "tune", "--from", str(log), "--budget", a.budget], capture_output=True, text=True,
                           env={**os.environ, **{k: v for k, v in own.items() if k != "LD_PRELOAD"}}) if log.exists() else None
    ways = {"alone_s": {}, "preloaded_s": untuned, "tuned_s": own}
    seconds = {way: [] for way in ways}
    for _ in range(a.runs):
        for way, environment in ways.items():
            seconds[way].append(cpu_seconds(command, folder, environment)[0])
    row = {"family": "recorded", "program": name, **{way: round(min(s), 4) for way, s in seconds.items()}}
    row["gain"] = round(row["alone_s"] / row["tuned_s"], 4)
    row["served"] = served[-1].removeprefix("tilewright: ") if served else ""
    said = f"{tuned.stderr}\n{tuned.stdout}".strip().splitlines() if tuned else ["nothing was recorded"]
    row["left_out"] = sum("is left out" in line for line in said)
    row["tune"] = ([line for line in said if "is left out" not in line] or [""])[-1]
    return row


def made_on(a):
    """The line that runs of results/ begin with: what was run, where, and which versions answered."""
    cpu = next((line.split(":")[1].strip() for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines()
                if line.startswith("model name")), "")
    said = lambda *command: subprocess.run(command, capture_output=True, text=True).stdout.strip().splitlines()
    versions = {"blas": os.path.realpath("/etc/alternatives/libblas.so.3-x86_64-linux-gnu")}
    for module in ("numpy", "scipy"):
        versions[module] = (said("/usr/bin/python3", "-c", f"import {module}; print({module}.__version__)") or [""])[-1]
    versions["octave"] = (said("octave-cli", "--version") if shutil.which("octave-cli") else [""])[0]
    return {"command": "experiments/recorded/run.py " + " ".join(sys.argv[1:]), "device": cpu, "cores": os.cpu_count(),
            "budget": a.budget, "runs": a.runs, "rounds": a.rounds, "versions": versions}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=ROOT / "build/dev", type=lambda p: pathlib.Path(p).resolve())
    parser.add_argument("--folder", default=ROOT / "build/recorded", type=pathlib.Path)
    parser.add_argument("--wheels", default=ROOT / "build/blas_check/wheels")
    parser.add_argument("--xhpl")
    parser.add_argument("--runs", default=3, type=int)
    parser.add_argument("--budget", default="60s")
    parser.add_argument("--rounds", default=10, type=int, help="how often a program does its work: starting it weighs less")
    parser.add_argument("programs", nargs="*")
    a = parser.parse_args()
    folder = a.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    programs = commands(a, folder)
    print(json.dumps(made_on(a)), flush=True)
    for name in a.programs or programs:
        if name not in programs:
            sys.exit(f"recorded: '{name}' is none of {', '.join(programs)}")
        command, why_not = programs[name]
        print(json.dumps(measure(name, command, a, folder) if command else {"program": name, "left_out": why_not}), flush=True)


if __name__ == "__main__":
    main()
