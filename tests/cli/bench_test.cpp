// The harness of `bench`: lists and cases as typed, operands at the places of their layouts, a check that
// finds wrong results, a benchmark that finds the faster contender and drops slow ones, peers that compute
// what they claim, summaries that follow from their cases. No test depends on speed.
#include <gtest/gtest.h>
#include <omp.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <set>

#include "bench/machine.hpp"
#include "bench/report.hpp"
#include "bench_flags.hpp"
#include "gemm/run/reference.hpp"
#include "lists.hpp"
#include "measure/check_sampled.hpp"
#include "measure/isolated.hpp"
#include "measure/operands.hpp"
#include "peers/peer.hpp"
#include "support/cases.hpp"
#include "support/temp_folder.hpp"

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
  const bench::Plan plan = cli::plan_bench(flags);
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
  flags.batch = "100000";  // a hot batch is limited to what fits
  EXPECT_EQ(cli::plan_bench(flags).cases[2].problem.batch_count, std::int64_t(24 * 1024 / bytes_each));
}

TEST(BenchPlan, AnIsolatedCallHasOneProblemUnlessSaidOtherwise) {
  cli::BenchFlags flags;
  flags.sizes = "8";
  flags.residency = "cold,l2";
  flags.arrival = "back_to_back,idle";
  const auto cases = cli::plan_bench(flags).cases;
  ASSERT_EQ(cases.size(), 4u);
  for (const bench::Case& one : cases) {
    EXPECT_EQ(one.options.arrival, one.problem.arrival);
    EXPECT_EQ(one.problem.arrival == Arrival::idle, one.problem.batch_count == 1) << bench::problem_text(one);
    EXPECT_EQ(bench::case_keys(one)["arrival"], to_string(one.problem.arrival));
  }
  flags.layout = "block_interleaved";
  EXPECT_EQ(cli::plan_bench(flags).cases[1].problem.batch_count, 8);
  flags.batch = "30";
  flags.layout = "strided";
  for (const bench::Case& one : cli::plan_bench(flags).cases) EXPECT_EQ(one.problem.batch_count, 30);
  flags.threads = "2";
  EXPECT_THROW(cli::plan_bench(flags), Error) << "hot data is of a thread";
  flags.residency = "cold";
  EXPECT_NO_THROW(cli::plan_bench(flags));
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
  EXPECT_EQ(refused([](F& f) { f.family = "gemm", f.location = "host"; }), ErrorCode::ok);
  EXPECT_EQ(refused([](F& f) { f.family = "gemm", f.location = "host", f.peers = "cublas"; }),
            ErrorCode::invalid_argument);
  EXPECT_EQ(refused([](F& f) { f.family = "gemm_small", f.target = "cpu"; }), ErrorCode::unsupported);
  EXPECT_EQ(refused([](F& f) { f.family = "gemm_small", f.residency = "l2"; }), ErrorCode::unsupported);
  EXPECT_EQ(refused([](F& f) { f.family = "gemm_small", f.peers = "openblas"; }),
            ErrorCode::invalid_argument);
  EXPECT_EQ(refused([](F& f) { f.family = "gemm_small", f.location = "device"; }), ErrorCode::ok);
  EXPECT_EQ(refused([](F& f) { f.family = "lu"; }), ErrorCode::ok);
  EXPECT_EQ(refused([](F& f) { f.family = "lu", f.location = "device"; }), ErrorCode::unsupported);
  EXPECT_EQ(refused([](F& f) { f.family = "lu", f.peers = "openblas"; }), ErrorCode::invalid_argument);
  EXPECT_EQ(refused([](F& f) { f.family = "lu", f.target = "auto,sideways"; }), ErrorCode::invalid_argument);
  EXPECT_EQ(refused([](F& f) { f.family = "hybrid"; }), ErrorCode::ok);
  EXPECT_EQ(refused([](F& f) { f.family = "hybrid", f.layout = "grouped"; }), ErrorCode::unsupported);
  EXPECT_EQ(refused([](F& f) { f.family = "hybrid", f.peers = "libxsmm"; }), ErrorCode::invalid_argument);
  EXPECT_EQ(refused([](F& f) { f.family = "hybrid", f.hybrid.split = "2"; }), ErrorCode::invalid_argument);
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

// Samples take the time of a table, so that the test does not depend on a clock.
std::vector<bench::Contender> timed_rounds(const std::map<std::string, double>& seconds,
                                           const bench::RoundRules& rules, std::vector<std::string>& order) {
  std::vector<bench::Contender> all;
  for (const auto& [name, time] : seconds) all.push_back({.role = bench::Role::peer, .impl = name});
  all.push_back({.role = bench::Role::memory_loop, .impl = "loop"});
  all.push_back({.role = bench::Role::tested, .impl = "ours"});
  bench::hold_rounds(
      all,
      [&](bench::Contender& one) {
        order.push_back(one.impl);
        return seconds.count(one.impl) > 0 ? seconds.at(one.impl) : 1e-3;
      },
      rules);
  return all;
}

TEST(Rounds, DropTheHopelessAndAskTheSlowLess) {
  std::vector<std::string> order;
  const auto all = timed_rounds({{"fast", 2e-4}, {"hopeless", 2e-3}, {"near", 2.2e-4}}, {.rounds = 7}, order);
  const std::map<std::string, std::size_t> rounds = {
      {"fast", 7}, {"hopeless", 3}, {"near", 7}, {"ours", 7}, {"loop", 7}};
  for (const bench::Contender& one : all) {
    EXPECT_EQ(one.rounds.size(), rounds.at(one.impl)) << one.impl;
    EXPECT_EQ(one.seconds.samples, std::int64_t(one.rounds.size()));
  }
  order.clear();
  for (const auto& one : timed_rounds({{"slow", 1}}, {.rounds = 9, .slow_s = 0.5, .slow_rounds = 4}, order))
    EXPECT_EQ(one.rounds.size(), one.impl == "slow" ? 4u : 9u) << one.impl;
}

TEST(Rounds, EverybodyIsFirstAndLoopsAreLast) {
  std::vector<std::string> order;
  timed_rounds({{"a", 1e-3}, {"b", 1e-3}}, {.rounds = 6}, order);
  ASSERT_EQ(order.size(), 24u);
  std::map<std::string, int> first;
  for (std::size_t i = 0; i < order.size(); i += 4) {
    ++first[order[i]];
    EXPECT_EQ(order[i + 3], "loop");
  }
  EXPECT_EQ(first, (std::map<std::string, int>{{"a", 2}, {"b", 2}, {"ours", 2}}));
}

// A stage of a small case whose contender only records the batches that it was given.
struct Visits {
  explicit Visits(bench::Case c) : machine(bench::host_machine(plan)), stage(machine->stage(c)) {}
  bench::Plan plan{.peers = {}, .all_peers = false};
  std::unique_ptr<bench::Machine> machine;
  std::unique_ptr<bench::Stage> stage;
};

bench::Case visited_case(Residency residency, int threads) {
  bench::Case c;
  c.problem = cases::strided(DType::f64, {64, 64, 64}, Scalar::one, 2000);
  c.problem.residency = residency;
  c.threads = threads;
  return c;
}

TEST(HostStage, ColdTurnsWalkTheRingInOrder) {
  Visits on(visited_case(Residency::cold, 1));
  std::vector<std::int64_t> visited;
  bench::Contender one{.impl = "a"}, other{.impl = "b"};
  one.run = other.run = [&](std::int64_t i) { visited.push_back(i); };
  for (int turn = 0; turn < 8; ++turn) on.stage->turn(turn % 2 == 0 ? one : other);
  ASSERT_GE(visited.size(), 8u);
  for (std::size_t i = 0; i < visited.size(); ++i)
    ASSERT_EQ(visited[i], std::int64_t(i) % on.stage->batches());
}

TEST(HostStage, HotThreadsHaveTheirOwnBatches) {
  Visits on(visited_case(Residency::l2, 2));
  std::atomic<int> used[2] = {};
  bench::Contender one{.impl = "a"};
  one.run = [&](std::int64_t i) { used[i] = 1 + (omp_get_thread_num() == i); };
  on.stage->turn(one);
  EXPECT_EQ(used[0], 2);
  EXPECT_EQ(used[1], 2);
}

TEST(HostStage, IsolatedCallsAreFewAndOnAnyBatch) {
  for (const Residency residency : {Residency::cold, Residency::l2}) {
    bench::Case c = visited_case(residency, 1);
    c.problem.arrival = Arrival::idle;
    Visits on(c);
    std::vector<std::int64_t> visited;
    bench::Contender one{.impl = "a"};
    one.run = [&](std::int64_t i) { visited.push_back(i); };
    EXPECT_GT(on.stage->turn(one), 0);
    EXPECT_EQ(visited.size(), std::size_t(IsolatedCalls::least_calls));
    EXPECT_LT(*std::max_element(visited.begin(), visited.end()), on.stage->batches());
    on.stage->measure_energy(one);
    EXPECT_TRUE(one.energy_samples.empty());
  }
}

// Runs every variant of every peer of this machine on every case that it supports.
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
    // MKL generates code on the processors of some makers only.
    if (peer->name() != "mkl_jit") EXPECT_GT(variants, 0) << peer->name() << " took no case at all";
  }
}

