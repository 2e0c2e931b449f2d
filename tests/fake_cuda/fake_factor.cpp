// Computes factor_gpu and factor_gpu_large by plain loops: triangles are lower ones, as the kernel sees them.
#include <cmath>
#include <complex>
#include <string>
#include <utility>
#include <vector>

#include "core/dispatch.hpp"
#include "fake_kernels.hpp"
#include "kernel/factor_gpu_large/config.hpp"
#include "shape_text.hpp"

namespace tilewright::fake_cuda {
namespace {

template <class T>
T conjugated(T x, bool yes) {
  if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>)
    return yes ? std::conj(x) : x;
  else
    return x;
}
template <class T>
double size_of(T x) {
  return std::abs(std::real(x)) + std::abs(std::imag(x));
}

// A matrix by columns.
template <class T>
struct Matrix {
  int m, n;
  std::vector<T> data = std::vector<T>(std::size_t(m * n));
  T& operator()(int i, int j) { return data[std::size_t(j * m + i)]; }
};

template <class T>
T* element(const FactorGpuOperand<T>& x, FactorGpuPlace place, bool by_rows, long long p, int i, int j) {
  T* matrix = x.data + p * x.stride;
  if (place == FactorGpuPlace::pointers) matrix = x.pointers[p];
  if (place == FactorGpuPlace::interleaved) matrix = x.data + p / x.block * x.block_stride + p % x.block;
  return matrix + (by_rows ? i : j) * x.line + (by_rows ? j : i) * x.element;
}

template <class T>
int cholesky(Matrix<T>& a) {
  for (int k = 0; k < a.n; ++k) {
    double d = std::real(a(k, k));
    for (int j = 0; j < k; ++j) d -= std::norm(a(k, j));
    if (!(d > 0)) return k + 1;
    a(k, k) = T(std::sqrt(d));
    for (int i = k + 1; i < a.n; ++i) {
      for (int j = 0; j < k; ++j) a(i, k) -= product(a(i, j), conjugated(a(k, j), true));
      a(i, k) /= a(k, k);
    }
  }
  return 0;
}

template <class T>
int lu(Matrix<T>& a, bool pivots, std::vector<int>& numbers) {
  int info = 0;
  for (int k = 0; k < a.n && k < a.m; ++k) {
    int p = k;
    for (int i = k; i < a.m && pivots; ++i)
      if (size_of(a(i, k)) > size_of(a(p, k))) p = i;
    numbers[std::size_t(k)] = p + 1;
    for (int j = 0; j < a.n && p != k; ++j) std::swap(a(k, j), a(p, j));
    if (a(k, k) == T(0) && info == 0) info = k + 1;
    for (int i = k + 1; i < a.m; ++i) {
      if (a(k, k) != T(0)) a(i, k) /= a(k, k);
      for (int j = k + 1; j < a.n; ++j) a(i, j) -= product(a(i, k), a(k, j));
    }
  }
  return info;
}

template <class T>
void divide(Matrix<T>& a, bool lower, bool trans, bool conj, bool unit, std::vector<T>& x) {
  const bool forward = lower != trans;
  for (int step = 0; step < a.n; ++step) {
    const int k = forward ? step : a.n - 1 - step;
    for (int j = forward ? 0 : k + 1; j < (forward ? k : a.n); ++j)
      x[std::size_t(k)] -= product(conjugated(trans ? a(j, k) : a(k, j), conj), x[std::size_t(j)]);
    if (!unit) x[std::size_t(k)] /= conjugated(a(k, k), conj);
  }
}

template <class T>
void solve_one(const FactorGpuShape& s, Matrix<T>& a, const std::vector<int>& pivots, std::vector<T>& x) {
  const auto exchange = [&](int k) {
    std::swap(x[std::size_t(k)], x[std::size_t(pivots[std::size_t(k)] - 1)]);
  };
  if (s.solve == FactorGpuSolve::triangle) return divide(a, true, s.trans, s.conj, s.unit, x);
  if (s.solve == FactorGpuSolve::cholesky) {
    divide(a, true, false, s.conj, false, x);
    return divide(a, true, true, !s.conj, false, x);
  }
  for (int k = 0; k < a.n && s.exchanges && !s.trans; ++k) exchange(k);
  divide(a, s.trans ? false : true, s.trans, s.conj, !s.trans, x);
  divide(a, s.trans ? true : false, s.trans, s.conj, s.trans, x);
  for (int k = a.n - 1; k >= 0 && s.exchanges && s.trans; --k) exchange(k);
}

template <class T>
struct FactorProblem {
  const FactorGpuShape& s;
  const FactorGpuArgs<T>& x;
  const Memory& memory;
  int device;
  long long p;

