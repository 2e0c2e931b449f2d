// Space, search and default config of the columns kernels. No generated code depends on this file, so that
// its changes leave wisdom valid (cmake/build_info.cmake).
#include <algorithm>
#include <limits>

#include "kernel/gemm_small_cpu/columns_cost_space.hpp"
#include "kernel/gemm_small_cpu/columns_flat.hpp"
#include "kernel/gemm_small_cpu/columns_generator.hpp"
#include "kernel/gemm_small_cpu/columns_kvector.hpp"
#include "kernel/gemm_small_cpu/parts.hpp"

namespace tilewright {

bool within_displacement(const GemmProblem& problem) {
  const std::int64_t limit = std::numeric_limits<std::int32_t>::max() / size_bytes(problem.dtype) / 2;
  const std::int64_t columns = std::max({problem.m, problem.n, problem.k, std::int64_t(1)}) + 8;
  return std::max({problem.lda, problem.ldb, problem.ldc}) <= limit / columns;
}

namespace {

using columns::Tile;

bool packed_c(const GemmProblem& problem) {
  return problem.ldc == problem.m &&
         (problem.layout == Layout::single || problem.stride_c == problem.m * problem.n);
}

using C = GemmSmallCpuConfig;
using ConfigSpace = Space<GemmSmallCpuConfig>;

std::vector<columns::RowPiece> pieces_with(const GemmProblem& problem, C config, Tail tail) {
  config.tail = tail;
  return columns::make_tile(problem, config).pieces;
}

bool same_pieces(const std::vector<columns::RowPiece>& x, const std::vector<columns::RowPiece>& y) {
  return std::equal(x.begin(), x.end(), y.begin(), y.end(), [](const auto& p, const auto& q) {
    return p.first == q.first && p.lanes == q.lanes && p.masked == q.masked;
  });
}

// True if this kind of tail differs from those before it in the list.
bool tail_matters(const GemmProblem& problem, const C& config) {
  if (config.tail == Tail::mask) return true;
  const auto own = pieces_with(problem, config, config.tail);
  if (config.tail == Tail::split) return own.back().masked;
  if (same_pieces(own, pieces_with(problem, config, Tail::mask))) return false;
  return config.tail == Tail::narrow || !same_pieces(own, pieces_with(problem, config, Tail::narrow));
}

// Rows that two vectors share must be updated together: C is read for both before either is written.
bool overlap_within_block(const GemmProblem& problem, const C& config) {
  if (config.tail != Tail::overlap) return true;
  if (problem.beta == Scalar::zero && problem.sums == Sums::none) return true;
  const Tile tile = columns::make_tile(problem, config);
  return tile.pieces.size() < 2 || tile.row_blocks.back() > 1 ||
         tile.pieces.back().first >=
             tile.pieces[tile.pieces.size() - 2].first + tile.pieces[tile.pieces.size() - 2].lanes;
}

void row_axes(ConfigSpace& space, const GemmProblem& problem, Isa isa) {
  const std::int64_t column_bits = problem.m * size_bytes(problem.dtype) * 8;
  space.axis(&C::isa, {isa})
      .require("every byte offset within a matrix fits a 32-bit displacement",
               [=](const C&) { return within_displacement(problem); })
      .axis(&C::matrices_per_vector, {1, 0})
      .require("whole problems fit side by side in a vector (0), or are computed one by one (1)",
               [=](const C& c) {
                 return c.matrices_per_vector == 1 || columns::flat_refusal(problem, c.isa).empty();
               })
      .axis(&C::vector_bits, isa == Isa::avx2 ? std::vector<int>{256, 128} : std::vector<int>{512, 256, 128})
      .require("a column of C fills more than half a vector, or the vector is the narrowest",
               [=](const C& c) { return c.vector_bits == 128 || column_bits * 2 > c.vector_bits; })
      .axis(&C::tail, isa == Isa::avx2
                          ? std::vector<Tail>{Tail::mask, Tail::split, Tail::narrow, Tail::overlap}
                          : std::vector<Tail>{Tail::mask, Tail::narrow, Tail::overlap})
      .require("the kind of tail changes the row vectors",
               [=](const C& c) { return tail_matters(problem, c); })
      .axis(&C::mr, {1, 2, 3, 4, 5, 6, 7, 8})
      .require("mr is the size of an even split of the row vectors",
               [=](const C& c) {
                 const auto count = std::int64_t(columns::make_tile(problem, c).pieces.size());
                 return columns::even_split(count, c.mr).front() == c.mr;
               })
      .require("row vectors that overlap lie in one register block when C is read",
               [=](const C& c) { return overlap_within_block(problem, c); });
}

void block_axes(ConfigSpace& space, const GemmProblem& problem) {
  std::vector<int> columns_per_block;
  for (int nr = 1; nr <= std::min<std::int64_t>(problem.n, 28); ++nr)
    if (columns::even_split(problem.n, nr).front() == nr) columns_per_block.push_back(nr);
  std::vector<int> unroll{0};
  for (const int steps : {2, 4, 8, 16})
    if (steps < problem.k) unroll.push_back(steps);
  space.axis(&C::nr, columns_per_block)
      .axis(&C::k_sets, {1, 2, 3, 4})
      .require("each set of accumulators gets a k step", [=](const C& c) { return c.k_sets <= problem.k; })
      .axis(&C::hold, {Hold::a, Hold::b, Hold::all_a, Hold::both, Hold::none})
      .require("problems side by side hold a, b, both or none; others a, b or all_a",
               [](const C& c) {
                 if (c.matrices_per_vector == 0) return c.hold != Hold::all_a;
                 return c.hold != Hold::both && c.hold != Hold::none;
               })
      .axis(&C::c_load, {CLoad::late, CLoad::early, CLoad::ahead})
      .require("C is read at all",
               [=](const C& c) { return c.c_load == CLoad::late || problem.beta != Scalar::zero; })
      .require("C read early is added unscaled: real, alpha = beta = 1",
               [=](const C& c) {
                 return c.c_load != CLoad::early ||
                        (problem.alpha == Scalar::one && problem.beta == Scalar::one &&
                         !is_complex(problem.dtype));
               })
      .require("registers hold accumulators, operands and the C that is loaded ahead", [=](const C& c) {
        const Tile tile = columns::make_tile(problem, c);
        return columns::loop_registers(tile, problem, c) <= tile.register_count &&
               columns::update_registers(tile, problem, c) <= tile.register_count;
      });
  space.axis(&C::k_unroll, unroll)
      .require("unrolling is a multiple of the sets of accumulators",
               [](const C& c) { return c.k_unroll % c.k_sets == 0; })
      .require("the code fits its buffer",
               [=](const C& c) {
                 return columns::make_tile(problem, c).code_instructions <= columns::code_instruction_limit;
               })
      .require("holding all of A takes the whole k at once and loads at most one column of C ahead",
               [=](const C& c) {
                 return c.hold != Hold::all_a ||
                        (c.k_unroll == 0 && columns::make_tile(problem, c).ahead_columns <= 1);
               })
      .require("C loaded ahead needs straight-line columns and an A that is not packed", [=](const C& c) {
        return c.c_load != CLoad::ahead ||
               (problem.op_a == Op::none && !columns::make_tile(problem, c).loop_columns);
      });
}

void memory_axes(ConfigSpace& space, const GemmProblem& problem) {
  space.axis(&C::k_per_vector, {1, 2, 4})
      .require("a vector holds this many k steps of A, or one", [=](const C& c) {
        return c.k_per_vector == 1 ||
               (c.matrices_per_vector == 1 && c.k_per_vector == columns::k_steps_per_vector(problem, c.isa));
      });
  space.axis(&C::store, {Store::plain, Store::non_temporal, Store::non_temporal_direct})
      .require("non-temporal stores write a contiguous C that is not read",
               [=](const C& c) {
                 return c.store == Store::plain || (problem.beta == Scalar::zero && packed_c(problem) &&
                                                    problem.layout == Layout::strided);
               })
      .require("stores straight past the caches write whole vectors of problems that are whole lines",
               [=](const C& c) {
                 const std::int64_t column_bytes = problem.m * size_bytes(problem.dtype);
                 return c.store != Store::non_temporal_direct ||
                        (c.matrices_per_vector == 1 && c.k_per_vector == 1 && c.vector_bits >= 256 &&
                         column_bytes % (c.vector_bits / 8) == 0 && column_bytes * problem.n % 64 == 0);
               })
      .axis(&C::prefetch_bytes, {0, 1024, 2048, 4096, 8192, 12288, 16384})
      .axis(&C::prefetch_a, {true, false})
      .axis(&C::prefetch_b, {true, false})
      .axis(&C::prefetch_c, {true, false})
      .axis(&C::prefetch_schedule, {PrefetchSchedule::spread, PrefetchSchedule::burst})
      .require("prefetch settings are left alone when nothing is prefetched", [](const C& c) {
        return c.prefetch_bytes > 0 || (c.prefetch_a && c.prefetch_b && c.prefetch_c &&
                                        c.prefetch_schedule == PrefetchSchedule::spread);
      });
}

// Enough independent accumulators to cover the latency of a multiply-add on two ports.
constexpr int accumulators_wanted = 8;
// Longer bodies of the k loop gain nothing and cost instruction cache.
constexpr std::int64_t body_limit = 350;

C default_rows(const GemmProblem& problem, Isa isa) {
  C config{.isa = isa};
  const std::int64_t column_bits = problem.m * size_bytes(problem.dtype) * 8;
  config.vector_bits = isa == Isa::avx512 ? 512 : 256;
  while (config.vector_bits > 128 && column_bits * 2 <= config.vector_bits) config.vector_bits /= 2;
  config.tail = Tail::mask;
  const auto masked = pieces_with(problem, config, Tail::mask);
  if (masked.back().masked && masked.size() > 1) config.tail = Tail::overlap;
  return config;
}

bool short_of_body(const GemmProblem& problem, const C& config) {
  const std::int64_t step =
      config.mr * config.nr * (is_complex(problem.dtype) ? 2 : 1) + config.nr + config.mr;
  return step * problem.k <= body_limit || problem.k <= 4;
}

// Unrolls the whole k if it is short, else four steps.
void default_unroll(const GemmProblem& problem, C& config) {
  config.k_unroll = short_of_body(problem, config) ? 0 : 4;
  if (problem.k > 4 &&
      columns::make_tile(problem, config).code_instructions > columns::code_instruction_limit)
    config.k_unroll = 4;
}

void default_block(const GemmProblem& problem, C& config) {
  const int limit = config.isa == Isa::avx512 ? 4 : 2;
  const auto pieces = std::int64_t(columns::make_tile(problem, config).pieces.size());
  config.mr = columns::even_split(pieces, limit).front();
  if (!overlap_within_block(problem, config)) config.mr = columns::even_split(pieces, limit + 1).front();
  if (!overlap_within_block(problem, config)) {
    config.tail = Tail::narrow;
    config.mr =
        columns::even_split(std::int64_t(columns::make_tile(problem, config).pieces.size()), limit).front();
  }
  const auto fits = [&] {
    const Tile tile = columns::make_tile(problem, config);
    return columns::loop_registers(tile, problem, config) <= tile.register_count &&
           columns::update_registers(tile, problem, config) <= tile.register_count;
  };
  // One vector of rows leaves registers for twice the columns, so that A is loaded once for all of them.
  const std::int64_t most_columns = config.mr == 1 ? 16 : 8;
  for (int nr = int(std::min(problem.n, most_columns)); nr >= 1; --nr) {
    config.nr = columns::even_split(problem.n, nr).front();
    if (fits()) break;
  }
  const int accumulators = config.mr * config.nr * (is_complex(problem.dtype) ? 2 : 1);
  for (const int sets : {2, 4}) {
    C more = config;
    more.k_sets = sets;
    std::swap(more, config);
    if (accumulators * (sets / 2) >= accumulators_wanted || problem.k < 4 * sets || !fits())
      std::swap(more, config);
  }
  default_unroll(problem, config);
}

// AVX2's default: the first of the cheapest blocks by the model.
class CheapestBlock {
 public:
  CheapestBlock(const GemmProblem& problem, const C& rows) : problem_(problem), best_(rows) {
    const bool early = problem.alpha == Scalar::one && problem.beta == Scalar::one;
    best_.c_load = early && !is_complex(problem.dtype) ? CLoad::early : CLoad::late;
    for (const Tail tail : {Tail::mask, Tail::split, Tail::overlap, Tail::narrow}) {
      C config = best_;
      config.tail = tail;
      const bool stores_by_mask = tail == Tail::mask && columns::make_tile(problem, config).masked;
      if (!stores_by_mask && tail_matters(problem, config)) try_rows(config);
    }
  }
  C config() const {
    C config = best_;
    default_unroll(problem_, config);
    if (config.k_unroll % config.k_sets != 0) config.k_sets = 1;
    return config;
  }

