// Default configs that problems of similar size share.
#include <gtest/gtest.h>

#include "kernel/gemm_large/gemm_large.hpp"
#include "kernel/gemm_large_cases.hpp"

namespace tilewright {
namespace {

using testing::problem;

TEST(GemmLargeNear, ShrinkingSizesKeepTheFirstsConfig) {
  const GemmLargeDevice device = testing::known_gpu(90);
  GemmLargeNear near;
  int shared = 0, apart = 0;
  GemmLargeConfig before;
  for (std::int64_t m = 7000; m > 3000; m -= 250) {
    const GemmProblem p = problem(DType::f64, m, m + 1, 512);
    const GemmLargeShape s = gemm_large_shape(p);
    const GemmLargeConfig found = near.find(p, s, device), own = gemm_large_default(p, s, device);
    EXPECT_TRUE(gemm_large_accurate_space(p, s, device).contains(found)) << m;
    shared += m < 7000 && found == before ? 1 : 0;
    apart += found == own ? 0 : 1;
    before = found;
  }
  EXPECT_GT(shared, 10);
  EXPECT_GT(apart, 2) << "else nothing was shared that differs";
}

// A config that is legal for one problem but not for its neighbour is not shared.
TEST(GemmLargeNear, LegalForEachProblem) {
  const GemmLargeDevice device = testing::known_gpu(90);
  GemmLargeNear near;
  for (const DType dtype : testing::all_types)
    for (const std::int64_t m : {1024, 1000, 999, 1023, 64, 63, 65})
      for (const std::int64_t k : {512, 500, 511, 16, 17}) {
        const GemmProblem p = problem(dtype, m, m, k);
        const GemmLargeShape s = gemm_large_shape(p);
        EXPECT_TRUE(gemm_large_accurate_space(p, s, device).contains(near.find(p, s, device)))
            << to_string(p);
      }
}

}  // namespace
}  // namespace tilewright
