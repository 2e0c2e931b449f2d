"""explain, problem_of, prepare, record and tune, and the functions that ask the tool."""

import inspect
import json
import os
import pathlib
import subprocess
import sys
import types

import numpy as np
import pytest

import tilewright
from tilewright import _html, _learning, _tool

A, B = np.ones((100, 8, 8)), np.ones((100, 8, 8))


def test_matmul_has_a_signature_and_help():
    assert inspect.signature(tilewright.matmul) == inspect.signature(tilewright._general_matmul)
    assert "beta" in tilewright.matmul.__doc__ and tilewright.matmul.__module__ == "tilewright"


def test_every_public_name_is_there_and_documented():
    for name in tilewright.__all__:
        assert getattr(tilewright, name).__doc__, name
    assert set(tilewright.__all__) <= set(dir(tilewright))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        tilewright.nothing


def test_problems_of_arrays():
    assert tilewright.problem_of(A, B) == "gemm_batched:f64:nn:m=8,n=8,k=8:strided:batch=100"
    assert tilewright.problem_of(A[0].T, B[0]) == "gemm:f64:nt:m=8,n=8,k=8"
    assert tilewright.problem_of(A, B, A.copy(), beta=0.5).endswith("beta=general")
    assert "batch=100" in tilewright.problem_of(A[:, ::2, ::2], B[:, :4])


@pytest.mark.parametrize("a, b, problem", [
    ((0, 3), (3, 4), "gemm:f64:nn:m=4,n=0,k=3"), ((2, 3), (3, 0), "gemm:f64:nn:m=0,n=2,k=3"),
    ((5, 2, 3), (3, 0), "gemm_batched:f64:nn:m=0,n=2,k=3:strided:batch=5"),
    ((5, 0, 2, 3), (3, 4), "gemm_batched:f64:nn:m=4,n=2,k=3:strided:batch=0"), ((0, 3), (3,), "gemm:f64:nn:m=1,n=0,k=3")])
def test_problems_without_products_have_their_sizes(a, b, problem):
    assert tilewright.problem_of(np.ones(a), np.ones(b)) == problem


def test_explanations_are_text_that_notebooks_show():
    told = tilewright.explain(A, B)
    assert "cpu_small" in told and isinstance(told, str)
    assert told._repr_html_().startswith("<details") and "<pre>" in told._repr_html_()
    assert told == tilewright.explain("gemm_batched:f64:nn:m=8,n=8,k=8:strided:batch=100")
    for problem in (told, tilewright.explain("gemm_batched:f64:nn:m=8,n=8,k=8:strided:batch=100", candidate="cpu_small"),
                    tilewright.explain("gemm:c128:nn:m=1000,n=1000,k=1000", target="cpu")):
        assert all(len(line) <= 100 or " " not in line.strip() for line in problem.splitlines())  # paths stay whole
    words = "config " + "name=value " * 30
    assert tilewright.Explanation(words + "\nplan x").split() == [*words.split(), "plan", "x"]
    assert tilewright.Explanation(words).splitlines()[1].startswith(" " * 11 + "name=value")
    assert "lapack" in tilewright.explain("lu:f64:m=100,n=100")
    with pytest.raises(ValueError, match="nonsense"):
        tilewright.explain("nonsense:f64")
    with pytest.raises(TypeError, match="two arrays"):
        tilewright.explain(A)


def test_prepare_takes_problems():
    tilewright.prepare(tilewright.problem_of(A, B), ["gemm:f32:nn:m=3,n=3,k=3"], threads=1)
    with pytest.raises(ValueError):
        tilewright.prepare("gemm:f64:nn:m=-1,n=2,k=2")


