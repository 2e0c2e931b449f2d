// Panels by models of the machine.
#include "lu/panels.hpp"

#include <algorithm>
#include <array>

#include "gemm/context_impl.hpp"
#include "gemm/hybrid/node.hpp"

namespace tilewright {
namespace {

// What LAPACK's own blocks are where the CPU has all updates.
std::int64_t columns_on_cpu(std::int64_t count) { return count >= 512 ? 128 : 64; }

constexpr std::array<std::int64_t, 7> columns_with_gpus{64, 128, 192, 256, 384, 512, 768};
constexpr int places = 4;  // of the matrix that are looked at

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
  const double solve = gemm.of(width, double(right), width / 2);
  if (below <= 0) return panel + swaps + solve;
  const UpdateTime made = update(below, right, nb);
  return swaps + solve + (made.leaves_the_cpu ? std::max(made.seconds, panel) : made.seconds + panel);
}

}  // namespace

double panel_seconds(const GemmTime& host, double m, double n) {
  constexpr double least = 8;
  double seconds = 0, calls = 1;
  for (double half = n / 2; half >= least; half /= 2, calls *= 2)
    seconds += calls * (host.of(m, half, half) + host.of(half, half, half / 2));
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
  if (r.options.nb > 0) return std::min(r.options.nb, count);
  HybridNode* const hybrid = r.context.impl().hybrid.get();
  if (r.options.target == Target::cpu || hybrid->gpus().empty() ||
      (r.options.target == Target::automatic && !updates_use_gpus(r)))
    return std::min(columns_on_cpu(count), count);
  const auto node = largest_update_models(r).node;
  std::int64_t best = std::min(columns_with_gpus.front(), count);
  double least_s = 0;
  for (const std::int64_t nb : columns_with_gpus) {
    if (nb > count) break;
    const double seconds = blocked_seconds(
        node->host, r.problem, nb, [&](auto m, auto n, auto k) { return predicted_update(r, m, n, k); });
    if (nb == columns_with_gpus.front() || seconds < least_s) best = nb, least_s = seconds;
  }
  return best;
}

}  // namespace tilewright
