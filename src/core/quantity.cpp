// Accepts the documented forms only.
#include "core/quantity.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "core/input/checked.hpp"

namespace tilewright {
namespace {

constexpr int most_gpus = 1024;

std::optional<int> gpu_number(const std::string& text) {
  int value = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || at != end || value < 0 || value > most_gpus) return std::nullopt;
  return value;
}

}  // namespace

std::optional<std::int64_t> integer_from_text(std::string_view text) {
  const char* const end = text.data() + text.size();
  std::int64_t whole = 0;
  if (const auto [at, error] = std::from_chars(text.data(), end, whole); error == std::errc() && at == end)
    return whole;
  double real = 0;
  const auto [at, error] = std::from_chars(text.data(), end, real);
  return error == std::errc() && at == end ? integer_of(real) : std::nullopt;
}

std::optional<std::int64_t> bytes_from_text(const std::string& text) {
  constexpr double kibi = 1024;
  constexpr std::array<std::pair<const char*, double>, 7> units{{{"", 1},
                                                                 {"B", 1},
                                                                 {"KiB", kibi},
                                                                 {"MiB", kibi * kibi},
                                                                 {"GiB", kibi * kibi * kibi},
                                                                 {"MB", 1e6},
                                                                 {"GB", 1e9}}};
  double value = 0;  // with a decimal point, whatever the host's locale
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  if (error != std::errc()) return std::nullopt;
  for (const auto& [name, factor] : units)
    if (std::string(end, last) == name && value * factor >= 1 && value * factor < 1e18)
      return static_cast<std::int64_t>(std::llround(value * factor));
  return std::nullopt;
}

std::optional<std::vector<int>> gpus_from_text(const std::string& text) {
  std::vector<int> gpus;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    const auto number = gpu_number(text.substr(begin, comma - begin));
    if (!number || std::find(gpus.begin(), gpus.end(), *number) != gpus.end()) return std::nullopt;
    gpus.push_back(*number);
    begin = comma + 1;
  }
  if (gpus.empty()) return std::nullopt;
  if (text.find(',') != std::string::npos) return gpus;
  const int count = gpus.front();
  if (count == 0) return std::nullopt;
  gpus.clear();
  for (int i = 0; i < count; ++i) gpus.push_back(i);
  return gpus;
}

}  // namespace tilewright
