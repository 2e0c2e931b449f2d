// From kept ceilings to a bound.
#include "gemm/kept_bound.hpp"

#include "core/problem.hpp"
#include "device/cpu.hpp"
#include "gemm/device/traffic.hpp"
#include "wisdom/ceilings.hpp"

namespace tilewright {
namespace {

// In sectors where the places of the matrices are known; of sizes that lie in device memory the bytes of the
// largest.
double moved_on_gpu(const GemmProblem& p) {
  const bool is_placed = p.layout != Layout::grouped && p.layout != Layout::variable;
  return is_placed && p.batch_count > 0 ? gpu_traffic(p).bytes : bytes(p);
}

std::optional<KeptBound> of(const Bound& bound, const std::string& time) {
  if (!(bound.seconds > 0)) return std::nullopt;
  return KeptBound{bound, time};
}

}  // namespace

std::optional<KeptBound> kept_bound(const GemmProblem& problem, const std::string& gpu, int threads) {
  const Environment environment = Environment::read();
  if (problem.location == Location::device) {
    const auto kept = load_gpu_ceilings(gpu_ceilings_path(environment), gpu);
    if (!kept) return std::nullopt;
    return of(bound_of(problem, *kept, moved_on_gpu(problem)), kept->time);
  }
  const auto kept = load_ceilings(ceilings_path(environment), cpu_info().device, threads);
  if (!kept) return std::nullopt;
  return of(bound_of(problem, *kept), kept->time);
}

}  // namespace tilewright
