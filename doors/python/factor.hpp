// Stacks of matrices in host memory as factorizations read and write them, and the bindings of these: one
// call per stack. A stack has its matrices in the last two dimensions. Each call writes a new array by rows
// and reads arrays that lie anyhow and are broadcast to it. The package's Python half has checked types and
// shapes.
#pragma once

#include <nanobind/nanobind.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "library.hpp"
#include "lock.hpp"
#include "operand.hpp"
#include "product.hpp"
#include "tilewright/factor.hpp"

namespace tilewright::python {

inline View host_stack(const char* name, nanobind::handle object) {
  const View x = view_of(name, object);
  if (x.ndim < 2 || x.location != Location::host)
    throw Error(ErrorCode::invalid_argument, name,
                std::string(name) + " is not a stack of matrices in host memory");
  return x;
}

inline std::int64_t rows_of(const View& x) { return x.shape[x.ndim - 2]; }
inline std::int64_t cols_of(const View& x) { return x.shape[x.ndim - 1]; }
inline std::int64_t matrices_of(const View& x) {
  std::int64_t count = 1;
  for (int i = 0; i < x.ndim - 2; ++i) count *= x.shape[i];
  return count;
}

// True if a call of x, factors or right sides, is worth giving up Python's lock.
inline bool is_long(const View& x) {
  const auto rows = double(rows_of(x)), most = double(std::max(rows_of(x), cols_of(x)));
  return double(matrices_of(x)) * rows * rows * most > least_work_unlocked;
}

// The matrices of x, whose leading dimensions broadcast to those of `like`, in as few levels as join. Returns
// false for a stack that must be copied first: too many levels, or matrices that the library does not read.
template <class T>
bool read_stack(const View& x, const View& like, MatrixBatch<T>& to) {
  const int batch = like.ndim - 2, own = x.ndim - 2;
  if (!x.regular) return false;
  to.data = reinterpret_cast<T*>(x.data);
  to.rows = x.shape[own], to.cols = x.shape[own + 1];
  to.row_stride = x.strides[own], to.col_stride = x.strides[own + 1];
  if (to.row_stride == 1 && to.cols > 1 && to.col_stride < to.rows) return false;
  for (int i = batch - 1; i >= 0; --i) {
    const std::int64_t count = like.shape[i];
    const int at = i - (batch - own);
    const std::int64_t stride = at < 0 || x.shape[at] == 1 ? 0 : x.strides[at];
    if (count == 1) continue;
    auto* const inner = to.level_count == 0 ? nullptr : &to.levels[to.level_count - 1];
    if (inner != nullptr && stride == inner->count * inner->stride) {
      inner->count *= count;
      continue;
    }
    if (to.level_count == to.most_levels) return false;
    to.levels[to.level_count++] = {count, stride};
  }
  std::reverse(to.levels.begin(), to.levels.begin() + std::ptrdiff_t(to.level_count));
  return true;
}

// Returns None, or the first problem that has an info, and its info.
inline nanobind::object first_info(const std::vector<int>& infos) {
  const auto bad = std::find_if(infos.begin(), infos.end(), [](int info) { return info != 0; });
  if (bad == infos.end()) return nanobind::none();
  return nanobind::make_tuple(bad - infos.begin(), *bad);
}

inline FactorOptions with_threads(int threads) {
  FactorOptions options;
  options.threads = threads;
  return options;
}

// Runs call(T(), infos) without Python's lock on a written stack `x`, unless it has no elements.
template <class F>
nanobind::object run_stack(const View& x, F&& call) {
  std::vector<int> infos(std::size_t(matrices_of(x)), 0);
  bool reads = true;
  if (!infos.empty() && rows_of(x) > 0 && cols_of(x) > 0) {
    const Unlocked unlocked(is_long(x));
    with_type(x.dtype, [&]<class T>(T type) { reads = call(type, BatchInfo{InfoMode::all, infos.data()}); });
  }
  return reads ? first_info(infos) : nanobind::cast(false);
}

template <class T>
MatrixBatch<T> written(const View& x) {
  MatrixBatch<T> to;
  if (!read_stack<T>(x, x, to)) throw Error(ErrorCode::internal, "", "a new stack does not lie by rows");
  return to;
}

void bind_factor(nanobind::module_& module, Library& library);
void bind_decompositions(nanobind::module_& module, Library& library);

}  // namespace tilewright::python
