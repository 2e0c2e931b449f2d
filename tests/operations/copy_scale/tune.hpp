// y = a x as an operation that is tuned.
#pragma once

#include <memory>

#include "operations/copy_scale/problem.hpp"
#include "tune/operation.hpp"

namespace tilewright::testing {

// What `wisdom` knows of the problem is held against; null: nothing. It must outlive the operation.
std::unique_ptr<Operation> copy_scale_operation(const CopyScaleProblem& problem, const Wisdom* wisdom);

}  // namespace tilewright::testing
