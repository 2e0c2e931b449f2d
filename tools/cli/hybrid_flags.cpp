// Parses the flags.
#include "hybrid_flags.hpp"

#include <cmath>
#include <cstdlib>

#include "core/quantity.hpp"
#include "lists.hpp"

namespace tilewright::cli {

namespace {

[[noreturn]] void refuse_value(const std::string& flag, const std::string& value, const std::string& why) {
  throw Error(ErrorCode::invalid_argument, flag, fmt::format("{} = '{}' {}", flag, value, why));
}

// Parses a share: 0.25 or 25%.
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
  if (const auto gpus = gpus_from_text(text)) return *gpus;
  refuse_value("--gpus", text, "is neither a number of GPUs nor a list of them such as 0,2");
}

std::int64_t parse_bytes(const std::string& flag, const std::string& text) {
  if (const auto bytes = bytes_from_text(text)) return *bytes;
  refuse_value(flag, text, "is no number of bytes such as 8GiB, 500MiB or 8e9");
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
