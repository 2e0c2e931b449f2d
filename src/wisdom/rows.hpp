// A record and a model as rows of the database: the keys computed from them, and the statements that read and
// write them. Their columns are the fields of columns.hpp.
#pragma once

#include <cmath>
#include <type_traits>

#include "core/problem.hpp"
#include "wisdom/model.hpp"
#include "wisdom/record.hpp"
#include "wisdom/sqlite.hpp"

namespace tilewright {

// What lookups and identities compare.
struct RowKeys {
  std::string exact, variant, kind;
  GemmProblem problem;
};
RowKeys row_keys(const WisdomRecord& record);

// A number that no measurement gives counts as not measured. R^2 of a model may be below zero.
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

// Records or models of a statement that selects whole rows, of whatever version of the table.
template <class S>
class StoredReader {
 public:
  StoredReader(const sqlite::Statement& rows, std::string path)
      : rows_(rows), fields_(rows), id_(rows.column_named("id")), path_(std::move(path)) {}
  S read() const {
    S stored = fields_.read();
    forget_impossible(stored);
    stored.source = fmt::format("{}#{}", path_, rows_.integer(id_));
    stored.dropped = is_stale(stored);
    return stored;
  }

 private:
  const sqlite::Statement& rows_;
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

}  // namespace tilewright
