// One loop over the candidates of each tier; a refused offer makes way for its candidate's next one.
#include "gemm/rank.hpp"

#include "gemm/config_choice.hpp"
#include "kernel/jit/cache.hpp"

namespace tilewright {
namespace {

bool is_of_this_device(const Offer& offer) { return offer.known.match != WisdomMatch::near_device; }
bool is_exact(const Offer& offer) { return offer.known.match == WisdomMatch::exact; }
// A config that was measured for another problem, or for none.
bool is_borrowed(const Offer& offer) { return offer.has_config && !is_exact(offer); }

bool costs_less(const PlanRequest& r, const Offer& x, const Offer& y) {
  const TuneObjective objective = objective_of(r.options);
  const bool for_it =
      x.known.recorded.objective == objective.text() && y.known.recorded.objective == objective.text();
  if (!for_it || !objective.needs_energy() || !x.joules || !y.joules) return *x.seconds < *y.seconds;
  const Metrics both[] = {{*x.seconds, x.joules}, {*y.seconds, y.joules}};
  const std::vector<double> costs = objective.costs(both, both[1]);
  return costs[0] < costs[1];
}

std::string record_text(const Offer& offer) {
  const RecordedTime& cost = offer.known.recorded;
  std::string text = fmt::format("{:.4g} s", cost.seconds);
  if (cost.energy_j) text += fmt::format(" and {:.4g} J", *cost.energy_j);
  if (!is_exact(offer)) text += fmt::format(" for {}", offer.known.problem);
  return fmt::format("{} ({}, {})", text, to_string(offer.known.match), offer.known.source);
}

bool has_record(const Offer& offer) { return offer.seconds && offer.known.match != WisdomMatch::none; }

// Why an offer goes after the one that was taken.
std::string why_after(const char* winner, const Offer& taken, const Offer& offer) {
  if (has_record(taken) && has_record(offer))
    return fmt::format("{} took {} where it took {}", winner, record_text(taken), record_text(offer));
  if (!taken.forecast.empty() && !has_record(offer))
    return fmt::format("{} is taken by its {}", winner, taken.forecast);
  if (!offer.seconds && offer.has_config && !taken.has_config)
    return fmt::format("wisdom has no record of it near this problem that can be used{}, and {} needs none{}",
                       offer.unusable.empty() ? "" : " (" + offer.unusable + ")", winner,
                       offer.forecast.empty() ? "" : "; " + offer.forecast);
  return fmt::format("could serve, but comes after {}", winner);
}

// What came of the offer, whether it says so or throws.
Made take_up(const Offer& offer) {
  const auto refused = [](Refusal refusal, const Error& error) {
    return Made{nullptr, refusal, error.what()};
  };
  try {
    return offer.make();
  } catch (const NotCompiled& error) {
    return refused(Refusal::not_compiled, error);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::unsupported) return refused(Refusal::declined, error);
    if (error.code() == ErrorCode::out_of_memory) return refused(Refusal::no_memory, error);
    throw;
  }
}

class Asking {
 public:
  Asking(const PlanRequest& request, std::span<const Candidate> candidates) : r_(request) {
    for (const Candidate& candidate : candidates) entries_.push_back({&candidate, why_not(candidate)});
  }

  Ranking result() {
    for (const Tier tier : {Tier::no_product, Tier::node, Tier::small, Tier::large, Tier::any})
      if (result_.winner == nullptr) serve(tier);
    for (Entry& entry : entries_)
      result_.decisions.push_back(
          {entry.candidate->name, entry.candidate == result_.winner, reason_of(entry)});
    return std::move(result_);
  }

 private:
  struct Entry {
    const Candidate* candidate;
    std::string declined;  // "" where it does not
    Offers offers = nullptr;
    std::optional<Offer> offer = {};  // its best that was not refused
    Made refused = {};                // of those that were, the one that says most
  };

  bool is_asked_for() const { return !r_.options.candidate.empty(); }
  bool has_config() const { return !r_.options.config.empty(); }

  std::string why_not(const Candidate& candidate) const {
    // Another would have no product to form.
    const bool asked = r_.options.candidate == candidate.name || candidate.tier == Tier::no_product;
    if (is_asked_for() && !asked) return "another candidate was asked for";
    if (r_.options.math_mode != candidate.math_mode)
      return fmt::format("math_mode = {} is not served by it", to_string(r_.options.math_mode));
    if (r_.problem.sums != Sums::none && !candidate.forms_sums)
      return "it forms no sums of products into one C";
    return candidate.declines(r_);
  }

  void serve(Tier tier) {
    for (Entry& entry : entries_)
      if (entry.candidate->tier == tier && entry.declined.empty()) ask(entry);
    while (Entry* best = best_of(tier)) {
      Made made = take_up(*best->offer);
      if (made.refusal == Refusal::not_compiled && result_.not_compiled.empty())
        result_.not_compiled = made.reason;
      if (made.runner != nullptr) {
        result_.winner = best->candidate;
        result_.made = std::move(made);
        result_.offer = *best->offer;
        return;
      }
      if (made.refusal > best->refused.refusal) best->refused = std::move(made);
      best->offer = best->offers();
      if (!best->offer) give_up(*best);
    }
  }

  void ask(Entry& entry) {
    try {
      entry.offers = entry.candidate->offers(r_);
      entry.offer = entry.offers();
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unsupported || has_config()) throw;
      entry.declined = error.what();
    }
  }

  // Another candidate may serve the problem, but not with the config that was asked for.
  void give_up(Entry& entry) const {
    const bool no_memory = entry.refused.refusal == Refusal::no_memory;
    if (has_config() || (no_memory && is_asked_for()))
      throw Error(no_memory ? ErrorCode::out_of_memory : ErrorCode::unsupported, "config",
                  entry.refused.reason);
    entry.declined = entry.refused.reason;
  }

  Entry* best_of(Tier tier) {
    Entry* best = nullptr;
    for (Entry& entry : entries_)
      if (entry.candidate->tier == tier && entry.offer &&
          (best == nullptr || goes_before(r_, *entry.offer, *best->offer)))
        best = &entry;
    return best;
  }

  std::string reason_of(const Entry& entry) const {
    if (entry.candidate == result_.winner || !entry.declined.empty()) return entry.declined;
    if (!entry.refused.reason.empty()) return entry.refused.reason;
    const char* winner = result_.winner->name;
    if (!entry.offer) return fmt::format("could serve, but comes after {}", winner);
    return why_after(winner, result_.offer, *entry.offer);
  }

  const PlanRequest& r_;
  std::vector<Entry> entries_;
  Ranking result_;
};

}  // namespace

bool goes_before(const PlanRequest& r, const Offer& later, const Offer& first) {
  if (!later.seconds || !first.seconds) {
    if (later.seconds || first.seconds) return later.seconds.has_value();
    return first.has_config && !later.has_config;
  }
  const bool here = is_of_this_device(first);
  if (here != is_of_this_device(later)) return !here;
  if (!here && first.known.device != later.known.device) return first.has_config && !later.has_config;
  if (is_exact(later) && is_borrowed(first)) return true;
  if (is_exact(first) && is_borrowed(later)) return false;
  return costs_less(r, later, first);
}

Ranking rank(const PlanRequest& request, std::span<const Candidate> candidates) {
  return Asking(request, candidates).result();
}

}  // namespace tilewright
