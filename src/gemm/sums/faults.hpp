// What is wrong with lists of products: their descriptions, their arrays, and each offset or address in
// these.
#pragma once

#include <array>

#include "core/product/faults.hpp"
#include "gemm/sums/list.hpp"

namespace tilewright {

// The fault of a list's description, of its arrays or of one of its products (`index`, else -1).
struct SumFault {
  Fault fault;
  std::int64_t index = -1;
};
// What checking a list tells of it beside.
struct SumExtent {
  bool ascends = false;           // each C begins at or behind the one before
  std::array<double, 3> bytes{};  // from the first begin of an A, B, C to the last
};
std::optional<SumFault> find_sum_fault(const SumList& list, SumExtent& extent);
// The same of the description alone, before any offset or address is read.
std::optional<Fault> find_list_fault(const GemmProblem& problem, const ArgumentNames& names);

// Throws Error(invalid_argument) with a list's fault, naming the stack where there are several, and the
// product.
[[noreturn]] void refuse_list(std::size_t list_count, std::size_t list, const SumFault& fault);

}  // namespace tilewright
