// Parses the flags.
#include "bench_lu_flags.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lu/problem.hpp"

namespace tilewright::cli {
namespace {

// Parses auto, exhaustive, or counts and ranges of them.
void parse_panels(const std::string& text, bench::LuTrials& trials) {
  trials.panels.clear();
  for (const std::string& item : split(text, ',')) {
    if (item == "auto")
      trials.panels.push_back(0);
    else if (item == "exhaustive")
      trials.exhaustive = true;
    else
      for (const std::int64_t nb : parse_counts("--nb", item, 1)) trials.panels.push_back(nb);
  }
  if (trials.panels.empty()) trials.panels = {0};
}

bench::SimulatedGpu simulated_gpu(const std::string& text) {
  if (text.empty()) return {};
  const std::vector<double> numbers = parse_numbers("--simulated-gpu", text);
  if (numbers.size() != 2 || !(numbers[0] > 0 && numbers[1] > 0))
    throw Error(ErrorCode::invalid_argument, "--simulated-gpu",
                fmt::format("--simulated-gpu = '{}' is not GFLOP/s and GB/s, both positive: 250,6", text));
  return {numbers[0], numbers[1]};
}

}  // namespace

void add_lu_flags(CLI::App& verb, BenchLuFlags& flags) {
  verb.add_option("--selects", flags.selects, "of lu: how the CPU's share beside GPUs is chosen")
      ->capture_default_str();
  verb.add_option(
          "--nb", flags.panels,
          "of lu: columns of a panel, a list of auto (by models or a rule), counts and ranges, and "
          "exhaustive, "
          "which times panels (those of the list, else 64 to 768) and shares of the CPU for the optimum")
      ->capture_default_str();
  verb.add_option(
      "--simulated-gpu", flags.simulated_gpu,
      "of lu: in place of the machine's GPUs one that is none, of so many GFLOP/s of f64 products and "
      "GB/s of its link in each direction: 250,6. The host waits as long as it would take");
}

bench::LuTrials lu_trials(const BenchLuFlags& flags, const std::vector<Size>& sizes) {
  bench::LuTrials trials;
  trials.selects = parse_names<LuSelect>("--selects", flags.selects);
  parse_panels(flags.panels, trials);
  trials.simulated = simulated_gpu(flags.simulated_gpu);
  std::int64_t most = 0;
  for (const Size& size : sizes) most = std::max(most, std::min(size.m, size.n));
  for (const std::int64_t nb : trials.panels)
    if (nb > most)
      throw Error(ErrorCode::invalid_argument, "--nb",
                  fmt::format("--nb = '{}': {} is more than the {} columns of the largest matrix",
                              flags.panels, nb, most));
  return trials;
}

}  // namespace tilewright::cli
