/// @file
/// P A = L U with partial pivoting, and its uses: linear systems, the inverse, iterative refinement. The
/// functions work on matrices in host memory, where an option decides who computes (the CPU, GPUs or both);
/// plans work on matrices in the memory of a GPU. Every argument and result has the meaning of the LAPACK
/// routine that the function names. T is float, double, std::complex<float> or std::complex<double>.
/// @par Units Matrices are column-major; sizes, leading dimensions and pivots count elements and rows.
/// @par Memory The caller owns all memory; no call keeps any of it. Operands of plans must live until the
///   queued work is done.
/// @par Threads Any number of threads may call with one Context, or use one plan, at once, on different
///   matrices.
/// @par Errors Every call validates its arguments before it writes or queues anything and throws
///   Error(invalid_argument) naming the argument and its value, Error(unsupported) if no candidate serves,
///   Error(out_of_memory). noexcept functions throw nothing.
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

/// The rule for the CPU's share of a trailing update that CPU and GPUs share. panel: by the models of the
/// machine for the update's own shape. square: by the models for the square product with as many operations.
/// flops: by the ratio of the average speeds of square products.
/// @see Bernabe et al. 2014, section 5
enum class LuSelect : std::uint8_t { panel, square, flops };

/// Every field has a default.
struct LuOptions {
  /// The processors that multiply in the trailing updates: cpu, gpu and hybrid are cpuLU, gpuLU and cpugpuLU
  /// of Bernabe et al. automatic consults the models of the machine at every step.
  Target target = Target::automatic;
  int threads = 0;  ///< 0: OpenMP's default; inside a parallel region always 1
  /// "": the winner of tuning for such a problem (`tilewright tune lu:...`), else the first that accepts; or
  /// streamed, lapack, blocked or reference.
  std::string candidate{};
  /// Columns of a panel of candidates streamed and blocked; 0: as tuned, or by models or a rule.
  std::int64_t nb = 0;
  LuSelect select = LuSelect::panel;  ///< no effect if the CPU or GPUs compute alone
  std::vector<int> gpus{};            ///< numbers of GPUs that may be used; empty: all
  std::int64_t gpu_memory_bytes = 0;  ///< upper bound for each GPU; 0: all that is free
  /// error: the call throws Error(device_lost) and its results are undefined; redo: the CPU takes over.
  OnDeviceFailure on_device_failure = OnDeviceFailure::error;
  int device = 0;  ///< plans: number of the GPU that the operands lie on
};

/// The result of a factorization, beside the factors.
struct LuReport {
  /// 0, or i > 0: U(i, i), counted from 1, is exactly zero and the first such pivot. The factorization was
  /// completed all the same; solving with it divides by zero.
  std::int64_t info = 0;
  std::string candidate{};  ///< the one that completed it; "" if there was nothing to do
  std::int64_t nb = 0;      ///< columns of a panel; 0: the candidate chooses them itself
  /// Seconds of the parts of candidate blocked. A panel that was factored during an update counts as update.
  double panel_s = 0, swap_s = 0, solve_s = 0, update_s = 0;
  int gpus = 0;         ///< candidate streamed: number of GPUs that took part
  bool pinned = false;  ///< candidate streamed: true if copies reached A without staging
  bool redone = false;  ///< true if the CPU took over after a GPU had failed
};

/// The result of iterative refinement, beside X.
struct LuRefinement {
  /// The backward error of each column of X: max_i |r_i| / (|op(A)| |x| + |b|)_i, the smallest relative
  /// change of any element of A or B that makes x an exact solution.
  std::vector<double> backward_errors{};
  std::vector<int> steps{};   ///< steps taken for each column
  double backward_error = 0;  ///< the largest of backward_errors
};

/// A plan of LAPACK xGETRF for a matrix in the memory of one GPU; plan_lu() makes one. Its candidates are
/// `panels` (kernels of this library, products of cuBLAS) and `cusolver`, in this order. It is immutable and
/// keeps what it needs of its Context alive.
class LuPlan {
 public:
  /// Returns the planned problem; it lives as long as the plan.
  const LuProblem& problem() const noexcept;
  /// Returns the candidates in order, with the reason of each that does not serve.
  std::string explain() const;
  /// Returns the bytes of workspace in device memory, aligned to 256 bytes, that factor() needs.
  std::int64_t workspace_bytes() const noexcept;

