// The axes that sums of products into one C add to the space of columns kernels, and their default.
#include <algorithm>

#include "kernel/gemm_small_cpu/columns_tile.hpp"
#include "kernel/gemm_small_cpu/parts.hpp"

namespace tilewright {
namespace {

using C = GemmSmallCpuConfig;

// Bytes of A and B that the blocks of one C reuse from L2: the larger, the less often C is read and written.
constexpr std::int64_t pass_bytes = 136 << 10;
constexpr std::int64_t most_packed_bytes = 24 << 10;  // on the stack
// Longer bodies of the loop over products gain nothing and cost instruction cache.
constexpr std::int64_t sum_body_limit = 700;

bool is_one_block(const GemmProblem& problem, const C& config) {
  const columns::Tile tile = columns::make_tile(problem, config);
  return tile.row_blocks.size() == 1 && tile.col_blocks.size() == 1;
}

std::int64_t packed_bytes(const GemmProblem& problem, const C& config) {
  const columns::Tile tile = columns::make_tile(problem, config);
  return tile.packed_a ? tile.packed_lda * problem.k * tile.element_bytes : 0;
}

bool fits(const GemmProblem& problem, const C& config) {
  const columns::Tile tile = columns::make_tile(problem, config);
  return columns::loop_registers(tile, problem, config) <= tile.register_count &&
         columns::update_registers(tile, problem, config) <= tile.register_count;
}

// Selects the widest block that the registers hold, so that C stays there as a whole if it can.
void widest_block(const GemmProblem& problem, C& config) {
  double best = -1;
  const auto pieces = std::int64_t(columns::make_tile(problem, config).pieces.size());
  const C rows = config;
  for (int mr = 1; mr <= 8; ++mr)
    for (int nr = 1; nr <= 28; ++nr) {
      C other = rows;
      other.mr = mr, other.nr = nr;
      if (columns::even_split(pieces, mr).front() != mr || columns::even_split(problem.n, nr).front() != nr)
        continue;
      const columns::Tile tile = columns::make_tile(problem, other);
      const bool apart = tile.pieces.size() > 1 && tile.row_blocks.back() == 1 &&
                         tile.row_blocks.size() > 1 && other.tail == Tail::overlap;
      if (!fits(problem, other) || apart) continue;
      // Multiply-adds per load, over the number of blocks.
      const double rate = double(mr * nr) / double(mr + nr * tile.parts);
      const double score = rate / double(tile.row_blocks.size() * tile.col_blocks.size());
      if (score > best) best = score, config = other;
    }
}

}  // namespace

void columns_sum_axes(Space<GemmSmallCpuConfig>& space, const GemmProblem& problem) {
  if (problem.sums == Sums::none) {
    space.axis(&C::sum_block, {0});
    return;
  }
  space.axis(&C::sum_block, {0, 1, 2, 4, 8, 16})
      .require("sums take products one by one and write C by plain stores",
               [](const C& c) {
                 return c.matrices_per_vector == 1 && c.k_per_vector == 1 && c.store == Store::plain;
               })
      .require("sums hold a row of A or a column of B of each step",
               [](const C& c) { return c.hold == Hold::a || c.hold == Hold::b; })
      .require("a run loads no C of the next one", [](const C& c) { return c.c_load != CLoad::ahead; })
      .require("an A that is packed is kept for some products, on the stack",
               [=](const C& c) {
                 const std::int64_t bytes = packed_bytes(problem, c);
                 return bytes == 0 ||
                        (c.sum_block > 0 && (c.sum_block == 1 || c.sum_block * bytes <= most_packed_bytes));
               })
      .require("one block takes the whole run where nothing is packed", [=](const C& c) {
        return c.sum_block == 0 || packed_bytes(problem, c) > 0 || !is_one_block(problem, c);
      });
}

GemmSmallCpuConfig columns_sum_default(const GemmProblem& problem, GemmSmallCpuConfig rows) {
  C config = rows;
  widest_block(problem, config);
  const columns::Tile tile = columns::make_tile(problem, config);
  const bool adds = problem.alpha == Scalar::one && problem.beta == Scalar::one;
  if (adds && !is_complex(problem.dtype)) config.c_load = CLoad::early;
  if (config.mr * config.nr * tile.parts < 8 && problem.k >= 4) {
    C more = config;
    more.k_sets = 2;
    if (fits(problem, more)) config = more;
  }
  const std::int64_t step = config.mr * config.nr * tile.parts + config.nr * tile.parts + config.mr;
  const std::int64_t blocks = std::int64_t(tile.row_blocks.size() * tile.col_blocks.size());
  config.k_unroll = step * problem.k <= sum_body_limit / blocks || problem.k <= 4 ? 0 : 4;
  if (problem.k > 2 &&
      columns::make_tile(problem, config).code_instructions > columns::code_instruction_limit)
    config.k_unroll = 2;
  const std::int64_t bytes = (problem.m * problem.k + problem.k * problem.n) * tile.element_bytes;
  const std::int64_t packed = packed_bytes(problem, config);
  for (const int products : {1, 2, 4, 8, 16}) {
    const bool held = products * bytes <= pass_bytes && products * packed <= most_packed_bytes;
    if ((packed > 0 || !is_one_block(problem, config)) && (held || products == 1))
      config.sum_block = products;
  }
  if (problem.residency == Residency::cold) config.prefetch_bytes = 8192;
  if (problem.residency == Residency::l2) config.prefetch_bytes = 2048;
  return config;
}

}  // namespace tilewright
