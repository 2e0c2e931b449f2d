// Shares are whole numbers of steps, so that no rounding adds up.
#include <algorithm>
#include <cmath>

#include "gemm/hybrid/models.hpp"

namespace tilewright {

SplitSearch search_from(const Split& chosen) {
  SplitSearch search;
  constexpr double steps_before = 2;
  search.begin = std::max(0.0, std::floor(cpu_share(chosen) / search.step) - steps_before) * search.step;
  return search;
}

SplitSearchResult search_split(const NodeModel& node, SplitRequest request, SplitRule rule,
                               const SplitSearch& search, const std::function<double(const Split&)>& time) {
  SplitSearchResult result;
  const auto try_share = [&](double share) {
    request.cpu_share = share;
    const Split split = choose_split(node, request).split;
    const double seconds = time(split);
    if (result.tried++ == 0 || seconds < result.best_s) result.best = split, result.best_s = seconds;
    return seconds;
  };
  if (rule == SplitRule::exhaustive) {
    for (int i = 0; i * search.step < 1 - 1e-9; ++i)
      if (try_share(i * search.step) > search.hopeless * result.best_s) return result;
    try_share(1);
    return result;
  }
  for (int i = 0; search.begin + i * search.step <= 1 + 1e-9; ++i)
    if (try_share(std::min(search.begin + i * search.step, 1.0)) > result.best_s * (1 + search.threshold))
      break;
  return result;
}

}  // namespace tilewright
