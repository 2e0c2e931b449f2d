// Sums of products in device memory: calls whose lists lie there too, in runs of equal C, and stacks that are
// sorted once and run many times.
#pragma once

#include <span>

#include "core/product/faults.hpp"
#include "gemm/context_impl.hpp"
#include "gemm/sums/list.hpp"

namespace tilewright {

// Lists in device memory, which the host does not read: each C that a list names has one run in it. Stacks
// are queued one after the other. Throws Error before anything is queued.
void run_device_stacks(Context::Impl& context, std::span<const SumList> lists, const void* beta,
                       const GemmOptions& options);

// The products of one batch in device memory summed into one C; operands as plans take them, C as
// operands.lists.c of a pointer batch. Throws Error before anything is queued.
void run_device_reduce(Context::Impl& context, const GemmProblem& problem, const Operands& operands,
                       const GemmOptions& options, const ArgumentNames& names = argument_names);

// Where the entries of a list begin that name A, B and C. alpha and beta outlive the operands.
Operands operands_of_list(const SumList& list, const void* beta, CUstream_st* stream);

// The problem as plans see it, who serve any number of products: a power of four at least as large.
GemmProblem device_sums_problem(GemmProblem problem);

// What is wrong with a list whose products the host does not see.
std::optional<Fault> device_list_fault(const SumList& list);

}  // namespace tilewright
