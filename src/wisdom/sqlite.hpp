// Owners of SQLite's handles: connection, statements, transactions. Failures throw Error(io) with the file.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/host/host_state.hpp"
#include "tilewright/types.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace tilewright::sqlite {

// The name of a file system of SQLite (shy_files.cpp) that opens a database only while it is locked. Between
// lookups a Context holds no descriptor: a program that closes all of them (closefrom, as daemons do) and
// reuses the numbers is safe. Databases with a write-ahead log, whose files stay open, cannot be opened under
// this name. Throws std::bad_alloc if SQLite cannot be started.
const char* shy_files();

// At most `count` bytes; none if missing, unreadable or not a regular file. POSIX drops all locks of a
// process on a file when it closes any descriptor of it: only SQLite may open a file that may be a database.
std::string first_bytes(const std::string& path, int count);

// True if the file begins with the header of a SQLite database.
bool is_database(const std::string& path);

enum class Mode : std::uint8_t { read, write };

// Compiled once, run many times. Text that is bound must live until the statement is reset.
class Statement {
 public:
  Statement(sqlite3* connection, const std::string& path, const std::string& sql);
  ~Statement();
  Statement& operator=(Statement&&) = delete;

  void bind(int index, std::string_view text);
  void bind_copy(int index, const std::string& text);  // may be temporary
  void bind(int index, std::int64_t value);
  void bind(int index, double value);
  void bind_null(int index);
  template <class... Values>
  Statement& with(const Values&... values) {
    reset();
    bind_from(1, values...);
    return *this;
  }
  template <class... Values>
  void bind_from(int index, const Values&... values) {
    (bind(index++, values), ...);
  }

  bool step();  // true: a row is there to be read
  void run();   // for statements without rows
  void reset() noexcept;

  int column_named(std::string_view name) const;  // -1: no such column
  // Throws Error(io) unless it is UTF-8.
  std::string_view text(int column) const;
  std::int64_t integer(int column) const;
  double real(int column) const;
  bool is_null(int column) const;

 private:
  void check(int code) const;

  sqlite3* connection_;
  std::string path_;
  sqlite3_stmt* statement_ = nullptr;
};

// A file is in use by another process for longer than the caller wants to wait.
class Locked : public Error {
 public:
  using Error::Error;
};

// The cost limits of one transaction or one reading of a whole table.
struct Limits {
  std::chrono::milliseconds wait{10000};  // for locks of other processes
  // Steps of SQLite's virtual machine. Searches take thousands; a malicious file could take any number.
  std::int64_t steps = std::int64_t(1) << 18;
};

class Connection {
 public:
  // Opens the file; Mode::write makes a missing one. Readers may open files in read-only places. Between
  // transactions the file is closed, unless keeps_files().
  Connection(const std::string& path, Mode mode);
  // A database in memory; `path` is for messages.
  static std::unique_ptr<Connection> in_memory(const std::string& path);
  Connection& operator=(Connection&&) = delete;

  // Limits the cost of later operations, until the next call.
  void limit(const Limits& limits);
  // Steps in proportion to the size of the file.
  Limits whole_file() const;

  void execute(const std::string& sql);
  std::int64_t integer(const std::string& sql);  // the first column of the first row

  // True if the file has a write-ahead log, from earlier builds: its files stay open as long as the
  // connection, and processes on several hosts must not share it.
  bool keeps_files() const { return keeps_files_; }
  // Removes the log if nobody else has the file open. After true the connection is unusable.
  bool remove_log();

  sqlite3* handle() const { return connection_.get(); }
  const std::string& path() const { return path_; }

 private:
  struct Close {
    void operator()(sqlite3* connection) const noexcept;
  };
  explicit Connection(std::string path) : path_(std::move(path)) {}
  void open(int flags, const std::string& name, const char* files);
  void open_with_log(Mode mode);
  void restrain();
  bool readable();
  static int is_waiting(void* connection, int tries);
  static int is_too_much(void* connection);

  std::string path_;
  bool keeps_files_ = false;
  std::chrono::steady_clock::time_point wait_until_;
  std::int64_t steps_left_ = 0;
  std::unique_ptr<sqlite3, Close> connection_;
};

// Rolled back unless committed. Writers take the write lock at the beginning, so that none fails half-way.
class Transaction {
 public:
  Transaction(Connection& connection, Mode mode, const Limits& limits = {});
  ~Transaction();
  Transaction& operator=(Transaction&&) = delete;
  void commit();

 private:
  HeldSignal limit_{SIGXFSZ};  // file size limit: becomes an I/O error of SQLite
  Connection& connection_;
  bool open_ = true;
};

}  // namespace tilewright::sqlite
