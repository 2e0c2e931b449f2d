// Plans: which candidate serves what and why the others do not, where the config comes from, and that every
// way of running a plan gives what the reference gives.
#include "gemm/plan.hpp"

#include <gtest/gtest.h>
#include <omp.h>

#include <complex>
#include <cstdlib>
#include <fstream>

#include "core/dispatch.hpp"
#include "device/cpu.hpp"
#include "gemm/parallel.hpp"
#include "gemm/run/kernel_cache.hpp"
#include "kernel/jit/x86.hpp"
#include "support/operands.hpp"
#include "support/temp_folder.hpp"
#include "wisdom/kept.hpp"

namespace tilewright {
namespace {

template <class F>
std::string error_of(ErrorCode code, const std::string& argument, F&& f) {
  try {
    f();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_EQ(error.argument(), argument) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string chosen(Context& context, const std::string& problem, const GemmOptions& options = {}) {
  return Access::impl(plan(context, parse_problem(problem), options)).candidate;
}

TEST(Candidates, SmallOnesGoToTheSmallKernel) {
  Context context;
  EXPECT_EQ(chosen(context, "gemm:f64:nn:m=64,n=64,k=64"), "cpu_small");
  EXPECT_EQ(chosen(context, "gemm_batched:c64:tc:m=5,n=13,k=23:pointer:batch=3"), "cpu_small");
  EXPECT_EQ(chosen(context, "gemm_batched:f32:nn:m=5,n=5,k=5:block_interleaved:batch=30:block=8"),
            "cpu_small");
}

TEST(Candidates, LargeOnesGoToCblasOrTheReference) {
  Context context;
  const bool cblas = Access::impl(context).cblas()->available();
  EXPECT_EQ(chosen(context, "gemm:f64:nn:m=65,n=65,k=2"), cblas ? "host_blas" : "reference");
  EXPECT_EQ(chosen(context, "gemm:f64:nn:m=2,n=2,k=65"), cblas ? "host_blas" : "reference");
  EXPECT_EQ(chosen(context, "gemm_batched:f64:nn:m=65,n=2,k=2:interleaved:batch=3"),
            cblas ? "host_blas" : "reference");
}

TEST(Candidates, OneLongSideIsCutIntoBandsOfTheSmallKernels) {
  Context context;
  for (const char* problem : {"gemm:f64:nn:m=65,n=2,k=2", "gemm:f32:tt:m=3,n=500,k=64",
                              "gemm_batched:c64:nt:m=81,n=9,k=9:strided:batch=7"})
    EXPECT_EQ(chosen(context, problem), "cpu_bands") << problem;
}

TEST(Candidates, NothingToMultiplyIsScaled) {
  Context context;
  EXPECT_EQ(chosen(context, "gemm:f64:nn:m=8,n=8,k=0"), "scale");
  EXPECT_EQ(chosen(context, "gemm:f64:nn:m=8,n=8,k=8:alpha=0"), "scale");
  GemmOptions options;
  options.candidate = "cpu_small";
  EXPECT_EQ(chosen(context, "gemm:f64:nn:m=8,n=8,k=0", options), "scale");
}

TEST(Candidates, EachSaysWhyItDeclined) {
  Context context;
  const std::string text =
      explain(context, parse_problem("gemm_batched:f64:nn:m=65,n=8,k=8:interleaved:batch=4"));
  EXPECT_TRUE(contains(text, "size 65 exceeds the limit of 64")) << text;
  EXPECT_TRUE(contains(text, TILEWRIGHT_HAS_GPU ? "GPU memory" : "no GPU runtime")) << text;
  EXPECT_TRUE(contains(text, "less than the start of a GPU takes")) << text;
  EXPECT_TRUE(contains(text, TILEWRIGHT_HAS_GPU ? "gpu_converted: not taken; needs operands in GPU" : ""))
      << text;
  EXPECT_TRUE(contains(text, "taken")) << text;
}

TEST(Candidates, ProblemsThatNobodyServesAreExplained) {
  Context context;
  const GemmProblem p = parse_problem("gemm:f64:nn:m=800,n=8,k=8:location=device");
  const std::string text = explain(context, p);
  EXPECT_TRUE(contains(text, "no candidate serves")) << text;
  const std::string message = error_of(ErrorCode::unsupported, "problem", [&] { plan(context, p); });
  EXPECT_TRUE(contains(message, "needs operands in host memory")) << message;
}

TEST(Candidates, OneCanBeAskedFor) {
  Context context;
  GemmOptions options;
  options.candidate = "reference";
  EXPECT_EQ(chosen(context, "gemm:f64:nn:m=8,n=8,k=8", options), "reference");
  options.candidate = "gpu_large";
  const auto message = error_of(ErrorCode::unsupported, "candidate",
                                [&] { chosen(context, "gemm:f64:nn:m=8,n=8,k=8", options); });
  EXPECT_TRUE(contains(message, TILEWRIGHT_HAS_GPU ? "GPU memory" : "no GPU runtime")) << message;
  EXPECT_FALSE(contains(message, "host_blas")) << "no other candidate was asked for: " << message;
  options.candidate = "fastest";
  const auto unknown = error_of(ErrorCode::invalid_argument, "candidate",
                                [&] { chosen(context, "gemm:f64:nn:m=8,n=8,k=8", options); });
  EXPECT_TRUE(contains(unknown, "'fastest'") && contains(unknown, "cpu_small")) << unknown;
}

TEST(Config, AskedForOverWisdomAndDefault) {
  Context context;
  const GemmProblem p = parse_problem("gemm_batched:f64:nn:m=8,n=8,k=8:strided:batch=10");
  GemmOptions options;
  options.config = R"({"isa": "portable"})";
  const GemmPlan portable = plan(context, p, options);
  EXPECT_EQ(Access::impl(portable).runner->config()["isa"], "portable");
  EXPECT_TRUE(contains(portable.explain(), "default (requested)")) << portable.explain();

  const auto refused = [&](const char* config, const char* argument) {
    options.config = config;
    return error_of(ErrorCode::invalid_argument, argument, [&] { plan(context, p, options); });
  };
  refused("{", "config");
  refused("[1]", "config");
  refused(R"({"isa": "sse"})", "isa");
  refused(R"({"isa": "portable", "speed": 11})", "config");
  EXPECT_TRUE(contains(refused(R"({"isa": "portable", "mr": 1000})", "config"), "mr"));

  options.config = R"({"isa": "portable"})";
  error_of(ErrorCode::invalid_argument, "config",
           [&] { plan(context, parse_problem("gemm:f64:nn:m=65,n=8,k=8"), options); });
}

TEST(Config, IsAlwaysAPointOfTheSpace) {
  for (const char* cpu : {"portable", "avx2", "avx512"}) {
    if (std::string(cpu) != "portable" && !jit_available(enum_from_string<Isa>(cpu, "cpu"))) continue;
    Context context({.cpu = cpu});
    for (const char* text :
         {"gemm:f64:nn:m=7,n=9,k=3", "gemm_batched:f32:tn:m=13,n=13,k=26:strided:batch=1e6",
          "gemm_batched:c128:nc:m=3,n=3,k=3:pointer:batch=100:beta=1"}) {
      const GemmPlan made = plan(context, parse_problem(text));
      const auto config = from_json<GemmSmallCpuConfig>(Access::impl(made).runner->config());
      EXPECT_TRUE(gemm_small_cpu_space(made.problem(), config.isa).contains(config)) << cpu << ' ' << text;
    }
  }
}

std::string notices_of(Context& context) {
  std::string all;
  for (const std::string& notice : Access::impl(context).notices()) all += notice + '\n';
  return all;
}

std::size_t lines_of(const std::string& text) {
  return std::size_t(std::count(text.begin(), text.end(), '\n'));
}

TEST(Explain, NothingIsPredictedBelowTheBound) {
  const TempFolder folder;
  setenv("TILEWRIGHT_WISDOM", std::string(folder / "w.sqlite").c_str(), 1);
  Ceilings slow;
  slow.device = cpu_info().device, slow.time = "2016-11-21T10:00:00Z";
  slow.fma_f64_256 = 1e-3, slow.memory_update = slow.memory_write = 1;
  save_ceilings(kept_path(Environment::read()), slow);
  Context context({.cpu = "portable", .use_wisdom = false});
  const std::string text =
      explain(context, parse_problem("gemm_batched:f64:nn:m=10,n=10,k=10:strided:batch=10:residency=l1"),
              {.threads = 1});
  unsetenv("TILEWRIGHT_WISDOM");
  EXPECT_TRUE(contains(text, "about 20 ms on one thread (what this machine's ceilings allow")) << text;
  EXPECT_TRUE(contains(text, "at least 20 ms by compute")) << text;
}

TEST(Wisdom, WhatIsNotExactIsNoticedOncePerProblem) {
  const std::string nothing = "/nonexistent/" + std::to_string(std::random_device{}()) + ".sqlite";
  Context context({.cpu = "portable", .wisdom = nothing});
  const auto small = [](int batch, const char* rest) {
    return parse_problem(
        fmt::format("gemm_batched:f64:nn:m=8,n=8,k=8:strided:batch={}{}:residency=cold", batch, rest));
  };
  const std::string text = explain(context, small(1000, ""));
  EXPECT_TRUE(contains(text, "no exact record") && contains(text, "tilewright tune")) << text;
  EXPECT_TRUE(contains(notices_of(context), "batch=1000:")) << "the call's problem: " << notices_of(context);
  (void)plan(context, small(1000, ""));
  (void)plan(context, small(77, ""));         // for wisdom the same problem
  (void)plan(context, small(77, ":lda=20"));  // and this
  EXPECT_EQ(lines_of(notices_of(context)), 1u) << notices_of(context);
  (void)plan(context, small(77, ":beta=one"));
  EXPECT_EQ(lines_of(notices_of(context)), 2u) << notices_of(context);
  GemmOptions options;
  options.config = R"({"isa": "portable"})";  // asked for: wisdom was not
  (void)plan(context, parse_problem("gemm_batched:f64:nn:m=9,n=8,k=8:strided:batch=9"), options);
  EXPECT_EQ(lines_of(notices_of(context)), 2u) << notices_of(context);
}

TEST(Wisdom, NoticesCanBeSilenced) {
  const GemmProblem p = parse_problem("gemm_batched:f64:nn:m=8,n=8,k=8:strided:batch=1000:residency=cold");
  const std::string nothing = "/nonexistent/" + std::to_string(std::random_device{}()) + ".sqlite";
  const auto notices = [&](const ContextOptions& options) {
    Context context(options);
    (void)plan(context, p);
    return notices_of(context);
  };
  EXPECT_EQ(notices({.cpu = "portable", .wisdom = nothing, .notices = false}), "");
  EXPECT_EQ(notices({.cpu = "portable", .use_wisdom = false}), "");
  setenv("TILEWRIGHT_NOTICES", "off", 1);
  EXPECT_EQ(notices({.cpu = "portable", .wisdom = nothing}), "");
  setenv("TILEWRIGHT_NOTICES", "loud", 1);
  error_of(ErrorCode::invalid_argument, "TILEWRIGHT_NOTICES", [&] { notices({.cpu = "portable"}); });
  unsetenv("TILEWRIGHT_NOTICES");
  EXPECT_NE(notices({.cpu = "portable", .wisdom = nothing}), "");
}

class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& text) { folder_.write("wisdom.jsonl", text); }
  std::string path() const { return folder_ / "wisdom.jsonl"; }

 private:
  TempFolder folder_;
};
TEST(Config, WisdomIsUsedAndNamed) {
  const GemmProblem p =
      parse_problem("gemm_batched:f64:nn:m=8,n=8,k=8:strided:batch=1000000:beta=one:residency=cold");
  const GemmSmallCpuConfig config = gemm_small_cpu_default(p, Isa::portable);
  nlohmann::json record = {{"family", "gemm_small_cpu"},
                           {"problem", to_string(p)},
                           {"config", to_json(config)},
                           {"device", cpu_info().device},
                           {"seconds", 1e-9}};
  const TemporaryFile file(record.dump() + "\n");
  Context context({.cpu = "portable", .wisdom = file.path()});
  const GemmPlan made = plan(context, p);
  EXPECT_EQ(Access::impl(made).known.match, WisdomMatch::exact);
  EXPECT_TRUE(contains(made.explain(), file.path() + ":1")) << made.explain();
  EXPECT_TRUE(contains(made.explain(), "on one thread (by its record)")) << made.explain();
  Context without({.cpu = "portable", .use_wisdom = false, .wisdom = file.path()});
  EXPECT_EQ(Access::impl(plan(without, p)).known.match, WisdomMatch::none);
}

// Which of two nearly equal kernels wins is a matter of the machine.
TEST(Config, RecordsOfOtherDevicesCountWhereTheyGainedMuch) {
  const GemmProblem p = parse_problem("gemm_batched:f64:nn:m=8,n=8,k=8:strided:batch=1000000:residency=cold");
  const auto match = [&](const std::string& device, std::optional<double> default_seconds) {
    nlohmann::json record = {{"family", "gemm_small_cpu"},
                             {"problem", to_string(p)},
                             {"config", to_json(gemm_small_cpu_default(p, Isa::portable))},
                             {"device", device},
                             {"seconds", 1e-9}};
    if (default_seconds) record["default_seconds"] = *default_seconds;
    const TemporaryFile file(record.dump() + "\n");
    Context context({.cpu = "portable", .wisdom = file.path()});
    return Access::impl(plan(context, p)).known.match;
  };
  EXPECT_EQ(match("Abacus 1", 1.3e-9), WisdomMatch::near_device);
  EXPECT_EQ(match("Abacus 1", 1.1e-9), WisdomMatch::none);
  EXPECT_EQ(match("Abacus 1", std::nullopt), WisdomMatch::none);
  EXPECT_EQ(match(cpu_info().device, 1.0e-9), WisdomMatch::exact);
}

TEST(ContextOptions, AnInstructionSetThatTheProcessorLacksIsNamed) {
  for (const char* cpu : {"avx2", "avx512"}) {
    const auto make = [&] { Context({.cpu = cpu}); };
    if (jit_available(enum_from_string<Isa>(cpu, "cpu")))
      EXPECT_NO_THROW(make());
    else
      EXPECT_TRUE(contains(error_of(ErrorCode::invalid_argument, "cpu", make), cpu));
  }
}

TEST(ContextOptions, TheEnvironmentForcesTheCpu) {
  const char* before = std::getenv("TILEWRIGHT_CPU");
  const std::string saved = before == nullptr ? "" : before;
  setenv("TILEWRIGHT_CPU", "portable", 1);
  EXPECT_EQ(Access::impl(Context()).isa, Isa::portable);
  setenv("TILEWRIGHT_CPU", "pdp11", 1);
  EXPECT_TRUE(contains(error_of(ErrorCode::invalid_argument, "TILEWRIGHT_CPU", [] { Context(); }),
                       "TILEWRIGHT_CPU = 'pdp11'"));
  before == nullptr ? unsetenv("TILEWRIGHT_CPU") : setenv("TILEWRIGHT_CPU", saved.c_str(), 1);
}

TEST(ContextOptions, ACblasThatIsNamedMustBeOne) {
  GemmProblem large;
  large.m = large.n = large.k = 300;
  for (const char* name : {"nonsense", "/tmp", "libm.so.6"}) {
    Context context({.use_wisdom = false});
    Access::impl(context).environment.cblas = name;
    const auto message =
        error_of(ErrorCode::io, "TILEWRIGHT_CBLAS", [&] { (void)plan(context, packed(large), {}); });
    EXPECT_TRUE(contains(message, std::string("TILEWRIGHT_CBLAS = '") + name + "'")) << message;
  }
  Context without({.use_wisdom = false});
  Access::impl(without).environment.cblas = "none";
  EXPECT_FALSE(Access::impl(without).cblas()->available());
}

TEST(Residency, IsJudgedByTheFootprint) {
  Context context;
  GemmOptions options;
  options.threads = 1;
  const auto judged = [&](const char* text) {
    return plan(context, parse_problem(text), options).problem().residency;
  };
  EXPECT_EQ(judged("gemm:f64:nn:m=8,n=8,k=8"), Residency::l1);
  EXPECT_EQ(judged("gemm_batched:f64:nn:m=8,n=8,k=8:strided:batch=17"), Residency::l2);
  EXPECT_EQ(judged("gemm_batched:f64:nn:m=8,n=8,k=8:strided:batch=1e6"), Residency::cold);
  EXPECT_EQ(judged("gemm:f64:nn:m=8,n=8,k=8:residency=cold"), Residency::cold);
  options.residency = Residency::l2;
  EXPECT_EQ(judged("gemm:f64:nn:m=8,n=8,k=8:residency=cold"), Residency::l2);
}

TEST(KernelCache, ServesEveryProblemOfTheSameCode) {
  Context context;
  const auto kernel = [&](const char* text) {
    return Access::impl(plan(context, parse_problem(text))).runner->direct_call().kernel;
  };
  const auto first = kernel("gemm_batched:f64:nn:m=8,n=8,k=8:strided:batch=10:residency=l1");
  EXPECT_EQ(first, kernel("gemm_batched:f64:nn:m=8,n=8,k=8:strided:batch=11:residency=l1"));
  EXPECT_NE(first, kernel("gemm_batched:f64:nn:m=8,n=8,k=8:strided:batch=10:stride_a=0:residency=l1"));
  EXPECT_NE(first, kernel("gemm_batched:f64:nn:m=8,n=8,k=8:strided:batch=10:stride_c=65:residency=l1"));
  EXPECT_NE(first, kernel("gemm_batched:f64:nn:m=8,n=8,k=8:strided:batch=10:beta=1:residency=l1"));
  EXPECT_EQ(kernel("gemm_batched:f64:nn:m=8,n=8,k=8:strided:batch=10:stride_c=65:residency=l1"),
            kernel("gemm_batched:f64:nn:m=8,n=8,k=8:strided:batch=10:stride_c=99:residency=l1"));
}

TEST(PlanCache, RepeatedCallsShareAPlan) {
  Context context;
  const GemmProblem p = parse_problem("gemm_batched:f64:nn:m=8,n=8,k=8:strided:batch=10");
  EXPECT_EQ(&Access::impl(plan(context, p)), &Access::impl(plan(context, p)));
  GemmOptions options;
  options.threads = 2;
  EXPECT_NE(&Access::impl(plan(context, p)), &Access::impl(plan(context, p, options)));
}

TEST(PlanCache, APlanOutlivesItsContext) {
  auto context = std::make_unique<Context>();
  const GemmProblem p = parse_problem("gemm_batched:f64:nn:m=4,n=4,k=4:strided:batch=3:beta=general");
  const GemmPlan made = plan(*context, p);
  context.reset();
  TestOperands<double> x(p);
  x.beta = 0;  // needs a kernel that the plan did not begin with
  const auto expected = x.expected();
  made.run<double>(1.0, x.a.data(), x.b.data(), x.beta, x.c.data());
  EXPECT_EQ(x.c, expected);
}

template <class T>
void run(const GemmPlan& made, TestOperands<T>& x, BatchScalar<T> alpha, BatchScalar<T> beta) {
  if (x.pointers())
    made.run<T>(alpha, x.a_pointers.data(), x.b_pointers.data(), beta, x.c_pointers.data());
  else
    made.run<T>(alpha, x.a.data(), x.b.data(), beta, x.c.data());
}

constexpr const char* layouts[] = {"strided:batch=67", "strided:batch=67:stride_a=0", "pointer:batch=67",
                                   "interleaved:batch=67", "block_interleaved:batch=67:block=8"};

class PlanRuns : public ::testing::TestWithParam<std::tuple<const char*, const char*>> {};

TEST_P(PlanRuns, AgreeWithTheReference) {
  Context context;
  const auto [layout, size] = GetParam();
  for (const char* dtype : {"f32", "f64", "c64", "c128"})
    for (const char* ops : {"nn", "tn", "nc"})
      for (const char* scalars : {"", ":beta=one", ":alpha=general:beta=general"})
        for (int threads : {1, 2}) {
          const GemmProblem p = parse_problem(
              fmt::format("gemm_batched:{}:{}:{}:{}:ldc=70{}", dtype, ops, size, layout, scalars));
          dispatch(p.dtype, [&]<class T>() {
            TestOperands<T> x(p);
            const auto expected = x.expected();
            GemmOptions options;
            options.threads = threads;
            run<T>(plan(context, p, options), x, x.alpha, x.beta);
            EXPECT_TRUE(TestOperands<T>::same(x.c, expected)) << to_string(p) << ", threads = " << threads;
          });
        }
}

INSTANTIATE_TEST_SUITE_P(Layouts, PlanRuns,
                         ::testing::Combine(::testing::ValuesIn(layouts),
                                            ::testing::Values("m=5,n=3,k=4", "m=66,n=2,k=3", "m=4,n=4,k=0")));

TEST(PlanRun, ZerosAmongGeneralScalars) {
  Context context;
  for (const char* layout : layouts) {
    const GemmProblem p =
        parse_problem(fmt::format("gemm_batched:f64:nn:m=5,n=3,k=4:{}:alpha=general:beta=general", layout));
    for (int zeros = 0; zeros < 4; ++zeros) {
      TestOperands<double> x(p);
      std::vector<double> alpha(std::size_t(p.batch_count), 2.0), beta(std::size_t(p.batch_count), 3.0);
      for (std::size_t i = 0; i < alpha.size(); ++i) {
        if ((zeros & 1) != 0 && i % 3 == 0) alpha[i] = 0;
        if ((zeros & 2) != 0 && i % 5 < 2) beta[i] = 0;
        // Elements that must not be read are NaN.
        const auto a = matrix_of<double>(p, layout_a(p), x.operands().a, std::int64_t(i));
        const auto c = matrix_of<double>(p, layout_c(p), x.operands().c, std::int64_t(i));
        if (alpha[i] == 0 && p.stride_a != 0) a(0, 0) = not_a_number<double>();
        if (beta[i] == 0) c(1, 1) = not_a_number<double>();
      }
      TestOperands<double> y = x;
      for (std::size_t i = 0; i < y.c_pointers.size(); ++i)
        y.c_pointers[i] = y.c.data() + (x.c_pointers[i] - x.c.data());
      Operands o = y.operands();
      o.alpha = alpha.data(), o.beta = beta.data(), o.alpha_stride = o.beta_stride = 1;
      gemm_reference(p, o);
      run<double>(plan(context, p), x, BatchScalar<double>(alpha.data()), BatchScalar<double>(beta.data()));
      EXPECT_TRUE(TestOperands<double>::same(x.c, y.c)) << layout << ", zeros " << zeros;
    }
  }
}

TEST(Placement, RunsFollowTheNodesThatHoldC) {
  const GemmProblem p = parse_problem("gemm_batched:f64:nn:m=8,n=8,k=8:strided:batch=1e6:residency=cold");
  const std::vector<NumaNode> nodes{{0, {0, 1}, 1}, {1, {2, 3}, 1}};
  char base[1];  // only addresses are asked about
  const Operands o{base, base, base, nullptr, nullptr};
  const auto node_of = [&](const void* address) {
    const auto at = reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(base);
    return at < 128000000 ? 1 : 0;
  };
  const auto ranges = ranges_by_node(nodes, p, o, 4, 16, node_of);
  std::int64_t next = 0;
  for (const ThreadRange& range : ranges) {
    EXPECT_EQ(range.first, next);
    EXPECT_EQ(range.node, range.first < 250000 ? 1 : 0);
    next = range.first + range.count;
  }
  EXPECT_EQ(next, 1000000);
  EXPECT_TRUE(ranges_by_node(nodes, p, o, 1, 16, node_of).empty());
  EXPECT_TRUE(ranges_by_node({nodes[0]}, p, o, 4, 16, node_of).empty());
  EXPECT_TRUE(ranges_by_node(nodes, p, o, 4, 16, [](const void*) { return -1; }).empty());
  const GemmProblem small = parse_problem("gemm_batched:f64:nn:m=8,n=8,k=8:strided:batch=1e3:residency=cold");
  EXPECT_TRUE(ranges_by_node(nodes, small, o, 4, 16, node_of).empty());
}

TEST(PlanRun, StaysOnTheCallersThreadInsideAParallelRegion) {
  Context context;
  const GemmProblem p = parse_problem("gemm_batched:f64:nn:m=16,n=16,k=16:strided:batch=500:beta=1");
  GemmOptions options;
  options.threads = 4;
  const GemmPlan made = plan(context, p, options);
  std::vector<TestOperands<double>> xs(3, TestOperands<double>(p));
  const auto expected = xs[0].expected();
#pragma omp parallel for num_threads(3)
  for (int i = 0; i < 3; ++i) made.run<double>(1.0, xs[i].a.data(), xs[i].b.data(), 1.0, xs[i].c.data());
  for (const auto& x : xs) EXPECT_EQ(x.c, expected);
}

}  // namespace
}  // namespace tilewright
