// Implements xGETRF, xGETRS and xGESV of Fortran and LAPACKE by the library's LU. In auto mode they are
// served if GPUs take part; otherwise the program's LAPACK computes them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "blas/calls.hpp"
#include "blas/plain.hpp"
#include "blas/report.hpp"
#include "blas/tilewright_blas.hpp"
#include "core/host/fork_gate.hpp"

namespace tilewright::blas {
namespace {

LuOptions lu_options() {
  LuOptions options;
  options.threads = threads_of_program();
  options.on_device_failure = OnDeviceFailure::redo;
  return options;
}

// True if GPUs take part in the factorization.
bool gpus_factor(DType dtype, std::int64_t m, std::int64_t n, std::int64_t lda) {
  if (double(m) * double(n) * double(std::min(m, n)) < least_gpu_flops || !may_use_gpus()) return false;
  const Inside scope;
  try {
    return lu_uses_gpus(*context(), {dtype, m, n, lda}, lu_options());
  } catch (...) {
    return false;
  }
}

// Converts pivots of the caller's width to the library's.
template <class Int>
class Pivots {
 public:
  Pivots(Int* own, std::int64_t count) : own_(own), wide_(std::size_t(std::max<std::int64_t>(count, 0))) {}
  void read() { std::copy_n(own_, wide_.size(), wide_.begin()); }
  void write() const {
    std::transform(wide_.begin(), wide_.end(), own_, [](std::int64_t pivot) { return Int(pivot); });
  }
  std::span<std::int64_t> all() { return wide_; }

 private:
  Int* own_;
  std::vector<std::int64_t> wide_;
};

// The computations of the three routines, by columns and with valid arguments. They throw Error, with A and B
// as they were unless a factorization was written.
template <class T, class Int>
Int factor(Context& context, Int m, Int n, T* a, Int lda, Int* pivots) {
  Pivots<Int> wide(pivots, std::min(m, n));
  const auto info = Int(lu_factor<T>(context, {a, m, n, lda}, wide.all(), lu_options()).info);
  wide.write();
  return info;
}
template <class T, class Int>
void solve(Context& context, Op op, Int n, Int nrhs, const T* a, Int lda, const Int* pivots, T* b, Int ldb) {
  Pivots<Int> wide(const_cast<Int*>(pivots), n);
  wide.read();
  lu_solve<T>(context, op, {a, n, n, lda}, wide.all(), {b, n, nrhs, ldb}, lu_options());
}

// A call whose arguments were checked. compute(context) throws, and its whole effect is served or not.
struct Routine {
  const Counterpart& other;
  const Found& found;
  const char* what;   // for the observer
  const char* names;  // names of the two sizes
  std::int64_t first, second;
  double flops;

