"""Figures of docs/*.md, drawn by gnuplot from the runs recorded in results/. Each SVG carries the digest of the script and
the data that it was drawn from, so that whether it is out of date can be told without gnuplot."""

import hashlib
import re
import subprocess

from results import files_of, rows_of

HEAD = """set encoding utf8
set terminal svg size {width},{height} dynamic name '{name}' font 'sans-serif,11' background '#ffffff'
set grid lc rgb '#dddddd'
"""
PANEL_WIDTH, PANEL_HEIGHT = 480, 290
TYPES = ["f64", "f32", "c128", "c64"]


class Figure:
    """A drawing: its file below docs/figures, what it shows, the script, and the runs behind it."""

    def __init__(self, name, caption, script, runs, panels):
        self.name, self.caption, self.runs = name, caption, runs
        rows = -(-panels // 2)
        self.script = (HEAD.format(name=name, width=PANEL_WIDTH * min(panels, 2), height=PANEL_HEIGHT * rows)
                       + f"set multiplot layout {rows},{min(panels, 2)}\n" + script)

    def mark(self):
        return f"<!-- drawn from {hashlib.sha256(self.script.encode()).hexdigest()} -->"

    def is_stale(self, folder):
        path = folder / f"{self.name}.svg"
        return not path.exists() or self.mark() not in path.read_text()

    def draw(self, folder):
        drawn = subprocess.run(["gnuplot"], input=self.script, capture_output=True, text=True, check=False)
        if drawn.returncode != 0 or "<svg" not in drawn.stdout:
            raise SystemExit(f"gnuplot (Debian: gnuplot-nox) did not draw {self.name}: {drawn.stderr}")
        folder.mkdir(exist_ok=True)
        svg = re.sub(r"<desc>.*?</desc>\n?", "", drawn.stdout, flags=re.S)  # the version of gnuplot
        (folder / f"{self.name}.svg").write_text(svg.rstrip() + "\n" + self.mark() + "\n")


def block(name, rows):
    """Data inside a script."""
    return f"${name} << EOD\n" + "".join(" ".join(f"{value:.6g}" for value in row) + "\n" for row in rows) + "EOD\n"


def is_plain(row, layout):
    """Square, packed and many problems of one size: what the figures against n show."""
    return (row.get("layout") == layout and row.get("op") == "nn" and row["m"] == row["n"] == row["k"] == row.get("lda")
            and not row.get("scalars_vary") and row.get("residency") == "cold")


def shares(runs, layout):
    """{(dtype, beta): {n: (ours, peer)}} and the runs used; of the newest run that has the case."""
    found = {}
    for run in runs:  # oldest first, so that newer runs replace
        cases = {}
        for row in run.rows:
            if row.get("phase", "compare") == "compare" and is_plain(row, layout):
                impl = "ours" if row["impl"] == "tilewright" else "cublas" if row["impl"].startswith("cublas") else ""
                case = cases.setdefault((row["dtype"], row["beta"], row["n"]), {})
                case[impl] = max(row["bound_share"], case.get(impl, 0))
        for (dtype, beta, n), case in cases.items():
            if "ours" in case and "cublas" in case:
                found.setdefault((dtype, beta), {})[n] = (case["ours"], case["cublas"], run)
    return found


def share_against_n(runs, wanted):
    """Ours and cuBLAS, a panel for each type and beta."""
    layout = wanted["layout"]
    found = shares(runs, layout)
    if not found:
        return None
    script, used = "set xlabel 'n'\nset ylabel 'share of the bound'\nset yrange [0:1.1]\nset key outside below horizontal\n", {}
    order = sorted(found, key=lambda key: (TYPES.index(key[0]), -key[1]))
    for panel, key in enumerate(order):
        cases = sorted(found[key].items())
        used.update({run.path: run for _, (_, _, run) in cases})
        script += block(f"panel{panel}", [(n, ours, peer) for n, (ours, peer, _) in cases])
        script += f"set title '{key[0]}, {'C += A B' if key[1] else 'C = A B'}'\n"
        script += (f"plot $panel{panel} using 1:2 with lines lw 1.5 lc rgb '#1f4e99' title 'tilewright', "
                   f"$panel{panel} using 1:3 with lines lw 1.5 lc rgb '#c0504d' title 'cuBLAS'\n")
    return Figure(f"gemm_small_share_{layout}", f"Share of the bound against n, {layout.replace('_', '-')} batches: ours and cuBLAS.",
                  script, used, len(order))


def share_along_axis(runs, wanted):
    """Every n and every value of an axis that was tried as a coloured square, a panel for each type."""
    axis = wanted["axis"]
    found, used = {}, {}
    for run in runs:
        rows = [row for row in run.rows if row.get("phase") == "vary" and row.get("axis") == axis]
        fresh = {}
        for row in rows:
            fresh.setdefault((row["dtype"], row["beta"]), {}).setdefault(row["n"], []).append(row)
            used[run.path] = run
        for key, sizes in fresh.items():
            found.setdefault(key, {}).update(sizes)
    if not found:
        return None
    values = [row["value"] for sizes in found.values() for rows in sizes.values() for row in rows]
    scale = "set logscale y 2\n" if min(values) > 0 and max(values) >= 16 * min(values) else ""
    script = (f"set xlabel 'n'\nset ylabel '{axis.replace('_', ' ')}'\n{scale}unset key\nset cbrange [0:1]\n"
              "set palette defined (0 '#2b2d6e', 0.5 '#3a9b9b', 0.85 '#f2d04b', 1 '#c0392b')\n")
    order = sorted(found, key=lambda key: (TYPES.index(key[0]), -key[1]))
    for panel, key in enumerate(order):
        rows = [row for _, rows in sorted(found[key].items()) for row in rows]
        script += block(f"panel{panel}", [(row["n"], row["value"], row["bound_share"]) for row in rows])
        script += block(f"base{panel}", sorted({(row["n"], row["base_value"]) for row in rows}))
        script += f"set title '{key[0]}, {'C += A B' if key[1] else 'C = A B'}'\n"
        script += (f"plot $panel{panel} using 1:2:3 with points pt 5 ps 0.9 lc palette, "
                   f"$base{panel} using 1:2 with points pt 6 ps 0.9 lw 1.5 lc rgb '#000000'\n")
    return Figure(f"gemm_small_{axis}", f"Share of the bound (colour) against n and {axis}; rings: the value of the config that the others "
                  "differ from.", script, used, len(order))


KINDS = {"share": share_against_n, "axis": share_along_axis}


class AllRows:
    """A results file with every row, those of searches too."""

    def __init__(self, path, root):
        self.path, self.command, self.rows = path.relative_to(root), "", []
        for row in rows_of(path):
            if "command" in row:
                self.command = row["command"]
            elif row.get("bound_share") is not None and not row.get("summary"):
                self.rows.append(row)


def figure(words, root):
    """The figure that a page asks for; None where no run is recorded."""
    wanted = dict(word.split("=", 1) for word in words.split())
    paths = files_of(root, wanted["machine"], "gemm_small-*")
    return KINDS[wanted["kind"]]([AllRows(path, root) for path in paths], wanted)
