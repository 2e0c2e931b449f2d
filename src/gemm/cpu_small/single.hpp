// The short way of one multiplication to a kernel that the calling thread has at hand: a handful of compares
// and loads. Whatever does not take it takes the long way, which sees the same views.
#pragma once

#include <algorithm>

#include "gemm/cpu_small/calls.hpp"

namespace tilewright {

// Of sizes and leading dimensions: far below what could make an address wrap.
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

// Runs it and returns true, or returns false.
template <class T>
bool run_single(Context::Impl& context, Op op_a, Op op_b, const T& alpha, const MatrixView<const T>& a,
                const MatrixView<const T>& b, const T& beta, const MatrixView<T>& c,
                const GemmOptions& options) {
  const std::int64_t m = c.rows, n = c.cols, k = op_a == Op::none ? a.cols : a.rows;
  const bool is_long = !is_small_size(m) || !is_small_size(n);
  if (!is_small_size(k) || (is_long && !has_one_long_side(m, n, k)) || op_a > Op::conj_trans ||
      op_b > Op::conj_trans || !has_size(a, op_a != Op::none, m, k) || !has_size(b, op_b != Op::none, k, n) ||
      a.ld < a.rows || b.ld < b.rows || c.ld < m || !are_usual(options))
    return false;
  if (a.data == nullptr || b.data == nullptr || c.data == nullptr || a.data == c.data || b.data == c.data ||
      alpha == T(0))
    return false;
  const Scalar alpha_class = scalar_class(alpha), beta_class = scalar_class(beta);
  KernelCall call(a.data, b.data, c.data, &alpha, &beta);
  if (is_long) {
    const LongKey key{small_shape(dtype_of<T>, op_a, op_b, 0, 0, k, alpha_class, beta_class, Layout::single,
                                  options.residency, 0),
                      m,
                      n,
                      a.ld,
                      b.ld,
                      c.ld,
                      options.threads};
    if (const BandKernels* known = context.small->recent(key))
      return known->run(call, 0, known->bands.part_count()), true;
    if (std::max({a.ld, b.ld, c.ld, m, n}) > largest_plain) return false;
    return run_long(
        context, key,
        single_problem(dtype_of<T>, op_a, op_b, k, alpha_class, beta_class, a.ld, b.ld, c, options), call,
        options);
  }
  const SmallKey key{small_shape(dtype_of<T>, op_a, op_b, m, n, k, alpha_class, beta_class, Layout::single,
                                 options.residency, 0),
                     a.ld, b.ld, c.ld};
  if (const BoundKernel* kernel = context.small->recent(key)) return kernel->run(call), true;
  if (std::max({a.ld, b.ld, c.ld, m, n}) > largest_plain) return false;
  const GemmProblem p =
      single_problem(dtype_of<T>, op_a, op_b, k, alpha_class, beta_class, a.ld, b.ld, c, options);
  run_looked_up(context, p, call, options);
  return true;
}

}  // namespace tilewright
