// SQLite's handles and the messages of its failures.
#include "wisdom/sqlite.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

#include <filesystem>
#include <new>
#include <thread>

#include "core/host/fork_gate.hpp"
#include "core/input/printable.hpp"
#include "core/new_file.hpp"

namespace tilewright::sqlite {
namespace {

// SQLite has locks that all connections of the process share: no child of fork may inherit a held one.
using fork_gate::Section;

constexpr int busy_step_us = 500;
constexpr int steps_between_looks = 1000;

bool is_filled(const std::string& path) {
  std::error_code error;
  const auto bytes = std::filesystem::file_size(path, error);
  return !error && bytes > 0;
}

[[noreturn]] void fail(const std::string& path, const std::string& reason) {
  throw Error(ErrorCode::io, "wisdom", fmt::format("wisdom = '{}': {}", path, reason));
}

std::string reason_of(int code, const std::string& path, const char* message) {
  switch (code & 0xff) {
    case SQLITE_NOTADB:
      return fmt::format("it is not a wisdom database ({}); it was not changed", message);
    case SQLITE_CORRUPT:
      return fmt::format("it is damaged ({}); it was not changed", message);
    case SQLITE_INTERRUPT:
      return "it is damaged (reading takes longer than its records could); it was not changed";
    case SQLITE_TOOBIG:
      return "it contains a text of more than 4 MiB, more than any record has";
    case SQLITE_READONLY:
      if (!is_filled(path + "-journal")) return "it cannot be written: the file or its folder is read-only";
      return fmt::format(
          "a writer was interrupted, and '{}-journal' cannot be rolled back here; run `tilewright wisdom "
          "list` as a user who may write to the folder",
          path);
    case SQLITE_FULL:
      return "it cannot be written: the disk is full, or its record numbers are used up";
    case SQLITE_CANTOPEN:
      return "the file cannot be opened";
    default:
      return message;
  }
}

[[noreturn]] void fail(const std::string& path, sqlite3* connection, int code) {
  const int kind = code & 0xff;
  if (kind == SQLITE_NOMEM) throw std::bad_alloc();
  if (kind == SQLITE_BUSY || kind == SQLITE_LOCKED)
    throw Locked(ErrorCode::io, "wisdom",
                 fmt::format("wisdom = '{}': another process keeps it locked", path));
  fail(path,
       reason_of(code, path, connection == nullptr ? sqlite3_errstr(code) : sqlite3_errmsg(connection)));
}

// True if the header of the file names a write-ahead log.
bool has_log(const std::string& path) {
  constexpr int read_version_at = 19, with_log = 2;
  const std::string header = first_bytes(path, read_version_at + 1);
  return header.size() > read_version_at && header.starts_with("SQLite format 3") &&
         header[read_version_at] == with_log;
}

// A file name that SQLite does not take for ':memory:' or a URI.
std::string plain_name(const std::string& path) { return path.starts_with('/') ? path : "./" + path; }

// A file name as a URI of SQLite.
std::string uri_of(const std::string& path, const char* query) {
  std::string uri = "file:";
  for (const char c : path)
    uri += c == '%' || c == '?' || c == '#' ? fmt::format("%{:02x}", int(c)) : std::string(1, c);
  return uri + query;
}

}  // namespace

Statement::Statement(sqlite3* connection, const std::string& path, const std::string& sql)
    : connection_(connection), path_(path) {
  const Section section;
  const int code = sqlite3_prepare_v3(connection, sql.c_str(), int(sql.size()) + 1, SQLITE_PREPARE_PERSISTENT,
                                      &statement_, nullptr);
  if (code != SQLITE_OK) fail(path_, connection_, code);
}
Statement::~Statement() {
  const Section section;
  sqlite3_finalize(statement_);
}

void Statement::check(int code) const {
  if (code != SQLITE_OK) fail(path_, connection_, code);
}
void Statement::bind(int index, std::string_view text) {
  check(sqlite3_bind_text64(statement_, index, text.data(), text.size(), SQLITE_STATIC, SQLITE_UTF8));
}
void Statement::bind_copy(int index, const std::string& text) {
  check(sqlite3_bind_text64(statement_, index, text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8));
}
void Statement::bind(int index, std::int64_t value) { check(sqlite3_bind_int64(statement_, index, value)); }
void Statement::bind(int index, double value) { check(sqlite3_bind_double(statement_, index, value)); }
void Statement::bind_null(int index) { check(sqlite3_bind_null(statement_, index)); }

bool Statement::step() {
  const Section section;
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
void Statement::reset() noexcept {
  const Section section;
  sqlite3_reset(statement_);
}

int Statement::column_named(std::string_view name) const {
  for (int i = 0; i < sqlite3_column_count(statement_); ++i)
    if (name == sqlite3_column_name(statement_, i)) return i;
  return -1;
}
std::string_view Statement::text(int column) const {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  if (text == nullptr) {
    if (sqlite3_errcode(connection_) == SQLITE_NOMEM) throw std::bad_alloc();
    return {};
  }
  const std::string_view found(text, std::size_t(sqlite3_column_bytes(statement_, column)));
  if (!is_utf8(found))
    fail(path_,
         fmt::format("it contains a '{}' that is not UTF-8 text", sqlite3_column_name(statement_, column)));
  return found;
}
std::int64_t Statement::integer(int column) const { return sqlite3_column_int64(statement_, column); }
double Statement::real(int column) const { return sqlite3_column_double(statement_, column); }
bool Statement::is_null(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }

Connection::Connection(const std::string& path, Mode mode) : path_(path) {
  if (std::error_code error; std::filesystem::is_directory(path, error))
    fail(path, "it is a folder, not a file");
  // Opening reads a file with a log, for which calls must not wait as writers do.
  limit({.wait = std::chrono::milliseconds(mode == Mode::read ? 50 : 10000)});
  if (mode == Mode::write)
    (void)find_output_place({"wisdom", path, ErrorCode::io});  // refuses links of others
  // Readers, too, roll back the journal of a killed writer.
  if (has_log(path))
    open_with_log(mode);
  else
    open(SQLITE_OPEN_READWRITE | (mode == Mode::write ? SQLITE_OPEN_CREATE : 0), plain_name(path),
         shy_files());
  restrain();
}

std::unique_ptr<Connection> Connection::in_memory(const std::string& path) {
  std::unique_ptr<Connection> made(new Connection(path));
  made->limit({});
  made->open(SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, ":memory:", nullptr);
  return made;
}

void Connection::open_with_log(Mode mode) {
  keeps_files_ = true;
  open(SQLITE_OPEN_READWRITE, plain_name(path_), nullptr);
  if (mode == Mode::write || readable()) return;
  // The log's index cannot be made in a read-only folder. With no or an empty log the file is complete.
  if (is_filled(path_ + "-wal"))
    fail(path_, fmt::format("its latest changes are in '{}-wal', which cannot be read here ({}); "
                            "run `tilewright wisdom list` as a user who may write to the folder",
                            path_, sqlite3_errmsg(handle())));
  open(SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, uri_of(path_, "?immutable=1"), nullptr);
}

void Connection::Close::operator()(sqlite3* connection) const noexcept {
  const Section section;
  sqlite3_close_v2(connection);
}

void Connection::open(int flags, const std::string& name, const char* files) {
  const Section section;
  sqlite3* opened = nullptr;
  connection_.reset();
  const int code = sqlite3_open_v2(name.c_str(), &opened, flags | SQLITE_OPEN_NOMUTEX, files);
  connection_.reset(opened);
  if (code != SQLITE_OK) fail(path_, opened, code);
  sqlite3_extended_result_codes(opened, 1);
  sqlite3_busy_handler(opened, &Connection::is_waiting, this);
  sqlite3_progress_handler(opened, steps_between_looks, &Connection::is_too_much, this);
}

// A foreign file may neither run code nor fill memory or disk: no triggers, views or functions in its schema,
// no change of SQLite's own tables, no text longer than any record's, no temporary files.
void Connection::restrain() {
  sqlite3* const c = handle();
  sqlite3_db_config(c, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(c, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(c, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(c, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  sqlite3_limit(c, SQLITE_LIMIT_LENGTH, 4 << 20);
  sqlite3_limit(c, SQLITE_LIMIT_SQL_LENGTH, 64 << 10);
  sqlite3_limit(c, SQLITE_LIMIT_EXPR_DEPTH, 32);
  sqlite3_limit(c, SQLITE_LIMIT_COLUMN, 100);
  sqlite3_limit(c, SQLITE_LIMIT_ATTACHED, 0);
  sqlite3_limit(c, SQLITE_LIMIT_TRIGGER_DEPTH, 1);
  // A transaction is held in memory until it is committed: readers wait for the commit alone.
  execute("PRAGMA temp_store = MEMORY; PRAGMA cache_spill = OFF; PRAGMA cell_size_check = ON");
}

void Connection::limit(const Limits& limits) {
  wait_until_ = std::chrono::steady_clock::now() + limits.wait;
  steps_left_ = limits.steps;
}

Limits Connection::whole_file() const {
  constexpr std::int64_t steps_per_byte = 2;  // a row has hundreds of bytes and takes fewer steps
  std::error_code error;
  const auto bytes = std::filesystem::file_size(path_, error);
  Limits limits;
  if (!error) limits.steps += steps_per_byte * std::int64_t(bytes);
  return limits;
}

int Connection::is_waiting(void* connection, int /*tries*/) {
  if (std::chrono::steady_clock::now() >= static_cast<Connection*>(connection)->wait_until_) return 0;
  std::this_thread::sleep_for(std::chrono::microseconds(busy_step_us));
  return 1;
}

int Connection::is_too_much(void* connection) {
  return (static_cast<Connection*>(connection)->steps_left_ -= steps_between_looks) < 0 ? 1 : 0;
}

// False if the file may be a database but cannot be read in place.
bool Connection::readable() {
  const Section section;
  const int code = sqlite3_exec(handle(), "PRAGMA schema_version", nullptr, nullptr, nullptr);
  if (code == SQLITE_OK) return true;
  if ((code & 0xff) != SQLITE_CANTOPEN && (code & 0xff) != SQLITE_READONLY) fail(path_, handle(), code);
  return false;
}

bool Connection::remove_log() {
  const Section section;
  limit({std::chrono::milliseconds(0)});
  return sqlite3_exec(handle(), "PRAGMA journal_mode = DELETE", nullptr, nullptr, nullptr) == SQLITE_OK;
}

void Connection::execute(const std::string& sql) {
  const Section section;
  const int code = sqlite3_exec(handle(), sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) fail(path_, handle(), code);
}

std::int64_t Connection::integer(const std::string& sql) {
  Statement statement(handle(), path_, sql);
  return statement.step() ? statement.integer(0) : 0;
}

Transaction::Transaction(Connection& connection, Mode mode, const Limits& limits) : connection_(connection) {
  connection_.limit(limits);
  connection_.execute(mode == Mode::write ? "BEGIN IMMEDIATE" : "BEGIN");
}
Transaction::~Transaction() {
  const Section section;
  if (open_) sqlite3_exec(connection_.handle(), "ROLLBACK", nullptr, nullptr, nullptr);
}
void Transaction::commit() {
  connection_.execute("COMMIT");
  open_ = false;
}

}  // namespace tilewright::sqlite
