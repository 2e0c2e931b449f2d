// Shared code of the programs of experiments: the exit code is 2 for wrong use and 1 for a failure, and the
// output begins with the command that repeats it.
#pragma once

#include <cstdio>
#include <exception>
#include <string>

#include "core/json.hpp"
#include "tilewright/types.hpp"

namespace tilewright::bench {

// Prints the first line of a recorded run.
inline void print_command(int count, char** arguments) {
  std::string command = arguments[0];
  command.erase(0, command.rfind('/') + 1);  // npos + 1 is 0
  for (int i = 1; i < count; ++i) command += std::string(" ") + arguments[i];
  std::printf("%s\n", nlohmann::json{{"command", command}}.dump().c_str());
}

template <class Run>
int run_program(const char* name, Run&& run) {
  try {
    return run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", name, error.what());
    const auto* known = dynamic_cast<const Error*>(&error);
    return known != nullptr && known->code() == ErrorCode::invalid_argument ? 2 : 1;
  }
}

// Runs a program without options: `usage` describes its arguments, of which there must be at least `least`.
template <class Run>
int run_program(const char* name, int argc, int least, const char* usage, Run&& run) {
  if (argc > least) return run_program(name, run);
  std::fprintf(stderr, "usage: %s %s\n", name, usage);
  return 2;
}

}  // namespace tilewright::bench
