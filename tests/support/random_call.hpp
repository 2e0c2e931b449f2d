// Random calls: every choice is drawn from one generator, so that a seed identifies a run. The time-bounded
// random test and the long fuzz runs use it.
#pragma once

#include <random>

#include "support/call.hpp"

namespace tilewright::testing {

// Draws lengths up to `longest`, small ones and neighbours of powers of two more often; the work of a call is
// bounded.
Call random_call(std::mt19937_64& random, std::int64_t longest);

// random_seed() returns the seed of a random run: TILEWRIGHT_TEST_SEED, or else a value of the clock.
// random_calls() returns how many calls it makes: TILEWRIGHT_TEST_CALLS, or else 0, which leaves the number
// to the test.
std::uint64_t random_seed();
std::size_t random_calls();

}  // namespace tilewright::testing
