// Measured properties of large GEMM on a device: how cuBLAS adds up, which bounds rounding errors, and
// configs that cost more than predicted. Fitted parameters come from wisdom; the defaults change nothing.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "core/problem.hpp"
#include "device/gpu/gpu.hpp"

namespace tilewright {

// A rule for products of which cuBLAS shares k among blocks or groups of warps; the first that holds decides.
// Its conditions: operations ("nt", c being t), parity of m, n and k, bounds of k, of the root of C's
// elements (size), of k over that root, and of the share that the best of its tiles fills of its waves.
struct CublasSumRule {
  bool shares = false;
  double parts = 0;  // the number of parts; 0: by the table of fewest terms
  std::vector<std::string> ops;
  std::string parity;  // "odd", "even"; "": either
  double k_from = 0;
  double size_from = 0, size_above = 0, size_to = 0, size_below = 0;  // 0: no bound
  double relative_k_from = 0, relative_k_to = 0, relative_k_below = 0;
  std::vector<std::array<double, 2>> tiles;  // m and n of each
  double filled_from = 0, filled_below = 0;
};

TILEWRIGHT_FIELDS(CublasSumRule, shares, parts, ops, parity, k_from, size_from, size_above, size_to,
                  size_below, relative_k_from, relative_k_to, relative_k_below, tiles, filled_from,
                  filled_below);

// The fewest terms of a sum seen with shared k: the largest of k / `parts`, `least`, and `root` * sqrt(k).
// From k = 65536 on, parts grow with k to the power `growth`.
struct CublasFewestTerms {
  double parts = 1, least = 0, root = 0, growth = 0;
};

TILEWRIGHT_FIELDS(CublasFewestTerms, parts, least, root, growth);

// Fewest terms by the smaller side of C: to 64, to 128, to 512 (parts for a side of 256, in inverse
// proportion), and beyond. To 128, C is oblong if the other side is 16 times as long and at least 1000; huge
// sizes are 2048 or more.
struct CublasSums {
  std::vector<CublasSumRule> rules;  // none: nothing is known, and k is assumed not to be shared
  CublasFewestTerms to_64, to_128, oblong, to_512, large, huge;
};

// The fields of its table; the rules are a list of their own.
TILEWRIGHT_FIELDS(CublasSums, to_64, to_128, oblong, to_512, large, huge);

// Factors of configs that cost more than predicted, named by their features. The order of operands is the
// kernel's: A's rows and B's run fastest, or both along k.
struct GemmLargeCorrections {
  double stream_k = 1, persistent = 1, walking = 1, cluster = 1, cluster_split_k = 1;
  double narrow_copies = 1, narrow_copies_ahead = 1;  // by threads, under 16 bytes; to tensor products
  double wide_copies_mma = 1, transposed_operand = 1;
  double tail_k_not_ahead = 1, product_16x8x4 = 1, shallow_turns_mma = 1, twelve_warps = 1;
  double ordered_sums_in_shared = 1;
  double swizzle = 1, swizzle_large = 1;  // of multiply-adds, if a thread has 64 sums or more
  double rows_large = 1, rows_large_ordered = 1, rows_large_ordered_deep = 1, k_large = 1, rows = 1,
         other = 1;
};

TILEWRIGHT_FIELDS(GemmLargeCorrections, stream_k, persistent, walking, cluster, cluster_split_k,
                  narrow_copies, narrow_copies_ahead, wide_copies_mma, transposed_operand, tail_k_not_ahead,
                  product_16x8x4, shallow_turns_mma, twelve_warps, ordered_sums_in_shared, swizzle,
                  swizzle_large, rows_large, rows_large_ordered, rows_large_ordered_deep, k_large, rows,
                  other);

// A device with its models of each type; made from limits alone, it has the defaults.
struct GemmLargeDevice : GpuLimits {
  struct Known {
    CublasSums sums;
    GemmLargeCorrections corrections;
  };
  std::array<Known, 4> known{};

  GemmLargeDevice() = default;
  GemmLargeDevice(const GpuLimits& limits) : GpuLimits(limits) {}
  const Known& of(DType dtype) const { return known[std::size_t(dtype)]; }
};

// Builds the device from coefficients found by model and type (null: none). Throws Error naming a wrong one.
using FindCoefficients = std::function<nlohmann::json(const std::string& model, DType dtype)>;
GemmLargeDevice gemm_large_device(const GpuLimits& limits, const FindCoefficients& find);

// Returns the terms of a sum that errs as cuBLAS does (docs/gemm_large.md); 0 if unknown or k is unshared.
double cublas_terms(const GemmProblem& problem, const GemmLargeDevice& device);

}  // namespace tilewright
