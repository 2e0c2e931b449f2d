#!/usr/bin/env python3
"""Drives `tilewright factor` and `tilewright solve` as users do: factors, inverses, determinants and solutions of batches in files,
compared with NumPy; problems without a result, which fail the job or are told in a file; wrong use with its exit code and outputs left
alone. Takes the tool's path; further arguments go to unittest."""

import json
import sys
import unittest

import numpy

sys.dont_write_bytecode = True
import cli_test

N, BATCH = 7, 45


class Factor(cli_test.Case):
    def run_job(self, *words, code=0):
        done = cli_test.run(*words)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def general(self, dtype="f8", order="C", batch=BATCH, n=N):
        return numpy.array(self.array((batch, n, n), dtype) + 3 * numpy.eye(n, dtype=dtype), order=order)

    def definite(self, dtype="f8"):
        a = self.general(dtype)
        return a @ numpy.swapaxes(a, 1, 2).conj() + numpy.eye(N, dtype=dtype)

    def factor(self, routine, a, *flags, b=None):
        arrays = [self.save("A.npy", a)] + ([] if b is None else [self.save("B.npy", b)])
        self.run_job("factor", routine, *arrays, "-o", self.folder / "out.npy", *flags)
        return numpy.load(self.folder / "out.npy")

    def solve(self, a, b, *flags):
        done = self.run_job("solve", self.save("A.npy", a), self.save("B.npy", b), "-x", self.folder / "X.npy", "--verify", *flags)
        self.assertIn("verified all problems", done.stdout)
        return numpy.load(self.folder / "X.npy")

    def close(self, values, expected, dtype="f8"):
        self.assertEqual((values.shape, values.dtype), (expected.shape, numpy.dtype(dtype)))
        tolerance = 2e3 * numpy.finfo(dtype).eps
        numpy.testing.assert_allclose(values, expected, rtol=tolerance, atol=tolerance)

    def test_systems_of_every_type_and_order(self):
        for dtype in cli_test.DTYPES:
            for order in "CF":
                a, b = self.general(dtype, order), self.array((BATCH, N, 3), dtype, order)
                self.close(self.solve(a, b), numpy.linalg.solve(a, b), dtype)
                hermitian = numpy.array(self.definite(dtype), order=order)
                expected = numpy.linalg.solve(hermitian, b)
                self.close(self.solve(numpy.tril(hermitian) + numpy.triu(99 + hermitian, 1), b, "--definite"), expected, dtype)
                self.close(self.factor("posv", hermitian, "--uplo", "upper", "--verify", b=b), expected, dtype)

    def test_one_array_serves_a_batch(self):
        a, b = self.general(), self.array((BATCH, N, 3))
        self.close(self.solve(a, b[0]), numpy.linalg.solve(a, numpy.broadcast_to(b[0], b.shape)))
        self.close(self.solve(a, b[0, :, 0]), numpy.linalg.solve(a, numpy.broadcast_to(b[0, :, :1], (BATCH, N, 1)))[..., 0])
        self.close(self.solve(a[0], b), numpy.linalg.solve(numpy.broadcast_to(a[0], a.shape), b))
        self.close(self.solve(a[:1], b), numpy.linalg.solve(numpy.broadcast_to(a[0], a.shape), b))

    def test_one_system_may_be_large(self):
        a, b = self.array((150, 150)), self.array((150,))
        self.close(self.solve(a, b), numpy.linalg.solve(a, b))

    def test_factors(self):
        a, hermitian = self.general(), self.definite()
        lower = self.factor("potrf", hermitian)
        self.close(numpy.tril(lower), numpy.linalg.cholesky(hermitian))
        self.close(numpy.triu(lower, 1), numpy.triu(hermitian, 1))
        b = self.array((BATCH, N, 2))
        self.close(self.factor("potrs", lower, b=b), numpy.linalg.solve(hermitian, b))
        self.close(numpy.tril(self.factor("potri", lower)), numpy.tril(numpy.linalg.inv(hermitian)))
        wide = numpy.array(self.array((BATCH, 4, N)), order="F")
        for matrices in (a, wide, a[0]):
            lu = self.factor("getrf", matrices, "--pivots", self.folder / "P.npy")
            self.check_lu(matrices, lu, numpy.load(self.folder / "P.npy"))

    def check_lu(self, a, lu, pivots):
        self.assertEqual((lu.shape, pivots.dtype, pivots.shape), (a.shape, numpy.int64, a.shape[:-2] + (min(a.shape[-2:]),)))
        shape, steps = a.shape[-2:], min(a.shape[-2:])
        for one, factors, rows in zip(a.reshape(-1, *shape), lu.reshape(-1, *shape), pivots.reshape(-1, steps)):
            swapped = one.copy()
            for i, pivot in enumerate(rows):
                swapped[[i, pivot - 1]] = swapped[[pivot - 1, i]]
            self.close((numpy.tril(factors[:, :steps], -1) + numpy.eye(shape[0], steps)) @ numpy.triu(factors[:steps]), swapped)

    def test_inverses_determinants_and_triangles(self):
        for dtype in cli_test.DTYPES:
            a = self.general(dtype, "F")
            self.close(self.factor("inv", a), numpy.linalg.inv(a), dtype)
            self.assertTrue(numpy.load(self.folder / "out.npy").flags.f_contiguous)
        a = self.general()
        self.close(self.factor("det", a) / numpy.linalg.det(a), numpy.ones(BATCH))
        self.close(self.factor("det", a[0]), numpy.linalg.det(a[0])[()] * numpy.ones(()))
        b = self.array((BATCH, N, 2))
        self.close(self.factor("trsm", a, "--uplo", "upper", b=b), numpy.linalg.solve(numpy.triu(a), b))
        unit = numpy.tril(a, -1) / 9 + numpy.eye(N)
        solved = self.factor("trsm", unit - 5 * numpy.eye(N), "--side", "right", "--op", "t", "--unit", b=numpy.swapaxes(b, 1, 2))
        self.close(solved, numpy.swapaxes(numpy.linalg.solve(unit, b), 1, 2))

    def test_orthogonal_factors_and_least_squares(self):
        for dtype in cli_test.DTYPES:
            for a in (self.array((BATCH, N, 4), dtype), self.array((BATCH, 4, N), dtype, "F"), self.array((N, 3), dtype)):
                factors, tau = self.factor("geqrf", a, "--tau", self.folder / "T.npy"), numpy.load(self.folder / "T.npy")
                self.assertEqual((tau.shape, tau.dtype), (a.shape[:-2] + (min(a.shape[-2:]),), numpy.dtype(dtype)))
                h, wanted = numpy.linalg.qr(a, "raw")
                self.close(factors, numpy.swapaxes(h, -1, -2), dtype)
                self.close(tau, wanted, dtype)
        a, b = self.array((BATCH, N, 4)), self.array((BATCH, N, 2))
        x = self.factor("gels", a, b=b)
        self.close(x[:, :4], numpy.linalg.pinv(a) @ b)
        beside = b - a @ x[:, :4]
        self.close((x[:, 4:] ** 2).sum(axis=1), (beside ** 2).sum(axis=1))
        a[3, :, 1] = 0
        failed = self.run_job("factor", "gels", self.save("A.npy", a), self.folder / "B.npy", "-o", self.folder / "X.npy", code=1)
        self.assertIn("is not of full rank", failed.stderr)
        self.assertIn("A[3], whose R(2, 2) is exactly zero", failed.stderr)

    def test_eigenvalues_and_singular_values(self):
        for dtype in cli_test.DTYPES:
            real = numpy.zeros(1, dtype).real.dtype
            hermitian = self.definite(dtype)
            values = self.factor("syev", numpy.tril(hermitian), "--vectors", self.folder / "V.npy")
            self.close(values, numpy.linalg.eigvalsh(hermitian), real)
            vectors = numpy.load(self.folder / "V.npy")
            self.close(hermitian @ vectors, vectors * values[:, None, :], dtype)
            self.close(self.factor("syev", numpy.triu(hermitian), "--uplo", "upper"), values, real)
            for a in (self.array((BATCH, N, 4), dtype, "F"), self.array((4, N), dtype)):
                k = min(a.shape[-2:])
                values = self.factor("gesvd", a, "--u", self.folder / "U.npy", "--vh", self.folder / "VH.npy")
                self.close(values, numpy.linalg.svd(a, compute_uv=False), real)
                u, vh = numpy.load(self.folder / "U.npy"), numpy.load(self.folder / "VH.npy")
                self.assertEqual((u.shape, vh.shape), ((*a.shape[:-1], k), (*a.shape[:-2], k, a.shape[-1])))
                self.close((u * values[..., None, :]) @ vh, a, dtype)
                self.close(self.factor("gesvd", a), values, real)
        a = self.general()
        a[5, 1, 1] = numpy.nan
        job = ("factor", "gesvd", self.save("A.npy", a), "-o", self.folder / "S.npy")
        self.assertIn("A[5], whose singular values did not converge, or an element is NaN or infinite",
                      " ".join(self.run_job(*job, code=1).stderr.split()))
        self.assertFalse((self.folder / "S.npy").exists())
        row = json.loads(self.run_job(*job, "--info", self.folder / "I.npy", "--json", "-").stdout)
        self.assertEqual((row["failed"], row["first_failed"], row["problem"]), (1, 5, "gesvd:f64:m=7,n=7,batch=45"))
        self.assertEqual(numpy.flatnonzero(numpy.load(self.folder / "I.npy")).tolist(), [5])

    def test_empty_arrays(self):
        self.assertEqual(self.factor("gesvd", numpy.zeros((3, 0, 4)), "--u", self.folder / "U.npy", "--vh", self.folder / "VH.npy").shape, (3, 0))
        self.assertEqual(self.factor("inv", numpy.zeros((0, 4, 4))).shape, (0, 4, 4))
        self.assertEqual(self.solve(numpy.zeros((3, 0, 0)), numpy.zeros((3, 0, 2))).shape, (3, 0, 2))
        self.close(self.factor("det", numpy.zeros((3, 0, 0))), numpy.ones(3))

    def test_problems_without_a_result(self):
        a, b = self.general(), self.array((BATCH, N, 1))
        a[5] = 0
        a[9, :, 2] = 0
        job = ("solve", self.save("A.npy", a), self.save("B.npy", b), "-x", self.folder / "X.npy")
        failed = self.run_job(*job, code=1)
        self.assertIn("2 of 45 matrices", failed.stderr)
        self.assertIn("A[5], whose U(1, 1) is exactly zero", failed.stderr)
        self.assertFalse((self.folder / "X.npy").exists())
        row = json.loads(self.run_job(*job, "--verify", "--info", self.folder / "I.npy", "--json", "-").stdout)
        self.assertEqual((row["failed"], row["first_failed"], row["info"], row["family"]), (2, 5, 1, "factor"))
        self.assertEqual(row["problem"], "gesv:f64:n=7,nrhs=1,batch=45")
        infos, x = numpy.load(self.folder / "I.npy"), numpy.load(self.folder / "X.npy")
        self.assertEqual({int(p): int(infos[p]) for p in numpy.flatnonzero(infos)}, {5: 1, 9: 3})
        solved = infos == 0
        self.close(x[solved], numpy.linalg.solve(a[solved], b[solved]))
        self.close(x[~solved], b[~solved])
        said = self.run_job("factor", "getrf", job[1], "-o", self.folder / "LU.npy").stdout
        self.assertIn("the factors are complete", " ".join(said.split()))
        self.save("A.npy", -numpy.eye(3))
        self.assertIn("is not positive definite: its leading minor of order 1",
                      self.run_job("factor", "potrf", job[1], "-o", self.folder / "L.npy", code=1).stderr)

    def test_wrong_use(self):
        a, b = self.save("A.npy", self.general()), self.save("B.npy", self.array((BATCH, 5, 2)))
        out = ("-o", self.folder / "out.npy")
        for words, says in ((("factor", "potfr", a), "did you mean 'potrf'"), (("factor", "ormqr", a), "gels does both"),
                            (("factor", "getrs", a), "gesv"), (("factor", "gesv", a), "B is missing"), (("factor", "inv", a, b), "one array too many"),
                            (("factor", "gesv", a, b), "5 rows"), (("factor", "potrf", b), "square"), (("factor", "getrf", a, "--uplo", "upper"), "--uplo"),
                            (("factor", "det", a, "--info", self.folder / "I.npy"), "--info"), (("factor", "inv", a, "--verify"), "--verify checks the solutions of gesv and posv, not inv"),
                            (("factor", "getrf", a, "--pivoting", "none", "--pivots", self.folder / "P.npy"), "P.npy' has nothing to write: with --pivoting none no rows"),
                            (("factor", "potrff", a), "ROUTINE = 'potrff' is not a known value; did you mean 'potrf'?"),
                            (("solve", b, b), "has shape (BATCH, 5, 2), but solve needs square matrices".replace("BATCH", str(BATCH))),
                            (("factor", "inv", a, "--tau", self.folder / "T.npy"), "--tau"), (("factor", "gesvd", a, "--vectors", b), "--vectors"),
                            (("factor", "gesvd", a, "--u", self.folder / "U.npy"), "--vh is missing"), (("factor", "syev", b), "square"),
                            (("factor", "gels", self.save("wide.npy", self.array((3, 5))), b), "at least as many rows as columns"),
                            (("factor", "inv", a, "--candidate", "lane"), "did you mean 'lanes'"),
                            (("solve", a, b, "--pivoting", "some"), "partial, none"), (("solve", a, b, "--definite", "--pivoting", "none"),
                             "--pivoting has no meaning for solve --definite")):
            with self.subTest(words):
                told = self.run_job(*words, *out, code=2).stderr
                self.assertIn(says, told)
                self.assertEqual(len(told.strip().splitlines()), 1)
        self.assertIn("also the file of A", self.run_job("factor", "inv", a, "-o", a, code=2).stderr)
        self.assertFalse((self.folder / "out.npy").exists())


if __name__ == "__main__":
    cli_test.TOOL = sys.argv.pop(1)
    unittest.main()
