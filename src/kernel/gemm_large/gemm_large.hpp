// The host's side of large GEMM on the GPU: shape, space, cost, choice and launches.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/bounded_map.hpp"
#include "core/problem.hpp"
#include "device/gpu/gpu.hpp"
#include "kernel/gemm_large/model.hpp"
#include "kernel/gemm_large/work_config.hpp"
#include "kernel/space.hpp"

namespace tilewright {

// The alignment in bytes of the operands' first elements.
struct GemmLargeAlignment {
  int a = 16, b = 16, c = 16;
};

// Returns the alignment of every matrix of a batch whose first matrices lie at multiples of `address_bytes`.
GemmLargeAlignment gemm_large_alignment(const GemmProblem& problem, int address_bytes);

// Strided batches whose sizes are all at most this are one launch; of larger products each is one. Pointer
// batches, and those whose sizes or scalars lie in device memory, are always one launch.
inline constexpr std::int64_t gemm_large_batch_limit = 512;
GemmLargeBatch gemm_large_batch(const GemmProblem& problem, ScalarsVary vary = {});
// Returns what enters the code of a problem. Throws Error(unsupported) for a mode that the stencil lacks.
GemmLargeShape gemm_large_shape(const GemmProblem& problem, GemmLargeAlignment alignment = {},
                                MathMode mode = MathMode::full, ScalarsVary vary = {});

// The numbers of parts into which split_k may divide a tile's k.
inline constexpr int gemm_large_splits[] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  10,  11, 12,
                                            13, 14, 16, 20, 22, 26, 32, 44, 64, 128, 256};

// Returns the legal configs for `problem` on a device with `limits`.
Space<GemmLargeConfig> gemm_large_space(const GemmProblem& problem, const GemmLargeShape& shape,
                                        const GpuLimits& limits);

// The largest number of k tiles after which sums are set aside; the others are its halves.
inline constexpr int gemm_large_most_sum_turns = 128;
// Returns the terms of one long sum with the rounding error of an element of C, whose k is added in parts
// (docs/gemm_large.md, "Rounding").
double gemm_large_terms(const GemmProblem& problem, const GemmLargeConfig& config);
// Returns the k tiles after which `config` must set sums aside so that its rounding errors are no larger than
// cuBLAS's; 0 if not needed. If none is enough, returns the number with the smallest errors.
int gemm_large_sum_turns(const GemmProblem& problem, const GemmLargeConfig& config,
                         const GemmLargeDevice& device);
// Returns the legal configs whose errors are no larger than cuBLAS's, for heuristics, searches and wisdom. A
// config that the user names, and the last of gemm_large_defaults, may be outside.
Space<GemmLargeConfig> gemm_large_accurate_space(const GemmProblem& problem, const GemmLargeShape& shape,
                                                 const GemmLargeDevice& device);

// Describes A or B at `address` to the copy engine, as the kernel sees it: the boxes are tiles (of a tile of
// A that a cluster shares, a block's part). Describes map `turn` of several. A c128 number is two elements.
enum class GemmLargeSide : unsigned char { a, b };
GpuTensor gemm_large_tensor(const GemmProblem& problem, const GemmLargeShape& shape,
                            const GemmLargeConfig& config, GemmLargeSide side, const void* address, int turn);

// True if accesses of `config` to A and B hold whole elements and are aligned.
bool gemm_large_aligned_loads(const GemmLargeShape& shape, const GemmLargeConfig& config, DType dtype);

inline constexpr int gemm_large_most_registers = 255;  // of a thread, on every device
// Returns the least registers of a thread: sums, one step's operands (two with prefetch), addresses.
int gemm_large_needed_registers(const GemmLargeConfig& config, DType dtype);
// Returns the registers that the compiler is expected to use, at least the needed ones.
int gemm_large_registers(const GemmLargeConfig& config, DType dtype);
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
TILEWRIGHT_FIELDS(GemmLargeCost, multiply, issue, shared, l2, memory, fixed);
// Returns the cost of a config of gemm_large_space.
GemmLargeCost gemm_large_cost(const GemmProblem& problem, const GemmLargeShape& shape,
                              const GemmLargeConfig& config, const GpuLimits& limits);

// The same for a batch of one launch.
GemmLargeCost gemm_large_batch_cost(const GemmProblem& problem, const GemmLargeShape& shape,
                                    const GemmLargeConfig& config, const GpuLimits& limits);

// Bytes that a problem moves at each level of memory, counted from the config without caches.
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

// Returns the wavefronts of shared memory for one step's reads of a warp; without conflicts bytes / 128.
double gemm_large_wavefronts(const GemmLargeShape& shape, const GemmLargeConfig& config, DType dtype);

// Returns up to `count` legal configs worth measuring, the most promising first by predicted cost.
std::vector<GemmLargeConfig> gemm_large_promising(const GemmProblem& problem, const GemmLargeShape& shape,
                                                  const GemmLargeDevice& device, std::size_t count);

