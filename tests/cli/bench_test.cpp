// The harness of `bench`: lists and cases as typed, operands where the layouts say, a check that sees wrong
// results, a benchmark that finds the faster contender and drops the hopeless, peers that compute what they
// claim, summaries that follow from their cases. Nothing here asserts how fast anything is.
#include <gtest/gtest.h>
#include <omp.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>

#include "batch_loop.hpp"
#include "bench_cases.hpp"
#include "bench_report.hpp"
#include "gemm/run/reference.hpp"
#include "lists.hpp"
#include "measure/benchmark.hpp"
#include "measure/check_sampled.hpp"
#include "measure/clock.hpp"
#include "measure/operands.hpp"
#include "peer.hpp"
#include "support/cases.hpp"

namespace tilewright {
namespace {

TEST(Lists, RangesAndRectangles) {
  EXPECT_EQ(cli::parse_counts("--x", "2:5,9,10:20:5", 1),
            (std::vector<std::int64_t>{2, 3, 4, 5, 9, 10, 15, 20}));
  EXPECT_EQ(cli::parse_counts("--x", "1e6", 1), (std::vector<std::int64_t>{1000000}));
  const auto sizes = cli::parse_sizes("--sizes", "4,5x13x23");
  ASSERT_EQ(sizes.size(), 2u);
  EXPECT_EQ(sizes[0].k, 4);
  EXPECT_EQ(sizes[1].m, 5);
  EXPECT_EQ(sizes[1].n, 13);
  EXPECT_EQ(sizes[1].k, 23);
}

TEST(Lists, RefusalsNameFlagAndItem) {
  for (const char* text : {"", "a", "5:2", "0", "1:2:3:4", "1.5", "2,", "1:9:0", "nan"}) {
    try {
      cli::parse_counts("--sizes", text, 1);
      FAIL() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.argument(), "--sizes") << text;
      EXPECT_NE(std::string(error.what()).find("--sizes"), std::string::npos);
    }
  }
  EXPECT_THROW(cli::parse_sizes("--sizes", "5x13"), Error);
  EXPECT_THROW(cli::parse_ops("--op", "nnn"), Error);
  EXPECT_THROW(cli::parse_ops("--op", "nx"), Error);
  EXPECT_THROW(cli::parse_numbers("--beta", "1,x"), Error);
}

TEST(BenchPlan, ProductOfLists) {
  cli::BenchFlags flags;
  flags.dtype = "f64,f32";
  flags.sizes = "2:4";
  flags.beta = "0,1";
  flags.residency = "cold,l2,l1";
  flags.threads = "1:2";
  const cli::BenchPlan plan = cli::plan_bench(flags);
  EXPECT_EQ(plan.cases.size(), 2u * 3 * 2 * 3 * 2);
  for (std::size_t i = 1; i < plan.cases.size(); ++i)
    EXPECT_LE(plan.cases[i - 1].problem.dtype, plan.cases[i].problem.dtype);
}

TEST(BenchPlan, ResidencyDecidesTheBatch) {
  cli::BenchFlags flags;
  flags.sizes = "8";
  flags.residency = "cold,l2,l1";
  const auto cases = cli::plan_bench(flags).cases;
  ASSERT_EQ(cases.size(), 3u);
  const double bytes_each = 3 * 64 * 8;
  EXPECT_EQ(cases[1].problem.batch_count, std::int64_t(512 * 1024 / bytes_each));
  EXPECT_EQ(cases[2].problem.batch_count, std::int64_t(24 * 1024 / bytes_each));
  const auto& cold = cases[0].problem;
  EXPECT_GE(double(batches_for(cold, Residency::cold, 1)) * footprint_bytes(cold), cold_bytes);
  flags.batch = "10";
  for (const auto& one : cli::plan_bench(flags).cases) EXPECT_EQ(one.problem.batch_count, 10);
  flags.batch = "100000";  // hot batches hold at most what fits
  EXPECT_EQ(cli::plan_bench(flags).cases[2].problem.batch_count, std::int64_t(24 * 1024 / bytes_each));
}

TEST(BenchPlan, WhatIsNotBuiltIsRefusedWithAReason) {
  const auto refused = [](auto change) {
    cli::BenchFlags flags;
    change(flags);
    try {
      cli::plan_bench(flags);
    } catch (const Error& error) {
      return error.code();
    }
    return ErrorCode::ok;
  };
  using F = cli::BenchFlags;
  EXPECT_EQ(refused([](F& f) { f.location = "device"; }), ErrorCode::unsupported);
  EXPECT_EQ(refused([](F& f) { f.memory = "pinned"; }), ErrorCode::unsupported);
  EXPECT_EQ(refused([](F& f) { f.target = "gpu"; }), ErrorCode::unsupported);
  EXPECT_EQ(refused([](F& f) { f.objective = "joules"; }), ErrorCode::invalid_argument);
  EXPECT_EQ(refused([](F& f) { f.family = "gemm", f.layout = "pointer"; }), ErrorCode::unsupported);
  EXPECT_EQ(refused([](F& f) { f.family = "gemm", f.peers = "cublas_strided"; }),
            ErrorCode::invalid_argument);
  EXPECT_EQ(refused([](F& f) { f.family = "gemm", f.peers = "cublas"; }), ErrorCode::ok);
  EXPECT_EQ(refused([](F& f) { f.family = "gemm_small", f.location = "host"; }), ErrorCode::unsupported);
  EXPECT_EQ(refused([](F& f) { f.family = "gemm_small", f.target = "cpu"; }), ErrorCode::unsupported);
  EXPECT_EQ(refused([](F& f) { f.family = "gemm_small", f.residency = "l2"; }), ErrorCode::unsupported);
  EXPECT_EQ(refused([](F& f) { f.family = "gemm_small", f.peers = "openblas"; }),
            ErrorCode::invalid_argument);
  EXPECT_EQ(refused([](F& f) { f.family = "gemm_small", f.location = "device"; }), ErrorCode::ok);
  for (const char* family : {"hybrid", "lu"})
    EXPECT_EQ(refused([&](F& f) { f.family = family; }), ErrorCode::unsupported) << family;
  EXPECT_EQ(refused([](F& f) { f.family = "nonsense"; }), ErrorCode::invalid_argument);
  EXPECT_EQ(refused([](F& f) { f.peers = "nobody"; }), ErrorCode::invalid_argument);
  EXPECT_EQ(refused([](F& f) { f.residency = "auto"; }), ErrorCode::invalid_argument);
  EXPECT_EQ(refused([](F& f) { f.numa = "elsewhere"; }), ErrorCode::invalid_argument);
  EXPECT_EQ(refused([](F&) {}), ErrorCode::ok);
}

GemmProblem small_problem(DType dtype, Layout layout, Scalar beta, std::int64_t count) {
  GemmProblem problem = cases::strided(dtype, {3, 4, 5}, beta, count);
  problem.layout = layout;
  problem.stride_a = problem.stride_b = problem.stride_c = 0;
  if (layout == Layout::block_interleaved) problem.block = 4;
  problem.residency = Residency::l1;
  return packed(problem);
}

TEST(OperandSet, BatchesAndPointersDoNotOverlap) {
  const GemmProblem problem = small_problem(DType::f32, Layout::pointer, Scalar::one, 50);
  Arena arena;
  const OperandSet set(arena, problem, 3, Data::uniform, PointerOrder::random);
  std::set<const void*> seen;
  const std::int64_t matrix = problem.ldc * problem.n * 4;
  for (std::int64_t batch = 0; batch < 3; ++batch)
    for (std::int64_t p = 0; p < 50; ++p) seen.insert(static_cast<void* const*>(set.batch(batch).c)[p]);
  EXPECT_EQ(seen.size(), 150u);
  const char* last = nullptr;
  for (const void* address : seen) {
    if (last) {
      EXPECT_GE(static_cast<const char*>(address), last + matrix);
    }
    last = static_cast<const char*>(address);
  }
}

TEST(OperandSet, StreamsCoverTheBytesOfTheCase) {
  const GemmProblem problem = cases::strided(DType::f64, {5, 13, 23}, Scalar::one, 1000);
  Arena arena;
  const OperandSet set(arena, problem, 2);
  const StreamOperands streams = set.streams(0, 2);
  EXPECT_DOUBLE_EQ(double(streams.a_bytes + streams.b_bytes + 2 * streams.c_bytes), 2 * bytes(problem));
  EXPECT_TRUE(streams.read_c);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(streams.c) % 64, 0u);
}

