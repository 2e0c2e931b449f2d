// Budgets, incumbents, logs and keeping; the search of a problem is the tuner's.
#include "tune/session.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "core/host/fork_gate.hpp"
#include "device/team.hpp"
#include "tune/strategy/strategy.hpp"

#if TILEWRIGHT_HAS_GPU
#include "device/gpu/gpu.hpp"
#endif

namespace tilewright {
namespace {

// A child of fork searches with one thread: of OpenMP's pool only the memory is left there, and the loops
// that make and check kernels would wait for its threads for ever.
class OneThreadInChild {
 public:
  OneThreadInChild() : before_(omp_get_max_threads()) {
    if (fork_gate::threads_were_lost()) omp_set_num_threads(1);
  }
  ~OneThreadInChild() { omp_set_num_threads(before_); }
  OneThreadInChild(const OneThreadInChild&) = delete;
  OneThreadInChild& operator=(const OneThreadInChild&) = delete;

 private:
  int before_;
};

double usual_budget_of(const TuneFamily& family, const TuneObjective& objective) {
  return objective.needs_energy() ? family.pace().weighed_budget_s : family.pace().usual_budget_s;
}

// Which families a log is of, and which GPU, without opening it.
void add_machine(nlohmann::json& run, const std::vector<const TuneFamily*>& families,
                 const std::vector<GemmProblem>& problems, TuneMachine& machine) {
  run["isa"] = to_string(machine.isa());
  run["device"] = machine.device_name(Location::host);
  for (const TuneFamily* family : families) run["source_hash"][family->name()] = family->source_hash();
  const auto on_gpu = [](const GemmProblem& p) { return p.location == Location::device; };
  if (std::none_of(problems.begin(), problems.end(), on_gpu)) return;
  run["gpu"] = machine.device();
#if TILEWRIGHT_HAS_GPU
  const GpuLimits limits = Gpu::limits_of(machine.device());
  run["gpu_name"] = limits.name;
  run["gpu_uuid"] = limits.uuid;
#endif
}

nlohmann::json rules_as_json(const ChoiceRules& rules) {
  nlohmann::json json = {{"whole_space", rules.whole_space}, {"most", rules.most}, {"vary", rules.vary}};
  for (const AxisChoice& choice : rules.choices)
    json["set"].push_back({{"axis", choice.axis}, {"values", choice.values}});
  for (const AxisCondition& one : rules.conditions)
    json["where"].push_back({{"axis", one.axis}, {"relation", one.relation}, {"value", one.value}});
  return json;
}

}  // namespace

struct TuneSession::Impl {
  Impl(SessionOptions given, std::vector<GemmProblem> wanted, TuneMachine& on, TuneWatcher& told)
      : options(std::move(given)), machine(on), watcher(told) {
    strategy_named(options.strategy);
    for (const GemmProblem& problem : wanted) {
      problems.push_back(searched_problem(problem));
      families.push_back(&family_for(options.families, problems.back()));
      families.back()->check_axes(options.rules);
    }
    if (options.objective.needs_energy())  // of GPUs it is known when they are opened
      for (const GemmProblem& problem : problems)
        if (problem.location == Location::host) (void)machine.meter(options.objective, problem.location);
    machine.use_wisdom(options.known);
    for (const TuneFamily* family : families) usual_s += usual_budget_of(*family, options.objective);
    budget_s = options.budget_s.value_or(usual_s);
    if (options.log.path.empty()) return;
    nlohmann::json run = options.log.run;
    run["strategy"] = options.strategy;
    run["objective"] = options.objective.text();
    run["rules"] = rules_as_json(options.rules);
    add_machine(run, families, problems, machine);
    log = SweepLog(options.log.path, run, options.log.resume, options.log.keep_all, options.log.evades);
  }

  SessionReport run() {
    for (std::size_t i = 0; i < problems.size(); ++i) {
      if (const auto before = log.result(to_string(problems[i])); !before.is_null()) {
        keep(before.is_array() ? before.get<std::vector<nlohmann::json>>() : std::vector{before}, {});
        ++report.done;
        continue;
      }
      double ring_bytes = cold_bytes;
      if (!pay_for_operands(i, ring_bytes)) continue;
      if (left_s() <= 0 && (i > 0 || !options.at_least_one)) return end("the budget is spent");
      if (!tune_one(i, left_s() / double(problems.size() - i), ring_bytes)) {
        report.stopped = true;
        return end("interrupted");
      }
    }
    return end(report.left_out > 0 ? fmt::format("{} problems were left out", report.left_out) : "");
  }

  double spent_s() const { return options.clock.now() - begin_s; }
  double left_s() const { return budget_s - spent_s(); }

  SessionReport end(const std::string& why) {
    report.ended = why;
    report.spent_s = spent_s();
    report.searched = std::ssize(regrets);
    report.regret = regrets.empty() ? 0 : geometric_mean(regrets) - 1;
    return report;
  }

