// Batched small GEMM on the GPU through the public interface, held against the CPU reference byte by byte:
// the grid of types, operations, sizes, beta, leading dimensions and broadcasts; streams, contexts, graphs;
// what is refused. TILEWRIGHT_GPU_GRID says how much of the grid runs (support/gpu_grid.hpp).
#include <array>
#include <fstream>

#include "core/dispatch.hpp"
#include "device/gpu/gpu.hpp"
#include "gemm/plan.hpp"
#include "kernel/gemm_small/gemm_small.hpp"
#include "support/failures.hpp"
#include "support/gpu_fixture.hpp"
#include "support/gpu_grid.hpp"
#include "support/temp_folder.hpp"
#include "tilewright/tilewright.h"
#include "wisdom/families.hpp"

namespace tilewright::testing {
namespace {

struct Shape {
  std::int64_t m, n, k;
};

GemmProblem strided(DType dtype, Op op_a, Op op_b, const Shape& s, std::int64_t batch_count) {
  GemmProblem p;
  p.dtype = dtype;
  p.op_a = op_a, p.op_b = op_b;
  p.m = s.m, p.n = s.n, p.k = s.k;
  p.layout = Layout::strided;
  p.batch_count = batch_count;
  p.location = Location::device;
  return p;
}

constexpr std::array grid_types{DType::f32, DType::f64, DType::c64, DType::c128};
constexpr std::array grid_ops{Op::none, Op::trans, Op::conj_trans};
constexpr std::array grid_shapes{Shape{1, 1, 1},    Shape{2, 2, 2},    Shape{5, 5, 5},   Shape{8, 8, 8},
                                 Shape{13, 13, 13}, Shape{16, 16, 16}, Shape{5, 13, 23}, Shape{32, 3, 17}};
constexpr std::array grid_betas{Scalar::zero, Scalar::one, Scalar::general};
constexpr std::array grid_pads{0, 3};
constexpr int broadcast_kinds = 4;  // of neither, of A, of B, of both
// `row` has a level of each factor: type, op of A, op of B, shape, beta, padding, broadcast.
GemmProblem grid_problem(const std::vector<int>& row) {
  const auto level = [&](std::size_t factor) { return static_cast<std::size_t>(row[factor]); };
  GemmProblem p =
      strided(grid_types[level(0)], grid_ops[level(1)], grid_ops[level(2)], grid_shapes[level(3)], 37);
  p.beta = grid_betas[level(4)];
  const int pad = grid_pads[level(5)];
  p.lda = p.a_rows() + pad, p.ldb = p.b_rows() + pad, p.ldc = p.m + pad;
  p = packed(p);
  if (row[6] & 1) p.stride_a = 0;
  if (row[6] & 2) p.stride_b = 0;
  return p;
}

std::vector<GemmProblem> grid() {
  std::vector<GemmProblem> all;
  for (const auto& row : gpu_grid_rows({int(grid_types.size()), int(grid_ops.size()), int(grid_ops.size()),
                                        int(grid_shapes.size()), int(grid_betas.size()),
                                        int(grid_pads.size()), broadcast_kinds}))
    all.push_back(grid_problem(row));
  return all;
}

using GpuGemm = GpuTest;

TEST_F(GpuGemm, TheGridIsRight) {
  Context context;
  const std::vector<GemmProblem> problems = grid();
  options_.align_bytes = 128;  // of no other address is a kernel needed here
  prepare(context, problems, options_);
  Failures failures;
  for (const GemmProblem& p : problems) {
    const GpuDraw draw{1, value_of(p.beta), 0, failures.case_count() + 1};
    failures.note(to_string(p), dispatch(p.dtype, [&]<class T>() { return call<T>(context, p, draw); }));
    if (failures.too_many()) break;
  }
  std::printf("%zu problems\n", failures.case_count());
}

TEST_F(GpuGemm, AddressesOfOneElementsAlignmentServe) {
  Context context;
  Failures failures;
  for (const DType dtype : {DType::f32, DType::f64, DType::c64})
    for (const Shape& shape : {Shape{4, 4, 4}, Shape{7, 5, 3}, Shape{16, 16, 16}}) {
      GemmProblem p = packed(strided(dtype, Op::none, Op::none, shape, 50));
      p.beta = Scalar::one;
      failures.note(to_string(p), dispatch(dtype, [&]<class T>() {
                      return call<T>(context, p, {1, 1, 1, 7});
                    }));
    }
}

TEST_F(GpuGemm, PrecisionIsThatOfTheType) {
  Context context;
  Failures failures;
  for (const DType dtype : {DType::f32, DType::f64, DType::c64, DType::c128})
    for (const std::int64_t n : {3, 8, 16, 32}) {
      GemmProblem p = packed(strided(dtype, Op::none, Op::trans, {n, n, n}, 100));
      p.alpha = p.beta = Scalar::general;
      failures.note(to_string(p), dispatch(dtype, [&]<class T>() {
                      return call<T>(context, p, {-0.7, 0.3, 0, 5, true});
                    }));
    }
}

TEST_F(GpuGemm, BatchesOfEveryLengthEndWhereTheyShould) {
  Context context;
  Failures failures;
  for (const std::int64_t count : {1, 2, 3, 31, 32, 33, 127, 1000, 40001})
    for (const std::int64_t n : {2, 5, 8}) {
      GemmProblem p = packed(strided(DType::f32, Op::none, Op::none, {n, n, n}, count));
      p.beta = Scalar::one;
      failures.note(to_string(p), call<float>(context, p, {1, 1, 0, 3}));
    }
}

// alpha = 0 and k = 0 leave beta C; zeros among general values are met without reading what they forbid.
TEST_F(GpuGemm, ZerosReadNothing) {
  Context context;
  Failures failures;
  for (const DType dtype : {DType::f32, DType::f64, DType::c64, DType::c128})
    for (const double beta : {0.0, 1.0, -0.5})
      for (const int pad : {0, 2})
        for (const std::int64_t k : {0, 6}) {
          GemmProblem p = strided(dtype, Op::none, Op::none, {6, 5, k}, 41);
          p.lda = 6 + pad, p.ldb = k + pad + 1, p.ldc = 6 + pad;
          p.alpha = k == 0 ? Scalar::one : Scalar::zero;
          p.beta = beta == 0 ? Scalar::zero : beta == 1 ? Scalar::one : Scalar::general;
          p = packed(p);
          failures.note(to_string(p), dispatch(dtype, [&]<class T>() {
                          return call<T>(context, p, {k == 0 ? 1.0 : 0.0, beta, 0, 9});
                        }));
          p.alpha = p.beta = Scalar::general;  // a plan for any value, run with zeros
          failures.note(to_string(p), dispatch(dtype, [&]<class T>() {
                          const GpuBatch<T> batch(*gpu_, p, {k == 0 ? 1.0 : 0.0, beta, 0, 9});
                          plan(context, p, options_)
                              .run<T>(batch.alpha(), batch.a(), batch.b(), batch.beta(), batch.c());
                          gpu_->synchronize();
                          return batch.check();
                        }));
        }
}

TEST_F(GpuGemm, EmptyBatchesDoNothing) {
  Context context;
  for (const GemmProblem& p : {packed(strided(DType::f64, Op::none, Op::none, {4, 4, 4}, 0)),
                               packed(strided(DType::f64, Op::none, Op::none, {0, 4, 4}, 9))})
    EXPECT_EQ(call<double>(context, p, {}), "") << to_string(p);
}

// Pointers in any order, and blocks of interleaved problems of which the last is not full.
std::vector<GemmProblem> other_layouts() {
  constexpr std::array layouts{"pointer:batch=205", "interleaved:batch=205",
                               "block_interleaved:batch=205:block=8", "block_interleaved:batch=205:block=48"};
  constexpr std::array sizes{"m=4,n=4,k=4", "m=7,n=5,k=9", "m=16,n=16,k=16"};
  constexpr std::array scalars{"", ":beta=one", ":alpha=general:beta=general"};
  constexpr std::array ops{"nn", "tn", "nc"};
  std::vector<GemmProblem> all;
  for (const auto& row : gpu_grid_rows({int(layouts.size()), int(grid_types.size()), int(sizes.size()),
                                        int(scalars.size()), int(ops.size())})) {
    const auto level = [&](std::size_t factor) { return static_cast<std::size_t>(row[factor]); };
    all.push_back(parse_problem(fmt::format("gemm_batched:{}:{}:{}:{}{}:location=device",
                                            to_string(grid_types[level(1)]), ops[level(4)], sizes[level(2)],
                                            layouts[level(0)], scalars[level(3)])));
  }
  return all;
}

TEST_F(GpuGemm, EveryLayoutIsServed) {
  Context context;
  Failures failures;
  const std::vector<GemmProblem> problems = other_layouts();
  prepare(context, problems, options_);
  for (const GemmProblem& p : problems)
    failures.note(to_string(p), dispatch(p.dtype, [&]<class T>() {
                    GpuBatch<T> batch(*gpu_, p, {value_of(p.alpha), value_of(p.beta), 0, 3});
                    const GemmPlan made = plan(context, p, options_);
                    batch.run(made);
                    gpu_->synchronize();
                    if (auto wrong = batch.check(); !wrong.empty() || p.alpha != Scalar::general)
                      return wrong;
                    GpuBatch<T> none(*gpu_, p, {0, value_of(p.beta), 0, 4});  // A and B are NaN
                    none.run(made);
                    gpu_->synchronize();
                    return none.check();
                  }));
}

TEST_F(GpuGemm, SingleMatrices) {
  Context context;
  GemmProblem p = strided(DType::f64, Op::trans, Op::none, {9, 7, 11}, 1);
  p.layout = Layout::single;
  p = packed(p);
  GpuBatch<double> batch(*gpu_, p, {});
  gemm<double>(context, p.op_a, p.op_b, 1.0, {batch.a(), p.a_rows(), p.a_cols(), p.lda},
               {batch.b(), p.b_rows(), p.b_cols(), p.ldb}, 0.0,
               MatrixView<double, Location::device>{batch.c(), p.m, p.n, p.ldc}, options_);
  gpu_->synchronize();
  EXPECT_EQ(batch.check(), "");
}

TEST_F(GpuGemm, StreamsAndContextsWorkSideBySide) {
  GemmProblem p = packed(strided(DType::f64, Op::none, Op::none, {8, 8, 8}, 5000));
  p.beta = Scalar::one;
  std::vector<std::unique_ptr<Context>> contexts;
  std::vector<std::unique_ptr<GpuStream>> streams;
  std::vector<std::unique_ptr<GpuBatch<double>>> batches;
  for (int i = 0; i < 3; ++i) {
    contexts.push_back(std::make_unique<Context>());
    for (int j = 0; j < 2; ++j) {
      streams.push_back(std::make_unique<GpuStream>(*gpu_));
      batches.push_back(std::make_unique<GpuBatch<double>>(*gpu_, p, GpuDraw{1, 1, 0, streams.size()}));
    }
  }
#pragma omp parallel for
  for (std::size_t i = 0; i < batches.size(); ++i) {
    GemmOptions options = options_;
    options.queue.stream = streams[i]->get();
    gemm_batched<double>(*contexts[i / 2], p.op_a, p.op_b, 1.0, batches[i]->view_a(), batches[i]->view_b(),
                         1.0, batches[i]->view_c(), options);
  }
  contexts[0].reset();  // what it queued runs on with kernels that its plans no longer hold
  for (std::size_t i = 0; i < batches.size(); ++i) {
    if (i < 2) gpu_->synchronize();
    streams[i]->synchronize();
    EXPECT_EQ(batches[i]->check(), "") << i;
  }
}

TEST_F(GpuGemm, APlanCanBeCapturedInAGraph) {
  Context context;
  GemmProblem p = packed(strided(DType::f32, Op::none, Op::none, {8, 8, 8}, 300));
  p.alpha = p.beta = Scalar::general;
  const GemmPlan made = plan(context, p, options_);
  GpuBatch<float> batch(*gpu_, p, {-0.75, 0.5});
  const GpuStream stream(*gpu_);
  const GpuGraph graph(*gpu_, stream.get(), [&] {
    made.run<float>(batch.alpha(), batch.a(), batch.b(), batch.beta(), batch.c(), stream.get());
  });
  gpu_->synchronize();
  EXPECT_EQ(batch.check_untouched(), "") << "recording ran it";
  for (int launch = 0; launch < 2; ++launch) {
    batch.reset();
    graph.launch(stream.get());
    stream.synchronize();
    EXPECT_EQ(batch.check(), "") << "launch " << launch;
  }
}

TEST_F(GpuGemm, WithoutJitOnlyPrepareCompiles) {
  options_.candidate = "gpu_small";  // the vendor's library would serve too
  const TempFolder folder;
  const std::string before = std::getenv("TILEWRIGHT_CACHE");
  setenv("TILEWRIGHT_CACHE", folder.path().c_str(), 1);
  GemmProblem p = packed(strided(DType::f64, Op::none, Op::none, {6, 6, 6}, 100));
  {
    Context context({.no_jit = true});
    try {
      call<double>(context, p, {});
      ADD_FAILURE() << "a kernel was compiled in a call";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::unsupported);
      EXPECT_NE(std::string(error.what()).find("no_jit"), std::string::npos) << error.what();
    }
    prepare(context, std::span(&p, 1), options_);
    EXPECT_EQ(call<double>(context, p, {}), "");
  }
  Context other({.no_jit = true});  // finds on the disk what was compiled
  EXPECT_EQ(call<double>(other, p, {}), "");
  setenv("TILEWRIGHT_CACHE", before.c_str(), 1);
}

// With the records that ship: of a batch that none is of, the config of a near one or, where that is expected
// to be slower, the default. What a record gained may outweigh a forecast that is nearly as good.
TEST_F(GpuGemm, NoBorrowedConfigIsExpectedToBeSlower) {
  Context context;
  const GpuLimits& limits = gpu_->limits();
  options_.align_bytes = 16;
  std::size_t passed = 0;
  for (const DType dtype : {DType::f32, DType::f64})
    for (const char* rest : {"nn:m={0},n={0},k={0}", "tn:m={0},n={0},k={0}:beta=one", "nn:m={0},n=9,k=20"})
      for (int n = 10; n < 64; n += 9) {
        const auto p =
            packed(parse_problem(fmt::format("gemm_batched:{}:{}:strided:batch=100000:location=device",
                                             to_string(dtype), fmt::format(fmt::runtime(rest), n))));
        const GemmPlan made = plan(context, p, options_);
        ASSERT_EQ(Access::impl(made).candidate, "gpu_small") << made.explain();
        const auto shape = gemm_small_shape(p);
        const auto forecast = [&](const GemmSmallConfig& c) {
          return gemm_small_forecast(shape, c, dtype, limits, gemm_small_cost(shape, c, dtype),
                                     p.batch_count);
        };
        const auto taken = from_json<GemmSmallConfig>(Access::impl(made).runner->config());
        const auto rule = gemm_small_default(shape, dtype, limits, p.batch_count);
        const WisdomMatch match = Access::impl(made).known.match;
        if (match == WisdomMatch::near_shape || match == WisdomMatch::near_device)
          EXPECT_GE(forecast(taken), 0.9 * forecast(rule)) << made.explain();
        if (made.explain().find("is expected to take") != std::string::npos) ++passed;
      }
  EXPECT_GT(passed, 0u) << "no record was near enough to be judged";
}

class GpuRefuses : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped()) return;
    problem_.beta = Scalar::one;
    batch_ = std::make_unique<GpuBatch<double>>(*gpu_, problem_, GpuDraw{1, 1});
  }
  // Runs it; the message must name `argument` and C must be untouched.
  template <class F>
  std::string refused(ErrorCode code, const std::string& argument, F&& f) {
    std::string message = "nothing was thrown";
    try {
      f();
      ADD_FAILURE() << argument << " was not refused";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code) << error.what();
      EXPECT_EQ(error.argument(), argument) << error.what();
      message = error.what();
    }
    gpu_->synchronize();
    EXPECT_EQ(batch_->check_untouched(), "");
    return message;
  }
  void run(StridedBatch<const double, Location::device> a, StridedBatch<double, Location::device> c) {
    gemm_batched<double>(context_, Op::none, Op::none, 1.0, a, batch_->view_b(), 1.0, c, options_);
  }

  Context context_;
  GemmProblem problem_ = packed(strided(DType::f64, Op::none, Op::none, {4, 4, 4}, 50));
  std::unique_ptr<GpuBatch<double>> batch_;
};

