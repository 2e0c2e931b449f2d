// The CPU's work in LU: triangular solves, panels, row swaps and small products, by the BLAS and LAPACK found
// at run time if it has them and its ints hold the sizes, else by recursion down to small blocks. Also other
// decompositions of that LAPACK.
#pragma once

#include <cstdint>
#include <memory>

#include "core/problem.hpp"
#include "device/cblas.hpp"
#include "tilewright/context.hpp"
#include "tilewright/gemm.hpp"

namespace tilewright {

class HostBlas {
 public:
  // threads as in LuOptions.
  HostBlas(Context& context, int threads);

  const CblasLibrary& library() const { return *library_; }
  Context& context() const { return context_; }

  // C -= op_a(A) op_b(B); C is m x n. By the library, because products of panels and solves come in many
  // small shapes, each of which would need a plan; by the Context if there is none.
  template <class T>
  void subtract_product(Op op_a, Op op_b, std::int64_t m, std::int64_t n, std::int64_t k, const T* a,
                        std::int64_t lda, const T* b, std::int64_t ldb, T* c, std::int64_t ldc) const;
  // Solves op(A) X = B or X op(A) = B and overwrites B (m x n) by X.
  template <class T>
  void solve(const Triangle& triangle, std::int64_t m, std::int64_t n, const T* a, std::int64_t lda, T* b,
             std::int64_t ldb) const;
  // P A = L U of a panel or a whole matrix; pivots count its own rows from 1. Returns info.
  template <class T>
  std::int64_t factor(std::int64_t m, std::int64_t n, T* a, std::int64_t lda, std::int64_t* pivots) const;
  // Swaps row i with row pivots[i] - 1 for i = 0 ... count - 1, or backwards, in n columns.
  template <class T>
  void swap_rows(std::int64_t n, T* a, std::int64_t lda, std::int64_t count, const std::int64_t* pivots,
                 bool forwards = true) const;

  // True if the library has LAPACK's routine for eigenvalues, singular values or QR of an m x n matrix, and
  // its ints hold the sizes; the calls below need it.
  bool has_syevd(std::int64_t n) const { return library_->has_syevd() && fits_decomposition(n, n); }
  bool has_gesdd(std::int64_t m, std::int64_t n) const {
    return library_->has_gesdd() && fits_decomposition(m, n);
  }
  bool has_geqrf(std::int64_t m, std::int64_t n, std::int64_t ld) const {
    return library_->has_geqrf() && fits(m, n, ld);
  }
  // As CblasLibrary's.
  template <class T>
  int syevd(bool vectors, Uplo uplo, std::int64_t n, T* a, std::int64_t lda, RealPart<T>* values,
            LapackMemory<T>& memory) const;
  template <class T>
  int gesdd(std::int64_t m, std::int64_t n, T* a, std::int64_t lda, RealPart<T>* values, T* u,
            std::int64_t ldu, T* vh, std::int64_t ldvh, LapackMemory<T>& memory) const;
  template <class T>
  void geqrf(std::int64_t m, std::int64_t n, T* a, std::int64_t lda, T* tau) const;

  int threads() const;  // of loops outside of the library

 private:
  bool fits(std::int64_t m, std::int64_t n, std::int64_t ld) const;
  bool fits_decomposition(std::int64_t m, std::int64_t n) const;
  template <class T>
  std::int64_t factor_recursively(std::int64_t m, std::int64_t n, T* a, std::int64_t lda,
                                  std::int64_t* pivots) const;

  Context& context_;
  GemmOptions options_;  // of products on the CPU
  std::shared_ptr<const CblasLibrary> library_;
};

// C -= op_a(A) op_b(B) by the implementation that the options choose; does nothing if a size is 0.
template <class T>
void subtract_product_with(Context& context, const GemmOptions& options, Op op_a, Op op_b, std::int64_t m,
                           std::int64_t n, std::int64_t k, const T* a, std::int64_t lda, const T* b,
                           std::int64_t ldb, T* c, std::int64_t ldc);

// Solves as HostBlas::solve does, by halves of the triangle: `subtract_product` between them and, for
// triangles of at most `base` rows, `solve_base`.
template <class T, class SubtractProduct, class SolveBase>
void solve_by_halves(const Triangle& t, std::int64_t base, const SubtractProduct& subtract_product,
                     const SolveBase& solve_base, std::int64_t m, std::int64_t n, const T* a,
                     std::int64_t lda, T* b, std::int64_t ldb) {
  const bool left = t.side == Side::left;
  const std::int64_t size = left ? m : n;
  if (size <= base) return solve_base(t, m, n, a, lda, b, ldb);
  const std::int64_t half = (size / 2 + base - 1) / base * base, rest = size - half;
  // The block of A off the diagonal, as stored; op(A) has it at the same place or transposed.
  const T* const off = t.uplo == Uplo::lower ? a + half : a + half * lda;
  T* const second = left ? b + half : b + half * ldb;
  const auto solve = [&](bool first) {
    const std::int64_t part = first ? half : rest;
    solve_by_halves(t, base, subtract_product, solve_base, left ? part : m, left ? n : part,
                    first ? a : a + half * lda + half, lda, first ? b : second, ldb);
  };
  // From the left a lower triangle is solved from the top, from the right from the last column.
  const bool first_first = left == t.is_lower();
  solve(first_first);
  T* const from = first_first ? b : second;
  T* const into = first_first ? second : b;
  const std::int64_t known = first_first ? half : rest, unknown = first_first ? rest : half;
  if (left)
    subtract_product(t.op, Op::none, unknown, n, known, off, lda, from, ldb, into, ldb);
  else
    subtract_product(Op::none, t.op, m, unknown, known, from, ldb, off, lda, into, ldb);
  solve(!first_first);
}

}  // namespace tilewright
