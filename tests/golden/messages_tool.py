"""The calls of the command-line tool whose messages tests/golden/messages_test.py records: valid ones with one word spoiled. Only
such are here as are refused before anything is measured, or done at once. {in} is a folder of arrays, {out} one for outputs, in
which C.npy, LU.npy and P.npy stand already and must stay as they are when a call is refused."""

import itertools
import struct

KEPT = ("C.npy", "LU.npy", "P.npy", "X.npy", "kept.jsonl")


def npy(shape, descr="<f8", order=False, values=None, header=None):
    """The bytes of a .npy file of version 1.0."""
    text = header if header is not None else f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}".replace(
        f"'descr': {descr}", f"'descr': {descr if descr.startswith('[') else repr(descr)}")
    text += " " * (-(len(text) + 11) % 64) + "\n"
    count = 1
    for extent in shape:
        count *= extent
    item = int(descr[2:]) if descr[2:].isdigit() else 8
    data = struct.pack(f"<{count}d", *values) if values is not None else bytes(count * item)
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + data


def identity(n):
    return [float(i == j) for i, j in itertools.product(range(n), range(n))]


def input_files():
    """The arrays of {in}, good ones and bad ones, by their names."""
    good = npy((10, 4, 4))
    return {
        "A.npy": good, "B.npy": good, "matrix.npy": npy((4, 4), values=identity(4)), "side.npy": npy((4, 2), values=[1.0] * 8),
        "five_rows.npy": npy((10, 5, 4)), "nine.npy": npy((9, 4, 4)), "vector.npy": npy((4,)), "four_axes.npy": npy((2, 10, 4, 4)),
        "f4.npy": npy((10, 4, 4), "<f4"), "i8.npy": npy((10, 4, 4), "<i8"), "big_endian.npy": npy((10, 4, 4), ">f8"),
        "fields.npy": npy((10, 4, 4), "[('x', '<f8')]"), "empty.npy": b"", "short.npy": good[:9], "header.npy": good[:50],
        "cut.npy": good[:-1], "zip.npy": b"PK" + good[2:], "no_header.npy": npy((4, 4), header="{}"),
        "negative.npy": npy((4, 4), header="{'descr': '<f8', 'fortran_order': False, 'shape': (-4, 4), }"),
        "huge.npy": npy((4, 4), header="{'descr': '<f8', 'fortran_order': False, 'shape': (4611686018427387904, 4), }"),
        "zeros.npy": npy((4, 4)), "wide.npy": npy((3, 4)), "text.txt": b"no array\n", "bad.jsonl": b'{"family": "gemm_small_cpu"}\n',
        "side_f4.npy": npy((4, 2), "<f4"), "side_3.npy": npy((3, 2)),
    }


