// Recognising, making and upgrading the tables.
#include "wisdom/schema.hpp"

#include <fmt/format.h>

#include <vector>

#include "tilewright/types.hpp"
#include "wisdom/families.hpp"
#include "wisdom/model.hpp"

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
  id INTEGER PRIMARY KEY AUTOINCREMENT, {},
  exact_key TEXT NOT NULL, variant_key TEXT NOT NULL, kind INTEGER NOT NULL, cell INTEGER NOT NULL,
  m INTEGER NOT NULL, n INTEGER NOT NULL, k INTEGER NOT NULL, block INTEGER NOT NULL, traits INTEGER NOT NULL
);
CREATE TABLE models (
  id INTEGER PRIMARY KEY AUTOINCREMENT, {},
  identity TEXT NOT NULL UNIQUE
);
CREATE UNIQUE INDEX records_by_identity ON records (exact_key, objective, device, variant_key);
CREATE INDEX records_by_cell ON records (kind, cell, m, n, k, block, traits);
)";

// Versions before the third kept some of today's columns among the other keys of the line, and those before
// the fifth had the hashes of then.
std::vector<WisdomRecord> records_of_any_version(Connection& connection) {
  Statement rows(connection.handle(), connection.path(), "SELECT * FROM records ORDER BY id");
  const RowReader<WisdomRecord> reader(rows);
  std::vector<WisdomRecord> records;
  while (rows.step()) {
    WisdomRecord& record = records.emplace_back(reader.read());
    take_fields(record.extra, record);
    record.source_hash = renamed_source_hash(record.family, record.source_hash);
  }
  return records;
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
    records = records_of_any_version(connection);
    connection.execute("DROP TABLE records; DROP TABLE IF EXISTS kinds");
  }
  connection.execute(
      fmt::format(tables, column_definitions<WisdomRecord>(), column_definitions<FittedModel>()));
  for (const WisdomRecord& record : records) keep(record);
  set_version(connection);
  transaction.commit();
}

}  // namespace tilewright
