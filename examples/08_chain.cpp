// D[p] = (A[p] * B[p]) * X for every p, as a chain: the products A B never reach memory, because each piece
// of the batch goes through both passes while it is in the cache.
#include <cstdio>
#include <tilewright/chain.hpp>
#include <tilewright/gemm.hpp>
#include <vector>

int main() {
  namespace tw = tilewright;
  const std::int64_t n = 6, count = 20000, stride = n * n;
  std::vector<double> a(stride * count, 1.0), b(stride * count, 0.5), x(stride, 2.0), d(stride * count);
  tw::Context context;

  // X is one matrix for all: its stride is 0.
  const tw::GemmPlan first =
      tw::plan(context, tw::parse_problem("gemm_batched:f64:nn:m=6,n=6,k=6:strided:batch=20000"));
  const tw::GemmPlan second =
      tw::plan(context, tw::parse_problem("gemm_batched:f64:nn:m=6,n=6,k=6:strided:batch=20000:stride_b=0"));

  const tw::ChainScratch between{1};  // holds A B of one piece
  const tw::ChainPass<double> passes[] = {{&first, 1.0, a.data(), b.data(), 0.0, between},
                                          {&second, 1.0, between, x.data(), 0.0, d.data()}};
  tw::run_chain<double>(count, passes);

  std::printf("every element is %g\n%s\n", d[0], tw::explain_chain<double>(count, passes).c_str());
  return d.front() == 36.0 && d.back() == 36.0 ? 0 : 1;  // 6 * 0.5 = 3, 6 * 3 * 2 = 36
}
