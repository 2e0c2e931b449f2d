// P A = L U with partial pivoting, and what it serves: linear systems, the inverse, iterative refinement.
// Matrices lie column by column. Those of the functions lie in host memory, and who computes (the CPU, GPUs
// or both) is an option; those in the memory of a GPU are served by plans. The meaning of every argument and
// result is that of the LAPACK routine which each function names.
//
// Every call validates its arguments before it writes anything and throws Error(invalid_argument) naming the
// argument and its value; Error(unsupported) where no candidate serves. The caller owns all memory. T is
// float, double, std::complex<float> or std::complex<double>.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tilewright/context.hpp"
#include "tilewright/problem.hpp"
#include "tilewright/strided.hpp"
#include "tilewright/types.hpp"

namespace tilewright {
inline namespace v0_2 {

// The rule that chooses the CPU's share of a trailing update where CPU and GPUs share it (Bernabe 2014,
// section 5): by the models of the machine for the update's own shape, by those of the square product with as
// many operations, or as the ratio of the average speeds of square products.
enum class LuSelect : std::uint8_t { panel, square, flops };

struct LuOptions {
  // The processors that multiply in the trailing updates: cpu, gpu and hybrid are cpuLU, gpuLU and cpugpuLU
  // of the paper. automatic asks the models of the machine at every step.
  Target target = Target::automatic;
  int threads = 0;  // 0: OpenMP's default; inside a parallel region always 1
  // "": what tuning has found for such a problem (`tilewright tune lu:...`), else the first that accepts; or
  // streamed, lapack, blocked or reference
  std::string candidate{};
  std::int64_t nb =
      0;  // columns of a panel, of candidates streamed and blocked; 0: as tuned, or by models or a rule
  LuSelect select = LuSelect::panel;  // no effect where the CPU or GPUs compute alone
  std::vector<int> gpus{};            // that may be used; empty: all
  std::int64_t gpu_memory_bytes = 0;  // of each GPU, at most; 0: what is free
  // error: the call throws Error(device_lost) and what it writes to is undefined; redo: the CPU takes over.
  OnDeviceFailure on_device_failure = OnDeviceFailure::error;
  int device = 0;  // of plans: the GPU that the operands lie on
};

struct LuReport {
  // 0, or i > 0: U(i, i), counted from 1, is exactly zero and the first such pivot. The factorization was
  // completed all the same; solving with it divides by zero.
  std::int64_t info = 0;
  std::string candidate{};  // that ran, in the end; "" where there was nothing to do
  std::int64_t nb = 0;      // columns of a panel; 0: the candidate has its own
  // Seconds of the parts of candidate blocked. A panel that was factored beside an update counts to it.
  double panel_s = 0, swap_s = 0, solve_s = 0, update_s = 0;
  int gpus = 0;         // of candidate streamed: that took part
  bool pinned = false;  // likewise: whether copies reached A without staging
  bool redone = false;  // by the CPU after a GPU had failed
};

struct LuRefinement {
  // The backward error of each column of X: max_i |r_i| / (|op(A)| |x| + |b|)_i, the smallest relative change
  // of any element of A or B that makes x an exact solution; and the steps that brought it there.
  std::vector<double> backward_errors{};
  std::vector<int> steps{};
  double backward_error = 0;  // the largest
};

// LAPACK xGETRF of a matrix in the memory of one GPU: what runs it is decided and compiled once and used
// again. Its candidates are `panels` (kernels of this library, products of cuBLAS) and `cusolver`, asked in
// this order. A plan is immutable, may be used by several threads at once, and keeps what it needs of its
// Context alive.
class LuPlan {
 public:
  const LuProblem& problem() const noexcept;
  // The candidates in order, with the reason of each that does not serve.
  std::string explain() const;
  // Bytes of device memory that a factorization needs for itself, at a multiple of 256 bytes.
  std::int64_t workspace_bytes() const noexcept;

  // Overwrites A, of the plan's description, by L and U. pivots (min(m, n) values, counted from 1) and info
  // (one value: 0 or the first exact zero of U's diagonal, counted from 1; -1 where blocks of a kernel waited
  // for one another in vain) lie in device memory too. The work is queued on `stream`, a CUstream
  // (cudaStream_t), and nothing is waited for, allocated or compiled: candidate panels can be captured in a
  // CUDA graph, and must outlive its launches. Throws Error(invalid_argument) naming what is null or of
  // another type.
  template <class T>
  void factor(T* a, std::int64_t* pivots, std::int64_t* info, std::span<std::byte> workspace,
              CUstream_st* stream = nullptr) const;

  struct Impl;

 private:
  friend struct Access;
  explicit LuPlan(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<Impl> impl_;
};

// LAPACK xGETRS on a GPU: op(A) X = B with n x nrhs right-hand sides and the factors and pivots that a plan,
// or cuSOLVER's 64-bit interface, has left there. Used as LuPlan.
class LuSolvePlan {
 public:
  std::int64_t workspace_bytes() const noexcept;
  // Overwrites B by X. A zero on U's diagonal gives infinities and NaN.
  template <class T>
  void solve(const T* lu, const std::int64_t* pivots, T* b, std::span<std::byte> workspace,
             CUstream_st* stream = nullptr) const;

  struct Impl;

 private:
  friend struct Access;
  explicit LuSolvePlan(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<Impl> impl_;
};

// LAPACK xGETRI on a GPU, but beside the factors: the inverse is n x n with ldinv >= max(1, n). Used as
// LuSolvePlan.
class LuInversePlan {
 public:
  std::int64_t workspace_bytes() const noexcept;
  // Writes the inverse, which must not overlap the factors. A zero on U's diagonal, which info of the
  // factorization tells, gives infinities and NaN.
  template <class T>
  void invert(const T* lu, const std::int64_t* pivots, T* inverse, std::span<std::byte> workspace,
              CUstream_st* stream = nullptr) const;

  struct Impl;

 private:
  friend struct Access;
  explicit LuInversePlan(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<Impl> impl_;
};

// LAPACK xGERFS without its forward bound, on a GPU: improves X by at most `steps` steps of iterative
// refinement. A column's steps end when its backward error is below the machine's, or is no longer halved;
// all of them are queued, and those that a column does not need change nothing. Used as LuSolvePlan.
class LuRefinePlan {
 public:
  std::int64_t workspace_bytes() const noexcept;
  // A is the matrix before it was factored into lu and pivots, B the right-hand sides, X what solving gave.
  // backward_errors (nrhs values, as LuRefinement has them) receives those of the X that is left.
  template <class T>
  void refine(const T* a, const T* lu, const std::int64_t* pivots, const T* b, T* x, double* backward_errors,
              std::span<std::byte> workspace, CUstream_st* stream = nullptr) const;

  struct Impl;

 private:
  friend struct Access;
  explicit LuRefinePlan(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<Impl> impl_;
};

struct LuRefineLayout {
  std::int64_t lda = 0, ldb = 0, ldx = 0;  // of A, B and X, at least max(1, n)
};

}  // namespace v0_2

/// Factors A into L (below the diagonal; its own is 1) and U, which overwrite it.
/// @par Shapes A is m x n; pivots has min(m, n) places: row i was swapped with row pivots[i - 1], both
///   counted from 1.
/// @par Memory The caller owns A and pivots, in host memory; nothing is kept.
/// @par Threads Any number may call with one Context at once, on different matrices.
/// @throws Error invalid_argument naming the argument and its value, unsupported where no candidate serves:
///   before anything is written; device_lost where a GPU fails (LuOptions::on_device_failure).
/// @see LAPACK xGETRF
template <class T>
LuReport lu_factor(Context& context, MatrixView<T> a, std::span<std::int64_t> pivots,
                   const LuOptions& options = {});

/// Solves op(A) X = B with the factors and pivots of lu_factor(); X overwrites B.
/// @par Shapes a holds the n x n factors, pivots n numbers, b is n x nrhs. A zero on U's diagonal gives
///   infinities and NaN.
/// @par Memory As lu_factor(). B must not lie in A: at the same address it is refused. @par Threads Likewise;
///   the factors are only read.
/// @throws Error invalid_argument naming the argument and its value, before anything is written.
/// @see LAPACK xGETRS
template <class T>
void lu_solve(Context& context, Op op, MatrixView<const Same<T>> a, std::span<const std::int64_t> pivots,
              MatrixView<T> b, const LuOptions& options = {});

/// Overwrites the factors of A by its inverse. Where U(i, i) is exactly zero, info is the first such i and
/// nothing is written.
/// @par Shapes a holds the n x n factors, pivots n numbers. @par Memory, @par Threads As lu_factor().
/// @throws Error invalid_argument naming the argument and its value, before anything is written.
/// @see LAPACK xGETRI
template <class T>
LuReport lu_inverse(Context& context, MatrixView<T> a, std::span<const std::int64_t> pivots,
                    const LuOptions& options = {});

/// Improves X by at most five steps of iterative refinement. A column's steps end when its backward error is
/// below the machine's, or is no longer halved.
/// nrhs.
/// @par Shapes a is the n x n matrix before lu_factor(), lu and pivots what became of it; b and x are n x
/// @par Memory, @par Threads As lu_factor(). X must lie apart from A, lu and B: at the address of one of them
///   it is refused.
/// @throws Error invalid_argument naming the argument and its value, before anything is written.
/// @see LAPACK xGERFS, without its forward bound
template <class T>
LuRefinement lu_refine(Context& context, Op op, MatrixView<const Same<T>> a, MatrixView<const Same<T>> lu,
                       std::span<const std::int64_t> pivots, MatrixView<const Same<T>> b, MatrixView<T> x,
                       const LuOptions& options = {});

// The same of views like std::mdspan, whose elements of a column must be neighbours: a matrix by rows is its
// transpose, whose factors are others. Throws Error(invalid_argument) naming the view and its strides.
template <StridedMatrix A>
requires MdspanLike<A> LuReport lu_factor(Context& context, const A& a, std::span<std::int64_t> pivots,
                                          const LuOptions& options = {}) {
  return lu_factor<ElementOf<A>>(context, as_columns("a", a), pivots, options);
}
template <StridedMatrix A, StridedMatrix B>
requires(MdspanLike<A> || MdspanLike<B>) void lu_solve(Context& context, Op op, const A& a,
                                                       std::span<const std::int64_t> pivots, const B& b,
                                                       const LuOptions& options = {}) {
  lu_solve<ElementOf<B>>(context, op, as_columns("a", a), pivots, as_columns("b", b), options);
}
template <StridedMatrix A>
requires MdspanLike<A> LuReport lu_inverse(Context& context, const A& a, std::span<const std::int64_t> pivots,
                                           const LuOptions& options = {}) {
  return lu_inverse<ElementOf<A>>(context, as_columns("a", a), pivots, options);
}
template <StridedMatrix A, StridedMatrix F, StridedMatrix B, StridedMatrix X>
requires(MdspanLike<A> || MdspanLike<F> || MdspanLike<B> || MdspanLike<X>) LuRefinement
    lu_refine(Context& context, Op op, const A& a, const F& lu, std::span<const std::int64_t> pivots,
              const B& b, const X& x, const LuOptions& options = {}) {
  return lu_refine<ElementOf<X>>(context, op, as_columns("a", a), as_columns("lu", lu), pivots,
                                 as_columns("b", b), as_columns("x", x), options);
}

// Among the options, device, nb and candidate count. Throws Error(unsupported) with every reason where
// nothing serves, as where there is no GPU.
LuPlan plan_lu(Context& context, const LuProblem& problem, const LuOptions& options = {});

// `factors` describes the n x n matrix that was factored.
LuSolvePlan plan_lu_solve(Context& context, const LuProblem& factors, Op op, std::int64_t nrhs,
                          std::int64_t ldb, const LuOptions& options = {});

LuInversePlan plan_lu_inverse(Context& context, const LuProblem& factors, std::int64_t ldinv,
                              const LuOptions& options = {});

LuRefinePlan plan_lu_refine(Context& context, const LuProblem& factors, Op op, std::int64_t nrhs,
                            const LuRefineLayout& layout, int steps = 2, const LuOptions& options = {});

// Says which candidate factors the problem, why others do not, panels, and who makes the largest
// update; where tuning has found something for it, the record. Also for problems that nothing serves.
std::string explain_lu(Context& context, const LuProblem& problem, const LuOptions& options = {});

// The name of the candidate that factors the problem; "" where there is nothing to factor or nothing serves.
std::string lu_candidate(Context& context, const LuProblem& problem, const LuOptions& options = {});

// True if that candidate gives work to GPUs, as far as their models say that it pays.
bool lu_uses_gpus(Context& context, const LuProblem& problem, const LuOptions& options = {});

}  // namespace tilewright
