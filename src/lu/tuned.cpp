// Which record fits a factorization.
#include "lu/tuned.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

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

// What the record says where it is one of this problem's kind; match none for records of another version.
WisdomAnswer read(const WisdomRecord& record, const LuProblem& problem) {
  try {
    const LuProblem known = parse_lu_problem(record.problem);
    if (known.dtype != problem.dtype || known.location != problem.location) return {};
    const double away = distance(known, problem);
    if (!(away < shape_radius)) return {};
    return {to_json(from_json<LuConfig>(record.config)),
            away == 0 ? WisdomMatch::exact : WisdomMatch::near_shape,
            record.source,
            record.recorded(),
            record.problem,
            record.device};
  } catch (const Error&) {
    return {};
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
    for (const auto& one : context.impl().hybrid->gpus()) name += " + " + one.name;
  return name;
}

WisdomAnswer tuned_lu(Context& context, const LuProblem& problem, const LuOptions& o) {
  const Wisdom* wisdom = context.impl().wisdom();
  const bool is_open = o.candidate.empty() && o.nb == 0 && o.target == Target::automatic && o.gpus.empty();
  if (wisdom == nullptr || !is_open || problem.m == 0 || problem.n == 0) return {};
  if (problem.location == Location::host && flops(problem) < least_tuned_flops) return {};
  const auto records = wisdom->records_of("lu");
  if (records->empty()) return {};
  const std::string device = lu_device_name(context, problem, o.device);
  WisdomAnswer best;
  double nearest = std::numeric_limits<double>::infinity();
  for (const WisdomRecord& record : *records) {
    if (record.device != device || record.objective != "time") continue;
    const WisdomAnswer found = read(record, problem);
    if (found.match == WisdomMatch::none) continue;
    const double away = distance(parse_lu_problem(record.problem), problem);
    if (away < nearest) nearest = away, best = found;
  }
  return best;
}

LuOptions with_config(LuOptions options, const LuConfig& config) {
  options.candidate = config.candidate;
  options.nb = config.nb;
  return options;
}

}  // namespace tilewright
