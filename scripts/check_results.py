#!/usr/bin/env python3
"""Checks that the tree stays light and its evidence whole: how files of results are called, that each begins with the command that
repeats it, that long ones are compressed, that a page, a test or a table names each, that what these name is there, as are the
pages and files that links lead to, and how much results, and all that git tracks, take. Prints each violation and exits 1 when
there is one."""

import json
import pathlib
import re
import subprocess
import sys

sys.dont_write_bytecode = True
from results import text_of

ROOT = pathlib.Path(__file__).resolve().parent.parent
NAME = re.compile(r"results/[a-z0-9-]+/[a-z_]+-20\d{6}(-[a-z0-9-]+)?\.(jsonl|csv)(\.gz)?")
NAMED = re.compile(r"\bresults/[a-z0-9-]+/[a-z_]+-20\d{6}[\w{},-]*\.(?:jsonl|csv)(?:\.gz)?")
COMMAND = re.compile(r"(repeat with|recorded by) `[^`]*`")  # may name what it writes
CODE = re.compile(r"```.*?```|`[^`\n]*`", re.S)
LINK = re.compile(r"\]\(([^)#]+)(?:#[^)]*)?\)")
FAMILY = re.compile(r'"family": ?"(\w+)"')
EXPERIMENTS = {"sweep", "techniques", "same_code"}  # files called by what was done with the families that their rows name
PLAIN_BYTES = 64 << 10
RESULTS_MIB, TREE_MIB = 15, 25


def tracked():
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False).stdout
    return [ROOT / name for name in listed.split("\0") if name and (ROOT / name).is_file()]


def check_sizes(results):
    for what, files, most in (("results/", results, RESULTS_MIB), ("the tree", tracked(), TREE_MIB)):
        size = sum(file.stat().st_size for file in files) / 2**20
        if size > most:
            yield f"{what}: {size:.1f} MiB, more than {most}"


def check_text(name, text):
    """Faults of a file's lines: the first must be an object with the command, and rows of the family that the file is called by."""
    try:
        first = json.loads(text.partition("\n")[0])
    except json.JSONDecodeError:
        first = None
    command = first.get("command") if isinstance(first, dict) else None
    if not isinstance(command, str) or not command:
        yield f'{name}: its first line is not an object with the command that repeats it ("command")'
    called, families = name.rpartition("/")[2].partition("-")[0], sorted(set(FAMILY.findall(text)))
    if families and called not in families and called not in EXPERIMENTS:
        yield f"{name}: is called {called} and has rows of {', '.join(families)}"


def check_files(results):
    for file in results:
        name = str(file.relative_to(ROOT))
        yield from check_text(name, text_of(file))
        if not NAME.fullmatch(name):
            yield f"{name}: is not called results/<machine>/<family>-<yyyymmdd>[-what].jsonl[.gz]"
        if file.suffix != ".gz" and file.stat().st_size > PLAIN_BYTES:
            yield f"{name}: {file.stat().st_size} bytes and not compressed (gzip -9n)"


def spelled_out(name):
    """All that a name with lists in braces stands for."""
    found = re.search(r"\{([^{}]*)\}", name)
    if not found:
        return {name}
    return set().union(*(spelled_out(name[:found.start()] + one + name[found.end():]) for one in found[1].split(",")))


def pages():
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def check_names(results):
    named = {}
    for file in [*pages(), *sorted((ROOT / "tests").rglob("*.cpp"))]:
        for name in NAMED.findall(COMMAND.sub("", file.read_text())):
            for one in spelled_out(name):
                named.setdefault(one, file.relative_to(ROOT))
    there = {str(file.relative_to(ROOT)) for file in results}
    yield from (f"{name}: no page, test or table names it" for name in sorted(there - set(named)))
    for file in (file for folder in ("doors", "experiments", "extras", "include", "src", "tools") for file in sorted((ROOT / folder).rglob("*.?pp"))):
        for name in NAMED.findall(file.read_text()):
            named.setdefault(name, file.relative_to(ROOT))  # comments say what a constant comes from
    yield from (f"{named[name]}: names {name}, which is not there" for name in sorted(set(named) - there))


def check_figures():
    shown = {(page.parent / target).resolve() for page in pages() for target in LINK.findall(page.read_text()) if "://" not in target}
    for figure in sorted((ROOT / "docs/figures").iterdir()):
        if figure.resolve() not in shown:
            yield f"{figure.relative_to(ROOT)}: no page shows it"


def check_links():
    for page in pages():
        for target in LINK.findall(CODE.sub("", page.read_text())):
            if "://" not in target and not (page.parent / target).exists():
                yield f"{page.relative_to(ROOT)}: links to {target}, which is not there"


def main():
    results = sorted(file for file in (ROOT / "results").rglob("*") if file.is_file())
    faults = [*check_sizes(results), *check_files(results), *check_names(results), *check_figures(), *check_links()]
    print("\n".join(faults) if faults else f"{len(results)} files of results are in order")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
