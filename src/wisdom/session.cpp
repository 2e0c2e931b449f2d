// Opens, upgrades or copies a database, and prepares its statements.
#include "wisdom/session.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>

#include "core/trust.hpp"
#include "wisdom/families.hpp"
#include "wisdom/key.hpp"

namespace tilewright {
namespace {

namespace fs = std::filesystem;
using sqlite::Connection;
using sqlite::Mode;

SchemaState state_of(Connection& connection, std::chrono::milliseconds wait) {
  sqlite::Transaction snapshot(connection, Mode::read, {.wait = wait});
  return schema_state(connection);
}

void make_folder(const std::string& path) {
  if (const int error = make_own_folders(fs::path(path).parent_path()); error != 0)
    throw Error(ErrorCode::io, "wisdom",
                fmt::format("wisdom = '{}': its folder cannot be created: {}", path,
                            std::generic_category().message(error)));
}

// Upgrades the file or, for readers of a file that cannot be written now, a copy.
std::unique_ptr<Connection> upgraded(std::unique_ptr<Connection> connection, Mode mode, bool& is_copy,
                                     std::chrono::milliseconds wait) {
  try {
    upgrade_schema(*connection, wait);
    return connection;
  } catch (const sqlite::Locked&) {
    if (mode == Mode::write) throw;
    wait = std::chrono::milliseconds(0);  // already waited
  } catch (const Error& error) {
    if (mode == Mode::write || error.code() != ErrorCode::io) throw;
  }
  is_copy = true;
  auto copy = Connection::in_memory(connection->path());
  upgrade_copy(*connection, *copy, wait);
  return copy;
}

}  // namespace

FileStamp::FileStamp(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return;
  file = {status.st_dev, status.st_ino};
  state = {status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
}

bool FileStamp::is_settled() const {
  constexpr std::time_t coarsest_s = 2;  // of the times of files
  return std::time(nullptr) > std::get<1>(state) + coarsest_s;
}

Session::Session(std::unique_ptr<Connection> opened, const FileStamp& file, bool is_copy_)
    : connection(std::move(opened)),
      process(getpid()),
      stamp(file),
      is_copy(is_copy_),
      by_identity(
          handle(), connection->path(),
          "SELECT * FROM records WHERE exact_key = ?1 AND objective = ?2 AND device = ?3 AND variant_key = "
          "?4"),
      model_by_identity(handle(), connection->path(), "SELECT * FROM models WHERE identity = ?1"),
      by_number(handle(), connection->path(), "SELECT * FROM records WHERE id = ?1"),
      shapes(handle(), connection->path(),
             "SELECT kinds.device, records.id, m, n, k, block, traits FROM kinds CROSS JOIN records INDEXED "
             "BY records_by_kind ON records.kind = kinds.id WHERE kind_key = ?1 AND kinds.objective = ?2 AND "
             "kinds.source_hash = ?3"),
      version(handle(), connection->path(), "PRAGMA data_version"),
      seen(file) {}

void Session::see(const FileStamp& now) {
  version.with().step();
  const std::int64_t current = version.integer(0);
  version.reset();
  if (current != seen_version) indexes.clear();
  seen_version = current, seen = now, settled = now.is_settled();
}

std::unique_ptr<Session> open_session(const std::string& path, Mode mode, std::chrono::milliseconds wait) {
  std::error_code error;
  if (mode == Mode::read && !fs::exists(path, error) && !error) return nullptr;
  if (mode == Mode::write) make_folder(path);
  const FileStamp before(path);
  auto connection = std::make_unique<Connection>(path, mode);
  SchemaState state = state_of(*connection, wait);
  if (state == SchemaState::empty && mode == Mode::read) return nullptr;
  if (connection->keeps_files() && connection->remove_log()) {
    connection.reset();
    connection = std::make_unique<Connection>(path, mode);
    state = state_of(*connection, wait);
  }
  bool is_copy = false;
  if (state != SchemaState::current) connection = upgraded(std::move(connection), mode, is_copy, wait);
  return std::make_unique<Session>(std::move(connection), is_copy ? before : FileStamp(path), is_copy);
}

// Records without keys go by their problem's text. Unreadable ones of other versions have keys of no lookup.
RowKeys row_keys(const WisdomRecord& record) {
  RowKeys keys;
  if (const auto query = query_of(record)) {
    keys.problem = query->problem;
    keys.exact = exact_key(*query);
    keys.kind = kind_key(*query);
    keys.variant = variant_key(keys.problem);
  } else if (is_known_family(record.family) && !is_keyed(record.family)) {
    keys.exact = fmt::format("{} {}", record.family, record.problem);
  } else {
    keys.exact = fmt::format("unreadable {} {}", record.family, record.problem);
    keys.variant = record.config.dump();
  }
  // A wrong config is kept beside the best one.
  if (!record.passed()) keys.variant += " not passed " + record.config.dump();
  return keys;
}

std::string identity_of(const WisdomRecord& record) {
  const RowKeys keys = row_keys(record);
  return fmt::format("{}|{}|{}|{}", keys.exact, record.objective, record.device, keys.variant);
}

RowWriter::RowWriter(const sqlite::Connection& connection, const std::string& path)
    : add_kind_(connection.handle(), path,
                "INSERT OR IGNORE INTO kinds (kind_key, objective, source_hash, device) VALUES (?1, ?2, ?3, "
                "?4)"),
      kind_(connection.handle(), path,
            "SELECT id FROM kinds WHERE kind_key = ?1 AND objective = ?2 AND source_hash = ?3 AND device = "
            "?4"),
      insert_(connection.handle(), path,
              fmt::format("INSERT OR REPLACE INTO records ({}, exact_key, variant_key, kind, m, n, k, "
                          "block, traits) VALUES ({}, ?, ?, ?, ?, ?, ?, ?, ?)",
                          column_names<WisdomRecord>(), column_places<WisdomRecord>())),
      insert_model_(connection.handle(), path,
                    fmt::format("INSERT OR REPLACE INTO models ({}, identity) VALUES ({}, ?)",
                                column_names<FittedModel>(), column_places<FittedModel>())) {}

void RowWriter::write(const WisdomRecord& record, const RowKeys& keys) {
  const std::int64_t kind = kind_of(record, keys);
  const GemmProblem& p = keys.problem;
  insert_.bind_from(bind_columns(insert_, record), keys.exact, keys.variant, kind, p.m, p.n, p.k, p.block,
                    packed_traits(p));
  insert_.step();
  insert_.reset();
}

void RowWriter::write(const FittedModel& model) {
  const std::string identity = identity_of(model);
  insert_model_.bind_from(bind_columns(insert_model_, model), identity);
  insert_model_.step();
  insert_model_.reset();
}

std::int64_t RowWriter::kind_of(const WisdomRecord& r, const RowKeys& keys) {
  if (!r.passed()) return 0;
  add_kind_.with(keys.kind, r.objective, r.source_hash, r.device);
  add_kind_.step();
  add_kind_.reset();
  kind_.with(keys.kind, r.objective, r.source_hash, r.device).step();
  const std::int64_t kind = kind_.integer(0);
  kind_.reset();
  return kind;
}

}  // namespace tilewright
