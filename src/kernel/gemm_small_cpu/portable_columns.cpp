// Portable kernels for single, strided and pointer batches, vectors along the rows of C: register blocks of
// mr vectors x nr columns are summed over k, after copying a transposed A. Compiled per instruction set.
#include <utility>

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

// C = alpha * sum + beta * C for a block of vectors; if Partial, each column's last has `tail` lanes.
template <bool Complex, bool Partial, int MR, int NR, class D, class V = hn::VFromD<D>,
          class Real = hn::TFromD<D>>
HWY_INLINE void update(D d, V (&sum)[NR][MR], Real* c, std::int64_t ldc, const PortableScalars<Real>& x,
                       std::int64_t tail) {
  if (x.alpha_kind != Scalar::one) {
    const V re = hn::Set(d, x.alpha[0]), im = hn::Set(d, x.alpha[1]);
#pragma GCC unroll 32
    for (int e = 0; e < MR * NR; ++e) sum[e / MR][e % MR] = scaled<Complex>(d, sum[e / MR][e % MR], re, im);
  }
  if (x.beta_kind != Scalar::zero) {
    const V re = hn::Set(d, x.beta[0]), im = hn::Set(d, x.beta[1]);
#pragma GCC unroll 32
    for (int e = 0; e < MR * NR; ++e) {
      const Real* from = c + e / MR * ldc + e % MR * lanes<Real>;
      V old = Partial && e % MR == MR - 1 ? load_first(d, from, tail) : hn::LoadU(d, from);
      // Does not multiply by one: (1 + 0i) * inf would have a NaN part.
      if (!Complex || x.beta_kind != Scalar::one) old = scaled<Complex>(d, old, re, im);
      sum[e / MR][e % MR] = hn::Add(sum[e / MR][e % MR], old);
    }
  }
#pragma GCC unroll 32
  for (int e = 0; e < MR * NR; ++e) {
    Real* to = c + e / MR * ldc + e % MR * lanes<Real>;
    if (Partial && e % MR == MR - 1)
      store_first(sum[e / MR][e % MR], d, to, tail);
    else
      hn::StoreU(sum[e / MR][e % MR], d, to);
  }
}