  // Fills memory with the operands of problem i, which serve other problems of the type as well: as many as
  // the budget pays for. False where it does not even pay for the fewest.
  bool pay_for_operands(std::size_t i, double& ring_bytes) {
    const double fill_begin_s = options.clock.now();
    const OperandRing ring = families[i]->operands(problems[i], machine, most_to_fill_s(i));
    if (ring.bytes == 0) {
      ++report.left_out;
      watcher.left_out(problems[i], ring.fill_s, left_s());
      return false;
    }
    ring_bytes = ring.bytes;
    families[i]->fill(problems[i], machine, ring.bytes);
    if (!options.budget_s) budget_s += options.clock.now() - fill_begin_s;
    if (ring.bytes < cold_bytes && ring.bytes != told_ring_bytes) {
      told_ring_bytes = ring.bytes;
      watcher.small_ring(problems[i], ring.bytes);
    }
    return true;
  }

  // What is left pays for the operands of all cold problems, whose types differ.
  double most_to_fill_s(std::size_t i) const {
    if (!options.budget_s) return std::numeric_limits<double>::infinity();
    std::set<DType> types;
    for (std::size_t other = i; other < problems.size(); ++other)
      if (problems[other].residency == Residency::cold) types.insert(problems[other].dtype);
    return options.fill_share * left_s() / double(std::max<std::size_t>(1, types.size()));
  }

  bool tune_one(std::size_t i, double seconds, double ring_bytes) {
    const GemmProblem& problem = problems[i];
    const TuneFamily& family = *families[i];
    TuneOptions tuning;
    tuning.budget_s = seconds;
    tuning.clock = options.clock;
    tuning.strategy = options.strategy;
    tuning.objective = options.objective;
    tuning.seed = options.seed;
    tuning.window_s = options.window_s;
    tuning.log = options.log.path.empty() ? nullptr : &log;
    tuning.ring_bytes = ring_bytes;
    tuning.rules = options.rules;
    tuning.rules.seeds = options.seeds.of(family.name(), problem);
    tuning.rules.incumbent = options.incumbent ? options.incumbent(problem) : incumbent_of(family, problem);
    if (options.objective.needs_energy()) tuning.meter = &machine.meter(options.objective, problem.location);
    tuning.stop = [&] { return watcher.stop(problem, report.done, spent_s()); };
    const TuneResult result = tune(family, problem, tuning, machine);
    if (!result.complete) return false;
    watcher.found(result);
    // What a call would take for measured was not. Its turns are in the log.
    if (result.objective.needs_energy() && !result.decided) {
      ++report.left_out;
      watcher.undecided(result);
      return true;
    }
    const auto records = records_of(result);
    keep(records, wrong_records(result));
    log.add_result(to_string(problem), records);
    regrets.push_back(1 + std::max(0.0, result.regret));
    ++report.done;
    return true;
  }

  // What wisdom knows for exactly this problem and objective, tuned on this machine.
  std::optional<nlohmann::json> incumbent_of(const TuneFamily& family, const GemmProblem& problem) const {
    std::optional<nlohmann::json> found;
    if (options.known == nullptr) return found;
    const WisdomQuery query{family.name(), family.architecture(machine), problem, options.objective.text(),
                            machine.device_name(problem.location)};
    options.known->offer(query, [&](const WisdomAnswer& answer) {
      if (answer.match == WisdomMatch::exact) found = answer.config;
      return true;
    });
    return found;
  }

  // A result is in the log when it has been kept. Resumed, the same problem may have been tuned again since:
  // of records the newer one stays.
  // Of a line that this run made, or that a log says an earlier one made.
  static WisdomRecord record_in(const nlohmann::json& line) {
    auto record = line.is_object() ? record_of_line(line) : std::nullopt;
    if (!record) throw Error(ErrorCode::io, "--log", "--log: one of its results is not a record");
    return std::move(*record);
  }

  void keep(const std::vector<nlohmann::json>& records, const std::vector<nlohmann::json>& wrongs) {
    std::vector<bool> newer(records.size(), false);
    if (options.store != nullptr)
      options.store->at_once([&] {
        for (const auto& wrong : wrongs) options.store->add_found(record_in(wrong));
        for (std::size_t i = 0; i < records.size(); ++i)
          newer[i] = !options.store->add_found(record_in(records[i]));
      });
    watcher.kept(records, newer);
  }

  SessionOptions options;
  TuneMachine& machine;
  TuneWatcher& watcher;
  std::vector<GemmProblem> problems;
  std::vector<const TuneFamily*> families;  // of the problems
  SweepLog log;
  double begin_s = options.clock.now(), usual_s = 0, budget_s = 0, told_ring_bytes = 0;
  SessionReport report;
  std::vector<double> regrets;
};

TuneSession::TuneSession(SessionOptions options, std::vector<GemmProblem> problems, TuneMachine& machine,
                         TuneWatcher& watcher) {
  // Levels around the innermost one are no matter of kernels.
  for (GemmProblem& problem : problems) problem = without_levels(problem);
  impl_ = std::make_unique<Impl>(std::move(options), std::move(problems), machine, watcher);
}
TuneSession::~TuneSession() = default;

double TuneSession::budget_s() const { return impl_->budget_s; }
std::string TuneSession::log_path() const { return impl_->log.path(); }
std::int64_t TuneSession::kept_turns() const { return impl_->log.kept(); }
const std::vector<GemmProblem>& TuneSession::problems() const { return impl_->problems; }
SessionReport TuneSession::run() {
  const OneThreadInChild while_searching;
  return impl_->run();
}

}  // namespace tilewright
