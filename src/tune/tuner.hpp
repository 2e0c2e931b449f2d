// Tuning of one problem, whatever it runs on: the search of search_loop.hpp over the configs of a family. Its
// result is lines of wisdom; which problems, for how long and where they are kept is a session's
// (session.hpp).
#pragma once

#include <string>
#include <vector>

#include "core/json.hpp"
#include "tune/family/family.hpp"
#include "tune/search_loop.hpp"

namespace tilewright {

struct TuneOptions : SearchOptions {
  ChoiceRules rules;
  // Of the operands on the host that cold data are taken from in turn. Filling them counts against the budget
  // unless the family's fill() did it beforehand.
  double ring_bytes = cold_bytes;
};

struct TuneResult : SearchOutcome {
  GemmProblem problem;  // with the batch_count that was timed
  Origin origin;
  nlohmann::json config, default_config;               // by field names
  std::vector<nlohmann::json> ties;                    // finalists that the winner could not be told from
  std::vector<Removed> removed;                        // what the constraints cut off the space
  nlohmann::json findings = nlohmann::json::object();  // further keys of the record
};

// Throws what the family throws, and Error(unsupported) when the objective needs energy and there is no
// meter.
TuneResult tune(const TuneFamily& family, const GemmProblem& problem, const TuneOptions& options,
                TuneMachine& machine);

// The lines of wisdom that the result stands for, the winner's first and then each peer's, of a family of its
// own; and those of the configs that failed the gate.
std::vector<nlohmann::json> records_of(const TuneResult& result);
std::vector<nlohmann::json> wrong_records(const TuneResult& result);

}  // namespace tilewright
