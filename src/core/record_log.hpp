// The record of what a program multiplied (--record LOG): JSON lines of distinct problems with how often each
// was run and how long that took in all. `tilewright tune --from LOG` reads it back.
#pragma once

#include <string>

#include "tilewright/problem.hpp"

namespace tilewright {

// Adds one run to the line of an equal problem and residency, or a new line. Several processes may record
// into one file at once, and a killed one leaves it whole. Throws Error(io) naming the file, and its line
// where one cannot be read.
void record_run(const std::string& path, const GemmProblem& problem, double seconds);

// Throws what record_run would throw of a file that cannot be written, before the work that it shall record.
void check_record(const std::string& path);

}  // namespace tilewright
