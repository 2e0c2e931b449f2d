// Candidates and panels, the matrix that they factor, their gate and their turns.
#include "tune/lu/operation.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include "core/build_info.hpp"
#include "core/dispatch.hpp"
#include "lu/calls.hpp"
#include "lu/candidates.hpp"
#include "lu/device/plan.hpp"
#include "measure/buffers.hpp"
#include "measure/clock.hpp"
#include "measure/lu_residual.hpp"
#include "tilewright/lu.hpp"

#if TILEWRIGHT_HAS_GPU
#include "device/gpu/gpu.hpp"
#endif

namespace tilewright {
namespace {

// A turn is one factorization, or as many as fill it. Most take longer than any of these.
constexpr SearchPace lu_pace{.shortest_turn_s = 2e-3,
                             .longest_screening_s = 0.02,
                             .longest_halving_s = 0.05,
                             .longest_final_s = 0.1,
                             .strategy_share = 0.4,
                             .halving_share = 0.6,
                             .incumbent_tie = 0.02,
                             .default_budget_s = 20};

constexpr double check_flops = 2e8;  // of the residual of each config

// Panel widths worth trying, for candidates with panels.
constexpr std::int64_t widths[] = {48, 64, 96, 128, 192, 256, 320, 384, 512, 768};

struct LuSearch {
  Context& context;
  LuProblem problem;
  LuTuning how;
};

// True if the candidate serves the problem, with panels of nb columns (0: of its own choice).
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
  std::erase(names, "reference");  // slow by design
  return names;
}

// The config that runs without wisdom. Throws Error(unsupported) with the reasons if there is none.
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
         std::all_of(fields.items().begin(), fields.items().end(),
                     [&](const auto& one) { return rules.allow(one.key(), one.value()); });
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
                fmt::format("--set and --where leave nothing to try for {} (candidates: {})",
                            to_string(r.problem), fmt::join(candidate_names(r.problem), ", ")));
  return configs;
}

// The matrix that candidates factor: restored before each run, and read afterwards.
class TrialMatrix {
 public:
  TrialMatrix(Context& context, const LuProblem& p, std::uint64_t seed)
      : context_(context), problem_(p), first_(p.lda * p.n * size_bytes(p.dtype)) {
    fill(first_.data(), p.lda * p.n, p.dtype, Data::uniform, seed);
  }
  virtual ~TrialMatrix() = default;
  // Seconds of factoring alone. Throws Error as factoring does.
  virtual double factor(const LuConfig& config) = 0;
  // The latest factors, columns without gaps, and pivots.
  virtual void read(std::vector<std::byte>& lu, std::vector<std::int64_t>& pivots) const = 0;
  std::vector<std::byte> original() const { return without_gaps(first_.data()); }

 protected:
  std::vector<std::byte> without_gaps(const std::byte* from) const {
    const auto element = std::size_t(size_bytes(problem_.dtype)), rows = std::size_t(problem_.m) * element;
    std::vector<std::byte> to(rows * std::size_t(problem_.n));
    for (std::size_t j = 0; j < std::size_t(problem_.n); ++j)
      std::memcpy(to.data() + j * rows, from + j * std::size_t(problem_.lda) * element, rows);
    return to;
  }
  std::size_t pivot_count() const { return std::size_t(std::min(problem_.m, problem_.n)); }

  Context& context_;
  LuProblem problem_;
  AlignedBuffer first_;
};

LuOptions options_of(const LuConfig& config, int gpu, int threads) {
  LuOptions options;
  options.candidate = config.candidate, options.nb = config.nb;
  options.device = gpu, options.threads = threads;
  return options;
}

class HostMatrix : public TrialMatrix {
 public:
  HostMatrix(Context& context, const LuProblem& p, int threads, std::uint64_t seed)
      : TrialMatrix(context, p, seed), threads_(threads), a_(first_.bytes()), pivots_(pivot_count()) {}
  double factor(const LuConfig& config) override {
    std::memcpy(a_.data(), first_.data(), std::size_t(first_.bytes()));
    const LuOptions options = options_of(config, 0, threads_);
    const double begin = wall_seconds();
    dispatch(problem_.dtype, [&]<class T>() {
      lu_factor(context_, problem_.m, problem_.n, reinterpret_cast<T*>(a_.data()), problem_.lda,
                pivots_.data(), options);
    });
    return wall_seconds() - begin;
  }
  void read(std::vector<std::byte>& lu, std::vector<std::int64_t>& pivots) const override {
    lu = without_gaps(a_.data()), pivots = pivots_;
  }

 private:
  int threads_;
  AlignedBuffer a_;
  std::vector<std::int64_t> pivots_;
};

