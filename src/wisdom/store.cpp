// The statements of the store, and the search for near shapes over its index of cells.
#include "wisdom/store.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <limits>

#include "core/input/json_text.hpp"
#include "wisdom/families.hpp"
#include "wisdom/rows.hpp"
#include "wisdom/session.hpp"

namespace tilewright {
namespace {

using sqlite::Mode;
using sqlite::Statement;

// A cell with more records than these is split; of the smallest cells no more are looked at.
constexpr std::int64_t most_per_cell = 24;
constexpr int widest_read_at_once = 2;
// So many neighbours are looked at before the nearest is good enough, though another, farther off, may share
// more than the shape with the problem.
constexpr std::int64_t enough = 16;
constexpr std::size_t most_devices = 8;

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

}  // namespace

struct WisdomStore::Impl {
  Impl(std::string file, Mode how, std::chrono::milliseconds how_long)
      : path(std::move(file)), mode(how), wait(how_long) {}
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  ~Impl() {
    if (session_ != nullptr && session_->process != getpid()) abandon();
  }

  // In a child of fork, what the parent opened is the parent's.
  void abandon() noexcept {
    (void)writer_.release();
    (void)session_.release();
  }
  void close() noexcept {
    writer_.reset();
    session_.reset();
  }

  // False for a reader whose file is missing or has no tables yet: it holds no records so far.
  bool ready() {
    const FileStamp now(path);
    if (session_ != nullptr && session_->process != getpid()) abandon();
    if (session_ != nullptr && session_->holds(now)) return true;
    close();
    session_ = open_session(path, mode, wait);
    return session_ != nullptr;
  }

  // Whose process this is was looked at when the lookup began, and is not asked again for each of its cells.
  Session& session() {
    if (!is_reading()) (void)ready();
    if (session_ == nullptr)
      throw Error(ErrorCode::io, "wisdom", fmt::format("wisdom = '{}': the file has gone", path));
    return *session_;
  }
  // Of what is not to be seen half-way: limits of its cost, and afterwards nothing is left open.
  Session& session(const sqlite::Limits& limits) {
    Session& s = session();
    s.connection->limit(limits);
    return s;
  }
  void end() noexcept {
    if (session_ != nullptr && session_->connection->keeps_files()) close();
  }

  sqlite::Limits limits() const { return {.wait = wait}; }

  // Whether a record takes the place of a known one of its identity; null: always.
  using Rule = bool (*)(const WisdomRecord& record, const WisdomRecord& known);

  bool keep(const WisdomRecord& record, Rule takes_place) {
    Session& s = session(limits());
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
    Session& s = session(limits());
    const std::string identity = identity_of(model);
    const bool known = s.model_by_identity.with(identity).step();
    const bool taken = !known || takes_place(model, s.known_model.read());
    s.model_by_identity.reset();
    if (taken) writer(s).write(model);
    return taken;
  }

