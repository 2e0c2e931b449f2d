// Checks views of layout conversions: errors name view, field, value and, for pointers, the problem.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "core/refuse.hpp"
#include "tilewright/types.hpp"

namespace tilewright::layout_check {

using Wide = __int128;

inline void check_number(const char* view, const char* field, std::int64_t value, std::int64_t least) {
  refuse_outside(fmt::format("{}.{}", view, field), value, least);
}

inline void check_equal(const char* field, std::int64_t from, std::int64_t to) {
  if (from == to) return;
  const std::string name = fmt::format("to.{}", field);
  refuse_argument(name, fmt::format("{} = {}, but from.{} = {}", name, to, field, from));
}

template <class View>
void check_shape(const char* view, const View& x) {
  check_number(view, "rows", x.rows, 0);
  check_number(view, "cols", x.cols, 0);
  check_number(view, "count", x.count, 0);
  if (const auto ld = fmt::format("{}.ld", view); x.ld < std::max<std::int64_t>(1, x.rows))
    refuse_argument(ld, short_ld_text(ld, x.ld, x.rows, view));
  if (x.data == nullptr && x.rows > 0 && x.cols > 0 && x.count > 0)
    refuse_argument(fmt::format("{}.data", view), fmt::format("{}.data is null", view));
}

// Limits the span, so that later code can count bytes in 64 bits. `repeats`: spans of ld * cols elements.
inline void check_span(const char* view, std::int64_t ld, std::int64_t cols, Wide repeats) {
  constexpr Wide limit = Wide(1) << 58;
  const Wide matrix = Wide(ld) * cols;
  if (matrix <= limit && repeats <= limit && matrix * repeats <= limit) return;
  refuse_argument(
      fmt::format("{}.ld", view),
      fmt::format("{}.ld = {} with cols = {} makes the batch span more than 2^58 elements", view, ld, cols));
}

template <class T, Location L>
void check_interleaved(const char* view, const InterleavedBatch<T, L>& x) {
  check_shape(view, x);
  check_number(view, "block", x.block, 1);
  check_span(view, x.ld, x.cols, (Wide(x.count) / x.block + 1) * x.block);
}

enum class ViewAccess : std::uint8_t { read, write };

// Refuses overlapping matrices of a written strided batch: they are disjoint or bands of one matrix's rows.
template <class T, Location L>
void check_plain(const char* view, const StridedBatch<T, L>& x, ViewAccess access) {
  check_shape(view, x);
  for (const auto& [name, count] :
       {std::pair("outer_count", x.outer_count), std::pair("outermost_count", x.outermost_count)})
    if (count != 1)
      refuse_argument(
          fmt::format("{}.{}", view, name),
          fmt::format("{}.{} = {}, but conversions take batches of one level", view, name, count));
  check_number(view, "stride", x.stride, 0);
  check_span(view, x.ld, x.cols, 1);
  if (Wide(x.count) * x.stride > Wide(1) << 58)
    refuse_argument(
        fmt::format("{}.stride", view),
        fmt::format("{}.stride = {} with count = {} spans more than 2^58 elements", view, x.stride, x.count));
  if (access == ViewAccess::read || x.count < 2 || x.rows == 0 || x.cols == 0) return;
  const bool apart = x.stride >= x.ld * (x.cols - 1) + x.rows;
  const bool bands = x.stride >= x.rows && (x.count - 1) * x.stride + x.rows <= x.ld;
  if (!apart && !bands)
    refuse_argument(fmt::format("{}.stride", view),
                    fmt::format("{}.stride = {} makes matrices of {} x {} with ld = {} overlap", view,
                                x.stride, x.rows, x.cols, x.ld));
}

// The device checks addresses in its own memory.
template <class T, Location L>
void check_plain(const char* view, const PointerBatch<T, L>& x, ViewAccess) {
  check_shape(view, x);
  check_span(view, x.ld, x.cols, 1);
  if (L == Location::device || x.rows == 0 || x.cols == 0) return;
  for (std::int64_t p = 0; p < x.count; ++p)
    if (x.data[p] == nullptr)
      refuse_argument(fmt::format("{}.data", view), fmt::format("{}.data[{}] is null", view, p), p);
}

template <class Plain, class T>
void check_pair(const Plain& from, const T& to) {
  check_equal("rows", from.rows, to.rows);
  check_equal("cols", from.cols, to.cols);
  check_equal("count", from.count, to.count);
}

}  // namespace tilewright::layout_check
