// Tuning on a GPU, whatever the family: what the checks catch, what a search keeps and drops and why, and
// that its records decide what plans take. Which config wins no test can say.
#include <cstdlib>
#include <fstream>

#include "gemm/plan.hpp"
#include "measure/clock.hpp"
#include "measure/gpu/arena.hpp"
#include "measure/gpu/check.hpp"
#include "support/gpu_fixture.hpp"
#include "support/temp_folder.hpp"
#include "tune/family/family.hpp"
#include "tune/gpu/pool.hpp"
#include "tune/session.hpp"

namespace tilewright::testing {
namespace {

constexpr std::size_t megabyte = 1 << 20;

GemmProblem large(const std::string& rest = "") {
  return parse_problem("gemm:f64:nt:m=96,n=80,k=72:residency=cold:location=device" + rest);
}

class GpuTune : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped()) return;
    options_of_search_.budget_s = is_fake() ? 0.2 : 15;  // a real compiler takes a second for a kernel
    // On the fake card turns alone count: how busy this machine is does not matter.
    if (is_fake()) options_of_search_.clock = BudgetClock::of_turns();
    how_.rules.choices = {{"tile_m", {32, 64}}, {"tile_n", {32, 64}}, {"load", {"async"}}};
  }
  TuneResult tune(const GemmProblem& p, std::size_t operand_bytes = megabyte) {
    TuneMachine machine(Isa::portable, device_, operand_bytes);
    return tilewright::tune(*product_operation(p, machine, how_), options_of_search_);
  }
  bool is_fake() const {
    const char* compiler = std::getenv("TILEWRIGHT_NVRTC");
    return compiler != nullptr && std::string(compiler).find("fake") != std::string::npos;
  }

  Context context_{{.use_wisdom = false, .notices = false}};
  TuneOptions options_of_search_;
  ProductTuning how_;
};

// The vendor's call stands for a right kernel; what is done to C afterwards makes it a wrong one.
class GpuChecks : public GpuTune {
 protected:
  void SetUp() override {
    GpuTune::SetUp();
    if (IsSkipped()) return;
    vendor_ = open_gpu_vendor(*gpu_, large(":beta=one"));
    if (vendor_.trial == nullptr) GTEST_SKIP() << vendor_.absence;
  }
  CheckResult check(std::int64_t element, double value) {
    const SmallCheck gate(vendor_.trial->edges(), 1);
    return gate.run(GpuMemory(*gpu_), [&](const Operands& o) {
      vendor_.trial->run_edges(o);
      gpu_->synchronize();
      if (value != 0) gpu_->write(static_cast<double*>(o.c) + element, &value, sizeof value);
    });
  }

  GpuVendor vendor_;
};

TEST_F(GpuChecks, SmallProblemsAreCheckedInFull) {
  const GemmProblem p = vendor_.trial->edges().problem;
  const CheckResult right = check(0, 0);
  EXPECT_EQ(right.fault, "");
  EXPECT_TRUE(right.accuracy.passed());
  EXPECT_NE(check((p.n - 1) * p.ldc + p.m - 1, 7).fault.find("element (95, 66) is wrong"), std::string::npos);
  EXPECT_NE(check(p.m, 7).fault.find("outside C"), std::string::npos) << "a gap";
  EXPECT_NE(check(-1, 7).fault.find("outside C"), std::string::npos) << "before C";
  EXPECT_FALSE(check(5, std::nan("")).accuracy.passed());
}

TEST_F(GpuChecks, LargeProblemsAreCheckedAtSomeElements) {
  const GemmProblem p = large(":beta=one");
  GpuArena arena(*gpu_, megabyte);
  arena.fill(p.dtype);
  const SampledCheck sample = sampled_check(arena, p, 1, 1);
  const double one = 1;
  const Operands o{arena.a(), arena.b(), arena.c(), &one, &one};
  const auto run = [&] { vendor_.trial->run(o); };
  EXPECT_TRUE(sample.check(run).passed());
  EXPECT_TRUE(sample.check(run).passed()) << "C is as it was before";
  EXPECT_FALSE(sample.check([] {}).passed()) << "nothing was done";
  EXPECT_FALSE(sample
                   .check([&] {
                     run();
                     gpu_->synchronize();
                     const double wrong = 99;
                     gpu_->write(static_cast<double*>(arena.c()) + p.ldc * (p.n - 1) + p.m - 1, &wrong, 8);
                   })
                   .passed());
}

