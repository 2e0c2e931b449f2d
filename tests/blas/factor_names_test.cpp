// Runs batches of triangular systems through the names of the Batched BLAS standard, with the reports that it
// prescribes, and batches of LU through oneMKL's names.
#include "blas/blas_cases.hpp"

namespace tilewright::blas_tests {
namespace {

constexpr int largest = 20;

// A well-conditioned matrix.
template <class T>
Matrix<T> draw_factor(Random& random, std::int64_t n, bool by_rows) {
  Matrix<T> x = draw_matrix<T>(random, n, n, by_rows, draw(random, 0, 2));
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j)
      x.at(i, j) = i == j ? T(2) + x.at(i, j) / T(4) : x.at(i, j) / T(Real<T>(n));
  return x;
}

// One triangular system with its solution, letters as BLAS has them.
template <class T>
struct Triangular {
  char side, uplo, op, diag;
  T alpha;
  Matrix<T> a, b, x;

  Triangular(Random& random, bool by_rows)
      : side("LR"[draw(random, 0, 1)]),
        uplo("LU"[draw(random, 0, 1)]),
        op("NTC"[draw(random, 0, 2)]),
        diag("NU"[draw(random, 0, 1)]),
        alpha(draw_value<T>(random) + T(2)) {
    const int m = draw(random, 1, largest), n = draw(random, 1, largest);
    x = draw_matrix<T>(random, m, n, by_rows, draw(random, 0, 2));
    a = draw_factor<T>(random, side == 'L' ? m : n, by_rows);
    b = x;
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) b.at(i, j) = right_side(i, j) / alpha;
  }
  // Element (i, j) of op(A), whose triangle alone counts.
  T of_a(std::int64_t i, std::int64_t j) const {
    const std::int64_t row = op == 'N' ? i : j, col = op == 'N' ? j : i;
    if (row == col) return diag == 'U' ? T(1) : element(op, a, i, j);
    return (uplo == 'L') == (row > col) ? element(op, a, i, j) : T(0);
  }
  T right_side(std::int64_t i, std::int64_t j) const {
    T sum(0);
    for (std::int64_t l = 0; l < a.rows; ++l)
      sum += side == 'L' ? of_a(i, l) * x.at(l, j) : x.at(i, l) * of_a(l, j);
    return sum;
  }
  void expect_solved(const Matrix<T>& got, const char* name) const { expect_near(x, b, got, 40, name); }
  int side_number() const { return side == 'L' ? 141 : 142; }
  int uplo_number() const { return uplo == 'U' ? 121 : 122; }
  int diag_number() const { return diag == 'N' ? 131 : 132; }
};

template <class T>
using TrsmGroups = void(int, const int*, int, const int*, const int*, const int*, const int*, const int*,
                        const int*, const T*, T const* const*, const int*, T**, const int*, int*);

// Groups of one problem each, as a call takes them.
template <class T>
struct TrsmArrays {
  std::vector<int> size, side, uplo, op, diag, m, n, lda, ldb;
  std::vector<T> alpha;
  std::vector<const T*> a;
  std::vector<Matrix<T>> solutions;
  std::vector<T*> b;

  explicit TrsmArrays(const std::vector<Triangular<T>>& all) {
    for (const auto& one : all) {
      size.push_back(1), side.push_back(one.side_number()), uplo.push_back(one.uplo_number());
      op.push_back(number_of(one.op)), diag.push_back(one.diag_number());
      m.push_back(int(one.b.rows)), n.push_back(int(one.b.cols));
      lda.push_back(int(one.a.ld)), ldb.push_back(int(one.b.ld));
      alpha.push_back(one.alpha), a.push_back(one.a.data.data()), solutions.push_back(one.b);
    }
    for (auto& one : solutions) b.push_back(one.data.data());
  }
  void call(TrsmGroups<T>* trsm, bool by_rows, int* info) {
    trsm(int(size.size()), size.data(), by_rows ? 101 : 102, side.data(), uplo.data(), op.data(), diag.data(),
         m.data(), n.data(), alpha.data(), a.data(), lda.data(), b.data(), ldb.data(), info);
  }
};

template <class T>
std::vector<Triangular<T>> draw_triangles(Random& random, bool by_rows, int count) {
  std::vector<Triangular<T>> all;
  for (int i = 0; i < count; ++i) all.emplace_back(random, by_rows);
  return all;
}

