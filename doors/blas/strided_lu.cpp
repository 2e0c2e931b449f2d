// Implements oneMKL's xGETRF_BATCH_STRIDED and xGETRS_BATCH_STRIDED: LU of batches at equal distances.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "blas/plain.hpp"
#include "blas/report.hpp"
#include "blas/small_factor.hpp"
#include "blas/tilewright_blas.hpp"
#include "tilewright/lu.hpp"

namespace tilewright::blas {
namespace {

// Positions in the two routines.
constexpr int getrf_a = 3, getrf_lda = 4, getrf_stride_a = 5, getrf_stride_pivots = 7, getrf_count = 8;
constexpr int getrs_lda = 5, getrs_pivots = 7, getrs_ldb = 10, getrs_stride_b = 11, getrs_count = 12;

template <class Int>
struct Factors {
  Int m, n, lda, stride_a, stride_pivots, count;

  Int steps() const { return std::min(m, n); }
};

template <class T, class Int>
StridedBatch<T> matrices_at(T* data, Int rows, Int cols, Int ld, Int stride, Int count) {
  return {{data, rows, cols, ld}, stride, count};
}

// True if matrices that are written lie on one another.
template <class Int>
bool is_crowded(Int stride, Int ld, Int cols, Int count) {
  return count > 1 && std::int64_t(stride) < std::int64_t(ld) * cols;
}

template <class Int>
int strided_factor_fault(const Factors<Int>& x) {
  if (x.m < 0) return 1;
  if (x.n < 0) return 2;
  if (is_short(x.lda, x.m)) return getrf_lda;
  if (is_crowded(x.stride_a, x.lda, x.n, x.count)) return getrf_stride_a;
  if (x.count > 1 && x.stride_pivots < x.steps()) return getrf_stride_pivots;
  return x.count < 0 ? getrf_count : 0;
}

template <class Int>
int strided_solve_fault(std::int8_t op, Int nrhs, const Factors<Int>& x, Int ldb, Int stride_b) {
  if (op == no_op) return 1;
  if (x.n < 0) return 2;
  if (nrhs < 0) return 3;
  if (is_short(x.lda, x.n)) return getrs_lda;
  if (is_short(ldb, x.n)) return getrs_ldb;
  if (is_crowded(stride_b, ldb, nrhs, x.count)) return getrs_stride_b;
  return x.count < 0 ? getrs_count : 0;
}

// Runs the checked call of either routine. compute(context) returns the position of an argument that
// the library refuses before anything is written, or 0, or nothing if there is no memory to begin.
template <class Int>
struct StridedCall {
  const Counterpart& other;
  const Found& found;
  Int count, *info;
  double flops;
  const char* what;  // for the observer
  std::int64_t n, second;

