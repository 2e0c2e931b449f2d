// Several threads may run a plan at once: one of them tries an offer, the others run the fastest known one.
#include "gemm/run/learning.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>

#include "core/date.hpp"
#include "core/estimate.hpp"
#include "core/host/fork_gate.hpp"
#include "core/quantity.hpp"
#include "gemm/context_impl.hpp"
#include "plan/learn.hpp"
#include "wisdom/families.hpp"
#include "wisdom/store.hpp"

namespace tilewright {
namespace {

class HostCallTimer : public CallTimer {
 public:
  bool begin(const Operands&) override {
    begin_ = Clock::now();
    return true;
  }
  void end(const Operands&) override {
    seconds_ = std::chrono::duration<double>(Clock::now() - begin_).count();
  }
  std::optional<double> seconds() override { return seconds_; }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point begin_;
  double seconds_ = 0;
};

struct LearnedOffer {
  std::string candidate;
  std::shared_ptr<const Runner> runner;
  CostEstimate cost;
  std::unique_ptr<CallTimer> timer;
  bool is_running = false;  // a timed call of it has not ended
  bool is_timed = false;    // its time is not known yet

  std::string name() const { return candidate + (cost.has_config ? " " + runner->config_text() : ""); }
};

class LearningRunner : public Runner {
 public:
  LearningRunner(const PlanRequest& r, std::vector<LearnedOffer> offers)
      : problem_(r.problem),
        wisdom_(r.context.own_wisdom),
        offers_(std::move(offers)),
        learner_(expected_of(offers_)),
        leader_(offers_.front().runner.get()) {}

  void check(const Operands& o) const override { offers_.front().runner->check(o); }

  void run(const Operands& o) const override {
    if (has_decided_.load(std::memory_order_acquire)) return leader().run(o);
    const int begun = ++begun_;
    LearnedOffer* const trial = begin_trial(o);
    try {
      (trial != nullptr ? *trial->runner : leader()).run(o);
    } catch (...) {
      end_trial(trial, nullptr);
      ++ended_;
      throw;
    }
    // Calls that ran beside this one made it slower.
    const bool was_alone = begun_.load() == begun && ended_.load() == begun - 1;
    end_trial(trial, was_alone ? &o : nullptr);
    ++ended_;
  }
  bool cuts_batches() const override { return leader().cuts_batches(); }
  void run_range(const Operands& o, std::int64_t first, std::int64_t count) const override {
    leader().run_range(o, first, count);
  }
  bool runs_parts() const override { return leader().runs_parts(); }
  void run_part(const Operands& o, std::int64_t first, std::int64_t count, int threads) const override {
    leader().run_part(o, first, count, threads);
  }
  bool reports() const override { return leader().reports(); }
  std::shared_ptr<const GemmSmallCpuKernel> small_kernel() const override { return leader().small_kernel(); }

  std::string device() const override { return leader().device(); }
  std::string threads_text() const override { return leader().threads_text(); }
  int thread_count() const override { return leader().thread_count(); }
  bool uses_gpus() const override { return leader().uses_gpus(); }
  std::string library() const override { return leader().library(); }
  nlohmann::json config() const override { return leader().config(); }
  std::string config_text() const override { return leader().config_text(); }
  std::string kernel() const override { return leader().kernel(); }
  nlohmann::json metrics() const override { return leader().metrics(); }
  std::string prediction(double least_s) const override { return leader().prediction(least_s); }
  std::optional<double> predicted_s(double least_s) const override { return leader().predicted_s(least_s); }
  std::string bound() const override { return leader().bound(); }
  std::string learned() const override;
  nlohmann::json last_run() const override { return leader().last_run(); }
  bool takes_blocks() const override { return leader().takes_blocks(); }

