// The verb `tune`: shares its budget out among the problems it is given, searches each, and keeps a record of
// wisdom for each in the user's database as soon as it is found. Every turn that is measured is in the sweep
// log first, from which --resume goes on.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <memory>
#include <set>

#include "core/build_info.hpp"
#include "device/cpu.hpp"
#include "device/energy_meter.hpp"
#include "gemm/context_impl.hpp"
#include "gemm/layout_costs.hpp"
#include "gemm/validate.hpp"
#include "interrupt.hpp"
#include "json_lines.hpp"
#include "lists.hpp"
#include "measure/clock.hpp"
#include "measure/estimate.hpp"
#include "own_wisdom.hpp"
#include "progress.hpp"
#include "tune/kernel_timer.hpp"
#include "tune/layout_tuner.hpp"
#include "tune/strategy/strategy.hpp"
#include "tune/tuner.hpp"
#include "tune_check.hpp"
#include "tune_flags.hpp"
#include "tune_report.hpp"
#include "verbs.hpp"
#include "wisdom/ceilings.hpp"
#include "wisdom/families.hpp"

#if TILEWRIGHT_HAS_GPU
#include "device/gpu/nvml.hpp"
#include "gemm/device_machine.hpp"
#include "measure/gpu/other_users.hpp"
#include "tune/gpu/tuner.hpp"
#endif

namespace tilewright::cli {
namespace {

constexpr double fill_share = 0.4;  // of what is left of a budget, for filling memory with operands
constexpr double mebibyte = 1 << 20;

// Where the log lies unless --sweep says otherwise: beside the other things that may be lost without harm.
std::string sweep_path(const TuneFlags& flags, const Context& context) {
  if (!flags.sweep.empty()) return flags.sweep;
  const auto path =
      std::filesystem::path(ceilings_path(context.impl().environment)).replace_filename("sweep.jsonl");
  std::filesystem::create_directories(path.parent_path());
  return path.string();
}

#if TILEWRIGHT_HAS_GPU
int device_number(const TuneFlags& flags) {
  return static_cast<int>(parse_count("--device", flags.device, 0));
}
#endif

// What has to be the same for an earlier run's measurements to count.
nlohmann::json run_of(const TuneFlags& flags, Isa isa, const TuneObjective& objective,
                      const std::vector<GemmProblem>& problems) {
  nlohmann::json run = {{"family", flags.family},
                        {"isa", to_string(isa)},
                        {"strategy", flags.strategy},
                        {"objective", objective.text()},
                        {"space", flags.space},
                        {"set", flags.set},
                        {"where", flags.where},
                        {"device", cpu_info().device},
                        {"source_hash", gemm_small_cpu_source_hash}};
  const auto on_gpu = [](const GemmProblem& p) { return p.location == Location::device; };
  if (std::any_of(problems.begin(), problems.end(), on_gpu)) {
    run["gpu"] = flags.device;
#if TILEWRIGHT_HAS_GPU
    const GpuLimits limits = Gpu::limits_of(device_number(flags));
    run["gpu_name"] = limits.name;
    run["gpu_uuid"] = limits.uuid;
#endif
    run["gpu_source_hash"] = gemm_small_source_hash;
    run["gemm_large_source_hash"] = gemm_large_source_hash;
  }
  return run;
}

// Its space is a handful of blocks, all of which meet in the contest.
void refuse_for_layout(const TuneFlags& flags) {
  const std::pair<const char*, bool> unused[] = {{"--objective", flags.objective != "time"},
                                                 {"--strategy", flags.strategy != "exhaustive"},
                                                 {"--space", flags.space != "usual"},
                                                 {"--set", !flags.set.empty()},
                                                 {"--where", !flags.where.empty()},
                                                 {"--wisdom", !flags.wisdom.empty()},
                                                 {"--check", flags.check}};
  for (const auto& [name, given] : unused)
    if (given)
      throw Error(
          ErrorCode::unsupported, name,
          fmt::format("{} has no meaning with --family layout, which tries every block for time", name));
}

double usual_budget_of(const std::vector<GemmProblem>& problems, const TuneObjective& objective) {
  double budget_s = 0;
  for (const GemmProblem& problem : problems) budget_s += usual_budget_s(problem, objective);
  return budget_s;
}

class Run {
 public:
  explicit Run(const TuneFlags& flags)
      : flags_(flags),
        problems_(problems_of(flags)),
        budget_s_(flags.budget.empty() ? usual_budget_of(problems_, TuneObjective::parse(flags.objective))
                                       : parse_duration(flags.budget)),
        json_(flags.json),
        progress_("tune, seconds of the budget", std::llround(budget_s_)) {
    static_cast<ConfigRules&>(options_) = rules_of(flags, context_.impl().isa);
    strategy_named(flags.strategy);
    options_.strategy = flags.strategy;
    options_.objective = TuneObjective::parse(flags.objective);
    check_family();
    for (const GemmProblem& problem : problems_) check_problem(problem);
    find_meters();
    if (!tunes_layout() && flags.wisdom != "none") store_ = open_own_wisdom("wisdom", flags.wisdom);
    if (store_ && !flags.wisdom.empty())
      wisdom_ = std::make_unique<Wisdom>(wisdom_in_use(store_->path(), context_.impl().environment),
                                         cpu_info().device);
    log_ = SweepLog(sweep_path(flags, context_),
                    run_of(flags, context_.impl().isa, options_.objective, problems_), flags.resume,
                    !flags.sweep.empty());  // in the cache folder only the last one is kept beside it
    options_.log = &log_;
    options_.stop = [this] {
      progress_.show(std::llround(wall_seconds() - begin_s_),
                     fmt::format("{}/{} {}", done_ + 1, problems_.size(), now_));
      return interrupt_.requested();
    };
  }

