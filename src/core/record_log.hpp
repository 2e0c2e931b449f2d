// The record of what a program multiplied (--record LOG): JSON lines of distinct problems with how often each
// was run and how long that took in all. `tilewright tune --from LOG` reads it back.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tilewright/problem.hpp"
#include "tilewright/types.hpp"

namespace tilewright {

// Adds one run to the line of an equal problem and residency, or a new line. Several processes may record
// into one file at once, and a killed one leaves it whole. Throws Error(io) naming the file, and its line
// where one cannot be read.
void record_run(const std::string& path, const GemmProblem& problem, double seconds);

// How often a problem was run, and the seconds of all runs together.
struct RecordedRuns {
  GemmProblem problem;
  std::int64_t count = 0;
  double seconds = 0;
};

// The same of many runs at once. A file keeps the `most_recorded` problems that took longest.
inline constexpr std::size_t most_recorded = 20000;
// Throws RecordLocked where another process has kept the file locked for so long.
void record_runs(const std::string& path, std::span<const RecordedRuns> runs,
                 std::chrono::milliseconds wait = std::chrono::seconds(10));

class RecordLocked : public Error {
 public:
  explicit RecordLocked(const std::string& path);
};

// What a file holds, in its order. Throws Error(io) naming the file, and its line where one cannot be read.
std::vector<RecordedRuns> read_record(const std::string& path);

// Throws what record_run would throw of a file that cannot be written, before the work that it shall record.
void check_record(const std::string& path);

}  // namespace tilewright
