// Which records are checked, the host's among them, and what is said of each.
#include "tune_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "device/cpu.hpp"
#include "json_lines.hpp"
#include "progress.hpp"
#include "provenance.hpp"
#include "tune/gate.hpp"
#include "tune/kernel_timer.hpp"
#include "tune_rematch.hpp"
#include "verbs.hpp"
#include "wisdom/store.hpp"

namespace tilewright::cli {
namespace {

// What has no meaning where nothing is searched.
void refuse_for_check(const TuneFlags& flags) {
  const std::pair<const char*, bool> unused[] = {{"--strategy", flags.strategy != "exhaustive"},
                                                 {"--space", flags.space != "usual"},
                                                 {"--set", !flags.set.empty()},
                                                 {"--where", !flags.where.empty()},
                                                 {"--sweep", !flags.sweep.empty()},
                                                 {"--resume", flags.resume}};
  for (const auto& [name, given] : unused)
    if (given)
      throw Error(ErrorCode::invalid_argument, name,
                  fmt::format("{} has no meaning with --check, which searches nothing", name));
  if (flags.objective != "time")
    throw Error(ErrorCode::unsupported, "--objective",
                fmt::format("--objective = '{}': --check measures time, and records of that objective only",
                            flags.objective));
  if (flags.wisdom == "none")
    throw Error(ErrorCode::invalid_argument, "--wisdom", "--wisdom = none leaves no records to check");
}

// Records of the kernels that multiply on the host.
class HostRecords : public RecordChecker {
 public:
  explicit HostRecords(Isa isa) : isa_(isa) {}

  const std::string& device() const override { return cpu_info().device; }
  bool is_for(const StoredRecord& record) const override {
    return record.family == "gemm_small_cpu" && is_same_device(device(), record.device) &&
           config_of(record).isa <= isa_ && record.what.residency != Residency::automatic;
  }
  double usual_budget_s(const StoredRecord&) const override { return 0.3; }
  Checked check(const StoredRecord& record, double budget_s) override {
    const GemmProblem problem = timed_problem(record.what);
    const GemmSmallCpuConfig config = config_of(record);
    if (!gemm_small_cpu_space(problem, config.isa).contains(config))
      return {.verdict = "regression: the config is no longer legal"};
    const auto own = make_gemm_small_cpu(problem, config);
    const auto standard = make_gemm_small_cpu(problem, gemm_small_cpu_default(problem, config.isa));
    if (const auto wrong = Gate(problem, config.isa).run(*own); !wrong.empty())
      return {.verdict = "regression: it is wrong: " + wrong};
    constexpr double turn_s = 1e-3;
    KernelTimer timer(problem, arena_);
    const auto time_turn = [&](std::size_t i) {
      return timer.time(i == 0 ? *own : *standard, turn_s).seconds;
    };
    return rematch(record, time_turn, budget_s);
  }

 private:
  static GemmSmallCpuConfig config_of(const StoredRecord& record) {
    return from_json<GemmSmallCpuConfig>(record.config);
  }

  Isa isa_;
  Arena arena_;
};

// Regret is by how much the default costs more; 0 gain: it was not measured, or not known when recorded.
void print_checked(std::FILE* out, const StoredRecord& record, const Checked& checked) {
  const auto regret = [](double gain) {
    return gain > 0 ? fmt::format("{:.1f} %", 100 * (gain - 1)) : std::string("unknown");
  };
  fmt::print(out, "{} [{}]: {}", record.problem, record.source, checked.verdict);
  if (checked.gain > 0)
    fmt::print(out, "; {:.4g} ns per problem, default {:.4g} ns, regret of the default {}, was {}",
               checked.seconds.centre * 1e9, checked.seconds.centre * checked.gain * 1e9,
               regret(checked.gain), regret(checked.gain_before));
  fmt::print(out, "\n");
}

// The records in the order in which lookups believe them: of --wisdom alone, else of all files in use.
std::vector<WisdomRecord> believed_records(const TuneFlags& flags, const Context& context,
                                           const std::string& device) {
  if (!flags.wisdom.empty()) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(flags.wisdom, error))
      throw Error(ErrorCode::invalid_argument, "--wisdom",
                  fmt::format("--wisdom = '{}' cannot be opened", flags.wisdom));
    return Wisdom({flags.wisdom}, device).records();
  }
  return context.impl().wisdom() == nullptr ? std::vector<WisdomRecord>()
                                            : context.impl().wisdom()->records();
}

std::string file_of(const WisdomRecord& record) {
  return record.source.substr(0, record.source.find_last_of("#:"));
}

// Of several records of one identity the one that lookups take: the last of the first file that has any.
std::vector<StoredRecord> without_duplicates(std::vector<StoredRecord> records) {
  std::map<std::string, std::size_t> known;
  std::vector<StoredRecord> distinct;
  for (StoredRecord& record : records) {
    const auto [at, inserted] = known.emplace(identity_of(record), distinct.size());
    if (inserted)
      distinct.push_back(std::move(record));
    else if (file_of(distinct[at->second]) == file_of(record))
      distinct[at->second] = std::move(record);
  }
  return distinct;
}

