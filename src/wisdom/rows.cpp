// Columns, keys and the statement of a row.
#include "wisdom/rows.hpp"

#include <fmt/format.h>

#include "wisdom/families.hpp"
#include "wisdom/key.hpp"

namespace tilewright {
namespace {

constexpr const char* columns =
    "family, problem, config, device, driver, source_hash, compiler, objective, seconds, seconds_low, "
    "seconds_high, samples, default_seconds, candidates, verdict, reason, time, extra, error, error_bound, "
    "energy_j, metrics";

}  // namespace

std::string select_records(const std::string& rest) {
  return fmt::format("SELECT id, {} FROM records {}", columns, rest);
}

// A record that cannot be read (another version wrote it) is kept under keys that no lookup asks for.
RowKeys row_keys(const WisdomRecord& record) {
  RowKeys keys;
  try {
    keys.problem = parse_problem(record.problem);
    const std::string architecture = architecture_of(record.family, record.config);
    keys.exact = exact_key(record.family, architecture, keys.problem);
    keys.kind = kind_key(record.family, architecture, keys.problem);
    keys.variant = variant_key(keys.problem);
    keys.cell = cell_number(keys.problem);
  } catch (const Error&) {
    keys = {};
    keys.exact = fmt::format("unreadable {} {}", record.family, record.problem);
    keys.variant = record.config.dump();
  }
  // A config that is wrong says nothing about the one that is best: both are kept.
  if (!record.passed()) keys.variant += " not passed " + record.config.dump();
  return keys;
}

WisdomRecord record_of_row(const sqlite::Statement& row, const std::string& path) {
  WisdomRecord r;
  r.source = fmt::format("{}#{}", path, row.integer(0));
  r.family = row.text(1), r.problem = row.text(2);
  r.config = nlohmann::json::parse(row.text(3), nullptr, false);
  r.device = row.text(4), r.driver = row.text(5), r.source_hash = row.text(6), r.compiler = row.text(7);
  r.objective = row.text(8);
  r.seconds = row.real(9), r.seconds_low = row.real(10), r.seconds_high = row.real(11);
  r.samples = row.integer(12);
  if (!row.is_null(13)) r.default_seconds = row.real(13);
  if (!row.is_null(14)) r.candidates = row.integer(14);
  r.verdict = row.text(15), r.reason = row.text(16), r.time = row.text(17);
  r.extra = nlohmann::json::parse(row.text(18), nullptr, false);
  const auto optional = [&](int column, std::optional<double>& value) {
    if (!row.is_null(column)) value = row.real(column);
  };
  optional(19, r.error), optional(20, r.error_bound), optional(21, r.energy_j);
  r.metrics = nlohmann::json::parse(row.text(22), nullptr, false);
  r.text = to_json(r).dump();
  r.dropped = is_stale(r);
  return r;
}

RowWriter::RowWriter(const sqlite::Connection& connection, const std::string& path)
    : add_kind_(connection.handle(), path,
                "INSERT INTO kinds (kind_key, objective, source_hash, device, m_low, m_high, n_low, "
                "n_high, k_low, "
                "k_high) VALUES (?1, ?2, ?3, ?4, ?5, ?5, ?6, ?6, ?7, ?7) ON CONFLICT DO UPDATE SET "
                "m_low = min(m_low, ?5), m_high = max(m_high, ?5), n_low = min(n_low, ?6), "
                "n_high = max(n_high, ?6), k_low = min(k_low, ?7), k_high = max(k_high, ?7) "
                "WHERE ?5 NOT BETWEEN m_low AND m_high OR ?6 NOT BETWEEN n_low AND n_high OR "
                "?7 NOT BETWEEN k_low AND k_high"),
      kind_(connection.handle(), path,
            "SELECT id FROM kinds WHERE kind_key = ?1 AND objective = ?2 AND source_hash = ?3 AND device = "
            "?4"),
      insert_(connection.handle(), path,
              fmt::format(
                  "INSERT OR REPLACE INTO records ({}, exact_key, variant_key, kind, cell, m, n, k, block, "
                  "traits) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, "
                  "?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?29, ?30, ?31)",
                  columns)) {}

void RowWriter::write(const WisdomRecord& r, const RowKeys& keys) {
  const std::string config = r.config.dump();
  const std::string extra = r.extra.is_object() ? r.extra.dump() : "{}";
  const std::string metrics = r.metrics.is_object() ? r.metrics.dump() : "{}";
  const std::int64_t kind = kind_of(r, keys);
  insert_.with(r.family, r.problem, config, r.device, r.driver, r.source_hash, r.compiler, r.objective,
               r.seconds, r.seconds_low, r.seconds_high, r.samples);
  bind(13, r.default_seconds), bind(14, r.candidates);
  insert_.bind(15, r.verdict), insert_.bind(16, r.reason), insert_.bind(17, r.time), insert_.bind(18, extra);
  bind(19, r.error), bind(20, r.error_bound), bind(21, r.energy_j), insert_.bind(22, metrics);
  insert_.bind(23, keys.exact), insert_.bind(24, keys.variant), insert_.bind(25, kind);
  insert_.bind(26, keys.cell), insert_.bind(27, keys.problem.m), insert_.bind(28, keys.problem.n);
  insert_.bind(29, keys.problem.k), insert_.bind(30, keys.problem.block);
  insert_.bind(31, packed_traits(keys.problem));
  insert_.step();
  insert_.reset();
}

std::int64_t RowWriter::kind_of(const WisdomRecord& r, const RowKeys& keys) {
  if (!r.passed()) return 0;
  const GemmProblem& p = keys.problem;
  add_kind_.with(keys.kind, r.objective, r.source_hash, r.device, p.m, p.n, p.k);
  add_kind_.step();
  add_kind_.reset();
  kind_.with(keys.kind, r.objective, r.source_hash, r.device).step();
  const std::int64_t kind = kind_.integer(0);
  kind_.reset();
  return kind;
}

}  // namespace tilewright
