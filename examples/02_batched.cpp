// A batch of 10,000 products of 8x8 matrices, one call; then what the library would run for it, and why.
#include <cstdio>
#include <tilewright/gemm.hpp>
#include <vector>

int main() {
  namespace tw = tilewright;
  const std::int64_t n = 8, count = 10000, stride = n * n;
  std::vector<double> a(stride * count, 1.0), b(stride * count, 0.5), c(stride * count, 2.0);

  tw::Context context;  // knows the machine, keeps generated kernels; make one and use it everywhere
  const auto batch_a = tw::strided_batch(tw::column_major(a.data(), n, n), stride, count);
  const auto batch_b = tw::strided_batch(tw::column_major(b.data(), n, n), stride, count);
  const auto batch_c = tw::strided_batch(tw::column_major(c.data(), n, n), stride, count);

  // C[p] = 1 * A[p] * B[p]^T + 3 * C[p] for every p
  tw::gemm_batched(context, tw::Op::none, tw::Op::trans, 1.0, batch_a, batch_b, 3.0, batch_c);
  std::printf("every element is %g\n", c[0]);

  const auto problem = tw::parse_problem("gemm_batched:f64:nt:m=8,n=8,k=8:strided:batch=10000:beta=general");
  std::puts(tw::explain(context, problem).c_str());
  return c.front() == 10.0 && c.back() == 10.0 ? 0 : 1;
}