  std::string text() const { return fmt::format("{} {}={} {}={}", what, names[0], first, names + 1, second); }
};
template <class Wins, class Compute>
void run_routine(const Routine& routine, Wins&& wins, Compute&& compute, Forward forward, Forward plainly) {
  const bool here = serves_here(routine.found, wins);
  serve_or_forward(
      routine.other, routine.found, here,
      [&] {
        const Inside scope;
        Context* const own = context();
        if (own == nullptr) return false;
        compute(*own);
        return true;
      },
      [&](Observed& observed) { observed.computes(routine.text(), routine.flops); }, forward, plainly);
}

template <class T>
double flops_of_factor(double m, double n) {
  return flops(LuProblem{dtype_of<T>, std::int64_t(m), std::int64_t(n), std::int64_t(m)});
}
template <class T>
double flops_of_solve(double n, double nrhs) {
  return (is_complex(dtype_of<T>) ? 8 : 2) * n * n * nrhs;
}
template <class T>
Routine factor_routine(const Counterpart& other, const Found& found, std::int64_t m, std::int64_t n) {
  return {other, found, "LU", "mn", m, n, flops_of_factor<T>(double(m), double(n))};
}
template <class T>
Routine solve_routine(const Counterpart& other, const Found& found, std::int64_t n, std::int64_t nrhs) {
  return {other, found, "solve", "nnrhs", n, nrhs, flops_of_solve<T>(double(n), double(nrhs))};
}
template <class T>
Routine system_routine(const Counterpart& other, const Found& found, std::int64_t n, std::int64_t nrhs) {
  return {other,
          found,
          "system",
          "nnrhs",
          n,
          nrhs,
          flops_of_factor<T>(double(n), double(n)) + flops_of_solve<T>(double(n), double(nrhs))};
}

// Returns the number of the first bad argument, counted as LAPACK does.
template <class Int>
int factor_fault(Int m, Int n, Int lda) {
  return m < 0 ? 1 : n < 0 ? 2 : is_short(lda, m) ? 4 : 0;
}
template <class Int>
int solve_fault(std::int8_t op, Int n, Int nrhs, Int lda, Int ldb) {
  return op == no_op ? 1 : n < 0 ? 2 : nrhs < 0 ? 3 : is_short(lda, n) ? 5 : is_short(ldb, n) ? 8 : 0;
}
template <class Int>
int system_fault(Int n, Int nrhs, Int lda, Int ldb) {
  return n < 0 ? 1 : nrhs < 0 ? 2 : is_short(lda, n) ? 4 : is_short(ldb, n) ? 7 : 0;
}

// Reports a bad argument, by the counterpart or by xerbla and info. Returns true if there was one.
template <class Int>
bool refuses(const Counterpart& other, const Found& found, int fault, Int* info, const Forward& forward) {
  if (found.route == Route::pass || (fault != 0 && found.routine != nullptr)) {
    forward();
    return true;
  }
  if (fault == 0) return false;
  *info = Int(-fault);
  report_fortran(other, fault);
  return true;
}

// --- Fortran ---

template <class T, class Int>
using FortranGetrf = void(const Int*, const Int*, T*, const Int*, Int*, Int*);
template <class T, class Int>
using FortranGetrs = void(const char*, const Int*, const Int*, const T*, const Int*, const Int*, T*,
                          const Int*, Int*, std::size_t);
template <class T, class Int>
using FortranGesv = void(const Int*, const Int*, T*, const Int*, Int*, T*, const Int*, Int*);

template <class T, class Int>
void run_getrf(const Counterpart& other, const Found& found, Int m, Int n, T* a, Int lda, Int* pivots,
               Int* info, Forward forward) {
  if (refuses(other, found, factor_fault(m, n, lda), info, forward)) return;
  run_routine(
      factor_routine<T>(other, found, m, n), [&] { return gpus_factor(dtype_of<T>, m, n, lda); },
      [&](Context& context) { *info = factor(context, m, n, a, lda, pivots); }, forward,
      [&] { *info = factor_plainly(m, n, a, lda, pivots); });
}

template <class T, class Int>
void run_getrs(const Counterpart& other, const Found& found, char op, Int n, Int nrhs, const T* a, Int lda,
               const Int* pivots, T* b, Int ldb, Int* info, Forward forward) {
  const std::int8_t named = op_of_letter(op);
  if (refuses(other, found, solve_fault(named, n, nrhs, lda, ldb), info, forward)) return;
  run_routine(
      solve_routine<T>(other, found, n, nrhs), [] { return false; },
      [&](Context& context) {
        solve(context, Op(named), n, nrhs, a, lda, pivots, b, ldb);
        *info = 0;
      },
      forward,
      [&] {
        solve_plainly(named, n, nrhs, a, lda, pivots, b, ldb);
        *info = 0;
      });
}

// Once the factors are written, the call cannot be forwarded: if a later step fails, plain loops solve the
// system.
template <class T, class Int>
Int factor_and_solve(Context& context, Int n, Int nrhs, T* a, Int lda, Int* pivots, T* b, Int ldb) {
  const Int info = factor(context, n, n, a, lda, pivots);
  if (info != 0) return info;
  try {
    solve(context, Op::none, n, nrhs, a, lda, pivots, b, ldb);
  } catch (...) {
    solve_plainly(std::int8_t(Op::none), n, nrhs, a, lda, pivots, b, ldb);
  }
  return 0;
}

template <class T, class Int>
Int factor_and_solve_plainly(Int n, Int nrhs, T* a, Int lda, Int* pivots, T* b, Int ldb) {
  const Int info = factor_plainly(n, n, a, lda, pivots);
  if (info == 0) solve_plainly(std::int8_t(Op::none), n, nrhs, a, lda, pivots, b, ldb);
  return info;
}

template <class T, class Int>
void run_gesv(const Counterpart& other, const Found& found, Int n, Int nrhs, T* a, Int lda, Int* pivots, T* b,
              Int ldb, Int* info, Forward forward) {
  if (refuses(other, found, system_fault(n, nrhs, lda, ldb), info, forward)) return;
  run_routine(
      system_routine<T>(other, found, n, nrhs), [&] { return gpus_factor(dtype_of<T>, n, n, lda); },
      [&](Context& context) { *info = factor_and_solve(context, n, nrhs, a, lda, pivots, b, ldb); }, forward,
      [&] { *info = factor_and_solve_plainly(n, nrhs, a, lda, pivots, b, ldb); });
}

// --- LAPACKE ---

constexpr int no_memory = -1011;  // LAPACK_TRANSPOSE_MEMORY_ERROR

// True if LAPACKE checks for NaN first, which programs may turn off.
bool looks_for_nan() {
  using Asked = int (*)();
  static constinit Once<const Asked> once;
  const Asked asked = once.get([] {
    constexpr const char* names[] = {"LAPACKE_get_nancheck", "scipy_LAPACKE_get_nancheck",
                                     "LAPACKE_get_nancheck64_", "scipy_LAPACKE_get_nancheck64_", nullptr};
    return reinterpret_cast<Asked>(find_loaded(names).address);
  });
  return asked == nullptr || asked() != 0;
}

// A matrix of the caller by columns: if it lies by rows, a copy that is written back.
template <class T>
class ByColumns {
 public:
  ByColumns(bool by_rows, T* data, std::int64_t rows, std::int64_t cols, std::int64_t ld)
      : data_(data), rows_(rows), cols_(cols), ld_(ld), by_rows_(by_rows) {
    if (!by_rows) return;
    copy_.resize(std::size_t(rows * cols));
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < cols; ++j) copy_[std::size_t(j * rows + i)] = data[i * ld + j];
  }
  T* data() { return by_rows_ ? copy_.data() : data_; }
  std::int64_t ld() const { return by_rows_ ? std::max<std::int64_t>(1, rows_) : ld_; }
  void write_back() const {
    for (std::int64_t i = 0; by_rows_ && i < rows_; ++i)
      for (std::int64_t j = 0; j < cols_; ++j) data_[i * ld_ + j] = copy_[std::size_t(j * rows_ + i)];
  }
  bool has_nan() {
    const T* const x = data();
    for (std::int64_t j = 0; j < cols_; ++j)
      for (std::int64_t i = 0; i < rows_; ++i)
        if (!(x[j * ld() + i] == x[j * ld() + i])) return true;
    return false;
  }

