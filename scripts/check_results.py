#!/usr/bin/env python3
"""Checks that the tree stays light and its evidence whole: how files of results are called, that long ones are compressed,
and how much all of them, and all that git tracks, take. Prints each violation and exits 1 when there is one."""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
NAME = re.compile(r"results/[a-z0-9-]+/[a-z_]+-20\d{6}(-[a-z0-9-]+)?\.(jsonl|csv)(\.gz)?")
PLAIN_BYTES = 64 << 10
RESULTS_MIB, TREE_MIB = 15, 25


def tracked():
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False).stdout
    return [ROOT / name for name in listed.split("\0") if name and (ROOT / name).is_file()]


def check_sizes(results):
    for what, files, most in (("results/", results, RESULTS_MIB), ("the tree", tracked(), TREE_MIB)):
        size = sum(file.stat().st_size for file in files) / 2**20
        if size > most:
            yield f"{what}: {size:.1f} MiB, more than {most}"


def check_files(results):
    for file in results:
        name = str(file.relative_to(ROOT))
        if not NAME.fullmatch(name):
            yield f"{name}: is not called results/<machine>/<family>-<yyyymmdd>[-what].jsonl[.gz]"
        if file.suffix != ".gz" and file.stat().st_size > PLAIN_BYTES:
            yield f"{name}: {file.stat().st_size} bytes and not compressed (gzip -9n)"


def main():
    results = sorted(file for file in (ROOT / "results").rglob("*") if file.is_file())
    faults = [*check_sizes(results), *check_files(results)]
    print("\n".join(faults) if faults else f"{len(results)} files of results are in order")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
