"""A program as SciPy's users write it: factors systems of middling size and multiplies with what it finds."""

import sys

import numpy as np
import scipy.linalg

random = np.random.default_rng(2)
for n, count in ((30, 400), (60, 200), (300, 6)) * int(sys.argv[1]):
    for _ in range(count):
        a = random.standard_normal((n, n)) + n * np.eye(n)
        x = scipy.linalg.lu_solve(scipy.linalg.lu_factor(a), np.eye(n))
        assert np.allclose(a @ x, np.eye(n))
