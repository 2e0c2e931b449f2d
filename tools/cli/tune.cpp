// The verb `tune`: says what a session of the library is to search, and prints what it finds. Every turn that
// is measured is in the sweep log first, from which --resume goes on.
#include <fmt/format.h>

#include <cmath>
#include <memory>

#include "core/quantity.hpp"
#include "device/cpu.hpp"
#include "gemm/context_impl.hpp"
#include "gemm/kept.hpp"
#include "operations/operation.hpp"
#include "output/json_lines.hpp"
#include "output/progress.hpp"
#include "people/refusal.hpp"
#include "people/table.hpp"
#include "report/wisdom_table.hpp"
#include "tune/session.hpp"
#include "tune_check.hpp"
#include "tune_flags.hpp"
#include "verbs.hpp"

namespace tilewright::cli {
namespace {

// Where the log lies unless --sweep says otherwise: beside the other things that may be lost without harm.
std::string sweep_path(const TuneFlags& flags, const Context& context, const ToolOperation& operation) {
  if (!flags.sweep.empty()) return flags.sweep;
  return default_log(Access::impl(context).environment, "sweep", operation.sweep_name().c_str(),
                     flags.resume);
}

// The space of --family layout is a handful of blocks, all of which meet in the contest.
void check_family(const TuneFlags& flags) {
  if (flags.family == "auto") return;
  if (flags.family != "layout") refuse_value("--family", flags.family, "is not one of auto, layout");
  refuse_search_flags(flags,
                      {{"--objective", flags.objective != TuneFlags().objective},
                       {"--wisdom", !flags.wisdom.empty()},
                       {"--check", flags.check}},
                      "--family layout, which tries every block and measures time");
}

// Reports the results of a session as they are found.
class Run : public TuneWatcher {
 public:
  Run(const TuneFlags& flags, const ToolOperation& operation, const ToolOperations& operations)
      : flags_(flags),
        operation_(operation),
        operations_(operations),
        machine_(machine_of(flags, Access::impl(context_).isa)),
        json_(flags.json),
        tunes_layout_(flags.family == "layout") {
    check_family(flags);
    if (!tunes_layout_ && flags.wisdom != "none") store_ = open_store_for_search(flags.wisdom);
    if (store_ && !flags.wisdom.empty())
      wisdom_ = std::make_unique<Wisdom>(wisdom_in_use(store_->path(), Access::impl(context_).environment),
                                         cpu_info().device);
    machine_.use_wisdom(wisdom_ ? wisdom_.get() : Access::impl(context_).wisdom());
    Operations problems = operation_.tuned(flags_, context_, machine_);
    session_ = std::make_unique<TuneSession>(options(), std::move(problems), *this);
    progress_.emplace("tune, seconds of the budget", std::llround(session_->budget_s()));
  }

  void run() {
    if (names_no_problem(flags_))
      fmt::print(json_.people(),
                 "no PROBLEM is given: tuning {} that most programs have, within {:.0f} s (--budget)\n",
                 counted(std::ssize(session_->operations()), "problem"), session_->budget_s());
    if (flags_.resume)
      fmt::print(json_.people(), "{} measurements of the earlier run are used\n", session_->kept_turns());
    const std::string wanted = sweep_path(flags_, context_, operation_);
    if (const std::string log = session_->log_path(); log != wanted)
      fmt::print(
          stderr,
          "another run writes '{}', so the log of this one is '{}': --sweep with --resume continues it\n",
          wanted, log);
    const SessionReport report = saying_what_is_saved(!wanted.empty(), [&] { return session_->run(); });
    progress_->clear();
    if (!report.ended.empty()) {
      const auto sentence =
          fmt::format("{}: {} of {} problems are done and kept; --resume continues with the rest",
                      report.ended, report.done, problem_count());
      if (report.stopped || report.done == 0) throw JobFailed(sentence);
      fmt::print(json_.people(), "{}\n", sentence);
      return;
    }
    if (store_ && kept_count_ > 0) fmt::print(json_.people(), "kept in {}\n", store_->path());
    if (store_ && kept_count_ == 0) fmt::print(json_.people(), "nothing was changed in {}\n", store_->path());
    if (tunes_layout_ && !costs_path().empty())
      fmt::print(json_.people(), "kept for explain in {}\n", costs_path());
    if (report.searched == 0) return;
    const std::string faster = faster_ == 0 ? "none" : std::to_string(faster_);
    fmt::print(json_.people(), "{}\n",
               people::bold(json_.people(), people::wrapped(fmt::format(
                                                "{} in {:.1f} s, {} faster than the default; regret of "
                                                "the defaults {:.1f} % (geometric mean)",
                                                counted(report.done, "problem"), report.spent_s, faster,
                                                100 * report.regret))));
  }

