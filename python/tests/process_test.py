"""Threads, Python's lock, fork, importing and ending: what a package does to the process that it is in."""

import os
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest

import tilewright


def run(code, **environment):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, **environment})


def test_many_threads_get_right_results():
    rng = np.random.default_rng(1)
    work = [(rng.random((n, 5, 7)), rng.random((n, 7, 4))) for n in (1, 3, 200, 4000)]
    wrong = []

    def multiply(seed):
        for i in range(40):
            a, b = work[(i + seed) % len(work)]
            got = tilewright.matmul(a, b, threads=1 + i % 2) if i % 3 else tilewright.matmul(a, b)
            if not np.allclose(got, a @ b, rtol=1e-12):
                wrong.append((seed, i))

    threads = [threading.Thread(target=multiply, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_others_run_while_a_product_does():
    """No thread is forced to release the lock here, so that others run only where products release it."""
    a = np.ones((900, 900))
    began, ended, seen = threading.Event(), threading.Event(), []

    def multiply():
        began.set()
        for _ in range(20):
            tilewright.matmul(a, a, threads=1)
        ended.set()

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1000)
    try:
        thread = threading.Thread(target=multiply)
        thread.start()
        began.wait()
        while not ended.is_set():
            seen.append(ended.is_set())
            ended.wait(0.0005)
        thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert len(seen) > 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_multiplies_too():
    code = """
import os, sys, numpy as np, tilewright
a = np.random.rand(5000, 8, 8)
big = np.random.rand(200, 200)
tilewright.matmul(a, a); tilewright.matmul(big, big)
child = os.fork()
if child == 0:
    right = np.allclose(tilewright.matmul(a, a), a @ a) and np.allclose(tilewright.matmul(a[:2], a[:2], threads=2), a[:2] @ a[:2])
    os._exit(0 if right else 7)
_, status = os.waitpid(child, 0)
assert np.allclose(tilewright.matmul(a, a), a @ a)
sys.exit(os.waitstatus_to_exitcode(status))
"""
    assert run(code).returncode == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_children_of_a_program_whose_threads_multiply_and_record():
    # Large products release Python's lock, so that a child may begin during any call. Only a child that hangs uses
    # its minutes.
    done = run("""
import os, signal, threading
import numpy as np
import tilewright as tw

ones = np.ones((300, 300))
stack = np.ones((500, 6, 6))
ends = False

def multiply():
    n = 0
    with tw.record():
        while not ends:
            n = n % 60 + 1
            tw.matmul(ones[:, :n].copy(), ones[:n].copy())
            tw.matmul(stack, stack)

threads = [threading.Thread(target=multiply) for _ in range(3)]
for thread in threads:
    thread.start()
for turn in range(60):
    child = os.fork()
    if child == 0:
        signal.alarm(300)
        with tw.record():
            right = (tw.matmul(ones, ones) == 300).all() and (tw.matmul(stack, stack) == 6).all()
        os._exit(0 if right else 1)
    assert os.waitpid(child, 0)[1] == 0, turn
ends = True
for thread in threads:
    thread.join()
print("right")
""")
    assert done.stdout == "right\n", done.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_children_of_a_program_that_is_importing_a_part():
    done = run("""
import os, signal, sys, threading
import tilewright as tw

began, forks = threading.Event(), threading.Event()

class Slow:
    def find_spec(self, name, path, target=None):
        if name == "tilewright._learning":
            began.set()
            forks.wait(1)  # it comes in vain: fork waits for the import

sys.meta_path.insert(0, Slow())
thread = threading.Thread(target=lambda: tw.record)
thread.start()
began.wait()
os.register_at_fork(before=forks.set)
child = os.fork()
if child == 0:
    signal.alarm(60)
    with tw.record():
        os._exit(0 if tw.matmul([[2.0]], [[3.0]]) == 6 else 1)
thread.join()
assert os.waitpid(child, 0)[1] == 0
print("right")
""")
    assert done.stdout == "right\n", done.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_searches_too():
    """Threads that the parent searched with are not there."""
    code = """
import os, tilewright
problem = "gemm_batched:f64:nn:m=3,n=3,k=3:strided:batch=1000:residency=l2"
assert tilewright.tune(problem, budget_s=0.5)
child = os.fork()
if child == 0:
    os._exit(0 if tilewright.tune(problem, budget_s=0.5) else 3)
assert os.waitpid(child, 0)[1] == 0
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


def test_importing_loads_no_learning_and_no_cuda():
    code = """
import sys, numpy, tilewright
a = numpy.ones((3, 3))
tilewright.matmul(a, a)
loaded = [name for name in sys.modules if name.startswith("tilewright.")]
maps = open("/proc/self/maps").read()
print(sorted(loaded))
print([name for name in ("libcuda", "nvrtc", "cublas", "libtilewright_tune") if name in maps])
"""
    out = run(code)
    assert out.returncode == 0, out.stderr
    modules, libraries = out.stdout.splitlines()
    assert "_tune" not in modules and "_learning" not in modules and "_lu" not in modules
    assert libraries == "[]"


def test_nothing_is_printed_and_nothing_leaks_at_the_end():
    code = "import numpy as n, tilewright; print(tilewright.matmul(n.ones((7, 9, 9)), n.ones((9, 2)))[0, 0, 0])"
    out = run(code)
    assert (out.returncode, out.stdout, out.stderr) == (0, "9.0\n", "")


def test_references_are_given_back():
    a, b, out = np.ones((3, 3)), np.ones((3, 3)), np.ones((3, 3))
    bad = np.ones((4, 3))

    def calls():
        for _ in range(100):
            tilewright.matmul(a, b)
            tilewright.matmul(a, b, out)
            tilewright.matmul(a, b, out=out, alpha=2)
            tilewright.matmul(a[::-1], b)
            for arguments in ((a, bad[:2]), (a, b, bad)):
                try:
                    tilewright.matmul(*arguments)
                except ValueError:
                    pass

    calls()
    counts = [sys.getrefcount(x) for x in (a, b, out, bad)]
    calls()
    assert [sys.getrefcount(x) for x in (a, b, out, bad)] == counts


@pytest.mark.parametrize("work", ["tilewright.matmul(a, a)", "tilewright.batch_reduce(a, a)", "tilewright.lu_factor(a[:500])"])
def test_daemon_threads_may_multiply_when_the_process_ends(work):
    code = f"""
import threading, time, numpy, tilewright
a = numpy.random.rand(2000, 16, 16)
def multiply():
    while True:
        {work}
for _ in range(3):
    threading.Thread(target=multiply, daemon=True).start()
time.sleep(0.3)
"""
    out = run(code)
    assert (out.returncode, out.stderr) == (0, "")


def test_daemon_threads_may_search_when_the_process_ends():
    code = """
import threading, time, tilewright
problem = "gemm_batched:f64:nn:m=7,n=7,k=7:strided:batch=1000:residency=l2"
options = dict(budget_s=60, progress=lambda *_: None)
threading.Thread(target=tilewright.tune, args=(problem,), kwargs=options, daemon=True).start()
time.sleep(1)
"""
    out = run(code)
    assert (out.returncode, out.stderr) == (0, "")


def test_no_docstrings():
    done = subprocess.run([sys.executable, "-OO", "-c", "import tilewright; print(tilewright.matmul([[2.0]], [[3.0]]))"],
                          capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "[[6.]]\n", "")


def test_matmul_is_a_function_of_its_module():
    assert pickle.loads(pickle.dumps(tilewright.matmul)) is tilewright.matmul
    assert tilewright.matmul.__qualname__ == "matmul" and tilewright.matmul.__module__ == "tilewright"
    assert tilewright.matmul.__self__ is None


def test_importing_again():
    code = """
import sys, numpy
for _ in range(3):
    import tilewright
    one = numpy.eye(2)
    with tilewright.record() as block:
        assert tilewright.matmul(one, one).sum() == tilewright.einsum("ij,jk", one, one).sum() == 2
        assert tilewright.matmul([[2.0]], one[:1]).sum() == 2
    assert tilewright.lu_factor(one).info == 0 and len(block.rows) == 2, block.rows
    assert tilewright.tune("gemm_batched:f64:nn:m=3,n=3,k=3:strided:batch=1000:residency=l2", budget_s=0.5)
    for name in [name for name in sys.modules if name.startswith("tilewright")]:
        del sys.modules[name]
"""
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
