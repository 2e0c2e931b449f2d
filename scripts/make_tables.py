#!/usr/bin/env python3
"""Writes the tables and figures of README.md and the pages of docs/ from the runs recorded in results/. A table stands between the
lines `<!-- table family=gemm_small_cpu dtype=f64 ... -->` and `<!-- end of table -->`: the words of the first line choose
the measurements (JSON key = value), `residency=` may list several, side by side. `<!-- techniques ... -->` opens the
table of scripts/bench_techniques, `<!-- counters machine=h200 -->` one of a profiler's counters,
`<!-- ladder machine=h200 dtype=f64 -->` one of the techniques of large GEMM step by step, `<!-- summaries ... -->` and
`<!-- ratios ... -->` those of scripts/ratio_tables.py, `<!-- python ... -->` those of scripts/python_tables.py, and
`<!-- figure kind=share layout=strided machine=h200 -->` a drawing (scripts/figures.py). `--check` writes nothing and fails
when a table or a figure is not what the results say."""

import argparse
import json
import pathlib
import re
import sys

sys.dont_write_bytecode = True
import figures
import python_tables
import ratio_tables
from results import files_of, rows_of

ROOT = pathlib.Path(__file__).resolve().parent.parent
TABLE = re.compile(r"(<!-- (table|techniques|grain|counters|ladder|summaries|ratios|figure|python) (.*?) -->\n)(.*?)(<!-- end of table -->)", re.S)
DEFAULTS = {"op": "nn", "layout": "strided", "threads": "1", "alpha": "1", "machine": "avx512-2core"}
OURS = "tilewright"


class Run:
    """One results file: the command that repeats it and the best measurement of each (case, impl)."""

    def __init__(self, path):
        self.path = path.relative_to(ROOT)
        self.command = ""
        self.rows = []
        for row in rows_of(path):
            if "command" in row:
                self.command = row["command"]
            elif not row.get("summary") and row.get("gflops") is not None:
                self.rows.append(row)


# Programs that recorded files name and that became verbs of the tool.
GONE = {"bench_gemm_small": "gemm_small", "bench_gemm_large": "gemm"}


def repeat(command):
    """How a recorded run is repeated, in words."""
    family = GONE.get(command.split()[0])
    if family is None:
        return f"repeat with `{command}`"
    if "--phase ladder" in command:
        return f"recorded by `{command}`, which `bench_gemm_large_ladder` does today"
    return f"recorded by `{command}`, which `tilewright bench {family}` and `tune` do today"


def same(value, wanted):
    """True when a JSON value is what the table asks for: numbers compare as numbers."""
    try:
        return float(value) == float(wanted)
    except (TypeError, ValueError):
        return str(value) == wanted


def select(runs, wanted, residency):
    """For each size: our row and the fastest peer's, both of the newest run that has the case."""
    chosen = {}
    for run in runs:  # oldest first, so that newer runs replace
        cases = {}
        for row in run.rows:
            if row.get("residency") == residency and all(same(row.get(k), v) for k, v in wanted.items()):
                cases.setdefault((row["m"], row["n"], row["k"]), []).append(row)
        for case, rows in cases.items():
            ours = [r for r in rows if r["impl"] == OURS]
            peers = [r for r in rows if not r["impl"].startswith(OURS)]
            if ours and peers:
                chosen[case] = (ours[0], max(peers, key=lambda r: r["gflops"]), run)
    return chosen


def size_name(case):
    m, n, k = case
    return str(n) if m == n == k else f"{m}x{n}x{k}"


def size_order(case):
    return (len(set(case)) > 1, case)


def heading(residencies):
    columns = ["n (or m x n x k)"]
    for residency in residencies:
        columns += [f"{residency}: tilewright", "best peer", "ratio", "share of the bound"]
    return ["| " + " | ".join(columns) + " |", "|" + "--:|" * len(columns)]


def body(found, residencies):
    for case in sorted({case for rows in found.values() for case in rows}, key=size_order):
        cells = [size_name(case)]
        for residency in residencies:
            if case not in found[residency]:
                cells += [""] * 4
                continue
            ours, peer, _ = found[residency][case]
            cells += [f"{ours['gflops']:.1f}", f"{peer['gflops']:.1f} ({peer['impl']})",
                      f"{ours['gflops'] / peer['gflops']:.2f}", f"{ours['bound_share']:.2f}"]
        yield "| " + " | ".join(cells) + " |"


