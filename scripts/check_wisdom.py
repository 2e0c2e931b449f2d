#!/usr/bin/env python3
"""Checks that the wisdom shipped in wisdom/*.jsonl still serves: a change of the kernels' sources silently drops the
records made with older ones. Takes the build's core/build_info.hpp; fails where most of a file's records of a family are
dropped, which a new `tilewright tune` on that machine mends, and where docs/wisdom.md does not say what a file comes from."""

import collections
import json
import pathlib
import re
import sys


HASHES = {"gemm_small_cpu": "gemm_small_cpu_source_hash", "gemm_small": "gemm_small_source_hash",
          "gemm": "gemm_large_source_hash"}


def main():
    info = pathlib.Path(sys.argv[1]).read_text()
    current = {family: re.search(rf'\b{name} = "(\w+)"', info).group(1) for family, name in HASHES.items()}
    failed = False
    root = pathlib.Path(__file__).parent.parent
    page = (root / "docs/wisdom.md").read_text()
    for path in sorted((root / "wisdom").glob("*.jsonl")):
        if f"| `wisdom/{path.name}`" not in page and f", `wisdom/{path.name}` |" not in page:
            print(f"{path.name}: docs/wisdom.md does not say what ships in it")
            failed = True
        records = [json.loads(line) for line in path.read_text().splitlines()]
        for family, today in current.items():
            hashes = collections.Counter(r["source_hash"] for r in records if r.get("family") == family)
            if not hashes:
                continue
            total, served = hashes.total(), hashes[today]
            print(f"{path.name}: {served} of {total} records of {family} were made with today's kernels ({today})")
            failed |= 2 * served < total
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
