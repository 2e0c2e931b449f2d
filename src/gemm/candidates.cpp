// The candidates of gemm in the order in which they are asked. Whether one serves a problem is decided here
// and nowhere else; per-size choices are configs, hence data, and never an if in this file.
#include "gemm/candidates.hpp"

#include <algorithm>
#include <limits>

#include "gemm/execute.hpp"
#include "gemm/operand.hpp"
#include "gemm/run/reference.hpp"
#include "gemm/run/scale.hpp"
#include "gemm/run/small.hpp"
#include "gemm/tune_on_miss.hpp"
#include "kernel/jit/x86.hpp"
#include "wisdom/families.hpp"

namespace tilewright {
namespace {

std::string on_device(const GemmProblem& p) {
  return p.location == Location::device ? "the operands are in device memory" : "";
}

// scale: what is left of C = alpha A B + beta C when the product is not formed.

std::string scale_declines(const PlanRequest& r) {
  const GemmProblem& p = r.problem;
  if (p.m != 0 && p.n != 0 && p.k != 0 && p.batch_count != 0 && p.alpha != Scalar::zero)
    return "there are products to form (k > 0 and alpha is not zero)";
  return p.location == Location::device ? gpu_scale_declines(r) : "";
}

void prepare_scale(const PlanRequest& r, GemmPlan::Impl& plan) {
  if (r.problem.location == Location::device) return prepare_gpu_scale(r, plan);
  plan.run_range = run_scale;
}

// gemm_small_cpu: generated or portable kernels for sizes up to the family's limit.

std::string small_cpu_declines(const PlanRequest& r) {
  if (auto reason = on_device(r.problem); !reason.empty()) return reason;
  const GemmProblem& p = r.problem;
  const std::int64_t largest = std::max({p.m, p.n, p.k});
  if (largest > gemm_small_cpu_limit)
    return fmt::format("a size of {} is above the limit of {}", largest, gemm_small_cpu_limit);
  return "";
}

void bind_small_kernel(const PlanRequest& r, const ConfigChoice& choice, GemmPlan::Impl& plan) {
  const GemmProblem& p = r.problem;
  plan.kernel = r.context.kernels->get(p, choice.config);
  plan.function = plan.kernel->function();
  plan.kernels = r.context.kernels;
  plan.match = choice.match;
  plan.config_source = choice.source;
  plan.recorded = choice.recorded;
  const std::int64_t size = size_bytes(p.dtype);
  plan.arguments = {};
  if (p.batch_count > 1) {  // no step is taken otherwise, and the strides may be anything
    plan.arguments.stride_a = layout_a(p).step * size;
    plan.arguments.stride_b = layout_b(p).step * size;
    plan.arguments.stride_c = layout_c(p).step * size;
  }
  plan.arguments.self = plan.kernel.get();
  plan.run_range = run_small_kernel;
}

void prepare_small_cpu(const PlanRequest& r, GemmPlan::Impl& plan) {
  const ConfigChoice choice = choose_or_tune(r);
  notice_match(r, choice.match, choice.source, choice.recorded, plan);
  try {
    bind_small_kernel(r, choice, plan);
  } catch (const Error& error) {
    // A config that was asked for is run or refused; one that was chosen gives way to the portable kernel.
    if (error.code() != ErrorCode::unsupported || !r.options.config.empty() ||
        choice.config.isa == Isa::portable)
      throw;
    plan.notices.push_back(fmt::format("{} kernels declined ({}); portable ones serve instead",
                                       to_string(choice.config.isa), error.what()));
    r.context.notice(plan.notices.back());
    bind_small_kernel(
        r, {gemm_small_cpu_default(r.problem, Isa::portable), WisdomMatch::none, "rule of thumb"}, plan);
  }
}

// hybrid: CPU and GPU together. Not built; it keeps its place.

std::string hybrid_declines(const PlanRequest&) { return "CPU and GPU do not work together yet"; }

// cblas: large matrices, one call each.

std::string cblas_declines(const PlanRequest& r) {
  if (auto reason = on_device(r.problem); !reason.empty()) return reason;
  const GemmProblem& p = r.problem;
  if (is_interleaved(p)) return "CBLAS knows no interleaved layout";
  const std::int64_t largest = std::max({p.m, p.n, p.k, p.lda, p.ldb, p.ldc});
  if (largest > std::numeric_limits<int>::max())
    return fmt::format("{} does not fit the int that CBLAS counts with", largest);
  const auto library = r.context.cblas();
  return library->available() ? "" : library->error();
}

void prepare_cblas(const PlanRequest& r, GemmPlan::Impl& plan) {
  plan.cblas = r.context.cblas();
  plan.run_range = run_cblas;
}

// reference: plain loops, any host problem.

std::string reference_declines(const PlanRequest& r) { return on_device(r.problem); }

void prepare_reference(const PlanRequest&, GemmPlan::Impl& plan) { plan.run_range = run_reference; }

std::string joined(const std::vector<std::string>& texts) {
  std::string all;
  for (const auto& text : texts) all += (all.empty() ? "" : "; ") + text;
  return all;
}

ConfigChoice config_asked_for(const PlanRequest& r) {
  const auto json = parse_config(r.options.config);
  Isa isa = r.context.isa;
  if (auto it = json.find("isa"); it != json.end()) value_from_json(*it, "isa", isa);
  if (isa != Isa::portable && !jit_available(isa))
    throw Error(ErrorCode::unsupported, "config",
                fmt::format("config: isa = {} cannot run here", to_string(isa)));
  const auto config = from_json(json, gemm_small_cpu_default(r.problem, isa));
  require_legal(r, gemm_small_cpu_space(r.problem, isa).explain(config));
  return {config, WisdomMatch::none, "asked for"};
}

}  // namespace

#if !TILEWRIGHT_HAS_GPU
std::string gpu_small_declines(const PlanRequest&) { return "this build has no GPU runtime"; }
void prepare_gpu_small(const PlanRequest&, GemmPlan::Impl&) {}
std::string gpu_scale_declines(const PlanRequest&) { return "this build has no GPU runtime"; }
void prepare_gpu_scale(const PlanRequest&, GemmPlan::Impl&) {}
std::string gpu_large_declines(const PlanRequest&) { return "this build has no GPU runtime"; }
void prepare_gpu_large(const PlanRequest&, GemmPlan::Impl&) {}
std::string cublas_declines(const PlanRequest&) { return "this build has no GPU runtime"; }
void prepare_cublas(const PlanRequest&, GemmPlan::Impl&) {}
#endif

nlohmann::json parse_config(const std::string& text) {
  auto json = nlohmann::json::parse(text, nullptr, false);
  if (json.is_discarded() || !json.is_object())
    throw Error(ErrorCode::invalid_argument, "config",
                fmt::format("config = '{}' is not a JSON object", text));
  return json;
}

void require_legal(const PlanRequest& r, const std::vector<std::string>& reasons) {
  if (!reasons.empty())
    throw Error(ErrorCode::invalid_argument, "config",
                fmt::format("config {} is not legal for {}: {}", r.options.config, to_string(r.problem),
                            joined(reasons)));
}

TuneObjective objective_of(const GemmOptions& options) {
  return TuneObjective::of(options.objective, options.objective_weight);
}

namespace {

std::vector<std::string> objectives_asked(const PlanRequest& r) {
  const std::string own = objective_of(r.options).text(), time = to_string(Objective::time);
  if (own == time) return {time};
  return {own, time};
}

}  // namespace

bool offer_wisdom(const PlanRequest& r, const char* family, const std::string& device,
                  const Wisdom::Take& take) {
  const Wisdom* wisdom = r.context.wisdom();
  if (wisdom == nullptr) return false;
  for (const std::string& objective : objectives_asked(r))
    if (wisdom->offer({family, architecture_of_all(family), r.problem, objective, device}, take)) return true;
  return false;
}

void notice_match(const PlanRequest& r, WisdomMatch match, const std::string& source,
                  const RecordedTime& recorded, GemmPlan::Impl& plan) {
  if (!r.options.config.empty()) return;
  const std::string problem = to_string(problem_to_tune(r.problem)), asked = objective_of(r.options).text();
  const bool told = r.context.wisdom_notices;
  const auto say = [&](const std::string& key, const std::string& text) {
    plan.notices.push_back(text);
    if (told) r.context.notice(text, key);
  };
  const std::string used =
      match == WisdomMatch::none ? "the default" : fmt::format("{} ({})", to_string(match), source);
  const bool for_time = match != WisdomMatch::none && recorded.objective != asked;
  // Who asks for another objective and reads the plan is told even where calls are to be silent.
  if (for_time || (match == WisdomMatch::none && asked != to_string(Objective::time)))
    return say(fmt::format("objective {} {}", asked, problem),
               fmt::format("wisdom has no record for objective = {} near {}: its config is {}{}; `tilewright "
                           "tune --objective {}` measures it here",
                           asked, problem, used, for_time ? ", searched for time" : "", asked));
  if (!told || match == WisdomMatch::exact) return;
  say("wisdom " + problem,
      fmt::format("wisdom has no exact record of {}: its config is {}; `tilewright tune` measures it here",
                  problem, used));
}

ConfigChoice choose_small_config(const PlanRequest& r) {
  if (!r.options.config.empty()) return config_asked_for(r);
  if (const Wisdom* wisdom = r.context.wisdom(); wisdom != nullptr) {
    std::optional<Space<GemmSmallCpuConfig>> space;  // made for the first config that is offered
    const auto legal = [&](const GemmSmallCpuConfig& config) {
      if (!space) space = gemm_small_cpu_space(r.problem, r.context.isa);
      return space->contains(config);
    };
    for (const std::string& objective : objectives_asked(r))
      if (const auto hit = wisdom->find(r.problem, r.context.isa, legal, objective))
        return {hit->config, hit->match, hit->source, hit->recorded};
  }
  return {gemm_small_cpu_default(r.problem, r.context.isa), WisdomMatch::none, "rule of thumb"};
}

const std::vector<Candidate>& gemm_candidates() {
  static const std::vector<Candidate> candidates = {
      {"scale", scale_declines, prepare_scale},
      {"gemm_small_cpu", small_cpu_declines, prepare_small_cpu},
      {"gemm_small", gpu_small_declines, prepare_gpu_small},
      {"gemm", gpu_large_declines, prepare_gpu_large},
      {"cublas", cublas_declines, prepare_cublas},
      {"hybrid", hybrid_declines, nullptr},
      {"cblas", cblas_declines, prepare_cblas},
      {"reference", reference_declines, prepare_reference},
  };
  return candidates;
}

}  // namespace tilewright