def table(words):
    wanted = DEFAULTS | dict(word.split("=", 1) for word in words.split())
    family, machine = wanted.pop("family"), wanted.pop("machine")
    residencies = wanted.pop("residency").split(",")
    sizes = wanted.pop("sizes", "").split(",") if "sizes" in wanted else []
    what = wanted.pop("what", "")  # of the files' names: a run alone
    runs = [Run(path) for path in files_of(ROOT, machine, f"{family}-*{what}")]
    found = {residency: {case: entry for case, entry in select(runs, wanted, residency).items()
                         if not sizes or size_name(case) in sizes} for residency in residencies}
    rows = list(body(found, residencies))
    if not rows:
        return "No run with these cases is recorded in results/.\n"
    used = {entry[2].path: (entry[2], entry[0]) for rows_of in found.values() for entry in rows_of.values()}
    lines = heading(residencies) + rows + ["", "GFLOP/s. Recorded in:"]
    for path, (run, row) in sorted(used.items()):
        lines.append(f"- [{path}]({{up}}{path}) on {row.get('device', 'an unnamed machine')}; {repeat(run.command)}")
    return "\n".join(lines) + "\n"


def techniques(words):
    """Time with each value of each axis over the time of the default config, both timed in turn in one run."""
    machine = (DEFAULTS | dict(word.split("=", 1) for word in words.split()))["machine"]
    files = files_of(ROOT, machine, "techniques-*")
    if not files:
        return "No run of scripts/bench_techniques is recorded in results/.\n"
    seconds, device = {}, ""
    for row in rows_of(files[-1]):
        if "axis" not in row:
            continue
        case = f"{size_name((row['m'], row['n'], row['k']))} {row['dtype']}, {row['residency']}{'' if row['beta'] else ', C = A B'}"
        times = seconds.setdefault((row["axis"], case), {}).setdefault(json.dumps(row["value"]).strip('"'), {})
        times[row["impl"]] = row["seconds"]
        device = row["device"]
    lines, last = ["| axis | case | value: time over the default's |", "|---|---|---|"], ""
    for (axis, case), values in seconds.items():
        cells = []
        for value, times in values.items():
            default = times.get(OURS + "_default")  # not timed twice where the value is the default's own
            if OURS in times:
                cells.append(f"{value}: {times[OURS] / default:.2f}" if default else f"{value}: default")
        lines.append(f"| {'' if axis == last else f'`{axis}`'} | {case} | {', '.join(cells)} |")
        last = axis
    path = files[-1].relative_to(ROOT)
    lines += ["", f"C += A B unless said; one thread, {device}; [{path}]({{up}}{path}), repeat with `scripts/bench_techniques`."]
    return "\n".join(lines) + "\n"


def grain(words):
    """Coarse against fine sharing of a batch among threads, from bench_grain."""
    wanted = {"machine": DEFAULTS["machine"]} | dict(word.split("=", 1) for word in words.split())
    files = files_of(ROOT, wanted["machine"], "grain-*")
    if not files:
        return "No run of bench_grain is recorded in results/.\n"
    rows = rows_of(files[-1])
    command = next(row["command"] for row in rows if "command" in row)
    rates = {}
    for row in rows:
        if "grain" in row:
            rates.setdefault((row["n"], row["threads"]), {})[row["grain"]] = row["gflops"]
    lines = ["| n | threads | coarse, GFLOP/s | fine, GFLOP/s | fine / coarse |", "|--:|--:|--:|--:|--:|"]
    for (n, threads), both in rates.items():
        coarse, fine = both["coarse"], both["fine"]
        lines.append(f"| {n} | {threads} | {coarse:.1f} | {fine:.1f} | {fine / coarse:.2f} |")
    path = files[-1].relative_to(ROOT)
    lines += ["", f"f64, beta = 1, data in memory; [{path}]({{up}}{path}), repeat with `{command}`."]
    return "\n".join(lines) + "\n"


def share(value):
    return "" if value is None else f"{value:.2f}"


COUNTERS = [  # heading, cell
    ("integer", lambda c: share(c.get("integer_share"))),
    ("FMA", lambda c: share(c.get("fma_share"))),
    ("tensor cores", lambda c: share(c.get("tensor_share"))),
    ("occupancy", lambda c: share(c.get("occupancy"))),
    ("load efficiency", lambda c: share(c.get("load_efficiency"))),
    ("bound's bytes / moved", lambda c: share(c.get("bound_bytes_share"))),
    ("memory, GB/s", lambda c: f"{c['dram_gbs']:.0f}" if "dram_gbs" in c else ""),
    ("bank conflicts", lambda c: share(c.get("conflict_share"))),
    ("top stall", lambda c: f"{c['top_stall']} {c['top_stall_share']:.2f}" if "top_stall" in c else ""),
]


