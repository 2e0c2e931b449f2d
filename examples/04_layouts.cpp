// The same products from four layouts: strided, pointer, block-interleaved and grouped. Shows how each is
// described, and checks that all give the same C; conversions between layouts are written out by hand here.
#include <algorithm>
#include <cstdio>
#include <tilewright/gemm.hpp>
#include <vector>

namespace tw = tilewright;
using Strided = tw::StridedBatch<double>;
using Pointer = tw::PointerBatch<double>;
using Interleaved = tw::InterleavedBatch<double>;

constexpr std::int64_t m = 5, n = 3, k = 4, count = 100, block = 16;

// Element (i, j) of problem p in a block-interleaved batch of matrices with `rows` rows and `cols` columns.
std::int64_t interleaved_index(std::int64_t p, std::int64_t i, std::int64_t j, std::int64_t rows,
                               std::int64_t cols) {
  return (p / block) * block * rows * cols + (j * rows + i) * block + p % block;
}

std::vector<double> interleave(const std::vector<double>& strided, std::int64_t rows, std::int64_t cols) {
  const std::int64_t blocks = (count + block - 1) / block;  // the last block is stored whole
  std::vector<double> out(static_cast<std::size_t>(blocks * block * rows * cols));
  for (std::int64_t p = 0; p < count; ++p)
    for (std::int64_t j = 0; j < cols; ++j)
      for (std::int64_t i = 0; i < rows; ++i)
        out[interleaved_index(p, i, j, rows, cols)] = strided[p * rows * cols + j * rows + i];
  return out;
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
  tw::gemm_batched(context, none, none, 1.0, Strided{a.data(), m, k, m, m * k, count},
                   Strided{b.data(), k, n, k, k * n, count}, 0.0, Strided{c.data(), m, n, m, m * n, count});
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

  // Block-interleaved: equal elements of 16 problems are neighbours.
  auto block_a = interleave(a, m, k), block_b = interleave(b, k, n), block_c = interleave(c, m, n);
  tw::gemm_batched(context, none, none, 1.0, Interleaved{block_a.data(), m, k, m, block, count},
                   Interleaved{block_b.data(), k, n, k, block, count}, 0.0,
                   Interleaved{block_c.data(), m, n, m, block, count});
  bool interleaved_right = true;
  for (std::int64_t p = 0; p < count; ++p)
    for (std::int64_t i = 0; i < m * n; ++i)
      interleaved_right &= block_c[interleaved_index(p, i % m, i / m, m, n)] == expected[p * m * n + i];

  std::printf("pointer %s, grouped %s, interleaved %s\n", pointer_right ? "equal" : "different",
              grouped_right ? "equal" : "different", interleaved_right ? "equal" : "different");
  return pointer_right && grouped_right && interleaved_right ? 0 : 1;
}