 private:
  T* data_;
  std::int64_t rows_, cols_, ld_;
  bool by_rows_;
  std::vector<T> copy_;
};

// Returns the fault that LAPACKE itself finds in a matrix by rows, or else the number of LAPACK's argument
// plus one.
template <class Int>
Int lapacke_fault(int fault, bool by_rows, std::initializer_list<std::tuple<Int, Int, int>> leading) {
  for (const auto& [ld, cols, position] : leading)
    if (by_rows && ld < cols) return Int(-position);
  return fault == 0 ? 0 : Int(-fault - 1);
}

template <class Int>
Int reported(const Counterpart& other, Int info) {
  if (info < 0)
    succeeds([&] { return complain(fmt::format("wrong parameter {} in {}", -info, other.symbol())), true; });
  return info;
}

template <class T, class Int>
Int lapacke_getrf(Counterpart& other, int layout, Int m, Int n, T* a, Int lda, Int* pivots) {
  const Found& found = other.found();
  Int info = 0;
  const auto forward = [&] {
    info =
        reinterpret_cast<Int (*)(int, Int, Int, T*, Int, Int*)>(found.routine)(layout, m, n, a, lda, pivots);
  };
  const bool by_rows = layout == row_major;
  const Int columns_ld = by_rows ? std::max<Int>(1, m) : lda;
  Int fault = by_rows || layout == col_major ? 0 : -1;
  if (fault == 0)
    fault = lapacke_fault<Int>(factor_fault(m, n, columns_ld), by_rows && m >= 0 && n >= 0, {{lda, n, 5}});
  if (found.route == Route::pass || (fault != 0 && found.routine != nullptr)) return forward(), info;
  if (fault != 0) return reported(other, fault);
  run_routine(
      factor_routine<T>(other, found, m, n), [&] { return gpus_factor(dtype_of<T>, m, n, columns_ld); },
      [&](Context& context) {
        info = [&]() -> Int {
          ByColumns<T> matrix(by_rows, a, m, n, lda);
          if (looks_for_nan() && matrix.has_nan()) return -4;
          const Int result = factor(context, m, n, matrix.data(), Int(matrix.ld()), pivots);
          matrix.write_back();
          return result;
        }();
      },
      forward, [&] { info = no_memory; });
  return info;
}

template <class T, class Int>
Int lapacke_getrs(Counterpart& other, int layout, char op, Int n, Int nrhs, const T* a, Int lda,
                  const Int* pivots, T* b, Int ldb) {
  const Found& found = other.found();
  Int info = 0;
  const auto forward = [&] {
    info = reinterpret_cast<Int (*)(int, char, Int, Int, const T*, Int, const Int*, T*, Int)>(found.routine)(
        layout, op, n, nrhs, a, lda, pivots, b, ldb);
  };
  const bool by_rows = layout == row_major;
  const std::int8_t named = op_of_letter(op);
  Int fault = by_rows || layout == col_major ? 0 : -1;
  if (fault == 0)
    fault = lapacke_fault<Int>(
        solve_fault(named, n, nrhs, by_rows ? std::max<Int>(1, n) : lda, by_rows ? std::max<Int>(1, n) : ldb),
        by_rows, {{lda, n, 6}, {ldb, nrhs, 9}});
  if (found.route == Route::pass || (fault != 0 && found.routine != nullptr)) return forward(), info;
  if (fault != 0) return reported(other, fault);
  run_routine(
      solve_routine<T>(other, found, n, nrhs), [] { return false; },
      [&](Context& context) {
        info = [&]() -> Int {
          ByColumns<T> factors(by_rows, const_cast<T*>(a), n, n, lda), right(by_rows, b, n, nrhs, ldb);
          if (looks_for_nan() && factors.has_nan()) return -5;
          if (looks_for_nan() && right.has_nan()) return -8;
          solve(context, Op(named), n, nrhs, factors.data(), Int(factors.ld()), pivots, right.data(),
                Int(right.ld()));
          right.write_back();
          return 0;
        }();
      },
      forward, [&] { info = no_memory; });
  return info;
}

template <class T, class Int>
Int lapacke_gesv(Counterpart& other, int layout, Int n, Int nrhs, T* a, Int lda, Int* pivots, T* b, Int ldb) {
  const Found& found = other.found();
  Int info = 0;
  const auto forward = [&] {
    info = reinterpret_cast<Int (*)(int, Int, Int, T*, Int, Int*, T*, Int)>(found.routine)(
        layout, n, nrhs, a, lda, pivots, b, ldb);
  };
  const bool by_rows = layout == row_major;
  Int fault = by_rows || layout == col_major ? 0 : -1;
  if (fault == 0)
    fault = lapacke_fault<Int>(
        system_fault(n, nrhs, by_rows ? std::max<Int>(1, n) : lda, by_rows ? std::max<Int>(1, n) : ldb),
        by_rows, {{lda, n, 5}, {ldb, nrhs, 8}});
  if (found.route == Route::pass || (fault != 0 && found.routine != nullptr)) return forward(), info;
  if (fault != 0) return reported(other, fault);
  run_routine(
      system_routine<T>(other, found, n, nrhs),
      [&] { return gpus_factor(dtype_of<T>, n, n, by_rows ? std::max<Int>(1, n) : lda); },
      [&](Context& context) {
        info = [&]() -> Int {
          ByColumns<T> matrix(by_rows, a, n, n, lda), right(by_rows, b, n, nrhs, ldb);
          if (looks_for_nan() && matrix.has_nan()) return -4;
          if (looks_for_nan() && right.has_nan()) return -7;
          const Int result = factor_and_solve(context, n, nrhs, matrix.data(), Int(matrix.ld()), pivots,
                                              right.data(), Int(right.ld()));
          matrix.write_back();
          right.write_back();
          return result;
        }();
      },
      forward, [&] { info = no_memory; });
  return info;
}

}  // namespace

