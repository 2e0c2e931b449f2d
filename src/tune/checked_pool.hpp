// The configs of one problem as the search sees them, whatever they compute: made on demand, compared with
// the reference before they are timed, and timed by turns. search_loop.hpp chooses the best.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/fields.hpp"
#include "core/objective.hpp"
#include "device/energy_meter.hpp"
#include "measure/check_small.hpp"
#include "measure/clock.hpp"
#include "measure/observer.hpp"

namespace tilewright {

// The lengths of turns and stages on one kind of device.
struct SearchPace {
  double shortest_turn_s, longest_screening_s, longest_halving_s, longest_final_s;
  // Fractions of the budget at the end of the strategy and of halving; equal: no halving.
  double strategy_share, halving_share;
  double incumbent_tie;         // the gain that a config needs over the incumbent
  double search_share = 1;      // of the budget; the rest is for findings()
  double default_budget_s = 2;  // default
  double energy_budget_s = 60;  // default with energy, whose turns take a second
  double check_budget_s = 0.3;  // default for checking a stored record
};

// The number of candidates that are made side by side.
constexpr std::size_t made_together = 64;

// The origin of the kernels that are measured.
struct Origin {
  std::string family, device, device_uuid, driver, source_hash, compiler;
};

// Times turns of anything that works on batches, by the CPU time of the calling thread: one batch again and
// again when hot, the batches of a ring when cold.
class TurnTimer {
 public:
  // `problems` in each of the `batches`.
  TurnTimer(bool hot, std::int64_t batches, std::int64_t problems)
      : hot_(hot), batches_(batches), problems_(problems) {}

  struct Turn {
    double seconds = 0;   // per problem, CPU time of the calling thread
    double problems = 0;  // that were timed
  };
  // About `turn_s` of run(batch), after a warm-up where data is hot.
  template <class Run>
  Turn time(Run&& run, double turn_s) {
    return hot_ ? time_hot(run, turn_s) : time_cold(run, turn_s);
  }

 private:
  template <class Run>
  Turn time_hot(Run& run, double turn_s) {
    run(0);
    std::int64_t loops = 1;
    double seconds = loop(run, loops);
    // Estimates the speed, then times as many runs as fill the turn.
    while (seconds < turn_s / 8) seconds = loop(run, loops *= 4);
    loops = std::max<std::int64_t>(1, std::llround(double(loops) * turn_s / seconds));
    const double problems = double(loops * problems_);
    return {loop(run, loops) / problems, problems};
  }

  template <class Run>
  static double loop(Run& run, std::int64_t loops) {
    const double begin = thread_cpu_seconds();
    for (std::int64_t i = 0; i < loops; ++i) run(0);
    return thread_cpu_seconds() - begin;
  }

  template <class Run>
  Turn time_cold(Run& run, double turn_s) {
    double elapsed = 0;
    std::int64_t runs = 0;
    while (runs == 0 || elapsed < turn_s) {
      const std::int64_t batch = next_++ % batches_;
      const double begin = thread_cpu_seconds();
      run(batch);
      elapsed += thread_cpu_seconds() - begin;
      ++runs;
    }
    const double problems = double(runs * problems_);
    return {elapsed / problems, problems};
  }

  bool hot_;
  std::int64_t batches_, problems_, next_ = 0;
};

// A problem's candidates, the default first, then the peers, which meet the finalists and never win.
class CheckedPool {
 public:
  // Makes up to `made_at_once` candidates side by side. Peers need no making.
  explicit CheckedPool(std::size_t candidates, std::size_t peers = 0, std::size_t made_at_once = 1)
      : size_(candidates), made_at_once_(made_at_once), places_(candidates) {
    places_.resize(candidates + peers, Place{.made = true});
  }
  virtual ~CheckedPool() = default;

  std::size_t size() const { return size_; }
  std::size_t peer_count() const { return places_.size() - size_; }
  virtual nlohmann::json fields(std::size_t i) const = 0;  // of its config, by name
  virtual Origin origin() const { return {}; }
  virtual std::string peer_name(std::size_t) const { return ""; }  // of place i

  // Candidates to be wanted soon: they are made together with the next one.
  void announce(std::span<const std::size_t> wanted);
  // True if it was made and passed the gate, once for each; failure(i) says why not, accuracy(i) how exact.
  bool is_right(std::size_t i);
  const std::string& failure(std::size_t i) const { return places_[i].failure; }
  const Accuracy& accuracy(std::size_t i) const { return places_[i].accuracy; }
  // Take over the verdict of an earlier run.
  void set_failure(std::size_t i, std::string reason) {
    places_[i].failure = std::move(reason), places_[i].checked = true;
  }
  void set_passed(std::size_t i, const Accuracy& accuracy) {
    places_[i].accuracy = accuracy, places_[i].checked = true;
  }

  // About `turn_s` of a right one. Throws Error(internal) for a wrong one, or one that can no longer be made.
  TurnTimer::Turn time(std::size_t i, double turn_s);
  // The same under a continuous load, with the energy per problem. Error(io) says why a meter gave none.
  virtual Metrics time_with_energy(std::size_t i, double turn_s, EnergyMeter& meter);
  // The shortest meaningful turn with energy.
  virtual double shortest_energy_s(const EnergyMeter& meter) const { return 2 * meter.shortest_s(); }
  // The observer of the contest.
  virtual std::vector<std::unique_ptr<Observer>> observers() const { return {}; }
  // Other users of the device meanwhile.
  virtual std::vector<std::string> notes() const { return {}; }

  // Further keys of the winner's record, measured within about `budget_s` after the contest.
  virtual nlohmann::json findings(std::size_t /*winner*/, double /*budget_s*/) {
    return nlohmann::json::object();
  }

 protected:
  bool is_peer(std::size_t i) const { return i >= size_; }
  // Makes it unless it is made. Throws like time().
  void require(std::size_t i);

 private:
  struct Place {
    std::string failure{};
    Accuracy accuracy{};
    bool made = false, checked = false;  // checked: now or in an earlier run
  };

  // Makes config i, from any thread. Throws with the reason.
  virtual void make(std::size_t /*i*/) {}
  // Compares it with the reference. An Error(unsupported) is a fault, too.
  virtual CheckResult check(std::size_t i) = 0;
  // Frees a wrong one.
  virtual void drop(std::size_t /*i*/) {}
  virtual TurnTimer::Turn time_made(std::size_t i, double turn_s) = 0;

  void make_with_announced(std::size_t i);

  std::size_t size_, made_at_once_;
  std::vector<Place> places_;
  std::vector<std::size_t> announced_;
  std::size_t next_announced_ = 0;
};

// A pool of configs of one struct, without peers.
template <class Config>
class PoolOf : public CheckedPool {
 public:
  explicit PoolOf(std::vector<Config> configs, std::size_t made_at_once = 1)
      : CheckedPool(configs.size(), 0, made_at_once), configs_(std::move(configs)) {}
  nlohmann::json fields(std::size_t i) const override { return to_json(configs_[i]); }

 protected:
  const std::vector<Config> configs_;
};

}  // namespace tilewright
