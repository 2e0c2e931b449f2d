// Runs the LU panel and its helper kernels on the host, blocks of a cluster together and threads in random
// order: pivots as LAPACK chooses them, factors that multiply to the permuted panel, moves that record the
// destination of each row, rows beyond the panel untouched.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <complex>
#include <limits>
#include <random>

#include "emulation/gpu.hpp"
#include "kernel/lu_panel/stencil.cuh"
#include "kernel/lu_rows/refine.cuh"
#include "kernel/lu_rows/stencil.cuh"
#include "kernel/lu_rows/system.cuh"
#include "lu/calls.hpp"
#include "lu/reference.hpp"

namespace tilewright::emulation {
namespace {

template <class T>
struct Host {
  using type = T;
};
template <class R>
struct Host<Complex<R>> {
  using type = std::complex<R>;
};

// A matrix by columns, with padding that must not be touched.
template <class H>
struct Panel {
  Panel(int rows, int columns, int padding) : m(rows), n(columns), ld(rows + padding) {
    values.assign(std::size_t(ld * n), mark());
  }
  static H mark() { return H(77777); }
  H& operator()(long long i, long long j) { return values[std::size_t(i + j * ld)]; }
  int m, n;
  long long ld;
  std::vector<H> values;
};

template <class H>
void fill(Panel<H>& panel, std::mt19937& random) {
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (int j = 0; j < panel.n; ++j)
    for (int i = 0; i < panel.m; ++i)
      if constexpr (sizeof(H) == 2 * sizeof(std::abs(H())))
        panel(i, j) = H(float(uniform(random)), float(uniform(random)));
      else
        panel(i, j) = H(uniform(random));
}

// The kernel's task: pivots counted from 0 and its own first row. Returns info.
template <class H>
long long factor(Panel<H>& a, std::vector<long long>& pivots) {
  std::vector<std::int64_t> rows(std::size_t(std::min(a.m, a.n)));
  const long long info = factor_reference(a.m, a.n, a.values.data(), a.ld, rows.data());
  for (const std::int64_t row : rows) pivots.push_back(row - 1);
  return info;
}

template <class H>
double difference(Panel<H>& x, Panel<H>& y) {
  double worst = 0;
  for (int j = 0; j < x.n; ++j)
    for (long long i = 0; i < x.ld; ++i) worst = std::max(worst, double(std::abs(x(i, j) - y(i, j))));
  return worst;
}

template <class T, LuPanelConfig C>
class PanelRun {
 public:
  using H = typename Host<T>::type;