  bool holds(const void* at, std::size_t bytes) const {
    return memory.holds(reinterpret_cast<unsigned long long>(at), bytes, device);
  }
  T* a(int i, int j) const { return element(x.a, s.a_place, s.a_by_rows, p, i, j); }
  T* b(int i, int c) const { return element(x.b, s.b_place, s.b_by_rows, p, i, c); }

  bool solve(Matrix<T>& with, const std::vector<int>& pivots) const {
    for (int c = 0; c < s.nrhs; ++c) {
      std::vector<T> side(std::size_t(s.n), T(0));
      for (int i = 0; i < s.n; ++i) {
        if (!holds(b(i, c), sizeof(T))) return false;
        side[std::size_t(i)] = s.identity ? T(i == c) : *b(i, c);
        if (s.scales) side[std::size_t(i)] = product(x.alpha, side[std::size_t(i)]);
      }
      solve_one(s, with, pivots, side);
      for (int i = s.half ? c : 0; i < s.n; ++i) *b(i, c) = side[std::size_t(i)];
    }
    return true;
  }
  bool run() const {
    const bool half = s.method == FactorGpuMethod::cholesky || s.solve == FactorGpuSolve::triangle ||
                      s.solve == FactorGpuSolve::cholesky;
    Matrix<T> m{s.n, s.n};
    for (int j = 0; j < s.n; ++j)
      for (int i = half ? j : 0; i < s.n; ++i) {
        if (!holds(a(i, j), sizeof(T))) return false;
        m(i, j) = *a(i, j);
      }
    const bool factors_lu = s.method == FactorGpuMethod::lu || s.method == FactorGpuMethod::lu_without_pivots;
    std::vector<int> pivots(std::size_t(s.n), 0);
    int info = 0;
    if (s.exchanges && !factors_lu) pivots.assign(x.pivots + p * s.n, x.pivots + (p + 1) * s.n);
    if (s.method == FactorGpuMethod::cholesky) info = cholesky(m);
    if (factors_lu) info = lu(m, s.method == FactorGpuMethod::lu, pivots);
    for (int k = s.n; k-- > 0 && s.checks_diagonal;)
      if (m(k, k) == T(0)) info = k + 1;
    for (int j = 0; j < s.n && s.writes_a; ++j)
      for (int i = half ? j : 0; i < s.n; ++i) *a(i, j) = m(i, j);
    if (s.writes_a && s.exchanges) std::copy(pivots.begin(), pivots.end(), x.pivots + p * s.n);
    if (s.writes_det) {
      T value = T(1);
      for (int k = 0; k < s.n; ++k)
        value = product(value, pivots[std::size_t(k)] == k + 1 ? m(k, k) : -m(k, k));
      x.det[p] = value;
    }
    if (x.info != nullptr && (x.info_step != 0 || info != 0)) x.info[p * x.info_step] = info;
    return s.solve == FactorGpuSolve::none || info != 0 || solve(m, pivots);
  }
};

// The kernels of any order: one factors, into A or beside it; one solves with what lies in A.
template <class T>
struct LargeFactorProblem {
  const FactorGpuShape& s;
  const FactorLargeArgs<T>& x;
  const Memory& memory;
  int device;
  long long p;

  bool holds(const void* at) const {
    return memory.holds(reinterpret_cast<unsigned long long>(at), sizeof(T), device);
  }
  T* a(int i, int j) const { return element(x.a, s.a_place, s.a_by_rows, p, i, j); }
  T* factors(int i, int j) const {
    return s.writes_a ? a(i, j) : element(x.factors, FactorGpuPlace::strided, false, p, i, j);
  }
  bool read(Matrix<T>& m, bool half) const {
    for (int j = 0; j < m.n; ++j)
      for (int i = half ? j : 0; i < m.m; ++i) {
        if (!holds(a(i, j))) return false;
        m(i, j) = *a(i, j);
      }
    return true;
  }

