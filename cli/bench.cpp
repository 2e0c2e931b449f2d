// The verb `bench`: ours beside the peers, interleaved in one run. This file registers the flags and runs the
// list of cases; what a case is, who takes part and how it is told are in bench_cases, bench_contenders,
// bench_run and bench_report.
#include <fmt/format.h>

#include <functional>
#include <map>
#include <memory>

#include "bench_families.hpp"
#include "bench_gpu.hpp"
#include "bench_report.hpp"
#include "json_lines.hpp"
#include "lists.hpp"
#include "progress.hpp"
#include "provenance.hpp"
#include "record_log.hpp"
#include "verbs.hpp"

namespace tilewright::cli {
namespace {

void print_peers(std::FILE* out, const BenchMachine& machine) {
  std::string found;
  for (const auto& peer : machine.search.found)
    found += fmt::format("{}{} {}", found.empty() ? "" : ", ", peer->name(), peer->version());
  fmt::print(out, "peers: {}\n", found.empty() ? "none" : found);
  for (const auto& missing : machine.search.missing)
    fmt::print(out, "not here: {} ({})\n", missing.name, missing.reason);
}

// Why somebody is not in the comparison, and what may have disturbed it; each line once.
class Asides {
 public:
  void print(std::FILE* out, const CaseResult& result) {
    for (const Absence& absence : result.absences)
      once(out, fmt::format("left out: {} ({})", absence.impl, absence.reason));
    for (const std::string& note : result.notes) once(out, "NOTE " + note);
  }

 private:
  void once(std::FILE* out, std::string line) {
    if (std::find(told_.begin(), told_.end(), line) != told_.end()) return;
    fmt::print(out, "{}\n", line);
    told_.push_back(std::move(line));
  }
  std::vector<std::string> told_;
};

// Collects the cases where ours errs too much beside the best peer, or where there is none to say.
class ErrorLimit {
 public:
  explicit ErrorLimit(const std::string& most)
      : most_(most.empty() ? 0 : parse_number("--most-error-ratio", most)) {
    if (!most.empty() && !(most_ > 0))
      throw Error(ErrorCode::invalid_argument, "--most-error-ratio",
                  fmt::format("--most-error-ratio = {}: must be positive", most));
  }
  void look(const CaseResult& result) {
    if (most_ == 0) return;
    const auto ratio = result.error_ratio(Role::peer);
    if (ratio && *ratio <= most_) return;
    ++count_;
    if (first_.empty())
      first_ = fmt::format("{}: {}", problem_text(result.bench_case),
                           ratio ? fmt::format("{:.3f} times as much", *ratio) : "no peer to compare with");
  }
  void finish() const {
    if (count_ > 0)
      throw JobFailed(fmt::format("--most-error-ratio = {}: ours errs more in {} cases; the first is {}",
                                  most_, count_, first_));
  }

