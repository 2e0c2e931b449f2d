// From a family's pool to a result.
#include "tune/tuner.hpp"

#include "wisdom/families.hpp"

namespace tilewright {

TuneResult tune(const TuneFamily& family, const GemmProblem& problem, const TuneOptions& options,
                TuneMachine& machine) {
  const double begin_s = options.clock.now();
  if (const auto decline = family.declines(problem))
    throw Error(decline->code, decline->argument, fmt::format("{}: {}", to_string(problem), decline->reason));
  OpenProblem open = family.open(problem, options.rules, machine, options.ring_bytes);
  TuneResult result;
  result.origin = open.pool->origin();
  check_search(options, problem.location, result.origin.device_uuid);
  SearchOptions search_options = options;
  search_options.budget_s *= family.pace().search_share;
  static_cast<SearchOutcome&>(result) =
      search(to_string(open.timed), *open.pool, search_options, family.pace(), open.incumbent, begin_s);
  result.problem = open.timed;
  result.removed = std::move(open.removed);
  for (std::string& absent : open.absent_peers) result.peers_left_out.push_back(std::move(absent));
  if (!result.complete) return result;
  result.config = open.pool->fields(result.winner);
  result.default_config = open.pool->fields(0);
  for (const std::size_t i : result.tied) result.ties.push_back(open.pool->fields(i));
  result.findings = open.pool->findings(result.winner, options.budget_s - (options.clock.now() - begin_s));
  result.notes = machine.other_users(problem.location);
  result.tuning_s = options.clock.now() - begin_s;
  return result;
}

std::vector<nlohmann::json> records_of(const TuneResult& result) {
  std::vector<nlohmann::json> records = {winner_record(result, result.origin, result.config)};
  records.front().update(result.findings);
  for (const PeerOutcome& peer : result.peers) {
    Origin origin = result.origin;
    origin.family = peer.name;
    origin.source_hash = current_source_hash(peer.name);
    origin.compiler.clear();  // whoever compiled it is not known
    records.push_back(peer_record(result, peer, origin));
    records.back()["impl"] = peer.name, records.back()["impl_version"] = peer.config.value("version", "");
  }
  return records;
}

std::vector<nlohmann::json> wrong_records(const TuneResult& result) {
  return wrong_records(result, result.origin);
}

}  // namespace tilewright
