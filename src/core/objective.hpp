// The objective that tuning and calls minimise: time, energy, their product, a weighted sum of both, or the
// least energy among the fast candidates. Scoring throws if energy is needed and was not measured.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/fields.hpp"

namespace tilewright {

// The measured cost of one candidate, per problem of the batch.
struct Metrics {
  double seconds = 0;
  std::optional<double> joules;
};

class TuneObjective {
 public:
  TuneObjective() = default;
  // Reads "time", "energy", "edp", "alpha=0.7" (1 = time alone, 0 = energy alone) or "energy_within=5%" (of
  // the fastest). Throws Error(invalid_argument) naming the argument and the text.
  static TuneObjective parse(const std::string& text, const std::string& argument = "objective");
  // Makes the objective from its parts, as options of a call hold them. Throws Error(invalid_argument) naming
  // `objective_weight` if the number is missing, has no meaning or is out of range.
  static TuneObjective of(Objective goal, std::optional<double> number);

  Objective goal() const noexcept { return goal_; }
  // The number that of() takes; present for alpha and energy_within only.
  std::optional<double> number() const noexcept;
  bool needs_energy() const noexcept;
  std::string text() const;  // the text that parse() reads back

  // Lower is better. `reference` is the candidate that values are normalised by (the default config): alpha
  // weighs t / t_ref against e / e_ref. For energy_within it is the fastest known so far. Throws
  // Error(unsupported) if energy is needed and missing.
  double cost(const Metrics& metrics, const Metrics& reference) const;

  // Returns the costs of candidates that were measured together, normalised by `reference`. energy_within
  // takes the fastest of `all` instead, so that no cost depends on the order of measuring.
  std::vector<double> costs(std::span<const Metrics> all, const Metrics& reference) const;

  // Returns the index of the first cheapest one. Throws Error(invalid_argument) if `all` is empty.
  std::size_t best(std::span<const Metrics> all, const Metrics& reference) const;

  // The contest's cost: cost(), but energy for energy_within, as the last round shows which are fast enough.
  double contest_cost(const Metrics& metrics, const Metrics& reference) const;
  // Returns the longest time that may win if the fastest of the same contest takes `fastest_s`.
  double slowest_s(double fastest_s) const;

 private:
  double joules(const Metrics& metrics) const;

  Objective goal_ = Objective::time;
  double number_ = 0;  // alpha, or the share by which energy_within may be slower
};

}  // namespace tilewright
