"""Tables of the documentation, made from the recorded runs that a declaration in docs/tables/*.toml names. A declaration says

    files    runs: names below results/ without .jsonl, or a file of docs/. In a list within the list a later file replaces rows of an
             earlier one that have the same values of the fields of `unique`
    where    conditions that all rows meet; explode = path: an object there makes a row of each of its members (`key`, `each`)
    rows     fields whose values name the rows of the table ("x?": a row may lack x; `sort`, `show`), or a list of {row = "label", ...}
    columns  a list of {head = "...", ...} or "head = get"; across = {field, values} repeats it for each value
    head     of the rows; unnamed = true: rows have no label; missing: what an empty cell shows; total: the label of a last line, which
             condenses the columns that have a `total`
    note     the caption, with the values {x} that [TABLE.say] declares; like = TABLE: whatever is not said is that one's
    shown    the words that link to the files, in their order, instead of the files' names

A cell is what table, column and row say together. `get` is the path of a value (x//y: the quotient of two in one row, 1//y: the
inverse; a list: the first that is there), `minus` and `times` shift and scale it, `over` divides by the value of the row that differs
in these keys (`by`: pairs them; `empty`: shown where there is none), `how` condenses several (min, max, first, geomean, mean, median,
count, values, list), `form` prints. Every other key is a condition: a value, a list of values, "4:15" for a range,
"a*" and "!a*" for patterns, true or false for a flag."""

import fnmatch
import functools
import gzip
import json
import re
import statistics

WORDS = {"row", "head", "files", "get", "times", "minus", "how", "form", "over", "by", "total", "style", "empty"}
RANGE = re.compile(r"([\d.]+):([\d.]+)")


def path_of(root, name):
    """The file of a name, plain or compressed."""
    if name.startswith("docs/"):
        return root / name
    found = sorted((root / "results").glob(f"{name}.jsonl*"))
    if len(found) != 1:
        raise ValueError(f"results/{name}.jsonl is not there")
    return found[0]


def text_of(path):
    return (gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()).decode()


def size_of(row):
    sides = [row[side] for side in "mnk" if row.get(side) is not None]
    return str(sides[0]) if len(set(sides)) == 1 else "x".join(map(str, sides))


@functools.lru_cache(maxsize=None)
def rows_of(path, name):
    """A file's rows, with what follows from the file's name, the sizes and the place in the file."""
    rows = []
    for line, text in enumerate(text_of(path).splitlines()):
        row = json.loads(text)
        extra = {"file": name, "machine": name.partition("/")[0], "line": f"{name} {line:06}"}
        if row.get("m") is not None:
            extra["size"] = size_of(row)
        rows.append(extra | row)
    return rows


def value_at(row, path):
    """The value at a path; keys that a row lacks are looked for among its metrics."""
    if isinstance(path, list):
        return next((value for value in (value_at(row, one) for one in path) if value is not None), None)
    if path in row:
        return row[path]
    upper, found, lower = path.partition("//")
    if found:
        over, under = 1.0 if upper == "1" else value_at(row, upper), value_at(row, lower)
        return None if over is None or not under else over / under
    value = row if path.partition("/")[0] in row else row.get("metrics")
    for key in path.split("/"):
        if isinstance(value, list):
            value = value[int(key)]
        elif isinstance(value, dict):
            value = value.get(key)
        else:
            return None
    return value


def meets(value, wanted):
    """True if a value satisfies a condition."""
    if isinstance(wanted, list):
        return any(meets(value, one) for one in wanted)
    if isinstance(wanted, str):
        if wanted.startswith("!"):
            return not meets(value, wanted[1:])
        if "*" in wanted:
            return value is not None and fnmatch.fnmatchcase(str(value), wanted)
        limits = RANGE.fullmatch(wanted)
        if limits and isinstance(value, (int, float)):
            return float(limits[1]) <= value <= float(limits[2])
    if isinstance(wanted, bool):
        return bool(value) == wanted
    return value == wanted


