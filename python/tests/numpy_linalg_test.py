"""NumPy's own tests of numpy.linalg, run with tilewright's functions in the place of NumPy's: its LinalgCase matrices of every type, stacked,
strided and empty, and its tests of single functions. Integers are converted (promote=True)."""

import functools

import numpy as np
import pytest

import tilewright

theirs = pytest.importorskip("numpy.linalg.tests.test_linalg", reason="this NumPy is installed without its tests")

NAMES = ("solve", "inv", "det", "slogdet", "cholesky", "qr", "lstsq", "eigh", "eigvalsh", "svd", "svdvals")


@pytest.fixture(autouse=True)
def tilewright_in_the_place_of_numpy(monkeypatch):
    """NumPy's tests call numpy.linalg by its names; what is computed beside, such as eig, stays NumPy's."""
    for name in NAMES:
        monkeypatch.setattr(np.linalg, name, functools.partial(getattr(tilewright, name), promote=True), raising=False)
    # NumPy computes determinants and QR of single precision in double and rounds the results.
    monkeypatch.setattr(theirs, "assert_almost_equal", functools.partial(theirs.assert_almost_equal, single_decimal=5))


def not_claimed(reason):
    """In the place of a test of something that the package does not claim."""
    def test(self):
        pytest.skip(reason)
    return test


KEPT_SUBCLASSES = "results are plain arrays: subclasses of numpy.ndarray are not kept"


class TestSolve(theirs.TestSolve):
    test_1_d = test_0_size = test_0_size_k = not_claimed(KEPT_SUBCLASSES)


class TestInv(theirs.TestInv):
    test_0_size = not_claimed(KEPT_SUBCLASSES)


class TestDet(theirs.TestDet):
    pass


class TestCholesky(theirs.TestCholesky):
    pass


class TestQR(theirs.TestQR):
    pass


class TestSVD(theirs.TestSVD):
    pass


class TestSVDHermitian(theirs.TestSVDHermitian):
    pass


class TestEighCases(theirs.TestEighCases):
    pass


class TestEigh(theirs.TestEigh):
    pass


class TestEigvalshCases(theirs.TestEigvalshCases):
    pass


class TestEigvalsh(theirs.TestEigvalsh):
    pass


class TestLstsq(theirs.TestLstsq):
    pass
