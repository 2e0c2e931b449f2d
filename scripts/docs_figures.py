"""Figures of the documentation, drawn by gnuplot. A declaration is that of a table (docs_tables.py) with `figure` (lines, bars or
colours), the `name` of the SVG, a `caption` and `panels`, each with a title and conditions: rows are the points, columns the lines.
Each SVG carries the digest of the script that it was drawn from, so that a stale one is found without gnuplot."""

import hashlib
import re
import subprocess

from docs_tables import cells_of, meets, source, value_at

HEAD = """set encoding utf8
set terminal svg size {width},{height} dynamic name '{name}' font 'sans-serif,11' background '#ffffff'
set grid lc rgb '#dddddd'
set key outside top center horizontal
"""
COLOURS = ["#1f4e99", "#c0504d", "#7f6f3f", "#8064a2", "#5f9f4f", "#999999"]


def block(name, points):
    """Data inside a script."""
    return f"${name} << EOD\n" + "".join(" ".join(f"{value:.6g}" for value in point) + "\n" for point in points) + "EOD\n"


def lines(panel, columns, rows):
    """A line for each column: its values against those of the rows' field."""
    script, plots = "", []
    for i, column in enumerate(columns):
        points = sorted((next(iter(conditions.values())), cells[i][1]) for _, cells, conditions in rows if cells[i])
        if points:
            script += block(f"line{panel}_{i}", points)
            style = column.get("style", f"linespoints pt 7 ps 0.5 lw 1.5 lc rgb '{COLOURS[i % len(COLOURS)]}'")
            plots.append(f"$line{panel}_{i} using 1:2 with {style} title '{column['head']}'")
    return script + "plot " + ", ".join(plots) + "\n"


def bars(_, __, rows):
    """A bar for each row, the first on top."""
    count = len(rows)
    script = "$bars << EOD\n" + "".join(f'"{label.replace(" |  | ", ", ").replace(" | ", ", ")}" {cells[0][1]:.4g}\n' for label, cells, _ in reversed(rows)) + "EOD\n"
    return script + (f"unset key\nset lmargin 50\nset style fill solid 0.8\nset yrange [-0.7:{count - 0.3}]\nset xrange [0:*]\n"
                     f"set arrow 1 from 1,-0.7 to 1,{count - 0.3} nohead front dt 2\nset ytics noenhanced\n"
                     f"plot $bars using (0.5*$2):0:(0.5*$2):(0.35):yticlabels(1) with boxxyerrorbars lc rgb '{COLOURS[0]}'\n")


def colours(panel, _, rows):
    """A coloured square for each pair of two fields, and a ring for the value of the second that the others differ from."""
    squares = sorted((*conditions.values(), cells[0][1]) for _, cells, conditions in rows)
    rings = sorted({(next(iter(conditions.values())), cells[1][1]) for _, cells, conditions in rows})
    return (block(f"squares{panel}", squares) + block(f"rings{panel}", rings) + "unset key\nset cbrange [0:1]\n"
            "set palette defined (0 '#2b2d6e', 0.5 '#3a9b9b', 0.85 '#f2d04b', 1 '#c0392b')\n"
            f"plot $squares{panel} using 1:2:3 with points pt 5 ps 0.9 lc palette, "
            f"$rings{panel} using 1:2 with points pt 6 ps 0.9 lw 1.5 lc rgb '#000000'\n")


DRAWINGS = {"lines": lines, "bars": bars, "colours": colours}


def script_of(root, spec):
    """Returns the script for gnuplot."""
    rows, panels = source(root, spec), spec.get("panels", [{}])
    width, height = spec.get("size", [480, 290])
    script = HEAD.format(name=spec["name"], width=width * min(len(panels), 2), height=height * -(-len(panels) // 2))
    script += f"set multiplot layout {-(-len(panels) // 2)},{min(len(panels), 2)}\n" + spec.get("set", "")
    for i, panel in enumerate(panels):
        conditions = {key: wanted for key, wanted in panel.items() if key not in ("title", "set")}
        mine = [row for row in rows if all(meets(value_at(row, key), wanted) for key, wanted in conditions.items())]
        columns, found = cells_of(spec, mine)
        if not found:
            raise ValueError(f"no row of {spec['files']} is in the panel {panel}")
        script += panel.get("set", "") + (f"set title '{panel['title']}'\n" if "title" in panel else "")
        script += DRAWINGS[spec["figure"]](i, columns, found)
    return script


def mark_of(script):
    return f"<!-- drawn from {hashlib.sha256(script.encode()).hexdigest()} -->"


def stale(root, spec):
    """The script of a figure that is not what its SVG was drawn from, else nothing."""
    script, path = script_of(root, spec), root / "docs" / "figures" / f"{spec['name']}.svg"
    return None if path.exists() and mark_of(script) in path.read_text() else script


def draw(root, spec, script):
    drawn = subprocess.run(["gnuplot"], input=script, capture_output=True, text=True, check=False)
    if drawn.returncode != 0 or "<svg" not in drawn.stdout:
        raise SystemExit(f"gnuplot (Debian: gnuplot-nox) did not draw {spec['name']}: {drawn.stderr}")
    svg = re.sub(r"<desc>.*?</desc>\n?", "", drawn.stdout, flags=re.S)  # contains the version of gnuplot
    (root / "docs" / "figures" / f"{spec['name']}.svg").write_text(svg.rstrip() + "\n" + mark_of(script) + "\n")
