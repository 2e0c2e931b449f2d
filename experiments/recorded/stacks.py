"""A program as NumPy's users write it: propagates many small states and solves many small systems, one after the other."""

import sys

import numpy as np

random = np.random.default_rng(1)
for n, count in ((6, 4000), (12, 3000), (24, 1500), (40, 600)) * int(sys.argv[1]):
    step, noise = random.standard_normal((n, n)) / n, np.eye(n)
    spread = np.eye(n)
    for _ in range(count):
        spread = step @ spread @ step.T + noise
    stack = random.standard_normal((count, n, n)) + n * np.eye(n)
    inverse = np.linalg.solve(stack, np.broadcast_to(np.eye(n), stack.shape))
    assert np.allclose(stack[0] @ inverse[0], np.eye(n))
