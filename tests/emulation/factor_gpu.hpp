// Runs an instance of the stencil of small factorizations on the host: batches with a last block that is not
// full, gaps between matrices, a problem that cannot be factored and one with NaN. Results are multiplied
// back, and nothing outside of them may change.
#pragma once

#include <gtest/gtest.h>

#include <complex>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "emulation/gpu.hpp"
#include "kernel/factor_gpu/cost.hpp"
#include "kernel/factor_gpu/shape.hpp"
#include "kernel/factor_gpu/stencil.cuh"

namespace tilewright::emulation {

template <class T>
struct HostElement {
  using Device = T;
  using Real = T;
};
template <class R>
struct HostElement<std::complex<R>> {
  using Device = Complex<R>;
  using Real = R;
};
using Wide = std::complex<double>;

// How the matrices of a batch lie.
struct FactorLie {
  FactorGpuPlace place = FactorGpuPlace::strided;
  bool by_rows = false;
  int gap = 0;  // elements behind each line and each matrix

  constexpr FactorGpuPieces pieces(int rows, int cols, int element_bytes) const {
    const int vector = factor_gpu_vector_bytes / element_bytes, length = by_rows ? cols : rows;
    if (place != FactorGpuPlace::strided || vector == 1) return FactorGpuPieces::elements;
    if (length % vector == 0 && gap % vector == 0) return FactorGpuPieces::vectors;
    return gap == 0 ? FactorGpuPieces::run : FactorGpuPieces::elements;
  }
};

template <class T>
class FactorBatch {
 public:
  FactorBatch(int rows, int cols, int count, const FactorLie& lie)
      : lie_(lie),
        length_(lie.by_rows ? cols : rows),
        lines_(lie.by_rows ? rows : cols),
        line_(length_ + lie.gap),
        stride_(line_ * lines_ + lie.gap) {
    const int stored = (count + block - 1) / block * block;
    data.assign(std::size_t(std::max(1, stride_ * stored)), T(-77));
    for (int p = 0; p < count; ++p) pointers_.push_back(data.data() + p * stride_);
  }
  T& at(int p, int i, int j) {
    const int f = lie_.by_rows ? j : i, s = lie_.by_rows ? i : j;
    if (lie_.place == FactorGpuPlace::interleaved)
      return data[std::size_t((p / block * line_ * lines_ + s * line_ + f) * block + p % block)];
    return data[std::size_t(p * stride_ + s * line_ + f)];
  }
  auto operand() {
    using D = typename HostElement<T>::Device;
    const bool interleaved = lie_.place == FactorGpuPlace::interleaved;
    const int step = interleaved ? block : 1;
    return FactorGpuOperand<D>{reinterpret_cast<D*>(data.data()),
                               reinterpret_cast<D* const*>(pointers_.data()),
                               stride_,
                               line_ * step,
                               step,
                               block,
                               block * line_ * lines_};
  }
  Region region() const { return {data.data(), data.size() * sizeof(T)}; }

  std::vector<T> data;

 private:
  static constexpr int block = 5;
  FactorLie lie_;
  int length_, lines_, line_, stride_;
  std::vector<T*> pointers_;
};

// Describes an instance to the checks of a routine, which are compiled once for each type; the kernel is
// compiled for each instance.
struct FactorInstance {
  LaneShape problem;
  FactorLie lie_a, lie_b;
  FactorGpuShape shape;
  int count = 1;
  std::string config;
};

// One routine on one batch.
template <class T>
class FactorRun {
 public:
  using D = typename HostElement<T>::Device;
  using R = typename HostElement<T>::Real;
  // Launches the instance's kernels; returns the first error, or "".
  using Launcher = std::function<std::string(const FactorGpuArgs<D>&, Copies, const std::vector<Region>&)>;

  FactorRun(const FactorInstance& instance, Launcher launches)
      : P(instance.problem),
        S(instance.shape),
        config(instance.config),
        launcher(std::move(launches)),
        n(int(P.n)),
        nrhs(S.nrhs > 0 ? S.nrhs : 1),
        is_right(P.routine == Routine::trsm && P.side == Side::right),
        by_cholesky(P.routine == Routine::potrf || P.routine == Routine::posv),
        by_lu(P.routine == Routine::getrf || P.routine == Routine::gesv || P.routine == Routine::inv ||
              P.routine == Routine::det),
        in_place(P.routine == Routine::getri || P.routine == Routine::potri),
        count(instance.count),
        a(n, n, count, instance.lie_a),
        b(is_right ? nrhs : n, is_right ? n : nrhs, count, instance.lie_b),
        pivots(std::size_t(count * n), 0),
        info(std::size_t(count), -9),
        det(std::size_t(count)),
        generator_{unsigned(n)} {}

