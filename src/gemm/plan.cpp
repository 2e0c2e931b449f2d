// Makes plans: refuses what is not built, judges residency and threads, asks the candidates in order.
#include "gemm/plan.hpp"

#include <omp.h>

#include <algorithm>
#include <vector>

#include "device/cpu.hpp"
#include "gemm/candidates.hpp"
#include "gemm/device_operands.hpp"
#include "gemm/parallel.hpp"
#include "gemm/tune_on_miss.hpp"
#include "gemm/validate.hpp"

namespace tilewright {
namespace {

constexpr double l1_footprint_bytes = 24 << 10;  // what the l1 residency of the benchmarks means
constexpr double unknown_l2_share_bytes = 1 << 20;

void refuse_unbuilt(const GemmProblem& problem, const GemmOptions& options) {
  const auto refuse = [](const char* argument, const std::string& value, const char* reason) {
    throw Error(ErrorCode::unsupported, argument,
                fmt::format("{} = {} is refused: {}", argument, value, reason));
  };
  if (options.target == Target::hybrid) refuse("target", "hybrid", "GPU and CPU do not work together yet");
  if (options.target == Target::gpu && problem.location == Location::host)
    refuse("target", "gpu",
           "the operands are in host memory, and only data in device memory are served by the GPU so far");
  (void)objective_of(options);
  if (options.threads < 0)
    throw Error(ErrorCode::invalid_argument, "threads",
                fmt::format("threads = {} is negative", options.threads));
  if (options.candidate.empty()) return;
  std::string known;
  for (const Candidate& candidate : gemm_candidates()) {
    if (options.candidate == candidate.name) return;
    known += (known.empty() ? "" : ", ") + std::string(candidate.name);
  }
  throw Error(ErrorCode::invalid_argument, "candidate",
              fmt::format("candidate = '{}' is not one of {}", options.candidate, known));
}

void resolve_residency(const GemmOptions& options, GemmPlan::Impl& plan) {
  GemmProblem& p = plan.problem;
  if (options.residency != Residency::automatic) p.residency = options.residency;
  if (p.residency != Residency::automatic) {
    plan.residency_reason = "as stated by the caller";
    return;
  }
  if (p.location == Location::device) {
    p.residency = Residency::cold;
    plan.residency_reason = "device memory";
    return;
  }
  const double footprint = footprint_bytes(p);
  const int threads = options.threads > 0 ? options.threads : (omp_in_parallel() ? 1 : omp_get_max_threads());
  const double l2 = cpu_info().l2_bytes > 0 ? double(cpu_info().l2_bytes) / 2 : unknown_l2_share_bytes;
  if (footprint <= l1_footprint_bytes)
    p.residency = Residency::l1;
  else
    p.residency = footprint <= l2 * threads ? Residency::l2 : Residency::cold;
  plan.residency_reason = fmt::format("judged by {:.0f} KiB of operands", footprint / 1024);
}

bool is_sequential(const GemmProblem& p, const GemmOptions& options) {
  if (options.threads == 1) return true;
  return estimate_s(p) < parallel_worth_s(options);
}

// True when the candidate serves the problem; notes what it said either way.
bool ask(const Candidate& candidate, const PlanRequest& request, GemmPlan::Impl& plan) {
  const bool forced = !request.options.candidate.empty();
  // scale is asked even when another is named: a plan of that other would have no product to form.
  if (forced && request.options.candidate != candidate.name && std::string("scale") != candidate.name) {
    plan.decisions.push_back({candidate.name, false, "another candidate was asked for"});
    return false;
  }
  const MathMode mode = request.options.math_mode;
  std::string reason = mode == candidate.math_mode
                           ? candidate.declines(request)
                           : fmt::format("math_mode = {} is not served by it", to_string(mode));
  if (!reason.empty()) {
    plan.decisions.push_back({candidate.name, false, reason});
    return false;
  }
  if (!plan.candidate.empty()) {
    plan.decisions.push_back({candidate.name, false, "could serve, but comes after " + plan.candidate});
    return false;
  }
  try {
    candidate.prepare(request, plan);
  } catch (const Error& error) {
    // Another candidate may serve the problem, but not the config that was asked for.
    const bool may_yield =
        error.code() == ErrorCode::unsupported || (error.code() == ErrorCode::out_of_memory && !forced);
    if (!may_yield || !request.options.config.empty()) throw;
    plan.decisions.push_back({candidate.name, false, error.what()});
    if (error.argument() == "no_jit") plan.passed_over = error.what();
    return false;
  }
  plan.decisions.push_back({candidate.name, true, ""});
  return true;
}

void notice_no_jit(Context::Impl& context, GemmPlan::Impl& plan) {
  if (plan.passed_over.empty() || plan.candidate.empty()) return;
  plan.notices.push_back(fmt::format("{} makes do with {}{}: {}", to_string(plan.problem), plan.candidate,
                                     plan.config_source.empty() ? "" : " (" + plan.config_source + ")",
                                     plan.passed_over));
  if (context.wants_notices) context.notice(plan.notices.back());
}

std::string all_reasons(const GemmPlan::Impl& plan) {
  std::string text;
  for (const Decision& decision : plan.decisions)
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", decision.candidate, decision.reason);
  return text;
}

}  // namespace

double estimate_s(const GemmProblem& p) {
  constexpr double flops_per_s = 50e9;  // f64; f32 has twice as many
  constexpr double cold_bytes_per_s = 12e9, l2_bytes_per_s = 50e9, l1_bytes_per_s = 100e9;
  constexpr double problem_s = 2e-9;  // of a problem so small that neither counts
  const bool narrow = p.dtype == DType::f32 || p.dtype == DType::c64;
  const double bandwidth = p.residency == Residency::l1   ? l1_bytes_per_s
                           : p.residency == Residency::l2 ? l2_bytes_per_s
                                                          : cold_bytes_per_s;
  return std::max({flops(p) / (narrow ? 2 * flops_per_s : flops_per_s), bytes(p) / bandwidth,
                   double(p.batch_count) * problem_s});
}

std::shared_ptr<const GemmPlan::Impl> make_plan(Context::Impl& context, const GemmProblem& problem,
                                                const GemmOptions& options, bool may_compile) {
  refuse_unbuilt(problem, options);
  check_tune_on_miss(context, problem, options);
  const bool has_plan = problem.layout == Layout::variable && problem.location == Location::device;
  if (problem.layout == Layout::grouped || (problem.layout == Layout::variable && !has_plan))
    throw Error(ErrorCode::unsupported, "layout",
                fmt::format("layout = {} has no plan of its own: gemm_{} makes one for each shape it meets",
                            to_string(problem.layout), to_string(problem.layout)));
  validate(problem);
  auto plan = std::make_shared<GemmPlan::Impl>();
  plan->problem = problem;
  plan->asked_residency = problem.residency;
  plan->threads = options.threads;
  resolve_residency(options, *plan);
  plan->sequential = is_sequential(plan->problem, options);
  const PlanRequest request{context, plan->problem, options, may_compile};
  for (const Candidate& candidate : gemm_candidates())
    if (ask(candidate, request, *plan)) plan->candidate = candidate.name;
  notice_no_jit(context, *plan);
  const bool has_config = plan->kernel != nullptr || plan->gpu != nullptr;
  if (!options.config.empty() && !has_config && !plan->candidate.empty() && plan->candidate != "scale")
    throw Error(ErrorCode::invalid_argument, "config",
                fmt::format("config was given but {} serves {}, which has none", plan->candidate,
                            to_string(plan->problem)));
  return plan;
}

namespace {

std::shared_ptr<const GemmPlan::Impl> make_served_plan(Context::Impl& context, const GemmProblem& problem,
                                                       const GemmOptions& options, bool may_compile) {
  auto plan = make_plan(context, problem, options, may_compile);
  if (plan->candidate.empty())
    throw Error(ErrorCode::unsupported, options.candidate.empty() ? "problem" : "candidate",
                fmt::format("no candidate runs {}: {}", to_string(problem), all_reasons(*plan)));
  return plan;
}

// One that calls made of worse kernels, because they may not compile, gives way.
void prepare_plan(Context::Impl& context, const GemmProblem& problem, const GemmOptions& options) {
  auto plan = context.plans.find(problem, options);
  if (plan == nullptr || !plan->passed_over.empty()) plan = make_served_plan(context, problem, options, true);
  context.plans.keep(problem, options, plan);
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
  return GemmPlan(find_plan(context.impl(), problem, options));
}

void prepare(Context& context, std::span<const GemmProblem> problems, const GemmOptions& options) {
  const auto all = preparations(problems, options);
  parallel_each(allowed_threads(options.threads), std::int64_t(all.size()), [&](std::int64_t i) {
    const Preparation& one = all[static_cast<std::size_t>(i)];
    const GemmProblem& problem = problems[static_cast<std::size_t>(one.index)];
    try {
      prepare_plan(context.impl(), problem, one.options);
    } catch (const Error& error) {
      // A config that was named may not be legal there, and calls are refused it with the same words.
      if (!one.usual && !options.config.empty()) return;
      throw Error(error.code(), error.argument(), fmt::format("{}: {}", to_string(problem), error.what()),
                  one.index);
    }
  });
}

std::string explain(Context& context, const GemmProblem& problem, const GemmOptions& options) {
  return explain_plan(*make_plan(context.impl(), problem, options, !context.impl().no_jit));
}

const GemmProblem& GemmPlan::problem() const noexcept { return impl_->problem; }
std::string GemmPlan::explain() const { return explain_plan(*impl_); }

}  // namespace tilewright
