#!/usr/bin/env python3
"""Shares of the memory bound in whole sectors of 32 bytes for strided rows that bench_gemm_small wrote before it counted
sectors itself (2026-11-22): their times and ceilings are as measured, only the bytes of padded columns are counted anew.

    scripts/sector_share.py results/h200/gemm_small-20261122-padded.jsonl
"""
import pathlib
import sys
from collections import defaultdict

sys.dont_write_bytecode = True
from results import rows_of

SECTOR = 32
SIZES = {"f32": 4, "f64": 8, "c64": 8, "c128": 16}


def touched(rows, columns, ld, size, count):
    """Bytes of the distinct sectors that the columns of `count` matrices behind each other touch."""
    sectors, last = 0, -1
    looked_at = min(count, 256)
    for column in range(looked_at * columns):
        begin = column * ld * size
        first, end = max(begin // SECTOR, last + 1), (begin + rows * size - 1) // SECTOR
        sectors += max(0, end - first + 1)
        last = max(last, end)
    return sectors * SECTOR * count / looked_at


def main(paths):
    shares = defaultdict(list)
    for path in paths:
        for row in rows_of(pathlib.Path(path)):
            if row.get("impl") != "tilewright" or row.get("layout") != "strided" or row.get("op") != "nn":
                continue
            m, n, k, size, count = row["m"], row["n"], row["k"], SIZES[row["dtype"]], row["batch_count"]
            c_bytes = touched(m, n, row["ldc"], size, count) * (1 if row["beta"] == 0 else 2)
            total = touched(m, k, row["lda"], size, count) + touched(k, n, row["ldb"], size, count) + c_bytes
            share = total / (row["ceiling"] * 1e9) / row["seconds"]
            shares[row["dtype"]].append(share)
            print(f'{row["dtype"]} m={m} n={n} k={k} lda={row["lda"]}: {share:.3f} (by elements {row["bound_share"]:.3f})')
    for dtype, values in shares.items():
        print(f"{dtype}: mean {sum(values) / len(values):.3f}, least {min(values):.3f}")


if __name__ == "__main__":
    main(sys.argv[1:])