// The records of a problem whatever its batch, as wisdom finds them.
GemmProblem described(GemmProblem problem) {
  problem.batch_count = 1, problem.stride_a = problem.stride_b = problem.stride_c = 0;
  return problem;
}

// Those the checker can measure, of the problems that were named or of all.
std::vector<StoredRecord> chosen_records(const TuneFlags& flags, const Context& context,
                                         const std::vector<GemmProblem>& problems,
                                         const RecordChecker& checker) {
  std::vector<StoredRecord> chosen;
  for (const WisdomRecord& record : believed_records(flags, context, checker.device())) {
    if (!record.passed() || record.dropped || record.objective != flags.objective) continue;
    StoredRecord stored{record, parse_problem(record.problem)};
    const auto names = [&](const GemmProblem& problem) {
      return described(problem) == described(stored.what);
    };
    if (checker.is_for(stored) && (problems.empty() || std::any_of(problems.begin(), problems.end(), names)))
      chosen.push_back(std::move(stored));
  }
  chosen = without_duplicates(std::move(chosen));
  std::stable_sort(chosen.begin(), chosen.end(),
                   [](const auto& x, const auto& y) { return x.what.dtype < y.what.dtype; });
  return chosen;
}

// Whether it is the GPU's records that are asked for. Throws Error(invalid_argument) for problems of both.
bool asks_for_gpu(const TuneFlags& flags, const std::vector<GemmProblem>& problems) {
  if (problems.empty()) return flags.location == "device";
  const auto on_gpu = [](const GemmProblem& p) { return p.location == Location::device; };
  const auto count = std::count_if(problems.begin(), problems.end(), on_gpu);
  if (count != 0 && count != std::ssize(problems))
    throw Error(ErrorCode::invalid_argument, "--check",
                fmt::format("--check: {} of {} problems lie on the device; check them and the others apart",
                            count, problems.size()));
  return count > 0;
}

std::unique_ptr<RecordChecker> checker_for(const TuneFlags& flags, const Context& context,
                                           const std::vector<GemmProblem>& problems) {
  if (!asks_for_gpu(flags, problems)) return std::make_unique<HostRecords>(context.impl().isa);
#if TILEWRIGHT_HAS_GPU
  return gpu_record_checker(flags, context);
#else
  throw Error(ErrorCode::unsupported, "--check", "--check: records of GPUs: this build has no GPU runtime");
#endif
}

nlohmann::json line_of(const StoredRecord& record, const Checked& checked) {
  nlohmann::json line{{"problem", record.problem},
                      {"source", record.source},
                      {"objective", record.objective},
                      {"config", record.config},
                      {"verdict", checked.verdict},
                      {"seconds", checked.seconds.centre},
                      {"seconds_low", checked.seconds.low},
                      {"seconds_high", checked.seconds.high},
                      {"samples", checked.seconds.samples},
                      {"recorded_seconds", record.seconds},
                      {"gain", checked.gain},
                      {"recorded_gain", checked.gain_before}};
  add_provenance(line);
  return line;
}

}  // namespace

void check_records(const TuneFlags& flags, const Context& context) {
  refuse_for_check(flags);
  const bool all = flags.problems.empty() && flags.sizes.empty() && flags.from.empty();
  const auto problems = all ? std::vector<GemmProblem>() : problems_of(flags);
  const auto checker = checker_for(flags, context, problems);
  const auto records = chosen_records(flags, context, problems, *checker);
  if (records.empty())
    throw Error(ErrorCode::invalid_argument, "--check",
                fmt::format("--check: no stored record of '{}' is for these problems", checker->device()));
  const double share_s = flags.budget.empty() ? 0 : parse_duration(flags.budget) / double(records.size());
  JsonLines json(flags.json);
  Progress progress("check", std::int64_t(records.size()));
  std::int64_t done = 0, held = 0, regressions = 0;
  std::vector<double> gains;
  for (const StoredRecord& record : records) {
    progress.show(done++, record.problem);
    const Checked checked =
        checker->check(record, flags.budget.empty() ? checker->usual_budget_s(record) : share_s);
    regressions += checked.regressed() ? 1 : 0;
    held += checked.holds() ? 1 : 0;
    progress.clear();
    print_checked(json.people(), record, checked);
    if (checked.gain > 0) gains.push_back(checked.gain);
    json.write(line_of(record, checked));
  }
  fmt::print(json.people(), "{} of {} records hold{}\n", held, done,
             gains.empty() ? ""
                           : fmt::format("; regret of the defaults {:.1f} % (geometric mean)",
                                         100 * (geometric_mean(gains) - 1)));
  if (regressions > 0) throw JobFailed(fmt::format("{} of {} stored records regressed", regressions, done));
}

}  // namespace tilewright::cli
