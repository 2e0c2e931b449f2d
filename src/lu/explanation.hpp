// What was found out about who factors a problem: kept by plans, told by explain.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>
#include <vector>

#include "lu/tuned.hpp"

namespace tilewright {

struct LuExplanation {
  struct Said {
    std::string candidate;
    std::string reason;  // why it declines; "" where it serves
    std::string does;    // with the problem, where it serves
  };

  std::string problem;
  std::optional<TunedLu> tuned;       // the record that decided
  bool is_nothing = false;            // there is nothing to factor
  std::vector<Said> said;             // in the order of the list, up to the first that serves
  std::optional<double> predicted_s;  // of who serves, where models say it; in host memory of pinned operands

  // Who serves; "" where nobody does.
  std::string candidate() const {
    return said.empty() || !said.back().reason.empty() ? "" : said.back().candidate;
  }
  // A line for each of them.
  std::string text() const;
};

inline std::string LuExplanation::text() const {
  std::string text = problem + "\n";
  if (tuned) text += "  " + tuned->text() + "\n";
  if (is_nothing) text += "  nothing to factor\n";
  for (const Said& one : said)
    text += one.reason.empty() ? fmt::format("  {}: taken; {}\n", one.candidate, one.does)
                               : fmt::format("  {}: not taken; {}\n", one.candidate, one.reason);
  return text;
}

}  // namespace tilewright
