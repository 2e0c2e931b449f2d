// Calls on small problems in host memory, without a plan: the key of the kernel is looked up, all else comes
// with the call. Calls that may be faulty, or set options, go to plans, which handle all options and faults.
#pragma once

#include <algorithm>
#include <optional>

#include "gemm/context_impl.hpp"
#include "gemm/cpu_small/kernels.hpp"

namespace tilewright {

// The kernel that serves small problems of one shape with one alpha and beta: their own or the portable one,
// bound here.
class SmallKernel {
 public:
  SmallKernel(Context::Impl& context, const GemmProblem& problem, const GemmOptions& options);

  // Valid as long as this object, until the thread looks up another kernel.
  const BoundKernel& get() const { return bound_; }

 private:
  std::optional<ColdKernel> cold_;
  BoundKernel bound_;
};

// Looks up the kernel of a valid small product, and calls it; without one, the product runs as it is.
void run_looked_up(Context::Impl& context, const GemmProblem& problem, const PortableProduct& product,
                   KernelCall& call, const GemmOptions& options);

// Runs a valid product with one long side band by band and returns true; false if a second thread pays. The
// next call with the key finds the kernels of its bands. `product` is the call of one whole product.
bool run_long(Context::Impl& context, const LongKey& key, const GemmProblem& problem,
              const KernelCall& product, const GemmOptions& options);

// Runs a valid call if its problem is small. Returns false otherwise.
bool run_small(Context::Impl& context, const GemmProblem& problem, const Operands& operands,
               const GemmOptions& options);

// Upper bound of sizes and leading dimensions on the fast path, far below values whose addresses could wrap.
inline constexpr std::int64_t largest_plain = std::int64_t(1) << 28;

template <class View>
bool has_size(const View& view, bool swapped, std::int64_t rows, std::int64_t cols) {
  return swapped ? view.rows == cols && view.cols == rows : view.rows == rows && view.cols == cols;
}

template <class Output>
GemmProblem single_problem(DType dtype, Op op_a, Op op_b, std::int64_t k, Scalar alpha, Scalar beta,
                           std::int64_t lda, std::int64_t ldb, const Output& c, const GemmOptions& options) {
  GemmProblem p;
  p.dtype = dtype;
  p.op_a = op_a, p.op_b = op_b;
  p.m = c.rows, p.n = c.cols, p.k = k;
  p.lda = lda, p.ldb = ldb, p.ldc = c.ld;
  p.alpha = alpha, p.beta = beta;
  p.residency = options.residency;
  return p;
}

// Runs a product of small sizes by the thread's recent kernel of its shape, or by the one for all shapes,
// with a few compares. Returns false, and runs nothing, if a leading dimension or size is too large.
template <class T>
[[gnu::always_inline]] inline bool run_one(Context::Impl& context, Op op_a, Op op_b, std::int64_t k,
                                           const T& alpha, const MatrixView<const T>& a,
                                           const MatrixView<const T>& b, const T& beta,
                                           const MatrixView<T>& c, const GemmOptions& options) {
  const std::int64_t m = c.rows, n = c.cols;
  const Scalar alpha_class = scalar_class(alpha), beta_class = scalar_class(beta);
  const SmallKey key{small_shape(dtype_of<T>, op_a, op_b, m, n, k, alpha_class, beta_class, Layout::single,
                                 options.residency, 0),
                     a.ld, b.ld, c.ld};
  const PortableProduct product{op_a, op_b, alpha_class, beta_class, m,      n,     k,     a.ld,
                                b.ld, c.ld, &alpha,      a.data,     b.data, &beta, c.data};
  const bool is_plain = std::max({a.ld, b.ld, c.ld}) <= largest_plain;
  if (context.small->meets_many(key, m * n * k) && is_plain && portable_tiles(dtype_of<T>).run_one(product))
    return true;
  KernelCall call(a.data, b.data, c.data, &alpha, &beta);
  if (const BoundKernel* kernel = context.small->recent(key)) return kernel->run(call), true;
  if (!is_plain) return false;
  const GemmProblem p =
      single_problem(dtype_of<T>, op_a, op_b, k, alpha_class, beta_class, a.ld, b.ld, c, options);
  run_looked_up(context, p, product, call, options);
  return true;
}

// Fast path of a single gemm. Returns false, and runs nothing, if the call needs checks or options; the
// general path then takes the same views.
template <class T>
bool run_single(Context::Impl& context, Op op_a, Op op_b, const T& alpha, const MatrixView<const T>& a,
                const MatrixView<const T>& b, const T& beta, const MatrixView<T>& c,
                const GemmOptions& options) {
  const std::int64_t m = c.rows, n = c.cols, k = op_a == Op::none ? a.cols : a.rows;
  const bool is_long = !is_small_size(m) || !is_small_size(n);
  if (!is_small_size(k) || (is_long && !has_one_long_side(m, n, k)) || op_a > Op::conj_trans ||
      op_b > Op::conj_trans || !has_size(a, op_a != Op::none, m, k) || !has_size(b, op_b != Op::none, k, n) ||
      a.ld < a.rows || b.ld < b.rows || c.ld < m || !are_default(options))
    return false;
  if (a.data == nullptr || b.data == nullptr || c.data == nullptr || a.data == c.data || b.data == c.data ||
      alpha == T(0))
    return false;
  if (!is_long) return run_one(context, op_a, op_b, k, alpha, a, b, beta, c, options);
  const Scalar alpha_class = scalar_class(alpha), beta_class = scalar_class(beta);
  const LongKey key{small_shape(dtype_of<T>, op_a, op_b, 0, 0, k, alpha_class, beta_class, Layout::single,
                                options.residency, 0),
                    m,
                    n,
                    a.ld,
                    b.ld,
                    c.ld,
                    options.threads};
  KernelCall call(a.data, b.data, c.data, &alpha, &beta);
  if (const BandKernels* known = context.small->recent(key))
    return known->run(call, 0, known->bands.part_count()), true;
  if (std::max({a.ld, b.ld, c.ld, m, n}) > largest_plain) return false;
  return run_long(context, key,
                  single_problem(dtype_of<T>, op_a, op_b, k, alpha_class, beta_class, a.ld, b.ld, c, options),
                  call, options);
}

}  // namespace tilewright
