// Large GEMM on the GPU through the public interface, ours and the vendor's library, held against the CPU
// reference byte by byte, and what the two share. TILEWRIGHT_GPU_GRID says how much of the grid runs
// (support/gpu_grid.hpp).
#include <array>
#include <atomic>
#include <thread>

#include "core/dispatch.hpp"
#include "device/gpu/blas.hpp"
#include "device/gpu/gpu.hpp"
#include "fake_cuda/counts.hpp"
#include "gemm/plan.hpp"
#include "kernel/gemm_large/gemm_large.hpp"
#include "support/failures.hpp"
#include "support/gpu_grid.hpp"
#include "support/gpu_large.hpp"

namespace tilewright::testing {
namespace {

using GpuGemmLarge = GpuTest;

std::vector<GemmProblem> large_grid() {
  constexpr std::array dtypes{"f32", "f64", "c64", "c128"};
  constexpr std::array ops{"nn", "nt", "tn", "tt", "cn", "nc", "ct"};
  constexpr std::array sizes{"m=65,n=3,k=7", "m=128,n=128,k=64", "m=131,n=97,k=301", "m=7,n=260,k=66"};
  constexpr std::array scalars{"", ":beta=one", ":alpha=general:beta=general"};
  constexpr std::array pads{0, 3};
  std::vector<GemmProblem> problems;
  for (const auto& row : gpu_grid_rows(
           {int(dtypes.size()), int(ops.size()), int(sizes.size()), int(scalars.size()), int(pads.size())})) {
    const auto level = [&](std::size_t factor) { return static_cast<std::size_t>(row[factor]); };
    auto p = parse_problem(fmt::format("gemm:{}:{}:{}{}:location=device", dtypes[level(0)], ops[level(1)],
                                       sizes[level(2)], scalars[level(3)]));
    const int pad = pads[level(4)];
    p.lda = p.a_rows() + pad, p.ldb = p.b_rows() + pad, p.ldc = p.m + pad;
    problems.push_back(packed(p));
  }
  return problems;
}

TEST_F(GpuGemmLarge, TheGridIsRightWithEitherCandidate) {
  for (const char* candidate : {"gpu_large", "cublas"}) {
    Context context;
    options_.candidate = candidate;
    const std::vector<GemmProblem> problems = large_grid();
    options_.align_bytes = 128;  // of no other address is a kernel needed here
    prepare(context, problems, options_);
    Failures failures;
    for (const GemmProblem& p : problems) {
      const GemmPlan made = plan(context, p, options_);
      for (const double alpha : {value_of(p.alpha), 0.0})
        for (const double beta : {value_of(p.beta), 0.0}) {
          if ((alpha != value_of(p.alpha) && p.alpha != Scalar::general) ||
              (beta != value_of(p.beta) && p.beta != Scalar::general))
            continue;
          failures.note(fmt::format("{} {}", candidate, to_string(p)), run_once(*gpu_, made, {alpha, beta}));
        }
      if (failures.too_many()) break;
    }
    std::printf("%s: %zu problems\n", candidate, failures.case_count());
  }
}

TEST_F(GpuGemmLarge, BatchesAboveTheSmallKernelsLimit) {
  Context context;
  for (const char* text :
       {"gemm_batched:f64:nt:m=70,n=66,k=65:strided:batch=5:beta=one:location=device",
        "gemm_batched:f32:tn:m=129,n=1,k=77:strided:batch=3:stride_a=10001:location=device"})
    for (const char* candidate : {"gpu_large", "cublas"}) {
      options_.candidate = candidate;
      const GemmProblem p = packed(parse_problem(text));
      EXPECT_EQ(run_once(*gpu_, plan(context, p, options_), {1, value_of(p.beta)}), "") << candidate;
    }
}

// Addresses in device memory, of any alignment, with scalars that turn out to be zero.
TEST_F(GpuGemmLarge, PointerBatchesAboveTheSmallKernelsLimit) {
  Context context;
  for (const char* type : {"f32", "f64", "c64", "c128"})
    for (const char* ops : {"nn", "tn", "nt"})
      for (const char* candidate : {"gpu_large", "cublas"}) {
        options_.candidate = candidate;
        const GemmProblem p = packed(parse_problem(
            fmt::format("gemm_batched:{}:{}:m=70,n=66,k=65:pointer:batch=5:alpha=general:beta=general:"
                        "location=device",
                        type, ops)));
        const GemmPlan made = plan(context, p, options_);
        for (const auto& [alpha, beta] : {std::pair(1.5, -0.5), std::pair(1.5, 0.0), std::pair(0.0, -0.5)})
          EXPECT_EQ(run_once(*gpu_, made, {alpha, beta}), "") << candidate << " " << to_string(p);
      }
}

TEST_F(GpuGemmLarge, AddressesOfOneElementsAlignmentServe) {
  Context context;
  options_.align_bytes = 8;
  for (const char* candidate : {"gpu_large", "cublas"}) {
    options_.candidate = candidate;
    EXPECT_EQ(run_once(*gpu_, plan(context, square(), options_), {1, 1, 1}), "") << candidate;
  }
}

// A complex double needs the alignment of a double, where cuBLAS itself wants that of both.
TEST_F(GpuGemmLarge, TheVendorsLibraryTakesScalarsOfAnyAddress) {
  using T = std::complex<double>;
  alignas(16) double room[5] = {0, 2, 0, 0, 1};
  const T values[3] = {T(1, 1), T(3, 0), T(5, 0)};
  GpuBuffer operands(*gpu_, sizeof(values));
  operands.write(values, sizeof(values));
  T* const at = operands.as<T>();
  GpuBlas blas;
  GpuBlas::Batch one;
  one.dtype = DType::c128;
  one.m = one.n = one.k = one.lda = one.ldb = one.ldc = 1;
  one.alpha = room + 1, one.beta = room + 3;
  one.a = at, one.b = at + 1, one.c = at + 2;
  blas.gemm(one);
  gpu_->synchronize();
  T result;
  operands.read(&result, sizeof(T), 2 * sizeof(T));
  EXPECT_EQ(result, T(2) * values[0] * values[1] + T(0, 1) * values[2]);
}

struct Way {
  GemmLargeBoundary boundary;
  GemmLargeContiguous contiguous = GemmLargeContiguous::as_stored;

