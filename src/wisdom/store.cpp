// The statements of the store, and the search for near shapes over its index of cells.
#include "wisdom/store.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <unordered_map>

#include "wisdom/families.hpp"
#include "wisdom/rows.hpp"
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

// A connection with its statements.
struct Session {
  Session(std::unique_ptr<Connection> opened, const std::string& path)
      : connection(std::move(opened)),
        process(getpid()),
        by_identity(
            handle(), path,
            "SELECT * FROM records WHERE exact_key = ?1 AND objective = ?2 AND device = ?3 AND variant_key = "
            "?4"),
        known(by_identity, path),
        model_by_identity(handle(), path, "SELECT * FROM models WHERE identity = ?1"),
        known_model(model_by_identity, path),
        exact(handle(), path,
              "SELECT id, traits, device, block FROM records INDEXED BY records_by_identity WHERE exact_key "
              "= ?1 "
              "AND objective = ?2 AND verdict = 'passed' AND source_hash = ?3"),
        kinds(handle(), path,
              "SELECT id, device, m_low, n_low, k_low, m_high, n_high, k_high FROM kinds WHERE kind_key = ?1 "
              "AND objective = ?2 AND source_hash = ?3"),
        crowd(handle(), path, near_sql("", "LIMIT 1 OFFSET ?3")),
        in_cell(handle(), path, near_sql(", id, m, n, k, block, traits", "")),
        config(handle(), path,
               "SELECT config, seconds, seconds_low, seconds_high, samples, default_seconds, objective, "
               "energy_j, problem, device FROM records "
               "WHERE id = ?1"),
        begin(handle(), path, "BEGIN"),
        commit(handle(), path, "COMMIT") {}

  sqlite3* handle() const { return connection->handle(); }

  std::unique_ptr<Connection> connection;
  pid_t process;
  Statement by_identity;
  StoredReader<WisdomRecord> known;
  Statement model_by_identity;
  StoredReader<FittedModel> known_model;
  Statement exact, kinds, crowd, in_cell, config, begin, commit;
  bool reading = false;
};

}  // namespace

struct WisdomStore::Impl {
  Impl(std::string file, Mode how) : path(std::move(file)), mode(how) {}
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  // Leaves one file: whoever copies it then copies all that it holds.
  ~Impl() {
    if (session_ == nullptr) return;
    if (session_->process != getpid()) {
      abandon();
      return;
    }
    writer_.reset();
    session_.reset();
    sqlite::fold_log(path);
  }

  // In a child of fork, what the parent opened is the parent's.
  void abandon() noexcept {
    (void)writer_.release();
    (void)session_.release();
  }

  // False for a reader whose file is missing or has no tables yet: it holds no records so far.
  bool ready() {
    if (session_ != nullptr && session_->process == getpid()) return true;
    abandon();
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
    std::unique_ptr<RowWriter> writer;  // made when its tables are
    std::unordered_map<std::string, WisdomRecord> kept;
    upgrade_schema(connection, [&](const WisdomRecord& record) {
      // Of records that were two until keys changed the better one stays.
      const auto [at, is_new] = kept.try_emplace(identity_of(record), record);
      if (!is_new && is_better(at->second, record)) return;
      at->second = record;
      if (!writer) writer = std::make_unique<RowWriter>(connection, path);
      writer->write(record, row_keys(record));
    });
  }

  // Whether a record takes the place of a known one of its identity; null: always.
  using Rule = bool (*)(const WisdomRecord& record, const WisdomRecord& known);

  bool keep(const WisdomRecord& record, Rule takes_place) {
    Session& s = session();
    const RowKeys keys = row_keys(record);
    if (takes_place != nullptr) {
      const bool known = s.by_identity.with(keys.exact, record.objective, record.device, keys.variant).step();
      const bool taken = !known || takes_place(record, s.known.read());
      s.by_identity.reset();
      if (!taken) return false;
    }
    writer(s).write(record, keys);
    return true;
  }

  bool keep_model(const FittedModel& model,
                  bool (*takes_place)(const FittedModel& model, const FittedModel& known)) {
    Session& s = session();
    const std::string identity = identity_of(model);
    const bool known = s.model_by_identity.with(identity).step();
    const bool taken = !known || takes_place(model, s.known_model.read());
    s.model_by_identity.reset();
    if (taken) writer(s).write(model);
    return taken;
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
    const std::string key = exact_key(query);
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
    const std::string kind = kind_key(query);
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

  template <class S>
  void each_row(const char* sql, const std::function<void(const S&)>& visit) {
    Statement rows(session().handle(), path, sql);
    const StoredReader<S> reader(rows, path);
    while (rows.step()) visit(reader.read());
  }

  std::string path;
  Mode mode;
  bool in_transaction = false;

 private:
  RowWriter& writer(Session& session) {
    if (!writer_) writer_ = std::make_unique<RowWriter>(*session.connection, path);
    return *writer_;
  }

  std::unique_ptr<Session> session_;
  std::unique_ptr<RowWriter> writer_;  // declared after the session: its statements go before the connection
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
  at_once([&] { impl_->keep(record, nullptr); });
}

bool WisdomStore::merge(const WisdomRecord& record) {
  bool kept = false;
  at_once([&] { kept = impl_->keep(record, is_better); });
  return kept;
}

bool WisdomStore::add_found(const WisdomRecord& record) {
  bool kept = false;
  at_once([&] { kept = impl_->keep(record, supersedes); });
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
                     fmt::format("{}#{}", impl_->path, record),
                     {row.real(1), row.real(2), row.real(3), row.integer(4), std::nullopt,
                      std::string(row.text(6)), std::nullopt},
                     std::string(row.text(8)),
                     std::string(row.text(9))};
  if (!row.is_null(5)) found.recorded.default_seconds = row.real(5);
  if (!row.is_null(7)) found.recorded.energy_j = row.real(7);
  row.reset();
  return found;
}

void WisdomStore::done() noexcept { impl_->end_reading(); }

void WisdomStore::each(const std::function<void(const WisdomRecord&)>& visit) {
  if (!impl_->ready()) return;
  impl_->each_row("SELECT * FROM records ORDER BY id", visit);
}

void WisdomStore::each_of(const std::string& family, const std::function<void(const WisdomRecord&)>& visit) {
  if (!impl_->ready()) return;
  Statement rows(impl_->session().handle(), impl_->path,
                 "SELECT * FROM records WHERE family = ?1 ORDER BY id");
  const StoredReader<WisdomRecord> reader(rows, impl_->path);
  rows.with(family);
  while (rows.step()) visit(reader.read());
}

void WisdomStore::each_model(const std::function<void(const FittedModel&)>& visit) {
  if (!impl_->ready()) return;
  impl_->each_row("SELECT * FROM models ORDER BY id", visit);
}

bool WisdomStore::merge(const FittedModel& model) {
  bool kept = false;
  at_once([&] { kept = impl_->keep_model(model, is_better); });
  return kept;
}

bool WisdomStore::add_found(const FittedModel& model) {
  bool kept = false;
  at_once([&] { kept = impl_->keep_model(model, supersedes); });
  return kept;
}

std::string identity_of(const WisdomRecord& record) {
  const RowKeys keys = row_keys(record);
  return fmt::format("{}|{}|{}|{}", keys.exact, record.objective, record.device, keys.variant);
}

std::int64_t WisdomStore::count() {
  return impl_->ready() ? impl_->session().connection->integer("SELECT count(*) FROM records") : 0;
}

}  // namespace tilewright
