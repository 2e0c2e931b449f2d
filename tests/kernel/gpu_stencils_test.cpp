// Compiles every kind of stencil instance with the run-time compiler, without a GPU, for a new and older
// architectures: kernels that the library launches compile, and shipped configs do not spill.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <random>

#include "core/json.hpp"
#include "kernel/factor_gpu/space.hpp"
#include "kernel/factor_gpu_large/loader.hpp"
#include "kernel/gemm_small/gemm_small.hpp"
#include "kernel/gemm_small/loader.hpp"
#include "kernel/layout/loader.hpp"
#include "kernel/lu_panel/lu_panel.hpp"
#include "kernel/lu_rows/loader.hpp"
#include "kernel/scale/loader.hpp"
#include "support/gpu_limits.hpp"
#include "support/gpu_problem.hpp"
#include "support/temp_folder.hpp"

namespace tilewright {
namespace {

std::string kernel_sources() { return TILEWRIGHT_TEST_SHARE; }

constexpr int layout_count = 8, scales_by_values = 7;

// Makes a problem of each layout, with the layout's special features.
GemmProblem of_layout(int which, DType dtype, std::mt19937& random) {
  const auto size = [&] { return 1 + static_cast<int>(random() % 9); };
  GemmProblem p = small_batch(dtype, size(), size(), size());
  p.op_a = static_cast<Op>(random() % 3);
  p.op_b = static_cast<Op>(random() % 3);
  p.beta = static_cast<Scalar>(random() % 3);
  p.lda = p.ldb = p.stride_a = p.stride_b = 0;
  p = packed(p);
  if (which == 1) p.lda += 40;
  if (which == 2) p.stride_b = 0;
  if (which == 3) p.layout = Layout::pointer;
  if (which == 4) p.layout = Layout::variable;
  if (which == 5 || which == 6) p.layout = Layout::block_interleaved;
  if (which == 5) p.block = 4;
  if (which == 6) p.block = 128;
  if (which == scales_by_values) p.k = 0;
  return p;
}

// Compiles for devices that need not be present; skipped without NVRTC.
class GemmSmallInstances : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      compiler = std::make_unique<StencilCompiler>(kernel_sources(), "");
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
  }
  void expect_compiles(const GemmSmallShape& shape, const GemmSmallConfig& config, DType dtype,
                       int capability) {
    for (const auto& reason : gemm_small_space(shape, dtype, fictional_gpu(capability)).explain(config))
      ADD_FAILURE() << describe(config) << ": " << reason;
    const JitBinary binary = compiler->compile(gemm_small_request(shape, config, dtype, capability));
    EXPECT_GT(stencil_report(binary.log).registers, 0) << binary.log;
  }

  std::unique_ptr<StencilCompiler> compiler;
};

TEST_F(GemmSmallInstances, TensorCoresCompile) {
  for (const DType dtype : {DType::f64, DType::c128})
    for (const int capability : {80, 90}) {
      GemmSmallConfig config = gemm_small_default(gemm_small_shape(small_batch(dtype, 20, 12, 7)), dtype,
                                                  fictional_gpu(capability));
      config.matrices_per_block = 2;
      config.threads = 64;
      config.thread_m = config.thread_n = 2;
      config.columns_together = false;
      config.multiply = capability == 90 ? GemmSmallMultiply::mma_16x8x4 : GemmSmallMultiply::mma_8x8x4;
      expect_compiles(gemm_small_shape(small_batch(dtype, 20, 12, 7)), config, dtype, capability);
    }
}

TEST_F(GemmSmallInstances, ReadsThroughTheReadOnlyCacheCompile) {
  for (const DType dtype : {DType::f32, DType::f64, DType::c64, DType::c128})
    for (const int capability : {75, 90}) {
      const GemmSmallShape shape = gemm_small_shape(small_batch(dtype, 7, 8, 6));
      const auto configs =
          gemm_small_promising(shape, dtype, fictional_gpu(capability), 1, 0,
                               [](GemmSmallLoad load) { return load == GemmSmallLoad::read_only; });
      ASSERT_EQ(configs.size(), 1u);
      expect_compiles(shape, configs.front(), dtype, capability);
    }
}

TEST_F(GemmSmallInstances, EveryStepOfVaryingSizesCompiles) {
  GemmProblem p = small_batch(DType::f32, 32, 32, 32);
  p.layout = Layout::variable;
  const GemmSmallShape shape = gemm_small_shape(p, 4);
  for (const int step : {8, 16, 32}) {
    GemmSmallConfig config = gemm_small_default(shape, p.dtype, fictional_gpu(90));
    config.thread_m = 4;
    config.thread_n = 8;
    config.size_step = step;
    config.blocks_per_sm = 0;
    config.load = GemmSmallLoad::async;
    config.stages = 1;
    config.matrices_per_block = 1;
    config.threads = 32;
    expect_compiles(shape, config, p.dtype, 90);
    config.load = GemmSmallLoad::bulk;
    config.persistent = false;
    config.matrices_per_block = 16;
    expect_compiles(shape, config, p.dtype, 90);
  }
}

