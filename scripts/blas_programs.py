#!/usr/bin/env python3
"""Runs programs and test suites that Debian and PyPI ship over libtilewright_blas, preloaded, and compares them with runs without it.
Programs that print are run twice without the library, and lines that differ between these two are left out; test suites must
fail in no test that passes without it. Writes one line of JSON for each part and mode; `scripts/blas_check programs` calls it."""

import argparse
import difflib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
SERVED = re.compile(r"tilewright: (\d+) of (\d+) calls, ([\d.]+) % of (\S+) flops .* were served here")
# Lines that tell what was preloaded, the day, an address, how long something took (R's system.time, FreeFem++'s times), or how
# many allocations there were (FreeFem++ counts those of libraries).
OWN = re.compile(r"libtilewright_blas|TILEWRIGHT_|LD_PRELOAD|libblas\.so|^Current session: |^times: |CPU time|0x[0-9a-f]{6,}|We forget of deleting|CodeAlloc|^ *(\d+\.\d{3} +){2}\d+\.\d{3} *$")
ROUNDING, NOTHING = 1e-6, 1e-9  # relative difference that is rounding; both numbers below NOTHING are rounding errors themselves


class Texts:
    """Compares printed lines: words must be equal, numbers to rounding or to one unit of the last digit printed."""

    @staticmethod
    def unit(text):
        mantissa, _, exponent = text.lower().partition("e")
        return 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2])) if "." in mantissa or exponent else 0.0

    @classmethod
    def deviation(cls, one, other):
        """The largest relative difference of two lines that are equal to rounding; None where they are not."""
        if NUMBER.sub("#", one).split() != NUMBER.sub("#", other).split():
            return None
        worst = 0.0
        for a, b in zip(NUMBER.findall(one), NUMBER.findall(other)):
            apart, size = abs(float(a) - float(b)), max(abs(float(a)), abs(float(b)))
            if a == b or size < NOTHING:
                continue
            if apart > ROUNDING * size and apart > 1.01 * max(cls.unit(a), cls.unit(b)):
                return None
            worst = max(worst, apart / size)
        return worst

    @staticmethod
    def pairs(before, after):
        """(index, line, counterpart or None) of each line of `before`; lines that `after` has beyond these have index None."""
        shape = lambda lines: [" ".join(NUMBER.sub("#", line).split()) for line in lines]
        for kind, a, b, c, d in difflib.SequenceMatcher(None, shape(before), shape(after), False).get_opcodes():
            if kind == "equal":
                yield from ((a + i, before[a + i], after[c + i]) for i in range(b - a))
            else:
                yield from ((i, before[i], None) for i in range(a, b))
                yield from ((None, after[i], None) for i in range(c + b - a, d))  # beyond those in their place

    @classmethod
    def compare(cls, plain, again, preloaded):
        said = len(plain)
        plain, again, preloaded = ([line for line in lines if not OWN.search(line)] for lines in (plain, again, preloaded))
        steady, unsteady_more = set(), False
        for i, line, other in cls.pairs(plain, again):
            if i is None:
                unsteady_more = True  # one of two runs without the library says more than the other
            elif line == other:
                steady.add(i)
        same, rounded, worst, different = 0, 0, 0.0, []
        for i, line, other in cls.pairs(plain, preloaded):
            if i is None:
                if not unsteady_more:
                    different.append(["", line.strip()[:160]])
                continue
            if i not in steady:
                continue
            deviation = None if other is None else cls.deviation(line, other)
            if line == other:
                same += 1
            elif deviation is None:
                different.append([line.strip()[:160], (other or "").strip()[:160]])
            else:
                rounded, worst = rounded + 1, max(worst, deviation)
        return {"lines": said, "lines_left_out": said - len(steady), "lines_identical": same, "lines_to_rounding": rounded,
                "worst_deviation": float(f"{worst:.3g}"), "lines_different": len(different), "different": different[:20]}


