// Which record fits a factorization.
#include "lu/tuned.hpp"

#include <fmt/format.h>

#include <cmath>

#include "core/host/stack.hpp"
#include "device/cpu.hpp"
#include "gemm/context_impl.hpp"
#include "gemm/hybrid/node.hpp"
#include "lu/problem.hpp"

#if TILEWRIGHT_HAS_GPU
#include "device/gpu/gpu.hpp"
#endif

namespace tilewright {
namespace {

double distance(const LuProblem& x, const LuProblem& y) {
  const auto apart = [](std::int64_t a, std::int64_t b) {
    return std::fabs(std::log(double(a) / double(b)));
  };
  return apart(x.m, y.m) + apart(x.n, y.n);
}

// Takes the record where it is of this problem's kind and nearer than what is there; those of another version
// are passed over.
void take_nearer(const WisdomRecord& record, const LuProblem& problem, double& nearest, WisdomAnswer& best) {
  try {
    const LuProblem known = parse_lu_problem(record.problem);
    const double away = distance(known, problem);
    if (known.dtype != problem.dtype || known.location != problem.location || !(away < nearest)) return;
    best = {to_json(from_json<LuConfig>(record.config)),
            away == 0 ? WisdomMatch::exact : WisdomMatch::near_shape,
            record.source,
            record.recorded(),
            record.problem,
            record.device};
    nearest = away;
  } catch (const Error&) {
  }
}

}  // namespace

std::string tuned_text(const WisdomAnswer& record) {
  const auto config = from_json<LuConfig>(record.config);
  return fmt::format("wisdom ({}, {}, of {}): {}{}", to_string(record.match), record.source, record.problem,
                     config.candidate, config.nb > 0 ? fmt::format(" with nb={}", config.nb) : "");
}

std::string lu_device_name(Context& context, const LuProblem& problem, [[maybe_unused]] int gpu) {
#if TILEWRIGHT_HAS_GPU
  if (problem.location == Location::device) return Gpu::limits_of(gpu).name;
#endif
  std::string name = cpu_info().device;
  if (problem.location == Location::host)
    for (const auto& one : Access::impl(context).hybrid->gpus()) name += " + " + one.name;
  return name;
}

WisdomAnswer tuned_lu(Context& context, const LuProblem& problem, const LuOptions& o) {
  const Wisdom* wisdom = Access::impl(context).wisdom();
  const bool is_open = o.candidate.empty() && o.nb == 0 && o.target == Target::automatic && o.gpus.empty();
  if (wisdom == nullptr || !is_open || problem.m == 0 || problem.n == 0) return {};
  if (problem.location == Location::host && flops(problem) < least_tuned_flops) return {};
  return at_ease([&] {
    WisdomAnswer best;
    const auto records = wisdom->records_of("lu");
    if (records->empty()) return best;
    const std::string device = lu_device_name(context, problem, o.device);
    double nearest = shape_radius;
    for (const WisdomRecord& record : *records)
      if (record.device == device && record.objective == "time") take_nearer(record, problem, nearest, best);
    return best;
  });
}

LuOptions with_config(LuOptions options, const LuConfig& config) {
  options.candidate = config.candidate;
  options.nb = config.nb;
  return options;
}

}  // namespace tilewright
