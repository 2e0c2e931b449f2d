// Keeps the table of shapes, prints the summary at exit, and writes the record.
#include "blas/observer.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "blas/settings.hpp"
#include "core/host/fork_gate.hpp"
#include "core/host/tell.hpp"
#include "core/input/failure.hpp"
#include "core/problem.hpp"
#include "core/quantity.hpp"
#include "core/record_log.hpp"

namespace tilewright::blas {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t most_shapes = 4096, most_summary_lines = 40;
// The pause between two writes of the record doubles each time, and is always many times as long as a write.
constexpr Clock::duration longest_pause = std::chrono::seconds(5);
constexpr int least_pause_in_writings = 20;

struct Shape {
  const char* symbol;
  bool is_problem;
  GemmProblem problem;
  std::string text;  // description of a call that is not a product
  Server server;
  std::string library;

  friend bool operator==(const Shape&, const Shape&) = default;
  std::string words() const { return is_problem ? to_string(problem) : text; }
  std::string who() const {
    return server == Server::here ? "tilewright" : server == Server::counterpart ? library : "nobody";
  }
};
struct ShapeHash {
  std::size_t operator()(const Shape& s) const {
    return hash_fields(s.problem) ^ std::hash<std::string>()(s.text) ^
           std::hash<const void*>()(s.symbol) * 31 ^ std::size_t(s.server);
  }
};

struct Totals {
  std::int64_t calls = 0;
  double seconds = 0, flops = 0;
  std::int64_t written_calls = 0;  // already written to the record
  double written_seconds = 0;

  void add(double s, double f) { ++calls, seconds += s, flops += f; }
};

// Belongs to this process; a child of fork starts with an empty table.
struct Table {
  Mutex mutex;
  std::unordered_map<Shape, Totals, ShapeHash> shapes;
  Totals here, elsewhere;  // of all calls, including those whose shape found no place
  std::int64_t without_place = 0;
  int generation = fork_gate::generation();
  Clock::time_point next_writing{};
  Clock::duration pause{};
  bool cannot_write = false;

  void clear() {
    shapes.clear();
    here = elsewhere = {};
    without_place = 0;
    next_writing = {};
    pause = {};
  }
  // Children of fork often end by _exit, which calls no handler: their pauses do not grow.
  bool is_child() const { return generation > 0; }
  void wrote(Clock::time_point began) {
    const Clock::time_point now = Clock::now();
    pause = std::clamp((now - began) * least_pause_in_writings, is_child() ? Clock::duration() : 2 * pause,
                       longest_pause);
    next_writing = now + pause;
  }
};

// Longest waits for another process that writes the record.
constexpr auto most_wait_of_calls = std::chrono::milliseconds(50),
               most_wait_at_exit = std::chrono::milliseconds(2000);

std::string record_path() {
  std::string path = settings().record;
  if (const auto at = path.find("%p"); at != std::string::npos)
    path.replace(at, 2, std::to_string(::getpid()));
  return path;
}

// The caller holds the table's lock.
void write_record(Table& table, std::chrono::milliseconds wait = most_wait_of_calls) {
  const Clock::time_point began = Clock::now();
  table.next_writing = began + longest_pause;
  if (settings().record.empty() || table.cannot_write) return;
  std::vector<RecordedRuns> runs;
  for (auto& [shape, totals] : table.shapes) {
    if (!shape.is_problem || totals.calls == totals.written_calls) continue;
    runs.push_back(
        {shape.problem, totals.calls - totals.written_calls, totals.seconds - totals.written_seconds});
  }
  if (runs.empty()) return;
  try {
    record_runs(record_path(), runs, wait);
    for (auto& [shape, totals] : table.shapes)
      if (shape.is_problem) totals.written_calls = totals.calls, totals.written_seconds = totals.seconds;
    table.wrote(began);
  } catch (const RecordLocked& error) {  // later writes include the calls that this one could not write
    if (wait == most_wait_at_exit) complain(std::string("the last calls are not recorded: ") + error.what());
  } catch (const std::exception&) {
    table.cannot_write = true;
    complain("nothing more is recorded: " + current_failure().message);
  }
}

std::string share_text(double part, double whole) {
  return fmt::format("{:.1f} %", whole > 0 ? 100 * part / whole : 0.0);
}

void print_summary(const Table& table) {
  using Line = std::pair<const Shape*, const Totals*>;
  std::vector<Line> lines;
  for (const auto& [shape, totals] : table.shapes) lines.emplace_back(&shape, &totals);
  std::sort(lines.begin(), lines.end(),
            [](const Line& x, const Line& y) { return x.second->seconds > y.second->seconds; });
  std::string text = fmt::format("tilewright: BLAS calls of process {}\n", ::getpid());
  text +=
      fmt::format("{:>12}{:>10}{:>10}  {}\n", "seconds", "calls", "GFLOP/s", "served by, routine, problem");
  for (std::size_t i = 0; i < std::min(lines.size(), most_summary_lines); ++i) {
    const auto& [shape, totals] = lines[i];
    text += fmt::format("{:>12.6f}{:>10}{:>10.2f}  {}, {}, {}\n", totals->seconds, totals->calls,
                        totals->seconds > 0 ? totals->flops / totals->seconds / 1e9 : 0.0, shape->who(),
                        shape->symbol, shape->words());
  }
  if (lines.size() > most_summary_lines)
    text += fmt::format("  and {} more shapes\n", lines.size() - most_summary_lines);
  if (table.without_place > 0)
    text +=
        fmt::format("  {} calls had shapes beyond the {} that are kept\n", table.without_place, most_shapes);
  const Totals &here = table.here, &elsewhere = table.elsewhere;
  text += fmt::format("tilewright: {} of {} calls, {} of {} and {} of {} were served here\n", here.calls,
                      here.calls + elsewhere.calls, share_text(here.flops, here.flops + elsewhere.flops),
                      flops_text(here.flops + elsewhere.flops),
                      share_text(here.seconds, here.seconds + elsewhere.seconds),
                      seconds_text(here.seconds + elsewhere.seconds));
  tell(text);
}

void at_exit();

Table& table() {
  static constinit Once<Table> once;
  return once.get([] {
    std::atexit(at_exit);
    return Table();
  });
}

// Gives access to the table under its lock. After a fork, the parent reports the calls that it noted.
class Locked {
 public:
  Locked() : table_(table()), lock_(table_.mutex) {
    if (std::exchange(table_.generation, fork_gate::generation()) != table_.generation) table_.clear();
  }
  Table* operator->() const { return &table_; }
  Table& operator*() const { return table_; }

