// Triangular solves and products of one call of lu_solve, lu_inverse or lu_refine, by whom its options say:
// the CPU takes a triangle whole, with GPUs it is cut until products are most of the work.
#pragma once

#include "lu/blas.hpp"
#include "lu/candidates.hpp"

namespace tilewright {

class LuSolver {
 public:
  LuSolver(Context& context, const LuOptions& options);

  const HostBlas& blas() const { return blas_; }

  // C -= op_a(A) op_b(B)
  template <class T>
  void subtract_product(Op op_a, Op op_b, std::int64_t m, std::int64_t n, std::int64_t k, const T* a,
                        std::int64_t lda, const T* b, std::int64_t ldb, T* c, std::int64_t ldc) const {
    if (cpu_alone_) return blas_.subtract_product(op_a, op_b, m, n, k, a, lda, b, ldb, c, ldc);
    subtract_product_with<T>(blas_.context(), options_, op_a, op_b, m, n, k, a, lda, b, ldb, c, ldc);
  }
  template <class T>
  void solve_triangle(const Triangle& triangle, std::int64_t m, std::int64_t n, const T* a, std::int64_t lda,
                      T* b, std::int64_t ldb) const;
  // X = inv(op(A)) B by the factors and pivots of A; B is n x nrhs.
  template <class T>
  void solve(Op op, std::int64_t n, std::int64_t nrhs, const T* lu, std::int64_t lda,
             const std::int64_t* pivots, T* b, std::int64_t ldb) const;

 private:
  HostBlas blas_;
  GemmOptions options_;  // of products
  bool cpu_alone_;       // no GPU may or can multiply
};

// Throws Error(unsupported) where nobody that the options allow multiplies, before anything is written. Of
// products of at most `most` rows and columns.
void require_products(Context& context, const LuOptions& options, DType dtype, std::int64_t most);

}  // namespace tilewright
