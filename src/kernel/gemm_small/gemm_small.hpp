// Batched small GEMM on the GPU from the host's side: shape, space, cost, choice and geometry of a launch.
#pragma once

#include <cstdint>
#include <vector>

#include "core/problem.hpp"
#include "device/gpu/gpu.hpp"
#include "kernel/gemm_small/config.hpp"
#include "kernel/space.hpp"

namespace tilewright {

// The largest m, n and k of the family: elements of interleaved matrices are neighbours of those of other
// problems, so that threads read them where they lie, whatever the size.
inline constexpr std::int64_t gemm_small_limit = 64, gemm_small_interleaved_limit = 512;
std::int64_t gemm_small_largest(const GemmProblem& problem);

// Returns the parts of a problem that enter its code; packed operands are aligned to `align_bytes`. For a
// variable batch m, n and k are the largest. `scalars_vary`: each problem has its alpha and beta.
GemmSmallShape gemm_small_shape(const GemmProblem& problem, int align_bytes = 16, bool scalars_vary = false);

// Returns heights and widths of thread tiles that are worth trying.
std::vector<int> gemm_small_thread_m(const GemmSmallShape& shape);
std::vector<int> gemm_small_thread_n(const GemmSmallShape& shape);
// Returns problems per tile that are worth trying.
std::vector<int> gemm_small_tile_counts(const GemmSmallShape& shape);

// Returns the legal configs for `shape` on a device with `limits`.
Space<GemmSmallConfig> gemm_small_space(const GemmSmallShape& shape, DType dtype, const GpuLimits& limits);

// Cycles of a problem on one multiprocessor: a lower bound by each unit, with a warp's actual bank conflicts.
struct GemmSmallCost {
  double shared = 0;      // wavefronts of shared memory, copies in and out included
  double issue = 0;       // instructions over four schedulers
  double multiply = 0;    // multiply-adds over the pipe of the type
  double cycles() const;  // the largest, plus a share of the rest because overlap is never perfect
};
GemmSmallCost gemm_small_cost(const GemmSmallShape& shape, const GemmSmallConfig& config, DType dtype);

// Return a thread's least registers, the blocks of a multiprocessor, and whether all tiles are whole pieces.
int gemm_small_registers(const GemmSmallConfig& config, DType dtype);
int gemm_small_blocks(const GemmSmallShape& shape, const GemmSmallConfig& config, DType dtype,
                      const GpuLimits& limits);
bool gemm_small_tiles_of(int piece_bytes, const GemmSmallShape& shape, const GemmSmallConfig& config,
                         int element_bytes);

// Returns the expected share of the memory bound, from the cost, a tile's bytes and tiles in flight.
double gemm_small_forecast(const GemmSmallShape& shape, const GemmSmallConfig& config, DType dtype,
                           const GpuLimits& limits, const GemmSmallCost& cost, std::int64_t count = 0);

// Returns up to `count` legal configs worth measuring, the best forecast first. `problem_count` 0 stands for
// many. `wanted` selects load paths, null for all.
std::vector<GemmSmallConfig> gemm_small_promising(const GemmSmallShape& shape, DType dtype,
                                                  const GpuLimits& limits, std::size_t count,
                                                  std::int64_t problem_count = 0,
                                                  bool (*wanted)(GemmSmallLoad) = nullptr);

// Returns the config used if wisdom has no near record: always a point of the space.
GemmSmallConfig gemm_small_default(const GemmSmallShape& shape, DType dtype, const GpuLimits& limits,
                                   std::int64_t problem_count = 0);

// Returns the launch for `count` problems if `blocks_per_multiprocessor` blocks fit.
GpuLaunch gemm_small_launch(const GemmSmallShape& shape, const GemmSmallConfig& config, DType dtype,
                            std::int64_t count, const GpuLimits& limits, int blocks_per_multiprocessor);

}  // namespace tilewright
