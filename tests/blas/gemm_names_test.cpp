// Runs random products through every name of xGEMM, xSYRK, xHERK and xGEMMT.
#include "blas/blas_cases.hpp"

namespace tilewright::blas_tests {
namespace {

constexpr int rounds = 16, largest = 70;
constexpr char letters[] = {'N', 'T', 'C'};

template <class T>
struct Case {
  char op_a, op_b;
  std::int64_t m, n, k;
  T alpha, beta;
  Matrix<T> a, b, c;

  Case(Random& random, bool by_rows, std::int64_t m_, std::int64_t n_, std::int64_t k_)
      : op_a(letters[draw(random, 0, 2)]), op_b(letters[draw(random, 0, 2)]), m(m_), n(n_), k(k_) {
    alpha = draw_scalar<T>(random);
    beta = draw_scalar<T>(random);
    const auto matrix = [&](char op, std::int64_t rows, std::int64_t cols) {
      return draw_matrix<T>(random, op == 'N' ? rows : cols, op == 'N' ? cols : rows, by_rows,
                            draw(random, 0, 3));
    };
    a = matrix(op_a, m, k);
    b = matrix(op_b, k, n);
    c = matrix('N', m, n);
    // C is not read if beta = 0, nor are the operands if alpha = 0.
    if (!all_are_ours()) return;
    const T nan = std::numeric_limits<Real<T>>::quiet_NaN();
    if (beta == T(0)) fill(c, nan);
    if (alpha == T(0)) fill(a, nan), fill(b, nan);
  }
  Matrix<T> expected() const {
    return product(op_a, op_b, alpha == T(0) ? 0 : k, alpha, a, b, beta, c, [](auto, auto) { return true; });
  }
};
template <class T>
Case<T> draw_case(Random& random, bool by_rows) {
  const auto size = [&] { return draw(random, 0, 9) == 0 ? draw(random, 0, 1) : draw(random, 1, largest); };
  return {random, by_rows, size(), size(), size()};
}

template <class T, class Int>
void check_fortran(const char* name) {
  auto* gemm = routine<void(const char*, const char*, const Int*, const Int*, const Int*, const T*, const T*,
                            const Int*, const T*, const Int*, const T*, T*, const Int*)>(name);
  ASSERT_NE(gemm, nullptr);
  Random random(7);
  for (int round = 0; round < rounds; ++round) {
    Case<T> x = draw_case<T>(random, false);
    const Matrix<T> before = x.c, expected = x.expected();
    const Int m = Int(x.m), n = Int(x.n), k = Int(x.k), lda = Int(x.a.ld), ldb = Int(x.b.ld),
              ldc = Int(x.c.ld);
    const char lower = char(x.op_b | 0x20);
    gemm(&x.op_a, &lower, &m, &n, &k, &x.alpha, x.a.data.data(), &lda, x.b.data.data(), &ldb, &x.beta,
         x.c.data.data(), &ldc);
    expect_near(expected, before, x.c, x.k, name);
  }
}
TEST(BlasNames, FortranGemm) { FOR_EACH_NAME(fortran, sdcz, gemm, check_fortran); }

template <class T, class Int>
void check_cblas(const char* name) {
  auto* gemm = routine<void(int, int, int, Int, Int, Int, CblasValue<T>, const T*, Int, const T*, Int,
                            CblasValue<T>, T*, Int)>(name);
  ASSERT_NE(gemm, nullptr);
  Random random(8);
  for (int round = 0; round < rounds; ++round) {
    const bool by_rows = round % 2 == 0;
    Case<T> x = draw_case<T>(random, by_rows);
    const Matrix<T> before = x.c, expected = x.expected();
    gemm(by_rows ? 101 : 102, number_of(x.op_a), number_of(x.op_b), Int(x.m), Int(x.n), Int(x.k),
         CblasScalar<T>::pass(x.alpha), x.a.data.data(), Int(x.a.ld), x.b.data.data(), Int(x.b.ld),
         CblasScalar<T>::pass(x.beta), x.c.data.data(), Int(x.c.ld));
    expect_near(expected, before, x.c, x.k, name);
  }
}
TEST(BlasNames, CblasGemm) { FOR_EACH_NAME(cblas, sdcz, gemm, check_cblas); }

// Computes one triangle of alpha A A' + beta C; A' is A^H if `hermitian`.
template <class T>
struct RankCase {
  bool by_rows, upper, hermitian;
  char op;
  std::int64_t n, k;
  T alpha, beta;
  Matrix<T> a, c;

