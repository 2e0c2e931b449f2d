// The GPU's paces and pool.
#include "tune/gpu_tuner.hpp"

#include <algorithm>

#include "measure/clock.hpp"
#include "tune/gpu_candidates.hpp"
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

// Batches of small problems take the whole arena, so that no cache holds any of them; large ones are timed as
// they come.
GemmProblem timed_problem_on(const GpuArena& arena, GemmProblem p, bool small) {
  p.residency = Residency::cold;
  if (!small) return p;
  GemmProblem one = p;
  one.batch_count = one.block = 1;
  const GpuOperandBytes each = gpu_operand_bytes(one);
  const std::int64_t size = size_bytes(p.dtype);
  std::int64_t elements =
      std::max({std::int64_t(std::max({each.a, each.b, each.c})) / size, p.stride_a, p.stride_b, p.stride_c});
  if (p.layout == Layout::pointer) elements = gpu_pointer_distance(elements, size);
  const std::int64_t count = std::int64_t(arena.operand_bytes()) / (elements * size);
  const std::int64_t in_block = p.layout == Layout::block_interleaved ? p.block : 1;
  p.batch_count = std::max(in_block, count / in_block * in_block);
  if (p.layout == Layout::interleaved) p.block = p.batch_count;
  return p;
}

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
  GpuTuneResult result;
  result.family = gpu_family_of(problem);
  const bool small = result.family == "gemm_small";
  check_search(options, problem, limits.uuid);
  const GemmProblem timed = timed_problem_on(arena, problem, small);
  // One matrix or block may be larger than what was set aside for many.
  const GpuOperandBytes needed = gpu_operand_bytes(timed);
  check_gpu_memory("PROBLEM", timed, needed, limits);
  arena.reserve(needed);
  const auto family = make_gpu_family(timed, compiler, options, arena);
  GpuVendor vendor;
  if (!small) vendor = open_gpu_vendor(arena.gpu(), timed);
  const std::string absence = vendor.absence;
  GpuCandidates pool(timed, *family, std::move(vendor), arena);
  static_cast<SearchOutcome&>(result) =
      search(timed, pool, options, small ? small_pace : large_pace, family->incumbent, begin_s);
  if (!absence.empty()) result.peers_left_out.push_back(fmt::format("{}: {}", gpu_vendor_family, absence));
  result.config = pool.fields(result.winner);
  result.default_config = pool.fields(0);
  for (const std::size_t i : result.tied) result.ties.push_back(pool.fields(i));
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