#define TILEWRIGHT_FORTRAN_GETRF(name, T, Int, spellings, plain, wide)                                      \
  extern "C" TILEWRIGHT_SHOWN void name(const Int* m, const Int* n, T* a, const Int* lda, Int* pivots,      \
                                        Int* info) {                                                        \
    TILEWRIGHT_COUNTERPART(name, spellings, plain, wide);                                                   \
    const Found& found = other.found();                                                                     \
    run_getrf(other, found, *m, *n, a, *lda, pivots, info,                                                  \
              [&] { reinterpret_cast<FortranGetrf<T, Int>*>(found.routine)(m, n, a, lda, pivots, info); }); \
  }
TILEWRIGHT_EXPORT(fortran, sdcz, getrf, TILEWRIGHT_FORTRAN_GETRF)

#define TILEWRIGHT_FORTRAN_GETRS(name, T, Int, spellings, plain, wide)                                      \
  extern "C" TILEWRIGHT_SHOWN void name(const char* op, const Int* n, const Int* nrhs, const T* a,          \
                                        const Int* lda, const Int* pivots, T* b, const Int* ldb,            \
                                        Int* info) {                                                        \
    TILEWRIGHT_COUNTERPART(name, spellings, plain, wide);                                                   \
    const Found& found = other.found();                                                                     \
    run_getrs(other, found, *op, *n, *nrhs, a, *lda, pivots, b, *ldb, info, [&] {                           \
      reinterpret_cast<FortranGetrs<T, Int>*>(found.routine)(op, n, nrhs, a, lda, pivots, b, ldb, info, 1); \
    });                                                                                                     \
  }
