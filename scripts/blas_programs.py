#!/usr/bin/env python3
"""Runs programs and test suites that Debian and PyPI ship over libtilewright_blas, preloaded, and compares them with runs without it.
Programs that print are run twice without the library, and lines that differ between these two are left out; test suites must
fail in no test that passes without it. Writes one line of JSON for each part and mode; `scripts/blas_check programs` calls it."""

import argparse
import difflib
import http.client
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time
import urllib.parse
import urllib.request
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent
NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
SERVED = re.compile(r"tilewright: (\d+) of (\d+) calls, ([\d.]+) % of (\S+) ([kMGTP]?)FLOP .* were served here")
# Lines to ignore: they report what was preloaded, the day, an address, a duration (R's system.time, times of gretl,
# FreeFem++ and SuiteSparse), the number of allocations (FreeFem++ counts those of libraries), or whether a block of
# memory could grow in place, which depends on the other loaded libraries (UMFPACK's costly reallocations).
OWN = re.compile(r"libtilewright_blas|TILEWRIGHT_|LD_PRELOAD|libblas\.so|^Current session: |^times: |CPU time|0x[0-9a-f]{6,}|wall ?clock|cputime|"
                 r"ordering time|\d seconds$|^ +time: |^ *costly .*reallocations: |We forget of deleting|CodeAlloc|^ *(\d+\.\d{3} +){2}\d+\.\d{3} *$")
# A relative difference up to ROUNDING counts as rounding; numbers below NOTHING are rounding errors themselves.
ROUNDING, NOTHING = 1e-6, 1e-9
OTHER_CORES = ("Prescott", "Sandybridge", "Haswell")  # OpenBLAS's kernels for these round differently


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
                # These lines are in addition to those in their place.
                yield from ((None, after[i], None) for i in range(c + b - a, d))

    @classmethod
    def compare(cls, plain, again, preloaded):
        said = len(plain)
        plain, again, preloaded = ([line for line in lines if not OWN.search(line)] for lines in (plain, again, preloaded))
        steady, unsteady_more = set(), False
        for i, line, other in cls.pairs(plain, again):
            if i is None:
                unsteady_more = True  # one of two runs without the library prints more than the other
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

    @staticmethod
    def together(rows):
        """The sum of what was found of several commands."""
        row = {key: sum(one[key] for one in rows) for key in ("lines", "lines_left_out", "lines_identical", "lines_to_rounding")}
        row["worst_deviation"] = max((one["worst_deviation"] for one in rows), default=0.0)
        row["lines_different"] = sum(one["lines_different"] for one in rows)
        return {**row, "different": [pair for one in rows for pair in one["different"]][:20]}


