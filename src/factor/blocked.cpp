// Candidate blocked: one matrix at a time, by the BLAS and LAPACK that were found or by recursion and
// rotations, for sizes at which one matrix fills vectors by itself.
#include <algorithm>
#include <cmath>
#include <complex>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/dispatch.hpp"
#include "core/host/stack.hpp"
#include "factor/candidates.hpp"
#include "factor/columns.hpp"
#include "factor/householder.hpp"
#include "factor/jacobi.hpp"
#include "gemm/parallel.hpp"
#include "lu/blas.hpp"

namespace tilewright {
namespace {

// A column-major copy of one problem's matrix.
template <class T>
class MatrixCopy {
 public:
  MatrixCopy(std::int64_t rows, std::int64_t cols) : rows_(rows), elements_(std::size_t(rows * cols)) {}
  T* data() { return elements_.data(); }
  const T* data() const { return elements_.data(); }
  std::int64_t ld() const { return std::max<std::int64_t>(1, rows_); }
  T& at(std::int64_t i, std::int64_t j) { return elements_[std::size_t(j * rows_ + i)]; }

  void read(const FactorOperand& x, std::int64_t p) {
    const T* const from = reinterpret_cast<const T*>(x.address(p));
    each(x, [&](std::int64_t i, std::int64_t j, std::int64_t place) { at(i, j) = from[place]; });
  }
  void write(const FactorOperand& x, std::int64_t p) {
    T* const to = reinterpret_cast<T*>(x.address(p));
    each(x, [&](std::int64_t i, std::int64_t j, std::int64_t place) { to[place] = at(i, j); });
  }
  void write_triangle(const FactorOperand& x, std::int64_t p, Uplo uplo) {
    T* const to = reinterpret_cast<T*>(x.address(p));
    each(x, [&](std::int64_t i, std::int64_t j, std::int64_t place) {
      if (uplo == Uplo::upper ? i <= j : i >= j) to[place] = at(i, j);
    });
  }
  void set_unit() {
    std::fill(elements_.begin(), elements_.end(), T(0));
    for (std::int64_t i = 0; i < rows_; ++i) at(i, i) = T(1);
  }

 private:
  // Calls f(i, j, place in x) in squares whose lines stay in the cache, whether x lies by columns or by rows.
  template <class F>
  static void each(const FactorOperand& x, F&& f) {
    constexpr std::int64_t side = 16;
    const std::int64_t row_step = x.row_step(), col_step = x.col_step();
    for (std::int64_t left = 0; left < x.cols; left += side)
      for (std::int64_t top = 0; top < x.rows; top += side)
        for (std::int64_t j = left; j < std::min(left + side, x.cols); ++j)
          for (std::int64_t i = top; i < std::min(top + side, x.rows); ++i)
            f(i, j, i * row_step + j * col_step);
  }

  std::int64_t rows_;
  std::vector<T> elements_;
};

// True if the library's LAPACK decomposes the matrices. Those of the lanes' sizes keep rotations, which find
// small singular values to their own digits.
bool has_decomposition(const HostBlas& blas, const FactorWork& work) {
  const LaneShape& s = work.shape;
  if (std::max(s.m, s.n) <= most_lane_rows_of(s.routine)) return false;
  return s.routine == Routine::syev ? blas.has_syevd(s.n)
                                    : s.routine == Routine::gesvd && blas.has_gesdd(s.m, s.n);
}

// The problems of one thread, in the memory of one.
template <class T>
class BlockedRun {
 public:
  BlockedRun(const HostBlas& blas, const FactorWork& work, FactorInfo& info)
      : blas_(blas),
        work_(work),
        info_(info),
        n_(work.shape.n),
        a_(work.a.rows, work.a.cols),
        b_(makes_inverse()       ? n_
           : work.makes_factor() ? 0
                                 : work.b.rows,
           makes_inverse() ? n_ : work.b.cols),
        c_(work.c.rows, work.c.cols),
        pivots_(std::size_t(work.steps())),
        tau_(std::size_t(work.steps())) {}

