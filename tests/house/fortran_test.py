#!/usr/bin/env python3
"""The Fortran module has the C interface's constants with their values, and its options with their members in order."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
KINDS = {"size_t": "c_size_t", "int": "c_int", "int64_t": "c_int64_t", "double": "c_double"}


def c_members(text):
    """(name, Fortran's type) of the members of tilewright_options."""
    body = re.search(r"typedef struct tilewright_options \{(.*?)\n\} tilewright_options;", text, re.S)[1]
    body = re.sub(r"/\*.*?\*/| TILEWRIGHT_SIZED\(\w+\)|const ", "", body, flags=re.S)
    for kind, names in re.findall(r"(\w+) ([^;]+);", body):
        for name in names.split(","):
            pointer, name = re.match(r"\s*(\*?)\s*(\w+)", name).groups()
            yield name, "c_ptr" if pointer or kind == "void" else KINDS[kind]


def fortran_members(text):
    body = re.search(r"type, bind\(c\) :: tw_options\n(.*?)end type", text, re.S)[1]
    for kind, names in re.findall(r"\((\w+)\) :: ([^!\n]+)", body):
        for name in names.split(","):
            yield name.split("=")[0].strip(), kind


def main():
    c = (ROOT / "include/tilewright/tilewright_types.h").read_text()
    c = re.sub(r"(void|char|int)\* ", r"\1 *", c)
    fortran = (ROOT / "doors/fortran/tilewright.f90").read_text()
    values = {name.lower(): int(value) for name, value in re.findall(r"TILEWRIGHT_(\w+) = (\d+)\b", c)}
    there = {name: int(value) for line in re.findall(r"integer\(c_int\), parameter[^\n]*", fortran) for name, value in re.findall(r"tw_(\w+) = (\d+)", line)}
    wrong = [f"tw_{name} = {value}, but C has {values.get(name)}" for name, value in there.items() if values.get(name) != value]
    pairs = list(c_members(c)), list(fortran_members(fortran))
    if pairs[0] != pairs[1]:
        wrong.append(f"tw_options is {pairs[1]}, but C has {pairs[0]}")
    if len(there) < 15 or len(pairs[0]) < 20:
        wrong.append(f"only these were found: {there}, {pairs[0]}")
    print("\n".join(wrong))
    return int(bool(wrong))


sys.exit(main())
