// The verb `tune`: says what a session of the library is to search, and prints what it finds. Every turn that
// is measured is in the sweep log first, from which --resume goes on.
#include <fmt/format.h>

#include <cmath>
#include <memory>

#include "core/product/faults.hpp"
#include "device/cpu.hpp"
#include "gemm/context_impl.hpp"
#include "gemm/kept.hpp"
#include "gemm/run/host.hpp"
#include "interrupt.hpp"
#include "lists.hpp"
#include "output/files_apart.hpp"
#include "output/json_lines.hpp"
#include "output/progress.hpp"
#include "own_wisdom.hpp"
#include "tune/family/product.hpp"
#include "tune/lu/operation.hpp"
#include "tune/session.hpp"
#include "tune_check.hpp"
#include "tune_flags.hpp"
#include "tune_report.hpp"
#include "verbs.hpp"

namespace tilewright::cli {
namespace {

// Where the log lies unless --sweep says otherwise: beside the other things that may be lost without harm.
std::string sweep_path(const TuneFlags& flags, const Context& context) {
  if (!flags.sweep.empty()) return flags.sweep;
  const char* name = are_factorizations(flags) ? "sweep_lu.jsonl" : "sweep.jsonl";
  return usual_log(Access::impl(context).environment, "sweep", name, flags.resume);
}

// The space of --family layout is a handful of blocks, all of which meet in the contest.
void check_family(const TuneFlags& flags) {
  if (flags.family == "auto") return;
  if (flags.family != "layout")
    throw Error(ErrorCode::invalid_argument, "--family",
                fmt::format("--family = '{}' is neither auto nor layout", flags.family));
  refuse_search_flags(flags,
                      {{"--objective", flags.objective != TuneFlags().objective},
                       {"--wisdom", !flags.wisdom.empty()},
                       {"--check", flags.check}},
                      "--family layout, which tries every block for time");
}

std::vector<GemmProblem> valid_problems(const TuneFlags& flags) {
  auto problems = problems_of(flags);
  for (const GemmProblem& problem : problems) validate(searched_problem(problem));
  return problems;
}

// What a session finds, as it is found.
class Run : public TuneWatcher {
 public:
  explicit Run(const TuneFlags& flags)
      : flags_(flags),
        machine_(machine_of(flags, Access::impl(context_).isa)),
        json_(flags.json),
        is_lu_(are_factorizations(flags)),
        tunes_layout_(flags.family == "layout") {
    check_family(flags);
    if (!tunes_layout_ && flags.wisdom != "none") store_ = open_store_for_search(flags.wisdom);
    if (store_ && !flags.wisdom.empty())
      wisdom_ = std::make_unique<Wisdom>(wisdom_in_use(store_->path(), Access::impl(context_).environment),
                                         cpu_info().device);
    machine_.use_wisdom(wisdom_ ? wisdom_.get() : Access::impl(context_).wisdom());
    Operations problems = operations();
    session_ = std::make_unique<TuneSession>(options(), std::move(problems), *this);
    progress_.emplace("tune, seconds of the budget", std::llround(session_->budget_s()));
  }

  void run() {
    if (names_no_problem(flags_))
      fmt::print(
          json_.people(),
          "no PROBLEM is named: these are the {} that most programs have, within {:.0f} s (--budget)\n",
          problem_count(), session_->budget_s());
    if (flags_.resume)
      fmt::print(json_.people(), "{} measured turns are kept from before\n", session_->kept_turns());
    const std::string wanted = sweep_path(flags_, context_);
    if (const std::string log = session_->log_path(); log != wanted)
      fmt::print(
          stderr,
          "another run writes '{}'; the log of this one is '{}': --sweep with --resume goes on from it\n",
          wanted, log);
    const SessionReport report = saying_what_is_saved(!wanted.empty(), [&] { return session_->run(); });
    progress_->clear();
    if (!report.ended.empty()) {
      const auto sentence =
          fmt::format("{}: {} of {} problems are done and kept, --resume goes on with the rest", report.ended,
                      report.done, problem_count());
      if (report.stopped || report.done == 0) throw JobFailed(sentence);
      fmt::print(json_.people(), "{}\n", sentence);
      return;
    }
    if (store_ && kept_count_ > 0) fmt::print(json_.people(), "kept in {}\n", store_->path());
    if (store_ && kept_count_ == 0) fmt::print(json_.people(), "nothing was changed in {}\n", store_->path());
    if (tunes_layout_ && !costs_path().empty())
      fmt::print(json_.people(), "kept for explain in {}\n", costs_path());
    if (report.searched == 0) return;
    fmt::print(json_.people(), "{} problems in {:.1f} s; regret of the defaults {:.1f} % (geometric mean)\n",
               report.done, report.spent_s, 100 * report.regret);
  }

 private:
  std::size_t problem_count() const { return session_->operations().size(); }
  std::string name(std::size_t problem) const { return session_->operations()[problem]->text(); }

