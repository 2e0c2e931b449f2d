// Makes plans: refuses what is not built, judges residency, has the candidates ranked, and says what a user
// should know of the outcome.
#include "gemm/plan.hpp"

#include <algorithm>
#include <vector>

#include "core/host/stack.hpp"
#include "core/product/faults.hpp"
#include "core/refuse.hpp"
#include "gemm/cpu_small/prepared.hpp"
#include "gemm/device/operands.hpp"
#include "gemm/hybrid/options.hpp"
#include "gemm/parallel.hpp"
#include "gemm/run/device_levels.hpp"
#include "gemm/run/host.hpp"
#include "gemm/run/ways.hpp"
#include "gemm/tune_on_miss.hpp"

namespace tilewright {
namespace {

void refuse_bad_values(const GemmOptions& o) {
  refuse_unnamed("target", o.target, Target::hybrid);
  refuse_unnamed("split", o.split, SplitWay::fixed);
  refuse_unnamed("objective", o.objective, Objective::energy_within);
  refuse_unnamed("math_mode", o.math_mode, MathMode::full);
  refuse_unnamed("residency", o.residency, Residency::l1);
  refuse_unnamed("on_device_failure", o.on_device_failure, OnDeviceFailure::redo);
  refuse_negative("device", o.queue.device);
  refuse_negative("align_bytes", o.align_bytes);
  if ((o.align_bytes & (o.align_bytes - 1)) != 0)
    refuse_argument("align_bytes", fmt::format("align_bytes = {} is no power of two", o.align_bytes));
  check_threads(o.threads);
}

void refuse_unbuilt(const GemmProblem& problem, const GemmOptions& options) {
  if (options.target == Target::hybrid && problem.location == Location::device)
    throw Error(ErrorCode::unsupported, "target",
                "target = hybrid is refused: the operands are in device memory, and CPU and GPUs share host "
                "operands alone");
}

void resolve_residency(const GemmOptions& options, GemmPlan::Impl& plan) {
  GemmProblem& p = plan.problem;
  const bool stated = options.residency != Residency::automatic || p.residency != Residency::automatic;
  if (stated)
    plan.residency_reason = "as stated by the caller";
  else if (p.location == Location::device)
    plan.residency_reason = "device memory";
  else
    plan.residency_reason = fmt::format("judged by {:.0f} KiB of operands", footprint_bytes(p) / 1024);
  p.residency = judged_residency(p, options);
}

// Says it to who reads the plan and, where `told`, to who reads the Context's notices, once for each `about`.
void say(Context::Impl& context, GemmPlan::Impl& plan, bool told, const std::string& text,
         const std::string& about = "") {
  plan.notices.push_back(text);
  if (told) context.notice(text, about);
}

// The problem as notices name it. Sums are planned for some number of products that calls make up: theirs is
// left out.
std::string told_name(const GemmProblem& p) {
  const std::string text = to_string(p);
  if (p.sums == Sums::none) return text;
  std::string name;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(':', at), text.size());
    const std::string part = text.substr(at, end - at);
    if (!part.starts_with("batch=") && !part.starts_with("run=")) name += (name.empty() ? "" : ":") + part;
    at = end + 1;
  }
  return name;
}

// That what serves was not measured for the problem or not for the objective. What chooses for itself needs
// no record, but one of another objective, or none of this one, is worth a word.
void notice_match(const PlanRequest& r, bool has_config, GemmPlan::Impl& plan) {
  const WisdomAnswer& known = plan.known;
  if (!r.options.config.empty() || known.source.empty()) return;
  // The one that is told is the call's; calls that one record would serve are told once.
  const std::string problem = told_name(r.problem), asked = objective_of(r.options).text();
  const std::string tuned = to_string(problem_to_tune(r.problem));
  const bool told = r.context.wisdom_notices;
  const std::string used = known.match == WisdomMatch::none
                               ? "the default"
                               : fmt::format("{} ({})", to_string(known.match), known.source);
  const bool for_time = known.match != WisdomMatch::none && known.recorded.objective != asked;
  // Who asks for another objective and reads the plan is told even where calls are to be silent.
  if (for_time || (known.match == WisdomMatch::none && asked != to_string(Objective::time)))
    return say(r.context, plan, told,
               fmt::format("wisdom has no record for objective = {} near {}: its config is {}{}; `tilewright "
                           "tune --objective {}` measures it here",
                           asked, problem, used, for_time ? ", searched for time" : "", asked),
               fmt::format("objective {} {}", asked, tuned));
  if (!has_config || !told || known.match == WisdomMatch::exact) return;
  say(r.context, plan, told,
      fmt::format("wisdom has no exact record of {}: its config is {}; `tilewright tune` measures it here",
                  problem, used),
      "wisdom " + tuned);
}

