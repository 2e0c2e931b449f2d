// One transaction of the session for each call, and the indexes that lookups search.
#include "wisdom/store.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <type_traits>

#include "wisdom/families.hpp"
#include "wisdom/session.hpp"

namespace tilewright {
namespace {

using sqlite::Mode;
using sqlite::Statement;

}  // namespace

struct WisdomStore::Impl {
  Impl(std::string file, Mode how, std::chrono::milliseconds how_long)
      : path(std::move(file)), mode(how), wait(how_long) {}
  Impl& operator=(Impl&&) = delete;

  ~Impl() {
    if (session_ != nullptr && session_->process != getpid()) abandon();
  }

  // In a child of fork the session belongs to the parent.
  void abandon() noexcept {
    (void)writer_.release();
    (void)session_.release();
  }
  void close() noexcept {
    writer_.reset();
    session_.reset();
  }

  // False for a reader whose file is missing or has no tables yet.
  bool ready() { return ready(FileStamp(path)); }
  bool ready(const FileStamp& now) {
    if (session_ != nullptr && session_->process != getpid()) abandon();
    if (session_ != nullptr && session_->holds(now)) return true;
    close();
    session_ = open_session(path, mode, wait);
    return session_ != nullptr;
  }

  // The open session with these limits.
  Session& session(const sqlite::Limits& limits) {
    if (!in_transaction) (void)ready();
    if (session_ == nullptr)
      throw Error(ErrorCode::io, "wisdom", fmt::format("wisdom = '{}': the file was removed", path));
    session_->connection->limit(limits);
    return *session_;
  }
  void end() noexcept {
    if (session_ != nullptr && session_->connection->keeps_files()) close();
  }

  sqlite::Limits limits() const { return {.wait = wait}; }

  // True if the found record replaces the known one; null: always.
  template <class S>
  using Rule = bool (*)(const S& found, const S& known);

  template <class S>
  bool keep(const S& one, std::type_identity_t<Rule<S>> rule) {
    bool kept = false;
    at_once([&] { kept = write(one, rule); });
    return kept;
  }

  // Calls `use` with the open session, in one snapshot and with one lock, unless there is no file yet.
  enum class Cost : std::uint8_t { search, whole_file };
  template <class Use>
  void read_at_once(Cost cost, Use&& use) {
    if (!in_transaction && !ready()) return;
    sqlite::Limits most = cost == Cost::search ? limits() : session_->connection->whole_file();
    most.wait = wait;
    if (in_transaction) return use(session(most));
    try {
      const sqlite::Transaction snapshot(*session_->connection, Mode::read, most);
      use(*session_);
    } catch (...) {
      close();  // and what the error left open
      throw;
    }
    end();
  }

  // The stamp is taken before reading, so that concurrent writes show up next time.
  std::shared_ptr<ShapeIndex> shapes(const WisdomQuery& query) {
    const FileStamp now(path);
    if (!in_transaction && !ready(now)) return nullptr;
    const std::string key = kind_key(query) + ' ' + query.objective;
    if (session_->is_as_seen(now))
      if (const auto known = session_->indexes.find(key); known != session_->indexes.end())
        return known->second;
    std::shared_ptr<ShapeIndex> index;
    read_at_once(Cost::whole_file, [&](Session& s) {
      s.see(now);
      const auto [at, is_new] = s.indexes.try_emplace(key);
      if (is_new) at->second = index_of(query, s);
      index = at->second;
    });
    return index;
  }

  std::shared_ptr<ShapeIndex> index_of(const WisdomQuery& query, Session& s) {
    auto index = std::make_shared<ShapeIndex>(query.architecture);
    const std::string kind = kind_key(query), hash = current_source_hash(query.family);
    Statement& rows = s.shapes.with(kind, query.objective, hash);
    GemmProblem known = query.problem;
    known.batch_count = ShapeIndex::unknown_batch;
    for (; rows.step(); ++rows_read) {
      known.m = size(rows, 2), known.n = size(rows, 3), known.k = size(rows, 4);
      known.block = size(rows, 5);
      unpack_traits(rows.integer(6), known);
      index->add(std::string(rows.text(0)), known, rows.integer(1));
    }
    rows.reset();
    index->build();
    return index;
  }

  // Foreign files may hold impossible sizes.
  std::int64_t size(const Statement& row, int column) const {
    constexpr std::int64_t largest = std::int64_t(1) << 40;
    const std::int64_t value = row.integer(column);
    if (value >= 0 && value <= largest) return value;
    throw Error(ErrorCode::io, "wisdom",
                fmt::format("wisdom = '{}': it contains the size {}, which no record has", path, value));
  }

