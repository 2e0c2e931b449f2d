// Runs the rounds, tests for drift, and decides.
#include "measure/contest.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace tilewright {
namespace {

// The incumbent drifted, that is the machine changed, if its two measurements within a round differ by more
// than least_drift and by more than the median difference of the rounds so far times this factor.
constexpr double drift_factor = 5;
constexpr double least_drift = 0.03;
constexpr double relative_width_floor = 1e-12;

class Contest {
 public:
  Contest(std::size_t contestants, const std::function<double(std::size_t)>& measure,
          const ContestRules& rules)
      : measure_(measure), rules_(rules), ratios_(contestants), order_(contestants - 1), random_(rules.seed) {
    std::iota(order_.begin(), order_.end(), 1);
  }

  Verdict run(const std::function<bool()>& more) {
    // Discarded rounds are repeated, but not for ever.
    while (verdict_.rounds < rules_.most_rounds && verdict_.discarded < 2 * rules_.most_rounds) {
      if (!more()) break;
      round();
    }
    decide();
    return std::move(verdict_);
  }

 private:
  void round() {
    const double first = measure_(0);
    std::shuffle(order_.begin(), order_.end(), random_);
    std::vector<double> costs(ratios_.size());
    for (const std::size_t i : order_) costs[i] = measure_(i);
    const double last = measure_(0);
    const double moved = std::fabs(std::log(last / first));
    const bool drifted = moved > std::max(least_drift, drift_factor * median(moves_));
    moves_.push_back(moved);
    if (drifted) {
      ++verdict_.discarded;
      return;
    }
    costs[0] = std::sqrt(first * last);
    for (std::size_t i = 0; i < costs.size(); ++i) ratios_[i].push_back(costs[i] / costs[0]);
    ++verdict_.rounds;
  }

  // Returns the margin by which `ratio` must be better: the rule's, or its own spread if that is larger.
  double margin(const Estimate& ratio) const {
    const double width = (ratio.high - ratio.low) / 2 / std::max(ratio.centre, relative_width_floor);
    return std::max(rules_.tie, width);
  }

  void decide() {
    verdict_.spread = median(moves_);
    verdict_.ratios.resize(ratios_.size());
    if (verdict_.rounds == 0) return;
    for (std::size_t i = 0; i < ratios_.size(); ++i) verdict_.ratios[i] = estimate(ratios_[i]);
    verdict_.decided = verdict_.rounds >= rules_.least_rounds;
    if (!verdict_.decided) return;
    const std::size_t best = best_of_those_that_may_win();
    const Estimate& ratio = verdict_.ratios[best];
    const bool clearly = ratio.high < 1 && ratio.centre < 1 - margin(ratio);
    if (best != 0 && (clearly || !may_win(0))) verdict_.winner = best;
    const double winner = verdict_.ratios[verdict_.winner].centre;
    for (std::size_t i = 0; i < ratios_.size(); ++i) {
      const double apart = std::fabs(verdict_.ratios[i].centre / winner - 1);
      if (i != verdict_.winner && may_win(i) && apart <= margin(verdict_.ratios[i]))
        verdict_.ties.push_back(i);
    }
  }

  bool may_win(std::size_t i) const { return !rules_.may_win || rules_.may_win(i); }

  std::size_t best_of_those_that_may_win() const {
    std::size_t best = 0;
    for (std::size_t i = 1; i < ratios_.size(); ++i)
      if (may_win(i) && (!may_win(best) || verdict_.ratios[i].centre < verdict_.ratios[best].centre))
        best = i;
    return best;
  }

  const std::function<double(std::size_t)>& measure_;
  const ContestRules& rules_;
  std::vector<std::vector<double>> ratios_;
  std::vector<std::size_t> order_;
  std::mt19937_64 random_;
  std::vector<double> moves_;
  Verdict verdict_;
};

}  // namespace

Verdict hold_contest(std::size_t contestants, const std::function<double(std::size_t)>& measure,
                     const std::function<bool()>& more, const ContestRules& rules) {
  return Contest(contestants, measure, rules).run(more);
}

}  // namespace tilewright