// Measures a whole case in a few milliseconds; asserts only facts that hold on any machine.
TEST(RunCase, MeasuresOursAndAPeerAgainstABound) {
  cli::BenchFlags flags;
  flags.dtype = "f32";
  flags.sizes = "5";
  flags.beta = "0";
  flags.residency = "l1";
  flags.peers = "loop_ijk";
  flags.repetitions = "3";
  const bench::Plan plan = cli::plan_bench(flags);
  const auto machine = bench::host_machine(plan);
  const bench::CaseResult result = bench::run_case(*machine, plan.cases.front());
  EXPECT_EQ(result.tested().impl, "tilewright");
  EXPECT_EQ(result.tested().seconds.samples, 3);
  EXPECT_EQ(result.bound_kind, "compute");
  EXPECT_GT(result.bound_share(), 0);
  EXPECT_LE(result.bound_share(), 1);
  for (const bench::Contender& one : result.impls) EXPECT_GE(one.seconds.centre, result.bound_s);
  EXPECT_LE(result.tested().accuracy.error, result.tested().accuracy.bound);
  const bench::Contender* peer = result.best(bench::Role::peer);
  if (peer) {
    EXPECT_EQ(peer->impl, "loop_ijk");
    EXPECT_DOUBLE_EQ(result.ratio(bench::Role::peer), peer->seconds.centre / result.tested().seconds.centre);
  }
  const auto object = bench::json_of(result).front();
  EXPECT_TRUE(object["config"].is_object()) << object["config"];
  EXPECT_EQ(object["batch_count"], plan.cases.front().problem.batch_count);
}

