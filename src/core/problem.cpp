// Properties of a GemmProblem. The sizes are not validated yet, so nothing here may wrap.
#include "core/problem.hpp"

#include <algorithm>

#include "core/input/checked.hpp"

namespace tilewright {
namespace {

struct Shape {
  std::int64_t rows, cols, ld, stride, outer, outermost, count;
};
Shape shape_a(const GemmProblem& p) {
  return {p.a_rows(), p.a_cols(), p.lda, p.stride_a, p.outer_a, p.outermost_a, p.batch_count};
}
Shape shape_b(const GemmProblem& p) {
  return {p.b_rows(), p.b_cols(), p.ldb, p.stride_b, p.outer_b, p.outermost_b, p.batch_count};
}
Shape shape_c(const GemmProblem& p) {
  return {p.m, p.n, p.ldc, p.stride_c, p.outer_c, p.outermost_c, count_of_c(p)};
}

double inner_count(const GemmProblem& p, const Shape& s) {
  const double around = double(p.outer_count) * double(p.outermost_count);
  return around == 0 ? 0 : double(s.count) / around;
}

// Returns the number of distinct matrices in memory: a level with stride 0 has one for all its parts.
double matrix_count(const GemmProblem& p, const Shape& s) {
  if (p.layout != Layout::strided || p.batch_count == 0) return double(s.count);
  return (s.stride == 0 ? 1 : inner_count(p, s)) * (s.outer == 0 ? 1 : double(p.outer_count)) *
         (s.outermost == 0 ? 1 : double(p.outermost_count));
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
      return !has_levels(p) && (s.count <= 1 || s.stride == saturating_product(s.rows, s.cols));
    default:
      return false;
  }
}

double footprint_elements(const GemmProblem& p, const Shape& s) {
  const double matrix = double(s.ld) * double(s.cols);
  if (p.batch_count <= 0) return 0;
  if (is_interleaved(p.layout) && p.block > 0)
    return double((p.batch_count - 1) / p.block + 1) * double(p.block) * matrix;
  if (p.layout == Layout::strided)
    return (inner_count(p, s) - 1) * std::max(0.0, double(s.stride)) +
           (double(p.outer_count) - 1) * double(s.outer) +
           (double(p.outermost_count) - 1) * double(s.outermost) + matrix;
  return double(s.count) * matrix;
}

}  // namespace

double flops(const GemmProblem& problem) {
  if (problem.alpha == Scalar::zero) return 0;
  const double per_element = is_complex(problem.dtype) ? 8 : 2;
  return per_element * double(problem.m) * double(problem.n) * double(problem.k) *
         double(problem.batch_count);
}

double flops(const LuProblem& p) {
  const double most = double(std::max(p.m, p.n)), least = double(std::min(p.m, p.n));
  return (is_complex(p.dtype) ? 4 : 1) * least * least * (most - least / 3);
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

std::array<BatchLevel, most_batch_levels> batch_levels(const GemmProblem& p) {
  const std::int64_t around = saturating_product(p.outer_count, p.outermost_count);
  return {{{around > 0 ? p.batch_count / around : 0, p.stride_a, p.stride_b, p.stride_c},
           {p.outer_count, p.outer_a, p.outer_b, p.outer_c},
           {p.outermost_count, p.outermost_a, p.outermost_b, p.outermost_c}}};
}

void set_batch_levels(GemmProblem& p, const std::array<BatchLevel, most_batch_levels>& levels) {
  p.batch_count = saturating_product(levels[0].count, levels[1].count, levels[2].count);
  p.stride_a = levels[0].a, p.stride_b = levels[0].b, p.stride_c = levels[0].c;
  p.outer_count = levels[1].count;
  p.outer_a = levels[1].a, p.outer_b = levels[1].b, p.outer_c = levels[1].c;
  p.outermost_count = levels[2].count;
  p.outermost_a = levels[2].a, p.outermost_b = levels[2].b, p.outermost_c = levels[2].c;
}

GemmProblem with_joined_levels(const GemmProblem& problem) {
  if (!has_levels(problem)) return problem;
  if (problem.batch_count == 0) return without_levels(problem);
  std::array<BatchLevel, most_batch_levels> joined;
  std::size_t last = 0;
  const auto levels = batch_levels(problem);
  joined[0] = levels[0];
  for (std::size_t i = 1; i < levels.size(); ++i) {
    BatchLevel& within = joined[last];
    const BatchLevel& level = levels[i];
    if (level.count == 1) continue;
    const auto spans = [&](std::int64_t stride) { return saturating_product(within.count, stride); };
    const bool goes_on =
        level.a == spans(within.a) && level.b == spans(within.b) && level.c == spans(within.c);
    if (within.count == 1)
      within = level;
    else if (goes_on)
      within.count = saturating_product(within.count, level.count);
    else
      joined[++last] = level;
  }
  GemmProblem p = problem;
  set_batch_levels(p, joined);
  return p;
}

GemmProblem without_levels(GemmProblem p) {
  p.outer_count = p.outermost_count = 1;
  p.outer_a = p.outer_b = p.outer_c = p.outermost_a = p.outermost_b = p.outermost_c = 0;
  return p;
}

namespace {

void pack_levels(GemmProblem& p) {
  const auto fill = [](std::int64_t& stride, std::int64_t normal) {
    if (stride == 0) stride = normal;
  };
  const BatchLevel outer = dense_level(p, 1);
  fill(p.outer_a, outer.a), fill(p.outer_b, outer.b), fill(p.outer_c, outer.c);
  const BatchLevel outermost = dense_level(p, 2);
  fill(p.outermost_a, outermost.a), fill(p.outermost_b, outermost.b), fill(p.outermost_c, outermost.c);
}

}  // namespace

BatchLevel dense_level(const GemmProblem& p, std::size_t level) {
  const std::int64_t count = level == 1 ? p.outer_count : p.outermost_count;
  if (count == 1) return {};
  if (level == 2 && p.outer_count != 1)
    return {count, saturating_product(p.outer_count, p.outer_a), saturating_product(p.outer_count, p.outer_b),
            saturating_product(p.outer_count, p.outer_c)};
  const std::int64_t around = saturating_product(p.outer_count, p.outermost_count);
  const std::int64_t inner = around < 1 ? 0 : p.batch_count / around;
  return {count, saturating_product(inner, p.stride_a), saturating_product(inner, p.stride_b),
          saturating_product(inner, p.stride_c)};
}

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
  if (has_levels(problem)) pack_levels(problem);
  return problem;
}

}  // namespace tilewright
