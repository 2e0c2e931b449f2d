// Our own side of a case: the plan (or, for grouped and variable batches, the call) as something that can be
// run on any of the prepared batches.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "bench_cases.hpp"
#include "core/problem.hpp"

namespace tilewright::cli {

struct Ours {
  std::shared_ptr<const GemmPlan> plan;  // null for grouped and variable batches, which have no plan
  std::function<void(std::int64_t batch)> run;
};

// `batches` must outlive the result. Throws what planning throws.
Ours prepare_ours(Context& context, const BenchCase& bench_case, const GemmOptions& options,
                  const std::vector<Operands>& batches);

}  // namespace tilewright::cli
