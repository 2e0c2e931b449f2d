#!/usr/bin/env python3
"""Writes docs/papers/lu.md from the runs of `bench lu` that are recorded in results/: Table 2 and Figure 2 of Bernabe et al. 2014 as
they stand in the paper beside ours, the selections against the best that timing finds, and what peers took. `--check` writes
nothing and fails where the page is not what the results say. Without such a run there is no page."""

import math
import pathlib
import sys

sys.dont_write_bytecode = True
import figures
import paper_page

PAGE = pathlib.Path("docs/papers/lu.md")
COMMAND = ("tilewright bench lu --sizes 1000:10000:1000 --memory pinned --gpus 1 --nb auto,exhaustive --repetitions 5 --budget 400 "
           "--json results/h100/lu-YYYYMMDD-table2.jsonl")
SELECTS = ("flops", "square", "panel")
WAYS = ("cpu", "gpu", *(f"hybrid {select}" for select in SELECTS))
# The paper's Table 2. Seconds of cpuLU, gpuLU and cpugpuLU by GPU/CPU flops, by the model of squares, by that of panels.
PAPER = {
    "12CC2075": {1000: (0.0458, 0.0321, 0.0349, 0.0352, 0.0317), 2000: (0.1647, 0.0893, 0.0976, 0.0951, 0.0821),
                 3000: (0.4089, 0.1917, 0.1981, 0.1885, 0.1800), 4000: (0.8184, 0.3870, 0.3696, 0.3730, 0.3315),
                 5000: (1.2470, 0.7186, 0.6088, 0.6718, 0.5779), 6000: (1.9332, 1.1083, 0.9665, 0.9591, 0.9169),
                 7000: (3.0254, 1.6620, 1.5060, 1.4251, 1.3335), 8000: (4.0039, 2.3873, 2.1811, 2.0249, 1.9039),
                 9000: (5.4579, 3.3901, 2.7471, 2.7708, 2.6254), 10000: (7.0255, 4.5811, 3.7258, 3.6710, 3.5240)},
    "12CK20": {1000: (0.0887, 0.2825, 0.2912, 0.2844, 0.2717), 2000: (0.1246, 0.3302, 0.4029, 0.3641, 0.2922),
               3000: (0.3144, 0.3647, 0.3705, 0.3562, 0.3518), 4000: (0.5983, 0.4362, 0.4165, 0.4170, 0.4084),
               5000: (0.9119, 0.6296, 0.6610, 0.5908, 0.5482), 6000: (1.4328, 0.7822, 0.7514, 0.7521, 0.7342),
               7000: (2.1061, 1.1015, 1.0183, 1.0367, 0.9983), 8000: (2.9567, 1.4395, 1.3571, 1.3600, 1.3115),
               9000: (4.0046, 1.8749, 1.7729, 1.7582, 1.7403), 10000: (5.2981, 2.4139, 2.2693, 2.2681, 2.2477)}}
BESIDE = "12CK20"  # the paper's system that stands beside ours


def is_ours(row):
    return row.get("family") == "lu" and row.get("impl") == "tilewright" and row.get("resident") == "host"


def runs_of(root):
    """Runs of square f64 matrices on the host."""
    return paper_page.newest_runs(root, "lu-*", lambda rows: any(
        is_ours(row) and row["dtype"] == "f64" and row["m"] == row["n"] for row in rows))


def cases_of(rows, memory):
    """{n: {variant of ours, or peer with its variant: row}} of square f64 matrices."""
    cases = {}
    for row in rows:
        if row.get("summary") or row.get("memory") != memory or row.get("dtype") != "f64" or row["m"] != row["n"]:
            continue
        variant = row["metrics"]["variant"]
        cases.setdefault(row["n"], {})[variant if is_ours(row) else f"{row['impl']} {variant}"] = row
    return cases


def table(head, lines):
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [head, ["---"] * len(head), *lines])


def paper_table():
    head = ["n", *(f"{system}: {name}" if name == "cpuLU" else name for system in PAPER
                   for name in ("cpuLU", "gpuLU", "flops", "square", "panel"))]
    return table(head, [[str(n), *(f"{seconds:.4f}" for system in PAPER for seconds in PAPER[system][n])]
                        for n in PAPER[BESIDE]])


def ms(case, name):
    return f"{1e3 * case[name]['seconds']:.3f}" if name in case else ""


def best_of(case):
    """The fastest of ours by blocks, among which panels and shares are chosen, and its name."""
    return min(((row["seconds"], name) for name, row in case.items() if is_ours(row) and row["candidate"] == "blocked"), default=None)


def is_searched(case):
    return any(name.startswith("exhaustive") for name in case)


def deviations_of(cases, way):
    """By how much it takes longer than the best that timing found, of cases in which was searched."""
    return [case[way]["seconds"] / best_of(case)[0] - 1 for case in cases.values() if way in case and is_searched(case)]


