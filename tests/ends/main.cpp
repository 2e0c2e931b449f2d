// Starts one of the tests by name (ends.hpp).
#include <cstdio>
#include <cstdlib>
#include <string>

#include "ends.hpp"

int main(int count, char** arguments) {
  const auto argument = [&](int i) { return std::string(i < count ? arguments[i] : ""); };
  const std::string what = argument(1);
  if (what == "forks") return forks(argument(2), argument(3), std::atoi(argument(4).c_str()));
  if (what == "exits") return exits(argument(2), std::atoi(argument(3).c_str()));
  if (what == "cancels") return cancels();
  if (what == "stacks") return stacks();
  if (what == "promises") return promises(argument(2));
  std::fprintf(stderr, "'%s' is not a test (forks, exits, cancels, stacks or promises)\n", what.c_str());
  return 2;
}
