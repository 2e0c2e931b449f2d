// Opens, upgrades or copies, and prepares the statements.
#include "wisdom/session.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <unordered_map>

#include "core/trust.hpp"
#include "wisdom/schema.hpp"

namespace tilewright {
namespace {

namespace fs = std::filesystem;
using sqlite::Connection;
using sqlite::Mode;

// From a cell on, in the order of the index: the first beyond the wanted cells says how far there is nothing.
std::string near_sql(const char* what, const char* rest) {
  return fmt::format(
      "SELECT cell{} FROM records INDEXED BY records_by_cell WHERE kind = ?1 AND cell >= ?2 ORDER BY cell {}",
      what, rest);
}

SchemaState state_of(Connection& connection, std::chrono::milliseconds wait) {
  sqlite::Transaction snapshot(connection, Mode::read, {.wait = wait});
  return schema_state(connection);
}

void make_folder(const std::string& path) {
  if (const int error = make_own_folders(fs::path(path).parent_path()); error != 0)
    throw Error(ErrorCode::io, "wisdom",
                fmt::format("wisdom = '{}': its folder cannot be made: {}", path,
                            std::generic_category().message(error)));
}

// Of records that were two until keys changed the better one stays.
KeepRecord keeper(Connection& connection) {
  struct Kept {
    std::unique_ptr<RowWriter> writer;  // made when its tables are
    std::unordered_map<std::string, WisdomRecord> records;
  };
  return [&connection, kept = std::make_shared<Kept>()](const WisdomRecord& record) {
    const auto [at, is_new] = kept->records.try_emplace(identity_of(record), record);
    if (!is_new && is_better(at->second, record)) return;
    at->second = record;
    if (!kept->writer) kept->writer = std::make_unique<RowWriter>(connection, connection.path());
    kept->writer->write(record, row_keys(record));
  };
}

// The file in the schema of today or, for readers of one that cannot be written now, a copy.
std::unique_ptr<Connection> upgraded(std::unique_ptr<Connection> connection, Mode mode, bool& is_copy,
                                     std::chrono::milliseconds wait) {
  try {
    upgrade_schema(*connection, keeper(*connection), wait);
    return connection;
  } catch (const sqlite::Locked&) {
    if (mode == Mode::write) throw;
    wait = std::chrono::milliseconds(0);  // that was the wait
  } catch (const Error& error) {
    if (mode == Mode::write || error.code() != ErrorCode::io) throw;
  }
  is_copy = true;
  auto copy = Connection::in_memory(connection->path());
  upgrade_copy(*connection, *copy, keeper(*copy), wait);
  return copy;
}

}  // namespace

FileStamp::FileStamp(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return;
  file = {status.st_dev, status.st_ino};
  state = {status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
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
      known(by_identity, connection->path()),
      model_by_identity(handle(), connection->path(), "SELECT * FROM models WHERE identity = ?1"),
      known_model(model_by_identity, connection->path()),
      exact(handle(), connection->path(),
            "SELECT id, traits, device, block FROM records INDEXED BY records_by_identity WHERE exact_key "
            "= ?1 "
            "AND objective = ?2 AND verdict = 'passed' AND source_hash = ?3"),
      kinds(handle(), connection->path(),
            "SELECT id, device, m_low, n_low, k_low, m_high, n_high, k_high FROM kinds WHERE kind_key = ?1 "
            "AND objective = ?2 AND source_hash = ?3"),
      crowd(handle(), connection->path(), near_sql("", "LIMIT 1 OFFSET ?3")),
      in_cell(handle(), connection->path(), near_sql(", id, m, n, k, block, traits", "")),
      config(handle(), connection->path(),
             "SELECT config, seconds, seconds_low, seconds_high, samples, default_seconds, objective, "
             "energy_j, problem, device FROM records "
             "WHERE id = ?1"),
      begin(handle(), connection->path(), "BEGIN"),
      commit(handle(), connection->path(), "COMMIT") {}

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

}  // namespace tilewright
