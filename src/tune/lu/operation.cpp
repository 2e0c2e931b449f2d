// Candidates and panels, their gate, and their turns.
#include "tune/lu/operation.hpp"

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
constexpr SearchPace lu_pace{.shortest_turn_s = 2e-3,
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

struct LuSearch {
  Context& context;
  LuProblem problem;
  LuTuning how;
};

// True if the candidate takes the problem at all, by panels of nb columns or (0) by its own.
bool takes(const LuSearch& r, const LuConfig& config) {
  if (r.problem.location == Location::device) {
    for (const auto& one : device_lu_candidates())
      if (one.name == config.candidate) return config.nb <= one.traits.most_nb;
    return false;
  }
  LuOptions options;
  options.threads = r.how.threads;
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
LuConfig default_config(const LuSearch& r) {
  if (r.problem.location == Location::device) return {device_lu_candidates().front().name, 0};
  LuOptions options;
  options.threads = r.how.threads;
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

std::vector<LuConfig> configs_of(const LuSearch& r) {
  std::vector<LuConfig> configs{default_config(r)};
  const auto add = [&](const LuConfig& config) {
    const bool is_new = std::find(configs.begin(), configs.end(), config) == configs.end();
    if (is_new && fits(config, r.problem) && admits(r.how.rules, config) && takes(r, config))
      configs.push_back(config);
  };
  for (const std::string& name : candidate_names(r.problem)) {
    add({name, 0});
    for (const std::int64_t nb : widths) add({name, nb});
    for (const AxisChoice& choice : r.how.rules.choices)
      if (choice.axis == "nb")
        for (const auto& value : choice.values) {
          std::int64_t nb = 0;
          value_from_json(value, "--set nb", nb);
          add({name, nb});
        }
  }
  const bool restricted = !r.how.rules.choices.empty() || !r.how.rules.conditions.empty();
  if (restricted && configs.size() == 1 && !admits(r.how.rules, configs.front()))
    throw Error(ErrorCode::invalid_argument, "--set",
                fmt::format("--set and --where leave nothing to try for {}: candidates are {}",
                            to_string(r.problem), fmt::join(candidate_names(r.problem), ", ")));
  return configs;
}

class LuPool : public PoolOf<LuConfig> {
 public:
  explicit LuPool(const LuSearch& r)
      : PoolOf(configs_of(r)),
        problem_(r.problem),
        threads_(r.how.threads),
        device_(lu_device_name(r.context, r.problem, r.how.gpu)),
        warm_(size(), false),
        matrix_(lu_trial_matrix(r.context, r.problem, r.how.gpu, r.how.threads, r.how.seed)) {}

  Origin origin() const override { return {"lu", device_, "", "", lu_source_hash, build_compiler}; }

 private:
  CheckResult check(std::size_t i) override {
    CheckResult result;
    try {
      matrix_->factor(configs_[i]);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::out_of_memory) throw;
      return {error.what(), {}};
    }
    warm_[i] = true;
    std::vector<std::byte> lu;
    std::vector<std::int64_t> pivots;
    matrix_->read(lu, pivots);
    for (std::size_t row = 0; row < pivots.size(); ++row)
      if (pivots[row] <= std::int64_t(row) || pivots[row] > problem_.m)
        return {fmt::format("pivot {} is {}", row + 1, pivots[row]), {}};
    LuVerifyInput in;
    in.dtype = problem_.dtype, in.m = problem_.m, in.n = problem_.n;
    in.a = matrix_->original().data(), in.lu = lu.data(), in.pivots = pivots.data();
    in.threads = std::max(1, threads_), in.flop_limit = check_flops;
    const LuVerifyResult verified = verify_lu(in);
    result.accuracy.error = verified.ratio, result.accuracy.bound = LuVerifyResult::bound;
    if (!verified.passed())
      result.fault = fmt::format("wrong factors: residual ratio {:.3g} of {} allowed", verified.ratio,
                                 LuVerifyResult::bound);
    return result;
  }

  TurnTimer::Turn time_made(std::size_t i, double turn_s) override {
    if (!warm_[i]) matrix_->factor(configs_[i]);  // a resumed run has not checked it
    warm_[i] = true;
    double elapsed = 0;
    int runs = 0;
    while (runs == 0 || elapsed < turn_s) {
      elapsed += matrix_->factor(configs_[i]);
      ++runs;
    }
    return {elapsed / runs, double(runs)};
  }

  LuProblem problem_;
  int threads_;
  std::string device_;
  std::vector<bool> warm_;
  std::unique_ptr<LuTrialMatrix> matrix_;
};

class LuTuneOperation : public Operation {
 public:
  explicit LuTuneOperation(LuSearch search) : search_(std::move(search)) {
    const LuProblem& p = search_.problem;
    check_axes<LuConfig>(search_.how.rules);
    if (p.location == Location::host && flops(p) < least_tuned_flops)
      throw Error(
          ErrorCode::unsupported, "PROBLEM",
          fmt::format("PROBLEM = {} has fewer than {:g} operations, and calls that small look for no record",
                      to_string(p), least_tuned_flops));
  }

  std::string text() const override { return to_string(search_.problem); }
  Location location() const override { return search_.problem.location; }
  const SearchPace& pace() const override { return lu_pace; }

  void describe_run(nlohmann::json& run) const override {
    const LuTuning& how = search_.how;
    run.erase("objective");  // which is time, and logs of factorizations do not say it
    run["operation"] = "lu";
    run["source_hash"] = lu_source_hash;
    run["threads"] = how.threads;
    run.update(how.rules.as_json());
    run["devices"][to_string(location())] = lu_device_name(search_.context, search_.problem, how.gpu);
  }

  std::optional<nlohmann::json> known(const TuneObjective&) const override {
    const auto found = tuned_lu(search_.context, search_.problem, {.device = search_.how.gpu});
    if (found.match != WisdomMatch::exact) return std::nullopt;
    return found.config;
  }

  OpenProblem open(const std::optional<nlohmann::json>& incumbent, double) override {
    OpenProblem open{.subject = text(), .pool = std::make_unique<LuPool>(search_)};
    for (std::size_t i = 0; incumbent && !open.incumbent && i < open.pool->size(); ++i)
      if (open.pool->fields(i) == *incumbent) open.incumbent = i;
    return open;
  }

 private:
  LuSearch search_;
};

}  // namespace

std::unique_ptr<Operation> lu_operation(Context& context, const LuProblem& problem, const LuTuning& how) {
  return std::make_unique<LuTuneOperation>(LuSearch{context, problem, how});
}

}  // namespace tilewright