 private:
  void try_rows(C config) {
    Tile tile = columns::make_tile(problem_, config);
    const auto pieces = std::int64_t(tile.pieces.size());
    for (int mr = 1; mr <= std::min<std::int64_t>(pieces, most_rows); ++mr) {
      config.mr = mr;
      tile.row_blocks = columns::even_split(pieces, mr);
      if (tile.row_blocks.front() != mr || !overlap_within_block(problem_, config)) continue;
      for (int nr = int(std::min<std::int64_t>(problem_.n, 16)); nr >= 1; --nr) {
        config.nr = nr;
        tile.col_blocks = columns::even_split(problem_.n, nr);
        if (tile.col_blocks.front() == nr) try_loops(config, tile);
      }
    }
  }
  // Holds A if the registers allow it, else B: the model sees no difference.
  void try_loops(C config, const Tile& tile) {
    for (const int sets : {1, 2, 3, 4}) {
      config.k_sets = sets;
      config.k_unroll = short_of_body(problem_, config) ? 0 : 4;
      if (sets > problem_.k || config.k_unroll % sets != 0 ||
          columns::update_registers(tile, problem_, config) > tile.register_count)
        continue;
      for (const Hold hold : {Hold::a, Hold::b}) {
        config.hold = hold;
        if (columns::loop_registers(tile, problem_, config) > tile.register_count) continue;
        const double cycles = columns::block_cycles(problem_, tile, config);
        if (cycles < 0.999 * least_) least_ = cycles, best_ = config;
        break;
      }
    }
  }

