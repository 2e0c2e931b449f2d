// Tuning of one problem, whatever is computed: the search of search_loop.hpp over the configs of an
// operation, and the records of wisdom that its result stands for. Which problems, for how long and where
// records are kept is a session's (session.hpp).
#pragma once

#include <string>
#include <vector>

#include "core/json.hpp"
#include "tune/operation.hpp"
#include "tune/search_loop.hpp"
#include "wisdom/record.hpp"

namespace tilewright {

struct TuneOptions : SearchOptions {
  std::optional<nlohmann::json> incumbent;  // known as best before: it stays unless it is clearly beaten
  // Of the operands on the host that cold data are taken from in turn. Filling them counts against the budget
  // unless the operation's fill() did it beforehand.
  double ring_bytes = cold_bytes;
};

struct TuneResult : SearchOutcome {
  Origin origin;
  nlohmann::json config, default_config;               // by field names
  std::vector<Removed> removed;                        // what the constraints cut off the space
  nlohmann::json findings = nlohmann::json::object();  // further keys of the record
};

// Throws what the operation throws, and Error(unsupported) when the objective needs energy and there is no
// meter.
TuneResult tune(Operation& operation, const TuneOptions& options);

// The records that the result stands for, the winner's first and then each peer's, of a family of its own;
// and those of the configs that failed the gate, which are kept so that people see them and no lookup takes
// them.
std::vector<WisdomRecord> records_of(const TuneResult& result);
std::vector<WisdomRecord> wrong_records(const TuneResult& result);

// By what share the default cost more than the winner in paired rounds; empty where its record does not say.
std::optional<double> paired_regret(const WisdomRecord& record);

}  // namespace tilewright
