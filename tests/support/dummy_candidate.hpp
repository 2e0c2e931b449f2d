// Candidates for a multiplication that only tests have in their lists.
#pragma once

#include "gemm/candidate.hpp"

namespace tilewright::testing {

// They multiply by the reference, and predict 30, 20 and 25 ns; the last first offers 10 to 24 ns, which
// cannot be built.
extern const GemmCandidate slow_candidate, quick_candidate, boastful_candidate;

}  // namespace tilewright::testing