 private:
  static std::vector<double> expected_of(const std::vector<LearnedOffer>& offers);
  const Runner& leader() const { return *leader_.load(std::memory_order_acquire); }
  // Null if this call is not timed: another one is, or the last time of the offer is not known yet.
  LearnedOffer* begin_trial(const Operands& o) const;
  // `o` is null for a call that says nothing.
  void end_trial(LearnedOffer* trial, const Operands* o) const;
  void collect() const;
  void keep() const;
  std::optional<WisdomRecord> record_of(std::size_t offer) const;

  const GemmProblem problem_;
  const std::string wisdom_;  // the user's; "" without one
  mutable std::vector<LearnedOffer> offers_;
  mutable Mutex mutex_;  // of all below that is not atomic, and of the offers' timers
  mutable CallLearner learner_;
  mutable std::string kept_;  // what became of the result
  mutable std::atomic<const Runner*> leader_;
  mutable std::atomic<bool> has_decided_ = false;
  mutable std::atomic<int> begun_ = 0, ended_ = 0;
};

std::vector<double> LearningRunner::expected_of(const std::vector<LearnedOffer>& offers) {
  const bool all_known = std::all_of(
      offers.begin(), offers.end(), [](const LearnedOffer& offer) { return offer.cost.seconds.has_value(); });
  std::vector<double> expected;
  for (const LearnedOffer& offer : offers) expected.push_back(all_known ? offer.cost.expected_s() : 1);
  return expected;
}

LearnedOffer* LearningRunner::begin_trial(const Operands& o) const {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return nullptr;
  collect();
  if (learner_.has_decided()) return nullptr;
  LearnedOffer& next = offers_[learner_.next()];
  if (learner_.has_decided()) {
    keep();
    return nullptr;
  }
  if (next.is_running || next.is_timed || !next.timer->begin(o)) return nullptr;
  next.is_running = true;
  return &next;
}

void LearningRunner::end_trial(LearnedOffer* trial, const Operands* o) const {
  if (trial == nullptr) return;
  const std::lock_guard lock(mutex_);
  trial->is_running = false;
  if (o == nullptr) return;
  trial->timer->end(*o);
  trial->is_timed = true;
  collect();
}

void LearningRunner::collect() const {
  for (std::size_t i = 0; i < offers_.size(); ++i) {
    if (!offers_[i].is_timed) continue;
    const std::optional<double> seconds = offers_[i].timer->seconds();
    if (!seconds) continue;
    offers_[i].is_timed = false;
    learner_.add(i, *seconds);
    leader_.store(offers_[learner_.leader()].runner.get(), std::memory_order_release);
    if (learner_.has_decided()) return keep();
  }
}

// Calls that come later, of other processes too, find records of what was tried, and choose by them.
void LearningRunner::keep() const {
  if (has_decided_.exchange(true)) return;
  leader_.store(offers_[learner_.leader()].runner.get(), std::memory_order_release);
  if (wisdom_.empty() || is_lines_file(wisdom_)) {
    kept_ = "not kept: there is no database of wisdom";
    return;
  }
  try {
    WisdomStore store(wisdom_, sqlite::Mode::write, wait_of_calls);
    std::int64_t kept = 0;
    for (std::size_t i = 0; i < offers_.size(); ++i)
      if (const auto record = record_of(i)) kept += store.add_found(*record) ? 1 : 0;
    kept_ = kept > 0 ? "kept in " + wisdom_ : "not kept: wisdom has no records of such calls, or better ones";
  } catch (const Error& error) {
    kept_ = fmt::format("not kept: {}", error.what());
  }
}

// The fastest offer of a family has its record. Times on several threads are not comparable with those of
// other records, so the record of such a winner has none.
std::optional<WisdomRecord> LearningRunner::record_of(std::size_t offer) const {
  const LearnedOffer& one = offers_[offer];
  constexpr std::size_t fewest = 3;
  if (one.cost.family == nullptr || learner_.times(offer).size() < fewest) return std::nullopt;
  const auto is_of_family = [&](const LearnedOffer& other) {
    return other.cost.family != nullptr && std::string_view(other.cost.family) == one.cost.family;
  };
  for (std::size_t i = 0; i < offers_.size(); ++i)
    if (i != offer && is_of_family(offers_[i]) && learner_.seconds(i) > 0 &&
        (i == learner_.leader() ||
         (offer != learner_.leader() && learner_.seconds(i) < learner_.seconds(offer))))
      return std::nullopt;
  WisdomRecord record;
  GemmProblem problem = problem_to_tune(problem_);
  problem.batch_count = problem_.batch_count;
  record.family = one.cost.family, record.problem = to_string(problem), record.config = one.runner->config();
  record.device = one.runner->device(), record.source_hash = current_source_hash(one.cost.family);
  record.time = time_now();
  record.extra = {{"learned_from", "calls"}, {"rounds", learner_.times(offer).size()}};
  const bool is_comparable = problem_.location == Location::device || one.runner->thread_count() == 1;
  if (!is_comparable) return offer == learner_.leader() ? std::optional(record) : std::nullopt;
  const double count = double(std::max<std::int64_t>(1, problem_.batch_count));
  const auto& times = learner_.times(offer);
  const Estimate seconds = estimate({times.begin() + 1, times.end()});
  record.seconds = seconds.centre / count, record.samples = seconds.samples;
  record.seconds_low = seconds.low / count, record.seconds_high = seconds.high / count;
  const bool is_over_default =
      is_of_family(offers_.front()) && offers_.front().cost.known.match == WisdomMatch::none;
  if (is_over_default && learner_.seconds(0) > 0) record.default_seconds = learner_.seconds(0) / count;
  return record;
}

std::string LearningRunner::learned() const {
  const std::lock_guard lock(mutex_);
  const std::size_t best = learner_.leader();
  std::string text = learner_.has_decided()
                         ? fmt::format("{} is the fastest by {}, {}", offers_[best].name(),
                                       counted(learner_.calls(), "call"), kept_)
                         : fmt::format("{} of at most {} calls timed; {} leads", learner_.calls(),
                                       CallLearner::most_calls, offers_[best].name());
  for (std::size_t i = 0; i < offers_.size(); ++i)
    if (learner_.seconds(i) > 0)
      text += fmt::format("{} {} {} in {}", i == 0 ? ":" : ",", offers_[i].name(),
                          seconds_text(learner_.seconds(i)),
                          counted(std::int64_t(learner_.times(i).size()), "call"));
  return text;
}

}  // namespace

std::unique_ptr<CallTimer> call_timer(const PlanRequest& r) {
  if (r.problem.location == Location::device) return device_call_timer(r);
  return std::make_unique<HostCallTimer>();
}

std::shared_ptr<const Runner> learning_runner(const PlanRequest& r, std::shared_ptr<const Runner> chosen,
                                              Ranking<GemmOperation>& ranking,
                                              const MakeCallTimer& make_timer) {
  if (ranking.cost.known.match == WisdomMatch::exact) return chosen;
  std::vector<LearnedOffer> offers;
  const auto add = [&](const char* candidate, std::shared_ptr<const Runner> runner,
                       const CostEstimate& cost) {
    const bool is_known = std::any_of(offers.begin(), offers.end(), [&](const LearnedOffer& known) {
      return known.candidate == candidate && known.runner->config() == runner->config();
    });
    if (is_known || runner->reports() != chosen->reports()) return;
    offers.push_back({candidate, std::move(runner), cost, make_timer(r)});
  };
  add(ranking.winner->name, chosen, ranking.cost);
  for (auto& rival : std::exchange(ranking.rivals, {}))
    add(rival.candidate->name, std::move(rival.made.runner), rival);
  if (offers.size() < 2) return chosen;
  return std::make_shared<const LearningRunner>(r, std::move(offers));
}

}  // namespace tilewright
