// Large GEMM on the GPU as the host sees it: the shape a problem compiles to, the space of configs, what a
// config is predicted to cost, the configs worth trying first, and the geometry and workspace of a launch.
// Compiling, loading and launching are gemm_large/loader.hpp's.
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

// Bytes of which all addresses are multiples: of the operands' first elements. Leading dimensions are the
// problem's.
struct GemmLargeAlignment {
  int a = 16, b = 16, c = 16;
};

// That of every matrix of a batch whose first lie at multiples of `address_bytes`.
GemmLargeAlignment gemm_large_alignment(const GemmProblem& problem, int address_bytes);

// What enters the code of a problem of one matrix each. Throws Error(unsupported) for a mode that the stencil
// has no math for.
GemmLargeShape gemm_large_shape(const GemmProblem& problem, GemmLargeAlignment alignment = {},
                                MathMode mode = MathMode::full);

// Into how many parts split_k may share a tile's k.
inline constexpr int gemm_large_splits[] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  10,  11, 12,
                                            13, 14, 16, 20, 22, 26, 32, 44, 64, 128, 256};

// The legal configs for `problem` on a device with `limits`.
Space<GemmLargeConfig> gemm_large_space(const GemmProblem& problem, const GemmLargeShape& shape,
                                        const GpuLimits& limits);

// The most tiles of k after which sums may be set aside; fewer are its halves.
inline constexpr int gemm_large_most_sum_turns = 128;
// Terms of one long sum whose rounding error is as large as that of an element of `config`'s C, which adds up
// k in parts (docs/gemm_large.md, "Rounding").
double gemm_large_terms(const GemmProblem& problem, const GemmLargeConfig& config);
// Tiles of k after which `config` has to set its sums aside at the latest so that its rounding errors are no
// larger than cuBLAS's; 0 where it need not. Where no number of tiles will do, the one with the smallest
// errors.
int gemm_large_sum_turns(const GemmProblem& problem, const GemmLargeConfig& config,
                         const GemmLargeDevice& device);
// The legal configs whose errors are no larger: rules of thumb, searches and wisdom choose among these. Who
// names a config may have any, and so has what must run anywhere (the last of gemm_large_defaults).
Space<GemmLargeConfig> gemm_large_accurate_space(const GemmProblem& problem, const GemmLargeShape& shape,
                                                 const GemmLargeDevice& device);

// A or B at `address` as the copy engine reads it, for the shape that the kernel sees: the boxes are those of
// a tile (of a tile of A that a cluster shares, the part that a block fetches). Where columns go by several
// maps, those of map `turn`. A complex number of c128 is two of the map's elements.
enum class GemmLargeSide : unsigned char { a, b };
GpuTensor gemm_large_tensor(const GemmProblem& problem, const GemmLargeShape& shape,
                            const GemmLargeConfig& config, GemmLargeSide side, const void* address, int turn);

// Whether accesses of `config` to A and B hold whole elements and are aligned.
bool gemm_large_aligned_loads(const GemmLargeShape& shape, const GemmLargeConfig& config, DType dtype);

inline constexpr int gemm_large_most_registers = 255;  // of a thread, on every device
// Registers that a thread cannot do without: sums, one step's operands (two with prefetch), addresses. What
// needs more than there are is refused.
int gemm_large_needed_registers(const GemmLargeShape& shape, const GemmLargeConfig& config, DType dtype);
// Registers that the compiler is expected to take: more than those, where there are more.
int gemm_large_registers(const GemmLargeShape& shape, const GemmLargeConfig& config, DType dtype);
// Registers in which a thread holds what it loads on the way to shared memory.
int gemm_large_held_registers(const GemmLargeShape& shape, const GemmLargeConfig& config, DType dtype);
// Blocks that a multiprocessor holds, by that estimate and so many registers more.
int gemm_large_resident(const GemmLargeShape& shape, const GemmLargeConfig& config, DType dtype,
                        const GpuLimits& limits, int more_registers = 0);

// What the whole device spends on a problem, in clock cycles: each figure is a lower bound by one unit.
struct GemmLargeCost {
  double multiply = 0;  // the pipe of the product, waves and idle multiprocessors included
  double issue = 0;     // instructions over four schedulers
  double shared = 0;    // wavefronts of shared memory, from the lanes' real addresses
  double l2 = 0;        // tiles from L2 to shared memory
  double memory = 0;    // device memory, with the panels of the raster in L2
  double fixed = 0;     // filling and draining the ring, writing C, adding shared tiles
  double cycles() const;
};
// Of a config that gemm_large_space holds.
GemmLargeCost gemm_large_cost(const GemmProblem& problem, const GemmLargeShape& shape,
                              const GemmLargeConfig& config, const GpuLimits& limits);

// Bytes that a problem moves at each level of the memory, counted from the config; what caches make of them
// only counters tell.
struct GemmLargeTraffic {
  double memory_bytes =
      0;                // device memory: A and B once for each wave of tiles (its panels stay in L2), and C
  double l2_bytes = 0;  // between L2 and multiprocessors: A and B once for each tile, C, shared partial sums
  double shared_bytes = 0;  // from shared memory to registers, 128 for each wavefront
  double c_bytes = 0;       // of l2_bytes: C and partial sums
};
GemmLargeTraffic gemm_large_traffic(const GemmProblem& problem, const GemmLargeShape& shape,
                                    const GemmLargeConfig& config, const GpuLimits& limits, int resident);