SINGLE, BATCHED = "gemm:f64:nn:m=3,n=2,k=4", "gemm_batched:f64:nn:m=3,n=2,k=4:strided:batch=8"
BAD_PROBLEMS = (
    "", "gemm", "gemm:f64:nn", "gem:f64:nn:m=3,n=2,k=4", "gemm:f16:nn:m=3,n=2,k=4", "gemm:f64:xn:m=3,n=2,k=4", "gemm:f64:nx:m=3,n=2,k=4",
    "gemm:f64:n:m=3,n=2,k=4", "gemm:f64:nn:m=3,n=2", "gemm:f64:nn:m=3,n=2,k=4,k=4", "gemm:f64:nn:m=3,n=2,l=4", "gemm:f64:nn:m=x,n=2,k=4",
    "gemm:f64:nn:m=1e30,n=2,k=4", "gemm:f64:nn:m=3,n=2,k=4,lda=3", SINGLE + ":strided", SINGLE + ":batch=3", SINGLE + ":lda=x", SINGLE + ":lda=3,4",
    SINGLE + ":lda=3:lda=3", SINGLE + ":x=3", SINGLE + ":alpha=x", SINGLE + ":beta=2", SINGLE + ":residency=l9", SINGLE + ":location=x",
    SINGLE + ":run=2", SINGLE + ":math=emulated", SINGLE + ":bits=fixed", SINGLE + ":", "gemm:f64:nn:m=-1,n=2,k=4", "gemm:f64:nn:m=3,n=-1,k=4",
    "gemm:f64:nn:m=3,n=2,k=-1", SINGLE + ":lda=2", SINGLE + ":ldb=3", SINGLE + ":ldc=-1", SINGLE + ":lda=9223372036854775807",
    BATCHED + ":pointer", "gemm_batched:f64:nn:m=3,n=2,k=4:single:batch=8", "gemm_batched:f64:nn:m=3,n=2,k=4:x:batch=8",
    BATCHED + ":block=4", BATCHED + ":stride_a=-1", BATCHED + ":stride_c=5", BATCHED + ":stride_c=0", BATCHED + ":outer=3", BATCHED + ":outer=0",
    BATCHED + ":outer=2:outer_c=5", BATCHED + ":outermost=-1", "gemm_batched:f64:nn:m=3,n=2,k=4:strided:batch=-1",
    "gemm_batched:f64:nn:m=3,n=2,k=4:pointer:batch=8:stride_a=12", "gemm_batched:f64:nn:m=3,n=2,k=4:pointer:batch=9223372036854775807",
    "gemm_batched:f64:nn:m=3,n=2,k=4:interleaved:batch=8:block=4", "gemm_batched:f64:nn:m=3,n=2,k=4:block_interleaved:batch=8",
    "gemm_batched:f64:nn:m=3,n=2,k=4:block_interleaved:batch=8:block=-1", "gemm_batched:f64:nn:m=3,n=2,k=4:variable:batch=8",
    "gemm_batched:f64:nn:m=3,n=2,k=4:grouped:batch=8", "gemm_batch_reduce:f64:nn:m=3,n=2,k=4:interleaved:batch=8",
    "gemm_batch_reduce:f64:nn:m=3,n=2,k=4:strided:batch=8:stride_c=6", "gemm_stack:f64:nn:m=3,n=2,k=4:strided:batch=8",
    "gemm_stack:f64:nn:m=3,n=2,k=4:batch=8:run=0", "potrf:f64:nn:m=3,n=2,k=4", "lu:f64", "lu:f16:m=3,n=3", "lu:f64:m=3", "lu:f64:m=-1,n=3",
    "lu:f64:m=3,n=3:lda=2", "lu:f64:m=3,n=3:ldb=3", "lu:f64:m=3,n=3:location=x",
)
HYBRID = (("--gpus", "x", "-1", "0,0", "0"), ("--gpu-memory", "x", "-1", "8XB"), ("--split", "x", "2", "-10%"), ("--on-device-failure", "x"))
PRODUCT = (("--target", "x", "gpu", "hybrid"), ("--objective", "x", "alpha", "alpha=2", "energy_within=5"), ("--candidate", "x"),
           ("--threads", "0", "-1", "4097", "x", "1.5"), *HYBRID)


def flags(call, base, table):
    """Each flag of the table with each of its values behind a valid call."""
    for flag, *values in table:
        for value in values:
            yield call, f"{flag}={value}", [*base, flag, value]


def explain_cases():
    for text in BAD_PROBLEMS:
        yield "explain", text, ["explain", text]
    yield "explain", "no problem", ["explain"]
    yield "explain", "a second problem", ["explain", SINGLE, "gemm"]
    yield from flags("explain", ["explain", SINGLE], (*PRODUCT, ("--config", "{", "8", '{"x": 1}', '{"nr": "x"}', '{"nr": 0}'),
                                                      ("--json", "/nowhere/x"), ("--x", "1")))
    yield from flags("explain(lu)", ["explain", "lu:f64:m=3,n=3"], (("--target", "x"), ("--candidate", "x"), ("--threads", "0"),
                                                                    ("--objective", "energy"), ("--config", "{}"), ("--gpus", "x")))


def gemm_cases():
    base = ["gemm", "{in}/A.npy", "{in}/B.npy", "-o", "{out}/C.npy"]
    for name in ("five_rows", "nine", "vector", "four_axes", "f4", "i8", "big_endian", "fields", "empty", "short", "header", "cut", "zip",
                 "no_header", "negative", "huge", "absent"):
        yield "gemm", f"B={name}.npy", ["gemm", "{in}/A.npy", "{in}/" + name + ".npy", "-o", "{out}/C.npy"]
    for name in ("vector", "i8", "cut", "absent"):
        yield "gemm", f"A={name}.npy", ["gemm", "{in}/" + name + ".npy", "{in}/B.npy", "-o", "{out}/C.npy"]
    yield "gemm", "A=folder", ["gemm", "{in}", "{in}/B.npy", "-o", "{out}/C.npy"]
    yield "gemm", "no A", ["gemm"]
    yield "gemm", "no B", ["gemm", "{in}/A.npy", "-o", "{out}/C.npy"]
    yield "gemm", "no output", ["gemm", "{in}/A.npy", "{in}/B.npy"]
    yield "gemm", "a third array", [*base[:3], "{in}/A.npy", *base[3:]]
    for path in ("{out}/no/C.npy", "/dev/null", "{out}", ""):
        yield "gemm", f"output={path}", [*base[:-1], path]
    yield from flags("gemm", base, (("--c", "{in}/five_rows.npy", "{in}/f4.npy", "{in}/absent.npy"), ("--alpha", "x", "1+2j", "1e999", "", "1 "),
                                    ("--beta", "2", "x"), ("--op-a", "x", "nt"), ("--op-b", "x"), *PRODUCT, ("--record", "{in}/A.npy", "/nowhere/x"),
                                    ("--json", "{in}/A.npy", "/nowhere/x"), ("--x", "1")))


