// Reads the environment. An invalid value is reported once and replaced by the default: a program that does
// not know tilewright must not end for it.
#include "blas/settings.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include "core/env.hpp"
#include "core/host/fork_gate.hpp"
#include "core/host/tell.hpp"

namespace tilewright::blas {
namespace {

Mode mode_of(const std::string& text) {
  if (text.empty() || text == "auto") return Mode::automatic;
  if (text == "off") return Mode::off;
  if (text == "all") return Mode::all;
  complain(fmt::format("TILEWRIGHT_BLAS = '{}' is not one of off, auto, all; auto is used", text));
  return Mode::automatic;
}

int verbosity_of(const std::string& text) {
  if (text.empty()) return 0;
  if (text.size() == 1 && text[0] >= '0' && text[0] <= '3') return text[0] - '0';
  complain(fmt::format("TILEWRIGHT_VERBOSE = '{}' is not one of 0, 1, 2, 3; 0 is used", text));
  return 0;
}

Settings read_settings() {
  const Environment environment = Environment::read();
  return {mode_of(environment.blas), verbosity_of(environment.verbose), environment.record,
          environment.cblas};
}

}  // namespace

const Settings& settings() {
  static constinit Once<const Settings> once;
  return once.get(read_settings);
}

void complain(const std::string& sentence) { tell("tilewright: " + sentence + ".\n"); }

}  // namespace tilewright::blas
