// Systems, inverses, determinants and the factors that serve them. Pivots and infos are addresses of arrays
// that the package's Python half owns: of 64-bit integers in host memory, of 32-bit ones on a GPU.
#include "factor.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "core/dispatch.hpp"
#include "operand.hpp"
#include "options.hpp"
#include "product.hpp"
#include "tilewright/factor.hpp"

namespace nb = nanobind;

namespace tilewright::python {
namespace {

// The run of a call: its threads, or on a GPU the stream that it is queued on and the address of its infos;
// 0: none.
struct Run {
  int threads = 0;
  std::uint64_t info = 0, stream = 0;
};

// Runs call.operator()<T, location>(options, infos) on a written stack `x`. Returns what run_stack() returns;
// on a GPU None, or false for a stack that must be copied first.
template <class F>
nb::object run_anywhere(const View& x, const Run& run, F&& call) {
  FactorOptions options = with_threads(run.threads);
  if (x.location == Location::host)
    return run_stack(x, [&]<class T>(T, BatchInfo info) {
      return call.template operator()<T, Location::host>(options, info);
    });
  options.queue = {x.device, reinterpret_cast<CUstream_st*>(run.stream)};
  const bool has_info = run.info != 0 && matrices_of(x) > 0;
  const BatchInfo info{has_info ? InfoMode::all : InfoMode::none, reinterpret_cast<int*>(run.info)};
  bool reads = true;
  {
    const Unlocked unlocked(true);  // the first call of a kind compiles a kernel
    with_type(x.dtype,
              [&]<class T>(T) { reads = call.template operator()<T, Location::device>(options, info); });
  }
  return reads ? nb::none() : nb::cast(false);
}

nb::object gesv(Library& library, const View& a, const View& x, const Run& run) {
  return run_anywhere(x, run, [&]<class T, Location L>(const FactorOptions& options, BatchInfo info) {
    MatrixBatch<const T, L> matrices;
    if (!read_stack(a, x, matrices)) return false;
    gesv_batched(library.context(), matrices, written<T, L>(x), info, options);
    return true;
  });
}

nb::object inverses(Library& library, const View& a, const View& inverse, const Run& run) {
  return run_anywhere(inverse, run, [&]<class T, Location L>(const FactorOptions& options, BatchInfo info) {
    MatrixBatch<const T, L> matrices;
    if (!read_stack(a, inverse, matrices)) return false;
    inv_batched(library.context(), matrices, written<T, L>(inverse), info, options);
    return true;
  });
}

// Writes the determinants of a to `det`, one for each matrix.
nb::object determinants(Library& library, const View& a, const View& det, const Run& run) {
  return run_anywhere(a, run, [&]<class T, Location L>(const FactorOptions& options, BatchInfo) {
    MatrixBatch<const T, L> matrices;
    if (!read_stack(a, a, matrices)) return false;
    const std::span<T> to(reinterpret_cast<T*>(det.data), std::size_t(matrices_of(a)));
    det_batched(library.context(), matrices, to, options);
    return true;
  });
}

std::size_t pivot_count(const View& x) { return std::size_t(std::min(rows_of(x), cols_of(x))); }

// Overwrites a with its factors.
void getrf(Library& library, const View& a, std::uint64_t pivots, const Run& run) {
  const std::size_t count = std::size_t(matrices_of(a)), places = count * pivot_count(a);
  if (a.location == Location::device) {
    run_anywhere(a, run, [&]<class T, Location L>(const FactorOptions& options, BatchInfo info) {
      const std::span to(reinterpret_cast<int*>(pivots), places);
      getrf_batched(library.context(), written<T, L>(a), to, info, options);
      return true;
    });
    return;
  }
  std::vector<int> swaps(places), infos(count);
  run_stack(a, [&]<class T>(T, BatchInfo info) {
    getrf_batched(library.context(), written<T>(a), swaps, {info.mode, infos.data()},
                  with_threads(run.threads));
    return true;
  });
  std::copy(swaps.begin(), swaps.end(), reinterpret_cast<std::int64_t*>(pivots));
  std::copy(infos.begin(), infos.end(), reinterpret_cast<std::int64_t*>(run.info));
}

// Calls f(matrix) for each matrix of `x` with the number of that of `own` which is broadcast to it.
template <class F>
void each_own(const View& own, const View& x, F&& f) {
  const int batch = x.ndim - 2, less = x.ndim - own.ndim;
  std::int64_t steps[View::most_dims] = {}, index[View::most_dims] = {};  // NOLINT: `batch` of them are used
  std::int64_t step = 1;
  for (int i = batch - 1; i >= less; --i) {
    steps[i] = own.shape[i - less] == 1 ? 0 : step;
    step *= own.shape[i - less];
  }
  std::int64_t at = 0;
  for (std::int64_t p = 0, count = matrices_of(x); p < count; ++p) {
    f(at);
    for (int i = batch - 1; i >= 0; --i) {
      at += steps[i];
      if (++index[i] < x.shape[i]) break;
      at -= steps[i] * x.shape[i];
      index[i] = 0;
    }
  }
}

// Pivots of 64 bits as the library takes them, for each matrix of x those of the one that is broadcast to it.
std::vector<int> wide_pivots(const View& lu, std::uint64_t pivots, const View& x) {
  const std::size_t steps = pivot_count(lu);
  const auto* const own = reinterpret_cast<const std::int64_t*>(pivots);
  std::vector<int> swaps;
  swaps.reserve(steps * std::size_t(matrices_of(x)));
  each_own(lu, x, [&](std::int64_t at) {
    const std::int64_t* const first = own + at * std::int64_t(steps);
    swaps.insert(swaps.end(), first, first + steps);
  });
  return swaps;
}

// Pivots on a GPU are those of each matrix of x.
nb::object getrs(Library& library, Op op, const View& lu, std::uint64_t pivots, const View& x,
                 const Run& run) {
  const bool on_host = x.location == Location::host;
  const std::vector<int> swaps = on_host ? wide_pivots(lu, pivots, x) : std::vector<int>();
  const std::span all(on_host ? swaps.data() : reinterpret_cast<const int*>(pivots),
                      pivot_count(lu) * std::size_t(matrices_of(x)));
  return run_anywhere(x, run, [&]<class T, Location L>(const FactorOptions& options, BatchInfo) {
    MatrixBatch<const T, L> matrices;
    if (!read_stack(lu, x, matrices)) return false;
    getrs_batched(library.context(), op, matrices, all, written<T, L>(x), options);
    return true;
  });
}

void getri(Library& library, const View& lu, std::uint64_t pivots, const Run& run) {
  const bool on_host = lu.location == Location::host;
  const std::vector<int> swaps = on_host ? wide_pivots(lu, pivots, lu) : std::vector<int>();
  const std::span all(on_host ? swaps.data() : reinterpret_cast<const int*>(pivots),
                      pivot_count(lu) * std::size_t(matrices_of(lu)));
  run_anywhere(lu, run, [&]<class T, Location L>(const FactorOptions& options, BatchInfo info) {
    getri_batched(library.context(), written<T, L>(lu), all, info, options);
    return true;
  });
}

// On a GPU a is not read: the factor is that of what lies in its place.
nb::object potrf(Library& library, const View& a, const View& factor, bool upper, const Run& run) {
  const Uplo uplo = upper ? Uplo::upper : Uplo::lower;
  return run_anywhere(factor, run, [&]<class T, Location L>(const FactorOptions& options, BatchInfo info) {
    if constexpr (L == Location::device) {
      potrf_batched(library.context(), uplo, written<T, L>(factor), info, options);
    } else {
      MatrixBatch<const T> matrices;
      if (!read_stack(a, factor, matrices)) return false;
      potrf_batched(library.context(), uplo, matrices, written<T>(factor), info, options);
    }
    return true;
  });
}

// The sign, of absolute value 1 or 0, and the logarithm of the absolute value of a determinant.
template <class T>
struct SignAndLog {
  using Real = RealPart<T>;
  T* sign;
  Real* log;