  void run() {
    if (flags_.resume) fmt::print(json_.people(), "{} measured turns are kept from before\n", log_.kept());
    for (std::size_t i = 0; i < problems_.size(); ++i) {
      now_ = to_string(problems_[i]);
      if (const auto before = log_.result(now_); !before.is_null()) {
        keep(before.is_array() ? before.get<std::vector<nlohmann::json>>() : std::vector{before}, {});
        ++done_;
        continue;
      }
      if (!pay_for_operands(i)) continue;
      if (left_s() <= 0) return end("the budget is spent");
      if (!tune_one(problems_[i], left_s() / double(problems_.size() - i))) return end("interrupted");
    }
    if (left_out_ > 0) return end(fmt::format("{} problems were left out", left_out_));
    progress_.clear();
    if (store_) fmt::print(json_.people(), "kept in {}\n", store_->path());
    if (tunes_layout()) fmt::print(json_.people(), "kept for explain in {}\n", costs_path());
    if (regrets_.empty()) return;
    fmt::print(json_.people(), "{} problems in {:.1f} s; regret of the defaults {:.1f} % (geometric mean)\n",
               done_, wall_seconds() - begin_s_, 100 * (geometric_mean(regrets_) - 1));
  }

 private:
  bool tunes_layout() const { return flags_.family == "layout"; }
  double left_s() const { return budget_s_ - (wall_seconds() - begin_s_); }

  // Fills memory with the operands of problem i, which serve other problems of the type as well: as many as
  // the budget pays for. False, with a message, where it does not even pay for the fewest. Without --budget
  // every problem has its own time to be searched in, and filling comes on top.
  bool pay_for_operands(std::size_t i) {
    const GemmProblem& problem = problems_[i];
    if (problem.location != Location::host) return true;
    const double begin_s = wall_seconds();
    const OperandRing ring = ring_for(i);
    if (ring.bytes == 0) {
      ++left_out_;
      progress_.clear();
      fmt::print(
          stderr,
          "{} is left out: filling memory with its operands takes about {:.2g} s, which is too much of "
          "--budget = {}; {:.2g} s are left\n",
          now_, ring.fill_s, flags_.budget, left_s());
      return false;
    }
    options_.ring_bytes = ring.bytes;
    if (tunes_layout())
      prepare_conversion(problem, arena_, interleaved_arena_);
    else
      prepare_operands(problem, arena_, ring.bytes);
    if (flags_.budget.empty()) budget_s_ += wall_seconds() - begin_s;
    if (ring.bytes < cold_bytes && ring.bytes != told_ring_bytes_) {
      told_ring_bytes_ = ring.bytes;
      progress_.clear();
      fmt::print(json_.people(), "{}: {:.0f} MiB of cold operands instead of {:.0f}, which fit the budget\n",
                 now_, ring.bytes / mebibyte, cold_bytes / mebibyte);
    }
    return true;
  }

  // What is left pays for the operands of all cold problems, whose types differ.
  OperandRing ring_for(std::size_t i) const {
    const GemmProblem& problem = problems_[i];
    std::set<DType> types;
    for (std::size_t other = i; other < problems_.size(); ++other)
      if (problems_[other].residency == Residency::cold) types.insert(problems_[other].dtype);
    const bool bounded = !flags_.budget.empty();
    const double most_s = bounded ? fill_share * left_s() / double(std::max<std::size_t>(1, types.size()))
                                  : std::numeric_limits<double>::infinity();
    OperandRing ring = affordable_ring(problem, arena_, most_s);
    // Conversions need the operands twice, and all of them.
    if (tunes_layout() && (ring.bytes < cold_bytes || 2 * ring.fill_s > most_s)) ring.bytes = 0;
    return ring;
  }

  std::string costs_path() const { return layout_costs_path(context_.impl().environment); }

