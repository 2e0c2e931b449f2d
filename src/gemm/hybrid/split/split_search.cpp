// The CPU's share by timing, as in section 4 of Bernabe 2014: whoever times makes the product by each split
// that is asked for.
#include <algorithm>
#include <cmath>

#include "gemm/hybrid/split/split.hpp"

namespace tilewright {
namespace {

// Times shares and keeps the best.
class ShareTrials {
 public:
  ShareTrials(const NodeModel& node, SplitRequest request, const std::function<double(const Split&)>& time)
      : node_(node), request_(std::move(request)), time_(time) {}

  double try_share(std::optional<double> share) {
    request_.cpu_share = share;
    TimedSplit trial;
    trial.split = choose_split(node_, request_).split;
    double along = double(trial.split.host_count);
    for (const GpuShare& gpu : trial.split.gpus) along += double(gpu.count);
    trial.cpu_share = share.value_or(along > 0 ? double(trial.split.host_count) / along : 0);
    trial.seconds = time_(trial.split);
    result.tried.push_back(trial);
    if (result.tried.size() == 1 || trial.seconds < result.best.seconds) result.best = trial;
    return trial.seconds;
  }

  SplitSearchResult result;

 private:
  const NodeModel& node_;
  SplitRequest request_;
  const std::function<double(const Split&)>& time_;
};

// Numbers of steps, so that no rounding adds up on the way.
void try_all(ShareTrials& trials, const SplitSearch& search) {
  for (int i = 0; i * search.step < 1 - 1e-9; ++i)
    if (trials.try_share(i * search.step) > search.hopeless * trials.result.best.seconds) return;
  trials.try_share(1);
}

void try_upwards(ShareTrials& trials, const SplitSearch& search) {
  for (int i = 0;; ++i) {
    const double share = search.begin + i * search.step;
    if (share > 1 + 1e-9) return;
    const double seconds = trials.try_share(std::min(share, 1.0));
    if (seconds > trials.result.best.seconds * (1 + search.threshold)) return;
  }
}

}  // namespace

SplitSearchResult search_split(const NodeModel& node, SplitRequest request, SplitWay way,
                               const SplitSearch& search, const std::function<double(const Split&)>& time) {
  if (!(search.step > 0 && search.step <= 1))
    throw Error(ErrorCode::invalid_argument, "step",
                fmt::format("step = {} is not above 0 and at most 1", search.step));
  if (!(search.begin >= 0 && search.begin <= 1))
    throw Error(ErrorCode::invalid_argument, "begin",
                fmt::format("begin = {} is not between 0 and 1", search.begin));
  if (!(search.threshold >= 0))
    throw Error(ErrorCode::invalid_argument, "threshold",
                fmt::format("threshold = {} is below 0", search.threshold));
  if (!(search.hopeless >= 1))
    throw Error(ErrorCode::invalid_argument, "hopeless",
                fmt::format("hopeless = {} is below 1", search.hopeless));
  if (way == SplitWay::fixed && !request.cpu_share)
    throw Error(ErrorCode::invalid_argument, "cpu_share", "cpu_share is not given, but the way is fixed");
  const std::optional<double> asked = way == SplitWay::fixed ? request.cpu_share : std::nullopt;
  ShareTrials trials(node, std::move(request), time);
  switch (way) {
    case SplitWay::model:
    case SplitWay::fixed:
      trials.try_share(asked);
      break;
    case SplitWay::guided:
      try_upwards(trials, search);
      break;
    case SplitWay::exhaustive:
      try_all(trials, search);
      break;
  }
  return trials.result;
}

}  // namespace tilewright
