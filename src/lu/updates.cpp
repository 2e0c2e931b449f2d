// The three selections of the paper.
#include "lu/updates.hpp"

#include <algorithm>
#include <cmath>

#include "device/team.hpp"
#include "gemm/context_impl.hpp"
#include "gemm/hybrid/models.hpp"
#include "gemm/hybrid/node.hpp"
#include "gemm/plan.hpp"
#include "lu/problem.hpp"

namespace tilewright {
namespace {

GemmProblem update_problem(const LuProblem& lu, std::int64_t m, std::int64_t n, std::int64_t k) {
  GemmProblem p;
  p.dtype = lu.dtype;
  p.m = m, p.n = n, p.k = k;
  p.lda = p.ldb = p.ldc = std::max(lu.lda, std::max(m, k));
  p.alpha = Scalar::general;
  p.beta = Scalar::one;
  return p;
}

// A matrix of one panel has none; what is asked of it is then asked of the smallest product.
GemmProblem largest_update(const LuProblem& lu, std::int64_t nb) {
  return update_problem(lu, std::max<std::int64_t>(1, lu.m - nb), std::max<std::int64_t>(1, lu.n - nb), nb);
}

// Of the update that is looked at to tell whether GPUs serve the problem at all.
constexpr std::int64_t deep_panel = 256;

bool may_use_gpus(const LuOptions& o) { return o.target != Target::cpu; }

// Of square products of 1000, 2000 ... 10000, the paper's sizes.
double average_speed(const GemmTime& time) {
  double sum = 0;
  constexpr int sizes = 10;
  for (int i = 1; i <= sizes; ++i) {
    const double n = 1000.0 * i;
    sum += 2 * n * n * n / time.of(n, n, n);
  }
  return sum / sizes;
}

double share_by_flops(const HybridModels& models, DType dtype) {
  const auto type = std::size_t(dtype);
  const double cpu = average_speed(models.node->host.gemm[type]);
  double all = cpu;
  for (const int gpu : models.request.gpus)
    all += average_speed(models.node->gpus[std::size_t(gpu)].gemm[type]);
  return cpu / all;
}

double share_by_squares(HybridModels models, std::int64_t m, std::int64_t n, std::int64_t k) {
  const auto edge = std::max<std::int64_t>(1, std::llround(std::cbrt(double(m) * double(n) * double(k))));
  GemmProblem& p = models.request.problem;
  p.m = p.n = p.k = p.lda = p.ldb = p.ldc = edge;
  return double(choose_split(models, false).split.host_count) / double(edge);
}

bool plan_uses_gpus(Context& context, const GemmProblem& problem, const GemmOptions& options) {
  return plan(context, problem, options).uses_gpus();
}

}  // namespace

GemmOptions product_options(const LuOptions& o) {
  GemmOptions options;
  options.target = o.target;
  options.threads = o.threads;
  options.gpus = o.gpus;
  options.gpu_memory_bytes = o.gpu_memory_bytes;
  options.on_device_failure = o.on_device_failure;
  return options;
}

bool updates_use_gpus(const LuRequest& r) {
  if (!may_use_gpus(r.options) || Access::impl(r.context).hybrid->gpus().empty()) return false;
  const std::int64_t count = std::min(r.problem.m, r.problem.n);
  const std::int64_t nb = std::min(r.options.nb > 0 ? r.options.nb : deep_panel, count);
  return plan_uses_gpus(r.context, largest_update(r.problem, nb), product_options(r.options));
}

std::string why_no_update(const LuRequest& r, std::int64_t nb) {
  try {
    plan(r.context, largest_update(r.problem, nb), product_options(r.options));
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
    return error.what();
  }
  return "";
}

HybridModels largest_update_models(const LuRequest& r) {
  GemmOptions options = product_options(r.options);
  options.target = Target::gpu;
  const std::int64_t nb = std::min(deep_panel, std::min(r.problem.m, r.problem.n));
  return hybrid_models({Access::impl(r.context), largest_update(r.problem, nb), options});
}

std::string update_text(const LuRequest& r, std::int64_t nb) {
  const GemmProblem p = largest_update(r.problem, nb);
  const GemmPlan made = plan(r.context, p, update_options(r, p.m, p.n, p.k));
  const auto share = selected_share(r, p.m, p.n, p.k);
  return fmt::format("the largest update m={},n={},k={} by {} on {}{}", p.m, p.n, p.k,
                     Access::impl(made).candidate, Access::impl(made).runner->device(),
                     share && made.uses_gpus() ? fmt::format(", {:.1f} % of it the CPU's by selection {}",
                                                             100 * *share, to_string(r.options.select))
                                               : "");
}

GemmOptions update_options(const LuRequest& r, std::int64_t m, std::int64_t n, std::int64_t k) {
  GemmOptions options = product_options(r.options);
  if (r.split != SplitWay::model && r.options.target == Target::hybrid) {
    options.split = r.split;
    return options;
  }
  const bool selects = r.options.select != LuSelect::panel && r.options.target != Target::cpu &&
                       r.options.target != Target::gpu && m > 0 && n > 0 && k > 0;
  if (!selects) return options;
  if (options.target == Target::automatic &&
      (Access::impl(r.context).hybrid->gpus().empty() ||
       !plan_uses_gpus(r.context, update_problem(r.problem, m, n, k), options)))
    return options;
  options.target = Target::hybrid;
  options.cpu_share = selected_share(r, m, n, k);
  if (options.cpu_share) options.split = SplitWay::fixed;
  return options;
}

bool is_update_of_gpus_alone(const LuRequest& r, std::int64_t m, std::int64_t n, std::int64_t k) {
  if (!may_use_gpus(r.options) || Access::impl(r.context).hybrid->gpus().empty() || is_in_team())
    return false;
  if (r.options.target == Target::gpu) return true;
  const GemmOptions options = update_options(r, m, n, k);
  const GemmProblem problem = update_problem(r.problem, m, n, k);
  if (options.split != SplitWay::model) return options.cpu_share && *options.cpu_share == 0;
  if (!plan_uses_gpus(r.context, problem, options)) return false;
  return choose_split(hybrid_models({Access::impl(r.context), problem, options}), false).split.host_count ==
         0;
}

UpdateTime predicted_update(const LuRequest& r, std::int64_t m, std::int64_t n, std::int64_t k) {
  const Split split = choose_split(hybrid_models({Access::impl(r.context), update_problem(r.problem, m, n, k),
                                                  update_options(r, m, n, k)}),
                                   true)
                          .split;
  return {split.seconds, split.host_count == 0};
}

std::optional<double> selected_share(const LuRequest& r, std::int64_t m, std::int64_t n, std::int64_t k) {
  if (r.options.select == LuSelect::panel || Access::impl(r.context).hybrid->gpus().empty())
    return std::nullopt;
  const GemmProblem problem = update_problem(r.problem, m, n, k);
  GemmOptions options = product_options(r.options);
  options.target = Target::hybrid;
  const HybridModels models = hybrid_models({Access::impl(r.context), problem, options});
  return r.options.select == LuSelect::flops ? share_by_flops(models, problem.dtype)
                                             : share_by_squares(models, m, n, k);
}

}  // namespace tilewright
