// Offers are tried in turn. One is dropped when its times are longer with confidence, or when a further trial
// would exceed what learning may cost.
#include "plan/learn.hpp"

#include <algorithm>
#include <cmath>

namespace tilewright {
namespace {

// A call beside other work may take many times as long; one call does not say that an offer is so slow.
constexpr double most_believed = 3;
// A difference counts from so many standard errors of the mean logarithm of paired ratios on. Few ratios do
// not tell their spread: two more of this deviation are assumed.
constexpr double certainty = 2.5, assumed_deviation = 0.1, assumed_count = 2;

double square(double x) { return x * x; }

double centre(const std::vector<double>& times) {
  if (times.size() <= 2) return *std::min_element(times.begin(), times.end());
  std::vector<double> counted(times.begin() + 1, times.end());
  const auto middle = counted.begin() + std::ptrdiff_t((counted.size() - 1) / 2);
  std::nth_element(counted.begin(), middle, counted.end());
  return *middle;
}

}  // namespace

CallLearner::CallLearner(std::vector<double> expected) {
  for (const double each : expected) offers_.push_back({.expected = each > 0 ? each : 1});
  decided_ = offers_.size() < 2;
}

double CallLearner::ratio(std::size_t offer, std::size_t to) const {
  const Offered &x = offers_[offer], &y = offers_[to];
  if (x.times.empty() || y.times.empty()) return x.expected / y.expected;
  if (x.times.size() == 1 || y.times.size() == 1)
    return std::min(x.times.front() / y.times.front(), most_believed);
  return centre(x.times) / centre(y.times);
}

std::vector<std::size_t> CallLearner::remaining() const {
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < offers_.size(); ++i)
    if (!offers_[i].dropped) all.push_back(i);
  return all;
}

std::size_t CallLearner::leader() const {
  if (decided_) return decision_;
  const std::vector<std::size_t> all = remaining();
  std::size_t best = all.front();
  for (const std::size_t i : all)
    if (offers_[i].times.size() > 1 && ratio(i, best) < 1) best = i;
  return best;
}

double CallLearner::lost() const {
  const std::size_t best = leader();
  double calls = 0;
  for (std::size_t i = 0; i < offers_.size(); ++i)
    calls += std::max(0.0, ratio(i, best) - 1) * double(offers_[i].times.size());
  return calls;
}

std::size_t CallLearner::next() {
  while (!decided_) {
    const std::vector<std::size_t> all = remaining();
    const std::size_t least = *std::min_element(all.begin(), all.end(), [&](std::size_t x, std::size_t y) {
      return offers_[x].times.size() < offers_[y].times.size();
    });
    const std::size_t best = leader();
    const bool is_affordable = least == best || offers_[best].times.empty() ||
                               lost() + std::max(0.0, ratio(least, best) - 1) <= most_lost;
    if (is_affordable) return least;
    offers_[least].dropped = true;
    if (all.size() == 2) decide();
  }
  return decision_;
}

bool CallLearner::is_slower(std::size_t offer, std::size_t than) const {
  const std::vector<double>&x = offers_[offer].times, &y = offers_[than].times;
  const std::size_t count = std::min(x.size(), y.size());
  if (count < 3) return false;
  double sum = 0, squares = 0;
  for (std::size_t i = 1; i < count; ++i) {
    const double ratio = std::log(std::clamp(x[i] / y[i], 1 / most_believed, most_believed));
    sum += ratio, squares += square(ratio);
  }
  const double pairs = double(count - 1), mean = sum / pairs;
  const double spread =
      std::sqrt((assumed_count * square(assumed_deviation) + squares - pairs * square(mean)) /
                (assumed_count + pairs - 1));
  return mean > certainty * spread / std::sqrt(pairs);
}

void CallLearner::add(std::size_t offer, double seconds) {
  if (decided_ || !(seconds > 0)) return;
  offers_[offer].times.push_back(seconds);
  ++calls_;
  const std::size_t best = leader();
  for (const std::size_t i : remaining())
    if (i != best && is_slower(i, best)) offers_[i].dropped = true;
  if (calls_ >= most_calls || remaining().size() == 1) decide();
}

void CallLearner::decide() {
  decision_ = leader();
  decided_ = true;
}

double CallLearner::seconds(std::size_t offer) const {
  return offers_[offer].times.empty() ? 0 : centre(offers_[offer].times);
}

}  // namespace tilewright
