// Recognising, making and upgrading the tables.
#include "wisdom/schema.hpp"

#include <fmt/format.h>

#include <vector>

#include "tilewright/types.hpp"
#include "wisdom/rows.hpp"

namespace tilewright {
namespace {

using sqlite::Connection;
using sqlite::Statement;

// One record per identity: the keys of key.hpp, objective and device. exact_key and what follows it are
// computed from the other columns. The second index answers the search for near shapes by itself; it has a
// number for what all neighbours share (0: failed, never found), so that many of its entries lie on one page;
// a kind has the smallest and largest sizes of its records, beyond which none is looked for.
constexpr const char* tables = R"(
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
)";

// What cannot be read is kept as nothing, though no lookup can use it.
nlohmann::json object_of(std::string_view text) {
  auto object = nlohmann::json::parse(text, nullptr, false);
  return object.is_object() ? object : nlohmann::json::object();
}

std::vector<WisdomRecord> records_of_version_1(Connection& connection) {
  Statement rows(connection.handle(), connection.path(),
                 "SELECT family, problem, config, device, source_hash, compiler, objective, seconds, "
                 "seconds_low, seconds_high, samples, verdict, time FROM records ORDER BY rowid");
  std::vector<WisdomRecord> records;
  while (rows.step()) {
    WisdomRecord& r = records.emplace_back();
    r.family = rows.text(0), r.problem = rows.text(1);
    r.config = object_of(rows.text(2));
    r.device = rows.text(3), r.source_hash = rows.text(4), r.compiler = rows.text(5);
    r.objective = rows.text(6);
    r.seconds = rows.real(7), r.seconds_low = rows.real(8), r.seconds_high = rows.real(9);
    r.samples = rows.integer(10);
    r.verdict = rows.text(11), r.time = rows.text(12);
  }
  return records;
}

// Version 2 had all but a few columns, whose values lay among the other keys of the line.
std::vector<WisdomRecord> records_of_version_2(Connection& connection) {
  Statement rows(
      connection.handle(), connection.path(),
      "SELECT family, problem, config, device, driver, source_hash, compiler, objective, seconds, "
      "seconds_low, seconds_high, samples, default_seconds, candidates, verdict, reason, time, extra "
      "FROM records ORDER BY id");
  std::vector<WisdomRecord> records;
  while (rows.step()) {
    WisdomRecord& r = records.emplace_back();
    r.family = rows.text(0), r.problem = rows.text(1);
    r.config = object_of(rows.text(2));
    r.device = rows.text(3), r.driver = rows.text(4), r.source_hash = rows.text(5);
    r.compiler = rows.text(6), r.objective = rows.text(7);
    r.seconds = rows.real(8), r.seconds_low = rows.real(9), r.seconds_high = rows.real(10);
    r.samples = rows.integer(11);
    if (!rows.is_null(12)) r.default_seconds = rows.real(12);
    if (!rows.is_null(13)) r.candidates = rows.integer(13);
    r.verdict = rows.text(14), r.reason = rows.text(15), r.time = rows.text(16);
    r.extra = object_of(rows.text(17));
    take_observed(r.extra, r);
  }
  return records;
}

// The columns are today's.
std::vector<WisdomRecord> records_of_version_3(Connection& connection) {
  Statement rows(connection.handle(), connection.path(), select_records("ORDER BY id"));
  std::vector<WisdomRecord> records;
  while (rows.step()) records.push_back(record_of_row(rows, connection.path()));
  return records;
}

std::vector<WisdomRecord> records_of(std::int64_t version, Connection& connection) {
  switch (version) {
    case 1:
      return records_of_version_1(connection);
    case 2:
      return records_of_version_2(connection);
    default:
      return records_of_version_3(connection);
  }
}

void set_version(Connection& connection) {
  connection.execute(fmt::format("PRAGMA application_id = {}", wisdom_application_id));
  connection.execute(fmt::format("PRAGMA user_version = {}", wisdom_schema_version));
}

}  // namespace

SchemaState schema_state(Connection& connection) {
  const std::int64_t application = connection.integer("PRAGMA application_id");
  const std::int64_t version = connection.integer("PRAGMA user_version");
  const auto refuse = [&](const std::string& reason) {
    throw Error(ErrorCode::io, "wisdom",
                fmt::format("wisdom = '{}': {}, and is left as it is", connection.path(), reason));
  };
  if (application == 0 && version == 0 && connection.integer("SELECT count(*) FROM sqlite_master") == 0)
    return SchemaState::empty;
  if (application != wisdom_application_id)
    refuse(fmt::format("it is the SQLite database of another program (application_id {})", application));
  if (version > wisdom_schema_version)
    refuse(fmt::format("a newer tilewright made it (schema version {}, this one knows {})", version,
                       wisdom_schema_version));
  if (version < 1) refuse(fmt::format("its schema version {} is none of ours", version));
  return version < wisdom_schema_version ? SchemaState::older : SchemaState::current;
}

void upgrade_schema(Connection& connection, const std::function<void(const WisdomRecord&)>& keep) {
  sqlite::Transaction transaction(connection, sqlite::Mode::write);
  const SchemaState state = schema_state(connection);  // again: another process may have been quicker
  if (state == SchemaState::current) return;
  std::vector<WisdomRecord> records;
  if (state == SchemaState::older) {
    records = records_of(connection.integer("PRAGMA user_version"), connection);
    connection.execute("DROP TABLE records; DROP TABLE IF EXISTS kinds");
  }
  connection.execute(tables);
  for (const WisdomRecord& record : records) keep(record);
  set_version(connection);
  transaction.commit();
}

}  // namespace tilewright