void burn(double seconds) {
  const double end = thread_cpu_seconds() + seconds;
  while (thread_cpu_seconds() < end) {
  }
}

TEST(Benchmark, FindsTheFasterAndDropsTheHopeless) {
  std::atomic<int> alone{0};
  std::vector<Contender> contenders = {{"fast", [](std::int64_t) { burn(2e-4); }, 0, false},
                                       {"hopeless", [](std::int64_t) { burn(2e-3); }, 0, false},
                                       {"alone", [&](std::int64_t) { burn(3e-3), ++alone; }, -1, false}};
  TimingSchedule schedule;
  schedule.batches = 4;
  schedule.repetitions = 7;
  const auto seconds = benchmark(contenders, schedule);
  EXPECT_LT(seconds[0].centre, seconds[1].centre);
  EXPECT_EQ(seconds[0].samples, 7);
  EXPECT_EQ(seconds[1].samples, 3);
  EXPECT_EQ(seconds[2].samples, 7);
  EXPECT_EQ(alone, 7);
  schedule.hot = true;
  schedule.hot_turn_s = 2e-3;
  const auto hot = benchmark(contenders, schedule);
  EXPECT_NEAR(hot[0].centre, 2e-4, 1e-4);
}

TEST(Benchmark, ColdTurnsWalkTheRingInOrder) {
  std::vector<std::int64_t> visited;
  std::vector<Contender> contenders = {{"a", [&](std::int64_t i) { visited.push_back(i); }, -1, false},
                                       {"b", [&](std::int64_t i) { visited.push_back(i); }, -1, false}};
  TimingSchedule schedule;
  schedule.batches = 6;
  schedule.batches_per_turn = 2;
  schedule.repetitions = 6;
  benchmark(contenders, schedule);
  ASSERT_EQ(visited.size(), 24u);
  for (std::size_t i = 0; i < visited.size(); ++i) EXPECT_EQ(visited[i], std::int64_t(i % 6));
}

