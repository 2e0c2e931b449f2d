// Addresses of each problem's A, B and C and values of its scalars, for every layout. No checks.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "core/dispatch.hpp"
#include "core/problem.hpp"

namespace tilewright {

inline bool is_interleaved(const GemmProblem& problem) { return is_interleaved(problem.layout); }

// False if C is only scaled.
inline bool reads_ab(const GemmProblem& problem) { return problem.k > 0 && problem.alpha != Scalar::zero; }

// False if a call does nothing. The C of a batch-reduce exists even without products.
inline bool has_elements_of_c(const GemmProblem& p) { return p.m != 0 && p.n != 0 && count_of_c(p) != 0; }

// Problems per step of the batch: a block of an interleaved batch, else one.
inline std::int64_t problems_per_step(const GemmProblem& problem) {
  return is_interleaved(problem) ? problem.block : 1;
}

// Outer levels of a strided operand. `inner`: problems of the innermost level; 0: there are no outer levels.
struct OperandLevels {
  std::int64_t inner = 0;
  std::int64_t outer_count = 1;
  std::int64_t outer_step = 0;
  std::int64_t outermost_step = 0;
};

// One operand of a batch. `step`: elements from one problem, or block, to the next.
struct OperandLayout {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t ld = 0;
  std::int64_t step = 0;
  OperandLevels levels = {};

  // Returns the elements from the first problem, or block, to number `index`.
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

using OperandLayouts = std::array<OperandLayout, 3>;  // of A, B and C
inline OperandLayouts layouts_of(const GemmProblem& p) { return {layout_a(p), layout_b(p), layout_c(p)}; }

// Calls f(first, count) for each part of problems first ... first + count - 1 within one innermost level.
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

// Returns matrix `index` of an operand. `base` is an array of pointers for pointer batches.
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

// True if the one value of a scalar is zero; a general one is read.
inline bool is_zero(const GemmProblem& p, Scalar kind, const void* value) {
  return dispatch(p.dtype, [&]<class T>() { return scalar_of<T>(kind, value, 0, 0) == T(0); });
}

// Null stays null.
inline const void* advanced(const void* base, std::int64_t bytes) {
  return base == nullptr ? nullptr : static_cast<const char*>(base) + bytes;
}

}  // namespace tilewright
