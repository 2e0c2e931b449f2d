// Choosing configs, compiling on every core, checking and timing on the device.
#include "tune/gpu_candidates.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <unordered_set>

#include "core/dispatch.hpp"
#include "tune/kernel_call.hpp"

namespace tilewright {
namespace {

constexpr std::size_t usual_count = 240, whole_count = 4000;
constexpr std::size_t made_together = 64;
constexpr int align_bytes = 128;  // of the arena's operands

// Every combination of the chosen values, put over `config`.
void with_choices(const GemmSmallConfig& config, std::span<const AxisChoice> choices,
                  const std::function<void(const GemmSmallConfig&)>& visit) {
  if (choices.empty()) return visit(config);
  for (const auto& value : choices.front().values)
    with_choices(from_json<GemmSmallConfig>({{choices.front().axis, value}}, config), choices.subspan(1),
                 visit);
}

template <class T>
T scalar_as(std::complex<double> value) {
  if constexpr (std::is_floating_point_v<T>)
    return static_cast<T>(value.real());
  else
    return static_cast<T>(value);
}

}  // namespace

std::vector<GemmSmallConfig> gpu_candidate_configs(const GemmProblem& problem, const GpuLimits& limits,
                                                   bool whole_space, std::span<const AxisChoice> choices,
                                                   std::span<const AxisCondition> conditions,
                                                   std::uint64_t seed) {
  const GemmSmallShape shape = gemm_small_shape(problem, align_bytes);
  const auto space = gemm_small_space(shape, problem.dtype, limits);
  const GemmSmallConfig standard = gemm_small_default(shape, problem.dtype, limits);
  std::mt19937_64 random(seed);
  const auto searched = whole_space ? space.sample(whole_count, random)
                                    : gemm_small_promising(shape, problem.dtype, limits, usual_count);
  const auto wanted = [&](const GemmSmallConfig& config) {
    const auto fields = to_json(config);
    return std::all_of(conditions.begin(), conditions.end(),
                       [&](const AxisCondition& condition) { return condition.holds(fields); });
  };
  std::vector<GemmSmallConfig> configs = {standard};
  std::unordered_set<std::string> known;
  bool any = false;
  const auto add = [&](const GemmSmallConfig& config) {
    if (!wanted(config) || !known.insert(describe(config)).second || !space.contains(config)) return;
    any = true;
    if (config != standard) configs.push_back(config);
  };
  with_choices(standard, choices, add);
  for (const GemmSmallConfig& point : searched) with_choices(point, choices, add);
  if (any || (choices.empty() && conditions.empty())) return configs;
  const std::string flag = choices.empty() ? "--where" : "--set";
  throw Error(
      ErrorCode::invalid_argument, flag,
      fmt::format("{} {}: no config searched for {} is legal with such values", flag,
                  choices.empty() ? conditions.front().axis : choices.front().axis, to_string(problem)));
}

GpuCandidates::GpuCandidates(const GemmProblem& problem, const StencilCompiler& compiler,
                             std::vector<GemmSmallConfig> configs, GpuArena& arena)
    : problem_(problem),
      shape_(gemm_small_shape(problem, align_bytes)),
      compiler_(compiler),
      arena_(arena),
      stream_(arena.gpu()),
      timer_(arena.gpu(), stream_.get()),
      check_(arena.gpu(), problem) {
  arena.fill(problem.dtype);
  for (const GemmSmallConfig& config : configs) slots_.push_back({config, {}, nullptr, "", false, false, 0});
}

void GpuCandidates::announce(std::span<const std::size_t> wanted) {
  announced_.assign(wanted.begin(), wanted.end());
  next_announced_ = 0;
}

void GpuCandidates::set_failure(std::size_t i, std::string reason) {
  slots_[i].failure = std::move(reason);
  slots_[i].checked = true;
}

// Nothing is timed meanwhile, so every core may help.
void GpuCandidates::compile(std::span<const std::size_t> wanted) {
#pragma omp parallel for schedule(dynamic) if (wanted.size() > 1)
  for (std::size_t w = 0; w < wanted.size(); ++w) {
    Slot& slot = slots_[wanted[w]];
    try {
      slot.binary = compile_gemm_small(compiler_, shape_, slot.config, problem_.dtype,
                                       arena_.gpu().limits().compute_capability);
    } catch (const std::exception& error) {
      slot.failure = error.what();
    }
    slot.compiled = true;
  }
}

bool GpuCandidates::is_right(std::size_t i) {
  Slot& slot = slots_[i];
  if (slot.checked) return slot.failure.empty();
  if (!slot.compiled) {
    std::vector<std::size_t> wanted = {i};
    for (; next_announced_ < announced_.size() && wanted.size() < made_together; ++next_announced_) {
      const std::size_t other = announced_[next_announced_];
      if (other != i && !slots_[other].checked && !slots_[other].compiled) wanted.push_back(other);
    }
    compile(wanted);
  }
  slot.checked = true;
  if (!slot.failure.empty()) return false;
  try {
    slot.kernel =
        std::make_unique<GemmSmallKernel>(arena_.gpu(), slot.binary, shape_, slot.config, problem_.dtype);
    GpuCheckResult seen = check_.check(*slot.kernel);
    slot.error = seen.error;
    slot.failure = std::move(seen.fault);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;  // a kernel that broke the device ends the run
    slot.failure = error.what();
  }
  if (!slot.failure.empty()) slot.kernel.reset();
  return slot.failure.empty();
}

void GpuCandidates::launch(const GemmSmallKernel& kernel) {
  dispatch(problem_.dtype, [&]<class T>() {
    const T alpha = scalar_as<T>(representative(problem_.alpha)),
            beta = scalar_as<T>(representative(problem_.beta));
    kernel.launch({arena_.a(), arena_.b(), arena_.c(), &alpha, &beta, problem_.batch_count, problem_.stride_a,
                   problem_.stride_b, problem_.stride_c, problem_.lda, problem_.ldb, problem_.ldc},
                  stream_.get());
  });
}

GpuCandidates::Turn GpuCandidates::time(std::size_t i, double turn_s) {
  Slot& slot = slots_[i];
  const GemmSmallKernel& kernel = *slot.kernel;
  if (slot.launch_s == 0)
    slot.launch_s = timer_.seconds([&] { launch(kernel); });  // a first look, and warm-up
  const auto launches = std::max<std::int64_t>(1, std::llround(turn_s / slot.launch_s));
  const double seconds = timer_.seconds([&] {
    for (std::int64_t l = 0; l < launches; ++l) launch(kernel);
  });
  slot.launch_s = seconds / double(launches);
  const double problems = double(launches) * double(problem_.batch_count);
  return {seconds / problems, problems};
}

}  // namespace tilewright