TEST(Benchmark, HotThreadsHaveTheirOwnBatches) {
  std::atomic<int> used[2] = {};
  std::vector<Contender> contenders = {
      {"a", [&](std::int64_t i) { used[i] = 1 + (omp_get_thread_num() == i); }, -1, false}};
  TimingSchedule schedule;
  schedule.hot = true;
  schedule.threads = 2;
  schedule.repetitions = 3;
  schedule.hot_turn_s = 1e-4;
  benchmark(contenders, schedule);
  EXPECT_EQ(used[0], 2);
  EXPECT_EQ(used[1], 2);
}

// Every variant of every peer that is here, on every case that it takes.
TEST(Peers, ComputeWhatTheyClaim) {
  const peers::PeerSearch search = peers::find_peers();
  const auto names = peers::peer_names();
  for (const auto& missing : search.missing) EXPECT_FALSE(missing.reason.empty()) << missing.name;
  for (const auto& peer : search.found) {
    EXPECT_NE(std::find(names.begin(), names.end(), peer->name()), names.end()) << peer->name();
    int variants = 0;
    for (const DType dtype : cases::dtypes)
      for (const Layout layout : {Layout::strided, Layout::pointer, Layout::block_interleaved})
        for (const Op op : {Op::none, Op::trans})
          for (const double beta : {0.0, 1.0})
            for (const int threads : {1, 2}) {
              GemmProblem problem =
                  cases::strided(dtype, {8, 8, 8}, beta == 0 ? Scalar::zero : Scalar::one, 37);
              problem.layout = layout;
              problem.stride_a = problem.stride_b = problem.stride_c = 0;
              problem.op_b = op;
              problem.block = layout == Layout::block_interleaved ? 8 : 0;
              peers::PeerCase request{peer->stored(packed(problem)), 1.0, beta, threads};
              Arena arena;
              const OperandSet set(arena, request.problem, 1);
              const SampledCheck check(request.problem, set.batch(0), 1, beta);
              const peers::PeerOffer offer = peer->prepare(request);
              EXPECT_EQ(offer.variants.empty(), !offer.declined.empty()) << peer->name();
              for (const peers::PeerVariant& variant : offer.variants) {
                EXPECT_TRUE(check.check([&] { variant.run(set.batch(0)); }).passed())
                    << peer->name() << ' ' << variant.name << ' ' << to_string(request.problem) << " threads "
                    << threads;
                ++variants;
              }
            }
    // MKL generates code on some makers' processors only.
    if (peer->name() != "mkl_jit") EXPECT_GT(variants, 0) << peer->name() << " took no case at all";
  }
}