def lu_cases():
    base = ["lu", "{in}/matrix.npy", "-o", "{out}/LU.npy", "--pivots", "{out}/P.npy"]
    solving = [*base, "--solve", "{in}/side.npy", "--x", "{out}/X.npy"]
    for name in ("A", "vector", "i8", "big_endian", "cut", "absent"):
        yield "lu", f"A={name}.npy", ["lu", "{in}/" + name + ".npy", *base[2:]]
    yield "lu", "no pivots", base[:4]
    yield "lu", "no output", ["lu", "{in}/matrix.npy", "--pivots", "{out}/P.npy"]
    yield "lu", "pivots=output", [*base[:-1], "{out}/LU.npy"]
    yield "lu", "output=A", ["lu", "{in}/matrix.npy", "-o", "{in}/matrix.npy", "--pivots", "{out}/P.npy"]
    yield "lu", "solve without x", solving[:-2]
    yield "lu", "x without solve", [*base, "--x", "{out}/X.npy"]
    yield "lu", "refine without solve", [*base, "--refine"]
    yield "lu", "singular A", ["lu", "{in}/zeros.npy", *solving[2:]]
    yield "lu", "solve with a wide A", ["lu", "{in}/wide.npy", *solving[2:]]
    for name in ("side_f4", "side_3", "A", "absent"):
        yield "lu", f"solve={name}.npy", [*base, "--solve", "{in}/" + name + ".npy", "--x", "{out}/X.npy"]
    yield from flags("lu", base, (("--target", "x", "gpu"), ("--select", "x"), ("--candidate", "x", "streamed"), ("--nb", "0", "-1", "x", "1.5"),
                                  ("--gpus", "x", "0,0"), ("--gpu-memory", "x"), ("--threads", "0", "4097"), ("--json", "{in}/matrix.npy", "/nowhere/x")))


def factor_cases():
    result = ["-o", "{out}/X.npy"]
    for routine in ("potfr", "geqrf", "ormqr", "gels", "syev", "gesvd", "getrs", "getri", "gesv", "det"):
        yield "factor", routine, ["factor", routine, "{in}/A.npy", *result, *(["--info", "{out}/info.npy"] if routine == "det" else [])]
    for name in ("wide", "vector", "i8", "cut", "absent", "four_axes"):
        yield "factor", f"A={name}.npy", ["factor", "inv", "{in}/" + name + ".npy", *result]
    yield "factor", "no output", ["factor", "inv", "{in}/A.npy"]
    yield "factor", "output=A", ["factor", "inv", "{in}/A.npy", "-o", "{in}/A.npy"]
    yield "factor", "B beside A", ["factor", "inv", "{in}/A.npy", "{in}/B.npy", *result]
    yield "factor", "singular A", ["factor", "inv", "{in}/A.npy", *result]
    yield "factor", "potrf of zeros", ["factor", "potrf", "{in}/zeros.npy", *result]
    yield from flags("factor", ["factor", "getrf", "{in}/matrix.npy", *result], (
        ("--uplo", "lower"), ("--side", "left"), ("--op", "t"), ("--pivoting", "x"), ("--candidate", "x"), ("--threads", "0", "4097"),
        ("--pivots", "{out}/X.npy", "{in}/matrix.npy"), ("--json", "{in}/matrix.npy", "/nowhere/x"), ("--x", "1")))
    for routine, flag in (("getrf", "--tau"), ("inv", "--vectors"), ("syev", "--u"), ("gesvd", "--u"), ("gesvd", "--vh"), ("gesvd", "--vectors")):
        yield f"factor {routine}", f"{flag}=Y.npy", ["factor", routine, "{in}/matrix.npy", *result, flag, "{out}/Y.npy"]
    yield "factor gesvd", "u=vh", ["factor", "gesvd", "{in}/matrix.npy", *result, "--u", "{out}/Y.npy", "--vh", "{out}/Y.npy"]
    yield "factor gels", "wide A", ["factor", "gels", "{in}/wide.npy", "{in}/side.npy", *result]
    yield from flags("factor trsm", ["factor", "trsm", "{in}/matrix.npy", "{in}/side.npy", *result], (("--uplo", "x"), ("--side", "x", "right"), ("--op", "x")))
    yield "factor trsm", "--verify", ["factor", "trsm", "{in}/matrix.npy", "{in}/side.npy", *result, "--verify"]
    for name in ("side_f4", "side_3", "nine", "absent"):
        yield "solve", f"B={name}.npy", ["solve", "{in}/A.npy", "{in}/" + name + ".npy", *result]
    yield "solve", "no B", ["solve", "{in}/A.npy", *result]
    yield "solve", "no output", ["solve", "{in}/matrix.npy", "{in}/side.npy"]
    yield "solve", "singular A", ["solve", "{in}/zeros.npy", "{in}/side.npy", *result]
    yield "solve", "--definite --pivoting=none", ["solve", "{in}/matrix.npy", "{in}/side.npy", *result, "--definite", "--pivoting", "none"]


