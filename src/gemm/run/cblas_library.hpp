// Products by a CBLAS: for the candidate of that name and for the CPU's part of a product that GPUs share.
#pragma once

#include <cstdint>

#include "core/problem.hpp"
#include "device/cblas.hpp"

namespace tilewright {

// Problems first ... first + count - 1, one call each; alpha = 0 leaves C scaled.
void multiply_by_cblas(const CblasLibrary& library, const GemmProblem& problem, const Operands& operands,
                       std::int64_t first, std::int64_t count);

// Why the library cannot be called for it; "" where it can.
std::string why_not_by_cblas(const CblasLibrary& library, const GemmProblem& problem);

}  // namespace tilewright