  void run(std::int64_t p) {
    a_.read(work_.a, p);
    if (work_.has_b && !work_.makes_b()) b_.read(work_.b, p);
    const int info = compute(p);
    store(p, info);
    info_.put(p, 1, &info);
  }

 private:
  bool makes_inverse() const {
    const Routine r = work_.shape.routine;
    return r == Routine::inv || r == Routine::getri || r == Routine::potri;
  }
  bool upper() const { return work_.shape.uplo == Uplo::upper; }

  int compute(std::int64_t p);
  int compute_qr(std::int64_t p);
  int decompose(std::int64_t p);
  bool decompose_by_lapack(RealPart<T>* values);
  bool is_finite_matrix();
  void store(std::int64_t p, int info);
  void clear_triangle();  // zeros beside a factor

  // A = L L^H or U^H U by columns of blocks; the part behind them is updated by products.
  int factor_cholesky();
  int factor_block(std::int64_t first, std::int64_t last);
  void solve_cholesky();
  void solve_lu(Op op);
  int first_zero();
  T determinant();

  void solve(const Triangle& t, std::int64_t m, std::int64_t n, const T* a, T* b, std::int64_t ldb) const {
    if (m > 0 && n > 0) blas_.solve<T>(t, m, n, a, a_.ld(), b, ldb);
  }

