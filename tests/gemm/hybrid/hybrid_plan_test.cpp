// Plans for host operands that may use GPUs, over simulated ones: what forces them, what declines, what the
// options refuse, and that C is right whoever computes it.
#include <omp.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

#include "gemm/hybrid/models.hpp"
#include "gemm/plan.hpp"
#include "simulated_context.hpp"

namespace tilewright::testing {
namespace {

GemmOptions options_of(Target target) {
  GemmOptions options;
  options.target = target;
  return options;
}

GemmProblem square(std::int64_t n, Scalar beta = Scalar::zero) {
  return host_product(DType::f64, Op::none, Op::none, n, n, n, beta, 0);
}

template <class T>
void expect_right(const GemmPlan& plan, const std::string& what, SimulatedNode* pins = nullptr) {
  TestOperands<T> operands(plan.problem());
  const auto expected = operands.expected();
  if (pins != nullptr)
    for (const auto* matrix : {&operands.a, &operands.b, &operands.c})
      pins->pin(matrix->data(), std::int64_t(matrix->size() * sizeof(T)));
  plan.run<T>(operands.alpha, operands.a.data(), operands.b.data(), operands.beta, operands.c.data());
  EXPECT_TRUE(TestOperands<T>::same(operands.c, expected)) << what;
}

std::string message_of(ErrorCode code, const std::string& argument, const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_EQ(error.argument(), argument) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown for " << argument;
  return "";
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(HybridPlan, ForcedTargetsAreTakenAndRight) {
  for (const Target target : {Target::gpu, Target::hybrid})
    for (const Scalar beta : {Scalar::zero, Scalar::one, Scalar::general})
      for (const int gpus : {1, 2}) {
        SimulatedContext c(gpus);
        const GemmProblem problem = host_product(DType::f64, Op::trans, Op::none, 130, 200, 70, beta);
        GemmOptions options = options_of(target);
        if (target == Target::hybrid) options.split = SplitRule::fixed, options.cpu_share = 0.3;
        const GemmPlan made = plan(c.context, problem, options);
        const std::string what =
            fmt::format("{} beta {} on {}\n{}", to_string(target), to_string(beta), gpus, made.explain());
        ASSERT_EQ(Access::impl(made).candidate, "hybrid") << what;
        EXPECT_TRUE(has(what, "one GPU") && has(what, "pageable") && has(what, "slices of k")) << what;
        expect_right<double>(made, what);
        expect_right<double>(made, what, &c.simulated->node());
        const auto last = Access::impl(made).runner->last_run();
        EXPECT_EQ(last["memory"], "pinned") << last.dump();
        if (target == Target::gpu) EXPECT_EQ(last["cpu_count"], 0) << last.dump();
        EXPECT_FALSE(last["gpus"].empty()) << last.dump();
      }
}

// Of strided and interleaved batches the addresses are the matrices', of pointer batches an array's.
template <class T>
void run_batch(const GemmPlan& plan, TestOperands<T>& o) {
  if (o.pointers())
    plan.run<T>(o.alpha, o.a_pointers.data(), o.b_pointers.data(), o.beta, o.c_pointers.data());
  else
    plan.run<T>(o.alpha, o.a.data(), o.b.data(), o.beta, o.c.data());
}

GemmProblem batch_problem(DType dtype, Layout layout, std::int64_t n, std::int64_t count, Scalar beta) {
  GemmProblem p = host_product(dtype, Op::none, Op::none, n, n, n, beta, 1);
  p.layout = layout, p.batch_count = count;
  if (layout == Layout::interleaved) p.block = count;
  if (layout == Layout::block_interleaved) p.block = 8;
  return packed(p);
}

TEST(HybridPlan, BatchesAreTakenAndRight) {
  for (const Layout layout :
       {Layout::strided, Layout::pointer, Layout::interleaved, Layout::block_interleaved})
    for (const Target target : {Target::gpu, Target::hybrid})
      for (const std::int64_t n : {5, 70}) {
        SimulatedContext c(2);
        GemmOptions options = options_of(target);
        if (target == Target::hybrid) options.split = SplitRule::fixed, options.cpu_share = 0.4;
        const GemmPlan made =
            plan(c.context, batch_problem(DType::f64, layout, n, 100, Scalar::general), options);
        ASSERT_EQ(Access::impl(made).candidate, "hybrid") << made.explain();
        EXPECT_TRUE(has(made.explain(), "problems") && has(made.explain(), "in flight")) << made.explain();
        TestOperands<double> operands(made.problem());
        const auto expected = operands.expected();
        run_batch(made, operands);
        const auto last = Access::impl(made).runner->last_run();
        EXPECT_TRUE(TestOperands<double>::same(operands.c, expected)) << last.dump();
        EXPECT_EQ(last["side"], "problems");
        EXPECT_FALSE(last["gpus"].empty()) << last.dump();
        if (target == Target::hybrid) EXPECT_GT(last["cpu_count"], 30) << last.dump();
      }
}

TEST(HybridPlan, BatchesAreChosenForByBytesAndOperations) {
  SimulatedContext c(1);
  GemmOptions options;
  options.threads = 1;
  const GemmProblem large = batch_problem(DType::f64, Layout::strided, 256, 64, Scalar::zero);
  EXPECT_EQ(Access::impl(plan(c.context, large, options)).candidate, "hybrid");
  options.threads = 64;
  const GemmProblem tiny = batch_problem(DType::f64, Layout::strided, 4, 1000000, Scalar::zero);
  const GemmPlan made = plan(c.context, tiny, options);
  EXPECT_EQ(Access::impl(made).candidate, "cpu_small");
  EXPECT_TRUE(has(made.explain(), "faster than a link")) << made.explain();
  EXPECT_EQ(c.simulated->opened, 1);
}

TEST(HybridPlan, ABatchWithoutAProductIsScaled) {
  SimulatedContext c(1);
  const GemmProblem problem = batch_problem(DType::f64, Layout::strided, 6, 50, Scalar::general);
  const GemmPlan made = plan(c.context, problem, options_of(Target::gpu));
  TestOperands<double> operands(made.problem());
  operands.alpha = 0;
  const auto expected = operands.expected();
  run_batch(made, operands);
  EXPECT_TRUE(TestOperands<double>::same(operands.c, expected));
}

TEST(HybridPlan, SharesOfBatchesAreNotSearchedByTiming) {
  SimulatedContext c(1);
  GemmOptions options;
  options.split = SplitRule::exhaustive;
  const auto message = message_of(ErrorCode::unsupported, "problem", [&] {
    plan(c.context, batch_problem(DType::f64, Layout::strided, 6, 50, Scalar::one), options);
  });
  EXPECT_TRUE(has(message, "single products")) << message;
}

TEST(HybridPlan, AllTypesAndASplitOfOnesOwn) {
  for (const double share : {0.0, 0.25, 1.0}) {
    SimulatedContext c(2);
    GemmOptions options = options_of(Target::hybrid);
    options.split = SplitRule::fixed;
    options.cpu_share = share;
    for (const DType dtype : {DType::f32, DType::f64, DType::c64, DType::c128})
      dispatch(dtype, [&]<class T>() {
        const GemmProblem problem =
            host_product(dtype, Op::none, Op::conj_trans, 96, 160, 64, Scalar::general);
        const GemmPlan made = plan(c.context, problem, options);
        expect_right<T>(made, made.explain());
        EXPECT_DOUBLE_EQ(Access::impl(made).runner->last_run()["cpu_share"], share);
      });
  }
}

TEST(HybridPlan, SearchedSplitsAreTimedOnceAndLeaveC) {
  for (const SplitRule way : {SplitRule::guided, SplitRule::exhaustive}) {
    SimulatedContext c(1);
    GemmOptions options = options_of(Target::automatic);
    options.split = way;
    const GemmPlan made = plan(c.context, square(128, Scalar::general), options);
    ASSERT_EQ(Access::impl(made).candidate, "hybrid") << made.explain();
    const int before = c.simulated->prepared;
    expect_right<double>(made, to_string(way));
    const int after = c.simulated->prepared;
    EXPECT_GT(after, before);
    expect_right<double>(made, to_string(way));
    EXPECT_EQ(c.simulated->prepared, after);
  }
}

TEST(HybridPlan, ASearchWantsItsContext) {
  auto c = std::make_unique<SimulatedContext>(1);
  GemmOptions options = options_of(Target::hybrid);
  const GemmPlan model = plan(c->context, square(128), options);
  options.split = SplitRule::exhaustive;
  const GemmPlan made = plan(c->context, square(128), options);
  c.reset();
  expect_right<double>(model, "a plan outlives its Context");
  message_of(ErrorCode::unsupported, "split", [&] { expect_right<double>(made, ""); });
}

TEST(HybridPlan, SmallProductsAskForNoGpu) {
  SimulatedContext c(1);
  const GemmPlan made = plan(c.context, square(64));
  EXPECT_NE(Access::impl(made).candidate, "hybrid");
  EXPECT_TRUE(has(made.explain(), "less than the start of a GPU takes")) << made.explain();
  const GemmPlan cpu = plan(c.context, square(2048), options_of(Target::cpu));
  EXPECT_EQ(Access::impl(cpu).candidate, "host_blas");
  EXPECT_EQ(c.simulated->looked, 0);
  EXPECT_EQ(c.simulated->opened, 0);
}

TEST(HybridPlan, TheModelsChoose) {
  SimulatedContext c(1);
  int taken = 0, declined = 0;
  for (const std::int64_t n : {96, 128, 192, 256, 512, 1024, 2048})
    for (const std::int64_t k : {std::int64_t(16), n / 4, n}) {
      GemmProblem problem = square(n, Scalar::one);
      problem.k = k, problem.lda = n, problem.ldb = k;
      const auto made = plan(c.context, problem);
      SplitRequest request;
      request.problem = made.problem();
      request.gpus = {0}, request.gpus_add = true;
      request.pinned = all_matrices;
      const auto node = Access::impl(c.context).hybrid->model(
          nullptr, Access::impl(c.context).cblas()->name(), omp_get_max_threads());
      const SplitChoice choice = choose_split(*node, request);
      const bool hybrid = Access::impl(made).candidate == "hybrid";
      if (n * n * k >= 128 * 128 * 128) EXPECT_EQ(hybrid, !choice.split.gpus.empty()) << made.explain();
      (hybrid ? taken : declined)++;
      if (!hybrid && n >= 512) EXPECT_TRUE(has(made.explain(), "the CPU takes")) << made.explain();
    }
  EXPECT_GT(taken, 0);
  EXPECT_GT(declined, 0);
}

TEST(HybridPlan, WithoutAGpuItDeclinesAndForcedTargetsSayWhy) {
  SimulatedContext c(0);
  EXPECT_EQ(Access::impl(plan(c.context, square(512))).candidate, "host_blas");
  for (const Target target : {Target::gpu, Target::hybrid}) {
    const std::string message = message_of(ErrorCode::unsupported, "target",
                                           [&] { plan(c.context, square(512), options_of(target)); });
    EXPECT_TRUE(has(message, to_string(target)) && has(message, "none was simulated")) << message;
  }
}

TEST(HybridPlan, AGpuThatTheMachineLacksIsNamed) {
  SimulatedContext c(2);
  GemmOptions options = options_of(Target::hybrid);
  options.gpus = {0, 7};
  const auto call = [&] { plan(c.context, square(256), options); };
  EXPECT_TRUE(has(message_of(ErrorCode::invalid_argument, "gpus", call), "7, but this machine has 2 GPUs"));
}

TEST(HybridPlan, ACapOfMemoryIsKept) {
  SimulatedContext c(1);
  GemmOptions options = options_of(Target::gpu);
  options.gpu_memory_bytes = 1 << 20;
  const GemmPlan made = plan(c.context, square(300, Scalar::general), options);
  expect_right<double>(made, made.explain());
  options.gpu_memory_bytes = 100;
  const std::string message =
      message_of(ErrorCode::out_of_memory, "memory_bytes", [&] { plan(c.context, square(300), options); });
  EXPECT_TRUE(has(message, "100")) << message;
}

TEST(HybridPlan, ALostGpuIsToldOrMadeGood) {
  for (const OnDeviceFailure choice : {OnDeviceFailure::error, OnDeviceFailure::redo}) {
    SimulatedFaults faults;
    faults.lost_after = 12;
    SimulatedContext c(1, {faults});
    GemmOptions options = options_of(Target::gpu);
    options.on_device_failure = choice;
    const GemmPlan made = plan(c.context, square(256, Scalar::general), options);
    if (choice == OnDeviceFailure::error) {
      message_of(ErrorCode::device_lost, "gpu", [&] { expect_right<double>(made, ""); });
      continue;
    }
    expect_right<double>(made, "redone by the CPU");
    EXPECT_GT(Access::impl(made).runner->last_run()["redone"], 0);
    EXPECT_FALSE(Access::impl(made).runner->last_run()["failures"].empty());
  }
}

TEST(HybridPlan, ThreadsAndContextsShareNothingButTheirTurn) {
  SimulatedContext c(2), other(1);
  GemmProblem problem = square(160, Scalar::general);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      Context& context = i % 2 == 0 ? c.context : other.context;
      const GemmPlan made = plan(context, problem, options_of(Target::hybrid));
      for (int round = 0; round < 3; ++round) expect_right<double>(made, "in a thread");
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(c.simulated->opened, 2);
  EXPECT_EQ(other.simulated->opened, 1);
}

TEST(HybridPlan, ContextsMayGoAndComeWhileIdle) {
  GemmProblem problem = square(160);
  for (int round = 0; round < 3; ++round) {
    SimulatedContext kept(1);
    auto gone = std::make_unique<SimulatedContext>(2);
    const GemmPlan of_gone = plan(gone->context, problem, options_of(Target::hybrid));
    expect_right<double>(of_gone, "before its Context goes");
    gone.reset();
    expect_right<double>(of_gone, "after its Context went");
    expect_right<double>(plan(kept.context, problem, options_of(Target::gpu)), "of the other one");
  }
}

// In a process of its own, in which no thread of OpenMP's has been started yet.
TEST(HybridPlanDeathTest, AForkBeforeTheFirstCall) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto both = [] {
    SimulatedContext c(1);
    const pid_t child = fork();
    expect_right<double>(plan(c.context, square(160), options_of(Target::hybrid)), "in both");
    if (child == 0) std::_Exit(::testing::Test::HasFailure() ? 1 : 0);
    int status = 0;
    waitpid(child, &status, 0);
    std::_Exit(status != 0 || ::testing::Test::HasFailure() ? 1 : 0);
  };
  EXPECT_EXIT(both(), ::testing::ExitedWithCode(0), "");
}

TEST(HybridPlan, PrepareMakesThePlan) {
  SimulatedContext c(1);
  const GemmProblem problem = square(256);
  prepare(c.context, std::span(&problem, 1), options_of(Target::gpu));
  const int before = c.simulated->prepared;
  EXPECT_GT(before, 0);
  expect_right<double>(plan(c.context, problem, options_of(Target::gpu)), "prepared");
  EXPECT_EQ(c.simulated->prepared, before);
}

TEST(HybridPlan, PlansOfOtherGpuOptionsAreOtherPlans) {
  SimulatedContext c(2);
  GemmOptions options = options_of(Target::gpu);
  options.gpus = {1};
  const GemmPlan second = plan(c.context, square(256), options);
  expect_right<double>(second, second.explain());
  EXPECT_EQ(Access::impl(second).runner->last_run()["gpus"][0]["ordinal"], 1);
  options.gpus = {0};
  const GemmPlan first = plan(c.context, square(256), options);
  expect_right<double>(first, first.explain());
  EXPECT_EQ(Access::impl(first).runner->last_run()["gpus"][0]["ordinal"], 0);
  EXPECT_EQ(c.simulated->opened, 2);
}

// `rank` of `count` on one node of so many GPUs, as a launcher would have it.
class AsRank {
 public:
  AsRank(int rank, int count) {
    setenv("OMPI_COMM_WORLD_LOCAL_RANK", std::to_string(rank).c_str(), 1);
    setenv("OMPI_COMM_WORLD_LOCAL_SIZE", std::to_string(count).c_str(), 1);
  }
  ~AsRank() {
    unsetenv("OMPI_COMM_WORLD_LOCAL_RANK");
    unsetenv("OMPI_COMM_WORLD_LOCAL_SIZE");
  }
};

TEST(HybridPlan, RanksOfOneNodeShareItsGpus) {
  const auto request_of = [](SimulatedContext& c, const GemmOptions& options) {
    const GemmProblem problem = square(256);
    return hybrid_models({Access::impl(c.context), problem, options}).request;
  };
  for (const int rank : {0, 1}) {
    const AsRank as(rank, 2);
    SimulatedContext c(2);
    const GemmPlan made = plan(c.context, square(256), options_of(Target::gpu));
    expect_right<double>(made, made.explain());
    const auto gpus = Access::impl(made).runner->last_run()["gpus"];
    ASSERT_EQ(gpus.size(), 1u) << gpus.dump();
    EXPECT_EQ(gpus[0]["ordinal"], rank) << gpus.dump();
    EXPECT_EQ(c.simulated->opened, 1);
    EXPECT_EQ(request_of(c, options_of(Target::gpu)).memory_bytes, 0);  // it has that GPU to itself
    GemmOptions options = options_of(Target::gpu);
    options.gpus = {1 - rank};
    EXPECT_EQ(request_of(c, options).gpus, options.gpus);
  }
  const AsRank as(2, 3);
  SimulatedContext c(1);
  const SplitRequest shared = request_of(c, options_of(Target::gpu));
  EXPECT_EQ(shared.gpus, std::vector<int>{0});
  EXPECT_EQ(shared.memory_bytes, c.simulated->node().model().gpus[0].memory_bytes / 3);
  GemmOptions capped = options_of(Target::gpu);
  capped.gpu_memory_bytes = 12345;
  EXPECT_EQ(request_of(c, capped).memory_bytes, 12345);
}

TEST(HybridPlan, MetricsAreNumbersOfWhatExplainSays) {
  SimulatedContext c(1);
  const GemmPlan made = plan(c.context, square(512), options_of(Target::hybrid));
  const auto metrics = Access::impl(made).runner->metrics();
  EXPECT_FALSE(metrics["calibrated"]) << metrics.dump();
  EXPECT_TRUE(has(made.explain(), "round figures")) << made.explain();
  for (const char* memory : {"pinned", "pageable"})
    for (const char* key : {"predicted_s", "cpu_only_s", "one_gpu_s", "transfer_s", "compute_s"})
      EXPECT_GT(metrics[memory][key].get<double>(), 0) << memory << " " << key;
}

TEST(HybridPlan, AlphaZeroReadsNothing) {
  SimulatedContext c(1);
  const GemmPlan made = plan(c.context, square(200, Scalar::general), options_of(Target::gpu));
  std::vector<double> matrix(200 * 200, 3);
  made.run<double>(0.0, matrix.data(), matrix.data() + 1, 2.0, matrix.data());
  EXPECT_EQ(matrix, std::vector<double>(200 * 200, 6));
}

}  // namespace
}  // namespace tilewright::testing
