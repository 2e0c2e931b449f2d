// One record of wisdom: which config was measured best for which problem, where, with what and how surely,
// its form as a JSON line, and which of two is believed. It knows nothing of files; configs are JSON objects,
// whatever the family.
#pragma once

#include "wisdom/columns.hpp"
#include "wisdom/key.hpp"

namespace tilewright {

// What was measured of a record's config, for people who ask why it was chosen.
struct RecordedTime {
  double seconds = 0;  // robust centre per problem; 0: not known
  double seconds_low = 0;
  double seconds_high = 0;
  std::int64_t samples = 0;
  std::optional<double> default_seconds;  // of the rule-of-thumb config in the same run
  std::string objective = "time";         // that the config was searched for
  std::optional<double> energy_j;         // per problem, where the objective asked for it

  // Whether there are samples enough for a spread that means something.
  bool well_measured() const;
  // By what share the default costs more; empty where that was not measured.
  std::optional<double> regret() const;
  // "+-1.2 % in 24 samples", "3 samples: too few to tell", "not measured".
  std::string quality() const;
};

struct WisdomRecord : RecordedTime {
  std::string family;
  std::string problem;    // canonical text, as it was measured, with its math mode where that is not full
  nlohmann::json config;  // fields by name
  std::string device;     // e.g. the CPU's model name
  std::string driver;     // "" where there is none
  std::string source_hash;
  std::string compiler;
  std::optional<std::int64_t> candidates;
  std::optional<double> error, error_bound;  // against the reference, as the gate saw it
  nlohmann::json metrics;                    // what the observers saw: clocks, temperature, whose energy
  std::string verdict = "passed";  // of the numerics gate; any other is kept as a warning and never looked up
  std::string reason;              // of a verdict that is not "passed"
  std::string time;                // ISO 8601, UTC
  nlohmann::json extra;            // keys of the line that have no member here, kept as they came
  std::string source;              // "file:line" or "file#record", for people
  bool dropped = false;            // from lookups, by a source that believes only records of current kernels

  bool passed() const { return verdict == "passed"; }
  const RecordedTime& recorded() const { return *this; }
};

template <>
struct FieldList<WisdomRecord> {
  using R = WisdomRecord;
  static constexpr auto if_known = Presence::if_known, required = Presence::required;
  static constexpr auto value = std::make_tuple(
      column("family", &R::family, required), column("problem", &R::problem, required),
      column("config", &R::config, required), column("device", &R::device, required),
      column("driver", &R::driver, if_known), column("source_hash", &R::source_hash),
      column("compiler", &R::compiler), column("objective", &R::objective), column("seconds", &R::seconds),
      column("seconds_low", &R::seconds_low), column("seconds_high", &R::seconds_high),
      column("samples", &R::samples), column("default_seconds", &R::default_seconds),
      column("candidates", &R::candidates), column("error", &R::error, if_known),
      column("error_bound", &R::error_bound, if_known), column("energy_j", &R::energy_j, if_known),
      column("metrics", &R::metrics, if_known), column("verdict", &R::verdict),
      column("reason", &R::reason, if_known), column("time", &R::time));
};

// A line of a file; throws Error where it is no JSON object.
nlohmann::json parse_line(const std::string& line);

// What no measurement gives is as wrong as a value of another type: throws Error naming the field, also where
// the problem or the config is none of its family.
void check(const WisdomRecord& record);

// The record that a line stands for; nullopt for the header or summary of a recorded run, for a model, and
// for what names no operation. Problems of operations and families that this build lacks are kept as they
// are. Throws Error naming the key that is wrong.
std::optional<WisdomRecord> record_of_line(nlohmann::json line);
std::optional<WisdomRecord> parse_record(const std::string& line);

nlohmann::json to_json(const WisdomRecord& record);

// What lookups compare the record by; nullopt where this build cannot read its problem or config.
std::optional<WisdomQuery> query_of(const WisdomRecord& record);

// Of two dates, whether the first is later; one that is yet to come is a wrong clock's and earlier than all.
bool is_later(const std::string& date, const std::string& than);

// What two records must share for only one of them to be kept.
std::string identity_of(const WisdomRecord& record);

// True when the kernels of the record's family have changed since, or are not known here: what was measured
// then says nothing about the kernels of now.
bool is_stale(const WisdomRecord& record);

// Whether x is better measured than y, two records of the same identity: a passed verdict first, then the
// current source hash, then the smaller uncertainty (relative spread over the square root of the samples, in
// powers of two, so that the order is a total one; unknown where the samples are too few), then the newer
// date. A date in the future is none.
bool is_better(const WisdomRecord& x, const WisdomRecord& y);

// Whether what tuning has found takes the place of a known record of the same identity: not that of a newer
// one unless that is stale, and not that of a well measured one when it is not well measured itself.
bool supersedes(const WisdomRecord& found, const WisdomRecord& known);

}  // namespace tilewright
