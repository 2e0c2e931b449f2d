"""Prints what the Python package raises for bad arguments, a line for each call: tests/golden/messages_test.py compares them
with the recorded ones. Each call is valid but for one argument; an out must be as it was afterwards, and operands always."""

import copy
import sys

import numpy as np

import tilewright
from tilewright import wisdom

faults = 0


def matrices(*shape, dtype=np.float64):
    return np.ones(shape, dtype)


def read_only(array):
    array.flags.writeable = False
    return array


def overlapping(*shape):
    """An array whose elements lie on each other."""
    return np.lib.stride_tricks.as_strided(np.zeros(64), shape, (8,) * len(shape))


def arrays_in(x):
    """The memory of arguments, of lists of them and of batches."""
    if isinstance(x, (list, tuple)):
        return [array for one in x for array in arrays_in(one)]
    x = getattr(x, "data", None) if isinstance(x, tilewright.Interleaved) else x
    return [x] if isinstance(x, np.ndarray) and x.dtype != object else []


class Call:
    """A function with valid arguments, made anew for each spoiled one. `make` returns positional and keyword arguments."""

    def __init__(self, name, function, make):
        self.name, self.function, self.make = name, function, make
        self.tell("valid", lambda args, options: None)

    def tell(self, what, spoil):
        global faults
        args, options = self.make()
        args, options = list(args), dict(options)
        spoil(args, options)
        arrays = arrays_in([*args, *options.values()])
        before = copy.deepcopy(arrays)
        outcome = "accepted"
        try:
            self.function(*args, **options)
        except Exception as error:  # whatever it is, it is what a user sees
            outcome = f"{type(error).__name__}: {' '.join(str(error).split())}"
            if any(x.tobytes() != y.tobytes() for x, y in zip(arrays, before)):
                outcome += " [WROTE]"
                faults += 1
        print(f"python {self.name} {what} -> {outcome}")

    def argument(self, index, name, **values):
        """args[index] becomes each value, which is described by its keyword."""
        for described, value in values.items():
            def spoil(args, options, value=value):
                args[index] = value() if callable(value) else value
            self.tell(f"{name}={described}", spoil)

    def option(self, name, *values):
        for value in values:
            def spoil(args, options, value=value):
                options[name] = value
            self.tell(f"{name}={value!r}", spoil)

    def options(self, table):
        for name, values in table.items():
            self.option(name, *values)


# Options of products, each with values that mean nothing. Texts of numbers and types are Python's own where it refuses first.
OPTIONS = {
    "target": ("tpu", 7, "gpu", "hybrid"), "objective": ("speed", "alpha", "alpha=2", 7), "threads": (-1, 4097, 1.5, "2", 2 ** 40),
    "checked": (7, "yes"), "residency": ("l9", 7), "arrival": ("often", 7), "candidate": ("nobody", 7), "config": ("{", '{"x": 1}', '{"nr": 0}', 7),
    "gpus": (-1, (-1,), (0, 0), "0", (1.5,)), "gpu_memory_bytes": (-1, 1.5, "8GiB"), "split": ("half", 7),
    "cpu_share": (0.5, 2, "x"), "on_device_failure": ("retry", 7), "tune_on_miss_s": (-1, "x", float("nan")), "learn": (7, "calls"), "threds": (1,),
}
PRODUCT = {
    "alpha": ("2", 1j, None, [1, 2], 10 ** 400), "beta": ("2", 1j, None), "transpose_a": (7, "n"), "transpose_b": (7,),
    "conjugate_a": (7, None), "conjugate_b": ("y",), "promote": (7,),
}
STREAM = {"stream": (-1, 1, 1.5, "0")}


