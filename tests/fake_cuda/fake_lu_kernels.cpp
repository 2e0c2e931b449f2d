// The kernels of LU by plain loops: a panel kernel without threads, clusters and exchanges. Each checks that
// its matrix lies in the device's memory.
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdlib>
#include <vector>

#include "fake_kernels.hpp"
#include "kernel/lu_panel/config.hpp"
#include "kernel/lu_rows/config.hpp"

namespace tilewright::fake_cuda {
namespace {

unsigned long long number(const void* address) { return reinterpret_cast<unsigned long long>(address); }

// A matrix of this many rows and columns.
template <class T>
bool is_inside(const Memory& memory, int device, const T* a, long long ld, long long rows,
               long long columns) {
  if (rows <= 0 || columns <= 0) return true;
  return memory.holds(number(a), sizeof(T), device) &&
         memory.holds(number(a + (columns - 1) * ld + rows - 1), sizeof(T), device);
}

template <class T>
double size_of(const T& x) {
  return double(std::abs(std::real(x))) + double(std::abs(std::imag(x)));
}

template <class T>
bool panel(const LuPanelArgs<T>& x, const Memory& memory, int device) {
  const int steps = std::min(x.m, x.n);
  if (!is_inside(memory, device, x.a, x.ld, x.m, x.n) || !memory.holds(number(x.info), 8, device) ||
      !memory.holds(number(x.pivots), std::size_t(steps) * 8, device) ||
      !memory.holds(number(x.moves), std::size_t(2 + 4 * x.n) * 4, device))
    return false;
  std::vector<int> origin(std::size_t(x.m));
  for (int i = 0; i < x.m; ++i) origin[std::size_t(i)] = i;
  const auto at = [&](long long i, long long j) -> T& { return x.a[i + j * x.ld]; };
  for (int j = 0; j < steps; ++j) {
    int p = j;
    for (int i = j + 1; i < x.m; ++i)
      if (size_of(at(i, j)) > size_of(at(p, j))) p = i;
    x.pivots[j] = x.first_row + p + 1;
    std::swap(origin[std::size_t(j)], origin[std::size_t(p)]);
    for (int c = 0; c < x.n; ++c) std::swap(at(j, c), at(p, c));
    if (at(j, j) == T(0)) {
      if (*x.info == 0) *x.info = x.first_column + j + 1;
      continue;
    }
    for (int i = j + 1; i < x.m; ++i) {
      at(i, j) /= at(j, j);
      for (int c = j + 1; c < x.n; ++c) at(i, c) -= at(i, j) * at(j, c);
    }
  }
  int moves = 0;
  for (int i = 0; i < x.m; ++i)
    if (origin[std::size_t(i)] != i) {
      x.moves[2 + 2 * moves] = origin[std::size_t(i)];
      x.moves[3 + 2 * moves++] = i;
    }
  x.moves[0] = moves;
  return true;
}

// Moves rows of one column, each `shift` further down than in the list.
template <class T>
void move_rows(T* column, const int* list, long long shift) {
  std::vector<T> moved;
  for (int i = 0; i < list[0]; ++i) moved.push_back(column[list[2 + 2 * i] + shift]);
  for (int i = 0; i < list[0]; ++i) column[list[3 + 2 * i] + shift] = moved[std::size_t(i)];
}

template <class T>
bool swap(const LuSwapArgs<T>& x, const Memory& memory, int device) {
  if (!is_inside(memory, device, x.a, x.ld, 1, x.columns)) return false;
  for (long long c = 0; c < x.columns; ++c)
    for (int i = 0; i < x.lists; ++i)
      if (!x.of_own_block || i > c / x.rows_apart)
        move_rows(x.a + c * x.ld, x.moves + i * x.list_ints, (long long)(i)*x.rows_apart);
  return true;
}

template <class T>
bool move(const LuMoveArgs<T>& x, const Memory& memory, int device) {
  if (!is_inside(memory, device, x.a, x.ld, 1, x.columns)) return false;
  for (long long c = 0; c < x.columns; ++c) move_rows(x.a + c * x.ld, x.moves, 0);
  return true;
}

template <class T>
bool solve(const LuSolveArgs<T>& x, const Memory& memory, int device) {
  if (!is_inside(memory, device, x.b, x.ld, x.n, x.columns) ||
      !is_inside(memory, device, x.l, x.l_ld, x.n, x.n))
    return false;
  for (long long c = 0; c < x.columns; ++c) {
    T* const b = x.b + c * x.ld;
    if (x.moves != nullptr) move_rows(b, x.moves, 0);
    for (int k = 0; k < x.n; ++k)
      for (int i = k + 1; i < x.n; ++i) b[i] -= x.l[i + k * x.l_ld] * b[k];
  }
  return true;
}

template <class T>
bool close(const LuCloseArgs<T>& x, const Memory& memory, int device) {
  if (!is_inside(memory, device, x.l, x.ld, x.n, x.n) ||
      !is_inside(memory, device, x.inverse, x.n, x.n, x.n) ||
      !memory.holds(number(x.merged), std::size_t(2 + 4 * x.n) * 4, device))
    return false;
  for (int c = 0; c < x.n; ++c) {
    T* const column = x.inverse + (long long)(c)*x.n;
    for (int i = 0; i < x.n; ++i) column[i] = T(i == c ? 1 : 0);
    for (int k = c; k < x.n; ++k)
      for (int i = k + 1; i < x.n; ++i) column[i] -= x.l[i + k * x.ld] * column[k];
  }
  std::vector<int> origin(std::size_t(x.m));
  for (int i = 0; i < x.m; ++i) origin[std::size_t(i)] = i;
  for (int i = 0; i < x.lists; ++i)
    move_rows(origin.data(), x.moves + i * x.list_ints, (long long)(i)*x.rows_apart);
  int moves = 0;
  for (int i = 0; i < x.m; ++i)
    if (origin[std::size_t(i)] != i) {
      x.merged[2 + 2 * moves] = origin[std::size_t(i)];
      x.merged[3 + 2 * moves++] = i;
    }
  x.merged[0] = moves;
  return true;
}

template <class T>
bool copy(const LuCopyArgs<T>& x, const Memory& memory, int device) {
  if (!is_inside(memory, device, x.from, x.from_ld, x.rows, x.columns) ||
      !is_inside(memory, device, x.to, x.to_ld, x.rows, x.columns))
    return false;
  for (long long c = 0; c < x.columns; ++c) std::copy_n(x.from + c * x.from_ld, x.rows, x.to + c * x.to_ld);
  return true;
}

template <class T>
bool order(const LuOrderArgs& x, const Memory& memory, int device) {
  if (!memory.holds(number(x.pivots), std::size_t(x.n) * 8, device) ||
      !memory.holds(number(x.order), std::size_t(x.n) * 4, device))
    return false;
  for (int i = 0; i < x.n; ++i) x.order[i] = i;
  for (int i = 0; i < x.n; ++i) std::swap(x.order[i], x.order[x.pivots[i] - 1]);
  return true;
}

template <class T>
bool take(const LuTakeArgs<T>& x, const Memory& memory, int device) {
  if (!is_inside(memory, device, x.from, x.from_ld, x.n, x.columns) ||
      !is_inside(memory, device, x.to, x.to_ld, x.n, x.columns) ||
      !memory.holds(number(x.order), std::size_t(x.n) * 4, device))
    return false;
  for (long long c = 0; c < x.columns; ++c)
    for (int i = 0; i < x.n; ++i)
      if (x.back)
        x.to[x.order[i] + c * x.to_ld] = x.from[i + c * x.from_ld];
      else
        x.to[i + c * x.to_ld] = x.from[x.order[i] + c * x.from_ld];
  return true;
}

template <class T>
bool invert(const LuInvertArgs<T>& x, const Memory& memory, int device) {
  const int blocks = (x.n + x.nb - 1) / x.nb;
  if (!is_inside(memory, device, x.lu, x.ld, x.n, x.n) ||
      !memory.holds(number(x.inverses), sizeof(T) * std::size_t(2 * blocks * x.nb) * std::size_t(x.nb),
                    device))
    return false;
  const int groups = lu_inverse_groups(x.nb);
  if (!memory.holds(number(x.must_divide), std::size_t(blocks * groups) * 4, device)) return false;
  std::fill_n(x.must_divide, blocks * groups, 0);
  for (int b = 0; b < blocks; ++b) {
    const int first = b * x.nb, n = std::min(x.nb, x.n - first);
    const auto at = [&](int i, int j) { return x.lu[first + i + (first + j) * x.ld]; };
    for (const bool upper : {false, true}) {
      T* const inverse = x.inverses + (long long)(b + (upper ? blocks : 0)) * x.nb * x.nb;
      for (int c = 0; c < n; ++c) {
        T* const column = inverse + (long long)(c)*n;
        for (int i = 0; i < n; ++i) column[i] = T(i == c ? 1 : 0);
        if (!upper)
          for (int k = c; k < n; ++k)
            for (int i = k + 1; i < n; ++i) column[i] -= at(i, k) * column[k];
        else
          for (int k = c; k >= 0; --k) {
            column[k] /= at(k, k);
            for (int i = 0; i < k; ++i) column[i] -= at(i, k) * column[k];
          }
        if (upper && (!std::all_of(column, column + n, [](const T& v) {
              return std::isfinite(std::abs(v));
            }) || 1 / std::abs(at(c, c)) < std::numeric_limits<decltype(std::abs(T()))>::min()))
          x.must_divide[b * groups + c / 8] = 1;
      }
    }
  }
  return true;
}

// Does the same as the kernel: inverses may produce NaN and Inf, and the solve by division repairs the
// elements that they spoil.
template <class T>
bool divide(const LuDivideArgs<T>& x, const Memory& memory, int device) {
  if (!is_inside(memory, device, x.u, x.ld, x.n, x.n) ||
      !is_inside(memory, device, x.b, x.b_ld, x.n, x.columns) ||
      !is_inside(memory, device, x.x, x.x_ld, x.n, x.columns) ||
      !memory.holds(number(x.must_divide), std::size_t(x.groups) * 4, device))
    return false;
  if (std::all_of(x.must_divide, x.must_divide + x.groups, [](int told) { return told == 0; })) return true;
  const auto at = [&](int i, int j) {
    T value = x.op == 0 ? x.u[i + j * x.ld] : x.u[j + i * x.ld];
    if constexpr (!std::is_floating_point_v<T>)
      if (x.op == 2) value = std::conj(value);
    return value;
  };
  for (long long c = 0; c < x.columns; ++c) {
    T* const column = x.x + c * x.x_ld;
    std::copy_n(x.b + c * x.b_ld, x.n, column);
    for (int step = 0; step < x.n; ++step) {
      const int k = x.op == 0 ? x.n - 1 - step : step;
      column[k] /= at(k, k);
      for (int i = x.op == 0 ? 0 : k + 1; i < (x.op == 0 ? k : x.n); ++i) column[i] -= at(i, k) * column[k];
    }
  }
  return true;
}

template <class T, class R>
bool magnitudes(const LuMagnitudesArgs<T, R>& x, const Memory& memory, int device) {
  if (!is_inside(memory, device, x.from, x.from_ld, x.rows, x.columns) ||
      !is_inside(memory, device, x.to, x.to_ld, x.rows, x.columns))
    return false;
  for (long long c = 0; c < x.columns; ++c)
    for (long long i = 0; i < x.rows; ++i) x.to[i + c * x.to_ld] = R(size_of(x.from[i + c * x.from_ld]));
  return true;
}

template <class T, class R>
bool backward_error(const LuBackwardErrorArgs<T, R>& x, const Memory& memory, int device) {
  if (!is_inside(memory, device, x.r, x.n, x.n, x.columns) ||
      !is_inside(memory, device, x.bound, x.n, x.n, x.columns) ||
      !memory.holds(number(x.progress), sizeof(LuRefined) * std::size_t(x.columns), device))
    return false;
  for (long long c = 0; c < x.columns; ++c)
    for (int i = 0; i < x.n && x.progress[c].is_active != 0; ++i) {
      const R r = R(size_of(x.r[i + c * x.n])), bound = x.bound[i + c * x.n];
      const double ratio = double(bound > x.safe2 ? r / bound : (r + x.safe1) / (bound + x.safe1));
      if (!std::isnan(x.progress[c].now) && !(ratio <= x.progress[c].now)) x.progress[c].now = ratio;
    }
  return true;
}

bool go_on(const LuGoOnArgs& x, const Memory& memory, int device) {
  if (!memory.holds(number(x.progress), sizeof(LuRefined) * std::size_t(x.columns), device) ||
      !memory.holds(number(x.errors), sizeof(double) * std::size_t(x.columns), device))
    return false;
  for (long long c = 0; c < x.columns; ++c) {
    LuRefined& one = x.progress[c];
    if (one.is_active == 0) continue;
    x.errors[c] = one.now;
    one.is_active = one.now > x.eps && 2 * one.now <= one.last ? 1 : 0;
    one.last = one.now, one.now = 0;
  }
  return true;
}

template <class T>
bool improve(const LuImproveArgs<T>& x, const Memory& memory, int device) {
  if (!is_inside(memory, device, x.r, x.n, x.n, x.columns) ||
      !is_inside(memory, device, x.x, x.x_ld, x.n, x.columns))
    return false;
  for (long long c = 0; c < x.columns; ++c)
    for (int i = 0; i < x.n && x.progress[c].is_active != 0; ++i) x.x[i + c * x.x_ld] += x.r[i + c * x.n];
  return true;
}

template <class Args>
Work bound(bool (*kernel)(const Args&, const Memory&, int), const void* arguments) {
  return [kernel, x = *static_cast<const Args*>(arguments)](const Memory& memory, int device) {
    return kernel(x, memory, device);
  };
}

template <class T>
Work typed_lu(const std::string& expression, const void* arguments) {
  const auto is = [&](const char* name) { return expression.find(name) != std::string::npos; };
  if (is("::lu_panel<")) return bound<LuPanelArgs<T>>(panel<T>, arguments);
  if (is("::lu_swap<")) return bound<LuSwapArgs<T>>(swap<T>, arguments);
  if (is("::lu_move<")) return bound<LuMoveArgs<T>>(move<T>, arguments);
  if (is("::lu_solve<")) return bound<LuSolveArgs<T>>(solve<T>, arguments);
  if (is("::lu_close<")) return bound<LuCloseArgs<T>>(close<T>, arguments);
  if (is("::lu_order<")) return bound<LuOrderArgs>(order<T>, arguments);
  if (is("::lu_take<")) return bound<LuTakeArgs<T>>(take<T>, arguments);
  using R = decltype(std::abs(T()));
  if (is("::lu_magnitudes<")) return bound<LuMagnitudesArgs<T, R>>(magnitudes<T, R>, arguments);
  if (is("::lu_backward_error<")) return bound<LuBackwardErrorArgs<T, R>>(backward_error<T, R>, arguments);
  if (is("::lu_go_on<")) return bound<LuGoOnArgs>(go_on, arguments);
  if (is("::lu_improve<")) return bound<LuImproveArgs<T>>(improve<T>, arguments);
  if (is("::lu_divide<")) return bound<LuDivideArgs<T>>(divide<T>, arguments);
  if (is("::lu_invert_diagonal<")) return bound<LuInvertArgs<T>>(invert<T>, arguments);
  return bound<LuCopyArgs<T>>(copy<T>, arguments);
}

}  // namespace

Work make_lu_kernel(const std::string& expression, const void* arguments) {
  if (expression.find("Complex<float>") != std::string::npos)
    return typed_lu<std::complex<float>>(expression, arguments);
  if (expression.find("Complex<double>") != std::string::npos)
    return typed_lu<std::complex<double>>(expression, arguments);
  if (expression.find("<float") != std::string::npos) return typed_lu<float>(expression, arguments);
  return typed_lu<double>(expression, arguments);
}

}  // namespace tilewright::fake_cuda
