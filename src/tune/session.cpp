// Budgets, incumbents, logs and keeping; the search of a problem is the tuner's.
#include "tune/session.hpp"

#include <algorithm>
#include <limits>
#include <set>

#include "core/host/fork_gate.hpp"
#include "device/team.hpp"
#include "tune/strategy/strategy.hpp"

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
  OneThreadInChild& operator=(OneThreadInChild&&) = delete;

 private:
  int before_;
};

}  // namespace

struct TuneSession::Impl {
  Impl(SessionOptions given, Operations wanted, TuneWatcher& watcher_given)
      : options(std::move(given)), operations(std::move(wanted)), watcher(watcher_given) {
    strategy_named(options.strategy);
    const bool needs_energy = options.objective.needs_energy();
    double default_s = 0;
    for (const auto& operation : operations) {
      default_s += needs_energy ? operation->pace().energy_budget_s : operation->pace().default_budget_s;
      if (needs_energy &&
          operation->location() == Location::host)  // of GPUs it is known when they are opened
        (void)operation->meter(options.objective);
    }
    budget_s = options.budget_s.value_or(default_s);
    if (options.log.path.empty()) return;
    nlohmann::json run = options.log.run;
    run["strategy"] = options.strategy;
    run["objective"] = options.objective.text();
    for (const auto& operation : operations) operation->describe_run(run);
    const SessionLog& l = options.log;
    log = SweepLog(l.path, run, l.resume, l.keep_all, l.evades, l.argument);
  }

  SessionReport run() {
    for (std::size_t i = 0; i < operations.size(); ++i) {
      if (const auto before = log.result(operations[i]->text()); !before.empty()) {
        keep(before, {});
        ++report.done;
        continue;
      }
      double ring_bytes = cold_bytes;
      if (!pay_for_operands(i, ring_bytes)) continue;
      if (left_s() <= 0 && (i > 0 || !options.at_least_one)) return end("the budget is used up");
      if (!tune_one(i, share_s(i), ring_bytes)) {
        report.stopped = true;
        return end("interrupted");
      }
    }
    if (report.left_out == 1) return end("1 problem was left out");
    return end(report.left_out > 0 ? fmt::format("{} problems were left out", report.left_out) : "");
  }

  double spent_s() const { return options.clock.now() - begin_s; }
  double left_s() const { return budget_s - spent_s(); }

  // The part of the budget for problem i. Positive even where nothing is left: the one problem that is
  // searched then measures what it must and ends, but a budget below zero would never be used up.
  double share_s(std::size_t i) const {
    constexpr double least_s = 1e-9;
    return std::max(left_s() / double(operations.size() - i), least_s);
  }

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
    const OperandRing ring = operations[i]->operands(most_to_fill_s(i));
    if (ring.bytes == 0) {
      ++report.left_out;
      watcher.left_out(i, ring.fill_s, left_s());
      return false;
    }
    ring_bytes = ring.bytes;
    operations[i]->fill(ring.bytes);
    if (!options.budget_s) budget_s += options.clock.now() - fill_begin_s;
    if (ring.bytes < cold_bytes && ring.bytes != told_ring_bytes) {
      told_ring_bytes = ring.bytes;
      watcher.small_ring(i, ring.bytes);
    }
    return true;
  }

  // The remaining budget pays for the operands of all later problems, once per pool.
  double most_to_fill_s(std::size_t i) const {
    if (!options.budget_s) return std::numeric_limits<double>::infinity();
    std::set<std::string> pools;
    for (std::size_t other = i; other < operations.size(); ++other) {
      const std::string pool = operations[other]->operand_pool();
      if (!pool.empty()) pools.insert(pool);
    }
    return options.fill_share * left_s() / double(std::max<std::size_t>(1, pools.size()));
  }

  bool tune_one(std::size_t i, double seconds, double ring_bytes) {
    Operation& operation = *operations[i];
    TuneOptions tuning;
    static_cast<SearchSettings&>(tuning) = options;
    tuning.budget_s = seconds;
    tuning.log = options.log.path.empty() ? nullptr : &log;
    tuning.ring_bytes = ring_bytes;
    tuning.incumbent = operation.known(options.objective);
    if (options.objective.needs_energy()) tuning.meter = &operation.meter(options.objective);
    tuning.stop = [&] { return watcher.stop(i, report.done, spent_s()); };
    const TuneResult result = tune(operation, tuning);
    if (!result.complete) return false;
    watcher.found(result);
    // Not measured well enough for calls. Its turns are in the log.
    if (result.objective.needs_energy() && !result.decided) {
      ++report.left_out;
      watcher.undecided(result);
      return true;
    }
    const auto records = records_of(result);
    keep(records, wrong_records(result));
    log.add_result(operation.text(), records);
    regrets.push_back(1 + std::max(0.0, result.regret));
    ++report.done;
    return true;
  }

  // A result is in the log when it has been kept. Of records tuned again since, the newer stays.
  void keep(const std::vector<WisdomRecord>& records, const std::vector<WisdomRecord>& wrongs) {
    std::vector<bool> newer(records.size(), false);
    if (options.store != nullptr)
      options.store->at_once([&] {
        for (const WisdomRecord& wrong : wrongs) options.store->add_found(wrong);
        for (std::size_t i = 0; i < records.size(); ++i) newer[i] = !options.store->add_found(records[i]);
      });
    watcher.kept(records, newer);
  }

  SessionOptions options;
  Operations operations;
  TuneWatcher& watcher;
  SweepLog log;
  double begin_s = options.clock.now(), budget_s = 0, told_ring_bytes = 0;
  SessionReport report;
  std::vector<double> regrets;
};

TuneSession::TuneSession(SessionOptions options, Operations operations, TuneWatcher& watcher)
    : impl_(std::make_unique<Impl>(std::move(options), std::move(operations), watcher)) {}
TuneSession::~TuneSession() = default;

double TuneSession::budget_s() const { return impl_->budget_s; }
std::string TuneSession::log_path() const { return impl_->log.path(); }
std::int64_t TuneSession::kept_turns() const { return impl_->log.kept(); }
const Operations& TuneSession::operations() const { return impl_->operations; }
SessionReport TuneSession::run() {
  const OneThreadInChild while_searching;
  return impl_->run();
}

}  // namespace tilewright
