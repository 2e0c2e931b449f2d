// bench_grain: two ways to share a batch among threads (Dongarra et al. 2017, section 4). Coarse: each thread
// computes its own problems. Fine: all threads compute one problem together, each its columns of C, and meet
// at a barrier before the next. Both run the same generated kernels through plans; the clock is wall time of
// the whole batch.
#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "device/cpu.hpp"
#include "tilewright/gemm.hpp"

namespace {

namespace tw = tilewright;

struct Case {
  std::int64_t n, count;
  std::vector<double> a, b, c;
};

tw::GemmProblem problem_of(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t count,
                           std::int64_t stride) {
  tw::GemmProblem p;
  p.dtype = tw::DType::f64;
  p.m = m, p.n = n, p.k = k;
  p.lda = m, p.ldb = k, p.ldc = m;
  p.layout = count == 1 ? tw::Layout::single : tw::Layout::strided;
  p.batch_count = count;
  if (count > 1) p.stride_a = p.stride_b = p.stride_c = stride;
  p.alpha = p.beta = tw::Scalar::one;
  p.residency = tw::Residency::cold;
  return p;
}

void coarse(const tw::GemmPlan& whole, Case& x) {
  whole.run<double>(1.0, x.a.data(), x.b.data(), 1.0, x.c.data());
}

// One plan per thread: its columns of C and B, all of A.
void fine(const std::vector<tw::GemmPlan>& parts, const std::vector<std::int64_t>& first_col, Case& x) {
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

double seconds_of(const auto& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void print(const char* grain, const Case& x, int threads, std::vector<double>& seconds) {
  std::sort(seconds.begin(), seconds.end());
  const double centre = seconds[seconds.size() / 2];
  const double flops = 2.0 * double(x.n) * double(x.n) * double(x.n) * double(x.count);
  std::printf(
      "{\"grain\":\"%s\",\"dtype\":\"f64\",\"n\":%lld,\"batch_count\":%lld,\"threads\":%d,\"seconds\":%.6g,"
      "\"seconds_low\":%.6g,\"seconds_high\":%.6g,\"samples\":%zu,\"gflops\":%.3f}\n",
      grain, static_cast<long long>(x.n), static_cast<long long>(x.count), threads, centre, seconds.front(),
      seconds.back(), seconds.size(), flops / centre * 1e-9);
}

void compare(tw::Context& context, std::int64_t n, int threads) {
  constexpr std::int64_t bytes = 192 << 20;
  const std::int64_t count = std::clamp<std::int64_t>(bytes / (3 * 8 * n * n), 1, 200000);
  Case x{n, count, std::vector<double>(std::size_t(n * n * count), 1e-3), {}, {}};
  x.b = x.c = x.a;
  tw::GemmOptions options;
  options.threads = threads;
  const tw::GemmPlan whole = tw::plan(context, problem_of(n, n, n, count, n * n), options);
  std::vector<tw::GemmPlan> parts;
  std::vector<std::int64_t> first_col;
  options.threads = 1;
  for (int t = 0; t < threads; ++t) {
    const std::int64_t first = n * t / threads, last = n * (t + 1) / threads;
    parts.push_back(tw::plan(context, problem_of(n, last - first, n, 1, 0), options));
    first_col.push_back(first);
  }
  std::vector<double> coarse_s, fine_s;
  for (int repetition = 0; repetition < 9; ++repetition) {
    coarse_s.push_back(seconds_of([&] { coarse(whole, x); }));
    fine_s.push_back(seconds_of([&] { fine(parts, first_col, x); }));
  }
  print("coarse", x, threads, coarse_s);
  print("fine", x, threads, fine_s);
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : omp_get_max_threads();
  if (threads < 1 || argc > 2) {
    std::fprintf(stderr, "usage: bench_grain [threads]   prints JSON lines\n");
    return 2;
  }
  tw::Context context;
  std::printf("{\"command\":\"build/<preset>/bench/bench_grain %d\",\"device\":\"%s\"}\n", threads,
              tw::cpu_info().model.c_str());
  for (const std::int64_t n : {2, 4, 8, 16, 32, 64}) compare(context, n, threads);
}
