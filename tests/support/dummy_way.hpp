// Ways to compute a multiplication that only tests have in their lists.
#pragma once

#include "gemm/candidate.hpp"

namespace tilewright::testing {

// They multiply by the reference, and say that they take 30, 20 and 25 ns; the last boasts of 10 to 24 first.
extern const GemmCandidate slow_way, quick_way, boastful_way;

}  // namespace tilewright::testing
