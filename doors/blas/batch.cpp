// Implements xGEMM_BATCH and xGEMM_BATCH_STRIDED of Fortran and CBLAS, in the order of arguments of oneMKL,
// OpenBLAS and BLIS.
#include "blas/batch.hpp"

#include <cstring>

#include "blas/report.hpp"
#include "blas/tilewright_blas.hpp"

namespace tilewright::blas {

int Positions::named(const std::string& argument, bool by_rows) const {
  const auto side = [&](int of_a, int of_b, bool is_a) { return is_a != by_rows ? of_a : of_b; };
  if (argument == "a" || argument == "b") return side(of_gemm[7], of_gemm[9], argument == "a");
  if (argument == "stride_a" || argument == "stride_b")
    return side(stride_a, stride_b, argument == "stride_a");
  if (argument == "c") return of_gemm[12];
  return argument == "stride_c" ? stride_c : 0;
}

namespace {

// Positions in the Fortran routines; those in the CBLAS functions are one higher.
constexpr Positions group_positions{{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13}, 0, 0, 0};
constexpr Positions strided_positions{{0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 13, 14, 15}, 9, 12, 16};
constexpr int group_count_position = 14, group_size_position = 15, batch_size_position = 17;

// The data that the four entry points share.
struct BatchName {
  const Counterpart& other;
  const Found& found;
  bool by_rows;
  void (*report)(const Counterpart&, int);  // takes the position in the Fortran routine
};

void report_one_further(const Counterpart& routine, int position) { report_cblas(routine, position + 1); }

// Runs compute(context), which throws Error. A bad argument is reported here only if no other library has the
// routine to report it.
template <class Compute, class Describe>
void run_batch(const BatchName& name, int fault, bool small, const Positions& positions, Compute&& compute,
               Describe&& describe, Forward forward, Forward plainly) {
  if (fault != 0) return name.found.routine != nullptr ? forward() : name.report(name.other, fault);
  const bool here = serves_here(name.found, [&] { return small && for_small() != nullptr; });
  serve_or_forward(
      name.other, name.found, here,
      [&] {
        const Inside scope;
        Context* const own = context();
        if (own == nullptr) return false;
        try {
          compute(*own);
          return true;
        } catch (const Error& error) {
          const int bad = name.found.routine != nullptr ? 0 : positions.named(error.argument(), name.by_rows);
          if (bad != 0) name.report(name.other, bad);
          return bad != 0;
        } catch (...) {
          return false;
        }
      },
      describe, forward, plainly);
}

// --- groups ---

std::int8_t op_of(char letter) { return op_of_letter(letter); }
std::int8_t op_of(int number) { return op_of_number(number); }

// OpName is char (letters) or int (numbers).
template <class T, class Int, class OpName>
struct GroupArguments {
  const OpName *op_a, *op_b;
  const Int *m, *n, *k;
  const T* alpha;
  const T* const* a;
  const Int* lda;
  const T* const* b;
  const Int* ldb;
  const T* beta;
  T* const* c;
  const Int* ldc;
  Int group_count;
  const Int* group_size;
};

// Returns how many groups from g on equal group g, sizes included: a program that has a group for each
// problem fills these arrays with one value each, and they are compared 64 at a time.
template <class T, class Int, class OpName>
Int alike_from(const GroupArguments<T, Int, OpName>& x, Int g) {
  const auto go_on = [&](Int at, Int count) {
    const auto same = [&](const auto* values) {
      return std::memcmp(values + at - 1, values + at, std::size_t(count) * sizeof(*values)) == 0;
    };
    return same(x.m) && same(x.n) && same(x.k) && same(x.group_size) && same(x.op_a) && same(x.op_b) &&
           same(x.lda) && same(x.ldb) && same(x.ldc) && same(x.alpha) && same(x.beta);
  };
  constexpr Int block = 64;
  Int end = g + 1;
  while (x.group_count - end >= block && go_on(end, 1) && go_on(end, block)) end += block;
  while (end < x.group_count && go_on(end, 1)) ++end;
  return end - g;
}

// Calls visit(shape, a, b, c, count) for each run of equal groups, sides exchanged by rows, until it returns
// a fault.
template <class T, class Int, class OpName, class Visit>
int for_each_run(const BatchName& name, const GroupArguments<T, Int, OpName>& x, Visit&& visit) {
  int fault = x.group_count < 0 ? group_count_position : 0;
  std::int64_t first = 0;
  for (Int g = 0, alike; g < x.group_count && fault == 0; g += alike) {
    alike = alike_from(x, g);
    GemmArguments<T> one{op_of(x.op_a[g]), op_of(x.op_b[g]), x.m[g],   x.n[g],  x.k[g],
                         x.alpha[g],       nullptr,          x.lda[g], nullptr, x.ldb[g],
                         x.beta[g],        nullptr,          x.ldc[g]};
    if (name.by_rows) one = transposed(one);
    fault =
        x.group_size[g] < 0 ? group_size_position : group_positions.of_gemm[gemm_fault(one, name.by_rows)];
    if (fault != 0) break;
    const std::int64_t count = std::int64_t(x.group_size[g]) * alike;
    if (name.by_rows)
      visit(one, x.b + first, x.a + first, x.c + first, count);
    else
      visit(one, x.a + first, x.b + first, x.c + first, count);
    first += count;
  }
  return fault;
}

template <class T, class Int, class OpName>
void run_group_batch(const BatchName& name, const GroupArguments<T, Int, OpName>& x, Forward forward) {
  if (name.found.route == Route::pass) return forward();
  const auto plainly = [&] {
    (void)for_each_run<T>(name, x, [](const auto&... run) { multiply_plainly<T>(run...); });
  };
  std::optional<GroupList<T>> groups;
  int fault = 0;
  const bool listed = succeeds([&] {
    groups.emplace();
    fault = for_each_run<T>(name, x, [&](const auto&... run) { groups->add(run...); });
    return true;
  });
  // Memory ran out.
  if (!listed) return name.found.routine != nullptr ? forward() : plainly();
  run_batch(
      name, fault, groups->are_small(), group_positions,
      [&](Context& context) { gemm_grouped<T>(context, groups->all(), batch_options(name.found)); },
      [&](Observed& observed) { groups->describe(observed); }, forward, plainly);
}

template <class T, class Int>
using FortranGroups = void(const char*, const char*, const Int*, const Int*, const Int*, const T*,
                           const T* const*, const Int*, const T* const*, const Int*, const T*, T* const*,
                           const Int*, const Int*, const Int*, std::size_t, std::size_t);
template <class T, class Int>
using CblasGroups = void(int, const int*, const int*, const Int*, const Int*, const Int*,
                         const CblasMatrix<T>*, const CblasMatrix<T>**, const Int*, const CblasMatrix<T>**,
                         const Int*, const CblasMatrix<T>*, CblasMatrix<T>**, const Int*, Int, const Int*);

// --- strided ---

template <class T>
struct Strides {
  std::int64_t a, b, c, count;
};

template <class T>
void compute_strided(Context& context, const GemmArguments<T>& x, const Strides<T>& s,
                     const GemmOptions& options) {
  const bool as_is_a = x.op_a == 0, as_is_b = x.op_b == 0;
  gemm_batched<T>(context, Op(x.op_a), Op(x.op_b), x.alpha,
                  StridedBatch<const T>{{x.a, as_is_a ? x.m : x.k, as_is_a ? x.k : x.m, x.lda}, s.a, s.count},
                  StridedBatch<const T>{{x.b, as_is_b ? x.k : x.n, as_is_b ? x.n : x.k, x.ldb}, s.b, s.count},
                  x.beta, StridedBatch<T>{{x.c, x.m, x.n, x.ldc}, s.c, s.count}, options);
}

template <class T>
void run_strided_batch(const BatchName& name, GemmArguments<T> x, Strides<T> s, Forward forward) {
  if (name.found.route == Route::pass) return forward();
  if (name.by_rows) {
    x = transposed(x);
    std::swap(s.a, s.b);
  }
  const int fault =
      s.count < 0 ? batch_size_position : strided_positions.of_gemm[gemm_fault(x, name.by_rows)];
  run_batch(
      name, fault, x.m <= 64 && x.n <= 64 && x.k <= 64, strided_positions,
      [&](Context& context) { compute_strided(context, x, s, batch_options(name.found)); },
      [&](Observed& observed) {
        GemmProblem p = problem_of(x);
        p.layout = Layout::strided;
        p.stride_a = s.a, p.stride_b = s.b, p.stride_c = s.c, p.batch_count = s.count;
        observed.computes(p);
      },
      forward,
      [&] {
        GemmArguments<T> one = x;
        for (std::int64_t i = 0; i < s.count; ++i, one.a += s.a, one.b += s.b, one.c += s.c)
          multiply_plainly(one);
      });
}

template <class T, class Int>
using FortranStrided = void(const char*, const char*, const Int*, const Int*, const Int*, const T*, const T*,
                            const Int*, const Int*, const T*, const Int*, const Int*, const T*, T*,
                            const Int*, const Int*, const Int*, std::size_t, std::size_t);
template <class T, class Int>
using CblasStrided = void(int, int, int, Int, Int, Int, CblasValue<T>, const CblasMatrix<T>*, Int, Int,
                          const CblasMatrix<T>*, Int, Int, CblasValue<T>, CblasMatrix<T>*, Int, Int, Int);

}  // namespace

#define TILEWRIGHT_FORTRAN_GROUPS(name, T, Int, spellings, plain, wide)                                  \
  extern "C" TILEWRIGHT_SHOWN void name(const char* op_a, const char* op_b, const Int* m, const Int* n,  \
                                        const Int* k, const T* alpha, const T* const* a, const Int* lda, \
                                        const T* const* b, const Int* ldb, const T* beta, T* const* c,   \
                                        const Int* ldc, const Int* group_count, const Int* group_size) { \
    TILEWRIGHT_COUNTERPART(name, spellings, plain, wide);                                                \
    const Found& found = other.found();                                                                  \
    run_group_batch<T, Int, char>(                                                                       \
        {other, found, false, report_fortran},                                                           \
        {op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, *group_count, group_size}, [&] {      \
          reinterpret_cast<FortranGroups<T, Int>*>(found.routine)(                                       \
              op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, group_count, group_size, 1, 1);  \
        });                                                                                              \
  }
TILEWRIGHT_EXPORT(fortran, sdcz, gemm_batch, TILEWRIGHT_FORTRAN_GROUPS)

#define TILEWRIGHT_CBLAS_GROUPS(name, T, Int, spellings, plain, wide)                                       \
  extern "C" TILEWRIGHT_SHOWN void name(int layout, const int* op_a, const int* op_b, const Int* m,         \
                                        const Int* n, const Int* k, const CblasMatrix<T>* alpha,            \
                                        const CblasMatrix<T>** a, const Int* lda, const CblasMatrix<T>** b, \
                                        const Int* ldb, const CblasMatrix<T>* beta, CblasMatrix<T>** c,     \
                                        const Int* ldc, Int group_count, const Int* group_size) {           \
    TILEWRIGHT_COUNTERPART(name, spellings, plain, wide);                                                   \
    const Found& found = other.found();                                                                     \
    const auto forward = [&] {                                                                              \
      reinterpret_cast<CblasGroups<T, Int>*>(found.routine)(layout, op_a, op_b, m, n, k, alpha, a, lda, b,  \
                                                            ldb, beta, c, ldc, group_count, group_size);    \
    };                                                                                                      \
    if (layout != row_major && layout != col_major)                                                         \
      return found.routine != nullptr ? forward() : report_cblas(other, 1);                                 \
    run_group_batch<T, Int, int>(                                                                           \
        {other, found, layout == row_major, report_one_further},                                            \
        {op_a, op_b, m, n, k, reinterpret_cast<const T*>(alpha), reinterpret_cast<const T* const*>(a), lda, \
         reinterpret_cast<const T* const*>(b), ldb, reinterpret_cast<const T*>(beta),                       \
         reinterpret_cast<T* const*>(c), ldc, group_count, group_size},                                     \
        forward);                                                                                           \
  }
TILEWRIGHT_EXPORT(cblas, sdcz, gemm_batch, TILEWRIGHT_CBLAS_GROUPS)

#define TILEWRIGHT_FORTRAN_STRIDED(name, T, Int, spellings, plain, wide)                                     \
  extern "C" TILEWRIGHT_SHOWN void name(                                                                     \
      const char* op_a, const char* op_b, const Int* m, const Int* n, const Int* k, const T* alpha,          \
      const T* a, const Int* lda, const Int* stride_a, const T* b, const Int* ldb, const Int* stride_b,      \
      const T* beta, T* c, const Int* ldc, const Int* stride_c, const Int* batch_size) {                     \
    TILEWRIGHT_COUNTERPART(name, spellings, plain, wide);                                                    \
    const Found& found = other.found();                                                                      \
    run_strided_batch<T>(                                                                                    \
        {other, found, false, report_fortran},                                                               \
        {op_of_letter(*op_a), op_of_letter(*op_b), *m, *n, *k, *alpha, a, *lda, b, *ldb, *beta, c, *ldc},    \
        {*stride_a, *stride_b, *stride_c, *batch_size}, [&] {                                                \
          reinterpret_cast<FortranStrided<T, Int>*>(found.routine)(op_a, op_b, m, n, k, alpha, a, lda,       \
                                                                   stride_a, b, ldb, stride_b, beta, c, ldc, \
                                                                   stride_c, batch_size, 1, 1);              \
        });                                                                                                  \
  }
TILEWRIGHT_EXPORT(fortran, sdcz, gemm_batch_strided, TILEWRIGHT_FORTRAN_STRIDED)

#define TILEWRIGHT_CBLAS_STRIDED(name, T, Int, spellings, plain, wide)                                       \
  extern "C" TILEWRIGHT_SHOWN void name(int layout, int op_a, int op_b, Int m, Int n, Int k,                 \
                                        CblasValue<T> alpha, const CblasMatrix<T>* a, Int lda, Int stride_a, \
                                        const CblasMatrix<T>* b, Int ldb, Int stride_b, CblasValue<T> beta,  \
                                        CblasMatrix<T>* c, Int ldc, Int stride_c, Int batch_size) {          \
    TILEWRIGHT_COUNTERPART(name, spellings, plain, wide);                                                    \
    const Found& found = other.found();                                                                      \
    const auto forward = [&] {                                                                               \
      reinterpret_cast<CblasStrided<T, Int>*>(found.routine)(layout, op_a, op_b, m, n, k, alpha, a, lda,     \
                                                             stride_a, b, ldb, stride_b, beta, c, ldc,       \
                                                             stride_c, batch_size);                          \
    };                                                                                                       \
    if (layout != row_major && layout != col_major)                                                          \
      return found.routine != nullptr ? forward() : report_cblas(other, 1);                                  \
    run_strided_batch<T>({other, found, layout == row_major, report_one_further},                            \
                         {op_of_number(op_a), op_of_number(op_b), m, n, k, CblasScalar<T>::value(alpha),     \
                          static_cast<const T*>(a), lda, static_cast<const T*>(b), ldb,                      \
                          CblasScalar<T>::value(beta), static_cast<T*>(c), ldc},                             \
                         {stride_a, stride_b, stride_c, batch_size}, forward);                               \
  }
TILEWRIGHT_EXPORT(cblas, sdcz, gemm_batch_strided, TILEWRIGHT_CBLAS_STRIDED)

}  // namespace tilewright::blas