TEST_F(GemmSmallInstances, TheSmallerStencilsCompile) {
  std::vector<StencilRequest> requests{
      {"kernel/probe/stream.cuh", {"tilewright::gpu_stream_plain<true>"}, "", 75},
      {"kernel/probe/stream.cuh", {"tilewright::gpu_stream_bulk<false, 8192, 3, 128>"}, "", 90},
      {"kernel/probe/multiply.cuh", {"tilewright::gpu_multiply_plain<float, 64>"}, "", 75},
      {"kernel/probe/multiply.cuh", {"tilewright::gpu_multiply_tensor<8, 64>"}, "", 80},
      {"kernel/probe/multiply.cuh", {"tilewright::gpu_multiply_tensor<16, 64>"}, "", 90}};
  for (const DType dtype : {DType::f32, DType::f64, DType::c64, DType::c128})
    for (const bool zero : {false, true})
      requests.push_back(
          gpu_scale_request(gpu_scale_kind(small_batch(dtype, 3, 4, 5), zero), zero ? 75 : 90));
  for (const StencilRequest& request : requests) {
    const JitBinary binary = compiler->compile(request);
    EXPECT_GT(stencil_report(binary.log).registers, 0) << request.expressions.front() << binary.log;
  }
}

// For racecheck nothing behind matrices is read; such kernels and those of other flags are cached separately.
TEST(GemmSmallInstance, FlagsOfTheEnvironmentReachTheCompiler) {
  const TempFolder cache;
  const GemmSmallShape shape = gemm_small_shape(small_batch(DType::f32, 5, 5, 5), 16);
  GemmSmallConfig config = gemm_small_default(shape, DType::f32, fictional_gpu(90));
  config.thread_m = 3;  // two of them lie outside
  std::vector<std::string> codes;
  try {
    for (const char* flags : {"", " -DTILEWRIGHT_READS_INSIDE   -lineinfo ", "", "--no-such-flag"}) {
      setenv("TILEWRIGHT_NVRTC_FLAGS", flags, 1);
      const StencilCompiler compiler(kernel_sources(), cache.path().string());
      unsetenv("TILEWRIGHT_NVRTC_FLAGS");
      codes.push_back(compiler.compile(gemm_small_request(shape, config, DType::f32, 90)).code);
    }
    ADD_FAILURE() << "an unknown flag was not told to the compiler";
  } catch (const Error& error) {
    if (error.code() == ErrorCode::unsupported) GTEST_SKIP() << error.what();
    EXPECT_NE(std::string(error.what()).find("no-such-flag"), std::string::npos) << error.what();
  }
  ASSERT_EQ(codes.size(), 3u);
  EXPECT_NE(codes[0], codes[1]);
  EXPECT_EQ(codes[0], codes[2]);
}

// Compiles two instances of each pair, of different layouts and types if possible.
TEST_F(GemmSmallInstances, EveryWayInWithEveryWayOutCompiles) {
  std::mt19937 random(7);
  constexpr DType dtypes[] = {DType::c128, DType::f32, DType::f64, DType::c64};
  std::map<std::pair<GemmSmallLoad, GemmSmallStore>, int> seen;
  for (int turn = 0; turn < 2 * layout_count; ++turn) {
    const DType dtype = dtypes[turn % 4];
    const GemmSmallShape shape = gemm_small_shape(of_layout(turn % layout_count, dtype, random), 16);
    for (const auto& config : gemm_small_space(shape, dtype, fictional_gpu(90)).sample(12, random))
      if (seen[{config.load, config.store}] <= turn / layout_count) {
        ++seen[{config.load, config.store}];
        expect_compiles(shape, config, dtype, 90);
      }
  }
  EXPECT_GE(seen.size(), 7u);
}

TEST_F(GemmSmallInstances, EveryKindCompiles) {
  std::mt19937 random(5);
  constexpr DType dtypes[] = {DType::f32, DType::f64, DType::c64, DType::c128};
  int turn = 0;
  for (const int capability : {90, 80, 75})
    for (int layout = 0; layout < layout_count; ++layout) {
      const DType dtype = dtypes[turn++ % 4];
      const GemmProblem p = of_layout(layout, dtype, random);
      const GemmSmallShape shape = gemm_small_shape(p, 16, random() % 3 == 0 || layout == scales_by_values);
      const auto limits = fictional_gpu(capability);
      auto configs = gemm_small_space(shape, dtype, limits).sample(1, random);
      configs.push_back(gemm_small_default(shape, dtype, limits));
      for (const auto& config : configs) {
        const JitBinary binary = compiler->compile(gemm_small_request(shape, config, dtype, capability));
        EXPECT_FALSE(binary.code.empty());
        EXPECT_GT(stencil_report(binary.log).registers, 0) << binary.log;
      }
    }
}

