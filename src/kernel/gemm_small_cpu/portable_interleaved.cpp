// Portable kernels for (block-)interleaved batches, vectors along the problems of a block: C(i, j) +=
// op(A)(i, p) * op(B)(p, j), one problem per lane. Highway compiles this file per instruction set. Slots
// beyond args.count are not touched, since they may belong to another thread's run.
#include <algorithm>
#include <utility>

#include "kernel/gemm_small_cpu/portable.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernel/gemm_small_cpu/portable_interleaved.cpp"
#include "hwy/foreach_target.h"
// These follow foreach_target, which sets the instruction set they compile for.
#include "hwy/highway.h"
#include "kernel/gemm_small_cpu/portable_lanes.hpp"

HWY_BEFORE_NAMESPACE();
namespace tilewright {
namespace HWY_NAMESPACE {

// alpha and beta of each lane's problem; both lanes of a complex pair hold the same part.
template <class Real>
struct SlotScalars {
  alignas(64) Real alpha[2][64 / sizeof(Real)];
  alignas(64) Real beta[2][64 / sizeof(Real)];
  Scalar alpha_kind = Scalar::one;
  Scalar beta_kind = Scalar::zero;
  std::int64_t k = 0;
};

// Returns the lanes whose scalar is zero: 0 * NaN of the other factor must not reach C.
template <bool Complex, class D, class V = hn::VFromD<D>>
HWY_INLINE V unless_zero(D d, V re, V im, V v) {
  const V zero = hn::Zero(d);
  if constexpr (Complex)
    return hn::IfThenElseZero(hn::Or(hn::Ne(re, zero), hn::Ne(im, zero)), v);
  else
    return hn::IfThenElseZero(hn::Ne(re, zero), v);
}

// C = alpha * sum + beta * C for one vector; if Partial, for `count` lanes.
template <bool Complex, bool Partial, class D, class V = hn::VFromD<D>, class Real = hn::TFromD<D>>
HWY_INLINE void update_slots(D d, V sum, Real* c, const SlotScalars<Real>& x, std::int64_t count) {
  if (x.alpha_kind != Scalar::one) {
    const V re = hn::Load(d, x.alpha[0]), im = hn::Load(d, x.alpha[1]);
    sum = unless_zero<Complex>(d, re, im, scaled<Complex>(d, sum, re, im));
  }
  if (x.beta_kind != Scalar::zero) {
    V old = Partial ? load_first(d, c, count) : hn::LoadU(d, c);
    if (x.beta_kind != Scalar::one) {
      const V re = hn::Load(d, x.beta[0]), im = hn::Load(d, x.beta[1]);
      old = unless_zero<Complex>(d, re, im, scaled<Complex>(d, old, re, im));
    }
    sum = hn::Add(sum, old);
  }
  if constexpr (Partial)
    store_first(sum, d, c, count);
  else
    hn::StoreU(sum, d, c);
}

// One register block of MR x NR elements of C, for the problems in the lanes of one vector.
template <class D, bool Complex, int MR, int NR, bool Partial>
void slot_tile(const PortableSlots& plan, const void* a_block, const void* b_block, void* c_block,
               const void* scalars, std::int64_t count) {
  using Real = hn::TFromD<D>;
  using V = hn::VFromD<D>;
  constexpr int parts = Complex ? 2 : 1;
  const D d;
  const auto* a = static_cast<const Real*>(a_block);
  const auto* b = static_cast<const Real*>(b_block);
  auto* c = static_cast<Real*>(c_block);
  const auto& x = *static_cast<const SlotScalars<Real>*>(scalars);

  V sum[MR][NR * parts];
#pragma GCC unroll 8
  for (int i = 0; i < MR; ++i)
#pragma GCC unroll 16
    for (int j = 0; j < NR * parts; ++j) sum[i][j] = hn::Zero(d);

  for (std::int64_t p = 0; p < x.k; ++p, a += plan.a_k, b += plan.b_k) {
    V left[MR][parts];
#pragma GCC unroll 8
    for (int i = 0; i < MR; ++i) {
      const V v = Partial ? load_first(d, a + i * plan.a_m, count) : hn::LoadU(d, a + i * plan.a_m);
      if constexpr (Complex) {
        left[i][0] = hn::DupEven(v);
        left[i][1] = hn::DupOdd(v);
      } else {
        left[i][0] = v;
      }
    }
#pragma GCC unroll 8
    for (int j = 0; j < NR; ++j) {
      const V right = in_register<MR * parts>(Partial ? load_first(d, b + j * plan.b_n, count)
                                                      : hn::LoadU(d, b + j * plan.b_n));
#pragma GCC unroll 8
      for (int i = 0; i < MR; ++i)
#pragma GCC unroll 2
        for (int part = 0; part < parts; ++part)
          sum[i][j * parts + part] = hn::MulAdd(left[i][part], right, sum[i][j * parts + part]);
    }
  }

#pragma GCC unroll 8
  for (int j = 0; j < NR; ++j)
#pragma GCC unroll 8
    for (int i = 0; i < MR; ++i) {
      V v = sum[i][j * parts];
      if constexpr (Complex) v = combine(d, v, sum[i][j * parts + 1], plan.minus_i, plan.conjugate);
      update_slots<Complex, Partial>(d, v, c + i * plan.c_m + j * plan.c_n, x, count);
    }
}

template <class D, bool Complex, bool Partial, int Index>
constexpr PortableSlotTile slot_tile_at() {
  constexpr int nr = Index % portable_max_nr + 1, mr = Index / portable_max_nr + 1;
  if constexpr (portable_slot_tile_fits(mr, nr, Complex ? 2 : 1, vector_registers))
    return &slot_tile<D, Complex, mr, nr, Partial>;
  else
    return nullptr;
}
template <class D, bool Complex, bool Partial, int... Index>
PortableSlotTile find_slot_tile(std::integer_sequence<int, Index...>, int mr, int nr) {
  static constexpr PortableSlotTile table[] = {slot_tile_at<D, Complex, Partial, Index>()...};
  return table[(mr - 1) * portable_max_nr + nr - 1];
}

// The four tiles that cover an m x n block of elements.
template <class D, bool Complex, bool Partial>
PortableSlots::Tiles find_slot_tiles(const PortableSlots& plan, const GemmSmallCpuConfig& config) {
  constexpr std::make_integer_sequence<int, portable_max_mr * portable_max_nr> all;
  const int last_rows = static_cast<int>((plan.rows - 1) % config.mr) + 1;
  const int last_columns = static_cast<int>((plan.columns - 1) % config.nr) + 1;
  const auto find = [&](int mr, int nr) { return find_slot_tile<D, Complex, Partial>(all, mr, nr); };
  return {{{find(config.mr, config.nr), find(config.mr, last_columns)},
           {find(last_rows, config.nr), find(last_rows, last_columns)}}};
}

// Loads alpha and beta of problems [first, first + slots). One value for the batch fills every lane.
template <class Real, bool Complex>
void fill_scalars(const PortableSlots& plan, const GemmSmallCpuArguments& args, std::int64_t first,
                  std::int64_t slots, SlotScalars<Real>& x) {
  constexpr std::int64_t parts = Complex ? 2 : 1;
  const auto fill = [&](Scalar kind, const void* values, std::int64_t stride, auto& to) {
    Real value[2];
    if (kind != Scalar::general || stride == 0) {
      kind = portable_scalar(kind, values, 0, 0, Complex, value);
      for (int part = 0; part < 2; ++part) std::fill(std::begin(to[part]), std::end(to[part]), value[part]);
      return kind;
    }
    for (std::int64_t slot = 0; slot < slots; ++slot) {
      portable_scalar(kind, values, stride, first + slot, Complex, value);
      for (int part = 0; part < 2; ++part) std::fill_n(to[part] + slot * parts, parts, value[part]);
    }
    return kind;
  };
  x.alpha_kind = fill(plan.alpha, args.alpha, args.alpha_stride, x.alpha);
  x.beta_kind = fill(plan.beta, args.beta, args.beta_stride, x.beta);
  x.k = x.alpha_kind == Scalar::zero ? 0 : plan.k;
  // An empty sum is zero for any alpha: inf * 0 must not reach C.
  if (x.k == 0) x.alpha_kind = Scalar::one;
}

template <class Real>
HWY_INLINE void multiply_slots(const PortableSlots& plan, const PortableSlots::Tiles& tiles, const Real* a,
                               const Real* b, Real* c, const SlotScalars<Real>& x, std::int64_t lanes) {
  for (std::int64_t i = 0; i < plan.rows; i += plan.panel_rows)
    for (std::int64_t j = 0; j < plan.columns; j += plan.panel_columns)
      tiles[i + plan.panel_rows > plan.rows][j + plan.panel_columns > plan.columns](
          plan, a + i * plan.a_m, b + j * plan.b_n, c + i * plan.c_m + j * plan.c_n, &x, lanes);
}

template <class Real, bool Complex>
void run_slots(const PortableSlots& plan, const GemmSmallCpuArguments& args) {
  constexpr std::int64_t parts = Complex ? 2 : 1;
  constexpr auto per_vector = static_cast<std::int64_t>(hn::MaxLanes(hn::ScalableTag<Real>())) / parts;
  const bool per_problem = args.alpha_stride != 0 || args.beta_stride != 0;
  SlotScalars<Real> x = {};
  if (args.count > 0) fill_scalars<Real, Complex>(plan, args, 0, std::min(args.count, per_vector), x);
  for (std::int64_t first = 0; first < args.count; first += plan.block) {
    const std::int64_t index = first / plan.block, slots = std::min(plan.block, args.count - first);
    const auto at = [index](const void* base, std::int64_t stride) {
      return static_cast<const char*>(base) + index * stride;
    };
    auto* c = reinterpret_cast<Real*>(const_cast<char*>(at(args.c, args.stride_c)));
    // Without products A and B may be null; any pointer serves, since none is read.
    const Real *a = c, *b = c;
    if (x.k > 0) {
      a = reinterpret_cast<const Real*>(at(args.a, args.stride_a));
      b = reinterpret_cast<const Real*>(at(args.b, args.stride_b));
    }
    for (std::int64_t slot = 0, step; slot < slots; slot += step) {
      const bool partial = slots - slot < per_vector;
      // Without masked memory accesses the last few problems are computed one by one.
      step = !partial ? per_vector : masked_memory ? slots - slot : 1;
      if (per_problem) fill_scalars<Real, Complex>(plan, args, first + slot, step, x);
      multiply_slots(plan, plan.tiles[partial], a + slot * parts, b + slot * parts, c + slot * parts, x,
                     step * parts);
    }
  }
}

template <class Real, bool Complex>
void bind_as(const GemmSmallCpuConfig& config, PortableSlots& plan) {
  using Whole = hn::ScalableTag<Real>;
  using Few = std::conditional_t<masked_memory, Whole, hn::CappedTag<Real, Complex ? 2 : 1>>;
  plan.panel_rows = config.mr;
  plan.panel_columns = config.nr;
  if (plan.rows > 0 && plan.columns > 0)
    plan.tiles = {find_slot_tiles<Whole, Complex, false>(plan, config),
                  find_slot_tiles<Few, Complex, masked_memory>(plan, config)};
  plan.run = run_slots<Real, Complex>;
}

void bind_slots(const GemmProblem& problem, const GemmSmallCpuConfig& config, PortableSlots& plan) {
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

}  // namespace HWY_NAMESPACE
}  // namespace tilewright
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tilewright {

HWY_EXPORT(bind_slots);

PortableSlots bind_portable_slots(const GemmProblem& problem, const GemmSmallCpuConfig& config) {
  PortableSlots plan;
  plan.alpha = problem.alpha;
  plan.beta = problem.beta;
  plan.rows = problem.m;
  plan.columns = problem.n;
  plan.k = problem.k;
  plan.block = problem.block > 0 ? problem.block : problem.batch_count;
  const std::int64_t element = plan.block * (is_complex(problem.dtype) ? 2 : 1);
  plan.a_m = (problem.op_a == Op::none ? 1 : problem.lda) * element;
  plan.a_k = (problem.op_a == Op::none ? problem.lda : 1) * element;
  plan.b_k = (problem.op_b == Op::none ? 1 : problem.ldb) * element;
  plan.b_n = (problem.op_b == Op::none ? problem.ldb : 1) * element;
  plan.c_m = element;
  plan.c_n = problem.ldc * element;
  // a conj(b) = conj(conj(a) b): B is conjugated by flipping A's conjugation and conjugating the result.
  plan.conjugate = problem.op_b == Op::conj_trans;
  plan.minus_i = plan.conjugate != (problem.op_a == Op::conj_trans);
  HWY_DYNAMIC_DISPATCH(bind_slots)(problem, config, plan);
  return plan;
}

}  // namespace tilewright
#endif
