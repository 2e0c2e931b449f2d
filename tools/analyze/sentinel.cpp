// Computes ratios to the first sentinels.
#include "analyze/sentinel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "measure/estimate.hpp"

namespace tilewright {
namespace {

constexpr std::size_t first_count = 3;

void say(std::vector<std::string>& notes, double ratio, double limit, const char* more, const char* less) {
  if (std::abs(ratio - 1) > limit)
    notes.push_back(fmt::format(
        "the sentinel takes {:.1f} % {} than the first ones: another load on the card, or another clock",
        100 * std::abs(ratio - 1), ratio > 1 ? more : less));
}

}  // namespace

SentinelReading median_of(const std::vector<SentinelReading>& readings) {
  std::vector<double> seconds, joules;
  for (const SentinelReading& reading : readings) {
    seconds.push_back(reading.seconds);
    if (reading.joules) joules.push_back(*reading.joules);
  }
  SentinelReading median{estimate(seconds).centre, std::nullopt};
  if (joules.size() == seconds.size()) median.joules = estimate(joules).centre;
  return median;
}

void SentinelWatch::add(const SentinelReading& reading) { readings_.push_back(reading); }

SentinelReading SentinelWatch::reference() const {
  const auto count = static_cast<long>(std::min(first_count, readings_.size()));
  return median_of({readings_.begin(), readings_.begin() + count});
}

double SentinelWatch::time_ratio() const { return readings_.back().seconds / reference().seconds; }

std::optional<double> SentinelWatch::energy_ratio() const {
  const auto first = reference().joules;
  if (!first || !readings_.back().joules) return std::nullopt;
  return *readings_.back().joules / *first;
}

std::vector<std::string> SentinelWatch::notes() const {
  std::vector<std::string> notes;
  if (empty()) return notes;
  say(notes, time_ratio(), time_limit, "longer", "less time");
  if (const auto ratio = energy_ratio()) say(notes, *ratio, energy_limit, "more energy", "less energy");
  return notes;
}

}  // namespace tilewright
