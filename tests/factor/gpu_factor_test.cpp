// Factorizations and solves of batches in device memory through the public functions: views of every kind,
// levels, more right sides than one launch takes, infos, graphs, and arguments that are refused.
#include <gtest/gtest.h>

#include <complex>
#include <random>
#include <tuple>
#include <vector>

#include "factor/gpu_batches.hpp"
#include "support/gpu_fixture.hpp"
#include "tilewright/factor.hpp"

namespace tilewright::testing {
namespace {

constexpr Location device = Location::device;

template <class T>
class DeviceArray {
 public:
  DeviceArray(const Gpu& gpu, const std::vector<T>& from)
      : gpu_(gpu), size_(from.size()), buffer_(gpu, bytes()) {
    gpu_.write(get(), from.data(), from.size() * sizeof(T));
  }
  T* get() const { return buffer_.template as<T>(); }
  std::vector<T> read() const {
    gpu_.synchronize();
    std::vector<T> all(size_);
    gpu_.read(all.data(), get(), size_ * sizeof(T));
    return all;
  }

 private:
  std::size_t bytes() const { return std::max<std::size_t>(16, size_ * sizeof(T)); }
  const Gpu& gpu_;
  std::size_t size_;
  GpuBuffer buffer_;
};

// `count` matrices, each well away from singular, and the right sides of known solutions; one behind the
// other.
struct System {
  int n, nrhs, count;
  std::vector<double> a, x, b;

  System(int order, int sides, int problems, bool definite, Op op = Op::none)
      : n(order), nrhs(sides), count(problems) {
    std::mt19937 random(7);
    const auto number = [&] { return double(int(random() % 2001) - 1000) / 1000; };
    a.resize(std::size_t(n * n * count)), x.resize(std::size_t(n * nrhs * count)), b.resize(x.size());
    for (double& one : x) one = number();
    for (int p = 0; p < count; ++p) {
      for (int j = 0; j < n; ++j)
        for (int i = 0; i < n; ++i)
          at(p, i, j) = i == j ? 2 * n + number() : definite && i < j ? at(p, j, i) : number();
      for (int j = 1; j < n && definite; ++j)
        for (int i = 0; i < j; ++i) at(p, i, j) = at(p, j, i);
      for (int c = 0; c < nrhs; ++c)
        for (int i = 0; i < n; ++i)
          for (int k = 0; k < n; ++k)
            side(b, p, i, c) += (op == Op::none ? at(p, i, k) : at(p, k, i)) * side(x, p, k, c);
    }
  }
  double& at(int p, int i, int j) { return a[std::size_t((p * n + j) * n + i)]; }
  double& side(std::vector<double>& of, int p, int i, int c) const {
    return of[std::size_t((p * nrhs + c) * n + i)];
  }
  StridedBatch<double, device> batch_a(double* at) const {
    return strided_batch(column_major<device>(at, n, n), n * n, count);
  }
  StridedBatch<double, device> batch_b(double* at) const {
    return strided_batch(column_major<device>(at, n, nrhs), n * nrhs, count);
  }
};

void expect_near(const std::vector<double>& x, const std::vector<double>& y) {
  ASSERT_EQ(x.size(), y.size());
  for (std::size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(x[i], y[i], 1e-11) << i;
}

class GpuFactor : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped()) return;
    factor_options_.queue.device = device_;
  }
  Context context_;
  FactorOptions factor_options_;
};

TEST_F(GpuFactor, PositiveDefiniteSystems) {
  System s(9, 2, 35, true);
  const DeviceArray<double> a(*gpu_, s.a), b(*gpu_, s.b), again(*gpu_, s.b);
  const DeviceArray<int> info(*gpu_, std::vector<int>(35, 9));
  posv_batched(context_, Uplo::upper, s.batch_a(a.get()), s.batch_b(b.get()), {InfoMode::all, info.get()},
               factor_options_);
  expect_near(b.read(), s.x);
  EXPECT_EQ(a.read(), s.a);
  EXPECT_EQ(info.read(), std::vector<int>(35, 0));
  potrf_batched(context_, Uplo::lower, s.batch_a(a.get()), {}, factor_options_);
  potrs_batched(context_, Uplo::lower, s.batch_a(a.get()), s.batch_b(again.get()), factor_options_);
  expect_near(again.read(), s.x);
}

