// A linear system: factor A once, solve with it, and ask how good the solution is. The library decides
// whether CPU or GPUs compute.
#include <cmath>
#include <cstdio>
#include <tilewright/lu.hpp>
#include <vector>

int main() {
  namespace tw = tilewright;
  const std::int64_t n = 200;
  std::vector<double> a(n * n), b(n, 0.0), x;
  std::vector<std::int64_t> pivots(n);
  for (std::int64_t j = 0; j < n; ++j)  // by columns; the solution is 1, 1, ..., 1
    for (std::int64_t i = 0; i < n; ++i) {
      a[j * n + i] = i == j ? 4 : 1 / (1.0 + static_cast<double>(i + 2 * j));
      b[i] += a[j * n + i];
    }

  tw::Context context;
  std::vector<double> lu = a;  // factors overwrite the matrix
  const tw::LuReport report = tw::lu_factor(context, tw::column_major(lu.data(), n, n), pivots);
  if (report.info != 0) {
    std::printf("pivot %lld is zero\n", static_cast<long long>(report.info));
    return 1;
  }
  x = b;  // the solution overwrites the right-hand side
  const auto factors = tw::column_major<tw::Location::host>(lu.data(), n, n);
  tw::lu_solve(context, tw::Op::none, factors, pivots, tw::column_major(x.data(), n, 1));
  const auto refined = tw::lu_refine(context, tw::Op::none, tw::column_major(a.data(), n, n), factors, pivots,
                                     tw::column_major(b.data(), n, 1), tw::column_major(x.data(), n, 1));

  double error = 0;
  for (const double one : x) error = std::fmax(error, std::fabs(one - 1));
  std::printf("factored by %s; backward error %.1e, error %.1e\n", report.candidate.c_str(),
              refined.backward_error, error);
  return error < 1e-12 && refined.backward_error < 1e-14 ? 0 : 1;
}
