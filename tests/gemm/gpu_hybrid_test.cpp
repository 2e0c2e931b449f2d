// Products of host operands on the GPUs of this machine, through the calls that users make: every type,
// operation and beta, pinned and pageable, whole and under caps, on one GPU and two, after faults that a fake
// driver has on demand. Elements are small integers, so that every sum is exact in every order.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <thread>

#include "core/dispatch.hpp"
#include "device/gpu/copies.hpp"
#include "gemm/hybrid/stream/stream_device.hpp"
#include "gemm/plan.hpp"
#include "hybrid/simulated_job.hpp"
#include "simulated/simulated_device.hpp"
#include "support/gpu_fixture.hpp"
#include "tilewright/allocate.hpp"

namespace tilewright::testing {
namespace {

template <class T>
class Pinned {
 public:
  Pinned(const Gpu& gpu, std::vector<T>& values) : memory_(gpu, values.data(), values.size() * sizeof(T)) {}

 private:
  RegisteredMemory memory_;
};

class GpuHybrid : public GpusTest {
 protected:
  // The first so many; none where the machine has fewer.
  std::vector<int> first(int count) const {
    if (count > int(usable_.size())) return {};
    return {usable_.begin(), usable_.begin() + count};
  }
  static GemmOptions options_of(Target target, std::vector<int> gpus) {
    GemmOptions options;
    options.target = target;
    options.gpus = std::move(gpus);
    return options;
  }

  template <class T>
  void expect_right(const GemmProblem& problem, const GemmOptions& options, bool pinned,
                    const std::string& what) {
    const GemmPlan made = plan(context_, problem, options);
    ASSERT_EQ(Access::impl(made).candidate, "hybrid") << what << made.explain();
    TestOperands<T> operands(problem);
    const auto expected = operands.expected();
    std::optional<Pinned<T>> a, b, c;
    if (pinned) a.emplace(*gpu_, operands.a), b.emplace(*gpu_, operands.b), c.emplace(*gpu_, operands.c);
    if (operands.pointers())
      made.run<T>(operands.alpha, operands.a_pointers.data(), operands.b_pointers.data(), operands.beta,
                  operands.c_pointers.data());
    else
      made.run<T>(operands.alpha, operands.a.data(), operands.b.data(), operands.beta, operands.c.data());
    EXPECT_TRUE(TestOperands<T>::same(operands.c, expected))
        << what << Access::impl(made).runner->last_run().dump();
  }

  // The device is lost after so many copies; what is undefined then is counted in `parts`.
  void expect_told_or_made_good(const GemmProblem& p, const char* parts, const std::vector<int>& after) {
    GemmOptions options = options_of(Target::gpu, first(1));
    for (const int copies : after) {
      const auto at = std::to_string(fake_count("copy") + copies);
      const Variable lost("TILEWRIGHT_FAKE_LOST_AFTER", at.c_str());
      options.on_device_failure = OnDeviceFailure::error;
      try {
        expect_right<double>(p, options, true, "");
        ADD_FAILURE() << "nothing was said of a lost device after " << copies;
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::device_lost) << error.what();
        EXPECT_NE(std::string(error.what()).find(parts), std::string::npos) << error.what();
      }
      options.on_device_failure = OnDeviceFailure::redo;
      expect_right<double>(p, options, true, fmt::format("after {} copies\n", copies));
    }
  }

