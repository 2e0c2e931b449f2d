// The multiply-add loop in portable SIMD, one instantiation per vector width, chosen at run time.

// Under GCC before 12.3 Highway replaces its plain fallback by one-lane vectors, for a bug in integer
// products (GCC PR 106322), which are not used here; a lane is no vector width.
#undef HWY_BROKEN_EMU128
#define HWY_BROKEN_EMU128 0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "measure/compute_peak.cpp"
#include <hwy/foreach_target.h>
// Highway re-includes this file once per target; the order of these includes is part of its protocol.
#include <hwy/highway.h>

#include "measure/ceilings.hpp"

HWY_BEFORE_NAMESPACE();
namespace tilewright {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The number of chains hides latency times throughput of every core so far (x86-64: 5 cycles x 2 units at
// most; Arm: 4 x 4) and leaves registers for the factor and for a product before its sum: with one more chain
// the loop would measure loads and stores.
#if HWY_ARCH_X86 && HWY_TARGET > HWY_AVX3
constexpr int chains = 12;  // of 16 registers
#else
constexpr int chains = 16;  // of 32
#endif

template <class Tag>
HWY_ATTR double multiply_adds(Tag tag, std::int64_t steps, hn::TFromD<Tag> factor) {
  using V = hn::Vec<Tag>;
  const V x = hn::Set(tag, factor);
  // The starts differ, since the compiler would fold equal chains into one.
  V s0 = x, s1 = hn::Add(s0, x), s2 = hn::Add(s1, x), s3 = hn::Add(s2, x), s4 = hn::Add(s3, x);
  V s5 = hn::Add(s4, x), s6 = hn::Add(s5, x), s7 = hn::Add(s6, x), t0 = hn::Add(s7, x), t1 = hn::Add(t0, x);
  V t2 = hn::Add(t1, x), t3 = hn::Add(t2, x), t4 = hn::Add(t3, x), t5 = hn::Add(t4, x), t6 = hn::Add(t5, x);
  V t7 = hn::Add(t6, x);
  for (std::int64_t i = 0; i < steps; ++i) {
    s0 = hn::MulAdd(s0, x, x), s1 = hn::MulAdd(s1, x, x), s2 = hn::MulAdd(s2, x, x);
    s3 = hn::MulAdd(s3, x, x), s4 = hn::MulAdd(s4, x, x), s5 = hn::MulAdd(s5, x, x);
    s6 = hn::MulAdd(s6, x, x), s7 = hn::MulAdd(s7, x, x), t0 = hn::MulAdd(t0, x, x);
    t1 = hn::MulAdd(t1, x, x), t2 = hn::MulAdd(t2, x, x), t3 = hn::MulAdd(t3, x, x);
    if constexpr (chains == 16) {
      t4 = hn::MulAdd(t4, x, x), t5 = hn::MulAdd(t5, x, x), t6 = hn::MulAdd(t6, x, x);
      t7 = hn::MulAdd(t7, x, x);
    }
  }
  const V s = hn::Add(hn::Add(hn::Add(s0, s1), hn::Add(s2, s3)), hn::Add(hn::Add(s4, s5), hn::Add(s6, s7)));
  const V t = hn::Add(hn::Add(hn::Add(t0, t1), hn::Add(t2, t3)), hn::Add(hn::Add(t4, t5), hn::Add(t6, t7)));
  // The sum goes through memory that the compiler must assume is read, so that no chain is removed.
  alignas(64) hn::TFromD<Tag> sink[64 / sizeof(hn::TFromD<Tag>)];
  hn::Store(hn::Add(s, t), tag, sink);
  asm volatile("" : : "r"(sink) : "memory");
  return 2.0 * chains * static_cast<double>(steps) * static_cast<double>(hn::Lanes(tag));
}

template <class T>
HWY_ATTR double at_width(std::int64_t vector_bits, std::int64_t steps, T factor) {
  if (vector_bits == 512) return multiply_adds(hn::CappedTag<T, 64 / sizeof(T)>(), steps, factor);
  if (vector_bits == 256) return multiply_adds(hn::CappedTag<T, 32 / sizeof(T)>(), steps, factor);
  return multiply_adds(hn::CappedTag<T, 16 / sizeof(T)>(), steps, factor);
}

HWY_ATTR double run_f32(std::int64_t vector_bits, std::int64_t steps, float factor) {
  return at_width(vector_bits, steps, factor);
}
HWY_ATTR double run_f64(std::int64_t vector_bits, std::int64_t steps, double factor) {
  return at_width(vector_bits, steps, factor);
}
HWY_ATTR std::int64_t widest() {
  return 8 * static_cast<std::int64_t>(hn::Lanes(hn::CappedTag<std::uint8_t, 64>()));
}

}  // namespace HWY_NAMESPACE
}  // namespace tilewright
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <fmt/format.h>

namespace tilewright {
HWY_EXPORT(run_f32);
HWY_EXPORT(run_f64);
HWY_EXPORT(widest);

std::int64_t widest_vector_bits() { return HWY_DYNAMIC_DISPATCH(widest)(); }

double run_multiply_adds(DType dtype, std::int64_t vector_bits, std::int64_t steps) {
  const bool known = vector_bits == 128 || vector_bits == 256 || vector_bits == 512;
  if (!known || vector_bits > widest_vector_bits())
    throw Error(ErrorCode::invalid_argument, "vector_bits",
                fmt::format("vector_bits = {} is not a vector width of this machine (at most {})",
                            vector_bits, widest_vector_bits()));
  const bool single = dtype == DType::f32 || dtype == DType::c64;
  // 0.5 keeps every chain near 1: s = 0.5 s + 0.5.
  if (single) return HWY_DYNAMIC_DISPATCH(run_f32)(vector_bits, steps, 0.5f);
  return HWY_DYNAMIC_DISPATCH(run_f64)(vector_bits, steps, 0.5);
}

}  // namespace tilewright
#endif