 private:
  double most_ = 0;
  int count_ = 0;
  std::string first_;
};

// Runs the cases one after the other and tells of each; `more` prints what else there is to say of one.
void report_cases(const BenchFlags& flags, const BenchPlan& plan, JsonLines& json,
                  const std::function<CaseResult(const BenchCase&)>& run,
                  const std::function<void(const CaseResult&)>& more) {
  std::FILE* out = json.people();
  fmt::print(out, "{}\n", table_head());
  Progress progress("bench", std::int64_t(plan.cases.size()));
  Summary summary;
  Asides asides;
  std::int64_t done = 0;
  for (const BenchCase& bench_case : plan.cases) {
    progress.show(done, problem_text(bench_case));
    const CaseResult result = run(bench_case);
    progress.clear();
    asides.print(out, result);
    fmt::print(out, "{}\n", table_line(result));
    more(result);
    std::fflush(out);
    for (const auto& object : json_of(result)) json.write(object);
    summary.add(result);
    if (!flags.record.empty()) record_run(flags.record, bench_case.problem, result.ours().seconds.centre);
    ++done;
  }
  progress.clear();
  for (const std::string& line : summary.lines()) fmt::print(out, "{}\n", line);
  for (const auto& object : summary.objects()) json.write(object);
}

void run_cases(const BenchFlags& flags, const BenchPlan& plan) {
  JsonLines json(flags.json);
  json.head({{"command", command_line()}});
  BenchMachine machine;
  if (plan.all_peers || !plan.peers.empty()) print_peers(json.people(), machine);
  report_cases(
      flags, plan, json, [&](const BenchCase& one) { return run_case(machine, plan, one); },
      [&](const CaseResult& result) {
        if (flags.counters) print_counters(json.people(), machine, result);
      });
}

// What a case that is not timed has to say.
void print_check(JsonLines& json, const CaseResult& result) {
  const auto ratio = result.error_ratio(Role::peer);
  fmt::print(json.people(), "{}: {} implementations are right{}\n", problem_text(result.bench_case),
             result.impls.size(),
             ratio ? fmt::format(", ours errs {:.3f} times as much as the best peer", *ratio) : "");
  nlohmann::json line{{"phase", "check"},
                      {"problem", problem_text(result.bench_case)},
                      {"data", to_string(result.bench_case.data)},
                      {"config", config_of(result.ours())},
                      {"right", result.impls.size()},
                      {"error_rms", result.ours().accuracy.rms},
                      {"error_ratio", ratio ? nlohmann::json(*ratio) : nlohmann::json()}};
  add_provenance(line);
  line.update(result.provenance);
  json.write(line);
}

void run_gpu_cases(const BenchFlags& flags, const BenchPlan& plan) {
  ErrorLimit limit(flags.most_error_ratio);
  JsonLines json(flags.json);
  json.head({{"command", command_line()}});
  GpuBenchMachine machine(plan);
  for (const std::string& line : machine.describe()) fmt::print(json.people(), "{}\n", line);
  machine.prepare(plan.cases);
  const auto run = [&](const BenchCase& one) { return machine.run(one, flags.check_only); };
  const auto more = [&](const CaseResult& result) {
    if (flags.counters) print_gpu_counters(json.people(), result);
    limit.look(result);
  };
  if (!flags.check_only) {
    report_cases(flags, plan, json, run, more);
    return limit.finish();
  }
  Asides asides;
  for (const BenchCase& one : plan.cases) {
    const CaseResult result = run(one);
    asides.print(json.people(), result);
    limit.look(result);
    print_check(json, result);
  }
  limit.finish();
}

// Flags that a family does not read: giving one is refused, since it would promise what is not measured.
const std::map<std::string, std::vector<std::string>>& flags_without_use() {
  static const std::map<std::string, std::vector<std::string>> table = {
      {"gemm_small", {"--numa", "--threads", "--counters"}},
      {"gemm", {"--block", "--numa", "--threads", "--pointer-order"}},
      {"overhead",
       {"--layout", "--batch", "--block", "--pointer-order", "--residency", "--numa", "--threads",
        "--counters", "--peers", "--record"}},
      {"layout", {"--numa", "--counters", "--record", "--candidate", "--config"}},
      {"transfer",
       {"--layout", "--block", "--alpha", "--beta", "--pointer-order", "--residency", "--numa", "--data",
        "--threads", "--candidate", "--config", "--counters", "--peers", "--record"}},
      {"layout --location device", {"--data", "--threads", "--check-only", "--most-error-ratio"}},
      {"transfer --location device", {"--configs", "--megabytes", "--check-only", "--most-error-ratio"}}};
  return table;
}

void refuse_flags_without_use(const CLI::App& verb, const BenchFlags& flags) {
  const auto refuse = [&](const std::string& what, const std::vector<std::string>& names) {
    for (const std::string& name : names)
      if (verb.get_option(name)->count() > 0)
        throw Error(ErrorCode::invalid_argument, name,
                    fmt::format("{}: 'bench {}' has no use for it", name, what));
  };
  if (flags.family != "layout" && flags.layout.find("block_interleaved") == std::string::npos)
    refuse(flags.family + " without --layout block_interleaved", {"--block"});
  if (flags.on_gpu() && flags.layout.find("variable") != std::string::npos)
    refuse(flags.family + " --layout variable", {"--configs", "--config"});
  const std::string on_device = flags.family + " --location device";
  for (const std::string& what : {flags.family, flags.on_gpu() ? on_device : ""})
    if (const auto at = flags_without_use().find(what); at != flags_without_use().end())
      refuse(what, at->second);
  if (!flags.on_gpu())
    refuse(flags.family, {"--configs", "--megabytes", "--device", "--check-only", "--most-error-ratio"});
}

void run_bench(const CLI::App& verb, const BenchFlags& flags) {
  refuse_flags_without_use(verb, flags);
  const BenchPlan plan = plan_bench(flags);
  if (flags.family == "overhead") return bench_overhead(flags, plan);
  if (flags.family == "layout") return bench_layout(flags, plan);
  if (flags.family == "transfer") return bench_transfer(flags, plan);
  if (flags.on_gpu()) return run_gpu_cases(flags, plan);
  run_cases(flags, plan);
}

void add_case_flags(CLI::App& verb, BenchFlags& flags) {
  verb.add_option("--dtype", flags.dtype, "f32, f64, c64, c128")->capture_default_str();
  verb.add_option("--sizes", flags.sizes,
                  "n, first:last[:step] or MxNxK, separated by commas (default: 4,8,13,16,32; of gemm "
                  "1024,2048,4096)");
  verb.add_option("--op", flags.op, "pairs of n, t, c: nn, nt, tc, ...")->capture_default_str();
  verb.add_option("--layout", flags.layout,
                  "single, strided, pointer, interleaved, block_interleaved, grouped, variable (default: "
                  "strided; of gemm single)");
  verb.add_option("--batch", flags.batch,
                  "problems per batch (default: what the residency asks for; hot: at most that)");
  verb.add_option("--block", flags.block,
                  "problems per block of a block-interleaved batch, or of what layout converts to (default: "
                  "one 64-byte vector; of layout on the GPU all that are worth producing)");
  verb.add_option("--alpha", flags.alpha, "one value")->capture_default_str();
  verb.add_option("--beta", flags.beta, "values")->capture_default_str();
  verb.add_option("--pad-ld", flags.pad_ld, "rows added to every leading dimension")->capture_default_str();
  verb.add_option("--pointer-order", flags.pointer_order, "sequential, random")->capture_default_str();
  verb.add_option("--residency", flags.residency, "cold, l2, l1 (default: cold and l2; on the GPU cold)");
  verb.add_option(
      "--location", flags.location,
      "host; of gemm_small and gemm device, of layout and transfer either (default: the family's)");
  verb.add_option("--memory", flags.memory,
                  "pageable; of transfer --location device also pinned (default: there both)");
  verb.add_option("--numa", flags.numa, "first_touch, interleave, per_node (default: one arena)");
  verb.add_option("--data", flags.data, "uniform, graded, ill_scaled, pow2")->capture_default_str();
}

void add_run_flags(CLI::App& verb, BenchFlags& flags) {
  verb.add_option("--threads", flags.threads, "N, a list, or 1:N")->capture_default_str();
  verb.add_option("--candidate", flags.candidate, "ours: only this candidate; stencil is gemm");
  verb.add_option("--config", flags.config, "ours: JSON fields over the default config");
  verb.add_option("--objective", flags.objective,
                  "ours: whose wisdom serves: time, energy, edp, alpha=0.7 or energy_within=5%")
      ->capture_default_str();
  verb.add_option("--target", flags.target, "auto, cpu; on the GPU gpu (default: where the operands lie)");
  verb.add_flag("--counters", flags.counters, "instructions, loads, stores and multiply-adds per problem");
  verb.add_option("--peers", flags.peers, "auto, none or a list of names")->capture_default_str();
  verb.add_option("--repetitions", flags.repetitions, "samples of each implementation")
      ->capture_default_str();
  verb.add_option("--record", flags.record, "adds what was multiplied to this log");
  verb.add_option("--json", flags.json, "one JSON object per line into this file (- is stdout)");
}

void add_gpu_flags(CLI::App& verb, BenchFlags& flags) {
  verb.add_option("--configs", flags.configs, "on the GPU: promising configs tried beside the plan's")
      ->capture_default_str();
  verb.add_option("--megabytes", flags.megabytes,
                  "on the GPU: of each operand, more where a large problem needs it")
      ->capture_default_str();
  verb.add_option("--device", flags.device, "on the GPU: which one")->capture_default_str();
  verb.add_flag("--check-only", flags.check_only, "on the GPU: checks everybody and times nothing");
  verb.add_option("--most-error-ratio", flags.most_error_ratio,
                  "on the GPU: ends with 1 where ours errs more than so many times as much as the best peer");
}

}  // namespace

void add_bench(CLI::App& app) {
  CLI::App* verb = app.add_subcommand("bench", "ours beside the peers, interleaved in one run");
  auto flags = std::make_shared<BenchFlags>();
  verb->add_option(
          "FAMILY", flags->family,
          "gemm_small_cpu, gemm_small, gemm, layout, transfer, overhead (hybrid, lu are not built yet)")
      ->capture_default_str();
  add_case_flags(*verb, *flags);
  add_run_flags(*verb, *flags);
  add_gpu_flags(*verb, *flags);
  verb->footer(
      "cold walks distinct batches of 1 GiB in all; l2 and l1 repeat one batch of 512 or 24 KiB, each thread "
      "its own.\n"
      "Example: tilewright bench --dtype f64 --sizes 2:16,5x13x23 --beta 0,1 --residency cold,l2,l1 --json "
      "run.jsonl\n"
      "Example: tilewright bench gemm --dtype f64,f32 --sizes 1024,4096,64x64x65536 --op nn,nt,tn,tt --beta "
      "0,1\n"
      "Example: tilewright bench transfer --location device --dtype f64,f32 --sizes 4,8,16,32");
  verb->callback([verb, flags] { run_bench(*verb, *flags); });
}

}  // namespace tilewright::cli
