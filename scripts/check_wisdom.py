#!/usr/bin/env python3
"""Checks that the wisdom shipped in wisdom/*.jsonl still serves: a change of the kernels' sources silently drops the
records made with older ones. Takes the build's core/build_info.hpp; fails where most of a file's CPU records are dropped,
which a new `tilewright tune` on that machine mends."""

import collections
import json
import pathlib
import re
import sys


def main():
    info = pathlib.Path(sys.argv[1]).read_text()
    current = re.search(r'kernel_source_hash = "(\w+)"', info).group(1)
    failed = False
    for path in sorted((pathlib.Path(__file__).parent.parent / "wisdom").glob("*.jsonl")):
        records = [json.loads(line) for line in path.read_text().splitlines()]
        hashes = collections.Counter(r["source_hash"] for r in records if r["family"] == "gemm_small_cpu")
        if not hashes:
            continue
        total, served = hashes.total(), hashes[current]
        print(f"{path.name}: {served} of {total} records were made with today's kernels ({current})")
        failed |= 2 * served < total
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