def operands():
    """Values of an operand that no product takes where another of shape (4, 4) and float64 stands beside it."""
    return {
        "None": None, "object": object, "a number": 2.0, "text": "x", "float32": lambda: matrices(4, 4, dtype=np.float32),
        "int64": lambda: matrices(4, 4, dtype=np.int64), "objects": lambda: matrices(4, 4, dtype=object),
        "strings": lambda: np.array([["a"]]), "masked": lambda: np.ma.masked_array(matrices(4, 4), matrices(4, 4) > 0),
        "shape (3, 3)": lambda: matrices(3, 3), "shape (5,)": lambda: matrices(5), "shape ()": lambda: np.array(1.0),
    }


def outs(*shape):
    """Values of an out that has to have this shape and float64."""
    return {
        "a list": lambda: [[0.0] * 4] * 4, "object": object, "float32": lambda: matrices(*shape, dtype=np.float32),
        "one row more": lambda: matrices(*shape[:-2], shape[-2] + 1, shape[-1]), "one dimension more": lambda: matrices(1, *shape),
        "read-only": lambda: read_only(matrices(*shape)), "overlapping": lambda: overlapping(*shape),
    }


def tell_matmul():
    one = Call("matmul", tilewright.matmul, lambda: ([matrices(4, 4), matrices(4, 4)], {"out": np.zeros((4, 4))}))
    one.argument(0, "a", **operands())
    one.argument(1, "b", **operands())
    for described, value in outs(4, 4).items():
        one.tell(f"out={described}", lambda args, options, value=value: options.update(out=value()))
    one.options({**PRODUCT, **OPTIONS, **STREAM})
    batch = Call("matmul(batch)", tilewright.matmul, lambda: ([matrices(3, 4, 2), matrices(3, 2, 5)], {"out": np.zeros((3, 4, 5))}))
    batch.argument(1, "b", **{"batch of 2": lambda: matrices(2, 2, 5), "3 rows": lambda: matrices(3, 3, 5), "a vector": lambda: matrices(3)})
    for described, value in outs(3, 4, 5).items():
        batch.tell(f"out={described}", lambda args, options, value=value: options.update(out=value()))
    alone = Call("matmul(no out)", tilewright.matmul, lambda: ([matrices(4, 4), matrices(4, 4)], {}))
    alone.option("beta", 1, 1j)
    alone.tell("no arguments", lambda args, options: args.clear())
    alone.tell("a alone", lambda args, options: args.pop())


def tell_lists():
    for name, function in (("grouped_matmul", tilewright.grouped_matmul), ("variable_matmul", tilewright.variable_matmul)):
        call = Call(name, function, lambda: ([[matrices(4, 3), matrices(2, 2)], [matrices(3, 4), matrices(2, 2)]],
                                             {"out": [np.zeros((4, 4)), np.zeros((2, 2))]}))
        call.argument(0, "a", **{"None": None, "a number": 1.0, "one array": lambda: [matrices(4, 3)],
                                 "a[1] of 3 columns": lambda: [matrices(4, 3), matrices(2, 3)],
                                 "a[1] float32": lambda: [matrices(4, 3), matrices(2, 2, dtype=np.float32)],
                                 "a[1] None": lambda: [matrices(4, 3), None], "a[1] a batch": lambda: [matrices(4, 3), matrices(2, 2, 2)]})
        for described, out in {"one array": lambda: [np.zeros((4, 4))], "out[1] of 3 rows": lambda: [np.zeros((4, 4)), np.zeros((3, 2))],
                               "out[1] float32": lambda: [np.zeros((4, 4)), np.zeros((2, 2), np.float32)],
                               "out[1] read-only": lambda: [np.zeros((4, 4)), read_only(np.zeros((2, 2)))],
                               "out[1] overlapping": lambda: [np.zeros((4, 4)), overlapping(2, 2)], "a number": lambda: 1.0}.items():
            call.tell(f"out={described}", lambda args, options, out=out: options.update(out=out()))
        call.options({"alpha": ("2", 1j), "transpose_a": (7,), "threads": (-1, 4097), "candidate": ("nobody",), "threds": (1,),
                      "stream": (1,), "target": ("tpu",)})


