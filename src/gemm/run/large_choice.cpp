// Records are compared by what they say of a floating-point operation, so that two of neighbouring sizes can
// be; those of different devices cannot.
#include "gemm/run/large_choice.hpp"

#include "gemm/device_machine.hpp"
#include "gemm/run/device_request.hpp"
#include "gemm/run/small.hpp"

namespace tilewright {
namespace {

const GpuLimits& limits_of(const PlanRequest& r) {
  return r.context.gpus->open(r.options.device)->gpu().limits();
}

// The best match among the records of a family that `can_use` accepts.
template <class CanUse>
std::optional<WisdomAnswer> best_record(const PlanRequest& r, const char* family, CanUse&& can_use) {
  std::optional<WisdomAnswer> found;
  offer_wisdom(r, family, limits_of(r).name, [&](const WisdomAnswer& answer) {
    if (can_use(answer)) found = answer;
    return found.has_value();
  });
  return found;
}

// A record without a time says nothing of who is faster.
bool is_measured(const WisdomAnswer& answer) { return answer.recorded.seconds > 0; }

// Why the space has no place for a record's config.
std::string why_unusable(const WisdomAnswer& answer, const Space<GemmLargeConfig>& space) {
  try {
    const auto reasons = space.explain(from_json<GemmLargeConfig>(answer.config));
    return reasons.empty() ? "it has no time" : reasons.front();
  } catch (const Error& error) {
    return error.what();
  }
}

struct OurRecord {
  std::optional<WisdomAnswer> answer;
  std::string refused;  // what the nearest record lacks that is not used; "" where it is
};

OurRecord recorded_ours(const PlanRequest& r) {
  const auto space = gemm_large_accurate_space(r.problem, gpu_large_shape(r.problem, r), limits_of(r));
  OurRecord found;
  found.answer = best_record(r, "gemm", [&](const WisdomAnswer& answer) {
    if (is_measured(answer) && usable_config(answer.config, space)) return true;
    if (found.refused.empty())
      found.refused = fmt::format("that of {}: {}", answer.problem, why_unusable(answer, space));
    return false;
  });
  return found;
}

double record_flops(const WisdomAnswer& answer) {
  GemmProblem p = parse_problem(answer.problem);
  p.batch_count = 1;  // records are of one problem of a batch
  return std::max(1.0, flops(p));
}

std::string record_text(const WisdomAnswer& answer) {
  const RecordedTime& cost = answer.recorded;
  std::string text = fmt::format("{:.4g} s", cost.seconds);
  if (cost.energy_j) text += fmt::format(" and {:.4g} J", *cost.energy_j);
  if (answer.match != WisdomMatch::exact) text += fmt::format(" for {}", answer.problem);
  return fmt::format("{} ({}, {})", text, to_string(answer.match), answer.source);
}

// Whether an operation costs less in the first by the call's objective, or by time where not both were
// searched for that.
bool costs_less(const PlanRequest& r, const WisdomAnswer& x, const WisdomAnswer& y) {
  const auto per_flop = [](const WisdomAnswer& answer) {
    const double flops = record_flops(answer);
    Metrics metrics{answer.recorded.seconds / flops, answer.recorded.energy_j};
    if (metrics.joules) *metrics.joules /= flops;
    return metrics;
  };
  const Metrics both[] = {per_flop(x), per_flop(y)};
  const TuneObjective objective = objective_of(r.options);
  const bool for_it = x.recorded.objective == objective.text() && y.recorded.objective == objective.text();
  if (!for_it || !objective.needs_energy() || !both[0].joules || !both[1].joules)
    return both[0].seconds < both[1].seconds;
  const std::vector<double> costs = objective.costs(both, both[1]);
  return costs[0] < costs[1];
}

bool is_of_this_device(const WisdomAnswer& answer) { return answer.match != WisdomMatch::near_device; }

// What cuBLAS took of the same problem outweighs what ours took of another one.
bool cublas_wins(const PlanRequest& r, const WisdomAnswer& theirs, const WisdomAnswer& ours) {
  const bool here = is_of_this_device(ours);
  if (here != is_of_this_device(theirs) || (!here && ours.device != theirs.device)) return !here;
  if (theirs.match == WisdomMatch::exact && ours.match != WisdomMatch::exact) return true;
  return costs_less(r, theirs, ours);
}

// Why wisdom speaks for cuBLAS; "" where it speaks for ours.
std::string why_preferred(const PlanRequest& r) {
  const auto [ours, refused] = recorded_ours(r);
  if (!ours)
    return fmt::format(
        "wisdom has no record of it near this problem that can be used{}, and cuBLAS needs none",
        refused.empty() ? "" : " (" + refused + ")");
  const auto theirs = recorded_cublas(r);
  if (!theirs || !cublas_wins(r, *theirs, *ours)) return "";
  return fmt::format("cuBLAS took {} where it took {}", record_text(*theirs), record_text(*ours));
}

}  // namespace

GemmLargeShape gpu_large_shape(const GemmProblem& problem, const PlanRequest& r) {
  return gemm_large_shape(problem, gemm_large_alignment(problem, align_bytes(r)), r.options.math_mode);
}

std::optional<WisdomAnswer> recorded_cublas(const PlanRequest& r) {
  return best_record(r, "cublas", is_measured);
}

bool cublas_serves(const PlanRequest& r) {
  if (!cublas_declines(r).empty()) return false;
  try {
    r.context.gpus->open(r.options.device)->blas();
    return true;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
    return false;
  }
}

std::string why_cublas_first(const PlanRequest& r) {
  if (!r.options.candidate.empty() || !r.options.config.empty()) return "";
  if (!cublas_declines(r).empty()) return "";
  // Setting it up takes time and device memory, so it is left until cuBLAS is wanted.
  const std::string reason = why_preferred(r);
  return reason.empty() || !cublas_serves(r) ? "" : reason;
}

}  // namespace tilewright