 private:
  std::size_t problem_count() const { return session_->operations().size(); }
  std::string name(std::size_t problem) const { return session_->operations()[problem]->text(); }

  SessionOptions options() const {
    SessionOptions options;
    if (!flags_.budget.empty()) options.budget_s = parse_duration("--budget", flags_.budget);
    options.clock = clock_of(flags_);
    if (!flags_.window.empty()) options.window_s = parse_duration("--window", flags_.window);
    options.objective = TuneObjective::parse(flags_.objective);
    options.strategy = flags_.strategy;
    options.log = {
        .path = sweep_path(flags_, context_, operation_),
        .resume = flags_.resume,
        .keep_all = !flags_.sweep.empty(),  // in the cache folder only the last one is kept beside it
        .evades = flags_.sweep.empty()};
    options.log.run = operation_.run_keys(flags_);
    options.store = store_.get();
    return options;
  }

  std::string costs_path() const { return kept_path(Access::impl(context_).environment); }

  bool stop(std::size_t now, std::int64_t done, double spent_s) override {
    progress_->expect(std::llround(session_->budget_s()));  // problems that pay for themselves extend it
    progress_->show(std::llround(spent_s),
                    fmt::format("{}/{} {}", done + 1, problem_count(), short_name(name(now))));
    return interrupt_.requested();
  }

  void left_out(std::size_t problem, double needed_s, double left_s) override {
    progress_->clear();
    fmt::print(stderr, "{}\n",
               people::wrapped(
                   fmt::format("{} is left out: filling memory with its operands takes about {}, too "
                               "much of --budget = {}; {} are left",
                               name(problem), seconds_text(needed_s), flags_.budget, seconds_text(left_s))));
  }

  void small_ring(std::size_t problem, double bytes) override {
    constexpr double mebibyte = 1 << 20;
    progress_->clear();
    fmt::print(
        json_.people(), "{}\n",
        people::wrapped(fmt::format("{}: {:.0f} MiB of cold operands instead of {:.0f}, to fit the budget",
                                    short_name(name(problem)), bytes / mebibyte, cold_bytes / mebibyte)));
  }

  // The row waits for what becomes of the record.
  void found(const TuneResult& result) override {
    found_ = result;
    if (tunes_layout_)
      save_layout_costs(costs_path(), cpu_info().device, from_json<LayoutCosts>(result.findings.at("costs")));
  }

  void print_row(const std::string& state) {
    if (!found_) return;  // a result of the run that is resumed
    progress_->clear();
    if (rows_++ == 0) fmt::print(json_.people(), "{}\n", people::bold(json_.people(), tune_head()));
    faster_ += found_->regret > 0 && found_->config != found_->default_config ? 1 : 0;
    fmt::print(json_.people(), "{}\n{}", tune_row(*found_, state),
               people::wrapped(tune_remarks(*found_, flags_.verbose)));
    std::fflush(json_.people());
    found_.reset();
  }

  std::string state_of_found() const {
    if (!found_) return "";
    if (found_->tie) return "a tie: as before";
    if (found_->config == found_->default_config) return "the default is best";
    return store_ ? "kept" : "found";
  }

