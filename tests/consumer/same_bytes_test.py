#!/usr/bin/env python3
"""Two builds in different folders give the same bytes, as distributions compare them: configures a copy of the sources twice and
compares what says from where it was built, one object in CI and with --whole the libraries and the tool.
usage: same_bytes_test.py CMAKE CXX [--whole]"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
OPTIONS = ["-DCMAKE_BUILD_TYPE=RelWithDebInfo", "-DTILEWRIGHT_DEVELOPER=OFF", "-DTILEWRIGHT_PYTHON=OFF", "-DTILEWRIGHT_CCACHE=OFF"]
FEW = ["generated/core/build_info.hpp", "CMakeFiles/tilewright_objects.dir/src/core/input/printable.cpp.o",
       "CMakeFiles/tilewright_objects.dir/src/core/problem.cpp.o"]
# Assertions, whose texts name files, and symbols for debuggers.
FLAGS = "-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O1 -g1"


def build(cmake, cxx, folder, whole):
    """Returns the files that were made, by their names in the build folder."""
    source = folder / "source"
    shutil.copytree(ROOT, source, symlinks=True, ignore=shutil.ignore_patterns("build", ".git", "results"))
    out = folder / "out"
    options = [*OPTIONS, *([] if whole else [FLAGS, "-DTILEWRIGHT_TOOL=OFF", "-DTILEWRIGHT_FROM_NOTHING=OFF"])]
    quiet = {"check": True, "stdout": subprocess.DEVNULL}
    subprocess.run([cmake, "-S", source, "-B", out, "-G", "Ninja", f"-DCMAKE_CXX_COMPILER={cxx}", *options], **quiet)
    targets = ["tilewright", "tilewright_tune", "tilewright_blas", "tilewright_cli"] if whole else ["tilewright_build_info", *FEW[1:]]
    subprocess.run([cmake, "--build", out, "-j", str(os.cpu_count()) if whole else "1", "--target", *targets], **quiet)
    names = ["cli/tilewright", *(str(path.relative_to(out)) for path in (out / "lib").glob("*.so.*.*.*"))] if whole else FEW
    return {name: (out / name).read_bytes() for name in names}


def main():
    cmake, cxx, *rest = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="tilewright-bytes-") as work:
        one, other = (build(cmake, cxx, pathlib.Path(work) / name, rest == ["--whole"]) for name in ("a", "another/folder"))
    different = [name for name in one if one[name] != other[name]]
    for name in different:
        print(f"{name} differs between two builds")
    named = [name for name, text in one.items() if str(work).encode() in text]
    for name in named:
        print(f"{name} names the folder in which it was built")
    if len(one) < 3 or one.keys() != other.keys():
        print(f"only these were compared: {sorted(one)}")
        return 1
    if not different and not named:
        print(f"{len(one)} files are the same in both builds")
    return int(bool(different or named))


sys.exit(main())
