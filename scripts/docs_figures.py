"""Figures of the documentation, drawn by gnuplot. A declaration is that of a table (docs_tables.py) with `figure` (lines, bars, dots,
colours or points), the `name` of the SVG, a `caption` and `panels`, each with a title and conditions: rows are the points, columns the
lines. Of `points` every row that meets a column's conditions is one, at the values `x` and `y` of column, panel or figure, or with
`mean` each x one at the mean of its y.
Each SVG carries the digest of the script that it was drawn from, so that a stale one is found without gnuplot. With `dark` there is
NAME_dark.svg as well, the same drawing in the colours of a dark page."""

import hashlib
import re
import statistics
import subprocess

from docs_tables import WORDS, cells_of, meets, picked, source, value_at

HEAD = """set encoding utf8
set terminal svg size {width},{height} dynamic name '{name}' font 'sans-serif,11' background '#ffffff'
set grid lc rgb '#dddddd'
set key outside top center horizontal
"""
# Colours for black, white and lines that a dark page would hide.
DARK = {"#ffffff": "#0d1117", "#dddddd": "#30363d", "#000000": "#e6edf3", "#1f4e99": "#79b8ff", "#c0504d": "#ff9b94", "#7f6f3f": "#d8c27a",
        "#8064a2": "#c8a6f0", "#5f9f4f": "#8fd07f", "#999999": "#8b949e"}
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


def dots(panel, columns, rows):
    """A line for each row, the first on top, with a mark for each column, beside 0."""
    count, script, plots = len(rows), "", []
    for i, column in enumerate(columns):
        script += block(f"dots{panel}_{i}", [(cells[i][1], count - 1 - at) for at, (_, cells, _) in enumerate(rows) if cells[i]])
        plots.append(f"$dots{panel}_{i} using 1:2 with points pt {(7, 6, 9, 5)[i % 4]} ps 0.9 lc rgb '{COLOURS[i % len(COLOURS)]}' title '{column['head']}'")
    labels = ", ".join(f'"{label}" {count - 1 - at}' for at, (label, _, _) in enumerate(rows))
    return script + (f"set lmargin 50\nset yrange [-0.7:{count - 0.3}]\nset arrow 1 from 0,-0.7 to 0,{count - 0.3} nohead front dt 2\n"
                     f"set ytics noenhanced ({labels})\nplot {', '.join(plots)}\n")


def points(panel, columns, rows):
    """A point for each row of a column."""
    script, plots = "", []
    for i, (column, found) in enumerate(zip(columns, rows)):
        script += block(f"points{panel}_{i}", sorted(found))
        style = column.get("style", f"points pt 7 ps 0.3 lc rgb '{COLOURS[i % len(COLOURS)]}'")
        plots.append(f"$points{panel}_{i} using 1:2 with {style} title '{column['head']}'")
    return script + "plot " + ", ".join(plots) + "\n"


def places_of(spec, panel, rows):
    """(columns, [[(x, y)] of each column]) of a panel of points."""
    all_places = []
    for column in spec["columns"]:
        asked = {key: value for key, value in column.items() if key not in WORDS | PLACES}
        x, y = ((column | panel).get(axis) or spec[axis] for axis in "xy")
        found = [(value_at(row, x), value) for row, value in picked(rows, {**asked, "get": y}) if value_at(row, x) is not None]
        if column.get("mean"):
            of = {at: [value for one, value in found if one == at] for at, _ in found}
            found = [(at, statistics.fmean(values)) for at, values in of.items()]
        all_places.append(found)
    return spec["columns"], all_places if all(all_places) else []


def colours(panel, _, rows):
    """A coloured square for each pair of two fields, and a ring for the value of the second that the others differ from."""
    squares = sorted((*conditions.values(), cells[0][1]) for _, cells, conditions in rows)
    rings = sorted({(next(iter(conditions.values())), cells[1][1]) for _, cells, conditions in rows})
    return (block(f"squares{panel}", squares) + block(f"rings{panel}", rings) + "unset key\nset cbrange [0:1]\n"
            "set palette defined (0 '#2b2d6e', 0.5 '#3a9b9b', 0.85 '#f2d04b', 1 '#c0392b')\n"
            f"plot $squares{panel} using 1:2:3 with points pt 5 ps 0.9 lc palette, "
            f"$rings{panel} using 1:2 with points pt 6 ps 0.9 lw 1.5 lc rgb '#000000'\n")


