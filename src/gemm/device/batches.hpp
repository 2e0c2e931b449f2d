// Grouped and variable batches in device memory. A group is a pointer batch with a plan of its own; a
// variable batch has one plan for all of its sizes, which the device reads.
#pragma once

#include <span>

#include "core/product/names.hpp"
#include "gemm/context_impl.hpp"

namespace tilewright {

template <class T>
void run_device_groups(Context::Impl& context, std::span<const GemmGroup<T, Location::device>> groups,
                       const GemmOptions& options, const BatchInfo& info,
                       const ArgumentNames& names = argument_names);

template <class T>
void run_device_variable(Context::Impl& context, const VariableBatch<T>& batch, const GemmOptions& options,
                         const BatchInfo& info);

// What a call on a GPU asks of its plan: with what kernel it can be served is decided here, before anything
// is queued. Throws Error(unsupported) where `reports` and the plan's kernel cannot.
std::shared_ptr<const GemmPlan::Impl> find_device_plan(Context::Impl& context, const GemmProblem& problem,
                                                       const GemmOptions& options, bool reports);

}  // namespace tilewright
