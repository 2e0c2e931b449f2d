// Large GEMM on the GPU from the host's side: the shape a problem compiles to, the space of configs, the
// predicted cost of a config, the configs worth trying first, and the geometry and workspace of a launch.
// gemm_large/loader.hpp compiles, loads and launches.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/problem.hpp"
#include "device/gpu/gpu.hpp"
#include "device/gpu/tensor_map.hpp"
#include "kernel/gemm_large/model.hpp"
#include "kernel/gemm_large/work_config.hpp"
#include "kernel/space.hpp"

namespace tilewright {

// The alignment in bytes of the addresses of the operands' first elements. Leading dimensions are in the
// problem.
struct GemmLargeAlignment {
  int a = 16, b = 16, c = 16;
};

// Returns the alignment of every matrix of a batch whose first matrices lie at multiples of `address_bytes`.
GemmLargeAlignment gemm_large_alignment(const GemmProblem& problem, int address_bytes);

// Returns the parts of a problem that its code depends on, for one matrix each. Throws Error(unsupported) for
// a mode that the stencil does not implement.
GemmLargeShape gemm_large_shape(const GemmProblem& problem, GemmLargeAlignment alignment = {},
                                MathMode mode = MathMode::full);

// The numbers of parts into which split_k may divide a tile's k.
inline constexpr int gemm_large_splits[] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  10,  11, 12,
                                            13, 14, 16, 20, 22, 26, 32, 44, 64, 128, 256};

// Returns the legal configs for `problem` on a device with `limits`.
Space<GemmLargeConfig> gemm_large_space(const GemmProblem& problem, const GemmLargeShape& shape,
                                        const GpuLimits& limits);

// The largest number of k tiles after which sums are set aside; the others are its halves.
inline constexpr int gemm_large_most_sum_turns = 128;
// Returns the terms of one long sum whose rounding error is as large as that of an element of `config`'s C,
// which adds up k in parts (docs/gemm_large.md, "Rounding").
double gemm_large_terms(const GemmProblem& problem, const GemmLargeConfig& config);
// Returns the k tiles after which `config` must set its sums aside at the latest so that its rounding errors
// are no larger than cuBLAS's; 0 if that is not needed. If no number of tiles is enough, returns the one with
// the smallest errors.
int gemm_large_sum_turns(const GemmProblem& problem, const GemmLargeConfig& config,
                         const GemmLargeDevice& device);
// Returns the legal configs whose errors are no larger than cuBLAS's: heuristics, searches and wisdom choose
// among these. A config that the user names, and the fallback that runs anywhere (the last of
// gemm_large_defaults), may be outside.
Space<GemmLargeConfig> gemm_large_accurate_space(const GemmProblem& problem, const GemmLargeShape& shape,
                                                 const GemmLargeDevice& device);

// Describes A or B at `address` to the copy engine, for the shape that the kernel sees: the boxes are those
// of a tile (of a tile of A that a cluster shares, the part that a block fetches). If columns are loaded by
// several maps, it describes those of map `turn`. A complex number of c128 is two of the map's elements.
enum class GemmLargeSide : unsigned char { a, b };
GpuTensor gemm_large_tensor(const GemmProblem& problem, const GemmLargeShape& shape,
                            const GemmLargeConfig& config, GemmLargeSide side, const void* address, int turn);

// True if accesses of `config` to A and B hold whole elements and are aligned.
bool gemm_large_aligned_loads(const GemmLargeShape& shape, const GemmLargeConfig& config, DType dtype);

inline constexpr int gemm_large_most_registers = 255;  // of a thread, on every device
// Returns the least registers of a thread: sums, one step's operands (two with prefetch), addresses. Configs
// that need more than exist are refused.
int gemm_large_needed_registers(const GemmLargeShape& shape, const GemmLargeConfig& config, DType dtype);
// Returns the registers that the compiler is expected to use, at least the needed ones.
int gemm_large_registers(const GemmLargeShape& shape, const GemmLargeConfig& config, DType dtype);
// Returns the registers in which a thread holds loaded elements before it writes them to shared memory.
int gemm_large_held_registers(const GemmLargeShape& shape, const GemmLargeConfig& config, DType dtype);
// Returns the blocks that a multiprocessor holds, by that estimate plus `more_registers`.
int gemm_large_resident(const GemmLargeShape& shape, const GemmLargeConfig& config, DType dtype,
                        const GpuLimits& limits, int more_registers = 0);

// The cost of a problem to the whole device in clock cycles: each figure is a lower bound by one unit.
struct GemmLargeCost {
  double multiply = 0;  // the pipe of the product, waves and idle multiprocessors included
  double issue = 0;     // instructions over four schedulers
  double shared = 0;    // wavefronts of shared memory, from the lanes' actual addresses
  double l2 = 0;        // tiles from L2 to shared memory
  double memory = 0;    // device memory, with the panels of the raster in L2
  double fixed = 0;     // filling and draining the ring, writing C, adding shared tiles
  double cycles() const;
};
// Returns the cost of a config of gemm_large_space.
GemmLargeCost gemm_large_cost(const GemmProblem& problem, const GemmLargeShape& shape,
                              const GemmLargeConfig& config, const GpuLimits& limits);