  bool transposes() const { return contiguous != GemmLargeContiguous::as_stored; }
  std::string name() const { return fmt::format("{}, {}", to_string(boundary), to_string(contiguous)); }
};
constexpr Way ways[] = {{GemmLargeBoundary::none},  // f64 whose columns come by turns
                        {GemmLargeBoundary::residue_kernel},
                        {GemmLargeBoundary::zero_padding},
                        {GemmLargeBoundary::residue_kernel, GemmLargeContiguous::rows},
                        {GemmLargeBoundary::zero_padding, GemmLargeContiguous::rows},
                        {GemmLargeBoundary::zero_padding, GemmLargeContiguous::k},
                        {GemmLargeBoundary::predicate, GemmLargeContiguous::rows},
                        {GemmLargeBoundary::predicate, GemmLargeContiguous::k}};

// Kernels of their own for what tiles leave over, and copies that are padded with zeros or transposed.
class GpuBoundaries : public GpuGemmLarge {
 protected:
  static constexpr std::size_t type_count = 4, op_count = 4;

  // Whether copies that transpose are of use: where an operand lies otherwise, and never to tensor cores.
  static bool is_for(const Way& way, const GemmProblem& p) {
    if (way.boundary == GemmLargeBoundary::none) return p.dtype == DType::f64;
    if (!way.transposes()) return true;
    const bool k_a = p.op_a != Op::none, k_b = p.op_b == Op::none;
    const bool wanted = way.contiguous == GemmLargeContiguous::k;
    return p.dtype != DType::f64 && p.dtype != DType::c128 && (k_a != wanted || k_b != wanted);
  }