  Operations operations() {
    if (!is_lu_) return product_operations(valid_problems(flags_), machine_, products());
    Operations all;
    for (const LuProblem& problem : factorizations_of(flags_))
      all.push_back(lu_operation(context_, problem, {.rules = rules_of(flags_), .gpu = machine_.device()}));
    return all;
  }

  ProductTuning products() const {
    ProductTuning how{.rules = rules_of(flags_)};
    if (!flags_.seeds.empty())
      how.seeds = [seeds = Seeds(flags_.seeds)](const std::string& family, const GemmProblem& problem) {
        return seeds.of(family, problem);
      };
    if (!tunes_layout_) return how;
    how.families = {&layout_family()};
    how.known = [this](const GemmProblem& problem) { return known_block(problem); };
    return how;
  }

  SessionOptions options() const {
    SessionOptions options;
    if (!flags_.budget.empty()) options.budget_s = parse_duration("--budget", flags_.budget);
    options.clock = clock_of(flags_);
    if (!flags_.window.empty()) options.window_s = parse_duration("--window", flags_.window);
    options.objective = TuneObjective::parse(flags_.objective);
    options.strategy = flags_.strategy;
    options.log = {
        .path = sweep_path(flags_, context_),
        .resume = flags_.resume,
        .keep_all = !flags_.sweep.empty(),  // in the cache folder only the last one is kept beside it
        .evades = flags_.sweep.empty()};
    if (!is_lu_) options.log.run["family"] = flags_.family;
    options.store = store_.get();
    return options;
  }

  std::string costs_path() const { return kept_path(Access::impl(context_).environment); }

  std::optional<nlohmann::json> known_block(const GemmProblem& problem) const {
    const auto known = load_layout_costs(costs_path(), cpu_info().device);
    const LayoutCosts* costs = nearest_costs(known, problem);
    if (costs == nullptr || costs->m != problem.m || costs->n != problem.n || costs->k != problem.k)
      return std::nullopt;
    return to_json(LayoutConfig{costs->block});
  }

  bool stop(std::size_t now, std::int64_t done, double spent_s) override {
    progress_->show(std::llround(spent_s), fmt::format("{}/{} {}", done + 1, problem_count(), name(now)));
    return interrupt_.requested();
  }

  void left_out(std::size_t problem, double needed_s, double left_s) override {
    progress_->clear();
    fmt::print(stderr,
               "{} is left out: filling memory with its operands takes about {:.2g} s, which is too much of "
               "--budget = {}; {:.2g} s are left\n",
               name(problem), needed_s, flags_.budget, left_s);
  }

  void small_ring(std::size_t problem, double bytes) override {
    constexpr double mebibyte = 1 << 20;
    progress_->clear();
    fmt::print(json_.people(), "{}: {:.0f} MiB of cold operands instead of {:.0f}, which fit the budget\n",
               name(problem), bytes / mebibyte, cold_bytes / mebibyte);
  }

  void found(const TuneResult& result) override {
    constexpr std::size_t all_lines = 1000;
    progress_->clear();
    print_result(json_.people(), result, flags_.verbose ? all_lines : 0);
    if (tunes_layout_)
      save_layout_costs(costs_path(), cpu_info().device, from_json<LayoutCosts>(result.findings.at("costs")));
  }

  void undecided(const TuneResult& result) override {
    fmt::print(stderr, "{}: undecided, and nothing is kept of it: energy needs a larger --budget than {}\n",
               result.subject, flags_.budget.empty() ? "the usual one" : flags_.budget);
  }

  void kept(const std::vector<WisdomRecord>& records, const std::vector<bool>& newer) override {
    for (std::size_t i = 0; i < records.size(); ++i) {
      json_.write(measured_line(records[i]));
      kept_count_ += newer[i] ? 0 : 1;
      if (newer[i])
        fmt::print(json_.people(), "{}: the record of it in {} is newer or better measured, and stays\n",
                   records[i].problem, store_->path());
    }
  }

