// An open wisdom database: a connection in the schema of today with its statements. How a file comes to that,
// older versions and files that cannot be written included, is told here; what is asked of it is store.hpp's.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "wisdom/index.hpp"
#include "wisdom/rows.hpp"
#include "wisdom/sqlite.hpp"

namespace tilewright {

// Which file a path means now, and in what state as far as the system tells.
struct FileStamp {
  explicit FileStamp(const std::string& path);

  // Whether the last write was so long ago that another would have another time.
  bool is_settled() const;

  std::pair<dev_t, ino_t> file{};
  std::tuple<off_t, time_t, long> state{};
};

// A connection with its statements and the indexes made of its rows, by kind and objective. `is_copy`: to
// what was read of the file into memory.
struct Session {
  Session(std::unique_ptr<sqlite::Connection> opened, const FileStamp& file, bool is_copy);

  // Whether the path means what it meant then.
  bool holds(const FileStamp& now) const {
    return now.file == stamp.file && (!is_copy || now.state == stamp.state);
  }
  // Whether the file is as it was when it was last seen, as far as the system tells.
  bool is_as_seen(const FileStamp& now) const { return settled && now.state == seen.state; }
  // Within a transaction: forgets the indexes where another connection has written since.
  void see(const FileStamp& now);
  sqlite3* handle() const { return connection->handle(); }

  std::unique_ptr<sqlite::Connection> connection;
  pid_t process;
  FileStamp stamp;
  bool is_copy;
  sqlite::Statement by_identity;
  StoredReader<WisdomRecord> known;
  sqlite::Statement model_by_identity;
  StoredReader<FittedModel> known_model;
  sqlite::Statement by_number;
  StoredReader<WisdomRecord> numbered;
  sqlite::Statement shapes, version;
  std::unordered_map<std::string, std::shared_ptr<ShapeIndex>> indexes;

 private:
  FileStamp seen;
  bool settled = false;
  std::int64_t seen_version = 0;
};

// Null for a reader whose file is missing or has no tables yet: it holds no records so far.
std::unique_ptr<Session> open_session(const std::string& path, sqlite::Mode mode,
                                      std::chrono::milliseconds wait);

}  // namespace tilewright
