// Implements xTRSM of the Batched BLAS standard (Dongarra 2017; NLAFET/BBLAS), with its info codes.
#include <fmt/format.h>

#include "blas/plain.hpp"
#include "blas/small_factor.hpp"
#include "blas/standard.hpp"
#include "blas/tilewright_blas.hpp"

namespace tilewright::blas {
namespace {

// Positions in blas_?trsm_batch.
enum TrsmPosition : int {
  side_at = 4,
  uplo_at,
  op_at,
  diag_at,
  m_at,
  n_at,
  a_at = 11,
  lda_at,
  b_at,
  ldb_at,
  trsm_info_at
};

// The problems of a group as the caller describes them.
template <class T>
struct TrsmGroup {
  int side, uplo, op, diag;
  int m, n;
  T alpha;
  int lda, ldb;
};

// Returns the position of the first bad argument that the group has, or 0.
template <class T>
int trsm_fault(const TrsmGroup<T>& x, bool by_rows) {
  if (x.side != left && x.side != right) return side_at;
  if (x.uplo != upper && x.uplo != lower) return uplo_at;
  if (op_of_number(x.op) == no_op) return op_at;
  if (x.diag != non_unit && x.diag != unit) return diag_at;
  if (x.m < 0) return m_at;
  if (x.n < 0) return n_at;
  if (is_short(x.lda, x.side == left ? x.m : x.n)) return lda_at;
  return is_short(x.ldb, by_rows ? x.n : x.m) ? ldb_at : 0;
}

// The same by columns: X op(A) = B by rows is op(A)^T X^T = B^T, whose A^T has the other triangle.
template <class T>
TriangularSystem<T> trsm_by_columns(const TrsmGroup<T>& x, bool by_rows) {
  const bool is_left = (x.side == left) != by_rows, is_upper = (x.uplo == upper) != by_rows;
  return {is_left ? Side::left : Side::right,
          is_upper ? Uplo::upper : Uplo::lower,
          Op(op_of_number(x.op)),
          x.diag == unit ? Diag::unit : Diag::non_unit,
          by_rows ? x.n : x.m,
          by_rows ? x.m : x.n,
          x.alpha,
          x.lda,
          x.ldb};
}

// Solves the problems of a run, which have all their addresses.
template <class T>
void solve_run(Context* own, const TriangularSystem<T>& x, const T* const* a, T* const* b,
               std::int64_t count) noexcept {
  const auto plainly = [&](std::int64_t p) {
    solve_triangle_plainly(x, a[p], b[p]);
    return 0;
  };
  std::vector<int> infos;
  if (x.alpha == T(0) || !succeeds([&] { return infos.resize(std::size_t(count)), true; })) {
    for (std::int64_t p = 0; p < count; ++p) (void)plainly(p);
    return;
  }
  detail::FactorCall<T> call{.routine = tilewright::Routine::trsm};
  call.a = PointerBatch<const T>{a, x.order(), x.order(), x.lda, count};
  call.b = PointerBatch<T>{b, x.m, x.n, x.ldb, count};
  call.side = x.side, call.uplo = x.uplo, call.op = x.op, call.diag = x.diag, call.alpha = x.alpha;
  if (!compute_each<T>(own, call, FactorOptions{}, infos, plainly).empty())
    for (std::int64_t p = 0; p < count; ++p) (void)plainly(p);
}

// Solves the problems of a group that have addresses, and tells of the others.
template <class T>
void solve_group(Context* own, const StandardInfo& info, std::int64_t group, std::int64_t first,
                 const TriangularSystem<T>& x, const T* const* a, T* const* b, std::int64_t count) {
  if (x.m == 0 || x.n == 0) return;
  const auto fault_of = [&](std::int64_t p) { return a[p] == nullptr ? a_at : b[p] == nullptr ? b_at : 0; };
  for (std::int64_t p = 0, end; p < count; p = end) {
    end = p + 1;
    if (const int code = fault_of(p); code != 0) {
      info.put(group, first + p, code);
      continue;
    }
    while (end < count && fault_of(end) == 0) ++end;
    solve_run(own, x, a + p, b + p, end - p);
  }
}

// Ignores the mode and always serves the call: other libraries with these names are references for tests, not
// a program's BLAS.
template <class T>
void run_standard_trsm(const Counterpart& routine, int group_count, const int* sizes, int layout,
                       const int* side, const int* uplo, const int* op, const int* diag, const int* m,
                       const int* n, const T* alpha, T const* const* a, const int* lda, T* const* b,
                       const int* ldb, int* info) {
  const auto wanted = checked_groups(group_count, sizes, layout, info, trsm_info_at);
  if (!wanted) return;
  const bool by_rows = layout == row_major;
  const auto group_at = [&](int g) {
    return TrsmGroup<T>{side[g], uplo[g], op[g], diag[g], m[g], n[g], alpha[g], lda[g], ldb[g]};
  };
  const auto solve_all = [&](Context* own) {
    wanted->begin();
    std::int64_t first = 0;
    for (int g = 0; g < group_count; first += sizes[g++]) {
      const TrsmGroup<T> x = group_at(g);
      if (const int code = trsm_fault(x, by_rows); code == 0)
        solve_group(own, *wanted, g, first, trsm_by_columns(x, by_rows), a + first, b + first, sizes[g]);
      else
        for (int p = 0; p < sizes[g]; ++p) wanted->put(g, first + p, code);
    }
  };
  const Found none{};
  serve_or_forward(
      routine, none, true, [&] { return solve_all(context()), true; },
      [&](Observed& observed) {
        double flops = 0;
        for (int g = 0; g < group_count; ++g)
          flops += (is_complex(dtype_of<T>) ? 4.0 : 1.0) * double(sizes[g]) * double(m[g]) * double(n[g]) *
                   double(side[g] == left ? m[g] : n[g]);
        observed.computes(fmt::format("triangular systems batch={}", wanted->problem_count), flops);
      },
      [] {}, [&] { solve_all(nullptr); });
}

}  // namespace

#define TILEWRIGHT_STANDARD_TRSM(name, T, Int, spellings, plain, wide)                                       \
  extern "C" TILEWRIGHT_SHOWN void name(int group_count, const Int* group_sizes, int layout,                 \
                                        const int* side, const int* uplo, const int* op, const int* diag,    \
                                        const Int* m, const Int* n, const T* alpha, T const* const* a,       \
                                        const Int* lda, T** b, const Int* ldb, int* info) {                  \
    TILEWRIGHT_COUNTERPART(name, spellings, plain, wide);                                                    \
    run_standard_trsm<T>(other, group_count, group_sizes, layout, side, uplo, op, diag, m, n, alpha, a, lda, \
                         b, ldb, info);                                                                      \
  }
TILEWRIGHT_EXPORT(bblas, sdcz, trsm_batch, TILEWRIGHT_STANDARD_TRSM)

#define TILEWRIGHT_STANDARD_TRSM_FIXED(name, T, Int, spellings, plain, wide)                               \
  extern "C" TILEWRIGHT_SHOWN void name(int group_size, int layout, int side, int uplo, int op, int diag,  \
                                        Int m, Int n, T alpha, T const* const* a, Int lda, T** b, Int ldb, \
                                        int* info) {                                                       \
    TILEWRIGHT_COUNTERPART(name, spellings, plain, wide);                                                  \
    run_standard_trsm<T>(other, 1, &group_size, layout, &side, &uplo, &op, &diag, &m, &n, &alpha, a, &lda, \
                         b, &ldb, info);                                                                   \
  }
// Complex scalars come by value, as C passes them.
TILEWRIGHT_EXPORT(bblas, sdcz, trsm_batchf, TILEWRIGHT_STANDARD_TRSM_FIXED)

}  // namespace tilewright::blas
