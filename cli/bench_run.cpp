// From samples to a result: the best variant of each implementation, the ceilings, the bound T >= max(bytes /
// B, flops / P).
#include "bench_run.hpp"

#include <algorithm>

#include "gemm/plan.hpp"
#include "verbs.hpp"

namespace tilewright::cli {
namespace {

// The fastest entry of a role, -1 without any.
std::ptrdiff_t fastest(const std::vector<Entry>& entries, const std::vector<Estimate>& seconds, Role role) {
  std::ptrdiff_t best = -1;
  for (std::size_t i = 0; i < entries.size(); ++i)
    if (entries[i].role == role && (best < 0 || seconds[i].centre < seconds[std::size_t(best)].centre))
      best = std::ptrdiff_t(i);
  return best;
}

// The variant that counts is the fastest of its implementation.
void keep_best_variants(const std::vector<Entry>& entries, const std::vector<Estimate>& seconds,
                        CaseResult& result) {
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const Entry& e = entries[i];
    if (e.role != Role::ours && e.role != Role::peer && e.role != Role::strided_peer) continue;
    const auto known = std::find_if(result.impls.begin(), result.impls.end(),
                                    [&](const ImplResult& r) { return r.impl == e.impl; });
    if (known != result.impls.end() && known->seconds.centre <= seconds[i].centre) continue;
    ImplResult impl{e.role, e.impl, e.version, e.variant, e.stored, seconds[i], e.accuracy, e.plan};
    if (known != result.impls.end())
      *known = std::move(impl);
    else
      result.impls.push_back(std::move(impl));
  }
}

// The loop that rose highest: all threads run it at once when several are measured.
void set_compute_ceiling(const std::vector<Entry>& entries, const std::vector<Estimate>& seconds,
                         CaseResult& result) {
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (entries[i].role != Role::compute_loop) continue;
    const double gflops = entries[i].loop_flops * result.bench_case.threads / seconds[i].centre * 1e-9;
    if (gflops <= result.compute_gflops) continue;
    result.compute_gflops = gflops;
    result.ceiling_loop = entries[i].variant;
  }
}

void set_bound(const std::vector<Entry>& entries, const std::vector<Estimate>& seconds, CaseResult& result) {
  const GemmProblem& problem = result.bench_case.problem;
  set_compute_ceiling(entries, seconds, result);
  result.bound_kind = "compute";
  result.ceiling = result.compute_gflops;
  result.bound_s = result.work_flops / (result.compute_gflops * 1e9);
  if (const auto memory = fastest(entries, seconds, Role::memory_loop); memory >= 0) {
    const double memory_s = seconds[std::size_t(memory)].centre;
    result.memory_gbytes = bytes(problem) / memory_s * 1e-9;
    if (memory_s > result.bound_s) {
      result.bound_kind = "memory";
      result.ceiling = result.memory_gbytes;
      result.ceiling_loop = entries[std::size_t(memory)].variant;
      result.bound_s = memory_s;
    }
  }
  // Interleaved kernels load two operands per multiply-add, so three quarters of the peak is what two load
  // ports feed.
  if (const auto l2 = fastest(entries, seconds, Role::l2_loop); l2 >= 0)
    result.interleaved_bound_s =
        std::max(result.work_flops / (0.75 * result.compute_gflops * 1e9), seconds[std::size_t(l2)].centre);
}

}  // namespace

const ImplResult* CaseResult::best(Role role) const {
  const ImplResult* best = nullptr;
  for (const ImplResult& impl : impls)
    if (impl.role == role && (!best || impl.seconds.centre < best->seconds.centre)) best = &impl;
  return best;
}

std::optional<Estimate> CaseResult::paired_ratio(Role role) const {
  const ImplResult* rival = best(role);
  if (!rival) return std::nullopt;
  const std::size_t rounds = std::min(rival->rounds.size(), ours().rounds.size());
  if (rounds == 0) return std::nullopt;
  std::vector<double> ratios;
  for (std::size_t r = 0; r < rounds; ++r) ratios.push_back(rival->rounds[r] / ours().rounds[r]);
  return estimate(ratios);
}

std::optional<double> CaseResult::error_ratio(Role role) const {
  const ImplResult* rival = best(role);
  if (!rival) return std::nullopt;
  return tilewright::error_ratio(ours().accuracy, rival->accuracy);
}

double CaseResult::ratio(Role role) const {
  if (const auto paired = paired_ratio(role)) return paired->centre;
  const ImplResult* rival = best(role);
  return rival ? rival->seconds.centre / ours().seconds.centre : 0;
}

const ImplResult* CaseResult::without_wisdom() const {
  const auto at = std::find_if(impls.begin(), impls.end(),
                               [](const ImplResult& impl) { return impl.impl == "tilewright_default"; });
  return at == impls.end() ? nullptr : &*at;
}

double CaseResult::default_ratio() const {
  if (const ImplResult* standard = without_wisdom()) return standard->seconds.centre / ours().seconds.centre;
  return ours().plan && ours().plan->impl().match != WisdomMatch::none ? 1 : 0;
}

CaseResult run_case(BenchMachine& machine, const BenchPlan& plan, const BenchCase& bench_case) {
  const Contenders contenders(machine, plan, bench_case);
  const std::vector<Entry>& entries = contenders.entries();
  for (const Absence& absence : contenders.absences())
    if (absence.wrong && absence.impl.rfind("tilewright", 0) == 0)
      throw JobFailed(absence.impl + " on " + problem_text(bench_case) + ": " + absence.reason);
  std::vector<Contender> timed;
  for (const Entry& entry : entries) timed.push_back(entry.contender);
  const std::vector<Estimate> seconds = benchmark(timed, contenders.schedule(plan.repetitions));
  CaseResult result;
  result.bench_case = bench_case;
  result.absences = contenders.absences();
  // Hot, every thread works on a batch of its own; cold, all share one.
  result.work_flops = flops(bench_case.problem) * (bench_case.hot() ? bench_case.threads : 1);
  keep_best_variants(entries, seconds, result);
  set_bound(entries, seconds, result);
  return result;
}

}  // namespace tilewright::cli
