// Two candidates: chunks, by a config, and one element after the other.
#include "operations/copy_scale/plan.hpp"

#include "plan/config_choice.hpp"
#include "plan/rank.hpp"

namespace tilewright::testing {
namespace {

class Chunks : public CopyScaleRunner {
 public:
  Chunks(const CopyScaleProblem& problem, const CopyScaleConfig& config) : n_(problem.n), config_(config) {}
  void run(double a, const double* x, double* y) const override { copy_scale(config_, a, x, n_, y); }
  std::string describe() const override { return fmt::format("chunks of {}", config_.chunk); }
  nlohmann::json config() const override { return to_json(config_); }

 private:
  std::int64_t n_;
  CopyScaleConfig config_;
};

class Elements : public CopyScaleRunner {
 public:
  explicit Elements(const CopyScaleRequest& request) : n_(request.problem.n) {}
  void run(double a, const double* x, double* y) const override {
    for (std::int64_t i = 0; i < n_; ++i) y[i] = a * x[i];
  }
  std::string describe() const override { return "one element after the other"; }

 private:
  std::int64_t n_;
};

std::string chunks_decline(const CopyScaleRequest& r) {
  return r.problem.n < 8 ? fmt::format("{} elements are no chunk", r.problem.n) : "";
}
std::string never_declines(const CopyScaleRequest&) { return ""; }

Offers<CopyScale> chunk_offers(const CopyScaleRequest& r) {
  ConfigFamily<CopyScale, CopyScaleConfig> family{"copy_scale", "", copy_scale_device, nullptr, nullptr};
  family.space = [] {
    Space<CopyScaleConfig> space;
    space.axis(&CopyScaleConfig::chunk, {8, 16, 32, 64, 128, 256})
        .axis(&CopyScaleConfig::exact_tail, {true, false});
    return space.require(
        "the tail is exact", [](const CopyScaleConfig& c) { return c.exact_tail; },
        &CopyScaleConfig::exact_tail);
  };
  family.rules_of_thumb = [] { return std::vector<CopyScaleConfig>{{}}; };
  return config_offers(r, std::move(family), [&r](const CopyScaleConfig& config) {
    return Made<CopyScale>{std::make_shared<const Chunks>(r.problem, config)};
  });
}

constinit const Candidate<CopyScale> candidates[] = {
    {"chunks", Tier::large, chunks_decline, chunk_offers},
    {"elements", Tier::any, never_declines, one_runner<Elements>}};

}  // namespace

Ranking<CopyScale> decide_copy_scale(const CopyScaleRequest& request) {
  refuse_unknown_candidate<CopyScale>(request.candidate, candidates);
  auto ranking = rank<CopyScale>(request, candidates);
  if (ranking.winner == nullptr) throw Error(ErrorCode::unsupported, "candidate", ranking.reasons());
  return ranking;
}

Explanation copy_scale_explanation(const CopyScaleRequest& request) {
  const auto ranking = decide_copy_scale(request);
  Explanation said = ranking;
  said.asked = to_string(request.problem);
  said.does = ranking.made.runner->describe();
  said.known.config = ranking.made.runner->config();
  return said;
}

std::string copy_scale_text(const Explanation& said) {
  std::string taken, others;
  for (const Decision& one : said.decisions)
    (one.accepted ? taken : others) += fmt::format(
        "  {}: {}\n", one.candidate, one.accepted ? "taken; " + said.does : "not taken; " + one.reason);
  return fmt::format("{}\n{}  wisdom: {} ({})\n{}", said.asked, taken, to_string(said.known.match),
                     said.known.source, others);
}

}  // namespace tilewright::testing
