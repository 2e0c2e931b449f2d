"""examples/notebook.ipynb runs from its first cell to its last, what it shows has a form for notebooks, and it holds no outputs."""

import ast
import json
import os
import pathlib
import subprocess
import sys

import pytest

NOTEBOOK = pathlib.Path(__file__).resolve().parents[2] / "examples" / "notebook.ipynb"
pytestmark = pytest.mark.skipif(not NOTEBOOK.is_file(), reason="no checkout")


def program(cells):
    """The cells as one program, which prints the last expression of each as a notebook shows it."""
    lines = ["def show(x):", "    form = getattr(x, '_repr_html_', None)", "    print('shown', 'as', 'html' if form and form() else 'text', repr(x)[:200])"]
    for cell in cells:
        body = ast.parse(cell)
        if isinstance(body.body[-1], ast.Expr):
            body.body[-1] = ast.Expr(ast.Call(ast.Name("show", ast.Load()), [body.body[-1].value], []))
        lines.append(ast.unparse(ast.fix_missing_locations(body)))
    return "\n".join(lines)


def test_the_notebook_runs(tmp_path):
    cells = [cell for cell in json.loads(NOTEBOOK.read_text())["cells"] if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in cells)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "XDG_DATA_HOME": str(tmp_path), "TILEWRIGHT_NOTICES": "off"}
    done = subprocess.run([sys.executable, "-c", program(["".join(cell["source"]) for cell in cells])], env=environment, cwd=tmp_path,
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("shown as html") == 5 and done.stdout.count("shown as text") == 2, done.stdout