// A whole case in a few milliseconds; only what must hold on any machine is asserted.
TEST(RunCase, MeasuresOursAndAPeerAgainstABound) {
  cli::BenchFlags flags;
  flags.dtype = "f32";
  flags.sizes = "5";
  flags.beta = "0";
  flags.residency = "l1";
  flags.peers = "loop_ijk";
  flags.repetitions = "3";
  const cli::BenchPlan plan = cli::plan_bench(flags);
  cli::BenchMachine machine;
  const cli::CaseResult result = cli::run_case(machine, plan, plan.cases.front());
  EXPECT_EQ(result.ours().impl, "tilewright");
  EXPECT_EQ(result.ours().seconds.samples, 3);
  EXPECT_EQ(result.bound_kind, "compute");
  EXPECT_GT(result.bound_share(), 0);
#ifndef __SANITIZE_ADDRESS__  // sanitizers slow the loop that measures the bound, not the generated kernel
  EXPECT_LT(result.bound_share(), 1.5);
#endif
  EXPECT_LE(result.ours().accuracy.error, result.ours().accuracy.bound);
  const cli::ImplResult* peer = result.best(cli::Role::peer);
  if (peer) {
    EXPECT_EQ(peer->impl, "loop_ijk");
    EXPECT_DOUBLE_EQ(result.ratio(cli::Role::peer), peer->seconds.centre / result.ours().seconds.centre);
  }
  const auto object = cli::json_of(result).front();
  EXPECT_TRUE(object["config"].is_object()) << object["config"];
  EXPECT_EQ(object["batch_count"], plan.cases.front().problem.batch_count);
}

cli::CaseResult result_with(double ours, double peer, double bound) {
  cli::CaseResult result;
  result.bench_case.family = "gemm_small_cpu";
  result.bench_case.problem = cases::strided(DType::f64, {4, 4, 4}, Scalar::one, 100);
  result.bench_case.problem.residency = Residency::cold;
  result.work_flops = flops(result.bench_case.problem);
  result.bound_s = bound;
  result.bound_kind = "memory";
  cli::ImplResult one;
  one.role = cli::Role::ours;
  one.impl = "tilewright";
  one.seconds = {ours, ours, ours, 7};
  result.impls.push_back(one);
  one.role = cli::Role::peer;
  one.impl = "slow";
  one.seconds.centre = 3 * peer;
  result.impls.push_back(one);
  one.impl = "peer";
  one.seconds.centre = peer;
  result.impls.push_back(one);
  return result;
}

