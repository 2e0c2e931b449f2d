// Halves the triangle, and defines the names of its routines.
#include "blas/triangle.hpp"

#include <fmt/format.h>

#include <vector>

#include "blas/plain.hpp"
#include "blas/report.hpp"
#include "blas/tilewright_blas.hpp"

namespace tilewright::blas {
namespace {

// Triangles with at most this many rows and columns are computed whole, by a small product.
constexpr std::int64_t whole_triangle = small_limit;

template <class T>
T real_part(const T& value) {
  if constexpr (is_complex(dtype_of<T>))
    return value.real();
  else
    return value;
}

// Adds the triangle of `product`, which is alpha op(A) op(B), to C or assigns it.
template <class T>
void add_triangle(const TriangleArguments<T>& x, const T* product) {
  for (std::int64_t j = 0; j < x.n; ++j) {
    const std::int64_t first = x.is_upper ? 0 : j, end = x.is_upper ? j + 1 : x.n;
    T* const column = x.c + j * x.ldc;
    for (std::int64_t i = first; i < end; ++i) {
      const T old = x.is_hermitian && i == j ? real_part(column[i]) : column[i];
      column[i] = product[j * x.n + i] + (x.beta == T(0) ? T(0) : x.beta == T(1) ? old : x.beta * old);
    }
    if (x.is_hermitian) column[j] = real_part(column[j]);
  }
}

// Computes one call. Writes cannot be undone: if a step fails after something was written, plain loops
// compute it.
template <class T>
class TriangleCall {
 public:
  TriangleCall(Context& context, const TriangleLeaf<T>& leaf) : context_(context), leaf_(leaf) {}

  // Returns false if nothing was written.
  bool run(const TriangleArguments<T>& x) {
    const std::int64_t half = x.n / 2;
    if (x.n <= whole_triangle || (leaf_ && !is_for_gpus(x.square(half)))) return run_whole(x);
    return product(x.square(half)) && run(x.part(0, half)) && run(x.part(half, x.n - half));
  }

 private:
  // Asks only the models: the whole call was found large enough for GPUs, and is_inside() is true by now.
  static bool is_for_gpus(const GemmArguments<T>& x) {
    return flops_of(x) >= least_gpu_flops && gpus_win(problem_of(x));
  }
  bool product(const GemmArguments<T>& x) { return is_done(x, multiply(x)); }
  bool run_whole(const TriangleArguments<T>& x) {
    if (leaf_) {
      leaf_(x);
      return is_done(x, true);
    }
    return is_done(x, succeeds([&] {
                     std::vector<T> product(std::size_t(x.n * x.n));
                     const GemmArguments<T> all{x.op_a, x.op_b, x.n, x.n,   x.k,  x.alpha,
                                                x.a,    x.lda,  x.b, x.ldb, T(0), product.data(),
                                                x.n};
                     if (!multiply(all)) return false;
                     add_triangle(x, product.data());
                     return true;
                   }));
  }
  bool multiply(const GemmArguments<T>& x) {
    return succeeds(
        [&] { return serve(context_, x, is_small_win(x) ? default_options() : large_options()); });
  }
  // A part that failed is not written: the whole call can be forwarded as long as no part was written.
  template <class Part>
  bool is_done(const Part& part, bool was_served) {
    if (!was_served && !wrote_) return false;
    if (!was_served) multiply_plainly(part);
    return wrote_ = true;
  }

