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
# n: n_cpu and seconds by the model, n_cpu and seconds of the optimum; the deviation is their ratio (12CK20, the paper's Table 1).
PAPER = {768: (0, 0.0036, 0, 0.0036), 1536: (48, 0.0199, 0, 0.0171), 2304: (224, 0.0424, 240, 0.0411),
         3072: (384, 0.0846, 336, 0.0842), 3840: (512, 0.1459, 512, 0.1459), 4608: (640, 0.2359, 640, 0.2359),
         5376: (768, 0.3562, 800, 0.3558), 6144: (896, 0.5110, 960, 0.5100), 6912: (1008, 0.7093, 1072, 0.7019),
         7680: (1136, 0.9618, 1200, 0.9375), 8448: (1264, 1.2305, 1280, 1.2255), 9216: (1376, 1.9682, 1280, 1.5803),
         9984: (1504, 2.1745, 1280, 2.1573), 10572: (1616, 2.3111, 1552, 2.3101), 11520: (1744, 3.3041, 1392, 3.0419)}
WAYS = ("model", "guided", "exhaustive")


def runs_of(root):
    """Runs that tried every share of the CPU in square products."""
    return paper_page.newest_runs(root, "hybrid-*", lambda rows: any(
        row.get("metrics", {}).get("variant") == "exhaustive" and row["m"] == row["n"] == row["k"] for row in rows))


def cases_of(rows, memory):
    """{n: {way or peer: row}} of square f64 products; of several ways of calling a peer the fastest."""
    cases = {}
    for row in rows:
        if row.get("summary") or row.get("memory") != memory or row.get("dtype") != "f64" or not row["m"] == row["n"] == row["k"]:
            continue
        name = row["metrics"]["variant"] if row["impl"] == "tilewright" else row["impl"]
        case = cases.setdefault(row["n"], {})
        if name not in case or row["seconds"] < case[name]["seconds"]:
            case[name] = row
    return cases


def deviation(seconds, best):
    return f"{100 * (seconds / best - 1):.2f}"


def table_1(cases):
    lines = ["| n | paper: n_cpu | s | best n_cpu | s | deviation % | ours: n_cpu | ms | guided n_cpu | ms | best n_cpu | ms | deviation % | predicted ms |",
             "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|"]
    deviations = []
    for n in sorted(set(PAPER) | set(cases)):
        cells = [str(n)]
        if n in PAPER:
            chosen, seconds, optimum, best = PAPER[n]
            cells += [str(chosen), f"{seconds:.4f}", str(optimum), f"{best:.4f}", deviation(seconds, best)]
        else:
            cells += [""] * 5
        case = cases.get(n, {})
        for way in WAYS:
            row = case.get(way)
            cells += ["", ""] if row is None else [str(row["metrics"]["n_cpu"]), f"{1e3 * row['seconds']:.3f}"]
        if "model" in case and "exhaustive" in case:
            # A share that the exhaustive search found may be slower than another in the rounds that followed.
            best = min(case[way]["seconds"] for way in WAYS if way in case)
            cells.append(deviation(case["model"]["seconds"], best))
            deviations.append(case["model"]["seconds"] / best - 1)
        else:
            cells.append("")
        predicted = case.get("model", {}).get("predicted_s")
        cells.append("" if predicted is None else f"{1e3 * predicted:.3f}")
        lines.append("| " + " | ".join(cells) + " |")
    if deviations:
        mean = 100 * sum(deviations) / len(deviations)
        lines.append(f"\nMean deviation {mean:.2f} % (the paper: 3.90 %), worst {100 * max(deviations):.2f} % (24.55 %).")
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


def plot(machine, cases):
    """Seconds over those of the exhaustive optimum, against n: the paper's and ours."""
    paper = [(n, row[1] / row[3]) for n, row in PAPER.items()]
    ours = [(n, case["model"]["seconds"] / case["exhaustive"]["seconds"]) for n, case in sorted(cases.items())
            if "model" in case and "exhaustive" in case]
    script = (figures.block("paper", paper) + figures.block("ours", ours) + "set xlabel 'n'\nset ylabel 'time over the optimum'\n"
              "plot $paper with linespoints title 'the paper', $ours with linespoints title 'ours'\n")
    return figures.Figure(f"hybrid_{machine}", "The split chosen by the model against the exhaustive optimum", script, [], 1)


def page_of(root):
    """The page's text and its figures; nothing without a run."""
    runs = runs_of(root)
    if not runs:
        return None, []
    text = ["# CPU and GPUs together: the paper's validation",
            "Bernabé et al. 2014 choose the CPU's columns by fitted models and hold the choice against all others (their Table 1, on 12 cores and a\n"
            "Tesla K20c). This page repeats that. [hybrid.md](../hybrid.md) says how it works. `scripts/hybrid_page.py` writes this page."]
    drawn = []
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
    return "\n\n".join(text) + "\n", drawn


if __name__ == "__main__":
    paper_page.main(PAGE, page_of, "bench hybrid", __doc__)
