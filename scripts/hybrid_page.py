#!/usr/bin/env python3
"""Writes docs/papers/hybrid.md from the runs of `bench hybrid` that are recorded in results/: Table 1 of Bernabe et al. 2014 as it
stands in the paper beside ours, a plot, and what peers took. `--check` writes nothing and fails where the page is not what the
results say. Without such a run there is no page."""

import pathlib
import sys

sys.dont_write_bytecode = True
import figures
import paper_page

PAGE = pathlib.Path("docs/papers/hybrid.md")
# n: n_cpu and seconds by the model, n_cpu and seconds of the optimum, deviation in percent, all as printed (12CK20, the paper's
# Table 1). Deviations of the printed, rounded seconds differ in the last digits.
PAPER = {768: (0, 0.0036, 0, 0.0036, 0.00), 1536: (48, 0.0199, 0, 0.0171, 16.61), 2304: (224, 0.0424, 240, 0.0411, 3.14),
         3072: (384, 0.0846, 336, 0.0842, 0.46), 3840: (512, 0.1459, 512, 0.1459, 0.00), 4608: (640, 0.2359, 640, 0.2359, 0.00),
         5376: (768, 0.3562, 800, 0.3558, 0.10), 6144: (896, 0.5110, 960, 0.5100, 0.18), 6912: (1008, 0.7093, 1072, 0.7019, 1.06),
         7680: (1136, 0.9618, 1200, 0.9375, 2.59), 8448: (1264, 1.2305, 1280, 1.2255, 0.41), 9216: (1376, 1.9682, 1280, 1.5803, 24.55),
         9984: (1504, 2.1745, 1280, 2.1573, 0.80), 10572: (1616, 2.3111, 1552, 2.3101, 0.04), 11520: (1744, 3.3041, 1392, 3.0419, 8.62)}
PAPER_MEAN, PAPER_WORST = sum(row[4] for row in PAPER.values()) / len(PAPER), max(row[4] for row in PAPER.values())
WAYS = ("model", "guided", "exhaustive")


def is_square(row):
    return row["m"] == row["n"] == row["k"]


def runs_of(root, square=True):
    """Runs that tried every share of the CPU, in square products or in others."""
    return paper_page.newest_runs(root, "hybrid-*", lambda rows: any(
        row.get("metrics", {}).get("variant") == "exhaustive" and is_square(row) == square for row in rows))


def cases_of(rows, memory):
    """{n: {way or peer: row}} of square f64 products; of several ways of calling a peer the fastest."""
    cases = {}
    for row in rows:
        if row.get("summary") or row.get("memory") != memory or row.get("dtype") != "f64" or not is_square(row):
            continue
        name = row["metrics"]["variant"] if row["impl"] == "tilewright" else row["impl"]
        case = cases.setdefault(row["n"], {})
        if name not in case or row["seconds"] < case[name]["seconds"]:
            case[name] = row
    return cases


def deviation(seconds, best):
    return f"{100 * (seconds / best - 1):.2f}"


def fastest(case):
    """Seconds of the best: a share that the exhaustive search found may be slower than another in the rounds that followed."""
    return min(case[way]["seconds"] for way in WAYS if way in case)


def table_1(cases):
    lines = ["| n | paper: n_cpu | s | best n_cpu | s | deviation % | ours: n_cpu | ms | guided n_cpu | ms | best n_cpu | ms | deviation % | predicted ms |",
             "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|"]
    deviations = []
    for n in sorted(set(PAPER) | set(cases)):
        cells = [str(n)]
        if n in PAPER:
            chosen, seconds, optimum, best, printed = PAPER[n]
            cells += [str(chosen), f"{seconds:.4f}", str(optimum), f"{best:.4f}", f"{printed:.2f}"]
        else:
            cells += [""] * 5
        case = cases.get(n, {})
        for way in WAYS:
            row = case.get(way)
            cells += ["", ""] if row is None else [str(row["metrics"]["n_cpu"]), f"{1e3 * row['seconds']:.3f}"]
        if "model" in case and "exhaustive" in case:
            best = fastest(case)
            cells.append(deviation(case["model"]["seconds"], best))
            deviations.append(case["model"]["seconds"] / best - 1)
        else:
            cells.append("")
        predicted = case.get("model", {}).get("predicted_s")
        cells.append("" if predicted is None else f"{1e3 * predicted:.3f}")
        lines.append("| " + " | ".join(cells) + " |")
    if deviations:
        lines.append("\n" + verdict(deviations, [case["model"]["metrics"]["n_cpu"] for case in cases.values() if "model" in case]))
    return "\n".join(lines)


def verdict(deviations, chosen):
    """What the deviations say; of a machine where the CPU gets nothing they do not say how well a share is chosen."""
    mean, worst = f"{100 * sum(deviations) / len(deviations):.2f} %", f"{100 * max(deviations):.2f} %"
    if any(chosen):
        return f"Mean deviation {mean} (the paper: {PAPER_MEAN:.2f} %), worst {worst} ({PAPER_WORST:.2f} %)."
    return (f"Mean deviation {mean}, worst {worst}. The model gives the CPU nothing in all {len(chosen)} sizes, so that these are the\n"
            f"differences of one split timed several times. They are not to be held against the paper's {PAPER_MEAN:.2f} % and {PAPER_WORST:.2f} %, which are of\n"
            "shares that were chosen.")


