// Calls the library or, where it lacks a routine, recurses. lapack: all by the library's xGETRF.
#include "lu/blas.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <mutex>
#include <new>
#include <type_traits>
#include <vector>

#include "core/dispatch.hpp"
#include "gemm/context_impl.hpp"
#include "gemm/run/host.hpp"
#include "gemm/run/reference.hpp"
#include "lu/calls.hpp"
#include "lu/reference.hpp"
#include "lu/updates.hpp"

namespace tilewright {
namespace {

constexpr std::int64_t smallest_triangle = 32;  // of recursive solves
constexpr std::int64_t narrowest_panel = 8;     // of recursive panels

// True if a pivot may become one that must be divided by. Pivots are elements of A less products l u, and the
// smallest of the first step is the square of the smallest element over the largest. Zero, infinities and NaN
// are ignored.
template <class T>
bool may_have_such_pivots(int threads, std::int64_t m, std::int64_t n, const T* a, std::int64_t lda) {
  using R = RealPart<T>;
  using Limits = std::numeric_limits<R>;
  using Bits = std::conditional_t<sizeof(R) == 4, std::uint32_t, std::uint64_t>;  // ordered as magnitudes are
  constexpr std::int64_t parts = is_complex(dtype_of<T>) ? 2 : 1, elements_of_thread = 1 << 16;
  constexpr Bits infinity = std::bit_cast<Bits>(Limits::infinity()) << 1;
  Bits least = ~Bits(0), most = 0;  // twice the bits, less 1 so that zero comes last
  std::mutex mutex;
  parallel_ranges(threads, n, std::max<std::int64_t>(1, elements_of_thread / m),
                  [&](std::int64_t first, std::int64_t count) {
                    Bits low = ~Bits(0), high = 0;
                    for (std::int64_t j = first; j < first + count; ++j) {
                      const R* const x = reinterpret_cast<const R*>(a + j * lda);
                      for (std::int64_t i = 0; i < m * parts; ++i) {
                        const Bits twice = std::bit_cast<Bits>(x[i]) << 1;
                        low = std::min(low, Bits(twice - 1));
                        high = std::max(high, twice < infinity ? twice : Bits(0));
                      }
                    }
                    const std::lock_guard lock(mutex);
                    least = std::min(least, low), most = std::max(most, high);
                  });
  if (most == 0) return false;
  const R smallest = std::bit_cast<R>(Bits((least + 1) >> 1)), largest = std::bit_cast<R>(Bits(most >> 1));
  return largest > std::ldexp(R(1), Limits::max_exponent * 9 / 10) ||
         smallest / largest * smallest < 4 * Limits::min();
}

std::string lapack_declines(const LuRequest& r) {
  if (auto reason = why_not_on_cpu(r); !reason.empty()) return reason;
  if (r.options.nb > 0)
    return fmt::format("does not support nb = {}: the library chooses its own", r.options.nb);
  const auto library = Access::impl(r.context).cblas();
  if (!library->available()) return library->error();
  if (!library->has_getrf()) return library->name() + " has no getrf";
  if (std::max({r.problem.m, r.problem.n, r.problem.lda}) > std::numeric_limits<int>::max())
    return fmt::format("{} has sizes that do not fit 32-bit integers", to_string(r.problem));
  // The blocked algorithm takes matrices that GPUs speed up.
  if (r.options.target == Target::automatic && r.options.candidate.empty() && updates_use_gpus(r))
    return "the models of the machine give the largest trailing update to GPUs";
  return "";
}

class LapackRunner : public LuRunner {
 public:
  using LuRunner::LuRunner;
  LuReport factor(void* a, std::int64_t* pivots) const override {
    const LuProblem& p = request().problem;
    LuReport report;
    const HostBlas blas(request().context, request().options.threads);
    dispatch(p.dtype,
             [&]<class T>() { report.info = blas.factor(p.m, p.n, static_cast<T*>(a), p.lda, pivots); });
    return report;
  }
  std::string describe() const override {
    return fmt::format("getrf of {}", Access::impl(request().context).cblas()->name());
  }
};

}  // namespace

constinit const LuCandidate lapack_lu{"lapack", Tier::any, lapack_declines, one_runner<LapackRunner>};

HostBlas::HostBlas(Context& context, int threads)
    : context_(context), library_(Access::impl(context).cblas()) {
  options_.target = Target::cpu;
  options_.threads = threads;
}

int HostBlas::threads() const { return allowed_threads(options_.threads); }
bool HostBlas::fits(std::int64_t m, std::int64_t n, std::int64_t ld) const {
  return std::max({m, n, ld}) <= std::numeric_limits<int>::max();
}

// LAPACK's working memory has up to 7 m n elements, whose number is one of its integers.
bool HostBlas::fits_decomposition(std::int64_t m, std::int64_t n) const {
  return fits(m, n, 1) &&
         8 * std::max(m, n) <= library_->largest_integer() / std::max<std::int64_t>(1, std::min(m, n));
}

template <class T>
void HostBlas::subtract_product(Op op_a, Op op_b, std::int64_t m, std::int64_t n, std::int64_t k, const T* a,
                                std::int64_t lda, const T* b, std::int64_t ldb, T* c,
                                std::int64_t ldc) const {
  if (m == 0 || n == 0 || k == 0) return;
  if (library_->available() && fits(std::max(m, k), n, std::max({lda, ldb, ldc}))) {
    const LocalThreads scope(*library_, cblas_threads(options_.threads));
    return library_->gemm(op_a, op_b, m, n, k, T(-1), a, lda, b, ldb, T(1), c, ldc);
  }
  subtract_product_with(context_, options_, op_a, op_b, m, n, k, a, lda, b, ldb, c, ldc);
}

template <class T>
void HostBlas::solve(const Triangle& t, std::int64_t m, std::int64_t n, const T* a, std::int64_t lda, T* b,
                     std::int64_t ldb) const {
  if (m == 0 || n == 0) return;
  const bool divides = t.diag == Diag::non_unit && must_divide(t.side == Side::left ? m : n, a, lda);
  if (!divides && library_->available() && library_->has_trsm() && fits(m, n, std::max(lda, ldb))) {
    const LocalThreads scope(*library_, cblas_threads(options_.threads));
    return library_->trsm(t, m, n, a, lda, b, ldb);
  }
  solve_by_halves(
      t, smallest_triangle, [this](auto... arguments) { subtract_product<T>(arguments...); },
      [](const Triangle& s, auto... arguments) { solve_small<T>(s, arguments...); }, m, n, a, lda, b, ldb);
}

template <class T>
std::int64_t HostBlas::factor(std::int64_t m, std::int64_t n, T* a, std::int64_t lda,
                              std::int64_t* pivots) const {
  if (!library_->available() || !library_->has_getrf() || !fits(m, n, lda) ||
      may_have_such_pivots(threads(), m, n, a, lda))
    return factor_recursively(m, n, a, lda, pivots);
  std::vector<int> narrow(std::size_t(std::min(m, n)));
  const LocalThreads scope(*library_, cblas_threads(options_.threads));
  const int info = library_->getrf(m, n, a, lda, narrow.data());
  std::copy(narrow.begin(), narrow.end(), pivots);
  return info;
}

template <class T>
int HostBlas::syevd(bool vectors, Uplo uplo, std::int64_t n, T* a, std::int64_t lda, RealPart<T>* values,
                    LapackMemory<T>& memory) const {
  const LocalThreads scope(*library_, cblas_threads(options_.threads));
  return library_->syevd(vectors, uplo, n, a, lda, values, memory);
}

template <class T>
int HostBlas::gesdd(std::int64_t m, std::int64_t n, T* a, std::int64_t lda, RealPart<T>* values, T* u,
                    std::int64_t ldu, T* vh, std::int64_t ldvh, LapackMemory<T>& memory) const {
  const LocalThreads scope(*library_, cblas_threads(options_.threads));
  return library_->gesdd(m, n, a, lda, values, u, ldu, vh, ldvh, memory);
}

template <class T>
void HostBlas::geqrf(std::int64_t m, std::int64_t n, T* a, std::int64_t lda, T* tau) const {
  const LocalThreads scope(*library_, cblas_threads(options_.threads));
  library_->geqrf(m, n, a, lda, tau);
}

// The left half of the columns, then the right one with it: Gustavson 1997, Toledo 1997.
template <class T>
std::int64_t HostBlas::factor_recursively(std::int64_t m, std::int64_t n, T* a, std::int64_t lda,
                                          std::int64_t* pivots) const {
  const std::int64_t count = std::min(m, n);
  if (count <= narrowest_panel && n <= 2 * narrowest_panel) return factor_reference(m, n, a, lda, pivots);
  const std::int64_t half = std::max<std::int64_t>(1, count / 2), rest = n - half;
  T* const right = a + half * lda;
  const std::int64_t info = factor_recursively(m, half, a, lda, pivots);
  swap_rows(rest, right, lda, half, pivots);
  solve({Side::left, Uplo::lower, Op::none, Diag::unit}, half, rest, a, lda, right, lda);
  if (m == half) return info;
  subtract_product(Op::none, Op::none, m - half, rest, half, a + half, lda, right, lda, right + half, lda);
  const std::int64_t info_right = factor_recursively(m - half, rest, right + half, lda, pivots + half);
  swap_rows(half, a + half, lda, count - half, pivots + half);
  for (std::int64_t i = half; i < count; ++i) pivots[i] += half;
  return info > 0 || info_right == 0 ? info : info_right + half;
}

template <class T>
void HostBlas::swap_rows(std::int64_t n, T* a, std::int64_t lda, std::int64_t count,
                         const std::int64_t* pivots, bool forwards) const {
  if (n == 0 || count == 0) return;
  // Fewer swaps end before another thread wakes up.
  constexpr std::int64_t least_swaps = 65536;
  const std::int64_t columns = std::max<std::int64_t>(16, least_swaps / count);  // of a thread
  parallel_ranges(threads(), n, columns, [&](std::int64_t first, std::int64_t part) {
    for (std::int64_t j = first; j < first + part; ++j)
      for (std::int64_t step = 0; step < count; ++step) {
        const std::int64_t i = forwards ? step : count - 1 - step;
        if (pivots[i] - 1 != i) std::swap(a[j * lda + i], a[j * lda + pivots[i] - 1]);
      }
  });
}

template <class T>
void subtract_product_with(Context& context, const GemmOptions& options, Op op_a, Op op_b, std::int64_t m,
                           std::int64_t n, std::int64_t k, const T* a, std::int64_t lda, const T* b,
                           std::int64_t ldb, T* c, std::int64_t ldc) {
  if (m == 0 || n == 0 || k == 0) return;
  const MatrixView<const T> left{a, op_a == Op::none ? m : k, op_a == Op::none ? k : m, lda};
  const MatrixView<const T> right{b, op_b == Op::none ? k : n, op_b == Op::none ? n : k, ldb};
  const T alpha(-1), beta(1);
  // Half of a factorization is useless: on the CPU, whose products write nothing before they have the memory
  // they need, plain loops take over if there is none.
  const auto plainly = [&] {
    if (options.target != Target::cpu) throw;
    GemmProblem p;
    p.dtype = dtype_of<T>, p.op_a = op_a, p.op_b = op_b, p.m = m, p.n = n, p.k = k;
    p.lda = lda, p.ldb = ldb, p.ldc = ldc, p.alpha = Scalar::general, p.beta = Scalar::one;
    Operands o;
    o.a = a, o.b = b, o.c = c, o.alpha = &alpha, o.beta = &beta;
    gemm_reference(p, o);
  };
  try {
    gemm(context, op_a, op_b, alpha, left, right, beta, MatrixView<T>{c, m, n, ldc}, options);
  } catch (const std::bad_alloc&) {
    plainly();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::out_of_memory) throw;
    plainly();
  }
}

