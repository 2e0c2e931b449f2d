// Reads lists from the command line.
#include "lists.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "core/objective.hpp"

namespace tilewright::cli {
namespace {

[[noreturn]] void refuse(const std::string& flag, const std::string& item, const std::string& what) {
  throw Error(ErrorCode::invalid_argument, flag, fmt::format("{} = '{}': {}", flag, item, what));
}

}  // namespace

double parse_number(const std::string& flag, const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range && std::isinf(std::strtod(text.c_str(), nullptr)))
    refuse(flag, text, "out of range");
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
    refuse(flag, text, "not a number");
  return value;
}

void refuse_out_of_range(const std::string& flag, double value, DType dtype) {
  const bool is_single = dtype == DType::f32 || dtype == DType::c64;
  if (is_single && std::isfinite(value) && std::abs(value) > double(std::numeric_limits<float>::max()))
    refuse(flag, fmt::format("{}", value), fmt::format("out of range of {}", to_string(dtype)));
}

// Whole numbers may be written 1e6.
std::int64_t parse_count(const std::string& flag, const std::string& text, std::int64_t least) {
  const double value = parse_number(flag, text);
  if (value != std::floor(value)) refuse(flag, text, "not a whole number");
  if (std::abs(value) > 9e15) refuse(flag, text, "too large");
  if (value < double(least)) refuse(flag, text, fmt::format("must be at least {}", least));
  return static_cast<std::int64_t>(value);
}

int parse_int(const std::string& flag, const std::string& text, int least) {
  const std::int64_t value = parse_count(flag, text, least);
  if (value > std::numeric_limits<int>::max()) refuse(flag, text, "too large");
  return static_cast<int>(value);
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> items;
  std::size_t begin = 0;
  for (;;) {
    const std::size_t end = text.find(separator, begin);
    items.push_back(text.substr(begin, end - begin));
    if (end == std::string::npos) return items;
    begin = end + 1;
  }
}

std::vector<std::int64_t> parse_counts(const std::string& flag, const std::string& text, std::int64_t least) {
  std::vector<std::int64_t> values;
  for (const std::string& item : split(text, ',')) {
    const std::vector<std::string> parts = split(item, ':');
    if (parts.size() > 3) refuse(flag, item, "a range is first:last or first:last:step");
    const std::int64_t first = parse_count(flag, parts[0], least);
    const std::int64_t last = parts.size() > 1 ? parse_count(flag, parts[1], least) : first;
    const std::int64_t step = parts.size() > 2 ? parse_count(flag, parts[2], 1) : 1;
    if (last < first) refuse(flag, item, "the range is empty");
    if ((last - first) / step > 1000000) refuse(flag, item, "more than a million values");
    for (std::int64_t value = first; value <= last; value += step) values.push_back(value);
  }
  return values;
}

std::vector<Size> parse_sizes(const std::string& flag, const std::string& text, int edges) {
  std::vector<Size> sizes;
  for (const std::string& item : split(text, ',')) {
    if (item.find('x') == std::string::npos) {
      for (const std::int64_t n : parse_counts(flag, item, 1)) sizes.push_back({n, n, n});
      continue;
    }
    const std::vector<std::string> parts = split(item, 'x');
    if (parts.size() != std::size_t(edges))
      refuse(flag, item, fmt::format("a rectangular size is written {}", edges == 3 ? "MxNxK" : "MxN"));
    Size size{parse_count(flag, parts[0], 1), parse_count(flag, parts[1], 1), 0};
    size.k = edges == 3 ? parse_count(flag, parts[2], 1) : std::min(size.m, size.n);
    sizes.push_back(size);
  }
  return sizes;
}

std::vector<double> parse_numbers(const std::string& flag, const std::string& text) {
  std::vector<double> values;
  for (const std::string& item : split(text, ',')) values.push_back(parse_number(flag, item));
  return values;
}

std::vector<OpPair> parse_ops(const std::string& flag, const std::string& text) {
  std::vector<OpPair> pairs;
  for (const std::string& item : split(text, ',')) {
    if (item.size() != 2) refuse(flag, item, "two letters of n, t, c are wanted, such as nt");
    pairs.push_back(
        {enum_from_string<Op>(item.substr(0, 1), flag), enum_from_string<Op>(item.substr(1, 1), flag)});
  }
  return pairs;
}

std::string candidate_named(const std::string& text) { return text == "stencil" ? "gemm" : text; }

void set_objective(const std::string& flag, const std::string& text, GemmOptions& options) {
  const TuneObjective objective = TuneObjective::parse(text, flag);
  options.objective = objective.goal();
  options.objective_weight = objective.number();
}

}  // namespace tilewright::cli
