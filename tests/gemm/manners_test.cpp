// The traces that a Context leaves in its process: no descriptor between calls, and no memory that grows with
// every new problem that it has something to say about.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "gemm/context_impl.hpp"
#include "gemm/plan.hpp"
#include "support/temp_folder.hpp"
#include "tilewright/context.hpp"
#include "tilewright/gemm.hpp"
#include "wisdom/store.hpp"

namespace tilewright {
namespace {

std::vector<std::string> open_files() {
  std::vector<std::string> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
    files.push_back(std::filesystem::read_symlink(entry.path(), error).string());
  std::sort(files.begin(), files.end());
  return files;
}

TEST(Manners, NoDescriptorStaysOpen) {
  const TempFolder folder;
  ContextOptions options;
  options.wisdom = folder / "wisdom.sqlite";
  options.notices = false;
  (void)WisdomStore(options.wisdom, sqlite::Mode::write);
  const auto before = open_files();
  Context context(options);
  EXPECT_EQ(open_files(), before);
  // Generated kernels, and the host's BLAS beyond them.
  for (const std::int64_t n : {4, 24, 200}) {
    const std::vector<double> a(std::size_t(n * n), 1), b(a);
    std::vector<double> c(a);
    gemm<double>(context, Op::none, Op::none, 1, {a.data(), n, n, n}, {b.data(), n, n, n}, 0,
                 {c.data(), n, n, n});
    EXPECT_EQ(c[0], double(n));
    EXPECT_EQ(open_files(), before) << n;
  }
}

// A program that is linked with the library has stderr to itself, unless it asks who serves its calls.
TEST(Manners, NothingIsPrintedUnlessAsked) {
  const TempFolder folder;
  const auto printed = [&] {
    ::testing::internal::CaptureStderr();
    Context context({.wisdom = folder / "none.sqlite"});
    for (std::int64_t n = 1; n <= 60; ++n)
      (void)plan(context, parse_problem(fmt::format("gemm:f64:nn:m={0},n={0},k={1}", n, 2 * n)));
    return ::testing::internal::GetCapturedStderr();
  };
  EXPECT_EQ(printed(), "");
  ASSERT_EQ(setenv("TILEWRIGHT_VERBOSE", "2", 1), 0);
  const std::string told = printed();
  ASSERT_EQ(unsetenv("TILEWRIGHT_VERBOSE"), 0);
  EXPECT_NE(told.find("gemm:f64:nn:m=7,n=7,k=14:residency=l1 is served by cpu_small"), std::string::npos)
      << told;
}

TEST(Manners, NoticesComeToAnEnd) {
  ASSERT_EQ(setenv("TILEWRIGHT_LOG", "off", 1), 0);
  const Context context({.use_wisdom = false});
  ASSERT_EQ(unsetenv("TILEWRIGHT_LOG"), 0);
  for (int i = 0; i < 3000; ++i) Access::impl(context).notice(fmt::format("notice {}", i));
  const std::vector<std::string> kept = Access::impl(context).notices();
  ASSERT_EQ(kept.size(), 1000u);
  EXPECT_EQ(kept[998], "notice 998");
  EXPECT_NE(kept[999].find("its last one"), std::string::npos) << kept[999];
}

}  // namespace
}  // namespace tilewright
