// Learning the best config of a problem on this machine, from a program: by name, and whenever a call meets
// a problem that wisdom lacks. Links tilewright::tune. What is learned stays in the user's wisdom.
#include <cstdio>
#include <tilewright/gemm.hpp>
#include <tilewright/tune.hpp>
#include <vector>

int main() {
  namespace tw = tilewright;
  tw::Context context;

  // Half a second for one problem, whose operands will be found in the L1 cache.
  const auto problem = tw::parse_problem("gemm_batched:f64:nn:m=5,n=5,k=5:strided:batch=20:residency=l1");
  const tw::Tuned tuned = tw::tune(context, problem, {.budget_s = 0.5});
  std::printf("%.3g ns each; the default costs %.1f %% more\n", tuned.seconds * 1e9, 100 * tuned.regret);

  // Or as problems come: half a second for each the first time that it is met.
  tw::install_tuner(context);
  const tw::GemmOptions options{.tune_on_miss_s = 0.5};
  const std::int64_t n = 6, count = 20, stride = n * n;
  std::vector<double> a(stride * count, 1.0), c(stride * count);
  const auto in = tw::strided_batch(tw::column_major(a.data(), n, n), stride, count);
  const auto out = tw::strided_batch(tw::column_major(c.data(), n, n), stride, count);
  tw::gemm_batched(context, tw::Op::none, tw::Op::none, 1.0, in, in, 0.0, out, options);
  return c.front() == 6.0 && c.back() == 6.0 ? 0 : 1;
}
