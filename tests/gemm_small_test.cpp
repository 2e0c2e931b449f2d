// Batched small GEMM on the GPU without a GPU: shapes, the space and its reasons, the cost model, launches,
// and every kind of stencil instance through the run-time compiler, for a new and an older architecture.
#include "kernel/gemm_small.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#if TILEWRIGHT_HAS_GPU
#include "kernel/gpu_gemm_small.hpp"
#include "kernel/gpu_layout.hpp"
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
  // A gap that shares sectors with the columns is loaded with them; a larger one is not.
  EXPECT_EQ(shape.step_c, GemmSmallStep::packed);
  EXPECT_EQ(shape.ldc, 7);
  p.ldc = 27;
  p.stride_c = 27 * 13;
  EXPECT_EQ(gemm_small_shape(p).step_c, GemmSmallStep::strided);
  EXPECT_THROW(gemm_small_shape(strided(DType::f64, 65, 2, 2)), Error);
}

TEST(GemmSmall, ShapesOfOtherLayouts) {
  GemmProblem p = strided(DType::f64, 5, 4, 3);
  p.layout = Layout::pointer;
  p.lda = 6;
  const GemmSmallShape pointer = gemm_small_shape(p);
  EXPECT_EQ(pointer.step_a, GemmSmallStep::pointer);
  EXPECT_EQ(pointer.lda, 0);
  EXPECT_EQ(pointer.ldb, 3);
  p.layout = Layout::block_interleaved;
  p.block = 8;
  EXPECT_EQ(gemm_small_shape(p).interleave, 8);
  EXPECT_EQ(gemm_small_shape(p).lda, 6);
  p.block = 96;
  EXPECT_EQ(gemm_small_shape(p).step_c, GemmSmallStep::interleaved);
  EXPECT_EQ(gemm_small_shape(p).interleave, 32);
  p.layout = Layout::variable;
  p.block = 0;
  EXPECT_TRUE(gemm_small_shape(p).sizes_vary);
  p = strided(DType::f64, 5, 4, 3);
  p.alpha = Scalar::zero;
  EXPECT_EQ(gemm_small_shape(p).k, 0);
  EXPECT_EQ(gemm_small_shape(p, 16, true).k, 3);
}

TEST(GemmSmall, PlacesCoverMatricesOnce) {
  // Rows and columns of the thread tiles, and elements of interleaved problems, are permutations.
  for (const int tiles : {1, 3, 4})
    for (const int pack : {1, 2, 4}) {
      std::set<int> seen;
      for (int tile = 0; tile < tiles; ++tile)
        for (int i = 0; i < 2 * pack; ++i) seen.insert(gemm_small_round(i, pack, tiles, tile));
      EXPECT_EQ(seen.size(), std::size_t(tiles * 2 * pack));
      EXPECT_EQ(*seen.rbegin(), tiles * 2 * pack - 1);
    }
  for (const int lanes : {1, 3, 4}) {
    std::set<int> places, units;
    for (int q = 0; q < 12; ++q)
      for (int e = 0; e < 5; ++e) places.insert(gemm_small_position(q, e, lanes, 5));
    EXPECT_EQ(places.size(), 60u);
    EXPECT_EQ(*places.rbegin(), 59);
    for (int unit = 0; unit < 60; ++unit) {
      const GemmSmallUnit u = gemm_small_unit(unit, lanes, 5);
      units.insert(u.q * 5 + u.tile);
    }
    EXPECT_EQ(units.size(), 60u);
  }
}

TEST(GemmSmall, FewProblemsGetManyBlocks) {
  const GemmSmallShape shape = gemm_small_shape(strided(DType::f64, 8, 8, 8));
  EXPECT_GT(gemm_small_default(shape, DType::f64, fictional(90)).matrices_per_block, 4);
  EXPECT_LE(gemm_small_default(shape, DType::f64, fictional(90), 100).matrices_per_block, 1);
}

TEST(GemmSmall, DefaultAndPromisingConfigsAreLegal) {
  const auto expect_legal = [](const GemmProblem& p, const GpuLimits& limits, std::size_t count) {
    const GemmSmallShape shape = gemm_small_shape(p);
    const auto space = gemm_small_space(shape, p.dtype, limits);
    const GemmSmallConfig config = gemm_small_default(shape, p.dtype, limits);
    for (const auto& reason : space.explain(config))
      ADD_FAILURE() << to_string(p) << " " << describe(config) << ": " << reason;
    for (const auto& one : gemm_small_promising(shape, p.dtype, limits, count))
      EXPECT_TRUE(space.contains(one));
  };
  for (const int capability : {75, 80, 90})
    for (const DType dtype : {DType::f32, DType::f64, DType::c64, DType::c128})
      for (const int n : {1, 2, 3, 7, 8, 13, 16, 25, 31, 32, 48, 64}) {
        GemmProblem p = strided(dtype, n, n, n);
        expect_legal(p, fictional(capability), 40);
        if (n > 16) continue;
        p.stride_a = p.stride_b = p.stride_c = 0;
        for (const Layout layout : {Layout::pointer, Layout::variable}) {
          p.layout = layout;
          expect_legal(p, fictional(capability), 16);
        }
      }
}

