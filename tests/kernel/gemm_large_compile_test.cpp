// Compiles a covering set of instances of large GEMM with the run-time compiler, for new and older
// architectures, and checks its report and the machine code. No GPU is needed.
#if TILEWRIGHT_HAS_GPU
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "kernel/gemm_large/loader.hpp"
#include "kernel/gemm_large_cases.hpp"
#include "ladder.hpp"
#include "sass.hpp"

namespace tilewright {
namespace {

using Config = GemmLargeConfig;
using testing::all_types;
using testing::problem;

struct Instance {
  GemmProblem problem;
  Config config;
  int capability = 0;
};

bool has_disassembler() { return std::system("command -v nvdisasm > /dev/null") == 0; }

// Returns one default for each type and operation pair on the newest architecture, fewer on older ones, and
// configs drawn from the space, so that all values of the axes that change code occur.
std::vector<Instance> covering_instances() {
  std::vector<Instance> all;
  std::mt19937 random(4);
  for (const int capability : {90, 80, 75})
    for (const DType dtype : all_types)
      for (const Op op_a : {Op::none, Op::trans})
        for (const Op op_b : {Op::none, Op::conj_trans}) {
          if (capability < 90 && op_a != op_b) continue;
          const GemmProblem p = problem(dtype, 4096, 4096, 4096, op_a, op_b);
          const GemmLargeShape s = gemm_large_shape(p);
          const auto limits = testing::known_gpu(capability);
          all.push_back({p, gemm_large_default(p, s, limits), capability});
          for (const Config& ahead : gemm_large_promising(p, s, limits, 60))
            if (capability == 90 && op_a == op_b && ahead.prefetch && ahead.load == GemmLargeLoad::tensor) {
              all.push_back({p, ahead, capability});
              break;
            }
          if (capability == 90 && op_a == op_b) {  // splits by panels, or by rows if there are too few panels
            GemmLargeConfig pair = all.back().config;
            pair.cluster = 2;
            if (gemm_large_space(p, s, limits).contains(pair)) all.push_back({p, pair, capability});
          }
          if (capability == 90 &&
              dtype == DType::c128) {  // which needs the most registers: blocks of four warps
            const GemmProblem small = problem(dtype, 1000, 1000, 1000, op_a, op_b);
            all.push_back({small, gemm_large_default(small, s, limits), capability});
          }
          if (op_a != Op::none) continue;
          if (op_b == Op::none) all.push_back({p, gemm_large_defaults(p, s, limits).back(), capability});
          for (auto& config : gemm_large_space(p, s, limits).sample(1, random)) {
            config.tile_k = std::min(config.tile_k, 32);
            if (gemm_large_space(p, s, limits).contains(config)) all.push_back({p, config, capability});
          }
        }
  return all;
}

TEST(GemmLarge, CoveringInstancesCompile) {
  std::unique_ptr<StencilCompiler> compiler;
  try {
    compiler = std::make_unique<StencilCompiler>(TILEWRIGHT_TEST_SHARE, "");
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();
  }
  const bool disassembles = has_disassembler();
  for (const auto& [p, config, capability] : covering_instances()) {
    const GemmLargeShape s = gemm_large_shape(p);
    const JitBinary binary = compiler->compile(gemm_large_request(s, config, p.dtype, capability));
    EXPECT_FALSE(binary.code.empty());
    EXPECT_GT(stencil_report(binary.log).registers, 0) << binary.log;
    if (disassembles) {
      EXPECT_EQ(sass_early_arrivals(disassemble(binary.code, "nvdisasm", true)), 0)
          << capability << " " << to_string(p) << " " << describe(config);
    }
    const auto limits = testing::known_gpu(capability);
    if (config == gemm_large_default(p, s, limits) || config == gemm_large_defaults(p, s, limits).back()) {
      EXPECT_EQ(gemm_large_refusal(binary, config, limits), "")
          << capability << " " << to_string(p) << " " << describe(config);
    }
  }
}

// The first choice serves untuned calls: it may not spill, even when it shares the last wave's tiles.
TEST(GemmLarge, DefaultsOfALastWaveCompile) {
  const StencilCompiler compiler(TILEWRIGHT_TEST_SHARE, "");
  try {
    compiler.nvrtc();
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();
  }
  const GemmLargeDevice limits = testing::known_gpu(90);
  int shared = 0;
  for (const int n : {3000, 4096, 8192})
    for (const Op op_a : {Op::none, Op::trans})
      for (const Op op_b : {Op::none, Op::trans}) {
        const GemmProblem p = problem(DType::f64, n, n, n, op_a, op_b);
        const GemmLargeShape s = gemm_large_shape(p);
        const auto config = gemm_large_default(p, s, limits);
        shared += config.tail_k > 1 ? 1 : 0;
        EXPECT_EQ(
            gemm_large_refusal(compiler.compile(gemm_large_request(s, config, p.dtype, 90)), config, limits),
            "")
            << to_string(p) << " " << describe(config);
      }
  EXPECT_GT(shared, 6);
}

// Each thread reads and writes C 16 bytes at a time: the compiler may split such an access into single
// elements, each of which writes a part of a sector.
TEST(GemmLarge, WideAccessesToCCompile) {
  const StencilCompiler compiler(TILEWRIGHT_TEST_SHARE, "");
  try {
    compiler.nvrtc();
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();
  }
  if (!has_disassembler()) GTEST_SKIP() << "nvdisasm was not found";
  for (const DType dtype : all_types)
    for (const Scalar beta : {Scalar::zero, Scalar::one}) {
      GemmProblem p = problem(dtype, 4096, 4096, 4096, Op::none, Op::trans);
      p.beta = beta;
      const GemmLargeShape s = gemm_large_shape(p);
      const Config c = gemm_large_default(p, s, testing::known_gpu(90));
      const std::string code =
          disassemble(compiler.compile(gemm_large_request(s, c, dtype, 90)).code, "nvdisasm", true);
      const auto count = [&](const std::string& instruction) {
        int found = 0;
        for (std::size_t at = code.find(instruction); at != std::string::npos;
             at = code.find(instruction, at + 1))
          ++found;
        return found;
      };
      const int chunks = c.tile_m * c.tile_n * static_cast<int>(size_bytes(dtype)) / gemm_large_chunk /
                         gemm_large_writers(c);
      EXPECT_GE(count("STG.E.128"), chunks) << to_string(p) << " " << describe(c);
      if (s.reads_c) EXPECT_GE(count("LDG.E.128"), chunks) << to_string(p) << " " << describe(c);
    }
}

// The first choice for problems with values of their own serves at once, though it needs more registers.
TEST(GemmLarge, DefaultsOfVariableBatchesCompile) {
  const StencilCompiler compiler(TILEWRIGHT_TEST_SHARE, "");
  try {
    compiler.nvrtc();
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();
  }
  for (const int capability : {90, 80})
    for (const DType dtype : all_types)
      for (const Op op_a : {Op::none, Op::trans}) {
        GemmProblem p = problem(dtype, 100, 100, 100, op_a, Op::none);
        p.layout = Layout::variable;
        p.beta = Scalar::general;
        p.batch_count = 300;
        const GemmLargeShape s = gemm_large_shape(p);
        const auto limits = testing::known_gpu(capability);
        const Config c = gemm_large_default(p, s, limits);
        EXPECT_EQ(
            gemm_large_refusal(compiler.compile(gemm_large_request(s, c, dtype, capability)), c, limits), "")
            << capability << " " << to_string(p) << " " << describe(c);
      }
}

TEST(GemmLarge, PaddedCopiesCompile) {
  const StencilCompiler compiler(TILEWRIGHT_TEST_SHARE, "");
  try {
    compiler.nvrtc();
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();
  }
  for (const DType dtype : all_types) {
    const GemmProblem p = problem(dtype, 4097, 4100, 4099), aligned = problem(dtype, 4096, 4096, 4096);
    const GemmLargeShape s = gemm_large_shape(p);
    Config c = gemm_large_default(aligned, gemm_large_shape(aligned), testing::known_gpu(90));
    if (dtype == DType::c128)  // always aligned for the copy engine, so only loads by threads need copies
      c = {.tile_m = 64, .tile_n = 64, .tile_k = 8, .warp_n = 16, .load = GemmLargeLoad::async};
    c.boundary = GemmLargeBoundary::zero_padding;
    ASSERT_TRUE(gemm_large_space(p, s, testing::known_gpu(90)).contains(c)) << describe(c);
    EXPECT_EQ(compiler.compile(gemm_large_request(s, c, dtype, 90)).functions.size(), 2u);
  }
}

TEST(GemmLarge, KernelsForTheResidueCompile) {
  const StencilCompiler compiler(TILEWRIGHT_TEST_SHARE, "");
  try {
    compiler.nvrtc();
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();
  }
  const GemmProblem p = problem(DType::f64, 4097, 4100, 4099);
  const GemmLargeShape s = gemm_large_shape(p);
  Config c = gemm_large_default(p, s, testing::known_gpu(80));
  c.boundary = GemmLargeBoundary::residue_kernel;
  ASSERT_TRUE(gemm_large_space(p, s, testing::known_gpu(80)).contains(c)) << describe(c);
  const JitBinary binary = compiler.compile(gemm_large_request(s, c, p.dtype, 80));
  EXPECT_EQ(std::set<std::string>(binary.functions.begin(), binary.functions.end()).size(), 3u);
  for (const std::string& name : binary.functions) EXPECT_NE(binary.code.find(name), std::string::npos);
}

// Tests the chapter's last technique in its own type: configs that the register estimate offers must not
// spill, and configs that do not spill must be offered.
TEST(GemmLarge, SharedPrefetchOfWideTypesCompiles) {
  const StencilCompiler compiler(TILEWRIGHT_TEST_SHARE, "");
  try {
    compiler.nvrtc();
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();
  }
  const GemmLargeDevice limits = testing::known_gpu(90);
  const auto refusal = [&](const GemmProblem& p, const Config& c) {
    return gemm_large_refusal(compiler.compile(gemm_large_request(gemm_large_shape(p), c, p.dtype, 90)), c,
                              limits);
  };
  for (const Op op_b : {Op::none, Op::trans}) {
    const GemmProblem p = problem(DType::f64, 4096, 4096, 4096, Op::none, op_b);
    const GemmLargeShape s = gemm_large_shape(p);
    const auto steps = gemm_large_ladder(p, s, limits);
    const auto step = std::find_if(steps.begin(), steps.end(),
                                   [](const auto& one) { return one.name == "shared prefetch"; });
    ASSERT_NE(step, steps.end()) << to_string(p);
    EXPECT_TRUE(step->config.prefetch);
    EXPECT_EQ(refusal(p, step->config), "") << to_string(p);
  }
  struct Tile {
    int thread_m, thread_n, warp_m, warp_n, edge;
    GemmLargeLoad load;
    bool spills;
  };
  const Tile tiles[] = {{8, 8, 64, 32, 128, GemmLargeLoad::async, false},
                        {16, 4, 64, 32, 128, GemmLargeLoad::async, false},
                        {6, 12, 48, 48, 96, GemmLargeLoad::registers, true}};
  const GemmProblem p = problem(DType::f64, 4608, 4608, 4608);
  const auto space = gemm_large_space(p, gemm_large_shape(p), limits);
  for (const Tile& tile : tiles) {
    const bool async = tile.load == GemmLargeLoad::async;
    Config c{.tile_m = tile.edge,
             .tile_n = tile.edge,
             .tile_k = 8,
             .warp_m = tile.warp_m,
             .warp_n = tile.warp_n,
             .thread_m = tile.thread_m,
             .thread_n = tile.thread_n,
             .product = GemmLargeProduct::fma,
             .k_unroll = 0,
             .load = tile.load,
             .load_bytes = 16,
             .stages = async ? 3 : 2,
             .shared_bytes = 16,
             .layout = GemmLargeLayout::padding,
             .raster = 1,
             .boundary = GemmLargeBoundary::none};
    c.prefetch = true;
    const GemmLargeShape s = gemm_large_shape(p);
    const int needed = gemm_large_needed_registers(c, p.dtype) + gemm_large_held_registers(s, c, p.dtype);
    EXPECT_EQ(needed <= gemm_large_most_registers, !tile.spills) << describe(c);
    if (!tile.spills) EXPECT_TRUE(space.contains(c)) << describe(c);
    EXPECT_EQ(refusal(p, c).empty(), !tile.spills) << describe(c) << refusal(p, c);
  }
}

TEST(GemmLarge, SpilledKernelsAreRefused) {
  JitBinary binary;
  binary.log =
      "ptxas info : 40 bytes stack frame, 24 bytes spill stores, 16 bytes spill loads\nUsed 255 registers";
  GemmLargeConfig config;
  const auto refusal = [&] { return gemm_large_refusal(binary, config, testing::known_gpu(90)); };
  EXPECT_NE(refusal().find("40 bytes are spilled"), std::string::npos);
  binary.log =
      "ptxas info : 0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\nUsed 236 registers";
  EXPECT_EQ(refusal(), "");
  config.blocks_per_sm = 2;
  EXPECT_NE(refusal().find("236 registers of each thread exceed the 128"), std::string::npos) << refusal();
}

}  // namespace
}  // namespace tilewright
#endif
