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
    # What can compute, whatever is computed.
    ("a protocol of candidates", r"^struct \w*Candidate\b[^;]*\{", ("src",), {"src/plan/candidate.hpp"}),
    ("a tuning session", r"^(?:class|struct) (?:\w*TuneSession|Session)\b(?!::)[^;]*\{", ("src/tune",), {"src/tune/session.hpp"}),
    ("a gate before timing", r"^ *bool is_right\(std::size_t i?\)", ("src/tune",), {"src/tune/checked_pool.hpp"}),
    ("a place that fills the arguments of a small kernel", r"^ *GemmSmallCpuArguments (?!\*)\w+(?:;|\{)", ("src/gemm", "src/tune", "src/lu", "doors", "tools"), set()),
    ("an engine that has small kernels run", r"\.run\(\*(?:\w+\.)?kernel_?\b", ("src/gemm",), {"src/gemm/cpu_small/engine.hpp", "src/gemm/plan.hpp"}),
    # The batches of a hybrid split are cut by bytes as well.
    ("a cut of work into pieces, or a deal of it to threads", r"\bpiece_s = \d|\bleft_s_? -=|% thread_count\b", ("src/gemm",),
     {"src/gemm/parallel.hpp", "src/gemm/hybrid/split/prediction.cpp"}),
    ("how much work pays a second thread", r"_s >=? \(\w+ > 1 \?|parallel_worth", ("src",), {"src/gemm/parallel.hpp"}),
    ("a cut of a long side into bands", r"gemm_small_cpu_limit / ", ("src/gemm",), {"src/gemm/cpu_small/bands.hpp"}),
    ("whether products read A and B", r"k > 0 && \w+\.alpha != Scalar::zero", (*LIBRARY, "tools"), {"src/gemm/operand.hpp"}),
    ("the class of a factor", r"\? Scalar::one : Scalar::general", ("src/core", "src/gemm", "src/tune", "src/lu", "doors", "tools"), {"src/core/problem.hpp"}),
    ("a comparison of a candidate's name", r"candidate(?:\(\))? ?[!=]= ?\"", LIBRARY, set()),
    ("a check of leading dimensions of products", r"is smaller than the \{\} ", LIBRARY, {"src/core/product/faults.cpp"}),
    ("a scope of a CBLAS's threads: a wrapper of the host's BLAS", r"LocalThreads scope", LIBRARY, {"src/gemm/run/cblas.cpp", "src/lu/blas.cpp"}),
    ("threads that are kept", r"std::vector<std::thread> threads_;|pthread_create\(", LIBRARY,
     {"src/device/team.cpp", "src/device/thread_pool.cpp", "src/device/workers.hpp"}),
    ("a check of the CPU's share", r"cpu_share = .. is not between 0 and 1", LIBRARY, {"src/gemm/hybrid/options.cpp"}),
    ("a choice of a split", r"^class \w*Chooser\b[^;]*\{", ("src/gemm",), {"src/gemm/hybrid/split/split.cpp"}),
    ("a share of a GPU that is run", r"^class \w*(?:Share|Batch)Run\b[^;]*\{", ("src/gemm",), {"src/gemm/hybrid/stream/share_run.hpp"}),
    ("a schedule that is laid out: by the prediction, and once for what prepares and runs it", r"make_schedules\(", LIBRARY,
     {"src/gemm/hybrid/split/schedule.hpp", "src/gemm/hybrid/split/schedule.cpp", "src/gemm/hybrid/split/prediction.cpp",
      "src/gemm/hybrid/stream/stream.cpp"}),
    ("a search for near shapes", r"\bshape_distance\(", ALL, {"src/wisdom/key.hpp", "src/wisdom/key.cpp", "src/wisdom/index.cpp"}),
    ("a date as records have it", r"%Y-%m-%dT%H:%M:%SZ", ALL, {"src/core/date.hpp"}),
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