def versions_of(cases):
    """The cases in which a version of the paper's was timed, by size."""
    return {n: case for n, case in sorted(cases.items()) if any(way in case for way in WAYS) or is_searched(case)}


def table_2(cases):
    head = ["n", f"{BESIDE}: cpuLU s", "gpuLU", "flops", "square", "panel", "ours: cpuLU ms", "gpuLU", "flops", "square", "panel",
            "best", "found by", "panel's deviation %"]
    lines = []
    for n, case in versions_of(cases).items():
        cells = [str(n), *([f"{seconds:.4f}" for seconds in PAPER[BESIDE][n]] if n in PAPER[BESIDE] else [""] * 5)]
        cells += [ms(case, way) for way in WAYS]
        if is_searched(case):
            seconds, name = best_of(case)
            cells += [f"{1e3 * seconds:.3f}", name]
            cells.append(f"{100 * (case['hybrid panel']['seconds'] / seconds - 1):.2f}" if "hybrid panel" in case else "")
        else:
            cells += [""] * 3
        lines.append(cells)
    return table(head, lines)


def coverage(cases):
    """How much of the paper's table was repeated."""
    sizes = versions_of(cases)
    if not sizes:
        return "None of the paper's versions was timed in this run."
    return f"Of the paper's {len(PAPER[BESIDE])} sizes {sum(n in PAPER[BESIDE] for n in sizes)} {'was' if len(sizes) == 1 else 'were'} timed in this run."


def selections(cases):
    """A sentence about each selection, the best first."""
    found = []
    for select in SELECTS:
        off = deviations_of(cases, f"hybrid {select}")
        if off:
            found.append((sum(off) / len(off), max(off), select))
    if not found:
        return ""
    said = "; ".join(f"{select}: mean {100 * mean:.2f} %, worst {100 * worst:.2f} %" for mean, worst, select in sorted(found))
    return f"Deviation of cpugpuLU from the best panel and shares that timing found, the best selection first: {said}."


def gain(slow, fast):
    return 100 * (slow / fast - 1)


def gains_of(cases, way):
    """By how many percent more GFLOP/s than gpuLU."""
    return [(n, gain(case["gpu"]["seconds"], case[way]["seconds"])) for n, case in sorted(cases.items())
            if "gpu" in case and way in case]


def gain_table(cases):
    ours = {select: dict(gains_of(cases, f"hybrid {select}")) for select in SELECTS}
    systems = list(PAPER)
    head = ["n", *(f"{who}: {select}" if select == SELECTS[0] else select for who in (*systems, "ours") for select in SELECTS)]
    lines = []
    for n in sorted(versions_of(cases)):
        cells = [str(n)]
        for system in systems:
            seconds = PAPER[system].get(n)
            cells += [f"{gain(seconds[1], one):.1f}" for one in seconds[2:]] if seconds else [""] * 3
        cells += [f"{ours[select][n]:.1f}" if n in ours[select] else "" for select in SELECTS]
        lines.append(cells)
    return table(head, lines)


def plain(name):
    """As gnuplot takes names."""
    return name.replace("-", "_")


def figure_2(machine, memory, cases):
    script = "set xlabel 'n'\nset ylabel '% more GFLOP/s than gpuLU'\nset offsets 0, 0, graph 0.05, graph 0.05\n"
    for who in (*PAPER, "ours"):
        names, sizes = [], []
        for i, select in enumerate(SELECTS):
            data = ([(n, gain(row[1], row[2 + i])) for n, row in PAPER[who].items()] if who in PAPER
                    else gains_of(cases, f"hybrid {select}"))
            name = f"of_{plain(who)}_{select}"
            if data:
                script += figures.block(name, data)
                names.append((name, select))
                sizes += [n for n, _ in data]
        plots = ", ".join(f"${name} with linespoints title '{select}'" for name, select in names)
        beside = (max(sizes) - min(sizes)) / 20
        script += (f"set xrange [{min(sizes) - beside:g}:{max(sizes) + beside:g}]\n"
                   f"set title '{who if who in PAPER else machine}'\nplot {plots}\n")
    return figures.Figure(f"lu_{plain(machine)}_{memory}", "GFLOP/s of cpugpuLU over gpuLU's, by selection: the paper's Figure 2 and ours",
                          script, [], len(PAPER) + 1)


