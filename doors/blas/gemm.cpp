// Implements xGEMM of Fortran and of CBLAS.
#include "blas/gemm.hpp"

#include "blas/report.hpp"
#include "blas/tilewright_blas.hpp"

namespace tilewright::blas {
namespace {

// The counterpart takes the lengths of its letters as its last arguments. Callers in C leave them out, so the
// entry points do not declare them.
template <class T, class Int>
using FortranGemm = void(const char*, const char*, const Int*, const Int*, const Int*, const T*, const T*,
                         const Int*, const T*, const Int*, const T*, T*, const Int*, std::size_t,
                         std::size_t);
template <class T, class Int>
using CblasGemm = void(int, int, int, Int, Int, Int, CblasValue<T>, const CblasMatrix<T>*, Int,
                       const CblasMatrix<T>*, Int, CblasValue<T>, CblasMatrix<T>*, Int);

void report_after_layout(const Counterpart& routine, int position) { report_cblas(routine, position + 1); }

}  // namespace

#define TILEWRIGHT_FORTRAN_GEMM(name, T, Int, spellings, plain, wide)                                       \
  extern "C" TILEWRIGHT_SHOWN void name(const char* op_a, const char* op_b, const Int* m, const Int* n,     \
                                        const Int* k, const T* alpha, const T* a, const Int* lda,           \
                                        const T* b, const Int* ldb, const T* beta, T* c, const Int* ldc) {  \
    TILEWRIGHT_COUNTERPART(name, spellings, plain, wide);                                                   \
    run_gemm<T>(                                                                                            \
        other,                                                                                              \
        {op_of_letter(*op_a), op_of_letter(*op_b), *m, *n, *k, *alpha, a, *lda, b, *ldb, *beta, c, *ldc},   \
        false, report_fortran, [&] {                                                                        \
          reinterpret_cast<FortranGemm<T, Int>*>(other.found().routine)(op_a, op_b, m, n, k, alpha, a, lda, \
                                                                        b, ldb, beta, c, ldc, 1, 1);        \
        });                                                                                                 \
  }
TILEWRIGHT_EXPORT(fortran, sdcz, gemm, TILEWRIGHT_FORTRAN_GEMM)

#define TILEWRIGHT_CBLAS_GEMM(name, T, Int, spellings, plain, wide)                                       \
  extern "C" TILEWRIGHT_SHOWN void name(                                                                  \
      int layout, int op_a, int op_b, Int m, Int n, Int k, CblasValue<T> alpha, const CblasMatrix<T>* a,  \
      Int lda, const CblasMatrix<T>* b, Int ldb, CblasValue<T> beta, CblasMatrix<T>* c, Int ldc) {        \
    TILEWRIGHT_COUNTERPART(name, spellings, plain, wide);                                                 \
    const auto forward = [&] {                                                                            \
      reinterpret_cast<CblasGemm<T, Int>*>(other.found().routine)(layout, op_a, op_b, m, n, k, alpha, a,  \
                                                                  lda, b, ldb, beta, c, ldc);             \
    };                                                                                                    \
    if (layout != row_major && layout != col_major)                                                       \
      return other.found().routine != nullptr ? forward() : report_cblas(other, 1);                       \
    const GemmArguments<T> x{op_of_number(op_a),                                                          \
                             op_of_number(op_b),                                                          \
                             m,                                                                           \
                             n,                                                                           \
                             k,                                                                           \
                             CblasScalar<T>::value(alpha),                                                \
                             static_cast<const T*>(a),                                                    \
                             lda,                                                                         \
                             static_cast<const T*>(b),                                                    \
                             ldb,                                                                         \
                             CblasScalar<T>::value(beta),                                                 \
                             static_cast<T*>(c),                                                          \
                             ldc};                                                                        \
    run_gemm<T>(other, layout == row_major ? transposed(x) : x, layout == row_major, report_after_layout, \
                forward);                                                                                 \
  }
TILEWRIGHT_EXPORT(cblas, sdcz, gemm, TILEWRIGHT_CBLAS_GEMM)

}  // namespace tilewright::blas

extern "C" TILEWRIGHT_SHOWN const char* tilewright_blas_version() { return TILEWRIGHT_VERSION; }
