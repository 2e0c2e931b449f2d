"""The package's stub says what the package is: the same names, parameters and defaults."""

import ast
import inspect
import pathlib
import re
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


def is_property(node):
    return any(getattr(one, "id", "") == "property" for one in node.decorator_list)


def stubbed():
    yield from ((f"wisdom.{node.name}", node) for node in ast.parse(WISDOM.read_text()).body if isinstance(node, ast.FunctionDef))
    for node in ast.parse(STUB.read_text()).body:
        if isinstance(node, ast.FunctionDef):
            yield node.name, node
        elif isinstance(node, ast.ClassDef):
            for part in node.body:
                if isinstance(part, ast.FunctionDef) and not is_property(part) and (part.name == "__init__" or not part.name.startswith("__")):
                    yield f"{node.name}.{part.name}", part


@pytest.mark.parametrize("name, node", list(stubbed()))
def test_signatures(name, node):
    there = tilewright
    for part in name.split("."):
        there = getattr(there, part)
    if name.endswith("__init__"):  # bound, like the methods of instances
        node.args.args.pop(0)
        there = getattr(tilewright, name.partition(".")[0])
    variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    own = [(one.name, None if one.default is inspect.Parameter.empty else one.default)
           for one in inspect.signature(there).parameters.values() if one.kind not in variable]
    # An overload may omit a default if another value selects it.
    stub, is_overload = parameters(node), any(getattr(one, "id", "") == "overload" for one in node.decorator_list)
    assert [one for one, _ in stub] == [one for one, _ in own]
    assert all(default == other or (is_overload and default is None) for (_, default), (_, other) in zip(stub, own))


def test_names():
    nodes = ast.parse(STUB.read_text()).body
    names = {node.name for node in nodes if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_")}
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


# An expression as callers write it, and its type, or the word that the type checker's error contains.
TYPES = [
    ("tilewright.matmul(a, v)", "ndarray[Any, dtype[float64]]"), ("tilewright.matmul(v, v)", "ndarray[Any, dtype[float64]]"),
    ("tilewright.matmul(s, a, promote=True)", "ndarray[Any, dtype[Any]]"), ("tilewright.matmul([[1.0]], a)", "ndarray[Any, dtype[Any]]"),
    ("tilewright.matmul(a, a, a)", "ndarray[tuple[int, int], dtype[float64]]"), ("tilewright.solve(a, v)", "ndarray[Any, dtype[float64]]"),
    ("tilewright.solve(s, a, promote=True)", "ndarray[Any, dtype[Any]]"), ("tilewright.lu_factor(a).solve(v)", "ndarray[Any, dtype[float64]]"),
    ("tilewright.inv(a)", "ndarray[Any, dtype[float64]]"), ("tilewright.batch_reduce(a, a)", "ndarray[Any, dtype[float64]]"),
    ("tilewright.grouped_matmul([a], [a])", "list[ndarray[Any, dtype[float64]]]"), ("tilewright.matmul(Own(), a)", "user.Own"),
    ("tilewright.tune('x')[0]['joules']", "float | None"), ("tilewright.info()['cores']", "int"), ("tilewright.wisdom.list()", "list[dict[str, Any]]"),
    ("tilewright.matmul(a, a, threads=2, target='cpu', residency='l1')", "ndarray[Any, dtype[float64]]"),
]
REFUSED = [
    "tilewright.matmul(a, a, transB=True)", "tilewright.matmul(a, a, threads='2')", "tilewright.matmul(a, a, target='tpu')",
    "tilewright.solve(a, a, target='tpu')", "tilewright.solve(a, a, objective='time')", "tilewright.inv(a, nb='x')",
    "tilewright.lu_factor(a, target='tpu')", "tilewright.variable_matmul([a], [a], transB=True)", "tilewright.grouped_matmul([a], [a], split='x')",
    "tilewright.batch_reduce(a, a, checked='yes')", "tilewright.einsum('ij,jk', a, a, threads='2')", "tilewright.explain('x', objectiv='time')",
    "tilewright.prepare('x', threads='2')", "tilewright.tune('x', strategy='best')", "tilewright.matmul(a, a, residency='l4')",
]


def program(tmp_path):
    lines = ["import numpy, tilewright", "class Own: ...", "a, s = numpy.zeros((3, 3)), numpy.zeros((3, 3), numpy.float32)", "v = numpy.zeros(3)",
             *(f"reveal_type({expression})" for expression, _ in TYPES), *REFUSED]
    (tmp_path / "user.py").write_text("\n".join(lines))
    return len(lines) - len(REFUSED)


def check_types(said, first_refused):
    types = re.findall(r'(?:Revealed type is|Type of ".*" is) "(.*)"', said)
    assert [re.sub(r"\bnumpy\.(?=ndarray|dtype|float64)", "", one).replace("builtins.", "") for one in types] == [one for _, one in TYPES], said
    wrong = {int(line) for line in re.findall(r"user\.py:(\d+)(?::\d+)?(?: -)? ?:? error", said)}
    assert wrong == set(range(first_refused + 1, first_refused + 1 + len(REFUSED))), said


def test_types_that_callers_see(tmp_path):
    first_refused = program(tmp_path)
    check_types(mypy(tmp_path, "mypy", "--strict", "--hide-error-context", "user.py"), first_refused)


def test_types_that_pyright_sees(tmp_path):
    pytest.importorskip("pyright")
    first_refused = program(tmp_path)
    done = subprocess.run([sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "user.py"], capture_output=True, text=True, cwd=tmp_path)
    wrong = {int(line) for line in re.findall(r"user\.py:(\d+):\d+ - error", done.stdout)}
    assert wrong == set(range(first_refused + 1, first_refused + 1 + len(REFUSED))), done.stdout + done.stderr


def keys(name):
    """The keys of a TypedDict of the stub."""
    (node,) = [one for one in ast.parse(STUB.read_text()).body if isinstance(one, ast.ClassDef) and one.name == name]
    return {one.target.id for one in node.body if isinstance(one, ast.AnnAssign)}


def test_the_keys_of_results():
    machine = set(tilewright.info())
    assert keys("_Info") <= machine <= keys("_Info") | keys("_InfoOfGpus"), machine ^ keys("_Info")
    with tilewright.record() as log:
        tilewright.matmul([[1.0]], [[1.0]])
    assert keys("_Run") == set(log.rows[0])
    assert set(tilewright.lu_factor([[1.0]]).report) == keys("_LuReport") - {"plan"}
