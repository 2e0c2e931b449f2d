// Grouped and variable batches in device memory. A group is a pointer batch with a plan of its own; a
// variable batch has one plan for all of its sizes, which the device reads.
#pragma once

#include <span>

#include "core/product/faults.hpp"
#include "gemm/context_impl.hpp"
#include "gemm/report.hpp"

namespace tilewright {

template <class T>
void run_device_groups(Context::Impl& context, std::span<const GemmGroup<T, Location::device>> groups,
                       const GemmOptions& options, const BatchInfo& info,
                       const ArgumentNames& names = argument_names);

template <class T>
void run_device_variable(Context::Impl& context, const VariableBatch<T>& batch, const GemmOptions& options,
                         const BatchInfo& info);

// Returns the plan of a call on a GPU. Throws Error(unsupported) if `reports` and the kernel cannot.
std::shared_ptr<const GemmPlan::Impl> find_device_plan(Context::Impl& context, const GemmProblem& problem,
                                                       const GemmOptions& options, bool reports);
// Finds the plan of one batch, writes its report and queues it.
void run_device_batch(Context::Impl& context, const GemmProblem& problem, Operands& operands,
                      const GemmOptions& options, const DeviceReport& report);

}  // namespace tilewright