bench::CaseResult result_with(double tested, double peer, double bound) {
  bench::CaseResult result;
  result.bench_case.family = "gemm_small_cpu";
  result.bench_case.problem = cases::strided(DType::f64, {4, 4, 4}, Scalar::one, 100);
  result.bench_case.problem.residency = Residency::cold;
  result.work_flops = flops(result.bench_case.problem);
  result.bound_s = bound;
  result.bound_kind = "memory";
  bench::Contender one;
  one.role = bench::Role::tested;
  one.impl = "tilewright";
  one.seconds = {tested, tested, tested, 7};
  result.impls.push_back(one);
  one.role = bench::Role::peer;
  one.impl = "slow";
  one.seconds.centre = 3 * peer;
  result.impls.push_back(one);
  one.impl = "peer";
  one.seconds.centre = peer;
  result.impls.push_back(one);
  return result;
}

TEST(Summary, FollowsFromItsCases) {
  bench::Summary summary;
  summary.add(result_with(1, 2, 0.5));
  bench::CaseResult second = result_with(1, 0.5, 1);
  second.bench_case.problem.m = 5;
  summary.add(second);
  bench::CaseResult other = result_with(1, 1, 1);
  other.bench_case.threads = 2;
  summary.add(other);
  const auto objects = summary.objects();
  ASSERT_EQ(objects.size(), 2u);
  EXPECT_EQ(objects[0]["summary"], true);
  EXPECT_DOUBLE_EQ(objects[0]["ratio_geomean"], 1);
  EXPECT_DOUBLE_EQ(objects[0]["ratio_min"], 0.5);
  EXPECT_EQ(objects[0]["ratio_min_case"], bench::problem_text(second.bench_case));
  EXPECT_DOUBLE_EQ(objects[0]["bound_share_min"], 0.5);
  EXPECT_EQ(objects[1]["threads"], 2);
  for (const char* key : {"family", "dtype", "layout", "op", "beta", "residency", "arrival", "threads",
                          "target", "ratio_geomean", "bound_share_geomean", "bound_share_min_case"})
    EXPECT_TRUE(objects[0].contains(key)) << key;
}

