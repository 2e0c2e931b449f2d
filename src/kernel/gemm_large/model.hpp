// Measured properties of large GEMM on a device beyond the cost model: how cuBLAS adds up, which bounds the
// permitted rounding errors, and the configs that cost more than predicted. These are plain parameters,
// fitted elsewhere and stored as models in wisdom; the defaults, for an unknown device, change nothing.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "core/problem.hpp"
#include "device/gpu/gpu.hpp"

namespace tilewright {

// A rule that says for which products cuBLAS shares k among blocks or groups of warps; the first rule that
// holds decides. A rule holds if all its conditions do: operations ("nt", c being t), whether one of m, n and
// k is odd, bounds of k, of the root of C's elements (size) and of k over that root, and of the share that
// the most suitable of its tiles fills of its waves.
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

template <>
struct FieldList<CublasSumRule> {
  using R = CublasSumRule;
  static constexpr auto value = std::make_tuple(
      field("shares", &R::shares), field("parts", &R::parts), field("ops", &R::ops),
      field("parity", &R::parity), field("k_from", &R::k_from), field("size_from", &R::size_from),
      field("size_above", &R::size_above), field("size_to", &R::size_to), field("size_below", &R::size_below),
      field("relative_k_from", &R::relative_k_from), field("relative_k_to", &R::relative_k_to),
      field("relative_k_below", &R::relative_k_below), field("tiles", &R::tiles),
      field("filled_from", &R::filled_from), field("filled_below", &R::filled_below));
};

// The fewest terms of one sum that were seen if k is shared: the largest of k over `parts`, `least`, and
// `root` times the root of k. From k = 65536 on, parts grow with the power `growth` of k.
struct CublasFewestTerms {
  double parts = 1, least = 0, root = 0, growth = 0;
};

template <>
struct FieldList<CublasFewestTerms> {
  using F = CublasFewestTerms;
  static constexpr auto value = std::make_tuple(field("parts", &F::parts), field("least", &F::least),
                                                field("root", &F::root), field("growth", &F::growth));
};

// Fewest terms by the smaller side of C: to 64, to 128, to 512, where parts are those of a side of 256 and in
// inverse proportion to it, and beyond. To 128, C is oblong if the other side is 16 times as long and 1000 at
// least; huge ones have a size of 2048 or more.
struct CublasSums {
  std::vector<CublasSumRule> rules;  // none: nothing is known, and k is assumed not to be shared
  CublasFewestTerms to_64, to_128, oblong, to_512, large, huge;
};

// The fields of its table; the rules are a list of their own.
template <>
struct FieldList<CublasSums> {
  using S = CublasSums;
  static constexpr auto value =
      std::make_tuple(field("to_64", &S::to_64), field("to_128", &S::to_128), field("oblong", &S::oblong),
                      field("to_512", &S::to_512), field("large", &S::large), field("huge", &S::huge));
};

// Factors of configs that were seen to cost more than predicted, named after the features concerned. The
// operands' order is the kernel's: A's rows and B's run fastest, or both along k.
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

template <>
struct FieldList<GemmLargeCorrections> {
  using F = GemmLargeCorrections;
  static constexpr auto value = std::make_tuple(
      field("stream_k", &F::stream_k), field("persistent", &F::persistent), field("walking", &F::walking),
      field("cluster", &F::cluster), field("cluster_split_k", &F::cluster_split_k),
      field("narrow_copies", &F::narrow_copies), field("narrow_copies_ahead", &F::narrow_copies_ahead),
      field("wide_copies_mma", &F::wide_copies_mma), field("transposed_operand", &F::transposed_operand),
      field("tail_k_not_ahead", &F::tail_k_not_ahead), field("product_16x8x4", &F::product_16x8x4),
      field("shallow_turns_mma", &F::shallow_turns_mma), field("twelve_warps", &F::twelve_warps),
      field("ordered_sums_in_shared", &F::ordered_sums_in_shared), field("swizzle", &F::swizzle),
      field("swizzle_large", &F::swizzle_large), field("rows_large", &F::rows_large),
      field("rows_large_ordered", &F::rows_large_ordered),
      field("rows_large_ordered_deep", &F::rows_large_ordered_deep), field("k_large", &F::k_large),
      field("rows", &F::rows), field("other", &F::other));
};

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

// Builds the device from the models' coefficients that `find` returns by name and type, null if there are
// none. Throws Error naming the coefficient that is wrong.
using FindCoefficients = std::function<nlohmann::json(const std::string& model, DType dtype)>;
GemmLargeDevice gemm_large_device(const GpuLimits& limits, const FindCoefficients& find);

// Returns the terms of one sum whose errors are as large as cuBLAS's, as far as errors tell
// (docs/gemm_large.md, "Rounding"); 0 if it does not share k, so that its sums have k terms, or if nothing is
// known.
double cublas_terms(const GemmProblem& problem, const GemmLargeDevice& device);

}  // namespace tilewright
