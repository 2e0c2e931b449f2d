"""The package's stub says what the package is: the same names, parameters and defaults."""

import ast
import importlib.util
import inspect
import os
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
    wrong = [line for line in said.splitlines() if line.startswith("tilewright.") and not line.startswith("tilewright._")]
    assert [line for line in wrong if not line.startswith("tilewright.torch failed to import")] == []  # without PyTorch


# An expression as callers write it, and its type.
NDARRAY, ANY = "ndarray[Any, dtype[float64]]", "ndarray[Any, dtype[Any]]"
TYPES = [
    ("tilewright.matmul(a, v)", NDARRAY), ("tilewright.matmul(v, v)", NDARRAY), ("tilewright.matmul(s, a, promote=True)", ANY),
    ("tilewright.matmul([[1.0]], a)", ANY), ("tilewright.matmul(a, a, a)", "ndarray[tuple[int, int], dtype[float64]]"),
    ("tilewright.matmul(a, a, alpha=2, transpose_a=True, conjugate_b=True)", NDARRAY), ("tilewright.matmul(a, a, a, beta=1j)",
    "ndarray[tuple[int, int], dtype[float64]]"), ("tilewright.matmul(Own(), a)", "user.Own"), ("tilewright.matmul(a, a, Own())", "user.Own"),
    ("tilewright.matmul(a, a, threads=2, target='cpu', residency='l1')", NDARRAY), ("tilewright.matmul(a, a, stream=None, gpus=[0, 1])", NDARRAY),
    ("tilewright.matmul(a, a, objective='alpha=0.7', split='fixed', cpu_share=0.5)", NDARRAY),
    ("tilewright.matmul(a, a, on_device_failure='redo', gpu_memory_bytes=2**30)", NDARRAY), ("tilewright.matmul(a, a, tune_on_miss_s=1)", NDARRAY),
    ("tilewright.matmul(a, a, learn=True)", NDARRAY), ("tilewright.matmul(a, a, arrival='idle')", NDARRAY), ("tilewright.grouped_matmul([a], [a], learn=None)", f"list[{NDARRAY}]"),
    ("tilewright.batch_reduce(a, a)", NDARRAY), ("tilewright.batch_reduce(s, a, promote=True, checked=True)", ANY),
    ("tilewright.grouped_matmul([a], [a])", f"list[{NDARRAY}]"), ("tilewright.grouped_matmul([Own()], [a], alpha=2)", "list[user.Own]"),
    ("tilewright.variable_matmul([a], [a], transpose_b=True)", f"list[{ANY}]"), ("tilewright.variable_matmul([Own()], [a], stream=0)", "list[user.Own]"),
    ("tilewright.stack_matmul(a, a, a, [0], [0], [0], beta=1)", "ndarray[tuple[int, int], dtype[float64]]"),
    ("tilewright.einsum('ij,jk', a, a, threads=1)", "Any"), ("tilewright.einsum('ij,jk', a, a, out=a)", "ndarray[tuple[int, int], dtype[float64]]"),
    ("tilewright.einsum_path('ij,jk', a, a, optimize='greedy').flops", "float"), ("tilewright.solve(a, v)", NDARRAY),
    ("tilewright.solve(s, a, promote=True)", ANY), ("tilewright.solve([[1.0]], [1.0], nb=32)", ANY), ("tilewright.solve(Own(), v, target='gpu')", "user.Own"),
    ("tilewright.lu_factor(a, target='hybrid', threads=2).solve(v)", NDARRAY), ("tilewright.lu_factor(a).solve([1.0], transpose=True)", ANY),
    ("tilewright.inv(a)", NDARRAY), ("tilewright.inv([[1.0]], candidate='blocked')", ANY),
    ("tilewright.cholesky(a, upper=True)", NDARRAY), ("tilewright.cholesky(s, promote=True)", ANY), ("tilewright.det(a, threads=1)", "Any"),
    ("tilewright.slogdet(a).sign", "Any"), ("tilewright.qr(a, threads=1).Q", "Any"), ("tilewright.qr(a, 'r')", NDARRAY), ("tilewright.qr([[1.0]], mode='raw')", "tuple[Any, Any]"),
    ("tilewright.eigh(a, 'U').eigenvalues", "Any"), ("tilewright.eigvalsh(a)", ANY), ("tilewright.svd(a, False).Vh", "Any"),
    ("tilewright.svd(a, compute_uv=False)", "Any"), ("tilewright.lstsq(a, v, driver='gels')[2]", "Any"),
    ("tilewright.interleave(a, 'whole').shape", "tuple[int, int, int]"), ("tilewright.matmul_interleaved(i, i, threads=1)", "tilewright.Interleaved"),
    ("tilewright.explain(a, b=a, transpose_a=True, out=None)", "tilewright.Explanation"), ("tilewright.problem_of(a, a, alpha=2)", "str"),
    ("tilewright.tune('x', strategy='local', progress='bar')[0]['joules']", "float | None"), ("tilewright.info()['cores']", "int"),
    ("tilewright.bench('lu', sizes='8', dtype='f64')", "list[dict[str, Any]]"), ("tilewright.wisdom.list()", "list[dict[str, Any]]"),
]
REFUSED = [
    "tilewright.matmul(a)", "tilewright.matmul(a, a, transB=True)", "tilewright.matmul(a, a, threads='2')", "tilewright.matmul(a, a, target='tpu')",
    "tilewright.matmul(a, a, residency='l4')", "tilewright.matmul(a, a, arrival='often')", "tilewright.matmul(a, a, objective=1)", "tilewright.matmul(a, a, checked='yes')",
    "tilewright.matmul(a, a, gpus=0)", "tilewright.matmul(a, a, split='half')", "tilewright.matmul(a, a, cpu_share='half')",
    "tilewright.matmul(a, a, on_device_failure='retry')", "tilewright.matmul(a, a, learn='calls')", "tilewright.grouped_matmul([a], [a], learn='no')",
    "tilewright.matmul(a, a, alpha='2')", "tilewright.matmul(a, a, stream='0')",
    "tilewright.matmul(a, a, promote='yes')", "tilewright.matmul(a, a, None, True)", "tilewright.matmul(a, a, transpose_a='t')",
    "tilewright.batch_reduce(a, a, check=True)", "tilewright.batch_reduce(a, a, checked='yes')", "tilewright.grouped_matmul(1, [a])",
    "tilewright.grouped_matmul([a], [a], split='x')", "tilewright.variable_matmul([a], [a], transB=True)", "tilewright.variable_matmul([a], [a], beta='0')",
    "tilewright.stack_matmul(a, a, a, [0], [0])", "tilewright.stack_matmul(a, a, a, ['0'], [0], [0])", "tilewright.einsum('ij,jk', a, a, threads='2')",
    "tilewright.einsum_path('ij,jk', a, a, threads=2)", "tilewright.solve(a, a, target='tpu')", "tilewright.solve(a, a, objective='time')",
    "tilewright.inv(a, nb='x')", "tilewright.lu_factor(a, target='tpu')", "tilewright.lu_factor(a).solve(v, conj=True)", "tilewright.lu_factor(a, residency='l1')",
    "tilewright.cholesky(a, True)", "tilewright.cholesky(a, lower=True)", "tilewright.det(a, nb=1)", "tilewright.slogdet(a, threads='2')",
    "tilewright.qr(a, 'full')", "tilewright.qr(a, nb=1)", "tilewright.eigh(a, 'X')", "tilewright.eigvalsh(a, lower=True)", "tilewright.svd(a, full='no')",
    "tilewright.svd(a, True, True, True, 1)", "tilewright.svdvals(a, 1)", "tilewright.lstsq(a, v, driver='gelsy')",
    "tilewright.interleave(a, 'half')", "tilewright.matmul_interleaved(a, a)", "tilewright.explain('x', objectiv='time')", "tilewright.problem_of(a)",
    "tilewright.prepare('x', threads='2')", "tilewright.tune('x', strategy='best')", "tilewright.tune('x', progress='dots')",
    "tilewright.info()['core']",
]


def test_as_many_calls_are_right_as_wrong():
    assert len(TYPES) == len(REFUSED) == 55


def program(tmp_path):
    lines = ["import numpy, tilewright", "class Own: ...", "a, s = numpy.zeros((3, 3)), numpy.zeros((3, 3), numpy.float32)", "v, i = numpy.zeros(3), tilewright.interleave(numpy.zeros((2, 3, 3)))",
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
    # basedpyright carries a node of its own; scripts/python_wheel installs it.
    name = next((one for one in ("basedpyright", "pyright") if importlib.util.find_spec(one)), None)
    if name is None:
        pytest.skip("no pyright is installed")
    first_refused = program(tmp_path)
    done = subprocess.run([sys.executable, "-m", name, "--level", "error", "--pythonpath", sys.executable, "user.py"], capture_output=True, text=True,
                          cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(STUB.parent.parent)})
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
    assert set(tilewright.lu_factor([[1.0]]).report) == keys("_LuReport") - {"plan", "routine"}
    assert set(tilewright.lu_factor([[[1.0]]]).report) == {"routine"}
