// Boundaries that need several launches: a kernel for the parts beyond whole tiles (P2's residue), or padded
// copies; and transposing copies.
#include <algorithm>
#include <tuple>

#include "kernel/gemm_large/gemm_large.hpp"

namespace tilewright {
namespace {

std::int64_t rounded_down(std::int64_t size, int tile) { return size / tile * tile; }
std::int64_t rounded_up(std::int64_t size, int tile) { return (size + tile - 1) / tile * tile; }

// True if k runs fastest in an operand as the product reads it.
bool k_fastest(const GemmLargeConfig& config, bool as_stored) {
  return config.contiguous == GemmLargeContiguous::as_stored ? as_stored
                                                             : config.contiguous == GemmLargeContiguous::k;
}

// True if copies have whole tiles, which threads read unchecked.
bool pads_to_tiles(const GemmLargeConfig& config) {
  return config.boundary == GemmLargeBoundary::zero_padding && config.load != GemmLargeLoad::tensor;
}

}  // namespace

GemmLargeShape gemm_large_kernel_shape(const GemmLargeShape& shape, const GemmLargeConfig& config) {
  GemmLargeShape s = shape;
  const bool all = config.boundary == GemmLargeBoundary::zero_padding;
  const bool trans_a = k_fastest(config, s.trans_a), trans_b = !k_fastest(config, !s.trans_b);
  if (all || trans_a != s.trans_a) s.align_a = gemm_large_chunk;
  if (all || trans_b != s.trans_b) s.align_b = gemm_large_chunk;
  std::tie(s.trans_a, s.trans_b) = std::tuple(trans_a, trans_b);
  return s;
}

bool gemm_large_copies(const GemmLargeConfig& config) {
  return config.boundary == GemmLargeBoundary::zero_padding ||
         config.contiguous != GemmLargeContiguous::as_stored;
}

std::vector<GemmLargeInstance> gemm_large_instances(const GemmLargeShape& shape,
                                                    const GemmLargeConfig& config) {
  std::vector<GemmLargeInstance> instances = {{gemm_large_kernel_shape(shape, config), config}};
  if (config.boundary != GemmLargeBoundary::residue_kernel) return instances;
  // The remainder is a few tiles, or little k: there is nothing to share or to walk.
  GemmLargeConfig rest = config;
  rest.boundary = GemmLargeBoundary::predicate;
  rest.split_k = 1;
  rest.stream_k = 0;
  rest.tail_k = 1;
  rest.persistent = false;
  instances.push_back({instances.front().shape, rest});
  GemmLargeShape adding = instances.front().shape;
  adding.reads_c = true;
  if (!shape.reads_c) instances.push_back({adding, config});
  return instances;
}

std::size_t gemm_large_instance_of(GemmLargeRole role, const GemmLargeShape& shape) {
  if (role == GemmLargeRole::rest) return 1;
  return role == GemmLargeRole::adding && !shape.reads_c ? 2 : 0;
}

std::vector<GemmLargePart> gemm_large_parts(const GemmProblem& p, const GemmLargeConfig& c) {
  using enum GemmLargeRole;
  if (c.boundary != GemmLargeBoundary::residue_kernel) return {{.m = p.m, .n = p.n, .k = p.k}};
  const std::int64_t m = rounded_down(p.m, c.tile_m), n = rounded_down(p.n, c.tile_n),
                     k = rounded_down(p.k, c.tile_k);
  // The remainder of k goes first, with the caller's beta: later parts add to C, which beta = 0 never reads.
  std::vector<GemmLargePart> parts = {
      {rest, 0, 0, k, m, n, p.k - k},
      {p.k > k && k > 0 ? adding : whole, 0, 0, 0, m, n, k},
      {rest, m, 0, 0, p.m - m, p.n, p.k},
      {rest, 0, n, 0, m, p.n - n, p.k},
  };
  if (p.k > 0 && k == 0) parts[1].m = 0;
  if (p.k == k) parts[0].m = 0;
  std::erase_if(parts, [](const GemmLargePart& part) { return part.m == 0 || part.n == 0; });
  return parts;
}

GemmProblem gemm_large_part_problem(const GemmProblem& problem, const GemmLargePart& part) {
  GemmProblem p = problem;
  p.m = part.m;
  p.n = part.n;
  p.k = part.k;
  if (part.role == GemmLargeRole::adding) p.beta = Scalar::one;
  return p;
}

GemmLargePadding gemm_large_padding(const GemmProblem& p, const GemmLargeShape& shape,
                                    const GemmLargeConfig& c) {
  GemmLargePadding padding;
  if (!gemm_large_copies(c) || p.k == 0) return padding;
  const bool k_fastest_a = k_fastest(c, p.op_a != Op::none), k_fastest_b = k_fastest(c, p.op_b == Op::none);
  padding.transposes_a = k_fastest_a != (p.op_a != Op::none);
  padding.transposes_b = k_fastest_b != (p.op_b == Op::none);
  const bool whole = pads_to_tiles(c);
  const std::int64_t size = size_bytes(p.dtype);
  const int chunk = std::max(1, gemm_large_chunk / int(size));
  const std::int64_t k = whole ? rounded_up(p.k, c.tile_k) : p.k;
  const auto copy = [&](std::int64_t rows, int tile, bool along_k, std::int64_t& inner, std::int64_t& outer,
                        std::int64_t& bytes) {
    constexpr int alignment = 256;  // as allocations are aligned
    inner = along_k ? rounded_up(k, chunk) : rounded_up(rows, whole ? tile : chunk);
    outer = along_k ? rounded_up(rows, whole ? tile : 1) : k;
    bytes = rounded_up(inner * outer * size, alignment);
  };
  // The copy engine itself pads aligned operands.
  const auto pads = [&](int align) {
    return whole || (c.boundary == GemmLargeBoundary::zero_padding && align < gemm_large_chunk);
  };
  if (pads(shape.align_a) || padding.transposes_a)
    copy(p.m, c.tile_m, k_fastest_a, padding.inner_a, padding.outer_a, padding.a_bytes);
  if (pads(shape.align_b) || padding.transposes_b)
    copy(p.n, c.tile_n, k_fastest_b, padding.inner_b, padding.outer_b, padding.b_bytes);
  return padding;
}

int gemm_large_pad_blocks(std::int64_t bytes, bool transposes, const GpuLimits& limits) {
  // Four for either operand, so that the device has room for both at once.
  constexpr std::int64_t blocks_of_multiprocessor = 4;
  const std::int64_t pieces_of_thread = transposes ? 2 : 4;  // at a time
  const std::int64_t most = limits.multiprocessors * blocks_of_multiprocessor;
  const std::int64_t of_block = pieces_of_thread * gemm_large_pad_threads * gemm_large_chunk;
  return int(std::min((bytes + of_block - 1) / of_block, most));
}

GemmProblem gemm_large_padded(const GemmProblem& problem, const GemmLargeConfig& c,
                              const GemmLargePadding& padding) {
  GemmProblem p = problem;
  if (pads_to_tiles(c)) p.k = rounded_up(p.k, c.tile_k);
  if (padding.a_bytes > 0) p.lda = padding.inner_a;
  if (padding.b_bytes > 0) p.ldb = padding.inner_b;
  return p;
}

}  // namespace tilewright
