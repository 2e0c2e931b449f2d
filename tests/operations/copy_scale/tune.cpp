// The pool of configs is checked in earnest; its times are those of a machine that likes chunks of 64 best.
#include "operations/copy_scale/tune.hpp"

#include <cmath>
#include <numeric>

namespace tilewright::testing {
namespace {

class CopyScalePool : public PoolOf<CopyScaleConfig> {
 public:
  CopyScalePool(std::int64_t n, std::vector<CopyScaleConfig> configs) : PoolOf(std::move(configs)), n_(n) {}
  Origin origin() const override { return {"copy_scale", copy_scale_device, "", "", "its source", "nobody"}; }

 private:
  CheckResult check(std::size_t i) override {
    constexpr std::size_t guard = 1024;
    const auto n = std::size_t(n_);
    std::vector<double> x(n + guard), y(n + guard, std::nan(""));
    std::iota(x.begin(), x.end(), 1.0);
    copy_scale(configs_[i], 3, x.data(), n_, y.data());
    for (std::size_t e = 0; e < y.size(); ++e)
      if (e < n ? y[e] != 3 * x[e] : !std::isnan(y[e]))
        return {e < n ? "an element is wrong" : "it writes behind y", {}};
    return {"", {0, 1e-16}};
  }
  // Nothing is waited for.
  TurnTimer::Turn time_made(std::size_t i, double) override {
    return {1e-9 * double(n_) * (1 + 0.1 * std::abs(std::log2(configs_[i].chunk) - 6)), 1};
  }

  std::int64_t n_;
};

class CopyScaleTuned : public Operation {
 public:
  CopyScaleTuned(const CopyScaleProblem& problem, const Wisdom* wisdom)
      : problem_(problem), wisdom_(wisdom) {}

  std::string text() const override { return to_string(problem_); }
  const SearchPace& pace() const override {
    static constexpr SearchPace pace{1e-6, 1e-6, 1e-6, 1e-6, 0.5, 0.7, 0.03};
    return pace;
  }
  std::optional<nlohmann::json> known(const TuneObjective& objective) const override {
    std::optional<nlohmann::json> config;
    offer_copy_scale(wisdom_, problem_, copy_scale_device, objective.text(), [&](const WisdomAnswer& answer) {
      config = answer.config;
      return true;
    });
    return config;
  }
  OpenProblem open(const std::optional<nlohmann::json>& incumbent, double) override {
    std::vector<CopyScaleConfig> configs{{}};
    for (const int chunk : {16, 32, 64, 128, 256})
      for (const bool exact : {true, false}) configs.push_back({chunk, exact});
    OpenProblem open{.subject = text()};
    if (incumbent) {
      const auto at = std::find(configs.begin(), configs.end(), from_json<CopyScaleConfig>(*incumbent));
      if (at != configs.end()) open.incumbent = std::size_t(at - configs.begin());
    }
    open.pool = std::make_unique<CopyScalePool>(problem_.n, configs);
    return open;
  }

 private:
  CopyScaleProblem problem_;
  const Wisdom* wisdom_;
};

}  // namespace

std::unique_ptr<Operation> copy_scale_operation(const CopyScaleProblem& problem, const Wisdom* wisdom) {
  return std::make_unique<CopyScaleTuned>(problem, wisdom);
}

}  // namespace tilewright::testing