  void expect_right() {
    fill();
    a_before = a.data, b_before = b.data;
    launch();
    for (int p = 0; p < count; ++p) {
      check_info(p);
      if (is_nan(p) || ::testing::Test::HasFailure()) continue;
      if (fails(p)) {
        if (factor_gpu_has_b(S)) check_kept(p);
        continue;
      }
      check(p);
    }
    check_gaps();
  }

 private:
  R random() { return R(int(generator_() % 2001) - 1000) / R(1000); }
  T element() {
    if constexpr (sizeof(T) == sizeof(R))
      return random();
    else
      return {random(), random()};
  }
  bool factors() const { return by_cholesky || by_lu; }
  bool fails(int p) const { return p % 7 == 1 && (factors() || in_place); }
  bool is_nan(int p) const { return p % 7 == 2 && factors(); }
  bool stored(int i, int j) const { return P.uplo == Uplo::lower ? i >= j : i <= j; }

  void fill() {
    for (int p = 0; p < count; ++p) {
      for (int j = 0; j < n; ++j)
        for (int i = 0; i < n; ++i) {
          a.at(p, i, j) = by_lu ? element() : element() / R(n);
          if (i == j && !by_lu) a.at(p, i, j) = T(R(2) + random());
        }
      if (by_cholesky || P.routine == Routine::potrs || P.routine == Routine::potri ||
          P.routine == Routine::trsm)
        for (int j = 0; j < n; ++j)
          for (int i = 0; i < n; ++i)
            if (!stored(i, j)) a.at(p, i, j) = T(std::numeric_limits<R>::quiet_NaN());
      if (by_lu && P.pivoting == Pivoting::none)
        for (int i = 0; i < n; ++i) a.at(p, i, i) += T(R(2 * n));
      const int q = n / 2;
      if (fails(p) && by_cholesky) a.at(p, q, q) = T(-5);
      if (fails(p) && by_lu)
        for (int i = 0; i < n; ++i) a.at(p, i, q) = T(0);
      if (fails(p) && in_place) a.at(p, q, q) = T(0);
      if (is_nan(p)) a.at(p, 0, 0) = T(std::numeric_limits<R>::quiet_NaN());
      for (int k = 0; k < n; ++k)
        pivots[std::size_t(p * n + k)] = k + 1 + int(generator_() % unsigned(n - k));
      fill_b(p);
    }
  }
  void fill_b(int p) {
    if (!factor_gpu_has_b(S) || S.identity) return;
    for (int c = 0; c < nrhs; ++c)
      for (int i = 0; i < n; ++i) side(p, i, c) = element();
  }
  T& side(int p, int i, int c) { return is_right ? b.at(p, c, i) : b.at(p, i, c); }

  void launch() {
    FactorGpuArgs<D> args{};
    const T alpha = P.routine == Routine::trsm ? T(R(3)) : T(1);
    std::memcpy(&args.alpha, &alpha, sizeof alpha);
    args.a = a.operand(), args.b = in_place ? a.operand() : b.operand();
    args.count = count, args.pivots = pivots.data(), args.info = info.data(), args.info_step = 1;
    args.det = reinterpret_cast<D*>(det.data());
    for (const Copies copies : {Copies::late, Copies::at_once}) {
      a.data = a_before, b.data = b_before;
      const auto pivots_before = pivots;
      ASSERT_EQ(launcher(args, copies, {a.region(), b.region()}), "");
      if (copies == Copies::late) pivots = pivots_before;
    }
  }

  void check_info(int p) {
    if (is_nan(p)) {
      if (by_cholesky) {
        EXPECT_EQ(info[std::size_t(p)], 1) << describe(S) << " problem " << p;
      }
      return;
    }
    EXPECT_EQ(info[std::size_t(p)], fails(p) ? n / 2 + 1 : 0) << describe(S) << config << " problem " << p;
  }
  void check_kept(int p) {
    FactorBatch<T>& of = in_place ? a : b;
    std::vector<T>& before = in_place ? a_before : b_before;
    const T* const begin = of.data.data();
    for (int j = 0; j < (is_right ? n : nrhs); ++j)
      for (int i = 0; i < (is_right ? nrhs : n); ++i) {
        const T& x = of.at(p, i, j);
        EXPECT_EQ(std::memcmp(&x, &before[std::size_t(&x - begin)], sizeof(T)), 0);
      }
  }

  // Element (i, j) of the matrix that was given, as mathematics sees it, and of a triangle.
  T before(int p, int i, int j) {
    const T* const begin = a.data.data();
    return a_before[std::size_t(&a.at(p, i, j) - begin)];
  }
  Wide b_was(int p, int i, int c) {
    const T* const begin = b.data.data();
    return Wide(b_before[std::size_t(&side(p, i, c) - begin)]);
  }
  Wide hermitian(int p, int i, int j) {
    if (i == j) return Wide(before(p, i, i)).real();
    return stored(i, j) ? Wide(before(p, i, j)) : std::conj(Wide(before(p, j, i)));
  }
  using Matrix = std::vector<Wide>;  // n x n by columns
  Wide& of(Matrix& x, int i, int j) const { return x[std::size_t(j * n + i)]; }