TEST_F(GpuRefuses, WhatTheHostCanSee) {
  auto a = batch_->view_a();
  const auto c = batch_->view_c();
  a.data = nullptr;
  refused(ErrorCode::invalid_argument, "a", [&] { run(a, c); });
  a = batch_->view_a();
  a.rows = 5;
  refused(ErrorCode::invalid_argument, "a", [&] { run(a, c); });
  a = batch_->view_a();
  a.ld = 3;
  refused(ErrorCode::invalid_argument, "lda", [&] { run(a, c); });
  a = batch_->view_a();
  a.data = reinterpret_cast<const double*>(reinterpret_cast<const char*>(a.data) + 4);
  refused(ErrorCode::invalid_argument, "a", [&] { run(a, c); });
  auto wide = c;
  wide.stride = 15;
  refused(ErrorCode::invalid_argument, "stride_c", [&] { run(batch_->view_a(), wide); });
  a = batch_->view_a();
  a.data = c.data + 16;
  refused(ErrorCode::invalid_argument, "c", [&] { run(a, c); });
}

TEST_F(GpuRefuses, PlansMissUsed) {
  const GemmPlan made = plan(context_, problem_, options_);
  const auto message = refused(ErrorCode::invalid_argument, "b", [&] {
    made.run<double>(1.0, batch_->a(), batch_->b() + 1, 1.0, batch_->c());
  });
  EXPECT_NE(message.find("align_bytes"), std::string::npos) << message;
  const GpuBuffer values(*gpu_, 50 * sizeof(double));
  refused(ErrorCode::invalid_argument, "alpha", [&] {
    made.run<double>(BatchScalar<double>(values.as<double>()), batch_->a(), batch_->b(), 1.0, batch_->c());
  });
  refused(ErrorCode::invalid_argument, "beta",
          [&] { made.run<double>(1.0, batch_->a(), batch_->b(), 0.0, batch_->c()); });
  refused(ErrorCode::invalid_argument, "c",
          [&] { made.run<double>(1.0, batch_->a(), batch_->b(), 1.0, static_cast<double*>(nullptr)); });
}

