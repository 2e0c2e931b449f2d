"""The user's wisdom, which is what tuning has learned: listed, exported, imported. Files are JSON lines or databases."""

import json

from . import _core
from ._checks import path as checked_path
from ._tool import _words, plain, run_json, run_tool


def list(problem=None, *, file=None):  # noqa: A001: the tool's word
    """A dictionary for each record and fitted model, and whether lookups use it. `problem` keeps those whose text
    contains it."""
    return run_json(["wisdom", "list", *_filter(problem)], {"file": file})


def export(path=None, problem=None, *, file=None):
    """The records as dictionaries, as `import_` takes them; written to `path` as JSON lines where one is given."""
    words = ["wisdom", "export", *_filter(problem), *_words({"file": file})]
    if path is not None:  # the tool's writer keeps the old contents until all is written
        run_tool([*words, f"--output={checked_path('path', path)}"])
    text = run_tool(words)
    return [json.loads(line) for line in text.splitlines() if line.strip()]


def import_(*files, into=None):
    """Adds the records of files (JSON lines or databases) to the user's wisdom; of two of a problem the newer stays.
    Returns the tool's report."""
    return _change("import", files, into)


def merge(*files, into=None):
    """As import_, but of two records of a problem the better measured one stays."""
    return _change("merge", files, into)


def diff(*files):
    """What two files, or one and the user's wisdom, know differently: a list of dictionaries."""
    return run_json(["wisdom", "diff", *_files(files)], {})


def file():
    """The user's wisdom that calls believe before what is shipped; '' where there is none."""
    return _core.wisdom_file()


def _filter(problem):
    return [plain("problem", problem)] if problem else []


def _files(files):
    if not files:
        raise TypeError("at least one file is needed")
    return [plain("a file", one) for one in files]


def _change(verb, files, into):
    text = run_tool(["wisdom", verb, *_files(files), *_words({"into": into})])
    _core.clear_plan_cache()
    return text.strip()
