// The line of wisdom and the candidate.
#include "support/dummy_family/family.hpp"

#include "gemm/run/host.hpp"
#include "gemm/run/reference.hpp"
#include "plan/config_choice.hpp"
#include "wisdom/families.hpp"

namespace tilewright {
namespace {

class DummyFamilyRunner : public HostRunner {
 public:
  DummyFamilyRunner(const PlanRequest& request, const DummyConfig& config)
      : HostRunner(request), config_(config) {}
  void run_range(const Operands& o, std::int64_t first, std::int64_t count) const override {
    gemm_reference(problem(), o, first, count);
  }
  nlohmann::json config() const override { return to_json(config_); }

 private:
  DummyConfig config_;
};

std::string dummy_family_declines(const PlanRequest& r) {
  return dummy_serves(r.problem) ? "" : "no dummy serves it";
}

GemmOffers dummy_family_offers(const PlanRequest& r) {
  ConfigFamily<GemmOperation, DummyConfig> family{dummy_name, "", dummy_device, nullptr, nullptr};
  family.space = [] {
    return Space<DummyConfig>().axis(&DummyConfig::units,
                                     {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16});
  };
  family.rules_of_thumb = [] { return std::vector<DummyConfig>{{}}; };
  return config_offers(r, std::move(family), [&r](const DummyConfig& config) {
    return GemmMade{std::make_shared<const DummyFamilyRunner>(r, config)};
  });
}

}  // namespace

void add_dummy_family() {
  static const bool once = [] {
    const auto any = [](const nlohmann::json&) { return std::string(); };
    add_family(dummy_name, {"gemm", dummy_source, complete_fields<DummyConfig>, any});
    return true;
  }();
  (void)once;
}

bool dummy_serves(const GemmProblem& p) {
  return p.dtype == DType::f32 && p.location == Location::host && p.m > 64;
}

constinit const GemmCandidate dummy_candidate{dummy_name, Tier::large, dummy_family_declines,
                                              dummy_family_offers};

}  // namespace tilewright