TEST_F(GpuRefuses, HostMemoryInCheckedMode) {
  options_.checked = true;
  std::vector<double> host(std::size_t(50) * 16 + 1);
  auto a = batch_->view_a();
  a.data = host.data();
  const auto message = refused(ErrorCode::invalid_argument, "a", [&] { run(a, batch_->view_c()); });
  EXPECT_NE(message.find("not GPU memory"), std::string::npos) << message;
  a = batch_->view_a();
  a.count = 50;
  EXPECT_NO_THROW(run(a, batch_->view_c()));
  gpu_->synchronize();
  EXPECT_EQ(batch_->check(), "");
}

TEST_F(GpuRefuses, DevicesAndLayoutsThatAreNotThere) {
  options_.queue.device = 1000;
  refused(ErrorCode::invalid_argument, "device", [&] { run(batch_->view_a(), batch_->view_c()); });
  options_.queue.device = device_;
  options_.target = Target::cpu;
  const auto message =
      refused(ErrorCode::unsupported, "problem", [&] { run(batch_->view_a(), batch_->view_c()); });
  EXPECT_NE(message.find("target = cpu"), std::string::npos) << message;
  options_.target = Target::gpu;
  EXPECT_NO_THROW(run(batch_->view_a(), batch_->view_c()));
}

