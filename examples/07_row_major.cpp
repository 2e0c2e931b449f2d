// Matrices as C and C++ programs have them, by rows: one product, a batch that shares one matrix, and a plan
// that is made from the views and run many times. std::mdspan is taken in the place of these views.
#include <cstdio>
#include <tilewright/gemm.hpp>
#include <vector>

int main() {
  namespace tw = tilewright;
  const std::size_t m = 4, n = 3, k = 2, count = 1000;
  std::vector<double> a(count * m * k, 1.0), b(k * n, 0.5), c(count * m * n, 9.0);
  tw::Context context;

  // C = A B for the first of them; element (i, j) of A is a[i * k + j]
  const auto first_a = tw::row_major(a.data(), m, k), all_b = tw::row_major(b.data(), k, n);
  const auto first_c = tw::row_major(c.data(), m, n);
  tw::gemm(context, tw::Op::none, tw::Op::none, 1, first_a, all_b, 0, first_c);
  std::printf("every element is %g\n", c[0]);

  // C[p] = A[p] B for every p: B, which is one matrix, is taken for all
  const auto batch_a = tw::strided_batch(first_a, m * k, count),
             batch_c = tw::strided_batch(first_c, m * n, count);
  tw::gemm_batched(context, tw::Op::none, tw::Op::none, 1, batch_a, all_b, 0, batch_c);

  // The same, decided once
  const auto multiply = tw::plan(context, tw::Op::none, tw::Op::none, 1, batch_a, all_b, 1, batch_c);
  for (int i = 0; i < 2; ++i) multiply.run(1, batch_a, all_b, 1, batch_c);

  try {  // Every second element of a row: no kernel reads that
    tw::gemm(context, tw::Op::none, tw::Op::none, 1, tw::strided(a.data(), m, k, 2 * k, 2), all_b, 0,
             first_c);
  } catch (const tw::Error& error) {
    std::printf("as expected: %s\n", error.what());
  }
  return c.front() == 3.0 && c.back() == 3.0 ? 0 : 1;
}