  const TuneFlags& flags_;
  Context context_;
  TuneMachine machine_;
  JsonLines json_;
  bool is_lu_, tunes_layout_;
  std::int64_t kept_count_ = 0;  // of records
  Interrupt interrupt_;
  std::unique_ptr<WisdomStore> store_;
  std::unique_ptr<Wisdom> wisdom_;  // null: the Context's
  std::unique_ptr<TuneSession> session_;
  std::optional<Progress> progress_;
};

void run_tune(const TuneFlags& flags) {
  keep_files_apart({{"from", flags.from}, {"seeds", flags.seeds}, {"wisdom", flags.wisdom}},
                   {{"sweep", flags.sweep}, {"json", flags.json}});
  const bool is_lu = are_factorizations(flags);
  if (flags.check && flags.family != "layout") return check_records(flags, Context());
  try {
    Run(flags).run();
  } catch (const Error& error) {
    if (error.argument() != "driver" || is_lu) throw;
    throw Error(error.code(), "location",
                fmt::format("location = device: {}; location=host tunes the CPU, sizes up to {}",
                            error.what(), gemm_small_cpu_limit));
  }
}

void add_problem_flags(CLI::App* verb, TuneFlags& flags) {
  verb->add_option(
      "PROBLEM", flags.problems,
      "such as gemm_batched:f64:nn:m=8,n=8,k=8:strided:batch=1e6, or lu:f64:m=2000,n=2000 (default, without "
      "--sizes and --from: what most programs multiply on this machine)");
  verb->add_option("--sizes", flags.sizes, "problems as a product of lists: n, first:last[:step] or MxNxK");
  verb->add_option("--dtype", flags.dtype, "of --sizes: f32, f64, c64, c128")->capture_default_str();
  verb->add_option("--op", flags.op, "of --sizes: nn, nt, tc, ...")->capture_default_str();
  verb->add_option("--layout", flags.layout,
                   "of --sizes: strided, pointer, block_interleaved, ... (default: strided; single for large "
                   "matrices on the GPU)");
  verb->add_option("--block", flags.block, "of --sizes: problems per block (default: one 64-byte vector)");
  verb->add_option("--beta", flags.beta, "of --sizes")->capture_default_str();
  verb->add_option("--residency", flags.residency, "of --sizes, and of problems that name none")
      ->capture_default_str();
  verb->add_option(
      "--location", flags.location,
      "of --sizes and of problems that name none: host or device (default: host; device for sizes "
      "that have no space to search on the host, where there is a GPU)");
  verb->add_option("--device", flags.device, "the GPU that device problems lie on")->capture_default_str();
  verb->add_option("--megabytes", flags.megabytes, "of each operand of device problems")
      ->capture_default_str();
  verb->add_option("--from", flags.from, "the problems of a log written by --record or TILEWRIGHT_RECORD");
}

void add_search_flags(CLI::App* verb, TuneFlags& flags) {
  verb->add_option("--budget", flags.budget,
                   "time for all problems together, filling memory included, such as 10min (default: 2 s of "
                   "searching each, 30 s on the GPU; 1 and 5 min where energy counts)");
  verb->add_option(
          "--clock", flags.clock,
          "what --budget counts: wall, all that passes; turns, the turns that are measured and nothing else, "
          "so that a busy machine searches as much as an idle one")
      ->capture_default_str();
  verb->add_option("--objective", flags.objective, "time, energy, edp, alpha=0.7 or energy_within=5%")
      ->capture_default_str();
  verb->add_option("--family", flags.family,
                   "auto: the configs of the kernels that serve each problem; layout: which blocks to "
                   "interleave a batch to, and what that costs, for explain")
      ->capture_default_str();
  verb->add_option("--strategy", flags.strategy, "exhaustive, random, local or model")->capture_default_str();
  verb->add_option("--space", flags.space, "usual: the configs that tend to matter; whole: every legal one")
      ->capture_default_str();
  verb->add_option(
      "--set", flags.set,
      "try only these values of an axis: axis=v1,v2 (repeatable); the default config stays beside them");
  verb->add_option("--where", flags.where,
                   "try only configs with 'axis>=v' (or <=, =, !=, >, <; repeatable)");
  verb->add_option("--vary", flags.vary,
                   "search one axis alone: the best config known with each of its values");
  verb->add_option("--configs", flags.configs,
                   "search so many of the most promising configs, or of --space whole");
  verb->add_option(
      "--seeds", flags.seeds,
      "records of wisdom, rows or a sweep whose configs of the same problems are searched as well");
  verb->add_option("--window", flags.window,
                   "how long turns with energy last at least, such as 30s (default: what the meter needs)");
  verb->add_option("--sweep", flags.sweep,
                   "the log of what was measured (default: sweep.jsonl in the cache folder)");
  verb->add_flag("--resume", flags.resume, "go on from that log");
  verb->add_flag("--verbose", flags.verbose,
                 "lists the constraints that cut the space, and how many branches each");
  verb->add_flag("--check", flags.check,
                 "search nothing: measure stored records again and report regressions");
  verb->add_option(
      "--wisdom", flags.wisdom,
      "the database that keeps each winner as it is found (default: the user's); none: only --json");
  verb->add_option("--json", flags.json, "the lines of wisdom, one per problem (- is stdout)");
}

}  // namespace

void add_tune(CLI::App& app) {
  CLI::App* verb = app.add_subcommand("tune", "search the best config of problems and record it as wisdom");
  auto flags = std::make_shared<TuneFlags>();
  add_problem_flags(verb, *flags);
  add_search_flags(verb, *flags);
  verb->footer(
      "Example: tilewright tune --sizes 2:32 --dtype f64,f32 --beta 0,1 --residency cold,l2,l1 --budget "
      "15min "
      "--json wisdom/cpu.jsonl\n"
      "Example: tilewright tune --budget 10min\n"
      "Example: tilewright tune gemm:f64:nn:m=4096,n=4096,k=4096:location=device --budget 2min");
  verb->callback([flags] { run_tune(*flags); });
}

}  // namespace tilewright::cli
