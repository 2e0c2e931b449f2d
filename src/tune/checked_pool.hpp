// The configs of one problem as the search sees them, whatever is computed and wherever it runs: made when
// they are wanted, held against the reference before anybody may time them, and timed by turns. A pool says
// how one config is made, checked and timed; which of them is best is the search's (search_loop.hpp).
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/fields.hpp"
#include "core/objective.hpp"
#include "device/energy_meter.hpp"
#include "measure/check_small.hpp"
#include "measure/observer.hpp"
#include "tune/turn_timer.hpp"

namespace tilewright {

// The lengths of turns and stages on one kind of device.
struct SearchPace {
  double shortest_turn_s, longest_screening_s, longest_halving_s, longest_final_s;
  // Shares of the budget that are spent when the strategy ends and when halving ends; equal: no halving.
  double strategy_share, halving_share;
  double incumbent_tie;          // what a config must gain on one that was tuned before
  double search_share = 1;       // of the budget; the rest is for what the pool looks at besides
  double usual_budget_s = 2;     // where nobody says how long to search
  double weighed_budget_s = 60;  // the same where energy counts, whose turns take a second
  double check_budget_s = 0.3;   // for measuring a stored record again
};

// So many announced candidates are made at once where that can be done side by side.
constexpr std::size_t made_together = 64;

// The origin of the kernels that are measured.
struct Origin {
  std::string family, device, device_uuid, driver, source_hash, compiler;
};

// The candidates of one problem, the default first. Peers hold the places after them: they meet the finalists
// in the contest, so that what they took is known from the same rounds, and never win.
class CheckedPool {
 public:
  // Up to `made_at_once` candidates are made side by side. Peers need not be made.
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

  // These will be wanted soon: the next that has to be made takes others along.
  void announce(std::span<const std::size_t> wanted);
  // True if it could be made and passed the gate, which each meets once; failure(i) says why not, accuracy(i)
  // how exact it is.
  bool is_right(std::size_t i);
  const std::string& failure(std::size_t i) const { return places_[i].failure; }
  const Accuracy& accuracy(std::size_t i) const { return places_[i].accuracy; }
  // Takes over what an earlier run found out, so that the gate is not run again.
  void set_failure(std::size_t i, std::string reason) {
    places_[i].failure = std::move(reason), places_[i].checked = true;
  }
  void set_passed(std::size_t i, const Accuracy& accuracy) {
    places_[i].accuracy = accuracy, places_[i].checked = true;
  }

  // About `turn_s` of a right one. Throws Error(internal) for a wrong one, and for one that passed in an
  // earlier run and cannot be made any more.
  TurnTimer::Turn time(std::size_t i, double turn_s);
  // The same under a load without pauses, with the energy of a problem by a meter of where it runs. Throws
  // Error(io) with the reason where the meter gave none.
  virtual Metrics time_with_energy(std::size_t i, double turn_s, EnergyMeter& meter);
  // The shortest of such turns that means something.
  virtual double shortest_energy_s(const EnergyMeter& meter) const { return 2 * meter.shortest_s(); }
  // The observer of the contest.
  virtual std::vector<std::unique_ptr<Observer>> observers() const { return {}; }
  // Other users of the device meanwhile.
  virtual std::vector<std::string> notes() const { return {}; }

  // Further keys of the winner's record, found out within about `budget_s` after the contest.
  virtual nlohmann::json findings(std::size_t /*winner*/, double /*budget_s*/) {
    return nlohmann::json::object();
  }

 protected:
  bool is_peer(std::size_t i) const { return i >= size_; }
  // Makes it unless it is made. Throws as time() does.
  void require(std::size_t i);

 private:
  struct Place {
    std::string failure{};
    Accuracy accuracy{};
    bool made = false, checked = false;  // now or in an earlier run
  };

  // Makes config i; where several are made side by side, from any thread. Throws with the reason.
  virtual void make(std::size_t /*i*/) {}
  // Holds what was made against the reference. An Error(unsupported) is a fault, too.
  virtual CheckResult check(std::size_t i) = 0;
  // Frees what was made of a wrong one.
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
