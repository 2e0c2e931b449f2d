// Implements the names of the Batched BLAS standard (Dongarra 2017; NLAFET/BBLAS), with its info codes.
#include "blas/batch.hpp"
#include "blas/standard.hpp"
#include "blas/tilewright_blas.hpp"

namespace tilewright::blas {
namespace {

constexpr int info_code = 17;

// Positions in blas_?gemm_batch, indexed by the argument numbers of xGEMM.
constexpr std::array<int, 14> codes{0, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
// The same positions for C^T = B^T A^T.
constexpr std::array<int, 14> codes_by_rows{0, 5, 4, 7, 6, 8, 9, 12, 13, 10, 11, 14, 15, 16};

// The standard's values are all, group, any and none in this order; the library's begin with none.
InfoMode mode_of(Report report) {
  return report == Report::all ? InfoMode::all : report == Report::group ? InfoMode::group : InfoMode::any;
}

// Uses the library's own modes; if nothing is reported, bad problems are skipped all the same. Returns false
// if nothing was computed.
template <class T>
bool compute_groups(const StandardInfo& info, bool by_rows, const GroupList<T>& groups) {
  const Inside scope;
  Context* const own = context();
  if (own == nullptr) return false;
  int nobody_asks = 0;
  const bool reports = info.report != Report::none;
  const BatchInfo wanted{mode_of(info.report), reports ? info.codes : &nobody_asks};
  gemm_grouped<T>(*own, groups.all(), default_options(), wanted);
  const auto& own_codes = by_rows ? codes_by_rows : codes;
  for (std::int64_t i = 0; reports && i < info.count(); ++i)
    if (info.codes[i] < 0 && info.codes[i] > -int(own_codes.size()))
      info.codes[i] = own_codes[std::size_t(-info.codes[i])];
  if (!reports) info.codes[0] = 0;
  return true;
}

// Computes the products and codes of one group when memory ran out; `first` is the group's first problem.
template <class T>
void compute_plainly(const StandardInfo& info, bool by_rows, std::int64_t group, std::int64_t first,
                     GemmArguments<T> x, const T* const* a, const T* const* b, T* const* c,
                     std::int64_t count) {
  const int code = (by_rows ? codes_by_rows : codes)[std::size_t(gemm_fault(x))];
  if (code == 0) multiply_plainly(x, a, b, c, count);
  if (info.report == Report::all) std::fill_n(info.codes + first, count, code);
  if (info.report == Report::group) info.codes[group] = code;
  if (info.report == Report::any && info.codes[0] == 0) info.codes[0] = code;
}

// Maps an invalid operation to a value that the library refuses.
std::int8_t checked_op(int number) { return number >= 111 && number <= 113 ? std::int8_t(number - 111) : 3; }

// Ignores the mode and always serves the call: other libraries with these names are references for tests, not
// a program's BLAS.
template <class T>
void run_standard_groups(const Counterpart& routine, int group_count, const int* sizes, int layout,
                         const int* op_a, const int* op_b, const int* m, const int* n, const int* k,
                         const T* alpha, T const* const* a, const int* lda, T const* const* b, const int* ldb,
                         const T* beta, T* const* c, const int* ldc, int* info) {
  const auto checked = checked_groups(group_count, sizes, layout, info, info_code);
  if (!checked) return;
  const StandardInfo& wanted = *checked;
  const bool by_rows = layout == row_major, apart = wanted.report == Report::group;
  const auto for_each_group = [&](auto&& visit) {
    std::int64_t first = 0;
    for (int g = 0; g < group_count; first += sizes[g++]) {
      const GemmArguments<T> x{checked_op(op_a[g]),
                               checked_op(op_b[g]),
                               m[g],
                               n[g],
                               k[g],
                               alpha[g],
                               nullptr,
                               lda[g],
                               nullptr,
                               ldb[g],
                               beta[g],
                               nullptr,
                               ldc[g]};
      if (by_rows)
        visit(g, first, transposed(x), b + first, a + first, c + first, sizes[g]);
      else
        visit(g, first, x, a + first, b + first, c + first, sizes[g]);
    }
  };
  std::optional<GroupList<T>> groups;
  const bool listed = succeeds([&] {
    groups.emplace();
    for_each_group([&](int, std::int64_t, const auto&... group) { groups->add(group..., apart); });
    return true;
  });
  const Found none{};
  serve_or_forward(
      routine, none, listed, [&] { return compute_groups(wanted, by_rows, *groups); },
      [&](Observed& observed) {
        if (listed) groups->describe(observed);
      },
      [] {},
      [&] {
        if (wanted.report == Report::any || wanted.report == Report::none) info[0] = 0;
        for_each_group([&](int g, std::int64_t first, const auto&... group) {
          compute_plainly<T>(wanted, by_rows, g, first, group...);
        });
      });
}

}  // namespace

#define TILEWRIGHT_STANDARD_GROUPS(name, T, Int, spellings, plain, wide)                                   \
  extern "C" TILEWRIGHT_SHOWN void name(                                                                   \
      int group_count, const Int* group_sizes, int layout, const int* op_a, const int* op_b, const Int* m, \
      const Int* n, const Int* k, const T* alpha, T const* const* a, const Int* lda, T const* const* b,    \
      const Int* ldb, const T* beta, T** c, const Int* ldc, int* info) {                                   \
    TILEWRIGHT_COUNTERPART(name, spellings, plain, wide);                                                  \
    run_standard_groups<T>(other, group_count, group_sizes, layout, op_a, op_b, m, n, k, alpha, a, lda, b, \
                           ldb, beta, c, ldc, info);                                                       \
  }
TILEWRIGHT_EXPORT(bblas, sdcz, gemm_batch, TILEWRIGHT_STANDARD_GROUPS)

#define TILEWRIGHT_STANDARD_FIXED(name, T, Int, spellings, plain, wide)                                      \
  extern "C" TILEWRIGHT_SHOWN void name(int group_size, int layout, int op_a, int op_b, Int m, Int n, Int k, \
                                        T alpha, T const* const* a, Int lda, T const* const* b, Int ldb,     \
                                        T beta, T** c, Int ldc, int* info) {                                 \
    TILEWRIGHT_COUNTERPART(name, spellings, plain, wide);                                                    \
    run_standard_groups<T>(other, 1, &group_size, layout, &op_a, &op_b, &m, &n, &k, &alpha, a, &lda, b,      \
                           &ldb, &beta, c, &ldc, info);                                                      \
  }
// Complex scalars come by value, as C passes them.
TILEWRIGHT_EXPORT(bblas, sdcz, gemm_batchf, TILEWRIGHT_STANDARD_FIXED)

}  // namespace tilewright::blas
