// One record of wisdom: the best measured config for a problem, with device, compiler and precision, its form
// as a JSON line, and the order of two records. Configs are JSON objects, whatever the family.
#pragma once

#include "wisdom/columns.hpp"
#include "wisdom/key.hpp"

namespace tilewright {

// The measurement of a record's config.
struct RecordedTime {
  double seconds = 0;  // robust centre per problem; 0: unknown
  double seconds_low = 0;
  double seconds_high = 0;
  std::int64_t samples = 0;
  std::optional<double> default_seconds;  // of the default config in the same run
  std::string objective = "time";         // of the search
  std::optional<double> energy_j;         // per problem, if the objective includes energy

  // True if there are enough samples for a meaningful spread.
  bool well_measured() const;
  // The excess cost of the default, relative; empty if it was not measured.
  std::optional<double> regret() const;
  // "+-1.2 % in 24 samples", "3 samples: too few to tell", "not measured".
  std::string quality() const;
};

struct WisdomRecord : RecordedTime {
  std::string family;
  std::string problem;    // canonical text, with its math mode if that is not full
  nlohmann::json config;  // fields by name
  std::string device;     // e.g. the CPU's model name
  std::string driver;     // "" without one
  std::string source_hash;
  std::string compiler;
  std::optional<std::int64_t> candidates;
  std::optional<double> error, error_bound;  // against the reference, in the gate
  nlohmann::json metrics;                    // of the observers: clocks, temperature, source of energy
  std::string verdict =
      "passed";          // of the numerics gate; other records are kept as warnings and never looked up
  std::string reason;    // of another verdict
  std::string time;      // ISO 8601, UTC
  nlohmann::json extra;  // other keys of the line, unchanged
  std::string source;    // "file:line" or "file#record", for people
  bool dropped = false;  // from lookups: of other kernels

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

// Throws Error unless the line is a JSON object.
nlohmann::json parse_line(const std::string& line);

// Throws Error naming a field with an impossible value, or if problem or config do not belong to the family.
void check(const WisdomRecord& record);

// The record of a line; nullopt for the header or summary of a recorded run, a model, and a problem without
// an operation. Unknown operations and families are kept unchanged. Throws Error naming the wrong key.
std::optional<WisdomRecord> record_of_line(nlohmann::json line);
std::optional<WisdomRecord> parse_record(const std::string& line);

nlohmann::json to_json(const WisdomRecord& record);

// The record's key; nullopt if this build cannot read its problem or config.
std::optional<WisdomQuery> query_of(const WisdomRecord& record);

// True if the first date is later. A date in the future, of a wrong clock, is earlier than all others.
bool is_later(const std::string& date, const std::string& than);

// The store keeps one record of each identity.
std::string identity_of(const WisdomRecord& record);

// True if the kernels of the record's family have changed since, or are unknown here.
bool is_stale(const WisdomRecord& record);

// True if x is the better of two records of equal identity: a passed verdict first, then the current source
// hash, then the smaller uncertainty (relative spread over the square root of the samples, in powers of two
// for a total order; unknown with too few samples), then the later date.
bool is_better(const WisdomRecord& x, const WisdomRecord& y);

// True if a record found by tuning replaces a known one of equal identity: not a newer one unless that is
// stale, and not a well measured one unless it is well measured itself.
bool supersedes(const WisdomRecord& found, const WisdomRecord& known);

}  // namespace tilewright