  Context context_{{.use_wisdom = false, .notices = false}};
};

TEST_F(GpuHybrid, TypesOperationsAndPlacesOfOperands) {
  const Op all[] = {Op::none, Op::trans, Op::conj_trans};
  const Scalar betas[] = {Scalar::zero, Scalar::one, Scalar::general};
  int draw = 0;
  for (const DType dtype : {DType::f32, DType::f64, DType::c64, DType::c128})
    for (const Op op_a : all)
      for (const Op op_b : all) {
        const bool pinned = draw % 2 == 0, tall = draw % 5 < 2;
        const int gpus = draw % 4 == 0 ? 2 : 1;
        const Target target = draw % 7 < 3 ? Target::hybrid : Target::gpu;
        const Scalar beta = betas[(draw / 3 + draw) % 3];
        ++draw;
        if (first(gpus).empty()) continue;
        const auto p = host_product(dtype, op_a, op_b, tall ? 210 : 90, tall ? 70 : 190, 85, beta);
        const auto what = fmt::format("{} {} on {} GPUs, {}\n", to_string(p), to_string(target), gpus,
                                      pinned ? "pinned" : "pageable");
        dispatch(dtype,
                 [&]<class T>() { expect_right<T>(p, options_of(target, first(gpus)), pinned, what); });
      }
}

TEST_F(GpuHybrid, BatchesInEveryLayout) {
  int draw = 0;
  for (const Layout layout :
       {Layout::strided, Layout::pointer, Layout::interleaved, Layout::block_interleaved})
    for (const DType dtype : {DType::f64, DType::c64})
      for (const std::int64_t n : {4, 13}) {
        GemmProblem p = host_product(dtype, Op::none, Op::trans, n, n + 1, n, Scalar::general, draw % 2);
        p.layout = layout, p.batch_count = 1000;
        if (layout == Layout::interleaved) p.block = p.batch_count;
        if (layout == Layout::block_interleaved) p.block = 32;
        p = packed(p);
        GemmOptions options = options_of(draw % 3 == 0 ? Target::hybrid : Target::gpu, first(1));
        if (options.target == Target::hybrid) options.split = SplitRule::fixed, options.cpu_share = 0.3;
        const bool pinned = ++draw % 2 == 0;
        dispatch(dtype, [&]<class T>() { expect_right<T>(p, options, pinned, to_string(p)); });
      }
}

TEST_F(GpuHybrid, MemoryThatProgramsPinIsTakenAsSuch) {
  const auto p = host_product(DType::f64, Op::none, Op::none, 120, 140, 100, Scalar::general, 0);
  const GemmPlan made = plan(context_, p, options_of(Target::gpu, first(1)));
  TestOperands<double> operands(p);
  const auto expected = operands.expected();
  const auto bytes = [](const auto& matrix) { return std::int64_t(matrix.size() * sizeof(double)); };
  PinnedBlock a = register_pinned(operands.a.data(), bytes(operands.a)),
              b = allocate_pinned(bytes(operands.b)), c = allocate_pinned(bytes(operands.c));
  std::copy(operands.b.begin(), operands.b.end(), b.as<double>());
  std::copy(operands.c.begin(), operands.c.end(), c.as<double>());
  const auto run = [&] {
    made.run<double>(operands.alpha, a.as<double>(), b.as<double>(), operands.beta, c.as<double>());
    return Access::impl(made).runner->last_run()["memory"];
  };
  EXPECT_EQ(run(), "pinned");
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), c.as<double>()));
  EXPECT_THROW(register_pinned(operands.a.data(), 8), Error) << "it is pinned already";
  a = {};
  const PinnedBlock again = register_pinned(operands.a.data(), bytes(operands.a));
  EXPECT_EQ(again.bytes(), bytes(operands.a));
  EXPECT_THROW(allocate_pinned(0), Error);
  EXPECT_THROW(register_pinned(nullptr, 8), Error);
  EXPECT_THROW(allocate_pinned(std::int64_t(1) << 60), Error);
}

TEST_F(GpuHybrid, TheEnvironmentLimitsWhatCallsDoNot) {
  const auto p = host_product(DType::f64, Op::none, Op::none, 120, 140, 100, Scalar::zero);
  const auto explained = [&](const GemmOptions& options) {
    Context context{{.use_wisdom = false, .notices = false}};
    return plan(context, p, options).explain();
  };
  const auto message = [&](const GemmOptions& options) {
    try {
      return explained(options);
    } catch (const Error& error) {
      return std::string(error.what());
    }
  };
  const auto has = [](const std::string& text, const char* part) { return text.find(part) != text.npos; };
  {
    const Variable memory("TILEWRIGHT_GPU_MEMORY", "10");
    EXPECT_TRUE(has(message(options_of(Target::gpu, {})), "10 bytes"))
        << message(options_of(Target::gpu, {}));
    GemmOptions own = options_of(Target::gpu, {});
    own.gpu_memory_bytes = 1 << 26;
    EXPECT_TRUE(has(message(own), "tiles")) << message(own);
  }
  for (const auto& [name, value] : {std::pair("TILEWRIGHT_GPU_MEMORY", "much"),
                                    {"TILEWRIGHT_GPUS", "all"},
                                    {"TILEWRIGHT_GPUS", "0,0"},
                                    {"TILEWRIGHT_GPUS", "777,"}}) {
    const Variable wrong(name, value);
    const std::string text = message(options_of(Target::gpu, {}));
    EXPECT_TRUE(has(text, std::string(value) == "777," ? "777" : name)) << text;
  }
}