// The errors of a result by the definition, of every element: the product of the arena's numbers in doubles,
// which hold a sum of products of floats without noticeable error.
struct KnownErrors {
  KnownErrors(const GpuArena& arena, const GemmProblem& p) : p_(p) {
    for (std::int64_t j = 0; j < p.n; ++j)
      for (std::int64_t i = 0; i < p.m; ++i) {
        double sum = 0, size = 0;
        for (std::int64_t l = 0; l < p.k; ++l) {
          const double product = arena.real_at(0, l * p.lda + i) * arena.real_at(1, j * p.ldb + l);
          sum += product, size += std::abs(product);
        }
        exact.push_back(sum);
        bounds.push_back(double(p.k + 4) * std::ldexp(1, -23) * size);
      }
  }
  Accuracy of(const std::vector<float>& c) const {
    Accuracy result{0, 1};
    for (std::size_t e = 0; e < c.size(); ++e) {
      const double share = std::abs(double(c[e]) - exact[e]) / bounds[e];
      result.error = std::max(result.error, share), result.rms += share * share / double(c.size());
    }
    result.rms = std::sqrt(result.rms);
    return result;
  }
  std::vector<double> exact, bounds;

 private:
  GemmProblem p_;
};

// With sums as long as these the vendor's own, one float after another, errs far more than the rounding of a
// right result.
TEST_F(GpuTune, ErrorsAreThoseOfTheResultAndNotOfTheReference) {
  const GemmProblem p = packed(parse_problem("gemm:f32:nn:m=7,n=9,k=20000:location=device"));
  const GpuVendor vendor = open_gpu_vendor(*gpu_, p);
  if (vendor.trial == nullptr) GTEST_SKIP() << vendor.absence;
  GpuArena arena(*gpu_, megabyte);
  arena.fill(p.dtype);
  const SampledCheck sample = sampled_check(arena, p, 1, 0);
  const KnownErrors known(arena, p);
  std::vector<float> summed(63), rounded(known.exact.begin(), known.exact.end());
  const float one = 1, zero = 0;
  const Accuracy vendors = sample.check([&] {
    vendor.trial->run({arena.a(), arena.b(), arena.c(), &one, &zero});
    gpu_->synchronize();
    gpu_->read(summed.data(), arena.c(), summed.size() * sizeof(float));
  });
  const Accuracy best = sample.check([&] { gpu_->write(arena.c(), rounded.data(), rounded.size() * 4); });
  EXPECT_GT(known.of(rounded).rms, 0);
  EXPECT_NEAR(vendors.share() / known.of(summed).share(), 1, 1e-6);
  EXPECT_NEAR(vendors.rms / known.of(summed).rms, 1, 1e-6);
  EXPECT_NEAR(best.rms / known.of(rounded).rms, 1, 1e-4);
  EXPECT_NEAR(error_ratio(best, vendors), known.of(rounded).rms / known.of(summed).rms, 1e-4);
  EXPECT_EQ(error_ratio({}, {}), 1);
  EXPECT_EQ(error_ratio(best, {}), std::numeric_limits<double>::infinity());
}

// Peers that want addresses get them of strided batches too, which have no room between matrices.
TEST_F(GpuTune, AddressesFollowTheStridesOrKeepSectors) {
  constexpr std::int64_t count = 10, matrix_bytes = 72;
  const std::vector<std::int64_t> order = pointer_order(count, true);
  for (const bool strided : {true, false}) {
    const GemmProblem p =
        parse_problem(fmt::format("gemm_batched:f64:nn:m=3,n=3,k=3:{}:batch={}:location=device",
                                  strided ? "strided" : "pointer", count));
    GpuArena arena(*gpu_, megabyte);
    const auto batch = [&](std::int64_t) { return Operands{arena.a(), arena.b(), arena.c()}; };
    const GpuPointers pointers(*gpu_, p, 1, batch, order);
    const char* addresses[count];
    gpu_->read(addresses, pointers.at(0).b, sizeof addresses);
    for (std::int64_t q = 0; q < count; ++q)
      EXPECT_EQ(addresses[q] - static_cast<char*>(arena.b()),
                order[std::size_t(q)] * (strided ? matrix_bytes : 96));
  }
}