// A bulk copy costs the same for every matrix, so small ones must also be tried by copies of all threads.
TEST(GemmSmall, PointerBatchesAreOfferedEveryWayIn) {
  for (const int n : {4, 7, 16}) {
    GemmProblem p = strided(DType::f32, n, n, n);
    p.layout = Layout::pointer;
    p.stride_a = p.stride_b = p.stride_c = 0;
    std::map<GemmSmallLoad, int> ways;
    for (const auto& c : gemm_small_promising(gemm_small_shape(p), DType::f32, fictional(90), 16))
      ++ways[c.load];
    EXPECT_GE(ways[GemmSmallLoad::async], 4) << n;
    if (n > 4) EXPECT_GE(ways[GemmSmallLoad::bulk], 4) << n;
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

// Bytes of such tiles do not fit the 32 bits that offsets in shared memory have.
TEST(GemmSmall, TilesBeyondAnyMemoryAreRefused) {
  GemmProblem p = strided(DType::c128, 64, 64, 64);
  p.layout = Layout::block_interleaved;
  p.block = 64;
  p.batch_count = 1 << 20;
  const GpuLimits limits = fictional(90);
  const GemmSmallShape shape = gemm_small_shape(p);
  const auto space = gemm_small_space(shape, p.dtype, limits);
  GemmSmallConfig config = gemm_small_default(shape, p.dtype, limits);
  config.load = GemmSmallLoad::async;
  config.stages = 6;
  for (const int count : gemm_small_tile_counts(shape)) {
    config.matrices_per_block = count;
    EXPECT_FALSE(space.contains(config)) << count;
  }
  std::mt19937 random(1);
  for (const GemmSmallConfig& drawn : space.sample(100, random)) {
    EXPECT_EQ(drawn.load, GemmSmallLoad::direct) << describe(drawn);
    const std::int64_t matrix_bytes = 64 * 64 * 16;
    EXPECT_LE(drawn.matrices_per_block * matrix_bytes, std::int64_t(1) << 30) << describe(drawn);
  }
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

constexpr int layouts = 8, scales_by_values = 7;

// A problem of each layout, with what makes it special.
GemmProblem of_layout(int which, DType dtype, std::mt19937& random) {
  const auto size = [&] { return 1 + static_cast<int>(random() % 9); };
  GemmProblem p = strided(dtype, size(), size(), size());
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

TEST(GemmSmall, EveryKindOfInstanceCompiles) {
  std::unique_ptr<StencilCompiler> compiler;
  try {
    compiler = std::make_unique<StencilCompiler>(kernel_sources(), "");
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();
  }
  std::mt19937 random(5);
  constexpr DType dtypes[] = {DType::f32, DType::f64, DType::c64, DType::c128};
  int turn = 0;
  for (const int capability : {90, 80, 75})
    for (int layout = 0; layout < layouts; ++layout) {
      const DType dtype = dtypes[turn++ % 4];
      const GemmProblem p = of_layout(layout, dtype, random);
      const GemmSmallShape shape = gemm_small_shape(p, 16, random() % 3 == 0 || layout == scales_by_values);
      const auto limits = fictional(capability);
      auto configs = gemm_small_space(shape, dtype, limits).sample(1, random);
      configs.push_back(gemm_small_default(shape, dtype, limits));
      for (const auto& config : configs) {
        const JitBinary binary = compile_gemm_small(*compiler, shape, config, dtype, capability);
        EXPECT_FALSE(binary.code.empty());
        EXPECT_GT(stencil_report(binary.log).registers, 0) << binary.log;
      }
    }
}

// A sample of the shipped configs; all of them with TILEWRIGHT_SHIPPED_STRIDE=1.
TEST(GemmSmall, ShippedConfigsDoNotSpill) {
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
    if (record.at("family") != "gemm_small" || number++ % stride != 0) continue;
    const GemmProblem p = packed(parse_problem(record.at("problem")));
    const GemmSmallShape shape = gemm_small_shape(p);
    const auto config = from_json<GemmSmallConfig>(record.at("config"));
    for (const auto& reason : gemm_small_space(shape, p.dtype, fictional(90)).explain(config))
      ADD_FAILURE() << to_string(p) << ": " << reason;
    const JitBinary binary = compile_gemm_small(*compiler, shape, config, p.dtype, 90);
    EXPECT_EQ(stencil_report(binary.log).spill_bytes, 0) << to_string(p) << " " << describe(config);
    ++compiled;
  }
  EXPECT_GT(compiled, 0);
}

TEST(GemmSmall, LayoutConversionsCompile) {
  std::unique_ptr<StencilCompiler> compiler;
  try {
    compiler = std::make_unique<StencilCompiler>(kernel_sources(), "");
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();
  }
  EXPECT_EQ(gpu_layout_piece(4).elements, 4);
  EXPECT_EQ(gpu_layout_piece(1000).elements, 32);
  for (const bool interleaves : {true, false}) {
    const JitBinary binary = compile_gpu_layout(*compiler, interleaves ? DType::c128 : DType::f32,
                                                interleaves, gpu_layout_piece(9), 90);
    EXPECT_EQ(stencil_report(binary.log).spill_bytes, 0);
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
