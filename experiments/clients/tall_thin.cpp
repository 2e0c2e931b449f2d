// A client whose products have one long side: m from 65 to 4096 with n and k of 2 to 64, as finite elements
// of high order and covariances have. It compares with OpenBLAS, and with LIBXSMM if it has a kernel; data in
// cache.
#include "client.hpp"

namespace tilewright::clients {
namespace {

void compare(const Cblas& cblas, int m, int n, int k, Op op_a, Op op_b) {
  std::vector<double> a(std::size_t(m * k), 0.5), b(std::size_t(k * n), 0.25), c(std::size_t(m * n));
  Product p{m, n, k, m, k, m, a.data(), b.data(), c.data()};
  if (op_a != Op::none) p.lda = k;
  if (op_b != Op::none) p.ldb = n;
  const int calls = std::max(3, int(4e7 / (double(m) * n * k)));
  const auto repeat = [calls](auto&& call) {
    return [calls, call] {
      for (int i = 0; i < calls; ++i) call();
    };
  };
  Context context(quiet());
  GemmOptions one_thread;
  one_thread.threads = 1;
  const auto view = [](const double* data, int rows, int cols, Op op) {
    return op == Op::none ? MatrixView<const double>{data, rows, cols, rows}
                          : MatrixView<const double>{data, cols, rows, cols};
  };
  Turns turns;
  turns.add("tilewright gemm", repeat([&] {
              gemm<double>(context, op_a, op_b, 1.0, view(p.a, m, k, op_a), view(p.b, k, n, op_b), 1.0,
                           {p.c, m, n, m}, one_thread);
            }));
  GemmProblem problem;
  problem.op_a = op_a, problem.op_b = op_b;
  problem.m = m, problem.n = n, problem.k = k;
  problem.beta = Scalar::one;
  const GemmPlan kept = plan(context, packed(problem), one_thread);
  turns.add("tilewright plan", repeat([&] { kept.run<double>(1.0, p.a, p.b, 1.0, p.c); }));
  if (cblas) turns.add("openblas", repeat([&] { cblas(p, op_a, op_b); }));
#ifdef TILEWRIGHT_PEER_LIBXSMM
  if (op_a == Op::none && op_b == Op::none)
    if (const auto kernel = libxsmm_kernel(p))
      turns.add("libxsmm kernel", repeat([&, kernel] { kernel(p.a, p.b, p.c); }));
#endif
  (void)turns.seconds(2, calls);
  print_case({{"client", "tall_thin"},
              {"m", m},
              {"n", n},
              {"k", k},
              {"ops", {op_a == Op::none ? "n" : "t", op_b == Op::none ? "n" : "t"}}},
             turns.seconds(9, calls));
}

void run() {
  const Cblas cblas;
  for (const int m : {65, 81, 100, 256, 1000, 4096})
    for (const auto& [n, k] :
         {std::pair{2, 2}, {4, 4}, {9, 9}, {8, 32}, {16, 16}, {32, 8}, {32, 32}, {64, 64}})
      compare(cblas, m, n, k, Op::none, Op::none);
  for (const auto& [op_a, op_b] : {std::pair{Op::trans, Op::none}, {Op::none, Op::trans}})
    for (const int m : {81, 1000})
      for (const int n : {9, 32}) compare(cblas, m, n, n, op_a, op_b);
}

}  // namespace
}  // namespace tilewright::clients

int main(int count, char** arguments) {
  tilewright::bench::print_command(count, arguments);
  tilewright::clients::run();
}