DRAWINGS = {"lines": lines, "bars": bars, "dots": dots, "colours": colours, "points": points}
PLACES = {"x", "y", "mean"}


def script_of(root, spec):
    """Returns the script for gnuplot."""
    rows, panels = source(root, spec), spec.get("panels", [{}])
    width, height = spec.get("size", [480, 290])
    script = HEAD.format(name=spec["name"], width=width * min(len(panels), 2), height=height * -(-len(panels) // 2))
    script += f"set multiplot layout {-(-len(panels) // 2)},{min(len(panels), 2)}\n" + spec.get("set", "")
    for i, panel in enumerate(panels):
        conditions = {key: wanted for key, wanted in panel.items() if key not in {"title", "set", *PLACES}}
        mine = [row for row in rows if all(meets(value_at(row, key), wanted) for key, wanted in conditions.items())]
        columns, found = places_of(spec, panel, mine) if spec["figure"] == "points" else cells_of(spec, mine)
        if not found:
            raise ValueError(f"no row of {spec['files']} is in the panel {panel}")
        script += panel.get("set", "") + (f"set title '{panel['title']}'\n" if "title" in panel else "")
        script += DRAWINGS[spec["figure"]](i, columns, found)
    return script


def mark_of(script):
    return f"<!-- drawn from {hashlib.sha256(script.encode()).hexdigest()} -->"


def picture(spec):
    """The Markdown that shows a figure; {up} stands for the way to the root."""
    name = f"{{up}}docs/figures/{spec['name']}"
    if not spec.get("dark"):
        return f"![{spec['name']}]({name}.svg)"
    return (f'<picture>\n<source media="(prefers-color-scheme: dark)" srcset="{name}_dark.svg">\n'
            f'<img alt="{spec["alt"]}" src="{name}.svg">\n</picture>')


def paths_of(root, spec):
    """The drawings of a figure."""
    names = [spec["name"], *([f"{spec['name']}_dark"] if spec.get("dark") else [])]
    return [root / "docs" / "figures" / f"{name}.svg" for name in names]


def stale(root, spec):
    """The script of a figure that is not what its SVG was drawn from, else nothing."""
    script = script_of(root, spec)
    return None if all(path.exists() and mark_of(script) in path.read_text() for path in paths_of(root, spec)) else script


def darkened(svg):
    """The drawing in the colours of a dark page."""
    svg = re.sub(r"rgb\( *(\d+), *(\d+), *(\d+)\)", lambda found: "#%02x%02x%02x" % tuple(map(int, found.groups())), svg)
    svg = re.sub(r"(['\"])black\1", r"\1#000000\1", svg).replace("lightgrey", "#dddddd")
    return re.sub(r"#[0-9a-fA-F]{6}", lambda found: DARK.get(found[0].lower(), found[0]), svg)


def tidied(svg):
    """The drawing without gnuplot's version, the groups that it leaves empty and the symbols that no element uses."""
    svg = re.sub(r"<desc>.*?</desc>\n?", "", svg, flags=re.S)
    svg = re.sub(r"^\s*<filter id='(\w+)'.*?</filter>\n", lambda found: found[0] if f"#{found[1]})" in svg else "", svg, flags=re.S | re.M)
    before = ""
    while before != svg:  # a symbol may be made of another one
        before = svg
        svg = re.sub(r"^\t<\w+ .*?\bid='(gp\w+)'.*?/>\n", lambda found: found[0] if f"'#{found[1]}'" in before else "", svg, flags=re.M)
        svg = re.sub(r"<g\b[^>]*>\s*</g>\n?", "", svg)
    return re.sub(r"\n\s*\n", "\n", svg)


def draw(root, spec, script):
    drawn = subprocess.run(["gnuplot"], input=script, capture_output=True, text=True, check=False)
    if drawn.returncode != 0 or "<svg" not in drawn.stdout:
        raise SystemExit(f"gnuplot (Debian: gnuplot-nox) did not draw {spec['name']}: {drawn.stderr}")
    svg = tidied(drawn.stdout)
    for path, text in zip(paths_of(root, spec), (svg, darkened(svg))):
        path.write_text(text.rstrip() + "\n" + mark_of(script) + "\n")