def peers_table(cases):
    peers = sorted({name for case in cases.values() for name, row in case.items() if not is_ours(row)})
    others = [*(["streamed"] if any("streamed" in case for case in cases.values()) else []), *peers]
    head = ["n", "automatic ms", "by", *(f"{name} ms" for name in others), "best peer over ours", "share of the bound"]
    lines = []
    ratios = []
    for n, case in sorted(cases.items()):
        if "automatic" not in case:
            continue
        row = case["automatic"]
        ratio = row.get("ratio")
        lines.append([str(n), ms(case, "automatic"), row["candidate"], *(ms(case, name) for name in others),
                      f"{ratio['centre']:.2f}" if ratio else "", f"{row['bound_share']:.2f}"])
        ratios += [ratio["centre"]] if ratio else []
    text = table(head, lines) if lines else ""
    if ratios:
        mean = math.exp(sum(math.log(ratio) for ratio in ratios) / len(ratios))
        text += f"\n\nThe best peer over ours: geometric mean {mean:.2f}, least {min(ratios):.2f}."
    return text


def breakdown(cases):
    head = ["n", "version", "nb", "ms", "panels", "swaps", "solves", "updates"]
    names = {"cpu": "cpuLU", "gpu": "gpuLU", "hybrid panel": "cpugpuLU, panel"}
    lines = []
    for n, case in sorted(cases.items()):
        for way, name in names.items():
            if way in case and "panel_s" in case[way]["metrics"]:
                parts = case[way]["metrics"]
                lines.append([str(n), name, str(case[way]["nb"]), ms(case, way),
                              *(f"{1e3 * parts[part]:.3f}" for part in ("panel_s", "swap_s", "solve_s", "update_s"))])
    return table(head, lines) if lines else ""


def of_memory(machine, memory, cases):
    """The parts of the page about one kind of memory, and its figures."""
    text, drawn = [f"### {memory} matrices", coverage(cases), table_2(cases) if versions_of(cases) else "", selections(cases)], []
    sizes = {n for select in SELECTS for n, _ in gains_of(cases, f"hybrid {select}")}
    if sizes:
        text += ["Percent more GFLOP/s than gpuLU (the paper's Figure 2):", gain_table(cases)]
    if len(sizes) > 1:  # one size is a row of the table and no line
        figure = figure_2(machine, memory, cases)
        drawn.append(figure)
        text.append(f"![{figure.caption}](../figures/{figure.name}.svg)")
    for heading, part in (("Ours unasked, beside peers:", peers_table(cases)), ("Where the time goes, ms:", breakdown(cases))):
        text += [heading, part] if part else []
    return [part for part in text if part], drawn


def hardware(rows):
    row = next(row for row in rows if is_ours(row))
    gpu = row.get("gpu")
    if row.get("simulated"):
        gpu = f"a simulated GPU ({row['simulated']})"
    threads = f"{row['threads']} thread{'' if row['threads'] == 1 else 's'}"
    return f"{row['device']}, {threads}, {gpu or 'no GPU'}."


def page_of(root):
    """The page's text and its figures; nothing without a run."""
    runs = runs_of(root)
    if not runs:
        return None, []
    text = ["# LU on CPU and GPU: the paper's experiment",
            "Bernabé et al. 2014 (sections 5 and 6, on 12 cores and a Tesla C2075 or K20c) compare three versions of a blocked LU, cpuLU, gpuLU and\n"
            "cpugpuLU, the last with three ways of selecting the CPU's share of each update. This page repeats that: panels, swaps and\n"
            "solves are the CPU's here, updates those of [hybrid.md](../hybrid.md). GPUs that keep the matrix (`streamed`, which no version of the\n"
            "paper is) stand beside the peers. [lu.md](../lu.md) says how it works. `scripts/lu_page.py` writes this page.",
            "A simulated GPU takes the time that its model says, by the wall clock, while the CPU does its part for real: so the GPU's share of a\n"
            "machine is made small, as it was in the paper. Its copies do not slow the CPU's memory down, and its model knows no scatter.",
            "The selections are the paper's in their idea and not in their formulas: `flops` compares average speeds of squares, `square` takes the\n"
            "split of a cube of as many products, `panel` that of the update itself, the last two by one general model of time\n"
            "([calibrate.md](../calibrate.md)). The paper's own forms (equations 1, 2, 7 and 8) are fitted and kept, and select nothing.",
            "## The paper's Table 2", "Seconds.", paper_table()]
    drawn = []
    for machine, (path, rows) in runs.items():
        text.append(f"## {machine}\n\n{paper_page.origin(path, rows)} {hardware(rows)}")
        for memory in ("pinned", "pageable"):
            cases = cases_of(rows, memory)
            if cases:
                parts, figures_of_memory = of_memory(machine, memory, cases)
                text += parts
                drawn += figures_of_memory
    if not any(row.get("gpu") and not row.get("simulated") for _, rows in runs.values() for row in rows):
        text.append(f"## A GPU\n\nNo run with a GPU is recorded. `{COMMAND}` makes it, goes on with `--resume`, and is kept after `gzip -9n`.")
    return "\n\n".join(text) + "\n", drawn


if __name__ == "__main__":
    paper_page.main(PAGE, page_of, "bench lu", __doc__)