TEST(Summary, FollowsFromItsCases) {
  cli::Summary summary;
  summary.add(result_with(1, 2, 0.5));
  cli::CaseResult second = result_with(1, 0.5, 1);
  second.bench_case.problem.m = 5;
  summary.add(second);
  cli::CaseResult other = result_with(1, 1, 1);
  other.bench_case.threads = 2;
  summary.add(other);
  const auto objects = summary.objects();
  ASSERT_EQ(objects.size(), 2u);
  EXPECT_EQ(objects[0]["summary"], true);
  EXPECT_DOUBLE_EQ(objects[0]["ratio_geomean"], 1);
  EXPECT_DOUBLE_EQ(objects[0]["ratio_min"], 0.5);
  EXPECT_EQ(objects[0]["ratio_min_case"], cli::problem_text(second.bench_case));
  EXPECT_DOUBLE_EQ(objects[0]["bound_share_min"], 0.5);
  EXPECT_EQ(objects[1]["threads"], 2);
  for (const char* key : {"family", "dtype", "layout", "op", "beta", "residency", "threads", "target",
                          "ratio_geomean", "bound_share_geomean", "bound_share_min_case"})
    EXPECT_TRUE(objects[0].contains(key)) << key;
}

TEST(Summary, TellsTheRegretOfTheDefaultWhereWisdomIsInUse) {
  cli::CaseResult plain = result_with(1, 2, 0.5), wise = result_with(1, 2, 0.5);
  cli::ImplResult standard = wise.ours();
  standard.impl = "tilewright_default";
  standard.seconds.centre = 1.25;
  wise.impls.push_back(standard);
  EXPECT_EQ(cli::table_line(plain).find("regret"), std::string::npos);
  EXPECT_NE(cli::table_line(wise).find("regret 25.0 %"), std::string::npos) << cli::table_line(wise);
  cli::Summary summary;
  summary.add(plain);
  EXPECT_FALSE(summary.objects()[0].contains("regret_max"));
  summary.add(wise);
  const auto object = summary.objects()[0];
  EXPECT_DOUBLE_EQ(object["default_ratio_min"], 1.25);
  EXPECT_DOUBLE_EQ(object["regret_max"], 0.25);
  EXPECT_EQ(object["regret_max_case"], cli::problem_text(wise.bench_case));
  EXPECT_NE(summary.lines()[0].find("default over ours 1.250"), std::string::npos) << summary.lines()[0];
}

TEST(Report, HasEveryKeyOfTheContract) {
  const auto objects = cli::json_of(result_with(1, 2, 0.5));
  ASSERT_EQ(objects.size(), 3u);
  EXPECT_EQ(objects[0]["impl"], "tilewright");
  EXPECT_DOUBLE_EQ(objects[0]["bound_share"], 0.5);
  for (const auto& object : objects)
    for (const char* key : {"family",
                            "problem",
                            "dtype",
                            "op",
                            "m",
                            "n",
                            "k",
                            "lda",
                            "ldb",
                            "ldc",
                            "layout",
                            "batch_count",
                            "alpha",
                            "beta",
                            "residency",
                            "location",
                            "memory",
                            "pointer_order",
                            "numa",
                            "threads",
                            "target",
                            "data",
                            "impl",
                            "impl_version",
                            "config",
                            "wisdom_match",
                            "seconds",
                            "seconds_low",
                            "seconds_high",
                            "samples",
                            "gflops",
                            "bound_gflops",
                            "bound_share",
                            "bound_kind",
                            "ceiling",
                            "energy_j",
                            "watts",
                            "gflops_per_watt",
                            "energy_note",
                            "error",
                            "error_bound",
                            "metrics",
                            "device",
                            "device_uuid",
                            "driver",
                            "commit",
                            "time"})
      EXPECT_TRUE(object.contains(key)) << key;
}

}  // namespace
}  // namespace tilewright
