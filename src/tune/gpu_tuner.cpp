// The GPU's pace and pool. Device events are steady enough that no halving is needed between the strategy and
// the contest.
#include "tune/gpu_tuner.hpp"

#include <algorithm>

#include "core/build_info.hpp"
#include "measure/clock.hpp"
#include "tune/gpu_candidates.hpp"

namespace tilewright {
namespace {

constexpr SearchPace pace{.shortest_turn_s = 1e-3,
                          .longest_screening_s = 1e-3,
                          .longest_halving_s = 1e-3,
                          .longest_final_s = 4e-3,
                          .strategy_share = 0.8,
                          .halving_share = 0.8,
                          .incumbent_tie = 0.02};

// Batches of the whole arena, so that no cache holds any of it.
GemmProblem timed_problem_on(const GpuArena& arena, GemmProblem p) {
  const std::int64_t size = size_bytes(p.dtype);
  const std::int64_t largest =
      std::max({p.lda * p.a_cols(), p.ldb * p.b_cols(), p.ldc * p.n, p.stride_a, p.stride_b, p.stride_c});
  p.batch_count = p.layout == Layout::single ? 1 : std::int64_t(arena.operand_bytes()) / (largest * size);
  p.residency = Residency::cold;
  return p;
}

}  // namespace

void check_gpu_tunable(const GemmProblem& p) {
  if (p.layout != Layout::strided)
    throw Error(ErrorCode::unsupported, "layout",
                fmt::format("{}: only strided batches are tuned for on the GPU so far", to_string(p)));
  if (p.residency == Residency::l1 || p.residency == Residency::l2)
    throw Error(ErrorCode::unsupported, "residency",
                fmt::format("{}: on the GPU operands are taken from device memory (cold)", to_string(p)));
  if (std::max({p.m, p.n, p.k}) > gemm_small_limit || std::min({p.m, p.n, p.k}) < 1)
    throw Error(
        ErrorCode::unsupported, "problem",
        fmt::format("{}: only sizes from 1 to {} have a space to search", to_string(p), gemm_small_limit));
}

GpuTuneResult gpu_tune(const GemmProblem& problem, const StencilCompiler& compiler,
                       const GpuTuneOptions& options, GpuArena& arena) {
  const double begin_s = wall_seconds();
  const GpuLimits& limits = arena.gpu().limits();
  check_gpu_tunable(problem);
  check_search(options, problem, limits.uuid);
  const GemmProblem timed = timed_problem_on(arena, problem);
  auto configs = gpu_candidate_configs(timed, limits, options, options.seed);
  const std::optional<std::size_t> incumbent = place_of(options.incumbent, configs, [&](const auto& config) {
    return gemm_small_space(gemm_small_shape(timed, 128), timed.dtype, limits).contains(config);
  });
  GpuCandidates pool(timed, compiler, std::move(configs), arena);
  GpuTuneResult result;
  static_cast<SearchOutcome&>(result) = search(timed, pool, options, pace, incumbent, begin_s);
  result.config = pool.fields(result.winner);
  result.default_config = pool.fields(0);
  for (const std::size_t i : result.tied) result.ties.push_back(pool.fields(i));
  result.device = limits.name;
  result.device_uuid = limits.uuid;
  result.driver = limits.driver_version;
  result.compiler = compiler.nvrtc().version();
  return result;
}

namespace {

Origin origin_of(const GpuTuneResult& result) {
  return {"gemm_small",  result.device,          result.device_uuid,
          result.driver, gpu_kernel_source_hash, result.compiler};
}

}  // namespace

nlohmann::json wisdom_record(const GpuTuneResult& result) {
  return winner_record(result, origin_of(result), result.config);
}
std::vector<nlohmann::json> wrong_records(const GpuTuneResult& result) {
  return wrong_records(result, origin_of(result));
}

}  // namespace tilewright
