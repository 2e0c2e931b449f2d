// Batched small GEMM on the GPU without a GPU: shapes, the space and its reasons, the cost model, launches,
// and every kind of stencil instance through the run-time compiler, for a new and an older architecture.
#include "kernel/gemm_small.hpp"

#include <gtest/gtest.h>

#include <random>

#if TILEWRIGHT_HAS_GPU
#include "kernel/gpu_gemm_small.hpp"
#endif

namespace tilewright {
namespace {

GpuLimits fictional(int compute_capability) {
  GpuLimits limits;
  limits.name = "fictional";
  limits.compute_capability = compute_capability;
  limits.multiprocessors = 100;
  limits.shared_bytes_per_block = compute_capability >= 90 ? 232448 : 101376;
  limits.shared_bytes_per_multiprocessor = limits.shared_bytes_per_block + 1024;
  limits.shared_bytes_reserved = 1024;
  limits.threads_per_block = 1024;
  limits.threads_per_multiprocessor = 2048;
  limits.registers_per_multiprocessor = 65536;
  return limits;
}

GemmProblem strided(DType dtype, int m, int n, int k) {
  GemmProblem p;
  p.dtype = dtype;
  p.m = m;
  p.n = n;
  p.k = k;
  p.layout = Layout::strided;
  p.batch_count = 1000;
  p.beta = Scalar::one;
  p.location = Location::device;
  return packed(p);
}

TEST(GemmSmall, ShapeKeepsWhatEntersTheCode) {
  GemmProblem p = strided(DType::f64, 5, 13, 23);
  p.op_a = Op::trans;
  p.lda = p.ldb = 0;
  p.stride_a = p.stride_b = 0;
  p = packed(p);
  p.stride_b = 0;
  p.ldc = 7;
  p.stride_c = 7 * 13;
  const GemmSmallShape shape = gemm_small_shape(p);
  EXPECT_TRUE(shape.trans_a && !shape.trans_b && !shape.conj_a && shape.reads_c);
  EXPECT_EQ(shape.step_a, GemmSmallStep::packed);
  EXPECT_EQ(shape.step_b, GemmSmallStep::broadcast);
  EXPECT_EQ(shape.step_c, GemmSmallStep::strided);
  EXPECT_THROW(gemm_small_shape(strided(DType::f64, 65, 2, 2)), Error);
}

TEST(GemmSmall, DefaultAndPromisingConfigsAreLegal) {
  for (const int capability : {75, 80, 90})
    for (const DType dtype : {DType::f32, DType::f64, DType::c64, DType::c128})
      for (const int n : {1, 2, 3, 7, 8, 13, 16, 25, 31, 32, 48, 64}) {
        const GpuLimits limits = fictional(capability);
        const GemmSmallShape shape = gemm_small_shape(strided(dtype, n, n, n));
        const auto space = gemm_small_space(shape, dtype, limits);
        const GemmSmallConfig config = gemm_small_default(shape, dtype, limits);
        for (const auto& reason : space.explain(config))
          ADD_FAILURE() << n << " " << describe(config) << ": " << reason;
        for (const auto& one : gemm_small_promising(shape, dtype, limits, 40))
          EXPECT_TRUE(space.contains(one));
      }
}

TEST(GemmSmall, ConstraintsSayWhy) {
  const GemmSmallShape shape = gemm_small_shape(strided(DType::f64, 8, 8, 8));
  GemmSmallConfig config = gemm_small_default(shape, DType::f64, fictional(90));
  EXPECT_EQ(config.load, GemmSmallLoad::bulk);
  const auto reasons = gemm_small_space(shape, DType::f64, fictional(80)).explain(config);
  ASSERT_FALSE(reasons.empty());
  EXPECT_NE(reasons[0].find("9.0"), std::string::npos) << reasons[0];
  config.stages = 6;
  config.matrices_per_block = 256;
  bool found = false;
  for (const auto& reason : gemm_small_space(shape, DType::f64, fictional(90)).explain(config))
    found = found || reason.find("shared memory") != std::string::npos;
  EXPECT_TRUE(found);
}

TEST(GemmSmall, LaunchCoversTheBatch) {
  const GemmSmallShape shape = gemm_small_shape(strided(DType::f64, 8, 8, 8));
  GemmSmallConfig config = gemm_small_default(shape, DType::f64, fictional(90));
  const auto launch = [&](std::int64_t count) {
    return gemm_small_launch(shape, config, DType::f64, count, fictional(90), 3);
  };
  EXPECT_EQ(launch(1).blocks, 1u);
  EXPECT_EQ(launch(config.matrices_per_block + 1).blocks, 2u);
  EXPECT_EQ(launch(std::int64_t(1) << 40).blocks, 300u);
  EXPECT_EQ(launch(1).shared_bytes, unsigned(gemm_small_memory(shape, config, 8).total_bytes));
  config.persistent = false;
  EXPECT_EQ(launch(std::int64_t(1) << 40).blocks, 2147483647u);
}

TEST(GemmSmall, CostSeesBankConflicts) {
  // The rows of a transposed A with k = 32 all begin in the same bank; with k = 33 they do not.
  GemmSmallConfig config{.matrices_per_block = 1, .threads = 32, .thread_m = 1, .thread_n = 8};
  const auto shared = [&](int k) {
    GemmProblem p = strided(DType::f64, 32, 8, k);
    p.op_a = Op::trans;
    p.lda = p.stride_a = 0;
    return gemm_small_cost(gemm_small_shape(packed(p)), config, DType::f64).shared;
  };
  EXPECT_GT(shared(32), 1.5 * shared(33));
}

#if TILEWRIGHT_HAS_GPU

std::string kernel_sources() { return TILEWRIGHT_TEST_SHARE; }

TEST(GemmSmall, EveryKindOfInstanceCompiles) {
  std::unique_ptr<StencilCompiler> compiler;
  try {
    compiler = std::make_unique<StencilCompiler>(kernel_sources(), "");
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();
  }
  std::mt19937 random(5);
  for (const int capability : {90, 80, 75})
    for (const DType dtype : {DType::f32, DType::f64, DType::c64, DType::c128})
      for (int i = 0; i < 3; ++i) {
        GemmProblem p = strided(dtype, 1 + int(random() % 9), 1 + int(random() % 9), 1 + int(random() % 9));
        p.op_a = static_cast<Op>(random() % 3);
        p.op_b = static_cast<Op>(random() % 3);
        p.beta = static_cast<Scalar>(random() % 3);
        p.lda = p.ldb = p.stride_a = p.stride_b = 0;
        p = packed(p);
        if (i == 1) p.lda += 1;
        if (i == 2) p.stride_b = 0;
        const GemmSmallShape shape = gemm_small_shape(p);
        const auto limits = fictional(capability);
        auto configs = gemm_small_space(shape, dtype, limits).sample(2, random);
        configs.push_back(gemm_small_default(shape, dtype, limits));
        for (const auto& config : configs) {
          const JitBinary binary = compile_gemm_small(*compiler, shape, config, dtype, capability);
          EXPECT_FALSE(binary.code.empty());
          EXPECT_GT(stencil_report(binary.log).registers, 0) << binary.log;
        }
      }
}

TEST(GemmSmall, CompileErrorsNameTheConfig) {
  try {
    const StencilCompiler compiler(kernel_sources(), "");
    const GemmSmallShape shape = gemm_small_shape(strided(DType::f64, 4, 4, 4));
    GemmSmallConfig config = gemm_small_default(shape, DType::f64, fictional(90));
    config.load = GemmSmallLoad::bulk;  // whose instructions this architecture lacks
    compile_gemm_small(compiler, shape, config, DType::f64, 75);
    FAIL() << "compiled";
  } catch (const Error& error) {
    if (error.code() == ErrorCode::unsupported) GTEST_SKIP() << error.what();
    EXPECT_NE(std::string(error.what()).find("matrices_per_block="), std::string::npos) << error.what();
  }
}

TEST(GemmSmall, GpuSaysWhyItIsMissing) {
  std::string reason;
  if (Gpu::count(reason) == 0) {
    EXPECT_FALSE(reason.empty());
    EXPECT_THROW(Gpu(0), Error);
  } else {
    EXPECT_THROW(Gpu(1000), Error);
  }
}

#endif

}  // namespace
}  // namespace tilewright
