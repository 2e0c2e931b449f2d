// The evidence for the rule of small/config.hpp: one size and type (TILEWRIGHT_BENCH_N, _TYPE, _LIST) under
// every config worth trying. bench_small_sweep times them beside the rule's choice; nothing here is part of
// the library.
#include "small_cases.hpp"
#include "tilewright/small.hpp"

namespace tilewright::bench {
namespace {

using T = TILEWRIGHT_BENCH_TYPE;
using small::Config;
using small::Tail;
constexpr int size = TILEWRIGHT_BENCH_N;
constexpr small::Isa isa = small::native_isa;
constexpr int bytes = sizeof(T);

template <Config C, int Beta>
struct Configured {
  static void multiply(const T* a, const T* b, T* c) {
    small::multiply_as<C, size, size, size, Op::none, Op::none, T>(1, a, size, b, size, Beta, c, size);
  }
};

std::string describe(Config c) {
  static constexpr const char* tails[] = {"exact", "overlap", "mask"};
  return "v" + std::to_string(c.vector_bytes) + " mr" + std::to_string(c.mr) + " nr" + std::to_string(c.nr) +
         " u" + std::to_string(c.k_unroll) + ' ' + (c.flat ? "flat" : tails[static_cast<int>(c.tail)]);
}

template <Config C>
void add(SmallCases& cases) {
  cases.push_back({"tilewright_config", describe(C), bytes, size, 0, walk<T, size, Configured<C, 0>>});
  cases.push_back({"tilewright_config", describe(C), bytes, size, 1, walk<T, size, Configured<C, 1>>});
}

constexpr int vectors_of(int vector_bytes, Tail tail) {
  const int lanes = vector_bytes / bytes;
  return size / lanes + small::tail_slices(size, lanes, tail).count;
}

// nr of the columns' even shares and of 4 to 8, as far as the registers go.
template <int VectorBytes, int Unroll, Tail Rest, int MostMr, int... Nr>
void add_nr(SmallCases& cases, std::integer_sequence<int, Nr...>) {
  constexpr int mr = small::even_share(vectors_of(VectorBytes, Rest), MostMr);
  auto one = [&]<int Columns>() {
    constexpr bool shared = Columns == small::even_share(size, Columns);
    if constexpr (Columns >= 1 && Columns * mr <= isa.registers - 3 &&
                  (shared || (Columns >= 4 && Columns <= 8)) && (Columns >= 3 || size <= 8))
      add<Config{VectorBytes, mr, Columns, Unroll, 1, Rest, false}>(cases);
  };
  (one.template operator()<Nr + 1>(), ...);
}
template <int VectorBytes, int Unroll, Tail Rest, int MostMr = 4>
void add_all_nr(SmallCases& cases) {
  add_nr<VectorBytes, Unroll, Rest, MostMr>(cases, std::make_integer_sequence<int, size>{});
}

template <int VectorBytes, Tail Rest>
void add_unrolls(SmallCases& cases) {
  if constexpr (size <= 20) add_all_nr<VectorBytes, size, Rest>(cases);
  if constexpr (size >= 10) add_all_nr<VectorBytes, 4, Rest>(cases);
  if constexpr (size >= 24) add_all_nr<VectorBytes, 2, Rest>(cases);
  if constexpr (size >= 24) add_all_nr<VectorBytes, 4, Rest, 2>(cases);
}

}  // namespace

SmallCases TILEWRIGHT_BENCH_LIST() {
  SmallCases cases;
  constexpr int most = isa.vector_bytes;
  constexpr int cover = small::ceil_pow2(size) * bytes;
  constexpr int rest = size % (most / bytes);
  if constexpr (cover <= most) {
    if constexpr (isa.masks || small::ceil_pow2(size) == size) add_unrolls<cover, Tail::mask>(cases);
    if constexpr (small::ceil_pow2(size) != size) add_unrolls<cover / 2, Tail::overlap>(cases);
    if constexpr (small::ceil_pow2(size) != size) add_unrolls<cover / 2, Tail::exact>(cases);
  } else {
    add_unrolls<most, Tail::overlap>(cases);
    if constexpr (isa.masks && rest != 0 && small::ceil_pow2(rest) != rest)
      add_unrolls<most, Tail::mask>(cases);
  }
  if constexpr (size == 2 || size == 4) {
    if constexpr (size * size * bytes <= most && size * size * bytes >= 16)
      add<Config{size * size * bytes, 1, 1, 1, 1, Tail::exact, true}>(cases);
    if constexpr (size * size * bytes / 2 <= most && size == 4)
      add<Config{size * size * bytes / 2, 1, 1, 1, 1, Tail::exact, true}>(cases);
  }
  return cases;
}

}  // namespace tilewright::bench
