// The candidates of y = a x as an operation of src/plan.
#pragma once

#include "operations/copy_scale/problem.hpp"
#include "plan/candidate.hpp"

namespace tilewright::testing {

struct CopyScale;

struct CopyScaleRequest {
  using Operation = CopyScale;

  const Wisdom* wisdom;  // null: none
  CopyScaleProblem problem;
  std::string candidate = "", config = "";
};

class CopyScaleRunner {
 public:
  using Operation = CopyScale;
  virtual ~CopyScaleRunner() = default;
  virtual void run(double a, const double* x, double* y) const = 0;
  virtual std::string describe() const = 0;
  virtual nlohmann::json config() const { return {}; }
};

struct CopyScale {
  using Request = CopyScaleRequest;
  using Runner = CopyScaleRunner;
  struct Traits {};
  static constexpr bool compares = true;
  static Asked asked(const CopyScaleRequest& r) { return {r.candidate, r.config}; }

  using Problem = CopyScaleProblem;
  static const CopyScaleProblem& problem(const CopyScaleRequest& r) { return r.problem; }
  static CopyScaleProblem problem_of(const std::string& record) { return parse_copy_scale(record); }
  static bool records(const CopyScaleRequest& r, const char*, const std::string&, const std::string& device,
                      const std::string& objective, const Wisdom::Take& take) {
    return offer_copy_scale(r.wisdom, r.problem, device, objective, take);
  }
  static double work(const CopyScaleProblem& problem) { return double(problem.n); }
};

// The candidates asked; throws Error(unsupported) where none serves.
Ranking<CopyScale> decide_copy_scale(const CopyScaleRequest& request);
// The same with what the winner does.
Explanation copy_scale_explanation(const CopyScaleRequest& request);
std::string copy_scale_text(const Explanation& said);

}  // namespace tilewright::testing