class Runner:
    def __init__(self, a):
        self.library, self.folder, self.timeout = a.library, a.folder / "programs", a.timeout

    def run(self, mode, commands, folder, **variables):
        """Lines and exit code of each command, one after the other, what was served, and seconds."""
        environment = {**os.environ, "XDG_DATA_HOME": str(self.folder / "none"), "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "0", **variables}
        for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
            environment.setdefault(name, "1")
        preload = "" if mode == "off" else str(self.library)  # programs print the variables that are set
        environment |= {"LD_PRELOAD": preload, "TILEWRIGHT_BLAS": mode, "TILEWRIGHT_VERBOSE": "1", "TILEWRIGHT_NOTICES": "off"}
        folder.mkdir(parents=True, exist_ok=True)
        texts, errors, codes, began = [], [], [], time.monotonic()
        for command in commands:
            try:
                done = subprocess.run([str(word) for word in command], cwd=folder, env=environment, capture_output=True,
                                      stdin=subprocess.DEVNULL, timeout=self.timeout, text=True, errors="replace")
                texts.append(done.stdout.splitlines())
                errors += done.stderr.splitlines()
                codes.append(done.returncode)
            except subprocess.TimeoutExpired:
                texts.append([])
                codes.append(f"longer than {self.timeout} s")
        return texts, codes, self.served(errors), round(time.monotonic() - began, 1)

    @staticmethod
    def served(errors):
        found = [one.groups() for one in map(SERVED.search, errors) if one]
        flops = [float(one[3]) * 1000.0 ** " kMGTP".index(one[4] or " ") for one in found]
        return {"calls": sum(int(one[1]) for one in found), "calls_served": sum(int(one[0]) for one in found),
                "flops": sum(flops), "flops_served": sum(float(one[2]) / 100 * count for one, count in zip(found, flops))}

    def unsteady(self, command, folder, plain, again):
        """True if a command's output depends on rounding: its lines differ if OpenBLAS uses the kernels of another processor."""
        others = (self.run("off", [command], folder, OPENBLAS_CORETYPE=core)[0][0] for core in OTHER_CORES)
        return any(Texts.compare(plain, again, other)["lines_different"] for other in others)

    def text(self, name, commands, adaptive=False):
        """Rows of a part that prints. Of one that is adaptive (it chooses meshes or steps by what it computed), commands whose lines differ
        are left out, and named, if they differ between kernels of OpenBLAS too."""
        folder = self.folder / name.replace(" ", "_")
        plain, codes, _, seconds = self.run("off", commands, folder)
        again = self.run("off", commands, folder)[0]
        names = [pathlib.Path(command[-1]).name for command in commands]
        for mode in ("auto", "all"):
            texts, now, served, took = self.run(mode, commands, folder)
            rows = [Texts.compare(*lines) for lines in zip(plain, again, texts)]
            out = [i for i, row in enumerate(rows) if adaptive and row["lines_different"]
                   and self.unsteady(commands[i], folder, plain[i], again[i])]
            row = Texts.together([row for i, row in enumerate(rows) if i not in out])
            row |= {"rounding_decides": [names[i] for i in out]} if adaptive else {}
            row["ends_alike"] = codes == now
            row["ends_otherwise"] = [[name, one, other] for name, one, other in zip(names, codes, now) if one != other]
            row["passed"] = row["ends_alike"] and not row["lines_different"] and row["lines_identical"] + row["lines_to_rounding"] > 0
            yield mode, {**row, **served, "runs": len(commands), "seconds_without": seconds, "seconds": took}

    def tests(self, name, command, read):
        """Rows of a part that counts tests: `read` gives (passed, names of those that failed) of its output."""
        folder = self.folder / name.replace(" ", "_")
        plain, codes, _, seconds = self.run("off", [command], folder)
        passed, failed = read(plain[0])
        for mode in ("auto", "all"):
            texts, now, served, took = self.run(mode, [command], folder)
            passed_now, failed_now = read(texts[0])
            new = sorted(failed_now - failed)
            fine = passed > 0 and passed_now >= passed and not new
            yield mode, {"tests_passed": passed_now, "tests_passed_without": passed, "failed_in_both": len(failed & failed_now),
                         "new_failures": new, "ends_alike": codes == now, "passed": fine, **served, "seconds_without": seconds,
                         "seconds": took}


# Each part has (name, version, rows) for the programs that can run here; a string names what is missing.

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
               if script.stem not in ("all", "regtests", "forall", "exception")]  # these run or stop the others
    if not program or not scripts:
        yield "FreeFem++ with its examples is not there"
        return
    version = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", "freefem++"], capture_output=True, text=True, check=False).stdout
    folder = runner.folder / "freefem_sources"
    shutil.copytree(root / "share/doc/freefem++/examples", folder, dirs_exist_ok=True)  # they write into their own folder
    commands = [[program, "-nw", "-ne", "-v", "1", folder / script.parent.name / script.name] for script in scripts]
    yield "FreeFem++'s tutorial and eigenvalues", f"FreeFem++ {version}", runner.text("freefem", commands, adaptive=True)


# Tests in wheels that multiply, factor and solve; those of `scripts/blas_check wheels` are not run here.
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