  RankCase(Random& random, bool rows, bool is_hermitian)
      : by_rows(rows), upper(draw(random, 0, 1) == 1), hermitian(is_hermitian) {
    op = draw(random, 0, 1) == 0 ? 'N' : hermitian ? 'C' : 'T';
    n = draw(random, 0, 2 * largest), k = draw(random, 0, largest);
    alpha = draw_scalar<T>(random), beta = draw_scalar<T>(random);
    if (hermitian) alpha = std::real(alpha), beta = std::real(beta);
    a = op == 'N' ? draw_matrix<T>(random, n, k, by_rows, draw(random, 0, 3))
                  : draw_matrix<T>(random, k, n, by_rows, draw(random, 0, 3));
    c = draw_matrix<T>(random, n, n, by_rows, draw(random, 0, 3));
    for (std::int64_t i = 0; hermitian && i < n; ++i) c.at(i, i) = std::real(c.at(i, i));
    if (beta != T(0)) return;
    const T nan = std::numeric_limits<Real<T>>::quiet_NaN();
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = 0; i < n; ++i)
        if (upper ? i <= j : i >= j) c.at(i, j) = nan;
  }
  Matrix<T> expected() const {
    const char other = hermitian ? 'C' : 'T';
    return product(op == 'N' ? 'N' : other, op == 'N' ? other : 'N', alpha == T(0) ? 0 : k, alpha, a, a, beta,
                   c, [&](auto i, auto j) { return upper ? i <= j : i >= j; });
  }
};

template <class T, class Int, class Scalar>
void check_fortran_rank(const char* name, bool hermitian) {
  auto* syrk = routine<void(const char*, const char*, const Int*, const Int*, const Scalar*, const T*,
                            const Int*, const Scalar*, T*, const Int*)>(name);
  ASSERT_NE(syrk, nullptr);
  Random random(9);
  for (int round = 0; round < rounds / 2; ++round) {
    RankCase<T> x(random, false, hermitian);
    const Matrix<T> before = x.c, expected = x.expected();
    const Int n = Int(x.n), k = Int(x.k), lda = Int(x.a.ld), ldc = Int(x.c.ld);
    Scalar alpha, beta;
    if constexpr (std::is_same_v<Scalar, T>)
      alpha = x.alpha, beta = x.beta;
    else
      alpha = std::real(x.alpha), beta = std::real(x.beta);
    syrk(x.upper ? "U" : "L", &x.op, &n, &k, &alpha, x.a.data.data(), &lda, &beta, x.c.data.data(), &ldc);
    expect_near(expected, before, x.c, x.k, name);
  }
}
template <class T, class Int>
void check_fortran_syrk(const char* name) {
  check_fortran_rank<T, Int, T>(name, false);
}
template <class T, class Int>
void check_fortran_herk(const char* name) {
  check_fortran_rank<T, Int, Real<T>>(name, true);
}
TEST(BlasNames, FortranSyrk) { FOR_EACH_NAME(fortran, sdcz, syrk, check_fortran_syrk); }

TEST(BlasNames, FortranHerk) { FOR_EACH_NAME(fortran, cz, herk, check_fortran_herk); }

template <class T, class Int, class Scalar, class Pass>
void check_cblas_rank(const char* name, bool hermitian, Pass&& pass) {
  auto* syrk = routine<void(int, int, int, Int, Int, Scalar, const T*, Int, Scalar, T*, Int)>(name);
  ASSERT_NE(syrk, nullptr);
  Random random(10);
  for (int round = 0; round < rounds / 2; ++round) {
    RankCase<T> x(random, round % 2 == 0, hermitian);
    const Matrix<T> before = x.c, expected = x.expected();
    syrk(x.by_rows ? 101 : 102, x.upper ? 121 : 122, number_of(x.op), Int(x.n), Int(x.k), pass(x.alpha),
         x.a.data.data(), Int(x.a.ld), pass(x.beta), x.c.data.data(), Int(x.c.ld));
    expect_near(expected, before, x.c, x.k, name);
  }
}
template <class T, class Int>
void check_cblas_syrk(const char* name) {
  check_cblas_rank<T, Int, CblasValue<T>>(name, false, [](const T& x) { return CblasScalar<T>::pass(x); });
}
template <class T, class Int>
void check_cblas_herk(const char* name) {
  check_cblas_rank<T, Int, Real<T>>(name, true, [](const T& x) { return std::real(x); });
}
TEST(BlasNames, CblasSyrk) { FOR_EACH_NAME(cblas, sdcz, syrk, check_cblas_syrk); }

TEST(BlasNames, CblasHerk) { FOR_EACH_NAME(cblas, cz, herk, check_cblas_herk); }

template <class T>
bool draw_triangle(Random& random, Case<T>& x) {
  const bool upper = draw(random, 0, 1) == 1;
  if (x.beta == T(0)) fill(x.c, T(7));
  return upper;
}
template <class T>
Matrix<T> triangle_of(const Case<T>& x, bool upper) {
  return product(x.op_a, x.op_b, x.alpha == T(0) ? 0 : x.k, x.alpha, x.a, x.b, x.beta, x.c,
                 [&](auto i, auto j) { return upper ? i <= j : i >= j; });
}

template <class T, class Int>
void check_fortran_gemmt(const char* name) {
  auto* gemmt = routine<void(const char*, const char*, const char*, const Int*, const Int*, const T*,
                             const T*, const Int*, const T*, const Int*, const T*, T*, const Int*)>(name);
  ASSERT_NE(gemmt, nullptr);
  Random random(11);
  for (int round = 0; round < rounds / 2; ++round) {
    const int size = draw(random, 0, 2 * largest);
    Case<T> x(random, false, size, size, draw(random, 0, largest));
    const bool upper = draw_triangle(random, x);
    const Matrix<T> before = x.c, expected = triangle_of(x, upper);
    const Int n = Int(x.n), k = Int(x.k), lda = Int(x.a.ld), ldb = Int(x.b.ld), ldc = Int(x.c.ld);
    gemmt(upper ? "U" : "L", &x.op_a, &x.op_b, &n, &k, &x.alpha, x.a.data.data(), &lda, x.b.data.data(), &ldb,
          &x.beta, x.c.data.data(), &ldc);
    expect_near(expected, before, x.c, x.k, name);
  }
}
TEST(BlasNames, FortranGemmt) { FOR_EACH_NAME(fortran, sdcz, gemmt, check_fortran_gemmt); }

template <class T, class Int>
void check_cblas_gemmt(const char* name) {
  auto* gemmt = routine<void(int, int, int, int, Int, Int, CblasValue<T>, const T*, Int, const T*, Int,
                             CblasValue<T>, T*, Int)>(name);
  ASSERT_NE(gemmt, nullptr);
  Random random(12);
  for (int round = 0; round < rounds / 2; ++round) {
    const bool by_rows = round % 2 == 0;
    const int size = draw(random, 0, 2 * largest);
    Case<T> x(random, by_rows, size, size, draw(random, 0, largest));
    const bool upper = draw_triangle(random, x);
    const Matrix<T> before = x.c, expected = triangle_of(x, upper);
    gemmt(by_rows ? 101 : 102, upper ? 121 : 122, number_of(x.op_a), number_of(x.op_b), Int(x.n), Int(x.k),
          CblasScalar<T>::pass(x.alpha), x.a.data.data(), Int(x.a.ld), x.b.data.data(), Int(x.b.ld),
          CblasScalar<T>::pass(x.beta), x.c.data.data(), Int(x.c.ld));
    expect_near(expected, before, x.c, x.k, name);
  }
}
TEST(BlasNames, CblasGemmt) { FOR_EACH_NAME(cblas, sdcz, gemmt, check_cblas_gemmt); }

}  // namespace
}  // namespace tilewright::blas_tests
