// Reads the values, and breaks lines for people.
#include "info_environment.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <sstream>

#include "core/env.hpp"

namespace tilewright::cli {
namespace {

constexpr std::size_t line_length = 100;

std::string indented(const std::string& text) {
  std::string all, line = "   ";
  std::istringstream words(text);
  for (std::string word; words >> word; line += ' ' + word)
    if (line.size() + 1 + word.size() > line_length) all += line + '\n', line = "   ";
  return all + line + '\n';
}

}  // namespace

nlohmann::json environment_json() {
  nlohmann::json all = nlohmann::json::array();
  for (const EnvironmentVariable& one : environment_variables()) {
    const char* value = ::secure_getenv(one.name);
    all.push_back({{"name", one.name},
                   {"value", value == nullptr ? nlohmann::json() : nlohmann::json(value)},
                   {"default", one.fallback},
                   {"meaning", one.meaning}});
  }
  return {{"environment", all}};
}

void print_environment(std::FILE* out, const nlohmann::json& environment) {
  for (const auto& one : environment.at("environment")) {
    const auto fallback = one["default"].get<std::string>();
    const std::string value =
        one["value"].is_null() ? "not set" : fmt::format("'{}'", one["value"].get<std::string>());
    fmt::print(out, "{}: {} (default: {})\n{}", one["name"].get<std::string>(), value,
               fallback.empty() ? "empty" : fallback, indented(one["meaning"].get<std::string>()));
  }
  fmt::print(out,
             "Programs with more rights than their caller (set-user-ID) read none of them; OpenMP's runtime\n"
             "reads its own.\n");
}

}  // namespace tilewright::cli
