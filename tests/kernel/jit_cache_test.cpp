// The cache of compiled kernels: hits, keys, damaged entries, folders that cannot be written, many concurrent
// processes. The "compiled" kernels are text; no compiler is needed.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>

#include "kernel/jit/cache.hpp"
#include "support/temp_folder.hpp"

namespace tilewright {
namespace {

namespace fs = std::filesystem;

class JitCacheTest : public ::testing::Test {
 protected:
  JitBinary get(const JitCache& cache, const JitKey& key) {
    return cache.get(key, [&] {
      ++builds_;
      return JitBinary{"code of " + key.source, {"function", "other"}, "log"};
    });
  }

  TempFolder folder_;
  int builds_ = 0;
  JitKey key_{"source", {{"a.hpp", "text"}}, {"-arch=sm_90"}, "nvrtc 13.0"};
};

TEST_F(JitCacheTest, SecondRequestIsKept) {
  const JitCache cache(folder_.path());
  EXPECT_EQ(get(cache, key_).code, "code of source");
  EXPECT_EQ(get(cache, key_).code, "code of source");
  EXPECT_EQ(get(cache, key_).functions, (std::vector<std::string>{"function", "other"}));
  EXPECT_EQ(builds_, 1);
  EXPECT_TRUE(fs::exists(cache.entry(key_) / "kernel.cu"));
}

TEST_F(JitCacheTest, EveryPartOfTheKeyCounts) {
  const JitCache cache(folder_.path());
  get(cache, key_);
  for (auto change :
       {+[](JitKey& key) { key.source += " "; }, +[](JitKey& key) { key.headers[0].second = "other"; },
        +[](JitKey& key) { key.options.push_back("-G"); },
        +[](JitKey& key) { key.compiler = "nvrtc 13.1"; }}) {
    JitKey other = key_;
    change(other);
    const int before = builds_;
    get(cache, other);
    EXPECT_EQ(builds_, before + 1);
  }
}

TEST_F(JitCacheTest, KeysAreReadBack) {
  key_.options.push_back("-Dname: with 3: colons\n");
  key_.source = "two\nlines";
  const auto read = JitKey::parse(key_.text());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->text(), key_.text());
  EXPECT_EQ(read->options, key_.options);
  EXPECT_EQ(read->headers, key_.headers);
  for (const std::string& broken : {key_.text().substr(1), key_.text() + "x", std::string("source 99: x\n")})
    EXPECT_FALSE(JitKey::parse(broken)) << broken;
}

TEST_F(JitCacheTest, DamagedEntriesAreRebuilt) {
  const JitCache cache(folder_.path());
  for (const char* name : {"kernel.cubin", "seal", "key", "kernel.log"}) {
    get(cache, key_);
    const int before = builds_;
    std::ofstream(cache.entry(key_) / name) << "garbage";
    EXPECT_EQ(get(cache, key_).code, "code of source") << name;
    EXPECT_EQ(builds_, before + 1) << name;
    get(cache, key_);
    EXPECT_EQ(builds_, before + 1) << name << " was not repaired";
    fs::remove(cache.entry(key_) / name);
    EXPECT_EQ(get(cache, key_).code, "code of source") << name;
    EXPECT_EQ(builds_, before + 2) << name;
  }
}

TEST_F(JitCacheTest, WhatIsKeptIsThisUsersAloneWhateverTheUmask) {
  const fs::path folder = folder_.path() / "cache" / "tilewright" / "kernels";
  const JitCache cache(folder);
  for (const mode_t mask : {0000, 0002, 0077}) {
    fs::remove_all(folder_.path() / "cache");
    builds_ = 0;
    const mode_t before = umask(mask);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(get(cache, key_).code, "code of source");
    umask(before);
    EXPECT_EQ(builds_, 1) << "what was kept is used under umask " << mask;
    EXPECT_EQ(cache.distrust(), "");
    for (const fs::path& made : {folder, cache.entry(key_)})
      EXPECT_EQ(fs::status(made).permissions(), fs::perms::owner_all) << made;
  }
}

// The group could put other entries in such a folder, for example a project's. This is reported before
// anything is created.
TEST_F(JitCacheTest, NothingIsKeptWhereAGroupWrites) {
  const fs::path shared = folder_.path() / "shared";
  fs::create_directory(shared);
  if (geteuid() != 0) GTEST_SKIP() << "only root gives a folder to another group";
  ASSERT_EQ(chown(shared.c_str(), uid_t(-1), 12345), 0);
  fs::permissions(shared, fs::perms(02775));
  const JitCache cache(shared / "kernels");
  EXPECT_NE(cache.distrust().find(shared.string() + "' can be written by its group"), std::string::npos)
      << cache.distrust();
  get(cache, key_);
  get(cache, key_);
  EXPECT_EQ(builds_, 2);
  EXPECT_NE(cache.distrust(), "");
}

TEST_F(JitCacheTest, WhatOthersCouldWriteIsNotTaken) {
  const fs::path folder = folder_.path() / "kernels";
  const JitCache cache(folder);
  get(cache, key_);
  EXPECT_EQ(cache.distrust(), "");
  const fs::path code = cache.entry(key_) / "kernel.cubin";
  fs::permissions(code, fs::perms(0666));
  get(cache, key_);
  EXPECT_EQ(builds_, 2) << "the code could be written by everybody";
  get(cache, key_);
  EXPECT_EQ(builds_, 2) << "it was made anew";
  fs::permissions(folder, fs::perms(0777));
  get(cache, key_);
  get(cache, key_);
  EXPECT_EQ(builds_, 4) << "everybody could put an entry there";
  EXPECT_NE(cache.distrust().find(folder.string() + "' can be written by everybody"), std::string::npos)
      << cache.distrust();
  fs::permissions(folder, fs::perms(0700));
  fs::permissions(folder_.path(), fs::perms(0777));
  EXPECT_NE(cache.distrust(), "") << "everybody could rename the folder";
  fs::permissions(folder_.path(), fs::perms(01777));
  EXPECT_EQ(cache.distrust(), "") << "as in /tmp";
  get(cache, key_);
  EXPECT_EQ(builds_, 4);
  if (geteuid() != 0) return;  // only root can give files away
  ASSERT_EQ(chown(code.c_str(), 65534, 0), 0);
  get(cache, key_);
  EXPECT_EQ(builds_, 5) << "another user's";
}

TEST_F(JitCacheTest, LinksAreLookedAtOnBothSides) {
  const fs::path real = folder_.path() / "real", open = folder_.path() / "open";
  fs::create_directories(open);
  get(JitCache(real), key_);
  fs::create_symlink(real, open / "link");
  EXPECT_EQ(JitCache(open / "link").distrust(), "");
  fs::permissions(open, fs::perms(0777));
  EXPECT_NE(JitCache(open / "link").distrust(), "") << "everybody could put another link there";
}

TEST_F(JitCacheTest, WhatKilledProcessesLeftIsRemovedLater) {
  const fs::path folder = folder_.path(), old = folder / ".new-1-2", young = folder / ".new-3-4";
  for (const fs::path& left : {old, young}) fs::create_directories(left);
  std::ofstream(old / "kernel.cu") << "half";
  fs::last_write_time(old, fs::file_time_type::clock::now() - std::chrono::hours(2));
  get(JitCache(folder_.path()), key_);
  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(fs::exists(young)) << "its process may still be writing";
}

TEST_F(JitCacheTest, WithoutAFolderOrWithABadOneItStillBuilds) {
  EXPECT_EQ(get(JitCache(""), key_).code, "code of source");
  EXPECT_EQ(get(JitCache("/proc/no/such/folder"), key_).code, "code of source");
  EXPECT_EQ(builds_, 2);
}

TEST_F(JitCacheTest, SixteenProcessesAtOnce) {
  std::vector<pid_t> children;
  for (int i = 0; i < 16; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      bool right = true;
      const JitCache cache(folder_.path());
      for (int round = 0; round < 20; ++round) {
        JitKey key = key_;
        key.source = "source " + std::to_string(round);
        right = right && get(cache, key).code == "code of " + key.source;
      }
      _exit(right ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  for (const auto& entry : fs::directory_iterator(folder_.path()))
    EXPECT_NE(entry.path().filename().string()[0], '.');
}

TEST_F(JitCacheTest, HeadersAreFollowed) {
  folder_.write("kernel/a.cuh", "#include \"kernel/b.cuh\"\n#include <vector>\n");
  folder_.write("kernel/b.cuh", "#include \"kernel/a.cuh\"\n  #  include \"host/only.hpp\"\n");
  const auto headers = reachable_headers("#include \"kernel/a.cuh\"\n", folder_.path());
  ASSERT_EQ(headers.size(), 2u);
  EXPECT_EQ(headers[0].first, "kernel/a.cuh");
  EXPECT_EQ(headers[1].first, "kernel/b.cuh");
}

}  // namespace
}  // namespace tilewright
