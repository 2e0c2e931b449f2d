// An open wisdom database: its schema and the upgrade of older files (schema.cpp), records and models as
// rows, and a connection with prepared statements. store.hpp reads and writes the records.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cmath>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include "core/problem.hpp"
#include "wisdom/index.hpp"
#include "wisdom/model.hpp"
#include "wisdom/record.hpp"
#include "wisdom/sqlite.hpp"

namespace tilewright {

inline constexpr std::int64_t wisdom_application_id = 0x54777773;  // "Twws", in the header of the file
// 1: records without driver, default time, candidates, reason and keys. 2: with them, but error, energy and
// what was observed only as other keys of the line, and kinds without their extent. 3: with columns for them.
// 4: keys that hold c of real types as t; the columns are those of 3. 5: keys with operation and math mode,
// source hashes as they are taken since kernels have a folder for each family, and fitted models. 6: without
// what a search on disk needed (cells, the extent of kinds), models with variants.
inline constexpr std::int64_t wisdom_schema_version = 6;

enum class SchemaState : std::uint8_t { empty, older, current };

// Called within a transaction: a file that another process is making looks foreign half-way. Throws Error(io)
// for another program's database, one of a newer version, or one with foreign parts: triggers, views, virtual
// tables, other columns.
SchemaState schema_state(sqlite::Connection& connection);

// Makes the tables, or moves the contents of an older version into them, within one transaction. Several
// processes may try at once; `wait` limits how long they wait for each other.
void upgrade_schema(sqlite::Connection& connection, std::chrono::milliseconds wait);

// Copies a file of an older version, which stays as it is, to an empty database.
void upgrade_copy(sqlite::Connection& older, sqlite::Connection& copy, std::chrono::milliseconds wait);

struct RowKeys {
  std::string exact, variant, kind;
  GemmProblem problem;
};
RowKeys row_keys(const WisdomRecord& record);

// Resets impossible numbers to unknown. R^2 of a model may be negative.
template <class S>
void forget_impossible(S& stored) {
  const auto is_possible = [](auto number) {
    return columns::is_measured(std::is_same_v<S, FittedModel> && number < 0 ? 0 : number) &&
           std::isfinite(double(number));
  };
  for_each_field<S>([&](const auto& f) {
    auto& value = stored.*(f.member);
    using V = std::remove_cvref_t<decltype(value)>;
    if constexpr (std::is_arithmetic_v<V>) {
      if (!is_possible(value)) value = 0;
    } else if constexpr (columns::is_number<V>) {
      if (value && !is_possible(*value)) value.reset();
    }
  });
}

// A statement that selects whole rows of records or models, of any version of the table.
template <class S>
class Rows : public sqlite::Statement {
 public:
  Rows(sqlite3* connection, const std::string& path, const std::string& sql)
      : Statement(connection, path, sql), fields_(*this), id_(column_named("id")), path_(path) {}
  S read() const {
    S stored = fields_.read();
    forget_impossible(stored);
    stored.source = fmt::format("{}#{}", path_, integer(id_));
    stored.dropped = is_stale(stored);
    return stored;
  }

 private:
  RowReader<S> fields_;
  int id_;
  std::string path_;
};

class RowWriter {
 public:
  RowWriter(const sqlite::Connection& connection, const std::string& path);
  void write(const WisdomRecord& record, const RowKeys& keys);
  void write(const FittedModel& model);

 private:
  std::int64_t kind_of(const WisdomRecord& record, const RowKeys& keys);

  sqlite::Statement add_kind_, kind_, insert_, insert_model_;
};

// The identity and state of the file at a path, as the system reports them.
struct FileStamp {
  explicit FileStamp(const std::string& path);

  // True if another write would get another time.
  bool is_settled() const;

  std::pair<dev_t, ino_t> file{};
  std::tuple<off_t, time_t, long> state{};
};

// A connection with statements and indexes of rows, by kind and objective. `is_copy`: of a copy in memory.
struct Session {
  Session(std::unique_ptr<sqlite::Connection> opened, const FileStamp& file, bool is_copy);

  // True if the path still is the opened file.
  bool holds(const FileStamp& now) const {
    return now.file == stamp.file && (!is_copy || now.state == stamp.state);
  }
  // True if the file is unchanged since see(), as far as the system reports.
  bool is_as_seen(const FileStamp& now) const { return settled && now.state == seen.state; }
  // Within a transaction: drops the indexes if another connection has written since.
  void see(const FileStamp& now);
  sqlite3* handle() const { return connection->handle(); }

  std::unique_ptr<sqlite::Connection> connection;
  pid_t process;
  FileStamp stamp;
  bool is_copy;
  Rows<WisdomRecord> by_identity;
  Rows<FittedModel> model_by_identity;
  Rows<WisdomRecord> by_number;
  sqlite::Statement shapes, version;
  std::unordered_map<std::string, std::shared_ptr<ShapeIndex>> indexes;

 private:
  FileStamp seen;
  bool settled = false;
  std::int64_t seen_version = 0;
};

// Null for a reader whose file is missing or has no tables yet.
std::unique_ptr<Session> open_session(const std::string& path, sqlite::Mode mode,
                                      std::chrono::milliseconds wait);

}  // namespace tilewright
