// What the libFuzzer targets share. Each target is one file that says what to do with an input, and what a
// few good ones are; main.cpp makes a program of it.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "tilewright/types.hpp"

namespace tilewright::fuzz {

// Does with the input what the project does with what a user or a file says. It may throw Error, and nothing
// else; what is accepted must hold the promises that the target requires.
void one_input(const std::string& input);

std::vector<std::string> seeds();

inline void require(bool holds, const char* promise) {
  if (holds) return;
  std::fprintf(stderr, "a promise is broken: %s\n", promise);
  std::abort();
}

// The path of a file that holds the input; the next call overwrites it.
std::string file_of(std::string_view input);

}  // namespace tilewright::fuzz