def test_a_record_has_the_problems_of_its_block(tmp_path):
    tilewright.matmul(A, B)
    log = tmp_path / "log.jsonl"
    with tilewright.record(log) as outer:
        tilewright.matmul(A, B)
        with tilewright.record() as inner:
            tilewright.matmul(A[0], B[0], threads=1)
            tilewright.matmul(A, B)
    tilewright.matmul(A[0], B[0])
    text = "gemm_batched:f64:nn:m=8,n=8,k=8:strided:batch=100"
    assert {row["problem"]: row["count"] for row in outer.rows} == {text: 2, "gemm:f64:nn:m=8,n=8,k=8": 1}
    assert {row["problem"]: row["count"] for row in inner.rows} == {text: 1, "gemm:f64:nn:m=8,n=8,k=8": 1}
    assert all(row["seconds"] > 0 for row in outer.rows)
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert sorted(line["problem"] for line in lines) == sorted(outer.problems)
    with tilewright.record(log):
        tilewright.matmul(A, B)
    assert text in _tool.run_tool(["record", "list", str(log)])
    total = tmp_path / "total.jsonl"
    _tool.run_tool(["record", "merge", str(log), "-o", str(total)])
    counts = {row["problem"]: row["count"] for row in map(json.loads, total.read_text().splitlines())}
    assert counts[text] == 3


def test_what_is_tuned_is_kept_and_used(tmp_path):
    code = f"""
import json, numpy, tilewright
seen = []
rows = tilewright.tune("gemm_batched:f64:nn:m=3,n=3,k=3:strided:batch=1000:residency=l2", budget_s=0.5,
                       progress=lambda problem, done, spent: seen.append(problem))
kept = [one for one in tilewright.wisdom.list(file={str(tmp_path / 'w.sqlite')!r})]
print(json.dumps([rows, len(seen), kept, tilewright.wisdom.file()]))
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                         env={**os.environ, "TILEWRIGHT_WISDOM": str(tmp_path / "w.sqlite")})
    assert run.returncode == 0, run.stderr
    rows, seen, kept, file = json.loads(run.stdout.splitlines()[-1])
    assert rows[0]["seconds"] > 0 and rows[0]["config"] and rows[0]["family"] == "gemm_small_cpu"
    assert seen > 0 and len(kept) >= 1 and file == str(tmp_path / "w.sqlite")


def test_a_call_may_search_for_what_wisdom_lacks(tmp_path):
    code = """
import numpy, tilewright
a = numpy.ones((500, 3, 5))
assert (tilewright.matmul(a, a, transpose_a=True, tune_on_miss_s=0.2) == 3).all()
print(len(tilewright.wisdom.list()))
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                         env={**os.environ, "TILEWRIGHT_WISDOM": str(tmp_path / "w.sqlite"), "TILEWRIGHT_NOTICES": "off"})
    assert run.returncode == 0, run.stderr
    assert (tmp_path / "w.sqlite").exists()


def test_every_product_is_recorded():
    blocks, whole = tilewright.interleave(A, 8), tilewright.interleave(A, "whole")
    lists = [A, np.ones((2, 4))], [B, np.ones((4, 5))]
    small = "f64:nn:m=8,n=8,k=8"
    for call, problems in [
            (lambda: tilewright.grouped_matmul(*lists), {f"gemm_batched:{small}:pointer:batch=100", "gemm:f64:nn:m=5,n=2,k=4"}),
            (lambda: tilewright.variable_matmul([A[0]] * 2, [B[0]] * 2), {f"gemm:{small}"}),
            (lambda: tilewright.matmul_interleaved(blocks, blocks), {f"gemm_batched:{small}:block_interleaved:batch=100:block=8"}),
            (lambda: tilewright.matmul_interleaved(whole, whole), {f"gemm_batched:{small}:interleaved:batch=100"}),
            (lambda: tilewright.stack_matmul(A, B, A.copy(), [0, 1, 2, 3], [0, 1, 2, 3], [0, 1, 0, 1]), {f"gemm_stack:{small}:batch=4:run=2"}),
            (lambda: tilewright.batch_reduce(A, B), {f"gemm_batch_reduce:{small}:strided:batch=100"}),
            (lambda: tilewright.batch_reduce(A[0], B[0]), {f"gemm_batch_reduce:{small}:strided:batch=1"}),
            (lambda: tilewright.batch_reduce(A.reshape(4, 25, 8, 8), B[:25]), {f"gemm_batch_reduce:{small}:pointer:batch=100"})]:
        with tilewright.record() as log:
            call()
        assert set(log.problems) == problems
        assert all(row["seconds"] > 0 for row in log.rows)
        assert sum(row["count"] for row in log.rows) == (2 if len(problems) == 2 or "gemm:" in log.problems[0] else 1)
        for problem in problems:
            assert tilewright.explain(problem)