  void tell(int position) const {
    std::fill_n(info, std::max<Int>(count, 0), Int(-position));
    report_fortran(other, position);
  }
};
template <class Int, class Compute>
void run_strided(const StridedCall<Int>& call, int fault, std::int64_t largest, Compute&& compute,
                 Forward forward, Forward plainly) {
  if (call.found.route == Route::pass) return forward();
  if (fault != 0) return call.found.routine != nullptr ? forward() : call.tell(fault);
  const bool here = serves_here(call.found, [&] { return largest <= small_limit && for_small() != nullptr; });
  serve_or_forward(
      call.other, call.found, here,
      [&] {
        const std::optional<int> bad = compute(context());
        if (bad && *bad != 0) call.tell(*bad);
        return bad.has_value();
      },
      [&](Observed& observed) {
        observed.computes(fmt::format("{} batch={} n={} by {}", call.what, call.count, call.n, call.second),
                          call.flops);
      },
      forward, plainly);
}

template <class T, class Int>
void factor_strided(const Counterpart& other, const Found& found, const Factors<Int>& x, T* a, Int* pivots,
                    Int* info, Forward forward) {
  const auto plainly = [&](std::int64_t p) {
    return factor_plainly(x.m, x.n, a + p * x.stride_a, x.lda, pivots + p * x.stride_pivots);
  };
  const auto compute = [&](Context* own) -> std::optional<int> {
    const auto steps = std::size_t(x.steps()), count = std::size_t(x.count);
    std::vector<int> infos(count), rows(count * steps);
    std::vector<bool> by_library(count, true);
    detail::FactorCall<T> call{.routine = tilewright::Routine::getrf};
    call.b = matrices_at(a, x.m, x.n, x.lda, x.stride_a, x.count);
    call.pivots_out = rows.data(), call.pivot_places = rows.size();
    if (x.steps() == 0) call.pivots_out = nullptr;
    const std::string refused =
        compute_each<T>(own, call, small_factor_options(found), infos, [&](std::int64_t p) {
          by_library[std::size_t(p)] = false;
          return int(plainly(p));
        });
    if (!refused.empty()) return getrf_a;
    for (std::size_t p = 0; p < count; ++p) {
      info[p] = Int(infos[p]);
      if (by_library[p])
        std::copy_n(rows.begin() + std::ptrdiff_t(p * steps), steps,
                    pivots + std::ptrdiff_t(p) * x.stride_pivots);
    }
    return 0;
  };
  const double flops_of_one = x.m > 0 && x.n > 0 ? flops(LuProblem{dtype_of<T>, x.m, x.n, x.lda}) : 0;
  run_strided<Int>({other, found, x.count, info, flops_of_one * double(x.count), "LU", x.m, x.n},
                   strided_factor_fault(x), std::max(x.m, x.n), compute, forward, [&] {
                     for (Int p = 0; p < x.count; ++p) info[p] = Int(plainly(p));
                   });
}

template <class T, class Int>
void solve_strided(const Counterpart& other, const Found& found, std::int8_t op, Int nrhs,
                   const Factors<Int>& x, const T* a, const Int* pivots, T* b, Int ldb, Int stride_b,
                   Int* info, Forward forward) {
  const auto plainly = [&](std::int64_t p) {
    solve_plainly(op, x.n, nrhs, a + p * x.stride_a, x.lda, pivots + p * x.stride_pivots, b + p * stride_b,
                  ldb);
    return 0;
  };
  const auto compute = [&](Context* own) -> std::optional<int> {
    std::vector<int> infos(std::size_t(x.count)), rows(std::size_t(x.count) * std::size_t(x.n));
    for (std::size_t p = 0; p < infos.size(); ++p)
      for (Int i = 0; i < x.n; ++i) {
        const Int row = pivots[std::ptrdiff_t(p) * x.stride_pivots + i];
        if (row < 1 || row > x.n) return getrs_pivots;
        rows[p * std::size_t(x.n) + std::size_t(i)] = int(row);
      }
    detail::FactorCall<T> call{.routine = tilewright::Routine::getrs};
    call.a = matrices_at(a, x.n, x.n, x.lda, x.stride_a, x.count);
    call.b = matrices_at(b, x.n, nrhs, ldb, stride_b, x.count);
    call.op = Op(op), call.pivots_in = rows.data(), call.pivot_places = rows.size();
    if (!compute_each<T>(own, call, small_factor_options(found), infos, plainly).empty()) return std::nullopt;
    std::ranges::copy(infos, info);
    return 0;
  };
  const double flops_of_one =
      (is_complex(dtype_of<T>) ? 8.0 : 2.0) * double(x.n) * double(x.n) * double(nrhs);
  run_strided<Int>({other, found, x.count, info, flops_of_one * double(x.count), "LU solve", x.n, nrhs},
                   strided_solve_fault(op, nrhs, x, ldb, stride_b), std::max(x.n, nrhs), compute, forward,
                   [&] {
                     for (Int p = 0; p < x.count; ++p) info[p] = Int(plainly(p));
                   });
}

template <class T, class Int>
using StridedGetrf = void(const Int*, const Int*, T*, const Int*, const Int*, Int*, const Int*, const Int*,
                          Int*);
template <class T, class Int>
using StridedGetrs = void(const char*, const Int*, const Int*, const T*, const Int*, const Int*, const Int*,
                          const Int*, T*, const Int*, const Int*, const Int*, Int*, std::size_t);

}  // namespace

#define TILEWRIGHT_STRIDED_GETRF(name, T, Int, spellings, plain, wide)                                       \
  extern "C" TILEWRIGHT_SHOWN void name(const Int* m, const Int* n, T* a, const Int* lda,                    \
                                        const Int* stride_a, Int* pivots, const Int* stride_pivots,          \
                                        const Int* count, Int* info) {                                       \
    TILEWRIGHT_COUNTERPART(name, spellings, plain, wide);                                                    \
    const Found& found = other.found();                                                                      \
    factor_strided<T, Int>(other, found, {*m, *n, *lda, *stride_a, *stride_pivots, *count}, a, pivots, info, \
                           [&] {                                                                             \
                             reinterpret_cast<StridedGetrf<T, Int>*>(found.routine)(                         \
                                 m, n, a, lda, stride_a, pivots, stride_pivots, count, info);                \
                           });                                                                               \
  }
TILEWRIGHT_EXPORT(mkl, sdcz, getrf_batch_strided, TILEWRIGHT_STRIDED_GETRF)

#define TILEWRIGHT_STRIDED_GETRS(name, T, Int, spellings, plain, wide)                                       \
  extern "C" TILEWRIGHT_SHOWN void name(const char* op, const Int* n, const Int* nrhs, const T* a,           \
                                        const Int* lda, const Int* stride_a, const Int* pivots,              \
                                        const Int* stride_pivots, T* b, const Int* ldb, const Int* stride_b, \
                                        const Int* count, Int* info) {                                       \
    TILEWRIGHT_COUNTERPART(name, spellings, plain, wide);                                                    \
    const Found& found = other.found();                                                                      \
    solve_strided<T, Int>(                                                                                   \
        other, found, op_of_letter(*op), *nrhs, {*n, *n, *lda, *stride_a, *stride_pivots, *count}, a,        \
        pivots, b, *ldb, *stride_b, info, [&] {                                                              \
          reinterpret_cast<StridedGetrs<T, Int>*>(found.routine)(                                            \
              op, n, nrhs, a, lda, stride_a, pivots, stride_pivots, b, ldb, stride_b, count, info, 1);       \
        });                                                                                                  \
  }
TILEWRIGHT_EXPORT(mkl, sdcz, getrs_batch_strided, TILEWRIGHT_STRIDED_GETRS)

}  // namespace tilewright::blas
