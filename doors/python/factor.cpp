// Systems, inverses, determinants and the factors that serve them. Pivots and infos are addresses of 64-bit
// integers that the package's Python half owns.
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

nb::object gesv(Library& library, const View& a, const View& x, int threads) {
  return run_stack(x, [&]<class T>(T, BatchInfo info) {
    MatrixBatch<const T> matrices;
    if (!read_stack<const T>(a, x, matrices)) return false;
    gesv_batched(library.context(), matrices, written<T>(x), info, with_threads(threads));
    return true;
  });
}

nb::object inverses(Library& library, const View& a, const View& inverse, int threads) {
  return run_stack(inverse, [&]<class T>(T, BatchInfo info) {
    MatrixBatch<const T> matrices;
    if (!read_stack<const T>(a, inverse, matrices)) return false;
    inv_batched(library.context(), matrices, written<T>(inverse), info, with_threads(threads));
    return true;
  });
}

// Writes the determinants of a to `det`, one for each matrix.
bool determinants(Library& library, const View& a, const View& det, int threads) {
  bool reads = true;
  const Unlocked unlocked(is_long(a));
  with_type(a.dtype, [&]<class T>(T) {
    MatrixBatch<const T> matrices;
    reads = read_stack<const T>(a, a, matrices);
    if (!reads) return;
    const std::span<T> to(reinterpret_cast<T*>(det.data), std::size_t(matrices_of(a)));
    det_batched(library.context(), matrices, to, with_threads(threads));
  });
  return reads;
}

std::size_t pivot_count(const View& x) { return std::size_t(std::min(rows_of(x), cols_of(x))); }

void getrf(Library& library, const View& a, std::uint64_t pivots, std::uint64_t info, int threads) {
  const std::size_t count = std::size_t(matrices_of(a));
  std::vector<int> swaps(count * pivot_count(a)), infos(count);
  run_stack(a, [&]<class T>(T, BatchInfo) {
    getrf_batched(library.context(), written<T>(a), swaps, {InfoMode::all, infos.data()},
                  with_threads(threads));
    return true;
  });
  std::copy(swaps.begin(), swaps.end(), reinterpret_cast<std::int64_t*>(pivots));
  std::copy(infos.begin(), infos.end(), reinterpret_cast<std::int64_t*>(info));
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

nb::object getrs(Library& library, Op op, const View& lu, std::uint64_t pivots, const View& x, int threads) {
  const std::size_t steps = pivot_count(lu);
  const auto* const own = reinterpret_cast<const std::int64_t*>(pivots);
  std::vector<int> swaps;
  swaps.reserve(steps * std::size_t(matrices_of(x)));
  each_own(lu, x, [&](std::int64_t at) {
    const std::int64_t* const first = own + at * std::int64_t(steps);
    swaps.insert(swaps.end(), first, first + steps);
  });
  return run_stack(x, [&]<class T>(T, BatchInfo) {
    MatrixBatch<const T> matrices;
    if (!read_stack<const T>(lu, x, matrices)) return false;
    getrs_batched(library.context(), op, matrices, swaps, written<T>(x), with_threads(threads));
    return true;
  });
}

void getri(Library& library, const View& lu, std::uint64_t pivots, int threads) {
  const auto* const own = reinterpret_cast<const std::int64_t*>(pivots);
  const std::vector<int> swaps(own, own + pivot_count(lu) * std::size_t(matrices_of(lu)));
  run_stack(lu, [&]<class T>(T, BatchInfo info) {
    getri_batched(library.context(), written<T>(lu), swaps, info, with_threads(threads));
    return true;
  });
}

nb::object potrf(Library& library, const View& a, const View& factor, bool upper, int threads) {
  return run_stack(factor, [&]<class T>(T, BatchInfo info) {
    MatrixBatch<const T> matrices;
    if (!read_stack<const T>(a, factor, matrices)) return false;
    potrf_batched(library.context(), upper ? Uplo::upper : Uplo::lower, matrices, written<T>(factor), info,
                  with_threads(threads));
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
  run_stack(a, [&]<class T>(T, BatchInfo) {
    getrf_batched(library.context(), written<T>(a), swaps, {InfoMode::all, infos.data()},
                  with_threads(threads));
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

void bind_factor(nb::module_& module, Library& library) {
  module.def(
      "gesv",
      [&library](nb::handle a, nb::handle x, int threads) {
        return gesv(library, host_stack("a", a), host_stack("x", x), threads);
      },
      nb::arg("a"), nb::arg("x"), nb::arg("threads"));
  module.def(
      "inv",
      [&library](nb::handle a, nb::handle inverse, int threads) {
        return inverses(library, host_stack("a", a), host_stack("inverse", inverse), threads);
      },
      nb::arg("a"), nb::arg("inverse"), nb::arg("threads"));
  module.def(
      "det",
      [&library](nb::handle a, nb::handle det, int threads) {
        return determinants(library, host_stack("a", a), view_of("det", det), threads);
      },
      nb::arg("a"), nb::arg("det"), nb::arg("threads"));
  module.def(
      "slogdet",
      [&library](nb::handle a, std::uint64_t sign, std::uint64_t log, int threads) {
        slogdet(library, host_stack("a", a), sign, log, threads);
      },
      nb::arg("a"), nb::arg("sign"), nb::arg("log"), nb::arg("threads"));
  module.def(
      "potrf",
      [&library](nb::handle a, nb::handle factor, bool upper, int threads) {
        return potrf(library, host_stack("a", a), host_stack("factor", factor), upper, threads);
      },
      nb::arg("a"), nb::arg("factor"), nb::arg("upper"), nb::arg("threads"));
  module.def(
      "getrf",
      [&library](nb::handle a, std::uint64_t pivots, std::uint64_t info, int threads) {
        getrf(library, host_stack("a", a), pivots, info, threads);
      },
      nb::arg("a"), nb::arg("pivots"), nb::arg("info"), nb::arg("threads"));
  module.def(
      "getrs",
      [&library](const std::string& op, nb::handle lu, std::uint64_t pivots, nb::handle x, int threads) {
        return getrs(library, parse_op(op), host_stack("lu", lu), pivots, host_stack("x", x), threads);
      },
      nb::arg("op"), nb::arg("lu"), nb::arg("pivots"), nb::arg("x"), nb::arg("threads"));
  module.def(
      "getri",
      [&library](nb::handle lu, std::uint64_t pivots, int threads) {
        getri(library, host_stack("lu", lu), pivots, threads);
      },
      nb::arg("lu"), nb::arg("pivots"), nb::arg("threads"));
}

}  // namespace tilewright::python
