#!/usr/bin/env python3
"""Compares what each of the five doors says of bad arguments, C++, C, BLAS names, command line and Python, with the recorded lines in
tests/golden/messages: error code, argument, problem and text, or that the call was accepted. `--update` records anew. A door also
fails where a refused call had written to an output. No GPU, no other BLAS and no wisdom of the user's are found by the calls."""

import argparse
import concurrent.futures
import difflib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import messages_tool  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
SKIPPED = 77
# Files of these names are no libraries: who opens them by name finds them first, and then nothing.
GPU_LIBRARIES = ("libcuda.so.1", "libnvidia-ml.so.1")
BLAS_LIBRARIES = ("libopenblas.so.0", "libopenblas64_.so.0", "libopenblas64.so.0", "libmkl_rt.so.3", "libmkl_rt.so.2", "libmkl_rt.so",
                  "liblapacke.so.3", "liblapack.so.3", "libcblas.so.3", "libblas.so.3", "liblapacke64.so.3", "liblapack64.so.3",
                  "libblas64.so.3")
# What depends on the machine, on paths and on addresses. Why candidates decline is what decisions_test.py looks at.
SUBSTITUTES = (
    (re.compile(r"no GPU driver was found \([^)]*\)"), "no GPU driver was found (...)"),
    (re.compile(r"(no candidate (?:runs|factors) [^ ;]+[^ ;:](?: with target = [a-z]+)?)[:;] .*?(?= \[WROTE|$)"), r"\1: ..."),
    (re.compile(r"0x[0-9a-f]{6,}"), "0x..."),
    (re.compile(r"\d{40,}"), "(a long number)"),
)


class Lacking(Exception):
    """This machine lacks what the lines were recorded with."""


class Doors:
    """Runs the doors, each in a folder of its own."""

    def __init__(self, arguments, folder):
        self.arguments, self.folder = arguments, folder
        for name, libraries in (("no_gpu", GPU_LIBRARIES), ("no_blas", GPU_LIBRARIES + BLAS_LIBRARIES)):
            (folder / name).mkdir()
            for library in libraries:
                (folder / name / library).touch()

    def environment(self, hidden, **more):
        own = {name: value for name, value in os.environ.items() if not name.startswith(("TILEWRIGHT_", "OMP_", "GOMP_", "CUDA_"))}
        data = tempfile.mkdtemp(dir=self.folder)
        return {**own, "XDG_DATA_HOME": data, "XDG_CACHE_HOME": data, "TILEWRIGHT_CPU": "avx2", "TILEWRIGHT_CBLAS": "none", "TILEWRIGHT_NOTICES": "off",
                "OMP_NUM_THREADS": "1", "LD_LIBRARY_PATH": str(self.folder / hidden), "PYTHONDONTWRITEBYTECODE": "1", "LC_ALL": "C.UTF-8", **more}

    def program(self, words, hidden, **more):
        """The lines that a program prints, stderr in its place among them."""
        done = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True,
                              env=self.environment(hidden, **more), timeout=300, cwd=self.folder)
        if done.returncode == SKIPPED:
            raise Lacking(done.stdout.strip())
        lines = done.stdout.splitlines()
        if done.returncode not in (0, 1):
            lines.append(f"{words[0]} ended with {done.returncode}")
        return lines, done.returncode == 0

    def cpp(self):
        return self.program([self.arguments.program, "cpp"], "no_gpu")

    def c(self):
        return self.program([self.arguments.program, "c"], "no_gpu")

    def blas(self):
        return self.program([self.arguments.blas_program], "no_blas", TILEWRIGHT_BLAS="all")

    def python(self):
        return self.program([self.arguments.python, HERE / "messages_python.py"], "no_gpu", PYTHONPATH=str(self.arguments.python_path))

    def cli(self):
        inputs = self.folder / "in"
        inputs.mkdir()
        for name, content in messages_tool.input_files().items():
            (inputs / name).write_bytes(content)
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            told = list(pool.map(lambda case: self.tool(inputs, *case), messages_tool.cases()))
        kept = all((inputs / name).read_bytes() == content for name, content in messages_tool.input_files().items())
        return [line for line, _ in told] + ([] if kept else ["an input was written to"]), kept and all(good for _, good in told)

    def tool(self, inputs, call, what, words, variables):
        """The line of one call of the tool, and whether a refused one left the outputs alone."""
        out = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        for name in messages_tool.KEPT:
            (out / name).write_bytes(b"kept")
        words = [word.replace("{in}", str(inputs)).replace("{out}", str(out)) for word in words]
        done = subprocess.run([str(self.arguments.tool), *words], capture_output=True, stdin=subprocess.DEVNULL, text=True, timeout=60,
                              env={**self.environment("no_gpu"), **variables}, cwd=out)
        told = done.stderr.replace(str(inputs), "{in}").replace(str(out), "{out}").strip()
        if done.returncode == 0:
            return f"cli {call} {what} -> accepted" + (f": {told}" if told else ""), True
        untouched = {path.name: path.read_bytes() for path in out.iterdir() if path.is_file()} == dict.fromkeys(messages_tool.KEPT, b"kept")
        return f"cli {call} {what} -> {done.returncode}: {told}" + ("" if untouched else " [WROTE]"), untouched


def normal(line, folder):
    line = line.replace(str(folder), "{folder}")
    for pattern, substitute in SUBSTITUTES:
        line = pattern.sub(substitute, line)
    return line


def compared(door, lines, update):
    """Whether the lines are the recorded ones, which become these where they are to be updated."""
    path = HERE / "messages" / f"{door}.txt"
    if update:
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(line + "\n" for line in lines))
        print(f"{path}: {len(lines)} lines")
        return True
    recorded = path.read_text().splitlines()
    difference = list(difflib.unified_diff(recorded, lines, f"recorded {door}", f"now {door}", n=0, lineterm=""))
    print("\n".join(difference) if difference else f"{door}: {len(lines)} lines as recorded")
    return not difference


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", type=pathlib.Path, help="golden_messages")
    parser.add_argument("--blas-program", type=pathlib.Path, help="golden_blas_messages")
    parser.add_argument("--tool", type=pathlib.Path, help="tilewright")
    parser.add_argument("--python", help="an interpreter that has NumPy")
    parser.add_argument("--python-path", type=pathlib.Path, help="where the package lies")
    parser.add_argument("--update", action="store_true", help="record anew")
    arguments = parser.parse_args()
    wanted = [("cpp", arguments.program), ("c", arguments.program), ("blas", arguments.blas_program), ("cli", arguments.tool), ("python", arguments.python)]
    doors_given = [door for door, given in wanted if given]
    good = True
    with tempfile.TemporaryDirectory() as name, concurrent.futures.ThreadPoolExecutor() as pool:
        folder = pathlib.Path(name).resolve()
        doors = Doors(arguments, folder)
        running = {door: pool.submit(getattr(doors, door)) for door in doors_given}
        try:
            for door in doors_given:
                lines, wrote_nothing = running[door].result()
                good = compared(door, [normal(line, folder) for line in lines], arguments.update) and wrote_nothing and good
                if not wrote_nothing:
                    print(f"{door}: a refused call wrote to an output, or the program failed")
        except Lacking as why:
            print(f"skipped: {why}")
            return SKIPPED
    if not good:
        print("Where the new lines are right, record them: the same command with --update.")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
