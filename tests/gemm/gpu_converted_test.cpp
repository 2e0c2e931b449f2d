// Interleaved batches of large products on a GPU, which are copied to strided matrices and back: right in
// every type, in whole blocks and in parts of one, piece by piece, in a graph, and explained.
#include "core/dispatch.hpp"
#include "gemm/plan.hpp"
#include "support/failures.hpp"
#include "support/gpu_fixture.hpp"

namespace tilewright::testing {
namespace {

class GpuConverted : public GpuTest {
 protected:
  static GemmProblem problem(const std::string& dtype, const std::string& rest) {
    return packed(parse_problem("gemm_batched:" + dtype + ":" + rest + ":location=device"));
  }
  template <class T>
  std::string run(const GemmProblem& p, const GpuDraw& draw) {
    GemmOptions options = options_;
    options.candidate = "gpu_converted";
    options.align_bytes = draw.offset == 0 ? 0 : int(sizeof(T));
    const GemmPlan made = plan(context_, p, options);
    GpuBatch<T> batch(*gpu_, p, draw);
    batch.run(made);
    gpu_->synchronize();
    return batch.check();
  }
  Context context_{{.use_wisdom = false, .notices = false}};
};

TEST_F(GpuConverted, EveryTypeOperationAndScalar) {
  Failures failures;
  for (const char* rest : {"nn:m=65,n=66,k=67:interleaved:batch=9",
                           "tn:m=70,n=3,k=5:block_interleaved:batch=21:block=8:beta=one",
                           "nt:m=2,n=1,k=90:block_interleaved:batch=3:block=16:alpha=general:beta=general",
                           "cn:m=66,n=70,k=4:interleaved:batch=5:lda=9:ldb=10:ldc=70:beta=general",
                           "nn:m=600,n=2,k=3:interleaved:batch=7:alpha=general:beta=one"})
    for (const DType dtype : {DType::f32, DType::f64, DType::c64, DType::c128}) {
      const GemmProblem p = problem(to_string(dtype), rest);
      if (!is_complex(dtype) && p.op_a == Op::conj_trans) continue;
      dispatch(dtype, [&]<class T>() {
        const double alpha = value_of(p.alpha), beta = value_of(p.beta);
        for (const std::int64_t offset : {0, 1})
          failures.note(fmt::format("{} offset {}", to_string(p), offset),
                        run<T>(p, {alpha, beta, offset, 3}));
        // Zeros that the plan does not know: C, or A and B, hold NaN and are not read.
        if (p.beta == Scalar::general) failures.note(to_string(p) + " beta = 0", run<T>(p, {alpha, 0, 0, 4}));
        if (p.alpha == Scalar::general)
          failures.note(to_string(p) + " alpha = 0", run<T>(p, {0, beta, 0, 5}));
      });
    }
}

// Pieces of 64 MiB: of whole blocks, and of parts of blocks, of which the last one is not full.
TEST_F(GpuConverted, BatchesBeyondTheWorkspaceGoPieceByPiece) {
  for (const auto& [layout, pieces] :
       {std::pair("block_interleaved:batch=150:block=16", "2 pieces of at most 128"),
        {"block_interleaved:batch=141:block=140", "3 pieces of at most 136"}}) {
    const GemmProblem p = problem("c128", fmt::format("nn:m=200,n=2,k=150:{}:beta=one", layout));
    options_.candidate = "gpu_converted";
    const std::string text = plan(context_, p, options_).explain();
    EXPECT_NE(text.find(pieces), std::string::npos) << text;
    EXPECT_EQ(run<std::complex<double>>(p, {1, 1, 0, 7}), "") << layout;
  }
}

TEST_F(GpuConverted, ItsPlanIsCapturedInAGraph) {
  const GemmProblem p = problem("f32", "nt:m=66,n=70,k=90:block_interleaved:batch=20:block=8:beta=one");
  const GemmPlan made = plan(context_, p, options_);
  EXPECT_EQ(made.candidate(), "gpu_converted");
  GpuBatch<float> batch(*gpu_, p, {1, 1});
  const GpuStream stream(*gpu_);
  const GpuGraph graph(*gpu_, stream.get(), [&] { batch.run(made, stream.get()); });
  gpu_->synchronize();
  EXPECT_EQ(batch.check_untouched(), "") << "recording ran it";
  for (int launch = 0; launch < 2; ++launch) {
    batch.reset();
    graph.launch(stream.get());
    stream.synchronize();
    EXPECT_EQ(batch.check(), "") << "launch " << launch;
  }
}

TEST_F(GpuConverted, ItIsExplained) {
  const GemmProblem p = problem("f64", "nn:m=100,n=100,k=100:interleaved:batch=1000");
  const std::string text = plan(context_, p, options_).explain();
  for (const char* part : {"plan       gpu_converted", " to strided matrices and back",
                           "gpu_small: not taken; no usable record in wisdom near this problem, and "
                           "gpu_converted needs none"})
    EXPECT_NE(text.find(part), std::string::npos) << text;
  const std::string small =
      explain(context_, problem("f64", "nn:m=64,n=64,k=64:interleaved:batch=1000"), options_);
  EXPECT_NE(small.find("gpu_converted: not taken; gpu_small reads interleaved matrices of sizes up to 64"),
            std::string::npos)
      << small;
  const std::string flat =
      explain(context_, problem("f64", "nn:m=100,n=2,k=2:interleaved:batch=1000"), options_);
  EXPECT_NE(flat.find("plan       gpu_small"), std::string::npos) << flat;
  EXPECT_NE(flat.find("but gpu_small reads the matrices where they lie in about"), std::string::npos) << flat;
}

TEST_F(GpuConverted, KernelsForInterleavedDataServeWhereTheyAreAskedFor) {
  const GemmProblem p = problem("f64", "nn:m=70,n=5,k=6:interleaved:batch=20");
  options_.candidate = "gpu_small";
  EXPECT_EQ(plan(context_, p, options_).candidate(), "gpu_small");
  EXPECT_EQ(run<double>(p, {1, 0, 0, 2}), "");
  options_.candidate = "gpu_converted";
  options_.config = "{}";
  EXPECT_THROW(plan(context_, p, options_), Error);
}

}  // namespace
}  // namespace tilewright::testing