TEST_F(GpuFactor, GeneralSystems) {
  System s(12, 3, 20, false, Op::trans), plain(12, 40, 20, false);
  const DeviceArray<double> a(*gpu_, s.a), b(*gpu_, s.b), c(*gpu_, plain.a), d(*gpu_, plain.b);
  const DeviceArray<int> pivots(*gpu_, std::vector<int>(12 * 20));
  getrf_batched(context_, s.batch_a(a.get()), {pivots.get(), 12 * 20}, {}, factor_options_);
  getrs_batched(context_, Op::trans, s.batch_a(a.get()), {pivots.get(), 12 * 20}, s.batch_b(b.get()),
                factor_options_);
  expect_near(b.read(), s.x);
  gesv_batched(context_, plain.batch_a(c.get()), plain.batch_b(d.get()), {}, factor_options_);
  expect_near(d.read(), plain.x);
}

TEST_F(GpuFactor, PointersAndStridedViews) {
  System s(6, 4, 24, false);
  const DeviceArray<double> a(*gpu_, s.a), b(*gpu_, s.b), by_views(*gpu_, s.b);
  std::vector<double*> of_a, of_b;
  for (int p = 0; p < 24; ++p) of_a.push_back(a.get() + p * 36), of_b.push_back(b.get() + p * 24);
  const DeviceArray<double*> list_a(*gpu_, of_a), list_b(*gpu_, of_b);
  gesv_batched(context_, PointerBatch<double, device>{list_a.get(), 6, 6, 6, 24},
               PointerBatch<double, device>{list_b.get(), 6, 4, 6, 24}, {}, factor_options_);
  expect_near(b.read(), s.x);
  // Problems (h, i) of 4 x 6, which are one level in B; in A there are gaps between the outer ones.
  std::vector<double> apart;
  for (int h = 0; h < 4; ++h) {
    apart.insert(apart.end(), s.a.begin() + h * 6 * 36, s.a.begin() + (h + 1) * 6 * 36);
    apart.insert(apart.end(), 10, 0.0);
  }
  const DeviceArray<double> with_gaps(*gpu_, apart);
  const auto view_a = strided<device>(with_gaps.get(), 6, 6, 1, 6).repeat(36, 6).repeat(6 * 36 + 10, 4);
  const auto view_b = strided<device>(by_views.get(), 6, 4, 1, 6).repeat(24, 24);
  gesv_batched(context_, view_a, view_b, {}, factor_options_);
  expect_near(by_views.read(), s.x);
}

TEST_F(GpuFactor, TrianglesFromTheRight) {
  const int n = 5, rows = 70, count = 6;
  System s(n, 1, count, false);
  std::vector<double> x(std::size_t(rows * n * count)), b(x.size(), 0);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = double(i % 17) - 8;
  for (int p = 0; p < count; ++p)
    for (int r = 0; r < rows; ++r)
      for (int j = 0; j < n; ++j)
        for (int k = 0; k <= j; ++k)
          b[std::size_t((p * n + j) * rows + r)] +=
              x[std::size_t((p * n + k) * rows + r)] * s.at(p, k, j) / 2;
  const DeviceArray<double> a(*gpu_, s.a), sides(*gpu_, b);
  trsm_batched(context_, Side::right, Uplo::upper, Op::none, Diag::non_unit, 2.0, s.batch_a(a.get()),
               strided_batch(column_major<device>(sides.get(), rows, n), rows * n, count), factor_options_);
  expect_near(sides.read(), x);
}

