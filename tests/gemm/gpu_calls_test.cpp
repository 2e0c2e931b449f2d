// What calls on a GPU promise whatever their kind: they can be captured in a graph, a refused one has written
// nothing, bad pointers are reported also where nothing is multiplied, what was prepared is found.
#include "support/gpu_calls.hpp"

#include <numeric>

#include "core/dispatch.hpp"
#include "device/gpu/copies.hpp"
#include "device/gpu/gpu.hpp"
#include "gemm/plan.hpp"
#include "support/empty_problems.hpp"
#include "support/failures.hpp"
#include "support/gpu_fixture.hpp"

namespace tilewright::testing {
namespace {

class GpuCalls : public GpuTest {
 protected:
  // The Error of a call that must be refused.
  template <class F>
  static std::string refusal(const std::string& argument, F&& f) {
    try {
      f();
    } catch (const Error& error) {
      EXPECT_EQ(error.argument(), argument) << error.what();
      return error.what();
    }
    ADD_FAILURE() << argument << " was not refused";
    return "";
  }
  static bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }

  Context context_{{.notices = false}};
};

TEST_F(GpuCalls, EveryKindCanBeCapturedInAGraph) {
  const GpuStream stream(*gpu_);
  options_.queue.stream = stream.get();
  Failures failures;
  for (const GpuCall& call : every_kind_of_call(*gpu_)) {
    call.run(context_, options_);  // makes what it needs
    stream.synchronize();
    failures.note("the call, " + call.name, call.check());
    call.reset();
    const GpuGraph graph(*gpu_, stream.get(), [&] { call.run(context_, options_); });
    gpu_->synchronize();
    failures.note("recording, " + call.name, call.check_untouched());
    for (int launch = 0; launch < 2; ++launch) {
      call.reset();
      gpu_->synchronize();
      graph.launch(stream.get());
      stream.synchronize();
      failures.note("the graph, " + call.name, call.check());
    }
  }
}

// Plans of every layout and sum without a product: C = beta C, where it has elements.
TEST_F(GpuCalls, NothingToMultiplyIsScaled) {
  options_.align_bytes = int(sizeof(double));
  const auto upload = [&](const auto& data) {
    GpuBuffer buffer(*gpu_, std::max<std::size_t>(1, data.size()) * sizeof(data[0]));
    if (!data.empty()) buffer.write(data.data(), data.size() * sizeof(data[0]));
    return buffer;
  };
  for (const GemmProblem& p : empty_problems(DType::f64, Location::device)) {
    if (p.beta != Scalar::general) continue;
    SCOPED_TRACE(to_string(p));
    EXPECT_NE(explain(context_, p, options_).find("\nplan "), std::string::npos);
    prepare(context_, {&p, 1}, options_);
    const GemmPlan made = plan(context_, p, options_);
    EmptyOperands<double> x(p);
    const GpuBuffer read = upload(x.read), c = upload(x.c);
    auto* const ab = read.as<double>();
    if (p.layout == Layout::pointer) {
      const GpuBuffer abs = upload(x.addresses_of_read(ab)), cs = upload(x.addresses_of_c(c.as<double>()));
      made.run<double>(x.alpha(), abs.as<const double*>(), abs.as<const double*>(), x.beta(),
                       cs.as<double*>());
      gpu_->synchronize();
    } else {
      made.run<double>(x.alpha(), ab, ab, x.beta(), c.as<double>());
    }
    gpu_->synchronize();
    const auto expected = x.expected();
    if (!x.c.empty()) c.read(x.c.data(), x.c.size() * sizeof(double));
    EXPECT_EQ(x.c, expected);
  }
}

TEST_F(GpuCalls, ARefusedGroupLeavesAllGroupsAsTheyWere) {
  const auto items = two_shapes(*gpu_, false, false);
  const std::vector<const double*> on_host(20);
  const GpuCodes codes(*gpu_, 2);
  for (const bool misaligned : {false, true}) {
    options_.checked = !misaligned;
    auto groups = groups_of(*items, {20, 20});
    groups[1].a = on_host.data();
    if (misaligned)
      groups[1].a = reinterpret_cast<const double* const*>(reinterpret_cast<const char*>(items->a(20)) + 4);
    const std::string text = refusal("a", [&] {
      gemm_grouped<double, Location::device>(context_, groups, options_, {InfoMode::group, codes.device()});
    });
    EXPECT_TRUE(contains(text, "group 1 (from problem 20): a = ")) << text;
    EXPECT_FALSE(contains(text, "options.align_bytes")) << text;
    gpu_->synchronize();
    EXPECT_EQ(items->check_untouched(), "");
    EXPECT_EQ(codes.read(), (std::vector<int>{99, 99}));
  }
}

// alpha = 0 and k = 0 read no A and no B, so that only C can be missing.
TEST_F(GpuCalls, NullPointersAreReportedWhereNothingIsMultiplied) {
  Failures failures;
  for (const DType dtype : {DType::f64, DType::c64})
    for (const std::int64_t k : {0, 4})
      for (const double beta : {0.0, 1.0, 2.0})
        dispatch(dtype, [&]<class T>() {
          Item<T> good{Op::none, Op::none, 4, 4, k, 0, T(k == 0 ? 1 : 0), T(beta)};
          std::vector<Item<T>> all(6, good);
          all[1].fault = ItemFault::null_a, all[4].fault = ItemFault::null_c;
          GpuItems<T> items(*gpu_, all);
          const GpuCodes codes(*gpu_, 6);
          gemm_grouped<T, Location::device>(context_, groups_of(items, {6}), options_,
                                            {InfoMode::all, codes.device()});
          gpu_->synchronize();
          const std::string what = fmt::format("{} k = {} beta = {}", to_string(dtype), k, beta);
          const bool right = codes.read() == std::vector<int>{0, 0, 0, 0, -12, 0};
          failures.note(what, right ? "" : "the codes are wrong");
          if (beta == 1.0) failures.note(what, items.check_untouched());
        });
}

TEST_F(GpuCalls, EmptyPointerBatchesHaveNothingToReport) {
  const GpuCodes code(*gpu_, 1);
  using View = PointerBatch<const double, Location::device>;
  gemm_batched<double>(context_, Op::none, Op::none, 1.0, View{nullptr, 70, 70, 70, 0},
                       View{nullptr, 70, 70, 70, 0}, 0.0,
                       PointerBatch<double, Location::device>{nullptr, 70, 70, 70, 0}, options_,
                       {InfoMode::any, code.device()});
  gpu_->synchronize();
  EXPECT_EQ(code.read()[0], 0);
}

// Under no_jit a call is served by whatever there is, and says so; preparing afterwards mends it.
TEST_F(GpuCalls, PreparingReplacesWhatNoJitHadToTake) {
  const TempFolder folder;
  const std::string before = std::getenv("TILEWRIGHT_CACHE");
  setenv("TILEWRIGHT_CACHE", folder.path().c_str(), 1);
  Context context({.no_jit = true});
  setenv("TILEWRIGHT_CACHE", before.c_str(), 1);
  const GemmProblem p = parse_problem("gemm_batched:f64:nn:m=7,n=6,k=5:strided:batch=30:location=device");
  const GemmPlan early = plan(context, p, options_);
  EXPECT_EQ(Access::impl(early).candidate, "cublas");
  ASSERT_FALSE(Access::impl(early).notices.empty());
  EXPECT_TRUE(contains(Access::impl(early).notices.back(), "no_jit forbids"))
      << Access::impl(early).notices.back();
  prepare(context, std::span(&p, 1), options_);
  EXPECT_EQ(Access::impl(plan(context, p, options_)).candidate, "gpu_small");
  EXPECT_EQ(call<double>(context, p, {}), "");
}

// Calls see the alignment of their addresses: kernels for each that they can have are prepared.
TEST_F(GpuCalls, PreparedForEveryAlignment) {
  const TempFolder folder;
  const std::string before = std::getenv("TILEWRIGHT_CACHE");
  setenv("TILEWRIGHT_CACHE", folder.path().c_str(), 1);
  Context context({.no_jit = true});
  setenv("TILEWRIGHT_CACHE", before.c_str(), 1);
  const GemmProblem p = parse_problem("gemm_batched:f32:nn:m=7,n=6,k=5:strided:batch=30:location=device");
  options_.candidate = "gpu_small";
  prepare(context, std::span(&p, 1), options_);
  for (const std::int64_t offset : {0, 4, 1})  // 256, 16 and 4 bytes
    EXPECT_EQ(call<float>(context, p, {.offset = offset}), "") << offset;
}

// Pieces with gaps on both sides: every piece arrives, no gap is written.
TEST_F(GpuCalls, BlocksAreCopiedPieceByPiece) {
  const GpuStream stream(*gpu_);
  const CopiedBlock block{.piece_bytes = 3, .pieces = 4, .device_pitch = 5, .host_pitch = 7};
  std::vector<unsigned char> there(28), back(28, 99);
  std::iota(there.begin(), there.end(), 1);
  GpuBuffer memory(*gpu_, 20);
  memory.fill(0, stream.get());
  queue_to_device(*gpu_, memory.as<void>(), there.data(), block, stream.get());
  queue_to_host(*gpu_, back.data(), memory.as<void>(), block, stream.get());
  stream.synchronize();
  unsigned char packed[20];
  memory.read(packed, sizeof packed);
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t j = 0; j < 7; ++j) {
      EXPECT_EQ(back[7 * i + j], j < 3 ? there[7 * i + j] : 99) << i << "," << j;
      if (j < 5) EXPECT_EQ(packed[5 * i + j], j < 3 ? there[7 * i + j] : 0) << i << "," << j;
    }
}

