// bench_grain: two ways to share a batch among threads (Dongarra et al. 2017, section 4). Coarse: each thread
// computes its own problems. Fine: all threads compute one problem together, each its columns of C, and meet
// at a barrier before the next. Both run the same generated kernels through plans; the clock is wall time of
// the whole batch.
#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "bench/report.hpp"
#include "core/estimate.hpp"
#include "core/problem.hpp"
#include "device/cpu.hpp"
#include "measure/clock.hpp"
#include "people/refusal.hpp"
#include "program.hpp"
#include "tilewright/gemm.hpp"

namespace tilewright {
namespace {

struct Case {
  std::int64_t n, count;
  std::vector<double> a, b, c;
};

GemmProblem problem_of(std::int64_t n, std::int64_t columns, std::int64_t count) {
  GemmProblem p;
  p.dtype = DType::f64;
  p.m = p.k = n, p.n = columns;
  p.layout = count == 1 ? Layout::single : Layout::strided;
  p.batch_count = count;
  p.alpha = p.beta = Scalar::one;
  p.residency = Residency::cold;
  return packed(p);
}

// Runs one plan per thread: its columns of C and B, all of A.
void fine(const std::vector<GemmPlan>& parts, const std::vector<std::int64_t>& first_col, Case& x) {
  const std::int64_t stride = x.n * x.n;
#pragma omp parallel num_threads(static_cast <int>(parts.size()))
  {
    const auto thread = static_cast<std::size_t>(omp_get_thread_num());
    const std::int64_t skip = first_col[thread] * x.n;
    for (std::int64_t p = 0; p < x.count; ++p) {
      parts[thread].run<double>(1.0, x.a.data() + p * stride, x.b.data() + p * stride + skip, 1.0,
                                x.c.data() + p * stride + skip);
#pragma omp barrier
    }
  }
}

void print(const char* grain, const Case& x, int threads, const std::vector<double>& seconds) {
  nlohmann::json line = {{"grain", grain}, {"dtype", "f64"}, {"n", x.n}, {"batch_count", x.count}};
  line["threads"] = threads;
  const Estimate time = estimate(seconds);
  line.update(bench::seconds_keys(time));
  line["gflops"] = 2e-9 * double(x.n * x.n * x.n * x.count) / time.centre;
  fmt::print("{}\n", line.dump());
}

void compare(Context& context, std::int64_t n, int threads) {
  constexpr std::int64_t bytes = 192 << 20;
  const std::int64_t count = std::clamp<std::int64_t>(bytes / (3 * 8 * n * n), 1, 200000);
  Case x{n, count, std::vector<double>(std::size_t(n * n * count), 1e-3), {}, {}};
  x.b = x.c = x.a;
  GemmOptions options;
  options.threads = threads;
  const GemmPlan whole = plan(context, problem_of(n, n, count), options);
  std::vector<GemmPlan> parts;
  std::vector<std::int64_t> first_col;
  options.threads = 1;
  for (int t = 0; t < threads; ++t) {
    const std::int64_t first = n * t / threads, last = n * (t + 1) / threads;
    parts.push_back(plan(context, problem_of(n, last - first, 1), options));
    first_col.push_back(first);
  }
  std::vector<double> coarse_s, fine_s;
  for (int repetition = 0; repetition < 9; ++repetition) {
    const double begin = wall_seconds();
    whole.run<double>(1.0, x.a.data(), x.b.data(), 1.0, x.c.data());
    const double middle = wall_seconds();
    fine(parts, first_col, x);
    coarse_s.push_back(middle - begin), fine_s.push_back(wall_seconds() - middle);
  }
  print("coarse", x, threads, coarse_s);
  print("fine", x, threads, fine_s);
}

int run(int threads) {
  if (threads < 1) wrong_use("THREADS", "THREADS is no number above 0");
  Context context;
  fmt::print("{}\n", nlohmann::json{{"command", fmt::format("bench_grain {}", threads)},
                                    {"device", cpu_info().device}}
                         .dump());
  for (const std::int64_t n : {2, 4, 8, 16, 32, 64}) compare(context, n, threads);
  return 0;
}

}  // namespace
}  // namespace tilewright

int main(int argc, char** argv) {
  return tilewright::bench::run_program("bench_grain", argc, 1, "THREADS   prints JSON lines",
                                        [&] { return tilewright::run(std::atoi(argv[1])); });
}
