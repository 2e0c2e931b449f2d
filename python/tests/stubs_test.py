"""The package's stub says what the package is: the same names, parameters and defaults."""

import ast
import inspect
import pathlib

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