void notice_no_jit(Context::Impl& context, GemmPlan::Impl& plan) {
  if (plan.passed_over.empty() || plan.candidate.empty()) return;
  say(context, plan, context.wants_notices,
      fmt::format("{} makes do with {}{}: {}", told_name(plan.problem), plan.candidate,
                  plan.known.source.empty() ? "" : " (" + plan.known.source + ")", plan.passed_over));
}

// Fills in what the ranking came to.
void take_winner(const PlanRequest& r, Ranking<GemmOperation>&& ranking, GemmPlan::Impl& plan) {
  ranking.asked = std::move(plan.asked);
  static_cast<Explanation&>(plan) = std::move(ranking);
  if (ranking.winner == nullptr) return;
  plan.runner = std::move(ranking.made.runner);
  if (ranking.made.notice.empty())
    notice_match(r, ranking.has_config, plan);
  else
    say(r.context, plan, true, ranking.made.notice);
  notice_no_jit(r.context, plan);
  const bool forms_products = ranking.winner->tier != Tier::no_product;
  if (!r.options.config.empty() && forms_products && plan.runner->config().is_null())
    throw Error(ErrorCode::invalid_argument, "config",
                fmt::format("config was given but {} serves {}, which has none", plan.candidate,
                            to_string(plan.problem)));
}

Ranking<GemmOperation> ranked(const PlanRequest& r) {
  if (r.problem.location == Location::host || !has_levels(r.problem)) return rank(r, r.context.candidates);
  const DeviceLevels levels(r.problem, r.options);
  Ranking<GemmOperation> ranking =
      rank({r.context, levels.problem(), levels.options(), r.may_compile}, r.context.candidates);
  if (ranking.winner != nullptr) ranking.made.runner = levels.runner(std::move(ranking.made.runner));
  return ranking;
}

}  // namespace

void check_options(const Context::Impl& context, const GemmOptions& options) {
  refuse_bad_values(options);
  check_hybrid_options(options);
  (void)objective_of(options);
  refuse_unknown_candidate(options.candidate, context.candidates);
}

void check_call_options(const Context::Impl& context, const GemmOptions& options, Location location) {
  if (are_usual(options)) return;
  if (location == Location::host && options.queue.stream != nullptr)
    refuse_argument("stream", fmt::format("stream = {} is given, but the operands are in host memory",
                                          static_cast<const void*>(options.queue.stream)));
  check_options(context, options);
}

namespace {

std::shared_ptr<const GemmPlan::Impl> make_plan_here(Context::Impl& context, const GemmProblem& problem,
                                                     const GemmOptions& options, bool may_compile,
                                                     bool shares_configs) {
  check_options(context, options);
  refuse_unbuilt(problem, options);
  check_tune_on_miss(context, problem, options);
  const bool has_plan = problem.layout == Layout::variable && problem.location == Location::device;
  if (problem.layout == Layout::grouped || (problem.layout == Layout::variable && !has_plan))
    throw Error(ErrorCode::unsupported, "layout",
                fmt::format("layout = {} has no plan of its own: gemm_{} makes one for each shape it meets",
                            to_string(problem.layout), to_string(problem.layout)));
  validate(problem);
  auto plan = std::make_shared<GemmPlan::Impl>();
  plan->problem = with_joined_levels(problem);
  plan->asked = to_string(plan->problem);
  resolve_residency(options, *plan);
  const PlanRequest request{context, plan->problem, options, may_compile, shares_configs};
  take_winner(request, ranked(request), *plan);
  return plan;
}

}  // namespace

std::shared_ptr<const GemmPlan::Impl> make_plan(Context::Impl& context, const GemmProblem& problem,
                                                const GemmOptions& options, bool may_compile,
                                                bool shares_configs) {
  return at_ease([&] { return make_plan_here(context, problem, options, may_compile, shares_configs); });
}

