// A candidate implements one operation (products, factorizations). It declines a problem with a reason, or
// makes offers, the best first, each with its estimated cost and the function that makes its runner. An
// operation adds a list of candidates and a struct that names
//   Request: the problem with its options and its machine,
//   Runner: the object that a plan runs; it names its Operation,
//   Traits: further properties of a candidate,
//   compares: true if costs decide within a tier; else the first candidate that can be built runs,
//   rivals(request), optional: how many of the next best offers are built besides the best,
//   asked(request): the caller's demands,
//   why_not(candidate, request), optional: the reason why its traits rule a candidate out; "" if they do not.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <utility>

#include "plan/offer.hpp"

namespace tilewright {

template <class Operation>
struct Made {
  std::shared_ptr<const typename Operation::Runner> runner = {};  // null if refused
  Refusal refusal = Refusal::none;  // not_compiled beside a runner: a part is left out for that reason
  std::string reason = {};          // of the refusal
  std::string notice = {};          // about the runner, for the user; "" for none
};

template <class Operation>
struct Offer : CostEstimate {
  // May throw Error(unsupported) or Error(out_of_memory) instead of refusing.
  std::function<Made<Operation>()> make = nullptr;
};

// Returns the next best offer of a candidate; nothing after the last. Called again if one cannot be built.
template <class Operation>
using Offers = std::function<std::optional<Offer<Operation>>()>;

template <class Operation>
struct Candidate {
  using Request = typename Operation::Request;

  const char* name;
  Tier tier;
  // Returns why it cannot serve the problem; "" if it can.
  std::string (*declines)(const Request& request);
  // Null for candidates that always decline. Throwing Error(unsupported) declines as well.
  Offers<Operation> (*offers)(const Request& request) = nullptr;
  typename Operation::Traits traits = {};
};

// The only offer of a candidate.
template <class Operation>
Offers<Operation> one_offer(Offer<Operation> offer) {
  return [offer = std::optional(std::move(offer))]() mutable { return std::exchange(offer, std::nullopt); };
}

// The only offer of a candidate without a cost estimate: a runner made of the request.
template <class Runner, class Operation = typename Runner::Operation>
Offers<Operation> one_runner(const typename Operation::Request& request) {
  return [&request, is_made = false]() mutable {
    std::optional<Offer<Operation>> offer;
    if (std::exchange(is_made, true)) return offer;
    offer.emplace().make = [&request] { return Made<Operation>{std::make_shared<const Runner>(request)}; };
    return offer;
  };
}

// An offer that was built.
template <class Operation>
struct BuiltOffer : CostEstimate {
  const Candidate<Operation>* candidate = nullptr;
  Made<Operation> made = {};
};

// The candidate that serves a problem, and the answers of all candidates.
template <class Operation>
struct Ranking : Explanation {
  const Candidate<Operation>* winner = nullptr;    // null if none serves
  Made<Operation> made;                            // of the winner
  CostEstimate cost;                               // of its offer
  std::vector<BuiltOffer<Operation>> rivals = {};  // of its tier, the best first
};

// Builds the candidates' best offer that can be built. Throws Error if the caller's config cannot.
template <class Operation>
Ranking<Operation> rank(const typename Operation::Request& request,
                        std::span<const Candidate<Operation>> candidates);

// Throws Error(invalid_argument) if the caller names a candidate that is not in the list.
template <class Operation>
void refuse_unknown_candidate(const std::string& asked, std::span<const Candidate<Operation>> candidates) {
  std::vector<const char*> names;
  for (const auto& candidate : candidates) {
    if (asked.empty() || current_candidate(asked) == candidate.name) return;
    names.push_back(candidate.name);
  }
  refuse_candidate(asked, names);
}

}  // namespace tilewright
