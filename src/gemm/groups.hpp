// Batches of different shapes: checks every group, gathers groups of one shape into a pointer batch each, and
// runs those through plans, side by side on the threads. A variable batch is groups of one problem.
#pragma once

#include <span>

#include "gemm/context_impl.hpp"

namespace tilewright {

template <class T>
void run_groups(Context::Impl& context, std::span<const GemmGroup<T>> groups, const GemmOptions& options,
                const BatchInfo& info);

}  // namespace tilewright