TEST_F(GpuFactor, InversesAndDeterminants) {
  System s(4, 4, 10, false);
  s.at(3, 0, 0) = s.at(3, 1, 0) = s.at(3, 2, 0) = s.at(3, 3, 0) = 0;
  const std::vector<double> kept(s.a.size(), -1);
  const DeviceArray<double> a(*gpu_, s.a), inverse(*gpu_, kept), det(*gpu_, std::vector<double>(10));
  const DeviceArray<int> info(*gpu_, std::vector<int>(1, 7));
  inv_batched(context_, s.batch_a(a.get()), s.batch_a(inverse.get()), {InfoMode::any, info.get()},
              factor_options_);
  det_batched(context_, s.batch_a(a.get()), {det.get(), 10}, factor_options_);
  const auto found = inverse.read(), values = det.read();
  EXPECT_EQ(info.read().front(), 1);
  EXPECT_EQ(values[3], 0);
  for (int p = 0; p < 10; ++p)
    for (int j = 0; j < 4; ++j)
      for (int i = 0; i < 4; ++i) {
        double sum = 0;
        for (int k = 0; k < 4; ++k) sum += s.at(p, i, k) * found[std::size_t((p * 4 + j) * 4 + k)];
        if (p == 3)
          EXPECT_EQ(found[std::size_t((p * 4 + j) * 4 + i)], -1);
        else
          EXPECT_NEAR(sum, i == j, 1e-12);
      }
}

// A call queues work and does nothing else, so that a graph holds it.
TEST_F(GpuFactor, Graphs) {
  System s(8, 1, 30, false);
  const DeviceArray<double> a(*gpu_, s.a), b(*gpu_, s.b);
  const DeviceArray<int> info(*gpu_, std::vector<int>(30, 5));
  const GpuStream stream(*gpu_);
  factor_options_.queue.stream = stream.get();
  const auto call = [&] {
    gesv_batched(context_, s.batch_a(a.get()), s.batch_b(b.get()), {InfoMode::all, info.get()},
                 factor_options_);
  };
  call();
  stream.synchronize();
  gpu_->write(b.get(), s.b.data(), s.b.size() * sizeof(double));
  const GpuGraph graph(*gpu_, stream.get(), call);
  EXPECT_EQ(b.read(), s.b);
  graph.launch(stream.get());
  stream.synchronize();
  expect_near(b.read(), s.x);
}

