"""Figures of docs/*.md, drawn by gnuplot from the runs recorded in results/. Each SVG carries the digest of the script and
the data that it was drawn from, so that whether it is out of date can be told without gnuplot."""

import hashlib
import re
import subprocess

from results import files_of, rows_of

HEAD = """set encoding utf8
set terminal svg size {width},{height} dynamic name '{name}' font 'sans-serif,11' background '#ffffff'
set grid lc rgb '#dddddd'
set key outside top center horizontal
"""
PANEL_WIDTH, PANEL_HEIGHT = 480, 290
TYPES = ["f64", "f32", "c128", "c64"]


class Figure:
    """A drawing: its file below docs/figures, what it shows, the script, and the runs behind it."""

    def __init__(self, name, caption, script, runs, panels, width=PANEL_WIDTH, height=PANEL_HEIGHT):
        self.name, self.caption, self.runs = name, caption, runs
        rows = -(-panels // 2)
        self.script = (HEAD.format(name=name, width=width * min(panels, 2), height=height * rows)
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
    """Ours and cuBLAS, a panel for each type and beta, or for those that `types` and `beta` name."""
    layout = wanted["layout"]
    found = {key: cases for key, cases in shares(runs, layout).items()
             if key[0] in wanted.get("types", ",".join(TYPES)).split(",") and str(key[1]) in (wanted.get("beta", str(key[1])), f"{key[1]}.0")}
    name = f"gemm_small_share_{layout}" + "".join("_" + wanted[key].replace(",", "_") for key in ("types", "beta") if key in wanted)
    if not found:
        return None
    script, used = "set xlabel 'n'\nset ylabel 'share of the bound'\nset yrange [0:1.1]\n", {}
    order = sorted(found, key=lambda key: (TYPES.index(key[0]), -key[1]))
    for panel, key in enumerate(order):
        cases = sorted(found[key].items())
        used.update({run.path: run for _, (_, _, run) in cases})
        script += block(f"panel{panel}", [(n, ours, peer) for n, (ours, peer, _) in cases])
        script += f"set title '{key[0]}, {'C += A B' if key[1] else 'C = A B'}'\n"
        script += (f"plot $panel{panel} using 1:2 with lines lw 1.5 lc rgb '#1f4e99' title 'tilewright', "
                   f"$panel{panel} using 1:3 with lines lw 1.5 lc rgb '#c0504d' title 'cuBLAS'\n")
    return Figure(name, f"Share of the bound against n, {layout.replace('_', '-')} batches: ours and cuBLAS.",
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


COLOURS = {"tilewright": "#1f4e99", "openblas": "#7f6f3f", "mkl": "#8064a2", "libxsmm": "#c0504d", "eigen": "#5f9f4f", "loops": "#999999"}


def peer_of(impl):
    """Plain loops are one peer, whatever their order."""
    return "loops" if impl.startswith("loop_") else impl


def rates_against_n(runs, wanted):
    """GFLOP/s of ours and of each peer for square C += A B on one thread, and what the bound allows; a panel for each residency. Where
    a run kept the fastest peers of a case alone, the others have no point."""
    script, used = "set xlabel 'n'\nset ylabel 'GFLOP/s'\nset yrange [0:*]\n", {}
    residencies = wanted["residency"].split(",")
    for panel, residency in enumerate(residencies):
        lines = {}
        for run in runs:  # oldest first, so that newer runs replace
            for row in run.rows:
                if (row["impl"] == "tilewright_default" or row.get("residency") != residency or row.get("dtype") != wanted["dtype"]
                        or row.get("threads") != 1 or row.get("beta") != 1 or row.get("op") != "nn" or row.get("layout") != "strided"
                        or not row["m"] == row["n"] == row["k"] == row["lda"]):
                    continue
                used[run.path] = run
                points = lines.setdefault(peer_of(row["impl"]), {})
                points[row["n"]] = max(row["gflops"], points.get(row["n"], 0))
                if row["impl"] == "tilewright":
                    lines.setdefault("bound", {})[row["n"]] = row["bound_gflops"]
        if not lines:
            return None
        names = [name for name in COLOURS if name in lines]
        plots = []
        for name in names + ["bound"]:
            script += block(f"{name}{panel}", sorted(lines[name].items()))
            style = ("lines dt 2 lw 1 lc rgb '#000000'" if name == "bound" else
                     f"linespoints pt 7 ps 0.5 lw {2 if name == 'tilewright' else 1} lc rgb '{COLOURS[name]}'")
            plots.append(f"${name}{panel} using 1:2 with {style} title '{name}'")
        script += f"set title '{wanted['dtype']}, C += A B, {'data in memory' if residency == 'cold' else 'data in ' + residency.upper()}'\n"
        script += "plot " + ", ".join(plots) + "\n"
    name = f"{wanted['family']}_{wanted['machine'].replace('-', '_')}_{wanted['dtype']}"
    return Figure(name, "Batches of n x n matrices on one core: tilewright, its peers, and the bound of the same run.", script, used,
                  len(residencies))


def single_calls(runs, wanted):
    """One product after the other, as a program that knows no batches makes them: nanoseconds against n."""
    run, times = runs[-1], {}
    for row in run.rows:
        if row.get("client") == "single_calls":
            for name, ns in row["ns"].items():
                times.setdefault(name, {})[row["n"]] = ns
    colours = {"tilewright gemm": "#1f4e99", "tilewright plan": "#6f9fd9", "openblas": "#7f6f3f", "libxsmm dispatch": "#c0504d",
               "libxsmm kernel": "#e0a09d"}
    script = "set xlabel 'n'\nset ylabel 'ns'\nset logscale xy\nset xtics (2, 4, 8, 16, 32, 64)\n"
    plots = []
    for i, name in enumerate(name for name in colours if name in times):
        script += block(f"line{i}", sorted(times[name].items()))
        plots.append(f"$line{i} using 1:2 with linespoints pt 7 ps 0.5 lw 1.5 lc rgb '{colours[name]}' title '{name}'")
    script += "plot " + ", ".join(plots) + "\n"
    return Figure(f"clients_single_{wanted['machine'].replace('-', '_')}",
                  "One product of n x n matrices per call, f64, data in L1, one thread.", script, {run.path: run}, 1, 720, 320)


def many_shapes(runs, wanted):
    """Shapes that change from call to call: our time over that of the better peer."""
    run, bars = runs[-1], []
    for row in run.rows:
        if row.get("client") in ("many_shapes", "variable_batch") and row.get("over_best_peer"):
            what = f"{row['products']} products, {row['case']}, {row['operands']}" if "operands" in row else row["case"]
            bars += [(f"{what}: {name.removeprefix('tilewright ')}", ratio) for name, ratio in row["over_best_peer"].items()]
    script = "$bars << EOD\n" + "".join(f'"{name}" {ratio:.4g}\n' for name, ratio in reversed(bars)) + "EOD\n"
    script += ("set xlabel 'time over the better peer (below 1: faster)'\nunset key\nset lmargin 58\n"
               f"set style fill solid 0.8\nset yrange [-0.7:{len(bars) - 0.3}]\nset xrange [0:*]\n"
               f"set arrow 1 from 1,-0.7 to 1,{len(bars) - 0.3} nohead front dt 2\nset ytics noenhanced\n"
               "plot $bars using (0.5*$2):0:(0.5*$2):(0.35):yticlabels(1) with boxxyerrorbars lc rgb '#1f4e99'\n")
    return Figure(f"clients_shapes_{wanted['machine'].replace('-', '_')}", "Shapes that change from call to call, f64, one thread: ours "
                  "over the better of OpenBLAS and LIBXSMM.", script, {run.path: run}, 1, 960, 90 + 22 * len(bars))


KINDS = {"share": share_against_n, "axis": share_along_axis, "rates": rates_against_n, "single_calls": single_calls, "many_shapes": many_shapes}


class AllRows:
    """A results file with every row, those of searches too."""

    def __init__(self, path, root):
        self.path, self.command, self.rows = path.relative_to(root), "", []
        for row in rows_of(path):
            if "command" in row:
                self.command = row["command"]
            elif (row.get("bound_share") is not None or "client" in row) and not row.get("summary"):
                self.rows.append(row)


def figure(words, root):
    """The figure that a page asks for; None where no run is recorded."""
    wanted = dict(word.split("=", 1) for word in words.split())
    paths = files_of(root, wanted["machine"], f"{wanted.get('family', 'gemm_small')}-*")
    return KINDS[wanted["kind"]]([AllRows(path, root) for path in paths], wanted)
