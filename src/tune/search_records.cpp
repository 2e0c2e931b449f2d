// What a search found, as lines of wisdom.
#include "measure/ceilings.hpp"
#include "tune/search_loop.hpp"

namespace tilewright {
namespace {

nlohmann::json record_of(const SearchOutcome& outcome, const Origin& origin, const nlohmann::json& config) {
  nlohmann::json record;
  record["family"] = origin.family;
  record["problem"] = outcome.subject;
  record["config"] = config;
  record["device"] = origin.device;
  if (!origin.device_uuid.empty()) record["device_uuid"] = origin.device_uuid;
  if (!origin.driver.empty()) record["driver"] = origin.driver;
  record["source_hash"] = origin.source_hash;
  record["compiler"] = origin.compiler;
  record["objective"] = outcome.objective.text();
  record["time"] = time_now();
  return record;
}

// What the contest saw of one contestant.
void add_seen(nlohmann::json& record, const SearchOutcome& outcome, const std::optional<Estimate>& joules,
              const Accuracy& accuracy) {
  if (joules) record["energy_j"] = joules->centre;
  record["error"] = accuracy.error;
  record["error_bound"] = accuracy.bound;
  record["metrics"] = outcome.metrics;
  record["rounds"] = outcome.rounds;
  if (!outcome.notes.empty()) record["notes"] = outcome.notes;
  record["verdict"] = "passed";
}

}  // namespace

void add_times(nlohmann::json& record, const Estimate& seconds, const Estimate& default_seconds) {
  record["seconds"] = seconds.centre;
  record["seconds_low"] = seconds.low;
  record["seconds_high"] = seconds.high;
  record["samples"] = seconds.samples;
  record["default_seconds"] =
      default_seconds.samples > 0 ? nlohmann::json(default_seconds.centre) : nlohmann::json();
}

nlohmann::json peer_record(const SearchOutcome& outcome, const PeerOutcome& peer, const Origin& origin) {
  nlohmann::json record = record_of(outcome, origin, peer.config);
  add_times(record, peer.seconds, {});
  add_seen(record, outcome, peer.joules, peer.accuracy);
  return record;
}

nlohmann::json winner_record(const SearchOutcome& outcome, const Origin& origin,
                             const nlohmann::json& config) {
  nlohmann::json record = record_of(outcome, origin, config);
  add_times(record, outcome.seconds, outcome.default_seconds);
  add_seen(record, outcome, outcome.joules, outcome.accuracy);
  record["regret"] = outcome.regret;
  record["tie"] = outcome.tie;
  record["candidates"] = outcome.candidates;
  for (const PeerOutcome& peer : outcome.peers)
    record["regret_" + peer.name] = peer.regret ? nlohmann::json(*peer.regret) : nlohmann::json();
  if (!outcome.peers_left_out.empty()) record["peers_left_out"] = outcome.peers_left_out;
  return record;
}

std::vector<nlohmann::json> wrong_records(const SearchOutcome& outcome, const Origin& origin) {
  std::vector<nlohmann::json> records;
  for (const WrongConfig& wrong : outcome.wrongs) {
    nlohmann::json record = record_of(outcome, origin, wrong.config);
    add_times(record, {}, {});
    record["verdict"] = "failed";
    record["reason"] = wrong.reason;
    records.push_back(std::move(record));
  }
  return records;
}

}  // namespace tilewright
