// Batches on the GPU whose problems differ: sizes, pointers, alpha and beta that only the device knows, bad
// problems among good ones, and groups. Held against the CPU reference element by element.
#include <chrono>

#include "core/dispatch.hpp"
#include "device/gpu/gpu.hpp"
#include "gpu_variable_cases.hpp"
#include "support/failures.hpp"
#include "tilewright/tilewright.h"

namespace tilewright::testing {
namespace {

class GpuBatches : public GpuVariable {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    options_.candidate = "gpu_small";
  }
};

TEST_F(GpuBatches, VariableSizes) {
  Failures failures;
  for (const DType dtype : {DType::f32, DType::f64, DType::c64, DType::c128})
    dispatch(dtype, [&]<class T>() {
      std::vector<Call<T>> calls = {
          {Op::none, Op::none, 16, {false, false}, T(1), T(0)},
          {Op::trans, Op::conj_trans, 32, {false, false}, T(2), T(1)},
          {Op::none, Op::trans, 7, {true, true}},
          {Op::conj_trans, Op::none, 16, {true, false}, T(1), T(0)},
          {Op::none, Op::none, 9, {true, false}, T(1), T(-0.75)},
          {Op::trans, Op::none, 16, {false, true}, T(0), T(0)},
          {Op::none, Op::none, 48, {false, false}, T(1), T(-0.5)},
          {Op::none, Op::none, 64, {false, true}, T(-0.5)},
      };
      for (Call<T>& call : calls)
        for (const bool faults : {false, true}) {
          call.faults = faults;
          failures.note(fmt::format("{} {}{} most {} varies {}{} {}", to_string(dtype), to_string(call.op_a),
                                    to_string(call.op_b), call.most, call.varies.alpha, call.varies.beta,
                                    faults ? "with faults" : ""),
                        run_variable(call, call.most > 32 ? 60 : 300));
        }
    });
}

// As many as TILEWRIGHT_GPU_FUZZ says, by TILEWRIGHT_TEST_SEED. Each may need a kernel of its own.
TEST_F(GpuBatches, RandomVariableBatches) {
  const auto clock = std::chrono::steady_clock::now().time_since_epoch().count();
  seed_ = static_cast<std::uint64_t>(number_from("TILEWRIGHT_TEST_SEED", clock));
  std::printf("TILEWRIGHT_TEST_SEED=%llu\n", static_cast<unsigned long long>(seed_));
  Failures failures;
  auto random = source<double>();
  for (std::int64_t i = number_from("TILEWRIGHT_GPU_FUZZ", 30); i > 0 && !failures.too_many(); --i) {
    const auto dtype = DType(random.below(4));
    const auto most = 1 + random.below(random.below(4) == 0 ? 64 : 24),
               count = 1 + random.below(20000 / (most * most) + 2);
    const Op op_a = Op(random.below(3)), op_b = Op(random.below(3));
    const Varies varies{random.below(3) == 0, random.below(3) == 0};
    const bool faults = random.below(2) == 0;
    const double alpha = double(random.below(4)) - 1, beta = double(random.below(4)) - 1;
    const auto what = fmt::format("{} {} {} most {} count {} varies {} {} alpha {} beta {} faults {}",
                                  to_string(dtype), to_string(op_a), to_string(op_b), most, count,
                                  varies.alpha, varies.beta, alpha, beta, faults);
    failures.note(
        what, dispatch(dtype, [&]<class T>() {
          return run_variable<T>({op_a, op_b, most, varies, T(alpha), T(beta), faults && most > 1}, count);
        }));
  }
}

TEST_F(GpuBatches, OneCodeForAll) {
  Call<double> call;
  call.faults = true;
  GpuItems<double> items(*gpu_, source<double>().items(call, 100));
  for (const InfoMode mode : {InfoMode::any, InfoMode::group}) {
    const GpuCodes code(*gpu_, 1);
    gemm_variable<double>(context_, batch_of(items, call), options_, {mode, code.device()});
    gpu_->synchronize();
    EXPECT_LT(code.read()[0], 0);
    EXPECT_EQ(items.check(), "");
  }
  gemm_variable<double>(context_, batch_of(items, call),
                        options_);  // nobody is told, the good ones are right
  gpu_->synchronize();
  EXPECT_EQ(items.check(), "");
}

// Pointers of a batch of one shape: null ones are skipped and reported.
TEST_F(GpuBatches, NullPointers) {
  std::vector<Item<float>> all(90, Item<float>{Op::none, Op::trans, 6, 5, 4, 1, -0.75f, 1.f});
  for (std::size_t q = 0; q < all.size(); q += 4) all[q].fault = ItemFault(1 + q / 4 % 3);
  GpuItems<float> items(*gpu_, all);
  const GpuCodes codes(*gpu_, items.count());
  using View = PointerBatch<const float, Location::device>;
  gemm_batched<float>(context_, Op::none, Op::trans, -0.75f, View{items.a(), 6, 4, 7, 90},
                      View{items.b(), 5, 4, 6, 90}, 1.f,
                      PointerBatch<float, Location::device>{items.c(), 6, 5, 7, 90}, options_,
                      {InfoMode::all, codes.device()});
  gpu_->synchronize();
  EXPECT_EQ(items.check(), "");
  EXPECT_EQ(compare(items, codes.read()), "");
}

TEST_F(GpuBatches, ValuesPerProblem) {
  Failures failures;
  for (const DType dtype : {DType::f32, DType::f64, DType::c64, DType::c128})
    for (const Varies varies : {Varies{true, true}, Varies{true, false}, Varies{false, true}})
      for (const std::int64_t n : {5, 16})
        failures.note(fmt::format("{} n = {} varies {}{}", to_string(dtype), n, varies.alpha, varies.beta),
                      dispatch(dtype, [&]<class T>() {
                        std::vector<Item<T>> all;
                        auto random = source<T>();
                        for (int q = 0; q < 200; ++q) {
                          Item<T> x{Op::none, Op::none, n, n, n, 0};
                          x.alpha = varies.alpha ? random.scalar() : T(-0.75);
                          x.beta = varies.beta ? random.scalar() : T(1);
                          all.push_back(x);
                        }
                        GpuItems<T> items(*gpu_, all, ++seed_);
                        using View = PointerBatch<const T, Location::device>;
                        BatchScalar<T, Location::device> alpha(T(-0.75)), beta(T(1));
                        if (varies.alpha) alpha = BatchScalar<T, Location::device>(items.alphas());
                        if (varies.beta) beta = BatchScalar<T, Location::device>(items.betas());
                        gemm_batched<T>(context_, Op::none, Op::none, alpha, View{items.a(), n, n, n, 200},
                                        View{items.b(), n, n, n, 200}, beta,
                                        PointerBatch<T, Location::device>{items.c(), n, n, n, 200}, options_);
                        gpu_->synchronize();
                        return items.check();
                      }));
}

// The same for matrices at one distance and for interleaved ones, where A and B of a zero alpha are NaN.
TEST_F(GpuBatches, ValuesPerProblemInEveryLayout) {
  Failures failures;
  for (const char* layout : {"strided", "interleaved", "block_interleaved:block=8"})
    for (const char* sizes : {"m=4,n=4,k=4", "m=7,n=5,k=0", "m=9,n=3,k=6"}) {
      const std::string name(layout);
      const std::size_t colon = std::min(name.find(':'), name.size());
      const GemmProblem p = parse_problem(fmt::format(
          "gemm_batched:f64:nt:{}:{}:batch=77{}:alpha=per_problem:beta=per_problem:location=device", sizes,
          name.substr(0, colon), name.substr(colon)));
      GemmOptions options = options_;
      if (p.k == 0) options.candidate.clear();
      const GemmPlan made = plan(context_, p, options);
      GpuBatch<double> batch(*gpu_, with_general_scalars(p), {-0.75, 2, 0, 5});
      GpuItems<double> values(*gpu_, std::vector(77, Item<double>{.alpha = -0.75, .beta = 2}));
      made.run<double>(BatchScalar<double>(values.alphas()), batch.a(), batch.b(),
                       BatchScalar<double>(values.betas()), batch.c());
      gpu_->synchronize();
      failures.note(to_string(p), batch.check());
      GpuBatch<double> none(*gpu_, with_general_scalars(p), {0, 2, 0, 6});
      GpuItems<double> zeros(*gpu_, std::vector(77, Item<double>{.alpha = 0, .beta = 2}));
      made.run<double>(BatchScalar<double>(zeros.alphas()), none.a(), none.b(),
                       BatchScalar<double>(zeros.betas()), none.c());
      gpu_->synchronize();
      failures.note("zero alphas of " + to_string(p), none.check());
    }
}

// Three shapes, the last of them too large for the kernels of small matrices.
std::vector<Item<double>> grouped_items() {
  std::vector<Item<double>> all(20, Item<double>{Op::none, Op::none, 6, 6, 6, 0, 1, 1});
  all.insert(all.end(), 30, Item<double>{Op::trans, Op::none, 3, 9, 5, 2, -0.75, 0});
  all.insert(all.end(), 2, Item<double>{Op::none, Op::trans, 70, 10, 20, 1, 1, 2});
  return all;
}

TEST_F(GpuBatches, Groups) {
  options_.candidate.clear();
  GpuItems<double> items(*gpu_, grouped_items());
  const auto groups = groups_of(items, {20, 30, 2});
  gemm_grouped<double, Location::device>(context_, groups, options_);
  gpu_->synchronize();
  EXPECT_EQ(items.check(), "");
}

TEST_F(GpuBatches, BadGroups) {
  options_.candidate.clear();
  auto all = grouped_items();
  all.resize(50);
  for (std::size_t q = 20; q < 50; ++q) all[q].fault = ItemFault::small_ldb;  // of the whole group
  all[3].fault = ItemFault::null_b;
  GpuItems<double> items(*gpu_, all);
  auto groups = groups_of(items, {20, 30});
  groups[1].ldb = 0;
  try {
    gemm_grouped<double, Location::device>(context_, groups, options_);
    ADD_FAILURE() << "the bad group was not refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.argument(), "ldb");
    EXPECT_NE(std::string(error.what()).find("group 1"), std::string::npos) << error.what();
  }
  gpu_->synchronize();
  EXPECT_EQ(items.check_untouched(), "");
  const GpuCodes codes(*gpu_, items.count()), group_codes(*gpu_, 2);
  gemm_grouped<double, Location::device>(context_, groups, options_, {InfoMode::all, codes.device()});
  gpu_->synchronize();
  EXPECT_EQ(items.check(), "");
  EXPECT_EQ(compare(items, codes.read()), "");
  GpuItems<double> again(*gpu_, all);
  groups = groups_of(again, {20, 30});
  groups[1].ldb = 0;
  gemm_grouped<double, Location::device>(context_, groups, options_, {InfoMode::group, group_codes.device()});
  gpu_->synchronize();
  EXPECT_EQ(group_codes.read(), (std::vector<int>{-9, -10}));
  EXPECT_EQ(again.check(), "");
}

TEST_F(GpuBatches, ReportsThatNoKernelGives) {
  options_.candidate.clear();
  GpuItems<double> items(*gpu_, grouped_items());
  const GpuCodes codes(*gpu_, items.count());
  try {
    gemm_grouped<double, Location::device>(context_, groups_of(items, {20, 30, 2}), options_,
                                           {InfoMode::all, codes.device()});
    ADD_FAILURE() << "bad pointers of large matrices are reported by nobody";
  } catch (const Error& error) {
    EXPECT_EQ(error.argument(), "info") << error.what();
  }
  gpu_->synchronize();
  EXPECT_EQ(items.check_untouched(), "");
}

// The description of a strided batch is the host's to judge; its code goes to the device.
TEST_F(GpuBatches, WhatTheHostFindsIsReportedToo) {
  GemmProblem p = parse_problem("gemm_batched:f64:nn:m=4,n=4,k=4:strided:batch=10:beta=one:location=device");
  GpuBatch<double> batch(*gpu_, p, {1, 1});
  const GpuCodes codes(*gpu_, 10);
  auto a = batch.view_a();
  a.ld = 3;
  gemm_batched<double>(context_, p.op_a, p.op_b, 1.0, a, batch.view_b(), 1.0, batch.view_c(), options_,
                       {InfoMode::all, codes.device()});
  gpu_->synchronize();
  EXPECT_EQ(codes.read(), std::vector<int>(10, -8));
  EXPECT_EQ(batch.check_untouched(), "");
  gemm_batched<double>(context_, p.op_a, p.op_b, 1.0, batch.view_a(), batch.view_b(), 1.0, batch.view_c(),
                       options_, {InfoMode::all, codes.device()});
  gpu_->synchronize();
  EXPECT_EQ(codes.read(), std::vector<int>(10, 0));
  EXPECT_EQ(batch.check(), "");
}

TEST_F(GpuBatches, CapturedInAGraph) {
  Call<double> call;
  call.varies = {true, false};
  call.beta = 0;
  call.faults = true;
  GpuItems<double> items(*gpu_, source<double>().items(call, 100));
  const GpuCodes codes(*gpu_, 100);
  const auto batch = batch_of(items, call);
  const GpuStream stream(*gpu_);
  options_.queue.stream = stream.get();
  gemm_variable<double>(context_, batch, options_, {InfoMode::all, codes.device()});  // makes what it needs
  stream.synchronize();
  GpuItems<double> other(*gpu_, source<double>().items(call, 100));
  const auto others = batch_of(other, call);
  const GpuGraph graph(*gpu_, stream.get(), [&] {
    gemm_variable<double>(context_, others, options_, {InfoMode::all, codes.device()});
  });
  EXPECT_EQ(other.check_untouched(), "") << "recording ran it";
  for (int launch = 0; launch < 2; ++launch) {
    graph.launch(stream.get());
    stream.synchronize();
    EXPECT_EQ(other.check(), "") << launch;
    EXPECT_EQ(compare(other, codes.read()), "") << launch;
  }
}

TEST_F(GpuBatches, PreparedWithoutJit) {
  const TempFolder folder;  // what other tests have compiled is not found
  const std::string before = std::getenv("TILEWRIGHT_CACHE");
  setenv("TILEWRIGHT_CACHE", folder.path().c_str(), 1);
  Context context({.no_jit = true});
  setenv("TILEWRIGHT_CACHE", before.c_str(), 1);
  Call<double> call;
  call.most = 11;
  GpuItems<double> items(*gpu_, source<double>().items(call, 50));
  EXPECT_THROW(gemm_variable<double>(context, batch_of(items, call), options_), Error);
  GemmProblem p = parse_problem("gemm_batched:f64:nn:m=11,n=11,k=11:variable:batch=50:location=device");
  prepare(context, std::span(&p, 1), options_);
  gemm_variable<double>(context, batch_of(items, call), options_);
  gpu_->synchronize();
  EXPECT_EQ(items.check(), "");
}

TEST_F(GpuBatches, Refusals) {
  Call<double> call;
  GpuItems<double> items(*gpu_, source<double>().items(call, 10));
  const auto good = batch_of(items, call);
  const auto refused = [&](const std::string& argument, VariableBatch<double> batch) {
    try {
      gemm_variable<double>(context_, batch, options_);
      ADD_FAILURE() << argument << " was not refused";
    } catch (const Error& error) {
      EXPECT_EQ(error.argument(), argument) << error.what();
    }
  };
  auto x = good;
  x.max_n = -1;
  refused("max_n", x);
  x = good;
  x.max_k = 65;
  refused("candidate", x);
  x = good;
  x.k = nullptr;
  refused("k", x);
  x = good;
  x.c = nullptr;
  refused("c", x);
  x = good;
  x.count = -1;
  refused("count", x);
  options_.checked = true;
  const std::vector<std::int64_t> on_host(10, 4);
  x = good;
  x.ldb = on_host.data();
  refused("ldb", x);
  gpu_->synchronize();
  EXPECT_EQ(items.check_untouched(), "");
  options_.checked = false;
  const GemmPlan made = plan(
      context_, parse_problem("gemm_batched:f64:nn:m=4,n=4,k=4:variable:batch=9:location=device"), options_);
  EXPECT_THROW(made.run<double>(1.0, items.a(), items.b(), 0.0, items.c()), Error);
  EXPECT_THROW(
      made.run<double>(1.0, good.alpha.values, good.alpha.values, 0.0, static_cast<double*>(nullptr)), Error);
}

TEST_F(GpuBatches, TheCInterface) {
  Call<float> call;
  call.varies = {true, false};
  call.beta = -0.5f;
  call.faults = true;
  GpuItems<float> items(*gpu_, source<float>().items(call, 64));
  const auto x = batch_of(items, call);
  const GpuCodes codes(*gpu_, 64);
  tilewright_context* context = nullptr;
  ASSERT_EQ(tilewright_create(nullptr, nullptr, &context), TILEWRIGHT_OK);
  tilewright_options options{};
  options.location = TILEWRIGHT_DEVICE;
  options.device = device_;
  options.alpha_per_problem = 1;
  options.max_m = options.max_n = options.max_k = 16;
  const tilewright_op none = TILEWRIGHT_NONE;
  const auto pointers = [](auto* array) { return reinterpret_cast<const void* const*>(array); };
  EXPECT_EQ(tilewright_gemm_variable_batched(context, TILEWRIGHT_F32, &none, &none, x.m, x.n, x.k,
                                             x.alpha.values, pointers(x.a), x.lda, pointers(x.b), x.ldb,
                                             &call.beta, const_cast<void* const*>(pointers(x.c)), x.ldc,
                                             x.count, &options, TILEWRIGHT_INFO_ALL, codes.device()),
            TILEWRIGHT_OK)
      << tilewright_last_error(context);
  gpu_->synchronize();
  EXPECT_EQ(items.check(), "");
  EXPECT_EQ(compare(items, codes.read()), "");
  tilewright_destroy(context);
}

}  // namespace
}  // namespace tilewright::testing