  void undecided(const TuneResult& result) override {
    print_row("undecided, not kept");
    fmt::print(stderr, "{}\n",
               people::wrapped(
                   fmt::format("{}: undecided and not kept: energy needs a larger --budget than {}",
                               result.subject, flags_.budget.empty() ? "the default one" : flags_.budget)));
  }

  void kept(const std::vector<WisdomRecord>& records, const std::vector<bool>& newer) override {
    print_row(!newer.empty() && newer.front() ? "not kept: see below" : state_of_found());
    for (std::size_t i = 0; i < records.size(); ++i) {
      json_.write(measured_line(records[i], operations_));
      kept_count_ += newer[i] ? 0 : 1;
      if (newer[i])
        fmt::print(json_.people(), "{}\n",
                   people::wrapped(fmt::format("{}: not kept: the record in {} is newer or better measured",
                                               records[i].problem, store_->path())));
    }
  }

  const TuneFlags& flags_;
  const ToolOperation& operation_;
  const ToolOperations& operations_;
  Context context_;
  TuneMachine machine_;
  JsonLines json_;
  bool tunes_layout_;
  std::int64_t kept_count_ = 0;         // of records
  std::int64_t rows_ = 0, faster_ = 0;  // in the table; than by the default
  std::optional<TuneResult> found_;     // whose row is not printed yet
  Interrupt interrupt_;
  std::unique_ptr<WisdomStore> store_;
  std::unique_ptr<Wisdom> wisdom_;  // null: the Context's
  std::unique_ptr<TuneSession> session_;
  std::optional<Progress> progress_;
};

void run_tune(const TuneFlags& flags, const ToolOperations& operations) {
  keep_files_apart({{"from", flags.from}, {"seeds", flags.seeds}, {"wisdom", flags.wisdom}},
                   {{"sweep", flags.sweep}, {"json", flags.json}});
  require_place("sweep", flags.sweep);
  const ToolOperation& operation = operation_of(operations, flags.problems);
  operation.check_flags(flags);
  if (flags.shipped && (!flags.check || !flags.wisdom.empty()))
    throw Error(ErrorCode::invalid_argument, "--shipped",
                flags.check ? "--shipped does not apply to --wisdom" : "--shipped needs --check");
  if (flags.check && flags.family != "layout") return check_records(flags, Context());
  try {
    Run(flags, operation, operations).run();
  } catch (const Error& error) {
    if (error.argument() != "driver" || operation.without_gpu().empty()) throw;
    throw Error(error.code(), "location",
                fmt::format("location = device: {}; {}", error.what(), operation.without_gpu()));
  }
}

void add_problem_flags(CLI::App* verb, TuneFlags& flags, const ToolOperations& operations) {
  verb->add_option(
      "PROBLEM", flags.problems,
      "such as " + example_problems(operations, ", or ") +
          " (default, without --sizes and --from: the problems that most programs have on this machine)");
  verb->add_option("--sizes", flags.sizes,
                   "tune a product of lists of problems: n, first:last[:step] or MxNxK");
  verb->add_option("--dtype", flags.dtype, "for --sizes: f32, f64, c64, c128")->capture_default_str();
  verb->add_option("--op", flags.op, "for --sizes: nn, nt, tc, ...")->capture_default_str();
  verb->add_option("--layout", flags.layout,
                   "for --sizes: strided, pointer, block_interleaved, ... (default: strided; single for "
                   "large matrices on the GPU)");
  verb->add_option("--block", flags.block, "for --sizes: problems per block (default: one 64-byte vector)");
  verb->add_option("--beta", flags.beta, "for --sizes")->capture_default_str();
  verb->add_option("--residency", flags.residency, "for --sizes and for problems that name none")
      ->capture_default_str();
  verb->add_option("--arrival", flags.arrival,
                   "back_to_back: calls in a loop; idle: single calls after random gaps; for problems that "
                   "name none")
      ->capture_default_str();
  verb->add_option("--location", flags.location,
                   "for --sizes and for problems that name none: host or device (default: host; device for "
                   "sizes above those of the host kernels, if there is a GPU)");
  verb->add_option("--device", flags.device, "number of the GPU of device problems")->capture_default_str();
  verb->add_option("--megabytes", flags.megabytes, "size of each operand of device problems")
      ->capture_default_str();
  verb->add_option("--from", flags.from,
                   "tune the problems of a log written by --record or TILEWRIGHT_RECORD");
}

void add_search_flags(CLI::App* verb, TuneFlags& flags) {
  verb->add_option("--budget", flags.budget,
                   "total time, including the filling of memory, such as 10min (default: 2 s of search per "
                   "problem, 30 s on the GPU; 1 and 5 min if energy is an objective)");
  verb->add_option("--clock", flags.clock,
                   "time that --budget counts: wall, all of it; turns, only the measurements, so that a busy "
                   "machine searches as much as an idle one")
      ->capture_default_str();
  verb->add_option("--objective", flags.objective, "time, energy, edp, alpha=0.7 or energy_within=5%")
      ->capture_default_str();
  verb->add_option("--family", flags.family,
                   "auto: the configs of the kernels that serve each problem; layout: which blocks to "
                   "interleave a batch to, and what that costs, for explain")
      ->capture_default_str();
  verb->add_option("--strategy", flags.strategy, "exhaustive, random, local or model")->capture_default_str();
  verb->add_option("--space", flags.space, "usual: the configs that tend to be good; whole: every legal one")
      ->capture_default_str();
  verb->add_option(
      "--set", flags.set,
      "try only these values of an axis: axis=v1,v2 (repeatable); the default config stays beside them");
  verb->add_option("--where", flags.where,
                   "try only configs with 'axis>=v' (or <=, =, !=, >, <; repeatable)");
  verb->add_option("--vary", flags.vary,
                   "search one axis alone: the best config known with each of its values");
  verb->add_option("--configs", flags.configs,
                   "search only so many of the most promising configs, or of --space whole");
  verb->add_option("--seeds", flags.seeds,
                   "file of wisdom records, rows or a sweep: search its configs of the same problems too");
  verb->add_option("--window", flags.window,
                   "least time of a measurement of energy, such as 30s (default: what the meter needs)");
  verb->add_option("--sweep", flags.sweep,
                   "log of the measurements (default: sweep.jsonl in the cache folder)");
  verb->add_flag("--resume", flags.resume, "continue from that log");
  verb->add_flag("--verbose", flags.verbose,
                 "list the constraints that cut the space, and how many branches each cuts");
  verb->add_flag("--check", flags.check,
                 "do not search: measure your stored records again and report regressions");
  verb->add_flag("--shipped", flags.shipped, "--check: also the records that tilewright comes with");
  verb->add_option(
      "--wisdom", flags.wisdom,
      "database that keeps each winner when it is found (default: the user's); none: write --json only");
  verb->add_option("--json", flags.json, "write wisdom as JSON lines, one per problem (- is stdout)");
}

}  // namespace

void add_tune(CLI::App& app, const ToolOperations& operations) {
  CLI::App* verb =
      app.add_subcommand("tune", "Search for the best config of problems and record it as wisdom");
  auto flags = std::make_shared<TuneFlags>();
  add_problem_flags(verb, *flags, operations);
  add_search_flags(verb, *flags);
  verb->footer(
      "Example: tilewright tune --sizes 2:32 --dtype f64,f32 --residency cold,l2,l1 --budget 15min\n"
      "Example: tilewright tune --budget 10min\n"
      "Example: tilewright tune gemm:f64:nn:m=4096,n=4096,k=4096:location=device --budget 2min");
  verb->callback([flags, operations] { run_tune(*flags, operations); });
}

}  // namespace tilewright::cli
