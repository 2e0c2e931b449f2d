// A candidate can run problems of one operation (products, factorizations): it declines one with a reason
// in words, or makes offers, the best first, each of which says what it would cost and makes its runner. An
// operation adds a list of candidates and a struct that names
//   Request, what candidates are asked about,
//   Runner, what a plan runs in the end; it names its Operation,
//   Traits, what a candidate says of itself beside the rest,
//   compares: true if costs decide within a tier; else the first candidate that can be made runs, and those
//     behind it are not asked,
//   asked(request), what the caller asks for,
//   why_not(candidate, request), if traits can rule it out: the reason; "" where they do not.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <utility>

#include "plan/offer.hpp"

namespace tilewright {

template <class Operation>
struct Made {
  std::shared_ptr<const typename Operation::Runner> runner = {};  // null where it was refused
  // With a runner: not_compiled where a part is left out for that reason.
  Refusal refusal = Refusal::none;
  std::string reason = {};  // of the refusal
  std::string notice = {};  // what the user should know of the runner; "" for nothing
};

template <class Operation>
struct Offer : CostEstimate {
  // May throw Error(unsupported) or Error(out_of_memory) instead of refusing.
  std::function<Made<Operation>()> make = nullptr;
};

// The next best offer of a candidate; empty when there are no more. The next is asked for where the one
// before came to nothing.
template <class Operation>
using Offers = std::function<std::optional<Offer<Operation>>()>;

template <class Operation>
struct Candidate {
  using Request = typename Operation::Request;

  const char* name;
  Tier tier;
  // Why it cannot serve the problem; "" when it can.
  std::string (*declines)(const Request& request);
  // Null for candidates that always decline. What throws Error(unsupported) declines as well.
  Offers<Operation> (*offers)(const Request& request) = nullptr;
  typename Operation::Traits traits = {};
};

// The only offer of a candidate.
template <class Operation>
Offers<Operation> one_offer(Offer<Operation> offer) {
  return [offer = std::optional(std::move(offer))]() mutable { return std::exchange(offer, std::nullopt); };
}

// The only offer of a candidate that knows nothing of its cost: a runner made of the request.
template <class Runner, class Operation = typename Runner::Operation>
Offers<Operation> one_runner(const typename Operation::Request& request) {
  return [&request, is_made = false]() mutable {
    std::optional<Offer<Operation>> offer;
    if (std::exchange(is_made, true)) return offer;
    offer.emplace().make = [&request] { return Made<Operation>{std::make_shared<const Runner>(request)}; };
    return offer;
  };
}

// The candidate that serves a problem, and what every candidate said of it.
template <class Operation>
struct Ranking : Explanation {
  const Candidate<Operation>* winner = nullptr;  // null where none serves
  Made<Operation> made;                          // of the winner
  bool has_config = false;                       // of its offer
};

// Asks the candidates, compares what they offer, and takes up the best offer that comes to something. Throws
// Error for a config that was asked for and cannot be had.
template <class Operation>
Ranking<Operation> rank(const typename Operation::Request& request,
                        std::span<const Candidate<Operation>> candidates);

// Throws Error(invalid_argument) where a candidate is asked for that is not in the list.
template <class Operation>
void refuse_unknown_candidate(const std::string& asked, std::span<const Candidate<Operation>> candidates) {
  std::vector<const char*> names;
  for (const auto& candidate : candidates) {
    if (asked.empty() || asked == candidate.name) return;
    names.push_back(candidate.name);
  }
  refuse_candidate(asked, names);
}

}  // namespace tilewright