#if TILEWRIGHT_HAS_GPU
class DeviceMatrix : public TrialMatrix {
 public:
  DeviceMatrix(Context& context, const LuProblem& p, int gpu, std::uint64_t seed)
      : TrialMatrix(context, p, seed),
        gpu_(gpu),
        a_(gpu_, std::size_t(first_.bytes())),
        pivots_(gpu_, pivot_count() * sizeof(std::int64_t)),
        info_(gpu_, sizeof(std::int64_t)) {}
  double factor(const LuConfig& config) override {
    const Planned& planned = plan_of(config);
    a_.write(first_.data(), a_.bytes());
    gpu_.synchronize();
    const double begin = wall_seconds();
    dispatch(problem_.dtype, [&]<class T>() {
      planned.plan.factor(a_.as<T>(), pivots_.as<std::int64_t>(), info_.as<std::int64_t>(),
                          {planned.workspace.as<std::byte>(), planned.workspace.bytes()});
    });
    gpu_.synchronize();
    return wall_seconds() - begin;
  }
  void read(std::vector<std::byte>& lu, std::vector<std::int64_t>& pivots) const override {
    std::vector<std::byte> whole(a_.bytes());
    a_.read(whole.data(), whole.size());
    lu = without_gaps(whole.data());
    pivots.resize(pivot_count());
    pivots_.read(pivots.data(), pivots.size() * sizeof(std::int64_t));
  }

 private:
  struct Planned {
    LuPlan plan;
    GpuBuffer workspace;
  };
  const Planned& plan_of(const LuConfig& config) {
    const std::pair key(config.candidate, config.nb);
    const auto known = plans_.find(key);
    if (known != plans_.end()) return known->second;
    LuPlan plan = plan_lu(context_, problem_, options_of(config, gpu_.device(), 0));
    GpuBuffer workspace(gpu_, std::size_t(std::max<std::int64_t>(256, plan.workspace_bytes())));
    return plans_.emplace(key, Planned{std::move(plan), std::move(workspace)}).first->second;
  }

  Gpu gpu_;
  GpuBuffer a_, pivots_, info_;
  std::map<std::pair<std::string, std::int64_t>, Planned> plans_;
};
#endif

// Throws Error(unsupported) if there is no such GPU, Error(out_of_memory) if the matrix does not fit.
std::unique_ptr<TrialMatrix> trial_matrix(const LuSearch& r) {
  if (r.problem.location == Location::host)
    return std::make_unique<HostMatrix>(r.context, r.problem, r.how.threads, r.how.seed);
#if TILEWRIGHT_HAS_GPU
  return std::make_unique<DeviceMatrix>(r.context, r.problem, r.how.gpu, r.how.seed);
#else
  throw Error(ErrorCode::unsupported, "location", "location = device: this build has no GPU runtime");
#endif
}

class LuPool : public PoolOf<LuConfig> {
 public:
  explicit LuPool(const LuSearch& r)
      : PoolOf(configs_of(r)),
        problem_(r.problem),
        threads_(r.how.threads),
        device_(lu_device_name(r.context, r.problem, r.how.gpu)),
        warm_(size(), false),
        matrix_(trial_matrix(r)) {}

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
    const std::vector<std::byte> original = matrix_->original();
    std::vector<std::byte> lu;
    std::vector<std::int64_t> pivots;
    matrix_->read(lu, pivots);
    for (std::size_t row = 0; row < pivots.size(); ++row)
      if (pivots[row] <= std::int64_t(row) || pivots[row] > problem_.m)
        return {fmt::format("pivot {} is {}", row + 1, pivots[row]), {}};
    LuVerifyInput in;
    in.dtype = problem_.dtype, in.m = problem_.m, in.n = problem_.n;
    in.a = original.data(), in.lu = lu.data(), in.pivots = pivots.data();
    in.threads = std::max(1, threads_), in.flop_limit = check_flops;
    const LuVerifyResult verified = verify_lu(in);
    result.accuracy.error = verified.ratio, result.accuracy.bound = LuVerifyResult::bound;
    if (!verified.passed())
      result.fault = fmt::format("wrong factors: residual ratio {:.3g} of {} allowed", verified.ratio,
                                 LuVerifyResult::bound);
    return result;
  }

  TurnTimer::Turn time_made(std::size_t i, double turn_s) override {
    if (!warm_[i]) matrix_->factor(configs_[i]);  // unchecked in a resumed run
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
  std::unique_ptr<TrialMatrix> matrix_;
};

class LuTuneOperation : public Operation {
 public:
  explicit LuTuneOperation(LuSearch search) : search_(std::move(search)) {
    const LuProblem& p = search_.problem;
    check_axes<LuConfig>(search_.how.rules);
    if (p.location == Location::host && flops(p) < least_tuned_flops)
      throw Error(ErrorCode::unsupported, "PROBLEM",
                  fmt::format("PROBLEM = {} has fewer than {:g} million operations; such small calls use no "
                              "records",
                              to_string(p), least_tuned_flops / 1e6));
  }

  std::string text() const override { return to_string(search_.problem); }
  Location location() const override { return search_.problem.location; }
  const SearchPace& pace() const override { return lu_pace; }

  void describe_run(nlohmann::json& run) const override {
    const LuTuning& how = search_.how;
    run.erase("objective");  // always time
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
