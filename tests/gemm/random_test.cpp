// Random calls of the public functions for a bounded time, on every instruction set this machine has. The
// seed is printed and TILEWRIGHT_TEST_SEED repeats it; TILEWRIGHT_TEST_CALLS bounds the number of calls
// instead. The long runs are fuzz_gemm's.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <deque>

#include "support/failures.hpp"
#include "support/isas.hpp"
#include "support/random_call.hpp"

namespace tilewright::testing {
namespace {

constexpr std::chrono::seconds longest_time{15};
constexpr std::int64_t longest = 70;  // a little beyond the small kernels

TEST(Random, CallsOfAllKinds) {
  const std::uint64_t seed = random_seed();
  std::printf("TILEWRIGHT_TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
  RecordProperty("seed", std::to_string(seed));
  std::mt19937_64 random(seed);
  std::deque<Context> contexts;
  for (Isa isa : runnable_isas())
    contexts.emplace_back(ContextOptions{.cpu = to_string(isa), .use_wisdom = false});
  const std::vector<Isa> isas = runnable_isas();
  Failures failures;
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + longest_time;
  const std::size_t calls = random_calls();
  for (std::size_t done = 0; (calls ? done < calls : Clock::now() < end) && !failures.too_many(); ++done) {
    const Call call = random_call(random, longest);
    for (std::size_t i = 0; i < isas.size(); ++i)
      failures.note("seed " + std::to_string(seed) + ", cpu " + to_string(isas[i]) + ", " + to_string(call),
                    run_and_check(contexts[i], call));
  }
  std::printf("%zu calls\n", failures.case_count());
  EXPECT_GT(failures.case_count(), 0u);
}

}  // namespace
}  // namespace tilewright::testing
