// The statements of the store, and the search for near shapes over its index of cells.
#include "wisdom/store.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <limits>

#include "wisdom/families.hpp"
#include "wisdom/schema.hpp"

namespace tilewright {
namespace {

namespace fs = std::filesystem;
using sqlite::Connection;
using sqlite::Mode;
using sqlite::Statement;

// A cell with more records than these is split; of the smallest cells no more are looked at.
constexpr std::int64_t most_per_cell = 24;
constexpr int widest_read_at_once = 2;
// So many neighbours are looked at before the nearest is good enough, though another, farther off, may share
// more than the shape with the problem.
constexpr std::int64_t enough = 16;
constexpr std::size_t most_devices = 8;

constexpr const char* columns =
    "family, problem, config, device, driver, source_hash, compiler, objective, seconds, seconds_low, "
    "seconds_high, samples, default_seconds, candidates, verdict, reason, time, extra, error, error_bound, "
    "energy_j, metrics";

std::string select(const std::string& rest) {
  return fmt::format("SELECT id, {} FROM records {}", columns, rest);
}

// From a cell on, in the order of the index: the first beyond the wanted cells says how far there is nothing.
std::string near_sql(const char* what, const char* rest) {
  return fmt::format(
      "SELECT cell{} FROM records INDEXED BY records_by_cell WHERE kind = ?1 AND cell >= ?2 ORDER BY cell {}",
      what, rest);
}

// What the rows seen so far say of cells that were not asked for: near the edges of what was measured, most
// cells are empty, and inside it most wide ones are crowded.
class SeenCells {
 public:
  void add_gap(std::int64_t first, std::int64_t last) {
    if (first <= last) gaps_.push_back({first, last});
  }
  // More than most_per_cell records lie there.
  void add_crowd(std::int64_t first, std::int64_t last) { crowds_.push_back({first, last}); }

  bool is_empty(const ShapeCell& cell) const {
    return std::any_of(gaps_.begin(), gaps_.end(),
                       [&](const Run& gap) { return gap.first <= cell.first() && cell.last() <= gap.last; });
  }
  bool is_crowded(const ShapeCell& cell) const {
    return std::any_of(crowds_.begin(), crowds_.end(), [&](const Run& crowd) {
      return cell.first() <= crowd.first && crowd.last <= cell.last();
    });
  }

