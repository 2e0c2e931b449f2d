#!/usr/bin/env python3
"""The commands that README.md and the pages of docs show run as they are written, in a home folder of their own where the
library is installed at ~/.local. Those that build or measure for minutes are for scripts/soak (--all), which begins with a
fresh clone. usage: commands_test.py PREFIX | --all"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PAGES = ["README.md", "docs/blas.md", "docs/python.md", "docs/tuning.md", "docs/calibrate.md", "docs/hybrid.md", "docs/lu.md",
         "docs/layout.md", "docs/gemm_small_cpu.md", "docs/gemm_large.md", "docs/python_package.md"]
PROGRAMS = r"scripts/\S+|cmake|c\+\+|export|tilewright|pip|[A-Z_]+=\S*|ctest"
# Minutes of building or measuring.
LONG = r"scripts/|cmake |pip |ctest |tilewright (bench|calibrate|info --measure|tune (lu|--family))|.*--budget|PYTHONPATH="
# Other machines, other tests: GPUs, wheels, what scripts/test does itself, files of colleagues; `tune --check` may find that
# records regressed, which is an exit status too.
ELSEWHERE = r".*(location[= ]device|--location device|hybrid|--gpus|--counters|python_wheel|colleague|--resume|--check|ctest|MACHINE|FILE|bench gemm |PYTHONPATH=)|scripts/test"


def commands(page):
    """The lines of a page's indented blocks that are commands."""
    for line in re.findall(rf"^    ((?:{PROGRAMS})(?: .*)?)$", (ROOT / page).read_text(), re.M):
        if not line.endswith(";") and " = " not in line:
            yield line


def make_inputs(folder):
    """What the commands read: the README's program, matrices, and a program that calls dgemm."""
    code = re.search(r"```cpp\n(.*?)```", (ROOT / "README.md").read_text(), re.S)[1]
    (folder / "app.cpp").write_text(code)
    numpy = "import numpy as n; r = n.random.default_rng(1); [n.save(f'{x}.npy', r.random((40, 40))) for x in 'AB']"
    subprocess.run(["/usr/bin/python3", "-c", numpy], cwd=folder, check=True)
    program = """extern void dgemm_(const char*, const char*, const int*, const int*, const int*, const double*, const double*,
const int*, const double*, const int*, const double*, double*, const int*, long, long);
int main() { static double a[400], c[400]; const double one = 1, zero = 0; const int n = 20;
  for (int i = 0; i < 400; ++i) a[i] = 1;
  dgemm_("N", "N", &n, &n, &n, &one, a, &n, a, &n, &zero, c, &n, 1, 1);
  return c[399] == 20 ? 0 : 1; }"""
    openblas = next(path for path in re.findall(r"=> (\S+libopenblas\.so\.0)$", subprocess.run(
        ["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=True).stdout, re.M))
    subprocess.run(["cc", "-x", "c", "-", "-o", "program", "-x", "none", openblas], input=program, text=True, cwd=folder, check=True)


def run(lines, home, folder):
    """All in one shell, as a user types them. The environment has nothing of the caller's but what the machine needs."""
    environment = {name: value for name, value in os.environ.items() if re.match(r"(PIP|SSL)_|.*_proxy$", name, re.I)}
    environment |= {"HOME": str(home), "PATH": f"{home}/venv/bin:/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
    script = ["set -o pipefail", *(f"echo {shell_word('$ ' + line)}\n{{ {line}\n}} || exit $?" for line in lines)]
    return subprocess.run(["bash", "-c", "\n".join(script)], cwd=folder, env=environment, text=True, check=False, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def shell_word(text):
    return "'" + text.replace("'", "'\\''") + "'"


def clone(home):
    """A checkout as a newcomer has it, with what is changed here."""
    folder = home / "tilewright"
    subprocess.run(["git", "clone", "-q", ROOT, folder], check=True)
    changed = subprocess.run(["git", "-C", ROOT, "diff", "HEAD", "--binary"], capture_output=True, check=True).stdout
    if changed:
        subprocess.run(["git", "-C", folder, "apply"], input=changed, check=True)
    return folder


def main():
    everything = sys.argv[1] == "--all"
    home = pathlib.Path(tempfile.mkdtemp(prefix="tilewright-commands-"))
    try:
        if everything:
            folder = clone(home)
            subprocess.run(["/usr/bin/python3", "-m", "venv", home / "venv"], check=True)
        else:
            folder = home / "work"
            folder.mkdir()
            (home / ".local").symlink_to(sys.argv[1])
        make_inputs(folder)
        found = {page: list(commands(page)) for page in PAGES}
        left_out = ELSEWHERE if everything else f"{LONG}|{ELSEWHERE}"
        # Once each: pages repeat one another.
        lines = list(dict.fromkeys(re.sub(r"  +#.*", "", line) for page in PAGES for line in found[page] if not re.match(left_out, line)))
        if any(not found[page] for page in PAGES) or not any(line.startswith("c++ -std") for line in lines) or len(lines) < 8:
            print(f"commands are missing: {found}")
            return 1
        done = run(lines, home, folder)
        if done.returncode != 0 or "every element is 10" not in done.stdout:
            print(done.stdout)
            print(f"FAILED with {done.returncode}; the command that failed is the last one after a dollar")
            return 1
        print(done.stdout if everything else f"{len(lines)} commands of {len(PAGES)} pages ran as they are written")
        return 0
    finally:
        shutil.rmtree(home)


sys.exit(main())
