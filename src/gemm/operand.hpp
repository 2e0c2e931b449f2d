// Where the matrices of a batch lie: the address of each problem's A, B and C for every layout, so that no
// other file repeats the address arithmetic. It checks nothing; validate.hpp has done so.
#pragma once

#include <cstdint>

#include "core/problem.hpp"

namespace tilewright {

inline bool is_interleaved(const GemmProblem& problem) { return is_interleaved(problem.layout); }

// Problems per step of the batch: a block of an interleaved batch, else one.
inline std::int64_t problems_per_step(const GemmProblem& problem) {
  return is_interleaved(problem) ? problem.block : 1;
}

// One operand of a batch. `step` is in elements: from one problem to the next, or from one block to the next.
struct OperandLayout {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t ld = 0;
  std::int64_t step = 0;
};

inline std::int64_t operand_step(const GemmProblem& p, std::int64_t stride, std::int64_t ld,
                                 std::int64_t cols) {
  if (p.layout == Layout::strided) return stride;
  return is_interleaved(p) ? p.block * ld * cols : 0;
}
inline OperandLayout layout_a(const GemmProblem& p) {
  return {p.a_rows(), p.a_cols(), p.lda, operand_step(p, p.stride_a, p.lda, p.a_cols())};
}
inline OperandLayout layout_b(const GemmProblem& p) {
  return {p.b_rows(), p.b_cols(), p.ldb, operand_step(p, p.stride_b, p.ldb, p.b_cols())};
}
inline OperandLayout layout_c(const GemmProblem& p) {
  return {p.m, p.n, p.ldc, p.sums == Sums::none ? operand_step(p, p.stride_c, p.ldc, p.n) : 0};
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
  if (!is_interleaved(p)) return {data + index * layout.step, layout.ld, 1};
  return {data + index / p.block * layout.step + index % p.block, layout.ld, p.block};
}

template <class T>
T scalar_of(Scalar kind, const void* values, std::int64_t stride, std::int64_t index) {
  if (kind != Scalar::general) return kind == Scalar::one ? T(1) : T(0);
  return static_cast<const T*>(values)[index * stride];
}

}  // namespace tilewright
