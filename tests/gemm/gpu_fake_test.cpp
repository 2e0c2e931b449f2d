// What the host does around a GPU's kernels, watched through the fake driver (fake_cuda): which calls reach
// the driver and when, where configs come from, what is refused and why. Skipped where the driver is a real
// one.
#include <filesystem>

#include "fake_cuda/counts.hpp"
#include "gemm/plan.hpp"
#include "support/gpu_calls.hpp"
#include "support/gpu_fixture.hpp"

namespace tilewright::testing {
namespace {

class FakeGpu : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped()) return;
    count_ = ask_fake<fake_cuda::Count>(fake_cuda::count_name);
    if (count_ == nullptr) GTEST_SKIP() << "the driver is no fake one";
  }
  static GemmProblem problem(const std::string& rest) {
    return parse_problem("gemm_batched:f64:nn:m=8,n=8,k=8:strided:batch=1000:location=device" + rest);
  }
  static std::string reason(const GemmProblem& p, const GemmOptions& options, Context& context) {
    try {
      plan(context, p, options);
      return "accepted";
    } catch (const Error& error) {
      return error.what();
    }
  }
  static bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }

  fake_cuda::Count count_ = nullptr;
};

// What every kind of call needs is there after its first: later ones launch and wait for nothing.
TEST_F(FakeGpu, LaterCallsOfAnyKindNeitherWaitNorAllocateNorCompile) {
  Context context;
  const GpuStream stream(*gpu_);
  options_.queue.stream = stream.get();
  for (const GpuCall& call : every_kind_of_call(*gpu_)) {
    const long long none = count_("launch");
    call.run(context, options_);
    stream.synchronize();
    const long long wanted = call.launches > 0 ? call.launches : count_("launch") - none;
    call.reset();
    std::map<std::string, long long> before;
    const char* kinds[] = {"retain",         "release",    "synchronize", "allocate", "free",
                           "allocate_async", "free_async", "copy",        "load",     "unload"};
    for (const char* kind : kinds) before[kind] = count_(kind);
    const long long launches = count_("launch");
    call.run(context, options_);
    for (const char* kind : kinds) EXPECT_EQ(count_(kind), before[kind]) << kind << ": " << call.name;
    EXPECT_EQ(count_("launch"), launches + wanted) << call.name;
    stream.synchronize();
    EXPECT_EQ(call.check(), "") << call.name;
  }
}

// Prepared plans make way for no other, and those of other calls one by one.
TEST_F(FakeGpu, PreparedPlansStay) {
  Context context({.use_wisdom = false});
  const GpuCall pointers = every_kind_of_call(*gpu_)[7];
  {
    Context other({.use_wisdom = false});
    pointers.run(other, options_);  // its arrays come to the device
    pointers.reset();
  }
  GemmProblem p = parse_problem(
      "gemm_batched:f64:nt:m=5,n=4,k=6:pointer:batch=20:alpha=general:beta=per_problem:location=device");
  p.lda = 6, p.ldb = 5, p.ldc = 6;
  prepare(context, std::span(&p, 1), options_);
  std::vector<double> room(16);
  for (std::int64_t n = 1; n <= 4200; ++n) {
    const StridedBatch<double> x{{room.data(), 1, 1, n}, n, 1};
    gemm_batched<double>(context, Op::none, Op::none, 1.0, x, x, 0.0,
                         StridedBatch<double>{{room.data() + 8, 1, 1, 1}, 1, 1});
  }
  std::map<std::string, long long> before;
  for (const char* kind : {"synchronize", "allocate", "free", "load"}) before[kind] = count_(kind);
  pointers.run(context, options_);
  for (const auto& [kind, calls] : before) EXPECT_EQ(count_(kind.c_str()), calls) << kind;
  EXPECT_EQ(pointers.check(), "");
}

