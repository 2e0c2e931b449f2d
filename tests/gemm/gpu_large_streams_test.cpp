// Large GEMM on a GPU where products follow each other or run side by side: launches that begin before the
// one before them has ended, and scratch memory that streams use in turn.
#include <cmath>
#include <memory>
#include <random>

#include "device/gpu/gpu.hpp"
#include "fake_cuda/counts.hpp"
#include "kernel/gemm_large/gemm_large.hpp"
#include "support/gpu_large.hpp"

namespace tilewright::testing {
namespace {

class GpuLaunchOrder : public GpuTest {};

// X := X B / 4 between two buffers: what the last product left. `waits`: for each before the next.
std::vector<double> chain(const Gpu& gpu, const GemmPlan& made, int products, bool waits) {
  const GemmProblem& p = made.problem();
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> uniform(-0.5, 0.5);
  std::vector<double> values(static_cast<std::size_t>(p.lda * p.k));
  GpuBuffer b(gpu, values.size() * sizeof(double)), even(gpu, b.bytes()), odd(gpu, b.bytes());
  for (GpuBuffer* const to : {&b, &even, &odd}) {
    for (double& value : values) value = uniform(random);
    to->write(values.data(), b.bytes());
  }
  for (int i = 0; i < products; ++i) {
    made.run<double>(0.25, (i % 2 == 0 ? even : odd).as<double>(), b.as<double>(), 0.0,
                     (i % 2 == 0 ? odd : even).as<double>());
    if (waits) gpu.synchronize();
  }
  gpu.synchronize();
  even.read(values.data(), even.bytes());
  return values;
}

TEST_F(GpuLaunchOrder, LaunchesThatBeginEarlyWaitForTheOneBefore) {
  const GpuLimits& limits = gpu_->limits();
  if (limits.compute_capability < 90) GTEST_SKIP() << "launches begin early on compute capability 9.0";
  Context context;
  options_.candidate = "gpu_large";
  // The fake driver computes on the host, one launch after the other.
  const bool fake = ask_fake<fake_cuda::Count>(fake_cuda::count_name) != nullptr;
  const int products = fake ? 2 : 60;
  int run = 0;
  for (const int ld : {192, 193}) {  // 193 needs copies for tensor copies
    GemmProblem p = parse_problem("gemm:f64:nn:m=192,n=192,k=192:alpha=general:beta=zero:location=device");
    p.lda = p.ldb = p.ldc = ld;
    p = packed(p);
    for (const auto& c : gemm_large_promising(p, gemm_large_shape(p), limits, 10)) {
      EXPECT_TRUE(c.dependent_launch) << describe(c);
      options_.config = to_json(c).dump();
      try {
        const GemmPlan made = plan(context, p, options_);
        const std::vector<double> queued = chain(*gpu_, made, products, false);
        EXPECT_TRUE(std::isfinite(queued[0]) && queued[0] != 0) << describe(c);
        EXPECT_EQ(queued, chain(*gpu_, made, products, true)) << describe(c);
        ++run;
      } catch (const Error& error) {
        if (error.code() != ErrorCode::unsupported) throw;  // the compiler spilled registers
      }
    }
  }
  EXPECT_GT(run, 12);
}

// Blocks that share tiles need scratch memory: streams that use one plan at once must not share it.
class GpuSharedTiles : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped()) return;
    options_.candidate = "gpu_large";
    const bool early = gpu_->limits().compute_capability >= 90;
    options_.config = std::string(early ? R"({"dependent_launch":true,)" : "{") +
                      R"("tile_m":64,"tile_n":64,"tile_k":16,"warp_m":32,"warp_n":32,"product":"mma_8x8x4",
      "load":"async","boundary":"residue","load_bytes":8,"stages":3,"persistent":false,"stream_k":0,"split_k":4,"warps_k":1})";
  }
};

TEST_F(GpuSharedTiles, StreamsOfOnePlan) {
  Context context;
  const GemmProblem p = square();
  const GemmPlan made = plan(context, p, options_);
  EXPECT_NE(made.explain().find("bytes of workspace"), std::string::npos) << made.explain();
  std::vector<std::unique_ptr<GpuStream>> streams;
  std::vector<std::unique_ptr<GpuBatch<double>>> batches;
  for (std::size_t i = 0; i < 8; ++i) {
    streams.push_back(std::make_unique<GpuStream>(*gpu_));
    batches.push_back(std::make_unique<GpuBatch<double>>(*gpu_, p, GpuDraw{1, 1, 0, i + 1}));
  }
#pragma omp parallel for
  for (std::size_t i = 0; i < batches.size(); ++i) batches[i]->run(made, streams[i]->get());
  gpu_->synchronize();
  for (std::size_t i = 0; i < batches.size(); ++i) EXPECT_EQ(batches[i]->check(), "") << i;
}

// All plans of a Context share one piece of it.
TEST_F(GpuSharedTiles, PlansInTurnAndAtOnce) {
  Context context;
  std::vector<GemmPlan> plans;
  for (const char* sizes : {"m=160,n=144,k=400", "m=96,n=130,k=333", "m=300,n=200,k=128"})
    plans.push_back(plan(context,
                         packed(parse_problem(fmt::format("gemm:f64:nn:{}:beta=one:location=device", sizes))),
                         options_));
  const GpuStream first(*gpu_), second(*gpu_);
  std::vector<std::unique_ptr<GpuBatch<double>>> batches;
  for (std::size_t i = 0; i < 12; ++i)
    batches.push_back(
        std::make_unique<GpuBatch<double>>(*gpu_, plans[i % 3].problem(), GpuDraw{1, 1, 0, i + 1}));
  for (std::size_t i = 0; i < batches.size(); ++i)
    batches[i]->run(plans[i % 3], i % 4 < 2 ? first.get() : second.get());
  gpu_->synchronize();
  for (std::size_t i = 0; i < batches.size(); ++i) EXPECT_EQ(batches[i]->check(), "") << i;
}

TEST_F(GpuSharedTiles, SmallerPlansTakeNoMoreMemory) {
  const auto count = ask_fake<fake_cuda::Count>(fake_cuda::count_name);
  if (count == nullptr) GTEST_SKIP() << "the driver is no fake one";
  Context context;
  plan(context, square(), options_);
  const long long before = count("allocate");
  for (const int n : {144, 143, 100, 65})
    plan(context, packed(parse_problem(fmt::format("gemm:f64:nn:m={0},n={0},k=400:location=device", n))),
         options_);
  EXPECT_EQ(count("allocate"), before);
}

TEST_F(GpuSharedTiles, AGraphHasItsOwnScratchMemory) {
  Context context;
  const GemmProblem p = square();
  const GemmPlan made = plan(context, p, options_);
  EXPECT_EQ(run_once(*gpu_, made), "");
  GpuBatch<double> batch(*gpu_, p, {1, 1});
  const GpuStream stream(*gpu_);
  const GpuGraph graph(*gpu_, stream.get(), [&] { batch.run(made, stream.get()); });
  for (int launch = 0; launch < 2; ++launch) {
    batch.reset();
    graph.launch(stream.get());
    stream.synchronize();
    EXPECT_EQ(batch.check(), "") << "launch " << launch;
  }
}

}  // namespace
}  // namespace tilewright::testing
