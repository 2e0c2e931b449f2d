// The one list of problems: the sizes, types, operations and layouts that tests and benches use. It does not
// define how they are run, checked or timed.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "tilewright/problem.hpp"

namespace tilewright::cases {

struct Size {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;

  friend bool operator==(const Size&, const Size&) = default;
};

constexpr Size square(std::int64_t n) { return {n, n, n}; }

// The sizes by which the small CPU kernels are judged, smallest first.
inline std::vector<Size> acceptance_squares() {
  std::vector<Size> sizes;
  for (std::int64_t n = 2; n <= 16; ++n) sizes.push_back(square(n));
  for (std::int64_t n : {20, 23, 24, 28, 31, 32}) sizes.push_back(square(n));
  return sizes;
}
inline constexpr std::array<Size, 7> acceptance_rectangles{
    {{5, 13, 23}, {4, 4, 64}, {10, 10, 35}, {13, 13, 26}, {24, 8, 3}, {32, 32, 8}, {8, 32, 32}}};

inline std::vector<Size> acceptance_sizes() {
  std::vector<Size> sizes = acceptance_squares();
  sizes.insert(sizes.end(), acceptance_rectangles.begin(), acceptance_rectangles.end());
  return sizes;
}

// Lengths around every vector width and register block: empty, one, just below, at and just above.
inline constexpr std::array<std::int64_t, 15> edge_lengths{0,  1,  2,  3,  5,  7,  8, 9,
                                                           15, 16, 17, 31, 33, 63, 64};
// Lengths that the small kernels do not support.
inline constexpr std::array<std::int64_t, 4> large_lengths{65, 97, 128, 131};
// Numbers of problems: none, one, around a pair, and enough to fill blocks and share among threads.
inline constexpr std::array<std::int64_t, 6> batch_counts{0, 1, 2, 3, 7, 65};
// Block sizes of block-interleaved batches: odd, below, at and above the vector widths.
inline constexpr std::array<std::int64_t, 7> block_sizes{1, 2, 3, 4, 8, 16, 32};

inline constexpr std::array<DType, 4> dtypes{DType::f32, DType::f64, DType::c64, DType::c128};
inline constexpr std::array<Op, 3> ops{Op::none, Op::trans, Op::conj_trans};
inline constexpr std::array<Layout, 7> layouts{
    Layout::single,  Layout::strided, Layout::pointer, Layout::interleaved, Layout::block_interleaved,
    Layout::grouped, Layout::variable};

// A packed strided batch of one size, the form in which the acceptance table is stated.
inline GemmProblem strided(DType dtype, Size size, Scalar beta, std::int64_t batch_count) {
  GemmProblem problem;
  problem.dtype = dtype;
  problem.m = size.m;
  problem.n = size.n;
  problem.k = size.k;
  problem.layout = Layout::strided;
  problem.batch_count = batch_count;
  problem.beta = beta;
  return packed(problem);
}

}  // namespace tilewright::cases