  // A config for `p` that meets its edges in that way; "" where there is none.
  std::string config_for(const GemmProblem& p, const Way& way) const {
    const auto [boundary, contiguous] = way;
    const GpuLimits& limits = gpu_->limits();
    const GemmLargeShape s = gemm_large_shape(p, gemm_large_alignment(p, 128));
    const auto space = gemm_large_space(p, s, limits);
    for (GemmLargeConfig c : gemm_large_promising(p, s, limits, 40)) {
      // c128 is always aligned for the copy engine, which then needs no padding.
      const bool pads = boundary == GemmLargeBoundary::zero_padding && p.dtype != DType::c128;
      if (c.load == GemmLargeLoad::tensor && !pads && boundary != GemmLargeBoundary::none) {
        c.load = GemmLargeLoad::async;
        c.load_bytes = static_cast<int>(size_bytes(p.dtype));
        c.slack = 0, c.specialised = false, c.cluster = 1;
      }
      c.boundary = boundary;
      c.contiguous = contiguous;
      c.blocks_per_sm = 1;  // what boundaries add may not fit the registers that two blocks leave
      if (c.load == GemmLargeLoad::tensor && gemm_large_is_mma(c))
        c.layout = boundary == GemmLargeBoundary::none ? GemmLargeLayout::padding : GemmLargeLayout::swizzle;
      if (space.contains(c)) return to_json(c).dump();
      // Operands that run along k are read from swizzled tiles, which none of the promising may have.
      std::tie(c.layout, c.prefetch, c.k_unroll) = std::tuple(GemmLargeLayout::swizzle, false, 0);
      if (contiguous == GemmLargeContiguous::k && space.contains(c)) return to_json(c).dump();
    }
    return "";
  }
  // One with tensor copies of operands that are copied first where they are not aligned, as those of `p`.
  std::string copied_config(const GemmProblem& aligned, const GemmProblem& p, const Way& way) const {
    const GpuLimits& limits = gpu_->limits();
    const auto space = gemm_large_space(p, gemm_large_shape(p), limits);
    for (GemmLargeConfig c : gemm_large_promising(aligned, gemm_large_shape(aligned), limits, 40)) {
      c.boundary = GemmLargeBoundary::zero_padding;
      c.contiguous = way.contiguous;
      if (c.load == GemmLargeLoad::tensor && space.contains(c)) return to_json(c).dump();
    }
    return "";
  }
  // All of them at once, because each is a compilation of seconds. What fails is told by those who ask again.
  void make_ready(Context& context, const Way& way) const {
    const std::vector<GemmProblem> all = problems();
    std::atomic<std::size_t> next = 0;
    const auto work = [&] {
      for (std::size_t i = next++; i < all.size(); i = next++) {
        GemmOptions options = options_;
        options.config = is_for(way, all[i]) ? config_for(all[i], way) : "";
        try {
          if (!options.config.empty()) (void)explain(context, all[i], options);
        } catch (const Error&) {
          // Thrown again where it is a failure of the test and not of a thread.
        }
      }
    };
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < std::thread::hardware_concurrency(); ++i) threads.emplace_back(work);
  }
  std::vector<GemmProblem> problems() const {
    constexpr std::array sizes = {"m=261,n=300,k=137", "m=256,n=256,k=135", "m=257,n=256,k=128"};
    std::vector<GemmProblem> all;
    std::size_t turn = 0;  // of a part each beta, operation and type meets one of the sizes
    for (const char* dtype : {"f32", "f64", "c64", "c128"})
      for (const char* ops : {"nn", "nt", "tn", "ct"}) {
        for (const char* rest : {"", ":beta=one", ":alpha=general:beta=general"}) {
          for (std::size_t i = 0; i < sizes.size(); ++i) {
            if (!is_full_gpu_grid() && i != turn % sizes.size()) continue;
            auto p =
                parse_problem(fmt::format("gemm:{}:{}:{}{}:location=device", dtype, ops, sizes[i], rest));
            // The copy engine finds B aligned where elements have 8 bytes, A where they have 16.
            p.lda = (p.a_rows() + 2) | 1, p.ldb = (p.b_rows() + 3) / 2 * 2, p.ldc = p.m + 3;
            all.push_back(packed(p));
          }
          ++turn;
        }
        ++turn;
      }
    return all;
  }
};

TEST_F(GpuBoundaries, AreRightEachWay) {
  for (const Way& way : ways) {
    const bool by_turns = way.boundary == GemmLargeBoundary::none;
    if (by_turns && gpu_->limits().compute_capability < 90) continue;
    Context context;
    options_.candidate = "gpu_large";
    Failures failures;
    make_ready(context, way);
    for (const GemmProblem& p : problems()) {
      if (!is_for(way, p)) continue;
      options_.config = config_for(p, way);
      ASSERT_NE(options_.config, "") << way.name() << " " << to_string(p);
      const GemmPlan made = plan(context, p, options_);
      for (const double alpha : {value_of(p.alpha), 0.0}) {
        if (alpha != value_of(p.alpha) && p.alpha != Scalar::general) continue;
        failures.note(fmt::format("{} {}", way.name(), to_string(p)),
                      run_once(*gpu_, made, {alpha, value_of(p.beta)}));
      }
      if (failures.too_many()) break;
    }
    // Two types that tensor cores do not multiply, and one pair of operations that needs no copies.
    const std::size_t kinds = by_turns           ? op_count
                              : way.transposes() ? 2 * (op_count - 1)
                                                 : type_count * op_count;
    EXPECT_EQ(failures.case_count(), 4 * kinds * (is_full_gpu_grid() ? 3 : 1)) << way.name();
  }
}

// The copied operands differ from call to call of one code.
TEST_F(GpuBoundaries, OneCodeServesOperandsOfAnyAlignment) {
  Context context;
  options_.candidate = "gpu_large";
  const auto aligned = packed(parse_problem("gemm:f32:ct:m=236,n=56,k=96:location=device"));
  const auto moved = [&](int a, int b) {
    GemmProblem p = aligned;
    p.lda += a, p.ldb += b;
    return p;
  };
  for (const Way& way : ways) {
    if (way.boundary != GemmLargeBoundary::zero_padding) continue;
    options_.config = copied_config(aligned, moved(1, 1), way);
    ASSERT_NE(options_.config, "") << way.name();
    for (const auto& [a, b] : {std::pair(1, 0), std::pair(0, 1), std::pair(1, 1), std::pair(1, 0)}) {
      const GemmProblem p = moved(a, b);
      EXPECT_EQ(run_once(*gpu_, plan(context, p, options_), {1, 0}), "") << way.name() << " " << to_string(p);
    }
  }
}

TEST_F(GpuBoundaries, OfBatchesAndInGraphs) {
  Context context;
  options_.candidate = "gpu_large";
  const GemmProblem p = packed(parse_problem(
      "gemm_batched:f64:nt:m=561,n=190,k=131:strided:batch=3:beta=one:stride_a=73499:location=device"));
  const GpuStream stream(*gpu_);
  for (const Way& way : ways) {
    if (!is_for(way, p)) continue;
    options_.config = config_for(p, way);
    ASSERT_NE(options_.config, "") << way.name();
    const GemmPlan made = plan(context, p, options_);
    GpuBatch<double> batch(*gpu_, p, {1, 1});
    const GpuGraph graph(*gpu_, stream.get(), [&] { batch.run(made, stream.get()); });
    for (int launch = 0; launch < 2; ++launch) {
      batch.reset();
      graph.launch(stream.get());
      stream.synchronize();
      EXPECT_EQ(batch.check(), "") << way.name() << " launch " << launch;
    }
  }
}

TEST_F(GpuGemmLarge, ClustersShareTilesOfA) {
  if (gpu_->limits().compute_capability < 90) GTEST_SKIP() << "clusters need compute capability 9.0";
  Context context;
  options_.candidate = "gpu_large";
  Failures failures;
  for (const char* dtype : {"f32", "f64", "c64", "c128"})
    for (const char* ops : {"nn", "nt", "tn", "tt"}) {
      const GemmProblem p = packed(parse_problem(fmt::format(
          "gemm:{}:{}:m=308,n=580,k=140:alpha=general:beta=general:location=device", dtype, ops)));
      const GemmLargeShape s = gemm_large_shape(p);
      const auto space = gemm_large_space(p, s, gpu_->limits());
      GemmLargeConfig c = gemm_large_default(p, s, gpu_->limits());
      std::tie(c.raster, c.split_k, c.stream_k, c.persistent) = std::tuple(4, 1, 0, false);
      for (const int cluster : {2, 4})
        for (const int schedule : {0, 1, 2, 3}) {
          GemmLargeConfig one = c;
          one.cluster = cluster;
          if (schedule == 1) one.persistent = true;
          if (schedule == 2) one.persistent = true, one.stream_k = 1;
          if (schedule == 3) one.split_k = 3;
          if (!space.contains(one)) continue;
          options_.config = to_json(one).dump();
          try {
            failures.note(fmt::format("{} {} {}", dtype, ops, describe(one)),
                          run_once(*gpu_, plan(context, p, options_), {1.5, -0.5}));
          } catch (const Error& error) {
            if (error.code() != ErrorCode::unsupported) throw;  // the compiler spilled registers
          }
        }
    }
  EXPECT_GT(failures.case_count(), 40u);
}

TEST_F(GpuGemmLarge, IllegalConfigsAreExplained) {
  Context context;
  options_.candidate = "gpu_large";
  const auto expect_refused = [&](const GemmProblem& p, const std::string& config, const char* reason) {
    options_.config = config;
    try {
      plan(context, p, options_);
      FAIL() << config << " was taken";
    } catch (const Error& error) {
      EXPECT_EQ(error.argument(), "config");
      EXPECT_NE(std::string(error.what()).find(reason), std::string::npos) << error.what();
    }
  };
  expect_refused(square(), R"({"tile_m": 100})", "tile_m");
  if (gpu_->limits().compute_capability < 90) return;  // no tensor copies
  auto p = packed(parse_problem("gemm_batched:f32:nt:m=128,n=128,k=128:strided:batch=3:location=device"));
  const std::string config = to_json(gemm_large_default(p, gemm_large_shape(p), gpu_->limits())).dump();
  ++p.stride_a;
  expect_refused(p, config, "strides of batches at multiples of 16 bytes");
}

TEST_F(GpuGemmLarge, TheVendorsLibraryTakesNoConfig) {
  Context context;
  options_.candidate = "cublas";
  options_.config = R"({"tile_m": 64})";
  try {
    plan(context, square(), options_);
    FAIL() << "the config was ignored";
  } catch (const Error& error) {
    EXPECT_EQ(error.argument(), "candidate");
    EXPECT_NE(std::string(error.what()).find("one was given"), std::string::npos) << error.what();
  }
}

TEST_F(GpuGemmLarge, WhatTheVendorsLibraryCannotSayIsServedWithoutIt) {
  Context context;
  const auto candidate = [&](const char* sizes) {
    const auto p = packed(parse_problem(fmt::format("gemm:f32:nn:{}:location=device", sizes)));
    return Access::impl(plan(context, p, options_)).candidate;
  };
  EXPECT_EQ(candidate("m=3000000000,n=2,k=2"), "gpu_thin");
  EXPECT_EQ(candidate("m=2,n=2,k=3000000000"), "gpu_large");
}

TEST_F(GpuGemmLarge, OtherMathIsNoBodys) {
  Context context;
  options_.math_mode = MathMode(77);
  try {
    plan(context, square(), options_);
    ADD_FAILURE() << "it was planned";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_EQ(error.argument(), "math_mode") << error.what();
  }
}

class BrokenVendorsLibrary : public GpuTest {};

TEST_F(BrokenVendorsLibrary, LeavesProductsToOurs) {
  if (ask_fake<fake_cuda::Count>(fake_cuda::count_name) == nullptr) GTEST_SKIP() << "the GPU is no fake one";
  const Variable broken("TILEWRIGHT_FAKE_CUBLAS", "broken");
  Context context;
  const GemmPlan made = plan(context, square(), options_);
  EXPECT_EQ(Access::impl(made).candidate, "gpu_large");
  EXPECT_NE(made.explain().find("cublasCreate failed with status 1"), std::string::npos) << made.explain();
}

}  // namespace
}  // namespace tilewright::testing
