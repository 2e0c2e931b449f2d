// QR, least squares, eigenvalues and singular values of stacks. Numbers of each problem, tau, values, ranks
// and sums, are addresses of arrays that the package's Python half owns.
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "core/dispatch.hpp"
#include "factor.hpp"

namespace nb = nanobind;

namespace tilewright::python {
namespace {

// Matrices at equal distances, as in new stacks or parts of these.
template <class T>
struct EvenStack {
  T* data;
  std::int64_t count, distance, rows, cols, row_stride, col_stride;

  T& at(std::int64_t p, std::int64_t i, std::int64_t j) const {
    return data[p * distance + i * row_stride + j * col_stride];
  }
  MatrixBatch<T> batch() const {
    MatrixBatch<T> all;
    all.data = data, all.rows = rows, all.cols = cols, all.row_stride = row_stride,
    all.col_stride = col_stride;
    all.level_count = 1, all.levels[0] = {count, distance};
    return all;
  }
  EvenStack columns(std::int64_t first, std::int64_t n) const {
    return {data + first * col_stride, count, distance, rows, n, row_stride, col_stride};
  }
  EvenStack transposed() const { return {data, count, distance, cols, rows, col_stride, row_stride}; }
};

// A new stack, by rows.
template <class T>
EvenStack<T> by_rows(const View& x) {
  const std::int64_t rows = rows_of(x), cols = cols_of(x);
  return {reinterpret_cast<T*>(x.data), matrices_of(x), rows * cols, rows, cols, cols, 1};
}

// Columns `first` and following of the unit matrix.
template <class T>
void fill_unit(const EvenStack<T>& x, std::int64_t first) {
  for (std::int64_t p = 0; p < x.count; ++p)
    for (std::int64_t i = 0; i < x.rows; ++i)
      for (std::int64_t j = 0; j < x.cols; ++j) x.at(p, i, j) = T(i == first + j ? 1 : 0);
}

std::size_t numbers_of(const View& x) {
  return std::size_t(matrices_of(x) * std::min(rows_of(x), cols_of(x)));
}

void geqrf(Library& library, const View& a, std::uint64_t tau, int threads) {
  run_stack(a, [&]<class T>(T, BatchInfo) {
    geqrf_batched(library.context(), written<T>(a), std::span(reinterpret_cast<T*>(tau), numbers_of(a)),
                  with_threads(threads));
    return true;
  });
}

// Overwrites a with its factors, and writes the first rows of R and, if wanted, the first columns of Q.
void qr(Library& library, const View& a, const std::optional<View>& q, const View& r, int threads) {
  const Unlocked unlocked(is_long(a));
  with_type(a.dtype, [&]<class T>(T) {
    const auto factors = by_rows<T>(a), upper = by_rows<T>(r);
    std::vector<T> tau(numbers_of(a));
    geqrf_batched(library.context(), factors.batch(), std::span(tau), with_threads(threads));
    for (std::int64_t p = 0; p < upper.count; ++p)
      for (std::int64_t i = 0; i < upper.rows; ++i)
        for (std::int64_t j = 0; j < upper.cols; ++j) upper.at(p, i, j) = i <= j ? factors.at(p, i, j) : T(0);
    if (!q) return;
    const auto orthogonal = by_rows<T>(*q);
    fill_unit(orthogonal, 0);
    ormqr_batched(library.context(), Op::none, MatrixBatch<const T>(factors.batch()), std::span<const T>(tau),
                  orthogonal.batch(), with_threads(threads));
  });
}

// X overwrites the first rows of b, to whose leading dimensions those of a are broadcast.
nb::object gels(Library& library, const View& a, const View& b, int threads) {
  return run_stack(b, [&]<class T>(T, BatchInfo info) {
    MatrixBatch<const T> matrices;
    if (!read_stack<const T>(a, b, matrices)) return false;
    gels_batched(library.context(), matrices, written<T>(b), info, with_threads(threads));
    return true;
  });
}

nb::object syev(Library& library, const View& a, std::uint64_t values, const std::optional<View>& vectors,
                bool upper, int threads) {
  return run_stack(a, [&]<class T>(T, BatchInfo info) {
    MatrixBatch<const T> matrices;
    if (!read_stack<const T>(a, a, matrices)) return false;
    const Uplo uplo = upper ? Uplo::upper : Uplo::lower;
    const std::span to(reinterpret_cast<RealPart<T>*>(values), numbers_of(a));
    if (vectors)
      syev_batched(library.context(), uplo, matrices, to, written<T>(*vectors), info, with_threads(threads));
    else
      syev_batched(library.context(), uplo, matrices, to, info, with_threads(threads));
    return true;
  });
}

// Orthonormal columns become a basis: `rest` receives columns that are orthonormal to them and to each other.
template <class T>
void complete(Library& library, const EvenStack<T>& own, const EvenStack<T>& rest, int threads) {
  if (rest.cols == 0 || rest.count == 0) return;
  fill_unit(rest, own.cols);
  if (own.cols == 0) return;
  std::vector<T> factors(std::size_t(own.count * own.rows * own.cols)),
      tau(std::size_t(own.count * own.cols));
  const EvenStack<T> copy{factors.data(), own.count, own.rows * own.cols, own.rows, own.cols, 1, own.rows};
  for (std::int64_t p = 0; p < own.count; ++p)
    for (std::int64_t j = 0; j < own.cols; ++j)
      for (std::int64_t i = 0; i < own.rows; ++i) copy.at(p, i, j) = own.at(p, i, j);
  geqrf_batched(library.context(), copy.batch(), std::span(tau), with_threads(threads));
  ormqr_batched(library.context(), Op::none, MatrixBatch<const T>(copy.batch()), std::span<const T>(tau),
                rest.batch(), with_threads(threads));
}

// u has min(m, n) or m columns, vh as many or n rows.
template <class T>
void complete_bases(Library& library, std::int64_t k, const View& u, const View& vh, int threads) {
  const auto left = by_rows<T>(u), right = by_rows<T>(vh).transposed();
  complete(library, left.columns(0, k), left.columns(k, left.cols - k), threads);
  complete(library, right.columns(0, k), right.columns(k, right.cols - k), threads);
}

nb::object gesvd(Library& library, const View& a, std::uint64_t values, const std::optional<View>& u,
                 const std::optional<View>& vh, int threads) {
  const std::int64_t k = std::min(rows_of(a), cols_of(a));
  if (k == 0 && u && vh)
    with_type(a.dtype, [&]<class T>(T) { complete_bases<T>(library, k, *u, *vh, threads); });
  return run_stack(a, [&]<class T>(T, BatchInfo info) {
    MatrixBatch<const T> matrices;
    if (!read_stack<const T>(a, a, matrices)) return false;
    const std::span to(reinterpret_cast<RealPart<T>*>(values), numbers_of(a));
    if (!u || !vh) {
      gesvd_batched(library.context(), matrices, to, info, with_threads(threads));
      return true;
    }
    const auto left = by_rows<T>(*u).columns(0, k), right = by_rows<T>(*vh).transposed().columns(0, k);
    gesvd_batched(library.context(), matrices, to, left.batch(), right.transposed().batch(), info,
                  with_threads(threads));
    const bool found_all =
        std::all_of(info.codes, info.codes + matrices_of(a), [](int code) { return code == 0; });
    if (found_all) complete_bases<T>(library, k, *u, *vh, threads);
    return true;
  });
}

// Orders the eigenvalues of a matrix by their absolute values, which become its singular values. The
// eigenvectors, u, are ordered with them, and V^H takes their signs.
template <class T>
class SingularOrder {
 public:
  explicit SingularOrder(std::int64_t n) : n_(n), places_(std::size_t(n)), signed_(std::size_t(n)) {}

