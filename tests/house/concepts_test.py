#!/usr/bin/env python3
"""Each idea of the library has one place: looks for second copies that no checker of includes sees. Each line of IDEAS says what a
copy looks like in a source file, where it is looked for, and the files that have it today; a new one fails, and so does one
that is gone and still listed."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LIBRARY = ("src", "doors", "extras")
ALL = (*LIBRARY, "tools", "experiments")

IDEAS = [
    # What can compute, whatever is computed. LU has protocols of its own until src/plan serves it.
    ("a protocol of candidates", r"^struct (?:\w*PlanCandidate|Lu\w*Candidate|Candidate)\b[^;]*\{", ("src",),
     {"src/gemm/candidate.hpp", "src/lu/candidates.hpp", "src/lu/device/plan.cpp"}),
    ("a tuning session", r"^(?:class|struct) (?:\w*TuneSession|Session)\b(?!::)[^;]*\{", ("src/tune",), {"src/tune/session.hpp", "src/tune/lu/session.cpp"}),
    ("a place that fills the arguments of a small kernel", r"^ *GemmSmallCpuArguments (?!\*)\w+(?:;|\{)", ("src/gemm", "src/tune", "src/lu", "doors", "tools"), set()),
    ("the class of a factor", r"\? Scalar::one : Scalar::general", ("src/core", "src/gemm", "src/tune", "src/lu", "doors", "tools"), {"src/core/problem.hpp"}),
    ("a comparison of a candidate's name", r"candidate(?:\(\))? ?[!=]= ?\"", LIBRARY, set()),
    ("a check of leading dimensions of products", r"is smaller than the \{\} ", LIBRARY, {"src/core/product/faults.cpp"}),
    ("an accessor of what a handle holds", r"(?:\.|->)impl\(\)|\bimpl\(\) const", (*ALL, "include", "tests"), set()),
    ("nulls and products in place", r"C must not share elements", LIBRARY, {"src/core/product/faults.hpp"}),
]


def files_with(pattern, folders):
    wanted = re.compile(pattern, re.M)
    paths = (path for folder in folders for path in (ROOT / folder).rglob("*.?pp"))
    return {str(path.relative_to(ROOT)) for path in paths if wanted.search(path.read_text())}


def main():
    wrong = 0
    for idea, pattern, folders, known in IDEAS:
        found = files_with(pattern, folders)
        for path in sorted(found - known):
            print(f"{path}: {idea}, of which there is one already")
        for path in sorted(known - found):
            print(f"{path}: has no longer {idea}: take it off the list")
        wrong += found != known
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
