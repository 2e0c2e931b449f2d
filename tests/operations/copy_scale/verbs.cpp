// What the verbs ask.
#include "operations/copy_scale/verbs.hpp"

#include "gemm/context_impl.hpp"
#include "operations/copy_scale/bench.hpp"
#include "operations/copy_scale/plan.hpp"
#include "operations/copy_scale/tune.hpp"

namespace tilewright::testing {
namespace {

class CopyScaleVerbs : public cli::ToolOperation {
 public:
  std::string name() const override { return "copy_scale"; }
  std::string things() const override { return "scaled copies"; }
  std::string example() const override { return "copy_scale:f64:n=1000"; }

  Explainer explainer(const std::string& text, const cli::ExplainFlags& flags) const override {
    const CopyScaleProblem problem = parse_copy_scale(text);
    return [problem, flags](Context& context) {
      const CopyScaleRequest request{Access::impl(context).wisdom(), problem, flags.candidate, flags.config};
      const Explanation said = copy_scale_explanation(request);
      Explanation verdict = said;
      std::erase_if(verdict.decisions, [](const Decision& one) { return !one.accepted; });
      const std::string all = copy_scale_text(said), first = copy_scale_text(verdict);
      return cli::Explained{first, all.substr(first.size()), cli::explanation_json(said, all)};
    };
  }

  Operations tuned(const cli::TuneFlags& flags, Context&, TuneMachine& machine) const override {
    Operations all;
    for (const std::string& text : flags.problems)
      all.push_back(copy_scale_operation(parse_copy_scale(text), machine.wisdom()));
    return all;
  }
  cli::RecordedProblem recorded(const std::string& text) const override {
    return {{{"dtype", "f64"}}, CopyScale::work(parse_copy_scale(text))};
  }

  std::vector<const cli::BenchFamily*> bench_families() const override { return {&copy_scale_bench()}; }
};

}  // namespace

const cli::ToolOperation& copy_scale_verbs() {
  static const CopyScaleVerbs operation;
  return operation;
}

}  // namespace tilewright::testing