  bool factor() const {
    const bool half = s.method == FactorGpuMethod::cholesky || s.half;
    const bool pivoted = s.method == FactorGpuMethod::lu;
    Matrix<T> m{x.m, x.n};
    if (!read(m, half)) return false;
    const int steps = x.m < x.n ? x.m : x.n;
    std::vector<int> pivots(std::size_t(steps), 0);
    int info = 0;
    if (s.method == FactorGpuMethod::cholesky) info = cholesky(m);
    if (pivoted || s.method == FactorGpuMethod::lu_without_pivots) info = lu(m, pivoted, pivots);
    for (int k = x.n; k-- > 0 && s.checks_diagonal;)
      if (m(k, k) == T(0)) info = k + 1;
    if (s.writes_a || x.factors.data != nullptr)
      for (int j = 0; j < x.n; ++j)
        for (int i = half ? j : 0; i < x.m; ++i) {
          if (!holds(factors(i, j))) return false;
          *factors(i, j) = m(i, j);
        }
    if (pivoted && s.exchanges) std::copy(pivots.begin(), pivots.end(), x.pivots + p * steps);
    if (s.writes_det) {
      x.det[p] = T(1);
      for (int k = 0; k < x.n; ++k)
        x.det[p] = product(x.det[p], !pivoted || pivots[std::size_t(k)] == k + 1 ? m(k, k) : -m(k, k));
    }
    if (x.codes != nullptr) x.codes[p] = info;
    if (x.info != nullptr && (x.info_step != 0 || info != 0)) x.info[p * x.info_step] = info;
    return true;
  }

  bool solve() const {
    if (x.codes != nullptr && x.codes[p] != 0) return true;
    if (x.codes == nullptr && x.info != nullptr && x.info_step != 0) x.info[p] = 0;
    Matrix<T> m{x.n, x.n};
    if (!read(m, s.solve != FactorGpuSolve::lu)) return false;
    std::vector<int> pivots;
    if (s.exchanges) pivots.assign(x.pivots + p * x.n, x.pivots + (p + 1) * x.n);
    for (int c = 0; c < x.nrhs; ++c) {
      std::vector<T> side(std::size_t(x.n), T(0));
      const auto b = [&](int i) { return element(x.b, s.b_place, s.b_by_rows, p, i, c); };
      for (int i = 0; i < x.n; ++i) {
        if (!holds(b(i))) return false;
        side[std::size_t(i)] = s.identity ? T(i == c) : *b(i);
        if (s.scales) side[std::size_t(i)] = product(x.alpha, side[std::size_t(i)]);
      }
      solve_one(s, m, pivots, side);
      for (int i = s.half ? c : 0; i < x.n; ++i) *b(i) = side[std::size_t(i)];
    }
    return true;
  }
};

template <class T>
Work typed_large_factor(const std::string& expression, const void* arguments) {
  return [s = shape_of<FactorGpuShape>(expression, "FactorGpuShape{"),
          solves = expression.find("solve_large<") != std::string::npos,
          x = *static_cast<const FactorLargeArgs<T>*>(arguments)](const Memory& memory, int device) {
    for (long long p = 0; p < x.count; ++p) {
      const LargeFactorProblem<T> problem{s, x, memory, device, p};
      if (!(solves ? problem.solve() : problem.factor())) return false;
    }
    return true;
  };
}

template <class T>
Work typed_factor(const std::string& expression, const void* arguments) {
  if (expression.find("_large<") != std::string::npos) return typed_large_factor<T>(expression, arguments);
  return [s = shape_of<FactorGpuShape>(expression, "FactorGpuShape{"),
          x = *static_cast<const FactorGpuArgs<T>*>(arguments)](const Memory& memory, int device) {
    for (long long p = 0; p < x.count; ++p)
      if (!FactorProblem<T>{s, x, memory, device, p}.run()) return false;
    return true;
  };
}

}  // namespace

Work make_factor_kernel(const std::string& expression, const void* arguments) {
  if (expression.find("Complex<float>") != std::string::npos)
    return typed_factor<std::complex<float>>(expression, arguments);
  if (expression.find("Complex<double>") != std::string::npos)
    return typed_factor<std::complex<double>>(expression, arguments);
  if (expression.find("<float") != std::string::npos) return typed_factor<float>(expression, arguments);
  return typed_factor<double>(expression, arguments);
}

}  // namespace tilewright::fake_cuda
