// Databases that somebody made to do harm, or that were damaged in ways nobody meant: each is refused in one
// sentence, whatever asks, within bounds that do not grow with what the file claims to hold.
#include "wisdom/wisdom_database.hpp"

namespace tilewright {
namespace {

class WisdomHostileTest : public WisdomStoreTest {
 protected:
  // Refused by readers, writers and lookups; a program that never named it goes on.
  void expect_refused(const std::string& file, const std::string& reason) {
    for (const Mode mode : {Mode::read, Mode::write}) {
      const std::string said = refusal(file, mode);
      EXPECT_NE(said.find(reason), std::string::npos) << said;
      EXPECT_EQ(said.find('\n'), std::string::npos) << said;
    }
    EXPECT_THROW(lookup(Wisdom({file}, "Abacus 1"), problem(8, 8, 8), Isa::avx512), Error);
    int reports = 0;
    const Wisdom unnamed({{file, false}}, "Abacus 1", [&](const std::string&) { ++reports; });
    for (int i = 0; i < 2; ++i) EXPECT_TRUE(lookup(unnamed, problem(8, 8, 8), Isa::avx512).empty());
    EXPECT_EQ(reports, 1);
  }

  std::string made(const std::string& name, const std::string& change) {
    WisdomStore(path(name), Mode::write).put(record(problem(8, 8, 8), 1));
    if (!change.empty()) sql(path(name), change);
    return path(name);
  }
};

constexpr const char* endless =
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n";

TEST_F(WisdomHostileTest, NothingStandsBesideTheTables) {
  expect_refused(
      made("trigger", "CREATE TRIGGER wipe AFTER INSERT ON records BEGIN DELETE FROM records; END"),
      "trigger 'wipe'");
  expect_refused(
      made("view", std::string("ALTER TABLE records RENAME TO old; CREATE VIEW records AS ") + endless),
      "table 'old'");
  expect_refused(made("models", std::string("DROP TABLE models; CREATE VIEW models AS ") + endless),
                 "view 'models'");
  expect_refused(made("other", std::string("CREATE VIEW other AS ") + endless), "view 'other'");
  expect_refused(made("table", "CREATE TABLE bookmarks (url TEXT)"), "table 'bookmarks'");
  expect_refused(made("index", "CREATE INDEX slow ON records (hex(hex(config)))"), "index 'slow'");
  expect_refused(made("column", "ALTER TABLE records ADD COLUMN x AS (hex(config))"), "table 'records'");
  expect_refused(made("name", "CREATE TABLE \"two\nlines\x1b[2J\" (x)"), "table 'two lines\\x1b[2J'");
  expect_refused(made("lacking", "DROP TABLE kinds"), "lacks the table 'kinds'");
  expect_refused(made("virtual", "DROP TABLE kinds; CREATE VIRTUAL TABLE kinds USING fts5(kind_key)"),
                 "'kinds");
}

TEST_F(WisdomHostileTest, OlderSchemasHavePlainTables) {
  const std::string version = "PRAGMA application_id = 1417115507; PRAGMA user_version = 1;";
  sql(path("view"), std::string("CREATE VIEW records AS ") + endless + ";" + version);
  expect_refused(path("view"), "view 'records'");
  sql(path("computed"),
      "CREATE TABLE records (id INTEGER PRIMARY KEY, family TEXT, problem AS (hex(family)));" + version);
  expect_refused(path("computed"), "computed columns");
  sql(path("none"), "CREATE TABLE kinds (id INTEGER PRIMARY KEY);" + version);
  expect_refused(path("none"), "lacks the table 'records'");
}

TEST_F(WisdomHostileTest, TextsAreUtf8AndOfTheirSize) {
  for (const std::string column : {"device", "problem", "config", "extra", "objective"}) {
    const std::string file = made(column, "UPDATE records SET " + column + " = CAST(x'41ff42' AS TEXT)");
    EXPECT_NE(refusal(file, Mode::read).find(fmt::format("a '{}' that is not UTF-8", column)),
              std::string::npos);
  }
  EXPECT_THROW(lookup(Wisdom({path("problem")}, "Abacus 1"), problem(8, 8, 8), Isa::avx512), Error);
  const std::string huge = made("huge", "UPDATE records SET extra = hex(zeroblob(3000000))");
  EXPECT_NE(refusal(huge, Mode::read).find("more than 4 MiB"), std::string::npos);
}

TEST_F(WisdomHostileTest, SizesAndTimesThatNobodyMeasuredAreNone) {
  const std::string sizes = made("sizes", "UPDATE records SET block = -9223372036854775807 - 1");
  EXPECT_THROW(lookup(Wisdom({sizes}, "Abacus 1"), problem(8, 8, 8), Isa::avx512), Error);
  const std::string times =
      made("times",
           "UPDATE records SET seconds = -1, seconds_high = 9e999, samples = -5, default_seconds = -9e999");
  const auto records = all(times);
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].seconds, 0);
  EXPECT_EQ(records[0].seconds_high, 0);
  EXPECT_EQ(records[0].samples, 0);
  EXPECT_FALSE(records[0].default_seconds.has_value());
  const auto hits = lookup(Wisdom({times}, "Abacus 1"), problem(8, 8, 8), Isa::avx512);
  ASSERT_EQ(hits.size(), 1u);
  EXPECT_FALSE(hits[0].recorded.well_measured());
}

