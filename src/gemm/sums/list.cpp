// Checks lists in one pass each, and looks for the faulty product only if there is a fault.
#include "gemm/sums/list.hpp"

#include <algorithm>

#include "core/refuse.hpp"
#include "gemm/cpu_small/key.hpp"

namespace tilewright {
namespace {

constexpr std::int64_t largest_bytes = std::int64_t(1) << 62;

// The largest offset of a matrix that begins and ends within 62 bits of bytes.
std::uint64_t most_offset(std::int64_t ld, std::int64_t cols, std::int64_t size) {
  return std::uint64_t(largest_bytes / size - ld * cols);
}

std::optional<Fault> offset_fault(const ArgumentNames::Operand& x, std::int64_t offset, std::uint64_t most) {
  if (std::uint64_t(offset) <= most) return {};
  return Fault{x.matrix, x.number,
               offset < 0 ? fmt::format("the offset {} of {} is negative", offset, x.matrix)
                          : fmt::format("{} at offset {} ends behind 2^62 bytes", x.matrix, offset)};
}

std::optional<Fault> offsets_fault(const SumList& list, const StackOffsets& x) {
  const GemmProblem& p = list.problem;
  const std::int64_t size = size_bytes(p.dtype);
  if (list.reads_ab()) {
    if (auto fault = offset_fault(list.names->a, x.a, most_offset(p.lda, p.a_cols(), size))) return fault;
    if (auto fault = offset_fault(list.names->b, x.b, most_offset(p.ldb, p.b_cols(), size))) return fault;
  }
  return offset_fault(list.names->c, x.c, most_offset(p.ldc, p.n, size));
}

// True if a stack's description is certainly valid: a few compares, since a call may have many stacks.
bool is_plainly_right(const GemmProblem& p) {
  constexpr std::int64_t most = std::int64_t(1) << 28;
  const auto fits = [](std::int64_t ld, std::int64_t rows) { return ld >= rows && ld <= most; };
  return p.op_a <= Op::conj_trans && p.op_b <= Op::conj_trans && are_small_sizes(p) &&
         fits(p.lda, p.a_rows()) && fits(p.ldb, p.b_rows()) && fits(p.ldc, p.m) && p.batch_count >= 0 &&
         p.batch_count <= most;
}

// The largest offsets of a list.
struct LargestOffsets {
  std::uint64_t a = 0, b = 0, c = 0;
  bool ascends = true;
};

LargestOffsets largest_offsets(const SumList& list) {
  LargestOffsets most;
  std::uint64_t last = 0;
  for (std::int64_t i = 0; i < list.count(); ++i) {
    const StackOffsets x = list.offsets[i];
    const auto c = std::uint64_t(x.c);
    most.a = std::max(most.a, std::uint64_t(x.a));
    most.b = std::max(most.b, std::uint64_t(x.b));
    most.c = std::max(most.c, c);
    most.ascends &= c >= last;
    last = c;
  }
  return most;
}

std::optional<SumFault> each_address_fault(const SumList& list) {
  return with_products(list, [&](auto&& at) -> std::optional<SumFault> {
    for (std::int64_t i = 0; i < list.count(); ++i) {
      const SumProduct x = at(i);
      if (auto fault = address_fault({x.a, x.b, x.c}, list.reads_ab(), *list.names))
        return SumFault{*fault, i};
    }
    return {};
  });
}

// Reads each offset once if there is no fault and C lies apart from A and B.
std::optional<SumFault> find_offset_fault(const SumList& list, SumExtent& extent) {
  const LargestOffsets most = largest_offsets(list);
  const StackOffsets all{list.reads_ab() ? std::int64_t(most.a) : 0,
                         list.reads_ab() ? std::int64_t(most.b) : 0, std::int64_t(most.c)};
  if (offsets_fault(list, all))
    for (std::int64_t i = 0; i < list.count(); ++i)
      if (auto fault = offsets_fault(list, list.offsets[i])) return SumFault{*fault, i};
  const auto size = double(size_bytes(list.problem.dtype));
  extent = {most.ascends, {double(most.a) * size, double(most.b) * size, double(most.c) * size}};
  const auto begin = [](const void* base) { return double(reinterpret_cast<std::uintptr_t>(base)); };
  const auto meets_c = [&](const void* base, double bytes) {
    return begin(base) <= begin(list.c) + extent.bytes[2] && begin(list.c) <= begin(base) + bytes;
  };
  const bool meets = meets_c(list.a, extent.bytes[0]) || meets_c(list.b, extent.bytes[1]);
  return list.reads_ab() && meets ? each_address_fault(list) : std::nullopt;
}

std::optional<SumFault> find_address_fault(const SumList& list, SumExtent& extent) {
  const auto number = [](const void* address) { return reinterpret_cast<std::uintptr_t>(address); };
  extent.ascends = true;
  std::array<std::uintptr_t, 3> low{}, high{};
  with_products(list, [&](auto&& at) {
    std::uintptr_t last = 0;
    for (std::int64_t i = 0; i < list.count(); ++i) {
      const SumProduct x = at(i);
      const std::array all{number(x.a), number(x.b), number(x.c)};
      for (std::size_t j = 0; j < 3; ++j) {
        low[j] = i == 0 ? all[j] : std::min(low[j], all[j]);
        high[j] = std::max(high[j], all[j]);
      }
      extent.ascends &= all[2] >= last;
      last = all[2];
    }
  });
  for (std::size_t j = 0; j < 3; ++j) extent.bytes[j] = double(high[j] - low[j]);
  const auto meets_c = [&](std::size_t j) { return low[j] <= high[2] && low[2] <= high[j]; };
  const bool reads = list.reads_ab();
  const bool doubtful = low[2] == 0 || (reads && (low[0] == 0 || low[1] == 0 || meets_c(0) || meets_c(1)));
  return doubtful ? each_address_fault(list) : std::nullopt;
}

}  // namespace

std::optional<Fault> find_list_fault(const GemmProblem& p, const ArgumentNames& names) {
  // The caller calls it count, not batch_count.
  constexpr std::int64_t most = largest_bytes / std::int64_t(sizeof(StackOffsets));
  if (auto reason = negative_reason("count", p.batch_count)) return Fault{"count", 0, *reason};
  if (p.batch_count > most)
    return Fault{"count", 0, fmt::format("count = {} products span more than 2^62 bytes", p.batch_count)};
  return find_fault(p, names);
}

std::optional<SumFault> find_sum_fault(const SumList& list, SumExtent& extent) {
  const GemmProblem& p = list.problem;
  if (!is_plainly_right(p))
    if (auto fault = find_list_fault(p, *list.names)) return SumFault{*fault};
  if (!list.writes()) return {};
  if (list.offsets != nullptr && list.pointers != nullptr)
    return SumFault{{"offsets", 0, "offsets and pointers are both given"}};
  if (list.offsets == nullptr && list.pointers == nullptr && !list.by_arrays)
    return SumFault{{"offsets", 0, "neither offsets nor pointers are given"}};
  // The bases of offsets, or three arrays of addresses.
  if (list.pointers == nullptr)
    if (auto fault = null_fault({list.a, list.b, list.c}, list.reads_ab(), *list.names))
      return SumFault{*fault};
  return list.offsets != nullptr ? find_offset_fault(list, extent) : find_address_fault(list, extent);
}

void refuse_list(std::size_t list_count, std::size_t list, const SumFault& found) {
  const std::string of_many = list_count > 1 ? fmt::format("stack {}: ", list) : "";
  const std::string product = found.index >= 0 ? fmt::format("product {}: ", found.index) : "";
  refuse_argument(found.fault.argument, of_many + product + found.fault.message, found.index);
}

}  // namespace tilewright