template <class T, class Int>
void check_trsm(const char* name) {
  auto* trsm = routine<TrsmGroups<T>>(name);
  ASSERT_NE(trsm, nullptr);
  Random random(31);
  for (const bool by_rows : {false, true}) {
    const auto all = draw_triangles<T>(random, by_rows, 30);
    TrsmArrays<T> y(all);
    std::vector<int> info(all.size(), 77);
    info[0] = 0;
    y.call(trsm, by_rows, info.data());
    EXPECT_EQ(info, std::vector<int>(all.size())) << name;
    for (std::size_t i = 0; i < all.size(); ++i) all[i].expect_solved(y.solutions[i], name);
  }
}
TEST(BlasFactors, StandardTrsm) { FOR_EACH_NAME(bblas, sdcz, trsm_batch, check_trsm) }

// Every argument of the second problem is bad once; the others are solved all the same.
template <class T, class Int>
void check_trsm_info(const char* name) {
  auto* trsm = routine<TrsmGroups<T>>(name);
  ASSERT_NE(trsm, nullptr);
  Random random(32);
  const std::pair<int, void (*)(TrsmArrays<T>&)> faults[] = {
      {4, [](TrsmArrays<T>& y) { y.side[1] = 0; }},     {5, [](TrsmArrays<T>& y) { y.uplo[1] = 123; }},
      {6, [](TrsmArrays<T>& y) { y.op[1] = 110; }},     {7, [](TrsmArrays<T>& y) { y.diag[1] = 133; }},
      {8, [](TrsmArrays<T>& y) { y.m[1] = -1; }},       {9, [](TrsmArrays<T>& y) { y.n[1] = -1; }},
      {11, [](TrsmArrays<T>& y) { y.a[1] = nullptr; }}, {12, [](TrsmArrays<T>& y) { y.lda[1] = 0; }},
      {13, [](TrsmArrays<T>& y) { y.b[1] = nullptr; }}, {14, [](TrsmArrays<T>& y) { y.ldb[1] = 0; }}};
  for (const auto& [position, spoil] : faults)
    for (int mode = 0; mode < 4; ++mode) {
      const auto all = draw_triangles<T>(random, position % 2 == 0, 3);
      TrsmArrays<T> y(all);
      spoil(y);
      std::vector<int> info{mode, 77, 77, 77};
      y.call(trsm, position % 2 == 0, info.data());
      const std::vector<int> told = mode < 2    ? std::vector{0, position, 0, 77}
                                    : mode == 2 ? std::vector{position, 77, 77, 77}
                                                : std::vector{0, 77, 77, 77};
      EXPECT_EQ(info, told) << name << " " << position;
      all[0].expect_solved(y.solutions[0], name), all[2].expect_solved(y.solutions[2], name);
      EXPECT_EQ(y.solutions[1].data, all[1].b.data) << name;
    }
  TrsmArrays<T> y(draw_triangles<T>(random, false, 1));
  int info = 4;
  y.call(trsm, false, &info);
  EXPECT_EQ(info, 15);
}
TEST(BlasFactors, StandardTrsmTells) { FOR_EACH_NAME(bblas, sdcz, trsm_batch, check_trsm_info) }

template <class T, class Int>
void check_trsm_fixed(const char* name) {
  auto* trsm =
      routine<void(int, int, int, int, int, int, int, int, T, T const* const*, int, T**, int, int*)>(name);
  ASSERT_NE(trsm, nullptr);
  Random random(33);
  const Triangular<T> one(random, true);
  std::vector<Matrix<T>> b(9, one.b);
  std::vector<const T*> at_a(9, one.a.data.data());
  std::vector<T*> at_b;
  for (auto& x : b) at_b.push_back(x.data.data());
  int info = 2;
  trsm(9, 101, one.side_number(), one.uplo_number(), number_of(one.op), one.diag_number(), int(one.b.rows),
       int(one.b.cols), one.alpha, at_a.data(), int(one.a.ld), at_b.data(), int(one.b.ld), &info);
  EXPECT_EQ(info, 0);
  for (const auto& x : b) one.expect_solved(x, name);
}
TEST(BlasFactors, StandardTrsmOfOneShape) { FOR_EACH_NAME(bblas, sdcz, trsm_batchf, check_trsm_fixed) }

// --- oneMKL's names ---

template <class T, class Int>
using StridedFactor = void(const Int*, const Int*, T*, const Int*, const Int*, Int*, const Int*, const Int*,
                           Int*);
template <class T, class Int>
using StridedSolve = void(const char*, const Int*, const Int*, const T*, const Int*, const Int*, const Int*,
                          const Int*, T*, const Int*, const Int*, const Int*, Int*);

