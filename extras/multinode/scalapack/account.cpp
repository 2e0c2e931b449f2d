// Keeps one account for each process: MPI's ranks are processes, and one factorization at a time is under
// way.
#include "scalapack/account.hpp"

#include <charconv>
#include <cstdlib>
#include <utility>

#include "core/host/fork_gate.hpp"
#include "core/host/tell.hpp"

namespace tilewright::scalapack {

Account& Account::account() {
  static constinit Once<Account> once;
  return once.get([] {
    std::atexit([] { account().say(); });
    return Account();
  });
}

std::string Account::text() const {
  if (factorizations_ == 0) return "";
  std::string all =
      std::to_string(factorizations_) + (factorizations_ == 1 ? " factorization:" : " factorizations:");
  const char* comma = "";
  for (std::size_t part = 0; part < part_names.size(); ++part) {
    if (seconds_[part] == 0) continue;
    char digits[32];  // with a decimal point, whatever the host's locale
    const auto end =
        std::to_chars(digits, digits + sizeof digits, seconds_[part], std::chars_format::general, 3).ptr;
    all += std::string(std::exchange(comma, ",")) + " " + part_names[part] + " " + std::string(digits, end) +
           " s";
  }
  return all;
}

void Account::say() const {
  const char* asked = ::secure_getenv("TILEWRIGHT_VERBOSE");
  if (const std::string all = text(); asked != nullptr && std::atoi(asked) > 0 && !all.empty())
    tell("tilewright: " + all + "\n");
}

}  // namespace tilewright::scalapack