// Copying and writing JSON goes as deep as it is nested.
TEST_F(WisdomHostileTest, JsonThatIsNestedWithoutEndIsNone) {
  const std::string deep = std::string(200000, '[') + std::string(200000, ']');
  for (const std::string column : {"extra", "config", "metrics"}) {
    const std::string file =
        made("deep" + column, "UPDATE records SET " + column + " = '{\"a\":" + deep + "}'");
    const auto records = all(file);
    ASSERT_EQ(records.size(), 1u);
    EXPECT_LT(to_json(records[0]).dump().size(), 2000u) << column;
    for (const auto& hit : Wisdom({file}, "Abacus 1").records()) EXPECT_EQ(hit.device, "Abacus 1");
    EXPECT_NO_THROW((void)Wisdom({file}, "Abacus 1")
                        .offer({"gemm_small_cpu", to_string(Isa::avx512), problem(8, 8, 8)},
                               [](const WisdomAnswer& answer) {
                                 (void)answer.config.dump();
                                 return true;
                               }));
  }
}

// Pages of a table that lead to the same pages over and over: more rows than anybody could read.
TEST_F(WisdomHostileTest, ATreeThatLeadsBackIsNotReadForEver) {
  constexpr std::size_t page = 4096, cells = 400, levels = 4;
  const std::string file = made("tree", "");
  sqlite3* connection = nullptr;
  ASSERT_EQ(sqlite3_open(file.c_str(), &connection), SQLITE_OK);
  std::size_t root = 0;
  sqlite3_exec(
      connection, "SELECT rootpage FROM sqlite_master WHERE name = 'records'",
      [](void* to, int, char** row, char**) {
        *static_cast<std::size_t*>(to) = std::stoul(row[0]);
        return 0;
      },
      &root, nullptr);
  sqlite3_close(connection);
  std::string bytes = bytes_of(file);
  const auto put = [](std::string& to, std::size_t at, std::size_t value, int count) {
    for (int i = 0; i < count; ++i) to[at + std::size_t(i)] = char(value >> 8 * (count - 1 - i));
  };
  const auto inner = [&](std::size_t child) {
    std::string made(page, '\0');
    made[0] = 5;  // an inner page of a table
    put(made, 3, cells, 2);
    const std::size_t content = page - 5 * cells;
    put(made, 5, content, 2);
    put(made, 8, child, 4);
    for (std::size_t i = 0; i < cells; ++i) {
      put(made, 12 + 2 * i, content + 5 * i, 2);
      put(made, content + 5 * i, child, 4);
      made[content + 5 * i + 4] = char(i % 100);
    }
    return made;
  };
  std::size_t pages = bytes.size() / page;
  bytes += bytes.substr((root - 1) * page, page);  // the leaf
  ++pages;
  for (std::size_t level = 1; level < levels; ++level) bytes += inner(pages++);
  bytes.replace((root - 1) * page, page, inner(pages));
  put(bytes, 28, pages, 4);
  std::ofstream(file, std::ios::binary) << bytes;

  EXPECT_NE(refusal(file, Mode::read).find("damaged"), std::string::npos);
  EXPECT_THROW(WisdomStore(file, Mode::write).count(), Error);
  const Wisdom wisdom({file}, "Abacus 1");
  EXPECT_THROW(wisdom.records(), Error);
  EXPECT_THROW((void)wisdom.records_of("lu"), Error);
}

}  // namespace
}  // namespace tilewright
