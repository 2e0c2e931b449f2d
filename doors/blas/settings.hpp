// The settings of the BLAS symbols, read from the environment at the first call.
#pragma once

#include <cstdint>
#include <string>

namespace tilewright::blas {

// TILEWRIGHT_BLAS selects the calls that are served here.
enum class Mode : std::uint8_t { automatic, off, all };

struct Settings {
  Mode mode = Mode::automatic;
  int verbose = 0;        // TILEWRIGHT_VERBOSE: 1 a summary at exit, 2 each new shape too, 3 each call
  std::string record{};   // TILEWRIGHT_RECORD, with the process's number for %p; "": no record
  std::string library{};  // TILEWRIGHT_CBLAS: opened before the default libraries if no BLAS is loaded

  bool observes() const { return verbose > 0 || !record.empty(); }
};

const Settings& settings();

// Prints one sentence on stderr; a BLAS call has no other means to report.
void complain(const std::string& sentence);

}  // namespace tilewright::blas
