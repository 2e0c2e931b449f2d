// Choosing points of the space, and making their kernels in parallel.
#include "tune/candidates.hpp"

#include <fmt/format.h>

#include <array>
#include <functional>
#include <random>
#include <unordered_set>

namespace tilewright {
namespace {

using Config = GemmSmallCpuConfig;

// A whole space can hold millions: beyond this it is drawn from.
constexpr std::size_t most_configs = 20000;
constexpr std::size_t made_together = 64;

// Every combination of the chosen values, put over `config`.
void with_choices(const Config& config, std::span<const AxisChoice> choices,
                  const std::function<void(const Config&)>& visit) {
  if (choices.empty()) return visit(config);
  for (const auto& value : choices.front().values)
    with_choices(from_json<Config>({{choices.front().axis, value}}, config), choices.subspan(1), visit);
}

// Naming an unknown axis or a value of the wrong type throws.
bool wanted(const Config& config, const CandidateRules& rules) {
  if (rules.conditions.empty()) return true;
  const auto fields = to_json(config);
  return std::all_of(rules.conditions.begin(), rules.conditions.end(),
                     [&](const AxisCondition& condition) { return condition.holds(fields); });
}

// The part of the space to search, before choices and conditions.
std::vector<Config> searched(const GemmProblem& problem, const CandidateRules& rules, const Config& base,
                             std::vector<Removed>* removed) {
  std::vector<Config> configs;
  if (!rules.whole_space) {
    gemm_small_cpu_search(problem, rules.isa)
        .visit([&](const Config& config) { configs.push_back(config); }, base, removed);
    return configs;
  }
  const auto space = gemm_small_cpu_space(problem, rules.isa);
  const auto keep = [&](const Config& config) {
    if (wanted(config, rules)) configs.push_back(config);
    return configs.size() <= most_configs;
  };
  if (space.visit(keep, base, removed)) return configs;
  std::mt19937_64 random(1);
  return space.sample(most_configs, random, base);
}

}  // namespace

void check_axes(const CandidateRules& rules) {
  for (const AxisChoice& choice : rules.choices)
    for (const auto& value : choice.values) from_json<Config>({{choice.axis, value}});
  for (const AxisCondition& condition : rules.conditions)
    from_json<Config>({{condition.axis, condition.value}});
}

AxisCondition AxisCondition::parse(const std::string& text) {
  const std::size_t at = text.find_first_of("<>=!");
  for (const std::string relation : {">=", "<=", "!=", "==", "=", ">", "<"}) {
    if (at == std::string::npos || at == 0 || text.compare(at, relation.size(), relation) != 0) continue;
    const std::string word = text.substr(at + relation.size());
    if (word.empty()) break;
    auto value = nlohmann::json::parse(word, nullptr, false);
    return {text.substr(0, at), relation == "==" ? "=" : relation,
            value.is_discarded() ? nlohmann::json(word) : value};
  }
  throw Error(ErrorCode::invalid_argument, "--where",
              fmt::format("--where = '{}': axis>=value is wanted (or <=, =, !=, >, <)", text));
}

bool AxisCondition::holds(const nlohmann::json& config) const {
  const auto& own = config.at(axis);
  if (relation == "=") return own == value;
  if (relation == "!=") return own != value;
  if (!own.is_number() || !value.is_number())
    throw Error(ErrorCode::invalid_argument, "--where",
                fmt::format("--where '{}{}{}': names have no order", axis, relation, value.dump()));
  if (relation == ">=") return own >= value;
  if (relation == "<=") return own <= value;
  return relation == ">" ? own > value : own < value;
}

std::vector<Config> candidate_configs(const GemmProblem& problem, const CandidateRules& rules,
                                      std::vector<Removed>* removed) {
  check_axes(rules);
  const Config standard = gemm_small_cpu_default(problem, rules.isa);
  const auto space = gemm_small_cpu_space(problem, rules.isa);
  std::vector<Config> configs = {standard};
  std::unordered_set<std::string> known;
  bool any = false;
  for (const Config& point : searched(problem, rules, standard, removed))
    with_choices(point, rules.choices, [&](const Config& config) {
      if (!wanted(config, rules) || !known.insert(describe(config)).second || !space.contains(config)) return;
      any = true;
      if (config != standard) configs.push_back(config);
    });
  if (any || (rules.choices.empty() && rules.conditions.empty())) return configs;
  const bool set = !rules.choices.empty();
  throw Error(
      ErrorCode::invalid_argument, set ? "--set" : "--where",
      fmt::format("{} {}: no config searched for {} is legal with such values", set ? "--set" : "--where",
                  set ? rules.choices.front().axis : rules.conditions.front().axis, to_string(problem)));
}

CandidateKernels::CandidateKernels(const GemmProblem& problem, Isa isa, std::vector<Config> configs)
    : problem_(problem), configs_(std::move(configs)), slots_(configs_.size()), gate_(problem, isa) {}

void CandidateKernels::announce(std::span<const std::size_t> wanted) {
  announced_.assign(wanted.begin(), wanted.end());
  next_announced_ = 0;
}

void CandidateKernels::set_failure(std::size_t i, std::string reason) {
  slots_[i].failure = std::move(reason);
  slots_[i].checked = true;
}

// Nothing is timed while kernels are made, so every core may help.
void CandidateKernels::make(std::span<const std::size_t> wanted) {
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

const SmallKernel* CandidateKernels::kernel(std::size_t i) {
  Slot& slot = slots_[i];
  if (slot.checked) return slot.kernel.get();
  if (!slot.kernel) {
    std::vector<std::size_t> wanted = {i};
    for (; next_announced_ < announced_.size() && wanted.size() < made_together; ++next_announced_) {
      const std::size_t other = announced_[next_announced_];
      if (other != i && !slots_[other].checked && !slots_[other].kernel) wanted.push_back(other);
    }
    make(wanted);
  }
  if (slot.kernel)
    if (slot.failure = gate_.run(*slot.kernel, &slot.accuracy); !slot.failure.empty()) slot.kernel.reset();
  slot.checked = true;
  return slot.kernel.get();
}

}  // namespace tilewright
