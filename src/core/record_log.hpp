// The record of the problems that a program ran (--record LOG): JSON lines of distinct problems with the
// number of runs and their total time. `tilewright tune --from LOG` reads it back.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tilewright/problem.hpp"
#include "tilewright/types.hpp"

namespace tilewright {

// Adds one run to the line of an equal problem and residency, or appends a new line. Several processes may
// record into one file at once, and a killed one leaves it whole. Throws Error(io) naming the file, and the
// line if one cannot be read.
void record_run(const std::string& path, const GemmProblem& problem, double seconds);

// The number of runs of a problem, and the seconds of all runs together.
struct RecordedRuns {
  GemmProblem problem;
  std::int64_t count = 0;
  double seconds = 0;
};

// A file keeps at most this many problems: those that took longest.
inline constexpr std::size_t most_recorded = 20000;
// Adds many runs at once. Throws RecordLocked if another process has kept the file locked for `wait`.
void record_runs(const std::string& path, std::span<const RecordedRuns> runs,
                 std::chrono::milliseconds wait = std::chrono::seconds(10));

class RecordLocked : public Error {
 public:
  explicit RecordLocked(const std::string& path);
};

// Reads the problems of a file, in its order. Throws Error(io) as record_run() does.
std::vector<RecordedRuns> read_record(const std::string& path);

// Throws the errors of record_run for a file that cannot be written, before the work to be recorded begins.
void check_record(const std::string& path);

}  // namespace tilewright
