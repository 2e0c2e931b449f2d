// The layout of a wisdom database: recognises, makes and upgrades its tables.
#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/input/printable.hpp"
#include "tilewright/types.hpp"
#include "wisdom/families.hpp"
#include "wisdom/session.hpp"

namespace tilewright {
namespace {

using sqlite::Connection;
using sqlite::Statement;

// One record per identity: the keys of key.hpp, objective and device. exact_key and the columns after it are
// computed from the others. Lookups read records_by_kind alone, whose entries name their kind by a number (0:
// failed, never found), so that a page holds many.
struct Part {
  const char *type, *name, *table;
  std::string sql;
};
std::vector<Part> parts() {
  return {{"table", "kinds", "kinds", R"(CREATE TABLE kinds (
  id INTEGER PRIMARY KEY,
  kind_key TEXT NOT NULL, objective TEXT NOT NULL, source_hash TEXT NOT NULL, device TEXT NOT NULL,
  UNIQUE (kind_key, objective, source_hash, device)
))"},
          {"table", "records", "records",
           fmt::format(R"(CREATE TABLE records (
  id INTEGER PRIMARY KEY AUTOINCREMENT, {},
  exact_key TEXT NOT NULL, variant_key TEXT NOT NULL, kind INTEGER NOT NULL,
  m INTEGER NOT NULL, n INTEGER NOT NULL, k INTEGER NOT NULL, block INTEGER NOT NULL, traits INTEGER NOT NULL
))",
                       column_definitions<WisdomRecord>())},
          {"table", "models", "models",
           fmt::format(R"(CREATE TABLE models (
  id INTEGER PRIMARY KEY AUTOINCREMENT, {},
  identity TEXT NOT NULL UNIQUE
))",
                       column_definitions<FittedModel>())},
          {"index", "records_by_identity", "records",
           "CREATE UNIQUE INDEX records_by_identity ON records (exact_key, objective, device, variant_key)"},
          {"index", "records_by_kind", "records",
           "CREATE INDEX records_by_kind ON records (kind, m, n, k, block, traits)"}};
}

[[noreturn]] void refuse(const Connection& connection, const std::string& reason) {
  throw Error(ErrorCode::io, "wisdom",
              fmt::format("wisdom = '{}': {}; it was not changed", connection.path(), reason));
}

// SQLite's own tables and indexes, whose names nobody else can use. Virtual tables have no root page.
bool is_own(const Statement& row) {
  return row.text(1).starts_with("sqlite_") && row.integer(4) > 0 &&
         (row.text(0) == "table" || row.text(0) == "index");
}

// A foreign name, fit for a message.
std::string shown(std::string_view name) {
  constexpr std::size_t most = 60;
  std::string line(name);
  std::replace(line.begin(), line.end(), '\n', ' ');
  return printable(line, most);
}

// Refuses foreign parts: they could run when the tables are used.
void require_parts(Connection& connection, bool is_current) {
  Statement rows(connection.handle(), connection.path(),
                 "SELECT type, name, tbl_name, sql, rootpage FROM sqlite_master");
  std::vector<Part> missing = parts();
  while (rows.step()) {
    if (is_own(rows)) continue;
    const auto is_row = [&](const Part& part) {
      return rows.text(0) == part.type && rows.text(1) == part.name && rows.text(2) == part.table &&
             (!is_current || rows.text(3) == part.sql) && rows.integer(4) > 0;
    };
    const auto part = std::find_if(missing.begin(), missing.end(), is_row);
    const bool is_older_index = !is_current && rows.text(0) == "index";  // goes with its table
    if (part == missing.end() && !is_older_index)
      refuse(connection, fmt::format("it contains the {} '{}', which is unknown to tilewright",
                                     shown(rows.text(0)), shown(rows.text(1))));
    if (part != missing.end()) missing.erase(part);
  }
  for (const Part& part : missing)
    if (is_current || std::string_view(part.name) == "records")
      refuse(connection, fmt::format("it lacks the {} '{}'", part.type, part.name));
}

// Refuses computed columns in older versions.
void require_plain_columns(Connection& connection) {
  for (const char* table : {"records", "models"})
    if (connection.integer(
            fmt::format("SELECT count(*) FROM pragma_table_xinfo('{}') WHERE hidden <> 0", table)) > 0)
      refuse(connection, fmt::format("its table '{}' has computed columns", table));
}

// All that a file of an older version holds.
struct Contents {
  std::vector<WisdomRecord> records;
  std::vector<FittedModel> models;
};