TEST_F(GpuTune, LargeProblemsMeetTheVendorsLibrary) {
  const GemmProblem p = large();
  const TuneResult result = tune(p);
  EXPECT_EQ(result.origin.family, "gemm");
  EXPECT_TRUE(result.accuracy.passed());
  EXPECT_GT(result.measured, 1);
  const auto found = records_of(result);
  const auto& ours = found.front();
  EXPECT_EQ(ours.family, "gemm");
  if (open_gpu_vendor(*gpu_, p).trial == nullptr) {
    ASSERT_EQ(result.peers_left_out.size(), 1u);
    return;
  }
  ASSERT_EQ(result.peers.size(), 1u);
  EXPECT_TRUE(ours.extra.contains("regret_cublas"));
  ASSERT_EQ(found.size(), 2u);
  const auto& vendors = found[1];
  EXPECT_EQ(vendors.family, "cublas");
  EXPECT_EQ(vendors.problem, ours.problem);
  // Plans with these records take the config that took less.
  TempFolder folder;
  const std::string path = folder / "wisdom.jsonl";
  std::ofstream(path) << to_json(ours).dump() << '\n' << to_json(vendors).dump() << '\n';
  Context context({.wisdom = path});
  const bool vendor_first = vendors.seconds < ours.seconds;
  const GemmPlan made = plan(context, p, options_);
  EXPECT_EQ(Access::impl(made).candidate, vendor_first ? "cublas" : "gpu_large") << made.explain();
  EXPECT_EQ(Access::impl(made).known.match, WisdomMatch::exact);
  options_.candidate = "gpu_large";
  EXPECT_EQ(Access::impl(plan(context, p, options_)).runner->config(), result.config);
}

// A constant power, whose counter moves so many times a second.
class SteadyMeter : public EnergyMeter {
 public:
  explicit SteadyMeter(std::string uuid, double moves_per_second)
      : uuid_(std::move(uuid)), moves_per_second_(moves_per_second) {}
  std::string name() const override { return "steady"; }
  EnergyCoverage covers() const override { return {Location::device, uuid_, 0}; }
  double shortest_s() const override { return 1; }
  double joules() override {
    return 500 * std::floor(wall_seconds() * moves_per_second_) / moves_per_second_;
  }

 private:
  std::string uuid_;
  double moves_per_second_;
};

// Says whether a turn is the first of its kernel, and whether that had to be compiled in it.
TEST_F(GpuTune, EnergyOfATurnIsThatOfItsLaunches) {
  TuneMachine machine(Isa::portable, device_, megabyte);
  const OpenProblem open = gemm_large_family().open(large(), how_.rules, machine, 0);
  CheckedPool& candidates = *open.pool;
  // On the fake every look is an edge, however late it comes where cores are busy.
  SteadyMeter meter(gpu_->limits().uuid, is_fake() ? 1000 : 10);
  const double turn_s = is_fake() ? 0.3 : candidates.shortest_energy_s(meter);
  std::vector<std::size_t> places = {0, 1};
  if (candidates.peer_count() > 0) places.push_back(candidates.size());
  candidates.set_passed(1, {});  // by an earlier run: it is made when it is timed
  for (const std::size_t i : places) {
    ASSERT_TRUE(candidates.is_right(i));
    const Metrics metrics = candidates.time_with_energy(i, turn_s, meter);
    EXPECT_NEAR(*metrics.joules / metrics.seconds, 500, 25) << i;
  }
  SteadyMeter coarse(gpu_->limits().uuid, 1);
  EXPECT_THROW(candidates.time_with_energy(0, turn_s, coarse), Error);
}

TEST_F(GpuTune, TheArenaGrowsWithTheProblem) { EXPECT_TRUE(tune(large(), 4096).complete); }

TEST_F(GpuTune, AnIncumbentStaysUnlessItIsBeaten) {
  options_of_search_.incumbent = tune(large()).config;
  options_of_search_.incumbent->at("raster") = 1;
  const TuneResult again = tune(large());
  const bool stays = again.config == *options_of_search_.incumbent;
  EXPECT_TRUE(stays || !again.tie);
}

TEST_F(GpuTune, StridedBatchesOfLargeMatrices) {
  const auto p = parse_problem(
      "gemm_batched:c64:tn:m=70,n=66,k=65:strided:batch=3:beta=one:residency=cold:location=device");
  const TuneResult result = tune(p);
  EXPECT_EQ(result.origin.family, "gemm");
  EXPECT_EQ(parse_problem(records_of(result).front().problem).batch_count, 3);
}

