// Stacks of matrices as factorizations read and write them, and the bindings of these: one call per stack. A
// stack has its matrices in the last two dimensions. Each call writes a new array and reads arrays that lie
// anyhow and are broadcast to it; on a GPU it is queued. The package's Python half has checked types and
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

inline View any_stack(const char* name, nanobind::handle object) {
  const View x = view_of(name, object);
  if (x.ndim < 2)
    throw Error(ErrorCode::invalid_argument, name, std::string(name) + " is not a stack of matrices");
  return x;
}
inline View host_stack(const char* name, nanobind::handle object) {
  const View x = any_stack(name, object);
  if (x.location != Location::host)
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

// True if kernels can read x: each element lies at a multiple of its size.
inline bool is_aligned(const View& x) {
  return reinterpret_cast<std::uintptr_t>(x.data) % std::uintptr_t(size_bytes(x.dtype)) == 0;
}

// The matrices of x, whose leading dimensions broadcast to those of `like`, in as few levels as join. Returns
// false for a stack that must be copied first: too many levels, or matrices that the library does not read.
// On a GPU each part of a second level would be a launch.
template <class T, Location L>
bool read_stack(const View& x, const View& like, MatrixBatch<T, L>& to) {
  constexpr std::size_t most_levels = L == Location::device ? 1 : MatrixBatch<T, L>::most_levels;
  const int batch = like.ndim - 2, own = x.ndim - 2;
  if (!x.regular || (L == Location::device && !is_aligned(x))) return false;
  to.data = reinterpret_cast<T*>(x.data);
  to.rows = x.shape[own], to.cols = x.shape[own + 1];
  to.row_stride = x.strides[own], to.col_stride = x.strides[own + 1];
  if (to.rows == 0 || to.cols == 0 || matrices_of(like) == 0) {  // strides then have no meaning
    to.level_count = 1, to.levels[0] = {matrices_of(like), 0};
    return true;
  }
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
    if (to.level_count == most_levels) return false;
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

// Runs call(T(), infos) without Python's lock on a written stack `x` in host memory.
template <class F>
nanobind::object run_stack(const View& x, F&& call) {
  std::vector<int> infos(std::size_t(matrices_of(x)), 0);
  const BatchInfo to{infos.empty() ? InfoMode::none : InfoMode::all, infos.data()};
  bool reads = true;
  {
    const Unlocked unlocked(is_long(x));
    with_type(x.dtype, [&]<class T>(T type) { reads = call(type, to); });
  }
  return reads ? first_info(infos) : nanobind::cast(false);
}

template <class T, Location L = Location::host>
MatrixBatch<T, L> written(const View& x) {
  MatrixBatch<T, L> to;
  if (!read_stack(x, x, to)) throw Error(ErrorCode::internal, "", "a new stack does not lie in one piece");
  return to;
}

void bind_factor(nanobind::module_& module, Library& library);
void bind_decompositions(nanobind::module_& module, Library& library);

}  // namespace tilewright::python
