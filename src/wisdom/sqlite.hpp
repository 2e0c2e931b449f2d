// Owners of SQLite's handles: a connection, its prepared statements and its transactions, whose failures are
// thrown as Error(io) naming the file. What is stored belongs to store.hpp; nothing here knows of wisdom.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace tilewright::sqlite {

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
  std::string_view text(int column) const;
  std::int64_t integer(int column) const;
  double real(int column) const;
  bool is_null(int column) const;

 private:
  sqlite3* connection_;
  std::string path_;
  sqlite3_stmt* statement_ = nullptr;
};

class Connection {
 public:
  // Opens, and for Mode::write makes, the file. Readers of a file that lies where nothing may be written see
  // it as it is. Waits up to ten seconds for writers of other processes.
  Connection(const std::string& path, Mode mode);

  void execute(const std::string& sql);
  std::int64_t integer(const std::string& sql);  // the first column of the first row
  void use_write_ahead_log();
  // Forgets the handle without closing it: a child of fork must not touch its parent's connection.
  void abandon() noexcept { (void)connection_.release(); }

  sqlite3* handle() const { return connection_.get(); }
  const std::string& path() const { return path_; }

 private:
  struct Close {
    void operator()(sqlite3* connection) const noexcept;
  };
  void open(int flags, const std::string& name);
  bool readable();

  std::string path_;
  std::unique_ptr<sqlite3, Close> connection_;
};

// Brings what a write-ahead log holds into the database, and removes the log where nobody else has the file
// open; one that must not be written, or is in use, is left as it is.
void fold_log(const std::string& path) noexcept;

// Rolled back unless committed. Writers take the write lock at once, so that none fails half-way.
class Transaction {
 public:
  Transaction(Connection& connection, Mode mode);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit();

 private:
  Connection& connection_;
  bool open_ = true;
};

}  // namespace tilewright::sqlite