// The same for a batch of one launch.
std::vector<GemmLargeConfig> gemm_large_batch_promising(const GemmProblem& problem,
                                                        const GemmLargeShape& shape,
                                                        const GemmLargeDevice& device, std::size_t count);

// Returns the config used if wisdom has no near record: always a point of the space.
GemmLargeConfig gemm_large_default(const GemmProblem& problem, const GemmLargeShape& shape,
                                   const GemmLargeDevice& device);

// Returns that config first, then fallbacks if the compiler spills registers; the last one never spills.
std::vector<GemmLargeConfig> gemm_large_defaults(const GemmProblem& problem, const GemmLargeShape& shape,
                                                 const GemmLargeDevice& device);

// Returns the observed cost of the config relative to gemm_large_cost; 1 if nothing is known.
double gemm_large_correction(const GemmLargeConfig& config, const GemmLargeShape& shape,
                             const GemmLargeCorrections& factors);
// True if the compiler was seen to spill registers of such a config. The loader checks every report.
bool gemm_large_known_to_spill(const GemmLargeConfig& config, const GemmLargeShape& shape, DType dtype,
                               const GpuLimits& limits);

// The launch if `resident` blocks fit a multiprocessor, and its memory needs besides operands.
struct GemmLargeLaunch {
  GpuLaunch launch;
  std::int64_t workspace_bytes = 0;
  std::int64_t counter_count = 0;  // of 4 bytes, zero before the launch
};
// Returns the shared memory, from `shared_bytes` on, that lets at most `blocks` fit a multiprocessor.
int gemm_large_apart_bytes(int blocks, int shared_bytes, const GpuLimits& limits);
GemmLargeLaunch gemm_large_launch(const GemmProblem& problem, const GemmLargeShape& shape,
                                  const GemmLargeConfig& config, const GpuLimits& limits, int resident);

// Returns the shape that the config's kernels see: copies are aligned, with the requested contiguous
// dimension. Idempotent.
GemmLargeShape gemm_large_kernel_shape(const GemmLargeShape& shape, const GemmLargeConfig& config);
// True if a launch may copy operands into the workspace first.
bool gemm_large_copies(const GemmLargeConfig& config);

// The roles of a config's kernels: one, with boundary = residue_kernel two, three if C is not read.
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

// A launch of one kernel, from `row`, `column` of C and `depth` of k on. Parts are launched in order.
struct GemmLargePart {
  GemmLargeRole role = GemmLargeRole::whole;
  std::int64_t row = 0, column = 0, depth = 0;
  std::int64_t m = 0, n = 0, k = 0;
};
std::vector<GemmLargePart> gemm_large_parts(const GemmProblem& problem, const GemmLargeConfig& config);
// Returns the part as a problem with the leading dimensions of the whole one.
GemmProblem gemm_large_part_problem(const GemmProblem& problem, const GemmLargePart& part);

// The copies of A and B: with boundary = zero_padding of whole tiles or, for tensor copies, of unaligned
// operands; and those that `contiguous` requests.
struct GemmLargePadding {
  std::int64_t inner_a = 0, outer_a = 0;  // elements along the contiguous dimension, the leading dimension
  std::int64_t inner_b = 0, outer_b = 0;
  std::int64_t a_bytes = 0;  // multiples of 256, 0 without a copy; B's copy lies behind A's
  std::int64_t b_bytes = 0;
  bool transposes_a = false, transposes_b = false;

  std::int64_t bytes() const { return a_bytes + b_bytes; }
};
// Nothing to copy (0 bytes) for other configs and if k = 0. The shape is the caller's.
GemmLargePadding gemm_large_padding(const GemmProblem& problem, const GemmLargeShape& shape,
                                    const GemmLargeConfig& config);
// Returns the blocks that make a copy of `bytes` bytes, transposed or not.
int gemm_large_pad_blocks(std::int64_t bytes, bool transposes, const GpuLimits& limits);
// Returns the problem that the kernel solves on the copies.
GemmProblem gemm_large_padded(const GemmProblem& problem, const GemmLargeConfig& config,
                              const GemmLargePadding& padding);

// Returns the problems of one launch: all of a batch, or one.
std::int64_t gemm_large_problems(const GemmProblem& problem, const GemmLargeShape& shape);
// Returns the most problems that one launch takes, whose tiles a grid holds.
std::int64_t gemm_large_problems_at_once(const GemmProblem& problem, const GemmLargeShape& shape,
                                         const GemmLargeConfig& config);

// Returns an instance of the stencil.
std::string gemm_large_expression(const GemmLargeShape& shape, const GemmLargeConfig& config, DType dtype);

// Default configs, thread-safe, shared by problems of similar size, since each config is a kernel to compile.
class GemmLargeNear {
 public:
  // The default of the first problem in the same quarter octave of each size if legal here, else its own.
  GemmLargeConfig find(const GemmProblem& problem, const GemmLargeShape& shape,
                       const GemmLargeDevice& device);

 private:
  BoundedMap<std::string, GemmLargeConfig> known_{4096};
};

}  // namespace tilewright