def tune_cases():
    small = "gemm_batched:f64:nn:m=3,n=2,k=4:strided:batch=1:residency=l1"
    for text in ("gemm", "gemm:f64:nn:m=3,n=2,k=x", "gemm:f64:nn:m=-1,n=2,k=4:residency=l1", "gemm:f64:nn:m=100,n=2,k=4:residency=l1",
                 small + ":location=device", "lu:f64", "lu:f64:m=3,n=3:location=device", "getrf:f64:nn:m=3,n=2,k=4"):
        yield "tune", text, ["tune", text]
    yield from flags("tune(sizes)", ["tune", "--sizes", "4", "--residency", "l1"],
                     (("--dtype", "x"), ("--op", "x", "nnn", "nx"), ("--layout", "x"), ("--beta", "x"), ("--location", "x", "device"),
                      ("--device", "x", "-1", "1.5"), ("--megabytes", "0", "x")))
    for sizes in ("", "x", "0", "4x4", "8:4", "4:8:0", "1.5", "1:1e9"):
        yield "tune", f"--sizes={sizes}", ["tune", "--sizes", sizes]
    yield "tune", "--sizes=4 --layout=block_interleaved --block=x", ["tune", "--sizes", "4", "--layout", "block_interleaved", "--block", "x"]
    yield from flags("tune", ["tune", small], (
        ("--dtype", "f32"), ("--from", "/nowhere/x", "{in}/bad.jsonl", "{in}/text.txt"), ("--budget", "x", "0", "-1s", "1d", "1e9h"),
        ("--clock", "x"), ("--objective", "x", "alpha=2"), ("--family", "x"), ("--strategy", "x"), ("--space", "x"),
        ("--set", "x", "x=1", "nr=x"), ("--where", "x", "nr", "x>=1"), ("--vary", "x"), ("--configs", "0", "x"), ("--seeds", "/nowhere/x"),
        ("--window", "x"), ("--sweep", "/nowhere/x", "{out}/kept.jsonl"), ("--wisdom", "{in}/text.txt", "{in}/bad.jsonl"), ("--json", "/nowhere/x"), ("--x", "1")))


