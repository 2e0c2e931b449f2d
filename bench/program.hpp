// What the programs of experiments share: their process's code is 2 for wrong use and 1 where they failed.
#pragma once

#include <cstdio>
#include <exception>

#include "tilewright/types.hpp"

namespace tilewright::bench {

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

// Of a program without options: `usage` says its arguments, of which there are at least `least`.
template <class Run>
int run_program(const char* name, int argc, int least, const char* usage, Run&& run) {
  if (argc > least) return run_program(name, run);
  std::fprintf(stderr, "usage: %s %s\n", name, usage);
  return 2;
}

}  // namespace tilewright::bench
