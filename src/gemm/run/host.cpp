// Judges residency, estimates time, and chooses threads.
#include "gemm/run/host.hpp"

#include <algorithm>

#include "core/refuse.hpp"
#include "device/cpu.hpp"
#include "gemm/hybrid/options.hpp"
#include "gemm/parallel.hpp"

namespace tilewright {

std::string why_not_on_host(const PlanRequest& r) {
  if (r.problem.location == Location::device) return "needs operands in host memory";
  if (!wants_gpus(r)) return "";
  if (r.options.target == Target::automatic)
    return fmt::format("split = {} asks for GPUs", to_string(r.options.split));
  return fmt::format("target = {} excludes it", to_string(r.options.target));
}

namespace {

constexpr double l1_footprint_bytes = 24 << 10;  // as in the benchmarks
constexpr double unknown_l2_share_bytes = 1 << 20;
// The share of a third-level cache in which a call's operands and result may be expected. Within it, kernels
// whose stores bypass caches took 1.05 to 1.7 times as long, for up to 24 MiB of 480 MiB and n = 8 to 24, and
// 0.7 to 0.9 times from 48 MiB on (Xeon with 2 cores).
constexpr double l3_share = 1.0 / 16;

}  // namespace

Residency residency_of(double bytes, const GemmOptions& options) {
  if (options.residency != Residency::automatic) return options.residency;
  if (bytes <= l1_footprint_bytes) return Residency::l1;
  const int threads = options.threads > 0 ? options.threads : allowed_threads(0);
  const double l2 = cpu_info().l2_bytes > 0 ? double(cpu_info().l2_bytes) / 2 : unknown_l2_share_bytes;
  const double cached = std::max(l2 * threads, l3_share * double(cpu_info().l3_bytes));
  return bytes <= cached ? Residency::l2 : Residency::cold;
}

Residency judged_residency(const GemmProblem& p, const GemmOptions& options) {
  if (options.residency != Residency::automatic) return options.residency;
  if (p.residency != Residency::automatic) return p.residency;
  return p.location == Location::device ? Residency::cold : residency_of(footprint_bytes(p), options);
}

double estimate_s(const GemmProblem& p) {
  constexpr double flops_per_s = 50e9;  // f64; f32 has twice as many
  constexpr double cold_bytes_per_s = 12e9, l2_bytes_per_s = 50e9, l1_bytes_per_s = 100e9;
  constexpr double problem_s = 2e-9;  // lower bound of a problem
  const bool narrow = p.dtype == DType::f32 || p.dtype == DType::c64;
  const double bandwidth = p.residency == Residency::l1   ? l1_bytes_per_s
                           : p.residency == Residency::l2 ? l2_bytes_per_s
                                                          : cold_bytes_per_s;
  return std::max({flops(p) / (narrow ? 2 * flops_per_s : flops_per_s), bytes(p) / bandwidth,
                   double(p.batch_count) * problem_s});
}

HostRunner::HostRunner(const PlanRequest& r)
    : problem_(r.problem),
      threads_(r.options.threads),
      sequential_(threads_ == 1 || !is_worth_threads(estimate_s(problem_), threads_)) {}

void HostRunner::check(const Operands& o) const {
  if (o.stream != nullptr)
    refuse_argument("stream", fmt::format("stream = {} is given, but the operands are in host memory",
                                          static_cast<const void*>(o.stream)));
}

void HostRunner::run(const Operands& o) const {
  const int threads = thread_count();
  if (threads == 1) return run_part(o, 0, problem_.batch_count, 1);
  share_out(problem_, o, threads,
            [&](std::int64_t first, std::int64_t count) { run_range(o, first, count); });
}

void HostRunner::run_part(const Operands& o, std::int64_t first, std::int64_t count, int threads) const {
  parallel_ranges(threads, count, border_multiple(problem_, threads),
                  [&](std::int64_t begin, std::int64_t part) { run_range(o, first + begin, part); });
}

std::string HostRunner::device() const { return cpu_info().device; }

int HostRunner::thread_count() const { return sequential_ ? 1 : allowed_threads(threads_); }

std::string HostRunner::threads_text() const {
  if (threads_ == 1) return "1, as requested";
  if (sequential_)
    return fmt::format("1 (about {} of work does not pay for more)", seconds_text(estimate_s(problem_)));
  const int count = thread_count(), asked = threads_ > 0 ? threads_ : omp_get_max_threads();
  const char* from = threads_ > 0 ? "as requested" : "OpenMP's default";
  if (count < asked && !is_in_team())
    return fmt::format("{} ({} would be {}, but this process cannot have more)", count, asked, from);
  return fmt::format("{}, {}", count, from);
}

}  // namespace tilewright
