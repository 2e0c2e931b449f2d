// Compares two offers and explains the choice.
#include "plan/offer.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "core/quantity.hpp"
#include "core/refuse.hpp"

namespace tilewright {
namespace {

bool is_of_this_device(const CostEstimate& offer) { return offer.known.match != WisdomMatch::near_device; }
bool is_exact(const CostEstimate& offer) { return offer.known.match == WisdomMatch::exact; }

bool costs_less(const TuneObjective& objective, const CostEstimate& x, const CostEstimate& y) {
  const bool for_it =
      x.known.recorded.objective == objective.text() && y.known.recorded.objective == objective.text();
  if (!for_it || !objective.needs_energy() || !x.joules || !y.joules) return x.expected_s() < y.expected_s();
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

// "12.3 us +-9 % (forecast)", or the record.
std::string expected_text(const CostEstimate& offer) {
  if (offer.known.match != WisdomMatch::none) return record_text(offer);
  const std::string text = seconds_text(*offer.seconds);
  return offer.error > 0 ? fmt::format("{} +-{:.0f} % (forecast)", text, 100 * std::expm1(offer.error))
                         : text;
}

bool has_record(const CostEstimate& offer) { return offer.seconds && offer.known.match != WisdomMatch::none; }

}  // namespace

double CostEstimate::expected_s() const { return *seconds * std::exp(error * error / 2); }

bool is_preferred(const TuneObjective& objective, const CostEstimate& later, const CostEstimate& first) {
  if (!later.seconds || !first.seconds) {
    if (later.seconds || first.seconds) return later.seconds.has_value();
    return first.has_config && !later.has_config;
  }
  const bool here = is_of_this_device(first);
  if (here != is_of_this_device(later)) return !here;
  if (!here && first.known.device != later.known.device) return first.has_config && !later.has_config;
  return costs_less(objective, later, first);
}

std::string why_after(const char* winner, const CostEstimate& taken, const CostEstimate& offer) {
  if (has_record(taken) && has_record(offer))
    return fmt::format("{} took {}, this candidate took {}", winner, record_text(taken), record_text(offer));
  if (taken.seconds && offer.seconds)
    return fmt::format("{} is expected to take {}, this candidate {}", winner, expected_text(taken),
                       expected_text(offer));
  if (!offer.seconds && offer.has_config && !taken.has_config)
    return fmt::format("no usable record in wisdom near this problem{}, and {} needs none",
                       offer.unusable.empty() ? "" : " (" + offer.unusable + ")", winner);
  return fmt::format("supports it, but {} ranks higher", winner);
}

std::string_view current_candidate(std::string_view asked) {
  constexpr std::pair<std::string_view, std::string_view> renamed[] = {
      {"gemm_small_cpu", "cpu_small"}, {"gemm_small_cpu_bands", "cpu_bands"},
      {"gemm_small", "gpu_small"},     {"gemm", "gpu_large"},
      {"stencil", "gpu_large"},        {"cblas", "host_blas"},
      {"sums", "batch_reduce"}};
  for (const auto& [old_name, name] : renamed)
    if (asked == old_name) return name;
  return asked;
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

std::string Explanation::decisions_text() const {
  std::string taken, others;
  for (const Decision& one : decisions)
    if (one.accepted)
      taken += fmt::format("  {}: taken{}{}\n", one.candidate, does.empty() ? "" : "; ", does);
    else
      others += fmt::format("  {}: not taken; {}\n", one.candidate, one.reason);
  return taken + others;
}

std::string Explanation::reason_of(const std::string& name) const {
  for (const Decision& decision : decisions)
    if (decision.candidate == name) return decision.reason;
  return reasons();
}

}  // namespace tilewright