TEST_F(FakeGpu, ARunIsOneLaunchOnTheCallersStreamAndNothingElse) {
  Context context;
  const GemmProblem p = problem(":beta=one");
  const GemmPlan made = plan(context, p, options_);
  GpuBatch<double> batch(*gpu_, p, {1, 1});
  const GpuStream stream(*gpu_);
  const Gpu::Current current(*gpu_);
  std::map<std::string, long long> before;
  const char* kinds[] = {"retain",   "release", "push", "pop", "synchronize",
                         "allocate", "free",    "copy", "load"};
  for (const char* kind : kinds) before[kind] = count_(kind);
  const long long launches = count_("launch");
  made.run<double>(1.0, batch.a(), batch.b(), 1.0, batch.c(), stream.get());
  for (const char* kind : kinds) EXPECT_EQ(count_(kind), before[kind]) << kind;
  EXPECT_EQ(count_("launch"), launches + 1);
  fake_cuda::Launch last;
  ask_fake<fake_cuda::Launches>(fake_cuda::launches_name)(&last, 1);
  EXPECT_EQ(last.stream, stream.get());
  stream.synchronize();
  EXPECT_EQ(batch.check(), "");
}

// A launch per problem would take longer than the problem.
TEST_F(FakeGpu, ABatchOfLargeProductsIsOneLaunch) {
  Context context;
  options_.candidate = "gpu_large";
  for (const char* layout : {"strided", "pointer"}) {
    const GemmProblem p = packed(parse_problem(
        fmt::format("gemm_batched:f64:tn:m=70,n=66,k=65:{}:batch=37:beta=one:location=device", layout)));
    const GemmPlan made = plan(context, p, options_);
    GpuBatch<double> batch(*gpu_, p, {1, 1});
    const GpuStream stream(*gpu_);
    const long long launches = count_("launch");
    batch.run(made, stream.get());
    EXPECT_EQ(count_("launch"), launches + 1) << layout;
    stream.synchronize();
    EXPECT_EQ(batch.check(), "") << layout;
  }
}

TEST_F(FakeGpu, CallersWithoutAContextAreLeftWithoutOne) {
  Context context;
  const GemmProblem p = problem("");
  EXPECT_EQ(call<double>(context, p, {}), "");
  EXPECT_EQ(count_("push"), count_("pop"));
}

TEST_F(FakeGpu, EveryOwnerOfAPrimaryContextGivesItBack) {
  const auto retained = ask_fake<fake_cuda::Retained>(fake_cuda::retained_name);
  const int before = retained(device_);
  std::optional<GemmPlan> kept;
  {
    Context one, two;
    kept = plan(one, problem(""), options_);
    plan(two, problem(""), options_);
    EXPECT_EQ(retained(device_), before + 2);
  }
  EXPECT_EQ(retained(device_), before + 1) << "the plan needs its GPU";
  kept.reset();
  EXPECT_EQ(retained(device_), before);
  EXPECT_EQ(count_("load"), count_("unload"));
}

TEST_F(FakeGpu, ShippedWisdomIsUsedAndNamed) {
  Context context;
  const auto match = [&](const std::string& text) {
    const GemmPlan made = plan(context, parse_problem(text), options_);
    return to_string(Access::impl(made).known.match);
  };
  EXPECT_EQ(match("gemm_batched:f64:nn:m=4,n=4,k=4:strided:batch=1000000:beta=one:location=device"), "exact");
  EXPECT_EQ(match("gemm_batched:f64:nn:m=8,n=8,k=9:strided:batch=1000:beta=one:location=device"),
            "near_shape");
  EXPECT_EQ(match("gemm_batched:f64:nn:m=60,n=2,k=60:strided:batch=1000:beta=one:location=device"),
            "default");
  GemmOptions turing = options_;
  turing.queue.device =
      1;  // the configs of the first device are tried, where they are legal, else the rule of thumb
  const GemmPlan elsewhere = plan(context, problem(":beta=one"), turing);
  EXPECT_EQ(Access::impl(elsewhere).runner->device(), "Fake Turing");
  EXPECT_EQ(Access::impl(elsewhere).runner->config()["load"], "direct") << "sm_75 has no asynchronous copies";
}

