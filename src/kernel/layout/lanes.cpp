// Copies between the matrices of a group and the slots of an interleaved block: 16 bytes of each matrix at a
// time, transposed in registers. Highway compiles this per instruction set; elements move by size.
#include <cstring>

#include "kernel/layout/layout.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernel/layout/lanes.cpp"
#include "hwy/foreach_target.h"
// These follow foreach_target, which sets the instruction set they compile for.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tilewright {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Bytes = const unsigned char*;
using MutableBytes = unsigned char*;

#if HWY_TARGET != HWY_SCALAR

// Scalable vectors have no fixed number of 16-byte blocks, so one block of them is used.
#if HWY_HAVE_SCALABLE
inline constexpr std::size_t vector_bytes = 16;
#else
inline constexpr std::size_t vector_bytes = HWY_MAX_BYTES < 64 ? HWY_MAX_BYTES : 64;
#endif
inline constexpr std::size_t block_count = vector_bytes / 16;

// The lane type for elements of this size; 16-byte elements are whole blocks of two lanes.
template <std::size_t Size>
using Lane = std::conditional_t<Size == 4, std::uint32_t, std::uint64_t>;
template <std::size_t Size>
using Vectors = hn::FixedTag<Lane<Size>, vector_bytes / sizeof(Lane<Size>)>;

// Loads the blocks at `offset` of matrices 0, step, 2 * step, ... side by side into one vector.
template <class D>
HWY_INLINE hn::VFromD<D> load_blocks(D d, const void* const* matrices, std::size_t step,
                                     std::int64_t offset) {
  using T = hn::TFromD<D>;
  constexpr std::size_t bytes = sizeof(T) * hn::MaxLanes(D());
  if constexpr (bytes == 16) {
    return hn::LoadU(d, reinterpret_cast<const T*>(static_cast<Bytes>(matrices[0]) + offset));
  } else {
    const hn::Half<D> half;
    const auto low = load_blocks(half, matrices, step, offset);
    const auto high = load_blocks(half, matrices + bytes / 32 * step, step, offset);
    return hn::Combine(d, high, low);
  }
}

template <class D>
HWY_INLINE void store_blocks(D d, hn::VFromD<D> v, void* const* matrices, std::size_t step,
                             std::int64_t offset) {
  using T = hn::TFromD<D>;
  constexpr std::size_t bytes = sizeof(T) * hn::MaxLanes(D());
  if constexpr (bytes == 16) {
    hn::StoreU(v, d, reinterpret_cast<T*>(static_cast<MutableBytes>(matrices[0]) + offset));
  } else {
    const hn::Half<D> half;
    store_blocks(half, hn::LowerHalf(half, v), matrices, step, offset);
    store_blocks(half, hn::UpperHalf(half, v), matrices + bytes / 32 * step, step, offset);
  }
}

// Transposes every block, x[e][p] = y[p][e]; its own inverse. Blocks have 4 x 4, 2 x 2 or 1 x 1 elements.
template <std::size_t Size, class D, class V = hn::VFromD<D>>
HWY_INLINE void transpose(D d, V (&x)[16 / Size]) {
  if constexpr (Size == 4) {
    const hn::RepartitionToWide<D> wide;
    const auto pairs = [&](V v) { return hn::BitCast(wide, v); };
    const auto low01 = pairs(hn::InterleaveLower(d, x[0], x[1])),
               low23 = pairs(hn::InterleaveLower(d, x[2], x[3]));
    const auto high01 = pairs(hn::InterleaveUpper(d, x[0], x[1])),
               high23 = pairs(hn::InterleaveUpper(d, x[2], x[3]));
    x[0] = hn::BitCast(d, hn::InterleaveLower(wide, low01, low23));
    x[1] = hn::BitCast(d, hn::InterleaveUpper(wide, low01, low23));
    x[2] = hn::BitCast(d, hn::InterleaveLower(wide, high01, high23));
    x[3] = hn::BitCast(d, hn::InterleaveUpper(wide, high01, high23));
  } else if constexpr (Size == 8) {
    const V low = hn::InterleaveLower(d, x[0], x[1]);
    x[1] = hn::InterleaveUpper(d, x[0], x[1]);
    x[0] = low;
  }
}

// Copies one run of a vector of problems, `width` elements at a time; a remainder with some predecessors.
template <std::size_t Size, class Tile, class Element>
HWY_INLINE void walk_run(std::int64_t rows, Tile&& tile, Element&& element) {
  constexpr std::int64_t width = 16 / Size;
  std::int64_t e = 0;
  for (; e + width <= rows; e += width) tile(e);
  if (e == rows) return;
  if (rows >= width) return tile(rows - width);
  for (; e < rows; ++e) element(e);
}

