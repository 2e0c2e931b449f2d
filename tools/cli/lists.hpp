// Lists as typed on the command line: ranges `2:32` and `2:32:2`, comma-separated items, sizes `n` and
// `5x13x23`, counts like `1e6`, and lists of named values; and the flags of products of host operands on
// GPUs. Every error names the flag and the item.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/fields.hpp"
#include "tilewright/gemm.hpp"

namespace tilewright::cli {

struct Size {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
};

std::vector<std::string> split(const std::string& text, char separator);

// "2:8,16" -> 2 3 4 5 6 7 8 16. Values below `least` are refused.
std::vector<std::int64_t> parse_counts(const std::string& flag, const std::string& text, std::int64_t least);
// "2:4,5x13x23" -> squares and rectangles; for two edges "5x13", k is the smaller one;
// for one edge "5", n and k are 1.
std::vector<Size> parse_sizes(const std::string& flag, const std::string& text, int edges = 3);
std::vector<double> parse_numbers(const std::string& flag, const std::string& text);
// Flags that take one value refuse lists.
std::int64_t parse_count(const std::string& flag, const std::string& text, std::int64_t least);
int parse_int(const std::string& flag, const std::string& text, int least);
double parse_number(const std::string& flag, const std::string& text);
// Refuses a finite value that overflows the type: 1e300 in f32.
void refuse_out_of_range(const std::string& flag, double value, DType dtype);

template <class E>
std::vector<E> parse_names(const std::string& flag, const std::string& text) {
  std::vector<E> values;
  for (const std::string& item : split(text, ',')) values.push_back(enum_from_string<E>(item, flag));
  return values;
}

// Sets the objective of a call: time, energy, edp, alpha=W with a weight from 0 to 1, or energy_within=5%.
void set_objective(const std::string& flag, const std::string& text, GemmOptions& options);

// Returns the name of the candidate that --candidate means, which may be a name of version 0.1.
std::string candidate_named(const std::string& text);

struct OpPair {
  Op a = Op::none;
  Op b = Op::none;
};
// "nn,tc" -> pairs.
std::vector<OpPair> parse_ops(const std::string& flag, const std::string& text);

// The flags of products of host operands on GPUs, which gemm, explain and bench hybrid share: the GPUs, their
// memory limit, the choice of the CPU's share, and the handling of a GPU that fails.
struct HybridFlags {
  std::string gpus, gpu_memory, split = "model", on_device_failure = "error";
};

void add_hybrid_flags(CLI::App& verb, HybridFlags& flags);
// Throws Error(invalid_argument) naming the flag and its value.
void set_hybrid(const HybridFlags& flags, GemmOptions& options);

// Adds --learn, by which plans learn from the calls that the verb makes.
void add_learn_flag(CLI::App& verb, std::string& text);

// "2" means the first two, "0,2" GPUs 0 and 2, "1," the second alone.
std::vector<int> parse_gpus(const std::string& text);
// Parses "8GiB", "500MiB", "8e9".
std::int64_t parse_bytes(const std::string& flag, const std::string& text);

}  // namespace tilewright::cli
