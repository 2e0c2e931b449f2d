// The length of a turn.
#include "gpu_turns.hpp"

#include <algorithm>
#include <cmath>

namespace tilewright::cli {

void GpuTurns::screen(GpuContender& contender) {
  constexpr double shortest_turn_s = 2e-4;  // many launches where batches are small
  constexpr std::int64_t most_launches = 512;
  const double first = turn(contender);
  const double wanted = std::ceil(shortest_turn_s / std::max(first, 1e-7));
  contender.launches = std::clamp<std::int64_t>(std::int64_t(wanted), 1, most_launches);
  contender.samples = {turn(contender)};
}

}  // namespace tilewright::cli