def picked(rows, spec):
    """(row, value) of all that meet the conditions and have the value."""
    conditions = [(key, wanted) for key, wanted in spec.items() if key not in WORDS]
    for row in rows:
        if "files" in spec and row["file"] not in spec["files"]:
            continue
        if all(meets(value_at(row, key), wanted) for key, wanted in conditions):
            value = value_at(row, spec["get"])
            if value is not None:
                yield row, value


def condensed(found, spec, how):
    """(row, value) of several."""
    values = [value for _, value in found]
    if how in ("min", "max"):
        return {"min": min, "max": max}[how](found, key=lambda one: one[1])
    if how == "one" and len(found) > 1:
        raise ValueError(f"{len(found)} rows have {spec['get']} with {spec}; say how")
    if how in ("one", "first"):
        return found[0]
    if how == "values":
        return found[0][0], " ".join(map(str, sorted(set(values))))
    if how == "list":
        return found[0][0], ", ".join(printed(row, value, spec) for row, value in found)
    numbers = {"geomean": statistics.geometric_mean, "mean": statistics.fmean, "median": statistics.median, "count": len, "sum": sum}
    return found[0][0], numbers[how](values)


def divided(rows, spec, found):
    """Each value over that of the row that differs in `over`; a value without such a row stays out, or is named by `empty`."""
    over, keys = spec["over"], spec.get("by", [])
    groups = {}
    for row, value in picked(rows, {**spec, **over}):
        groups.setdefault(tuple(value_at(row, key) for key in keys), []).append((row, value))
    for row, value in found:
        group = groups.get(tuple(value_at(row, key) for key in keys))
        if group:
            yield row, value / condensed(group, spec, over.get("how", "one"))[1]
        elif "empty" in spec:
            yield row, spec["empty"].format(**row)


def evaluated(rows, spec):
    """(row, value) of a cell, or None where no row has it."""
    found = list(picked(rows, spec))
    if found and "over" in spec:
        found = list(divided(rows, spec, found))
    if "times" in spec or "minus" in spec:
        found = [(row, (value - spec.get("minus", 0)) * spec.get("times", 1)) for row, value in found]
    return condensed(found, spec, spec.get("how", "one")) if found else None


def printed(row, value, spec):
    form = spec.get("form", "")
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return form.format(value, **row) if "{" in form and not isinstance(value, str) else str(value)
    if "{" in form:
        return form.format(value, **row)
    if form:
        return format(value, form)
    if isinstance(value, int):
        return str(value)
    return f"{value:.0f}" if value == 0 or abs(value) >= 1000 else f"{value:#.3g}".rstrip(".")


def declared(tables, name):
    """A declaration with what it takes from the one that it is `like`."""
    spec = tables[name]
    return declared(tables, spec["like"]) | spec if "like" in spec else spec


def names_of(spec):
    """All files of a declaration."""
    return [name for group in spec["files"] for name in ([group] if isinstance(group, str) else group)]


def source(root, spec):
    """The rows of all files of a declaration that meet its conditions."""
    rows = []
    for group in spec["files"]:
        kept = []
        for name in [group] if isinstance(group, str) else group:
            later = [row for row in rows_of(path_of(root, name), name)
                     if all(meets(value_at(row, key), wanted) for key, wanted in spec.get("where", {}).items())]
            again = {tuple(value_at(row, key) for key in spec.get("unique", [])) for row in later}
            kept = [row for row in kept if "unique" not in spec or tuple(value_at(row, key) for key in spec["unique"]) not in again] + later
        rows += kept
    if "explode" in spec:  # an object of a row makes a row of each of its members
        rows = [row | {"key": key, "each": value} for row in rows for key, value in (value_at(row, spec["explode"]) or {}).items()]
    return rows