  /// Overwrites A with L and U. The work is queued on `stream`, a CUstream (cudaStream_t), and nothing is
  /// waited for, allocated or compiled: candidate panels can be captured in a CUDA graph, whose launches the
  /// plan must outlive.
  /// @par Shapes A is as planned; pivots has min(m, n) values, counted from 1; info has one: 0, the first
  /// exact
  ///   zero of U's diagonal, counted from 1, or -1 if a kernel's blocks timed out waiting for one another.
  ///   All lie in device memory.
  /// @throws Error invalid_argument naming the address that is null, or for another element type.
  /// @see LAPACK xGETRF
  template <class T>
  void factor(T* a, std::int64_t* pivots, std::int64_t* info, std::span<std::byte> workspace,
              CUstream_st* stream = nullptr) const;

  struct Impl;

 private:
  friend struct Access;
  explicit LuPlan(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<Impl> impl_;
};

/// A plan of LAPACK xGETRS on a GPU: op(A) X = B with n x nrhs right-hand sides and the factors and pivots of
/// a LuPlan or of cuSOLVER's 64-bit interface. It is used like LuPlan.
class LuSolvePlan {
 public:
  /// Returns the bytes of workspace in device memory, aligned to 256 bytes, that solve() needs.
  std::int64_t workspace_bytes() const noexcept;
  /// Overwrites B with X, queued as LuPlan::factor(). A zero on U's diagonal gives infinities and NaN.
  /// @throws Error invalid_argument naming the address that is null, or for another element type.
  /// @see LAPACK xGETRS
  template <class T>
  void solve(const T* lu, const std::int64_t* pivots, T* b, std::span<std::byte> workspace,
             CUstream_st* stream = nullptr) const;

  struct Impl;

 private:
  friend struct Access;
  explicit LuSolvePlan(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<Impl> impl_;
};

/// A plan of LAPACK xGETRI on a GPU that keeps the factors: the inverse is n x n with ldinv >= max(1, n). It
/// is used like LuPlan.
class LuInversePlan {
 public:
  /// Returns the bytes of workspace in device memory, aligned to 256 bytes, that invert() needs.
  std::int64_t workspace_bytes() const noexcept;
  /// Writes the inverse, which must not overlap the factors, queued as LuPlan::factor(). A zero on U's
  /// diagonal (info of the factorization) gives infinities and NaN.
  /// @throws Error invalid_argument naming the address that is null, or for another element type.
  /// @see LAPACK xGETRI
  template <class T>
  void invert(const T* lu, const std::int64_t* pivots, T* inverse, std::span<std::byte> workspace,
              CUstream_st* stream = nullptr) const;

  struct Impl;

 private:
  friend struct Access;
  explicit LuInversePlan(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<Impl> impl_;
};

/// A plan of LAPACK xGERFS on a GPU, without its forward bound: at most `steps` steps of iterative
/// refinement. The steps of a column end when its backward error is below the machine's precision, or is no
/// longer halved; all steps are queued, and surplus ones change nothing. It is used like LuPlan.
class LuRefinePlan {
 public:
  /// Returns the bytes of workspace in device memory, aligned to 256 bytes, that refine() needs.
  std::int64_t workspace_bytes() const noexcept;
  /// Improves X, the solution with the factors lu and pivots of A and the right-hand sides B, queued as
  /// LuPlan::factor(). backward_errors receives nrhs values, as LuRefinement has them, of the improved X.
  /// @throws Error invalid_argument naming the address that is null, or for another element type.
  /// @see LAPACK xGERFS
  template <class T>
  void refine(const T* a, const T* lu, const std::int64_t* pivots, const T* b, T* x, double* backward_errors,
              std::span<std::byte> workspace, CUstream_st* stream = nullptr) const;

  struct Impl;