template <class T, class Int>
struct StridedSystems {
  Int n, nrhs, count, lda, ldb, stride_a, stride_b, stride_pivots;
  std::vector<T> a, b;
  std::vector<Int> pivots, info;

  StridedSystems(Random& random, int order, int sides, int problems)
      : n(order),
        nrhs(sides),
        count(problems),
        lda(n + 1),
        ldb(n + 2),
        stride_a(lda * n + 3),
        stride_b(ldb * nrhs + 1),
        stride_pivots(n + 2),
        pivots(std::size_t(count * stride_pivots), -9),
        info(std::size_t(count), 77) {
    for (Int i = 0; i < stride_a * count; ++i) a.push_back(draw_value<T>(random));
    for (Int i = 0; i < stride_b * count; ++i) b.push_back(draw_value<T>(random));
    for (Int p = 0; p < count; ++p)
      for (Int i = 0; i < n; ++i) a[std::size_t(p * stride_a + i * lda + (i + 1) % n)] += T(3);  // rows move
  }
  void factor(StridedFactor<T, Int>* getrf) {
    getrf(&n, &n, a.data(), &lda, &stride_a, pivots.data(), &stride_pivots, &count, info.data());
  }
  void solve(StridedSolve<T, Int>* getrs, char op) {
    getrs(&op, &n, &nrhs, a.data(), &lda, &stride_a, pivots.data(), &stride_pivots, b.data(), &ldb, &stride_b,
          &count, info.data());
  }
};

// The routine of the same spelling that solves.
std::string solver_of(std::string name) { return name.replace(name.find("getrf"), 5, "getrs"); }

template <class T, class Int>
void check_strided(const char* name) {
  auto* getrf = routine<StridedFactor<T, Int>>(name);
  auto* getrs = routine<StridedSolve<T, Int>>(solver_of(name).c_str());
  ASSERT_TRUE(getrf != nullptr && getrs != nullptr);
  Random random(34);
  for (const char op : {'N', 'T', 'C'})
    for (const int n : {1, 5, 70}) {
      StridedSystems<T, Int> x(random, n, 2, 7);
      const auto before = x;
      x.factor(getrf);
      EXPECT_EQ(x.info, std::vector<Int>(7)) << name;
      std::fill(x.info.begin(), x.info.end(), Int(77));
      x.solve(getrs, op);
      EXPECT_EQ(x.info, std::vector<Int>(7)) << name;
      Real<T> worst = 0;
      for (Int p = 0; p < x.count; ++p) {
        for (Int c = 0; c < x.nrhs; ++c)
          for (Int i = 0; i < n; ++i) {
            T sum(0);
            for (Int l = 0; l < n; ++l) {
              const Int at = op == 'N' ? l * x.lda + i : i * x.lda + l;
              const T value = before.a[std::size_t(p * x.stride_a + at)];
              sum +=
                  (op == 'C' ? conjugate(value) : value) * x.b[std::size_t(p * x.stride_b + c * x.ldb + l)];
            }
            worst = std::max(worst, std::abs(sum - before.b[std::size_t(p * x.stride_b + c * x.ldb + i)]));
          }
        EXPECT_EQ(x.pivots[std::size_t(p * x.stride_pivots + n)], -9) << "behind the pivots";
        EXPECT_EQ(x.b[std::size_t(p * x.stride_b + n)], before.b[std::size_t(p * x.stride_b + n)]);
      }
      EXPECT_LT(worst, Real<T>(200 * n) * std::numeric_limits<Real<T>>::epsilon()) << name << " " << op;
    }
}
TEST(BlasFactors, StridedLu) { FOR_EACH_NAME(mkl, sdcz, getrf_batch_strided, check_strided) }

template <class T, class Int>
void check_strided_info(const char* name) {
  auto* getrf = routine<StridedFactor<T, Int>>(name);
  ASSERT_NE(getrf, nullptr);
  Random random(35);
  StridedSystems<T, Int> x(random, 4, 1, 3);
  std::fill_n(x.a.begin() + x.stride_a + 2 * x.lda, 4, T(0));  // a column of the second
  x.factor(getrf);
  EXPECT_EQ(x.info, (std::vector<Int>{0, 3, 0})) << name;
}
TEST(BlasFactors, SingularMatricesAreTold) {
  FOR_EACH_NAME(mkl, sdcz, getrf_batch_strided, check_strided_info)
}

}  // namespace
}  // namespace tilewright::blas_tests
