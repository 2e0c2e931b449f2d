// The computation of one product of compile-time size by small.hpp: the config, the rule that picks it from
// the problem and the instruction set of the translation unit, and the division of the rows into vectors.
// Arithmetic at compile time only: it generates no code and knows no element type.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace tilewright::small {

// The instructions that the translation unit may use, from the caller's flags.
struct Isa {
  int vector_bytes = 16;  // widest vector
  int registers = 16;     // vector registers
  bool masks = false;     // loads and stores of the first lanes of a vector (AVX-512VL)

  friend constexpr bool operator==(const Isa&, const Isa&) = default;
};

#if defined(__AVX512F__) && defined(__AVX512VL__)
inline constexpr Isa native_isa{64, 32, true};
#elif defined(__AVX__)
inline constexpr Isa native_isa{32, 16, false};
#elif defined(__aarch64__)
inline constexpr Isa native_isa{16, 32, false};
#else
inline constexpr Isa native_isa{16, 16, false};
#endif

// The treatment of rows that do not fill a widest vector.
enum class Tail : std::uint8_t {
  exact,    // narrower vectors of 1, 2, 4, ... rows that add up
  overlap,  // one vector that ends with the last row and computes some rows a second time
  mask,     // one vector whose surplus lanes are neither read nor written
};

struct Config {
  int vector_bytes = 16;
  int mr = 1;        // vectors of rows in a register block
  int nr = 1;        // columns in a register block
  int k_unroll = 1;  // steps of the k loop written out; a multiple of k_chains unless all of K is
  int k_chains = 1;  // independent sums per element of C, joined at the end
  Tail tail = Tail::exact;
  bool flat = false;  // several columns of a packed C share a vector

  friend constexpr bool operator==(const Config&, const Config&) = default;
};

// A problem in real numbers: a complex element counts as two rows of A and C and as two columns of B.
struct Shape {
  int element_bytes = 8;  // of the real type
  int m = 0;              // rows of reals
  int n = 0;              // columns of C
  int k = 0;
  int parts = 1;  // 2: complex

  friend constexpr bool operator==(const Shape&, const Shape&) = default;
};

constexpr int floor_pow2(int x) {
  int p = 1;
  while (2 * p <= x) p *= 2;
  return p;
}
constexpr int ceil_pow2(int x) {
  int p = 1;
  while (p < x) p *= 2;
  return p;
}
constexpr int ceil_div(int a, int b) { return (a + b - 1) / b; }

// A vector of `lanes` rows beginning at `row`, of which the first `valid` are the matrix's. The first
// `skip` were another block's already, which may have updated them.
struct Slice {
  int row = 0;
  int lanes = 0;
  int valid = 0;
  int skip = 0;
};

// The rows left over by the widest vectors, as at most one vector of each width.
struct TailSlices {
  std::array<Slice, 8> slice{};
  int count = 0;

  constexpr void add(Slice s) { slice[static_cast<std::size_t>(count++)] = s; }
};

constexpr TailSlices tail_slices(int m, int widest, Tail tail) {
  TailSlices out;
  int row = m / widest * widest;
  int rest = m - row;
  const int cover = ceil_pow2(rest);
  if (rest > 0 && cover != rest) {  // 1, 2, 4, ... rows fill a narrower vector exactly
    if (tail == Tail::mask) {
      out.add({row, cover, rest, 0});
      return out;
    }
    if (tail == Tail::overlap && m >= cover) {
      out.add({m - cover, cover, cover, 0});
      return out;
    }
  }
  while (rest > 0) {
    const int lanes = floor_pow2(rest);
    out.add({row, lanes, lanes, 0});
    row += lanes;
    rest -= lanes;
  }
  return out;
}

// Columns per block: as many as allowed, evenly shared among the blocks.
constexpr int even_share(int n, int most) { return ceil_div(n, ceil_div(n, most)); }

// The rule for kernels of register blocks: what the registers hold, and constants that timing found good, or
// within a few percent of the best, at n = 2 .. 32 in f32 and f64 on AVX-512 and AVX2.
constexpr Config choose_blocks(Shape s, Isa isa) {
  Config c;
  const int most_lanes = isa.vector_bytes / s.element_bytes;
  const int cover = isa.masks ? ceil_pow2(s.m) : floor_pow2(s.m);
  const int lanes = cover < most_lanes ? cover : most_lanes;
  c.vector_bytes = lanes * s.element_bytes;
  c.tail = isa.masks && s.m < most_lanes ? Tail::mask : Tail::overlap;
  const int vectors = s.m / lanes + tail_slices(s.m, lanes, c.tail).count;
  c.mr = even_share(vectors, isa.registers == 32 ? 4 : 3);

  // As many sums as leave registers for the rows of A and an element of B; columns in equal shares.
  const int most_nr = (isa.registers - c.mr - 1) / (c.mr * s.parts);
  c.nr = even_share(s.n, most_nr > 1 ? most_nr : 1);
  // One vector of rows and all of A in registers: B is best read in order, column after column.
  if (isa.masks && vectors == 1 && lanes == s.m && lanes == most_lanes && s.k <= 8 && s.parts == 1) c.nr = 1;

  // Few multiplications are written out, of many one step of k: a step of a dozen hides the loop's own
  // instructions, and more of them only take room. More sums where the block has too few to hide the latency
  // of an addition.
  const int independent = c.mr * c.nr * s.parts;
  c.k_unroll = 1;
  if (s.k * independent <= 64)
    c.k_unroll = s.k;
  else
    while (c.k_unroll < 4 && c.k_unroll * independent < 8) c.k_unroll *= 2;
  if (s.k >= 16)
    while (c.k_chains < 4 && independent * c.k_chains < 8) c.k_chains *= 2;
  if (c.k_unroll < c.k_chains) c.k_unroll = c.k_chains;
  return c;
}

// True if flat.hpp can compute it: C, as a run of lanes, is a vector or a part of one.
constexpr bool can_be_flat(Shape s, Isa isa) {
  const int bytes = s.m * s.n * s.element_bytes;
  return s.parts == 1 && s.m == s.n && s.m == s.k && (s.m == 2 || s.m == 4) && bytes >= 16 &&
         bytes <= isa.vector_bytes;
}

// The rule for op(A) = A and op(B) = B.
constexpr Config choose_config(Shape s, Isa isa) {
  Config c = choose_blocks(s, isa);
  // The permutations have one port: columns of a vector of their own go without them unless there are many.
  if (can_be_flat(s, isa) && (s.m * s.element_bytes < 16 || s.n >= 4)) {
    c.flat = true;
    c.vector_bytes = s.m * s.n * s.element_bytes;
  }
  return c;
}

}  // namespace tilewright::small
