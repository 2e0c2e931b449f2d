// The plans of the portable kernels: sizes, steps and tile functions of a bound problem, filled by the two
// sources that Highway compiles per instruction set (columns, interleaved). Steps count real numbers: a
// complex element is two.
#pragma once

// AVX3_DL: Highway 1.0.3 stops with #error under -march=native, and AVX3 suffices. SSSE3: SSE4 or the plain
// fallback serve those CPUs. SVE, RVV: their vectors have no compile-time size for the arrays of a register
// block; 64-bit Arm uses NEON.
#undef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS \
  (HWY_AVX3_DL | HWY_SSSE3 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)

// The plain fallback with 128-bit vectors. Under GCC before 12.3 Highway replaces it by one-lane vectors,
// which hold no complex number, for a bug in integer products (GCC PR 106322), which are not used.
#undef HWY_BROKEN_EMU128
#define HWY_BROKEN_EMU128 0

#include <array>
#include <cstdint>

#include "kernel/gemm_small_cpu/parts.hpp"

namespace tilewright {

inline constexpr int portable_max_mr = 4;
inline constexpr int portable_max_nr = 8;

// The instruction set that Highway selected for this machine.
struct PortableTarget {
  int vector_bytes = 16;
  int registers = 16;
};
PortableTarget portable_target();

// True if registers hold a block's accumulators (two per complex element), an A vector per row and a B value.
constexpr bool portable_tile_fits(int mr, int nr, int parts, int registers) {
  return parts * mr * nr + mr + 1 <= registers;
}
constexpr bool portable_slot_tile_fits(int mr, int nr, int parts, int registers) {
  return parts * mr * nr + parts * mr + 1 <= registers;
}

// alpha and beta of one problem, and its k: 0 if alpha is zero, so that A and B stay unread.
template <class Real>
struct PortableScalars {
  Real alpha[2] = {1, 0};
  Real beta[2] = {0, 0};
  Scalar alpha_kind = Scalar::one;
  Scalar beta_kind = Scalar::zero;
  std::int64_t k = 0;
};

// The distances by which a register block of C walks through its matrices, and how it ends. Steps of op(A)
// are those of A or of its packed copy.
struct PortableSteps {
  std::int64_t a_k = 0;  // from one k to the next
  std::int64_t b_k = 0;
  std::int64_t b_n = 0;
  std::int64_t ldc = 0;
  std::int64_t tail = 0;   // lanes in the last vector of the last rows; 0 = it is whole
  bool minus_i = false;    // sums combine to a*re(b) - i a*im(b) instead of + (B conjugated, or A but not B)
  bool conjugate = false;  // and the result is conjugated
};

// Computes one register block of C.
using PortableTile = void (*)(const PortableSteps& steps, const void* a, const void* b, void* c,
                              const void* scalars);

// Single, strided and pointer problems: vectors along the rows of C.
struct PortableColumns : PortableSteps {
  Layout layout = Layout::single;
  Sums sums = Sums::none;
  Scalar alpha = Scalar::one;
  Scalar beta = Scalar::zero;
  std::int64_t rows = 0;  // of C, in reals
  std::int64_t columns = 0;
  std::int64_t k = 0;
  std::int64_t lda = 0;         // of A as stored
  std::int64_t panel_rows = 0;  // reals in one whole block
  std::int64_t panel_columns = 0;
  bool pack_a = false;  // op(A) is first copied to a buffer with whole vectors per column
  bool transpose_a = false;
  std::array<std::array<PortableTile, 2>, 2> tiles{};  // [last rows][last columns]
  void (*run)(const PortableColumns&, const GemmSmallCpuArguments&) = nullptr;
};

// One product of sizes from 1 to 64 as it is called. alpha is not zero.
struct PortableProduct {
  Op op_a, op_b;
  Scalar alpha_kind, beta_kind;
  std::int64_t m, n, k;
  std::int64_t lda, ldb, ldc;  // of the matrices as stored, in elements
  const void *alpha, *a, *b, *beta;
  void* c;
};

// Rows or columns cut into blocks of nearly equal size, because a partial one costs as much as a whole one.
struct PortableCut {
  std::uint8_t each = 1, last = 1;
};
// The cuts into the largest blocks that the registers hold: rows by vectors of the matrix, and by the rows of
// a block in vectors, less one, columns by those of the matrix. Tables, because divisions take long.
struct PortableCuts {
  static constexpr std::size_t sizes = gemm_small_cpu_limit + 1;
  std::array<PortableCut, sizes> rows{};
  std::array<std::array<PortableCut, sizes>, portable_max_mr> columns{};
};

// The tiles of this machine's instruction set for one element type.
struct PortableTiles {
  std::int64_t lanes = 1;      // reals in a vector
  bool masked_memory = false;  // false: partial vectors are read whole, from a packed copy
  const PortableTile* all = nullptr;
  const PortableCuts* cuts = nullptr;
  decltype(PortableColumns::run) run = nullptr, run_packed = nullptr;
  // Runs a product without a plan, with little stack. Returns false if its packed copy would need more.
  bool (*run_one)(const PortableProduct&) = nullptr;