def tell_sums():
    call = Call("batch_reduce", tilewright.batch_reduce, lambda: ([matrices(3, 4, 2), matrices(3, 2, 4)], {"out": np.zeros((4, 4))}))
    call.argument(0, "a", **{"a vector": lambda: matrices(2), "batch of 2": lambda: matrices(2, 4, 2), "float32": lambda: matrices(3, 4, 2, dtype=np.float32),
                             "3 columns": lambda: matrices(3, 4, 3), "None": None, "int64": lambda: matrices(3, 4, 2, dtype=np.int64)})
    for described, value in outs(4, 4).items():
        call.tell(f"out={described}", lambda args, options, value=value: options.update(out=value()))
    call.options({**PRODUCT, **OPTIONS, **STREAM})
    stack = Call("stack_matmul", tilewright.stack_matmul,
                 lambda: ([matrices(2, 4, 3), matrices(2, 3, 4), np.zeros((2, 4, 4)), [0, 1], [0, 1], [0, 0]], {}))
    stack.argument(0, "a", **{"a matrix": lambda: matrices(4, 3), "4 columns": lambda: matrices(2, 4, 4), "None": None,
                              "float32": lambda: matrices(2, 4, 3, dtype=np.float32)})
    stack.argument(1, "b", **{"a matrix": lambda: matrices(3, 4), "5 columns": lambda: matrices(2, 3, 5)})
    stack.argument(2, "out", **{"a matrix": lambda: np.zeros((4, 4)), "3 rows": lambda: np.zeros((2, 3, 4)), "None": None,
                                "float32": lambda: np.zeros((2, 4, 4), np.float32), "read-only": lambda: read_only(np.zeros((2, 4, 4))),
                                "overlapping": lambda: overlapping(2, 4, 4)})
    for index, name in ((3, "a_index"), (4, "b_index"), (5, "out_index")):
        stack.argument(index, name, **{"[0, 2]": [0, 2], "[0, -1]": [0, -1], "[0]": [0], "[0.5, 1]": [0.5, 1], "[[0, 1]]": [[0, 1]],
                                       "None": None, "[0, 2**63]": lambda: np.array([0, 2 ** 63], np.uint64)})
    stack.options({"alpha": ("2", 1j), "beta": ("2",), "transpose_a": (7,), "promote": (7,), "threads": (-1, 4097), "candidate": ("nobody",),
                   "threds": (1,), "stream": (1,)})


def tell_einsum():
    call = Call("einsum", tilewright.einsum, lambda: (["ij,jk->ik", matrices(4, 3), matrices(3, 4)], {"out": np.zeros((4, 4))}))
    call.argument(0, "subscripts", **{text: text for text in ("ij,jk->il", "ij,jk->ii", "ij->ik", "ij,jk,kl->il", "i1,jk->ik", "ijl,jk->ik",
                                                               "ij,jk->i->k", "ij,kj->ik", "...ij,jk->ik")})
    call.argument(0, "subscripts", **{"None": None, "7": 7})
    call.argument(1, "operand 0", **{"float32": lambda: matrices(4, 3, dtype=np.float32), "int64": lambda: matrices(4, 3, dtype=np.int64),
                                     "None": None, "objects": lambda: matrices(4, 3, dtype=object), "shape (4, 5)": lambda: matrices(4, 5),
                                     "shape (4,)": lambda: matrices(4)})
    for described, value in outs(4, 4).items():
        call.tell(f"out={described}", lambda args, options, value=value: options.update(out=value()))
    call.options({"alpha": ("2", 1j), "beta": ("2", 1j), "promote": (7,), "optimize": ("best", 7, [(0, 2)], [(0,), (0,)]), "threads": (-1, 4097),
                  "candidate": ("nobody",), "target": ("tpu",), "threds": (1,), "stream": (1,)})
    call.tell("no operands", lambda args, options: args.__delitem__(slice(1, None)))
    alone = Call("einsum(no out)", tilewright.einsum, lambda: (["ij,jk->ik", matrices(4, 3), matrices(3, 4)], {}))
    alone.option("beta", 1)
    lists = Call("einsum(sublists)", tilewright.einsum, lambda: ([matrices(4, 3), [0, 1], matrices(3, 4), [1, 2], [0, 2]], {}))
    lists.argument(1, "labels", **{"['x', 1]": ["x", 1], "[0]": [0], "None": None})
    path = Call("einsum_path", tilewright.einsum_path, lambda: (["ij,jk->ik", matrices(4, 3), matrices(3, 4)], {}))
    path.argument(0, "subscripts", **{"ij,jk->il": "ij,jk->il", "7": 7})
    path.options({"optimize": ("best", 7, [(0, 5)]), "promote": (7,)})


