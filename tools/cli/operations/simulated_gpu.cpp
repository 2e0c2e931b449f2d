// Reads --simulated-gpu.
#include "operations/simulated_gpu.hpp"

#include "lists.hpp"
#include "people/refusal.hpp"

namespace tilewright::cli {

bench::SimulatedGpu read_simulated_gpu(const FamilyFlags& flags, const std::vector<int>& gpus,
                                       bench::Plan& plan) {
  const std::string text = flags.own_value(simulated_gpu_flag);
  if (text.empty()) return {};
  const std::vector<double> numbers = parse_numbers(simulated_gpu_flag, text);
  if (numbers.size() != 2 || !(numbers[0] > 0 && numbers[1] > 0))
    wrong_use(simulated_gpu_flag,
              "--simulated-gpu = '{}' is not of the form GFLOP/s,GB/s with positive numbers, as in 250,6",
              text);
  if (flags.memory.empty()) plan.memories = {"pinned"};
  for (const std::string& memory : plan.memories)
    if (memory != "pinned")
      refuse_value("--memory", memory, "is not supported: a simulated GPU needs pinned memory");
  if (!gpus.empty())
    refuse_value("--gpus", flags.hybrid.gpus, "conflicts with --simulated-gpu, which adds the only GPU");
  return {numbers[0], numbers[1]};
}

}  // namespace tilewright::cli
