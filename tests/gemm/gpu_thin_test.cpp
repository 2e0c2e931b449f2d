// Products in device memory with one long side, by gpu_thin: every operation, type, factor and gap, and
// batches.
#include "gemm/plan.hpp"
#include "support/gpu_fixture.hpp"

namespace tilewright::testing {
namespace {

class GpuThin : public GpuTest {
 protected:
  static GemmProblem problem(const std::string& dtype, const std::string& rest, bool batched = false) {
    const char* const kind = batched ? "gemm_batched:" : "gemm:";
    return parse_problem(kind + dtype + ":" + rest + ":location=device");
  }
  // With operands that vectors may be read from, and with others.
  template <class T>
  std::string result(const GemmProblem& p, double alpha, double beta) {
    std::string faults;
    for (const std::int64_t offset : {0, 1}) {
      GemmOptions options = options_;
      options.candidate = "gpu_thin";
      options.align_bytes = offset == 0 ? 0 : int(sizeof(T));
      GpuBatch<T> batch(*gpu_, p, GpuDraw{alpha, beta, offset, 5});
      batch.run(plan(context_, p, options));
      gpu_->synchronize();
      faults += batch.check();
    }
    return faults;
  }
  template <class T>
  void expect_right(const char* dtype) {
    for (const char* ops : {"nn", "nt", "tn", "tt", "cn", "nc"})
      for (const char* sizes : {"m=1000,n=3,k=5", "m=17,n=777,k=8", "m=65,n=1,k=1", "m=2,n=1025,k=64"})
        for (const char* factors : {"", ":beta=one", ":alpha=general:beta=general"}) {
          const bool general = std::string(factors).find("general") != std::string::npos;
          const GemmProblem p = problem(dtype, std::string(ops) + ":" + sizes + factors);
          for (const double beta : {general ? 2.0 : value_of(p.beta), value_of(p.beta)})
            EXPECT_EQ(result<T>(p, general ? 3 : 1, general && beta == value_of(p.beta) ? 0 : beta), "")
                << to_string(p) << " beta = " << beta;
        }
  }
  Context context_{{.use_wisdom = false, .notices = false}};
};

TEST_F(GpuThin, EveryTypeAndOperation) {
  expect_right<double>("f64");
  expect_right<float>("f32");
  expect_right<std::complex<float>>("c64");
  expect_right<std::complex<double>>("c128");
}

TEST_F(GpuThin, GapsAndBatches) {
  for (const char* rest :
       {"nn:m=300,n=6,k=7:strided:batch=3:lda=303:ldb=9:ldc=310:beta=one",
        "tn:m=4,n=500,k=9:strided:batch=2:stride_a=0:ldc=6", "nt:m=3,n=301,k=8:lda=4:ldb=304:strided:batch=3",
        "tn:m=301,n=3,k=8:lda=12:strided:batch=2", "nt:m=130,n=64,k=33:strided:batch=4:stride_b=0"})
    EXPECT_EQ(result<double>(problem("f64", rest, true), 1, value_of(problem("f64", rest, true).beta)), "")
        << rest;
}

// A library that is not measured is not assumed to be faster.
TEST_F(GpuThin, IsTakenForALongSideAndASmallMatrix) {
  for (const char* rest : {"nn:m=100000,n=3,k=3", "nn:m=3,n=100000,k=3", "tn:m=100000,n=16,k=16:beta=one"})
    EXPECT_EQ(Access::impl(plan(context_, problem("f64", rest), options_)).candidate, "gpu_thin") << rest;
  const GemmPlan other = plan(context_, problem("f64", "nn:m=3,n=4,k=100000"), options_);
  EXPECT_NE(Access::impl(other).candidate, "gpu_thin");
}

}  // namespace
}  // namespace tilewright::testing