TEST_F(GpuHybrid, ProductsBeyondACapPassThrough) {
  const auto p = host_product(DType::f64, Op::none, Op::trans, 700, 640, 600, Scalar::general);
  for (const bool pinned : {true, false})
    for (const std::int64_t megabytes : {1, 4}) {
      GemmOptions options = options_of(Target::gpu, first(1));
      options.gpu_memory_bytes = megabytes << 20;
      expect_right<double>(p, options, pinned, fmt::format("{} MiB\n", megabytes));
    }
}

// Real lanes run side by side: whatever is not held back shows in some of many turns.
TEST_F(GpuHybrid, TurnAfterTurnTheSameBits) {
  const auto p = host_product(DType::f64, Op::none, Op::none, 1000, 1400, 900, Scalar::one, 0);
  const GemmPlan made =
      plan(context_, p, options_of(Target::gpu, first(std::min<int>(2, int(usable_.size())))));
  TestOperands<double> operands(p);
  const auto expected = operands.expected(), before = operands.c;
  for (int turn = 0; turn < (is_fake() ? 2 : 20); ++turn) {
    std::optional<Pinned<double>> a, b, c;
    if (turn % 2 == 0)
      a.emplace(*gpu_, operands.a), b.emplace(*gpu_, operands.b), c.emplace(*gpu_, operands.c);
    operands.c = before;
    made.run<double>(operands.alpha, operands.a.data(), operands.b.data(), operands.beta, operands.c.data());
    ASSERT_TRUE(TestOperands<double>::same(operands.c, expected)) << turn;
  }
}

TEST_F(GpuHybrid, MemoryIsKeptFromOneProductToTheNext) {
  if (!is_fake()) GTEST_SKIP() << "no driver that counts";
  const auto p = host_product(DType::f64, Op::none, Op::none, 300, 400, 200, Scalar::general);
  expect_right<double>(p, options_of(Target::gpu, first(1)), false, "");
  const long long before = fake_count("allocate");
  expect_right<double>(p, options_of(Target::gpu, first(1)), false, "");
  EXPECT_EQ(fake_count("allocate"), before);
}

TEST_F(GpuHybrid, ADeviceThatIsLostIsToldOfOrMadeGood) {
  if (!is_fake()) GTEST_SKIP() << "no driver that loses its devices on demand";
  const auto p = host_product(DType::f64, Op::none, Op::none, 300, 400, 200, Scalar::general);
  expect_told_or_made_good(p, "columns", {0, 1, 3, 5});
}

// An error that leaves the device unusable is its loss, whatever call reports it; a copy that the driver
// refuses is a fault of ours. Where it is redone, all are made good.
TEST_F(GpuHybrid, CopiesThatFailAreToldFromALostDevice) {
  if (!is_fake()) GTEST_SKIP() << "no driver that refuses copies on demand";
  const auto p = host_product(DType::f64, Op::none, Op::none, 300, 400, 200, Scalar::general);
  GemmOptions options = options_of(Target::gpu, first(1));
  const auto with_failing_copy = [&](int status, const auto& body) {
    const auto at = std::to_string(fake_count("queued_copy") + 3), code = std::to_string(status);
    const Variable failing("TILEWRIGHT_FAKE_FAILING_COPY", at.c_str());
    const Variable error_code("TILEWRIGHT_FAKE_COPY_ERROR", code.c_str());
    body();
  };
  for (const int status : {1, 214, 700, 999})
    with_failing_copy(status, [&] {
      try {
        expect_right<double>(p, options, true, "");
        ADD_FAILURE() << "nothing was said of status " << status;
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), status == 1 ? ErrorCode::internal : ErrorCode::device_lost) << error.what();
      }
    });
  options.on_device_failure = OnDeviceFailure::redo;
  for (const int status : {1, 214, 700, 999})
    with_failing_copy(status, [&] { expect_right<double>(p, options, false, ""); });
}

TEST_F(GpuHybrid, BatchesAreMadeGoodAfterALostDevice) {
  if (!is_fake()) GTEST_SKIP() << "no driver that loses its devices on demand";
  GemmProblem p = host_product(DType::f64, Op::none, Op::none, 12, 12, 12, Scalar::general, 0);
  p.layout = Layout::strided, p.batch_count = 4000;
  expect_told_or_made_good(packed(p), "problems", {0, 2, 5});
}

