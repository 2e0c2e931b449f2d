// Names of generated code for profilers: perf reads /tmp/perf-PID.map, where each line is a start, a size
// (both hexadecimal) and a name (Linux, tools/perf/Documentation/jit-interface.txt).
#pragma once

#include <cstddef>
#include <string>

namespace tilewright {

// Adds a line to this process's map if TILEWRIGHT_PERF_MAP = 1; a file that cannot be written is no error.
void name_for_perf(const void* code, std::size_t bytes, const std::string& name) noexcept;

}  // namespace tilewright
