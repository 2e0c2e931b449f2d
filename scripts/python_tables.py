"""Tables of docs/python.md from the runs of python/bench that are recorded in results/: `<!-- python table=matmul machine=... -->`, and
`einsum`, `device` and `overhead` likewise. scripts/make_tables.py calls them. The newest run that has a case counts."""

from ratio_tables import geometric_mean, links
from results import files_of, rows_of

OURS = "tilewright"


def newest(root, machine, bench):
    """({(case, threads): {impl: row}}, files that they come from), the newest of each case."""
    cases, files = {}, {}
    for path in files_of(root, machine, "python-*"):
        found = {}
        for row in rows_of(path):
            if row.get("bench") == bench and not row.get("summary"):
                found.setdefault((row["case"], row.get("threads")), {})[row["impl"]] = row
        for key, rows in found.items():
            cases[key], files[key] = rows, path
    return cases, sorted(set(files.values()))


def speedup(rows):
    """Of ours over the fastest peer, from the ratios within rounds."""
    return min((row["speedup"]["centre"] for row in rows.values() if "speedup" in row), default=None)


def lines_of(head, lines, note):
    return "\n".join(["| " + " | ".join(head) + " |", "|---|" + "--:|" * (len(head) - 1),
                      *("| " + " | ".join(line) + " |" for line in lines), "", note]) + "\n"


def none(what):
    return f"No run of python/bench/{what} is recorded in results/.\n"


def note_of(root, files, more):
    devices = sorted({rows_of(path)[0].get("device", "an unnamed machine") for path in files})
    return f"{more} {', '.join(devices)}; " + links(files, root)


def digits(value):
    """Three of them, or all before the point."""
    return f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def per_product(row):
    return digits(row["seconds"] / row["batch_count"] * 1e9)


def matmul(root, wanted):
    """Nanoseconds per product, NumPy's and ours, by size and threads."""
    cases, files = newest(root, wanted["machine"], "matmul")
    dtype = wanted.get("dtype", "float64")
    cases = {key: rows for key, rows in cases.items() if rows[OURS]["dtype"] == dtype}
    if not cases:
        return none("bench_matmul.py")
    threads = sorted({count for _, count in cases})
    by_size = {}
    for (_, count), rows in cases.items():
        by_size.setdefault(rows[OURS]["n"], {})[count] = rows
    head = ["n", *(cell for count in threads for cell in (f"numpy, {count} thread{'s' * (count > 1)}", OURS, "times as fast"))]
    shown = [int(n) for n in wanted["sizes"].split(",")] if "sizes" in wanted else sorted(by_size)
    lines = []
    for n in shown:
        cells = [str(n)]
        for count in threads:
            rows = by_size.get(n, {}).get(count)
            cells += [per_product(rows["numpy"]), per_product(rows[OURS]), f"{speedup(rows):.2f}"] if rows else [""] * 3
        lines.append(cells)
    means = [f"{geometric_mean([speedup(rows) for (_, one), rows in cases.items() if one == count]):.2f}" for count in threads]
    lines.append(["all, geometric mean", *(cell for mean in means for cell in ("", "", mean))])
    return lines_of(head, lines, note_of(root, files, f"Nanoseconds per product, {dtype}."))


def einsum(root, wanted):
    """Milliseconds of each contraction by everybody, one thread unless asked otherwise."""
    cases, files = newest(root, wanted["machine"], "einsum")
    threads = int(wanted.get("threads", 1))
    cases = {name: rows for (name, count), rows in cases.items() if count == threads}
    if not cases:
        return none("bench_einsum.py")
    peers = sorted({impl for rows in cases.values() for impl in rows} - {OURS})
    lines = []
    for name, rows in cases.items():
        cells = [digits(rows[impl]["seconds"] * 1e3) if impl in rows else "" for impl in (*peers, OURS)]
        lines.append([f"{name}: `{rows[OURS]['subscripts']}`", *cells, f"{speedup(rows):.2f}", str(rows[OURS]["copies"])])
    lines.append(["all, geometric mean", *[""] * (len(peers) + 1), f"{geometric_mean([speedup(rows) for rows in cases.values()]):.2f}", ""])
    head = ["contraction", *peers, OURS, "times as fast as the best peer", "copies"]
    return lines_of(head, lines, note_of(root, files, f"Milliseconds, {threads} thread{'s' * (threads > 1)}."))


def device(root, wanted):
    """GFLOP/s of everybody by size and type."""
    cases, files = newest(root, wanted["machine"], "device_matmul")
    if not cases:
        return none("bench_device.py")
    by_size = {}
    for rows in cases.values():
        by_size.setdefault(rows[OURS]["n"], {})[rows[OURS]["dtype"]] = rows
    dtypes = sorted({dtype for found in by_size.values() for dtype in found}, reverse=True)
    peers = sorted({impl for rows in cases.values() for impl in rows} - {OURS})
    head = ["n", *(cell for dtype in dtypes for cell in (*(f"{dtype}: {peer}" for peer in peers), OURS, "times as fast"))]
    lines, means = [], {dtype: [] for dtype in dtypes}
    for n, found in sorted(by_size.items()):
        cells = [str(n)]
        for dtype in dtypes:
            rows = found.get(dtype, {})
            cells += [f"{rows[impl]['gflops']:.0f}" if impl in rows else "" for impl in (*peers, OURS)]
            cells.append(f"{speedup(rows):.2f}" if rows else "")
            means[dtype] += [speedup(rows)] if rows else []
        lines.append(cells)
    lines.append(["all, geometric mean", *(cell for dtype in dtypes for cell in (*[""] * (len(peers) + 1), f"{geometric_mean(means[dtype]):.2f}"))])
    return lines_of(head, lines, note_of(root, files, "GFLOP/s, 1 GiB per operand."))


def overhead(root, wanted):
    """Microseconds of a call by everybody."""
    cases, files = newest(root, wanted["machine"], "overhead")
    if not cases:
        return none("bench_overhead.py")
    impls = list(dict.fromkeys(impl for rows in cases.values() for impl in rows))
    lines = [[case, *(digits(rows[impl]["seconds"] * 1e6) if impl in rows else "" for impl in impls)] for (case, _), rows in cases.items()]
    imports, _ = newest(root, wanted["machine"], "import")
    note = "Microseconds of a call, one thread."
    for rows in imports.values():
        note += f" `import tilewright` takes {rows[OURS]['seconds'] * 1e3:.0f} ms beyond `import numpy`."
    return lines_of(["operands", *impls], lines, note_of(root, files, note))


TABLES = {"matmul": matmul, "einsum": einsum, "device": device, "overhead": overhead}


def table(words, root):
    wanted = dict(word.split("=", 1) for word in words.split())
    return TABLES[wanted["table"]](root, wanted)