class Runner:
    def __init__(self, a):
        self.library, self.folder, self.timeout = a.library, a.folder / "programs", a.timeout

    def run(self, mode, commands, folder):
        """Output, what was served, seconds and exit codes of the commands, one after the other."""
        environment = {**os.environ, "XDG_DATA_HOME": str(self.folder / "none"), "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "0"}
        for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
            environment.setdefault(name, "1")
        preload = "" if mode == "off" else str(self.library)  # programs print which variables there are
        environment |= {"LD_PRELOAD": preload, "TILEWRIGHT_BLAS": mode, "TILEWRIGHT_VERBOSE": "1", "TILEWRIGHT_NOTICES": "off"}
        folder.mkdir(parents=True, exist_ok=True)
        text, errors, codes, began = [], [], [], time.monotonic()
        for command in commands:
            try:
                done = subprocess.run([str(word) for word in command], cwd=folder, env=environment, capture_output=True,
                                      stdin=subprocess.DEVNULL, timeout=self.timeout, text=True, errors="replace")
                text += done.stdout.splitlines()
                errors += done.stderr.splitlines()
                codes.append(done.returncode)
            except subprocess.TimeoutExpired:
                codes.append(f"longer than {self.timeout} s")
        return text, self.served(errors), round(time.monotonic() - began, 1), codes

    @staticmethod
    def served(errors):
        found = [one.groups() for one in map(SERVED.search, errors) if one]
        return {"calls": sum(int(one[1]) for one in found), "calls_served": sum(int(one[0]) for one in found),
                "flops": sum(float(one[3]) for one in found), "flops_served": sum(float(one[2]) / 100 * float(one[3]) for one in found)}

    def text(self, name, commands):
        """Rows of a part that prints."""
        folder = self.folder / name.replace(" ", "_")
        plain, _, seconds, codes = self.run("off", commands, folder)
        again = self.run("off", commands, folder)[0]
        for mode in ("auto", "all"):
            lines, served, took, now = self.run(mode, commands, folder)
            row = Texts.compare(plain, again, lines)
            row["ends_alike"] = codes == now
            row["ends_otherwise"] = [[pathlib.Path(command[-1]).name, one, other]
                                     for command, one, other in zip(commands, codes, now) if one != other]
            row["passed"] = row["ends_alike"] and not row["lines_different"] and row["lines_identical"] + row["lines_to_rounding"] > 0
            yield mode, {**row, **served, "runs": len(commands), "seconds_without": seconds, "seconds": took}

    def tests(self, name, command, read):
        """Rows of a part that counts tests: `read` gives (passed, names of those that failed) of its output."""
        folder = self.folder / name.replace(" ", "_")
        plain, _, seconds, codes = self.run("off", [command], folder)
        passed, failed = read(plain)
        for mode in ("auto", "all"):
            lines, served, took, now = self.run(mode, [command], folder)
            passed_now, failed_now = read(lines)
            new = sorted(failed_now - failed)
            fine = passed > 0 and passed_now >= passed and not new
            yield mode, {"tests_passed": passed_now, "tests_passed_without": passed, "failed_in_both": len(failed & failed_now),
                         "new_failures": new, "ends_alike": codes == now, "passed": fine, **served, "seconds_without": seconds,
                         "seconds": took}


# Each part: (name, version, rows) for what can run here; a string says what is missing.

def r_parts(runner, _):
    if not shutil.which("Rscript"):
        yield "R is not there"
        return
    version = subprocess.run(["R", "--version"], capture_output=True, text=True, check=False).stdout.split("\n")[0]
    folder = runner.folder / "r_sources"
    folder.mkdir(parents=True, exist_ok=True)
    for package in ("base", "stats", "Matrix", "MASS", "nlme", "survival"):
        made = subprocess.run(["R", "--vanilla", "--no-echo", "-e", f"invisible(tools:::.createExdotR('{package}', "
                               f"system.file(package = '{package}'), silent = TRUE))"], cwd=folder, capture_output=True, text=True, check=False)
        if made.returncode != 0:
            yield f"R has no examples of {package}"
            continue
        yield f"R examples of {package}", version, runner.text(f"R {package}", [["R", "--vanilla", "--no-echo", "-f", folder / f"{package}-Ex.R"]])


def gretl_parts(runner, _):
    scripts = pathlib.Path("/usr/share/gretl/scripts")
    if not shutil.which("gretlcli") or not scripts.is_dir():
        yield "gretl is not there"
        return
    version = subprocess.run(["gretlcli", "--version"], capture_output=True, text=True, check=False).stdout.split("\n")[0]
    for folder in sorted(one for one in scripts.iterdir() if one.is_dir()):
        commands = [["gretlcli", "-b", "-e", script] for script in sorted(folder.glob("*.inp"))]
        yield f"gretl's scripts of {folder.name}", version, runner.text(f"gretl {folder.name}", commands)


OCTAVE = """
warning('off', 'all');
names = {%s};
passed = 0;
for i = 1:numel(names)
  try
    [n, most] = test(names{i}, 'quiet', '/dev/null');
  catch
    n = 0; most = 1;
  end
  passed += n;
  if n < most, printf('FAILED %%s: %%d of %%d\\n', names{i}, n, most); end
end
printf('%%d passed\\n', passed);
"""


def octave_parts(runner, _):
    octave = shutil.which("octave-cli")
    if not octave:
        yield "Octave is not there"
        return
    said = subprocess.run([octave, "--norc", "--quiet", "--eval", "disp(OCTAVE_VERSION), disp(OCTAVE_HOME)"], capture_output=True, text=True,
                          check=False).stdout.split()
    share = pathlib.Path(said[1]) / "share/octave" / said[0]
    built_in = ("__eigs__ __ichol__ __ilu__ __qp__ chol colloc conv2 data det dot eig filter givens gsvd hess inv kron lsode lu matrix_type "
                "mgorth ordqz ordschur pinv qr quad qz rcond schur sparse sqrtm svd sylvester").split()
    groups = {"built-in linear algebra": [share / f"etc/tests/libinterp/corefcn/{name}.cc-tst" for name in built_in],
              "matrices": sorted((share / "etc/tests/liboctave/array").glob("*Matrix.cc-tst"))}
    for group in ("linear-algebra", "polynomial", "statistics", "optimization", "signal", "sparse"):
        groups[group] = sorted((share / "m" / group).glob("*.m"))
    read = lambda lines: (sum(int(line.split()[0]) for line in lines if re.fullmatch(r"\d+ passed", line)),
                          {line for line in lines if line.startswith("FAILED ")})
    for group, files in groups.items():
        script = OCTAVE % ", ".join(f"'{file if file.suffix != '.m' else file.stem}'" for file in files)
        yield f"Octave's tests: {group}", f"GNU Octave {said[0]}", runner.tests(f"octave {group}", [octave, "--norc", "--quiet", "--eval", script],
                                                                              read)


def freefem_parts(runner, _):
    program = shutil.which("FreeFem++")
    root = pathlib.Path(program).parents[1] if program else pathlib.Path("/usr")
    scripts = [script for folder in ("tutorial", "eigen") for script in sorted((root / "share/doc/freefem++/examples" / folder).glob("*.edp"))
               if script.stem not in ("all", "regtests", "forall", "exception")]  # which run or break off the others
    if not program or not scripts:
        yield "FreeFem++ with its examples is not there"
        return
    version = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", "freefem++"], capture_output=True, text=True, check=False).stdout
    folder = runner.folder / "freefem_sources"
    shutil.copytree(root / "share/doc/freefem++/examples", folder, dirs_exist_ok=True)  # they write beside themselves
    commands = [[program, "-nw", "-ne", "-v", "1", folder / script.parent.name / script.name] for script in scripts]
    yield "FreeFem++'s tutorial and eigenvalues", f"FreeFem++ {version}", runner.text("freefem", commands)


# Of wheels, those of their tests that multiply, factor and solve; what `scripts/blas_check wheels` runs is not here.
SUITES = {
    "numpy": ["numpy.linalg"],
    "statsmodels": ["statsmodels.regression.tests.test_regression", "statsmodels.regression.tests.test_theil"],
    "xarray": ["xarray.tests.test_computation"],
    "scikit-learn": [f"sklearn.linear_model.tests.test_{name}" for name in ("base", "bayes", "ridge")],
    "scipy": ["scipy.sparse.linalg._dsolve", "scipy.sparse.linalg._isolve", "scipy.interpolate.tests.test_bsplines"],
    "sparse": ["sparse.numba_backend.tests.test_dot"],
}


def wheel_parts(runner, a):
    python = a.folder / "wheels/bin/python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", a.folder / "wheels"], check=True)
    subprocess.run([python, "-m", "pip", "install", "-q", "pytest", "hypothesis", *SUITES], check=True)
    versions = json.loads(subprocess.run([python, "-m", "pip", "list", "--format=json"], capture_output=True, text=True, check=True).stdout)
    versions = {one["name"].lower(): one["version"] for one in versions}

    def read(lines):
        count = next((int(found[1]) for found in (re.search(r"(\d+) passed", line) for line in reversed(lines)) if found), 0)
        return count, {line.split(" - ")[0] for line in lines if line.startswith(("FAILED ", "ERROR "))}

    for package, suites in SUITES.items():
        command = [python, "-m", "pytest", "-c", "/dev/null", "--rootdir=.", "-q", "-p", "no:cacheprovider", "--tb=no", "-rfE", "-W", "ignore", "--pyargs", *suites]
        yield f"tests of {package}", f"{package} {versions[package]}: {' '.join(suites)}", runner.tests(package, command, read)