  PortableTile at(int mr, int nr, bool partial) const {
    return all[((mr - 1) * portable_max_nr + nr - 1) * 2 + partial];
  }
};
const PortableTiles& portable_tiles(DType dtype);

// Register blocks of C: of vectors of rows, and of columns.
struct PortableBlocks {
  PortableCut rows, columns;
};
PortableBlocks portable_blocks(const GemmProblem& problem, int mr, int nr);
// Returns the blocks of `cuts`.
PortableBlocks portable_blocks(const GemmProblem& problem);

struct PortableSlots;
using PortableSlotTile = void (*)(const PortableSlots& plan, const void* a, const void* b, void* c,
                                  const void* scalars, std::int64_t count);

// Interleaved and block-interleaved problems: vectors along the problems of a block.
struct PortableSlots {
  Scalar alpha = Scalar::one;
  Scalar beta = Scalar::zero;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t k = 0;
  std::int64_t block = 0;
  std::int64_t a_m = 0;  // from one row of op(A) to the next, and so on
  std::int64_t a_k = 0;
  std::int64_t b_k = 0;
  std::int64_t b_n = 0;
  std::int64_t c_m = 0;
  std::int64_t c_n = 0;
  std::int64_t panel_rows = 0;
  std::int64_t panel_columns = 0;
  bool minus_i = false;
  bool conjugate = false;
  using Tiles = std::array<std::array<PortableSlotTile, 2>, 2>;  // [last rows][last columns]
  std::array<Tiles, 2> tiles{};                                  // [fewer problems than a vector holds]
  void (*run)(const PortableSlots&, const GemmSmallCpuArguments&) = nullptr;
};

// Fill in what depends on the instruction set. The config must be a point of portable_space.
PortableColumns bind_portable_columns(const GemmProblem& problem, const PortableBlocks& blocks);
PortableSlots bind_portable_slots(const GemmProblem& problem, const GemmSmallCpuConfig& config);

// alpha or beta as the reals of problem `index`; a kind that needs no value keeps the one in `out`.
template <class Real>
Scalar portable_scalar(Scalar kind, const void* values, std::int64_t stride, std::int64_t index, bool complex,
                       Real (&out)[2]) {
  if (kind != Scalar::general) {
    out[0] = kind == Scalar::one ? Real(1) : Real(0);
    out[1] = 0;
    return kind;
  }
  const auto* value = reinterpret_cast<const Real*>(static_cast<const char*>(values) + index * stride);
  out[0] = value[0];
  out[1] = complex ? value[1] : Real(0);
  if (out[1] != 0) return Scalar::general;
  return out[0] == 0 ? Scalar::zero : out[0] == 1 ? Scalar::one : Scalar::general;
}

}  // namespace tilewright
