// Makes several candidates at once, checks each before its first turn, and measures energy.
#include "tune/checked_pool.hpp"

#include <fmt/format.h>

namespace tilewright {

void CheckedPool::announce(std::span<const std::size_t> wanted) {
  announced_.assign(wanted.begin(), wanted.end());
  next_announced_ = 0;
}

// On every core: nothing is timed meanwhile.
void CheckedPool::make_with_announced(std::size_t i) {
  std::vector<std::size_t> wanted = {i};
  for (; next_announced_ < announced_.size() && wanted.size() < made_at_once_; ++next_announced_) {
    const std::size_t other = announced_[next_announced_];
    if (other != i && !places_[other].made && !places_[other].checked) wanted.push_back(other);
  }
#pragma omp parallel for schedule(dynamic) if (wanted.size() > 1)
  for (std::size_t w = 0; w < wanted.size(); ++w) {
    Place& place = places_[wanted[w]];
    try {
      make(wanted[w]);
    } catch (const std::exception& error) {
      place.failure = error.what();
    }
    place.made = true;
  }
}

bool CheckedPool::is_right(std::size_t i) {
  Place& place = places_[i];
  if (place.checked) return place.failure.empty();
  place.checked = true;
  if (!place.made) make_with_announced(i);
  if (place.failure.empty()) try {
      CheckResult result = check(i);
      place.failure = std::move(result.fault);
      place.accuracy = result.accuracy;
    } catch (const Error& error) {
      // A peer may refuse a problem; a kernel that breaks its device ends the run.
      if (error.code() != ErrorCode::unsupported && !is_peer(i)) throw;
      place.failure = error.what();
    }
  if (!place.failure.empty()) drop(i);
  return place.failure.empty();
}

void CheckedPool::require(std::size_t i) {
  const bool was_right = is_right(i);
  if (was_right && !places_[i].made) make_with_announced(i);
  if (!places_[i].failure.empty())
    throw Error(ErrorCode::internal, "config",
                fmt::format("{} {}: {}", fields(i).dump(),
                            was_right ? "passed the check before, but cannot be made now"
                                      : "failed the check and is not timed",
                            places_[i].failure));
}

TurnTimer::Turn CheckedPool::time(std::size_t i, double turn_s) {
  require(i);
  return time_made(i, turn_s);
}

// The power of a steady load times the time of a problem: a turn may include launches that it does not count.
Metrics CheckedPool::time_with_energy(std::size_t i, double turn_s, EnergyMeter& meter) {
  constexpr int tries = 3;
  (void)time(i, turn_s / 16);  // makes it and warms up
  for (int attempt = 1;; ++attempt, turn_s *= 2) {
    EnergyObserver energy(&meter);
    double seconds = 0;
    observe({&energy}, [&](const auto&) { seconds = time(i, turn_s).seconds; });
    if (energy.fault().empty() || attempt == tries) return {seconds, energy.watts() * seconds};
  }
}

}  // namespace tilewright