PARTS = {"r": r_parts, "gretl": gretl_parts, "octave": octave_parts, "freefem": freefem_parts, "wheels": wheel_parts}


def made_on():
    cpu = next((line.split(":")[1].strip() for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines()
                if line.startswith("model name")), "")
    commit = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"], capture_output=True, text=True, check=False).stdout.strip()
    return {"command": "scripts/blas_check programs", "device": cpu, "commit": commit, "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "blas": os.path.realpath("/etc/alternatives/libblas.so.3-x86_64-linux-gnu")}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", required=True, type=lambda p: pathlib.Path(p).resolve())
    parser.add_argument("--folder", required=True, type=lambda p: pathlib.Path(p).resolve())
    parser.add_argument("--json", type=lambda p: pathlib.Path(p).resolve())
    parser.add_argument("--timeout", default=1800, type=int, help="seconds of one process")
    parser.add_argument("--only", default="", help="parts whose name has this")
    parser.add_argument("parts", nargs="*", help=", ".join(PARTS))
    a = parser.parse_args()
    if wrong := set(a.parts) - set(PARTS):
        parser.error(f"'{wrong.pop()}' is not a part (expected {', '.join(PARTS)})")
    out = open(a.json or os.devnull, "w", encoding="utf-8")  # pylint: disable=consider-using-with
    print(json.dumps(made_on()), file=out, flush=True)
    fine = True
    for part in a.parts or PARTS:
        for found in PARTS[part](Runner(a), a):
            if isinstance(found, str):
                print(f"left out: {found}", flush=True)
                continue
            name, version, rows = found
            for mode, row in rows if a.only in name else ():
                fine &= row["passed"]
                print(json.dumps({"family": "blas_programs", "program": name, "version": version, "mode": mode, **row}), file=out, flush=True)
                what = f"{row['tests_passed']} tests" if "tests_passed" in row else (
                    f"{row['lines_identical']} lines identical, {row['lines_to_rounding']} to rounding, {row['lines_different']} different")
                print(f"{mode:4} {name:38} {'passed' if row['passed'] else 'FAILED'}  {what}; {row['calls_served']} of {row['calls']} calls "
                      f"served", flush=True)
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
