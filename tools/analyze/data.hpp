// Recorded sweeps as points to analyse: rows of JSON lines grouped by problem, one point per config, runs of
// several cards joined through their sentinels (a fixed program measured between others) and never otherwise.
// It reads the rows of the sweep of large GEMM, the benches and the tuner, and gives a reason for everything
// that it leaves out.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/json.hpp"
#include "core/objective.hpp"

namespace tilewright {

// A sentinel: one fixed program (the vendor's GEMM) measured repeatedly between others. It shows whether the
// machine changed during a sweep, and joins sweeps of different machines, as Anzt 2015 did with cuBLAS. This
// file measures nothing.
struct SentinelReading {
  double seconds = 0;
  std::optional<double> joules;
};

// Returns the median of several; joules only if all have them.
SentinelReading median_of(const std::vector<SentinelReading>& readings);

class SentinelWatch {
 public:
  // A sentinel that deviates from the first ones by more than this is reported.
  static constexpr double time_limit = 0.02, energy_limit = 0.03;

  void add(const SentinelReading& reading);
  bool empty() const { return readings_.empty(); }

  // The ratio of the latest to the median of the first three.
  double time_ratio() const;
  std::optional<double> energy_ratio() const;
  // Describes the deviations beyond the limits.
  std::vector<std::string> notes() const;

 private:
  SentinelReading reference() const;
  std::vector<SentinelReading> readings_;
};

// A row as recorded.
struct SweepRow {
  std::string problem, family, phase, impl, impl_version, device, uuid, source_hash, fault, energy_note;
  nlohmann::json config;  // null for a peer
  std::optional<double> seconds, joules, watts;
  std::map<std::string, double> metrics;  // "registers", "bytes.l2", ...
  std::vector<std::string> notes;         // disturbances
  bool is_default = false;                // the config differs in nothing from the base of a tuner's log
};
// Returns the rows of all files in order, with the fields that configs leave out (`base`). Throws Error(io)
// naming file and line, also for seconds that are not a valid time.
std::vector<SweepRow> read_sweeps(const std::vector<std::string>& paths);
// Returns the rows among the lines of one file, which errors name.
std::vector<SweepRow> sweep_rows(const std::vector<nlohmann::json>& lines, const std::string& path);

// A config with the medians of its measurements.
struct SweepPoint {
  nlohmann::json config;
  Metrics cost;
  double gflops = 0;
  std::optional<double> efficiency;  // GFLOP/s per watt
  std::optional<double> watts;
  std::map<std::string, double> metrics;
  std::size_t samples = 0;
  bool noted = false;  // one of its measurements was disturbed
  bool is_default = false;
};

// The conversion of a card's rows to those of the reference card.
struct SweepJoin {
  std::string uuid;
  double time_factor = 1, energy_factor = 1;
  std::string sentinel_version;  // version of the library on this card; "" if no row records it
  std::size_t points = 0, sentinels = 0;
  std::size_t anchors = 0;   // configs that the reference card also measured
  double time_residual = 0;  // the largest remaining difference among those, as a share
  double energy_residual = 0;
};

// A config with repeated long measurements.
struct SweepRepeat {
  nlohmann::json config;
  std::vector<double> seconds, joules;
  std::optional<Metrics> screened;
};

struct SweepCase {
  std::string problem, family, device;
  double flops = 0;
  std::vector<SweepPoint> points;  // with energy if it was measured
  std::vector<SweepRepeat> repeats;
  std::vector<SweepJoin> joins;                                   // one for each card, the reference first
  std::map<std::string, std::vector<SentinelReading>> sentinels;  // by card
  std::string sentinel;                                           // its name, "cublas"
  std::map<std::string, std::size_t> excluded;                    // reason -> number of configs
  std::map<std::string, std::size_t> notes;                       // note -> number of rows

  bool has_energy() const;  // True if at least three points have energy.
};

// Selects the rows that may be compared.
struct SweepJoinRules {
  bool across_sources =
      false;  // also kernels of different sources: the notes then list the sources of the rows
};

// Returns one case for each problem, in the order of the rows. Throws Error(invalid_argument) naming the
// problem and the cards if they differ in kind or (unless the rules allow it) source, if one has no sentinel,
// or if their sentinels are different versions of the library.
std::vector<SweepCase> sweep_cases(const std::vector<SweepRow>& rows, const SweepJoinRules& rules = {});

// Adds bytes and instructions per second to the metrics of each point.
void add_rates(SweepCase& one);

}  // namespace tilewright