TEST_F(GpuGemm, TheCInterface) {
  GemmProblem p = packed(strided(DType::c64, Op::conj_trans, Op::none, {5, 6, 7}, 60));
  p.beta = Scalar::general;
  GpuBatch<std::complex<float>> batch(*gpu_, p, {1, 0.5});
  tilewright_context_options context_options{};
  context_options.no_wisdom = context_options.no_jit = 1;
  tilewright_context* context = nullptr;
  ASSERT_EQ(tilewright_create_with(&context_options, &context), TILEWRIGHT_OK);
  const GpuStream stream(*gpu_);
  tilewright_options options{};
  options.device = device_;
  const std::string text = to_string(p);
  const char* problems[] = {text.c_str()};
  ASSERT_EQ(tilewright_prepare(context, problems, 1, &options), TILEWRIGHT_OK)
      << tilewright_last_error(context);
  tilewright_plan* made = nullptr;
  ASSERT_EQ(tilewright_plan_create(context, text.c_str(), &options, &made), TILEWRIGHT_OK)
      << tilewright_last_error(context);
  EXPECT_EQ(tilewright_plan_run_on(made, &batch.alpha(), batch.a(), batch.b(), &batch.beta(), batch.c(),
                                   stream.get()),
            TILEWRIGHT_OK)
      << tilewright_plan_last_error(made);
  stream.synchronize();
  EXPECT_EQ(batch.check(), "");
  tilewright_plan_destroy(made);
  batch.reset();
  gpu_->synchronize();
  options.location = TILEWRIGHT_DEVICE;
  options.stream = stream.get();
  EXPECT_EQ(tilewright_gemm_strided_batched(
                context, TILEWRIGHT_C64, TILEWRIGHT_CONJ_TRANS, TILEWRIGHT_NONE, p.m, p.n, p.k,
                &batch.alpha(), batch.a(), p.lda, p.stride_a, batch.b(), p.ldb, p.stride_b, &batch.beta(),
                batch.c(), p.ldc, p.stride_c, p.batch_count, &options, TILEWRIGHT_INFO_NONE, nullptr),
            TILEWRIGHT_OK)
      << tilewright_last_error(context);
  stream.synchronize();
  EXPECT_EQ(batch.check(), "");
  tilewright_destroy(context);
}

