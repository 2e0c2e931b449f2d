// The seconds that a plan predicts: by the record of its problem, and by the fitted models of a node.
#include <gtest/gtest.h>

#include "device/cpu.hpp"
#include "gemm/hybrid/models.hpp"
#include "gemm/hybrid/simulated_context.hpp"
#include "gemm/plan.hpp"
#include "kernel/gemm_small_cpu/config.hpp"
#include "support/temp_folder.hpp"

namespace tilewright::testing {
namespace {

// A time that no machine is slower than, so that no bound is above it.
TEST(Prediction, TheExactRecordTimesTheBatch) {
  const GemmProblem p = parse_problem("gemm_batched:f64:nn:m=8,n=8,k=8:strided:batch=5:residency=cold");
  const nlohmann::json record = {{"family", "gemm_small_cpu"},
                                 {"problem", to_string(problem_to_tune(p))},
                                 {"config", to_json(gemm_small_cpu_default(p, Isa::portable))},
                                 {"device", cpu_info().device},
                                 {"seconds", 0.25}};
  const TempFolder folder;
  folder.write("wisdom.jsonl", record.dump() + "\n");
  Context context({.cpu = "portable", .wisdom = folder / "wisdom.jsonl"});
  const auto predicted_s = plan(context, p).predicted_s();
  ASSERT_TRUE(predicted_s);
  EXPECT_DOUBLE_EQ(*predicted_s, 5 * 0.25);
}

// Between the products alone and what one part after the other would take: transfers overlap them.
TEST(Prediction, TheModelsOfTheNode) {
  SimulatedContext c(1);
  const GemmProblem p = host_product(DType::f64, Op::none, Op::none, 4000, 4000, 4000, Scalar::zero, 0);
  GemmOptions options;
  options.target = Target::gpu;
  const GemmPlan made = plan(c.context, p, options);
  const auto predicted_s = made.predicted_s();
  ASSERT_TRUE(predicted_s);
  const HybridModels models = hybrid_models({Access::impl(c.context), p, options});
  const GpuModel& gpu = models.node->gpus.front();
  const double product_s = gpu.gemm[std::size_t(p.dtype)].of(4000, 4000, 4000);
  const double matrix_bytes = 8.0 * 4000 * 4000;
  const double up_s = 2 * gpu.to_device.s_per_byte * matrix_bytes,
               down_s = gpu.to_host.s_per_byte * matrix_bytes;
  EXPECT_GE(*predicted_s, std::max({product_s, up_s, down_s}));
  // Operands are pageable: each byte is copied to or from a ring besides.
  const double copy_s = 3 * matrix_bytes * models.node->host.copy_by(1).s_per_byte;
  EXPECT_LE(*predicted_s, product_s + 2 * (up_s + down_s) + copy_s);
  EXPECT_DOUBLE_EQ(*predicted_s, choose_split(models, false).split.seconds);
}

}  // namespace
}  // namespace tilewright::testing
