"""docs/python.md says what happens, and the examples run: the page's sessions are executed, each example checks itself."""

import doctest
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "python.md"
EXAMPLES = sorted((ROOT / "python" / "examples").glob("*.py"))


def test_the_page_says_what_happens():
    result = doctest.testfile(str(PAGE), module_relative=False, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert result.attempted > 20 and result.failed == 0


def test_the_page_names_every_example():
    named = PAGE.read_text()
    assert EXAMPLES and all(f"python/examples/{path.name}" in named for path in EXAMPLES)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_run_and_check_themselves(path):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    made = subprocess.run([sys.executable, "-B", str(path), "100"], env=environment, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    assert "agree" in made.stdout.splitlines()[-1]
