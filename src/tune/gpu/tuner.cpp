// The GPU's paces and pool.
#include "tune/gpu/tuner.hpp"

#include "measure/clock.hpp"
#include "tune/gpu/pool.hpp"
#include "wisdom/families.hpp"

namespace tilewright {
namespace {

// Bound by memory: what ran before does not matter, and device events are steady enough that no halving is
// needed between the strategy and the contest.
constexpr SearchPace small_pace{.shortest_turn_s = 1e-3,
                                .longest_screening_s = 1e-3,
                                .longest_halving_s = 1e-3,
                                .longest_final_s = 4e-3,
                                .strategy_share = 0.8,
                                .halving_share = 0.8,
                                .incumbent_tie = 0.02};

// At the card's power limit a short turn says what ran before it: the clock follows within tens of
// milliseconds.
constexpr SearchPace large_pace{.shortest_turn_s = 1e-3,
                                .longest_screening_s = 1e-2,
                                .longest_halving_s = 4e-2,
                                .longest_final_s = 1e-1,
                                .strategy_share = 0.5,
                                .halving_share = 0.75,
                                .incumbent_tie = 0.02};

Origin origin_of(const GpuTuneResult& result) {
  return {
      result.family,  result.device, result.device_uuid, result.driver, current_source_hash(result.family),
      result.compiler};
}

}  // namespace

void check_gpu_tunable(const GemmProblem& p) { (void)gpu_family_of(p); }

GpuTuneResult gpu_tune(const GemmProblem& problem, const StencilCompiler& compiler,
                       const GpuTuneOptions& options, GpuArena& arena) {
  const double begin_s = wall_seconds();
  const GpuLimits& limits = arena.gpu().limits();
  if (const std::string reason = why_too_old(limits); !reason.empty())
    throw Error(ErrorCode::unsupported, "device", reason);
  GpuTuneResult result;
  result.family = gpu_family_of(problem);
  check_search(options, problem, limits.uuid);
  GpuPool pool(problem, compiler, options, arena);
  static_cast<SearchOutcome&>(result) =
      search(pool.timed(), pool.candidates(), options,
             result.family == "gemm_small" ? small_pace : large_pace, pool.incumbent(), begin_s);
  if (!pool.vendor_absence().empty())
    result.peers_left_out.push_back(fmt::format("{}: {}", gpu_vendor_family, pool.vendor_absence()));
  result.config = pool.candidates().fields(result.winner);
  result.default_config = pool.candidates().fields(0);
  for (const std::size_t i : result.tied) result.ties.push_back(pool.candidates().fields(i));
  result.device = limits.name;
  result.device_uuid = limits.uuid;
  result.driver = limits.driver_version;
  result.compiler = compiler.provenance();
  return result;
}

nlohmann::json wisdom_record(const GpuTuneResult& result) {
  return winner_record(result, origin_of(result), result.config);
}
std::vector<nlohmann::json> wrong_records(const GpuTuneResult& result) {
  return wrong_records(result, origin_of(result));
}
std::vector<nlohmann::json> peer_records(const GpuTuneResult& result) {
  std::vector<nlohmann::json> records;
  for (const PeerOutcome& peer : result.peers) {
    Origin origin = origin_of(result);
    origin.family = peer.name;
    origin.source_hash = current_source_hash(peer.name);
    origin.compiler.clear();  // whoever compiled it is not known
    auto record = peer_record(result, peer, origin);
    record["impl"] = peer.name, record["impl_version"] = peer.config.value("version", "");
    records.push_back(std::move(record));
  }
  return records;
}

}  // namespace tilewright