  static constexpr int most_rows = 6;
  const GemmProblem& problem_;
  C best_;
  double least_ = std::numeric_limits<double>::infinity();
};

// AVX2 permutes one vector at a time: problems side by side pay only if whole columns of A are broadcast and
// whole columns of C fill the vectors.
bool permutes_little(const GemmProblem& problem) {
  const std::int64_t column_bytes = problem.m * size_bytes(problem.dtype);
  return (column_bytes == 8 || column_bytes == 16) && column_bytes * problem.n % 16 == 0;
}

// The load itself broadcasts columns of A of 32 bytes; registers permute others faster. Long periods of a
// batch in memory make it wait.
void prefer_side_by_side(const GemmProblem& problem, const ConfigSpace& space, C& config) {
  if (problem.m * problem.n > (problem.residency == Residency::cold ? 16 : 25)) return;
  if (config.isa == Isa::avx2 && !permutes_little(problem)) return;
  C other = config;
  other.matrices_per_vector = 0;
  const bool broadcasts = config.isa == Isa::avx2 || problem.m * size_bytes(problem.dtype) == 32;
  other.hold = broadcasts ? Hold::b : Hold::both;
  if (space.contains(other)) config = other;
}

// Sets a member if problem and space allow it.
template <class M>
void prefer(const ConfigSpace& space, C& config, M C::*member, M value) {
  C other = config;
  other.*member = value;
  if (space.contains(other)) config = other;
}

// For AVX-512, whose blocks do not come from the model.
void prefer_loads_ahead(const GemmProblem& problem, const ConfigSpace& space, C& config) {
  if (columns::make_tile(problem, config).masked) prefer(space, config, &C::c_load, CLoad::ahead);
}

// Holding all of A was three times slower for complex kernels, which keep a swapped copy of it too. With
// columns of one masked vector it was five times slower: the old C is then not read ahead of earlier stores,
// and a masked store is not forwarded to an overlapping load.
void prefer_all_of_a(const GemmProblem& problem, const ConfigSpace& space, C& config) {
  const columns::Tile tile = columns::make_tile(problem, config);
  const bool waits_for_stores = tile.masked && problem.beta != Scalar::zero &&
                                problem.m * size_bytes(problem.dtype) * 8 <= config.vector_bits;
  if (problem.k <= 4 && !is_complex(problem.dtype) && !waits_for_stores)
    prefer(space, config, &C::hold, Hold::all_a);
}

void prefer_for_memory(const GemmProblem& problem, const ConfigSpace& space, C& config) {
  // Masked columns of C make neighbouring problems share lines, which hardware prefetches too late.
  if (problem.residency == Residency::l2 && columns::make_tile(problem, config).masked)
    prefer(space, config, &C::prefetch_bytes, 2048);
  if (problem.residency != Residency::cold) return;
  prefer(space, config, &C::prefetch_bytes, 8192);
  prefer(space, config, &C::store, Store::non_temporal);
  prefer(space, config, &C::store, Store::non_temporal_direct);
}

// With data in cache only the shape of the register block matters.
void narrow_to_hot(ConfigSpace& space, const GemmProblem& problem, const C& base) {
  const int parts = is_complex(problem.dtype) ? 2 : 1;
  const bool early = columns_space(problem, base.isa).contains([&] {
    C config = base;
    config.c_load = CLoad::early;
    return config;
  }());
  space
      .require("hot: the widest vectors that fit, or half of them",
               [=](const C& c) { return c.vector_bits * 2 >= base.vector_bits; })
      .require("hot: enough columns per block",
               [=](const C& c) { return c.nr == base.nr || (c.nr >= 3 && c.nr * c.mr * parts >= 5); })
      .require("hot: B in registers pays from two row vectors on",
               [](const C& c) { return c.hold != Hold::b || c.mr > 1 || c.matrices_per_vector == 0; })
      .require("hot: one set of accumulators, or few enough",
               [=](const C& c) {
                 return c.k_sets == 1 || c.k_sets == base.k_sets || c.k_sets * c.nr * c.mr * parts <= 16;
               })
      .require("hot: C is read early where it can be",
               [=](const C& c) { return c.c_load == base.c_load || !early || c.c_load != CLoad::late; })
      .require("hot: nothing is streamed, and prefetched at most from the second cache, all operands",
               [=](const C& c) {
                 const bool near =
                     c.prefetch_bytes == 0 || (problem.residency != Residency::l1 &&
                                               (c.prefetch_bytes == 1024 || c.prefetch_bytes == 2048));
                 return near && c.prefetch_a && c.prefetch_b && c.prefetch_c && c.store == Store::plain &&
                        c.prefetch_schedule == PrefetchSchedule::spread;
               });
}

// With data in memory, prefetches and stores matter, around the default block.
void narrow_to_cold(ConfigSpace& space, const C& base) {
  space
      .require("cold: the default block",
               [=](const C& c) {
                 return c.mr == base.mr && c.tail == base.tail && c.vector_bits == base.vector_bits &&
                        c.nr == base.nr && c.k_sets == base.k_sets &&
                        (c.hold == base.hold || c.matrices_per_vector == 0);
               })
      .require("cold: all operands are prefetched, spread over the loop", [](const C& c) {
        return c.prefetch_a && c.prefetch_b && c.prefetch_c &&
               c.prefetch_schedule == PrefetchSchedule::spread;
      });
}

}  // namespace

Space<GemmSmallCpuConfig> columns_space(const GemmProblem& problem, Isa isa) {
  ConfigSpace space;
  row_axes(space, problem, isa);
  block_axes(space, problem);
  memory_axes(space, problem);
  columns_sum_axes(space, problem);
  return space;
}

GemmSmallCpuConfig columns_default(const GemmProblem& problem, Isa isa) {
  C config = default_rows(problem, isa);
  if (problem.sums != Sums::none) return columns_sum_default(problem, config);
  const auto space = columns_space(problem, isa);
  if (isa == Isa::avx2) {
    config = CheapestBlock(problem, config).config();
    prefer_side_by_side(problem, space, config);
  } else {
    default_block(problem, config);
    prefer_loads_ahead(problem, space, config);
    prefer_side_by_side(problem, space, config);
    prefer_all_of_a(problem, space, config);
    // For short columns and long k, several steps of k fill the vector.
    if (problem.k >= 16) prefer(space, config, &C::k_per_vector, columns::k_steps_per_vector(problem, isa));
    if (config.k_per_vector > 1) prefer(space, config, &C::k_sets, 2);
  }
  prefer_for_memory(problem, space, config);
  return config;
}

Space<GemmSmallCpuConfig> columns_search(const GemmProblem& problem, Isa isa) {
  const C base = columns_default(problem, isa);
  ConfigSpace space;
  row_axes(space, problem, isa);
  block_axes(space, problem);
  space.require("unrolling worth trying", [=](const C& c) {
    return c.k_unroll == base.k_unroll || c.k_unroll == 0 || c.k_unroll == 4;
  });
  if (problem.residency == Residency::cold)
    space.require("cold: the default rows",
                  [=](const C& c) { return c.mr == base.mr && c.nr == base.nr && c.tail == base.tail; });
  memory_axes(space, problem);
  columns_sum_axes(space, problem);
  space.require("problems side by side leave little to the block", [=](const C& c) {
    C plain = c;
    plain.matrices_per_vector = base.matrices_per_vector;
    plain.hold = base.hold;
    plain.prefetch_bytes = base.prefetch_bytes;
    plain.store = base.store;
    return c.matrices_per_vector == 1 || plain == base;
  });
  if (problem.residency == Residency::cold)
    narrow_to_cold(space, base);
  else
    narrow_to_hot(space, problem, base);
  return space;
}

}  // namespace tilewright
