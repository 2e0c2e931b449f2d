// The loop of rounds: order, samples, and elimination; and comparisons of implementations within one case.
#include "bench/contender.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <random>

#include "bench/plans.hpp"
#include "measure/clock.hpp"

namespace tilewright::bench {
namespace {

// Each contender is first once in as many rounds, because the first one follows the pause between rounds;
// after these the order is drawn anew.
class Order {
 public:
  explicit Order(std::size_t count) : order_(count) { std::iota(order_.begin(), order_.end(), 0u); }

  const std::vector<std::size_t>& next() {
    if (order_.empty()) return order_;
    if (round_++ % order_.size() == 0)
      std::shuffle(order_.begin(), order_.end(), random_);
    else
      std::rotate(order_.begin(), order_.begin() + 1, order_.end());
    return order_;
  }

 private:
  std::vector<std::size_t> order_;
  std::size_t round_ = 0;
  std::mt19937 random_{5};  // any: orders are the same in every run
};

bool has_rivals(Role role) {
  return role != Role::tested && role != Role::compute_loop && role != Role::other_loop;
}

// Marks contenders that another of their role clearly beats.
std::vector<bool> hopeless(const std::vector<Contender>& all, double factor) {
  std::map<Role, double> best;
  std::vector<double> centre;
  for (const Contender& one : all) {
    centre.push_back(estimate(one.rounds).centre);
    const auto [at, inserted] = best.emplace(one.role, centre.back());
    if (!inserted) at->second = std::min(at->second, centre.back());
  }
  std::vector<bool> result;
  for (std::size_t i = 0; i < all.size(); ++i)
    result.push_back(has_rivals(all[i].role) && centre[i] > factor * best[all[i].role]);
  return result;
}

}  // namespace

RoundRules rules_of_long_turns(int rounds) {
  RoundRules rules;
  rules.rounds = rounds;
  rules.slow_s = 0.5, rules.slow_rounds = 5;
  rules.pause_s = 0.025;  // GNU's OpenMP threads spin for some 15 ms after a CBLAS's product
  return rules;
}

void hold_rounds(std::vector<Contender>& all, const std::function<double(Contender&)>& turn,
                 const RoundRules& rules) {
  std::stable_partition(all.begin(), all.end(), [](const Contender& one) { return !one.is_loop(); });
  const auto first_loop =
      std::find_if(all.begin(), all.end(), [](const Contender& one) { return one.is_loop(); });
  const auto entrants = static_cast<std::size_t>(first_loop - all.begin());
  Order order(entrants);
  std::vector<bool> dropped(all.size());
  const auto take_turn = [&](std::size_t i, int round) {
    Contender& one = all[i];
    const bool is_slow =
        round >= rules.slow_rounds && !one.rounds.empty() && one.rounds.back() >= rules.slow_s;
    if (dropped[i] || is_slow) return;
    if (rules.pause_s > 0)
      for (const double begin = wall_seconds(); wall_seconds() < begin + rules.pause_s;) {
      }
    one.rounds.push_back(turn(one));
  };
  for (int round = 0; round < rules.rounds; ++round) {
    if (round == rules.screening) dropped = hopeless(all, rules.drop_factor);
    for (const std::size_t i : order.next()) take_turn(i, round);
    for (std::size_t i = entrants; i < all.size(); ++i) take_turn(i, round);
  }
  for (Contender& one : all) one.seconds = estimate(one.rounds);
}

std::optional<Estimate> paired_ratio(const std::vector<double>& peer_runs, const std::vector<double>& tested,
                                     std::size_t least) {
  std::vector<double> ratios;
  for (std::size_t r = 0; r < std::min(peer_runs.size(), tested.size()); ++r)
    ratios.push_back(peer_runs[r] / tested[r]);
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
  return bench::paired_ratio(rival->rounds, tested().rounds, 1);
}

std::optional<Estimate> CaseResult::paired_efficiency(Role role) const {
  const Contender* rival = best(role);
  if (!rival) return std::nullopt;
  return bench::paired_ratio(rival->energy_samples, tested().energy_samples, 2);
}

std::optional<double> CaseResult::error_ratio(Role role) const {
  const Contender* rival = best(role);
  if (!rival) return std::nullopt;
  return tilewright::error_ratio(tested().accuracy, rival->accuracy);
}

double CaseResult::ratio(Role role) const {
  if (const auto paired = paired_ratio(role)) return paired->centre;
  const Contender* rival = best(role);
  return rival ? rival->seconds.centre / tested().seconds.centre : 0;
}

const Contender* CaseResult::without_wisdom() const {
  const auto at = std::find_if(impls.begin(), impls.end(),
                               [](const Contender& impl) { return impl.impl == "tilewright_default"; });
  return at == impls.end() ? nullptr : &*at;
}

double CaseResult::default_ratio() const {
  if (const Contender* standard = without_wisdom()) return standard->seconds.centre / tested().seconds.centre;
  return tested().plan && match_of(*tested().plan) != WisdomMatch::none ? 1 : 0;
}

}  // namespace tilewright::bench
