// What LU needs of the CPU beside products: triangular solves, panels and row swaps, by the BLAS and LAPACK
// found at run time where it has them and its ints hold the sizes, else by recursion of our own down to small
// blocks.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "core/triangle.hpp"
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
  // small shapes that plans would be made for; by the Context where there is none.
  template <class T>
  void subtract_product(Op op_a, Op op_b, std::int64_t m, std::int64_t n, std::int64_t k, const T* a,
                        std::int64_t lda, const T* b, std::int64_t ldb, T* c, std::int64_t ldc) const;
  // Solves op(A) X = B or X op(A) = B, X taking the place of B (m x n).
  template <class T>
  void solve(const Triangle& triangle, std::int64_t m, std::int64_t n, const T* a, std::int64_t lda, T* b,
             std::int64_t ldb) const;
  // P A = L U of a panel or a whole matrix: pivots counted from 1 and its own first row. Returns info.
  template <class T>
  std::int64_t factor(std::int64_t m, std::int64_t n, T* a, std::int64_t lda, std::int64_t* pivots) const;
  // Swaps row i with row pivots[i] - 1 for i = 0 ... count - 1, or backwards, in n columns.
  template <class T>
  void swap_rows(std::int64_t n, T* a, std::int64_t lda, std::int64_t count, const std::int64_t* pivots,
                 bool forwards = true) const;

  int threads() const;  // that loops of ours use

 private:
  bool fits(std::int64_t m, std::int64_t n, std::int64_t ld) const;
  template <class T>
  std::int64_t factor_recursively(std::int64_t m, std::int64_t n, T* a, std::int64_t lda,
                                  std::int64_t* pivots) const;

  Context& context_;
  GemmOptions options_;  // of products on the CPU
  std::shared_ptr<const CblasLibrary> library_;
};

// C -= op_a(A) op_b(B) by whoever the options say; nothing where a size is 0.
template <class T>
void subtract_product_with(Context& context, const GemmOptions& options, Op op_a, Op op_b, std::int64_t m,
                           std::int64_t n, std::int64_t k, const T* a, std::int64_t lda, const T* b,
                           std::int64_t ldb, T* c, std::int64_t ldc);

// Who makes the products that a recursion splits off.
template <class T>
using SubtractProduct =
    std::function<void(Op op_a, Op op_b, std::int64_t m, std::int64_t n, std::int64_t k, const T* a,
                       std::int64_t lda, const T* b, std::int64_t ldb, T* c, std::int64_t ldc)>;

// The same solve as products and, down from triangles of `base`, `solve_base`.
template <class T>
struct RecursiveSolve {
  SubtractProduct<T> subtract_product;
  std::function<void(const Triangle&, std::int64_t m, std::int64_t n, const T* a, std::int64_t lda, T* b,
                     std::int64_t ldb)>
      solve_base;
  std::int64_t base = 0;

  void solve(const Triangle& triangle, std::int64_t m, std::int64_t n, const T* a, std::int64_t lda, T* b,
             std::int64_t ldb) const;
};

}  // namespace tilewright
