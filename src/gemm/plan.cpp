// Makes plans: checks options, judges residency, ranks candidates, adds notices. Runs them; tunes on a miss.
#include "gemm/plan.hpp"

#include <algorithm>

#include "core/dispatch.hpp"
#include "core/host/stack.hpp"
#include "core/host/tell.hpp"
#include "core/product/faults.hpp"
#include "core/refuse.hpp"
#include "device/profiler_range.hpp"
#include "gemm/cpu_small/kernels.hpp"
#include "gemm/device/operands.hpp"
#include "gemm/hybrid/options.hpp"
#include "gemm/operand.hpp"
#include "gemm/parallel.hpp"
#include "gemm/run/host.hpp"
#include "gemm/run/learning.hpp"

namespace tilewright {
namespace {

void refuse_bad_values(const GemmOptions& o) {
  refuse_unnamed("target", o.target, Target::hybrid);
  refuse_unnamed("split", o.split, SplitRule::fixed);
  refuse_unnamed("objective", o.objective, Objective::energy_within);
  refuse_unnamed("math_mode", o.math_mode, MathMode::full);
  refuse_unnamed("residency", o.residency, Residency::l1);
  refuse_unnamed("arrival", o.arrival, Arrival::idle);
  refuse_unnamed("on_device_failure", o.on_device_failure, OnDeviceFailure::redo);
  refuse_unnamed("learn", o.learn, Learn::calls);
  refuse_negative("device", o.queue.device);
  refuse_negative("align_bytes", o.align_bytes);
  if ((o.align_bytes & (o.align_bytes - 1)) != 0)
    refuse_argument("align_bytes", fmt::format("align_bytes = {} is not a power of two", o.align_bytes));
  check_threads(o.threads);
}

void refuse_unbuilt(const GemmProblem& problem, const GemmOptions& options) {
  if (options.target == Target::hybrid && problem.location == Location::device)
    throw Error(ErrorCode::unsupported, "target",
                "target = hybrid needs operands in host memory, but they are in device memory");
}

void check_tune_on_miss(const Context::Impl& context, const GemmProblem& problem,
                        const GemmOptions& options) {
  const double budget_s = options.tune_on_miss_s;
  if (budget_s == 0) return;
  const auto refuse = [&](ErrorCode code, const char* reason) {
    throw Error(code, "tune_on_miss_s", fmt::format("tune_on_miss_s = {} {}", budget_s, reason));
  };
  if (!(budget_s > 0)) refuse(ErrorCode::invalid_argument, "must be positive, or 0 to tune nothing");
  if (options.objective != Objective::time)
    refuse(ErrorCode::unsupported,
           "supports objective = time only; `tilewright tune --objective` tunes for others");
  if (problem.location == Location::device)
    refuse(ErrorCode::unsupported,
           "supports operands in host memory only; `tilewright tune` tunes problems on a GPU");
  if (!context.misses.tuner)
    refuse(ErrorCode::unsupported,
           "needs a tuner, but the Context has none: link libtilewright_tune and call install_tuner (C: "
           "tilewright_install_tuner) on it");
  if (context.own_wisdom.empty())
    refuse(ErrorCode::unsupported, "needs the user's wisdom to keep results in, but the Context uses none");
  if (is_lines_file(context.own_wisdom))
    refuse_argument(
        "wisdom",
        fmt::format("wisdom = '{}' holds JSON lines, which are only read: tune_on_miss_s needs a database",
                    context.own_wisdom));
}

// Shorter calls on the host would be changed by being timed.
constexpr double least_timed_s = 5e-6;

// True if calls of the plan can be timed and compared.
bool may_learn(const GemmPlan::Impl& plan, const GemmOptions& options) {
  const GemmProblem& p = plan.problem;
  if (!options.config.empty() || options.objective != Objective::time) return false;
  if (p.layout == Layout::variable || p.sums != Sums::none) return false;  // each call is another problem
  return p.location == Location::device || estimate_s(p) >= least_timed_s;
}

void resolve_residency(const GemmOptions& options, GemmPlan::Impl& plan) {
  GemmProblem& p = plan.problem;
  const bool stated = options.residency != Residency::automatic || p.residency != Residency::automatic;
  if (stated)
    plan.residency_reason = "as stated by the caller";
  else if (p.location == Location::device)
    plan.residency_reason = "device memory";
  else
    plan.residency_reason = fmt::format("judged by {} of operands", bytes_text(footprint_bytes(p)));
  p.residency = judged_residency(p, options);
}

// Adds the text to the plan's notices and, if `notified`, to the Context's, once for each `about`.
void say(Context::Impl& context, GemmPlan::Impl& plan, bool notified, const std::string& text,
         const std::string& about = "") {
  plan.notices.push_back(text);
  if (notified) context.notice(text, about);
}

// Returns the problem as notices name it. Plans of sums serve any number of products: no count.
std::string noticed_name(const GemmProblem& p) {
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

// Notes that the config was not measured for this problem or for this objective.
void notice_match(const PlanRequest& r, bool has_config, GemmPlan::Impl& plan) {
  const WisdomAnswer& known = plan.known;
  if (!r.options.config.empty() || known.source.empty()) return;
  // The notice names the call's problem, but calls that one record would serve get one notice.
  const std::string problem = noticed_name(r.problem), asked = objective_of(r.options).text();
  const std::string tuned = to_string(problem_to_tune(r.problem));
  const bool notified = r.context.wisdom_notices;
  const std::string used = known.match == WisdomMatch::none
                               ? "the default"
                               : fmt::format("{} ({})", to_string(known.match), known.source);
  const bool for_time = known.match != WisdomMatch::none && known.recorded.objective != asked;
  // The plan notes this even if calls are silent.
  if (for_time || (known.match == WisdomMatch::none && asked != to_string(Objective::time)))
    return say(r.context, plan, notified,
               fmt::format("wisdom has no record for objective = {} near {}: its config is {}{}; `tilewright "
                           "tune --objective {}` measures it here",
                           asked, problem, used, for_time ? ", searched for time" : "", asked),
               fmt::format("objective {} {}", asked, tuned));
  if (!has_config || !notified || known.match == WisdomMatch::exact) return;
  say(r.context, plan, notified,
      fmt::format("wisdom has no exact record of {}: its config is {}; `tilewright tune` measures it here",
                  problem, used),
      "wisdom " + tuned);
}

void notice_no_jit(Context::Impl& context, GemmPlan::Impl& plan) {
  if (plan.passed_over.empty() || plan.candidate.empty()) return;
  say(context, plan, context.wants_notices,
      fmt::format("{} falls back to {}{}: {}", noticed_name(plan.problem), plan.candidate,
                  plan.known.source.empty() ? "" : " (" + plan.known.source + ")", plan.passed_over));
}

void take_winner(const PlanRequest& r, Ranking<GemmOperation>&& ranking, GemmPlan::Impl& plan) {
  ranking.asked = std::move(plan.asked);
  static_cast<Explanation&>(plan) = std::move(ranking);
  if (ranking.winner == nullptr) return;
  plan.runner = std::move(ranking.made.runner);
  if (ranking.made.notice.empty())
    notice_match(r, ranking.cost.has_config, plan);
  else
    say(r.context, plan, true, ranking.made.notice);
  if (!ranking.rivals.empty()) plan.runner = learning_runner(r, std::move(plan.runner), ranking);
  notice_no_jit(r.context, plan);
  const bool forms_products = ranking.winner->tier != Tier::no_product;
  if (!r.options.config.empty() && forms_products && plan.runner->config().is_null())
    refuse_argument("config", fmt::format("config is given, but {} runs {} and takes no config",
                                          plan.candidate, to_string(plan.problem)));
}

std::shared_ptr<const GemmPlan::Impl> make_served_plan(Context::Impl& context, const GemmProblem& problem,
                                                       const GemmOptions& options, bool may_compile) {
  const bool learns = options.learn == Learn::automatic ? context.learns : options.learn == Learn::calls;
  auto plan = make_plan(context, problem, options, may_compile, false, learns);
  const bool forced = options.target == Target::gpu || options.target == Target::hybrid;
  if (plan->candidate.empty() && forced && problem.location == Location::host)
    throw Error(ErrorCode::unsupported, "target",
                fmt::format("target = {} is refused for {}: {}", to_string(options.target),
                            noticed_name(problem), plan->reason_of(hybrid_candidate.name)));
  if (plan->candidate.empty()) {
    // The reason of a candidate that the caller names is enough.
    const std::string asked(current_candidate(options.candidate));
    throw Error(ErrorCode::unsupported, asked.empty() ? "problem" : "candidate",
                fmt::format("no candidate runs {}: {}", noticed_name(problem),
                            asked.empty() ? plan->reasons() : asked + ": " + plan->reason_of(asked)));
  }
  if (context.tells_plans)
    tell(fmt::format(
        "tilewright: {} is served by {}{}\n", to_string(plan->problem), plan->candidate,
        plan->known.source.empty()
            ? ""
            : fmt::format(", config: {} ({})", to_string(plan->known.match), plan->known.source)));
  return plan;
}

// A plan with worse kernels, from a call that might not compile, is made again.
void prepare_plan(Context::Impl& context, const GemmProblem& problem, const GemmOptions& options) {
  auto plan = context.plans.find(problem, options);
  if (plan == nullptr || !plan->passed_over.empty()) plan = make_served_plan(context, problem, options, true);
  context.plans.keep(problem, options, plan);
  keep_prepared(context, problem, options, *plan->runner);
}

// One of the calls that prepare() serves.
struct Preparation {
  std::int64_t index = 0;  // of the problem
  GemmOptions options;
  bool is_default = true;  // false: for addresses that are less aligned
};

// Sorted by alignment: plans of one problem may share a kernel, which two threads would both compile.
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

template <class T>
void check_class(const char* name, Scalar kind, const void* values, std::int64_t stride) {
  const bool is_read = kind == Scalar::general || kind == Scalar::per_problem;
  if (values == nullptr && is_read) refuse_argument(name, fmt::format("{} is null", name));
  if (is_read || values == nullptr) return;
  if (stride != 0)
    refuse_argument(name, fmt::format("{} holds a value per problem, but the plan was made for {} = {}", name,
                                      name, to_string(kind)));
  if (const T value = *static_cast<const T*>(values); value != T(kind == Scalar::one))
    refuse_argument(name, fmt::format("{} is not {}, which the plan was made for", name, to_string(kind)));
}

}  // namespace

void check_options(const Context::Impl& context, const GemmOptions& options) {
  refuse_bad_values(options);
  check_hybrid_options(options);
  (void)objective_of(options);
  refuse_unknown_candidate(options.candidate, context.candidates);
}

void check_call_options(const Context::Impl& context, const GemmOptions& options, Location location) {
  if (are_default(options)) return;
  if (location == Location::host && options.queue.stream != nullptr)
    refuse_argument("stream", fmt::format("stream = {} is given, but the operands are in host memory",
                                          static_cast<const void*>(options.queue.stream)));
  check_options(context, options);
}

std::shared_ptr<const GemmPlan::Impl> make_plan(Context::Impl& context, const GemmProblem& problem,
                                                const GemmOptions& options, bool may_compile,
                                                bool shares_configs, bool learns) {
  return at_ease([&]() -> std::shared_ptr<const GemmPlan::Impl> {
    check_options(context, options);
    refuse_unbuilt(problem, options);
    check_tune_on_miss(context, problem, options);
    const bool has_plan = problem.layout == Layout::variable && problem.location == Location::device;
    if (problem.layout == Layout::grouped || (problem.layout == Layout::variable && !has_plan))
      throw Error(
          ErrorCode::unsupported, "layout",
          fmt::format("layout = {} cannot be planned as a whole: call gemm_{}, which plans each shape",
                      to_string(problem.layout), to_string(problem.layout)));
    validate(problem);
    auto plan = std::make_shared<GemmPlan::Impl>();
    plan->problem = with_joined_levels(problem);
    if (problem.location == Location::host) plan->problem = with_general_scalars(plan->problem);
    plan->asked = to_string(plan->problem);
    resolve_residency(options, *plan);
    if (options.arrival == Arrival::idle || context.environment.arrival == to_string(Arrival::idle))
      plan->problem.arrival = Arrival::idle;
    const GemmProblem made_for = with_general_scalars(plan->problem);
    const PlanRequest request{context,
                              made_for,
                              options,
                              may_compile,
                              shares_configs,
                              scalars_vary(plan->problem),
                              learns && may_learn(*plan, options)};
    const bool by_levels = plan->problem.location == Location::device && has_levels(plan->problem);
    take_winner(request, by_levels ? rank_levels(request) : rank(request, context.candidates), *plan);
    return plan;
  });
}

std::shared_ptr<const GemmPlan::Impl> find_plan(Context::Impl& context, const GemmProblem& problem,
                                                const GemmOptions& options) {
  if (problem.location == Location::device && options.align_bytes == 0) {
    GemmOptions stated = options;  // as calls state them, so that they find prepared plans
    stated.align_bytes = default_alignment(problem);
    return find_plan(context, problem, stated);
  }
  if (auto plan = context.plans.find(problem, options)) return plan;
  return context.plans.add(problem, options, make_served_plan(context, problem, options, !context.no_jit));
}

GemmPlan plan(Context& context, const GemmProblem& problem, const GemmOptions& options) {
  return Access::make<GemmPlan>(find_plan(Access::impl(context), problem, options));
}

void prepare(Context& context, std::span<const GemmProblem> problems, const GemmOptions& options) {
  check_options(Access::impl(context), options);
  const auto all = preparations(problems, options);
  parallel_each(allowed_threads(options.threads), std::int64_t(all.size()), [&](std::int64_t i) {
    const Preparation& one = all[static_cast<std::size_t>(i)];
    GemmProblem problem = problems[static_cast<std::size_t>(one.index)];
    if (problem.location == Location::host) problem = with_general_scalars(problem);  // as calls state it
    try {
      prepare_plan(Access::impl(context), problem, one.options);
    } catch (const Error& error) {
      // The caller's config may not be legal for these addresses; calls then fail with the same message.
      if (!one.is_default && !options.config.empty()) return;
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

void check_call(const GemmPlan::Impl& plan, const Operands& o) {
  const GemmProblem& p = plan.problem;
  dispatch(p.dtype, [&]<class T>() {
    check_class<T>("alpha", p.alpha, o.alpha, o.alpha_stride);
    check_class<T>("beta", p.beta, o.beta, o.beta_stride);
  });
  if (has_elements_of_c(p)) plan.runner->check(o);
}

void execute(const GemmPlan::Impl& plan, const Operands& o) {
  check_call(plan, o);
  execute_checked(plan, o);
}

void execute_checked(const GemmPlan::Impl& plan, const Operands& o) {
  if (!has_elements_of_c(plan.problem)) return;
  const ProfilerRange range(
      [&] { return plan.runner->uses_gpus(); },
      [&] { return fmt::format("tilewright {}: {}", plan.candidate, to_string(plan.problem)); });
  plan.runner->run(o);
}

void tune_missing(const PlanRequest& r) {
  Context::Impl::Misses& misses = r.context.misses;
  const GemmProblem problem = problem_to_tune(r.problem);
  std::lock_guard lock(misses.mutex);
  // Each problem is tuned once, even if its record is not exact afterwards: the config may be illegal for the
  // leading dimensions of this call. Other threads that miss the problem wait here.
  const std::string name = to_string(problem);
  if (misses.tuned.contains(name)) return;
  misses.tuner({problem, to_string(r.context.isa), r.context.own_wisdom, r.options.tune_on_miss_s});
  misses.tuned.insert(name);
  r.context.forget_host_plans();  // they were made without the record
}

}  // namespace tilewright