def bench_cases():
    yield "bench", "FAMILY=x", ["bench", "x"]
    for flag, value in (("--routine", "x"), ("--routine", "trsm"), ("--nrhs", "0"), ("--sizes", "4x5"), ("--op", "nt"), ("--peers", "openblas")):
        yield "bench factor", f"{flag}={value}", ["bench", "factor", flag, value]
    yield from flags("bench", ["bench", "gemm_small_cpu", "--sizes", "4", "--peers", "none", "--residency", "l1"], (
        ("--dtype", "x"), ("--op", "x"), ("--layout", "x"), ("--batch", "x", "-1"), ("--block", "0"), ("--alpha", "x", "1,2"), ("--beta", "x"),
        ("--pad-ld", "-1", "x"), ("--pointer-order", "x"), ("--location", "x", "device"), ("--memory", "x", "pinned"), ("--numa", "x"),
        ("--data", "x"), ("--threads", "0", "4097", "x"), ("--candidate", "x"), ("--config", "{", '{"x": 1}'), ("--objective", "x"), ("--target", "x", "gpu"),
        ("--ways", "x"), ("--repetitions", "0", "x", "3:5"), ("--record", "/nowhere/x"), ("--json", "/nowhere/x"), ("--budget", "x"), ("--configs", "x"),
        ("--megabytes", "0"), ("--device", "x"), ("--gpus", "x"), ("--split", "x"), ("--x", "1")))
    for sizes in ("", "x", "0", "4x4", "8:4"):
        yield "bench", f"--sizes={sizes}", ["bench", "gemm_small_cpu", "--sizes", sizes]
    yield "bench", "--residency=l9", ["bench", "gemm_small_cpu", "--sizes", "4", "--residency", "l9"]
    for family, flag in (("transfer", "--counters"), ("layout", "--config"), ("overhead", "--threads"), ("gemm_small", "--counters"), ("hybrid", "--nb")):
        yield f"bench {family}", flag, ["bench", family, flag, *([] if flag == "--counters" else ["2"])]
    yield from flags("bench lu", ["bench", "lu", "--sizes", "64"], (("--nb", "0", "x"), ("--selects", "x"), ("--simulated-gpu", "x", "250", "0,6"), ("--ways", "x")))


def other_cases():
    yield "tilewright", "multiply", ["multiply"]
    yield "tilewright", "--x", ["--x"]
    for verb in ("factor", "clients", "solve", "solv"):
        yield "tilewright", verb, [verb]
    for flag in ("--math", "--bits", "--error-budget", "--part"):
        yield "explain", flag, ["explain", SINGLE, flag, "x"]
    for words in ([], ["x"], ["list", "--file", "/nowhere/x"], ["list", "--file", "{in}/bad.jsonl"], ["list", "--file", "{in}/text.txt"],
                  ["export", "-o", ""], ["export", "-o", "/nowhere/x"], ["import"], ["import", "/nowhere/x.jsonl"], ["import", "{in}/bad.jsonl"],
                  ["merge", "/nowhere/x.jsonl"], ["merge", "{in}/text.txt"], ["diff"], ["diff", "/nowhere/x.jsonl"]):
        yield "wisdom", " ".join(words) or "no verb", ["wisdom", *words]
    for words in ([], ["x"], ["list"], ["list", "/nowhere/x"], ["list", "{in}/bad.jsonl"], ["list", "{in}/bad.jsonl", "--top", "-1"],
                  ["merge", "/nowhere/x", "-o", "{out}/log"], ["merge", "{in}/bad.jsonl"]):
        yield "record", " ".join(words) or "no verb", ["record", *words]
    yield from flags("calibrate", ["calibrate", "--quick"], (("--dtype", "x"), ("--gpus", "x", "0"), ("--budget", "x", "0"), ("--wisdom", "{in}/text.txt"),
                                                            ("--log", "/nowhere/x"), ("--json", "/nowhere/x")))
    for words in ([], ["/nowhere/x"], ["/nowhere/x", "--json", "-"], ["{in}/text.txt", "--json", "-"], ["{in}/bad.jsonl", "--json", "-"]):
        yield "analyze", " ".join(words) or "no sweep", ["analyze", *words]
    yield from flags("info", ["info"], (("--threads", "0", "x"), ("--megabytes", "0"), ("--json", "/nowhere/x"), ("--x", "1")))


def variable_cases():
    """Environment variables, with which a valid call is made."""
    for name, *values in (("CPU", "z80"), ("LOG", "loud"), ("NOTICES", "maybe"), ("JIT", "maybe"), ("TEAM", "mine"), ("WISDOM", "/nowhere/x.jsonl", "/"),
                          ("GPUS", "x", "0,0"), ("GPU_MEMORY", "x"), ("SHARE", "/nowhere")):
        for value in values:
            target = ["--target", "gpu"] if name.startswith("GPU") else []
            yield "explain", f"TILEWRIGHT_{name}={value}", ["explain", SINGLE, *target], {f"TILEWRIGHT_{name}": value}


def cases():
    """(call, what is spoiled, words, environment) of all."""
    for case in itertools.chain(explain_cases(), gemm_cases(), lu_cases(), factor_cases(), tune_cases(), bench_cases(), other_cases(), variable_cases()):
        yield case if len(case) == 4 else (*case, {})
