// Ranking knows nothing of products: an operation of the test's own, whose candidates are asked, refuse,
// throw and serve.
#include "plan/rank.hpp"

#include <gtest/gtest.h>

namespace tilewright::testing {
namespace {

struct Toy {
  std::string name;
};
struct ToyRequest {
  std::string candidate = "";
  std::string config = "";
  mutable std::string asked = "";  // the initials of those that were
};

template <bool costs>
struct ToyOperation {
  using Request = ToyRequest;
  using Runner = Toy;
  struct Traits {
    bool is_sick = false;
  };
  static constexpr bool compares = costs;
  static Asked asked(const ToyRequest& r) { return {r.candidate, r.config}; }
  static std::string why_not(const Candidate<ToyOperation>& candidate, const ToyRequest&) {
    return candidate.traits.is_sick ? "it is sick" : "";
  }
};

// Offers `seconds`, and then what `made` says of its runner.
template <bool costs>
Offers<ToyOperation<costs>> offers(const ToyRequest& r, const char* name, double seconds,
                                   std::function<Made<ToyOperation<costs>>()> made = nullptr) {
  r.asked += name[0];
  Offer<ToyOperation<costs>> offer;
  if (seconds > 0) offer.seconds = seconds;
  offer.make =
      made ? made : [name] { return Made<ToyOperation<costs>>{std::make_shared<const Toy>(Toy{name})}; };
  return one_offer(std::move(offer));
}

std::string never(const ToyRequest&) { return ""; }
std::string always(const ToyRequest&) { return "it never does"; }

template <bool costs>
const std::vector<Candidate<ToyOperation<costs>>>& toys() {
  using Operation = ToyOperation<costs>;
  static const std::vector<Candidate<Operation>> all{
      {"lazy", Tier::large, always},
      {"sick", Tier::large, never, nullptr, {true}},
      {"broken", Tier::large, never,
       [](const ToyRequest& r) {
         return offers<costs>(r, "broken", 1, []() -> Made<Operation> {
           throw Error(ErrorCode::unsupported, "", "it fell apart");
         });
       }},
      {"slow", Tier::large, never, [](const ToyRequest& r) { return offers<costs>(r, "slow", 3); }},
      {"quick", Tier::large, never, [](const ToyRequest& r) { return offers<costs>(r, "quick", 2); }},
      {"any", Tier::any, never, [](const ToyRequest& r) { return offers<costs>(r, "any", 0.1); }},
  };
  return all;
}

template <bool costs>
Ranking<ToyOperation<costs>> ranked(const ToyRequest& request) {
  return rank<ToyOperation<costs>>(request, toys<costs>());
}

std::string said(const Explanation& ranking) {
  std::string text;
  for (const Decision& one : ranking.decisions)
    text += one.candidate + (one.accepted ? ": taken\n" : ": " + one.reason + "\n");
  return text;
}

TEST(Rank, TheCheapestOfTheFirstTierThatServes) {
  ToyRequest request;
  const auto ranking = ranked<true>(request);
  EXPECT_EQ(ranking.candidate, "quick");
  EXPECT_EQ(ranking.made.runner->name, "quick");
  EXPECT_EQ(request.asked, "bsq") << "the last tier is not reached";
  EXPECT_EQ(said(ranking),
            "lazy: it never does\nsick: it is sick\nbroken: it fell apart\n"
            "slow: quick is expected to take 2 s, this candidate 3 s\nquick: taken\n"
            "any: supports it, but quick ranks higher\n");
}

TEST(Rank, TheFirstOfAListThatComparesNoCosts) {
  ToyRequest request;
  const auto ranking = ranked<false>(request);
  EXPECT_EQ(ranking.candidate, "slow");
  EXPECT_EQ(request.asked, "bs") << "and nobody behind it is asked";
  EXPECT_EQ(said(ranking), "lazy: it never does\nsick: it is sick\nbroken: it fell apart\nslow: taken\n");
}

TEST(Rank, TheOneThatIsAskedForOrNobody) {
  EXPECT_EQ(ranked<true>({"slow"}).candidate, "slow");
  EXPECT_EQ(said(ranked<false>({"any"})), "any: taken\n");
  const auto none = ranked<false>({"broken"});
  EXPECT_EQ(none.winner, nullptr);
  EXPECT_EQ(none.candidate, "");
  EXPECT_EQ(none.reasons(), "broken: it fell apart");
  EXPECT_EQ(none.reason_of("broken"), "it fell apart");
  EXPECT_THROW(ranked<true>({"broken", "{}"}), Error) << "nobody may leave out the caller's config";
}

TEST(Rank, AnUnknownNameIsRefusedWithThoseThereAre) {
  const std::span<const Candidate<ToyOperation<true>>> list = toys<true>();
  EXPECT_NO_THROW(refuse_unknown_candidate("", list));
  EXPECT_NO_THROW(refuse_unknown_candidate("any", list));
  try {
    refuse_unknown_candidate("nobody", list);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.argument(), "candidate");
    EXPECT_STREQ(error.what(), "candidate = 'nobody' is not one of lazy, sick, broken, slow, quick, any");
  }
}

}  // namespace
}  // namespace tilewright::testing