LU_OPTIONS = {"target": ("tpu", 7, "gpu"), "threads": (-1, 4097, 1.5, "2"), "candidate": ("nobody", 7, "streamed"), "nb": (-1, 1.5, 2 ** 40),
              "promote": (7,), "threds": (1,)}


def tell_lu():
    system = 2 * np.eye(3)
    wrong = {"a vector": lambda: matrices(3), "3 x 4": lambda: matrices(3, 4), "int64": lambda: np.eye(3, dtype=np.int64),
             "float16": lambda: np.eye(3, dtype=np.float16), "None": None, "singular": lambda: np.zeros((3, 3)), "text": "x"}
    factor = Call("lu_factor", tilewright.lu_factor, lambda: ([system.copy()], {}))
    factor.argument(0, "a", **wrong)
    factor.options(LU_OPTIONS)
    solve = Call("solve", tilewright.solve, lambda: ([system.copy(), matrices(3, 2)], {}))
    solve.argument(0, "a", **wrong)
    solve.argument(1, "b", **{"4 rows": lambda: matrices(4, 2), "float32": lambda: matrices(3, 2, dtype=np.float32), "None": None,
                              "a number": 1.0, "a vector of 4": lambda: matrices(4), "text": "x"})
    solve.options(LU_OPTIONS)
    inverse = Call("inv", tilewright.inv, lambda: ([system.copy()], {}))
    inverse.argument(0, "a", **wrong)
    inverse.options(LU_OPTIONS)
    kept = Call("LU.solve", lambda lu, b, **options: lu.solve(b, **options), lambda: ([tilewright.lu_factor(system), matrices(3, 2)], {}))
    kept.argument(0, "LU", **{"of 3 x 4": lambda: tilewright.lu_factor(np.eye(3, 4)), "singular": lambda: tilewright.lu_factor(np.zeros((3, 3))),
                              "of 2 matrices": lambda: tilewright.lu_factor(np.stack([system] * 2))})
    kept.argument(1, "b", **{"4 rows": lambda: matrices(4, 2), "float32": lambda: matrices(3, 2, dtype=np.float32), "None": None,
                             "3 batches": lambda: matrices(3, 4, 2)})
    kept.options({"transpose": (7, "t"), "conjugate": (True, 7)})
    of_factors = Call("LU.inverse", lambda lu: lu.inverse(), lambda: ([tilewright.lu_factor(system)], {}))
    of_factors.argument(0, "LU", **{"of 3 x 4": lambda: tilewright.lu_factor(np.eye(3, 4)), "singular": lambda: tilewright.lu_factor(np.zeros((3, 3)))})


def tell_determinants():
    wrong = {"a vector": lambda: matrices(3), "3 x 4": lambda: matrices(3, 4), "int64": lambda: np.eye(3, dtype=np.int64), "None": None,
             "indefinite": lambda: -np.eye(3), "of 2, one indefinite": lambda: np.stack([np.eye(3), np.diag([1.0, -1.0, 1.0])])}
    options = {"threads": (-1, 4097, 1.5, "2"), "promote": (7,), "threds": (1,)}
    for name in ("det", "slogdet", "cholesky"):
        call = Call(name, getattr(tilewright, name), lambda: ([2 * np.eye(3)], {}))
        call.argument(0, "a", **wrong)
        call.options({**options, "upper": (7, "u")} if name == "cholesky" else options)


