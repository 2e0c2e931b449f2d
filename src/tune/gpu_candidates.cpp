// Choosing configs, compiling on every core, checking and timing on the device.
#include "tune/gpu_candidates.hpp"

#include <algorithm>
#include <cmath>
#include <random>

#include "core/dispatch.hpp"
#include "measure/gpu_observer.hpp"
#include "tune/kernel_call.hpp"

namespace tilewright {
namespace {

constexpr std::size_t usual_count = 240, whole_count = 4000;
constexpr std::size_t made_together = 64;
constexpr int align_bytes = 128;  // of the arena's operands

template <class T>
T scalar_as(std::complex<double> value) {
  if constexpr (std::is_floating_point_v<T>)
    return static_cast<T>(value.real());
  else
    return static_cast<T>(value);
}

}  // namespace

std::vector<GemmSmallConfig> gpu_candidate_configs(const GemmProblem& problem, const GpuLimits& limits,
                                                   const AxisRules& rules, std::uint64_t seed) {
  check_axes<GemmSmallConfig>(rules);
  const GemmSmallShape shape = gemm_small_shape(problem, align_bytes);
  const auto space = gemm_small_space(shape, problem.dtype, limits);
  std::mt19937_64 random(seed);
  const auto searched = rules.whole_space ? space.sample(whole_count, random)
                                          : gemm_small_promising(shape, problem.dtype, limits, usual_count);
  return admitted_configs(problem, rules, gemm_small_default(shape, problem.dtype, limits), searched, space);
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
  for (const GemmSmallConfig& config : configs) {
    Slot slot;
    slot.config = config;
    slots_.push_back(std::move(slot));
  }
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

// Of one that passed in an earlier run the gate is not asked again. Throws Error(unsupported) when it cannot
// be loaded.
void GpuCandidates::make(Slot& slot, std::size_t i) {
  if (!slot.compiled) {
    std::vector<std::size_t> wanted = {i};
    for (; next_announced_ < announced_.size() && wanted.size() < made_together; ++next_announced_) {
      const std::size_t other = announced_[next_announced_];
      if (other != i && !slots_[other].checked && !slots_[other].compiled) wanted.push_back(other);
    }
    compile(wanted);
  }
  if (!slot.failure.empty()) throw Error(ErrorCode::unsupported, "config", slot.failure);
  slot.kernel =
      std::make_unique<GemmSmallKernel>(arena_.gpu(), slot.binary, shape_, slot.config, problem_.dtype);
}

bool GpuCandidates::is_right(std::size_t i) {
  Slot& slot = slots_[i];
  if (slot.checked) return slot.failure.empty();
  slot.checked = true;
  try {
    make(slot, i);
    GpuCheckResult seen = check_.check(*slot.kernel);
    slot.accuracy = {seen.error, 1};
    slot.failure = std::move(seen.fault);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;  // a kernel that broke the device ends the run
    if (slot.failure.empty()) slot.failure = error.what();
  }
  if (!slot.failure.empty()) slot.kernel.reset();
  return slot.failure.empty();
}

void GpuCandidates::set_passed(std::size_t i, const Accuracy& accuracy) {
  slots_[i].accuracy = accuracy;
  slots_[i].checked = true;
}

std::vector<std::unique_ptr<Observer>> GpuCandidates::observers() const {
  std::vector<std::unique_ptr<Observer>> all;
  all.push_back(std::make_unique<GpuObserver>(arena_.gpu().limits().uuid));
  return all;
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

TurnTimer::Turn GpuCandidates::time(std::size_t i, double turn_s) {
  Slot& slot = slots_[i];
  if (slot.kernel == nullptr) make(slot, i);
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
