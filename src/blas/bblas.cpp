// The names of the Batched BLAS standard (Dongarra 2017; NLAFET/BBLAS), with its info codes.
#include "blas/batch.hpp"
#include "blas/tilewright_blas.hpp"

namespace tilewright::blas {
namespace {

// info[0] on entry.
enum class Report : int { all = 0, group = 1, any = 2, none = 3 };
constexpr int group_count_code = 1, group_sizes_code = 2, layout_code = 3, info_code = 17;

// By the numbers of xGEMM: positions in blas_?gemm_batch.
constexpr std::array<int, 14> codes{0, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
// The same of C^T = B^T A^T.
constexpr std::array<int, 14> codes_by_rows{0, 5, 4, 7, 6, 8, 9, 12, 13, 10, 11, 14, 15, 16};

struct Info {
  Report report;
  int* codes;
  std::int64_t group_count, problem_count;

  std::int64_t count() const {
    return report == Report::all ? problem_count : report == Report::group ? group_count : 1;
  }
  void fill(int code) const {
    if (report != Report::none) std::fill_n(codes, std::max<std::int64_t>(1, count()), code);
  }
};

// The library's own modes; where nothing is reported, bad problems are skipped all the same.
template <class T>
void compute_groups(const Counterpart& routine, const Info& info, bool by_rows, const GroupList<T>& groups) {
  const Inside scope;
  Context* const own = context();
  int nobody_asks = 0;
  const bool told = info.report != Report::none;
  const BatchInfo wanted{told ? InfoMode(info.report) : InfoMode::any, told ? info.codes : &nobody_asks};
  try {
    if (own == nullptr) give_up(routine);
    gemm_grouped<T>(*own, groups.all(), usual_options(), wanted);
  } catch (const std::exception&) {
    give_up(routine);
  }
  const auto& own_codes = by_rows ? codes_by_rows : codes;
  for (std::int64_t i = 0; told && i < info.count(); ++i)
    if (info.codes[i] < 0 && info.codes[i] > -int(own_codes.size()))
      info.codes[i] = own_codes[std::size_t(-info.codes[i])];
  if (!told) info.codes[0] = 0;
}

// Served here whatever the mode: what else has these names is no BLAS of a program, but a reference for
// tests.
template <class T>
void run_standard(const Counterpart& routine, int layout, std::int64_t group_count, const Info& info,
                  const GroupList<T>& groups) {
  const Found none{};
  if (group_count < 0) return void(info.codes[0] = group_count_code);
  if (layout != row_major && layout != col_major) return info.fill(layout_code);
  serve_or_forward(
      routine, none, true,
      [&] {
        compute_groups(routine, info, layout == row_major, groups);
        return true;
      },
      [&](Observed& observed) { groups.describe(observed); }, [] {});
}

// An operation that is none stays one that the library refuses.
Op checked_op(int number) { return number >= 111 && number <= 113 ? Op(number - 111) : Op(3); }

template <class T>
void add_group(GroupList<T>& groups, bool by_rows, bool apart, int op_a, int op_b, std::int64_t m,
               std::int64_t n, std::int64_t k, T alpha, T const* const* a, std::int64_t lda,
               T const* const* b, std::int64_t ldb, T beta, T* const* c, std::int64_t ldc,
               std::int64_t count) {
  const GemmArguments<T> x{std::int8_t(checked_op(op_a)),
                           std::int8_t(checked_op(op_b)),
                           m,
                           n,
                           k,
                           alpha,
                           nullptr,
                           lda,
                           nullptr,
                           ldb,
                           beta,
                           nullptr,
                           ldc};
  if (by_rows)
    groups.add(transposed(x), b, a, c, count, apart);
  else
    groups.add(x, a, b, c, count, apart);
}

template <class T>
void run_standard_groups(const Counterpart& routine, int group_count, const int* sizes, int layout,
                         const int* op_a, const int* op_b, const int* m, const int* n, const int* k,
                         const T* alpha, T const* const* a, const int* lda, T const* const* b, const int* ldb,
                         const T* beta, T* const* c, const int* ldc, int* info) {
  // How many codes there is room for is not known then.
  if (*info < int(Report::all) || *info > int(Report::none)) return void(*info = info_code);
  GroupList<T> groups;
  Info wanted{Report(*info), info, group_count, 0};
  for (int g = 0; g < group_count; ++g) {
    if (sizes[g] < 0) return wanted.fill(group_sizes_code);
    const std::int64_t first = wanted.problem_count;
    add_group<T>(groups, layout == row_major, wanted.report == Report::group, op_a[g], op_b[g], m[g], n[g],
                 k[g], alpha[g], a + first, lda[g], b + first, ldb[g], beta[g], c + first, ldc[g], sizes[g]);
    wanted.problem_count += sizes[g];
  }
  run_standard(routine, layout, group_count, wanted, groups);
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
