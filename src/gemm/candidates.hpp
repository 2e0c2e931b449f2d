// The ordered list of what can run a multiplication. One line here and one file in run/ add a way.
#pragma once

#include <span>

#include "gemm/candidate.hpp"

namespace tilewright {

std::span<const Candidate> gemm_candidates();

}  // namespace tilewright
