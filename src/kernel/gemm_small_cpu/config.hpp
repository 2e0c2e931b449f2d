// The config of batched small GEMM on the CPU: strided, pointer and interleaved batches.
#pragma once

#include "core/fields.hpp"

namespace tilewright {

enum class Isa : std::uint8_t { portable, avx2, avx512 };
// The vectors of rows beyond the last whole one: masked, masked with stores of parts (on AVX2 masked stores
// are slow on some processors and never forwarded to a load), narrower, or overlapping earlier rows.
enum class Tail : std::uint8_t { mask, split, narrow, overlap };
// The multiply-add's operand in registers, while the other comes from memory: A's rows or B's columns of one
// k step, or all of A's rows of the block for the whole k. With whole problems side by side in a vector: the
// operands whose vectors are loaded once and then permuted (none: permutations read memory).
enum class Hold : std::uint8_t { a, b, all_a, both, none };
// When C is read: before the k loop, after it, or one problem ahead of the store.
enum class CLoad : std::uint8_t { early, late, ahead };
// Stores of C: ordinary, or bypassing the caches through a line buffer (any size) or from registers (columns
// of whole vectors; the line buffer serves a C that is not aligned to lines).
enum class Store : std::uint8_t { plain, non_temporal, non_temporal_direct };
enum class PrefetchSchedule : std::uint8_t { spread, burst };

struct GemmSmallCpuConfig {
  Isa isa = Isa::portable;
  int vector_bits = 512;        // 128, 256 or 512
  int mr = 1;                   // register block: vectors of rows (interleaved: rows)
  int nr = 1;                   // register block: columns
  int k_unroll = 0;             // k steps per iteration of the k loop; 0 = the whole k
  int k_sets = 1;               // independent sets of accumulators, summed after the k loop
  int k_per_vector = 1;         // k steps side by side in one vector (short columns, long k)
  int matrices_per_vector = 1;  // whole problems side by side in one vector (tiny packed matrices)
  Hold hold = Hold::a;
  Tail tail = Tail::mask;
  CLoad c_load = CLoad::late;
  Store store = Store::plain;
  int prefetch_bytes = 0;  // distance of prefetches in each stream; 0 = none
  bool prefetch_a = true;
  bool prefetch_b = true;
  bool prefetch_c = true;
  PrefetchSchedule prefetch_schedule = PrefetchSchedule::spread;
  // Sums into one C: products that a register block takes before the next block does; 0 = the whole run.
  int sum_block = 0;

  friend bool operator==(const GemmSmallCpuConfig&, const GemmSmallCpuConfig&) = default;
};

template <>
struct EnumNames<Isa> {
  static constexpr std::array value{std::pair{Isa::portable, "portable"}, std::pair{Isa::avx2, "avx2"},
                                    std::pair{Isa::avx512, "avx512"}};
};
template <>
struct EnumNames<Tail> {
  static constexpr std::array value{std::pair{Tail::mask, "mask"}, std::pair{Tail::split, "split"},
                                    std::pair{Tail::narrow, "narrow"}, std::pair{Tail::overlap, "overlap"}};
};
template <>
struct EnumNames<Hold> {
  static constexpr std::array value{std::pair{Hold::a, "a"}, std::pair{Hold::b, "b"},
                                    std::pair{Hold::all_a, "all_a"}, std::pair{Hold::both, "both"},
                                    std::pair{Hold::none, "none"}};
};
template <>
struct EnumNames<CLoad> {
  static constexpr std::array value{std::pair{CLoad::early, "early"}, std::pair{CLoad::late, "late"},
                                    std::pair{CLoad::ahead, "ahead"}};
};
template <>
struct EnumNames<Store> {
  static constexpr std::array value{std::pair{Store::plain, "plain"},
                                    std::pair{Store::non_temporal, "non_temporal"},
                                    std::pair{Store::non_temporal_direct, "non_temporal_direct"}};
};
template <>
struct EnumNames<PrefetchSchedule> {
  static constexpr std::array value{std::pair{PrefetchSchedule::spread, "spread"},
                                    std::pair{PrefetchSchedule::burst, "burst"}};
};

template <>
struct FieldList<GemmSmallCpuConfig> {
  using C = GemmSmallCpuConfig;
  static constexpr auto value = std::make_tuple(
      field("isa", &C::isa), field("vector_bits", &C::vector_bits), field("mr", &C::mr), field("nr", &C::nr),
      field("k_unroll", &C::k_unroll), field("k_sets", &C::k_sets), field("k_per_vector", &C::k_per_vector),
      field("matrices_per_vector", &C::matrices_per_vector), field("hold", &C::hold), field("tail", &C::tail),
      field("c_load", &C::c_load), field("store", &C::store), field("prefetch_bytes", &C::prefetch_bytes),
      field("prefetch_a", &C::prefetch_a), field("prefetch_b", &C::prefetch_b),
      field("prefetch_c", &C::prefetch_c), field("prefetch_schedule", &C::prefetch_schedule),
      field("sum_block", &C::sum_block));
};

}  // namespace tilewright
