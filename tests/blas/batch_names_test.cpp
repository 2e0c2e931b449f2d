// Runs random batches through every batched name, and checks the reports of bad problems that the Batched
// BLAS standard prescribes.
#include "blas/blas_cases.hpp"

namespace tilewright::blas_tests {
namespace {

constexpr int largest = 33;

// Groups of problems of one shape each; strided if there is one group.
template <class T>
struct Batch {
  struct Group {
    char op_a, op_b;
    std::int64_t m, n, k;
    T alpha, beta;
    std::int64_t lda, ldb, ldc;
    int count;
  };
  bool by_rows;
  std::vector<Group> groups;
  std::vector<Matrix<T>> a, b, c;
  std::vector<std::int64_t> depth;  // k of each problem

  // With `repeated`, some groups come many times, as in programs that have a group for each problem, with one
  // in the middle that differs in one argument.
  Batch(Random& random, bool rows, int group_count, bool repeated = false) : by_rows(rows) {
    for (int g = 0; g < group_count; ++g) {
      const bool many = repeated && draw(random, 0, 2) == 0;
      const int most = many ? 4 : largest, times = many ? draw(random, 60, 200) : 1;
      const Group usual{"NTC"[draw(random, 0, 2)],
                        "NTC"[draw(random, 0, 2)],
                        draw(random, 1, most),
                        draw(random, 1, most),
                        draw(random, 0, most),
                        draw_scalar<T>(random),
                        draw_scalar<T>(random),
                        0,
                        0,
                        0,
                        draw(random, 0, many ? 2 : 5)};
      const int padding = draw(random, 0, 2), other = draw(random, 0, times);
      for (int i = 0; i < times; ++i)
        add(random, i == other ? with_one_change(random, usual) : usual, i == other ? 3 : padding);
    }
  }
  static Group with_one_change(Random& random, Group x) {
    switch (draw(random, 0, 8)) {
      case 0:
        x.m += 1;
        break;
      case 1:
        x.n += 1;
        break;
      case 2:
        x.k += 1;
        break;
      case 3:
        x.alpha += T(1);
        break;
      case 4:
        x.beta += T(1);
        break;
      case 5:
        x.op_a = x.op_a == 'N' ? 'T' : 'N';
        break;
      case 6:
        x.op_b = x.op_b == 'N' ? 'T' : 'N';
        break;
      case 7:
        x.count += 1;
        break;
      default:
        break;  // only the padding differs
    }
    return x;
  }
  void add(Random& random, Group x, int padding) {
    const auto matrix = [&](char op, std::int64_t r, std::int64_t s) {
      return draw_matrix<T>(random, op == 'N' ? r : s, op == 'N' ? s : r, by_rows, padding);
    };
    for (int i = 0; i < x.count; ++i) {
      a.push_back(matrix(x.op_a, x.m, x.k)), b.push_back(matrix(x.op_b, x.k, x.n)),
          c.push_back(matrix('N', x.m, x.n));
      depth.push_back(x.k);
      x.lda = a.back().ld, x.ldb = b.back().ld, x.ldc = c.back().ld;
    }
    if (x.count == 0) x.lda = x.ldb = x.ldc = 100;
    groups.push_back(x);
  }
  std::vector<Matrix<T>> expected() const {
    std::vector<Matrix<T>> all;
    std::size_t p = 0;
    for (const Group& g : groups)
      for (int i = 0; i < g.count; ++i, ++p)
        all.push_back(
            product(g.op_a, g.op_b, g.k, g.alpha, a[p], b[p], g.beta, c[p], [](auto, auto) { return true; }));
    return all;
  }
  template <class Value, class Get>
  std::vector<Value> each(Get&& get) const {
    std::vector<Value> values;
    for (const Group& g : groups) values.push_back(Value(get(g)));
    values.push_back(Value());  // never empty
    return values;
  }
  static std::vector<T*> addresses(std::vector<Matrix<T>>& matrices) {
    std::vector<T*> all;
    for (auto& x : matrices) all.push_back(x.data.data());
    all.push_back(nullptr);
    return all;
  }
};

// The arrays of a grouped call.
template <class T, class Int>
struct Arrays {
  explicit Arrays(Batch<T>& x)
      : m(x.template each<Int>([](auto& g) { return g.m; })),
        n(x.template each<Int>([](auto& g) { return g.n; })),
        k(x.template each<Int>([](auto& g) { return g.k; })),
        lda(x.template each<Int>([](auto& g) { return g.lda; })),
        ldb(x.template each<Int>([](auto& g) { return g.ldb; })),
        ldc(x.template each<Int>([](auto& g) { return g.ldc; })),
        count(x.template each<Int>([](auto& g) { return g.count; })),
        alpha(x.template each<T>([](auto& g) { return g.alpha; })),
        beta(x.template each<T>([](auto& g) { return g.beta; })),
        op_a(x.template each<int>([](auto& g) { return number_of(g.op_a); })),
        op_b(x.template each<int>([](auto& g) { return number_of(g.op_b); })),
        a(Batch<T>::addresses(x.a)),
        b(Batch<T>::addresses(x.b)),
        c(Batch<T>::addresses(x.c)) {
    for (auto& g : x.groups) letters_a += g.op_a, letters_b += g.op_b;
  }
  const T** const_a() { return const_cast<const T**>(a.data()); }
  const T** const_b() { return const_cast<const T**>(b.data()); }

