// Batches on the GPU above the sizes of its small kernels whose problems differ: sizes, pointers, alphas and
// betas that only the device knows, bad problems among good ones, and groups. Held against the CPU reference
// element by element.
#include "core/dispatch.hpp"
#include "gpu_variable_cases.hpp"
#include "support/failures.hpp"

namespace tilewright::testing {
namespace {

using GpuLargeBatches = GpuVariable;

TEST_F(GpuLargeBatches, VariableSizes) {
  Failures failures;
  for (const DType dtype : {DType::f32, DType::f64, DType::c64, DType::c128})
    dispatch(dtype, [&]<class T>() {
      std::vector<Call<T>> calls = {
          {Op::none, Op::none, 65, {false, false}, T(1), T(0)},
          {Op::trans, Op::conj_trans, 100, {false, false}, T(2), T(1)},
          {Op::none, Op::trans, 130, {true, true}},
          {Op::conj_trans, Op::none, 80, {true, false}, T(1), T(-0.75)},
          {Op::trans, Op::none, 70, {false, true}, T(0), T(0)},
      };
      for (Call<T>& call : calls)
        for (const bool faults : {false, true}) {
          call.faults = faults;
          failures.note(fmt::format("{} {}{} most {} varies {}{} {}", to_string(dtype), to_string(call.op_a),
                                    to_string(call.op_b), call.most, call.varies.alpha, call.varies.beta,
                                    faults ? "with faults" : ""),
                        run_variable(call, 30));
        }
    });
}

// One launch, whatever the sizes: by the kernels of large matrices, up to a bound of 512.
TEST_F(GpuLargeBatches, VariableBatchesAreOneLaunch) {
  Call<double> call;
  call.most = 512;
  const std::vector<Item<double>> all = {
      {.m = 512, .n = 3, .k = 2}, {.m = 1, .n = 1, .k = 512}, {.m = 64, .n = 70, .k = 9}, {.m = 0, .n = 5}};
  GpuItems<double> items(*gpu_, all);
  const auto batch = batch_of(items, call);
  gemm_variable<double>(context_, batch, options_);  // makes the kernel
  gpu_->synchronize();
  EXPECT_EQ(items.check(), "");
  items.reset();
  const long long before = is_fake() ? fake_count("launch") : 0;
  gemm_variable<double>(context_, batch, options_);
  if (is_fake()) {
    EXPECT_EQ(fake_count("launch"), before + 1);
  }
  gpu_->synchronize();
  EXPECT_EQ(items.check(), "");
  const GemmProblem p = parse_problem("gemm_batched:f64:nn:m=512,n=9,k=9:variable:batch=4:location=device");
  EXPECT_EQ(plan(context_, p, options_).candidate(), "gpu_large");
}

TEST_F(GpuLargeBatches, BoundsAboveTheLimitAreRefusedWithIt) {
  Call<double> call;
  GpuItems<double> items(*gpu_, source<double>().items(call, 3));
  auto batch = batch_of(items, call);
  batch.max_k = 513;
  try {
    gemm_variable<double>(context_, batch, options_);
    ADD_FAILURE() << "it was not refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported);
    EXPECT_NE(std::string(error.what()).find("size 513 exceeds the limit of 512"), std::string::npos)
        << error.what();
  }
}

TEST_F(GpuLargeBatches, OneCodeForAll) {
  Call<float> call;
  call.most = 90;
  call.faults = true;
  GpuItems<float> items(*gpu_, source<float>().items(call, 40));
  const GpuCodes code(*gpu_, 1);
  gemm_variable<float>(context_, batch_of(items, call), options_, {InfoMode::any, code.device()});
  gpu_->synchronize();
  EXPECT_LT(code.read()[0], 0);
  EXPECT_EQ(items.check(), "");
}

// Of pointers, of which null ones are reported too, and of matrices at one distance.
TEST_F(GpuLargeBatches, ValuesPerProblem) {
  Failures failures;
  constexpr std::int64_t n = 70, count = 12;
  using Scalar = BatchScalar<double, Location::device>;
  using View = PointerBatch<const double, Location::device>;
  for (const Varies varies : {Varies{true, true}, Varies{true, false}, Varies{false, true}}) {
    auto random = source<double>();
    std::vector<Item<double>> all;
    for (int q = 0; q < count; ++q)
      all.push_back({Op::none, Op::trans, n, n, n, 1, varies.alpha ? random.scalar() : -0.75,
                     varies.beta ? random.scalar() : 1});
    all[3].fault = ItemFault::null_c;
    GpuItems<double> items(*gpu_, all, ++seed_);
    const GpuCodes codes(*gpu_, count);
    gemm_batched<double>(context_, Op::none, Op::trans, varies.alpha ? Scalar(items.alphas()) : Scalar(-0.75),
                         View{items.a(), n, n, n + 1, count}, View{items.b(), n, n, n + 1, count},
                         varies.beta ? Scalar(items.betas()) : Scalar(1),
                         PointerBatch<double, Location::device>{items.c(), n, n, n + 1, count}, options_,
                         {InfoMode::all, codes.device()});
    gpu_->synchronize();
    const std::string what = fmt::format("varies {}{}", varies.alpha, varies.beta);
    failures.note(what, items.check());
    failures.note("the codes, " + what, compare(items, codes.read()));
  }
}

TEST_F(GpuLargeBatches, ValuesPerProblemOfStridedBatches) {
  Failures failures;
  for (const char* sizes : {"m=70,n=66,k=80", "m=129,n=7,k=0", "m=9,n=3,k=300"}) {
    const GemmProblem p = parse_problem(fmt::format(
        "gemm_batched:f64:nt:{}:strided:batch=7:alpha=per_problem:beta=per_problem:location=device", sizes));
    const GemmPlan made = plan(context_, p, options_);
    EXPECT_EQ(made.candidate(), "gpu_large");
    for (const double alpha : {-0.75, 0.0}) {
      GpuBatch<double> batch(*gpu_, with_general_scalars(p), {alpha, 2, 0, 5});
      GpuItems<double> values(*gpu_, std::vector(7, Item<double>{.alpha = alpha, .beta = 2}));
      made.run<double>(BatchScalar<double>(values.alphas()), batch.a(), batch.b(),
                       BatchScalar<double>(values.betas()), batch.c());
      gpu_->synchronize();
      failures.note(fmt::format("{} alpha {}", to_string(p), alpha), batch.check());
      EXPECT_THROW(made.run<double>(1.0, batch.a(), batch.b(), 2.0, batch.c()), Error);
    }
  }
}

// In blocks that tiles hold, in larger ones that are cut, and all in one; with sizes that are only scaled.
TEST_F(GpuLargeBatches, InterleavedMatrices) {
  Failures failures;
  for (const char* layout : {"interleaved", "block_interleaved:block=8", "block_interleaved:block=100"})
    for (const char* sizes :
         {"f64:nn:m=70,n=66,k=80", "f32:tn:m=5,n=129,k=7", "c128:nc:m=3,n=4,k=100", "c64:nt:m=65,n=3,k=0"})
      for (const char* alpha : {"general", "per_problem", "zero"}) {
        const std::string name(layout);
        const std::size_t colon = std::min(name.find(':'), name.size());
        const GemmProblem p = parse_problem(fmt::format(
            "gemm_batched:{}:{}:batch=19{}:alpha={}:beta={}:location=device", sizes, name.substr(0, colon),
            name.substr(colon), alpha, std::string(alpha) == "per_problem" ? alpha : "general"));
        const GemmPlan made = plan(context_, p, options_);
        failures.note(to_string(p), dispatch(p.dtype, [&]<class T>() {
                        const bool zero = p.alpha == Scalar::zero, varies = p.alpha == Scalar::per_problem;
                        GpuBatch<T> batch(*gpu_, with_general_scalars(p), {zero ? 0.0 : -0.75, 2, 0, 5});
                        const Item<T> same{.alpha = batch.alpha(), .beta = batch.beta()};
                        GpuItems<T> values(*gpu_, std::vector(19, same));
                        BatchScalar<T> alphas(same.alpha), betas(same.beta);
                        if (varies) alphas = BatchScalar<T>(values.alphas());
                        if (varies) betas = BatchScalar<T>(values.betas());
                        made.run<T>(alphas, batch.a(), batch.b(), betas, batch.c());
                        gpu_->synchronize();
                        return batch.check();
                      }));
      }
  const GemmProblem large = parse_problem(
      "gemm_batched:f64:nn:m=513,n=2,k=2:interleaved:batch=9:alpha=per_problem:location=device");
  try {
    (void)plan(context_, large, options_);
    ADD_FAILURE() << "it was not refused";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("size 513 exceeds the limit of 512"), std::string::npos)
        << error.what();
  }
}

// Each group is one launch of the kernels of its sizes.
TEST_F(GpuLargeBatches, GroupsAreALaunchEach) {
  std::vector<Item<double>> all(4, Item<double>{Op::none, Op::none, 70, 66, 65, 0, 1, 1});
  all.insert(all.end(), 3, Item<double>{Op::trans, Op::none, 130, 9, 100, 2, -0.75, 0});
  all.insert(all.end(), 9, Item<double>{Op::none, Op::trans, 20, 10, 20, 1, 1, 2});
  GpuItems<double> items(*gpu_, all);
  const auto groups = groups_of(items, {4, 3, 9});
  gemm_grouped<double, Location::device>(context_, groups, options_);
  gpu_->synchronize();
  EXPECT_EQ(items.check(), "");
  options_.candidate = "gpu_large";
  Context context({.notices = false});
  for (const bool prepared : {false, true}) {
    items.reset();
    const long long before = is_fake() ? fake_count("launch") : 0;
    gemm_grouped<double, Location::device>(context, std::span(groups).first(2), options_);
    if (is_fake()) {
      EXPECT_EQ(fake_count("launch"), before + 2) << prepared;
    }
    gpu_->synchronize();
  }
}

}  // namespace
}  // namespace tilewright::testing