SMALL = "gemm_batched:f64:nn:m=3,n=3,k=3:strided:batch=1000:residency=l2"


@pytest.mark.parametrize("answer, searched", [(0, 0), (np.False_, 0), (False, 0), (1, 1), (None, 1), (np.True_, 1)])
def test_a_progress_callback_may_end_the_search(answer, searched):
    rows = tilewright.tune(SMALL, budget_s=0.3, progress=lambda *_: answer)
    assert len(rows) == searched
    for row in rows:
        assert row["asked"] == SMALL and row["problem"].startswith("gemm_batched:f64:nn:m=3,n=3,k=3") and row["joules"] is None


def test_what_a_progress_callback_returns_is_looked_at():
    with pytest.raises(TypeError, match="progress returned 'x'"):
        tilewright.tune(SMALL, budget_s=5, progress=lambda *_: "x")


class Tqdm:
    """As much of tqdm's bar as is used."""

    bars = []

    def __init__(self, total, unit):
        self.total, self.n, self.closed = total, 0, False
        self.bars.append(self)

    def set_postfix_str(self, text):
        assert not self.closed

    def update(self, more):
        self.n += more

    def close(self):
        self.closed = True


@pytest.mark.parametrize("there", [True, False])
def test_a_bar_comes_to_its_end_where_there_is_tqdm(monkeypatch, there):
    module = types.ModuleType("tqdm.auto")
    module.tqdm = Tqdm
    Tqdm.bars.clear()
    for name in ("tqdm", "tqdm.auto"):
        monkeypatch.setitem(sys.modules, name, module if there else None)
    texts = [SMALL, SMALL.replace("m=3", "m=4")]
    assert [row["asked"] for row in tilewright.tune(texts, budget_s=3, progress="bar")] == texts
    assert [(bar.n, bar.total, bar.closed) for bar in Tqdm.bars] == [(2, 2, True)] * there
    with pytest.raises(ValueError, match="strategy"):
        tilewright.tune(SMALL, strategy="luck", progress="bar")
    assert all(bar.closed for bar in Tqdm.bars)


def test_the_tool_leaves_nothing_open():
    run = subprocess.run([sys.executable, "-X", "dev", "-W", "error", "-c", "import tilewright; tilewright.info()"], capture_output=True,
                         text=True)
    assert run.returncode == 0 and run.stderr == ""


def test_words_of_the_tool():
    from tilewright._tool import _words
    for sizes in ([2, 3], (2, 3), range(2, 4), np.array([2, 3]), {2: 0, 3: 0}.keys()):
        assert list(_words({"sizes": sizes})) == ["--sizes", "2,3"]
    assert list(_words({"batch": np.int64(3), "check_only": True, "rest": None})) == ["--batch", "3", "--check-only"]
    assert list(_words({"file": pathlib.Path("a/b"), "n": np.array(3)})) == ["--file", "a/b", "--n", "3"]


def test_errors_of_a_progress_callback_end_the_search():
    def fail(*_):
        raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        tilewright.tune("gemm_batched:f64:nn:m=3,n=3,k=3:strided:batch=1000:residency=l2", budget_s=5, progress=fail)
    with pytest.raises(TypeError, match="needs a problem"):
        tilewright.tune()
    with pytest.raises(ValueError, match="strategy"):
        tilewright.tune("gemm:f64:nn:m=3,n=3,k=3", strategy="luck")