// Compiles a sample of the shipped configs; all of them with TILEWRIGHT_SHIPPED_STRIDE=1.
TEST(GemmSmallInstance, ShippedConfigsDoNotSpill) {
  std::unique_ptr<StencilCompiler> compiler;
  try {
    compiler = std::make_unique<StencilCompiler>(kernel_sources(), "");
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();
  }
  const char* asked = std::getenv("TILEWRIGHT_SHIPPED_STRIDE");
  const int stride = asked == nullptr ? 24 : std::max(1, std::atoi(asked));
  std::ifstream file(TILEWRIGHT_TEST_WISDOM "/h200.jsonl");
  ASSERT_TRUE(file.good());
  int number = 0, compiled = 0;
  for (std::string line; std::getline(file, line);) {
    const auto record = nlohmann::json::parse(line);
    if (record.value("family", "") != "gemm_small" || number++ % stride != 0) continue;
    const GemmProblem p = packed(parse_problem(record.at("problem")));
    const bool by_pointer = p.layout == Layout::pointer || p.layout == Layout::variable;
    const GemmSmallShape shape =
        by_pointer ? gemm_small_shape(p) : gemm_small_shape(p, 128);  // the shape of a plan
    const auto config = from_json<GemmSmallConfig>(record.at("config"));
    for (const auto& reason : gemm_small_space(shape, p.dtype, fictional_gpu(90)).explain(config))
      ADD_FAILURE() << to_string(p) << ": " << reason;
    const JitBinary binary = compiler->compile(gemm_small_request(shape, config, p.dtype, 90));
    EXPECT_EQ(stencil_report(binary.log).spill_bytes, 0) << to_string(p) << " " << describe(config);
    ++compiled;
  }
  EXPECT_GT(compiled, 0);
}

TEST(GemmSmallInstance, LayoutConversionsCompile) {
  std::unique_ptr<StencilCompiler> compiler;
  try {
    compiler = std::make_unique<StencilCompiler>(kernel_sources(), "");
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();
  }
  EXPECT_EQ(gpu_layout_piece(4).elements, 4);
  EXPECT_EQ(gpu_layout_piece(1000).elements, 32);
  for (const bool interleaves : {true, false}) {
    const JitBinary binary = compiler->compile(
        gpu_layout_request(interleaves ? DType::c128 : DType::f32, interleaves, gpu_layout_piece(9), 90));
    EXPECT_EQ(stencil_report(binary.log).spill_bytes, 0);
  }
}

TEST(GemmSmallInstance, CompileErrorsNameTheConfig) {
  try {
    const StencilCompiler compiler(kernel_sources(), "");
    const GemmSmallShape shape = gemm_small_shape(small_batch(DType::f64, 4, 4, 4));
    GemmSmallConfig config = gemm_small_default(shape, DType::f64, fictional_gpu(90));
    config.load = GemmSmallLoad::bulk;  // whose instructions this architecture lacks
    compiler.compile(gemm_small_request(shape, config, DType::f64, 75));
    FAIL() << "compiled";
  } catch (const Error& error) {
    if (error.code() == ErrorCode::unsupported) GTEST_SKIP() << error.what();
    EXPECT_NE(std::string(error.what()).find("matrices_per_block="), std::string::npos) << error.what();
  }
}

// Compiles a panel and its helper kernels, for a new architecture and for one without clusters.
TEST(LuStencils, Compile) {
  std::unique_ptr<StencilCompiler> compiler;
  try {
    compiler = std::make_unique<StencilCompiler>(kernel_sources(), "");
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();
  }
  for (const auto& [dtype, capability] : {std::pair(DType::f64, 90), std::pair(DType::c64, 75)}) {
    const GpuLimits gpu = fictional_gpu(capability);
    std::vector<StencilRequest> all{lu_panel_request(dtype, lu_panel_default(3000, dtype, gpu), capability)};
    const auto add = [&](std::vector<StencilRequest> more, std::size_t most) {
      more.resize(std::min(more.size(), most));
      all.insert(all.end(), more.begin(), more.end());
    };
    add(GpuLuRows::requests(dtype, 16, capability), 4);
    all.push_back(GpuLuCloser::request(dtype, 32, capability));
    add(GpuLuSystem::requests(dtype, capability), 3);
    add(GpuLuRefine::requests(dtype, capability), 4);
    EXPECT_EQ(all.size(), 13u);
    for (const StencilRequest& request : all)
      EXPECT_FALSE(compiler->compile(request).code.empty()) << request.expressions.front();
  }
}

