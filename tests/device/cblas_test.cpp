// CBLAS libraries are distinguished by the width of their integers: libraries of 64-bit integers, whatever
// their symbols are called, get 64 bits, and this machine's library gets its own width.
#include "device/cblas.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <atomic>
#include <complex>
#include <filesystem>
#include <limits>
#include <thread>
#include <vector>

#include "gemm/context_impl.hpp"
#include "support/temp_folder.hpp"
#include "tilewright/context.hpp"

namespace tilewright {
namespace {

class WideCblas : public ::testing::TestWithParam<const char*> {
 protected:
  std::string path() const {
    return std::string(TILEWRIGHT_TEST_CBLAS) + "/libfake_cblas_" + GetParam() + ".so";
  }
};
INSTANTIATE_TEST_SUITE_P(Names, WideCblas, ::testing::Values("plain", "suffixed"));

TEST_P(WideCblas, IsServed) {
  const CblasLibrary library(path());
  ASSERT_TRUE(library.available()) << library.error();
  EXPECT_EQ(library.largest_integer(), std::numeric_limits<std::int64_t>::max());
  using C = std::complex<double>;
  const std::vector<C> a{{1, 1}, {0, 2}}, b{{2, 0}, {0, 1}};
  std::vector<C> c{{5, 5}};
  library.gemm<C>(Op::none, Op::conj_trans, 1, 1, 2, C(1), a.data(), 1, b.data(), 1, C(1), c.data(), 1);
  EXPECT_EQ(c[0], C(5, 5) + C(2, 2) + C(0, 2) * C(0, -1));
}

TEST_P(WideCblas, PivotsAreNarrowed) {
  const CblasLibrary library(path());
  ASSERT_TRUE(library.has_getrf());
  std::vector<float> a{1, 4, 2, 5};
  std::vector<int> pivots{-7, -7, -7};
  EXPECT_EQ(library.getrf(2, 2, a.data(), 2, pivots.data()), 0);
  EXPECT_EQ(pivots, (std::vector<int>{2, 2, -7}));
  EXPECT_EQ(a[1], 0.25f);
}

TEST(Cblas, WhatOthersCouldWriteIsNotOpenedUnlessItRunsAlready) {
  namespace fs = std::filesystem;
  const TempFolder folder;
  const std::string copy = folder / "libcblas.so", loaded = folder / "libloaded.so";
  for (const std::string& file : {copy, loaded})
    fs::copy_file(std::string(TILEWRIGHT_TEST_CBLAS) + "/libfake_cblas_plain.so", file);
  ASSERT_NE(dlopen(loaded.c_str(), RTLD_NOW | RTLD_LOCAL), nullptr);
  for (const std::string& file : {copy, loaded}) fs::permissions(file, fs::perms(0777));
  const CblasLibrary library(copy);
  EXPECT_FALSE(library.available());
  EXPECT_NE(library.error().find("can be written by everybody"), std::string::npos) << library.error();
  EXPECT_TRUE(CblasLibrary(loaded).available()) << "the program runs its code";
}

TEST(Cblas, ALibraryThatWasAskedForAndIsNotUsedIsTold) {
  namespace fs = std::filesystem;
  const TempFolder folder;
  const std::string copy = folder / "libcblas.so";
  fs::copy_file(std::string(TILEWRIGHT_TEST_CBLAS) + "/libfake_cblas_plain.so", copy);
  fs::permissions(copy, fs::perms(0777));
  ContextOptions options;
  options.cblas = copy;
  options.use_wisdom = false;
  const Context context(options);
  EXPECT_NE(Access::impl(context).cblas(), nullptr);
  const std::vector<std::string> notices = Access::impl(context).notices();
  ASSERT_EQ(notices.size(), 1u);
  EXPECT_NE(notices[0].find(copy), std::string::npos) << notices[0];
}

// The elements are whole numbers, so that every order of the sums gives the same bits.
TEST(Cblas, OfThisMachineServesSeveralThreads) {
  const CblasLibrary library("");
  if (!library.available()) GTEST_SKIP() << library.error();
  constexpr int n = 100, calls = 400;
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      std::vector<double> a(n * n), b(n * n), first(n * n), c(n * n);
      for (int i = 0; i < n * n; ++i) a[std::size_t(i)] = (i + t) % 7, b[std::size_t(i)] = i % (5 + t);
      for (int j = 0; j < n; ++j)
        for (int i = 0; i < n; ++i)
          for (int k = 0; k < n; ++k)
            first[std::size_t(i + j * n)] += a[std::size_t(i + k * n)] * b[std::size_t(k + j * n)];
      for (int call = 0; call < calls; ++call) {
        library.gemm(Op::none, Op::none, n, n, n, 1.0, a.data(), n, b.data(), n, 0.0, c.data(), n);
        wrong += c != first ? 1 : 0;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Cblas, OfThisMachineCountsWithInt) {
  const CblasLibrary library("");
  if (!library.available()) GTEST_SKIP() << library.error();
  EXPECT_EQ(library.largest_integer(), std::numeric_limits<int>::max());
  const std::vector<double> a{1, 2}, b{3, 4};
  std::vector<double> c{0};
  library.gemm<double>(Op::none, Op::none, 1, 1, 2, 1, a.data(), 1, b.data(), 2, 0, c.data(), 1);
  EXPECT_EQ(c[0], 11);
}

}  // namespace
}  // namespace tilewright