  void check_family() const {
    if (flags_.family != "auto" && !tunes_layout())
      throw Error(ErrorCode::invalid_argument, "--family",
                  fmt::format("--family = '{}' is neither auto nor layout", flags_.family));
    if (tunes_layout()) refuse_for_layout(flags_);
  }

  void check_problem(const GemmProblem& problem) const {
    validate(problem);
    if (tunes_layout()) return check_convertible(problem, options_.isa);
    if (problem.location == Location::host) return check_tunable(problem, options_);
#if TILEWRIGHT_HAS_GPU
    check_gpu_tunable(problem);
#else
    throw Error(ErrorCode::unsupported, "location",
                fmt::format("location = device in {}: this build has no GPU runtime", to_string(problem)));
#endif
  }

  // Of what the problems run on. Which GPU that is, is known when it is opened.
  void find_meters() {
    if (!options_.objective.needs_energy()) return;
    meters_ = find_energy_meters();
    for (const GemmProblem& problem : problems_)
      if (problem.location == Location::host) (void)meters_.required(flags_.objective, problem.location);
  }

  // Where incumbents come from: what lookups ask, with the database that keeps the winners as the user's own.
  const Wisdom* known_wisdom() const { return wisdom_ ? wisdom_.get() : context_.impl().wisdom(); }

  bool tune_one(const GemmProblem& problem, double budget_s) {
    if (tunes_layout()) return tune_conversion(problem, budget_s);
    if (problem.location == Location::device) return tune_on_gpu(problem, budget_s);
    options_.budget_s = budget_s;
    options_.meter = meters_.meter_of(problem.location);
    if (const Wisdom* wisdom = known_wisdom())
      options_.incumbent = incumbent_of(*wisdom, problem, context_.impl().isa, options_.objective);
    return keep_result(problem, tune(problem, options_, arena_));
  }

#if TILEWRIGHT_HAS_GPU
  bool tune_on_gpu(const GemmProblem& problem, double budget_s) {
    if (gpu_ == nullptr) {
      gpu_ = context_.impl().gpus->open(device_number(flags_));
      gpu_arena_.emplace(gpu_->gpu(), std::size_t(parse_count("--megabytes", flags_.megabytes, 1)) << 20);
      if (options_.objective.needs_energy()) add_gpu_meter(meters_, gpu_->gpu().limits().uuid);
      gpu_use_.emplace(gpu_->gpu().limits().uuid);
    }
    GpuTuneOptions options;
    options.budget_s = budget_s;
    options.strategy = options_.strategy;
    options.objective = options_.objective;
    if (options.objective.needs_energy())
      options.meter = &meters_.required(flags_.objective, problem.location, gpu_->gpu().limits().uuid);
    static_cast<AxisRules&>(options) = options_;
    options.log = options_.log;
    options.stop = options_.stop;
    options.incumbent = gpu_incumbent(problem);
    GpuTuneResult result = gpu_tune(problem, gpu_->compiler(), options, *gpu_arena_);
    result.notes = gpu_use_->notes();
    return keep_result(problem, result);
  }

  std::optional<nlohmann::json> gpu_incumbent(const GemmProblem& problem) const {
    std::optional<nlohmann::json> found;
    if (known_wisdom() == nullptr) return found;
    const std::string family = gpu_family_of(problem);
    const WisdomQuery query{family, architecture_of_all(family), problem, options_.objective.text(),
                            gpu_->gpu().limits().name};
    known_wisdom()->offer(query, [&](const WisdomAnswer& answer) {
      if (answer.match == WisdomMatch::exact) found = answer.config;
      return true;
    });
    return found;
  }
#else
  bool tune_on_gpu(const GemmProblem&, double) { return false; }
#endif

  bool tune_conversion(const GemmProblem& problem, double budget_s) {
    LayoutTuneOptions options;
    options.isa = options_.isa;
    options.budget_s = budget_s;
    options.wisdom = context_.impl().wisdom();
    options.log = &log_;
    options.stop = options_.stop;
    const auto known = load_layout_costs(costs_path(), cpu_info().device);
    if (const LayoutCosts* costs = nearest_costs(known, problem);
        costs != nullptr && costs->m == problem.m && costs->n == problem.n && costs->k == problem.k)
      options.incumbent = LayoutConfig{costs->block};
    return keep_result(problem, tune_layout(problem, options, arena_, interleaved_arena_));
  }