def source_of(runner, package):
    """(folder, version) of the source that a Debian package was made of, fetched once from the mirror that this system uses; a string says
    why there is none."""
    ask = lambda *command: subprocess.run(command, capture_output=True, text=True, check=False).stdout
    name = ask("dpkg-query", "-W", "-f", "${source:Package}_${source:Upstream-Version}", package)
    if not name:
        return f"{package} is not there"
    archive, folder = runner.folder / f"{name}.orig.tar.xz", runner.folder / f"{name}_source"
    beside = re.search(r"'(\S+)/[^/]+'", ask("apt-get", "download", "--print-uris", package))
    try:
        if not archive.exists():
            archive.parent.mkdir(parents=True, exist_ok=True)
            if not beside:
                raise OSError("apt knows no place of it")
            with urllib.request.urlopen(f"{beside[1]}/{urllib.parse.quote(archive.name)}", timeout=120) as opened:
                archive.write_bytes(opened.read())
        if not folder.is_dir():
            part = folder.with_name(f"{folder.name}_part")
            shutil.unpack_archive(archive, part)
            part.rename(folder)
    except (OSError, EOFError, http.client.HTTPException) as error:  # shutil.ReadError is an OSError
        archive.unlink(missing_ok=True)
        return f"the source of {package} cannot be had: {error}"
    return next(folder.iterdir()), name.replace("_", " ")


def compiled(program, sources, *flags):
    """True if the program exists; compiles it unless it was compiled before."""
    compiler = {".c": "gcc", ".cpp": "g++", ".f": "gfortran"}[sources[0].suffix]
    return program.exists() or subprocess.run([compiler, "-w", *sources, "-o", program, *flags], check=False).returncode == 0


def grids(folder):
    """A Laplace equation on a cube, whose factors have blocks that BLAS multiplies (the demos' own matrices are small), and its kin."""
    n, rows = 14, {"symmetric": [], "hermitian": [], "unsymmetric": []}
    for i, place in enumerate((x, y, z) for x in range(n) for y in range(n) for z in range(n)):
        nexts = [i + step + 1 for step, at in zip((n * n, n, 1), place) if at + 1 < n]
        rows["symmetric"] += [f"{i + 1} {i + 1} 6.5"] + [f"{j} {i + 1} -1" for j in nexts]
        rows["hermitian"] += [f"{i + 1} {i + 1} 6.5 0"] + [f"{j} {i + 1} -1 0.3" for j in nexts]
        rows["unsymmetric"] += [f"{i + 1} {i + 1} 6.5"] + [line for j in nexts for line in (f"{j} {i + 1} -1.3", f"{i + 1} {j} -0.7")]
    for kind, head in (("symmetric", "real symmetric"), ("hermitian", "complex hermitian"), ("unsymmetric", "")):
        size = f"{n ** 3} {n ** 3} {len(rows[kind])}"
        (folder / f"{kind}.size").write_text(size + "\n")  # umf4 reads it by itself
        (folder / kind).write_text("\n".join(([f"%%MatrixMarket matrix coordinate {head}", size] if head else []) + rows[kind]) + "\n")


def umfpack_commands(demo, matrices):
    """Returns the runs of UMFPACK's own Makefile, the end of each solution after it, and the grid with each strategy."""
    solved = f"{demo}/umf4 %s && tail -n 200 tmp/x"
    read = [("_nozeros", "can_24.psa", ""), ("_nozeros", "west0067.rua", ""), ("_nozeros", "fs_183_6.rua", ""), ("", "fs_183_6.rua", ""),
            ("", "arc130.rua", ""), ("_nozeros", "arc130.rua", ""), ("_nozeros", "arc130.rua", "a 1e-6")]
    shell = [f"mkdir -p tmp && {demo}/readhb{kind} < {demo}/HB/{file} > tmp/A && {demo}/readhb_size < {demo}/HB/{file} > tmp/Asize && "
             f"{solved % option}" for kind, file, option in read]
    shell += [f"cp {matrices}/unsymmetric tmp/A && cp {matrices}/unsymmetric.size tmp/Asize && {solved % option}" for option in "ausAUS"]
    shell += [f"{demo}/umf4hb64 < {demo}/HB/{file}.rua" for file in ("west0067", "fs_183_6", "arc130")] + [f"{demo}/umf4zhb < {demo}/HB/qc324.cua"]
    plain = ["umfpack_simple", *(f"umfpack_{kind}_demo" for kind in ("di", "dl", "zi", "zl"))]
    return [[demo / name] for name in plain] + [["sh", "-c", one] for one in shell]