  Context& context_;
  const TriangleLeaf<T>& leaf_;
  bool wrote_ = false;
};

template <class T>
bool changes_nothing(const TriangleArguments<T>& x) {
  return x.n == 0 || ((x.alpha == T(0) || x.k == 0) && x.beta == T(1));
}

// The data of one entry point: its letters, and how it reports bad arguments.
struct TriangleName {
  const Counterpart& other;
  int fault;  // position of the bad argument in the routine; 0: none
  void (*report)(const Counterpart&, int);
  const char* what;
};

// In auto mode the program's BLAS computes triangles for which no GPU helps: it does half the work of a
// product.
template <class T>
void run_triangle(const TriangleName& name, const Found& found, const TriangleArguments<T>& x,
                  const TriangleLeaf<T>& leaf, Forward forward) {
  if (found.route == Route::pass) return forward();
  if (name.fault != 0) return found.routine != nullptr ? forward() : name.report(name.other, name.fault);
  const bool whole = found.routine == nullptr || succeeds([] { return settings().mode == Mode::all; });
  const bool here = serves_here(found, [&] { return gpus_win(x.square(x.n / 2)); });
  serve_or_forward(
      name.other, found, here,
      [&] {
        if (changes_nothing(x)) return true;
        const Inside scope;
        Context* const own = context();
        const TriangleLeaf<T> none;
        return own != nullptr && TriangleCall<T>(*own, whole ? none : leaf).run(x);
      },
      [&](Observed& observed) {
        observed.computes(fmt::format("{} n={} k={}", name.what, x.n, x.k), x.flops());
      },
      forward, [&] { multiply_plainly(x); });
}

bool is_triangle(char letter) { return (letter | 0x20) == 'u' || (letter | 0x20) == 'l'; }
bool is_short(std::int64_t ld, std::int64_t rows) { return ld < std::max<std::int64_t>(1, rows); }

// xSYRK and xHERK by columns, for CBLAS too. `op` is the operation of A; `other_op` gives the other factor of
// the product.
template <class T>
TriangleArguments<T> rank_k(bool is_upper, std::int8_t op, std::int64_t n, std::int64_t k, T alpha,
                            const T* a, std::int64_t lda, T beta, T* c, std::int64_t ldc, bool hermitian) {
  const auto other = std::int8_t(hermitian ? Op::conj_trans : Op::trans);
  const bool as_is = op == 0;
  return {is_upper,
          std::int8_t(as_is ? 0 : other),
          std::int8_t(as_is ? other : 0),
          n,
          k,
          alpha,
          a,
          lda,
          a,
          lda,
          beta,
          c,
          ldc,
          hermitian};
}

// True if the routine takes the operation: C A A' of complex xSYRK is plain, that of xHERK conjugated.
template <class T>
bool takes(std::int8_t op, bool hermitian) {
  if (op == 0) return true;
  if constexpr (is_complex(dtype_of<T>))
    return op == std::int8_t(hermitian ? Op::conj_trans : Op::trans);
  else
    return op > 0;
}

template <class T>
int rank_k_fault(bool known_triangle, std::int8_t op, std::int64_t n, std::int64_t k, std::int64_t lda,
                 std::int64_t ldc, bool hermitian, bool by_rows = false) {
  if (!known_triangle) return 1;
  if (!takes<T>(op, hermitian)) return 2;
  if (n < 0) return 3;
  if (k < 0) return 4;
  if (is_short(lda, (op == 0) != by_rows ? n : k)) return 7;
  return is_short(ldc, n) ? 10 : 0;
}

template <class T>
int triangle_fault(bool known_triangle, const TriangleArguments<T>& x, bool by_rows = false) {
  if (!known_triangle) return 1;
  // Numbers of xGEMMT's arguments by ShapeArgument; by rows, A is the caller's B.
  constexpr int by_columns[] = {0, 2, 3, 4, 4, 5, 8, 10, 13}, swapped[] = {0, 3, 2, 4, 4, 5, 10, 8, 13};
  const GemmArguments<T> whole{x.op_a, x.op_b, x.n,   x.n,    x.k, x.alpha, x.a,
                               x.lda,  x.b,    x.ldb, x.beta, x.c, x.ldc};
  return (by_rows ? swapped : by_columns)[int(first_bad_argument(whole, by_rows, 1))];
}

void report_behind_layout(const Counterpart& routine, int position) { report_cblas(routine, position + 1); }

// By rows, a triangle is the other one of the transpose, and A is its transpose.
std::int8_t turned(std::int8_t op, bool hermitian) {
  if (op == no_op) return op;
  return std::int8_t(op != 0 ? Op::none : hermitian ? Op::conj_trans : Op::trans);
}

template <class T, class Scalar, class Int>
using FortranRankK = void(const char*, const char*, const Int*, const Int*, const Scalar*, const T*,
                          const Int*, const Scalar*, T*, const Int*, std::size_t, std::size_t);
template <class T, class Scalar, class Int>
using CblasRankK = void(int, int, int, Int, Int, Scalar, const CblasMatrix<T>*, Int, Scalar, CblasMatrix<T>*,
                        Int);

template <class T, class Scalar, class Int>
void fortran_rank_k(Counterpart& other, const char* what, bool hermitian, const char* uplo, const char* op,
                    Int n, Int k, const Scalar& alpha, const T* a, Int lda, const Scalar& beta, T* c,
                    Int ldc) {
  const Found& found = other.found();
  const std::int8_t op_a = op_of_letter(*op);
  const auto call = [&](Int n_, const T* a_, T* c_) {
    reinterpret_cast<FortranRankK<T, Scalar, Int>*>(found.routine)(uplo, op, &n_, &k, &alpha, a_, &lda, &beta,
                                                                   c_, &ldc, 1, 1);
  };
  const TriangleName name{other, rank_k_fault<T>(is_triangle(*uplo), op_a, n, k, lda, ldc, hermitian),
                          report_fortran, what};
  run_triangle<T>(
      name, found, rank_k<T>((*uplo | 0x20) == 'u', op_a, n, k, T(alpha), a, lda, T(beta), c, ldc, hermitian),
      [&](const TriangleArguments<T>& part) { call(Int(part.n), part.op_a == 0 ? part.a : part.b, part.c); },
      [&] { call(n, a, c); });
}

template <class T, class Scalar, class Int, class Passed>
void cblas_rank_k(Counterpart& other, const char* what, bool hermitian, int layout, int uplo, int op, Int n,
                  Int k, const Scalar& alpha, Passed passed_alpha, const CblasMatrix<T>* a, Int lda,
                  const Scalar& beta, Passed passed_beta, CblasMatrix<T>* c, Int ldc) {
  const Found& found = other.found();
  const auto call = [&](Int n_, const CblasMatrix<T>* a_, CblasMatrix<T>* c_) {
    reinterpret_cast<CblasRankK<T, Passed, Int>*>(found.routine)(layout, uplo, op, n_, k, passed_alpha, a_,
                                                                 lda, passed_beta, c_, ldc);
  };
  if (layout != row_major && layout != col_major)
    return found.routine != nullptr ? call(n, a, c) : report_cblas(other, 1);
  const bool by_rows = layout == row_major;
  const std::int8_t named = op_of_number(op);
  const TriangleName name{
      other, rank_k_fault<T>(uplo == upper || uplo == lower, named, n, k, lda, ldc, hermitian, by_rows),
      report_behind_layout, what};
  run_triangle<T>(
      name, found,
      rank_k<T>((uplo == upper) != by_rows, by_rows ? turned(named, hermitian) : named, n, k, T(alpha),
                static_cast<const T*>(a), lda, T(beta), static_cast<T*>(c), ldc, hermitian),
      [&](const TriangleArguments<T>& part) { call(Int(part.n), part.op_a == 0 ? part.a : part.b, part.c); },
      [&] { call(n, a, c); });
}

template <class T, class Int>
using FortranGemmt = void(const char*, const char*, const char*, const Int*, const Int*, const T*, const T*,
                          const Int*, const T*, const Int*, const T*, T*, const Int*, std::size_t,
                          std::size_t, std::size_t);
template <class T, class Int>
using CblasGemmt = void(int, int, int, int, Int, Int, CblasValue<T>, const CblasMatrix<T>*, Int,
                        const CblasMatrix<T>*, Int, CblasValue<T>, CblasMatrix<T>*, Int);

template <class T, class Int>
void fortran_gemmt(Counterpart& other, const char* uplo, const char* op_a, const char* op_b, Int n, Int k,
                   const T& alpha, const T* a, Int lda, const T* b, Int ldb, const T& beta, T* c, Int ldc) {
  const Found& found = other.found();
  const auto call = [&](Int n_, const T* a_, const T* b_, T* c_) {
    reinterpret_cast<FortranGemmt<T, Int>*>(found.routine)(uplo, op_a, op_b, &n_, &k, &alpha, a_, &lda, b_,
                                                           &ldb, &beta, c_, &ldc, 1, 1, 1);
  };
  const TriangleArguments<T> x{(*uplo | 0x20) == 'u',
                               op_of_letter(*op_a),
                               op_of_letter(*op_b),
                               n,
                               k,
                               alpha,
                               a,
                               lda,
                               b,
                               ldb,
                               beta,
                               c,
                               ldc};
  const TriangleName name{other, triangle_fault(is_triangle(*uplo), x), report_fortran,
                          "triangle of product"};
  run_triangle<T>(
      name, found, x, [&](const TriangleArguments<T>& part) { call(Int(part.n), part.a, part.b, part.c); },
      [&] { call(n, a, b, c); });
}

template <class T, class Int>
void cblas_gemmt(Counterpart& other, int layout, int uplo, int op_a, int op_b, Int n, Int k,
                 CblasValue<T> alpha, const CblasMatrix<T>* a, Int lda, const CblasMatrix<T>* b, Int ldb,
                 CblasValue<T> beta, CblasMatrix<T>* c, Int ldc) {
  const Found& found = other.found();
  const auto call = [&](Int n_, const CblasMatrix<T>* a_, const CblasMatrix<T>* b_, CblasMatrix<T>* c_) {
    reinterpret_cast<CblasGemmt<T, Int>*>(found.routine)(layout, uplo, op_a, op_b, n_, k, alpha, a_, lda, b_,
                                                         ldb, beta, c_, ldc);
  };
  if (layout != row_major && layout != col_major)
    return found.routine != nullptr ? call(n, a, b, c) : report_cblas(other, 1);
  const bool by_rows = layout == row_major;
  TriangleArguments<T> x{uplo == upper,
                         op_of_number(op_a),
                         op_of_number(op_b),
                         n,
                         k,
                         CblasScalar<T>::value(alpha),
                         static_cast<const T*>(a),
                         lda,
                         static_cast<const T*>(b),
                         ldb,
                         CblasScalar<T>::value(beta),
                         static_cast<T*>(c),
                         ldc};
  if (by_rows)
    x = {!x.is_upper, x.op_b, x.op_a, x.n, x.k, x.alpha, x.b, x.ldb, x.a, x.lda, x.beta, x.c, x.ldc};
  const int fault = triangle_fault(uplo == upper || uplo == lower, x, by_rows);
  run_triangle<T>(
      {other, fault, report_behind_layout, "triangle of product"}, found, x,
      [&](const TriangleArguments<T>& part) {
        call(Int(part.n), by_rows ? part.b : part.a, by_rows ? part.a : part.b, part.c);
      },
      [&] { call(n, a, b, c); });
}

}  // namespace

// `Scalar` is T for xSYRK and real for xHERK.
#define TILEWRIGHT_FORTRAN_RANK_K(name, T, Int, Scalar, hermitian, what, spellings, plain, wide)             \
  extern "C" TILEWRIGHT_SHOWN void name(const char* uplo, const char* op, const Int* n, const Int* k,        \
                                        const Scalar* alpha, const T* a, const Int* lda, const Scalar* beta, \
                                        T* c, const Int* ldc) {                                              \
    TILEWRIGHT_COUNTERPART(name, spellings, plain, wide);                                                    \
    fortran_rank_k<T, Scalar, Int>(other, what, hermitian, uplo, op, *n, *k, *alpha, a, *lda, *beta, c,      \
                                   *ldc);                                                                    \
  }
#define TILEWRIGHT_FORTRAN_SYRK(name, T, Int, ...) \
  TILEWRIGHT_FORTRAN_RANK_K(name, T, Int, T, false, "A A^T", __VA_ARGS__)
#define TILEWRIGHT_FORTRAN_HERK(name, T, Int, ...) \
  TILEWRIGHT_FORTRAN_RANK_K(name, T, Int, Real<T>, true, "A A^H", __VA_ARGS__)
TILEWRIGHT_EXPORT(fortran, sdcz, syrk, TILEWRIGHT_FORTRAN_SYRK)
TILEWRIGHT_EXPORT(fortran, cz, herk, TILEWRIGHT_FORTRAN_HERK)

#define TILEWRIGHT_CBLAS_SYRK(name, T, Int, spellings, plain, wide)                                      \
  extern "C" TILEWRIGHT_SHOWN void name(int layout, int uplo, int op, Int n, Int k, CblasValue<T> alpha, \
                                        const CblasMatrix<T>* a, Int lda, CblasValue<T> beta,            \
                                        CblasMatrix<T>* c, Int ldc) {                                    \
    TILEWRIGHT_COUNTERPART(name, spellings, plain, wide);                                                \
    cblas_rank_k<T, T, Int>(other, "A A^T", false, layout, uplo, op, n, k, CblasScalar<T>::value(alpha), \
                            alpha, a, lda, CblasScalar<T>::value(beta), beta, c, ldc);                   \
  }
TILEWRIGHT_EXPORT(cblas, sdcz, syrk, TILEWRIGHT_CBLAS_SYRK)

#define TILEWRIGHT_CBLAS_HERK(name, T, Int, spellings, plain, wide)                                         \
  extern "C" TILEWRIGHT_SHOWN void name(int layout, int uplo, int op, Int n, Int k, Real<T> alpha,          \
                                        const CblasMatrix<T>* a, Int lda, Real<T> beta, CblasMatrix<T>* c,  \
                                        Int ldc) {                                                          \
    TILEWRIGHT_COUNTERPART(name, spellings, plain, wide);                                                   \
    cblas_rank_k<T, Real<T>, Int>(other, "A A^H", true, layout, uplo, op, n, k, alpha, alpha, a, lda, beta, \
                                  beta, c, ldc);                                                            \
  }
TILEWRIGHT_EXPORT(cblas, cz, herk, TILEWRIGHT_CBLAS_HERK)

#define TILEWRIGHT_FORTRAN_GEMMT(name, T, Int, spellings, plain, wide)                                      \
  extern "C" TILEWRIGHT_SHOWN void name(const char* uplo, const char* op_a, const char* op_b, const Int* n, \
                                        const Int* k, const T* alpha, const T* a, const Int* lda,           \
                                        const T* b, const Int* ldb, const T* beta, T* c, const Int* ldc) {  \
    TILEWRIGHT_COUNTERPART(name, spellings, plain, wide);                                                   \
    fortran_gemmt<T, Int>(other, uplo, op_a, op_b, *n, *k, *alpha, a, *lda, b, *ldb, *beta, c, *ldc);       \
  }
TILEWRIGHT_EXPORT(fortran, sdcz, gemmt, TILEWRIGHT_FORTRAN_GEMMT)

#define TILEWRIGHT_CBLAS_GEMMT(name, T, Int, spellings, plain, wide)                                        \
  extern "C" TILEWRIGHT_SHOWN void name(                                                                    \
      int layout, int uplo, int op_a, int op_b, Int n, Int k, CblasValue<T> alpha, const CblasMatrix<T>* a, \
      Int lda, const CblasMatrix<T>* b, Int ldb, CblasValue<T> beta, CblasMatrix<T>* c, Int ldc) {          \
    TILEWRIGHT_COUNTERPART(name, spellings, plain, wide);                                                   \
    cblas_gemmt<T, Int>(other, layout, uplo, op_a, op_b, n, k, alpha, a, lda, b, ldb, beta, c, ldc);        \
  }
TILEWRIGHT_EXPORT(cblas, sdcz, gemmt, TILEWRIGHT_CBLAS_GEMMT)

}  // namespace tilewright::blas
