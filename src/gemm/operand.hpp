// Where the matrices of a batch lie: the address of each problem's A, B and C for every layout, so that no
// other file repeats the address arithmetic. It checks nothing; validate.hpp has done so.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "core/problem.hpp"

namespace tilewright {

inline bool is_interleaved(const GemmProblem& problem) { return is_interleaved(problem.layout); }

// False where C is scaled and A and B are not read.
inline bool reads_ab(const GemmProblem& problem) { return problem.k > 0 && problem.alpha != Scalar::zero; }

// Problems per step of the batch: a block of an interleaved batch, else one.
inline std::int64_t problems_per_step(const GemmProblem& problem) {
  return is_interleaved(problem) ? problem.block : 1;
}

// Levels around that of a strided operand. `inner` is how many problems the innermost one has, 0 where there
// are no others.
struct OperandLevels {
  std::int64_t inner = 0;
  std::int64_t outer_count = 1;
  std::int64_t outer_step = 0;
  std::int64_t outermost_step = 0;
};

// One operand of a batch. `step` is in elements: from one problem to the next, or from one block to the next.
struct OperandLayout {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t ld = 0;
  std::int64_t step = 0;
  OperandLevels levels = {};

  // From the first problem, or block, to number `index`, in elements.
  std::int64_t offset(std::int64_t index) const {
    if (levels.inner == 0) return index * step;
    const std::int64_t part = index / levels.inner;
    return index % levels.inner * step + part % levels.outer_count * levels.outer_step +
           part / levels.outer_count * levels.outermost_step;
  }
};

inline std::int64_t operand_step(const GemmProblem& p, std::int64_t stride, std::int64_t ld,
                                 std::int64_t cols) {
  if (p.layout == Layout::strided) return stride;
  return is_interleaved(p) ? p.block * ld * cols : 0;
}
inline OperandLevels operand_levels(const GemmProblem& p, std::int64_t outer, std::int64_t outermost) {
  if (!has_levels(p)) return {};
  return {std::max<std::int64_t>(1, batch_levels(p)[0].count), std::max<std::int64_t>(1, p.outer_count),
          outer, outermost};
}
inline OperandLayout layout_a(const GemmProblem& p) {
  return {p.a_rows(), p.a_cols(), p.lda, operand_step(p, p.stride_a, p.lda, p.a_cols()),
          operand_levels(p, p.outer_a, p.outermost_a)};
}
inline OperandLayout layout_b(const GemmProblem& p) {
  return {p.b_rows(), p.b_cols(), p.ldb, operand_step(p, p.stride_b, p.ldb, p.b_cols()),
          operand_levels(p, p.outer_b, p.outermost_b)};
}
inline OperandLayout layout_c(const GemmProblem& p) {
  return {p.m, p.n, p.ldc, p.sums == Sums::none ? operand_step(p, p.stride_c, p.ldc, p.n) : 0,
          operand_levels(p, p.outer_c, p.outermost_c)};
}

// Of A, B and C.
using OperandLayouts = std::array<OperandLayout, 3>;
inline OperandLayouts layouts_of(const GemmProblem& p) { return {layout_a(p), layout_b(p), layout_c(p)}; }

// f(first, count) for the parts of problems first ... first + count - 1 that lie in one innermost level each,
// which is all of them where there is but one level.
template <class F>
void for_each_run(const GemmProblem& p, std::int64_t first, std::int64_t count, F&& f) {
  if (!has_levels(p)) return f(first, count);
  const std::int64_t inner = std::max<std::int64_t>(1, batch_levels(p)[0].count), end = first + count;
  for (std::int64_t part = std::min(inner - first % inner, count); first < end;) {
    f(first, part);
    first += part;
    part = std::min(inner, end - first);
  }
}

// One matrix; element (i, j) lies at data[(j * ld + i) * spacing].
template <class T>
struct Matrix {
  T* data = nullptr;
  std::int64_t ld = 0;
  std::int64_t spacing = 1;

  T& operator()(std::int64_t i, std::int64_t j) const { return data[(j * ld + i) * spacing]; }
};

// Problem `index` of an operand. T is const for A and B; `base` is an array of pointers for pointer batches.
template <class T>
Matrix<T> matrix_of(const GemmProblem& p, const OperandLayout& layout, const void* base, std::int64_t index) {
  if (p.layout == Layout::pointer) return {static_cast<T* const*>(base)[index], layout.ld, 1};
  T* data = static_cast<T*>(const_cast<void*>(base));
  if (!is_interleaved(p)) return {data + layout.offset(index), layout.ld, 1};
  return {data + layout.offset(index / p.block) + index % p.block, layout.ld, p.block};
}

template <class T>
T scalar_of(Scalar kind, const void* values, std::int64_t stride, std::int64_t index) {
  if (kind != Scalar::general) return kind == Scalar::one ? T(1) : T(0);
  return static_cast<const T*>(values)[index * stride];
}

}  // namespace tilewright
