// Forecasts the times of cuBLAS and of the default config of large GEMM for a problem far from all records of
// wisdom, each with its error, and says which to take. The coefficients are data: a fitted model per type,
// which bench_gemm_large_forecast fits to measurements. Nothing here queries the device.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernel/gemm_large/gemm_large.hpp"

namespace tilewright {

// Coefficients of the model of cuBLAS. Its kernels are unknown: it is assumed to choose, among typical tiles
// and parts of k, the one that it expects to be the fastest.
struct CublasCoefficients {
  double host_us = 0, host_split_us = 0;  // time between calls, and of a second kernel that adds parts of k
  double launch_us = 0;
  double idle_share = 0;  // lost share of the last wave's idle time: others use the power meanwhile
  double store_share = 0;
  double split_us = 0, split_bytes_per_us = 0, believed_split = 0;
  double memory_share = 0, held_bytes_per_us = 0, load_bytes_per_cycle = 0, overlap_loss = 0;
  double unaligned_a = 0, unaligned_b = 0, unaligned_c = 0, unaligned_memory = 0;
  double half_aligned_a = 0, half_aligned_b = 0;  // columns at multiples of 16 bytes, but not of 32
  double trans_a = 0, trans_b = 0, trans_both = 0;
  double efficiency_32x32 = 0, efficiency_64x32 = 0, efficiency_32x64 = 0, efficiency_64x64 = 0,
         efficiency_128x64 = 0, efficiency_64x128 = 0, efficiency_128x128 = 0, efficiency_256x128 = 0,
         efficiency_128x256 = 0;
};

// Coefficients of the default config, beside the cycles of gemm_large_cost.
struct OwnCoefficients {
  double launch_us = 0, clock_mhz = 0, fixed_share = 0, turn_us = 0;
  double memory_share = 0, held_bytes_per_us = 0, overlap_loss = 0;
  double unaligned_store = 0;            // of C, in times of writing it once
  double read_c = 0;                     // likewise, of adding to it: tiles of C are read last
  double copy_us = 0, transpose_us = 0;  // of operands that are copied first
  double grouped = 0, by_turns = 0, walks = 0, by_threads = 0;  // logarithms of factors
};

// The forecast's terms of a config: cycles by unit, and flags of features that cost more than these.
struct OwnTerms {
  double multiply = 0, issue = 0, shared = 0, l2 = 0, fixed = 0;
  double turns = 0;       // consecutive k tiles over all waves of blocks: each waits for its loads
  double copies = 0;      // 1: operands are copied first
  double transposes = 0;  // 1: these copies transpose
  double grouped = 0;     // 1: groups of warps share a tile
  double by_turns = 0;    // 1: unaligned columns are loaded by several maps
  double walks = 0;       // 1: blocks walk over tiles
  double by_threads = 0;  // 1: threads copy, not the copy engine
};
OwnTerms own_terms(const GemmProblem& problem, const GemmLargeShape& shape, const GemmLargeConfig& config,
                   const GpuLimits& limits);

// With `again`, the previous launch had the same operands and L2 may hold some; otherwise all come from
// memory.
double forecast_cublas_us(const CublasCoefficients& c, const GemmProblem& problem, const GpuLimits& limits,
                          bool again);
double forecast_own_us(const OwnCoefficients& c, const GemmProblem& problem, const OwnTerms& terms,
                       const GpuLimits& limits, bool again);

// The error of forecasts up to a time, and the gain (the logarithm of cuBLAS's time over this library's) from
// which the library's own kernel is taken there.
struct ForecastClass {
  double up_to_us = 0;
  double log_sd = 0;  // of the gain, at shapes outside the fit
  double least_gain = 0;
};

template <>
struct FieldList<CublasCoefficients> {
  using C = CublasCoefficients;
  static constexpr auto value = std::make_tuple(
      field("host_us", &C::host_us), field("host_split_us", &C::host_split_us),
      field("launch_us", &C::launch_us), field("idle_share", &C::idle_share),
      field("store_share", &C::store_share), field("split_us", &C::split_us),
      field("split_bytes_per_us", &C::split_bytes_per_us), field("believed_split", &C::believed_split),
      field("memory_share", &C::memory_share), field("held_bytes_per_us", &C::held_bytes_per_us),
      field("load_bytes_per_cycle", &C::load_bytes_per_cycle), field("overlap_loss", &C::overlap_loss),
      field("unaligned_a", &C::unaligned_a), field("unaligned_b", &C::unaligned_b),
      field("unaligned_c", &C::unaligned_c), field("unaligned_memory", &C::unaligned_memory),
      field("half_aligned_a", &C::half_aligned_a), field("half_aligned_b", &C::half_aligned_b),
      field("trans_a", &C::trans_a), field("trans_b", &C::trans_b), field("trans_both", &C::trans_both),
      field("efficiency_32x32", &C::efficiency_32x32), field("efficiency_64x32", &C::efficiency_64x32),
      field("efficiency_32x64", &C::efficiency_32x64), field("efficiency_64x64", &C::efficiency_64x64),
      field("efficiency_128x64", &C::efficiency_128x64), field("efficiency_64x128", &C::efficiency_64x128),
      field("efficiency_128x128", &C::efficiency_128x128),
      field("efficiency_256x128", &C::efficiency_256x128),
      field("efficiency_128x256", &C::efficiency_128x256));
};

template <>
struct FieldList<OwnCoefficients> {
  using C = OwnCoefficients;
  static constexpr auto value = std::make_tuple(
      field("launch_us", &C::launch_us), field("clock_mhz", &C::clock_mhz),
      field("fixed_share", &C::fixed_share), field("turn_us", &C::turn_us),
      field("memory_share", &C::memory_share), field("held_bytes_per_us", &C::held_bytes_per_us),
      field("overlap_loss", &C::overlap_loss), field("unaligned_store", &C::unaligned_store),
      field("read_c", &C::read_c), field("copy_us", &C::copy_us), field("transpose_us", &C::transpose_us),
      field("grouped", &C::grouped), field("by_turns", &C::by_turns), field("walks", &C::walks),
      field("by_threads", &C::by_threads));
};

template <>
struct FieldList<ForecastClass> {
  using C = ForecastClass;
  static constexpr auto value = std::make_tuple(field("up_to_us", &C::up_to_us), field("log_sd", &C::log_sd),
                                                field("least_gain", &C::least_gain));
};

// One type's fitted model: the coefficients of a record of wisdom.
struct GemmLargeForecastModel {
  CublasCoefficients theirs;
  OwnCoefficients ours;
  double theirs_sd = 0, ours_sd = 0;         // of logarithms, at shapes outside the fit
  std::vector<ForecastClass> classes;        // in the order of times
  double longest_k = 0, longest_side = 0;    // the largest k, and m or n, of the fit
  double shortest_k = 1, shortest_side = 1;  // the smallest that its errors were judged at
};
// Reads a model. Throws Error(invalid_argument) naming the key that is wrong.
GemmLargeForecastModel forecast_model(const nlohmann::json& coefficients);

struct GemmLargeForecast {
  double theirs_s = 0, ours_s = 0;    // for operands that come from memory
  double theirs_sd = 0, ours_sd = 0;  // of their logarithms
  bool take_ours = false;             // tilewright's kernel is probably faster, wherever the operands are
  std::string text() const;           // both times with their errors, for people
};
// Returns nothing if the model does not cover the problem or the device: a batch, sizes outside its range, or
// another architecture than sm_90.
std::optional<GemmLargeForecast> forecast_gemm_large(const GemmLargeForecastModel& model,
                                                     const GemmProblem& problem, const GemmLargeShape& shape,
                                                     const GemmLargeConfig& config, const GpuLimits& limits);

}  // namespace tilewright
