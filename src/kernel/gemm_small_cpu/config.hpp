// The config of batched small GEMM on the CPU: one point of its search space. It says HOW a problem is
// computed and nothing about which; the same struct serves strided, pointer and interleaved batches.
#pragma once

#include "core/fields.hpp"

namespace tilewright {

enum class Isa : std::uint8_t { portable, avx2, avx512 };
// How the rows beyond the last whole vector are handled: in a vector of which a mask hides the rest, in the
// same with stores of its parts (AVX2: masked stores are slow on some processors, and none is forwarded to
// the next load), in narrower vectors, or in one that covers rows a second time.
enum class Tail : std::uint8_t { mask, split, narrow, overlap };
// Which operand of the multiply-add is held in registers while the other comes from memory: the rows of A or
// the columns of B of one k step, or all of A's rows of the block for the whole k while the columns of C pass
// one by one. Where whole problems lie side by side in a vector: whose whole vectors are loaded once and then
// permuted, A's, B's, both, or none (every permutation reads memory).
enum class Hold : std::uint8_t { a, b, all_a, both, none };
// When C is read: before the k loop, after it, or one problem ahead of the store.
enum class CLoad : std::uint8_t { early, late, ahead };
// How C is written: ordinary stores, or past the caches, through a line buffer (any size) or straight from
// the registers (columns of whole vectors; the line buffer serves a C that is not aligned to lines).
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
  int prefetch_bytes = 0;  // how far ahead in each stream the next problems are prefetched; 0 = never
  bool prefetch_a = true;
  bool prefetch_b = true;
  bool prefetch_c = true;
  PrefetchSchedule prefetch_schedule = PrefetchSchedule::spread;
  // Sums into one C: products that one register block takes before the next block does; 0 = all of the run.
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
