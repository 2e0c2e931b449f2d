// Random calls: every choice drawn from one generator, so that a seed names a run. Used by the time-bounded
// random test and by the long fuzz runs.
#pragma once

#include <random>

#include "support/call.hpp"

namespace tilewright::testing {

// Lengths up to `longest`, small ones and neighbours of powers of two more often; the work of a call is
// bounded.
Call random_call(std::mt19937_64& random, std::int64_t longest);

// The seed of a random run: TILEWRIGHT_TEST_SEED, else drawn from the clock. Seconds:
// TILEWRIGHT_TEST_SECONDS, else `fallback`.
std::uint64_t random_seed();
double random_seconds(double fallback);

}  // namespace tilewright::testing