  template <class Result>
  bool keep_result(const GemmProblem& problem, const Result& result) {
    if (!result.complete) return false;
    std::vector<nlohmann::json> records = {wisdom_record(result)}, wrongs;
    progress_.clear();
    print(result);
    if constexpr (std::is_base_of_v<SearchOutcome, Result>)
      if (result.objective.needs_energy() && !result.decided) {
        leave_undecided();
        return true;
      }
    if constexpr (requires { wrong_records(result); }) wrongs = wrong_records(result);
    if constexpr (requires { peer_records(result); })
      for (auto& peer : peer_records(result)) records.push_back(std::move(peer));
    if (tunes_layout())
      save_layout_costs(costs_path(), cpu_info().device,
                        {from_json<LayoutCosts>(records.front().at("costs"))});
    keep(records, wrongs);
    log_.add_result(to_string(problem), records);
    regrets_.push_back(1 + std::max(0.0, result.regret));
    ++done_;
    return true;
  }

  // What a call would take for measured was not. Its turns are in the log.
  void leave_undecided() {
    ++left_out_;
    fmt::print(stderr, "{}: undecided, and nothing is kept of it: energy needs a larger --budget than {}\n",
               now_, flags_.budget.empty() ? "the usual one" : flags_.budget);
  }

  template <class Result>
  void print(const Result& result) const {
    // A space has many constraints: with many problems each is told of those that count.
    constexpr std::size_t few_problems = 3, few_lines = 3, all_lines = 1000;
    std::string removed;
    if constexpr (requires { result.removed; })
      removed = removed_text(result.removed, problems_.size() > few_problems ? few_lines : all_lines);
    if constexpr (std::is_base_of_v<SearchOutcome, Result>)
      print_outcome(json_.people(), result, difference(result.config, result.default_config), removed);
    else
      print_result(json_.people(), result, removed);
  }
  static std::string difference(const GemmSmallCpuConfig& x, const GemmSmallCpuConfig& y) {
    return cli::difference(to_json(x), to_json(y));
  }
  static std::string difference(const nlohmann::json& x, const nlohmann::json& y) {
    return cli::difference(x, y);
  }

  // A result is in the log when it has been kept. Resumed, the same problem may have been tuned again since:
  // of records the newer one stays, and costs of conversions, which bear no date, are left as they are.
  void keep(const std::vector<nlohmann::json>& records, const std::vector<nlohmann::json>& wrongs) {
    for (const auto& record : records) json_.write(measured_line(record));
    if (!store_) return;
    store_->at_once([&] {
      for (const auto& wrong : wrongs) store_->add_found(record_of_line(wrong).value());
      for (const auto& record : records)
        if (!store_->add_found(record_of_line(record).value()))
          fmt::print(json_.people(), "{}: the record of it in {} is newer or better measured, and stays\n",
                     record.at("problem").get<std::string>(), store_->path());
    });
  }

  void end(const std::string& why) {
    progress_.clear();
    const auto sentence =
        fmt::format("{}: {} of {} problems are done and kept, --resume goes on with the rest", why, done_,
                    problems_.size());
    if (interrupt_.requested() || done_ == 0) throw JobFailed(sentence);
    fmt::print(json_.people(), "{}\n", sentence);
  }

  const TuneFlags& flags_;
  double begin_s_ = wall_seconds();
  Context context_;
  std::vector<GemmProblem> problems_;
  double budget_s_;
  JsonLines json_;
  Progress progress_;
  Interrupt interrupt_;
  EnergyMeters meters_;
  std::unique_ptr<WisdomStore> store_;
  std::unique_ptr<Wisdom> wisdom_;  // null: the Context's
  SweepLog log_;
  TuneOptions options_;
  Arena arena_, interleaved_arena_;
#if TILEWRIGHT_HAS_GPU
  std::shared_ptr<const GpuMachine> gpu_;
  std::optional<GpuArena> gpu_arena_;
  std::optional<OtherUsersNotes> gpu_use_;
#endif
  std::int64_t done_ = 0, left_out_ = 0;
  double told_ring_bytes_ = 0;
  std::string now_;
  std::vector<double> regrets_;
};

void run_tune(const TuneFlags& flags) {
  if (flags.check && flags.family != "layout") return check_records(flags, Context());
  Run(flags).run();
}

void add_problem_flags(CLI::App* verb, TuneFlags& flags) {
  verb->add_option("PROBLEM", flags.problems, "such as gemm_batched:f64:nn:m=8,n=8,k=8:strided:batch=1e6");
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
  verb->add_option("--from", flags.from, "the problems of a log written by --record");
}

void add_search_flags(CLI::App* verb, TuneFlags& flags) {
  verb->add_option("--budget", flags.budget,
                   "time for all problems together, filling memory included, such as 10min (default: 2 s of "
                   "searching each, 30 s on the GPU; 1 and 5 min where energy counts)");
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
  verb->add_option("--sweep", flags.sweep,
                   "the log of what was measured (default: sweep.jsonl in the cache folder)");
  verb->add_flag("--resume", flags.resume, "go on from that log");
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
      "Example: tilewright tune gemm:f64:nn:m=4096,n=4096,k=4096:location=device --budget 2min");
  verb->callback([flags] { run_tune(*flags); });
}

}  // namespace tilewright::cli
