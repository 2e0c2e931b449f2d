// Calls through every interface of the library, each with its right answer, so that each test covers all of
// them.
#pragma once

#include <functional>
#include <string>
#include <vector>

struct NamedCall {
  std::string name;
  std::function<bool()> run;  // returns true if the answer is right
};
// Returns the calls of one Context, or those of the process's Context by BLAS names. No code of the library
// runs before a call does.
std::vector<NamedCall> all_calls();