def tell_decompositions():
    wrong = {"a vector": lambda: matrices(3), "3 x 4": lambda: matrices(3, 4), "int64": lambda: np.eye(3, dtype=np.int64), "None": None,
             "nan": lambda: np.full((3, 3), np.nan), "of 2, one nan": lambda: np.stack([np.eye(3), np.full((3, 3), np.nan)])}
    options = {"threads": (-1, 4097, 1.5, "2"), "promote": (7,), "threds": (1,)}
    own = {"qr": {"mode": ("full", 7)}, "eigh": {"UPLO": ("lower", 7)}, "eigvalsh": {"UPLO": ("X",)},
           "svd": {"full_matrices": (7,), "compute_uv": ("no",), "hermitian": (2,)}, "svdvals": {}}
    for name, more in own.items():
        call = Call(name, getattr(tilewright, name), lambda: ([2 * np.eye(3)], {}))
        call.argument(0, "a", **wrong)
        call.options({**options, **more})
    call = Call("lstsq", tilewright.lstsq, lambda: ([np.eye(3, 2), matrices(3, 2)], {}))
    call.argument(0, "a", **wrong)
    call.argument(1, "b", **{"4 rows": lambda: matrices(4, 2), "float32": lambda: matrices(3, 2, dtype=np.float32), "None": None, "a number": 1.0})
    call.options({**options, "rcond": ("1",), "driver": ("gelsy", 7)})
    call = Call("lstsq(gels)", tilewright.lstsq, lambda: ([np.eye(3, 2), matrices(3, 2)], {"driver": "gels"}))
    call.argument(0, "a", **{"3 x 4": lambda: matrices(3, 4), "zero": lambda: np.zeros((3, 2)), "of 2, one zero": lambda: np.stack([np.eye(3), np.zeros((3, 3))])})


def batch(*shape, block=2, dtype=np.float64):
    return tilewright.interleave(matrices(*shape, dtype=dtype), block)


def tell_interleaved():
    make = Call("interleave", tilewright.interleave, lambda: ([matrices(5, 4, 3)], {"block": 2}))
    make.argument(0, "a", **{"a matrix": lambda: matrices(4, 3), "int64": lambda: matrices(5, 4, 3, dtype=np.int64), "None": None, "text": "x"})
    make.options({"block": (-1, 0, 1.5, "all", 2 ** 62), "threads": (-1, 1.5)})
    back = Call("Interleaved.deinterleave", lambda x, **options: x.deinterleave(**options), lambda: ([batch(5, 4, 3)], {"out": np.zeros((5, 4, 3))}))
    for described, value in outs(5, 4, 3).items():
        back.tell(f"out={described}", lambda args, options, value=value: options.update(out=value()))
    back.option("threads", -1, "x")
    product = Call("matmul_interleaved", tilewright.matmul_interleaved,
                   lambda: ([batch(5, 4, 3), batch(5, 3, 4)], {"out": batch(5, 4, 4)}))
    wrong = {"an array": lambda: matrices(5, 4, 3), "None": None, "of 4": lambda: batch(4, 3, 4), "in blocks of 4": lambda: batch(5, 3, 4, block=4),
             "float32": lambda: batch(5, 3, 4, dtype=np.float32), "of 4 rows": lambda: batch(5, 4, 4)}
    product.argument(1, "b", **wrong)
    for described, value in {"an array": lambda: matrices(5, 4, 4), "of 4": lambda: batch(4, 4, 4), "in blocks of 4": lambda: batch(5, 4, 4, block=4),
                             "float32": lambda: batch(5, 4, 4, dtype=np.float32)}.items():
        product.tell(f"out={described}", lambda args, options, value=value: options.update(out=value()))
    product.options({"alpha": ("2", 1j), "beta": ("2",), "stream": (1,), "threads": (-1, 4097), "candidate": ("nobody",), "threds": (1,)})


