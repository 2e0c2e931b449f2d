// Measured ceilings: what the loops report must be possible, and the file that keeps them must survive damage
// and replace only its own line.
#include "wisdom/ceilings.hpp"

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <thread>
#include <vector>

#include "measure/buffers.hpp"
#include "measure/clock.hpp"
#include "measure/compute_peak.hpp"
#include "measure/streaming.hpp"
#include "support/isas.hpp"
#include "support/temp_folder.hpp"
#include "tilewright/gemm.hpp"
#include "wisdom/kept_lines.hpp"

namespace tilewright {
namespace {

namespace fs = std::filesystem;

class CeilingsFile : public ::testing::Test {
 protected:
  TempFolder folder_;
  std::string path_ = folder_ / "deep/ceilings.jsonl";
};

Ceilings sample(const std::string& device, std::int64_t threads, double update) {
  Ceilings ceilings;
  ceilings.device = device;
  ceilings.threads = threads;
  ceilings.memory_update = update;
  return ceilings;
}

TEST_F(CeilingsFile, KeepsOneLinePerDeviceAndThreads) {
  EXPECT_FALSE(load_ceilings(path_, "x", 1));
  save_ceilings(path_, sample("x", 1, 10));
  save_ceilings(path_, sample("x", 2, 20));
  save_ceilings(path_, sample("y", 1, 30));
  save_ceilings(path_, sample("x", 1, 11));
  EXPECT_EQ(load_ceilings(path_, "x", 1)->memory_update, 11);
  EXPECT_EQ(load_ceilings(path_, "x", 2)->memory_update, 20);
  EXPECT_EQ(load_ceilings(path_, "y", 1)->memory_update, 30);
  EXPECT_FALSE(load_ceilings(path_, "y", 2));
  std::ifstream file(path_);
  int lines = 0;
  for (std::string line; std::getline(file, line);) ++lines;
  EXPECT_EQ(lines, 3);
}

// Others at work while they were measured hide what more threads can do.
TEST_F(CeilingsFile, MoreThreadsReachWhatFewerDid) {
  Ceilings one = sample("x", 1, 20), two = sample("x", 2, 5), four = sample("x", 4, 90);
  one.fma_f64_256 = 100, two.fma_f64_256 = 180;
  for (const Ceilings& each : {two, one, four}) save_ceilings(path_, each);
  EXPECT_EQ(load_ceilings(path_, "x", 2)->memory_update, 20);
  EXPECT_EQ(load_ceilings(path_, "x", 2)->fma_f64_256, 180);
  EXPECT_EQ(load_ceilings(path_, "x", 1)->memory_update, 20);
  EXPECT_EQ(load_ceilings(path_, "x", 4)->memory_update, 90);
  EXPECT_EQ(load_ceilings(path_, "x", 4)->fma_f64_256, 180);
}

TEST_F(CeilingsFile, RatesWellBelowThoseOfFewerThreadsAreADisturbance) {
  Ceilings one = sample("x", 1, 40), two = sample("x", 2, 37);
  one.fma_f64_256 = 100, two.fma_f64_256 = 200;
  EXPECT_EQ(disturbance(two, one), "");
  raise_to(two, one);
  EXPECT_EQ(two.memory_update, 40);
  EXPECT_EQ(two.fma_f64_256, 200);
  EXPECT_EQ(two.threads, 2);
  two.memory_update = 35;
  EXPECT_EQ(disturbance(two, one), "2 threads reached less than 1 did: memory_update 35.0 instead of 40.0");
  two.fma_f64_256 = 20;
  EXPECT_EQ(disturbance(two, one),
            "2 threads reached less than 1 did: fma_f64_256 20.0 instead of 100.0, memory_update 35.0 "
            "instead of 40.0");
}

TEST_F(CeilingsFile, OfGpusLieBesideAndAreKeptByName) {
  Environment environment;
  environment.cache = folder_ / "deep";
  ASSERT_EQ(ceilings_path(environment), path_);
  const std::string path = gpu_ceilings_path(environment);
  EXPECT_EQ(path, folder_ / "deep/gpu_ceilings.jsonl");
  EXPECT_FALSE(load_gpu_ceilings(path, "a card"));
  save_ceilings(path_, sample("a card", 1, 10));
  for (const double rate : {20.0, 30.0}) save_gpu_ceilings(path, {.device = "a card", .multiply_f32 = rate});
  save_gpu_ceilings(path, {.device = "another", .memory_write = 5});
  EXPECT_EQ(load_gpu_ceilings(path, "a card")->compute_gflops(DType::c64), 30);
  EXPECT_EQ(load_gpu_ceilings(path, "another")->memory_gbytes(false), 5);
  EXPECT_EQ(read_kept_lines(path).size(), 2u);
  EXPECT_EQ(load_ceilings(path_, "a card", 1)->memory_update, 10);
}

TEST_F(CeilingsFile, DamagedLinesAreDropped) {
  save_ceilings(path_, sample("x", 1, 10));
  std::ofstream(path_, std::ios::app) << "{\"device\": \"x\", \"thre\n[]\n{\"unknown\": 1}\n";
  EXPECT_EQ(load_ceilings(path_, "x", 1)->memory_update, 10);
  save_ceilings(path_, sample("x", 1, 12));
  EXPECT_EQ(load_ceilings(path_, "x", 1)->memory_update, 12);
}

TEST_F(CeilingsFile, WritersThatMeetLoseNothing) {
  std::vector<std::thread> writers;
  for (int writer = 0; writer < 4; ++writer)
    writers.emplace_back([&, writer] {
      for (int i = 0; i < 20; ++i) save_ceilings(path_, sample(std::to_string(writer), 1 + i, i));
    });
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(read_kept_lines(path_).size(), 80u);
}

TEST_F(CeilingsFile, AnImpossibleFolderIsAnError) {
  folder_.write("deep", "a file where the folder should be");
  EXPECT_THROW(save_ceilings(path_, sample("x", 1, 10)), Error);
}

TEST(CeilingsPath, FollowsTheEnvironment) {
  Environment environment;
  environment.cache = "/some/where";
  EXPECT_EQ(ceilings_path(environment), "/some/where/ceilings.jsonl");
}

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
