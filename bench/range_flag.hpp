// Ranges of flags of the developers' programs.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <string>

namespace tilewright::bench {

// A number from `least` to `most`; CLI::Range lets "nan" pass.
inline CLI::Validator from_to(double least, double most) {
  const auto check = [=](const std::string& text) {
    double value = 0;
    const bool good = CLI::detail::lexical_cast(text, value) && value >= least && value <= most;
    return good ? std::string() : fmt::format("{} is no number from {} to {}", text, least, most);
  };
  return CLI::Validator(check, "");
}

}  // namespace tilewright::bench
