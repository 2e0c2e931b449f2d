// Choosing points of the space, and making their kernels in parallel.
#include "tune/config_kernels.hpp"

#include <random>

#include "tune/search_loop.hpp"

namespace tilewright {
namespace {

using Config = GemmSmallCpuConfig;

// A whole space can hold millions: beyond this it is drawn from.
constexpr std::size_t most_configs = 20000;

// The part of the space to search, before choices and conditions.
std::vector<Config> searched(const GemmProblem& problem, const ConfigRules& rules, const Config& base,
                             std::vector<Removed>* removed) {
  std::vector<Config> configs;
  if (!rules.whole_space) {
    gemm_small_cpu_search(problem, rules.isa)
        .visit([&](const Config& config) { configs.push_back(config); }, base, removed);
    return configs;
  }
  const auto space = gemm_small_cpu_space(problem, rules.isa);
  const auto keep = [&](const Config& config) {
    if (rules.conditions.empty() || rules.admit(to_json(config))) configs.push_back(config);
    return configs.size() <= most_configs;
  };
  if (space.visit(keep, base, removed)) return configs;
  std::mt19937_64 random(1);
  return space.sample(most_configs, random, base);
}

}  // namespace

std::vector<Config> candidate_configs(const GemmProblem& problem, const ConfigRules& rules,
                                      std::vector<Removed>* removed) {
  check_axes<Config>(rules);
  const Config standard = gemm_small_cpu_default(problem, rules.isa);
  return admitted_configs(problem, rules, standard, searched(problem, rules, standard, removed),
                          gemm_small_cpu_space(problem, rules.isa));
}

ConfigKernels::ConfigKernels(const GemmProblem& problem, Isa isa, std::vector<Config> configs)
    : problem_(problem), configs_(std::move(configs)), slots_(configs_.size()), gate_(problem, isa) {}

void ConfigKernels::announce(std::span<const std::size_t> wanted) {
  announced_.assign(wanted.begin(), wanted.end());
  next_announced_ = 0;
}

void ConfigKernels::set_failure(std::size_t i, std::string reason) {
  slots_[i].failure = std::move(reason);
  slots_[i].checked = true;
}

void ConfigKernels::set_passed(std::size_t i, const Accuracy& accuracy) {
  slots_[i].accuracy = accuracy;
  slots_[i].checked = true;
}

bool ConfigKernels::is_right(std::size_t i) {
  return slots_[i].checked ? slots_[i].failure.empty() : kernel(i) != nullptr;
}

// Nothing is timed while kernels are made, so every core may help.
void ConfigKernels::make(std::span<const std::size_t> wanted) {
  const auto count = static_cast<std::int64_t>(wanted.size());
#pragma omp parallel for schedule(dynamic) if (count > 1)
  for (std::int64_t w = 0; w < count; ++w) {
    Slot& slot = slots_[wanted[std::size_t(w)]];
    try {
      slot.kernel = make_gemm_small_cpu(problem_, configs_[wanted[std::size_t(w)]]);
    } catch (const std::exception& error) {
      slot.failure = error.what();
    }
  }
}

const GemmSmallCpuKernel* ConfigKernels::kernel(std::size_t i) {
  Slot& slot = slots_[i];
  if (slot.kernel && slot.checked) return slot.kernel.get();
  if (!slot.failure.empty()) return nullptr;
  if (!slot.kernel) {
    std::vector<std::size_t> wanted = {i};
    for (; next_announced_ < announced_.size() && wanted.size() < made_together; ++next_announced_) {
      const std::size_t other = announced_[next_announced_];
      const Slot& next = slots_[other];
      if (other != i && !next.checked && next.failure.empty() && !next.kernel) wanted.push_back(other);
    }
    make(wanted);
  }
  if (slot.kernel && !slot.checked)
    if (slot.failure = gate_.run(*slot.kernel, &slot.accuracy); !slot.failure.empty()) slot.kernel.reset();
  slot.checked = true;
  return slot.kernel.get();
}

}  // namespace tilewright
