// Compares implementations within one case.
#include "bench/result.hpp"

#include <algorithm>

#include "bench/plans.hpp"

namespace tilewright::bench {
std::optional<Estimate> paired_ratio(const std::vector<double>& theirs, const std::vector<double>& ours,
                                     std::size_t least) {
  std::vector<double> ratios;
  for (std::size_t r = 0; r < std::min(theirs.size(), ours.size()); ++r)
    ratios.push_back(theirs[r] / ours[r]);
  if (ratios.size() < least) return std::nullopt;
  return estimate(ratios);
}

const Contender* CaseResult::best(Role role) const {
  const Contender* best = nullptr;
  for (const Contender& impl : impls)
    if (impl.role == role && (!best || impl.seconds.centre < best->seconds.centre)) best = &impl;
  return best;
}

std::optional<Estimate> CaseResult::paired_ratio(Role role) const {
  const Contender* rival = best(role);
  if (!rival || !bench_case.on_device()) return std::nullopt;
  return bench::paired_ratio(rival->rounds, ours().rounds, 1);
}

std::optional<Estimate> CaseResult::paired_efficiency(Role role) const {
  const Contender* rival = best(role);
  if (!rival) return std::nullopt;
  return bench::paired_ratio(rival->weighings, ours().weighings, 2);
}

std::optional<double> CaseResult::error_ratio(Role role) const {
  const Contender* rival = best(role);
  if (!rival) return std::nullopt;
  return tilewright::error_ratio(ours().accuracy, rival->accuracy);
}

double CaseResult::ratio(Role role) const {
  if (const auto paired = paired_ratio(role)) return paired->centre;
  const Contender* rival = best(role);
  return rival ? rival->seconds.centre / ours().seconds.centre : 0;
}

const Contender* CaseResult::without_wisdom() const {
  const auto at = std::find_if(impls.begin(), impls.end(),
                               [](const Contender& impl) { return impl.impl == "tilewright_default"; });
  return at == impls.end() ? nullptr : &*at;
}

double CaseResult::default_ratio() const {
  if (const Contender* standard = without_wisdom()) return standard->seconds.centre / ours().seconds.centre;
  return ours().plan && match_of(*ours().plan) != WisdomMatch::none ? 1 : 0;
}

}  // namespace tilewright::bench