def rows_asked(spec, rows):
    """[(label, conditions)] of a table's rows."""
    asked = [spec["rows"]] if isinstance(spec["rows"], str) else spec["rows"]
    if isinstance(asked[0], dict):
        return [(one["row"], one) for one in asked]
    fields = [field.rstrip("?") for field in asked]
    keys = dict.fromkeys(tuple(value_at(row, field) for field in fields) for row in rows)
    keys = [key for key in keys if all(one is not None or field[-1] == "?" for field, one in zip(asked, key))]
    return [(" | ".join("" if one is None else str(one) for one in key), dict(zip(fields, key)))
            for key in (sorted(keys) if spec.get("sort") else keys)]


def columns_asked(spec):
    columns = [dict(zip(("head", "get"), one.split(" = "))) if isinstance(one, str) else one for one in spec["columns"]]
    if "across" not in spec:
        return columns
    field, values = spec["across"]["field"], spec["across"]["values"]
    return [column | {field: value, "head": column["head"].format(value)} for value in values for column in columns]


def cells_of(spec, rows):
    """(columns, [(label, [(row, value) or None])]) of a table or of a panel of a figure."""
    columns = columns_asked(spec)
    shared = {key: spec[key] for key in ("get", "times", "minus", "how", "form", "by") if key in spec}
    lines = [(label, [evaluated(rows, {**shared, **column, **conditions}) for column in columns], conditions)
             for label, conditions in rows_asked(spec, rows)]
    return columns, [line for line in lines if any(line[1])]


def total_of(spec, columns, lines):
    """The last line: what the columns that have a `total` come to, over all rows, those that are not shown among them."""
    cells = []
    for i, column in enumerate(columns):
        found = [line[1][i] for line in lines if line[1][i]]
        cells.append(printed({}, condensed(found, column, column["total"])[1], spec | column) if "total" in column and found else "")
    return [spec["total"], *cells]


def table(root, spec):
    """The Markdown of a table."""
    rows = source(root, spec)
    columns, lines = cells_of(spec, rows)
    asked = rows_asked(spec, rows)
    if not lines or (isinstance(asked[0][1].get("row"), str) and len(lines) < len(asked)):
        raise ValueError(f"no row of {spec['files']} has {sorted({label for label, _ in asked} - {line[0] for line in lines})}")
    for i, column in enumerate(columns):
        if not any(line[1][i] for line in lines):
            raise ValueError(f"no row of {spec['files']} has a value for the column '{column['head']}'")
    text = []
    for label, cells, conditions in lines:
        if "show" in spec and next(iter(conditions.values())) not in spec["show"]:
            continue
        shown = [printed(*cell, {**spec, **column, **conditions}) if cell else spec.get("missing", "") for cell, column in zip(cells, columns)]
        text.append([*([] if spec.get("unnamed") else [label]), *shown])
    if "total" in spec:
        text.append(total_of(spec, columns, lines))
    head = [*([] if spec.get("unnamed") else [spec.get("head", "")]), *(column["head"] for column in columns)]
    dashes = "|" + "---|" * (0 if spec.get("unnamed") else head[0].count(" | ") + 1)
    for i in range(len(columns)):  # numbers are aligned to the right
        dashes += "---|" if any(line[1][i] and isinstance(line[1][i][1], str) for line in lines) else "--:|"
    return "\n".join(["| " + " | ".join(head) + " |", dashes, *("| " + " | ".join(cells) + " |" for cells in text)])


def note(root, spec):
    """Returns the text below: the caption, whose values `say` declares, and the files, each of which begins with the command
    that repeats it."""
    rows = source(root, spec)
    said = {}
    for name, one in spec.get("say", {}).items():
        cell = evaluated(rows, one)
        if cell is None:
            raise ValueError(f"no row of {spec['files']} has '{name}'")
        said[name] = printed(*cell, one)
    files = names_of(spec)
    shown = spec.get("shown", [name.removeprefix("docs/") for name in files])
    links = ", ".join(f"[{text}]({{up}}{path_of(root, name).relative_to(root)})" for text, name in zip(shown, files, strict=True))
    return (spec.get("note", "").format(**said) + f" Data and command: {links}.").strip()
