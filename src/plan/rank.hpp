// Ranks the candidates of any operation. The file with an operation's list instantiates it: template
// Ranking<O> rank<O>(const O::Request&, std::span<const Candidate<O>>).
#pragma once

#include <fmt/format.h>

#include <algorithm>

#include "kernel/jit/cache.hpp"
#include "plan/candidate.hpp"

namespace tilewright {

template <class Operation>
class Ranker {
 public:
  using Listed = Candidate<Operation>;

  Ranker(const typename Operation::Request& request, Ranking<Operation>& result)
      : r_(request), asked_(Operation::asked(request)), result_(result) {}

  void rank(std::span<const Listed> candidates) {
    if constexpr (Operation::compares) {
      entries_.reserve(candidates.size());
      for (const Listed& candidate : candidates) entries_.push_back({&candidate, why_not(candidate)});
      for (std::size_t tier = 0; tier <= std::size_t(Tier::any) && result_.winner == nullptr; ++tier)
        serve([&](const Entry& entry) { return entry.candidate->tier == Tier(tier); });
    } else {
      for (const Listed& candidate : candidates) {
        if (!is_wanted(candidate)) continue;
        entries_.push_back({&candidate, why_not(candidate)});
        serve([&](const Entry& entry) { return entry.candidate == &candidate; });
        if (result_.winner != nullptr) break;
      }
    }
    for (Entry& entry : entries_) {
      Decision said{entry.candidate->name, entry.candidate == result_.winner, reason_of(entry)};
      if (entry.offer) said.seconds = entry.offer->seconds, said.error = entry.offer->error;
      result_.decisions.push_back(std::move(said));
    }
  }

 private:
  struct Entry {
    const Listed* candidate;
    std::string declined;  // the reason; "" if it does not
    Offers<Operation> offers = nullptr;
    std::optional<Offer<Operation>> offer = {};  // the best that was not refused
    Made<Operation> refused = {};                // of the refused ones, the one with the highest Refusal
  };

  bool is_wanted(const Listed& candidate) const {
    return asked_.candidate.empty() || asked_.candidate == candidate.name ||
           candidate.tier == Tier::no_product;
  }

  std::string why_not(const Listed& candidate) const {
    if (!is_wanted(candidate)) return "another candidate was requested";
    if constexpr (requires { Operation::why_not(candidate, r_); })
      if (auto reason = Operation::why_not(candidate, r_); !reason.empty()) return reason;
    return candidate.declines(r_);
  }

  // Builds the best offers of these candidates, until one succeeds.
  template <class InTurn>
  void serve(const InTurn& in_turn) {
    for (Entry& entry : entries_)
      if (in_turn(entry) && entry.declined.empty()) ask(entry);
    while (Entry* best = best_of(entries_, in_turn)) {
      Made<Operation> made = built(*best->offer);
      if (made.refusal == Refusal::not_compiled && result_.passed_over.empty())
        result_.passed_over = made.reason;
      if (made.runner != nullptr) {
        win(*best, std::move(made));
        return add_rivals(*best, in_turn);
      }
      if (made.refusal > best->refused.refusal) best->refused = std::move(made);
      best->offer = best->offers();
      if (!best->offer) give_up(*best);
    }
  }

  void win(const Entry& best, Made<Operation> made) {
    result_.winner = best.candidate;
    result_.made = std::move(made);
    result_.cost = *best.offer;
    result_.candidate = best.candidate->name;
    result_.known = best.offer->known;
    if (result_.known.match == WisdomMatch::none) result_.passed_record = best.offer->unusable;
  }

  void ask(Entry& entry) {
    try {
      entry.offers = entry.candidate->offers(r_);
      entry.offer = entry.offers();
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unsupported || !asked_.config.empty()) throw;
      entry.declined = error.what();
    }
  }

  // Returns the result of make(), with errors as refusals.
  static Made<Operation> built(const Offer<Operation>& offer) {
    const auto refused = [](Refusal refusal, const Error& error) {
      return Made<Operation>{nullptr, refusal, error.what()};
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

  // Another candidate may serve the problem, unless the caller gave the config.
  void give_up(Entry& entry) const {
    const bool no_memory = entry.refused.refusal == Refusal::no_memory;
    if (!asked_.config.empty() || (no_memory && !asked_.candidate.empty()))
      throw Error(no_memory ? ErrorCode::out_of_memory : ErrorCode::unsupported, "config",
                  entry.refused.reason);
    entry.declined = entry.refused.reason;
  }

  // Builds the next best offers after the winner's that may take as long as twice its time. The entries stay
  // as they are for the explanation.
  template <class InTurn>
  void add_rivals(const Entry& winner, const InTurn& in_turn) {
    if constexpr (requires { Operation::rivals(r_); }) {
      const std::size_t wanted = Operation::rivals(r_);
      if (wanted == 0) return;
      std::vector<Entry> entries = entries_;
      advance(entries[static_cast<std::size_t>(&winner - entries_.data())]);
      while (Entry* next = result_.rivals.size() < wanted ? best_of(entries, in_turn) : nullptr) {
        if (may_be_as_fast(*next->offer)) {
          Made<Operation> made = built(*next->offer);
          if (made.runner != nullptr)
            result_.rivals.push_back({*next->offer, next->candidate, std::move(made)});
        }
        advance(*next);
      }
    }
  }
  static void advance(Entry& entry) { entry.offer = entry.offers(); }
  bool may_be_as_fast(const CostEstimate& offer) const {
    return !offer.seconds || !result_.cost.seconds || offer.expected_s() <= 2 * result_.cost.expected_s();
  }

  template <class InTurn>
  Entry* best_of(std::vector<Entry>& entries, const InTurn& in_turn) {
    Entry* best = nullptr;
    for (Entry& entry : entries)
      if (in_turn(entry) && entry.offer &&
          (best == nullptr || is_preferred(asked_.objective, *entry.offer, *best->offer)))
        best = &entry;
    return best;
  }

  std::string reason_of(const Entry& entry) const {
    if (entry.candidate == result_.winner || !entry.declined.empty()) return entry.declined;
    if (!entry.refused.reason.empty()) return entry.refused.reason;
    const char* winner = result_.winner->name;
    if (!entry.offer) return fmt::format("supports it, but {} ranks higher", winner);
    const auto taken = std::find_if(entries_.begin(), entries_.end(),
                                    [&](const Entry& one) { return one.candidate == result_.winner; });
    return why_after(winner, *taken->offer, *entry.offer);
  }

  const typename Operation::Request& r_;
  const Asked asked_;
  std::vector<Entry> entries_;
  Ranking<Operation>& result_;
};

template <class Operation>
Ranking<Operation> rank(const typename Operation::Request& request,
                        std::span<const Candidate<Operation>> candidates) {
  Ranking<Operation> result;
  Ranker<Operation>(request, result).rank(candidates);
  return result;
}

}  // namespace tilewright