// Their records decide what plans of the same layout take.
TEST_F(GpuTune, SmallBatchesOfEveryLayoutOfOneSize) {
  how_.rules.choices = {{"thread_m", {1, 2}}, {"thread_n", {1, 2}}};
  for (const char* layout : {"strided", "pointer", "interleaved", "block_interleaved:block=8"}) {
    const auto p = packed(parse_problem(fmt::format(
        "gemm_batched:f32:tn:m=5,n=3,k=4:{}:batch=1000:beta=one:residency=cold:location=device", layout)));
    const TuneResult result = tune(p);
    EXPECT_EQ(result.origin.family, "gemm_small") << layout;
    EXPECT_TRUE(result.accuracy.passed()) << layout;
    EXPECT_GT(result.measured, 0) << layout;
    const TempFolder folder;
    const std::string path = folder / "wisdom.jsonl";
    std::ofstream(path) << to_json(records_of(result).front()).dump() << '\n';
    Context context({.wisdom = path});
    GemmProblem many = p;
    many.batch_count = 1000000;
    if (p.layout == Layout::interleaved) many.block = many.batch_count;
    EXPECT_EQ(Access::impl(plan(context, many, options_)).known.match, WisdomMatch::exact) << layout;
  }
}

// Of sums of products as of batches, and for plans of any number of them.
TEST_F(GpuTune, SumsIntoOneC) {
  how_.rules.choices = {{"thread_m", {1, 2}}, {"thread_n", {1, 2}}};
  for (const char* text : {"gemm_stack:f64:nn:m=5,n=3,k=4:batch=1000:run=7",
                           "gemm_batch_reduce:f32:tn:m=5,n=3,k=4:strided:batch=1000"}) {
    const auto p = packed(parse_problem(fmt::format("{}:beta=one:residency=cold:location=device", text)));
    const TuneResult result = tune(p);
    EXPECT_EQ(result.origin.family, "gemm_small") << text;
    EXPECT_TRUE(result.accuracy.passed()) << text;
    EXPECT_GT(result.measured, 0) << text << result.first_wrong;
    const TempFolder folder;
    const std::string path = folder / "wisdom.jsonl";
    std::ofstream(path) << to_json(records_of(result).front()).dump() << '\n';
    Context context({.wisdom = path});
    GemmProblem many = p;
    many.batch_count = 1000000;
    const GemmPlan made = plan(context, many, options_);
    EXPECT_EQ(Access::impl(made).known.match, WisdomMatch::exact) << text;
    EXPECT_EQ(made.candidate(), "gpu_small") << text;
  }
}

// Sizes that vary, and groups, which are pointer batches.
TEST_F(GpuTune, VariableAndGroupedBatches) {
  how_.rules.choices = {{"thread_m", {1, 2}}, {"thread_n", {1, 2}}};
  for (const char* sizes : {"m=5,n=3,k=4", "m=40,n=17,k=9"}) {
    const GemmProblem p = packed(parse_problem(fmt::format(
        "gemm_batched:f64:tn:{}:variable:batch=1000:beta=one:residency=cold:location=device", sizes)));
    const TuneResult result = tune(p);
    EXPECT_EQ(result.origin.family, "gemm_small");
    EXPECT_TRUE(result.accuracy.passed());
    EXPECT_GT(result.measured, 0) << result.first_wrong;
    const TempFolder folder;
    const std::string path = folder / "wisdom.jsonl";
    std::ofstream(path) << to_json(records_of(result).front()).dump() << '\n';
    Context context({.wisdom = path});
    GemmProblem many = p;
    many.batch_count = 1000000;
    EXPECT_EQ(Access::impl(plan(context, many, options_)).known.match, WisdomMatch::exact) << sizes;
  }
  const auto grouped =
      parse_problem("gemm_batched:f32:nn:m=5,n=3,k=4:grouped:batch=10:residency=cold:location=device");
  EXPECT_THROW(family_for(tune_families(), grouped), Error);
  EXPECT_EQ(&family_for(tune_families(), searched_problem(grouped)), &gemm_small_family());
}

