// How wide panels are: sums that are plain arithmetic, and that what costs more makes them wider or narrower.
#include "gemm/hybrid/simulated_context.hpp"
#include "lu/updates.hpp"
#include "lu_cases.hpp"

namespace tilewright::testing {
namespace {

LuProblem square_lu(std::int64_t n) {
  LuProblem p;
  p.m = p.n = p.lda = n;
  return p;
}

// A host of so many multiply-adds a second, and so much for each call.
HostModel host_of(double products_per_s, double start_s) {
  HostModel host;
  for (GemmTime& time : host.gemm) time = {start_s, 1 / products_per_s, 0, 0, 0};
  return host;
}

std::int64_t best_of(const HostModel& host, const UpdateSeconds& update) {
  std::int64_t best = 0;
  double least_s = 1e300;
  for (std::int64_t nb = 32; nb <= 1024; nb += 32) {
    const double seconds = blocked_seconds(host, square_lu(4096), nb, update);
    if (seconds < least_s) best = nb, least_s = seconds;
  }
  return best;
}

TEST(LuPanels, APanelsOperationsTakeTheirTime) {
  const GemmTime time = host_of(1e9, 0).gemm[std::size_t(DType::f64)];
  // m n^2 / 2 multiply-adds in products, and little more in solves.
  EXPECT_NEAR(panel_seconds(time, 1e5, 512), 1e5 * 512 * 512 / 2 / 1e9, 0.03 * 1e5 * 512 * 512 / 2 / 1e9);
  EXPECT_GT(panel_seconds(host_of(1e9, 1e-3).gemm[std::size_t(DType::f64)], 1e5, 512),
            panel_seconds(time, 1e5, 512) + 0.1);
}

TEST(LuPanels, UpdatesThatCostBytesMakeThemWider) {
  const HostModel host = host_of(2e10, 1e-5);
  const auto moved = [](double bytes_per_s) {
    return [=](std::int64_t m, std::int64_t n, std::int64_t k) {
      return UpdateTime{double(m) * double(n) * (double(k) / 3e13 + 16 / bytes_per_s), true};
    };
  };
  EXPECT_GT(best_of(host, moved(5e9)), best_of(host, moved(5e10)));
}

TEST(LuPanels, ASlowCpuMakesThemNarrower) {
  const auto update = [](std::int64_t m, std::int64_t n, std::int64_t k) {
    return UpdateTime{double(m) * double(n) * (double(k) / 3e13 + 16 / 5e10), false};
  };
  EXPECT_LT(best_of(host_of(1e9, 1e-5), update), best_of(host_of(1e11, 1e-5), update));
}

TEST(LuPanels, AreTheCallersOrByTheModels) {
  SimulatedContext c(1);
  const LuProblem problem = square_lu(3000), tiny = square_lu(40);
  for (const Target target : {Target::cpu, Target::gpu, Target::hybrid}) {
    const LuOptions given = lu_options("blocked", target, 77), none = lu_options("blocked", target, 0);
    EXPECT_EQ(panel_columns({c.context, problem, given}), 77);
    EXPECT_LE(panel_columns({c.context, tiny, none}), 40);
    const LuRequest request{c.context, problem, none};
    const std::int64_t nb = panel_columns(request);
    if (target == Target::cpu) {
      EXPECT_EQ(nb, 128);
      continue;
    }
    const auto node = largest_update_models(request).node;
    const auto seconds = [&](std::int64_t columns) {
      return blocked_seconds(node->host, problem, columns,
                             [&](auto m, auto n, auto k) { return predicted_update(request, m, n, k); });
    };
    for (const std::int64_t other : {64, 128, 256, 512, 768}) EXPECT_LE(seconds(nb), seconds(other)) << other;
  }
}

}  // namespace
}  // namespace tilewright::testing
