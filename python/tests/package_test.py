"""The parts of the package: the command, also as `python -m tilewright`, the functions that explanations name, and the
licences of all parts of a wheel."""

import importlib.metadata
import os
import pathlib
import re
import subprocess
import sys

import pytest
import tilewright
from tilewright import __main__ as command
from tilewright import _tool

ROOT = pathlib.Path(__file__).resolve().parents[2]


def run(*words, **environment):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment}
    return subprocess.run(words, env=environment, capture_output=True, text=True, check=False)


def distribution():
    """The installed package that is imported here; None in a build tree."""
    try:
        found = importlib.metadata.distribution("tilewright")
    except importlib.metadata.PackageNotFoundError:
        return None
    return found if pathlib.Path(found.locate_file("tilewright/__init__.py")) == pathlib.Path(tilewright.__file__) else None


def table(text):
    """Returns the libraries in the table of licences, and the files with the texts."""
    return set(re.findall(r"\| `(lib\w+)` \|", text)), set(re.findall(r"\]\((\S+?\.txt)\)", text))


def test_the_command_is_the_tool():
    made = run(sys.executable, "-m", "tilewright", "--version")
    assert made.returncode == 0 and tilewright.__version__ in made.stdout, made.stderr
    refused = run(sys.executable, "-m", "tilewright", "explain", "gemm:f64:nn:m=0")
    assert refused.returncode == 2 and refused.stderr


def test_a_package_without_the_tool_says_so(monkeypatch, tmp_path, capsys):
    for module in (_tool, command):
        monkeypatch.setattr(module, "TOOL", tmp_path / "tilewright")
    reason = f"this package was built without the tool: {tmp_path / 'tilewright'} is not there"
    assert command.main() == 1 and reason in capsys.readouterr().err
    with pytest.raises(RuntimeError, match="built without the tool"):
        tilewright.info()


def test_explanations_name_functions_of_this_package(tmp_path):
    code = "import tilewright; print(tilewright.explain('gemm_batched:f64:nn:m=7,n=7,k=7:strided:batch=1000'))"
    told = run(sys.executable, "-c", code, XDG_DATA_HOME=str(tmp_path), TILEWRIGHT_NOTICES="off").stdout
    assert "no ceilings measured yet (tilewright.info(measure=True))" in told
    assert not re.search(r"tilewright (info|calibrate)\b|`tilewright tune`", told)


@pytest.mark.skipif(not (ROOT / "licences").is_dir(), reason="no checkout")
def test_the_project_declares_command_and_licences():
    tomllib = pytest.importorskip("tomllib")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["scripts"] == {"tilewright": f"{command.__name__}:main"} and callable(command.main)
    named = {path.relative_to(ROOT).as_posix() for pattern in project["license-files"] for path in ROOT.glob(pattern)}
    _, texts = table((ROOT / "licences" / "README.md").read_text())
    assert {"LICENSE", "NOTICE", "licences/README.md", *(f"licences/{text}" for text in texts)} == named


@pytest.mark.skipif(distribution() is None, reason="not an installed wheel")
def test_a_wheel_holds_the_command_and_the_licence_of_every_library():
    files = [str(file) for file in distribution().files]
    assert any(re.search(r"bin/tilewright$", file) and ".." in file for file in files)
    licences = {re.sub(r"^.*\.dist-info/licenses/", "", file): file for file in files if ".dist-info/licenses/" in file}
    libraries, texts = table(pathlib.Path(distribution().locate_file(licences["licences/README.md"])).read_text())
    assert {"LICENSE", "NOTICE", *(f"licences/{text}" for text in texts)} <= set(licences)
    inside = {re.match(r"lib[a-z]+\d?(?=\W)|lib[a-z]+", pathlib.Path(file).name)[0] for file in files if file.startswith("tilewright.libs/")}
    assert inside <= libraries
