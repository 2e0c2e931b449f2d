#!/usr/bin/env python3
"""licences/README.md knows every header of others that the sources include or configuring asks for, and every text in its
folder. Libraries that are linked are held against the table by tests/consumer/installed_test.py, and a wheel's by
python/tests/package_test.py."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SHIPPED = ("src", "doors", "extras", "tools", "include")
SYSTEM = ("tilewright/", "sanitizer/", "sys/", "linux/", "asm/", "arpa/", "netinet/")


def headers():
    """Headers of libraries: those in folders, and those without that configuring asks for by name."""
    for folder in SHIPPED:
        for path in (ROOT / folder).rglob("*.?pp"):
            for header in re.findall(r"^\s*#\s*include <([^>]+/[^>]+)>", path.read_text(), re.M):
                if not header.startswith(SYSTEM):
                    yield header
    for name in ("requirements", "peers"):
        text = (ROOT / "cmake" / f"{name}.cmake").read_text()
        yield from re.findall(r"(?<=[\s<])[\w./]+\.(?:h|hpp)(?=[\s>)])", text)


def main():
    page = (ROOT / "licences" / "README.md").read_text()
    known = tuple(name for cell in re.findall(r"^\|[^|]*\| ([^|]*) \|", page, re.M) for name in re.findall(r"`([^`]+)`", cell))
    found = set(headers())
    unknown = sorted(header for header in found if not header.startswith(known))
    for header in unknown:
        print(f"<{header}> is in no row of licences/README.md")
    texts = set(re.findall(r"\]\((\S+?\.txt)\)", page))
    there = {path.name for path in (ROOT / "licences").glob("*.txt")}
    if texts != there:
        print(f"licences/README.md and its folder differ: {sorted(texts ^ there)}")
    if len(found) < 15:
        print(f"only these headers were found: {sorted(found)}")
    return int(bool(unknown) or texts != there or len(found) < 15)


sys.exit(main())
