// Lists as typed on the command line: ranges `2:32` and `2:32:2`, comma-separated items, sizes `n` and
// `5x13x23`, counts like `1e6`, and lists of named values. Every error names the flag and the item.
#pragma once

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
// "2:4,5x13x23" -> squares and rectangles; for two edges "5x13", k is the smaller one.
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

// Returns the implementation that --candidate names: "stencil" is tilewright's for large matrices, which
// plans call gemm.
std::string candidate_named(const std::string& text);

struct OpPair {
  Op a = Op::none;
  Op b = Op::none;
};
// "nn,tc" -> pairs.
std::vector<OpPair> parse_ops(const std::string& flag, const std::string& text);

}  // namespace tilewright::cli