def test_the_machine_and_a_bench_are_data():
    machine = tilewright.info()
    assert isinstance(machine, dict) and machine
    lines = []
    rows = tilewright.bench("gemm_small_cpu", sizes=[3], dtype="f64", batch=1000, residency="l2", threads=1, peers="none",
                            repetitions=3, progress=lines.append)
    assert any(row.get("impl") == "tilewright" and row["seconds"] > 0 for row in rows) and lines
    with pytest.raises(ValueError, match="nonsense"):
        tilewright.bench("nonsense")


def test_wisdom_is_exported_and_imported(tmp_path):
    shipped = sorted((pathlib.Path(tilewright.__file__).resolve().parents[2] / "wisdom").glob("*.jsonl"))
    if not shipped:
        pytest.skip("no checkout around the package: no wisdom to import")
    into, out = tmp_path / "w.sqlite", tmp_path / "w.jsonl"
    line = next(line for line in shipped[0].read_text().splitlines() if '"problem"' in line)
    (tmp_path / "one.jsonl").write_text(line + "\n")
    tilewright.wisdom.import_(tmp_path / "one.jsonl", into=into)
    rows = tilewright.wisdom.export(out, file=into)
    assert len(rows) == 1 and rows[0]["problem"] == json.loads(line)["problem"]
    assert json.loads(out.read_text())["problem"] == rows[0]["problem"]
    assert len(tilewright.wisdom.list(file=into)) == 1
    assert tilewright.wisdom.diff(into, out) == []
    tilewright.wisdom.merge(out, into=into)
    with pytest.raises((RuntimeError, ValueError), match="nowhere"):
        tilewright.wisdom.import_(tmp_path / "nowhere.jsonl", into=into)


def test_texts_that_a_prompt_shows():
    one = np.eye(3)
    assert repr(tilewright.explain(one, one)) == str(tilewright.explain(one, one))
    with tilewright.record() as log:
        assert repr(log) == "<tilewright.record, in its block>"
        tilewright.matmul(one, one)
        tilewright.matmul(one, one)
    assert repr(log) == "<tilewright.record of 1 problem, 2 calls>"
    assert repr(tilewright.lu_factor(np.zeros((2, 3, 3)))).startswith("<tilewright.LU (2, 3, 3) float64, by ")
    assert repr(tilewright.lu_factor(np.zeros((2, 2)))).endswith(", singular>")
    row = {"problem": "x", "config": {"nr": 4}, "seconds": 1.5e-6, "regret": 0.25, "tie": False, "measured": 3, "candidates": 7}
    made = _learning._Tunings([{"asked": "gemm:f64:nn:m=8,n=8,k=8", **row}])
    assert repr(made).splitlines()[1].split() == "gemm:f64:nn:m=8,n=8,k=8 1.5 us 25 % 3 of 7 nr=4".split()
    assert "<td>1.5 us</td>" in made._repr_html_()
    assert "<caption>tilewright.record of 1 problem, 2 calls</caption>" in log._repr_html_() and "<td>2</td>" in log._repr_html_()
    assert "<td>info</td><td>1</td>" in tilewright.lu_factor(np.zeros((2, 2)))._repr_html_()
    batch = tilewright.interleave(np.zeros((5, 2, 3)), 4)
    assert repr(batch) == "<tilewright.Interleaved (5, 2, 3) float64, blocks of 4>" and "<td>block</td><td>4</td>" in batch._repr_html_()
    assert "<td>&lt;</td>" in _html.table(("a",), [("<",)])


def test_a_record_says_what_it_does_not_see():
    with pytest.warns(UserWarning, match="does not record linear systems: 2 factorizations"):
        with tilewright.record() as log:
            tilewright.solve(np.eye(3), np.ones(3))
            tilewright.inv(np.eye(3))
    assert log.rows == []
