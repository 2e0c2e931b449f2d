// Runs the GPU's layout conversions on the host: to blocks of interleaved matrices and back, from matrices at
// one distance and from addresses, with gaps, a last block that is not full, and a missing matrix.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "emulation/gpu.hpp"
#include "kernel/layout/stencil.cuh"

namespace tilewright::emulation {
namespace {

template <class T, int Problems, int Elements>
void expect_there_and_back(int rows, int columns, int gap, int block, int count, bool by_address) {
  const int ld = rows + gap, stride = ld * columns + 3, wide = rows + 1;
  const int stored = (count + block - 1) / block * block;
  std::vector<T> single(std::size_t(stride * count)), back(single.size(), T(-1)),
      blocks(std::size_t(stored * wide * columns), T(-2));
  for (std::size_t i = 0; i < single.size(); ++i) single[i] = T(i + 1);
  std::vector<T*> from, to;
  for (int p = 0; p < count; ++p) {
    from.push_back(p == 5 ? nullptr : single.data() + p * stride);
    to.push_back(p == 5 ? nullptr : back.data() + p * stride);
  }
  LayoutArgs<T> args{single.data(),
                     by_address ? from.data() : nullptr,
                     blocks.data(),
                     count,
                     stored,
                     stride,
                     ld,
                     wide,
                     block,
                     rows,
                     columns};
  Launch launch{.blocks = 2, .threads = 64, .shared_bytes = Problems * (Elements + 1) * sizeof(T)};
  EXPECT_EQ(run(launch, [&] { layout_convert<T, true, Problems, Elements, 64>(args); }), "");
  args.single = back.data();
  args.addresses = by_address ? to.data() : nullptr;
  EXPECT_EQ(run(launch, [&] { layout_convert<T, false, Problems, Elements, 64>(args); }), "");
  for (int p = 0; p < stored; ++p)
    for (int e = 0; e < wide * columns; ++e) {
      const int i = e % wide, j = e / wide;
      const T value = blocks[std::size_t((p / block * wide * columns + e) * block + p % block)];
      const bool missing = p >= count || (by_address && p == 5);
      EXPECT_EQ(value, i >= rows ? T(-2) : missing ? T(0) : single[std::size_t(p * stride + j * ld + i)]);
    }
  for (std::size_t at = 0; at < back.size(); ++at) {
    const auto p = at / std::size_t(stride), e = at % std::size_t(stride);
    const bool inside = e / std::size_t(ld) < std::size_t(columns) && e % std::size_t(ld) < std::size_t(rows);
    EXPECT_EQ(back[at], inside && !(by_address && p == 5) ? single[at] : T(-1)) << at;
  }
}

TEST(LayoutEmulation, ThereAndBack) {
  expect_there_and_back<double, 32, 32>(5, 7, 2, 8, 21, false);
  expect_there_and_back<float, 64, 16>(3, 3, 0, 4, 130, true);
  expect_there_and_back<float, 256, 4>(2, 2, 0, 70, 300, false);
}

// A part of a block is written without its other slots.
TEST(LayoutEmulation, SlotsBeyondThoseToFillStay) {
  constexpr int rows = 3, columns = 2, block = 10, first = 4, count = 3;
  std::vector<double> single(count * rows * columns), blocks(block * rows * columns, -2);
  for (std::size_t i = 0; i < single.size(); ++i) single[i] = double(i + 1);
  const LayoutArgs<double> args{.single = single.data(),
                                .addresses = nullptr,
                                .interleaved = blocks.data() + first,
                                .count = count,
                                .stored = count,
                                .stride = rows * columns,
                                .ld = rows,
                                .interleaved_ld = rows,
                                .block = block,
                                .rows = rows,
                                .columns = columns};
  const Launch launch{.blocks = 1, .threads = 64, .shared_bytes = 32 * 33 * sizeof(double)};
  EXPECT_EQ(run(launch, [&] { layout_convert<double, true, 32, 32, 64>(args); }), "");
  for (int slot = 0; slot < block; ++slot)
    for (int e = 0; e < rows * columns; ++e) {
      const bool filled = slot >= first && slot < first + count;
      EXPECT_EQ(blocks[std::size_t(e * block + slot)],
                filled ? single[std::size_t((slot - first) * rows * columns + e)] : -2)
          << slot << ' ' << e;
    }
}

}  // namespace
}  // namespace tilewright::emulation
