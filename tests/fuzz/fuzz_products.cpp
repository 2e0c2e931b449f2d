// The fuzzers that compute: random calls of the public functions and random kernels, checked by the oracle.
#include <fmt/format.h>

#include <deque>

#include "fuzz/fuzzers.hpp"
#include "support/isas.hpp"
#include "support/kernel_trial.hpp"
#include "support/random_call.hpp"

namespace tilewright::testing {
namespace {

constexpr std::int64_t longest = 140;

struct Machine {
  Isa isa;
  Context context;
};

// Contexts live as long as the run: their kernel caches are tested, too.
std::deque<Machine>& machines() {
  static std::deque<Machine> all = [] {
    std::deque<Machine> made;
    for (Isa isa : runnable_isas())
      made.push_back({isa, Context({.cpu = to_string(isa), .use_wisdom = false})});
    return made;
  }();
  return all;
}

}  // namespace

std::string fuzz_calls(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const Call call = random_call(random, longest);
  for (Machine& machine : machines())
    if (const std::string wrong = run_and_check(machine.context, call); !wrong.empty())
      return fmt::format("cpu {}, {}\n    {}", to_string(machine.isa), to_string(call), wrong);
  return {};
}

std::string fuzz_kernels(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t limit) { return random() % limit; };
  const auto of = [&](const auto& levels) { return levels[below(levels.size())]; };
  const auto length = [&] {
    return std::int64_t(1 + below(below(3) == 0 ? std::uint64_t(gemm_small_cpu_limit) : std::uint64_t(20)));
  };
  constexpr std::array layouts{Layout::single, Layout::strided, Layout::pointer, Layout::interleaved,
                               Layout::block_interleaved};
  Choices x;
  x.dtype = of(cases::dtypes);
  x.layout = of(layouts);
  x.op_a = of(cases::ops);
  x.op_b = of(cases::ops);
  x.size = {length(), length(), length()};
  x.ld_padding = below(2) == 0 ? 0 : std::int64_t(below(20));
  x.stride_padding = below(2) == 0 ? 0 : std::int64_t(below(50));
  x.broadcast_a = below(5) == 0;
  x.broadcast_b = below(5) == 0;
  x.row_bands = below(6) == 0;
  x.block = std::int64_t(1 + below(40));
  x.batch_count = std::int64_t(1 + below(70));
  x.alpha = of(kernel_alphas);
  x.beta = of(kernel_betas);
  x.data = below(2) == 0 ? Data::exact : Data::random;
  x.seed = seed;
  const auto trial = make_kernel_trial(x);
  const Isa isa = of(runnable_isas());
  for (const GemmSmallCpuConfig& config : sample_configs(trial->problem(), isa, 20, seed))
    if (const std::string wrong = trial->run(config); !wrong.empty())
      return fmt::format("{}\n    config {}\n    {}", to_string(make_case(x)), describe(config), wrong);
  return {};
}

}  // namespace tilewright::testing