// One register block: MR vectors x NR columns; if Partial, the last vector of rows has plan.tail lanes.
template <class Real, bool Complex, int MR, int NR, bool Partial>
void tile(const PortableColumns& plan, const void* a_block, const void* b_block, void* c_block,
          const void* scalars) {
  constexpr int parts = Complex ? 2 : 1;
  const hn::ScalableTag<Real> d;
  using V = hn::VFromD<decltype(d)>;
  const auto* a = static_cast<const Real*>(a_block);
  const auto& x = *static_cast<const PortableScalars<Real>*>(scalars);
  const std::int64_t a_k = plan.a_k, b_k = plan.b_k, tail = plan.tail;

  V sum[NR * parts][MR];
  const Real* b[NR];
#pragma GCC unroll 8
  for (int j = 0; j < NR; ++j) {
    b[j] = static_cast<const Real*>(b_block) + j * plan.b_n;
#pragma GCC unroll 8
    for (int i = 0; i < MR * parts; ++i) sum[j * parts + i / MR][i % MR] = hn::Zero(d);
  }

  for (std::int64_t p = 0, at = 0; p < x.k; ++p, at += b_k, a += a_k) {
    V left[MR];
#pragma GCC unroll 8
    for (int i = 0; i < MR; ++i)
      left[i] = Partial && masked_memory && i == MR - 1 ? load_first(d, a + i * lanes<Real>, tail)
                                                        : hn::LoadU(d, a + i * lanes<Real>);
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
          combine(d, sum[e / MR * 2][e % MR], sum[e / MR * 2 + 1][e % MR], plan.minus_i, plan.conjugate);
    update<Complex, Partial, MR, NR>(d, product, c, plan.ldc, x, tail);
  } else {
    update<Complex, Partial, MR, NR>(d, sum, c, plan.ldc, x, tail);
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
PortableTile find_tile(std::integer_sequence<int, Index...>, int mr, int nr, bool partial) {
  static constexpr PortableTile table[] = {tile_at<Real, Complex, Index>()...};
  return table[((mr - 1) * portable_max_nr + nr - 1) * 2 + partial];
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

template <class Real, bool Complex>
HWY_INLINE void pack(const PortableColumns& plan, const Real* a, Real* to) {
  if (plan.transpose_a) {
    constexpr int parts = Complex ? 2 : 1;
    using E = Element<static_cast<int>(sizeof(Real)) * parts>;
    pack_transposed(reinterpret_cast<const E*>(a), plan.lda / parts, plan.rows / parts, plan.k,
                    reinterpret_cast<E*>(to), plan.a_k / parts);
  } else {
    for (std::int64_t p = 0; p < plan.k; ++p)
      for (std::int64_t i = 0; i < plan.rows; ++i) to[p * plan.a_k + i] = a[p * plan.lda + i];
  }
  // Whole vectors are read from here on: garbage of the stack could be slow to multiply (denormals, NaN).
  if (!masked_memory && plan.tail > 0)
    for (std::int64_t p = 0; p < plan.k; ++p)
      for (std::int64_t i = plan.rows; i < plan.a_k; ++i) to[p * plan.a_k + i] = 0;
}

// ---- the batch loop ----

template <class Real>
HWY_INLINE void multiply(const PortableColumns& plan, const Real* a, const Real* b, Real* c,
                         const PortableScalars<Real>& x) {
  if (plan.single_tile) return plan.tiles[1][1](plan, a, b, c, &x);
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

template <class Real, bool Complex>
void run_columns(const PortableColumns& plan, const GemmSmallCpuArguments& args) {
  constexpr std::int64_t limit = gemm_small_cpu_limit;
  alignas(64) Real packed[limit * limit * (Complex ? 2 : 1)];
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
    if (plan.pack_a && x.k > 0) {
      pack<Real, Complex>(plan, a, packed);
      a = packed;
    }
    multiply(plan, a, b, c, plan.sums != Sums::none && c == last_c ? later : x);
    last_c = c;
  }
}

template <class Real, bool Complex>
void bind_as(const GemmSmallCpuConfig& config, PortableColumns& plan) {
  constexpr std::int64_t parts = Complex ? 2 : 1;
  const std::int64_t vectors = (plan.rows + lanes<Real> - 1) / lanes<Real>;
  plan.panel_rows = config.mr * lanes<Real>;
  plan.panel_columns = config.nr;
  plan.tail = plan.rows % lanes<Real>;
  plan.pack_a = plan.transpose_a || (plan.tail > 0 && !masked_memory);
  if (plan.pack_a) plan.a_k = vectors * lanes<Real>;
  static_assert(gemm_small_cpu_limit * parts % lanes<Real> == 0,
                "a packed column has room for whole vectors");

  constexpr std::make_integer_sequence<int, 2 * portable_max_mr * portable_max_nr> all;
  const int last_rows = static_cast<int>((vectors - 1) % config.mr) + 1;
  const int last_columns = static_cast<int>((plan.columns - 1) % config.nr) + 1;
  if (plan.rows > 0 && plan.columns > 0)
    plan.tiles = {{{find_tile<Real, Complex>(all, config.mr, config.nr, false),
                    find_tile<Real, Complex>(all, config.mr, last_columns, false)},
                   {find_tile<Real, Complex>(all, last_rows, config.nr, plan.tail > 0),
                    find_tile<Real, Complex>(all, last_rows, last_columns, plan.tail > 0)}}};
  plan.single_tile = plan.tiles[1][1] != nullptr && vectors <= config.mr && plan.columns <= config.nr;
  plan.run = run_columns<Real, Complex>;
}

void bind_columns(const GemmProblem& problem, const GemmSmallCpuConfig& config, PortableColumns& plan) {
  switch (problem.dtype) {
    case DType::f32:
      return bind_as<float, false>(config, plan);
    case DType::f64:
      return bind_as<double, false>(config, plan);
    case DType::c64:
      return bind_as<float, true>(config, plan);
    case DType::c128:
      return bind_as<double, true>(config, plan);
  }
}

PortableTarget target() { return {HWY_MAX_BYTES, vector_registers}; }

}  // namespace HWY_NAMESPACE
}  // namespace tilewright
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tilewright {

HWY_EXPORT(bind_columns);
HWY_EXPORT(target);

PortableTarget portable_target() { return HWY_DYNAMIC_DISPATCH(target)(); }

PortableColumns bind_portable_columns(const GemmProblem& problem, const GemmSmallCpuConfig& config) {
  const std::int64_t parts = is_complex(problem.dtype) ? 2 : 1;
  PortableColumns plan;
  plan.layout = problem.layout;
  plan.sums = problem.sums;
  plan.alpha = problem.alpha;
  plan.beta = problem.beta;
  plan.rows = problem.m * parts;
  plan.columns = problem.n;
  plan.k = problem.k;
  plan.lda = problem.lda * parts;
  plan.a_k = plan.lda;
  plan.b_k = (problem.op_b == Op::none ? 1 : problem.ldb) * parts;
  plan.b_n = (problem.op_b == Op::none ? problem.ldb : 1) * parts;
  plan.ldc = problem.ldc * parts;
  plan.transpose_a = problem.op_a != Op::none;
  // conj(a) b = conj(a conj(b)): A is conjugated by flipping B's conjugation and conjugating the result.
  plan.conjugate = problem.op_a == Op::conj_trans;
  plan.minus_i = plan.conjugate != (problem.op_b == Op::conj_trans);
  HWY_DYNAMIC_DISPATCH(bind_columns)(problem, config, plan);
  return plan;
}

}  // namespace tilewright
#endif
