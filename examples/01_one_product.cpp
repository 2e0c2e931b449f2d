// One product of matrices as C++ programs have them, by rows: the smallest program. C = A * B.
#include <cstdio>
#include <tilewright/gemm.hpp>
#include <vector>

int main() {
  namespace tw = tilewright;
  const std::size_t m = 2, n = 3, k = 4;
  const std::vector<double> a(m * k, 1.0), b(k * n, 0.5);
  std::vector<double> c(m * n);

  tw::Context context;  // knows the machine and keeps what it makes: make one and use it everywhere
  tw::gemm(context, tw::Op::none, tw::Op::none, 1.0, tw::row_major(a.data(), m, k),
           tw::row_major(b.data(), k, n), 0.0, tw::row_major(c.data(), m, n));

  for (std::size_t i = 0; i < m; ++i) std::printf("%g %g %g\n", c[i * n], c[i * n + 1], c[i * n + 2]);
  return c.front() == 2.0 && c.back() == 2.0 ? 0 : 1;
}