// Real multiply-adds of one product instruction of a warp.
double gemm_large_products_at_once(const GemmLargeConfig& config);

// Wavefronts of shared memory for reading one step's operands by one warp; without conflicts it is the bytes
// over 128.
double gemm_large_wavefronts(const GemmLargeShape& shape, const GemmLargeConfig& config, DType dtype);

// Up to `count` legal configs worth measuring, the most promising first by predicted cost.
std::vector<GemmLargeConfig> gemm_large_promising(const GemmProblem& problem, const GemmLargeShape& shape,
                                                  const GemmLargeDevice& device, std::size_t count);

// The config used when wisdom knows nothing near: always a point of the space.
GemmLargeConfig gemm_large_default(const GemmProblem& problem, const GemmLargeShape& shape,
                                   const GemmLargeDevice& device);

// That one first, then what to use where the compiler spills registers for it; the last one is so small that
// it never does.
std::vector<GemmLargeConfig> gemm_large_defaults(const GemmProblem& problem, const GemmLargeShape& shape,
                                                 const GemmLargeDevice& device);

// The launch where `resident` blocks fit a multiprocessor, and what it needs besides operands.
struct GemmLargeLaunch {
  GpuLaunch launch;
  std::int64_t workspace_bytes = 0;
  std::int64_t counter_count = 0;  // of 4 bytes, zero before the launch
};
// Bytes of shared memory, at least `shared_bytes`, with which no more than `blocks` blocks fit a
// multiprocessor.
int gemm_large_apart_bytes(int blocks, int shared_bytes, const GpuLimits& limits);
GemmLargeLaunch gemm_large_launch(const GemmProblem& problem, const GemmLargeShape& shape,
                                  const GemmLargeConfig& config, const GpuLimits& limits, int resident);

// What the kernels of a config see: copies are aligned, and what runs fastest is what the config asks for.
// Of what it gives it gives the same.
GemmLargeShape gemm_large_kernel_shape(const GemmLargeShape& shape, const GemmLargeConfig& config);
// Whether a launch may copy operands into the workspace first.
bool gemm_large_copies(const GemmLargeConfig& config);

// The kernels that a config launches: one, but for boundary = residue_kernel two, and where C is not read
// three.
enum class GemmLargeRole : unsigned char {
  whole,   // the config's own, of everything or of whole tiles
  rest,    // checks; of what tiles leave over
  adding,  // whole tiles of k, to what the rest of k left in C
};
struct GemmLargeInstance {
  GemmLargeShape shape;
  GemmLargeConfig config;
};
std::vector<GemmLargeInstance> gemm_large_instances(const GemmLargeShape& shape,
                                                    const GemmLargeConfig& config);
// Which of them plays the role.
std::size_t gemm_large_instance_of(GemmLargeRole role, const GemmLargeShape& shape);

// A launch of one of them: elements from `row`, `column` of C on, and k from `depth` on. Parts follow each
// other in this order.
struct GemmLargePart {
  GemmLargeRole role = GemmLargeRole::whole;
  std::int64_t row = 0, column = 0, depth = 0;
  std::int64_t m = 0, n = 0, k = 0;
};
std::vector<GemmLargePart> gemm_large_parts(const GemmProblem& problem, const GemmLargeConfig& config);
// The part as a problem with the leading dimensions of the whole one.
GemmProblem gemm_large_part_problem(const GemmProblem& problem, const GemmLargePart& part);

// The copies of A and B that boundary = zero_padding makes, of whole tiles, or with tensor copies of what is
// not aligned for those, and the copies that `contiguous` asks for.
struct GemmLargePadding {
  std::int64_t inner_a = 0, outer_a = 0;  // elements along the contiguous dimension, the leading dimension
  std::int64_t inner_b = 0, outer_b = 0;
  std::int64_t a_bytes = 0;  // multiples of 256, 0 without a copy; B's copy lies behind A's
  std::int64_t b_bytes = 0;
  bool transposes_a = false, transposes_b = false;

  std::int64_t bytes() const { return a_bytes + b_bytes; }
};
// Nothing (0 bytes) for other configs and where k = 0. The shape is the caller's operands', not the kernel's.
GemmLargePadding gemm_large_padding(const GemmProblem& problem, const GemmLargeShape& shape,
                                    const GemmLargeConfig& config);
// Blocks that make a copy of so many bytes, transposed or not.
int gemm_large_pad_blocks(std::int64_t bytes, bool transposes, const GpuLimits& limits);
// The problem that the kernel solves on them.
GemmProblem gemm_large_padded(const GemmProblem& problem, const GemmLargeConfig& config,
                              const GemmLargePadding& padding);

// An instance of the stencil, and the condition that makes the device derive what the host derived.
std::string gemm_large_expression(const GemmLargeShape& shape, const GemmLargeConfig& config, DType dtype);
std::string gemm_large_assertion(const GemmLargeShape& shape, const GemmLargeConfig& config, DType dtype);

}  // namespace tilewright
