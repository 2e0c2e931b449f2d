// One account for each process: MPI's ranks are processes, and one factorization at a time is under way.
#include "scalapack/account.hpp"

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace tilewright::scalapack {

Account& Account::account() {
  static Account one;
  return one;
}

std::string Account::text() const {
  if (factorizations_ == 0) return "";
  std::string all =
      std::to_string(factorizations_) + (factorizations_ == 1 ? " factorization:" : " factorizations:");
  const char* comma = "";
  for (std::size_t part = 0; part < part_names.size(); ++part) {
    if (seconds_[part] == 0) continue;
    char one[64];
    std::snprintf(one, sizeof one, "%s %s %.3g s", std::exchange(comma, ","), part_names[part],
                  seconds_[part]);
    all += one;
  }
  return all;
}

Account::~Account() {
  const char* asked = std::getenv("TILEWRIGHT_VERBOSE");
  if (const std::string all = text(); asked != nullptr && std::atoi(asked) > 0 && !all.empty())
    std::fprintf(stderr, "tilewright: %s\n", all.c_str());
}

}  // namespace tilewright::scalapack
