// Interleaved batches on the host above the sizes of its small kernels: by the CBLAS on copies of a few
// problems at a time, held against the oracle within guards, and in the same bits at every thread count.
#include <gtest/gtest.h>

#include <random>

#include "core/dispatch.hpp"
#include "gemm/context_impl.hpp"
#include "support/call.hpp"
#include "support/failures.hpp"

namespace tilewright::testing {
namespace {

class LargeInterleaved : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!Access::impl(context_).cblas()->available()) GTEST_SKIP() << "there is no CBLAS";
  }
  std::int64_t below(std::int64_t limit) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(limit));
  }
  Choices choices(const cases::Size& size) {
    Choices x;
    x.layout = below(2) == 0 ? Layout::interleaved : Layout::block_interleaved;
    if (x.layout == Layout::block_interleaved) x.block = 1 + below(20);
    x.size = size;
    x.dtype = cases::dtypes[std::size_t(below(4))];
    x.op_a = cases::ops[std::size_t(below(3))], x.op_b = cases::ops[std::size_t(below(3))];
    x.ld_padding = below(2) * below(6);
    x.batch_count = 1 + below(80);
    x.alpha = scalar_choices[std::size_t(1 + below(4))], x.beta = scalar_choices[std::size_t(below(5))];
    x.data = below(2) == 0 ? Data::exact : Data::random;
    x.seed = random_();
    return x;
  }

  std::mt19937_64 random_{20261201};
  Context context_{{.use_wisdom = false}};
};

// Copies up to 64 problems at a time, a few where they are large, and parts of blocks.
TEST_F(LargeInterleaved, RandomOnesAreRight) {
  Failures failures;
  for (const cases::Size& size :
       {cases::Size{70, 66, 67}, {2, 100, 1}, {65, 1, 3}, {3, 5, 200}, {150, 160, 140}})
    for (int i = 0; i < 8; ++i) {
      Choices x = choices(size);
      if (size.m == 150) x.batch_count = 1 + below(9);
      Call call = make_call(x);
      call.options.threads = 1 + i % 3;
      call.through_plan = i % 2 == 0;
      failures.note(to_string(call), run_and_check(context_, call));
    }
  EXPECT_EQ(failures.case_count(), 40u);
}

TEST_F(LargeInterleaved, GoToTheCblasAndSaySo) {
  const std::string text =
      explain(context_, parse_problem("gemm_batched:f64:nn:m=65,n=8,k=8:interleaved:batch=40"));
  EXPECT_NE(text.find("plan       host_blas: "), std::string::npos) << text;
  EXPECT_NE(text.find(", with copies in its layout\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace tilewright::testing
