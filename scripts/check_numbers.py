#!/usr/bin/env python3
"""Checks that the numbers of README.md and docs/ are those of results/. What is generated (tables, figures, the pages of
docs/papers) must come out the same again. Numbers that people wrote stand before a mark that says where they come from:

    <!-- numbers results/MACHINE/FILE
    18.3 55.3 = client=single_calls n=4 get="ns/tilewright plan"|ns/openblas
    -->

The mark may name several files: of a problem and a contender the rows of the last one count. Each line names numbers of the block of text (paragraph, list or table) that the mark follows, in its order, and a query for as many
values: `key=value` keeps rows, `key=4:15` those of a range, `key=@other` those with equal values, a list x|y gives a value for each of its members, `get=` is the path of the value
(x//y the ratio of two in one row, 1//y the inverse), `over=key=value` divides
by that of the row that differs in this key, `best=min` or `max` takes one of several rows, `geomean` and `count` all, `times=` scales. A
number is right when the value, rounded to as many decimals, is the number. A paragraph that links to results and has decimals but no mark is counted, and their number may only fall.
`--list` names these."""

import json
import math
import pathlib
import re
import shlex
import statistics
import subprocess
import sys

sys.dont_write_bytecode = True
from results import rows_of

ROOT = pathlib.Path(__file__).resolve().parent.parent
GENERATORS = ("make_tables.py", "hybrid_page.py", "lu_page.py")  # each fails with --check where a page is stale
MARK = re.compile(r"<!-- numbers ([^\n]+)\n(.*?)-->\n?", re.S)
GENERATED = re.compile(r"<!-- (table|techniques|grain|counters|ladder|summaries|ratios|figure|python) .*?<!-- end of table -->\n", re.S)
RANGE = re.compile(r"(\d+):(\d+)")
NUMBER = re.compile(r"(?<![\w.])-?\d+(?:,\d{3})*(?:\.\d+)?")
MOST_UNMARKED = 8  # blocks; see above


def value_at(row, path):
    over, found, under = path.partition("//")
    if found:
        upper, lower = 1.0 if over == "1" else value_at(row, over), value_at(row, under)
        return None if upper is None or not lower else float(upper) / float(lower)
    for key in path.split("/"):
        if not isinstance(row, dict) or key not in row:
            return None
        row = row[key]
    return row


def same(value, wanted):
    limits = RANGE.fullmatch(wanted)
    try:
        if limits:
            return float(limits[1]) <= float(value) <= float(limits[2])
        return float(value) == float(wanted)
    except (TypeError, ValueError):
        return (json.dumps(value) if isinstance(value, (bool, list)) or value is None else str(value)) == wanted


class Query:
    """One line's right side."""

    def __init__(self, text):
        self.keep, self.get, self.over, self.best, self.times, self.form = [], "", None, "", 1.0, ""
        self.by = ""
        for word in shlex.split(text):
            key, found, value = word.partition("=")
            if not found and key in ("geomean", "median", "count"):
                self.form = key
            elif key == "get":
                self.get = value
            elif key == "over":
                self.over = value.partition("=")[::2]
            elif key == "best":
                self.best = value
            elif key == "by":
                self.by = value
            elif key == "times":
                self.times = float(value)
            elif found:
                self.keep.append((key, value))
            else:
                raise ValueError(f"'{word}' is no part of a query")

    def wanted(self):
        """(path, conditions) of each value: one key, or the path, may have a list."""
        everything = self.keep + [("get", self.get)]
        lists = [i for i, (_, value) in enumerate(everything) if "|" in value]
        if len(lists) > 1:
            raise ValueError("two keys have lists")
        for one in everything[lists[0]][1].split("|") if lists else [None]:
            pairs = [(key, one if lists and i == lists[0] else value) for i, (key, value) in enumerate(everything)]
            yield pairs[-1][1], pairs[:-1]

    def found(self, rows, path, conditions):
        """(row, value) of each row that is kept and has the value."""
        for row in rows:
            if all(value_at(row, key) == value_at(row, wanted[1:]) if wanted.startswith("@") else same(value_at(row, key), wanted)
                   for key, wanted in conditions):
                value = value_at(row, path)
                if value is not None:
                    yield row, float(value)

    def one_of(self, found, path, conditions):
        if self.form == "count":
            return len(found)
        if not found:
            raise ValueError(f"no row has {path} with {dict(conditions)}")
        if self.form == "geomean":
            return math.exp(sum(map(math.log, found)) / len(found))
        if self.form == "median":
            return statistics.median(found)
        if self.best:
            return {"min": min, "max": max}[self.best](found)
        if len(found) > 1:
            raise ValueError(f"{len(found)} rows have {path} with {dict(conditions)}; best=min, best=max or geomean?")
        return found[0]

    def paired(self, rows, path, conditions, other):
        """Each row's value over that of the other row with the same `by`; rows that have no other one are left out."""
        others = {value_at(row, self.by): value for row, value in self.found(rows, path, other)}
        return [value / others[value_at(row, self.by)] for row, value in self.found(rows, path, conditions)
                if value_at(row, self.by) in others]

    def values(self, rows):
        for path, conditions in self.wanted():
            plain = [value for _, value in self.found(rows, path, conditions)]
            if self.over:
                key, other = self.over
                other = [pair for pair in conditions if pair[0] != key] + [(key, other)]
                if self.by:
                    plain = self.paired(rows, path, conditions, other)
                    other = None
            value = self.one_of(plain, path, conditions)
            if self.over and other:
                value /= self.one_of([one for _, one in self.found(rows, path, other)], path, other)
            yield value * self.times