  // One snapshot, and one lock, for all that a lookup asks.
  void begin_reading() {
    if (is_reading()) return;
    Session& s = session(limits());
    s.begin.run();
    s.reading = true;
  }
  bool is_reading() const { return in_transaction || (session_ != nullptr && session_->reading); }
  void end_reading() noexcept {
    if (session_ == nullptr || !session_->reading) return;
    session_->reading = false;
    for (Statement* one :
         {&session_->exact, &session_->kinds, &session_->crowd, &session_->in_cell, &session_->config})
      one->reset();  // what an error has left open
    try {
      session_->commit.run();
    } catch (const std::exception&) {
      close();  // opened anew by the next lookup
    }
    end();
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
      known.block = size(rows, 3);
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

  // What others wrote need not be a size.
  std::int64_t size(const Statement& row, int column) const {
    constexpr std::int64_t largest = std::int64_t(1) << 40;
    const std::int64_t value = row.integer(column);
    if (value >= 0 && value <= largest) return value;
    throw Error(ErrorCode::io, "wisdom",
                fmt::format("wisdom = '{}': it holds the size {}, which no record has", path, value));
  }

  // The devices that records of the wanted kind come from: the own one, or all others.
  std::vector<Kind> kinds_of(const WisdomQuery& query, bool elsewhere) {
    const std::string kind = kind_key(query);
    const std::string hash = current_source_hash(query.family);
    Statement& rows = session().kinds.with(kind, query.objective, hash);
    std::vector<Kind> kinds;
    while (rows.step() && kinds.size() < most_devices)
      if (std::string device(rows.text(1)); is_same_device(query.device, device) != elsewhere)
        kinds.push_back(
            {rows.integer(0),
             std::move(device),
             {{size(rows, 2), size(rows, 3), size(rows, 4)}, {size(rows, 5), size(rows, 6), size(rows, 7)}}});
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
      known.m = size(rows, 2), known.n = size(rows, 3), known.k = size(rows, 4);
      known.block = size(rows, 5);
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

  // Calls `use` with a statement whose places `values` take; not at all where there is no file yet.
  template <class Use, class... Values>
  void read_all(const char* sql, Use&& use, const Values&... values) {
    if (!is_reading() && !ready()) return;
    {
      Session& s = session();
      sqlite::Limits whole = s.connection->whole_file();
      whole.wait = wait;
      s.connection->limit(whole);
      Statement rows(s.handle(), path, sql);
      use(rows.with(values...));
    }
    if (!is_reading()) end();
  }

  template <class S, class... Values>
  void each_row(const char* sql, const std::function<void(const S&)>& visit, const Values&... values) {
    read_all(
        sql,
        [&](Statement& rows) {
          const StoredReader<S> reader(rows, path);
          while (rows.step()) visit(reader.read());
        },
        values...);
  }

  void write_at_once(const std::function<void()>& work) {
    try {
      sqlite::Transaction transaction(*session().connection, Mode::write, limits());
      in_transaction = true;
      work();
      session_->connection->limit(limits());
      transaction.commit();
    } catch (...) {
      in_transaction = false;
      close();  // with it goes what the error has left open
      throw;
    }
    in_transaction = false;
    end();
  }

  std::string path;
  Mode mode;
  std::chrono::milliseconds wait;
  bool in_transaction = false;

 private:
  RowWriter& writer(Session& session) {
    if (!writer_) writer_ = std::make_unique<RowWriter>(*session.connection, path);
    return *writer_;
  }

  std::unique_ptr<Session> session_;
  std::unique_ptr<RowWriter> writer_;  // declared after the session: its statements go before the connection
};

WisdomStore::WisdomStore(std::string path, Mode mode, std::chrono::milliseconds wait)
    : impl_(std::make_unique<Impl>(std::move(path), mode, wait)) {
  (void)impl_->ready();
}
WisdomStore::~WisdomStore() = default;

void WisdomStore::at_once(const std::function<void()>& work) {
  if (impl_->in_transaction)
    work();
  else
    impl_->write_at_once(work);
}

void WisdomStore::wait_at_most(std::chrono::milliseconds time) { impl_->wait = time; }

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
  if (!impl_->is_reading() && !impl_->ready()) return found;
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

std::optional<WisdomConfig> WisdomStore::fetch(std::int64_t record) {
  if (!impl_->is_reading() && !impl_->ready()) return std::nullopt;
  impl_->begin_reading();
  Statement& row = impl_->session().config.with(record);
  if (!row.step()) return std::nullopt;
  const auto measured = [&](int column) {
    const double value = row.real(column);
    return columns::is_measured(value) ? value : 0;
  };
  WisdomConfig found{parse_json_or_discard(row.text(0)),
                     fmt::format("{}#{}", impl_->path, record),
                     {measured(1), measured(2), measured(3), std::max<std::int64_t>(0, row.integer(4)),
                      std::nullopt, std::string(row.text(6)), std::nullopt},
                     std::string(row.text(8)),
                     std::string(row.text(9))};
  if (!row.is_null(5)) found.recorded.default_seconds = measured(5);
  if (!row.is_null(7)) found.recorded.energy_j = measured(7);
  row.reset();
  return found;
}

void WisdomStore::done() noexcept { impl_->end_reading(); }

void WisdomStore::each(const std::function<void(const WisdomRecord&)>& visit) {
  impl_->each_row("SELECT * FROM records ORDER BY id", visit);
}

void WisdomStore::each_of(const std::string& family, const std::function<void(const WisdomRecord&)>& visit) {
  impl_->each_row("SELECT * FROM records WHERE family = ?1 ORDER BY id", visit, family);
}

void WisdomStore::each_model(const std::function<void(const FittedModel&)>& visit) {
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

std::int64_t WisdomStore::count() {
  std::int64_t count = 0;
  // The condition makes SQLite count row by row, which the limit of steps sees.
  impl_->read_all("SELECT count(*) FROM records WHERE id > 0", [&](Statement& row) {
    if (row.step()) count = row.integer(0);
  });
  return count;
}

}  // namespace tilewright
