// The configs of one problem as the search sees them, whatever family they are of and whatever they run on:
// made when they are wanted, passed through the gate before anybody may time them, and timed by turns. What a
// family has to say of them is family/family.hpp's; which of them is best is the search's (search_loop.hpp).
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/json.hpp"
#include "core/objective.hpp"
#include "device/energy_meter.hpp"
#include "measure/accuracy.hpp"
#include "measure/observer.hpp"
#include "tune/turn_timer.hpp"

namespace tilewright {

// How long turns and stages are on one kind of device.
struct SearchPace {
  double shortest_turn_s, longest_screening_s, longest_halving_s, longest_final_s;
  // Shares of the budget that are spent when the strategy ends and when halving ends; equal: no halving.
  double strategy_share, halving_share;
  double incumbent_tie;          // what a config must gain on one that was tuned before
  double search_share = 1;       // of the budget; the rest is for what the family looks at besides
  double usual_budget_s = 2;     // where nobody says how long to search
  double weighed_budget_s = 60;  // the same where energy counts, whose turns take a second
  double check_budget_s = 0.3;   // for measuring a stored record again
};

// So many announced candidates are made at once, side by side.
constexpr std::size_t made_together = 64;

// Who made the kernels that are measured, and where.
struct Origin {
  std::string family, device, device_uuid, driver, source_hash, compiler;
};

// The candidates of one problem; the first is the default.
class ConfigPool {
 public:
  virtual ~ConfigPool() = default;
  virtual std::size_t size() const = 0;
  virtual nlohmann::json fields(std::size_t i) const = 0;  // of its config, by name
  virtual Origin origin() const { return {}; }

  // Peers hold the places after the candidates: they meet the finalists in the contest, so that what they
  // took is known from the same rounds, and never win. Everything below is asked of their places, too.
  virtual std::size_t peer_count() const { return 0; }
  virtual std::string peer_name(std::size_t) const { return ""; }  // of place i

  // These will be wanted soon: the next that has to be made takes others along.
  virtual void announce(std::span<const std::size_t> wanted) = 0;
  // Whether it could be made and passed the gate; failure(i) says why not, accuracy(i) how exact it is.
  virtual bool is_right(std::size_t i) = 0;
  virtual const std::string& failure(std::size_t i) const = 0;
  virtual const Accuracy& accuracy(std::size_t i) const = 0;
  // What an earlier run found out, so that the gate is not run again.
  virtual void set_failure(std::size_t i, std::string reason) = 0;
  virtual void set_passed(std::size_t i, const Accuracy& accuracy) = 0;

  // About `turn_s` of a right one. Throws Error(internal) when it cannot be made any more.
  virtual TurnTimer::Turn time(std::size_t i, double turn_s) = 0;
  // The same under a load without pauses, with the energy of a problem by a meter of where it runs. Throws
  // Error(io) with the reason where the meter gave none.
  virtual Metrics time_with_energy(std::size_t i, double turn_s, EnergyMeter& meter);
  // The shortest of such turns that means something.
  virtual double shortest_energy_s(const EnergyMeter& meter) const { return 2 * meter.shortest_s(); }
  // Who watches the contest.
  virtual std::vector<std::unique_ptr<Observer>> observers() const { return {}; }

  // Further keys of the winner's record, found out within about `budget_s` after the contest.
  virtual nlohmann::json findings(std::size_t /*winner*/, double /*budget_s*/) {
    return nlohmann::json::object();
  }
};

}  // namespace tilewright