// Bytes that a problem moves at each level of the memory, counted from the config; the effect of caches is
// known from hardware counters only.
struct GemmLargeTraffic {
  double memory_bytes =
      0;                // device memory: A and B once for each wave of tiles (its panels stay in L2), and C
  double l2_bytes = 0;  // between L2 and multiprocessors: A and B once for each tile, C, shared partial sums
  double shared_bytes = 0;  // from shared memory to registers, 128 for each wavefront
  double c_bytes = 0;       // of l2_bytes: C and partial sums
};
GemmLargeTraffic gemm_large_traffic(const GemmProblem& problem, const GemmLargeShape& shape,
                                    const GemmLargeConfig& config, const GpuLimits& limits, int resident);

// Returns the real multiply-adds of one product instruction of a warp.
double gemm_large_products_at_once(const GemmLargeConfig& config);

// Returns the wavefronts of shared memory for reading one step's operands by one warp; without conflicts this
// is the bytes over 128.
double gemm_large_wavefronts(const GemmLargeShape& shape, const GemmLargeConfig& config, DType dtype);

// Returns up to `count` legal configs worth measuring, the most promising first by predicted cost.
std::vector<GemmLargeConfig> gemm_large_promising(const GemmProblem& problem, const GemmLargeShape& shape,
                                                  const GemmLargeDevice& device, std::size_t count);

// Returns the config used if wisdom has no near record: always a point of the space.
GemmLargeConfig gemm_large_default(const GemmProblem& problem, const GemmLargeShape& shape,
                                   const GemmLargeDevice& device);

// Returns that config first, then fallbacks for when the compiler spills registers; the last one is so small
// that it never does.
std::vector<GemmLargeConfig> gemm_large_defaults(const GemmProblem& problem, const GemmLargeShape& shape,
                                                 const GemmLargeDevice& device);

// The launch if `resident` blocks fit a multiprocessor, and its memory needs besides operands.
struct GemmLargeLaunch {
  GpuLaunch launch;
  std::int64_t workspace_bytes = 0;
  std::int64_t counter_count = 0;  // of 4 bytes, zero before the launch
};
// Returns the bytes of shared memory, at least `shared_bytes`, with which no more than `blocks` blocks fit a
// multiprocessor.
int gemm_large_apart_bytes(int blocks, int shared_bytes, const GpuLimits& limits);
GemmLargeLaunch gemm_large_launch(const GemmProblem& problem, const GemmLargeShape& shape,
                                  const GemmLargeConfig& config, const GpuLimits& limits, int resident);

// Returns the shape that the kernels of a config see: copies are aligned, and the fastest dimension is the
// one that the config requests. Applying it twice changes nothing.
GemmLargeShape gemm_large_kernel_shape(const GemmLargeShape& shape, const GemmLargeConfig& config);
// True if a launch may copy operands into the workspace first.
bool gemm_large_copies(const GemmLargeConfig& config);

// The roles of the kernels that a config launches: one kernel, except for boundary = residue_kernel, which
// has two, and three if C is not read.
enum class GemmLargeRole : unsigned char {
  whole,   // the config's own kernel, for everything or for whole tiles
  rest,    // a kernel with checks, for the parts beyond whole tiles
  adding,  // whole tiles of k, added to the C of the remaining k
};
struct GemmLargeInstance {
  GemmLargeShape shape;
  GemmLargeConfig config;
};
std::vector<GemmLargeInstance> gemm_large_instances(const GemmLargeShape& shape,
                                                    const GemmLargeConfig& config);
// Returns the index of the kernel with that role.
std::size_t gemm_large_instance_of(GemmLargeRole role, const GemmLargeShape& shape);

// A launch of one kernel: elements from `row`, `column` of C on, and k from `depth` on. The parts are
// launched in this order.
struct GemmLargePart {
  GemmLargeRole role = GemmLargeRole::whole;
  std::int64_t row = 0, column = 0, depth = 0;
  std::int64_t m = 0, n = 0, k = 0;
};
std::vector<GemmLargePart> gemm_large_parts(const GemmProblem& problem, const GemmLargeConfig& config);
// Returns the part as a problem with the leading dimensions of the whole one.
GemmProblem gemm_large_part_problem(const GemmProblem& problem, const GemmLargePart& part);

// The copies of A and B that boundary = zero_padding makes: of whole tiles, or with tensor copies of operands
// not aligned for these; and the copies that `contiguous` requests.
struct GemmLargePadding {
  std::int64_t inner_a = 0, outer_a = 0;  // elements along the contiguous dimension, the leading dimension
  std::int64_t inner_b = 0, outer_b = 0;
  std::int64_t a_bytes = 0;  // multiples of 256, 0 without a copy; B's copy lies behind A's
  std::int64_t b_bytes = 0;
  bool transposes_a = false, transposes_b = false;

  std::int64_t bytes() const { return a_bytes + b_bytes; }
};
// Returns nothing to copy (0 bytes) for other configs and if k = 0. The shape is that of the caller's
// operands, not the kernel's.
GemmLargePadding gemm_large_padding(const GemmProblem& problem, const GemmLargeShape& shape,
                                    const GemmLargeConfig& config);
// Returns the blocks that make a copy of `bytes` bytes, transposed or not.
int gemm_large_pad_blocks(std::int64_t bytes, bool transposes, const GpuLimits& limits);
// Returns the problem that the kernel solves on the copies.
GemmProblem gemm_large_padded(const GemmProblem& problem, const GemmLargeConfig& config,
                              const GemmLargePadding& padding);

// Returns an instance of the stencil; the other returns the condition that makes the device check the host's
// derivations.
std::string gemm_large_expression(const GemmLargeShape& shape, const GemmLargeConfig& config, DType dtype);
std::string gemm_large_assertion(const GemmLargeShape& shape, const GemmLargeConfig& config, DType dtype);

}  // namespace tilewright
