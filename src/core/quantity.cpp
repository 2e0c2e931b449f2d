// Accepts the documented forms only. Reports have three digits and no exponents.
#include "core/quantity.hpp"

#include <fmt/format.h>

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

// Returns three digits of the value in the largest unit that it reaches; the units rise by `step`.
std::string scaled_text(double value, double step, std::initializer_list<const char*> units) {
  constexpr double next_digit = 999.5;  // what rounds to a fourth digit
  std::string unit = *units.begin();
  for (const char* one : units) {
    unit = one;
    if (std::abs(value) < std::min(next_digit, step) || one == *(units.end() - 1)) break;
    value /= step;
  }
  const std::string digits =
      std::abs(value) < next_digit ? fmt::format("{:.3g}", value) : fmt::format("{:.0f}", value);
  return fmt::format("{} {}", digits, unit);
}

}  // namespace

std::string seconds_text(double seconds) {
  constexpr double readable = 1e6;  // more may be too many nanoseconds
  return seconds < readable ? scaled_text(seconds * 1e9, 1000, {"ns", "us", "ms", "s"})
                            : fmt::format("{:.4g} s", seconds);
}
std::string bytes_text(double bytes) {
  return scaled_text(bytes, 1024, {"bytes", "KiB", "MiB", "GiB", "TiB"});
}
std::string flops_text(double flops) {
  return scaled_text(flops, 1000, {"FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP"});
}
std::string counted(std::int64_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string digits_text(double value, int digits) {
  const double largest = std::pow(10.0, digits) - 0.5;  // above it, {:g} would write 1e+04
  return std::fabs(value) < largest ? fmt::format("{:.{}g}", value, digits) : fmt::format("{:.0f}", value);
}

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