template <std::size_t Size>
HWY_INLINE void interleave_lanes(const GroupCopy& copy, const void* const* matrices, MutableBytes slots) {
  constexpr std::size_t width = 16 / Size, lanes = vector_bytes / Size;
  const Vectors<Size> d;
  for (std::int64_t run = 0; run < copy.runs; ++run) {
    const std::int64_t from = run * copy.matrix_step;
    MutableBytes to = slots + run * copy.slots_step;
    const auto tile = [&](std::int64_t e) {
      hn::VFromD<Vectors<Size>> x[width];
      for (std::size_t i = 0; i < width; ++i)
        x[i] = load_blocks(d, matrices + i, width, from + e * std::int64_t(Size));
      transpose<Size>(d, x);
      for (std::size_t i = 0; i < width; ++i)
        hn::StoreU(x[i], d, reinterpret_cast<Lane<Size>*>(to + (e + std::int64_t(i)) * copy.pitch));
    };
    walk_run<Size>(copy.rows, tile, [&](std::int64_t e) {
      for (std::size_t p = 0; p < lanes; ++p)
        std::memcpy(to + e * copy.pitch + p * Size, static_cast<Bytes>(matrices[p]) + from + e * Size, Size);
    });
  }
}

template <std::size_t Size>
HWY_INLINE void deinterleave_lanes(const GroupCopy& copy, Bytes slots, void* const* matrices) {
  constexpr std::size_t width = 16 / Size, lanes = vector_bytes / Size;
  const Vectors<Size> d;
  for (std::int64_t run = 0; run < copy.runs; ++run) {
    Bytes from = slots + run * copy.slots_step;
    const std::int64_t to = run * copy.matrix_step;
    const auto tile = [&](std::int64_t e) {
      hn::VFromD<Vectors<Size>> x[width];
      for (std::size_t i = 0; i < width; ++i)
        x[i] = hn::LoadU(d, reinterpret_cast<const Lane<Size>*>(from + (e + std::int64_t(i)) * copy.pitch));
      transpose<Size>(d, x);
      for (std::size_t i = 0; i < width; ++i)
        store_blocks(d, x[i], matrices + i, width, to + e * std::int64_t(Size));
    };
    walk_run<Size>(copy.rows, tile, [&](std::int64_t e) {
      for (std::size_t p = 0; p < lanes; ++p)
        std::memcpy(static_cast<MutableBytes>(matrices[p]) + to + e * Size, from + e * copy.pitch + p * Size,
                    Size);
    });
  }
}

#endif

// Calls f(run, element) for all elements of a matrix.
template <class F>
HWY_INLINE void each_element(const GroupCopy& copy, F&& f) {
  for (std::int64_t run = 0; run < copy.runs; ++run)
    for (std::int64_t e = 0; e < copy.rows; ++e) f(run, e);
}

template <std::size_t Size>
HWY_INLINE void interleave_sized(const GroupCopy& copy, const void* const* matrices, MutableBytes slots) {
  std::int64_t p = 0;
#if HWY_TARGET != HWY_SCALAR
  constexpr std::int64_t lanes = vector_bytes / Size;
  for (; p + lanes <= copy.count; p += lanes) interleave_lanes<Size>(copy, matrices + p, slots + p * Size);
#endif
  for (; p < copy.slot_count; ++p)
    each_element(copy, [&](std::int64_t run, std::int64_t e) {
      MutableBytes slot = slots + run * copy.slots_step + e * copy.pitch + p * Size;
      if (p < copy.count)
        std::memcpy(slot, static_cast<Bytes>(matrices[p]) + run * copy.matrix_step + e * Size, Size);
      else
        std::memset(slot, 0, Size);
    });
}

template <std::size_t Size>
HWY_INLINE void deinterleave_sized(const GroupCopy& copy, Bytes slots, void* const* matrices) {
  std::int64_t p = 0;
#if HWY_TARGET != HWY_SCALAR
  constexpr std::int64_t lanes = vector_bytes / Size;
  for (; p + lanes <= copy.count; p += lanes) deinterleave_lanes<Size>(copy, slots + p * Size, matrices + p);
#endif
  for (; p < copy.count; ++p)
    each_element(copy, [&](std::int64_t run, std::int64_t e) {
      std::memcpy(static_cast<MutableBytes>(matrices[p]) + run * copy.matrix_step + e * Size,
                  slots + run * copy.slots_step + e * copy.pitch + p * Size, Size);
    });
}

void interleave(const GroupCopy& copy, const void* const* matrices, void* slots) {
  const auto bytes = static_cast<MutableBytes>(slots);
  switch (copy.element_bytes) {
    case 4:
      return interleave_sized<4>(copy, matrices, bytes);
    case 8:
      return interleave_sized<8>(copy, matrices, bytes);
    default:
      return interleave_sized<16>(copy, matrices, bytes);
  }
}

void deinterleave(const GroupCopy& copy, const void* slots, void* const* matrices) {
  const auto bytes = static_cast<Bytes>(slots);
  switch (copy.element_bytes) {
    case 4:
      return deinterleave_sized<4>(copy, bytes, matrices);
    case 8:
      return deinterleave_sized<8>(copy, bytes, matrices);
    default:
      return deinterleave_sized<16>(copy, bytes, matrices);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace tilewright
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tilewright {

HWY_EXPORT(interleave);
HWY_EXPORT(deinterleave);

void interleave_group(const GroupCopy& copy, const void* const* matrices, void* slots) {
  HWY_DYNAMIC_DISPATCH(interleave)(copy, matrices, slots);
}

void deinterleave_group(const GroupCopy& copy, const void* slots, void* const* matrices) {
  HWY_DYNAMIC_DISPATCH(deinterleave)(copy, slots, matrices);
}

}  // namespace tilewright
#endif