  template <class F>
  Matrix made(F&& f) const {
    Matrix x(std::size_t(n * n));
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < n; ++i) of(x, i, j) = f(i, j);
    return x;
  }
  Matrix times(Matrix x, Matrix y) const {
    return made([&](int i, int j) {
      Wide sum = 0;
      for (int k = 0; k < n; ++k) sum += of(x, i, k) * of(y, k, j);
      return sum;
    });
  }
  Matrix under(Matrix x, Op op) const {
    if (op == Op::none) return x;
    return made([&](int i, int j) { return op == Op::trans ? of(x, j, i) : std::conj(of(x, j, i)); });
  }
  // The product of the factors that `at` returns.
  template <class F>
  Matrix from_cholesky(F&& at) {
    const Matrix l = made([&](int i, int j) { return stored(i, j) ? Wide(at(i, j)) : Wide(0); });
    return P.uplo == Uplo::lower ? times(l, under(l, Op::conj_trans)) : times(under(l, Op::conj_trans), l);
  }
  template <class F>
  Matrix from_lu(int p, F&& at) {
    const Matrix l = made([&](int i, int j) { return i > j ? Wide(at(i, j)) : Wide(i == j); });
    const Matrix u = made([&](int i, int j) { return i <= j ? Wide(at(i, j)) : Wide(0); });
    Matrix x = times(l, u);
    for (int k = n - 1; k >= 0 && P.pivoting == Pivoting::partial; --k)
      for (int j = 0; j < n; ++j) std::swap(of(x, k, j), of(x, pivots[std::size_t(p * n + k)] - 1, j));
    return x;
  }
  // The matrix that the right sides are solved with.
  Matrix matrix(int p) {
    const auto was = [&](int i, int j) { return before(p, i, j); };
    if (by_cholesky) return made([&](int i, int j) { return hermitian(p, i, j); });
    if (P.routine == Routine::potrs || P.routine == Routine::potri) return from_cholesky(was);
    if (P.routine == Routine::getrs || P.routine == Routine::getri) return from_lu(p, was);
    if (P.routine == Routine::trsm)
      return made([&](int i, int j) {
        if (i == j && P.diag == Diag::unit) return Wide(1);
        return stored(i, j) ? Wide(before(p, i, j)) : Wide(0);
      });
    return made([&](int i, int j) { return Wide(before(p, i, j)); });
  }

  double tolerance() const { return 40.0 * n * double(std::numeric_limits<R>::epsilon()); }
  void expect_near(Wide x, Wide y, double size_of_terms, int p) {
    EXPECT_LE(std::abs(x - y), tolerance() * size_of_terms) << describe(S) << config << " problem " << p;
  }

  void check(int p) {
    if (P.routine == Routine::det) return check_determinant(p);
    const auto now = [&](int i, int j) { return a.at(p, i, j); };
    if (S.writes_a) {
      Matrix x = P.routine == Routine::potrf ? from_cholesky(now) : from_lu(p, now), y = matrix(p);
      for (std::size_t i = 0; i < x.size(); ++i) expect_near(x[i], y[i], 4, p);
      const bool pivoted = P.routine == Routine::getrf && P.pivoting == Pivoting::partial;
      for (int j = 0; j < n && pivoted; ++j)
        for (int i = j + 1; i < n; ++i)
          EXPECT_LE(pivot_size(now(i, j)), (sizeof(T) == sizeof(R) ? 1 : 2) + 1e-5)
              << "pivots are the largest of their columns";
      return;
    }
    Matrix op_a = under(matrix(p), P.op);
    if (is_right) op_a = under(op_a, Op::trans);
    for (int c = 0; c < nrhs; ++c) {
      double most = 1;
      for (int i = 0; i < n; ++i) most = std::max(most, std::abs(Wide(solution(p, i, c))));
      for (int i = 0; i < n; ++i) {
        Wide sum = 0;
        for (int k = 0; k < n; ++k) sum += of(op_a, i, k) * Wide(solution(p, k, c));
        const Wide wanted = S.identity ? Wide(i == c) : b_was(p, i, c) * (S.scales ? 3.0 : 1.0);
        expect_near(sum, wanted, most * (by_cholesky ? 8 : 4 + n), p);
      }
    }
  }
  static double pivot_size(T x) { return std::abs(Wide(x).real()) + std::abs(Wide(x).imag()); }
  T solution(int p, int i, int c) {
    if (!in_place) return side(p, i, c);
    if (P.routine == Routine::getri || stored(i, c)) return a.at(p, i, c);
    if constexpr (sizeof(T) == sizeof(R))
      return a.at(p, c, i);
    else
      return std::conj(a.at(p, c, i));
  }
  void check_determinant(int p) {
    Matrix x = matrix(p);
    Wide wanted = 1;
    double terms = 1;
    for (int k = 0; k < n; ++k) {
      int best = k;
      for (int i = k; i < n; ++i)
        if (std::abs(of(x, i, k)) > std::abs(of(x, best, k))) best = i;
      if (best != k) wanted = -wanted;
      for (int j = 0; j < n; ++j) std::swap(of(x, k, j), of(x, best, j));
      wanted *= of(x, k, k), terms *= 1 + std::abs(of(x, k, k));
      for (int i = k + 1; i < n; ++i) {
        const Wide l = of(x, i, k) / of(x, k, k);
        for (int j = k; j < n; ++j) of(x, i, j) -= l * of(x, k, j);
      }
    }
    expect_near(Wide(det[std::size_t(p)]), wanted, 10 * terms, p);
  }