TEST_F(GpuHybrid, TooLittleMemoryIsToldOfOrMadeGood) {
  if (!is_fake()) GTEST_SKIP() << "no driver that refuses memory on demand";
  const auto p = host_product(DType::f64, Op::none, Op::none, 310, 410, 210, Scalar::general);
  GemmOptions options = options_of(Target::gpu, first(1));
  const Variable most("TILEWRIGHT_FAKE_MOST_BYTES", "1000");
  EXPECT_THROW(expect_right<double>(p, options, true, ""), Error);
  options.on_device_failure = OnDeviceFailure::redo;
  expect_right<double>(p, options, true, "");
}

TEST_F(GpuHybrid, CallersInSeveralThreadsAndContexts) {
  std::vector<std::thread> threads;
  Context other({.use_wisdom = false, .notices = false});
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      const auto p = host_product(DType::f64, Op::none, Op::trans, 120 + 10 * i, 150, 90, Scalar::one);
      TestOperands<double> operands(p, unsigned(i));
      const auto expected = operands.expected();
      const GemmPlan made = plan(i % 2 == 0 ? context_ : other, p, options_of(Target::gpu, first(1)));
      for (int turn = 0; turn < 3; ++turn) {
        TestOperands<double> own = operands;
        made.run<double>(own.alpha, own.a.data(), own.b.data(), own.beta, own.c.data());
        EXPECT_TRUE(TestOperands<double>::same(own.c, expected)) << i << ' ' << turn;
      }
    });
  for (std::thread& thread : threads) thread.join();
}

TEST_F(GpuHybrid, PinnedMemoryIsKnownToItsLastByte) {
  const auto device = make_cuda_device(usable_[0], [](const GemmProblem&, const Operands&) {});
  const auto memory = device->allocate_pinned(10000);
  EXPECT_TRUE(device->is_pinned(memory->data(), 10000));
  std::vector<double> pageable(1000);
  EXPECT_FALSE(device->is_pinned(pageable.data(), 8000));
  {
    const RegisteredMemory registered(*gpu_, pageable.data(), 8000);
    EXPECT_TRUE(device->is_pinned(pageable.data(), 8000));
  }
  // Copies do not reach across registrations, even where nothing lies between them.
  for (const std::ptrdiff_t second : {500, 600}) {
    const RegisteredMemory front(*gpu_, pageable.data(), 4000), back(*gpu_, pageable.data() + second, 3200);
    EXPECT_TRUE(device->is_pinned(pageable.data(), 4000));
    EXPECT_FALSE(device->is_pinned(pageable.data(), second * 8 + 3200)) << second;
  }
}

// A child has neither its parent's driver nor the threads that feed GPUs: plans from before the fork compute
// on the CPU, new ones say why they do not, and what the Context kept is not waited for.
TEST_F(GpuHybrid, ChildrenOfForkComputeOnTheCpuAndEnd) {
  if (first(1).empty()) GTEST_SKIP() << "there is no GPU";
  const auto p = host_product(DType::f64, Op::none, Op::trans, 210, 70, 85, Scalar::general);
  auto own = std::make_unique<Context>(ContextOptions{.use_wisdom = false, .notices = false});
  const GemmOptions options = options_of(Target::gpu, first(1));
  std::optional<GemmPlan> made = plan(*own, p, options);
  const auto is_right = [&] {
    TestOperands<double> operands(p);
    const auto expected = operands.expected();
    made->run<double>(operands.alpha, operands.a.data(), operands.b.data(), operands.beta, operands.c.data());
    return TestOperands<double>::same(operands.c, expected);
  };
  ASSERT_TRUE(is_right());
  const pid_t child = fork();
  if (child == 0) {
    alarm(300);
    if (!is_right() || own->gpu_count() != 0) _exit(1);
    try {
      (void)plan(*own, host_product(DType::f64, Op::none, Op::none, 210, 70, 85, Scalar::general), options);
      _exit(2);
    } catch (const Error& error) {
      if (std::string(error.what()).find("parent") == std::string::npos) _exit(3);
    }
    made.reset();
    own.reset();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(is_right()) << "the parent goes on";
}

}  // namespace
}  // namespace tilewright::testing
