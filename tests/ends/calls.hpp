// Calls through every door, each with its right answer: what is asked of one call is asked of all.
#pragma once

#include <functional>
#include <string>
#include <vector>

struct NamedCall {
  std::string name;
  std::function<bool()> run;  // whether the answer is right
};
// All of one Context, or of the process's by BLAS names. Nothing of the library runs before a call does.
std::vector<NamedCall> all_calls();