TEST(Summary, TellsTheRegretOfTheDefaultWhereWisdomIsInUse) {
  bench::CaseResult plain = result_with(1, 2, 0.5), wise = result_with(1, 2, 0.5);
  bench::Contender standard = wise.tested();
  standard.impl = "tilewright_default";
  standard.seconds.centre = 1.25;
  wise.impls.push_back(standard);
  EXPECT_EQ(bench::table_line(plain).find("1.25x"), std::string::npos);
  EXPECT_NE(bench::table_line(wise).find("1.25x"), std::string::npos) << bench::table_line(wise);
  bench::Summary summary;
  summary.add(plain);
  EXPECT_FALSE(summary.objects()[0].contains("regret_max"));
  summary.add(wise);
  const auto object = summary.objects()[0];
  EXPECT_DOUBLE_EQ(object["default_ratio_min"], 1.25);
  EXPECT_DOUBLE_EQ(object["regret_max"], 0.25);
  EXPECT_EQ(object["regret_max_case"], bench::problem_text(wise.bench_case));
  EXPECT_NE(summary.lines()[1].find("1.25x"), std::string::npos) << summary.lines()[1];
}

TEST(Report, HasEveryKeyOfTheContract) {
  const auto objects = bench::json_of(result_with(1, 2, 0.5));
  ASSERT_EQ(objects.size(), 3u);
  EXPECT_EQ(objects[0]["impl"], "tilewright");
  EXPECT_DOUBLE_EQ(objects[0]["bound_share"], 0.5);
  for (const auto& object : objects)
    for (const std::string& key : cli::split(
             "family problem dtype op m n k lda ldb ldc layout batch_count alpha beta residency arrival "
             "location memory pointer_order numa threads target data impl impl_version config "
             "wisdom_match seconds seconds_low seconds_high samples gflops bound_gflops bound_share "
             "bound_kind ceiling energy_j watts gflops_per_watt energy_note error error_bound metrics "
             "device device_uuid driver commit time",
             ' '))
      EXPECT_TRUE(object.contains(key)) << key;
}

// A meter of one package, which moves as the test sets it.
class HostEnergyTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(package());
    std::ofstream(package() / "name") << "package-0";
    std::ofstream(package() / "max_energy_range_uj") << 1000000000000;
    spend(0);
  }
  std::filesystem::path package() const {
    return std::filesystem::path(folder_ / "class/powercap/intel-rapl:0");
  }
  void spend(double joules) {
    spent_ += joules;
    std::ofstream(package() / "energy_uj") << std::int64_t(spent_ * 1e6);
  }
  TempFolder folder_;
  double spent_ = 0;
};

TEST_F(HostEnergyTest, JoulesOfOneRun) {
  bench::HostEnergy energy(folder_.path().string());
  bench::Contender one;
  energy.measure(one, [&] {
    spend(3);
    return 4.0;
  });
  ASSERT_TRUE(one.joules.has_value()) << one.energy_note;
  EXPECT_NEAR(*one.joules, 0.75, 1e-6);
  EXPECT_GT(one.watts, 0);
  nlohmann::json row;
  bench::add_energy(row, one, 3e9);
  EXPECT_NEAR(row["gflops_per_watt"].get<double>(), 4, 1e-5);
  EXPECT_FALSE(row.contains("energy_note"));
}

TEST_F(HostEnergyTest, WhatIsTooShortOrSharedWithGpusHasNone) {
  const bench::HostEnergy energy(folder_.path().string());
  bench::Contender one;
  const auto run = [&] {
    spend(1);
    return 0.001;
  };
  EXPECT_EQ(energy.watch(one, false, run), 0.001);
  EXPECT_FALSE(one.joules.has_value());
  EXPECT_NE(one.energy_note.find("too short for rapl"), std::string::npos) << one.energy_note;
  energy.watch(one, true, run);
  EXPECT_EQ(one.energy_note, "no meter covers CPU and GPUs together");
  EXPECT_EQ(energy.why_none("no energy is measured"), "no energy is measured");
  std::filesystem::remove(package() / "energy_uj");
  EXPECT_EQ(energy.watch(one, false, [] { return 0.5; }), 0.5);
  EXPECT_NE(one.energy_note.find("cannot be read"), std::string::npos) << one.energy_note;
  const bench::HostEnergy none(folder_ / "nowhere");
  none.measure(one, run);
  EXPECT_FALSE(one.joules.has_value());
  EXPECT_NE(one.energy_note, "");
  EXPECT_EQ(none.why_none("no energy is measured"), one.energy_note);
  nlohmann::json row;
  bench::add_energy(row, one, 3e9);
  EXPECT_TRUE(row["energy_j"].is_null());
  EXPECT_EQ(row["energy_note"], one.energy_note);
}

}  // namespace
}  // namespace tilewright
