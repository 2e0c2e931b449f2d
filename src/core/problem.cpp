// What can be said of a GemmProblem without running it: its work, its bytes, its place in memory and its
// canonical text. Whether a problem is valid and what runs it belongs to gemm/plan.
#include "core/problem.hpp"

#include <algorithm>
#include <limits>

namespace tilewright {
namespace {

struct Shape {
  std::int64_t rows, cols, ld, stride, count;
};
Shape shape_a(const GemmProblem& p) { return {p.a_rows(), p.a_cols(), p.lda, p.stride_a, p.batch_count}; }
Shape shape_b(const GemmProblem& p) { return {p.b_rows(), p.b_cols(), p.ldb, p.stride_b, p.batch_count}; }
Shape shape_c(const GemmProblem& p) { return {p.m, p.n, p.ldc, p.stride_c, count_of_c(p)}; }

bool broadcast(const GemmProblem& p, const Shape& s) { return p.layout == Layout::strided && s.stride == 0; }

double matrix_count(const GemmProblem& p, const Shape& s) {
  return broadcast(p, s) ? std::min<double>(1, double(s.count)) : double(s.count);
}

double elements(const GemmProblem& p, const Shape& s) {
  return matrix_count(p, s) * double(s.rows) * double(s.cols);
}

bool contiguous(const GemmProblem& p, const Shape& s) {
  if (s.ld != s.rows && s.cols > 1) return false;
  switch (p.layout) {
    case Layout::single:
    case Layout::interleaved:
    case Layout::block_interleaved:
      return true;
    case Layout::strided:
      return s.count <= 1 || s.stride == s.rows * s.cols;
    default:
      return false;
  }
}

double footprint_elements(const GemmProblem& p, const Shape& s) {
  const double matrix = double(s.ld) * double(s.cols);
  if (p.batch_count <= 0) return 0;
  if (is_interleaved(p.layout) && p.block > 0)
    return double((p.batch_count - 1) / p.block + 1) * double(p.block) * matrix;
  if (p.layout == Layout::strided) return double(s.count - 1) * std::max(0.0, double(s.stride)) + matrix;
  return double(s.count) * matrix;
}

}  // namespace

double flops(const GemmProblem& problem) {
  if (problem.alpha == Scalar::zero) return 0;
  const double per_element = is_complex(problem.dtype) ? 8 : 2;
  return per_element * double(problem.m) * double(problem.n) * double(problem.k) *
         double(problem.batch_count);
}

double bytes(const GemmProblem& problem) {
  const bool reads_ab = problem.alpha != Scalar::zero && problem.m > 0 && problem.n > 0 && problem.k > 0;
  const double c = elements(problem, shape_c(problem)) * (problem.beta == Scalar::zero ? 1 : 2);
  const double ab = reads_ab ? elements(problem, shape_a(problem)) + elements(problem, shape_b(problem)) : 0;
  return (ab + c) * double(size_bytes(problem.dtype));
}

double footprint_bytes(const GemmProblem& problem) {
  const double matrices = footprint_elements(problem, shape_a(problem)) +
                          footprint_elements(problem, shape_b(problem)) +
                          footprint_elements(problem, shape_c(problem));
  const double pointers =
      problem.layout == Layout::pointer ? 3.0 * sizeof(void*) * double(problem.batch_count) : 0;
  return matrices * double(size_bytes(problem.dtype)) + pointers;
}

bool contiguous_a(const GemmProblem& problem) { return contiguous(problem, shape_a(problem)); }
bool contiguous_b(const GemmProblem& problem) { return contiguous(problem, shape_b(problem)); }
bool contiguous_c(const GemmProblem& problem) { return contiguous(problem, shape_c(problem)); }

namespace {

// Sizes from outside may be absurd; a plan refuses them later, so here the product must only not wrap.
std::int64_t saturating_product(std::int64_t x, std::int64_t y) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(x, y, &product) ? std::numeric_limits<std::int64_t>::max() : product;
}

}  // namespace

std::string op_pair(const GemmProblem& problem) { return to_string(problem.op_a) + to_string(problem.op_b); }

GemmProblem packed(GemmProblem problem) {
  if (problem.lda == 0) problem.lda = std::max<std::int64_t>(1, problem.a_rows());
  if (problem.ldb == 0) problem.ldb = std::max<std::int64_t>(1, problem.b_rows());
  if (problem.ldc == 0) problem.ldc = std::max<std::int64_t>(1, problem.m);
  if (problem.layout == Layout::interleaved && problem.block == 0) problem.block = problem.batch_count;
  if (problem.layout != Layout::strided) return problem;
  if (problem.stride_a == 0) problem.stride_a = saturating_product(problem.lda, problem.a_cols());
  if (problem.stride_b == 0) problem.stride_b = saturating_product(problem.ldb, problem.b_cols());
  if (problem.stride_c == 0) problem.stride_c = saturating_product(problem.ldc, problem.n);
  return problem;
}

}  // namespace tilewright
