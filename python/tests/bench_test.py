"""The programs of python/bench run, on cases so small that their figures mean nothing, and write what the tables read."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

BENCH = pathlib.Path(__file__).resolve().parents[1] / "bench"


def run(tmp_path, program, *arguments):
    """Rows of the file that the program writes, the first line first."""
    path = tmp_path / "rows.jsonl"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    environment.pop("TILEWRIGHT_BENCH_THREADS", None)
    made = subprocess.run([sys.executable, "-B", str(BENCH / program), "--rounds", "2", "--json", str(path), *arguments], env=environment,
                          capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stdout + made.stderr
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert program in rows[0]["command"] and "numpy" in rows[0]["versions"]
    return rows[1:]


def test_matmul(tmp_path):
    rows = run(tmp_path, "bench_matmul.py", "--sizes", "2,5", "--batch", "100", "--dtype", "float64,complex64", "--threads", "1,2")
    summaries = [row for row in rows if row.get("summary")]
    assert {(row["dtype"], row["threads"], row["cases"]) for row in summaries} == {
        (dtype, threads, 2) for dtype in ("float64", "complex64") for threads in (1, 2)}
    assert all(row["seconds"] > 0 for row in rows if not row.get("summary"))


def test_einsum(tmp_path):
    rows = run(tmp_path, "bench_einsum.py", "--threads", "1", "--cases", "gram,attention")
    assert {row["impl"] for row in rows if "impl" in row} >= {"tilewright", "numpy"}
    assert all(row["copied_bytes"] == 0 for row in rows if row.get("impl") == "tilewright")


def test_overhead(tmp_path):
    loop = os.environ.get("TILEWRIGHT_CALL_LOOP")
    if not loop:
        pytest.skip("TILEWRIGHT_CALL_LOOP does not name the loop in C++ (target python_call_loop)")
    rows = run(tmp_path, "bench_overhead.py", "--loop", loop)
    assert {row["bench"] for row in rows} == {"overhead", "import"}
    assert any(row["impl"] == "overhead over c++" and "share" in row for row in rows)


def test_systems(tmp_path):
    rows = run(tmp_path, "bench_systems.py", "--sizes", "2,5", "--batch", "20", "--dtype", "float64,complex64")
    functions = {"solve", "inv", "det", "cholesky", "qr", "eigh", "svd"}
    assert {(row["function"], row["dtype"]) for row in rows if row.get("summary")} == {
        (name, dtype) for name in functions for dtype in ("float64", "complex64")}
    assert all(row["seconds"] > 0 for row in rows if not row.get("summary"))
