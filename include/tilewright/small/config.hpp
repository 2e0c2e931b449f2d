// How small.hpp computes one product of compile-time size: the config, the rule that picks it from the
// problem and the instruction set of the translation unit, and the division of the rows into vectors.
// Arithmetic at compile time only: it generates no code and knows no element type.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace tilewright::small {

// What the translation unit may use, from the caller's flags.
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

// What is done with the rows that do not fill a widest vector.
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

// A vector of `lanes` rows beginning at `row`, of which the first `valid` are the matrix's.
struct Slice {
  int row = 0;
  int lanes = 0;
  int valid = 0;
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
      out.add({row, cover, rest});
      return out;
    }
    if (tail == Tail::overlap && m >= cover) {
      out.add({m - cover, cover, cover});
      return out;
    }
  }
  while (rest > 0) {
    const int lanes = floor_pow2(rest);
    out.add({row, lanes, lanes});
    row += lanes;
    rest -= lanes;
  }
  return out;
}

// Columns per block: as many as allowed, evenly shared among the blocks.
constexpr int even_share(int n, int most) { return ceil_div(n, ceil_div(n, most)); }

// The rule for kernels of register blocks. Its constants are those that timing every config found best, or
// within a few percent of it, at n = 2 .. 32 in f32 and f64 on an AVX-512 machine.
constexpr Config choose_blocks(Shape s, Isa isa) {
  Config c;
  const int most_lanes = isa.vector_bytes / s.element_bytes;
  const int cover = isa.masks ? ceil_pow2(s.m) : floor_pow2(s.m);
  const int lanes = cover < most_lanes ? cover : most_lanes;
  c.vector_bytes = lanes * s.element_bytes;
  c.tail = isa.masks && s.m < most_lanes ? Tail::mask : Tail::overlap;
  const int vectors = s.m / lanes + tail_slices(s.m, lanes, c.tail).count;
  c.mr = even_share(vectors, isa.registers == 32 ? 4 : 3);

  // All columns at once if their sums fit; else equal shares of few enough to leave registers for A and B.
  const int sums = isa.registers == 32 ? 24 : 12;
  const int most_nr = sums / (c.mr * s.parts) > 1 ? sums / (c.mr * s.parts) : 1;
  c.nr = s.n <= most_nr ? s.n : even_share(s.n, most_nr < 8 ? most_nr : 8);
  // One vector of rows and all of A in registers: B is best read in order, column after column.
  if (isa.masks && vectors == 1 && lanes == s.m && lanes == most_lanes && s.k <= 8 && s.parts == 1) c.nr = 1;

  // Short k written out; else four steps, and more sums where the block has too few to hide the latency of an
  // addition.
  c.k_unroll = s.k * c.mr <= 18 ? s.k : 4;
  const int independent = c.mr * c.nr * s.parts;
  if (s.k >= 16)
    while (c.k_chains < 4 && independent * c.k_chains < 8) c.k_chains *= 2;
  return c;
}

// The rule for op(A) = A and op(B) = B.
constexpr Config choose_config(Shape s, Isa isa) {
  Config c = choose_blocks(s, isa);
  if (s.parts == 1 && s.m == s.n && s.m == s.k && (s.m == 2 || s.m == 4)) {
    const int bytes = s.m * s.n * s.element_bytes;
    // Two vectors of C still share the permuted columns of A.
    if (bytes >= 16 && bytes <= (isa.masks ? 2 : 1) * isa.vector_bytes) {
      c.flat = true;
      c.vector_bytes = bytes < isa.vector_bytes ? bytes : isa.vector_bytes;
    }
  }
  return c;
}

}  // namespace tilewright::small