def suitesparse_parts(runner, _):
    source = source_of(runner, "libsuitesparse-dev")
    if isinstance(source, str):
        yield source
        return
    umfpack, cholmod = (source[0] / name / "Demo" for name in ("UMFPACK", "CHOLMOD"))
    libraries = ["-I/usr/include/suitesparse", "-lumfpack", "-lcholmod", "-lcolamd", "-lamd", "-lsuitesparseconfig", "-lm"]
    long = ["-I/usr/include/suitesparse", "-c", "-DDLONG", "-DZLONG"]
    made = [compiled(umfpack / f"{name}.o", [umfpack / f"{name}.c"], *long) for name in ("umf4_f77wrapper", "umf4_f77zwrapper")]
    made += [compiled(umfpack / name, [umfpack / f"{name}.f"], "-std=legacy") for name in ("readhb", "readhb_nozeros", "readhb_size")]
    made += [compiled(umfpack / name, [umfpack / f"{name}.f"], "-std=legacy", "-fdefault-integer-8", umfpack / f"{wrapper}.o", *libraries)
             for name, wrapper in (("umf4hb64", "umf4_f77wrapper"), ("umf4zhb", "umf4_f77zwrapper"))]
    made += [compiled(file.with_suffix(""), [file], *libraries)
             for file in [*umfpack.glob("umfpack_[dzs][ili]*.c"), umfpack / "umf4.c", *cholmod.glob("cholmod_*.c")]]
    if not all(made):
        yield "SuiteSparse's demos cannot be compiled"
        return
    grids(source[0])
    yield "UMFPACK's demos", source[1], runner.text("UMFPACK", umfpack_commands(umfpack, source[0]))
    matrices = [*(cholmod / "Matrix" / name for name in ("bcsstk01.tri", "bcsstk02.tri", "lp_afiro.tri", "can___24.mtx", "pts5ldd03.mtx", "c.tri")),
                source[0] / "symmetric", source[0] / "hermitian"]
    yield "CHOLMOD's demos", source[1], runner.text("CHOLMOD", [
        command for matrix in matrices for command in ([cholmod / "cholmod_demo", matrix], [cholmod / "cholmod_l_demo", matrix],
                                                       ["sh", "-c", f"{cholmod}/cholmod_simple < {matrix}"])])


def armadillo_parts(runner, _):
    source = source_of(runner, "libarmadillo-dev")
    if isinstance(source, str):
        yield source
        return
    program = source[0] / "tests2/main"
    if not compiled(program, sorted((source[0] / "tests2").glob("*.cpp")), "-std=c++14", "-O0", "-larmadillo"):
        yield "Armadillo's tests cannot be compiled"
        return

    def read(lines):
        try:
            found = xml.etree.ElementTree.fromstring("\n".join(lines[1:]))  # the first line is the version
        except xml.etree.ElementTree.ParseError:
            return 0, {"it ended early"}
        fine = {case.get("name"): case.find("failure") is None and case.find("error") is None for case in found.iter("testcase")}
        return sum(fine.values()), {name for name, passed in fine.items() if not passed}

    yield "Armadillo's tests", source[1], runner.tests("armadillo", [program, "--reporter", "junit"], read)


def torch_parts(runner, _):
    said = subprocess.run(["/usr/bin/python3", "-c", "import torch; print(torch.__path__[0], torch.version.__version__)"],
                          capture_output=True, text=True, check=False).stdout.split()
    if not said:
        yield "PyTorch is not there"
        return
    read = lambda lines: (sum(int(found[1]) for found in map(re.compile(r"\[  PASSED  \] (\d+) tests?\.").match, lines) if found),
                          {found[1] for found in map(re.compile(r"\[  FAILED  \] (\w+[./]\S+)").match, lines) if found})
    yield "PyTorch's C++ tests", f"PyTorch {said[1]}", runner.tests(
        "torch tests", [pathlib.Path(said[0]) / "bin/test_api", "--gtest_brief=1"], read)
    yield "PyTorch's operations", f"PyTorch {said[1]}", runner.text("torch", [["/usr/bin/python3", ROOT / "scripts/blas_torch.py"]])


PARTS = {"r": r_parts, "gretl": gretl_parts, "octave": octave_parts, "freefem": freefem_parts, "suitesparse": suitesparse_parts,
         "armadillo": armadillo_parts, "torch": torch_parts, "wheels": wheel_parts}


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
