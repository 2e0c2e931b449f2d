// The length of a turn and the order of a round.
#include "gpu_turns.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tilewright::cli {

double GpuTurns::launched(const GpuContender& contender, std::int64_t launches) {
  return timer_.seconds([&] {
    for (std::int64_t i = 0; i < launches; ++i) contender.run(next_batch());
  });
}

double GpuTurns::turn(const GpuContender& contender) {
  if (pace_.untimed_s > 0)
    launched(contender, std::max<std::int64_t>(
                            1, std::llround(double(contender.launches) * pace_.untimed_s / pace_.turn_s)));
  return launched(contender, contender.launches) / double(contender.launches);
}

void GpuTurns::screen(GpuContender& contender) {
  const auto fit = [&] {
    const double wanted = std::ceil(pace_.turn_s / std::max(turn(contender), 1e-7));
    contender.launches = std::clamp<std::int64_t>(std::int64_t(wanted), 1, pace_.most_launches);
  };
  fit();
  if (pace_.untimed_s > 0) fit();  // a single launch has the host's time in it
  contender.samples = {turn(contender)};
}

const std::vector<std::size_t>& GpuTurns::order(std::size_t count) {
  if (order_.size() != count || round_ % count == 0) {
    order_.resize(count);
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::shuffle(order_.begin(), order_.end(), random_);
    round_ = 0;
  } else {
    std::rotate(order_.begin(), order_.begin() + 1, order_.end());
  }
  ++round_;
  return order_;
}

}  // namespace tilewright::cli