#define TILEWRIGHT_INSTANTIATE(T)                                                                            \
  template void HostBlas::subtract_product(Op, Op, std::int64_t, std::int64_t, std::int64_t, const T*,       \
                                           std::int64_t, const T*, std::int64_t, T*, std::int64_t) const;    \
  template void HostBlas::solve(const Triangle&, std::int64_t, std::int64_t, const T*, std::int64_t, T*,     \
                                std::int64_t) const;                                                         \
  template int HostBlas::syevd(bool, Uplo, std::int64_t, T*, std::int64_t, RealPart<T>*, LapackMemory<T>&)   \
      const;                                                                                                 \
  template int HostBlas::gesdd(std::int64_t, std::int64_t, T*, std::int64_t, RealPart<T>*, T*, std::int64_t, \
                               T*, std::int64_t, LapackMemory<T>&) const;                                    \
  template void HostBlas::geqrf(std::int64_t, std::int64_t, T*, std::int64_t, T*) const;                     \
  template std::int64_t HostBlas::factor(std::int64_t, std::int64_t, T*, std::int64_t, std::int64_t*) const; \
  template void HostBlas::swap_rows(std::int64_t, T*, std::int64_t, std::int64_t, const std::int64_t*, bool) \
      const;                                                                                                 \
  template void subtract_product_with(Context&, const GemmOptions&, Op, Op, std::int64_t, std::int64_t,      \
                                      std::int64_t, const T*, std::int64_t, const T*, std::int64_t, T*,      \
                                      std::int64_t);
TILEWRIGHT_FOR_TYPES(TILEWRIGHT_INSTANTIATE)
#undef TILEWRIGHT_INSTANTIATE

}  // namespace tilewright
