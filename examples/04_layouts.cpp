// The same products from four layouts: strided, pointer, block-interleaved and grouped. Shows how each is
// described and converted, and checks that all give the same C.
#include <algorithm>
#include <cstdio>
#include <tilewright/gemm.hpp>
#include <tilewright/layout.hpp>
#include <vector>

namespace tw = tilewright;
using Strided = tw::StridedBatch<double>;
using Pointer = tw::PointerBatch<double>;
using Interleaved = tw::InterleavedBatch<double>;

constexpr std::int64_t m = 5, n = 3, k = 4, count = 100, block = 16;

Strided strided(std::vector<double>& x, std::int64_t rows, std::int64_t cols) {
  return tw::strided_batch(tw::column_major(x.data(), rows, cols), rows * cols, count);
}
// The last block is stored whole.
Interleaved interleaved(std::vector<double>& x, std::int64_t rows, std::int64_t cols) {
  x.resize(static_cast<std::size_t>(tw::interleaved_elements(rows, cols, rows, block, count)));
  return {x.data(), rows, cols, rows, block, count};
}

template <class P>
std::vector<P> pointers(P base, std::int64_t stride) {
  std::vector<P> out;
  for (std::int64_t p = 0; p < count; ++p) out.push_back(base + p * stride);
  return out;
}

int main() {
  std::vector<double> a(m * k * count), b(k * n * count), c(m * n * count);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = double(i % 7);
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = double(i % 5) - 2;
  tw::Context context;
  const tw::Op none = tw::Op::none;

  // Strided: equal distances. A stride of 0 would use one matrix for every problem.
  tw::gemm_batched(context, none, none, 1.0, strided(a, m, k), strided(b, k, n), 0.0, strided(c, m, n));
  const std::vector<double> expected = c;

  // Pointer: anywhere in memory.
  std::fill(c.begin(), c.end(), 0.0);
  const auto pointers_a = pointers(a.data(), m * k);
  const auto pointers_b = pointers(b.data(), k * n);
  const auto pointers_c = pointers(c.data(), m * n);
  tw::gemm_batched(context, none, none, 1.0, Pointer{pointers_a.data(), m, k, m, count},
                   Pointer{pointers_b.data(), k, n, k, count}, 0.0,
                   Pointer{pointers_c.data(), m, n, m, count});
  const bool pointer_right = c == expected;

  // Grouped: groups of one shape each; here a single group. gemm_variable takes one description per problem.
  std::fill(c.begin(), c.end(), 0.0);
  tw::GemmGroup<double> group;
  group.m = m, group.n = n, group.k = k, group.count = count;
  group.a = pointers_a.data(), group.lda = m;
  group.b = pointers_b.data(), group.ldb = k;
  group.c = pointers_c.data(), group.ldc = m;
  tw::gemm_grouped<double>(context, {&group, 1});
  const bool grouped_right = c == expected;

  // Block-interleaved: equal elements of 16 problems are neighbours, element (i, j) of problem p at
  // (p / 16 * rows * cols + j * rows + i) * 16 + p % 16.
  std::vector<double> blocks_a, blocks_b, blocks_c;
  const Interleaved in_a = interleaved(blocks_a, m, k), in_b = interleaved(blocks_b, k, n);
  const Interleaved in_c = interleaved(blocks_c, m, n);
  tw::interleave<double>(strided(a, m, k), in_a);
  tw::interleave<double>(strided(b, k, n), in_b);
  tw::gemm_batched(context, none, none, 1.0, in_a, in_b, 0.0, in_c);
  std::fill(c.begin(), c.end(), 0.0);
  tw::deinterleave<double>(in_c, strided(c, m, n));
  const bool interleaved_right = c == expected;

  std::printf("pointer %s, grouped %s, interleaved %s\n", pointer_right ? "equal" : "different",
              grouped_right ? "equal" : "different", interleaved_right ? "equal" : "different");
  return pointer_right && grouped_right && interleaved_right ? 0 : 1;
}
