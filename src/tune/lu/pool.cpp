// Candidates and panels, their gate, and their turns.
#include "tune/lu/pool.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "core/build_info.hpp"
#include "lu/candidates.hpp"
#include "lu/device/plan.hpp"
#include "lu/tuned.hpp"
#include "measure/lu_residual.hpp"
#include "tune/lu/matrix.hpp"

namespace tilewright {
namespace {

// A turn is one factorization or as many as fill it; most take longer than any of these.
constexpr SearchPace pace{.shortest_turn_s = 2e-3,
                          .longest_screening_s = 0.02,
                          .longest_halving_s = 0.05,
                          .longest_final_s = 0.1,
                          .strategy_share = 0.4,
                          .halving_share = 0.6,
                          .incumbent_tie = 0.02,
                          .usual_budget_s = 20};

constexpr double check_flops = 2e8;  // of the residual of each

// Panels of these widths are worth a try where the candidate takes any.
constexpr std::int64_t widths[] = {48, 64, 96, 128, 192, 256, 320, 384, 512, 768};

// Whether the candidate takes the problem at all, by panels of nb columns or (0) by its own.
bool takes(const LuPoolRequest& r, const LuConfig& config) {
  if (r.problem.location == Location::device) {
    for (const auto& one : device_lu_candidates())
      if (one.name == config.candidate) return config.nb <= one.traits.most_nb;
    return false;
  }
  LuOptions options;
  options.threads = r.threads;
  return rank_lu({r.context, r.problem, with_config(options, config)}).winner != nullptr;
}

std::vector<std::string> candidate_names(const LuProblem& p) {
  std::vector<std::string> names;
  if (p.location == Location::device)
    for (const auto& one : device_lu_candidates()) names.emplace_back(one.name);
  else
    for (const LuCandidate& candidate : lu_candidates()) names.emplace_back(candidate.name);
  std::erase(names, "reference");  // which nobody wants for its speed
  return names;
}

// What runs where wisdom knows nothing. Throws Error(unsupported) with the reasons where nothing does.
LuConfig default_config(const LuPoolRequest& r) {
  if (r.problem.location == Location::device) return {device_lu_candidates().front().name, 0};
  LuOptions options;
  options.threads = r.threads;
  return {choose_lu({r.context, r.problem, options}).candidate, 0};
}

bool fits(const LuConfig& config, const LuProblem& p) { return 2 * config.nb <= std::min(p.m, p.n); }

bool admits(const AxisRules& rules, const LuConfig& config) {
  const auto fields = to_json(config);
  return rules.admit(fields) &&
         std::all_of(fields.items().begin(), fields.items().end(), [&](const auto& one) {
           return !rules.speak_of(one.key()) || rules.allow(one.key(), one.value());
         });
}

std::vector<LuConfig> configs_of(const LuPoolRequest& r) {
  if (r.problem.location == Location::host && flops(r.problem) < least_tuned_flops)
    throw Error(
        ErrorCode::unsupported, "PROBLEM",
        fmt::format("PROBLEM = {} has fewer than {:g} operations, and calls that small look for no record",
                    to_string(r.problem), least_tuned_flops));
  check_axes<LuConfig>(r.rules);
  std::vector<LuConfig> configs{default_config(r)};
  const auto add = [&](const LuConfig& config) {
    const bool is_new = std::find(configs.begin(), configs.end(), config) == configs.end();
    if (is_new && fits(config, r.problem) && admits(r.rules, config) && takes(r, config))
      configs.push_back(config);
  };
  for (const std::string& name : candidate_names(r.problem)) {
    add({name, 0});
    for (const std::int64_t nb : widths) add({name, nb});
    for (const AxisChoice& choice : r.rules.choices)
      if (choice.axis == "nb")
        for (const auto& value : choice.values) {
          std::int64_t nb = 0;
          value_from_json(value, "--set nb", nb);
          add({name, nb});
        }
  }
  const bool restricted = !r.rules.choices.empty() || !r.rules.conditions.empty();
  if (restricted && configs.size() == 1 && !admits(r.rules, configs.front()))
    throw Error(ErrorCode::invalid_argument, "--set",
                fmt::format("--set and --where leave nothing to try for {}: candidates are {}",
                            to_string(r.problem), fmt::join(candidate_names(r.problem), ", ")));
  return configs;
}

class LuPool : public ConfigPool {
 public:
  explicit LuPool(const LuPoolRequest& r)
      : problem_(r.problem),
        threads_(r.threads),
        device_(lu_device_name(r.context, r.problem, r.gpu)),
        configs_(configs_of(r)),
        slots_(configs_.size()),
        matrix_(lu_trial_matrix(r.context, r.problem, r.gpu, r.threads, r.seed)) {}

