// The flags of products of host operands on GPUs, which gemm, explain and bench hybrid share: the GPUs, their
// memory limit, the choice of the CPU's share, and the handling of a GPU that fails.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "tilewright/gemm.hpp"

namespace tilewright::cli {

struct HybridFlags {
  std::string gpus, gpu_memory, split = "model", on_device_failure = "error";
};

void add_hybrid_flags(CLI::App& verb, HybridFlags& flags);
// Throws Error(invalid_argument) naming the flag and its value.
void set_hybrid(const HybridFlags& flags, GemmOptions& options);

// "2" means the first two, "0,2" GPUs 0 and 2, "1," the second alone.
std::vector<int> parse_gpus(const std::string& text);
// Parses "8GiB", "500MiB", "8e9".
std::int64_t parse_bytes(const std::string& flag, const std::string& text);

}  // namespace tilewright::cli
