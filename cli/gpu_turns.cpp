// The length of a turn and the order of a round.
#include "gpu_turns.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tilewright::cli {

// Seconds of all of them.
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
  const double wanted = std::ceil(pace_.turn_s / std::max(turn(contender), 1e-7));
  contender.launches = std::clamp<std::int64_t>(std::int64_t(wanted), 1, pace_.most_launches);
  contender.samples = {turn(contender)};
}

std::vector<std::size_t> GpuTurns::order(std::size_t count) {
  std::vector<std::size_t> all(count);
  std::iota(all.begin(), all.end(), std::size_t{0});
  std::shuffle(all.begin(), all.end(), random_);
  return all;
}

}  // namespace tilewright::cli
