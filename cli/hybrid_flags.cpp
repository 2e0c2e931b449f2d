// Parses them.
#include "hybrid_flags.hpp"

#include <cmath>
#include <cstdlib>

#include "lists.hpp"

namespace tilewright::cli {

namespace {

[[noreturn]] void refuse_value(const std::string& flag, const std::string& value, const std::string& why) {
  throw Error(ErrorCode::invalid_argument, flag, fmt::format("{} = '{}' {}", flag, value, why));
}

// A share: 0.25 or 25%.
double parse_share(const std::string& text) {
  const bool percent = text.ends_with('%');
  const std::string number = percent ? text.substr(0, text.size() - 1) : text;
  char* end = nullptr;
  const double value = std::strtod(number.c_str(), &end);
  if (number.empty() || *end != '\0')
    refuse_value("--split", text,
                 "is not model, guided, exhaustive or a share of the CPU's such as 0.25 or 25%");
  const double share = percent ? value / 100 : value;
  if (!(share >= 0 && share <= 1)) refuse_value("--split", text, "is not between 0 and 1");
  return share;
}

}  // namespace

std::vector<int> parse_gpus(const std::string& text) {
  const bool is_list = text.find(',') != std::string::npos;
  const std::string list = text.ends_with(',') ? text.substr(0, text.size() - 1) : text;
  std::vector<int> gpus;
  for (const std::int64_t value : parse_counts("--gpus", list, is_list ? 0 : 1)) {
    if (value > 1024) refuse_value("--gpus", text, "names more GPUs than a machine has");
    gpus.push_back(static_cast<int>(value));
  }
  if (is_list || gpus.size() != 1) return gpus;
  const int count = gpus.front();
  gpus.clear();
  for (int i = 0; i < count; ++i) gpus.push_back(i);
  return gpus;
}

std::int64_t parse_bytes(const std::string& flag, const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  const std::string unit = end;
  const double factor = unit.empty() || unit == "B" ? 1
                        : unit == "KiB"             ? 1024.0
                        : unit == "MiB"             ? 1024.0 * 1024
                        : unit == "GiB"             ? 1024.0 * 1024 * 1024
                        : unit == "MB"              ? 1e6
                        : unit == "GB"              ? 1e9
                                                    : 0;
  const double bytes = value * factor;
  if (end == text.c_str() || factor == 0 || !(bytes >= 1 && bytes < 1e18))
    refuse_value(flag, text, "is no number of bytes such as 8GiB, 500MiB or 8e9");
  return static_cast<std::int64_t>(std::llround(bytes));
}

void add_hybrid_flags(CLI::App& verb, HybridFlags& flags) {
  verb.add_option("--gpus", flags.gpus,
                  "of data in files or host memory: how many GPUs may be used, or which: 0,2 (default: all)");
  verb.add_option("--gpu-memory", flags.gpu_memory,
                  "of each GPU, at most: 8GiB, 500MiB (default: what is free)");
  verb.add_option("--split", flags.split,
                  "the CPU's share: model, guided, exhaustive, or 0.25 or 25% of C (default model)");
  verb.add_option("--on-device-failure", flags.on_device_failure,
                  "error, or redo: the CPU computes what a GPU that fails has not (default error)");
}

void set_hybrid(const HybridFlags& flags, GemmOptions& options) {
  if (!flags.gpus.empty()) options.gpus = parse_gpus(flags.gpus);
  if (!flags.gpu_memory.empty()) options.gpu_memory_bytes = parse_bytes("--gpu-memory", flags.gpu_memory);
  options.on_device_failure =
      enum_from_string<OnDeviceFailure>(flags.on_device_failure, "--on-device-failure");
  if (flags.split == "model" || flags.split == "guided" || flags.split == "exhaustive") {
    options.split = enum_from_string<SplitWay>(flags.split, "--split");
    return;
  }
  options.cpu_share = parse_share(flags.split);
  options.split = SplitWay::fixed;
}

}  // namespace tilewright::cli