 private:
  friend struct Access;
  explicit LuRefinePlan(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<Impl> impl_;
};

/// The leading dimensions of A, B and X of a LuRefinePlan, at least max(1, n).
struct LuRefineLayout {
  std::int64_t lda = 0, ldb = 0, ldx = 0;
};

}  // namespace v0_2

/// Factors A into L (below the diagonal; its own diagonal is 1) and U, which overwrite it.
/// @par Shapes A is m x n; pivots has min(m, n) places: row i was swapped with row pivots[i - 1], both
///   counted from 1.
/// @throws Error invalid_argument naming the argument and its value and unsupported if no candidate serves,
///   before anything is written; device_lost if a GPU fails (LuOptions::on_device_failure).
/// @see LAPACK xGETRF
template <class T>
LuReport lu_factor(Context& context, MatrixView<T> a, std::span<std::int64_t> pivots,
                   const LuOptions& options = {});

/// Solves op(A) X = B with the factors and pivots of lu_factor(); X overwrites B.
/// @par Shapes a holds the n x n factors, pivots n numbers, b is n x nrhs. A zero on U's diagonal gives
///   infinities and NaN.
/// @par Memory B must not overlap A: at the same address it is refused.
/// @throws Error invalid_argument naming the argument and its value, before anything is written.
/// @see LAPACK xGETRS
template <class T>
void lu_solve(Context& context, Op op, MatrixView<const Same<T>> a, std::span<const std::int64_t> pivots,
              MatrixView<T> b, const LuOptions& options = {});

/// Overwrites the factors of A with its inverse. If U(i, i) is exactly zero, info is the first such i and
/// nothing is written.
/// @par Shapes a holds the n x n factors, pivots n numbers.
/// @throws Error invalid_argument naming the argument and its value, before anything is written.
/// @see LAPACK xGETRI
template <class T>
LuReport lu_inverse(Context& context, MatrixView<T> a, std::span<const std::int64_t> pivots,
                    const LuOptions& options = {});

/// Improves X by at most five steps of iterative refinement. The steps of a column end when its backward
/// error is below the machine's precision, or is no longer halved.
/// @par Shapes a is the n x n matrix before lu_factor(), lu and pivots its factors; b and x are n x nrhs.
/// @par Memory X must not overlap A, lu and B: at the address of one of them it is refused.
/// @throws Error invalid_argument naming the argument and its value, before anything is written.
/// @see LAPACK xGERFS, without its forward bound
template <class T>
LuRefinement lu_refine(Context& context, Op op, MatrixView<const Same<T>> a, MatrixView<const Same<T>> lu,
                       std::span<const std::int64_t> pivots, MatrixView<const Same<T>> b, MatrixView<T> x,
                       const LuOptions& options = {});

/// The same functions for views like std::mdspan, in which the elements of a column must be neighbours: a
/// matrix by rows is its transpose, which has other factors.
/// @throws Error as the functions above, and invalid_argument naming the view and its strides.
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

/// Makes the plan of a factorization. Only device, nb and candidate of the options matter.
/// @throws Error unsupported with every reason if no candidate serves, for instance without a GPU.
LuPlan plan_lu(Context& context, const LuProblem& problem, const LuOptions& options = {});

/// Make the plans of solving, inverting and refining with factors. `factors` describes the n x n matrix that
/// was factored. Only the device of the options matters.
/// @throws Error unsupported with the reason, for instance without a GPU.
LuSolvePlan plan_lu_solve(Context& context, const LuProblem& factors, Op op, std::int64_t nrhs,
                          std::int64_t ldb, const LuOptions& options = {});
LuInversePlan plan_lu_inverse(Context& context, const LuProblem& factors, std::int64_t ldinv,
                              const LuOptions& options = {});
LuRefinePlan plan_lu_refine(Context& context, const LuProblem& factors, Op op, std::int64_t nrhs,
                            const LuRefineLayout& layout, int steps = 2, const LuOptions& options = {});

/// Returns which candidate factors the problem, why others do not, the panels, who computes the largest
/// update, and the record of tuning if there is one. For problems that no candidate serves it gives the
/// reasons.
std::string explain_lu(Context& context, const LuProblem& problem, const LuOptions& options = {});

/// Returns the name of the candidate that factors the problem; "" if there is nothing to factor or none
/// serves.
std::string lu_candidate(Context& context, const LuProblem& problem, const LuOptions& options = {});

/// Returns true if that candidate gives work to GPUs, according to their models.
bool lu_uses_gpus(Context& context, const LuProblem& problem, const LuOptions& options = {});

}  // namespace tilewright
