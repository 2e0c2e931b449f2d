// Which files are trusted: every folder of a path counts, also through links of links, and for files that do
// not exist yet.
#include "core/trust.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "support/temp_folder.hpp"

namespace tilewright {
namespace {

namespace fs = std::filesystem;

class TrustTest : public ::testing::Test {
 protected:
  TrustTest() {
    for (const char* name : {"own", "open", "sticky"}) fs::create_directory(folder_.path() / name);
    std::ofstream(folder_.path() / "own" / "file") << "x";
    fs::permissions(at("open"), fs::perms(0777));
    fs::permissions(at("sticky"), fs::perms(01777));
  }
  fs::path at(const fs::path& name) const { return folder_.path() / name; }

  TempFolder folder_;
};

TEST_F(TrustTest, EveryLinkOfAChainIsLookedAt) {
  EXPECT_EQ(why_not_trusted(at("own/file")), "");
  fs::create_symlink("../own/file", at("sticky/middle"));
  fs::create_symlink(at("sticky/middle"), at("own/start"));
  EXPECT_EQ(why_not_trusted(at("own/start")), "");
  // The folder is in the middle of the chain: neither the path as written nor the resolved path shows it.
  fs::create_symlink(at("own"), at("open/middle"));
  fs::create_symlink(at("open/middle/file"), at("own/through"));
  EXPECT_NE(why_not_trusted(at("own/through")).find("open' can be written by everybody"), std::string::npos)
      << why_not_trusted(at("own/through"));
  fs::create_symlink("../open/../own/file", at("own/up"));
  EXPECT_NE(why_not_trusted(at("own/up")), "");
  fs::create_symlink(at("own/circle"), at("own/circle"));
  EXPECT_NE(why_not_trusted(at("own/circle")).find("broken link"), std::string::npos);
  if (geteuid() != 0) return;  // only root can give files away
  ASSERT_EQ(lchown(at("sticky/middle").c_str(), 65534, 0), 0);
  EXPECT_NE(why_not_trusted(at("own/start")).find("sticky/middle' belongs to user 65534"), std::string::npos)
      << why_not_trusted(at("own/start"));
  EXPECT_EQ(why_not_trusted(at("own/start"), {65534}), "");
}

TEST_F(TrustTest, WhatIsMissingIsNotForOthersToMake) {
  EXPECT_EQ(why_not_trusted(at("own/missing/file")), "");
  EXPECT_NE(why_not_trusted(at("sticky/missing")), "") << "anybody can make it before it is opened";
  EXPECT_NE(why_not_trusted(at("sticky/missing/file")), "");
  EXPECT_EQ(why_not_trusted(at("sticky/missing"), {}, IfMissing::made), "") << "making it would fail then";
  EXPECT_NE(why_not_trusted(at("open/missing"), {}, IfMissing::made), "");
}

TEST_F(TrustTest, FoldersThatAreMadeAreNotForOthersToWrite) {
  const mode_t before = umask(0);
  const int error = make_own_folders(at("own/a/b/c"));
  umask(before);
  EXPECT_EQ(error, 0);
  for (const char* made : {"own/a", "own/a/b", "own/a/b/c"})
    EXPECT_EQ(fs::status(at(made)).permissions(), fs::perms(0755)) << made;
  EXPECT_EQ(why_not_trusted(at("own/a/b/c")), "");
  EXPECT_EQ(make_own_folders(at("own/a/b/c")), 0) << "it exists";
  EXPECT_EQ(make_own_folders(""), 0);
  EXPECT_EQ(make_own_folders(at("own/file")), EEXIST);
  EXPECT_EQ(make_own_folders(at("own/file/below")), ENOTDIR);
}

}  // namespace
}  // namespace tilewright
