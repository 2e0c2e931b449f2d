// A folder for one test of the wisdom database, other programs and processes that touch it, and the reasons
// with which files are refused.
#pragma once

#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "wisdom/session.hpp"
#include "wisdom/store.hpp"
#include "wisdom/wisdom.hpp"
#include "wisdom/wisdom_files.hpp"

namespace tilewright {

using sqlite::Mode;

class WisdomStoreTest : public WisdomFolder {
 protected:
  std::string file() const { return path("wisdom.sqlite"); }

  // Runs SQL as another program would.
  static void sql(const std::string& file, const std::string& text) {
    sqlite3* connection = nullptr;
    ASSERT_EQ(sqlite3_open(file.c_str(), &connection), SQLITE_OK);
    char* message = nullptr;
    EXPECT_EQ(sqlite3_exec(connection, text.c_str(), nullptr, nullptr, &message), SQLITE_OK)
        << (message == nullptr ? "" : message);
    sqlite3_close(connection);
  }

  static std::vector<WisdomRecord> all(const std::string& file) {
    WisdomStore store(file, Mode::read);
    std::vector<WisdomRecord> records;
    store.each([&](const WisdomRecord& r) { records.push_back(r); });
    return records;
  }

  static std::vector<int> found(const Wisdom& wisdom, const GemmProblem& p) {
    std::vector<int> nrs;
    for (const WisdomHit& hit : lookup(wisdom, p, Isa::avx512)) nrs.push_back(hit.config.nr);
    return nrs;
  }

  // The reason with which a file is refused; it is the same file afterwards.
  static std::string refusal(const std::string& file, Mode mode) {
    const bool folder = std::filesystem::is_directory(file);
    const std::string before = folder ? "" : bytes_of(file);
    std::string reason;
    try {
      WisdomStore store(file, mode);
      store.each([](const WisdomRecord&) {});
      ADD_FAILURE() << file << " was accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::io);
      reason = error.what();
    }
    EXPECT_EQ(folder ? "" : bytes_of(file), before) << file;
    EXPECT_NE(reason.find(file), std::string::npos) << reason;
    return reason;
  }

  static pid_t child(const std::function<void()>& work) {
    const pid_t id = fork();
    if (id != 0) return id;
    try {
      work();
      _exit(0);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "child: %s\n", error.what());
      _exit(1);
    }
  }
  static int status_of(pid_t id) {
    int status = 0;
    EXPECT_EQ(waitpid(id, &status, 0), id);
    return status;
  }
};

}  // namespace tilewright