template <class S>
std::vector<S> rows_of(Connection& connection, const char* sql) {
  Statement rows(connection.handle(), connection.path(), sql);
  const RowReader<S> reader(rows);
  std::vector<S> all;
  while (rows.step()) all.push_back(reader.read());
  return all;
}

// Versions before 3 kept some of today's columns in `extra`, those before 5 had other hashes and no models.
Contents contents_of(Connection& connection) {
  Contents all;
  all.records = rows_of<WisdomRecord>(connection, "SELECT * FROM records ORDER BY id");
  for (WisdomRecord& record : all.records) {
    take_fields(record.extra, record);
    record.source_hash = renamed_source_hash(record.family, record.source_hash);
  }
  if (connection.integer("SELECT count(*) FROM sqlite_master WHERE name = 'models'") > 0)
    all.models = rows_of<FittedModel>(connection, "SELECT * FROM models ORDER BY id");
  return all;
}

void set_version(Connection& connection) {
  connection.execute(fmt::format("PRAGMA application_id = {}", wisdom_application_id));
  connection.execute(fmt::format("PRAGMA user_version = {}", wisdom_schema_version));
}

// Writes rows anew. The better one of two records stays if their identities became equal.
class Keeper {
 public:
  explicit Keeper(const Connection& connection) : writer_(connection, connection.path()) {}
  void keep(const WisdomRecord& record) {
    const auto [at, is_new] = kept_.try_emplace(identity_of(record), record);
    if (!is_new && is_better(at->second, record)) return;
    at->second = record;
    writer_.write(record, row_keys(record));
  }
  void keep(const FittedModel& model) { writer_.write(model); }

 private:
  RowWriter writer_;
  std::unordered_map<std::string, WisdomRecord> kept_;
};

sqlite::Limits whole_file(const Connection& connection, std::chrono::milliseconds wait) {
  sqlite::Limits limits = connection.whole_file();
  limits.wait = wait;
  return limits;
}

void fill(Connection& connection, const Contents& contents, std::chrono::milliseconds wait) {
  for (const Part& part : parts()) connection.execute(part.sql);
  Keeper keeper(connection);
  for (const WisdomRecord& record : contents.records) {
    connection.limit({.wait = wait});
    keeper.keep(record);
  }
  for (const FittedModel& model : contents.models) keeper.keep(model);
  set_version(connection);
}

}  // namespace

SchemaState schema_state(Connection& connection) {
  const std::int64_t application = connection.integer("PRAGMA application_id");
  const std::int64_t version = connection.integer("PRAGMA user_version");
  if (application == 0 && version == 0 && connection.integer("SELECT 1 FROM sqlite_master LIMIT 1") == 0)
    return SchemaState::empty;
  if (application != wisdom_application_id)
    refuse(connection,
           fmt::format("it is the SQLite database of another program (application_id {})", application));
  if (version > wisdom_schema_version)
    refuse(connection, fmt::format("a newer tilewright made it (schema version {}, this one knows {})",
                                   version, wisdom_schema_version));
  if (version < 1) refuse(connection, fmt::format("its schema version {} is unknown", version));
  const bool is_current = version == wisdom_schema_version;
  require_parts(connection, is_current);
  if (!is_current) require_plain_columns(connection);
  return is_current ? SchemaState::current : SchemaState::older;
}

void upgrade_schema(Connection& connection, std::chrono::milliseconds wait) {
  sqlite::Transaction transaction(connection, sqlite::Mode::write, whole_file(connection, wait));
  const SchemaState state = schema_state(connection);  // another process may have upgraded it
  if (state == SchemaState::current) return;
  Contents contents;
  if (state == SchemaState::older) {
    contents = contents_of(connection);
    connection.execute("DROP TABLE records; DROP TABLE IF EXISTS kinds; DROP TABLE IF EXISTS models");
  }
  fill(connection, contents, wait);
  transaction.commit();
}

void upgrade_copy(Connection& older, Connection& copy, std::chrono::milliseconds wait) {
  Contents contents;
  {
    const sqlite::Transaction snapshot(older, sqlite::Mode::read, whole_file(older, wait));
    if (schema_state(older) != SchemaState::older) return;
    contents = contents_of(older);
  }
  sqlite::Transaction transaction(copy, sqlite::Mode::write);
  fill(copy, contents, wait);
  transaction.commit();
}

}  // namespace tilewright
