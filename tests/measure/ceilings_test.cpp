// Measured ceilings: what the loops report must be possible. Keeping them is wisdom's (kept_test).
#include "measure/ceilings.hpp"

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "measure/buffers.hpp"
#include "measure/clock.hpp"
#include "measure/streaming.hpp"
#include "support/isas.hpp"
#include "tilewright/gemm.hpp"

namespace tilewright {
namespace {

TEST(Streaming, KeepsOrZeroesC) {
  constexpr std::int64_t words = 3 * 8 * 37;
  AlignedBuffer inputs(16 * words);
  AlignedBuffer output(8 * words);
  fill(inputs.data(), 2 * words, DType::f64, Data::uniform, 1);
  fill(output.data(), words, DType::f64, Data::uniform, 2);
  const std::vector<char> before(reinterpret_cast<char*>(output.data()),
                                 reinterpret_cast<char*>(output.data()) + 8 * words);
  for (const int threads : {1, 2})
    for (const Stream kind : stream_kinds(true)) {
      stream({inputs.data(), 8 * words, inputs.data() + 8 * words, 8 * words, output.data(), 8 * words, true},
             kind, threads);
      EXPECT_EQ(std::memcmp(output.data(), before.data(), before.size()), 0) << to_string(kind);
    }
  const std::vector<char> zero(8 * words, 0);
  for (const int threads : {1, 2})
    for (const Stream kind : stream_kinds(false)) {
      std::memcpy(output.data(), before.data(), before.size());
      stream({inputs.data(), 8 * words, inputs.data() + 8 * words, 64, output.data(), 8 * words, false}, kind,
             threads);
      EXPECT_EQ(std::memcmp(output.data(), zero.data(), zero.size()), 0) << to_string(kind);
    }
}

TEST(ComputePeak, CountsItsWork) {
  const double work = run_multiply_adds(DType::f64, 128, 10), chains = work / (2.0 * 10 * 2);
  EXPECT_GE(chains, 10) << "5 cycles of latency times 2 units";
  EXPECT_LE(chains, 31) << "a factor beside them in 32 registers";
  EXPECT_DOUBLE_EQ(run_multiply_adds(DType::f64, 128, 30), 3 * work);
  EXPECT_DOUBLE_EQ(run_multiply_adds(DType::c64, 128, 10), 2 * work);
  EXPECT_THROW(run_multiply_adds(DType::f64, 100, 10), Error);
  EXPECT_THROW(run_multiply_adds(DType::f64, 1024, 10), Error);
}

// Of each vector width the loops of that width alone; that they leave memory alone is looked up in their code
// (scripts/check_peak_loop.py). Both take their best of many short turns by the thread's own clock, so that
// neighbours only cost turns.
class CeilingOf : public ::testing::TestWithParam<Isa> {};

TEST_P(CeilingOf, IsPassedByNoKernel) {
  const bool is_avx512 = GetParam() == Isa::avx512;
  if (!is_avx512) hwy::SetSupportedTargetsForTest(HWY_AVX2), hwy::GetChosenTarget().Update(HWY_AVX2);
  ContextOptions options{.cpu = to_string(GetParam()), .use_wisdom = false, .notices = false};
  Context context(options);
  constexpr std::int64_t n = 24, turns = 60;
  GemmProblem p;
  p.dtype = DType::f64, p.layout = Layout::strided, p.m = p.n = p.k = n, p.batch_count = 1;
  p.beta = Scalar::one, p.residency = Residency::l1;
  const GemmPlan kernel = plan(context, packed(p), {.threads = 1});
  const std::vector<double> a(n * n, 0.5);
  std::vector<double> c(n * n);
  double best_kernel = 0, best_loop = 0;
  const auto rate = [](double work, auto&& run) {
    run();
    const double begin = thread_cpu_seconds();
    run();
    return work / (thread_cpu_seconds() - begin);
  };
  constexpr int runs = 60;
  const std::int64_t bits = is_avx512 ? 512 : 256, steps = 10000;
  const double loop_work = run_multiply_adds(DType::f64, bits, steps);
  // A neighbour on the same core may cost the loop all of its first turns; a loop that is wrong stays behind.
  const auto is_passed = [&] { return best_kernel > 1.03 * best_loop; };
  for (int turn = 0; turn < turns || (is_passed() && turn < 2000 * turns); ++turn) {
    best_loop = std::max(best_loop, rate(loop_work, [&] { run_multiply_adds(DType::f64, bits, steps); }));
    best_kernel = std::max(best_kernel, rate(runs * flops(p), [&] {
                             for (int i = 0; i < runs; ++i)
                               kernel.run<double>(1, a.data(), a.data(), 1, c.data());
                           }));
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().DeInit();
  EXPECT_GT(best_kernel, 0.3 * best_loop) << "a kernel that says nothing of the ceiling";
  EXPECT_LE(best_kernel, 1.03 * best_loop);
}

std::vector<Isa> generated_isas() {
  std::vector<Isa> isas;
  for (const Isa isa : testing::runnable_isas())
    if (isa != Isa::portable) isas.push_back(isa);
  return isas;
}
INSTANTIATE_TEST_SUITE_P(Isas, CeilingOf, ::testing::ValuesIn(generated_isas()),
                         testing::isa_name<::testing::TestParamInfo<Isa>>);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(CeilingOf);

TEST(Buffers, DataAreWhatTheirNameSays) {
  AlignedBuffer buffer(8000);
  auto* values = reinterpret_cast<double*>(buffer.data());
  fill(values, 1000, DType::f64, Data::uniform, 3);
  double sum = 0;
  for (int i = 0; i < 1000; ++i) {
    EXPECT_GE(values[i], -0.5);
    EXPECT_LT(values[i], 0.5);
    sum += values[i];
  }
  EXPECT_LT(std::abs(sum), 50);
  fill(values, 1000, DType::f64, Data::pow2, 3);
  for (int i = 0; i < 1000; ++i) {
    int exponent = 0;
    EXPECT_EQ(std::abs(std::frexp(values[i], &exponent)), 0.5);
    EXPECT_LE(std::abs(exponent - 1), 3);
  }
  fill(values, 1000, DType::f64, Data::graded, 3);
  EXPECT_LT(std::abs(values[31]), 1e-9);
  fill(values, 1000, DType::f64, Data::ill_scaled, 3);
  int large = 0, small = 0;
  for (int i = 0; i < 1000; ++i) {
    EXPECT_LE(std::abs(values[i]), 0x1p20);
    large += std::abs(values[i]) > 0x1p10;
    small += std::abs(values[i]) < 0x1p-10;
  }
  EXPECT_GT(large, 100);
  EXPECT_GT(small, 100);
}

}  // namespace
}  // namespace tilewright