  std::vector<Int> m, n, k, lda, ldb, ldc, count;
  std::vector<T> alpha, beta;
  std::vector<int> op_a, op_b;
  std::vector<T*> a, b, c;
  std::string letters_a, letters_b;
};

template <class T>
void expect_all(const std::vector<Matrix<T>>& expected, const std::vector<Matrix<T>>& before,
                const Batch<T>& x, const std::string& what) {
  for (std::size_t p = 0; p < expected.size(); ++p)
    expect_near(expected[p], before[p], x.c[p], x.depth[p], what + ", problem " + std::to_string(p));
}

template <class T, class Int>
void check_cblas_groups(const char* name) {
  auto* gemm =
      routine<void(int, const int*, const int*, const Int*, const Int*, const Int*, const T*, const T**,
                   const Int*, const T**, const Int*, const T*, T**, const Int*, Int, const Int*)>(name);
  ASSERT_NE(gemm, nullptr);
  Random random(21);
  for (int round = 0; round < 6; ++round) {
    Batch<T> x(random, round % 2 == 0, draw(random, 0, 5), true);
    const auto before = x.c, expected = x.expected();
    Arrays<T, Int> y(x);
    gemm(x.by_rows ? 101 : 102, y.op_a.data(), y.op_b.data(), y.m.data(), y.n.data(), y.k.data(),
         y.alpha.data(), y.const_a(), y.lda.data(), y.const_b(), y.ldb.data(), y.beta.data(), y.c.data(),
         y.ldc.data(), Int(x.groups.size()), y.count.data());
    expect_all(expected, before, x, name);
  }
}
TEST(BlasBatches, CblasGroups) { FOR_EACH_NAME(cblas, sdcz, gemm_batch, check_cblas_groups) }

template <class T, class Int>
void check_fortran_groups(const char* name) {
  auto* gemm =
      routine<void(const char*, const char*, const Int*, const Int*, const Int*, const T*, const T**,
                   const Int*, const T**, const Int*, const T*, T**, const Int*, const Int*, const Int*)>(
          name);
  ASSERT_NE(gemm, nullptr);
  Random random(22);
  for (int round = 0; round < 4; ++round) {
    Batch<T> x(random, false, draw(random, 0, 5), true);
    const auto before = x.c, expected = x.expected();
    Arrays<T, Int> y(x);
    const Int groups = Int(x.groups.size());
    gemm(y.letters_a.c_str(), y.letters_b.c_str(), y.m.data(), y.n.data(), y.k.data(), y.alpha.data(),
         y.const_a(), y.lda.data(), y.const_b(), y.ldb.data(), y.beta.data(), y.c.data(), y.ldc.data(),
         &groups, y.count.data());
    expect_all(expected, before, x, name);
  }
}
TEST(BlasBatches, FortranGroups) { FOR_EACH_NAME(fortran, sdcz, gemm_batch, check_fortran_groups) }

// One operand of a strided batch: consecutive matrices with a gap.
template <class T>
struct Strided {
  explicit Strided(const std::vector<Matrix<T>>& matrices) {
    for (const auto& x : matrices) size = x.data.size();
    stride = size + 3;
    data.assign(stride * matrices.size() + 1, T(-9));
    for (std::size_t p = 0; p < matrices.size(); ++p)
      std::copy(matrices[p].data.begin(), matrices[p].data.end(), data.begin() + std::ptrdiff_t(p * stride));
  }
  void back(std::vector<Matrix<T>>& matrices) const {
    for (std::size_t p = 0; p < matrices.size(); ++p)
      std::copy_n(data.begin() + std::ptrdiff_t(p * stride), size, matrices[p].data.begin());
    for (std::size_t i = 0; i < data.size(); ++i)
      if (i % stride >= size) {
        EXPECT_EQ(data[i], T(-9)) << "between matrices";
      }
  }
  std::size_t size = 0, stride = 0;
  std::vector<T> data;
};

template <class T, class Int>
void check_cblas_strided(const char* name) {
  auto* gemm = routine<void(int, int, int, Int, Int, Int, CblasValue<T>, const T*, Int, Int, const T*, Int,
                            Int, CblasValue<T>, T*, Int, Int, Int)>(name);
  ASSERT_NE(gemm, nullptr);
  Random random(23);
  for (int round = 0; round < 8; ++round) {
    Batch<T> x(random, round % 2 == 0, 1);
    const auto before = x.c, expected = x.expected();
    const auto& g = x.groups[0];
    Strided<T> a(x.a), b(x.b), c(x.c);
    gemm(x.by_rows ? 101 : 102, number_of(g.op_a), number_of(g.op_b), Int(g.m), Int(g.n), Int(g.k),
         CblasScalar<T>::pass(g.alpha), a.data.data(), Int(g.lda), Int(a.stride), b.data.data(), Int(g.ldb),
         Int(b.stride), CblasScalar<T>::pass(g.beta), c.data.data(), Int(g.ldc), Int(c.stride), Int(g.count));
    c.back(x.c);
    expect_all(expected, before, x, name);
  }
}
TEST(BlasBatches, CblasStrided) { FOR_EACH_NAME(cblas, sdcz, gemm_batch_strided, check_cblas_strided) }

template <class T, class Int>
void check_fortran_strided(const char* name) {
  auto* gemm = routine<void(const char*, const char*, const Int*, const Int*, const Int*, const T*, const T*,
                            const Int*, const Int*, const T*, const Int*, const Int*, const T*, T*,
                            const Int*, const Int*, const Int*)>(name);
  ASSERT_NE(gemm, nullptr);
  Random random(24);
  for (int round = 0; round < 6; ++round) {
    Batch<T> x(random, false, 1);
    const auto before = x.c, expected = x.expected();
    const auto& g = x.groups[0];
    Strided<T> a(x.a), b(x.b), c(x.c);
    const Int m = Int(g.m), n = Int(g.n), k = Int(g.k), lda = Int(g.lda), ldb = Int(g.ldb), ldc = Int(g.ldc),
              step_a = Int(a.stride), step_b = Int(b.stride), step_c = Int(c.stride), count = Int(g.count);
    gemm(&g.op_a, &g.op_b, &m, &n, &k, &g.alpha, a.data.data(), &lda, &step_a, b.data.data(), &ldb, &step_b,
         &g.beta, c.data.data(), &ldc, &step_c, &count);
    c.back(x.c);
    expect_all(expected, before, x, name);
  }
}
TEST(BlasBatches, FortranStrided) { FOR_EACH_NAME(fortran, sdcz, gemm_batch_strided, check_fortran_strided) }

// --- the standard's names: info ---

template <class T>
using Groups = void(int, const int*, int, const int*, const int*, const int*, const int*, const int*,
                    const T*, T const* const*, const int*, T const* const*, const int*, const T*, T**,
                    const int*, int*);

template <class T>
void call(Groups<T>* gemm, const Batch<T>& x, Arrays<T, int>& y, int* info) {
  gemm(int(x.groups.size()), y.count.data(), x.by_rows ? 101 : 102, y.op_a.data(), y.op_b.data(), y.m.data(),
       y.n.data(), y.k.data(), y.alpha.data(), y.a.data(), y.lda.data(), y.b.data(), y.ldb.data(),
       y.beta.data(), y.c.data(), y.ldc.data(), info);
}

enum Mode { report_all, report_group, report_any, report_none };

// Runs three groups; the second has a bad argument, the third a bad problem. Checks the report of each mode,
// and that the other problems are right.
template <class T>
void check_info(const char* name, Groups<T>* gemm, bool by_rows, Mode mode) {
  Random random(25);
  Batch<T> x(random, by_rows, 3);
  while (x.groups[0].count < 1 || x.groups[1].count < 2 || x.groups[2].count < 2 || x.groups[2].k == 0 ||
         x.groups[2].alpha == T(0))
    x = Batch<T>(random, by_rows, 3);
  const auto before = x.c;
  auto expected = x.expected();
  const std::size_t second = std::size_t(x.groups[0].count), third = second + std::size_t(x.groups[1].count);
  Arrays<T, int> y(x);
  y.ldc[1] = 0;
  y.a[third + 1] = nullptr;
  for (std::size_t p = second; p < third; ++p) expected[p] = before[p];
  expected[third + 1] = before[third + 1];
  std::vector<int> info(x.c.size() + 1, 77);
  info[0] = mode;
  call(gemm, x, y, info.data());
  expect_all(expected, before, x, name);
  constexpr int bad_ldc = 16, bad_a = 10;
  std::vector<int> told;
  for (std::size_t p = 0; p < x.c.size(); ++p)
    told.push_back(p >= second && p < third ? bad_ldc : p == third + 1 ? bad_a : 0);
  if (mode == report_group) told = {0, bad_ldc, bad_a};
  if (mode == report_any) told = {info[0] == bad_a ? bad_a : bad_ldc};
  if (mode == report_none) told = {0};
  EXPECT_EQ(std::vector<int>(info.begin(), info.begin() + std::ptrdiff_t(told.size())), told) << name;
  EXPECT_EQ(info.back(), 77);
}

template <class T, class Int>
void check_standard(const char* name) {
  auto* gemm = routine<Groups<T>>(name);
  ASSERT_NE(gemm, nullptr);
  for (const bool by_rows : {false, true})
    for (const Mode mode : {report_all, report_group, report_any, report_none})
      check_info<T>(name, gemm, by_rows, mode);
  Random random(26);
  Batch<T> x(random, false, 2);
  const auto before = x.c;
  Arrays<T, int> y(x);
  int info = report_any;
  gemm(-1, y.count.data(), 102, y.op_a.data(), y.op_b.data(), y.m.data(), y.n.data(), y.k.data(),
       y.alpha.data(), y.a.data(), y.lda.data(), y.b.data(), y.ldb.data(), y.beta.data(), y.c.data(),
       y.ldc.data(), &info);
  EXPECT_EQ(info, 1);
  info = report_any;
  gemm(2, y.count.data(), 100, y.op_a.data(), y.op_b.data(), y.m.data(), y.n.data(), y.k.data(),
       y.alpha.data(), y.a.data(), y.lda.data(), y.b.data(), y.ldb.data(), y.beta.data(), y.c.data(),
       y.ldc.data(), &info);
  EXPECT_EQ(info, 3);
  for (const int unknown : {-1, 4, 77}) {
    info = unknown;
    call(gemm, x, y, &info);
    EXPECT_EQ(info, 17) << unknown;
  }
  expect_all(before, before, x, name);
}
TEST(BlasBatches, StandardGroups) { FOR_EACH_NAME(bblas, sdcz, gemm_batch, check_standard) }

template <class T, class Int>
void check_standard_fixed(const char* name) {
  auto* gemm = routine<void(int, int, int, int, int, int, int, T, T const* const*, int, T const* const*, int,
                            T, T**, int, int*)>(name);
  ASSERT_NE(gemm, nullptr);
  Random random(27);
  for (int round = 0; round < 6; ++round) {
    Batch<T> x(random, round % 2 == 0, 1);
    const auto before = x.c, expected = x.expected();
    Arrays<T, int> y(x);
    const auto& g = x.groups[0];
    std::vector<int> info(x.c.size() + 1, 5);
    info[0] = report_all;
    gemm(g.count, x.by_rows ? 101 : 102, number_of(g.op_a), number_of(g.op_b), int(g.m), int(g.n), int(g.k),
         g.alpha, y.a.data(), int(g.lda), y.b.data(), int(g.ldb), g.beta, y.c.data(), int(g.ldc),
         info.data());
    expect_all(expected, before, x, name);
    for (int p = 0; p < g.count; ++p) EXPECT_EQ(info[std::size_t(p)], 0);
    if (g.count == 0) continue;
    info[0] = report_group;
    gemm(g.count, x.by_rows ? 101 : 102, 111, 115, int(g.m), int(g.n), int(g.k), g.alpha, y.a.data(),
         int(g.lda), y.b.data(), int(g.ldb), g.beta, y.c.data(), int(g.ldc), info.data());
    EXPECT_EQ(info[0], 5);
  }
}
TEST(BlasBatches, StandardFixed) { FOR_EACH_NAME(bblas, sdcz, gemm_batchf, check_standard_fixed) }

}  // namespace
}  // namespace tilewright::blas_tests