namespace {

std::shared_ptr<const GemmPlan::Impl> make_served_plan(Context::Impl& context, const GemmProblem& problem,
                                                       const GemmOptions& options, bool may_compile) {
  auto plan = make_plan(context, problem, options, may_compile);
  const bool forced = options.target == Target::gpu || options.target == Target::hybrid;
  if (plan->candidate.empty() && forced && problem.location == Location::host)
    throw Error(ErrorCode::unsupported, "target",
                fmt::format("target = {} is refused for {}: {}", to_string(options.target),
                            told_name(problem), plan->reason_of(hybrid_way.name)));
  if (plan->candidate.empty())
    throw Error(ErrorCode::unsupported, options.candidate.empty() ? "problem" : "candidate",
                fmt::format("no candidate runs {}: {}", told_name(problem), plan->reasons()));
  return plan;
}

// One that calls made of worse kernels, because they may not compile, gives way.
void prepare_plan(Context::Impl& context, const GemmProblem& problem, const GemmOptions& options) {
  auto plan = context.plans.find(problem, options);
  if (plan == nullptr || !plan->passed_over.empty()) plan = make_served_plan(context, problem, options, true);
  context.plans.keep(problem, options, plan);
  keep_prepared(context, problem, options, *plan->runner);
}

// One problem as one of the calls that prepare() makes ready for.
struct Preparation {
  std::int64_t index = 0;
  GemmOptions options;
  bool usual = true;  // else calls of addresses that are less aligned
};

// Those of one alignment follow those of another: plans of one problem may share a kernel, which two threads
// that need it at once would both compile.
std::vector<Preparation> preparations(std::span<const GemmProblem> problems, const GemmOptions& options) {
  std::vector<Preparation> all;
  std::size_t largest = 1;
  for (std::size_t round = 0; round < largest; ++round)
    for (std::size_t i = 0; i < problems.size(); ++i) {
      const auto alignments = alignments_to_prepare(problems[i], options.align_bytes);
      largest = std::max(largest, alignments.size());
      if (round >= alignments.size()) continue;
      all.push_back({std::int64_t(i), options, round == 0});
      all.back().options.align_bytes = alignments[round];
    }
  return all;
}

}  // namespace

std::shared_ptr<const GemmPlan::Impl> find_plan(Context::Impl& context, const GemmProblem& problem,
                                                const GemmOptions& options) {
  if (problem.location == Location::device && options.align_bytes == 0) {
    // As calls state it, so that they find what was prepared.
    GemmOptions stated = options;
    stated.align_bytes = usual_alignment(problem);
    return find_plan(context, problem, stated);
  }
  if (auto plan = context.plans.find(problem, options)) return plan;
  return context.plans.add(problem, options, make_served_plan(context, problem, options, !context.no_jit));
}

GemmPlan plan(Context& context, const GemmProblem& problem, const GemmOptions& options) {
  return Access::make<GemmPlan>(find_plan(Access::impl(context), problem, options));
}

void prepare(Context& context, std::span<const GemmProblem> problems, const GemmOptions& options) {
  check_options(Access::impl(context), options);  // which are no problem's
  const auto all = preparations(problems, options);
  parallel_each(allowed_threads(options.threads), std::int64_t(all.size()), [&](std::int64_t i) {
    const Preparation& one = all[static_cast<std::size_t>(i)];
    const GemmProblem& problem = problems[static_cast<std::size_t>(one.index)];
    try {
      prepare_plan(Access::impl(context), problem, one.options);
    } catch (const Error& error) {
      // A config that was named may not be legal there, and calls are refused it with the same words.
      if (!one.usual && !options.config.empty()) return;
      throw Error(error.code(), error.argument(), fmt::format("{}: {}", to_string(problem), error.what()),
                  one.index);
    }
  });
}

std::string explain(Context& context, const GemmProblem& problem, const GemmOptions& options) {
  return at_ease([&] {
    return explain_plan(*make_plan(Access::impl(context), problem, options, !Access::impl(context).no_jit));
  });
}

const GemmProblem& GemmPlan::problem() const noexcept { return impl_->problem; }
std::string GemmPlan::explain() const {
  return at_ease([this] { return explain_plan(*impl_); });
}
const std::string& GemmPlan::candidate() const noexcept { return impl_->candidate; }
bool GemmPlan::uses_gpus() const noexcept { return impl_->runner->uses_gpus(); }
std::optional<double> GemmPlan::predicted_s() const { return predicted_seconds(*impl_); }

}  // namespace tilewright
