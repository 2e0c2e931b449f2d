// A client that multiplies one small matrix at a time, by the Context and by a plan it keeps; data in the
// first cache. It compares with OpenBLAS, and with LIBXSMM's kernel, kept and looked up.
#include "client.hpp"

namespace tilewright::clients {
namespace {

void compare(const Cblas& cblas, int n) {
  std::vector<double> a(std::size_t(n * n), 0.5), b(std::size_t(n * n), 0.25), c(std::size_t(n * n));
  const Product p{n, n, n, n, n, n, a.data(), b.data(), c.data()};
  const int calls = std::max(100, 4000000 / (n * n * n + 200));
  const auto repeat = [calls](auto&& call) {
    return [calls, call] {
      for (int i = 0; i < calls; ++i) call();
    };
  };
  Context context(quiet());
  GemmProblem problem;
  problem.m = problem.n = problem.k = n;
  problem.beta = Scalar::one;
  const GemmPlan kept = plan(context, packed(problem));
  Turns turns;
  turns.add("tilewright gemm", repeat([&] { tilewright_gemm(context, p); }));
  turns.add("tilewright plan", repeat([&] { kept.run<double>(1.0, p.a, p.b, 1.0, p.c); }));
  if (cblas) turns.add("openblas", repeat([&] { cblas(p); }));
#ifdef TILEWRIGHT_PEER_LIBXSMM
  if (const auto kernel = libxsmm_kernel(p))
    turns.add("libxsmm kernel", repeat([&, kernel] { kernel(p.a, p.b, p.c); }));
  turns.add("libxsmm dispatch", repeat([&] { libxsmm_dispatch_and_call(p); }));
#endif
  (void)turns.seconds(3, calls);
  print_case({{"client", "single_calls"}, {"n", n}}, turns.seconds(15, calls));
}

}  // namespace
}  // namespace tilewright::clients

int main(int count, char** arguments) {
  tilewright::bench::print_command(count, arguments);
  const tilewright::clients::Cblas cblas;
  for (const int n : {2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32, 48, 64}) tilewright::clients::compare(cblas, n);
}