PROBLEM = "gemm:f64:nn:m=3,n=2,k=4"
TEXTS = ("gemm", "gemm:f16:nn:m=3,n=2,k=4", "gemm:f64:nn:m=-1,n=2,k=4", "gemm:f64:nn:m=3,n=2,k=4:lda=2", "getrf:f64:nn:m=3,n=2,k=4")


def tell_learning():
    explain = Call("explain", tilewright.explain, lambda: ([PROBLEM], {}))
    explain.argument(0, "problem", **{text: text for text in TEXTS}, **{"None": None, "7": 7, "an array": lambda: matrices(4, 4)})
    explain.options({"device": (-1, 1.5), "threads": (-1,), "candidate": ("nobody",), "target": ("tpu",), "threds": (1,), "alpha": (2,)})
    problem = Call("problem_of", tilewright.problem_of, lambda: ([matrices(4, 3), matrices(3, 4)], {}))
    problem.argument(1, "b", **{"4 rows": lambda: matrices(4, 4), "float32": lambda: matrices(3, 4, dtype=np.float32), "None": None})
    problem.options({"alpha": ("2",), "beta": (1,), "transpose_a": (7,), "threds": (1,)})
    prepare = Call("prepare", tilewright.prepare, lambda: ([PROBLEM], {}))
    prepare.argument(0, "problem", **{text: text for text in TEXTS}, **{"None": None, "7": 7, "[7]": [7]})
    prepare.options({"device": (-1,), "threads": (-1,), "candidate": ("nobody",), "threds": (1,)})
    tune = Call("tune(valid text, no time)", tilewright.tune, lambda: (["gemm_batched:f64:nn:m=3,n=2,k=4:strided:batch=1:residency=l1"], {"budget_s": -1}))
    for text in TEXTS[:2] + TEXTS[4:]:
        tune.argument(0, "problem", **{text: text})
    tune.argument(0, "problem", **{"None": None, "7": 7})
    tune.tell("no problem", lambda args, options: args.clear())
    tune.option("budget_s", 0, "x", float("nan"))
    tune.options({"objective": (7,), "strategy": (7,), "device": (1.5,), "log": (7,), "resume": (7,), "progress": (7, "x")})
    timed = Call("tune(stopped)", tilewright.tune, lambda: (["gemm_batched:f64:nn:m=3,n=2,k=4:strided:batch=1:residency=l1"],
                                                            {"progress": lambda *now: False}))
    timed.options({"objective": ("x", "alpha=2"), "strategy": ("x",), "resume": (True,), "log": ("/nowhere/x",)})
    record = Call("record", tilewright.record, lambda: ([], {"path": None}))
    record.option("path", 7)


def tell_tool():
    """What the tool says as an exception of Python; the rest of it is the door of the command line."""
    bench = Call("bench(no family)", tilewright.bench, lambda: (["x"], {}))
    bench.argument(0, "family", **{"7": 7, "--help": "--help"})
    bench.options({"progress": (7,), "json": ("x",), "threds": (1,)})
    merge = Call("wisdom.merge(no file)", wisdom.merge, lambda: ([], {}))
    merge.tell("files=/nowhere/x.jsonl", lambda args, options: args.append("/nowhere/x.jsonl"))
    listed = Call("wisdom.list(no file)", wisdom.list, lambda: ([], {"file": "/nowhere/x.jsonl"}))
    listed.option("problem", "gemm:f99", 7)


def main():
    tell_matmul()
    tell_lists()
    tell_sums()
    tell_einsum()
    tell_lu()
    tell_determinants()
    tell_decompositions()
    tell_interleaved()
    tell_learning()
    tell_tool()
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
