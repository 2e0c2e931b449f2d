// What tuning and calls minimise: time, energy, their product, a weighted sum of both, or the least energy
// among the fast. It scores measurements that were taken; it takes none, and where energy is asked for and
// was not measured it says so instead of counting it as zero.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/fields.hpp"

namespace tilewright {

// What one candidate cost, per problem of the batch.
struct Metrics {
  double seconds = 0;
  std::optional<double> joules;
};

class TuneObjective {
 public:
  TuneObjective() = default;
  // "time", "energy", "edp", "alpha=0.7" (1 = time alone, 0 = energy alone), "energy_within=5%" (of the
  // fastest). Throws Error(invalid_argument) naming the argument and the text.
  static TuneObjective parse(const std::string& text, const std::string& argument = "objective");
  // The same from its parts, as options of a call hold them. Throws Error(invalid_argument) naming
  // `objective_weight` where the number is missing, has no meaning or is out of range.
  static TuneObjective of(Objective goal, std::optional<double> number);

  Objective goal() const noexcept { return goal_; }
  // What of() takes: of alpha and energy_within.
  std::optional<double> number() const noexcept;
  bool needs_energy() const noexcept;
  std::string text() const;  // what parse() reads back

  // Lower is better. `reference` is the candidate that values are normalised by (the default config): alpha
  // weighs t / t_ref against e / e_ref. For energy_within it is the fastest known so far. Throws
  // Error(unsupported) when energy is needed and missing.
  double cost(const Metrics& metrics, const Metrics& reference) const;

  // The costs of candidates that were measured together, with `reference` for what is normalised.
  // energy_within takes the fastest of `all` instead, so that no cost depends on the order of measuring.
  std::vector<double> costs(std::span<const Metrics> all, const Metrics& reference) const;

  // The cheapest of them; the first of equals. Throws Error(invalid_argument) when there are none.
  std::size_t best(std::span<const Metrics> all, const Metrics& reference) const;

  // What a contest compares: cost(), but of energy_within the energy alone, because which candidates are fast
  // enough is known when all rounds are over.
  double contest_cost(const Metrics& metrics, const Metrics& reference) const;
  // The longest time that may win where the fastest of the same contest takes `fastest_s`.
  double slowest_s(double fastest_s) const;

 private:
  double joules(const Metrics& metrics) const;

  Objective goal_ = Objective::time;
  double number_ = 0;  // alpha, or the share by which energy_within may be slower
};

}  // namespace tilewright
