// A wisdom database in the hands of several: other connections, processes and threads that check, read and
// write it at once, programs that close what they did not open, and files that earlier builds left.
#include <fcntl.h>

#include <set>
#include <thread>

#include "tilewright/context.hpp"
#include "wisdom/sqlite.hpp"
#include "wisdom/wisdom_database.hpp"

namespace tilewright {
namespace {

class WisdomSharingTest : public WisdomStoreTest {
 protected:
  static std::set<std::string> descriptors() {
    std::set<std::string> open;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
      open.insert(entry.path().filename().string());
    return open;
  }
  // The iterator's own descriptor is closed by then.
  static std::size_t open_count() { return descriptors().size(); }

  // True if SQLite's lock of a writer lies on the file, as another process sees it.
  static bool is_locked_for_others(const std::string& file) {
    return status_of(child([&] {
             constexpr off_t reserved = 0x40000001;
             struct flock asked {};
             asked.l_type = F_WRLCK, asked.l_whence = SEEK_SET, asked.l_start = reserved, asked.l_len = 1;
             const int opened = ::open(file.c_str(), O_RDWR);
             if (::fcntl(opened, F_GETLK, &asked) != 0 || asked.l_type == F_UNLCK) _exit(1);
           })) == 0;
  }

  static void expect_whole(const std::string& file) {
    sqlite::Connection connection(file, Mode::read);
    sqlite::Statement check(connection.handle(), file, "PRAGMA integrity_check");
    ASSERT_TRUE(check.step());
    EXPECT_EQ(check.text(0), "ok");
  }
};

// The system drops all locks of a process on a file when it closes any descriptor of it.
TEST_F(WisdomSharingTest, ChecksLeaveAWriterItsLock) {
  WisdomStore store(file(), Mode::write);
  WisdomStore(file(), Mode::write).put(record(problem(9, 9, 9), 1));
  store.at_once([&] {
    store.put(record(problem(8, 8, 8), 1));
    EXPECT_FALSE(is_lines_file(file()));
    ContextOptions options;
    options.wisdom = file();
    const Context context(options);
    EXPECT_EQ(found(Wisdom({file()}, "Abacus 1"), problem(9, 9, 9)), std::vector<int>{1});
    EXPECT_EQ(all(file()).size(), 1u);
    EXPECT_TRUE(is_locked_for_others(file()));
  });
  EXPECT_EQ(store.count(), 2);
  expect_whole(file());
}

TEST_F(WisdomSharingTest, NoRecordIsLostBetweenTunersImportsAndContexts) {
  constexpr int processes = 3, rounds = 12;
  std::vector<pid_t> children;
  for (int i = 0; i < processes; ++i)
    children.push_back(child([&, i] {
      std::jthread reader([&] {
        for (int round = 0; round < 3 * rounds; ++round) {
          (void)is_lines_file(file());
          (void)lookup(Wisdom({file()}, "Abacus 1"), problem(1, 8, 8), Isa::avx512);
        }
      });
      for (int round = 0; round < rounds; ++round) {
        const int m = 1 + i * rounds + round;
        if (i == 0) {  // a tuner keeps its store
          static WisdomStore tuner(file(), Mode::write);
          tuner.add_found(record(problem(m, 8, 8), 1));
        } else {
          if (is_lines_file(file())) throw std::runtime_error("no lines");
          WisdomStore(file(), Mode::write).merge(record(problem(m, 8, 8), 1));
        }
      }
    }));
  for (const pid_t id : children) EXPECT_EQ(status_of(id), 0);
  EXPECT_EQ(all(file()).size(), std::size_t(processes * rounds));
  expect_whole(file());
}

TEST_F(WisdomSharingTest, NothingIsOpenBetweenCalls) {
  const std::size_t before = open_count();
  WisdomStore store(file(), Mode::write);
  EXPECT_EQ(open_count(), before);
  store.put(record(problem(8, 8, 8), 1));
  EXPECT_EQ(open_count(), before);
  EXPECT_THROW(store.at_once([&] {
    EXPECT_GT(open_count(), before);
    throw std::runtime_error("half-way");
  }),
               std::runtime_error);
  EXPECT_EQ(open_count(), before);
  const Wisdom wisdom({file()}, "Abacus 1");
  wisdom.offer({"gemm_small_cpu", to_string(Isa::avx512), problem(8, 8, 8)}, [&](const WisdomAnswer&) {
    EXPECT_EQ(open_count(), before) << "while a record is offered";
    return true;
  });
  EXPECT_EQ(all(file()).size(), 1u);
  (void)wisdom.model({});
  EXPECT_EQ(open_count(), before);
}

// A daemon closes every descriptor and opens files of its own under the numbers.
TEST_F(WisdomSharingTest, FilesOfAProgramThatClosedAllStayItsOwn) {
  WisdomStore(file(), Mode::write).put(record(problem(8, 8, 8), 1));
  EXPECT_EQ(status_of(child([&] {
              auto wisdom = std::make_unique<Wisdom>(std::vector<WisdomFile>{file()}, "Abacus 1");
              auto store = std::make_unique<WisdomStore>(file(), Mode::write);
              if (found(*wisdom, problem(8, 8, 8)) != std::vector<int>{1}) throw std::runtime_error("before");
              constexpr int last = 40;
              for (int i = 3; i < last; ++i) ::close(i);
              const std::string own = path("own");
              while (::open(own.c_str(), O_RDWR | O_CREAT, 0600) < last - 1) {
              }
              if (found(*wisdom, problem(8, 8, 8)) != std::vector<int>{1}) throw std::runtime_error("lookup");
              store->put(record(problem(9, 9, 9), 2));
              wisdom.reset();
              store.reset();
              for (int i = 3; i < last; ++i)
                if (::fcntl(i, F_GETFD) < 0) throw std::runtime_error("a program's file was closed");
              if (std::filesystem::file_size(own) != 0)
                throw std::runtime_error("a program's file was written");
            })),
            0);
  EXPECT_EQ(all(file()).size(), 2u);
}

TEST_F(WisdomSharingTest, ALockedFileIsDoneWithout) {
  WisdomStore(file(), Mode::write).put(record(problem(8, 8, 8), 1));
  std::ofstream(path("shipped.jsonl")) << to_json(record(problem(8, 8, 8), 2)).dump() << '\n';
  std::vector<std::string> reports;
  const Wisdom wisdom({file(), path("shipped.jsonl")}, "Abacus 1",
                      [&](const std::string& report) { reports.push_back(report); });
  EXPECT_EQ(found(wisdom, problem(8, 8, 8)), (std::vector<int>{1, 2}));
  sqlite::Connection other(file(), Mode::write);
  {
    const sqlite::Transaction writing(other, Mode::write);
    other.execute("UPDATE records SET samples = 12");
    EXPECT_EQ(found(wisdom, problem(8, 8, 8)), (std::vector<int>{1, 2})) << "beside a writer that goes on";
  }
  other.execute("BEGIN EXCLUSIVE");
  EXPECT_EQ(found(wisdom, problem(8, 8, 8)), std::vector<int>{2});
  EXPECT_EQ(found(wisdom, problem(8, 8, 8)), std::vector<int>{2});
  EXPECT_EQ(wisdom.model({}), nullptr);
  ASSERT_EQ(reports.size(), 1u) << "a second try would come a second later";
  EXPECT_NE(reports[0].find(file()), std::string::npos) << reports[0];
  EXPECT_THROW(WisdomStore(file(), Mode::write, std::chrono::milliseconds(1)), sqlite::Locked);
  other.execute("COMMIT");
}

// A reader that cannot bring an older schema up to date, since somebody writes, makes do with a copy.
TEST_F(WisdomSharingTest, AnOlderSchemaServesBesideAWriter) {
  WisdomStore(file(), Mode::write).put(record(problem(8, 8, 8), 1));
  sqlite::Connection other(file(), Mode::write);
  other.execute("DROP TABLE models; PRAGMA user_version = 4");
  other.execute("BEGIN IMMEDIATE");
  const Wisdom wisdom({file()}, "Abacus 1");
  EXPECT_EQ(found(wisdom, problem(8, 8, 8)), std::vector<int>{1});
  other.execute("COMMIT");
  EXPECT_EQ(other.integer("PRAGMA user_version"), 4);
  EXPECT_EQ(found(Wisdom({file()}, "Abacus 1"), problem(8, 8, 8)), std::vector<int>{1});
  EXPECT_EQ(other.integer("PRAGMA user_version"), wisdom_schema_version);
}

// Before, databases had a write-ahead log, whose files stay open.
TEST_F(WisdomSharingTest, ALogOfEarlierBuildsIsTakenAway) {
  const auto has_log = [&] { return sqlite::first_bytes(file(), 20).at(19) == 2; };
  WisdomStore(file(), Mode::write).put(record(problem(8, 8, 8), 1));
  for (const Mode mode : {Mode::read, Mode::write}) {
    sql(file(), "PRAGMA journal_mode = WAL");
    ASSERT_TRUE(has_log());
    const std::size_t before = open_count();
    sqlite3* other = nullptr;
    ASSERT_EQ(sqlite3_open(file().c_str(), &other), SQLITE_OK);
    ASSERT_EQ(sqlite3_exec(other, "BEGIN; SELECT * FROM records", nullptr, nullptr, nullptr), SQLITE_OK);
    WisdomStore store(file(), mode);
    EXPECT_EQ(store.count(), 1);
    EXPECT_EQ(found(Wisdom({file()}, "Abacus 1"), problem(8, 8, 8)), std::vector<int>{1});
    if (mode == Mode::write) {
      EXPECT_TRUE(store.merge(record(problem(9, 9, 9), 2)));
    }
    EXPECT_TRUE(has_log()) << "somebody reads it";
    sqlite3_close(other);
    EXPECT_EQ(store.count(), mode == Mode::write ? 2 : 1);
    EXPECT_FALSE(has_log());
    EXPECT_EQ(open_count(), before);
  }
  for (const char* beside : {"-wal", "-shm", "-journal"})
    EXPECT_FALSE(std::filesystem::exists(file() + beside)) << beside;
  EXPECT_EQ(all(file()).size(), 2u);
}

// The journal of a writer that was killed, in a folder of another user.
TEST_F(WisdomSharingTest, AJournalThatCannotBeTakenBackIsTold) {
  namespace fs = std::filesystem;
  WisdomStore(file(), Mode::write).put(record(problem(8, 8, 8), 1));
  EXPECT_EQ(status_of(child([&] {
              sqlite::Connection writer(file(), Mode::write);
              writer.execute("PRAGMA cache_spill = 1; PRAGMA cache_size = 1; BEGIN IMMEDIATE");
              for (int i = 0; i < 40; ++i)
                writer.execute(fmt::format(
                    "INSERT INTO models (model, operation, device, architecture, driver, "
                    "library, library_version, dtype, variant, coefficients, samples, source_hash, "
                    "time, command, extra, identity) VALUES ('{}', '', '', '', '', '', '', "
                    "'', '', '{{}}', 1, '', '', '', '{{}}', '{}')",
                    std::string(4000, 'x'), i));
              _exit(0);
            })),
            0);
  ASSERT_GT(fs::file_size(file() + "-journal"), 0u);
  const fs::path folder = fs::path(file()).parent_path();
  fs::permissions(folder, fs::perms(0555));
  fs::permissions(file(), fs::perms(0444));
  fs::permissions(file() + "-journal", fs::perms(0444));
  const int status = status_of(child([&] {
    constexpr uid_t nobody = 65534;
    if (geteuid() == 0 && setuid(nobody) != 0) throw std::runtime_error("cannot become another user");
    const std::string reason = refusal(file(), Mode::read);
    if (reason.find("-journal") == std::string::npos) throw std::runtime_error(reason);
  }));
  fs::permissions(folder, fs::perms(0755));
  fs::permissions(file(), fs::perms(0644));
  EXPECT_EQ(status, 0);
  EXPECT_EQ(found(Wisdom({file()}, "Abacus 1"), problem(8, 8, 8)), std::vector<int>{1});
  EXPECT_FALSE(fs::exists(file() + "-journal")) << "a reader takes it back";
}

}  // namespace
}  // namespace tilewright
