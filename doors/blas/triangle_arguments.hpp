// One triangle of C = alpha op(A) op(B) + beta C as the caller described it, by columns. Nothing is checked
// yet.
#pragma once

#include "blas/arguments.hpp"

namespace tilewright::blas {

template <class T>
struct TriangleArguments {
  bool is_upper;
  std::int8_t op_a, op_b;
  std::int64_t n, k;
  T alpha;
  const T* a;
  std::int64_t lda;
  const T* b;
  std::int64_t ldb;
  T beta;
  T* c;
  std::int64_t ldc;
  bool is_hermitian = false;  // the diagonal is real, and so is that of A B

  std::int64_t a_rows() const { return op_a == 0 ? n : k; }
  std::int64_t b_rows() const { return op_b == 0 ? k : n; }
  // Returns the triangle of rows and columns first ... first + count - 1.
  TriangleArguments part(std::int64_t first, std::int64_t count) const {
    TriangleArguments x = *this;
    x.n = count;
    x.a += first * (op_a == 0 ? 1 : lda);
    x.b += first * (op_b == 0 ? ldb : 1);
    x.c += first * (ldc + 1);
    return x;
  }
  // Returns the square beside the first `half` rows and columns.
  GemmArguments<T> square(std::int64_t half) const {
    const TriangleArguments rows = part(is_upper ? 0 : half, 0), cols = part(is_upper ? half : 0, 0);
    T* const corner = is_upper ? c + half * ldc : c + half;
    return {op_a,
            op_b,
            is_upper ? half : n - half,
            is_upper ? n - half : half,
            k,
            alpha,
            rows.a,
            lda,
            cols.b,
            ldb,
            beta,
            corner,
            ldc};
  }
  double flops() const {
    return (is_complex(dtype_of<T>) ? 4.0 : 1.0) * double(n) * double(n + 1) * double(k);
  }
};

}  // namespace tilewright::blas