// The configs that the cost model chooses are in the space for every routine, order and type, and some of
// their kernels are compiled, also for an architecture without bulk copies.
TEST(FactorGpuStencils, Compile) {
  std::unique_ptr<StencilCompiler> compiler;
  try {
    compiler = std::make_unique<StencilCompiler>(kernel_sources(), "");
  } catch (const Error&) {
    // Spaces need no compiler.
  }
  const GpuLimits limits = fictional_gpu(90);
  for (int routine = 0; routine <= int(Routine::trsm); ++routine)
    for (int type = 0; type < 4; ++type)
      for (int n = 1; n <= factor_gpu_limit; ++n) {
        LaneShape problem;
        problem.routine = static_cast<Routine>(routine), problem.dtype = static_cast<DType>(type);
        problem.m = problem.n = n, problem.nrhs = 1 + n % 32;
        const FactorGpuShape shape = factor_gpu_shape(problem, n % 2 == 0, n % 3 == 0, n % 5 == 0);
        const FactorGpuConfig config = factor_gpu_config(shape, int(size_bytes(problem.dtype)),
                                                         is_complex(problem.dtype), factor_gpu_room(limits));
        for (const auto& reason : factor_gpu_space(shape, problem.dtype, limits).explain(config))
          ADD_FAILURE() << describe(shape) << describe(config) << ": " << reason;
        if (compiler == nullptr || n != 1 + (7 * routine + 5 * type) % 13) continue;
        const auto request = factor_gpu_request(shape, config, problem.dtype, type == 0 ? 80 : 90);
        EXPECT_FALSE(compiler->compile(request).code.empty()) << request.expressions.front();
      }
}

// For every routine, type and a few orders the configs fit, and one of each routine compiles.
TEST(FactorLargeInstances, ConfigsFitAndCompile) {
  std::unique_ptr<StencilCompiler> compiler;
  try {
    compiler = std::make_unique<StencilCompiler>(kernel_sources(), "");
  } catch (const Error&) {
    // Configs need no compiler.
  }
  const GpuLimits limits = fictional_gpu(90);
  const FactorLargeRoom room = factor_large_room(limits);
  const auto compile = [&](const StencilRequest& request) {
    EXPECT_FALSE(compiler->compile(request).code.empty()) << request.expressions.front();
  };
  for (int routine = 0; routine <= int(Routine::trsm); ++routine)
    for (int type = 0; type < 4; ++type)
      for (const int n : {33, 64, 100, 128, 200, 512, 1024}) {
        LaneShape problem;
        problem.routine = static_cast<Routine>(routine), problem.dtype = static_cast<DType>(type);
        problem.m = problem.n = n, problem.nrhs = 1 + n % 40;
        const FactorGpuShape shape =
            factor_large_shape(factor_gpu_shape(problem, n % 2 == 0, n % 3 == 0, n % 5 == 0));
        const int bytes = int(size_bytes(problem.dtype)), capability = type == 0 ? 80 : 90;
        const bool compiles =
            compiler != nullptr && type == routine % 4 && n == (routine / 4 % 2 == 0 ? 64 : 200);
        if (factor_large_factors(shape)) {
          const FactorGpuShape first = factor_large_first(shape);
          const FactorLargeConfig config = factor_large_config(first, n, n, bytes, room);
          ASSERT_GE(config.threads, 2 * config.panel);
          EXPECT_LE(factor_large_memory(first, config, n, n, bytes).total, room.shared_bytes_per_block);
          if (compiles) compile(factor_large_request(first, config, problem.dtype, capability));
        }
        if (!factor_gpu_has_b(shape)) continue;
        const FactorGpuShape second = factor_large_second(shape);
        const FactorLargeSolveConfig config =
            factor_large_solve_config(second, n, int(problem.nrhs), bytes, room);
        ASSERT_GT(config.threads, 0);
        EXPECT_LE(factor_large_solve_memory(config, second.exchanges, n, bytes).total,
                  room.shared_bytes_per_block);
        if (compiles) compile(factor_large_request(second, config, problem.dtype, capability));
      }
}

TEST(GemmSmallInstance, GpuSaysWhyItIsMissing) {
  std::string reason;
  if (Gpu::count(reason) == 0) {
    EXPECT_FALSE(reason.empty());
    EXPECT_THROW(Gpu(0), Error);
  } else {
    EXPECT_THROW(Gpu(1000), Error);
  }
}

}  // namespace
}  // namespace tilewright