def shares_table(rows):
    """Other products of which every share was tried: what was chosen beside the best share, and the deviation from the fastest way."""
    cases = {}
    for row in rows:
        if not row.get("summary") and row.get("dtype") == "f64" and row.get("impl") == "tilewright" and not is_square(row):
            cases.setdefault((row["m"], row["n"], row["k"], row["memory"]), {})[row["metrics"]["variant"]] = row
    lines = ["| m x n x k | memory | chosen n_cpu | ms | best n_cpu | ms | GPU alone ms | over the fastest of these % |", "|---" * 8 + "|"]
    ms = lambda row: f"{1e3 * row['seconds']:.3f}"
    for (m, n, k, memory), case in cases.items():
        chosen = case.get("model") or case.get("automatic")
        if chosen is None or "exhaustive" not in case:
            continue
        fastest = min(row["seconds"] for row in case.values())
        lines.append(f"| {m}x{n}x{k} | {memory} | {chosen['metrics']['n_cpu']} | {ms(chosen)} | {case['exhaustive']['metrics']['n_cpu']} | "
                     f"{ms(case['exhaustive'])} | {ms(case['gpu']) if 'gpu' in case else ''} | {deviation(chosen['seconds'], fastest)} |")
    return "\n".join(lines)


def peers_table(cases):
    names = sorted({name for case in cases.values() for name in case} - {"model", "guided", "exhaustive", "gpu", "asked"},
                   key=lambda name: (name != "automatic", name))
    lines = ["| n | " + " | ".join(f"{name} ms" for name in names) + " | bound ms |", "|---" * (len(names) + 2) + "|"]
    for n, case in sorted(cases.items()):
        cells = [f"{1e3 * case[name]['seconds']:.3f}" if name in case else "" for name in names]
        timed = [row for row in case.values() if row.get("transfer_s")]
        bound = f"{1e3 * max(timed[0]['transfer_s'], timed[0]['compute_s']):.3f}" if timed else ""
        lines.append(f"| {n} | " + " | ".join(cells) + f" | {bound} |")
    return "\n".join(lines)


def shares_section(path, rows):
    return (f"### Where the CPU has a share\n\n{paper_page.origin(path, rows)} Thin products, of which the\n"
            "models of that day gave the CPU a part; what later ones chose stands in [hybrid.md](../hybrid.md#measured).\n\n"
            + shares_table(rows))


def plot(machine, cases):
    """Seconds over those of the best share that timing found, against n: the paper's and ours."""
    paper = [(n, 1 + row[4] / 100) for n, row in PAPER.items()]
    ours = [(n, case["model"]["seconds"] / fastest(case)) for n, case in sorted(cases.items()) if "model" in case and "exhaustive" in case]
    nothing = not any(case["model"]["metrics"]["n_cpu"] for case in cases.values() if "model" in case)
    script = (figures.block("paper", paper) + figures.block("ours", ours) + "set xlabel 'n'\nset ylabel 'time over the optimum'\n"
              "set offsets graph 0.03, graph 0.03, graph 0.05, graph 0.05\n"
              f"plot $paper with linespoints title 'the paper', $ours with linespoints title 'ours{', which give the CPU nothing' if nothing else ''}'\n")
    return figures.Figure(f"hybrid_{machine}", "The split chosen by the model against the exhaustive optimum", script, [], 1)


def page_of(root):
    """The page's text and its figures; nothing without a run."""
    runs = runs_of(root)
    if not runs:
        return None, []
    text = ["# CPU and GPUs together: the paper's validation",
            "Bernabé et al. 2014 choose the CPU's columns by fitted models and hold the choice against all others (their Table 1, on 12 cores and a\n"
            "Tesla K20c). This page repeats that. [hybrid.md](../hybrid.md) says how it works. `scripts/hybrid_page.py` writes this page.",
            "The paper's figures are as printed, n = 10572 among them, where its steps of 768 give 10752."]
    drawn, shared = [], runs_of(root, square=False)
    for machine, (path, rows) in runs.items():
        text.append(f"## {machine}\n\n{paper_page.origin(path, rows)}")
        for memory in ("pinned", "pageable"):
            cases = cases_of(rows, memory)
            if not cases:
                continue
            text += [f"### {memory} operands", table_1(cases), peers_table(cases)]
            if memory == "pinned" and any("exhaustive" in case for case in cases.values()):
                figure = plot(machine, cases)
                drawn.append(figure)
                text.append(f"![{figure.caption}](../figures/{figure.name}.svg)")
        if machine in shared:
            text.append(shares_section(*shared[machine]))
    return "\n\n".join(text) + "\n", drawn


if __name__ == "__main__":
    paper_page.main(PAGE, page_of, "bench hybrid", __doc__)
