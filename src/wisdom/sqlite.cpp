// SQLite's handles and the words for its failures.
#include "wisdom/sqlite.hpp"

#include <fmt/format.h>
#include <sqlite3.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "tilewright/types.hpp"

namespace tilewright::sqlite {
namespace {

constexpr int wait_ms = 10000;

[[noreturn]] void fail(const std::string& path, sqlite3* connection, int code) {
  const char* message = connection == nullptr ? sqlite3_errstr(code) : sqlite3_errmsg(connection);
  std::string reason;
  switch (code & 0xff) {
    case SQLITE_NOTADB:
      reason = fmt::format("it is no wisdom database ({}), and is left as it is", message);
      break;
    case SQLITE_CORRUPT:
      reason = fmt::format("it is damaged ({}), and is left as it is", message);
      break;
    case SQLITE_BUSY:
      reason = fmt::format("another process has kept it locked for {} s", wait_ms / 1000);
      break;
    default:
      reason = message;
  }
  throw Error(ErrorCode::io, "wisdom", fmt::format("wisdom = '{}': {}", path, reason));
}

// A file name as SQLite's URIs want it.
std::string uri_of(const std::string& path, const char* query) {
  std::string uri = "file:";
  for (const char c : path)
    uri += c == '%' || c == '?' || c == '#' ? fmt::format("%{:02x}", int(c)) : std::string(1, c);
  return uri + query;
}

bool holds_log(const std::string& path) {
  std::error_code error;
  const auto bytes = std::filesystem::file_size(path + "-wal", error);
  return !error && bytes > 0;
}

}  // namespace

void fold_log(const std::string& path) noexcept {
  if (::access((path + "-wal").c_str(), F_OK) != 0 || ::access(path.c_str(), W_OK) != 0) return;
  sqlite3* connection = nullptr;
  // Closing the last connection removes the log.
  if (sqlite3_open_v2(path.c_str(), &connection, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr) ==
      SQLITE_OK)
    sqlite3_exec(connection, "PRAGMA wal_checkpoint(TRUNCATE)", nullptr, nullptr, nullptr);
  sqlite3_close_v2(connection);
}

Statement::Statement(sqlite3* connection, const std::string& path, const std::string& sql)
    : connection_(connection), path_(path) {
  const int code = sqlite3_prepare_v3(connection, sql.c_str(), int(sql.size()) + 1, SQLITE_PREPARE_PERSISTENT,
                                      &statement_, nullptr);
  if (code != SQLITE_OK) fail(path_, connection_, code);
}
Statement::~Statement() { sqlite3_finalize(statement_); }

void Statement::bind(int index, std::string_view text) {
  sqlite3_bind_text(statement_, index, text.data(), int(text.size()), SQLITE_STATIC);
}
void Statement::bind_copy(int index, const std::string& text) {
  sqlite3_bind_text(statement_, index, text.data(), int(text.size()), SQLITE_TRANSIENT);
}
void Statement::bind(int index, std::int64_t value) { sqlite3_bind_int64(statement_, index, value); }
void Statement::bind(int index, double value) { sqlite3_bind_double(statement_, index, value); }
void Statement::bind_null(int index) { sqlite3_bind_null(statement_, index); }

bool Statement::step() {
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  fail(path_, connection_, code);
}
void Statement::run() {
  reset();
  step();
  reset();
}
void Statement::reset() noexcept { sqlite3_reset(statement_); }

int Statement::column_named(std::string_view name) const {
  for (int i = 0; i < sqlite3_column_count(statement_); ++i)
    if (name == sqlite3_column_name(statement_, i)) return i;
  return -1;
}
std::string_view Statement::text(int column) const {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  return text == nullptr ? std::string_view()
                         : std::string_view(text, std::size_t(sqlite3_column_bytes(statement_, column)));
}
std::int64_t Statement::integer(int column) const { return sqlite3_column_int64(statement_, column); }
double Statement::real(int column) const { return sqlite3_column_double(statement_, column); }
bool Statement::is_null(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }

Connection::Connection(const std::string& path, Mode mode) : path_(path) {
  if (std::error_code error; std::filesystem::is_directory(path, error))
    throw Error(ErrorCode::io, "wisdom", fmt::format("wisdom = '{}': it is a folder, not a file", path));
  if (mode == Mode::write) {
    open(SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, path);
    return;
  }
  open(SQLITE_OPEN_READONLY, path);
  if (readable()) return;
  // The log's index cannot be made in a folder where nothing may be written. Where no log is left over, or an
  // empty one, the file is complete without it.
  if (holds_log(path))
    throw Error(
        ErrorCode::io, "wisdom",
        fmt::format("wisdom = '{}': what was written last is in '{}-wal', which cannot be read here ({}); "
                    "`tilewright wisdom list` by who may write the folder brings it in",
                    path, path, sqlite3_errmsg(handle())));
  open(SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, uri_of(path, "?immutable=1"));
}

void Connection::Close::operator()(sqlite3* connection) const noexcept { sqlite3_close_v2(connection); }

void Connection::open(int flags, const std::string& name) {
  sqlite3* opened = nullptr;
  const int code = sqlite3_open_v2(name.c_str(), &opened, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  connection_.reset(opened);
  if (code != SQLITE_OK) fail(path_, opened, code);
  sqlite3_extended_result_codes(opened, 1);
  // A file from elsewhere calls no functions from its schema and changes none of SQLite's own tables.
  sqlite3_db_config(opened, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(opened, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_busy_timeout(opened, wait_ms);
}

// False where the file cannot be read in place though it may be a database.
bool Connection::readable() {
  const int code = sqlite3_exec(handle(), "PRAGMA schema_version", nullptr, nullptr, nullptr);
  if (code == SQLITE_OK) return true;
  if ((code & 0xff) != SQLITE_CANTOPEN && (code & 0xff) != SQLITE_READONLY) fail(path_, handle(), code);
  return false;
}

void Connection::execute(const std::string& sql) {
  const int code = sqlite3_exec(handle(), sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) fail(path_, handle(), code);
}

std::int64_t Connection::integer(const std::string& sql) {
  Statement statement(handle(), path_, sql);
  return statement.step() ? statement.integer(0) : 0;
}

// SQLite does not wait when two connections change the mode of a new file at once.
void Connection::use_write_ahead_log() {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(wait_ms);
  while (true) {
    const int code = sqlite3_exec(handle(), "PRAGMA journal_mode = WAL", nullptr, nullptr, nullptr);
    if (code == SQLITE_OK) return;
    if ((code & 0xff) != SQLITE_BUSY || std::chrono::steady_clock::now() > deadline)
      fail(path_, handle(), code);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

Transaction::Transaction(Connection& connection, Mode mode) : connection_(connection) {
  connection_.execute(mode == Mode::write ? "BEGIN IMMEDIATE" : "BEGIN");
}
Transaction::~Transaction() {
  if (open_) sqlite3_exec(connection_.handle(), "ROLLBACK", nullptr, nullptr, nullptr);
}
void Transaction::commit() {
  connection_.execute("COMMIT");
  open_ = false;
}

}  // namespace tilewright::sqlite
