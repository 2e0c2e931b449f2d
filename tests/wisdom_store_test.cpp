// The user's wisdom database: what it keeps, how lookups over it rank, what happens when many write, when one
// is killed, when the file is older, foreign, damaged or may not be written. How fast it is, is measured by
// wisdom_speed_test.
#include <signal.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <functional>

#include "wisdom/schema.hpp"
#include "wisdom/store.hpp"
#include "wisdom/wisdom.hpp"
#include "wisdom_files.hpp"

namespace tilewright {
namespace {

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
    for (const WisdomHit& hit : wisdom.lookup(p, Isa::avx512)) nrs.push_back(hit.config.nr);
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

TEST_F(WisdomStoreTest, KeepsEveryField) {
  WisdomRecord r = record(problem(8, 8, 8), 3);
  r.driver = "580.1";
  r.extra["energy_j"] = 0.5;
  {
    WisdomStore store(path("new/folder/w.sqlite"), Mode::write);
    store.put(r);
    WisdomRecord wrong = record(problem(8, 8, 8), 4);
    wrong.verdict = "failed", wrong.reason = "C[3] is NaN";
    store.put(wrong);
  }
  const auto records = all(path("new/folder/w.sqlite"));
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(to_json(records[0]), to_json(r));
  EXPECT_EQ(records[1].verdict, "failed");
  EXPECT_EQ(records[1].reason, "C[3] is NaN");
  EXPECT_EQ(parse_record(records[0].text)->extra["energy_j"], 0.5);
}

TEST_F(WisdomStoreTest, KeepsOneRecordPerIdentity) {
  WisdomStore store(file(), Mode::write);
  store.put(record(problem(8, 8, 8), 1));
  GemmProblem p = problem(8, 8, 8);
  p.batch_count = 7;  // says nothing about the config
  store.put(record(p, 2));
  EXPECT_EQ(store.count(), 1);
  p.lda = 20;
  p.stride_a = 160;
  store.put(record(p, 3));
  store.put(record(problem(8, 8, 8), 4, "Babbage 2"));
  WisdomRecord energy = record(problem(8, 8, 8), 5);
  energy.objective = "energy";
  store.put(energy);
  EXPECT_EQ(store.count(), 4);
  const Wisdom wisdom({file()}, "Abacus 1");
  EXPECT_EQ(found(wisdom, problem(8, 8, 8)), (std::vector<int>{3, 2, 4}));  // not the one for energy
}

TEST_F(WisdomStoreTest, OtherFamiliesAreKeptAndNotFound) {
  WisdomStore store(file(), Mode::write);
  WisdomRecord other = record(problem(8, 8, 8), 1);
  other.family = "gemm_small";
  other.config = {{"tile_m", 8}, {"stages", 3}};
  store.put(other);
  EXPECT_EQ(store.count(), 1);
  EXPECT_TRUE(found(Wisdom({file()}, "Abacus 1"), problem(8, 8, 8)).empty());
  EXPECT_EQ(all(file())[0].config, other.config);
}

TEST_F(WisdomStoreTest, FailedConfigsAreNeverFound) {
  WisdomStore store(file(), Mode::write);
  store.put(record(problem(8, 8, 8), 1));
  WisdomRecord wrong = record(problem(8, 8, 8), 2);
  wrong.verdict = "failed";
  store.put(wrong);
  EXPECT_EQ(store.count(), 2);
  EXPECT_EQ(found(Wisdom({file()}, "Abacus 1"), problem(8, 8, 8)), std::vector<int>{1});
  EXPECT_EQ(found(Wisdom({file()}, "Abacus 1"), problem(8, 8, 9)), std::vector<int>{1});
}

TEST_F(WisdomStoreTest, RanksShapesAsJsonLinesDo) {
  WisdomStore store(file(), Mode::write);
  for (const auto& [m, nr] : {std::pair{16, 1}, {20, 2}, {14, 3}, {60, 4}})
    store.put(record(problem(m, 8, 8), nr));
  const Wisdom wisdom({file()}, "Abacus 1");
  const auto hits = wisdom.lookup(problem(22, 8, 8), Isa::avx512);
  ASSERT_EQ(hits.size(), 3u);
  EXPECT_EQ(hits[0].match, WisdomMatch::near_shape);
  EXPECT_EQ(hits[0].config.nr, 2);
  EXPECT_EQ(hits[1].config.nr, 3);
  EXPECT_EQ(hits[2].config.nr, 1);
}

TEST_F(WisdomStoreTest, RanksDevicesAsJsonLinesDo) {
  WisdomStore store(file(), Mode::write);
  store.put(record(problem(9, 9, 9), 1, "Babbage 2"));
  store.put(record(problem(8, 8, 8), 2, "Babbage 2"));
  store.put(record(problem(9, 9, 9), 3));
  store.put(record(problem(8, 8, 8), 4));
  store.put(record(problem(8, 8, 8), 5, "Abacus 9"));
  const Wisdom wisdom({file()}, "Abacus 1");
  EXPECT_EQ(found(wisdom, problem(8, 8, 8)), (std::vector<int>{4, 3, 5, 2, 1}));  // a sibling before others
  const auto hits = wisdom.lookup(problem(8, 8, 8), Isa::avx512);
  EXPECT_EQ(hits[0].match, WisdomMatch::exact);
  EXPECT_EQ(hits[1].match, WisdomMatch::near_shape);
  for (std::size_t i = 2; i < hits.size(); ++i) EXPECT_EQ(hits[i].match, WisdomMatch::near_device);
  EXPECT_TRUE(wisdom.lookup(problem(8, 8, 8), Isa::avx2).empty());  // no device of that family is known
}

// Against the plain definition, on records strewn thinly and thickly.
TEST_F(WisdomStoreTest, FindsTheNearestShape) {
  for (const int step : {1, 2, 7}) {
    const std::string name = path(std::to_string(step));
    WisdomStore store(name, Mode::write);
    std::vector<GemmProblem> known;
    store.at_once([&] {
      for (int m = 1; m <= 40; m += step)
        for (int n = 2; n <= 40; n += step)
          for (int k = 3; k <= 40; k += step) {
            known.push_back(problem(m, n, k));
            store.put(record(known.back(), 1 + int(known.size())));
          }
    });
    const Wisdom wisdom({name}, "Abacus 1");
    for (const auto& asked :
         {problem(41, 41, 41), problem(8, 45, 8), problem(64, 5, 23), problem(30, 7, 44)}) {
      const auto distance = [&](const GemmProblem& p) {
        return shape_distance(asked, p) + trait_penalty(asked, p, "avx512");
      };
      double best = 10;
      for (const auto& p : known)
        if (shape_distance(asked, p) <= shape_radius) best = std::min(best, distance(p));
      const auto hits = wisdom.lookup(asked, Isa::avx512);
      if (best == 10) {
        EXPECT_TRUE(hits.empty());
        continue;
      }
      ASSERT_FALSE(hits.empty()) << to_string(asked) << " step " << step;
      const double reached = distance(known[std::size_t(hits[0].config.nr - 2)]);
      EXPECT_LE(reached, best + 0.1) << to_string(asked) << " step " << step;
      if (step == 7) {
        EXPECT_DOUBLE_EQ(reached, best) << to_string(asked);  // few enough to look at all
      }
    }
  }
}

TEST_F(WisdomStoreTest, AChangedSourceDropsItsRecordsFromLookupsOnly) {
  WisdomStore store(file(), Mode::write);
  WisdomRecord old = record(problem(8, 8, 8), 1);
  old.source_hash = "of older kernels";
  store.put(old);
  store.put(record(problem(9, 9, 9), 2));
  const Wisdom wisdom({file()}, "Abacus 1");
  EXPECT_EQ(found(wisdom, problem(8, 8, 8)), std::vector<int>{2});
  EXPECT_EQ(found(wisdom, problem(9, 9, 9)), std::vector<int>{2});
  ASSERT_EQ(wisdom.records().size(), 2u);
  EXPECT_TRUE(is_stale(wisdom.records()[0]));
  EXPECT_FALSE(is_stale(wisdom.records()[1]));
}

TEST_F(WisdomStoreTest, ShippedLinesAreNotReadWhileTheDatabaseAnswers) {
  WisdomStore(file(), Mode::write).put(record(problem(8, 8, 8), 1));
  std::ofstream(path("shipped.jsonl")) << "this is no JSON\n";
  const Wisdom wisdom({file(), path("shipped.jsonl")}, "Abacus 1");
  const auto hit = wisdom.find(problem(8, 8, 8), Isa::avx512, [](const auto&) { return true; });
  ASSERT_TRUE(hit.has_value());
  EXPECT_EQ(hit->match, WisdomMatch::exact);
  EXPECT_THROW(wisdom.lookup(problem(8, 8, 9), Isa::avx512), Error);
}

TEST_F(WisdomStoreTest, AnExactShippedLineBeatsANearRecord) {
  WisdomStore(file(), Mode::write).put(record(problem(8, 8, 9), 1));
  WisdomRecord shipped = record(problem(8, 8, 8), 2);
  shipped.source_hash = "of older kernels";  // which does not drop what is shipped
  std::ofstream(path("shipped.jsonl")) << to_json(shipped).dump() << '\n';
  EXPECT_EQ(found(Wisdom({file(), path("shipped.jsonl")}, "Abacus 1"), problem(8, 8, 8)),
            (std::vector<int>{2, 1}));
}

TEST_F(WisdomStoreTest, TheBetterMeasuredWins) {
  const auto winner = [&](const WisdomRecord& x, const WisdomRecord& y) {
    std::filesystem::remove(file());
    WisdomStore store(file(), Mode::write);
    EXPECT_TRUE(store.merge(x));
    EXPECT_EQ(store.merge(y), is_better(y, x));
    int nr = 0;
    store.each([&](const WisdomRecord& r) { nr = r.config["nr"]; });
    return nr;
  };
  const WisdomRecord first = record(problem(8, 8, 8), 1);
  WisdomRecord second = record(problem(8, 8, 8), 2);
  EXPECT_EQ(winner(first, second), 1);  // equally good: what is there stays
  second.time = "2026-11-22T10:00:00Z";
  EXPECT_EQ(winner(first, second), 2);  // newer
  EXPECT_EQ(winner(second, first), 2);
  second.samples = 3;  // fewer, which counts before the date
  EXPECT_EQ(winner(first, second), 1);
  EXPECT_EQ(winner(second, first), 1);
  second.seconds_low = 0.999e-6, second.seconds_high = 1.001e-6;  // but much tighter
  EXPECT_EQ(winner(first, second), 2);
  second.source_hash = "older";  // counts before all of them
  EXPECT_EQ(winner(first, second), 1);
  EXPECT_EQ(winner(second, first), 1);
  second.source_hash = first.source_hash;
  second.verdict = "failed";
  EXPECT_FALSE(is_better(second, first));
  EXPECT_TRUE(is_better(first, second));
}

TEST_F(WisdomStoreTest, SeveralProcessesWriteAndReadAtOnce) {
  constexpr int writers = 5, each = 60;
  std::vector<pid_t> children;
  for (int w = 0; w < writers; ++w)
    children.push_back(child([&] {  // the file itself is made by whoever comes first
      WisdomStore store(file(), Mode::write);
      for (int i = 0; i < each; ++i) store.put(record(problem(1 + w, 1 + i, 8), 1 + w));
    }));
  for (int r = 0; r < 2; ++r)
    children.push_back(child([&] {
      const Wisdom wisdom({file()}, "Abacus 1");
      for (int i = 0; i < 20000; ++i) {
        const auto hits = wisdom.lookup(problem(writers, each, 8), Isa::avx512);
        if (!hits.empty() && hits[0].match == WisdomMatch::exact) return;
        usleep(1000);
      }
      throw std::runtime_error("a reader never saw the last record");
    }));
  for (const pid_t id : children) EXPECT_EQ(status_of(id), 0);
  EXPECT_EQ(WisdomStore(file(), Mode::read).count(), writers * each);
}

TEST_F(WisdomStoreTest, KilledWritersLoseNothingCommitted) {
  for (int round = 0; round < 8; ++round) {
    const std::string name = path(std::to_string(round));
    int reports[2];
    ASSERT_EQ(pipe(reports), 0);
    const pid_t id = child([&] {
      WisdomStore store(name, Mode::write);
      for (int i = 1;; ++i) {
        store.put(record(problem(1 + i % 64, 1 + i / 64, 8), 1 + i % 7));
        if (write(reports[1], &i, sizeof i) != sizeof i) return;
      }
    });
    close(reports[1]);
    int committed = 0, one = 0;
    while (committed < 5 + 13 * round && read(reports[0], &one, sizeof one) == sizeof one) committed = one;
    kill(id, SIGKILL);
    while (read(reports[0], &one, sizeof one) == sizeof one) committed = one;
    close(reports[0]);
    EXPECT_TRUE(WIFSIGNALED(status_of(id)));
    WisdomStore store(name, Mode::write);
    EXPECT_GE(store.count(), committed);
    EXPECT_LE(store.count(), committed + 1);
    store.put(record(problem(64, 64, 64), 1));
  }
}

TEST_F(WisdomStoreTest, AtOnceMeansAllOrNothing) {
  WisdomStore store(file(), Mode::write);
  EXPECT_THROW(store.at_once([&] {
    store.put(record(problem(8, 8, 8), 1));
    throw std::runtime_error("half-way");
  }),
               std::runtime_error);
  EXPECT_EQ(store.count(), 0);
  store.put(record(problem(8, 8, 8), 1));
  EXPECT_EQ(store.count(), 1);
}

TEST_F(WisdomStoreTest, AForkedChildReadsWithAConnectionOfItsOwn) {
  WisdomStore(file(), Mode::write).put(record(problem(8, 8, 8), 1));
  const Wisdom wisdom({file()}, "Abacus 1");
  EXPECT_EQ(found(wisdom, problem(8, 8, 8)), std::vector<int>{1});
  EXPECT_EQ(status_of(child([&] {
              if (found(wisdom, problem(8, 8, 8)) != std::vector<int>{1})
                throw std::runtime_error("not found");
            })),
            0);
  EXPECT_EQ(found(wisdom, problem(8, 8, 8)), std::vector<int>{1});
}

// The tables of the first schema, as they were.
constexpr const char* version_1 = R"(
CREATE TABLE records (id INTEGER PRIMARY KEY, family TEXT, problem TEXT, config TEXT, device TEXT,
  source_hash TEXT, compiler TEXT, objective TEXT, seconds REAL, seconds_low REAL, seconds_high REAL,
  samples INTEGER, verdict TEXT, time TEXT);
PRAGMA application_id = 1417115507;
PRAGMA user_version = 1;
)";

TEST_F(WisdomStoreTest, AnOlderSchemaIsUpgraded) {
  ASSERT_EQ(wisdom_application_id, 1417115507);
  for (const Mode mode : {Mode::read, Mode::write}) {
    const std::string name = path(mode == Mode::read ? "read" : "write");
    std::string rows = version_1;
    for (int m = 1; m <= 50; ++m) {
      const WisdomRecord r = record(problem(m, 8, 8), m);
      rows += fmt::format(
          "INSERT INTO records VALUES ({}, '{}', '{}', '{}', '{}', '{}', 'GNU 12', 'time', 1e-6, 0.9e-6, "
          "1.1e-6, "
          "11, 'passed', '2026-01-01T00:00:00Z');",
          m, r.family, r.problem, r.config.dump(), r.device, r.source_hash);
    }
    rows +=
        "INSERT INTO records VALUES (99, 'gemm_small_cpu', 'no problem', 'no config', 'x', '', '', 'time', "
        "1, "
        "1, 1, 1, 'passed', '');";
    sql(name, rows);
    WisdomStore store(name, mode);
    EXPECT_EQ(store.count(), 51);  // what no lookup can use is kept too
    const Wisdom wisdom({name}, "Abacus 1");
    const auto hits = wisdom.lookup(problem(33, 8, 8), Isa::avx512);
    ASSERT_FALSE(hits.empty());
    EXPECT_EQ(hits[0].match, WisdomMatch::exact);
    EXPECT_EQ(hits[0].config.nr, 33);
    EXPECT_EQ(hits[1].match, WisdomMatch::near_shape);
    EXPECT_FALSE(all(name)[0].default_seconds.has_value());
  }
}

TEST_F(WisdomStoreTest, SeveralProcessesUpgradeAtOnce) {
  sql(file(), version_1);
  std::vector<pid_t> children;
  for (int i = 0; i < 4; ++i)
    children.push_back(
        child([&, i] { WisdomStore(file(), Mode::write).put(record(problem(1 + i, 8, 8), 1)); }));
  for (const pid_t id : children) EXPECT_EQ(status_of(id), 0);
  EXPECT_EQ(WisdomStore(file(), Mode::read).count(), 4);
}

TEST_F(WisdomStoreTest, WrongFilesAreRefusedAndLeftAlone) {
  for (const Mode mode : {Mode::read, Mode::write}) {
    const auto name = [&](const char* what) { return path(what + std::to_string(int(mode))); };
    std::ofstream(name("text")) << std::string(5000, 'x');
    EXPECT_NE(refusal(name("text"), mode).find("no wisdom database"), std::string::npos);

    sql(name("foreign"), "CREATE TABLE bookmarks (url TEXT); INSERT INTO bookmarks VALUES ('x');");
    EXPECT_NE(refusal(name("foreign"), mode).find("another program"), std::string::npos);

    sql(name("newer"), std::string(version_1) + "PRAGMA user_version = 99;");
    EXPECT_NE(refusal(name("newer"), mode).find("newer"), std::string::npos);

    {
      WisdomStore store(name("cut"), Mode::write);
      store.at_once([&] {
        for (int m = 1; m <= 64; ++m) store.put(record(problem(m, 8, 8), 1));
      });
    }
    std::filesystem::resize_file(name("cut"), std::filesystem::file_size(name("cut")) / 2);
    EXPECT_NE(refusal(name("cut"), mode).find("damaged"), std::string::npos);

    std::filesystem::create_directory(name("folder"));
    EXPECT_NE(refusal(name("folder"), mode).find("folder"), std::string::npos);
  }
}

TEST_F(WisdomStoreTest, TroubleWithAFileThatWasNotNamedIsReportedOnce) {
  std::ofstream(file()) << std::string(5000, 'x');
  WisdomRecord shipped = record(problem(8, 8, 8), 2);
  std::ofstream(path("shipped.jsonl")) << to_json(shipped).dump() << '\n';
  std::vector<std::string> reports;
  const auto report = [&](const std::string& text) { reports.push_back(text); };
  const Wisdom wisdom({{file(), false}, {path("shipped.jsonl")}}, "Abacus 1", report);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(found(wisdom, problem(8, 8, 8)), std::vector<int>{2});
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_NE(reports[0].find(file()), std::string::npos);
  const Wisdom named({file(), path("shipped.jsonl")}, "Abacus 1");
  EXPECT_THROW(named.lookup(problem(8, 8, 8), Isa::avx512), Error);
}

TEST_F(WisdomStoreTest, AMissingDatabaseIsEmptyUntilItIsMade) {
  const Wisdom wisdom({file()}, "Abacus 1");
  EXPECT_TRUE(found(wisdom, problem(8, 8, 8)).empty());
  EXPECT_FALSE(std::filesystem::exists(file()));
  std::ofstream(file()).flush();  // as another process leaves it before its first transaction
  EXPECT_TRUE(found(wisdom, problem(8, 8, 8)).empty());
  EXPECT_EQ(std::filesystem::file_size(file()), 0u);
  WisdomStore(file(), Mode::write).put(record(problem(8, 8, 8), 1));
  EXPECT_EQ(found(wisdom, problem(8, 8, 8)), std::vector<int>{1});
}

// Permissions do not bind root, so a child without its rights does the work.
TEST_F(WisdomStoreTest, FilesThatMayNotBeWrittenAreRead) {
  WisdomStore(file(), Mode::write).put(record(problem(8, 8, 8), 1));
  ASSERT_EQ(chmod(file().c_str(), 0444), 0);
  ASSERT_EQ(chmod(folder_.path().c_str(), 0555), 0);
  const int status = status_of(child([&] {
    if (geteuid() == 0 && setuid(65534) != 0) throw std::runtime_error("setuid");
    if (found(Wisdom({file()}, "Abacus 1"), problem(8, 8, 8)) != std::vector<int>{1})
      throw std::runtime_error("not found");
    for (const std::string& target : {file(), path("other.sqlite")}) {
      bool refused = false;
      try {
        WisdomStore(target, Mode::write).put(record(problem(8, 8, 8), 1));
      } catch (const Error& error) {
        refused = std::string(error.what()).find(target) != std::string::npos;
      }
      if (!refused) throw std::runtime_error(target + " was written");
    }
  }));
  chmod(folder_.path().c_str(), 0755);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace tilewright