  // u: the diagonal of U, `step` apart.
  void put(const T* u, std::int64_t n, std::int64_t step, const int* swaps, bool singular) {
    T unit(1);
    double sum = 0;
    for (std::int64_t i = 0; i < n && !singular; ++i, u += step) {
      const Real size = std::abs(*u);
      if constexpr (std::is_same_v<T, Real>)
        unit = *u < 0 ? -unit : unit;
      else
        unit *= *u / size;
      if (swaps[i] != i + 1) unit = -unit;
      sum += std::log(double(size));
    }
    *sign++ = singular ? T(0) : unit;
    *log++ = singular ? -std::numeric_limits<Real>::infinity() : Real(sum);
  }
};

// Overwrites a with its factors.
void slogdet(Library& library, const View& a, std::uint64_t sign, std::uint64_t log, int threads) {
  std::vector<int> swaps(std::size_t(matrices_of(a)) * pivot_count(a)), infos(std::size_t(matrices_of(a)));
  run_stack(a, [&]<class T>(T, BatchInfo info) {
    getrf_batched(library.context(), written<T>(a), swaps, {info.mode, infos.data()}, with_threads(threads));
    return true;
  });
  with_type(a.dtype, [&]<class T>(T) {
    SignAndLog<T> to{reinterpret_cast<T*>(sign), reinterpret_cast<RealPart<T>*>(log)};
    const std::int64_t n = rows_of(a);
    const auto* const factors = reinterpret_cast<const T*>(a.data);
    for (std::size_t p = 0; p < infos.size(); ++p)
      to.put(factors + std::int64_t(p) * n * n, n, n + 1, swaps.data() + std::int64_t(p) * n, infos[p] != 0);
  });
}

}  // namespace

// Names the arguments that say how a call runs; `info` and `stream` are those of a GPU.
#define TILEWRIGHT_RUN_ARGUMENTS nb::arg("threads"), nb::arg("info") = 0, nb::arg("stream") = 0

void bind_factor(nb::module_& module, Library& library) {
  using Address = std::uint64_t;
  module.def(
      "gesv",
      [&library](nb::handle a, nb::handle x, int threads, Address info, Address stream) {
        return gesv(library, any_stack("a", a), any_stack("x", x), {threads, info, stream});
      },
      nb::arg("a"), nb::arg("x"), TILEWRIGHT_RUN_ARGUMENTS);
  module.def(
      "inv",
      [&library](nb::handle a, nb::handle inverse, int threads, Address info, Address stream) {
        return inverses(library, any_stack("a", a), any_stack("inverse", inverse), {threads, info, stream});
      },
      nb::arg("a"), nb::arg("inverse"), TILEWRIGHT_RUN_ARGUMENTS);
  module.def(
      "det",
      [&library](nb::handle a, nb::handle det, int threads, Address info, Address stream) {
        return determinants(library, any_stack("a", a), view_of("det", det), {threads, info, stream});
      },
      nb::arg("a"), nb::arg("det"), TILEWRIGHT_RUN_ARGUMENTS);
  module.def(
      "slogdet",
      [&library](nb::handle a, Address sign, Address log, int threads) {
        slogdet(library, host_stack("a", a), sign, log, threads);
      },
      nb::arg("a"), nb::arg("sign"), nb::arg("log"), nb::arg("threads"));
  module.def(
      "potrf",
      [&library](nb::handle a, nb::handle factor, bool upper, int threads, Address info, Address stream) {
        return potrf(library, any_stack("a", a), any_stack("factor", factor), upper, {threads, info, stream});
      },
      nb::arg("a"), nb::arg("factor"), nb::arg("upper"), TILEWRIGHT_RUN_ARGUMENTS);
  module.def(
      "getrf",
      [&library](nb::handle a, Address pivots, int threads, Address info, Address stream) {
        getrf(library, any_stack("a", a), pivots, {threads, info, stream});
      },
      nb::arg("a"), nb::arg("pivots"), TILEWRIGHT_RUN_ARGUMENTS);
  module.def(
      "getrs",
      [&library](nb::handle lu, nb::handle x, const std::string& op, Address pivots, int threads,
                 Address info, Address stream) {
        return getrs(library, parse_op(op), any_stack("lu", lu), pivots, any_stack("x", x),
                     {threads, info, stream});
      },
      nb::arg("lu"), nb::arg("x"), nb::arg("op"), nb::arg("pivots"), TILEWRIGHT_RUN_ARGUMENTS);
  module.def(
      "getri",
      [&library](nb::handle lu, Address pivots, int threads, Address info, Address stream) {
        getri(library, any_stack("lu", lu), pivots, {threads, info, stream});
      },
      nb::arg("lu"), nb::arg("pivots"), TILEWRIGHT_RUN_ARGUMENTS);
}

#undef TILEWRIGHT_RUN_ARGUMENTS

}  // namespace tilewright::python
