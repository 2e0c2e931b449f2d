// The statements of the store, and the search for near shapes over its index of cells.
#include "wisdom/store.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <unordered_set>

#include "wisdom/families.hpp"
#include "wisdom/schema.hpp"

namespace tilewright {
namespace {

namespace fs = std::filesystem;
using sqlite::Connection;
using sqlite::Mode;
using sqlite::Statement;

// A cell with more records than these is split; of the smallest cells no more are looked at.
constexpr std::int64_t most_per_cell = 16;
constexpr int widest_read_at_once = 2;
// So many neighbours are looked at before the nearest is good enough, though another, farther off, may share
// more than the shape with the problem.
constexpr std::int64_t enough = 32;
constexpr std::size_t most_devices = 8;

constexpr const char* columns =
    "family, problem, config, device, driver, source_hash, compiler, objective, seconds, seconds_low, "
    "seconds_high, samples, default_seconds, candidates, verdict, reason, time, extra";

std::string select(const std::string& rest) {
  return fmt::format("SELECT id, {} FROM records {}", columns, rest);
}

std::string near_sql(const char* what, const char* rest) {
  return fmt::format(
      "SELECT {} FROM records INDEXED BY records_by_cell WHERE kind = ?1 AND cell "
      "BETWEEN ?2 AND ?3 {}",
      what, rest);
}

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
  r.text = to_json(r).dump();
  r.dropped = is_stale(r);
  return r;
}

// The statements that write a record.
class Writer {
 public:
  Writer(const Connection& connection, const std::string& path)
      : add_kind_(
            connection.handle(), path,
            "INSERT OR IGNORE INTO kinds (kind_key, objective, source_hash, device) VALUES (?1, ?2, ?3, ?4)"),
        kind_(connection.handle(), path,
              "SELECT id FROM kinds WHERE kind_key = ?1 AND objective = ?2 AND source_hash = ?3 AND device = "
              "?4"),
        insert_(connection.handle(), path,
                fmt::format(
                    "INSERT OR REPLACE INTO records ({}, exact_key, variant_key, kind, cell, m, n, k, block, "
                    "traits) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, "
                    "?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27)",
                    columns)) {}

  void write(const WisdomRecord& r, const Keys& keys) {
    const std::string config = r.config.dump();
    const std::string extra = r.extra.is_object() ? r.extra.dump() : "{}";
    const std::int64_t kind = kind_of(r, keys);
    insert_.with(r.family, r.problem, config, r.device, r.driver, r.source_hash, r.compiler, r.objective,
                 r.seconds, r.seconds_low, r.seconds_high, r.samples);
    insert_.bind_null(13), insert_.bind_null(14);
    if (r.default_seconds) insert_.bind(13, *r.default_seconds);
    if (r.candidates) insert_.bind(14, *r.candidates);
    insert_.bind(15, r.verdict), insert_.bind(16, r.reason), insert_.bind(17, r.time),
        insert_.bind(18, extra);
    insert_.bind(19, keys.exact), insert_.bind(20, keys.variant), insert_.bind(21, kind);
    insert_.bind(22, keys.cell), insert_.bind(23, keys.problem.m), insert_.bind(24, keys.problem.n);
    insert_.bind(25, keys.problem.k), insert_.bind(26, keys.problem.block);
    insert_.bind(27, packed_traits(keys.problem));
    insert_.step();
    insert_.reset();
  }

 private:
  std::int64_t kind_of(const WisdomRecord& r, const Keys& keys) {
    if (!r.passed()) return 0;
    const auto find = [&] { return kind_.with(keys.kind, r.objective, r.source_hash, r.device).step(); };
    if (!find()) {
      add_kind_.with(keys.kind, r.objective, r.source_hash, r.device).step();
      add_kind_.reset();
      find();
    }
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
              "SELECT id, device FROM kinds WHERE kind_key = ?1 AND objective = ?2 AND source_hash = ?3"),
        crowd(handle(), path, near_sql("1", "LIMIT 1 OFFSET ?4")),
        in_cell(handle(), path, near_sql("id, m, n, k, block, traits", "LIMIT ?4")),
        config(handle(), path, "SELECT config FROM records WHERE id = ?1"),
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

  Session& session() {
    (void)ready();
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
      if ((device != query.device) != elsewhere) continue;
      GemmProblem known = query.problem;
      unpack_traits(rows.integer(1), known);
      known.block = rows.integer(3);
      found.push_back(
          {trait_penalty(query.problem, known, query.architecture) + maker_penalty(query.device, device),
           rows.integer(0)});
    }
    rows.reset();
  }

  struct Kind {
    std::int64_t id;
    std::string device;
  };

  // The devices that records of the wanted kind come from: the own one, or all others.
  std::vector<Kind> kinds_of(const WisdomQuery& query, bool elsewhere) {
    const std::string kind = kind_key(query.family, query.architecture, query.problem);
    const std::string hash = current_source_hash(query.family);
    Statement& rows = session().kinds.with(kind, query.objective, hash);
    std::vector<Kind> kinds;
    while (rows.step() && kinds.size() < most_devices)
      if ((rows.text(1) != query.device) == elsewhere)
        kinds.push_back({rows.integer(0), std::string(rows.text(1))});
    rows.reset();
    return kinds;
  }

  struct Neighbours {
    std::vector<WisdomFinding> found;
    double nearest = shape_radius, best = shape_radius;  // the smallest distance and score so far
  };

  // The neighbours on one device, cell by cell away from the problem: until none outside can rank better than
  // the best, or, among very many, until the closest ones have been looked at.
  void find_near(const WisdomQuery& query, const Kind& kind, std::vector<WisdomFinding>& found) {
    Neighbours neighbours;
    CellsByDistance cells(query.problem);
    while (const auto cell =
               cells.next(std::ssize(neighbours.found) < enough ? neighbours.best : neighbours.nearest))
      if (!read_cell(query, kind.id, *cell, neighbours)) cells.split(*cell);
    const double maker = maker_penalty(query.device, kind.device);
    for (const WisdomFinding& one : neighbours.found) found.push_back({one.score + maker, one.record});
  }

  // False, and nothing read, where the cell holds too many and can be split.
  bool read_cell(const WisdomQuery& query, std::int64_t kind, const ShapeCell& cell, Neighbours& neighbours) {
    // Counting first saves time where many are likely; in small cells the rows themselves tell.
    if (cell.level > widest_read_at_once) {
      const bool crowded = session().crowd.with(kind, cell.first(), cell.last(), most_per_cell).step();
      session().crowd.reset();
      if (crowded) return false;
    }
    Neighbours all = neighbours;
    Statement& rows = session().in_cell;
    rows.with(kind, cell.first(), cell.last(), most_per_cell + 1);
    for (std::int64_t count = 1; rows.step(); ++count) {
      if (count > most_per_cell) {
        rows.reset();
        if (cell.level > 0) return false;
        break;
      }
      GemmProblem known = query.problem;
      known.m = rows.integer(1), known.n = rows.integer(2), known.k = rows.integer(3);
      known.block = rows.integer(4);
      unpack_traits(rows.integer(5), known);
      const double distance = shape_distance(query.problem, known);
      if (distance > shape_radius || is_exact(query.problem, known)) continue;
      const double score = distance + trait_penalty(query.problem, known, query.architecture);
      all.nearest = std::min(all.nearest, distance);
      all.best = std::min(all.best, score);
      all.found.push_back({score, rows.integer(0)});
    }
    rows.reset();
    neighbours = std::move(all);
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
                     fmt::format("{}#{}", impl_->path, record)};
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
