"""The command-line tool that lies in the package, for what the libraries' public headers do not hold: machines, benches,
calibration and wisdom as lists of dictionaries. What it prints as JSON is a contract; here it becomes Python's data."""

import json
import os
import pathlib
import re
import subprocess
import tempfile

from . import _core
from ._checks import flag, text, type_error

TOOL = pathlib.Path(__file__).parent / "bin" / "tilewright"


def why_no_tool():
    """Why the tool cannot be started; "" if it can."""
    return "" if os.access(TOOL, os.X_OK) else f"this package was built without the tool: {TOOL} is not there"


def _words(options):
    """Keywords as the tool's flags: check_only=True is --check-only, sizes=[4, 8] is --sizes 4,8."""
    for name, value in options.items():
        word = "--" + name.rstrip("_").replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            yield word
            continue
        yield word
        listed = hasattr(value, "__iter__") and not isinstance(value, (str, os.PathLike)) and getattr(value, "shape", None) != ()
        yield ",".join(map(str, value)) if listed else str(value)


def plain(name, value):
    """A word that the tool does not take for one of its flags."""
    word = text(name, os.fspath(value) if hasattr(value, "__fspath__") else value)
    if word.startswith("-"):
        raise ValueError(f"{name} = {word!r} begins with a dash, like a flag of the tool")
    return word


def _complaint(text, status):
    lines = [line for line in text.strip().splitlines() if line.strip()]
    if not lines:
        return f"the tool ended with status {status}"
    said = re.sub(r" \(see tilewright[a-z ]* --help\)", "", lines[-1])
    unknown = re.search(r"unexpected argument: (?:.*? )??--([\w-]+)", said)
    if unknown:
        return f"unknown keyword '{unknown[1].replace('-', '_')}' (expected a flag of the tool)"
    # A keyword has no dashes.
    return re.sub(r"^tilewright: --([\w-]+)", lambda flag: "tilewright: " + flag[1].replace("-", "_"), said)


def run_tool(words, progress=None):
    """Standard output of the tool. progress(line) is called for each line that it prints meanwhile. Raises ValueError for
    wrong use and RuntimeError for a job that failed, with the tool's sentence."""
    if progress is not None and not callable(progress):
        raise type_error("progress", progress, "a function or None")
    words = [str(TOOL), *(text("an argument of the tool", word) for word in words)]
    missing = why_no_tool()
    if missing:
        raise RuntimeError(missing)
    with tempfile.TemporaryFile("w+") as errors:
        lines = []
        with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, text=True) as child:
            try:
                for line in child.stdout:
                    lines.append(line)
                    if progress is not None:
                        progress(line.rstrip("\n"))
            except BaseException:
                child.kill()
                raise
        errors.seek(0)
        said = errors.read()
    if child.returncode == 2:
        raise ValueError(_complaint(said, 2))
    if child.returncode != 0:
        raise RuntimeError(_complaint(said, child.returncode))
    return "".join(lines)


def run_json(words, options, progress=None):
    """The objects that the tool writes with --json, one a line. Raises TypeError for flags that leave nothing to read."""
    for name in ("json", "help", "version"):
        if name in options:
            raise TypeError(f"{words[0]} takes no '{name}': it returns the JSON of the tool")
    handle, path = tempfile.mkstemp(suffix=".jsonl", prefix="tilewright-")
    os.close(handle)
    try:
        run_tool([*words, *_words(options), "--json", path], progress)
        with open(path) as file:
            return [json.loads(line) for line in file if line.strip()]
    finally:
        os.unlink(path)


def info(measure=False, **options):
    """The machine as a dictionary: instruction sets, caches, GPUs, the libraries found, measured ceilings (measure=True
    renews them). Keys are those of `tilewright info --json`."""
    return run_json(["info"], {"measure": flag("measure", measure), **options})[0]


def bench(family="gemm_small_cpu", *, progress=None, **options):
    """Compares tilewright with the libraries found on this machine: one dictionary for each case and implementation, and summaries at the
    end. Keywords are the flags of `tilewright bench`, such as dtype="f64", sizes="2:8", batch=10000, peers="none".
    progress(text) is called for each line that the tool prints."""
    return run_json(["bench", plain("family", family)], options, progress)


def calibrate(quick=False, *, progress=None, **options):
    """Fits the models of CPU, GPUs and transfers on this machine and keeps them in wisdom: coefficients, residuals and
    validation as dictionaries. It takes minutes; quick=True some thirty seconds."""
    rows = run_json(["calibrate"], {"quick": flag("quick", quick), **options}, progress)
    _core.clear_plan_cache()
    return rows