def counters(words):
    """What a profiler counted in single launches of ours and of cuBLAS, joined by `tilewright analyze --counters`."""
    machine = dict(word.split("=", 1) for word in words.split())["machine"]
    files = files_of(ROOT, machine, "gemm_small-*-counters")
    if not files:
        return "No run of `tilewright bench gemm_small --once` under a profiler is recorded in results/.\n"
    rows = rows_of(files[-1])
    head, launches = rows[0], [row for row in rows if "counters" in row]
    lines = ["| n | type | | kernels | " + " | ".join(name for name, _ in COUNTERS) + " |",
             "|--:|---|---|--:|" + "--:|" * (len(COUNTERS) - 1) + "---|"]
    for row in launches:
        cells = [str(row["n"]), row["dtype"], row["impl"].split("_")[0], str(row["kernels"])]
        lines.append("| " + " | ".join(cells + [cell(row["counters"]) for _, cell in COUNTERS]) + " |")
    path = files[-1].relative_to(ROOT)
    lines += ["", f"{head.get('device', 'An unnamed device')}; [{path}]({{up}}{path}), {repeat(head['command'])}."]
    return "\n".join(lines) + "\n"


LOOP = ["product", "shared_load", "move", "all", "products_per_shared_load"]  # of a row's main_loop


def ladder(words):
    """The techniques of large GEMM switched on one after the other, with the instructions of each step's main loop."""
    wanted = dict(word.split("=", 1) for word in words.split())
    machine = wanted.pop("machine")
    steps = []
    for path in reversed(files_of(ROOT, machine, "gemm-*-ladder")):
        lines = rows_of(path)
        steps = [row for row in lines if "step" in row and all(same(row.get(key), value) for key, value in wanted.items())]
        if any(row["n"] == 4096 for row in steps):  # else the run was ended before it
            break
    else:
        return "No run of `bench_gemm_large_ladder` is recorded in results/.\n"
    text = ["| n | step | time, us | TFLOP/s | of cuBLAS | registers | products | shared loads | moves | all instructions "
            "| products : shared loads |", "|--:|---|" + "--:|" * 9]
    for row in steps:
        ratio = row["ratio"]["centre"] if "ratio" in row else row["cublas_seconds"] / row["seconds"]
        loop = row.get("main_loop") or {}
        cells = [str(row["n"]), row["step"], f"{row['seconds'] * 1e6:.1f}", f"{row['gflops'] / 1e3:.2f}", f"{ratio:.2f}",
                 str(row["metrics"]["registers"]), *("" if loop.get(key) is None else f"{round(loop[key], 2):g}" for key in LOOP)]
        text.append("| " + " | ".join(cells) + " |")
    path = path.relative_to(ROOT)
    text += ["", f"{steps[0]['device']}, {steps[0]['op']}; [{path}]({{up}}{path}), {repeat(lines[0]['command'])}."]
    return "\n".join(text) + "\n"


def figure(words):
    """A link to the drawing and the runs behind it."""
    drawing = figures.figure(words, ROOT)
    if drawing is None:
        return "No run for this figure is recorded in results/.\n"
    FIGURES[drawing.name] = drawing
    lines = [f"![{drawing.caption}]({{up}}docs/figures/{drawing.name}.svg)", "", f"{drawing.caption} Recorded in:"]
    lines += [f"- [{path}]({{up}}{path}); {repeat(run.command)}" for path, run in sorted(drawing.runs.items())]
    return "\n".join(lines) + "\n"


FIGURES = {}  # of all pages, by name
MAKERS = {"table": table, "techniques": techniques, "grain": grain, "counters": counters, "ladder": ladder, "figure": figure,
          "summaries": lambda words: ratio_tables.summaries(words, ROOT), "ratios": lambda words: ratio_tables.ratios(words, ROOT),
          "python": lambda words: python_tables.table(words, ROOT)}


def draw_figures(check):
    """Draws those that are out of date, or says which are. True where one was."""
    folder = ROOT / "docs" / "figures"
    stale = [drawing for drawing in FIGURES.values() if drawing.is_stale(folder)]
    for drawing in stale:
        if check:
            print(f"docs/figures/{drawing.name}.svg: not drawn from what results/ says; run scripts/make_tables.py")
        else:
            drawing.draw(folder)
            print(f"docs/figures/{drawing.name}.svg: drawn")
    return bool(stale)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail when a table is out of date")
    check = parser.parse_args().check
    stale = False
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        text = page.read_text()
        up = "../" * (len(page.relative_to(ROOT).parts) - 1)
        fresh = TABLE.sub(lambda m: m[1] + MAKERS[m[2]](m[3]).replace("{up}", up) + m[5], text)
        if fresh == text:
            continue
        stale = True
        if check:
            print(f"{page.relative_to(ROOT)}: a table is not what results/ says; run scripts/make_tables.py")
        else:
            page.write_text(fresh)
            print(f"{page.relative_to(ROOT)}: written")
    stale = draw_figures(check) or stale
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