  std::size_t size() const override { return configs_.size(); }
  nlohmann::json fields(std::size_t i) const override { return to_json(configs_[i]); }
  Origin origin() const override { return {"lu", device_, "", "", lu_source_hash, build_compiler}; }
  void announce(std::span<const std::size_t>) override {}

  bool is_right(std::size_t i) override {
    Slot& slot = slots_[i];
    if (!slot.checked) check(i);
    return slot.failure.empty();
  }
  const std::string& failure(std::size_t i) const override { return slots_[i].failure; }
  const Accuracy& accuracy(std::size_t i) const override { return slots_[i].accuracy; }
  void set_failure(std::size_t i, std::string reason) override {
    slots_[i].failure = std::move(reason), slots_[i].checked = true;
  }
  void set_passed(std::size_t i, const Accuracy& accuracy) override {
    slots_[i].accuracy = accuracy, slots_[i].checked = true;
  }

  TurnTimer::Turn time(std::size_t i, double turn_s) override {
    if (!slots_[i].warm) matrix_->factor(configs_[i]);  // a resumed run has not made it yet
    slots_[i].warm = true;
    double elapsed = 0;
    int runs = 0;
    while (runs == 0 || elapsed < turn_s) {
      elapsed += matrix_->factor(configs_[i]);
      ++runs;
    }
    return {elapsed / runs, double(runs)};
  }

 private:
  struct Slot {
    bool checked = false, warm = false;
    std::string failure;
    Accuracy accuracy;
  };

  void check(std::size_t i) {
    Slot& slot = slots_[i];
    slot.checked = true;
    try {
      matrix_->factor(configs_[i]);
      slot.warm = true;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unsupported && error.code() != ErrorCode::out_of_memory) throw;
      slot.failure = error.what();
      return;
    }
    std::vector<std::byte> lu;
    std::vector<std::int64_t> pivots;
    matrix_->read(lu, pivots);
    for (std::size_t row = 0; row < pivots.size(); ++row)
      if (pivots[row] <= std::int64_t(row) || pivots[row] > problem_.m) {
        slot.failure = fmt::format("pivot {} is {}", row + 1, pivots[row]);
        return;
      }
    LuVerifyInput in;
    in.dtype = problem_.dtype, in.m = problem_.m, in.n = problem_.n;
    in.a = matrix_->original().data(), in.lu = lu.data(), in.pivots = pivots.data();
    in.threads = std::max(1, threads_), in.flop_limit = check_flops;
    const LuVerifyResult result = verify_lu(in);
    slot.accuracy.error = result.ratio, slot.accuracy.bound = LuVerifyResult::bound;
    if (!result.passed())
      slot.failure = fmt::format("wrong factors: residual ratio {:.3g} of {} allowed", result.ratio,
                                 LuVerifyResult::bound);
  }

  LuProblem problem_;
  int threads_;
  std::string device_;
  std::vector<LuConfig> configs_;
  std::vector<Slot> slots_;
  std::unique_ptr<LuTrialMatrix> matrix_;
};

}  // namespace

const SearchPace& lu_pace() { return pace; }

std::unique_ptr<ConfigPool> lu_pool(const LuPoolRequest& request) {
  return std::make_unique<LuPool>(request);
}

}  // namespace tilewright
