"""The package's stub says what the package is: the same names, parameters and defaults."""

import ast
import inspect
import pathlib
import subprocess
import sys

import pytest

import tilewright

STUB = pathlib.Path(tilewright.__file__).with_name("__init__.pyi")
WISDOM = STUB.with_name("wisdom.pyi")


def parameters(function):
    """(name, default) of each, as the stub writes them."""
    arguments = function.args
    positional = arguments.posonlyargs + arguments.args
    defaults = [None] * (len(positional) - len(arguments.defaults)) + arguments.defaults
    both = list(zip(positional, defaults)) + list(zip(arguments.kwonlyargs, arguments.kw_defaults))
    return [(one.arg, None if default is None else ast.literal_eval(default)) for one, default in both]


def stubbed():
    yield from ((f"wisdom.{node.name}", node) for node in ast.parse(WISDOM.read_text()).body if isinstance(node, ast.FunctionDef))
    for node in ast.parse(STUB.read_text()).body:
        if isinstance(node, ast.FunctionDef):
            yield node.name, node
        elif isinstance(node, ast.ClassDef):
            for part in node.body:
                if isinstance(part, ast.FunctionDef) and not part.decorator_list and (part.name == "__init__" or not part.name.startswith("__")):
                    yield f"{node.name}.{part.name}", part


@pytest.mark.parametrize("name, node", list(stubbed()))
def test_signatures(name, node):
    there = tilewright
    for part in name.split("."):
        there = getattr(there, part)
    if name.endswith("__init__"):  # bound, as instances have it
        node.args.args.pop(0)
        there = getattr(tilewright, name.partition(".")[0])
    variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    own = [(one.name, None if one.default is inspect.Parameter.empty else one.default)
           for one in inspect.signature(there).parameters.values() if one.kind not in variable]
    assert parameters(node) == own


def test_names():
    nodes = ast.parse(STUB.read_text()).body
    names = {node.name for node in nodes if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    assigned = {target.id: node.value for node in nodes if isinstance(node, ast.Assign) for target in node.targets}
    assert ast.literal_eval(assigned.pop("__all__")) == tilewright.__all__
    assert all(name.startswith("_") for name in assigned)
    assert all(node.target.id.startswith("_") for node in nodes if isinstance(node, ast.AnnAssign))
    assert names | {"wisdom"} == set(tilewright.__all__)


def mypy(tmp_path, module, *arguments):
    pytest.importorskip("mypy")
    done = subprocess.run([sys.executable, "-m", module, *arguments], capture_output=True, text=True, cwd=tmp_path)
    return done.stdout + done.stderr


def test_stubs_are_found_to_agree(tmp_path):
    said = mypy(tmp_path, "mypy.stubtest", "tilewright", "--concise")
    assert "not checking stubs" not in said
    assert [line for line in said.splitlines() if line.startswith("tilewright.") and not line.startswith("tilewright._")] == []


def test_types_that_callers_see(tmp_path):
    (tmp_path / "user.py").write_text("""
import numpy, tilewright
a = numpy.zeros((3, 3))
reveal_type(tilewright.matmul(a, a))
reveal_type(tilewright.matmul([[1.0]], a))
reveal_type(tilewright.wisdom.list())
tilewright.wisdom.export("x", file="y")
""")
    said = mypy(tmp_path, "mypy", "--strict", "user.py")
    types = [line.partition('"')[2].rstrip('"') for line in said.splitlines() if "Revealed type" in line]
    assert len(types) == 3 and "float64" in types[0] and "numpy.ndarray" in types[1] and types[2].endswith("list[dict[str, Any]]"), said
    assert "Success" in said
