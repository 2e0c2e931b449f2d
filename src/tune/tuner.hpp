// Tuning of one problem: the search of search_loop.hpp over the configs of an operation, and the records of
// its result. session.hpp tunes several problems and keeps the records.
#pragma once

#include <vector>

#include "core/json.hpp"
#include "tune/operation.hpp"
#include "tune/search_loop.hpp"
#include "wisdom/record.hpp"

namespace tilewright {

struct TuneOptions : SearchOptions {
  std::optional<nlohmann::json> incumbent;  // the best config known before: stays unless clearly beaten
  // Bytes of cold operands on the host. Filling counts against the budget unless fill() came before.
  double ring_bytes = cold_bytes;
};

struct TuneResult : SearchOutcome {
  Origin origin;
  nlohmann::json config, default_config;               // by field names
  std::vector<Removed> removed;                        // the cuts of each constraint
  nlohmann::json findings = nlohmann::json::object();  // further keys of the record
};

// Throws as the operation does, and Error(unsupported) if the objective needs energy without a meter.
TuneResult tune(Operation& operation, const TuneOptions& options);

// The records of the result, the winner's first, then each peer's, of a family of its own; and records of the
// configs that failed the gate, which people see and lookups ignore.
std::vector<WisdomRecord> records_of(const TuneResult& result);
std::vector<WisdomRecord> wrong_records(const TuneResult& result);

// The default's excess cost in paired rounds, relative; empty if the record has none.
std::optional<double> paired_regret(const WisdomRecord& record);

}  // namespace tilewright
