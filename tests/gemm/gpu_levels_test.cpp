// Strided batches of several levels in device memory, by every family and by values per problem, and chains,
// which are queued pass by pass.
#include <random>

#include "gemm/plan.hpp"
#include "support/gpu_fixture.hpp"
#include "tilewright/chain.hpp"

namespace tilewright::testing {
namespace {

class GpuLevels : public GpuTest {
 protected:
  static GemmProblem problem(const std::string& dtype, const std::string& rest) {
    return parse_problem("gemm_batched:" + dtype + ":" + rest + ":location=device");
  }
  Context context_{{.use_wisdom = false, .notices = false}};
};

// Of sizes that small kernels take and of others; levels in any order in memory, with and without gaps.
TEST_F(GpuLevels, AreRightWhateverTheirStrides) {
  for (const char* rest :
       {"nn:m=5,n=4,k=3:strided:batch=60:outer=5:outer_a=900:outer_b=700:outer_c=800:beta=one",
        "nt:m=8,n=8,k=8:strided:batch=24:outer=3:outermost=2:stride_a=0:outer_b=0:outermost_b=3000"
        ":outermost_c=2000:outermost_a=70:beta=general",
        "tn:m=4,n=6,k=5:strided:batch=20:outer=10:stride_c=240:outer_c=24:alpha=general",
        "nn:m=4,n=4,k=4:strided:batch=12:outer=4:lda=16:ldc=16:stride_a=4:stride_c=4:outer_a=64:outer_c=64",
        "nn:m=7,n=3,k=6:strided:batch=12:outer=4:outer_c=100:alpha=zero:beta=general",
        "nn:m=70,n=66,k=67:strided:batch=6:outer=3:stride_b=0:outer_b=9000:outer_c=10000:beta=one",
        "tt:m=9,n=80,k=9:strided:batch=6:outer=3:outer_c=2000:outer_a=0"}) {
    const double beta = std::string(rest).find("beta=general") != std::string::npos ? 2 : 1;
    for (const std::int64_t offset : {0, 1}) {
      const auto at = [&](const GemmProblem& p) {
        return GpuDraw{value_of(p.alpha), p.beta == Scalar::general ? beta : value_of(p.beta), offset, 3};
      };
      const GemmProblem real = problem("f64", rest), complex = problem("c64", rest);
      EXPECT_EQ(call<double>(context_, real, at(real)), "") << to_string(real) << " offset " << offset;
      EXPECT_EQ(call<std::complex<float>>(context_, complex, at(complex)), "") << to_string(complex);
    }
  }
}

TEST_F(GpuLevels, EveryFamilyTakesThem) {
  for (const char* candidate : {"gpu_small", "gpu_large", "cublas"}) {
    const GemmProblem p =
        problem("f32", "nn:m=20,n=12,k=16:strided:batch=30:outer=5:outer_c=3000:outer_a=400");
    GemmOptions options = options_;
    options.candidate = candidate;
    GpuBatch<float> batch(*gpu_, p, GpuDraw{1, 0, 0, 5});
    try {
      const GemmPlan made = plan(context_, p, options);
      batch.run(made);
      gpu_->synchronize();
      EXPECT_EQ(batch.check(), "") << candidate;
      EXPECT_NE(made.explain().find("outer=5"), std::string::npos);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::unsupported) << candidate << ": " << error.what();
    }
  }
}

// The level of most problems is one launch; those around and within it are as many launches.
TEST_F(GpuLevels, AreLaunchedByTheLongestLevel) {
  if (!is_fake()) GTEST_SKIP() << "a real driver counts no launches";
  const GemmProblem p = problem("f64", "nn:m=4,n=4,k=4:strided:batch=600:outer=200:outer_c=100");
  GpuBatch<double> batch(*gpu_, p, GpuDraw{1, 0, 0, 7});
  const GemmPlan made = plan(context_, p, options_);
  const long long before = fake_count("launch");
  batch.run(made);
  gpu_->synchronize();
  EXPECT_EQ(fake_count("launch"), before + 3);
  EXPECT_EQ(batch.check(), "");
  EXPECT_NE(made.explain().find("3 launches"), std::string::npos) << made.explain();
}

// Alphas of problems are numbered with the innermost level running fastest, however launches go.
TEST_F(GpuLevels, TakeAValuePerProblem) {
  const GemmProblem p = problem("f64", "nn:m=2,n=2,k=2:strided:batch=21:outer=7:outer_c=40:alpha=general");
  std::vector<double> alphas(21), a(84), b(84), c(7 * 40 + 12, -1), wanted = c;
  for (std::size_t i = 0; i < 84; ++i) a[i] = double(i % 5), b[i] = double(i % 3);
  for (std::size_t i = 0; i < 21; ++i) alphas[i] = double(i) - 3;
  const double zero = 0;
  GemmProblem host = p;
  host.location = Location::host;
  gemm_reference(host, {a.data(), b.data(), wanted.data(), alphas.data(), &zero, 1, 0});
  const auto bytes = [](const std::vector<double>& x) { return x.size() * sizeof(double); };
  GpuBuffer da(*gpu_, bytes(a)), db(*gpu_, bytes(b)), dc(*gpu_, bytes(c)), dalpha(*gpu_, bytes(alphas));
  da.write(a.data(), bytes(a)), db.write(b.data(), bytes(b)), dc.write(c.data(), bytes(c));
  dalpha.write(alphas.data(), bytes(alphas));
  using In = StridedBatch<const double, Location::device>;
  using Values = BatchScalar<double, Location::device>;
  gemm_batched<double>(context_, Op::none, Op::none, Values(dalpha.as<double>()),
                       In{{da.as<double>(), 2, 2, 2}, 4, 3}.repeat(12, 7),
                       In{{db.as<double>(), 2, 2, 2}, 4, 3}.repeat(12, 7), Values(0.0),
                       StridedBatch<double, Location::device>{{dc.as<double>(), 2, 2, 2}, 4, 3}.repeat(40, 7),
                       options_);
  gpu_->synchronize();
  dc.read(c.data(), bytes(c));
  EXPECT_EQ(c, wanted);
}

TEST_F(GpuLevels, BadAddressesAreNamedBeforeAnythingIsQueued) {
  const GemmProblem p = problem("f64", "nn:m=4,n=4,k=4:strided:batch=12:outer=4:outer_c=100");
  GpuBatch<double> batch(*gpu_, p, GpuDraw{1, 0, 1, 7});  // one element off
  GemmOptions options = options_;
  options.align_bytes = 16;
  const GemmPlan made = plan(context_, p, options);
  EXPECT_THROW(batch.run(made), Error);
  options.align_bytes = 12;
  EXPECT_THROW(plan(context_, p, options), Error);
  gpu_->synchronize();
  EXPECT_EQ(batch.check_untouched(), "");
}

class GpuChain : public GpuLevels {};

TEST_F(GpuChain, IsQueuedPassByPass) {
  const GemmPlan one = plan(context_, problem("f64", "nn:m=4,n=4,k=4:strided:batch=30"), options_);
  const GemmPlan two = plan(
      context_, problem("f64", "nn:m=4,n=4,k=4:strided:batch=30:outer=10:stride_b=0:outer_b=0:outer_c=60"),
      options_);
  std::vector<double> a(480), b(480), t(480, -1), c(600, -1);
  for (std::size_t i = 0; i < 480; ++i) a[i] = double(i % 5), b[i] = double(i % 7);
  std::vector<double> wanted_t = t, wanted = c;
  const double x = 1, zero = 0;
  const auto on_host = [](GemmProblem p) {
    p.location = Location::host;
    return p;
  };
  gemm_reference(on_host(one.problem()), {a.data(), b.data(), wanted_t.data(), &x, &zero});
  gemm_reference(on_host(two.problem()), {wanted_t.data(), b.data(), wanted.data(), &x, &zero});
  GpuBuffer da(*gpu_, 480 * 8), db(*gpu_, 480 * 8), dt(*gpu_, 480 * 8), dc(*gpu_, 600 * 8);
  da.write(a.data(), 480 * 8), db.write(b.data(), 480 * 8), dt.write(t.data(), 480 * 8);
  dc.write(c.data(), 600 * 8);
  std::vector<ChainPass<double>> passes{{&one, 1.0, da.as<double>(), db.as<double>(), 0.0, dt.as<double>()},
                                        {&two, 1.0, dt.as<double>(), db.as<double>(), 0.0, dc.as<double>()}};
  const GpuStream stream(*gpu_);
  run_chain<double>(10, passes, {.stream = stream.get()});
  stream.synchronize();
  dc.read(c.data(), 600 * 8);
  EXPECT_EQ(c, wanted);
  EXPECT_NE(explain_chain<double>(10, passes).find("queued one after the other"), std::string::npos);
  passes[0].c = nullptr, passes[1].a = nullptr;
  EXPECT_THROW(run_chain<double>(10, passes), Error);
  passes[0].c = ChainScratch{1};
  try {
    run_chain<double>(10, passes);
    ADD_FAILURE() << "scratch was not refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported);
    EXPECT_EQ(error.argument(), "c") << error.what();
  }
}

}  // namespace
}  // namespace tilewright::testing
