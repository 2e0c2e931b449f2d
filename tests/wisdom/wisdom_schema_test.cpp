// Files that are not a wisdom database of this version: older ones are upgraded with all that they held;
// newer, foreign and damaged ones, and those that may not be written, are refused with the reason and left
// alone.
#include <sys/stat.h>

#include "wisdom/wisdom_database.hpp"

namespace tilewright {
namespace {

using WisdomSchemaTest = WisdomStoreTest;

// The tables of the first schema, as they were.
constexpr const char* version_1 = R"(
CREATE TABLE records (id INTEGER PRIMARY KEY, family TEXT, problem TEXT, config TEXT, device TEXT,
  source_hash TEXT, compiler TEXT, objective TEXT, seconds REAL, seconds_low REAL, seconds_high REAL,
  samples INTEGER, verdict TEXT, time TEXT);
PRAGMA application_id = 1417115507;
PRAGMA user_version = 1;
)";

TEST_F(WisdomSchemaTest, AnOlderSchemaIsUpgraded) {
  ASSERT_EQ(wisdom_application_id, 1417115507);
  for (const Mode mode : {Mode::read, Mode::write}) {
    const std::string name = path(mode == Mode::read ? "read" : "write");
    std::string rows = version_1;
    for (int m = 1; m <= 50; ++m) {
      const WisdomRecord r = record(problem(m, 8, 8), m);
      rows += fmt::format(
          "INSERT INTO records VALUES ({}, '{}', '{}', '{}', '{}', '{}', 'GNU 12', 'time', 1e-6, 0.9e-6, "
          "1.1e-6, "
          "11, 'passed', '2016-01-01T00:00:00Z');",
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
    const auto hits = lookup(wisdom, problem(33, 8, 8), Isa::avx512);
    ASSERT_FALSE(hits.empty());
    EXPECT_EQ(hits[0].match, WisdomMatch::exact);
    EXPECT_EQ(hits[0].config.nr, 33);
    EXPECT_EQ(hits[1].match, WisdomMatch::near_shape);
    EXPECT_FALSE(all(name)[0].default_seconds.has_value());
  }
}

// Likewise of the second, filled as it was by a build whose records had energy and metrics as other keys.
constexpr const char* version_2 = R"(
CREATE TABLE kinds (
  id INTEGER PRIMARY KEY,
  kind_key TEXT NOT NULL, objective TEXT NOT NULL, source_hash TEXT NOT NULL, device TEXT NOT NULL,
  UNIQUE (kind_key, objective, source_hash, device)
);
CREATE TABLE records (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  family TEXT NOT NULL, problem TEXT NOT NULL, config TEXT NOT NULL,
  device TEXT NOT NULL, driver TEXT NOT NULL, source_hash TEXT NOT NULL, compiler TEXT NOT NULL,
  objective TEXT NOT NULL,
  seconds REAL NOT NULL, seconds_low REAL NOT NULL, seconds_high REAL NOT NULL, samples INTEGER NOT NULL,
  default_seconds REAL, candidates INTEGER,
  verdict TEXT NOT NULL, reason TEXT NOT NULL, time TEXT NOT NULL, extra TEXT NOT NULL,
  exact_key TEXT NOT NULL, variant_key TEXT NOT NULL, kind INTEGER NOT NULL, cell INTEGER NOT NULL,
  m INTEGER NOT NULL, n INTEGER NOT NULL, k INTEGER NOT NULL, block INTEGER NOT NULL, traits INTEGER NOT NULL
);
CREATE UNIQUE INDEX records_by_identity ON records (exact_key, objective, device, variant_key);
CREATE INDEX records_by_cell ON records (kind, cell, m, n, k, block, traits);
PRAGMA application_id = 1417115507;
PRAGMA user_version = 2;
)";

std::string row_of_version_2(int id, const WisdomRecord& r, const std::string& extra) {
  return fmt::format(
      "INSERT INTO kinds VALUES ({0}, 'kind {0}', 'time', 'hash', 'x');"
      "INSERT INTO records VALUES ({0}, '{1}', '{2}', '{3}', '{4}', '580.1', '{5}', 'GNU 12', 'time', 1e-6, "
      "0.9e-6, 1.1e-6, 11, 2e-6, 100, '{6}', '{7}', '2016-01-01T00:00:00Z', '{8}', 'exact {0}', '', {0}, 7, "
      "1, 2, 3, 0, 0);",
      id, r.family, r.problem, r.config.dump(), r.device, r.source_hash, r.verdict, r.reason, extra);
}

TEST_F(WisdomSchemaTest, TheSecondSchemaIsUpgradedWithAllItHeld) {
  for (const Mode mode : {Mode::read, Mode::write}) {
    const std::string name = path(mode == Mode::read ? "read" : "write");
    WisdomRecord wrong = record(problem(8, 8, 8), 2);
    wrong.verdict = "failed", wrong.reason = "C[3] is NaN";
    sql(name,
        version_2 +
            row_of_version_2(1, record(problem(8, 8, 8), 1),
                             R"({"energy_j": 0.5, "metrics": {"clock_mhz_low": 2000}, "regret": 0.1})") +
            row_of_version_2(2, wrong, "{}") + row_of_version_2(3, record(problem(9, 8, 8), 3), "no JSON"));
    WisdomStore store(name, mode);
    const auto records = all(name);
    ASSERT_EQ(records.size(), 3u);
    EXPECT_EQ(records[0].driver, "580.1");
    EXPECT_EQ(records[0].default_seconds, 2e-6);
    EXPECT_EQ(records[0].candidates, 100);
    EXPECT_EQ(records[0].energy_j, 0.5);
    EXPECT_EQ(records[0].metrics["clock_mhz_low"], 2000);
    EXPECT_EQ(records[0].extra, nlohmann::json({{"regret", 0.1}}));
    EXPECT_FALSE(records[0].error.has_value());
    EXPECT_EQ(records[1].reason, "C[3] is NaN");
    EXPECT_EQ(records[2].config["nr"], 3);
    const auto hits = lookup(Wisdom({name}, "Abacus 1"), problem(8, 8, 8), Isa::avx512);
    ASSERT_EQ(hits.size(), 2u);  // its keys were made anew
    EXPECT_EQ(hits[0].match, WisdomMatch::exact);
    EXPECT_EQ(hits[0].config.nr, 1);
  }
}

// The third kept c and t of real types apart: the better measured of the two stays, under the common key.
TEST_F(WisdomSchemaTest, TheThirdSchemaIsUpgradedToKeysWithoutConjugatesOfRealNumbers) {
  for (const bool conjugate_is_better : {true, false}) {
    const std::string name = path(conjugate_is_better ? "conjugate" : "transpose");
    auto trans = problem(8, 8, 8);
    trans.op_b = Op::trans;
    auto conj = trans;
    conj.op_b = Op::conj_trans;
    WisdomRecord first = record(trans, 1), second = record(conj, 2);
    (conjugate_is_better ? first : second).samples = 1;
    WisdomStore(name, Mode::write).put(first);
    sql(name, "UPDATE records SET exact_key = 'gemm_small_cpu avx512 f64 nt 8 8 8'");
    WisdomStore(name, Mode::write).put(second);
    sql(name, "UPDATE records SET exact_key = exact_key || id; DROP TABLE models; PRAGMA user_version = 3;");
    ASSERT_EQ(WisdomStore(name, Mode::write).count(), 1);
    EXPECT_EQ(found(Wisdom({name}, "Abacus 1"), conj), std::vector<int>{conjugate_is_better ? 2 : 1});
    EXPECT_EQ(found(Wisdom({name}, "Abacus 1"), trans), std::vector<int>{conjugate_is_better ? 2 : 1});
  }
}

// The fourth, filled as builds did whose hashes were taken of all kernels in one folder.
constexpr const char* version_4 = R"(
CREATE TABLE kinds (
  id INTEGER PRIMARY KEY,
  kind_key TEXT NOT NULL, objective TEXT NOT NULL, source_hash TEXT NOT NULL, device TEXT NOT NULL,
  m_low INTEGER NOT NULL, m_high INTEGER NOT NULL, n_low INTEGER NOT NULL, n_high INTEGER NOT NULL,
  k_low INTEGER NOT NULL, k_high INTEGER NOT NULL,
  UNIQUE (kind_key, objective, source_hash, device)
);
CREATE TABLE records (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  family TEXT NOT NULL, problem TEXT NOT NULL, config TEXT NOT NULL,
  device TEXT NOT NULL, driver TEXT NOT NULL, source_hash TEXT NOT NULL, compiler TEXT NOT NULL,
  objective TEXT NOT NULL,
  seconds REAL NOT NULL, seconds_low REAL NOT NULL, seconds_high REAL NOT NULL, samples INTEGER NOT NULL,
  default_seconds REAL, candidates INTEGER,
  error REAL, error_bound REAL, energy_j REAL, metrics TEXT NOT NULL,
  verdict TEXT NOT NULL, reason TEXT NOT NULL, time TEXT NOT NULL, extra TEXT NOT NULL,
  exact_key TEXT NOT NULL, variant_key TEXT NOT NULL, kind INTEGER NOT NULL, cell INTEGER NOT NULL,
  m INTEGER NOT NULL, n INTEGER NOT NULL, k INTEGER NOT NULL, block INTEGER NOT NULL, traits INTEGER NOT NULL
);
CREATE UNIQUE INDEX records_by_identity ON records (exact_key, objective, device, variant_key);
CREATE INDEX records_by_cell ON records (kind, cell, m, n, k, block, traits);
PRAGMA application_id = 1417115507;
PRAGMA user_version = 4;
)";

std::string row_of_version_4(int id, const WisdomRecord& r) {
  return fmt::format(
      "INSERT INTO records VALUES ({0}, '{1}', '{2}', '{3}', '{4}', '580.1', '{5}', 'GNU 12', 'time', 1e-6, "
      "0.9e-6, 1.1e-6, 11, 2e-6, 100, 1e-15, NULL, 0.5, '{{\"clock_mhz_low\": 2000}}', 'passed', '', "
      "'2016-01-01T00:00:00Z', '{{\"regret\": 0.1}}', 'exact {0}', '', {0}, 7, 1, 2, 3, 0, 0);",
      id, r.family, r.problem, r.config.dump(), r.device, r.source_hash);
}

TEST_F(WisdomSchemaTest, TheFourthSchemaIsUpgradedAndItsRecordsStayValid) {
  WisdomRecord valid = record(problem(8, 8, 8), 1), stale = record(problem(8, 8, 9), 2),
               other = record(problem(8, 8, 8), 3);
  valid.source_hash = "3c6df4eac6cab0cf";
  stale.source_hash = "of older kernels";
  other.family = "lu_panel", other.problem = "lu:f64:m=64,n=64", other.source_hash = "x";
  sql(file(),
      version_4 + row_of_version_4(1, valid) + row_of_version_4(2, stale) + row_of_version_4(3, other));
  ASSERT_EQ(WisdomStore(file(), Mode::write).count(), 3);
  const auto records = all(file());
  EXPECT_EQ(records[0].source_hash, gemm_small_cpu_source_hash)
      << "of the kernels of today, or the list of renamed hashes has served its time";
  EXPECT_EQ(records[0].energy_j, 0.5);
  EXPECT_EQ(records[0].error, 1e-15);
  EXPECT_FALSE(records[0].error_bound.has_value());
  EXPECT_EQ(records[0].metrics["clock_mhz_low"], 2000);
  EXPECT_EQ(records[0].extra, nlohmann::json({{"regret", 0.1}}));
  EXPECT_TRUE(records[1].dropped);
  EXPECT_EQ(records[2].problem, other.problem);
  EXPECT_EQ(found(Wisdom({file()}, "Abacus 1"), problem(8, 8, 8)), std::vector<int>{1});
  EXPECT_TRUE(Wisdom({file()}, "").models().empty());
}

// The fifth had models without variants.
TEST_F(WisdomSchemaTest, TheFifthSchemaIsUpgradedWithItsModels) {
  for (const Mode mode : {Mode::read, Mode::write}) {
    const std::string name = path(mode == Mode::read ? "read" : "write");
    sql(name, version_4 + row_of_version_4(1, record(problem(8, 8, 8), 7)) + R"(
CREATE TABLE models (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  model TEXT NOT NULL, operation TEXT NOT NULL, device TEXT NOT NULL, architecture TEXT NOT NULL,
  driver TEXT NOT NULL, library TEXT NOT NULL, library_version TEXT NOT NULL, dtype TEXT NOT NULL,
  coefficients TEXT NOT NULL, residual REAL, r_squared REAL, spread REAL, samples INTEGER NOT NULL,
  source_hash TEXT NOT NULL, time TEXT NOT NULL, command TEXT NOT NULL, extra TEXT NOT NULL,
  identity TEXT NOT NULL UNIQUE
);
INSERT INTO models VALUES (1, 'transfer', 'gemm', 'a card', '', '580', '', '', '', '{"row_s": 1e-7}', 0.1, 0.9, NULL,
  12, '', '2016-01-01T00:00:00Z', 'tilewright calibrate', '{}', 'model|transfer|gemm|a card|580|||');
PRAGMA user_version = 5;)");
    EXPECT_EQ(WisdomStore(name, mode).count(), 1);
    const Wisdom wisdom({name}, "Abacus 1");
    EXPECT_EQ(found(wisdom, problem(8, 8, 8)), std::vector<int>{7});
    const auto models = wisdom.models();
    ASSERT_EQ(models.size(), 1u);
    EXPECT_EQ(models[0].coefficients.at("row_s"), 1e-7);
    EXPECT_EQ(models[0].residual, 0.1);
    EXPECT_EQ(models[0].samples, 12);
    EXPECT_EQ(models[0].variant, "");
    EXPECT_FALSE(WisdomStore(name, Mode::write).merge(models[0])) << "its identity is today's";
  }
}

TEST_F(WisdomSchemaTest, SeveralProcessesUpgradeAtOnce) {
  sql(file(), version_1);
  std::vector<pid_t> children;
  for (int i = 0; i < 4; ++i)
    children.push_back(
        child([&, i] { WisdomStore(file(), Mode::write).put(record(problem(1 + i, 8, 8), 1)); }));
  for (const pid_t id : children) EXPECT_EQ(status_of(id), 0);
  EXPECT_EQ(WisdomStore(file(), Mode::read).count(), 4);
}

TEST_F(WisdomSchemaTest, WrongFilesAreRefusedAndLeftAlone) {
  for (const Mode mode : {Mode::read, Mode::write}) {
    const auto name = [&](const char* what) { return path(what + std::to_string(int(mode))); };
    std::ofstream(name("text")) << std::string(5000, 'x');
    EXPECT_NE(refusal(name("text"), mode).find("not a wisdom database"), std::string::npos);

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

TEST_F(WisdomSchemaTest, TroubleWithAFileThatWasNotNamedIsReportedOnce) {
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
  EXPECT_THROW(lookup(named, problem(8, 8, 8), Isa::avx512), Error);
}

TEST_F(WisdomSchemaTest, AMissingDatabaseIsEmptyUntilItIsMade) {
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
TEST_F(WisdomSchemaTest, FilesThatMayNotBeWrittenAreRead) {
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

// It is read as it is brought up in memory, as often as it changes.
TEST_F(WisdomSchemaTest, AnOlderSchemaThatMayNotBeWrittenServes) {
  const WisdomRecord r = record(problem(8, 8, 8), 1);
  const std::string row = row_of_version_2(1, r, "{}"),
                    other = row_of_version_2(2, record(problem(9, 8, 8), 2), "{}");
  sql(file(), version_2 + row);
  const std::string before = bytes_of(file());
  ASSERT_EQ(chmod(file().c_str(), 0444), 0);
  ASSERT_EQ(chmod(folder_.path().c_str(), 0555), 0);
  const int status = status_of(child([&] {
    const uid_t user = geteuid();
    constexpr uid_t nobody = 65534;
    if (user == 0 && seteuid(nobody) != 0) throw std::runtime_error("seteuid");
    const Wisdom wisdom({file()}, "Abacus 1");
    if (found(wisdom, problem(8, 8, 8)) != std::vector<int>{1}) throw std::runtime_error("not found");
    if (wisdom.records().size() != 1) throw std::runtime_error("not listed");
    if (user != 0) return;
    if (bytes_of(file()) != before || seteuid(0) != 0) throw std::runtime_error("it was written");
    sql(file(), other);
    if (seteuid(nobody) != 0 || found(wisdom, problem(9, 8, 8)) != std::vector<int>{2, 1})
      throw std::runtime_error("what came later is not found");
  }));
  chmod(folder_.path().c_str(), 0755);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace tilewright