TEST_F(GpuTune, WrongSizesAmongOthersAreSeen) {
  if (!is_fake()) GTEST_SKIP() << "no kernel is wrong on demand";
  TempFolder cache;
  const Variable own("TILEWRIGHT_CACHE", cache.path().c_str());
  const Variable wrong("TILEWRIGHT_FAKE_WRONG", "gemm_small");
  how_.rules.choices = {{"thread_m", {1, 2}}, {"thread_n", {1, 2}}};
  const auto p = packed(
      parse_problem("gemm_batched:f64:nn:m=5,n=3,k=4:variable:batch=1000:residency=cold:location=device"));
  const auto opened = [&] {
    TuneMachine machine(Isa::portable, device_, megabyte);
    const OpenProblem open = gemm_small_family().open(p, how_.rules, machine, 0);
    EXPECT_FALSE(open.pool->is_right(0));
    return open.pool->failure(0);
  };
  EXPECT_NE(opened().find("is wrong"), std::string::npos) << opened();
}

// So few matrices fit what was set aside that their block is known to the code, or none fits at all.
TEST_F(GpuTune, BatchesThatHardlyFitTheArena) {
  how_.rules.choices = {{"thread_m", {1, 3}}, {"thread_n", {1, 4}}};
  for (const char* layout :
       {"m=48,n=48,k=48:interleaved:batch=1000", "m=3,n=4,k=4:block_interleaved:block=100000:batch=300000"}) {
    const GemmProblem p =
        packed(parse_problem(fmt::format("gemm_batched:f64:nn:{}:residency=cold:location=device", layout)));
    const TuneResult result = tune(p);
    EXPECT_TRUE(result.accuracy.passed()) << layout;
    EXPECT_GT(result.measured, 0) << layout;
  }
  GemmProblem wide =
      parse_problem("gemm_batched:f64:nn:m=4,n=4,k=4:strided:batch=10:residency=cold:location=device");
  wide.lda = std::int64_t(1) << 40;
  EXPECT_THROW(tune(packed(wide)), Error) << "no device holds it";
}

TEST_F(GpuTune, WhatSpillsIsDroppedBeforeItRuns) {
  if (!is_fake()) GTEST_SKIP() << "no compiler spills on demand";
  TempFolder cache;
  const Variable own("TILEWRIGHT_CACHE", cache.path().c_str());
  const Variable spills("TILEWRIGHT_FAKE_SPILLS", ".stages=3");
  const Variable registers("TILEWRIGHT_FAKE_REGISTERS", ".stages=5");
  const Variable wrong("TILEWRIGHT_FAKE_WRONG", ".stages=2");
  how_.rules.choices = {{"tile_m", {32}}, {"tile_n", {32}}, {"load", {"async"}}, {"stages", {2, 3, 4, 5}}};
  const TuneResult result = tune(large());
  EXPECT_EQ(result.config.at("stages"), 4) << "the default, which expressions leave out";
  std::set<std::string> reasons;
  for (const WrongConfig& one : result.wrongs) {
    const int stages = one.config.at("stages");
    const char* expected = stages == 3   ? "40 bytes are spilled"
                           : stages == 5 ? "registers of each thread exceed"
                           : stages == 2 ? "is wrong"
                                         : "none";
    EXPECT_NE(one.reason.find(expected), std::string::npos) << stages << ": " << one.reason;
    reasons.insert(expected);
  }
  EXPECT_EQ(reasons.size(), 3u);
  const auto records = wrong_records(result);
  ASSERT_FALSE(records.empty());
  EXPECT_EQ(records[0].verdict, "failed");
}

TEST_F(GpuTune, WhatHasNoSpaceIsRefused) {
  const auto refused = [&](const std::string& text) -> std::string {
    try {
      tune(parse_problem(text));
    } catch (const Error& error) {
      return error.argument() + ": " + error.what();
    }
    return "taken";
  };
  EXPECT_NE(refused("gemm:f64:nn:m=100000,n=100000,k=100000:location=device").find("GiB of memory"),
            std::string::npos);
  EXPECT_EQ(refused("gemm:f64:nn:m=8,n=8,k=8:location=device").substr(0, 6), "layout");
  EXPECT_EQ(refused("gemm_batched:f64:nn:m=80,n=80,k=80:pointer:batch=3:location=device").substr(0, 6),
            "layout");
  EXPECT_EQ(refused("gemm:f64:nn:m=80,n=80,k=80:residency=l2:location=device").substr(0, 9), "residency");
  how_.rules.choices = {{"no_such", {1}}};
  EXPECT_EQ(refused("gemm:f64:nn:m=80,n=80,k=80:location=device").substr(0, 5), "--set");
}

}  // namespace
}  // namespace tilewright::testing
