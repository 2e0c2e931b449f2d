"""Tables of docs/*.md that condense many runs into few ratios: `summaries` what the summaries of runs on CPUs say, a machine
beside the other, and `ratios` what large GEMM's kernels took beside cuBLAS's, the newest run of each problem. scripts/make_tables.py
calls them."""

import math
from collections import defaultdict

from results import files_of, rows_of


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def what_of(path):
    """The last part of results/<machine>/<family>-<yyyymmdd>[-what].jsonl[.gz]."""
    return path.name.split(".")[0].split("-", 2)[2] if path.name.count("-") > 1 else ""


def links(paths, root):
    named = [f"[{path.parent.name} {path.name.split('.')[0].split('-', 1)[1]}]({{up}}{path.relative_to(root)})" for path in paths]
    return "each file begins with the command that repeats it: " + ", ".join(named) + "."


def summaries(words, root):
    """One thread; means over types of C and operations, which all have as many cases."""
    wanted = dict(word.split("=", 1) for word in words.split())
    machines = wanted["machines"].split(",")
    found, ops, files = defaultdict(lambda: defaultdict(list)), defaultdict(list), []
    for machine in machines:
        for path in files_of(root, machine, f"{wanted['family']}-*"):
            rows = [row for row in rows_of(path) if row.get("summary") and row["threads"] == 1]
            for row in rows:
                kind = (row["layout"], what_of(path), row["dtype"], row["residency"])
                found[kind][machine].append(row)
                if row["op"] not in ops[kind]:
                    ops[kind].append(row["op"])
            if rows:
                files.append(path)
    lines = ["| layout | op | type | residency | " + " | ".join(f"{m}: over the best peer | least | of the bound" for m in machines) + " |",
             "|---|---|---|---|" + "--:|--:|--:|" * len(machines)]
    for kind, by_machine in sorted(found.items(), key=lambda one: (one[0][0] != "strided", one[0])):
        layout, what, dtype, residency = kind
        name = layout.replace("_", "-") + (", blocks of 4 to 256" if what == "blocks" else "")
        cells = [name, " ".join(ops[kind]), dtype, residency]
        for machine in machines:
            rows = by_machine.get(machine)
            cells += ["", "", ""] if not rows else [f"{geometric_mean([row['ratio_geomean'] for row in rows]):.2f}",
                                                    f"{min(row['ratio_min'] for row in rows):.2f}",
                                                    f"{geometric_mean([row['bound_share_geomean'] for row in rows]):.2f}"]
        lines.append("| " + " | ".join(cells) + " |")
    lines += ["", "One thread; " + links(files, root)]
    return "\n".join(lines) + "\n"


KINDS = [("odd", "odd squares"), ("middling", "sizes between"), ("shapes", "skinny and odd shapes"), ("skinny", "skinny and odd shapes")]


def kind_of(path, row):
    if row["beta"] != 0:
        return "beta = 1"
    return next((kind for part, kind in KINDS if part in what_of(path)), "squares")


def size_of(row):
    m, n, k = row["m"], row["n"], row["k"]
    return str(n) if m == n == k else f"{m}x{n}x{k}"


def ratios(words, root):
    wanted = dict(word.split("=", 1) for word in words.split())
    left_out = wanted["without"].split(",")
    newest = {}
    for path in files_of(root, wanted["machine"], "gemm-*"):
        if any(part in what_of(path) for part in left_out):
            continue
        for row in rows_of(path):
            if row.get("phase") != "compare" or not row.get("best") or "ratio" not in row:
                continue
            key = (row["problem"], row["beta"])
            if key not in newest or row["time"] > newest[key][1]["time"]:
                kind = newest[key][2] if key in newest else kind_of(path, row)
                newest[key] = (path, row, kind)
    groups = defaultdict(list)
    for _, row, kind in newest.values():
        groups[(kind, row["dtype"])].append(row)
    lines = ["| | type | sizes | op | cases | geometric mean | least |", "|---|---|---|---|--:|--:|--:|"]
    order = ["squares", "odd squares", "sizes between", "skinny and odd shapes", "beta = 1"]
    for (kind, dtype), rows in sorted(groups.items(), key=lambda one: (order.index(one[0][0]), "f64 f32 c64 c128".index(one[0][1]))):
        least = min(rows, key=lambda row: row["ratio"]["centre"])
        ops = sorted({row["op"] for row in rows}, key="nn nt tn tt".index)
        sizes = [row["m"] for row in rows]
        span = f"{min(sizes)} to {max(sizes)}" if "shapes" not in kind else ""
        lines.append(f"| {kind} | {dtype} | {span} | {' '.join(ops)} | {len(rows)} | "
                     f"{geometric_mean([row['ratio']['centre'] for row in rows]):.3f} | "
                     f"{least['ratio']['centre']:.3f} ({size_of(least)}, {least['op']}) |")
    files = sorted({path for path, _, _ in newest.values()})
    device = next(iter(newest.values()))[1]["device"]
    lines += ["", f"{device}; " + links(files, root)]
    return "\n".join(lines) + "\n"