  void take(RealPart<T>* values) {
    std::iota(places_.begin(), places_.end(), std::int64_t(0));
    std::stable_sort(places_.begin(), places_.end(), [&](std::int64_t i, std::int64_t j) {
      return std::abs(values[i]) > std::abs(values[j]);
    });
    for (std::int64_t i = 0; i < n_; ++i) signed_[std::size_t(i)] = values[places_[std::size_t(i)]];
    for (std::int64_t i = 0; i < n_; ++i) values[i] = std::abs(signed_[std::size_t(i)]);
  }
  void order(const EvenStack<T>& u, const EvenStack<T>& vh, std::int64_t p) const {
    for (std::int64_t i = 0; i < n_; ++i)
      for (std::int64_t j = 0; j < n_; ++j) vh.at(p, i, j) = conj_of(u.at(p, j, places_[std::size_t(i)]));
    for (std::int64_t i = 0; i < n_; ++i)
      for (std::int64_t j = 0; j < n_; ++j) {
        u.at(p, j, i) = conj_of(vh.at(p, i, j));
        if (signed_[std::size_t(i)] < 0) vh.at(p, i, j) = -vh.at(p, i, j);
      }
  }

 private:
  std::int64_t n_;
  std::vector<std::int64_t> places_;
  std::vector<RealPart<T>> signed_;
};

// The singular values of matrices of which only the lower triangle is read.
nb::object hermitian_svd(Library& library, const View& a, std::uint64_t values, const std::optional<View>& u,
                         const std::optional<View>& vh, int threads) {
  nb::object found = syev(library, a, values, u, false, threads);
  if (!found.is_none()) return found;
  const Unlocked unlocked(is_long(a));
  with_type(a.dtype, [&]<class T>(T) {
    SingularOrder<T> singular(rows_of(a));
    for (std::int64_t p = 0, count = matrices_of(a); p < count; ++p) {
      singular.take(reinterpret_cast<RealPart<T>*>(values) + p * rows_of(a));
      if (u && vh) singular.order(by_rows<T>(*u), by_rows<T>(*vh), p);
    }
  });
  return found;
}

// Divides the rows of vh by their singular values, and sets to 0 those whose value is at most rcond times the
// largest. Writes how many remain.
void divide_by_values(const View& vh, std::uint64_t values, double rcond, std::uint64_t ranks) {
  const Unlocked unlocked(is_long(vh));
  with_type(vh.dtype, [&]<class T>(T) {
    using Real = RealPart<T>;
    const auto rows = by_rows<T>(vh);
    const auto* value = reinterpret_cast<const Real*>(values);
    auto* rank = reinterpret_cast<std::int64_t*>(ranks);
    for (std::int64_t p = 0; p < rows.count; ++p, ++rank) {
      const Real least = rows.rows > 0 ? Real(rcond) * *value : Real(0);
      *rank = 0;
      for (std::int64_t i = 0; i < rows.rows; ++i, ++value) {
        const bool counts = *value > least;
        *rank += counts;
        for (std::int64_t j = 0; j < rows.cols; ++j)
          rows.at(p, i, j) = counts ? rows.at(p, i, j) / *value : T(0);
      }
    }
  });
}

// Writes the sums of the squared absolute values of each column of x from row `first` on.
void sum_squares(const View& x, std::int64_t first, std::uint64_t sums) {
  const Unlocked unlocked(is_long(x));
  with_type(x.dtype, [&]<class T>(T) {
    const auto rows = by_rows<T>(x);
    auto* sum = reinterpret_cast<RealPart<T>*>(sums);
    for (std::int64_t p = 0; p < rows.count; ++p, sum += rows.cols) {
      std::fill_n(sum, rows.cols, RealPart<T>(0));
      for (std::int64_t i = first; i < rows.rows; ++i)
        for (std::int64_t j = 0; j < rows.cols; ++j) sum[j] += std::norm(rows.at(p, i, j));
    }
  });
}

std::optional<View> stack_or_none(const char* name, nb::handle object) {
  if (object.is_none()) return {};
  return host_stack(name, object);
}

void bind_least_squares(nb::module_& module, Library& library) {
  module.def(
      "gels",
      [&library](nb::handle a, nb::handle b, int threads) {
        return gels(library, host_stack("a", a), host_stack("b", b), threads);
      },
      nb::arg("a"), nb::arg("b"), nb::arg("threads"));
  module.def(
      "divide_by_values",
      [](nb::handle vh, std::uint64_t values, double rcond, std::uint64_t ranks) {
        divide_by_values(host_stack("vh", vh), values, rcond, ranks);
      },
      nb::arg("vh"), nb::arg("values"), nb::arg("rcond"), nb::arg("ranks"));
  module.def(
      "sum_squares",
      [](nb::handle x, std::int64_t first, std::uint64_t sums) {
        sum_squares(host_stack("x", x), first, sums);
      },
      nb::arg("x"), nb::arg("first"), nb::arg("sums"));
}

}  // namespace

void bind_decompositions(nb::module_& module, Library& library) {
  module.def(
      "geqrf",
      [&library](nb::handle a, std::uint64_t tau, int threads) {
        geqrf(library, host_stack("a", a), tau, threads);
      },
      nb::arg("a"), nb::arg("tau"), nb::arg("threads"));
  module.def(
      "qr",
      [&library](nb::handle a, nb::handle q, nb::handle r, int threads) {
        qr(library, host_stack("a", a), stack_or_none("q", q), host_stack("r", r), threads);
      },
      nb::arg("a"), nb::arg("q").none(), nb::arg("r"), nb::arg("threads"));
  module.def(
      "syev",
      [&library](nb::handle a, std::uint64_t values, nb::handle vectors, bool upper, int threads) {
        return syev(library, host_stack("a", a), values, stack_or_none("vectors", vectors), upper, threads);
      },
      nb::arg("a"), nb::arg("values"), nb::arg("vectors").none(), nb::arg("upper"), nb::arg("threads"));
  module.def(
      "gesvd",
      [&library](nb::handle a, std::uint64_t values, nb::handle u, nb::handle vh, int threads) {
        return gesvd(library, host_stack("a", a), values, stack_or_none("u", u), stack_or_none("vh", vh),
                     threads);
      },
      nb::arg("a"), nb::arg("values"), nb::arg("u").none(), nb::arg("vh").none(), nb::arg("threads"));
  module.def(
      "hermitian_svd",
      [&library](nb::handle a, std::uint64_t values, nb::handle u, nb::handle vh, int threads) {
        return hermitian_svd(library, host_stack("a", a), values, stack_or_none("u", u),
                             stack_or_none("vh", vh), threads);
      },
      nb::arg("a"), nb::arg("values"), nb::arg("u").none(), nb::arg("vh").none(), nb::arg("threads"));
  bind_least_squares(module, library);
}

}  // namespace tilewright::python
