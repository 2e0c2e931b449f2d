// The parts of a new candidate: a runner, its reasons to decline, and its offers.
#include "support/dummy_candidate.hpp"

#include "gemm/run/host.hpp"
#include "gemm/run/reference.hpp"

namespace tilewright::testing {
namespace {

class DummyRunner : public HostRunner {
 public:
  DummyRunner(const PlanRequest& request, int nanoseconds) : HostRunner(request), nanoseconds_(nanoseconds) {}

  void run_range(const Operands& o, std::int64_t first, std::int64_t count) const override {
    gemm_reference(problem(), o, first, count);
  }
  nlohmann::json config() const override { return {{"nanoseconds", nanoseconds_}}; }
  std::string prediction(double) const override { return fmt::format("{} ns by its own word", nanoseconds_); }

 private:
  int nanoseconds_;
};

std::string dummy_declines(const PlanRequest& r) {
  return r.problem.m == 71 ? "it does not like 71 rows" : why_not_on_host(r);
}

// Offers nanoseconds from `first` on, of which only the last can be built.
GemmOffers dummy_offers(const PlanRequest& r, int first, int last) {
  return [&r, next = first, last]() mutable -> std::optional<GemmOffer> {
    if (next > last) return std::nullopt;
    GemmOffer offer;
    offer.seconds = 1e-9 * next;
    offer.error = 0.1;
    offer.make = [&r, now = next, last] {
      if (now < last) return GemmMade{nullptr, Refusal::declined, fmt::format("{} ns were boasted", now)};
      return GemmMade{std::make_shared<const DummyRunner>(r, now)};
    };
    ++next;
    return offer;
  };
}

template <int first, int last = first>
GemmOffers offers(const PlanRequest& request) {
  return dummy_offers(request, first, last);
}

}  // namespace

constinit const GemmCandidate slow_candidate{"slow", Tier::large, dummy_declines, offers<30>};
constinit const GemmCandidate quick_candidate{"quick", Tier::large, dummy_declines, offers<20>};
constinit const GemmCandidate boastful_candidate{"boastful", Tier::large, dummy_declines, offers<10, 25>};

}  // namespace tilewright::testing
