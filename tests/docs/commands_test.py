#!/usr/bin/env python3
"""What README.md and the pages show runs as it is written, in a home folder where the library is installed at ~/.local, and prints
what they say. Fenced blocks: `console` (`$ ` lines and what they print), `python` sessions, and files after `<!-- file: NAME -->`. A block
after `<!-- long -->` builds or measures for minutes and is for scripts/soak (--all, from a fresh clone); one after
`<!-- elsewhere: WHY -->` needs another machine.
usage: commands_test.py PREFIX [PYTHON PACKAGES] | --all"""

import doctest
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
START = ["README.md", "docs/start_cpp.md", "docs/start_python.md", "docs/preload.md", "docs/tune_this_machine.md", "docs/how_it_works.md"]
BLOCK = re.compile(r"(?:^<!-- (file|long|elsewhere)(?:: ([^\n]*?))? -->\n)?^```(\w+)\n(.*?)^```$", re.M | re.S)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
PROGRAM = """extern void dgemm_(const char*, const char*, const int*, const int*, const int*, const double*, const double*,
const int*, const double*, const int*, const double*, double*, const int*, long, long);
int main() { static double a[400], c[400]; const double one = 1, zero = 0; const int n = 20;
  for (int i = 0; i < 400; ++i) a[i] = 1;
  dgemm_("N", "N", &n, &n, &n, &one, a, &n, a, &n, &zero, c, &n, 1, 1);
  return c[399] == 20 ? 0 : 1; }
"""


def pages():
    """Those of beginners first, then all others that show commands."""
    others = [str(path.relative_to(ROOT)) for path in sorted((ROOT / "docs").rglob("*.md"))]
    return START + [name for name in others if name not in START and BLOCK.search((ROOT / name).read_text())]


def steps(page):
    """(mark, its word, language, text) of the blocks of a page that are run or saved."""
    for mark, word, language, text in BLOCK.findall((ROOT / page).read_text()):
        if mark == "file" or (language == "console" and text.startswith("$")) or (language == "python" and text.startswith(">>>")):
            yield mark, word, language, text


def commands(text):
    """[(command, what it prints)] of a console block."""
    found = []
    for line in text.splitlines():
        if line.startswith("$ "):
            found.append([line[2:], ""])
        else:
            found[-1][1] += line + "\n"
    return found


class Shell:
    """One bash for a page: folders and variables last, as in a user's terminal."""

    def __init__(self, home, folder):
        kept = {name: value for name, value in os.environ.items() if re.match(r"(PIP|SSL)_|.*_proxy$", name, re.I)}
        self.environment = kept | {"HOME": str(home), "LC_ALL": "C.UTF-8", "PATH": f"{home}/venv/bin:{home}/.local/bin:/usr/local/bin:/usr/bin:/bin",
                                   "PKG_CONFIG_PATH": f"{home}/.local/lib/pkgconfig"}
        self.folder, self.before = folder, ""

    def run(self, line):
        """(exit status, what it prints); what it exports holds for the lines after it."""
        done = subprocess.run(["bash", "-c", f"set -o pipefail\n{self.before}{line}\n"], cwd=self.folder, env=self.environment, text=True, check=False,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if re.match(r'(export |unset |[A-Z]\w*=")', line):
            self.before += line + "\n"
        return done.returncode, done.stdout, done.stderr


def make_inputs(folder):
    """What commands read beside what pages make: matrices, and a program that calls dgemm."""
    numpy = "import numpy as n; r = n.random.default_rng(1); [n.save(f'{x}.npy', r.random((40, 40))) for x in 'AB']"
    subprocess.run(["/usr/bin/python3", "-c", numpy], cwd=folder, check=True)
    (folder / "program.c").write_text(PROGRAM)
    openblas = next(path for path in re.findall(r"=> (\S+libopenblas\.so\.0)$", subprocess.run(
        ["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=True).stdout, re.M))
    subprocess.run(["cc", "program.c", "-o", "program", openblas], cwd=folder, check=True)


def console(shell, text, once):
    """The fault of a block, or nothing. What takes minutes is not done again for another page (`once`)."""
    for line, wanted in commands(text):
        command = line.partition("  #")[0].rstrip()
        if once is not None and command in once:
            continue
        if once is not None:
            once.add(command)
        status, printed, errors = shell.run(command)
        if status != 0 or (wanted and not doctest.OutputChecker().check_output(wanted, printed, FLAGS)):
            return f"$ {line}\nstatus {status}, printed:\n{printed}{errors}wanted:\n{wanted}"
    return ""


def session(python, text, home):
    """A Python session as a test of its own interpreter, whose packages are the ones that were built."""
    program = (f"import doctest, sys\ntest = doctest.DocTestParser().get_doctest({text!r}, {{}}, 'page', None, 0)\n"
               f"sys.exit(doctest.DocTestRunner(optionflags={FLAGS}).run(test).failed)")
    environment = {"HOME": str(home), "PATH": "/usr/bin:/bin", "PYTHONPATH": python[1], "TILEWRIGHT_NOTICES": "off"}
    done = subprocess.run([python[0], "-c", program], env=environment, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def run_page(page, home, folder, everything, python, once):
    """(blocks that ran, the fault that ended them or nothing)."""
    shell, count, sessions = Shell(home, folder), 0, ""
    python = [f"{home}/venv/bin/python", ""] if everything else python
    for mark, word, language, text in steps(page):
        if mark == "elsewhere" or (mark == "long" and not everything):
            continue
        count += 1
        fault = ""
        if mark == "file":
            (folder / word).write_text(text)
        elif language == "console":
            fault = console(shell, text, once if mark == "long" else None)
        else:
            sessions += text + "\n"
        if fault:
            return count, fault
    return count, session(python, sessions, home) if sessions and python else ""


def clone(home):
    """A checkout as a newcomer has it, with what is changed here."""
    folder = home / "tilewright"
    subprocess.run(["git", "clone", "-q", ROOT, folder], check=True)
    changed = subprocess.run(["git", "-C", ROOT, "diff", "HEAD", "--binary"], capture_output=True, check=True).stdout
    if changed:
        subprocess.run(["git", "-C", folder, "apply"], input=changed, check=True)
    return folder


def main():
    everything, python = sys.argv[1] == "--all", sys.argv[2:4]
    home = pathlib.Path(tempfile.mkdtemp(prefix="tilewright-commands-"))
    faults, blocks, once = [], 0, set()
    try:
        folder = home / "work"
        folder.mkdir()
        make_inputs(folder)
        if everything:
            checkout = clone(home)
            subprocess.run(["/usr/bin/python3", "-m", "venv", home / "venv"], check=True)
        else:
            (home / ".local").symlink_to(sys.argv[1])
        for page in pages():
            count, fault = run_page(page, home, checkout if everything and page == "README.md" else folder, everything, python, once)
            blocks += count
            if fault or (count == 0 and page in START):
                faults.append(f"{page}: {fault or 'no block'}")
    finally:
        shutil.rmtree(home)
    print("\n".join(faults) or f"{blocks} blocks of {len(pages())} pages ran as they are written{'' if python else '; no Python package, no sessions'}")
    return len(faults) > 0


if __name__ == "__main__":
    sys.exit(main())
