// Keys and the statements of a row.
#include "wisdom/rows.hpp"

#include <fmt/format.h>

#include "wisdom/families.hpp"
#include "wisdom/key.hpp"

namespace tilewright {
// What lookups do not search by keys is known by its problem's text; a record that cannot be read (another
// version wrote it) is kept under keys that no lookup asks for.
RowKeys row_keys(const WisdomRecord& record) {
  RowKeys keys;
  if (const auto query = query_of(record)) {
    keys.problem = query->problem;
    keys.exact = exact_key(*query);
    keys.kind = kind_key(*query);
    keys.variant = variant_key(keys.problem);
  } else if (is_known_family(record.family) && !is_keyed(record.family)) {
    keys.exact = fmt::format("{} {}", record.family, record.problem);
  } else {
    keys.exact = fmt::format("unreadable {} {}", record.family, record.problem);
    keys.variant = record.config.dump();
  }
  // A config that is wrong says nothing about the one that is best: both are kept.
  if (!record.passed()) keys.variant += " not passed " + record.config.dump();
  return keys;
}

std::string identity_of(const WisdomRecord& record) {
  const RowKeys keys = row_keys(record);
  return fmt::format("{}|{}|{}|{}", keys.exact, record.objective, record.device, keys.variant);
}

RowWriter::RowWriter(const sqlite::Connection& connection, const std::string& path)
    : add_kind_(connection.handle(), path,
                "INSERT OR IGNORE INTO kinds (kind_key, objective, source_hash, device) VALUES (?1, ?2, ?3, "
                "?4)"),
      kind_(connection.handle(), path,
            "SELECT id FROM kinds WHERE kind_key = ?1 AND objective = ?2 AND source_hash = ?3 AND device = "
            "?4"),
      insert_(connection.handle(), path,
              fmt::format("INSERT OR REPLACE INTO records ({}, exact_key, variant_key, kind, m, n, k, "
                          "block, traits) VALUES ({}, ?, ?, ?, ?, ?, ?, ?, ?)",
                          column_names<WisdomRecord>(), column_places<WisdomRecord>())),
      insert_model_(connection.handle(), path,
                    fmt::format("INSERT OR REPLACE INTO models ({}, identity) VALUES ({}, ?)",
                                column_names<FittedModel>(), column_places<FittedModel>())) {}

void RowWriter::write(const WisdomRecord& record, const RowKeys& keys) {
  const std::int64_t kind = kind_of(record, keys);
  const GemmProblem& p = keys.problem;
  insert_.bind_from(bind_columns(insert_, record), keys.exact, keys.variant, kind, p.m, p.n, p.k, p.block,
                    packed_traits(p));
  insert_.step();
  insert_.reset();
}

void RowWriter::write(const FittedModel& model) {
  const std::string identity = identity_of(model);
  insert_model_.bind_from(bind_columns(insert_model_, model), identity);
  insert_model_.step();
  insert_model_.reset();
}

std::int64_t RowWriter::kind_of(const WisdomRecord& r, const RowKeys& keys) {
  if (!r.passed()) return 0;
  add_kind_.with(keys.kind, r.objective, r.source_hash, r.device);
  add_kind_.step();
  add_kind_.reset();
  kind_.with(keys.kind, r.objective, r.source_hash, r.device).step();
  const std::int64_t kind = kind_.integer(0);
  kind_.reset();
  return kind;
}

}  // namespace tilewright
