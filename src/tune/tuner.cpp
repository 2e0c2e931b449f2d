// The search of an operation's pool, and the records of its result.
#include "tune/tuner.hpp"

#include "core/date.hpp"
#include "wisdom/families.hpp"

namespace tilewright {
namespace {

WisdomRecord new_record(const TuneResult& result, const Origin& origin, const nlohmann::json& config) {
  WisdomRecord record;
  record.family = origin.family, record.problem = result.subject, record.config = config;
  record.device = origin.device, record.driver = origin.driver;
  record.source_hash = origin.source_hash, record.compiler = origin.compiler;
  record.objective = result.objective.text();
  record.time = time_now();
  record.extra = nlohmann::json::object();
  if (!origin.device_uuid.empty()) record.extra["device_uuid"] = origin.device_uuid;
  return record;
}

// Adds the measurements of one contestant.
void add_seen(WisdomRecord& record, const TuneResult& result, const Estimate& seconds,
              const std::optional<Estimate>& joules, const Accuracy& accuracy) {
  record.seconds = seconds.centre, record.samples = seconds.samples;
  record.seconds_low = seconds.low, record.seconds_high = seconds.high;
  if (joules) record.energy_j = joules->centre;
  record.error = accuracy.error, record.error_bound = accuracy.bound;
  record.metrics = result.metrics;
  record.extra["rounds"] = result.rounds;
  if (!result.notes.empty()) record.extra["notes"] = result.notes;
}

WisdomRecord winner_record(const TuneResult& result) {
  WisdomRecord record = new_record(result, result.origin, result.config);
  add_seen(record, result, result.seconds, result.joules, result.accuracy);
  if (result.default_seconds.samples > 0) record.default_seconds = result.default_seconds.centre;
  record.candidates = result.candidates;
  record.extra["regret"] = result.regret, record.extra["tie"] = result.tie;
  for (const PeerOutcome& peer : result.peers)
    record.extra["regret_" + peer.name] = peer.regret ? nlohmann::json(*peer.regret) : nlohmann::json();
  if (!result.peers_left_out.empty()) record.extra["peers_left_out"] = result.peers_left_out;
  record.extra.update(result.findings);
  return record;
}

WisdomRecord peer_record(const TuneResult& result, const PeerOutcome& peer) {
  Origin origin = result.origin;
  origin.family = peer.name;
  origin.source_hash = current_source_hash(peer.name);
  origin.compiler.clear();  // unknown
  WisdomRecord record = new_record(result, origin, peer.config);
  add_seen(record, result, peer.seconds, peer.joules, peer.accuracy);
  record.extra["impl"] = peer.name, record.extra["impl_version"] = peer.config.value("version", "");
  return record;
}

}  // namespace

TuneResult tune(Operation& operation, const TuneOptions& options) {
  const double begin_s = options.clock.now();
  OpenProblem open = operation.open(options.incumbent, options.ring_bytes);
  CheckedPool& pool = *open.pool;
  TuneResult result;
  result.origin = pool.origin();
  check_search(options, operation.location(), result.origin.device_uuid);
  SearchOptions search_options = options;
  search_options.budget_s *= operation.pace().search_share;
  static_cast<SearchOutcome&>(result) =
      search(open.subject, pool, search_options, operation.pace(), open.incumbent, begin_s);
  result.removed = std::move(open.removed);
  for (std::string& absent : open.absent_peers) result.peers_left_out.push_back(std::move(absent));
  if (!result.complete) return result;
  result.config = pool.fields(result.winner);
  result.default_config = pool.fields(0);
  result.findings = pool.findings(result.winner, options.budget_s - (options.clock.now() - begin_s));
  result.notes = pool.notes();
  result.tuning_s = options.clock.now() - begin_s;
  return result;
}

std::vector<WisdomRecord> records_of(const TuneResult& result) {
  std::vector<WisdomRecord> records = {winner_record(result)};
  for (const PeerOutcome& peer : result.peers) records.push_back(peer_record(result, peer));
  return records;
}

std::vector<WisdomRecord> wrong_records(const TuneResult& result) {
  std::vector<WisdomRecord> records;
  for (const WrongConfig& wrong : result.wrongs) {
    records.push_back(new_record(result, result.origin, wrong.config));
    records.back().verdict = "failed", records.back().reason = wrong.reason;
  }
  return records;
}

std::optional<double> paired_regret(const WisdomRecord& record) {
  const auto at = record.extra.find("regret");
  if (at == record.extra.end() || !at->is_number()) return std::nullopt;
  return at->get<double>();
}

}  // namespace tilewright
