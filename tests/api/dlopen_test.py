#!/usr/bin/env python3
"""Opens the shared library, multiplies with several threads and closes it again, a thousand times: threads that OpenMP
keeps must not find their code gone. Takes the library's path, and optionally how often."""

import _ctypes
import ctypes
import sys
import threading

ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
N, BATCH = 8, 3000


DOUBLES = ctypes.c_double * (N * N * BATCH)
A = DOUBLES(*[1.0] * (N * N * BATCH))


def multiply(library, threads):
    context = ctypes.c_void_p()
    assert library.tilewright_create(None, None, ctypes.byref(context)) == 0
    options = (ctypes.c_int * 64)(ctypes.sizeof(ctypes.c_int * 64))  # its size, and zeros but the threads
    options[22] = threads
    a, c, one, zero = A, DOUBLES(), ctypes.c_double(1), ctypes.c_double(0)
    integers = lambda *values: [ctypes.c_int64(value) for value in values]
    status = library.tilewright_gemm_strided_batched(
        context, 1, 0, 0, *integers(N, N, N), ctypes.byref(one), a, *integers(N, N * N), a, *integers(N, N * N),
        ctypes.byref(zero), c, *integers(N, N * N, BATCH), options, 0, None)
    assert status == 0 and c[0] == N and c[N * N * BATCH - 1] == N
    library.tilewright_destroy.argtypes = [ctypes.c_void_p]
    library.tilewright_destroy(context)


for turn in range(ROUNDS):
    opened = ctypes.CDLL(sys.argv[1])
    callers = [threading.Thread(target=multiply, args=(opened, 4)) for _ in range(2 if turn % 50 == 0 else 0)]
    for caller in callers:
        caller.start()
    multiply(opened, 4)
    for caller in callers:
        caller.join()
    _ctypes.dlclose(opened._handle)
print(f"{ROUNDS} times opened and closed")