TEST_F(GpuGemm, RecordsOfFullBatchesDoNotServeAFewProblems) {
  GemmProblem many = packed(strided(DType::f64, Op::none, Op::none, {8, 8, 8}, 1000000));
  many.residency = Residency::cold;
  many.lda = 9;  // no shipped record serves
  const TempFolder folder;
  const auto path = folder / "wisdom.jsonl";
  const auto config = gemm_small_default(gemm_small_shape(many, 128), many.dtype, gpu_->limits());
  std::ofstream(path) << nlohmann::json{{"family", "gemm_small"},
                                        {"problem", to_string(many)},
                                        {"config", to_json(config)},
                                        {"device", gpu_->limits().name},
                                        {"source_hash", current_source_hash("gemm_small")},
                                        {"compiler", "13.0"},
                                        {"seconds", 1e-3},
                                        {"seconds_low", 1e-3},
                                        {"seconds_high", 1e-3},
                                        {"samples", 9},
                                        {"time", "2026-11-21T00:00:00Z"},
                                        {"verdict", "passed"}}
                             .dump()
                      << '\n';
  Context context({.wisdom = path});
  const auto chosen = [&](std::int64_t count) {
    GemmProblem p = many;
    p.batch_count = count;
    return Access::impl(plan(context, p, options_));
  };
  EXPECT_EQ(chosen(500000).known.match, WisdomMatch::exact);
  EXPECT_EQ(chosen(10).known.match, WisdomMatch::none);
  EXPECT_LE(chosen(10).runner->config().at("matrices_per_block"), 1);
}

TEST_F(GpuGemm, ExplainSaysWhatRuns) {
  Context context;
  const std::string text =
      explain(context, packed(strided(DType::f64, Op::none, Op::none, {8, 8, 8}, 100)), options_);
  EXPECT_NE(text.find("gpu_small: taken"), std::string::npos) << text;
  EXPECT_NE(text.find("matrices_per_block"), std::string::npos) << text;
  EXPECT_NE(text.find(gpu_->limits().name), std::string::npos) << text;
}

}  // namespace
}  // namespace tilewright::testing
