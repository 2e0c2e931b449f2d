// Reads lists from the command line.
#include "lists.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "core/objective.hpp"
#include "core/quantity.hpp"
#include "people/refusal.hpp"
#include "plan/offer.hpp"
#include "verbs.hpp"

namespace tilewright::cli {
namespace {

// Parses a share: 0.25 or 25%.
double parse_share(const std::string& text) {
  const bool percent = text.ends_with('%');
  const std::string number = percent ? text.substr(0, text.size() - 1) : text;
  char* end = nullptr;
  const double value = std::strtod(number.c_str(), &end);
  if (number.empty() || *end != '\0')
    refuse_value("--split", text,
                 "is not one of model, guided, exhaustive, or a share of the CPU such as 0.25 or 25%");
  const double share = percent ? value / 100 : value;
  if (!(share >= 0 && share <= 1)) refuse_value("--split", text, "is not between 0 and 1");
  return share;
}

}  // namespace

double parse_number(const std::string& flag, const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range && std::isinf(std::strtod(text.c_str(), nullptr)))
    refuse_value(flag, text, "is out of range");
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
    refuse_value(flag, text, "is not a number");
  return value;
}

void refuse_out_of_range(const std::string& flag, double value, DType dtype) {
  const bool is_single = dtype == DType::f32 || dtype == DType::c64;
  if (is_single && std::isfinite(value) && std::abs(value) > double(std::numeric_limits<float>::max()))
    refuse_value(flag, fmt::format("{}", value), fmt::format("is out of range of {}", to_string(dtype)));
}

// Whole numbers may be written 1e6.
std::int64_t parse_count(const std::string& flag, const std::string& text, std::int64_t least) {
  const double value = parse_number(flag, text);
  if (value != std::floor(value)) refuse_value(flag, text, "is not a whole number");
  if (std::abs(value) > 9e15) refuse_value(flag, text, "is too large");
  if (value < double(least)) refuse_value(flag, text, fmt::format("must be at least {}", least));
  return static_cast<std::int64_t>(value);
}

int parse_int(const std::string& flag, const std::string& text, int least) {
  const std::int64_t value = parse_count(flag, text, least);
  if (value > std::numeric_limits<int>::max()) refuse_value(flag, text, "is too large");
  return static_cast<int>(value);
}

CLI::Validator whole_number(std::int64_t least, std::int64_t most) {
  const auto check = [=](const std::string& text) -> std::string {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc() && end == text.data() + text.size() && value >= least && value <= most)
      return "";
    const bool unbounded = most == std::numeric_limits<std::int64_t>::max();
    return fmt::format(
        "= '{}' is not a whole number {}", text,
        unbounded ? fmt::format("of at least {}", least) : fmt::format("from {} to {}", least, most));
  };
  return CLI::Validator(check, "");
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
    if (parts.size() > 3) refuse_value(flag, item, "is not a range (expected first:last or first:last:step)");
    const std::int64_t first = parse_count(flag, parts[0], least);
    const std::int64_t last = parts.size() > 1 ? parse_count(flag, parts[1], least) : first;
    const std::int64_t step =
        parts.size() > 2 ? parse_count(flag, parts[2], std::numeric_limits<std::int64_t>::min()) : 1;
    if (step < 1) refuse_value(flag, item, "has a step below 1");
    if (last < first) refuse_value(flag, item, "is an empty range");
    if ((last - first) / step > 1000000) refuse_value(flag, item, "has more than a million values");
    for (std::int64_t value = first; value <= last; value += step) values.push_back(value);
  }
  return values;
}

std::vector<Size> parse_sizes(const std::string& flag, const std::string& text, int edges) {
  std::vector<Size> sizes;
  for (const std::string& item : split(text, ',')) {
    if (item.find('x') == std::string::npos) {
      for (const std::int64_t n : parse_counts(flag, item, 1))
        sizes.push_back(edges == 1 ? Size{n, 1, 1} : Size{n, n, n});
      continue;
    }
    const std::vector<std::string> parts = split(item, 'x');
    if (edges == 1) refuse_value(flag, item, "is not one number");
    if (parts.size() != std::size_t(edges))
      refuse_value(flag, item,
                   fmt::format("is not a size (expected n, first:last, first:last:step or {})",
                               edges == 3 ? "MxNxK" : "MxN"));
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
    if (item.size() != 2 || item.find_first_not_of("ntc") != std::string::npos)
      refuse_value(flag, item, "is not a pair of ops (expected two of n, t, c, as in nt)");
    pairs.push_back(
        {enum_from_string<Op>(item.substr(0, 1), flag), enum_from_string<Op>(item.substr(1, 1), flag)});
  }
  return pairs;
}

std::string candidate_named(const std::string& text) { return std::string(current_candidate(text)); }

void set_objective(const std::string& flag, const std::string& text, GemmOptions& options) {
  const TuneObjective objective = TuneObjective::parse(text, flag);
  options.objective = objective.goal();
  options.objective_weight = objective.number();
}

std::vector<int> parse_gpus(const std::string& text) {
  if (const auto gpus = gpus_from_text(text)) return *gpus;
  refuse_value("--gpus", text, "is not a number of GPUs, or a list of them such as 0,2");
}

std::int64_t parse_bytes(const std::string& flag, const std::string& text) {
  if (const auto bytes = bytes_from_text(text)) return *bytes;
  refuse_value(flag, text, "is not a number of bytes such as 8GiB, 500MiB or 8e9");
}

void add_learn_flag(CLI::App& verb, std::string& text) {
  verb.add_option(
      "--learn", text,
      "calls: the plan tries its best configs in the calls and keeps the fastest; off (default: as "
      "TILEWRIGHT_LEARN says, else off)");
}

void add_hybrid_flags(CLI::App& verb, HybridFlags& flags) {
  verb.add_option(
      "--gpus", flags.gpus,
      "GPUs for data in files or host memory: a number of GPUs, or a list of them: 0,2 (default: all)");
  verb.add_option("--gpu-memory", flags.gpu_memory,
                  "most memory of each GPU: 8GiB, 500MiB (default: what is free)");
  verb.add_option("--split", flags.split,
                  "share of the CPU: model, guided, exhaustive, or 0.25 or 25% of C (default model)");
  verb.add_option("--on-device-failure", flags.on_device_failure,
                  "error, or redo: the CPU computes the rest of a GPU that fails (default error)");
}

void set_hybrid(const HybridFlags& flags, GemmOptions& options) {
  if (!flags.gpus.empty()) options.gpus = parse_gpus(flags.gpus);
  if (!flags.gpu_memory.empty()) options.gpu_memory_bytes = parse_bytes("--gpu-memory", flags.gpu_memory);
  options.on_device_failure =
      enum_from_string<OnDeviceFailure>(flags.on_device_failure, "--on-device-failure");
  if (flags.split == "model" || flags.split == "guided" || flags.split == "exhaustive") {
    options.split = enum_from_string<SplitRule>(flags.split, "--split");
    return;
  }
  options.cpu_share = parse_share(flags.split);
  options.split = SplitRule::fixed;
}

}  // namespace tilewright::cli
