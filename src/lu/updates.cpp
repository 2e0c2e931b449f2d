// Selects shares as the paper's three selections do, and panels by models of the machine.
#include "lu/updates.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "device/team.hpp"
#include "gemm/context_impl.hpp"
#include "gemm/hybrid/node.hpp"
#include "gemm/plan.hpp"
#include "lu/calls.hpp"

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

// A matrix of one panel has no update: the smallest product stands for it.
GemmProblem largest_update(const LuProblem& lu, std::int64_t nb) {
  return update_problem(lu, std::max<std::int64_t>(1, lu.m - nb), std::max<std::int64_t>(1, lu.n - nb), nb);
}

// The panel of the update that decides whether GPUs take part at all.
constexpr std::int64_t deep_panel = 256;

bool has_gpus(const LuRequest& r) {
  return r.options.target != Target::cpu && !Access::impl(r.context).hybrid->gpus().empty();
}

// The average over square products of 1000, 2000 ... 10000, the paper's sizes.
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

Split update_split(const LuRequest& r, const GemmProblem& problem, const GemmOptions& options, bool pinned) {
  return choose_split(hybrid_models({Access::impl(r.context), problem, options}), pinned).split;
}

bool plan_uses_gpus(Context& context, const GemmProblem& problem, const GemmOptions& options) {
  return plan(context, problem, options).uses_gpus();
}

// LAPACK's own blocks, if the CPU has all updates.
std::int64_t columns_on_cpu(std::int64_t count) { return count >= 512 ? 128 : 64; }

constexpr std::array<std::int64_t, 7> columns_with_gpus{64, 128, 192, 256, 384, 512, 768};
constexpr int places = 3;  // of the matrix that are predicted

// Both rows of a swap are read and written, in each column a cache line of which at least half is not used.
double swap_seconds(const HostModel& host, double rows, double columns, double element_bytes) {
  constexpr double line_bytes = 64, used = 0.5;
  const double bytes = 2 * rows * columns * std::max(element_bytes, used * line_bytes);
  return host.memory_bytes_per_s > 0 ? bytes / host.memory_bytes_per_s : 0;
}

// An update that GPUs make alone hides the next panel.
double step_seconds(const HostModel& host, const LuProblem& p, double j, std::int64_t nb,
                    const UpdateSeconds& update) {
  const GemmTime& gemm = host.gemm[std::size_t(p.dtype)];
  const double width = double(nb), panel = panel_seconds(gemm, double(p.m) - j, width);
  const double swaps = swap_seconds(host, width, double(p.n) - width, double(size_bytes(p.dtype)));
  const auto below = std::int64_t(double(p.m) - j) - nb, right = std::int64_t(double(p.n) - j) - nb;
  if (right <= 0) return panel + swaps;
  // Half of a product's operations, at half its rate.
  const double solve = gemm.of(width, double(right), width);
  if (below <= 0) return panel + swaps + solve;
  const UpdateTime made = update(below, right, nb);
  return swaps + solve + (made.leaves_the_cpu ? std::max(made.seconds, panel) : made.seconds + panel);
}

std::string key_of(const LuRequest& r) {
  const LuOptions& o = r.options;
  return fmt::format("{} {} {} {} {} {} {}", to_string(r.problem), int(o.target), o.threads, int(o.select),
                     fmt::join(o.gpus, ","), o.gpu_memory_bytes, int(r.split));
}

// Descends from the middle: the time has one minimum.
std::int64_t fastest_columns(const LuRequest& r) {
  const auto node = largest_update_models(r).node;
  const auto seconds = [&](std::size_t i) {
    return blocked_seconds(node->host, r.problem, columns_with_gpus[i],
                           [&](auto m, auto n, auto k) { return predicted_update(r, m, n, k); });
  };
  const std::int64_t count = std::min(r.problem.m, r.problem.n);
  std::size_t choices = 1;
  while (choices < columns_with_gpus.size() && columns_with_gpus[choices] <= count) ++choices;
  std::size_t best = choices / 2;
  double least_s = seconds(best);
  for (const int step : {1, -1})
    for (std::size_t next = best + std::size_t(step); next < choices; next += std::size_t(step)) {
      const double next_s = seconds(next);
      if (next_s >= least_s) break;
      best = next, least_s = next_s;
    }
  return columns_with_gpus[best];
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
  if (!has_gpus(r)) return false;
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
  if (r.split != SplitRule::model && r.options.target == Target::hybrid) {
    options.split = r.split;
    return options;
  }
  const bool selects = r.options.select != LuSelect::panel && r.options.target != Target::cpu &&
                       r.options.target != Target::gpu && m > 0 && n > 0 && k > 0;
  if (!selects) return options;
  if (options.target == Target::automatic &&
      !(has_gpus(r) && plan_uses_gpus(r.context, update_problem(r.problem, m, n, k), options)))
    return options;
  options.target = Target::hybrid;
  options.cpu_share = selected_share(r, m, n, k);
  if (options.cpu_share) options.split = SplitRule::fixed;
  return options;
}

bool is_update_of_gpus_alone(const LuRequest& r, std::int64_t m, std::int64_t n, std::int64_t k) {
  if (!has_gpus(r) || is_in_team()) return false;
  if (r.options.target == Target::gpu) return true;
  const GemmOptions options = update_options(r, m, n, k);
  const GemmProblem problem = update_problem(r.problem, m, n, k);
  if (options.split != SplitRule::model) return options.cpu_share && *options.cpu_share == 0;
  if (!plan_uses_gpus(r.context, problem, options)) return false;
  return update_split(r, problem, options, false).host_count == 0;
}

UpdateTime predicted_update(const LuRequest& r, std::int64_t m, std::int64_t n, std::int64_t k) {
  const Split split = update_split(r, update_problem(r.problem, m, n, k), update_options(r, m, n, k), true);
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

double panel_seconds(const GemmTime& host, double m, double n) {
  constexpr double least = 8;
  double seconds = 0, calls = 1;
  for (double half = n / 2; half >= least; half /= 2, calls *= 2)
    seconds += calls * (host.of(m, half, half) + host.of(half, half, half));
  return seconds;
}

double blocked_seconds(const HostModel& host, const LuProblem& p, std::int64_t nb,
                       const UpdateSeconds& update) {
  const auto count = double(std::min(p.m, p.n));
  const double steps = std::max(1.0, count / double(nb));
  double sum = 0;
  for (int i = 0; i < places; ++i)
    sum += step_seconds(host, p, (count - double(nb)) * (i + 0.5) / places, nb, update);
  return steps * sum / places;
}

std::int64_t panel_columns(const LuRequest& r) {
  const std::int64_t count = std::min(r.problem.m, r.problem.n);
  if (r.options.nb > 0 || count <= columns_with_gpus.front())
    return r.options.nb > 0 ? std::min(r.options.nb, count) : count;
  Context::Impl& context = Access::impl(r.context);
  if (!has_gpus(r) || (r.options.target == Target::automatic && !updates_use_gpus(r)))
    return std::min(columns_on_cpu(count), count);
  // Kept, since choosing splits costs more than a small step of the algorithm.
  return *context.lu_panels.get(
      key_of(r), [&] { return std::make_shared<const std::int64_t>(std::min(fastest_columns(r), count)); });
}

}  // namespace tilewright
