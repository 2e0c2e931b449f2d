// Panels by models of the machine.
#include "lu/panels.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "gemm/context_impl.hpp"
#include "gemm/hybrid/node.hpp"

namespace tilewright {
namespace {

// What LAPACK's own blocks are where the CPU has all updates.
std::int64_t columns_on_cpu(std::int64_t count) { return count >= 512 ? 128 : 64; }

constexpr std::array<std::int64_t, 7> columns_with_gpus{64, 128, 192, 256, 384, 512, 768};
constexpr int places = 3;  // of the matrix that are looked at

// Both rows of a swap are read and written, of each column a line of a cache at least half of which is not
// used before it leaves.
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

// Downhill from the middle: the time has one minimum.
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
  if (r.options.target == Target::cpu || context.hybrid->gpus().empty() ||
      (r.options.target == Target::automatic && !updates_use_gpus(r)))
    return std::min(columns_on_cpu(count), count);
  // What a split is costs more than a small step of the algorithm.
  return *context.lu_panels.get(
      key_of(r), [&] { return std::make_shared<const std::int64_t>(std::min(fastest_columns(r), count)); });
}

}  // namespace tilewright