  explicit PanelRun(Panel<H>& a, unsigned seed = 1)
      : pivots(std::size_t(a.n), -1), moves(lu_moves_ints(C.width), -9) {
    again(a, seed);
  }
  void again(Panel<H>& a, unsigned seed) {
    exchange.resize(std::size_t(lu_panel_exchange_bytes(C, a.m, sizeof(T)) / 32));
    Launch launch;
    launch.blocks = launch.cluster = unsigned(lu_panel_blocks(C, a.m));
    launch.threads = C.threads;
    launch.shared_bytes = lu_panel_shared_bytes(C, sizeof(T));
    launch.seed = seed;
    const LuPanelArgs<T> args{reinterpret_cast<T*>(a.values.data()),
                              a.ld,
                              a.m,
                              a.n,
                              1000,
                              pivots.data(),
                              moves.data(),
                              &info,
                              500,
                              reinterpret_cast<char*>(exchange.data())};
    fault = run(launch, [&] { lu_panel<T, C>(args); });
  }
  std::string fault;
  std::vector<long long> pivots;
  std::vector<int> moves;
  long long info = 0;
  struct alignas(32) Piece {
    char bytes[32] = {};
  };
  std::vector<Piece> exchange;
};

template <class T, LuPanelConfig C>
void expect_factored(Panel<typename Host<T>::type> a, const std::string& what, unsigned seed = 1) {
  using H = typename Host<T>::type;
  Panel<H> expected = a, before = a;
  std::vector<long long> pivots;
  const long long info = factor(expected, pivots);
  const PanelRun<T, C> done(a, seed);
  ASSERT_EQ(done.fault, "") << what;
  EXPECT_EQ(done.info, info == 0 ? 0 : 500 + info) << what;
  for (std::size_t j = 0; j < pivots.size(); ++j)
    ASSERT_EQ(done.pivots[j], 1000 + pivots[j] + 1) << what << " column " << j;
  const double eps = sizeof(std::abs(H())) == 8 ? 1e-12 : 1e-4;
  EXPECT_LT(difference(a, expected), eps * a.n) << what;
  // The moves must equal the product of the swaps.
  std::vector<int> order(std::size_t(a.m)), moved(std::size_t(a.m));
  for (int i = 0; i < a.m; ++i) order[std::size_t(i)] = moved[std::size_t(i)] = i;
  for (std::size_t j = 0; j < pivots.size(); ++j) std::swap(order[j], order[std::size_t(pivots[j])]);
  ASSERT_LE(done.moves[0], 2 * C.width) << what;
  for (int i = 0; i < done.moves[0]; ++i)
    moved[std::size_t(done.moves[std::size_t(3 + 2 * i)])] = done.moves[std::size_t(2 + 2 * i)];
  EXPECT_EQ(moved, order) << what;
}

template <class T, LuPanelConfig C>
void expect_all_shapes(unsigned seed) {
  using H = typename Host<T>::type;
  std::mt19937 random(seed);
  const int most = lu_panel_block_rows(C) * (lu_panel_is_global(C) ? 5 : C.cluster);
  for (const auto& [m, n] :
       {std::pair(most, C.width), std::pair(most - 5, C.width), std::pair(C.width + 1, C.width),
        std::pair(C.width - 3, C.width), std::pair(most / 2 + 1, 5), std::pair(1, 1), std::pair(3, 1)}) {
    if (m > most || n > C.width) continue;
    Panel<H> a(m, n, 3);
    fill(a, random);
    expect_factored<T, C>(a, fmt::format("{} x {} of {} blocks", m, n, C.cluster), seed + unsigned(m));
  }
}

TEST(LuPanelEmulation, PivotsAndFactorsAreLapacks) {
  expect_all_shapes<double, LuPanelConfig{1, 64, 1, 32}>(1);
  expect_all_shapes<double, LuPanelConfig{1, 32, 2, 8}>(2);
  expect_all_shapes<double, LuPanelConfig{2, 64, 1, 16}>(3);
  expect_all_shapes<double, LuPanelConfig{4, 32, 2, 8}>(4);
  expect_all_shapes<float, LuPanelConfig{4, 64, 1, 32}>(5);
  expect_all_shapes<float, LuPanelConfig{1, 64, 2, 16}>(6);
  expect_all_shapes<Complex<float>, LuPanelConfig{2, 64, 1, 16}>(7);
  expect_all_shapes<Complex<double>, LuPanelConfig{2, 32, 1, 8}>(8);
  expect_all_shapes<double, LuPanelConfig{16, 32, 1, 8}>(9);
}

TEST(LuPanelEmulation, BlocksAgreeThroughGlobalMemory) {
  constexpr LuExchange global = LuExchange::global;
  expect_all_shapes<double, LuPanelConfig{1, 64, 1, 32, global}>(1);
  expect_all_shapes<double, LuPanelConfig{1, 32, 2, 8, global}>(2);
  expect_all_shapes<float, LuPanelConfig{1, 64, 1, 32, global}>(3);
  expect_all_shapes<Complex<float>, LuPanelConfig{1, 32, 1, 16, global}>(4);
  expect_all_shapes<Complex<double>, LuPanelConfig{1, 32, 1, 8, global}>(5);
}

// Launches one kernel after the other with the same memory, the first with a single column.
TEST(LuPanelEmulation, TheNextLaunchTakesNoWordsOfTheLast) {
  constexpr LuPanelConfig config{1, 32, 1, 8, LuExchange::global};
  std::mt19937 random(12);
  Panel<double> one(100, 1, 0);
  fill(one, random);
  PanelRun<double, config> done(one);
  ASSERT_EQ(done.fault, "");
  for (unsigned seed = 2; seed < 5; ++seed) {
    Panel<double> a(100, 8, 0);
    fill(a, random);
    Panel<double> expected = a;
    std::vector<long long> pivots;
    factor(expected, pivots);
    done.pivots.assign(8, -1);
    done.again(a, seed);
    ASSERT_EQ(done.fault, "");
    EXPECT_LT(difference(a, expected), 1e-11) << seed;
  }
}

TEST(LuPanelEmulation, OfEqualElementsTheFirstIsThePivot) {
  std::mt19937 random(3);
  Panel<double> a(100, 8, 0);
  for (double& x : a.values) x = random() % 2 == 0 ? 1 : -1;
  expect_factored<double, LuPanelConfig{4, 32, 1, 8}>(a, "equal magnitudes");
  expect_factored<double, LuPanelConfig{1, 32, 1, 8, LuExchange::global}>(a, "through global memory");
}

TEST(LuPanelEmulation, ZeroColumnsAreToldOf) {
  constexpr LuPanelConfig config{2, 32, 1, 8};
  std::mt19937 random(4);
  for (const int zero : {0, 3, 7}) {
    Panel<double> a(60, 8, 1);
    fill(a, random);
    for (int i = 0; i < a.m; ++i) a(i, zero) = 0;
    expect_factored<double, config>(a, fmt::format("column {} is zero", zero));
  }
  Panel<double> none(40, 8, 0);
  for (double& x : none.values) x = 0;
  expect_factored<double, config>(none, "all are zero");
}

TEST(LuPanelEmulation, TinyPivotsAreDividedBy) {
  constexpr LuPanelConfig config{1, 32, 1, 8};
  std::mt19937 random(5);
  Panel<double> a(30, 2, 0);
  fill(a, random);
  for (int i = 0; i < a.m; ++i) a(i, 0) *= 1e-310;
  Panel<double> expected = a;
  std::vector<long long> pivots;
  factor(expected, pivots);
  const PanelRun<double, config> done(a);
  EXPECT_EQ(done.fault, "");
  EXPECT_LT(difference(a, expected), 1e-10);
}

TEST(LuPanelEmulation, NanSpreads) {
  constexpr LuPanelConfig config{2, 32, 1, 8};
  std::mt19937 random(6);
  Panel<double> a(50, 8, 0);
  fill(a, random);
  a(20, 2) = std::numeric_limits<double>::quiet_NaN();
  const PanelRun<double, config> done(a);
  EXPECT_EQ(done.fault, "");
  for (int i = 4; i < a.m; ++i) EXPECT_TRUE(std::isnan(a(i, 7))) << i;
  EXPECT_FALSE(std::isnan(a(20, 0)));
}

// Runs the steps of a blocked factorization with its kernels: moves, solve and inverse of one panel.
TEST(LuPanelEmulation, RowsMoveAndAreSolvedFor) {
  constexpr LuPanelConfig config{2, 64, 1, 16};
  std::mt19937 random(7);
  Panel<double> l(100, 16, 2), b(100, 21, 5);
  fill(l, random), fill(b, random);
  const PanelRun<double, config> done(l);
  ASSERT_EQ(done.fault, "");
  Panel<double> swapped = b, solved = b;
  for (int j = 0; j < 16; ++j)
    for (int c = 0; c < b.n; ++c) std::swap(swapped(j, c), swapped(done.pivots[std::size_t(j)] - 1001, c));
  Panel<double> expected = swapped;
  for (int c = 0; c < b.n; ++c)
    for (int k = 0; k < 16; ++k)
      for (int i = k + 1; i < 16; ++i) expected(i, c) -= l(i, k) * expected(k, c);

  Launch launch;
  launch.blocks = 2, launch.threads = lu_rows_threads;
  const LuSwapArgs<double> swap{b.values.data(),   b.ld, b.n,  done.moves.data(), 1,
                                lu_moves_ints(16), 16,   false};
  EXPECT_EQ(run(launch, [&] { lu_swap<double, 32>(swap); }), "");
  EXPECT_EQ(b.values, swapped.values);

  launch.shared_bytes = lu_solve_shared_bytes(8);
  const LuSolveArgs<double> solve{solved.values.data(), solved.ld, solved.n, l.values.data(), l.ld, 16,
                                  done.moves.data()};
  EXPECT_EQ(run(launch, [&] { lu_solve<double, 32>(solve); }), "");
  EXPECT_LT(difference(solved, expected), 1e-9);

  std::vector<double> inverse(16 * 16, 99);
  std::vector<int> merged(2 + 4 * 16, -5);
  launch.blocks = 3, launch.shared_bytes = std::max(lu_triangle_bytes(16, 8), lu_origin_bytes(100));
  const LuCloseArgs<double> close{l.values.data(),   l.ld, inverse.data(), 16,     100, done.moves.data(), 1,
                                  lu_moves_ints(16), 16,   merged.data(),  nullptr};
  EXPECT_EQ(run(launch, [&] { lu_close<double, 1>(close); }), "");
  EXPECT_EQ(merged[0], done.moves[0]);
  for (int c = 0; c < b.n; ++c)
    for (int i = 0; i < 16; ++i) {
      double sum = 0;
      for (int k = 0; k < 16; ++k) sum += inverse[std::size_t(i + 16 * k)] * swapped(k, c);
      EXPECT_NEAR(sum, expected(i, c), 1e-9);
    }
}

TEST(LuPanelEmulation, InversesOfLargerTriangles) {
  std::mt19937 random(8);
  const int n = 77;
  Panel<double> l(n, n, 3);
  fill(l, random);
  for (double& x : l.values) x /= 40;  // keeps the inverse small
  std::vector<double> inverse(std::size_t(n * n), 99);
  Launch launch;
  launch.blocks = (n + 7) / 8 + 1, launch.threads = lu_rows_threads;
  launch.shared_bytes = lu_triangle_bytes(n, 8);
  std::vector<int> merged(std::size_t(2 + 4 * n));
  const LuCloseArgs<double> close{l.values.data(), l.ld,   inverse.data(), n, n, nullptr, 0, 0, 0,
                                  merged.data(),   nullptr};
  ASSERT_EQ(run(launch, [&] { lu_close<double, 4>(close); }), "");
  EXPECT_EQ(merged[0], 0);
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < n; ++i) {
      double sum = inverse[std::size_t(i + n * j)];
      for (int k = 0; k < i; ++k) sum += l(i, k) * inverse[std::size_t(k + n * j)];
      EXPECT_NEAR(sum, i == j ? 1 : 0, 1e-9) << i << " " << j;
    }
}

TEST(LuPanelEmulation, SystemsHaveAnOrderAndInverses) {
  std::mt19937 random(11);
  const int n = 45, nb = 32, blocks = 2;
  Panel<double> lu(n, n, 2);
  fill(lu, random);
  for (double& x : lu.values) x /= 10;
  for (int i = 0; i < n; ++i) lu(i, i) = 1 + i % 3;
  std::vector<double> inverses(std::size_t(2 * blocks * nb * nb), 99);
  Launch launch;
  launch.blocks = 2 * blocks * (nb / 8), launch.threads = lu_rows_threads;
  launch.shared_bytes = lu_triangle_bytes(32, 8);
  std::vector<int> must_divide(std::size_t(blocks * lu_inverse_groups(nb)), 9);
  const LuInvertArgs<double> invert{lu.values.data(), lu.ld, n, nb, inverses.data(), must_divide.data()};
  ASSERT_EQ(run(launch, [&] { lu_invert_diagonal<double, 1>(invert); }), "");
  for (int which = 0; which < 2 * blocks; ++which) {
    const int first = which % blocks * nb, size = std::min(nb, n - first);
    const double* const inverse = inverses.data() + which * nb * nb;
    for (int j = 0; j < size; ++j)
      for (int i = 0; i < size; ++i) {
        double sum = 0;
        for (int k = 0; k < size; ++k) {
          const bool is_lower = which < blocks;
          const double l = i == k && is_lower ? 1 : (is_lower ? i < k : i > k) ? 0 : lu(first + i, first + k);
          sum += l * inverse[k + size * j];
        }
        EXPECT_NEAR(sum, i == j ? 1 : 0, 1e-9) << which << " " << i << " " << j;
      }
  }
  EXPECT_EQ(must_divide, std::vector<int>(must_divide.size(), 0));

  const int rows = 600;
  std::vector<long long> pivots;
  std::vector<int> expected(rows), order(rows);
  for (int i = 0; i < rows; ++i) expected[std::size_t(i)] = i;
  for (int i = 0; i < rows; ++i) {
    pivots.push_back(i + 1 + int(random() % unsigned(rows - i)));
    std::swap(expected[std::size_t(i)], expected[std::size_t(pivots.back() - 1)]);
  }
  for (const bool in_shared : {false, true}) {
    launch.blocks = 1, launch.shared_bytes = (lu_rows_threads + rows) * 4;
    const LuOrderArgs args{pivots.data(), rows, order.data(), in_shared};
    ASSERT_EQ(run(launch, [&] { lu_order<double>(args); }), "");
    EXPECT_EQ(order, expected) << in_shared;
  }
  Panel<double> b(rows, 3, 1), taken(rows, 3, 0), back(rows, 3, 1);
  fill(b, random);
  launch.blocks = 5;
  const LuTakeArgs<double> forth{
      b.values.data(), b.ld, taken.values.data(), taken.ld, 3, order.data(), rows, false};
  const LuTakeArgs<double> again{
      taken.values.data(), taken.ld, back.values.data(), back.ld, 3, order.data(), rows, true};
  ASSERT_EQ(run(launch, [&] { lu_take<double>(forth); }), "");
  ASSERT_EQ(run(launch, [&] { lu_take<double>(again); }), "");
  EXPECT_EQ(taken(5, 2), b(expected[5], 2));
  EXPECT_EQ(back.values, b.values);
}

// A flag reports the inverse of a triangle with a subnormal pivot, and its systems are solved by division.
TEST(LuPanelEmulation, PivotsWithoutAReciprocalAreDividedBy) {
  using C = Complex<double>;
  const int n = 9, groups = lu_inverse_groups(n);
  const double tiny = std::numeric_limits<double>::min() / 4;
  std::vector<C> u(n * n, C{}), inverses(2 * n * n), b(n), x(n);
  for (int i = 0; i < n; ++i)
    u[std::size_t(i * (n + 1))] = {i == 4 ? tiny : 1.5e308, i == 4 ? tiny : -1.5e308};
  for (int i = 0; i + 1 < n; ++i) u[std::size_t(i * (n + 1) + n)] = {i == 3 || i == 4 ? 0 : tiny, 0};
  std::vector<int> must_divide(std::size_t(groups), 9);
  Launch launch;
  launch.blocks = unsigned(2 * groups), launch.threads = lu_rows_threads;
  launch.shared_bytes = lu_triangle_bytes(32, 16);
  const LuInvertArgs<C> invert{u.data(), n, n, n, inverses.data(), must_divide.data()};
  ASSERT_EQ(run(launch, [&] { lu_invert_diagonal<C, 1>(invert); }), "");
  EXPECT_EQ(must_divide[0], 1);
  launch.blocks = 1, launch.shared_bytes = 16;
  for (const int op : {0, 1, 2}) {
    for (int i = 0; i < n; ++i) b[i] = u[i * (n + 1)], b[i].im *= op == 2 ? -1 : 1;
    const LuDivideArgs<C> args{u.data(), n, b.data(), n, x.data(), n, 1, n, op, groups, must_divide.data()};
    ASSERT_EQ(run(launch, [&] { lu_divide<C>(args); }), "");
    for (const C& one : x) EXPECT_NEAR(std::abs(one.re - 1) + std::abs(one.im), 0, 1e-15) << op;
  }
}

// Applies several lists, each for rows further down.
TEST(LuPanelEmulation, ListsFollowOneAnother) {
  std::mt19937 random(9);
  Panel<double> b(60, 5, 0);
  fill(b, random);
  Panel<double> expected = b;
  const int ints = lu_moves_ints(8);
  std::vector<int> lists(std::size_t(2 * ints), 0);
  const auto put = [&](int list, std::initializer_list<std::pair<int, int>> moves) {
    int* to = lists.data() + list * ints;
    to[0] = int(moves.size());
    int at = 2;
    for (const auto& [from, dest] : moves) to[at++] = from, to[at++] = dest;
  };
  put(0, {{0, 20}, {20, 0}, {3, 40}, {40, 3}});
  put(1, {{32, 1}, {1, 32}, {12, 2}, {2, 12}});  // 8 rows further: 40 and 9, 20 and 10
  for (int c = 0; c < b.n; ++c) {
    std::swap(expected(0, c), expected(20, c)), std::swap(expected(3, c), expected(40, c));
    std::swap(expected(40, c), expected(9, c)), std::swap(expected(20, c), expected(10, c));
  }
  Launch launch;
  launch.blocks = 1, launch.threads = lu_rows_threads;
  const LuSwapArgs<double> swap{b.values.data(), b.ld, b.n, lists.data(), 2, ints, 8, false};
  Panel<double> moved = b;
  EXPECT_EQ(run(launch, [&] { lu_swap<double, 16>(swap); }), "");
  EXPECT_EQ(b.values, expected.values);

  // Does both in one launch.
  std::vector<double> inverse(8 * 8);
  std::vector<int> merged(2 + 4 * 16);
  std::vector<int> origin(60);
  launch.blocks = 2, launch.shared_bytes = lu_triangle_bytes(8, 8);
  const LuCloseArgs<double> close{
      b.values.data(), b.ld, inverse.data(), 8, 60, lists.data(), 2, ints, 8, merged.data(), origin.data()};
  EXPECT_EQ(run(launch, [&] { lu_close<double, 1>(close); }), "");
  EXPECT_EQ(merged[0], 6) << "rows 20 and 40 move twice";
  const LuMoveArgs<double> move{moved.values.data(), moved.ld, moved.n, merged.data()};
  EXPECT_EQ(run(launch, [&] { lu_move<double>(move); }), "");
  EXPECT_EQ(moved.values, expected.values);
}

TEST(LuPanelEmulation, RefinementLooksAtActiveColumnsAlone) {
  using Z = Complex<double>;
  constexpr int n = 300, columns = 4;
  std::mt19937 random(11);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<Z> r(n * columns), x(n * columns, Z{1, 1});
  for (Z& one : r) one = {uniform(random), uniform(random)};
  std::vector<double> sizes(n * columns), bound(n * columns, 2.0), errors(columns, -1);
  Launch launch;
  launch.blocks = 3, launch.threads = lu_rows_threads, launch.shared_bytes = 8;
  const LuMagnitudesArgs<Z, double> magnitudes{r.data(), n, sizes.data(), n, n, columns};
  ASSERT_EQ(run(launch, [&] { lu_magnitudes<Z, double>(magnitudes); }), "");
  for (std::size_t i = 0; i < r.size(); ++i) EXPECT_EQ(sizes[i], std::abs(r[i].re) + std::abs(r[i].im)) << i;
  r[2 * n + 17].im = std::numeric_limits<double>::quiet_NaN();
  bound[n + 299] = 0;  // a residual that can only come from rounding
  r[n + 299] = {};
  std::vector<LuRefined> progress(columns, LuRefined{0, 3, 1});
  progress[3] = {0, 0.5, 0};
  const LuBackwardErrorArgs<Z, double> errors_of{r.data(),        bound.data(), n,     columns,
                                                 progress.data(), 1e-300,       1e-290};
  ASSERT_EQ(run(launch, [&] { lu_backward_error<Z, double>(errors_of); }), "");
  for (int c = 0; c < 1; ++c)
    EXPECT_EQ(progress[std::size_t(c)].now,
              *std::max_element(sizes.begin() + c * n, sizes.begin() + (c + 1) * n) / 2);
  EXPECT_EQ(progress[1].now, 1) << "(0 + safe1) / (0 + safe1)";
  EXPECT_TRUE(std::isnan(progress[2].now));
  EXPECT_EQ(progress[3].now, 0);
  Launch deciding = launch;
  deciding.blocks = 1;
  const LuGoOnArgs go_on{progress.data(), errors.data(), columns, 1e-16};
  ASSERT_EQ(run(deciding, [&] { lu_go_on<Z>(go_on); }), "");
  EXPECT_EQ(progress[0].is_active, 1);
  EXPECT_EQ(progress[2].is_active, 0) << "a NaN is not improved";
  EXPECT_TRUE(std::isnan(errors[2]));
  EXPECT_EQ(errors[3], -1) << "it was none of the active";
  EXPECT_EQ(progress[0].last, errors[0]);
  EXPECT_EQ(progress[0].now, 0);
  const LuImproveArgs<Z> improve{r.data(), x.data(), n, n, columns, progress.data()};
  ASSERT_EQ(run(launch, [&] { lu_improve<Z>(improve); }), "");
  EXPECT_EQ(x[5].re, 1 + r[5].re);
  EXPECT_EQ(x[5].im, 1 + r[5].im);
  EXPECT_EQ(x[2 * n + 5].re, 1);
  EXPECT_EQ(x[3 * n + 5].re, 1);
  // A column ends when its error was not halved.
  progress[0].now = 0.9 * progress[0].last;
  ASSERT_EQ(run(deciding, [&] { lu_go_on<Z>(go_on); }), "");
  EXPECT_EQ(progress[0].is_active, 0);
}

TEST(LuPanelEmulation, EarlierPanelsGetTheMovesOfLaterOnes) {
  std::mt19937 random(10);
  Panel<double> b(40, 24, 1);
  fill(b, random);
  Panel<double> expected = b;
  const int ints = lu_moves_ints(8);
  std::vector<int> lists(std::size_t(3 * ints), 0);
  for (int list = 0; list < 3; ++list) {
    int* const to = lists.data() + list * ints;
    to[0] = 2, to[2] = 1, to[3] = 11, to[4] = 11, to[5] = 1;
    for (int c = 0; c < 8 * list; ++c) std::swap(expected(8 * list + 1, c), expected(8 * list + 11, c));
  }
  Launch launch;
  launch.blocks = 2, launch.threads = lu_rows_threads;
  const LuSwapArgs<double> swap{b.values.data(), b.ld, b.n, lists.data(), 3, ints, 8, true};
  EXPECT_EQ(run(launch, [&] { lu_swap<double, 16>(swap); }), "");
  EXPECT_EQ(b.values, expected.values);
}

}  // namespace
}  // namespace tilewright::emulation
