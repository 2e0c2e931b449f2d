// The verb `bench`: compares tilewright with its peers, interleaved in one run. This file registers the
// flags, runs the list of cases and prints; the families in tools/bench measure.
#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <map>
#include <memory>

#include "bench/family.hpp"
#include "bench/provenance.hpp"
#include "bench_flags.hpp"
#include "core/input/json_text.hpp"
#include "core/record_log.hpp"
#include "lists.hpp"
#include "measure/clock.hpp"
#include "output/files_apart.hpp"
#include "output/json_lines.hpp"
#include "output/progress.hpp"
#include "verbs.hpp"

namespace tilewright::cli {
namespace {

void tell(JsonLines& json, const bench::Told& told) {
  for (const std::string& line : told.lines) fmt::print(json.people(), "{}\n", line);
  std::fflush(json.people());
  for (const auto& row : told.rows) json.write(row);
}

// Returns the rows of tilewright that an earlier run left in the file.
std::vector<nlohmann::json> measured_rows(const BenchFlags& flags) {
  std::vector<nlohmann::json> rows;
  if (!flags.resume) return rows;
  std::ifstream file(flags.json);
  for (std::string text; next_line(file, text);)
    if (auto row = parse_json_or_discard(text);
        row.is_object() && row.value("impl", nlohmann::json()) == "tilewright")
      rows.push_back(std::move(row));
  return rows;
}

bool is_among(const std::vector<nlohmann::json>& rows, const bench::Case& one) {
  const nlohmann::json keys = case_keys(one);
  return std::any_of(rows.begin(), rows.end(), [&](const nlohmann::json& row) {
    return std::all_of(keys.items().begin(), keys.items().end(), [&](const auto& item) {
      return row.contains(item.key()) && row[item.key()] == item.value();
    });
  });
}

void run_cases(const BenchFlags& flags, const bench::Plan& plan) {
  const std::vector<nlohmann::json> known = measured_rows(flags);
  const double budget =
      flags.budget.empty() ? std::numeric_limits<double>::infinity() : parse_number("--budget", flags.budget);
  if (!(budget >= 0))
    throw Error(ErrorCode::invalid_argument, "--budget",
                fmt::format("--budget = {} is no time: seconds are expected", flags.budget));
  const double begin = wall_seconds();
  keep_files_apart({}, {{"--record", flags.record}, {"--json", flags.json}});
  if (!flags.record.empty()) check_record(flags.record);
  JsonLines json(flags.json, flags.resume);
  json.head({{known.empty() ? "command" : "resumed", command_line()}});
  const auto family = bench::make_family(plan);
  tell(json, {family->head(), {}});
  Progress progress("bench", std::int64_t(plan.cases.size()));
  std::int64_t done = 0;
  std::string failure;
  for (const bench::Case& one : plan.cases) {
    progress.show(done++, problem_text(one));
    if (is_among(known, one)) continue;
    if (wall_seconds() - begin >= budget) {
      fmt::print(json.people(), "budget of {:g} s used at {}{}\n", budget, problem_text(one),
                 flags.json.empty() || flags.json == "-" ? "" : "; go on with --resume");
      break;
    }
    const bench::Told told = family->measure(one);
    progress.clear();
    tell(json, told);
    if (failure.empty()) failure = told.failure;
    if (!flags.record.empty() && told.seconds) record_run(flags.record, one.problem, *told.seconds);
  }
  const bench::Told told = family->finish();
  tell(json, told);
  if (failure.empty()) failure = told.failure;
  if (!failure.empty()) throw JobFailed(failure);
}

// Flags that a family does not read: using one is an error, since it would promise a measurement that is not
// made.
const std::map<std::string, std::vector<std::string>>& flags_without_use() {
  static const std::map<std::string, std::vector<std::string>> table = {
      {"gemm_small", {"--numa", "--threads", "--counters"}},
      {"gemm", {"--block", "--pointer-order"}},
      {"gemm --location device", {"--numa", "--threads"}},
      {"overhead",
       {"--layout", "--batch", "--block", "--pointer-order", "--residency", "--numa", "--threads",
        "--counters", "--peers", "--record"}},
      {"hybrid",
       {"--pointer-order", "--residency", "--location", "--numa", "--candidate", "--config", "--counters"}},
      {"lu",
       {"--op", "--layout", "--batch", "--block", "--alpha", "--beta", "--pad-ld", "--pointer-order",
        "--residency", "--numa", "--config", "--objective", "--counters", "--record"}},
      {"layout", {"--numa", "--counters", "--record", "--candidate", "--config"}},
      {"transfer",
       {"--layout", "--block", "--alpha", "--beta", "--pointer-order", "--residency", "--numa", "--data",
        "--threads", "--candidate", "--config", "--counters", "--peers", "--record"}},
      {"layout --location device",
       {"--data", "--threads", "--check-only", "--most-error-ratio", "--once", "--races"}},
      {"transfer --location device",
       {"--configs", "--megabytes", "--check-only", "--most-error-ratio", "--once", "--races"}}};
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
  for (const std::string& what : {flags.family, flags.on_gpu() ? on_device : std::string()})
    if (const auto at = flags_without_use().find(what); at != flags_without_use().end())
      refuse(what, at->second);
  if (!flags.on_gpu())
    refuse(flags.family, {"--configs", "--megabytes", "--device", "--check-only", "--most-error-ratio",
                          "--once", "--races"});
  if (flags.family != "hybrid") refuse(flags.family, {"--split"});
  if (!flags.is_shared()) refuse(flags.family, {"--gpus", "--gpu-memory", "--on-device-failure", "--ways"});
  if (flags.family != "lu") refuse(flags.family, {"--selects", "--nb", "--simulated-gpu"});
  if (!(flags.on_gpu() && flags.family == "gemm"))
    refuse(flags.family, {"--energy-seconds", "--energy-rounds"});
  if (flags.resume && (flags.json.empty() || flags.json == "-"))
    throw Error(ErrorCode::invalid_argument, "--resume", "--resume: --json names no file to go on with");
}

// Explains, if there is no GPU, which argument asks for one and which would not.
[[noreturn]] void explain_missing_gpu(const BenchFlags& flags, const Error& error) {
  const std::string argument =
      flags.has_both_locations()
          ? fmt::format("--location = device{}",
                        flags.location.empty() ? fmt::format(" (the default of {})", flags.family) : "")
          : fmt::format("FAMILY = '{}' runs on a GPU", flags.family);
  const std::string instead = flags.has_both_locations()     ? "; --location host measures the CPU"
                              : flags.family == "gemm_small" ? "; gemm_small_cpu measures the CPU"
                                                             : "";
  throw Error(error.code(), "--location", fmt::format("{}: {}{}", argument, error.what(), instead));
}

void run_bench(const CLI::App& verb, const BenchFlags& flags) {
  refuse_flags_without_use(verb, flags);
  BenchFlags all = flags;
  // The CPU's share is computed by the whole CPU.
  if (flags.is_shared() && verb.get_option("--threads")->count() == 0)
    all.threads = std::to_string(omp_get_max_threads());
  try {
    run_cases(all, plan_bench(all));
  } catch (const Error& error) {
    if (error.argument() != "driver" || !flags.on_gpu()) throw;
    explain_missing_gpu(flags, error);
  }
}

void add_case_flags(CLI::App& verb, BenchFlags& flags) {
  verb.add_option("--dtype", flags.dtype, "f32, f64, c64, c128")->capture_default_str();
  verb.add_option(
      "--sizes", flags.sizes,
      "n, first:last[:step] or MxNxK (of lu MxN), separated by commas (default: 4,8,13,16,32; of gemm "
      "1024,2048,4096; of lu 1000:10000:1000)");
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
  verb.add_option("--residency", flags.residency,
                  "cold, l2, l1 (default: cold and l2; of gemm and on the GPU cold)");
  verb.add_option(
      "--location", flags.location,
      "host; of gemm_small device, of gemm, layout and transfer either (default: of gemm device, else host)");
  verb.add_option("--memory", flags.memory,
                  "pageable; of hybrid, lu and transfer --location device also pinned (default: there both)");
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
  verb.add_option("--target", flags.target,
                  "auto, cpu; on the GPU gpu (default: where the operands lie); of lu a list, as --ways");
  verb.add_flag("--counters", flags.counters, "instructions, loads, stores and multiply-adds per problem");
  verb.add_option("--peers", flags.peers, "auto, none or a list of names")->capture_default_str();
  verb.add_option(
      "--ways", flags.ways,
      "of hybrid: a list of automatic, gpu, model, guided, exhaustive; of lu of automatic, cpu, gpu, "
      "hybrid, streamed (default: all)");
  verb.add_option("--repetitions", flags.repetitions, "samples of each implementation")
      ->capture_default_str();
  verb.add_option("--record", flags.record, "adds what was multiplied to this log");
  verb.add_option("--json", flags.json, "one JSON object per line into this file (- is stdout)");
  verb.add_option("--budget", flags.budget, "seconds after which no case is begun");
  verb.add_flag("--resume", flags.resume,
                "goes on with the file of --json: what it has is not measured again");
}

void add_gpu_flags(CLI::App& verb, BenchFlags& flags) {
  verb.add_option("--configs", flags.configs, "on the GPU: promising configs tried beside the plan's")
      ->capture_default_str();
  verb.add_option("--megabytes", flags.megabytes,
                  "on the GPU: of each operand, more where a large problem needs it")
      ->capture_default_str();
  verb.add_option("--device", flags.device, "on the GPU: which one")->capture_default_str();
  verb.add_flag("--check-only", flags.check_only, "on the GPU: checks everybody and times nothing");
  verb.add_flag("--once", flags.once,
                "on the GPU: one launch each and nothing more, in the order of the rows, for a profiler");
  verb.add_option(
          "--races", flags.races,
          "on the GPU: times nothing; ends with 1 where so many launches of ours differ from a first one")
      ->capture_default_str();
  verb.add_option("--energy-seconds", flags.energy_seconds,
                  "on the GPU, of gemm: window that each is weighed in")
      ->capture_default_str();
  verb.add_option(
          "--energy-rounds", flags.energy_rounds,
          "on the GPU, of gemm: windows of each, in turn; 0: none, two or more give a ratio of efficiency")
      ->capture_default_str();
  verb.add_option("--most-error-ratio", flags.most_error_ratio,
                  "on the GPU: ends with 1 where ours errs more than so many times as much as the best peer");
}

}  // namespace

void add_bench(CLI::App& app) {
  CLI::App* verb = app.add_subcommand("bench", "ours beside the peers, interleaved in one run");
  auto flags = std::make_shared<BenchFlags>();
  verb->add_option("FAMILY", flags->family,
                   "gemm_small_cpu, gemm_small, gemm, hybrid, lu, layout, transfer, overhead")
      ->capture_default_str();
  add_case_flags(*verb, *flags);
  add_run_flags(*verb, *flags);
  add_gpu_flags(*verb, *flags);
  add_hybrid_flags(*verb, flags->hybrid);
  add_lu_flags(*verb, flags->lu);
  verb->footer(
      "cold walks distinct batches of 1 GiB in all; l2 and l1 repeat one batch of 512 or 24 KiB, each thread "
      "its own.\n"
      "Example: tilewright bench --dtype f64 --sizes 2:16,5x13x23 --beta 0,1 --residency cold,l2,l1 --json "
      "run.jsonl\n"
      "Example: tilewright bench gemm --dtype f64,f32 --sizes 1024,4096,64x64x65536 --op nn,nt,tn,tt --beta "
      "0,1\n"
      "Example: tilewright bench gemm --location host --dtype f64 --sizes 1024,2048 --threads 1,2\n"
      "Example: tilewright bench hybrid --sizes 768:11520:768 --memory pinned --gpus 1 --json run.jsonl\n"
      "Example: tilewright bench lu --sizes 1000:10000:1000,20000x512 --memory pinned --nb auto,exhaustive "
      "--json run.jsonl\n"
      "Example: tilewright bench transfer --location device --dtype f64,f32 --sizes 4,8,16,32");
  verb->callback([verb, flags] { run_bench(*verb, *flags); });
}

}  // namespace tilewright::cli