TILEWRIGHT_EXPORT(fortran, sdcz, getrs, TILEWRIGHT_FORTRAN_GETRS)

#define TILEWRIGHT_FORTRAN_GESV(name, T, Int, spellings, plain, wide)                                     \
  extern "C" TILEWRIGHT_SHOWN void name(const Int* n, const Int* nrhs, T* a, const Int* lda, Int* pivots, \
                                        T* b, const Int* ldb, Int* info) {                                \
    TILEWRIGHT_COUNTERPART(name, spellings, plain, wide);                                                 \
    const Found& found = other.found();                                                                   \
    run_gesv(other, found, *n, *nrhs, a, *lda, pivots, b, *ldb, info, [&] {                               \
      reinterpret_cast<FortranGesv<T, Int>*>(found.routine)(n, nrhs, a, lda, pivots, b, ldb, info);       \
    });                                                                                                   \
  }
TILEWRIGHT_EXPORT(fortran, sdcz, gesv, TILEWRIGHT_FORTRAN_GESV)

#define TILEWRIGHT_LAPACKE_GETRF(name, T, Int, spellings, plain, wide)                         \
  extern "C" TILEWRIGHT_SHOWN Int name(int layout, Int m, Int n, T* a, Int lda, Int* pivots) { \
    TILEWRIGHT_COUNTERPART(name, spellings, plain, wide);                                      \
    return lapacke_getrf(other, layout, m, n, a, lda, pivots);                                 \
  }
TILEWRIGHT_EXPORT(lapacke, sdcz, getrf, TILEWRIGHT_LAPACKE_GETRF)

#define TILEWRIGHT_LAPACKE_GETRS(name, T, Int, spellings, plain, wide)                            \
  extern "C" TILEWRIGHT_SHOWN Int name(int layout, char op, Int n, Int nrhs, const T* a, Int lda, \
                                       const Int* pivots, T* b, Int ldb) {                        \
    TILEWRIGHT_COUNTERPART(name, spellings, plain, wide);                                         \
    return lapacke_getrs(other, layout, op, n, nrhs, a, lda, pivots, b, ldb);                     \
  }
TILEWRIGHT_EXPORT(lapacke, sdcz, getrs, TILEWRIGHT_LAPACKE_GETRS)

#define TILEWRIGHT_LAPACKE_GESV(name, T, Int, spellings, plain, wide)                                 \
  extern "C" TILEWRIGHT_SHOWN Int name(int layout, Int n, Int nrhs, T* a, Int lda, Int* pivots, T* b, \
                                       Int ldb) {                                                     \
    TILEWRIGHT_COUNTERPART(name, spellings, plain, wide);                                             \
    return lapacke_gesv(other, layout, n, nrhs, a, lda, pivots, b, ldb);                              \
  }
TILEWRIGHT_EXPORT(lapacke, sdcz, gesv, TILEWRIGHT_LAPACKE_GESV)

}  // namespace tilewright::blas