TEST_F(GpuCalls, MemoryIsRegisteredOnceAtATime) {
  constexpr std::size_t bytes = 1 << 16;
  const std::unique_ptr<void, void (*)(void*)> memory(std::aligned_alloc(4096, bytes), std::free);
  {
    const RegisteredMemory first(*gpu_, memory.get(), bytes);
    EXPECT_THROW(RegisteredMemory(*gpu_, memory.get(), bytes), Error);
  }
  EXPECT_NO_THROW(RegisteredMemory(*gpu_, memory.get(), bytes));
}

TEST_F(GpuCalls, AnotherGpusMemoryIsCopiedWhetherOrNotItIsReached) {
  std::string reason;
  if (Gpu::count(reason) < 2) GTEST_SKIP() << "there is one GPU";
  const Gpu other(gpu_->device() == 0 ? 1 : 0);
  EXPECT_EQ(reach_peer(*gpu_, other), reach_peer(*gpu_, other)) << "asking twice changes nothing";
  const int value = 4711;
  int copied = 0;
  GpuBuffer from(other, sizeof value), to(*gpu_, sizeof value);
  from.write(&value, sizeof value);
  const GpuStream stream(*gpu_);
  queue_from_peer(*gpu_, to.as<void>(), other, from.as<void>(), sizeof value, stream.get());
  stream.synchronize();
  to.read(&copied, sizeof copied);
  EXPECT_EQ(copied, value);
}

}  // namespace
}  // namespace tilewright::testing