def is_rounded(value, quoted):
    """Whether the text is the value at its own precision."""
    plain = quoted.replace(",", "")
    decimals = len(plain.partition(".")[2])
    return abs(value - float(plain)) <= 0.5 * 10.0 ** -decimals * (1 + 1e-9)


def check_line(line, rows, numbers):
    """Faults of one line of a mark; takes its numbers off the block's."""
    found = re.fullmatch(r"\s*(.*?)\s*=\s+(.*)", line)
    if not found:
        yield f"'{line.strip()}' is not NUMBERS = QUERY"
        return
    quoted = found[1].split()
    try:
        values = list(Query(found[2]).values(rows))
    except (KeyError, ValueError) as error:
        yield f"{line.strip()}: {error}"
        return
    if len(values) != len(quoted):
        yield f"{line.strip()}: {len(quoted)} numbers and {len(values)} values"
        return
    for number, value in zip(quoted, values):
        if number not in numbers:
            yield f"{number} is not in the text before its mark, or not in this order"
            continue
        del numbers[:numbers.index(number) + 1]
        if not is_rounded(value, number):
            yield f"{number} is {value:.7g} in the results ({line.strip()})"


def blocks_of(text):
    """(text, its marks) of each block; marks follow what they are of, with or without an empty line."""
    text = GENERATED.sub("\n", text)
    at = 0
    pending = ""
    for mark in MARK.finditer(text):
        pending = text[at:mark.start()]
        paragraphs = [one for one in re.split(r"\n\s*\n", pending) if one.strip()]
        yield from ((one, None) for one in paragraphs[:-1])
        yield (paragraphs[-1] if paragraphs else None, mark)
        at = mark.end()
    yield from ((one, None) for one in re.split(r"\n\s*\n", text[at:]) if one.strip())


def joined(files):
    """The rows of several files, without those that a later one has again."""
    case = lambda row: (row.get("problem"), row.get("impl"))
    rows = []
    for later in files:
        again = {case(row) for row in later if "problem" in row}
        rows = [row for row in rows if case(row) not in again] + later
    return rows


def quotes_results(block):
    return "results/" in block and re.search(r"\d\.\d", re.sub(r"`[^`]*`|\]\([^)]*\)", "", block))


def check_page(text, root):
    """(faults, blocks without a mark) of a page's text."""
    faults, unmarked, block, marked = [], [], "", False
    numbers = []
    for own, mark in blocks_of(text):
        if own is not None:
            if block and not marked and quotes_results(block):
                unmarked.append(block)
            block, marked = own, False
        if mark is None:
            continue
        marked = True
        missing = [name for name in mark[1].split() if not (root / name).is_file()]
        if missing:
            faults.append(f"{missing[0]} is not there")
            continue
        rows = joined(rows_of(root / name) for name in mark[1].split())
        for line in mark[2].splitlines():
            if line.strip():
                numbers = NUMBER.findall(block)
                faults.extend(check_line(line, rows, numbers))
    if block and not marked and quotes_results(block):
        unmarked.append(block)
    return faults, unmarked


def pages(root):
    return [root / "README.md", *sorted((root / "docs").rglob("*.md"))]


def regenerate():
    for script in GENERATORS:
        made = subprocess.run([sys.executable, ROOT / "scripts" / script, "--check"], capture_output=True, text=True, check=False)
        if made.returncode != 0:
            yield (made.stdout + made.stderr).strip()


def main():
    faults, unmarked, marks = list(regenerate()), [], 0
    for page in pages(ROOT):
        text = page.read_text()
        name = page.relative_to(ROOT)
        wrong, without = check_page(text, ROOT)
        faults += [f"{name}: {fault}" for fault in wrong]
        unmarked += [f"{name}: {' '.join(block.split())[:100]}" for block in without]
        marks += len(MARK.findall(text))
    if "--list" in sys.argv:
        print("\n".join(unmarked))
    if len(unmarked) > MOST_UNMARKED:
        faults.append(f"{len(unmarked)} blocks quote results without a mark, {MOST_UNMARKED} did before: --list names them")
    print("\n".join(faults) if faults else f"{marks} marks are right; {len(unmarked)} blocks quote results without one")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
