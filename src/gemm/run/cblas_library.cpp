// The calls themselves.
#include "gemm/run/cblas_library.hpp"

#include <algorithm>

#include "core/dispatch.hpp"
#include "gemm/operand.hpp"
#include "gemm/run/scale.hpp"

namespace tilewright {

void multiply_by_cblas(const CblasLibrary& library, const GemmProblem& p, const Operands& o,
                       std::int64_t first, std::int64_t count) {
  dispatch(p.dtype, [&]<class T>() {
    const OperandLayout la = layout_a(p), lb = layout_b(p), lc = layout_c(p);
    for (std::int64_t i = first; i < first + count; ++i) {
      const T alpha = scalar_of<T>(p.alpha, o.alpha, o.alpha_stride, i);
      const T beta = scalar_of<T>(p.beta, o.beta, o.beta_stride, i);
      if (alpha == T(0)) {
        scale_c(p, o, i, 1);
        continue;
      }
      library.gemm<T>(p.op_a, p.op_b, p.m, p.n, p.k, alpha, matrix_of<const T>(p, la, o.a, i).data, p.lda,
                      matrix_of<const T>(p, lb, o.b, i).data, p.ldb, beta, matrix_of<T>(p, lc, o.c, i).data,
                      p.ldc);
    }
  });
}

std::string why_not_by_cblas(const CblasLibrary& library, const GemmProblem& p) {
  if (!library.available()) return library.error();
  const std::int64_t largest = std::max({p.m, p.n, p.k, p.lda, p.ldb, p.ldc});
  if (largest > library.largest_integer())
    return fmt::format("{} does not fit the int that CBLAS counts with", largest);
  return "";
}

}  // namespace tilewright