TEST_F(FakeGpu, SeveralDevicesInOneContext) {
  Context context;
  const GemmProblem p = problem(":beta=one");
  const Gpu other(1);
  GpuBatch<double> here(*gpu_, p, {1, 1}), there(other, p, {1, 1});
  GemmOptions options = options_;
  gemm_batched<double>(context, p.op_a, p.op_b, 1.0, here.view_a(), here.view_b(), 1.0, here.view_c(),
                       options);
  options.queue.device = 1;
  gemm_batched<double>(context, p.op_a, p.op_b, 1.0, there.view_a(), there.view_b(), 1.0, there.view_c(),
                       options);
  EXPECT_EQ(here.check(), "");
  EXPECT_EQ(there.check(), "");
  options.checked = true;
  try {
    gemm_batched<double>(context, p.op_a, p.op_b, 1.0, here.view_a(), there.view_b(), 1.0, there.view_c(),
                         options);
    FAIL() << "an operand of another device was taken";
  } catch (const Error& error) {
    EXPECT_TRUE(contains(error.what(), "lies on GPU 0, not on GPU 1")) << error.what();
  }
}

TEST_F(FakeGpu, RefusalsSayWhy) {
  Context context;
  GemmOptions options = options_;
  options.queue.device = 2;
  EXPECT_TRUE(contains(reason(problem(""), options, context), "compute capability 6.1"));
  EXPECT_TRUE(
      contains(reason(parse_problem("gemm_batched:f64:nn:m=8,n=8,k=8:grouped:batch=9:location=device"),
                      options_, context),
               "call gemm_grouped, which plans each"));
  EXPECT_TRUE(
      contains(reason(parse_problem("gemm_batched:f64:nn:m=513,n=8,k=8:interleaved:batch=9:alpha=per_problem"
                                    ":location=device"),
                      options_, context),
               "size 513 exceeds the limit of 512"));
  options = options_;
  options.config = R"({"threads": 33})";
  EXPECT_TRUE(contains(reason(problem(""), options, context), "threads = "));
  options.config = R"({"no_such_field": 1})";
  EXPECT_TRUE(contains(reason(problem(""), options, context), "no_such_field"));
  options = options_;
  options.align_bytes = 4;
  EXPECT_TRUE(contains(reason(problem(""), options, context), "align_bytes = 4"));
}

// Kernels that were compiled once serve where there is no compiler any more.
TEST_F(FakeGpu, WithoutACompilerKeptKernelsServe) {
  const TempFolder folder;
  const std::string cache = std::getenv("TILEWRIGHT_CACHE"), nvrtc = std::getenv("TILEWRIGHT_NVRTC");
  setenv("TILEWRIGHT_CACHE", folder.path().c_str(), 1);
  Context with;
  EXPECT_EQ(reason(problem(""), options_, with), "accepted");
  setenv("TILEWRIGHT_NVRTC", "/no/such/nvrtc.so", 1);
  Context without;
  EXPECT_EQ(reason(problem(""), options_, without), "accepted");
  EXPECT_EQ(Access::impl(plan(without, problem(":alpha=general"), options_)).candidate, "cublas");
  GemmOptions ours = options_;
  ours.candidate = "gpu_small";
  const std::string text = reason(problem(":alpha=general"), ours, without);
  EXPECT_TRUE(contains(text, "no GPU compiler was found (tried /no/such/nvrtc.so") &&
              contains(text, "not in the cache"))
      << text;
  setenv("TILEWRIGHT_CACHE", cache.c_str(), 1);
  setenv("TILEWRIGHT_NVRTC", nvrtc.c_str(), 1);
}

TEST_F(FakeGpu, MissingSourcesAreNamed) {
  const TempFolder folder;
  setenv("TILEWRIGHT_SHARE", folder.path().c_str(), 1);
  Context context;
  unsetenv("TILEWRIGHT_SHARE");
  EXPECT_TRUE(contains(reason(problem(""), options_, context), "there are no kernel sources in"));
}

}  // namespace
}  // namespace tilewright::testing
