// Portable kernels for single, strided and pointer batches, vectors along the rows of C: register blocks of
// mr vectors x nr columns are summed over k, after copying a transposed A. Compiled per instruction set.
#include <utility>

#include "core/host/fork_gate.hpp"
#include "kernel/gemm_small_cpu/portable.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernel/gemm_small_cpu/portable_columns.cpp"
#include "hwy/foreach_target.h"
// These follow foreach_target, which sets the instruction set they compile for.
#include "hwy/highway.h"
#include "kernel/gemm_small_cpu/portable_lanes.hpp"

HWY_BEFORE_NAMESPACE();
namespace tilewright {
namespace HWY_NAMESPACE {

template <class Real>
inline constexpr int lanes = static_cast<int>(hn::MaxLanes(hn::ScalableTag<Real>()));

// The first lane of vector i of a column. Where masked stores are slow, the last vector of several begins so
// early that it is whole, and computes rows of the one before it again.
template <class Real, int MR>
HWY_INLINE std::int64_t lane_of(int i, std::int64_t early) {
  return i * lanes<Real> - (i == MR - 1 ? early : 0);
}
template <bool Partial, int MR>
inline constexpr bool is_masked = Partial && !(masked_stores_are_slow && MR > 1);

// C = alpha * sum + beta * C for a block of vectors; if masked, each column's last has `tail` lanes. All of C
// is read before any of it is written.
template <bool Complex, bool Masked, int MR, int NR, class D, class V = hn::VFromD<D>,
          class Real = hn::TFromD<D>>
HWY_INLINE void update(D d, V (&sum)[NR][MR], Real* c, std::int64_t ldc, const PortableScalars<Real>& x,
                       std::int64_t tail, std::int64_t early) {
  if (x.alpha_kind != Scalar::one) {
    const V re = hn::Set(d, x.alpha[0]), im = hn::Set(d, x.alpha[1]);
#pragma GCC unroll 32
    for (int e = 0; e < MR * NR; ++e) sum[e / MR][e % MR] = scaled<Complex>(d, sum[e / MR][e % MR], re, im);
  }
  if (x.beta_kind != Scalar::zero) {
    const V re = hn::Set(d, x.beta[0]), im = hn::Set(d, x.beta[1]);
#pragma GCC unroll 32
    for (int e = 0; e < MR * NR; ++e) {
      const Real* from = c + e / MR * ldc + lane_of<Real, MR>(e % MR, early);
      V old = Masked && e % MR == MR - 1 ? load_first(d, from, tail) : hn::LoadU(d, from);
      // Does not multiply by one: (1 + 0i) * inf would have a NaN part.
      if (!Complex || x.beta_kind != Scalar::one) old = scaled<Complex>(d, old, re, im);
      sum[e / MR][e % MR] = hn::Add(sum[e / MR][e % MR], old);
    }
  }
#pragma GCC unroll 32
  for (int e = 0; e < MR * NR; ++e)
    if (!Masked || e % MR < MR - 1)
      hn::StoreU(sum[e / MR][e % MR], d, c + e / MR * ldc + lane_of<Real, MR>(e % MR, early));
  if constexpr (Masked) {
    V last[NR];
#pragma GCC unroll 8
    for (int j = 0; j < NR; ++j) last[j] = sum[j][MR - 1];
    store_firsts(last, d, c + (MR - 1) * lanes<Real>, ldc, tail);
  }
}

// One register block: MR vectors x NR columns; if Partial, the last vector of rows has steps.tail lanes.
template <class Real, bool Complex, int MR, int NR, bool Partial>
void tile(const PortableSteps& steps, const void* a_block, const void* b_block, void* c_block,
          const void* scalars) {
  constexpr int parts = Complex ? 2 : 1;
  constexpr bool masked = is_masked<Partial, MR>;
  const hn::ScalableTag<Real> d;
  using V = hn::VFromD<decltype(d)>;
  const auto* a = static_cast<const Real*>(a_block);
  const auto& x = *static_cast<const PortableScalars<Real>*>(scalars);
  const std::int64_t a_k = steps.a_k, b_k = steps.b_k, tail = steps.tail;
  const std::int64_t early = Partial && !masked ? lanes<Real> - tail : 0;

  V sum[NR * parts][MR];
  const Real* b[NR];
#pragma GCC unroll 8
  for (int j = 0; j < NR; ++j) {
    b[j] = static_cast<const Real*>(b_block) + j * steps.b_n;
#pragma GCC unroll 8
    for (int i = 0; i < MR * parts; ++i) sum[j * parts + i / MR][i % MR] = hn::Zero(d);
  }

  for (std::int64_t p = 0, at = 0; p < x.k; ++p, at += b_k, a += a_k) {
    V left[MR];
#pragma GCC unroll 8
    for (int i = 0; i < MR; ++i)
      left[i] = masked && masked_memory && i == MR - 1 ? load_first(d, a + i * lanes<Real>, tail)
                                                       : hn::LoadU(d, a + lane_of<Real, MR>(i, early));
#pragma GCC unroll 16
    for (int j = 0; j < NR * parts; ++j) {
      const V right = hn::Set(d, b[j / parts][at + j % parts]);
#pragma GCC unroll 8
      for (int i = 0; i < MR; ++i) sum[j][i] = hn::MulAdd(left[i], right, sum[j][i]);
    }
  }

  auto* c = static_cast<Real*>(c_block);
  if constexpr (Complex) {
    V product[NR][MR];
#pragma GCC unroll 32
    for (int e = 0; e < MR * NR; ++e)
      product[e / MR][e % MR] =
          combine(d, sum[e / MR * 2][e % MR], sum[e / MR * 2 + 1][e % MR], steps.minus_i, steps.conjugate);
    update<Complex, masked, MR, NR>(d, product, c, steps.ldc, x, tail, early);
  } else {
    update<Complex, masked, MR, NR>(d, sum, c, steps.ldc, x, tail, early);
  }
}

template <class Real, bool Complex, int Index>
constexpr PortableTile tile_at() {
  constexpr int partial = Index % 2, nr = Index / 2 % portable_max_nr + 1,
                mr = Index / 2 / portable_max_nr + 1;
  if constexpr (portable_tile_fits(mr, nr, Complex ? 2 : 1, vector_registers))
    return &tile<Real, Complex, mr, nr, partial != 0>;
  else
    return nullptr;
}
template <class Real, bool Complex, int... Index>
const PortableTile* tile_table(std::integer_sequence<int, Index...>) {
  static constexpr PortableTile table[] = {tile_at<Real, Complex, Index>()...};
  return table;
}

// ---- op(A) copied to a buffer: element (i, p) at to[p * ld + i] ----

// Bytes moved together: a real or complex number.
template <int Bytes>
struct Element {
  unsigned char bytes[Bytes];
};

// A square of `side` x `side` elements transposed: 4 x 4 of 4 bytes, 2 x 2 of 8.
HWY_INLINE void transpose_square(const Element<4>* from, std::int64_t ld_from, Element<4>* to,
                                 std::int64_t ld_to) {
  const hn::FixedTag<std::uint32_t, 4> d;
  const auto row = [&](std::int64_t i) HWY_ATTR {
    return hn::LoadU(d, reinterpret_cast<const std::uint32_t*>(from + i * ld_from));
  };
  const auto put = [&](auto v, std::int64_t i)
                       HWY_ATTR { hn::StoreU(v, d, reinterpret_cast<std::uint32_t*>(to + i * ld_to)); };
  const auto r0 = row(0), r1 = row(1), r2 = row(2), r3 = row(3);
  const auto low02 = hn::InterleaveLower(d, r0, r2), low13 = hn::InterleaveLower(d, r1, r3);
  const auto high02 = hn::InterleaveUpper(d, r0, r2), high13 = hn::InterleaveUpper(d, r1, r3);
  put(hn::InterleaveLower(d, low02, low13), 0);
  put(hn::InterleaveUpper(d, low02, low13), 1);
  put(hn::InterleaveLower(d, high02, high13), 2);
  put(hn::InterleaveUpper(d, high02, high13), 3);
}
HWY_INLINE void transpose_square(const Element<8>* from, std::int64_t ld_from, Element<8>* to,
                                 std::int64_t ld_to) {
  const hn::FixedTag<std::uint64_t, 2> d;
  const auto r0 = hn::LoadU(d, reinterpret_cast<const std::uint64_t*>(from));
  const auto r1 = hn::LoadU(d, reinterpret_cast<const std::uint64_t*>(from + ld_from));
  hn::StoreU(hn::InterleaveLower(d, r0, r1), d, reinterpret_cast<std::uint64_t*>(to));
  hn::StoreU(hn::InterleaveUpper(d, r0, r1), d, reinterpret_cast<std::uint64_t*>(to + ld_to));
}
HWY_INLINE void transpose_square(const Element<16>* from, std::int64_t, Element<16>* to, std::int64_t) {
  *to = *from;
}

// Copies `count` rows of op(A), each contiguous in A as stored.
template <int Bytes>
void pack_transposed(const Element<Bytes>* a, std::int64_t lda, std::int64_t m, std::int64_t k,
                     Element<Bytes>* to, std::int64_t ld) {
  constexpr std::int64_t side = 16 / Bytes;
  const std::int64_t m_whole = m / side * side, k_whole = k / side * side;
  for (std::int64_t i = 0; i < m_whole; i += side) {
    for (std::int64_t p = 0; p < k_whole; p += side)
      transpose_square(a + i * lda + p, lda, to + p * ld + i, ld);
    for (std::int64_t p = k_whole; p < k; ++p)
      for (std::int64_t s = i; s < i + side; ++s) to[p * ld + s] = a[s * lda + p];
  }
  for (std::int64_t i = m_whole; i < m; ++i)
    for (std::int64_t p = 0; p < k; ++p) to[p * ld + i] = a[i * lda + p];
}

// Copies op(A), of `rows` x `k` reals, to `to` with a_k reals from one k to the next.
template <class Real, bool Complex>
HWY_INLINE void pack(const Real* a, std::int64_t lda, bool transpose, std::int64_t rows, std::int64_t k,
                     Real* to, std::int64_t a_k) {
  if (transpose) {
    constexpr int parts = Complex ? 2 : 1;
    using E = Element<static_cast<int>(sizeof(Real)) * parts>;
    pack_transposed(reinterpret_cast<const E*>(a), lda / parts, rows / parts, k, reinterpret_cast<E*>(to),
                    a_k / parts);
  } else {
    for (std::int64_t p = 0; p < k; ++p)
      for (std::int64_t i = 0; i < rows; ++i) to[p * a_k + i] = a[p * lda + i];
  }
  // Whole vectors are read from here on: garbage of the stack could be slow to multiply (denormals, NaN).
  if (!masked_memory)
    for (std::int64_t p = 0; p < k; ++p)
      for (std::int64_t i = rows; i < a_k; ++i) to[p * a_k + i] = 0;
}

// ---- the batch loop ----

template <class Real>
HWY_INLINE void multiply(const PortableColumns& plan, const Real* a, const Real* b, Real* c,
                         const PortableScalars<Real>& x) {
  for (std::int64_t i = 0; i < plan.rows; i += plan.panel_rows) {
    const auto& tiles = plan.tiles[i + plan.panel_rows > plan.rows];
    for (std::int64_t j = 0; j < plan.columns; j += plan.panel_columns)
      tiles[j + plan.panel_columns > plan.columns](plan, a + i, b + j * plan.b_n, c + i + j * plan.ldc, &x);
  }
}

template <class Real>
HWY_INLINE PortableScalars<Real> scalars_of(const PortableColumns& plan, const GemmSmallCpuArguments& args,
                                            bool complex, std::int64_t index) {
  PortableScalars<Real> x;
  x.alpha_kind = portable_scalar(plan.alpha, args.alpha, args.alpha_stride, index, complex, x.alpha);
  x.beta_kind = portable_scalar(plan.beta, args.beta, args.beta_stride, index, complex, x.beta);
  x.k = x.alpha_kind == Scalar::zero ? 0 : plan.k;
  // An empty sum is zero for any alpha: inf * 0 must not reach C.
  if (x.k == 0) x.alpha_kind = Scalar::one;
  return x;
}

// Only calls that pack take the buffer's stack.
template <class Real, bool Complex, bool Packs>
void run_columns(const PortableColumns& plan, const GemmSmallCpuArguments& args) {
  constexpr std::int64_t limit = gemm_small_cpu_limit;
  alignas(64) Real packed[Packs ? limit * limit * (Complex ? 2 : 1) : 1];
  const bool per_problem = args.alpha_stride != 0 || args.beta_stride != 0;
  PortableScalars<Real> x =
      args.count > 0 ? scalars_of<Real>(plan, args, Complex, 0) : PortableScalars<Real>{};
  PortableScalars<Real> later = x;  // for the products after the first of a C
  later.beta_kind = Scalar::one;
  later.beta[0] = 1, later.beta[1] = 0;
  const Real* last_c = nullptr;
  for (std::int64_t p = 0; p < args.count; ++p) {
    if (per_problem) x = scalars_of<Real>(plan, args, Complex, p);
    const bool pointers = plan.layout == Layout::pointer;
    const auto at = [p](const void* base, std::int64_t stride) {
      return static_cast<const char*>(base) + p * stride;
    };
    const std::int64_t c_at = plan.sums == Sums::batch_reduce ? 0 : p;
    auto* c = pointers ? static_cast<Real* const*>(args.c)[c_at]
                       : reinterpret_cast<Real*>(const_cast<char*>(at(args.c, args.stride_c)));
    // Without products A and B may be null; any pointer serves, since none is read.
    const Real *a = c, *b = c;
    if (x.k > 0 && pointers) {
      a = static_cast<const Real* const*>(args.a)[p];
      b = static_cast<const Real* const*>(args.b)[p];
    } else if (x.k > 0) {
      a = reinterpret_cast<const Real*>(at(args.a, args.stride_a));
      b = reinterpret_cast<const Real*>(at(args.b, args.stride_b));
    }
    if (Packs && x.k > 0) {
      pack<Real, Complex>(a, plan.lda, plan.transpose_a, plan.rows, plan.k, packed, plan.a_k);
      a = packed;
    }
    multiply(plan, a, b, c, plan.sums != Sums::none && c == last_c ? later : x);
    last_c = c;
  }
}

// ---- one product without a plan ----

constexpr PortableCut even_cut(int total, int most) {
  const int parts = (total + most - 1) / most, each = (total + parts - 1) / parts;
  return {std::uint8_t(each), std::uint8_t((total - 1) % each + 1)};
}

// Blocks as large as the registers hold, with the most multiply-adds per load.
constexpr PortableCuts make_cuts(int parts) {
  PortableCuts cuts;
  double best = 0;
  int rows = 1;
  for (int mr = 1; mr <= portable_max_mr; ++mr) {
    int nr = 0;
    while (nr < portable_max_nr && portable_tile_fits(mr, nr + 1, parts, vector_registers)) ++nr;
    if (nr == 0) break;
    for (std::size_t n = 1; n < PortableCuts::sizes; ++n)
      cuts.columns[std::size_t(mr - 1)][n] = even_cut(int(n), nr);
    const double rate = double(mr * nr) / double(mr + parts * nr);
    if (rate > best) best = rate, rows = mr;
  }
  for (std::size_t m = 1; m < PortableCuts::sizes; ++m) cuts.rows[m] = even_cut(int(m), rows);
  return cuts;
}
template <bool Complex>
inline constexpr PortableCuts cuts = make_cuts(Complex ? 2 : 1);

constexpr std::make_integer_sequence<int, 2 * portable_max_mr * portable_max_nr> all_tiles;

template <class Real, bool Complex>
bool run_one(const PortableProduct& x) {
  constexpr std::int64_t parts = Complex ? 2 : 1, lane = lanes<Real>;
  constexpr std::int64_t most_packed = 2048 / std::int64_t(sizeof(Real));
  alignas(64) Real packed[most_packed];
  const std::int64_t rows = x.m * parts, vectors = (rows + lane - 1) / lane, k = x.k;
  PortableSteps steps;
  steps.tail = rows % lane;
  steps.b_k = (x.op_b == Op::none ? 1 : x.ldb) * parts;
  steps.b_n = (x.op_b == Op::none ? x.ldb : 1) * parts;
  steps.ldc = x.ldc * parts;
  steps.conjugate = x.op_a == Op::conj_trans;
  steps.minus_i = steps.conjugate != (x.op_b == Op::conj_trans);
  const auto* a = static_cast<const Real*>(x.a);
  steps.a_k = x.lda * parts;
  if (x.op_a != Op::none || (steps.tail > 0 && !masked_memory)) {
    if (vectors * lane * k > most_packed) return false;
    steps.a_k = vectors * lane;
    pack<Real, Complex>(a, x.lda * parts, x.op_a != Op::none, rows, k, packed, steps.a_k);
    a = packed;
  }
  PortableScalars<Real> scalars;
  scalars.alpha_kind = portable_scalar(x.alpha_kind, x.alpha, 0, 0, Complex, scalars.alpha);
  scalars.beta_kind = portable_scalar(x.beta_kind, x.beta, 0, 0, Complex, scalars.beta);
  scalars.k = k;
  const PortableTile* const all = tile_table<Real, Complex>(all_tiles);
  const auto* b = static_cast<const Real*>(x.b);
  auto* c = static_cast<Real*>(x.c);
  const PortableCut by_rows = cuts<Complex>.rows[std::size_t(vectors)];
  const PortableCut by_columns = cuts<Complex>.columns[std::size_t(by_rows.each - 1)][std::size_t(x.n)];
  for (std::int64_t i = 0, left = vectors; left > 0; left -= by_rows.each) {
    const bool last = left <= by_rows.each;
    const std::int64_t mr = last ? by_rows.last : by_rows.each;
    const PortableTile* const of_rows = all + (mr - 1) * portable_max_nr * 2 + (last && steps.tail > 0);
    const Real* b_block = b;
    Real* c_block = c + i;
    for (std::int64_t columns = x.n; columns > 0; columns -= by_columns.each) {
      const std::int64_t nr = columns <= by_columns.each ? by_columns.last : by_columns.each;
      of_rows[(nr - 1) * 2](steps, a + i, b_block, c_block, &scalars);
      b_block += nr * steps.b_n, c_block += nr * steps.ldc;
    }
    i += mr * lane;
  }
  return true;
}

template <class Real, bool Complex>
PortableTiles tiles_of() {
  static_assert(gemm_small_cpu_limit * (Complex ? 2 : 1) % lanes<Real> == 0,
                "a packed column has room for whole vectors");
  return {lanes<Real>,
          masked_memory,
          tile_table<Real, Complex>(all_tiles),
          &cuts<Complex>,
          run_columns<Real, Complex, false>,
          run_columns<Real, Complex, true>,
          run_one<Real, Complex>};
}

// In the order of the types' enumerators.
std::array<PortableTiles, 4> tiles() {
  return {tiles_of<float, false>(), tiles_of<double, false>(), tiles_of<float, true>(),
          tiles_of<double, true>()};
}

PortableTarget target() { return {HWY_MAX_BYTES, vector_registers}; }

}  // namespace HWY_NAMESPACE
}  // namespace tilewright
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tilewright {
namespace {

// The rows of C in reals, and in vectors.
std::int64_t lane_rows(const GemmProblem& p) { return is_complex(p.dtype) ? 2 * p.m : p.m; }
std::int64_t vectors_of(const GemmProblem& p) {
  const std::int64_t lanes = portable_tiles(p.dtype).lanes;
  return (lane_rows(p) + lanes - 1) / lanes;
}

}  // namespace

HWY_EXPORT(tiles);
HWY_EXPORT(target);

PortableTarget portable_target() { return HWY_DYNAMIC_DISPATCH(target)(); }

const PortableTiles& portable_tiles(DType dtype) {
  static constinit Once<const std::array<PortableTiles, 4>> all;
  return all.get([] { return HWY_DYNAMIC_DISPATCH(tiles)(); })[std::size_t(dtype)];
}

PortableBlocks portable_blocks(const GemmProblem& problem, int mr, int nr) {
  const auto cut = [](std::int64_t total, int each) {
    return PortableCut{std::uint8_t(each), std::uint8_t(total > 0 ? (total - 1) % each + 1 : 1)};
  };
  return {cut(vectors_of(problem), mr), cut(problem.n, nr)};
}

PortableBlocks portable_blocks(const GemmProblem& problem) {
  const PortableCuts& cuts = *portable_tiles(problem.dtype).cuts;
  const PortableCut rows = cuts.rows[std::size_t(vectors_of(problem))];
  return {rows, cuts.columns[std::size_t(rows.each - 1)][std::size_t(problem.n)]};
}

PortableColumns bind_portable_columns(const GemmProblem& problem, const PortableBlocks& blocks) {
  const PortableTiles& known = portable_tiles(problem.dtype);
  const std::int64_t parts = is_complex(problem.dtype) ? 2 : 1;
  PortableColumns plan;
  plan.layout = problem.layout;
  plan.sums = problem.sums;
  plan.alpha = problem.alpha;
  plan.beta = problem.beta;
  plan.rows = lane_rows(problem);
  plan.columns = problem.n;
  plan.k = problem.k;
  plan.lda = problem.lda * parts;
  plan.b_k = (problem.op_b == Op::none ? 1 : problem.ldb) * parts;
  plan.b_n = (problem.op_b == Op::none ? problem.ldb : 1) * parts;
  plan.ldc = problem.ldc * parts;
  plan.panel_rows = blocks.rows.each * known.lanes;
  plan.panel_columns = blocks.columns.each;
  plan.tail = plan.rows & (known.lanes - 1);
  plan.transpose_a = problem.op_a != Op::none;
  plan.pack_a = plan.transpose_a || (plan.tail > 0 && !known.masked_memory);
  plan.a_k = plan.pack_a ? (plan.rows + known.lanes - 1) & -known.lanes : plan.lda;
  // conj(a) b = conj(a conj(b)): A is conjugated by flipping B's conjugation and conjugating the result.
  plan.conjugate = problem.op_a == Op::conj_trans;
  plan.minus_i = plan.conjugate != (problem.op_b == Op::conj_trans);
  const bool partial = plan.tail > 0;
  const auto& [rows, columns] = blocks;
  plan.tiles = {{{known.at(rows.each, columns.each, false), known.at(rows.each, columns.last, false)},
                 {known.at(rows.last, columns.each, partial), known.at(rows.last, columns.last, partial)}}};
  plan.run = plan.pack_a ? known.run_packed : known.run;
  return plan;
}

}  // namespace tilewright
#endif