 private:
  NoCancel uncancelled_;
  KeepErrno before_;
  Table& table_;
  std::lock_guard<Mutex> lock_;
};

void at_exit() {
  if (fork_gate::is_within()) return;  // exit() in a signal handler, perhaps inside note()
  const Locked t;
  try {
    write_record(*t, most_wait_at_exit);
    if (settings().verbose > 0) print_summary(*t);
  } catch (const std::exception&) {  // no memory for the summary
  }
  t->clear();
}

void note(Shape shape, double seconds, double flops) {
  const Locked t;
  (shape.server == Server::here ? t->here : t->elsewhere).add(seconds, flops);
  auto it = t->shapes.find(shape);
  const bool is_new = it == t->shapes.end();
  if (settings().verbose >= 3 || (settings().verbose == 2 && is_new))
    complain(fmt::format("{} {} took {:.3g} s by {}", shape.symbol, shape.words(), seconds, shape.who()));
  if (is_new && t->shapes.size() < most_shapes) it = t->shapes.emplace(std::move(shape), Totals()).first;
  if (it == t->shapes.end())
    ++t->without_place;
  else
    it->second.add(seconds, flops);
  if (Clock::now() >= t->next_writing) write_record(*t);
}

thread_local Observed* innermost = nullptr;

}  // namespace

Observed::Observed(const Counterpart& routine, const Found& found)
    : routine_(routine), found_(found), outer_(innermost), begin_(Clock::now()) {
  innermost = this;
}

std::vector<GemmProblem> Observed::new_problems() const {
  std::vector<GemmProblem> found;
  const Locked t;
  if (t->shapes.size() < most_shapes)
    for (const GemmProblem& problem : problems_)
      if (!t->shapes.contains({routine_.symbol(), true, problem, "", Server::here, found_.library}))
        found.push_back(problem);
  return found;
}

Observed::~Observed() {
  innermost = outer_;
  const double seconds = std::chrono::duration<double>(Clock::now() - begin_).count();
  double all_flops = flops_;
  for (const GemmProblem& problem : problems_) all_flops += flops(problem);
  if (outer_ != nullptr) {
    outer_->inner_s_ += seconds;
    outer_->inner_flops_ += std::max(all_flops, inner_flops_);
  }
  const double own_s = std::max(0.0, seconds - inner_s_);
  const double own_share = all_flops > 0 ? std::max(0.0, 1 - inner_flops_ / all_flops) : 1;
  try {
    if (!text_.empty())
      note({routine_.symbol(), false, {}, text_, server_, found_.library}, own_s, flops_ * own_share);
    for (const GemmProblem& problem : problems_) {
      const double share = all_flops > 0 ? flops(problem) / all_flops : 1.0 / double(problems_.size());
      note({routine_.symbol(), true, problem, "", server_, found_.library}, own_s * share,
           flops(problem) * own_share);
    }
  } catch (const std::exception&) {  // no memory: the call itself is complete
  }
}

}  // namespace tilewright::blas
