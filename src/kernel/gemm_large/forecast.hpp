// Forecasts the times of cuBLAS and of the default config of large GEMM, with their errors, for a problem
// without near records. bench_gemm_large_forecast fits the coefficients per type.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernel/gemm_large/gemm_large.hpp"

namespace tilewright {

// Coefficients of the model of cuBLAS, assumed to choose the fastest of typical tiles and parts of k.
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

// With `again`, the previous launch had the same operands and L2 may hold some of them.
double forecast_cublas_us(const CublasCoefficients& c, const GemmProblem& problem, const GpuLimits& limits,
                          bool again);
double forecast_own_us(const OwnCoefficients& c, const GemmProblem& problem, const OwnTerms& terms,
                       const GpuLimits& limits, bool again);

TILEWRIGHT_FIELDS(CublasCoefficients, host_us, host_split_us, launch_us, idle_share, store_share, split_us,
                  split_bytes_per_us, believed_split, memory_share, held_bytes_per_us, load_bytes_per_cycle,
                  overlap_loss, unaligned_a, unaligned_b, unaligned_c, unaligned_memory, half_aligned_a,
                  half_aligned_b, trans_a, trans_b, trans_both, efficiency_32x32, efficiency_64x32,
                  efficiency_32x64, efficiency_64x64, efficiency_128x64, efficiency_64x128,
                  efficiency_128x128, efficiency_256x128, efficiency_128x256);

TILEWRIGHT_FIELDS(OwnCoefficients, launch_us, clock_mhz, fixed_share, turn_us, memory_share,
                  held_bytes_per_us, overlap_loss, unaligned_store, read_c, copy_us, transpose_us, grouped,
                  by_turns, walks, by_threads);

// One type's fitted model: the coefficients of a record of wisdom.
struct GemmLargeForecastModel {
  CublasCoefficients theirs;
  OwnCoefficients ours;
  double theirs_sd = 0, ours_sd = 0;         // of logarithms, at shapes outside the fit
  double longest_k = 0, longest_side = 0;    // the largest k, and m or n, of the fit
  double shortest_k = 1, shortest_side = 1;  // the smallest that its errors were judged at
  // The errors for other sizes, which the formulas reach as well; empty: nothing is forecast for them.
  std::optional<double> theirs_sd_outside, ours_sd_outside;
};
// Reads a model. Throws Error(invalid_argument) naming the key that is wrong.
GemmLargeForecastModel forecast_model(const nlohmann::json& coefficients);

// Seconds of one product, the mean of operands that come from memory and of repeated ones; the error is the
// standard deviation of its logarithm.
struct GemmLargeForecast {
  double seconds = 0, error = 0;
};
// Empty for problems that the fit says nothing of.
std::optional<GemmLargeForecast> forecast_cublas(const GemmLargeForecastModel& model,
                                                 const GemmProblem& problem, const GpuLimits& limits);
std::optional<GemmLargeForecast> forecast_own(const GemmLargeForecastModel& model, const GemmProblem& problem,
                                              const GemmLargeShape& shape, const GemmLargeConfig& config,
                                              const GpuLimits& limits);

// One type's fitted model of batches of one launch: cuBLAS, assumed to compute squares of `tile`, and the
// errors of its times and of gemm_large_batch_cost (standard deviations of logarithms).
struct GemmLargeBatchModel {
  double tile = 64, multiply_adds_per_us = 0, memory_share = 0;
  double lost_k = 0;                       // k whose time each product takes besides its own
  double unaligned = 0, half_aligned = 0;  // logarithms of factors, as in CublasCoefficients
  double pointers = 0;                     // likewise, of pointer batches
  double clock_share = 0;                  // of the highest clock that our kernels run at
  double theirs_sd = 0, ours_sd = 0;
  double longest_side = 0;  // of the fit: nothing is forecast beyond
};
TILEWRIGHT_FIELDS(GemmLargeBatchModel, tile, multiply_adds_per_us, memory_share, lost_k, unaligned,
                  half_aligned, pointers, clock_share, theirs_sd, ours_sd, longest_side);
// Reads a model. Throws Error(invalid_argument) naming the key that is wrong.
GemmLargeBatchModel batch_forecast_model(const nlohmann::json& coefficients);
// Seconds of a batch that lies in device memory; empty for batches that the fit says nothing of.
std::optional<GemmLargeForecast> forecast_cublas_batch(const GemmLargeBatchModel& model,
                                                       const GemmProblem& problem, const GpuLimits& limits);
std::optional<GemmLargeForecast> forecast_own_batch(const GemmLargeBatchModel& model,
                                                    const GemmProblem& problem, const GemmLargeShape& shape,
                                                    const GemmLargeConfig& config, const GpuLimits& limits);

}  // namespace tilewright
