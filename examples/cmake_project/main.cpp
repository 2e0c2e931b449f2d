// One product at run time, one of sizes known when compiling, and the tuner where it is installed.
#include <cstdio>
#include <tilewright/gemm.hpp>
#include <tilewright/small.hpp>
#ifdef HAS_TUNER
#include <tilewright/tune.hpp>
#endif

int main() {
  namespace tw = tilewright;
  tw::Context context;
#ifdef HAS_TUNER
  tw::install_tuner(context);  // calls may now ask for a search: GemmOptions::tune_on_miss_s
#endif
  const double a[] = {1, 2, 3, 4}, b[] = {1, 0, 0, 1};
  double c[4] = {}, d[4] = {};
  tw::gemm(context, tw::Op::none, tw::Op::none, 1, tw::column_major(a, 2, 2), tw::column_major(b, 2, 2), 0,
           tw::column_major(c, 2, 2));
  tw::gemm<2, 2, 2>(1.0, a, b, 0.0, d);
  std::printf("%g %g %g %g\n", c[0], c[1], c[2], c[3]);
  for (int i = 0; i < 4; ++i)
    if (c[i] != a[i] || d[i] != a[i]) return 1;
  return 0;
}
