// One comparison of two offers, and the words for what comes of all.
#include "plan/offer.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/refuse.hpp"

namespace tilewright {
namespace {

bool is_of_this_device(const CostEstimate& offer) { return offer.known.match != WisdomMatch::near_device; }
bool is_exact(const CostEstimate& offer) { return offer.known.match == WisdomMatch::exact; }
// A config that was measured for another problem, or for none.
bool is_borrowed(const CostEstimate& offer) { return offer.has_config && !is_exact(offer); }

bool costs_less(const TuneObjective& objective, const CostEstimate& x, const CostEstimate& y) {
  const bool for_it =
      x.known.recorded.objective == objective.text() && y.known.recorded.objective == objective.text();
  if (!for_it || !objective.needs_energy() || !x.joules || !y.joules) return *x.seconds < *y.seconds;
  const Metrics both[] = {{*x.seconds, x.joules}, {*y.seconds, y.joules}};
  const std::vector<double> costs = objective.costs(both, both[1]);
  return costs[0] < costs[1];
}

std::string record_text(const CostEstimate& offer) {
  const RecordedTime& cost = offer.known.recorded;
  std::string text = fmt::format("{:.4g} s", cost.seconds);
  if (cost.energy_j) text += fmt::format(" and {:.4g} J", *cost.energy_j);
  if (!is_exact(offer)) text += fmt::format(" for {}", offer.known.problem);
  return fmt::format("{} ({}, {})", text, to_string(offer.known.match), offer.known.source);
}

bool has_record(const CostEstimate& offer) { return offer.seconds && offer.known.match != WisdomMatch::none; }

}  // namespace

bool goes_before(const TuneObjective& objective, const CostEstimate& later, const CostEstimate& first) {
  if (!later.seconds || !first.seconds) {
    if (later.seconds || first.seconds) return later.seconds.has_value();
    return first.has_config && !later.has_config;
  }
  const bool here = is_of_this_device(first);
  if (here != is_of_this_device(later)) return !here;
  if (!here && first.known.device != later.known.device) return first.has_config && !later.has_config;
  if (is_exact(later) && is_borrowed(first)) return true;
  if (is_exact(first) && is_borrowed(later)) return false;
  return costs_less(objective, later, first);
}

std::string why_after(const char* winner, const CostEstimate& taken, const CostEstimate& offer) {
  if (has_record(taken) && has_record(offer))
    return fmt::format("{} took {} where it took {}", winner, record_text(taken), record_text(offer));
  if (!taken.forecast.empty() && !has_record(offer))
    return fmt::format("{} is taken by its {}", winner, taken.forecast);
  if (!offer.seconds && offer.has_config && !taken.has_config)
    return fmt::format("wisdom has no record of it near this problem that can be used{}, and {} needs none{}",
                       offer.unusable.empty() ? "" : " (" + offer.unusable + ")", winner,
                       offer.forecast.empty() ? "" : "; " + offer.forecast);
  return fmt::format("could serve, but comes after {}", winner);
}

void refuse_candidate(const std::string& asked, const std::vector<const char*>& names) {
  refuse_argument("candidate",
                  fmt::format("candidate = '{}' is not one of {}", asked, fmt::join(names, ", ")));
}

std::string Explanation::reasons() const {
  std::string text;
  for (const Decision& decision : decisions)
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", decision.candidate, decision.reason);
  return text;
}

std::string Explanation::reason_of(const std::string& name) const {
  for (const Decision& decision : decisions)
    if (decision.candidate == name) return decision.reason;
  return reasons();
}

}  // namespace tilewright
