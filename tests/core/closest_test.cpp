// Misspelt and shortened words find the one that was meant, and others find none.
#include "core/input/closest.hpp"

#include <gtest/gtest.h>

namespace tilewright {
namespace {

TEST(Closest, FindsWhatWasMeant) {
  const std::vector<std::string> words{"tune",        "threads", "transpose_a",
                                       "transpose_b", "gemm",    "gemm_batched"};
  EXPECT_EQ(closest("tunee", words), "tune");
  EXPECT_EQ(closest("threds", words), "threads");
  EXPECT_EQ(closest("htreads", words), "threads");  // neighbours exchanged
  EXPECT_EQ(closest("THREADS", words), "threads");
  EXPECT_EQ(closest("transB", words), "transpose_b");  // its letters in order
  EXPECT_EQ(closest("gem", words), "gemm");
}

TEST(Closest, FindsNothingElse) {
  const std::vector<std::string> words{"tune", "threads", "gemm", ""};
  for (const char* word : {"", "x", "multiply", "stream", "hreds_of_gemm"})
    EXPECT_EQ(closest(word, words), "") << word;
  EXPECT_EQ(closest(std::string(65, 't'), words), "");
  EXPECT_EQ(closest("tune", {}), "");
}

}  // namespace
}  // namespace tilewright