 private:
  struct Run {
    std::int64_t first, last;
  };
  std::vector<Run> gaps_, crowds_;
};

struct Keys {
  std::string exact, variant, kind;
  GemmProblem problem;
  std::int64_t cell = 0;
};

// A record that cannot be read (another version wrote it) is kept under keys that no lookup asks for.
Keys keys_of(const WisdomRecord& record) {
  Keys keys;
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

WisdomRecord record_of(const Statement& row, const std::string& path) {
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

// The statements that write a record.
class Writer {
 public:
  Writer(const Connection& connection, const std::string& path)
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

  void write(const WisdomRecord& r, const Keys& keys) {
    const std::string config = r.config.dump();
    const std::string extra = r.extra.is_object() ? r.extra.dump() : "{}";
    const std::string metrics = r.metrics.is_object() ? r.metrics.dump() : "{}";
    const std::int64_t kind = kind_of(r, keys);
    insert_.with(r.family, r.problem, config, r.device, r.driver, r.source_hash, r.compiler, r.objective,
                 r.seconds, r.seconds_low, r.seconds_high, r.samples);
    bind(13, r.default_seconds), bind(14, r.candidates);
    insert_.bind(15, r.verdict), insert_.bind(16, r.reason), insert_.bind(17, r.time),
        insert_.bind(18, extra);
    bind(19, r.error), bind(20, r.error_bound), bind(21, r.energy_j), insert_.bind(22, metrics);
    insert_.bind(23, keys.exact), insert_.bind(24, keys.variant), insert_.bind(25, kind);
    insert_.bind(26, keys.cell), insert_.bind(27, keys.problem.m), insert_.bind(28, keys.problem.n);
    insert_.bind(29, keys.problem.k), insert_.bind(30, keys.problem.block);
    insert_.bind(31, packed_traits(keys.problem));
    insert_.step();
    insert_.reset();
  }

 private:
  template <class V>
  void bind(int index, const std::optional<V>& value) {
    value ? insert_.bind(index, *value) : insert_.bind_null(index);
  }

  std::int64_t kind_of(const WisdomRecord& r, const Keys& keys) {
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

  Statement add_kind_, kind_, insert_;
};

// A connection with its statements.
struct Session {
  Session(std::unique_ptr<Connection> opened, const std::string& path)
      : connection(std::move(opened)),
        process(getpid()),
        by_identity(handle(), path,
                    select("WHERE exact_key = ?1 AND objective = ?2 AND device = ?3 AND variant_key = ?4")),
        exact(handle(), path,
              "SELECT id, traits, device, block FROM records INDEXED BY records_by_identity WHERE exact_key "
              "= ?1 "
              "AND objective = ?2 AND verdict = 'passed' AND source_hash = ?3"),
        kinds(handle(), path,
              "SELECT id, device, m_low, n_low, k_low, m_high, n_high, k_high FROM kinds WHERE kind_key = ?1 "
              "AND objective = ?2 AND source_hash = ?3"),
        crowd(handle(), path, near_sql("", "LIMIT 1 OFFSET ?3")),
        in_cell(handle(), path, near_sql(", id, m, n, k, block, traits", "")),
        config(handle(), path, "SELECT config, seconds FROM records WHERE id = ?1"),
        begin(handle(), path, "BEGIN"),
        commit(handle(), path, "COMMIT") {}

  sqlite3* handle() const { return connection->handle(); }

  std::unique_ptr<Connection> connection;
  pid_t process;
  Statement by_identity, exact, kinds, crowd, in_cell, config, begin, commit;
  bool reading = false;
};

}  // namespace

struct WisdomStore::Impl {
  Impl(std::string file, Mode how) : path(std::move(file)), mode(how) {}

  // False for a reader whose file is missing or has no tables yet: it holds no records so far.
  bool ready() {
    if (session_ != nullptr && session_->process == getpid()) return true;
    (void)writer_.release();
    (void)session_.release();  // in a child of fork, what the parent opened is the parent's
    std::error_code error;
    if (mode == Mode::read && !fs::exists(path, error) && !error) return false;
    if (mode == Mode::write) make_folder();
    auto connection = std::make_unique<Connection>(path, mode);
    const SchemaState state = state_of(*connection);
    if (state == SchemaState::empty && mode == Mode::read) return false;
    if (mode == Mode::write) connection->use_write_ahead_log();
    if (state != SchemaState::current) upgrade();
    session_ = std::make_unique<Session>(std::move(connection), path);
    return true;
  }

  // Whose process this is was looked at when the lookup began, and is not asked again for each of its cells.
  Session& session() {
    if (session_ == nullptr || !session_->reading) (void)ready();
    return *session_;
  }

  static SchemaState state_of(Connection& connection) {
    sqlite::Transaction snapshot(connection, Mode::read);
    return schema_state(connection);
  }

  void make_folder() const {
    const fs::path folder = fs::path(path).parent_path();
    std::error_code error;
    if (!folder.empty()) fs::create_directories(folder, error);
    if (error)
      throw Error(ErrorCode::io, "wisdom",
                  fmt::format("wisdom = '{}': its folder cannot be made: {}", path, error.message()));
  }

  void upgrade() const {
    Connection connection(path, Mode::write);
    std::unique_ptr<Writer> writer;  // made when its tables are
    upgrade_schema(connection, [&](const WisdomRecord& record) {
      if (!writer) writer = std::make_unique<Writer>(connection, path);
      writer->write(record, keys_of(record));
    });
  }

  bool keep(const WisdomRecord& record, bool unless_worse) {
    Session& s = session();
    const Keys keys = keys_of(record);
    if (unless_worse) {
      const bool known = s.by_identity.with(keys.exact, record.objective, record.device, keys.variant).step();
      const bool better = !known || is_better(record, record_of(s.by_identity, path));
      s.by_identity.reset();
      if (!better) return false;
    }
    if (!writer_) writer_ = std::make_unique<Writer>(*s.connection, path);
    writer_->write(record, keys);
    return true;
  }

  // One snapshot, and one lock, for all that a lookup asks.
  void begin_reading() {
    if (in_transaction || session().reading) return;
    session().begin.run();
    session().reading = true;
  }
  void end_reading() noexcept {
    if (session_ == nullptr || !session_->reading) return;
    session_->reading = false;
    for (Statement* one :
         {&session_->exact, &session_->kinds, &session_->crowd, &session_->in_cell, &session_->config})
      one->reset();  // what an error has left open
    try {
      session_->commit.run();
    } catch (const Error&) {
      session_.reset();  // opened anew by the next lookup
    }
  }

  void find_exact(const WisdomQuery& query, bool elsewhere, std::vector<WisdomFinding>& found) {
    Statement& rows = session().exact;
    const std::string key = exact_key(query.family, query.architecture, query.problem);
    const std::string hash = current_source_hash(query.family);
    rows.with(key, query.objective, hash);
    while (rows.step()) {
      const std::string device(rows.text(2));
      if (is_same_device(query.device, device) == elsewhere) continue;
      GemmProblem known = query.problem;
      unpack_traits(rows.integer(1), known);
      known.block = rows.integer(3);
      found.push_back(
          {trait_penalty(query.problem, known, query.architecture) + device_penalty(query.device, device),
           rows.integer(0)});
    }
    rows.reset();
  }

  struct Kind {
    std::int64_t id;
    std::string device;
    ShapeExtent extent;
  };

  // The devices that records of the wanted kind come from: the own one, or all others.
  std::vector<Kind> kinds_of(const WisdomQuery& query, bool elsewhere) {
    const std::string kind = kind_key(query.family, query.architecture, query.problem);
    const std::string hash = current_source_hash(query.family);
    Statement& rows = session().kinds.with(kind, query.objective, hash);
    std::vector<Kind> kinds;
    while (rows.step() && kinds.size() < most_devices)
      if (std::string device(rows.text(1)); is_same_device(query.device, device) != elsewhere)
        kinds.push_back({rows.integer(0),
                         std::move(device),
                         {{rows.integer(2), rows.integer(3), rows.integer(4)},
                          {rows.integer(5), rows.integer(6), rows.integer(7)}}});
    rows.reset();
    return kinds;
  }

  struct Neighbours {
    std::vector<WisdomFinding> found;
    double nearest = shape_radius, best = shape_radius;  // the smallest distance and score so far
    SeenCells seen;
  };

  // The neighbours on one device, cell by cell away from the problem: until none outside can rank better than
  // the best, or, among very many, until the closest ones have been looked at.
  void find_near(const WisdomQuery& query, const Kind& kind, std::vector<WisdomFinding>& found) {
    Neighbours neighbours;
    CellsByDistance cells(query.problem, kind.extent);
    while (const auto cell =
               cells.next(std::ssize(neighbours.found) < enough ? neighbours.best : neighbours.nearest)) {
      if (neighbours.seen.is_empty(*cell)) continue;
      const bool crowded =
          cell->level > 0 &&
          (neighbours.seen.is_crowded(*cell) ||
           (cell->level > widest_read_at_once && is_crowded(kind.id, *cell, cells, neighbours.seen)));
      if (crowded || !read_cell(query, kind.id, *cell, neighbours)) cells.split(*cell);
    }
    const double away = device_penalty(query.device, kind.device);
    for (const WisdomFinding& one : neighbours.found) found.push_back({one.score + away, one.record});
  }

  // Whether more than are read at once lie in the cell from its part nearest to the problem on: a run of
  // records there says the same of the narrower cells around it, which are wanted next. One that is crowded
  // elsewhere is found out by reading.
  bool is_crowded(std::int64_t kind, const ShapeCell& cell, const CellsByDistance& cells, SeenCells& seen) {
    const std::int64_t from = cells.nearest_number(cell);
    Statement& row = session().crowd.with(kind, from, most_per_cell);
    const bool crowded = row.step() && row.integer(0) <= cell.last();
    if (crowded) seen.add_crowd(from, row.integer(0));
    row.reset();
    return crowded;
  }

  // False, and nothing read, where the cell holds too many and can be split.
  bool read_cell(const WisdomQuery& query, std::int64_t kind, const ShapeCell& cell, Neighbours& neighbours) {
    const std::size_t before = neighbours.found.size();
    double nearest = neighbours.nearest, best = neighbours.best;
    const std::int64_t last = cell.last();
    std::int64_t empty_from = cell.first(), count = 0;
    Statement& rows = session().in_cell.with(kind, cell.first());
    bool more = rows.step();
    for (; more && rows.integer(0) <= last && count < most_per_cell; more = rows.step(), ++count) {
      empty_from = rows.integer(0) + 1;
      GemmProblem known = query.problem;
      known.m = rows.integer(2), known.n = rows.integer(3), known.k = rows.integer(4);
      known.block = rows.integer(5);
      unpack_traits(rows.integer(6), known);
      const double distance = shape_distance(query.problem, known);
      if (distance > shape_radius || is_exact(query.problem, known) ||
          !fills_alike(query.problem, known, query.architecture))
        continue;
      const double score = distance + trait_penalty(query.problem, known, query.architecture);
      nearest = std::min(nearest, distance);
      best = std::min(best, score);
      neighbours.found.push_back({score, rows.integer(1)});
    }
    const std::int64_t next = more ? rows.integer(0) : std::numeric_limits<std::int64_t>::max();
    rows.reset();
    if (next <= last && cell.level > 0) {
      neighbours.found.resize(before);
      neighbours.seen.add_crowd(cell.first(), next);
      return false;
    }
    neighbours.seen.add_gap(empty_from, next - 1);
    neighbours.nearest = nearest, neighbours.best = best;
    return true;
  }

  std::string path;
  Mode mode;
  bool in_transaction = false;

 private:
  std::unique_ptr<Session> session_;
  std::unique_ptr<Writer> writer_;  // declared after the session: its statements go before the connection
};

WisdomStore::WisdomStore(std::string path, Mode mode) : impl_(std::make_unique<Impl>(std::move(path), mode)) {
  (void)impl_->ready();
}
WisdomStore::~WisdomStore() = default;

void WisdomStore::at_once(const std::function<void()>& work) {
  if (impl_->in_transaction) {
    work();
    return;
  }
  sqlite::Transaction transaction(*impl_->session().connection, Mode::write);
  impl_->in_transaction = true;
  try {
    work();
    transaction.commit();
  } catch (...) {
    impl_->in_transaction = false;
    throw;
  }
  impl_->in_transaction = false;
}

void WisdomStore::put(const WisdomRecord& record) {
  at_once([&] { impl_->keep(record, false); });
}

bool WisdomStore::merge(const WisdomRecord& record) {
  bool kept = false;
  at_once([&] { kept = impl_->keep(record, true); });
  return kept;
}

const std::string& WisdomStore::path() const { return impl_->path; }

std::vector<WisdomFinding> WisdomStore::find(const WisdomQuery& query, WisdomStage stage) {
  std::vector<WisdomFinding> found;
  if (!impl_->ready()) return found;
  impl_->begin_reading();
  switch (stage) {
    case WisdomStage::exact:
    case WisdomStage::exact_elsewhere:
      impl_->find_exact(query, stage == WisdomStage::exact_elsewhere, found);
      break;
    case WisdomStage::near_shape:
    case WisdomStage::near_elsewhere:
      for (const auto& kind : impl_->kinds_of(query, stage == WisdomStage::near_elsewhere))
        impl_->find_near(query, kind, found);
      break;
  }
  return found;
}

WisdomConfig WisdomStore::fetch(std::int64_t record) {
  impl_->begin_reading();
  Statement& row = impl_->session().config.with(record);
  if (!row.step())
    throw Error(ErrorCode::io, "wisdom",
                fmt::format("wisdom = '{}': record {} has gone", impl_->path, record));
  WisdomConfig found{nlohmann::json::parse(row.text(0), nullptr, false),
                     fmt::format("{}#{}", impl_->path, record), row.real(1)};
  row.reset();
  return found;
}

void WisdomStore::done() noexcept { impl_->end_reading(); }

void WisdomStore::each(const std::function<void(const WisdomRecord&)>& visit) {
  if (!impl_->ready()) return;
  Statement rows(impl_->session().handle(), impl_->path, select("ORDER BY id"));
  while (rows.step()) visit(record_of(rows, impl_->path));
}

std::string identity_of(const WisdomRecord& record) {
  const Keys keys = keys_of(record);
  return fmt::format("{}|{}|{}|{}", keys.exact, record.objective, record.device, keys.variant);
}

std::int64_t WisdomStore::count() {
  return impl_->ready() ? impl_->session().connection->integer("SELECT count(*) FROM records") : 0;
}

}  // namespace tilewright