TEST_F(GpuFactor, EmptyAndRefused) {
  const DeviceArray<int> info(*gpu_, std::vector<int>(3, 5));
  const DeviceArray<double> det(*gpu_, std::vector<double>(3, 5));
  const auto none = strided_batch(column_major<device>(det.get(), 0, 0), 1, 3);
  potrf_batched(context_, Uplo::lower, none, {InfoMode::all, info.get()}, factor_options_);
  det_batched(context_, none, {det.get(), 3}, factor_options_);
  EXPECT_EQ(info.read(), std::vector<int>(3, 0));
  EXPECT_EQ(det.read(), std::vector<double>(3, 1));
  const auto code_of = [&](int rows, int cols) {
    try {
      const DeviceArray<int> pivots(*gpu_, std::vector<int>(40));
      getrf_batched(context_, column_major<device>(det.get(), rows, cols), {pivots.get(), 40}, {},
                    factor_options_);
    } catch (const Error& error) {
      return error.code();
    }
    return ErrorCode::ok;
  };
  EXPECT_EQ(code_of(20'000, 1), ErrorCode::unsupported);
}

// Orders above those of gpu_small.
TEST_F(GpuFactor, LargeSystems) {
  System s(45, 3, 5, false), definite(40, 70, 4, true);
  const DeviceArray<double> a(*gpu_, s.a), b(*gpu_, s.b), c(*gpu_, definite.a), d(*gpu_, definite.b),
      again(*gpu_, definite.b);
  const DeviceArray<int> info(*gpu_, std::vector<int>(5, 9));
  gesv_batched(context_, s.batch_a(a.get()), s.batch_b(b.get()), {InfoMode::all, info.get()},
               factor_options_);
  expect_near(b.read(), s.x);
  EXPECT_EQ(a.read(), s.a);
  EXPECT_EQ(info.read(), std::vector<int>(5, 0));
  posv_batched(context_, Uplo::upper, definite.batch_a(c.get()), definite.batch_b(d.get()), {},
               factor_options_);
  expect_near(d.read(), definite.x);
  potrf_batched(context_, Uplo::lower, definite.batch_a(c.get()), {}, factor_options_);
  potrs_batched(context_, Uplo::lower, definite.batch_a(c.get()), definite.batch_b(again.get()),
                factor_options_);
  expect_near(again.read(), definite.x);
}

// Small systems too are served by the candidate of large ones, whose workspace graphs have for themselves.
TEST_F(GpuFactor, LargeCandidateInGraphs) {
  System s(8, 40, 6, false);
  s.at(2, 0, 0) = 0;
  for (int i = 0; i < 8; ++i) s.at(2, i, 3) = 0;
  const DeviceArray<double> a(*gpu_, s.a), b(*gpu_, s.b);
  const DeviceArray<int> info(*gpu_, std::vector<int>(6, 5));
  const GpuStream stream(*gpu_);
  factor_options_.queue.stream = stream.get();
  factor_options_.candidate = "gpu_large";
  const auto call = [&] {
    gesv_batched(context_, s.batch_a(a.get()), s.batch_b(b.get()), {InfoMode::all, info.get()},
                 factor_options_);
  };
  call();
  stream.synchronize();
  gpu_->write(b.get(), s.b.data(), s.b.size() * sizeof(double));
  const GpuGraph graph(*gpu_, stream.get(), call);
  EXPECT_EQ(b.read(), s.b);
  graph.launch(stream.get());
  stream.synchronize();
  EXPECT_EQ(info.read(), (std::vector<int>{0, 0, 4, 0, 0, 0}));
  std::vector<double> found = b.read(), wanted = s.x;  // the singular problem keeps its right sides
  std::copy_n(s.b.begin() + 2 * 8 * 40, 8 * 40, wanted.begin() + 2 * 8 * 40);
  expect_near(found, wanted);
}

// Parts of interleaved batches begin with a block or lie within one, so that a kernel finds their problems
// from where the first lies.
TEST(GpuFactorParts, KeepBlocksWhole) {
  std::vector<char> memory(1 << 16);
  for (const auto& [block_a, block_b, most] : {std::tuple{32, 0, 50},
                                               {32, 12, 100},
                                               {7, 5, 40},
                                               {7, 5, 3},
                                               {200, 0, 33},
                                               {1, 8, 1000},
                                               {64, 64, 64}}) {
    FactorWork work;
    work.count = 150, work.has_b = block_b > 0;
    const auto set = [&](FactorOperand& x, int block) {
      x.data = memory.data(), x.rows = 2, x.cols = 2, x.col_stride = 2, x.element_bytes = 8, x.block = block;
      x.level_count = 1, x.levels[0] = {work.count, 0};
    };
    set(work.a, block_a), set(work.b, block_b);
    std::int64_t parts = 0;
    for (std::int64_t first = 0, count; first < work.count; first += count, ++parts) {
      count = problems_of_part(work, first, most);
      ASSERT_GE(count, 1);
      ASSERT_LE(count, most);
      for (const FactorOperand* x : {&work.a, &work.b}) {
        if (x->block == 0) continue;
        const FactorGpuBatch part = gpu_batch_of(*x, first, 2, 2, 0);
        for (std::int64_t p = 0; p < count; ++p)
          ASSERT_EQ(static_cast<char*>(part.data) + (p / part.block * part.block_stride + p % part.block) * 8,
                    x->address(first + p))
              << block_a << ' ' << block_b << ' ' << most << ' ' << first << ' ' << p;
      }
    }
    EXPECT_LE(parts, work.count);
  }
}

// P A = L U of matrices that are not square, by columns and by rows.
TEST_F(GpuFactor, Rectangles) {
  for (const auto& [m, n] : {std::pair{50, 20}, {20, 50}, {3, 1}}) {
    const int count = 3, steps = std::min(m, n);
    std::vector<double> before(std::size_t(m * n * count));
    std::mt19937 random(11);
    for (double& x : before) x = double(int(random() % 2001) - 1000) / 1000;
    for (const bool by_rows : {false, true}) {
      const DeviceArray<double> a(*gpu_, before);
      const DeviceArray<int> pivots(*gpu_, std::vector<int>(std::size_t(steps * count)));
      const auto view = strided<device>(a.get(), m, n, by_rows ? n : 1, by_rows ? 1 : m).repeat(m * n, count);
      getrf_batched(context_, view, {pivots.get(), std::size_t(steps * count)}, {}, factor_options_);
      const auto lu = a.read();
      const auto swaps = pivots.read();
      const auto at = [&, m = m, n = n, by_rows](const std::vector<double>& of, int p, int i, int j) {
        return of[std::size_t(p * m * n + (by_rows ? i * n + j : j * m + i))];
      };
      for (int p = 0; p < count; ++p) {
        std::vector<int> row(static_cast<std::size_t>(m));
        for (int i = 0; i < m; ++i) row[std::size_t(i)] = i;
        for (int k = 0; k < steps; ++k)
          std::swap(row[std::size_t(k)], row[std::size_t(swaps[std::size_t(p * steps + k)] - 1)]);
        for (int i = 0; i < m; ++i)
          for (int j = 0; j < n; ++j) {
            double sum = 0;
            for (int k = 0; k <= std::min(i, j) && k < steps; ++k)
              sum += (k == i ? 1 : at(lu, p, i, k)) * at(lu, p, k, j);
            ASSERT_NEAR(sum, at(before, p, row[std::size_t(i)], j), 1e-13) << m << " x " << n;
          }
      }
    }
  }
}

// Triangles that are solved with by halves: from both sides, with every op, by columns and by rows.
TEST_F(GpuFactor, LargeTriangles) {
  using T = std::complex<double>;
  const int n = 197, sides = 33, count = 2;
  const T alpha(0.5, -1);
  std::mt19937 random(5);
  const auto number = [&] { return T(int(random() % 2001) - 1000, int(random() % 2001) - 1000) / 1000.0; };
  std::vector<T> a(std::size_t(n * n * count)), x(std::size_t(n * sides * count));
  for (T& one : a) one = number() / double(n);
  for (int p = 0; p < count; ++p)
    for (int i = 0; i < n; ++i) a[std::size_t((p * n + i) * n + i)] = T(2, 1);
  for (T& one : x) one = number();
  const DeviceArray<T> on_device(*gpu_, a);
  for (int kind = 0; kind < 12; ++kind) {
    const Side side = kind % 2 == 0 ? Side::left : Side::right;
    const Uplo uplo = kind / 2 % 2 == 0 ? Uplo::lower : Uplo::upper;
    const Op op = static_cast<Op>(kind / 4);
    const bool by_rows = kind % 3 == 1;
    const int rows = side == Side::left ? n : sides, cols = side == Side::left ? sides : n;
    const auto place = [&](int p, int i, int j) { return std::size_t((p * cols + j) * rows + i); };
    std::vector<T> b(x.size());
    for (int p = 0; p < count; ++p) {
      const auto op_a = [&](int i, int j) {
        const int r = op == Op::none ? i : j, c = op == Op::none ? j : i;
        if (uplo == Uplo::lower ? r < c : r > c) return T(0);
        const T value = a[std::size_t(p * n * n + (by_rows ? r * n + c : c * n + r))];
        return op == Op::conj_trans ? std::conj(value) : value;
      };
      for (int k = 0; k < n; ++k)
        for (int l = 0; l < n; ++l) {
          const T factor = op_a(k, l) / alpha;
          for (int s = 0; s < sides && factor != T(0); ++s) {
            if (side == Side::left)
              b[place(p, k, s)] += factor * x[place(p, l, s)];
            else
              b[place(p, s, l)] += factor * x[place(p, s, k)];
          }
        }
    }
    const DeviceArray<T> found(*gpu_, b);
    const auto view_a =
        strided<device>(on_device.get(), n, n, by_rows ? n : 1, by_rows ? 1 : n).repeat(n * n, count);
    trsm_batched(context_, side, uplo, op, Diag::non_unit, alpha, view_a,
                 strided_batch(column_major<device>(found.get(), rows, cols), rows * cols, count),
                 factor_options_);
    const auto now = found.read();
    for (std::size_t e = 0; e < x.size(); ++e)
      ASSERT_LE(std::abs(now[e] - x[e]), 1e-12) << kind << " at " << e;
  }
}

// Halves of halves, of real numbers, with right sides by rows, and unit diagonals.
TEST_F(GpuFactor, LargeCholeskySolves) {
  const int n = 410, sides = 32;
  std::mt19937 random(3);
  const auto number = [&] { return double(int(random() % 2001) - 1000) / 1000; };
  std::vector<double> l(std::size_t(n * n)), x(std::size_t(n * sides));
  for (double& one : l) one = number() / n;
  for (int i = 0; i < n; ++i) l[std::size_t(i * n + i)] = 2;
  for (double& one : x) one = number();
  // Returns L or L^T times rows of right sides.
  const auto times = [&](const std::vector<double>& of, bool transposed, double diagonal) {
    std::vector<double> product(of.size());
    for (int j = 0; j < n; ++j)
      for (int i = j; i < n; ++i) {
        const double factor = i == j ? diagonal : l[std::size_t(j * n + i)];
        for (int s = 0; s < sides; ++s)
          product[std::size_t((transposed ? j : i) * sides + s)] +=
              factor * of[std::size_t((transposed ? i : j) * sides + s)];
      }
    return product;
  };
  const DeviceArray<double> a(*gpu_, l), b(*gpu_, times(times(x, true, 2), false, 2)),
      unit(*gpu_, times(x, true, 1));
  const auto rows = [&](const DeviceArray<double>& of) {
    return strided<device>(of.get(), n, sides, sides, 1).repeat(n * sides, 1);
  };
  const auto factor = strided_batch(column_major<device>(a.get(), n, n), n * n, 1);
  potrs_batched(context_, Uplo::lower, factor, rows(b), factor_options_);
  expect_near(b.read(), x);
  trsm_batched(context_, Side::left, Uplo::lower, Op::trans, Diag::unit, 1.0, factor, rows(unit),
               factor_options_);
  expect_near(unit.read(), x);
}

TEST_F(GpuFactor, LargeInversesAndDeterminants) {
  System s(34, 1, 3, false);
  const DeviceArray<double> a(*gpu_, s.a), inverse(*gpu_, s.a), det(*gpu_, std::vector<double>(3)),
      small_det(*gpu_, std::vector<double>(3)), in_place(*gpu_, s.a);
  const DeviceArray<int> pivots(*gpu_, std::vector<int>(3 * 34));
  inv_batched(context_, s.batch_a(a.get()), s.batch_a(inverse.get()), {}, factor_options_);
  getrf_batched(context_, s.batch_a(in_place.get()), {pivots.get(), 3 * 34}, {}, factor_options_);
  getri_batched(context_, s.batch_a(in_place.get()), {pivots.get(), 3 * 34}, {}, factor_options_);
  const auto found = inverse.read();
  expect_near(in_place.read(), found);
  for (int p = 0; p < 3; ++p)
    for (int j = 0; j < 34; ++j)
      for (int i = 0; i < 34; ++i) {
        double sum = 0;
        for (int k = 0; k < 34; ++k) sum += s.at(p, i, k) * found[std::size_t((p * 34 + j) * 34 + k)];
        ASSERT_NEAR(sum, i == j, 1e-12);
      }
  System t(6, 1, 3, false);
  const DeviceArray<double> b(*gpu_, t.a);
  det_batched(context_, t.batch_a(b.get()), {small_det.get(), 3}, factor_options_);
  factor_options_.candidate = "gpu_large";
  det_batched(context_, t.batch_a(b.get()), {det.get(), 3}, factor_options_);
  for (int p = 0; p < 3; ++p)
    EXPECT_NEAR(det.read()[std::size_t(p)] / small_det.read()[std::size_t(p)], 1, 1e-13);
}

}  // namespace
}  // namespace tilewright::testing
