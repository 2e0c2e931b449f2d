// Calls that sum products into one C on the host: checks all of the lists, finds what forms the sums of each
// shape, and runs it.
#pragma once

#include <array>
#include <span>

#include "core/product/faults.hpp"
#include "gemm/context_impl.hpp"
#include "gemm/sums/run.hpp"

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

// The kernel for the sums of a valid problem, made at the first request; null where its sizes have none. What
// does not enter the code must be the same for all: counts, runs and, but for classes, strides.
using SumKernel = std::shared_ptr<const GemmSmallCpuKernel>;
SumKernel find_sum_kernel(Context::Impl& context, const GemmProblem& problem, const GemmOptions& options);

// What forms the sums of a valid stack.
SumCode find_sum_code(Context::Impl& context, const SumList& list, const GemmOptions& options);

// C = sum of the products that name it + beta * C for each C that the lists name. Throws Error before
// anything is written.
void run_stacks(Context::Impl& context, std::span<const SumList> lists, const void* beta,
                const GemmOptions& options);

}  // namespace tilewright