  const HostBlas& blas_;
  const FactorWork& work_;
  FactorInfo& info_;
  std::int64_t n_;
  MatrixCopy<T> a_, b_, c_;
  std::vector<std::int64_t> pivots_;
  std::vector<T> tau_;
  LapackMemory<T> memory_;
};

template <class T>
int BlockedRun<T>::compute(std::int64_t p) {
  const LaneShape& s = work_.shape;
  int info = 0;
  if (work_.pivots_in != nullptr)
    for (std::int64_t i = 0; i < work_.steps(); ++i)
      pivots_[std::size_t(i)] = work_.pivots_in[p * work_.steps() + i];
  switch (s.routine) {
    case Routine::potrf:
    case Routine::posv:
      info = factor_cholesky();
      if (s.routine == Routine::posv && info == 0) solve_cholesky();
      return info;
    case Routine::potrs:
      solve_cholesky();
      return 0;
    case Routine::getrf:
    case Routine::gesv:
    case Routine::inv:
    case Routine::det:
      info = int(blas_.factor<T>(s.m, n_, a_.data(), a_.ld(), pivots_.data()));
      if (s.routine == Routine::gesv && info == 0) solve_lu(Op::none);
      if (s.routine == Routine::inv && info == 0) b_.set_unit(), solve_lu(Op::none);
      if (s.routine == Routine::det)
        *reinterpret_cast<T*>(work_.values.out + p * work_.values.problem_bytes()) = determinant();
      return info;
    case Routine::getrs:
      solve_lu(s.op);
      return 0;
    case Routine::getri:
    case Routine::potri:
      info = first_zero();
      if (info != 0) return info;
      b_.set_unit();
      s.routine == Routine::getri ? solve_lu(Op::none) : solve_cholesky();
      return 0;
    case Routine::trsm: {
      const T alpha = *static_cast<const T*>(work_.alpha);
      for (std::int64_t j = 0; j < work_.b.cols; ++j)
        for (std::int64_t i = 0; i < work_.b.rows; ++i)
          b_.at(i, j) = alpha == T(0) ? T(0) : product(alpha, b_.at(i, j));
      if (alpha != T(0))
        solve({s.side, s.uplo, s.op, s.diag}, work_.b.rows, work_.b.cols, a_.data(), b_.data(), b_.ld());
      return 0;
    }
    case Routine::syev:
    case Routine::gesvd:
      return decompose(p);
    default:
      return compute_qr(p);
  }
}

template <class T>
int BlockedRun<T>::compute_qr(std::int64_t p) {
  const LaneShape& s = work_.shape;
  const std::int64_t steps = work_.steps();
  if (s.routine == Routine::ormqr) {
    const T* const tau = reinterpret_cast<const T*>(work_.values.in + p * work_.values.problem_bytes());
    apply_householder(blas_, s.m, steps, a_.data(), a_.ld(), tau, s.op != Op::none, b_.data(), b_.ld(),
                      s.nrhs);
    return 0;
  }
  factor_householder(blas_, s.m, n_, a_.data(), a_.ld(), tau_.data());
  if (s.routine == Routine::geqrf) {
    std::copy_n(tau_.data(), steps,
                reinterpret_cast<T*>(work_.values.out + p * work_.values.problem_bytes()));
    return 0;
  }
  if (const int info = first_zero(); info != 0) return info;
  apply_householder(blas_, s.m, steps, a_.data(), a_.ld(), tau_.data(), true, b_.data(), b_.ld(), s.nrhs);
  solve({Side::left, Uplo::upper, Op::none, Diag::non_unit}, n_, s.nrhs, a_.data(), b_.data(), b_.ld());
  return 0;
}

template <class T>
int BlockedRun<T>::decompose(std::int64_t p) {
  auto* const values = reinterpret_cast<RealPart<T>*>(work_.values.out + p * work_.values.problem_bytes());
  T *const b = work_.has_b ? b_.data() : nullptr, *const c = work_.has_c ? c_.data() : nullptr;
  if (has_decomposition(blas_, work_) && is_finite_matrix()) {
    if (decompose_by_lapack(values)) return 0;
    a_.read(work_.a, p);  // rotations may get where LAPACK did not
  }
  if (work_.shape.routine == Routine::syev)
    return OneEigenproblem<T>(n_, a_.data(), a_.ld(), upper()).run(values, b, b_.ld());
  return OneSingularProblem<T>(blas_, work_.shape.m, n_, a_.data(), a_.ld())
      .run(values, b, b_.ld(), c, c_.ld());
}

// Returns false, with A overwritten, if LAPACK's iterations did not converge.
template <class T>
bool BlockedRun<T>::decompose_by_lapack(RealPart<T>* values) {
  const LaneShape& s = work_.shape;
  if (s.routine == Routine::gesvd)
    return blas_.gesdd(s.m, n_, a_.data(), a_.ld(), values, work_.has_b ? b_.data() : nullptr, b_.ld(),
                       work_.has_c ? c_.data() : nullptr, c_.ld(), memory_) == 0;
  for (std::int64_t i = 0; i < n_; ++i) a_.at(i, i) = T(real_of(a_.at(i, i)));
  if (blas_.syevd(work_.has_b, s.uplo, n_, a_.data(), a_.ld(), values, memory_) != 0) return false;
  if (work_.has_b) std::swap(a_, b_);
  return true;
}

// LAPACK need not end, or returns garbage, if an element that it reads is not finite.
template <class T>
bool BlockedRun<T>::is_finite_matrix() {
  const bool triangular = work_.shape.routine == Routine::syev;
  for (std::int64_t j = 0; j < n_; ++j) {
    const std::int64_t first = triangular && !upper() ? j : 0,
                       last = triangular && upper() ? j + 1 : work_.shape.m;
    if (!is_finite(&a_.at(0, j) + first, last - first)) return false;
  }
  return true;
}

template <class T>
void BlockedRun<T>::store(std::int64_t p, int info) {
  const Routine r = work_.shape.routine;
  if (work_.makes_factor()) return clear_triangle(), a_.write(work_.b, p);
  if (r == Routine::potrf) a_.write_triangle(work_.a, p, work_.shape.uplo);
  if (r == Routine::getrf || r == Routine::geqrf) a_.write(work_.a, p);
  if (work_.pivots_out != nullptr)
    for (std::int64_t i = 0; i < work_.steps(); ++i)
      work_.pivots_out[p * work_.steps() + i] = int(pivots_[std::size_t(i)]);
  if (info != 0) return;
  if (r == Routine::potri) b_.write_triangle(work_.a, p, work_.shape.uplo);
  if (r == Routine::getri) b_.write(work_.a, p);
  if (work_.has_b) b_.write(work_.b, p);
  if (work_.has_c) c_.write(work_.c, p);
}

template <class T>
void BlockedRun<T>::clear_triangle() {
  for (std::int64_t j = 0; j < n_; ++j)
    upper() ? std::fill_n(&a_.at(0, j) + j + 1, n_ - 1 - j, T(0)) : std::fill_n(&a_.at(0, j), j, T(0));
}

constexpr std::int64_t cholesky_columns = 48;

template <class T>
int BlockedRun<T>::factor_cholesky() {
  for (std::int64_t first = 0; first < n_; first += cholesky_columns) {
    const std::int64_t last = std::min(first + cholesky_columns, n_), behind = n_ - last,
                       width = last - first;
    if (const int info = factor_block(first, last); info != 0) return info;
    if (behind == 0) break;
    const Op op = upper() ? Op::conj_trans : Op::none, other = upper() ? Op::none : Op::conj_trans;
    T* const diagonal = &a_.at(first, first);
    T* const panel = upper() ? &a_.at(first, last) : &a_.at(last, first);
    if (upper())
      solve({Side::left, Uplo::upper, Op::conj_trans, Diag::non_unit}, width, behind, diagonal, panel,
            a_.ld());
    else
      solve({Side::right, Uplo::lower, Op::conj_trans, Diag::non_unit}, behind, width, diagonal, panel,
            a_.ld());
    // By columns or rows of blocks; of those on the diagonal the other triangle is computed as well.
    for (std::int64_t j = last; j < n_; j += cholesky_columns) {
      const std::int64_t cols = std::min(cholesky_columns, n_ - j), rows = n_ - j;
      T* const of_j = upper() ? panel + (j - last) * a_.ld() : panel + (j - last);
      if (upper())
        blas_.subtract_product<T>(op, other, cols, rows, width, of_j, a_.ld(), of_j, a_.ld(), &a_.at(j, j),
                                  a_.ld());
      else
        blas_.subtract_product<T>(op, other, rows, cols, width, of_j, a_.ld(), of_j, a_.ld(), &a_.at(j, j),
                                  a_.ld());
    }
  }
  return 0;
}

// Columns or rows [first, last) of the triangle within their own block (LAPACK xPOTF2): by products of
// columns of U, or by subtracting a column of L from those behind it, so that all loops pass neighbours.
template <class T>
int BlockedRun<T>::factor_block(std::int64_t first, std::int64_t last) {
  for (std::int64_t j = first; j < last; ++j) {
    T* const of_j = upper() ? &a_.at(first, j) : &a_.at(j, j);
    auto pivot = real_of(a_.at(j, j));
    if (upper()) pivot -= real_of(conjugate_product(of_j, of_j, j - first));
    if (!(pivot > 0)) {
      a_.at(j, j) = T(pivot);
      return int(j + 1);
    }
    const auto root = std::sqrt(pivot);
    a_.at(j, j) = T(root);
    if (upper()) {
      for (std::int64_t i = j + 1; i < last; ++i)
        a_.at(j, i) = (a_.at(j, i) - conjugate_product(of_j, &a_.at(first, i), j - first)) / root;
      continue;
    }
    for (std::int64_t i = 1; i < last - j; ++i) of_j[i] /= root;
    for (std::int64_t i = 1; i < last - j; ++i)
      subtract_multiple(&a_.at(j + i, j + i), conj_of(of_j[i]), of_j + i, last - j - i);
  }
  return 0;
}

template <class T>
void BlockedRun<T>::solve_cholesky() {
  const Triangle first{Side::left, upper() ? Uplo::upper : Uplo::lower, upper() ? Op::conj_trans : Op::none,
                       Diag::non_unit};
  const Triangle second{Side::left, first.uplo, upper() ? Op::none : Op::conj_trans, Diag::non_unit};
  const std::int64_t nrhs = makes_inverse() ? n_ : work_.b.cols;
  solve(first, n_, nrhs, a_.data(), b_.data(), b_.ld());
  solve(second, n_, nrhs, a_.data(), b_.data(), b_.ld());
}

template <class T>
void BlockedRun<T>::solve_lu(Op op) {
  const std::int64_t nrhs = makes_inverse() ? n_ : work_.b.cols;
  const Triangle lower{Side::left, Uplo::lower, op, Diag::unit},
      upper{Side::left, Uplo::upper, op, Diag::non_unit};
  if (nrhs == 0) return;
  if (op == Op::none) blas_.swap_rows<T>(nrhs, b_.data(), b_.ld(), n_, pivots_.data());
  solve(op == Op::none ? lower : upper, n_, nrhs, a_.data(), b_.data(), b_.ld());
  solve(op == Op::none ? upper : lower, n_, nrhs, a_.data(), b_.data(), b_.ld());
  if (op != Op::none) blas_.swap_rows<T>(nrhs, b_.data(), b_.ld(), n_, pivots_.data(), false);
}

template <class T>
int BlockedRun<T>::first_zero() {
  for (std::int64_t i = 0; i < n_; ++i)
    if (a_.at(i, i) == T(0)) return int(i + 1);
  return 0;
}

// x * 2^exponent; parts of complex numbers overflow and underflow by themselves.
template <class T>
T scaled(T x, int exponent) {
  if constexpr (std::is_floating_point_v<T>)
    return std::scalbn(x, exponent);
  else
    return {std::scalbn(x.real(), exponent), std::scalbn(x.imag(), exponent)};
}

// The product of the pivots as det * 2^exponent, with factors near 1: so nothing overflows on the way.
template <class T>
T BlockedRun<T>::determinant() {
  T det(1);
  std::int64_t exponent = 0;
  const auto near_one = [&](T x) {
    const auto size = std::max(std::abs(std::real(x)), std::abs(std::imag(x)));
    if (!(size > 0) || !std::isfinite(size)) return x;
    const int own = std::ilogb(size);
    exponent += own;
    return scaled(x, -own);
  };
  for (std::int64_t i = 0; i < n_; ++i) {
    det = near_one(product(det, near_one(a_.at(i, i))));
    if (pivots_[std::size_t(i)] != i + 1) det = -det;
  }
  constexpr std::int64_t out_of_range = 1 << 12;
  return scaled(det, int(std::clamp(exponent, -out_of_range, out_of_range)));
}

bool makes_reflectors(const HostBlas& blas, const FactorWork& work) {
  const Routine r = work.shape.routine;
  return (r == Routine::geqrf || r == Routine::gels || r == Routine::gesvd) &&
         factors_by_lapack(blas, work.shape.m, work.shape.n, work.a.rows);
}

std::string blocked_declines(const FactorRequest& r) {
  const Routine one = r.work.shape.routine;
  const bool has_pivots = one == Routine::getrf || one == Routine::getrs || one == Routine::gesv ||
                          one == Routine::getri || one == Routine::inv || one == Routine::det;
  return has_pivots && r.work.shape.pivoting == Pivoting::none ? "exchanges rows, but pivoting = none" : "";
}

// A library's routine for one matrix costs a call, and reaches its speed as the size grows.
double blocked_problem_s(const FactorRequest& r) {
  const Routine one = r.work.shape.routine;
  const bool rotates = one == Routine::syev || one == Routine::gesvd;
  const double operation_s = !rotates ? 0.25e-9 : has_decomposition({r.context, 1}, r.work) ? 0.1e-9 : 0.6e-9;
  return factor_operations(r.work) * operation_s + 1.5e-6;
}

class BlockedRunner : public FactorRunner {
 public:
  void run(Context& context, const FactorWork& work, int threads) const override {
    const bool few = work.count < threads;  // then each matrix gets all threads
    const HostBlas blas(context, few ? threads : 1);
    FactorInfo info(work.info);
    const bool calls_lapack = has_decomposition(blas, work) || makes_reflectors(blas, work);
    dispatch(work.shape.dtype, [&]<class T>() {
      parallel_ranges(few ? 1 : threads, work.count, 1, [&](std::int64_t first, std::int64_t count) {
        BlockedRun<T> run(blas, work, info);
        const auto run_all = [&] {
          for (std::int64_t p = first; p < first + count; ++p) run.run(p);
        };
        // LAPACK keeps blocks of reflectors on the stack.
        calls_lapack ? at_ease(run_all) : run_all();
      });
    });
  }
};

}  // namespace

constinit const FactorCandidate blocked_factor{
    "blocked", Tier::any, blocked_declines, [](const FactorRequest& r) {
      return factor_offer(blocked_problem_s(r), std::make_shared<const BlockedRunner>());
    }};

}  // namespace tilewright
