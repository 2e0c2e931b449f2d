// A record as a row of the database: its columns, the keys computed from it, and the statements that write
// it. Searching among rows is store.cpp's.
#pragma once

#include <optional>
#include <string>

#include "core/problem.hpp"
#include "wisdom/record.hpp"
#include "wisdom/sqlite.hpp"

namespace tilewright {

// What lookups and identities compare.
struct RowKeys {
  std::string exact, variant, kind;
  GemmProblem problem;
  std::int64_t cell = 0;
};
RowKeys row_keys(const WisdomRecord& record);

// A query of whole records, which record_of_row() reads.
std::string select_records(const std::string& rest);
WisdomRecord record_of_row(const sqlite::Statement& row, const std::string& path);

class RowWriter {
 public:
  RowWriter(const sqlite::Connection& connection, const std::string& path);
  void write(const WisdomRecord& record, const RowKeys& keys);

 private:
  template <class V>
  void bind(int index, const std::optional<V>& value) {
    value ? insert_.bind(index, *value) : insert_.bind_null(index);
  }
  std::int64_t kind_of(const WisdomRecord& record, const RowKeys& keys);

  sqlite::Statement add_kind_, kind_, insert_;
};

}  // namespace tilewright