  // What is not a result has not changed.
  void check_gaps() {
    FactorBatch<T>& written = S.writes_a || in_place ? a : b;
    const std::vector<T>& was = &written == &a ? a_before : b_before;
    std::vector<bool> may(written.data.size());
    const bool half = P.routine == Routine::potrf || P.routine == Routine::potri;
    if (P.routine != Routine::det)
      for (int p = 0; p < count; ++p)
        for (int j = 0; j < (is_right || &written == &a ? n : nrhs); ++j)
          for (int i = 0; i < (is_right ? nrhs : n); ++i)
            if (!half || stored(i, j)) may[std::size_t(&written.at(p, i, j) - written.data.data())] = true;
    for (std::size_t i = 0; i < was.size(); ++i) {
      if (may[i]) continue;
      ASSERT_EQ(std::memcmp(&was[i], &written.data[i], sizeof(T)), 0) << describe(S) << " at " << i;
    }
    if (&written == &a) return;
    EXPECT_EQ(std::memcmp(a.data.data(), a_before.data(), a.data.size() * sizeof(T)), 0)
        << "A is not written";
  }

  const LaneShape P;
  const FactorGpuShape S;
  const std::string config;
  const Launcher launcher;
  const int n, nrhs;
  const bool is_right, by_cholesky, by_lu, in_place;
  const int count;
  FactorBatch<T> a, b;
  std::vector<T> a_before, b_before;
  std::vector<int> pivots, info;
  std::vector<T> det;
  std::mt19937 generator_;
};

// An instance of the stencil: the routine for matrices that lie so; Direct is that of the config, or 0 for
// what the library chooses.
template <class T, LaneShape P, FactorLie LieA = FactorLie{}, FactorLie LieB = LieA, int Stages = 1,
          int Direct = 0>
struct FactorCase {
  static constexpr bool in_place = P.routine == Routine::getri || P.routine == Routine::potri;
  static constexpr FactorLie lie_b = in_place ? LieA : LieB;
  static constexpr FactorGpuShape shape() {
    const int n = int(P.n), size = int(sizeof(T));
    FactorGpuShape s = factor_gpu_shape(P, LieA.by_rows, lie_b.by_rows, P.routine == Routine::trsm);
    s.a_place = LieA.place, s.a_pieces = LieA.pieces(n, n, size);
    if (factor_gpu_has_b(s)) {
      const bool is_right = P.routine == Routine::trsm && P.side == Side::right;
      s.b_place = lie_b.place;
      s.b_pieces = is_right ? lie_b.pieces(s.nrhs, n, size) : lie_b.pieces(n, s.nrhs, size);
    }
    return s;
  }
  static constexpr FactorGpuConfig config() {
    if (Direct > 0) return {.warps = 2, .direct = Direct};
    FactorGpuConfig c = factor_gpu_config(shape(), int(sizeof(T)), is_complex(P.dtype));
    c.stages = Stages;
    return c;
  }
  void expect_right() const {
    using D = typename HostElement<T>::Device;
    static constexpr FactorGpuShape s = shape();
    static constexpr FactorGpuConfig c = config();
    const int count = factor_gpu_matrices(c) * (c.stages > 1 ? 3 : 1) + 3;
    FactorRun<T>({P, LieA, lie_b, s, count, describe(c)}, [](const FactorGpuArgs<D>& args, Copies copies,
                                                             const std::vector<Region>& regions) {
      const Launch launch{.blocks = 2,
                          .threads = unsigned(factor_gpu_threads(c)),
                          .shared_bytes = unsigned(factor_gpu_memory(s, c, int(sizeof(T))).total),
                          .copies = copies,
                          .global = regions};
      return run(launch, [&] { factor_gpu<D, s, c>(args); });
    }).expect_right();
  }
};

}  // namespace tilewright::emulation