  // Visits the rows that a statement with these values selects; none if there is no file yet.
  template <class S, class... Values>
  void each_row(const char* sql, const std::function<void(const S&)>& visit, const Values&... values) {
    read_at_once(Cost::whole_file, [&](Session& s) {
      Rows<S> rows(s.handle(), path, sql);
      rows.with(values...);
      while (rows.step()) visit(rows.read());
    });
  }

  void at_once(const std::function<void()>& work) {
    if (in_transaction) return work();
    try {
      sqlite::Transaction transaction(*session(limits()).connection, Mode::write, limits());
      in_transaction = true;
      work();
      session_->connection->limit(limits());
      transaction.commit();
      session_->indexes.clear();
    } catch (...) {
      in_transaction = false;
      close();  // and what the error left open
      throw;
    }
    in_transaction = false;
    end();
  }

  std::string path;
  Mode mode;
  std::chrono::milliseconds wait;
  bool in_transaction = false;
  std::int64_t rows_read = 0;

 private:
  bool write(const WisdomRecord& record, Rule<WisdomRecord> rule) {
    Session& s = session(limits());
    const RowKeys keys = row_keys(record);
    s.by_identity.with(keys.exact, record.objective, record.device, keys.variant);
    if (!takes_place(record, rule, s.by_identity)) return false;
    writer(s).write(record, keys);
    return true;
  }
  bool write(const FittedModel& model, Rule<FittedModel> rule) {
    Session& s = session(limits());
    const std::string identity = identity_of(model);
    s.model_by_identity.with(identity);
    if (!takes_place(model, rule, s.model_by_identity)) return false;
    writer(s).write(model);
    return true;
  }
  template <class S>
  static bool takes_place(const S& one, Rule<S> rule, Rows<S>& known) {
    const bool taken = rule == nullptr || !known.step() || rule(one, known.read());
    known.reset();
    return taken;
  }

  RowWriter& writer(Session& session) {
    if (!writer_) writer_ = std::make_unique<RowWriter>(*session.connection, path);
    return *writer_;
  }

  std::unique_ptr<Session> session_;
  std::unique_ptr<RowWriter> writer_;  // destroyed before the session's connection
};

WisdomStore::WisdomStore(std::string path, Mode mode, std::chrono::milliseconds wait)
    : impl_(std::make_unique<Impl>(std::move(path), mode, wait)) {
  (void)impl_->ready();
}
WisdomStore::~WisdomStore() = default;

void WisdomStore::at_once(const std::function<void()>& work) { impl_->at_once(work); }
void WisdomStore::put(const WisdomRecord& record) { impl_->keep(record, nullptr); }
bool WisdomStore::merge(const WisdomRecord& record) { return impl_->keep(record, is_better); }
bool WisdomStore::add_found(const WisdomRecord& record) { return impl_->keep(record, supersedes); }
void WisdomStore::put(const FittedModel& model) { impl_->keep(model, nullptr); }
bool WisdomStore::merge(const FittedModel& model) { return impl_->keep(model, is_better); }
bool WisdomStore::add_found(const FittedModel& model) { return impl_->keep(model, supersedes); }

void WisdomStore::wait_at_most(std::chrono::milliseconds time) { impl_->wait = time; }

const std::string& WisdomStore::path() const { return impl_->path; }

std::shared_ptr<ShapeIndex> WisdomStore::shapes(const WisdomQuery& query) { return impl_->shapes(query); }

std::optional<WisdomRecord> WisdomStore::fetch(std::int64_t number) {
  std::optional<WisdomRecord> found;
  impl_->read_at_once(Impl::Cost::search, [&](Session& s) {
    if (s.by_number.with(number).step()) found = s.by_number.read();
    s.by_number.reset();
  });
  return found;
}

void WisdomStore::each(const std::function<void(const WisdomRecord&)>& visit) {
  impl_->each_row("SELECT * FROM records ORDER BY id", visit);
}

void WisdomStore::each_of(const std::string& family, const std::function<void(const WisdomRecord&)>& visit) {
  impl_->each_row("SELECT * FROM records WHERE family = ?1 ORDER BY id", visit, family);
}

void WisdomStore::each_model(const std::function<void(const FittedModel&)>& visit) {
  impl_->each_row("SELECT * FROM models ORDER BY id", visit);
}

std::int64_t WisdomStore::rows_read() const { return impl_->rows_read; }

std::int64_t WisdomStore::count() {
  std::int64_t count = 0;
  // The condition makes SQLite count row by row, which the limit of steps sees.
  impl_->read_at_once(Impl::Cost::whole_file, [&](Session& s) {
    count = s.connection->integer("SELECT count(*) FROM records WHERE id > 0");
  });
  return count;
}

}  // namespace tilewright
