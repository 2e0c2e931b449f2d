// Shared by the libFuzzer targets. Each target is one file that defines how to process an input, and a few
// valid inputs; main.cpp makes a program of it.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "tilewright/types.hpp"

namespace tilewright::fuzz {

// Processes the input as the project processes texts of users and files. It may throw Error, and nothing
// else; an accepted input must satisfy the target's assertions.
void one_input(const std::string& input);

std::vector<std::string> seeds();

inline void require(bool holds, const char* promise) {
  if (holds) return;
  std::fprintf(stderr, "a promise is broken: %s\n", promise);
  std::abort();
}

// Returns the path of a file that holds the input; the next call overwrites it.
std::string file_of(std::string_view input);

}  // namespace tilewright::fuzz
