// Owners of SQLite's handles: a connection, its prepared statements and its transactions, whose failures are
// thrown as Error(io) naming the file. What is stored belongs to store.hpp; nothing here knows of wisdom.
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

// Files as SQLite opens them for wisdom (shy_files.cpp): a database file is open only while it is locked.
// Between two lookups a Context holds no descriptor, so that a program that closes all (closefrom, as daemons
// do) and gives the numbers to files of its own never has these read, written or closed.
// The name under which SQLite knows these files. A write-ahead log would need files that stay open: databases
// that have one cannot be opened under this name. Throws std::bad_alloc where SQLite cannot be started.
const char* shy_files();

// At most `count` bytes; fewer at the end of the file, none where it is missing, unreadable or not a regular
// file. POSIX drops every lock of a process on a file when the process closes any descriptor of it, and
// nothing but SQLite knows of its own: no other code may open a file that may be a database.
std::string first_bytes(const std::string& path, int count);

// Whether a file begins as databases of SQLite do.
bool is_database(const std::string& path);

enum class Mode : std::uint8_t { read, write };

// Compiled once, run many times. Text that is bound must live until the statement is reset.
class Statement {
 public:
  Statement(sqlite3* connection, const std::string& path, const std::string& sql);
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  void bind(int index, std::string_view text);
  void bind_copy(int index, const std::string& text);  // which need not live on
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

  int column_named(std::string_view name) const;  // -1: there is none
  // Throws Error(io) for what is not UTF-8 text: nothing that shows it could.
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

// What one transaction, or one reading of a whole table, may cost.
struct Limits {
  std::chrono::milliseconds wait{10000};  // for locks of other processes
  // Of SQLite's machine. Searches that look at their neighbourhood take thousands; a file that was made to
  // keep readers busy for ever takes any number.
  std::int64_t steps = std::int64_t(1) << 18;
};

class Connection {
 public:
  // Opens, and for Mode::write makes, the file. Readers of a file that lies where nothing may be written see
  // it as it is. Between transactions nothing is open, unless keeps_files().
  Connection(const std::string& path, Mode mode);
  // A database in memory; `path` is for messages.
  static std::unique_ptr<Connection> in_memory(const std::string& path);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // What follows may cost so much, until the next call.
  void limit(const Limits& limits);
  // As many steps as the file can hold rows, many times over.
  Limits whole_file() const;

  void execute(const std::string& sql);
  std::int64_t integer(const std::string& sql);  // the first column of the first row

  // Whether the file has a write-ahead log, as earlier builds gave it. Its files stay open as long as the
  // connection lives, and processes on several hosts must not share it.
  bool keeps_files() const { return keeps_files_; }
  // Takes the log away, which asks for nobody else to have the file open. The connection is of no use after
  // it said true.
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

// Rolled back unless committed. Writers take the write lock at once, so that none fails half-way.
class Transaction {
 public:
  Transaction(Connection& connection, Mode mode, const Limits& limits = {});
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit();

 private:
  HeldSignal limit_{SIGXFSZ};  // of the size of files: SQLite then has an error of the disk
  Connection& connection_;
  bool open_ = true;
};

}  // namespace tilewright::sqlite
