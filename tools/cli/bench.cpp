// The verb `bench`: compares tilewright with its peers, interleaved in one run. This file registers the
// flags, runs the list of cases and prints; the families in tools/bench measure.
#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <memory>

#include "bench/provenance.hpp"
#include "core/input/json_text.hpp"
#include "core/record_log.hpp"
#include "lists.hpp"
#include "measure/clock.hpp"
#include "operations/operation.hpp"
#include "output/json_lines.hpp"
#include "output/progress.hpp"
#include "people/refusal.hpp"
#include "people/table.hpp"
#include "verbs.hpp"

namespace tilewright::cli {
namespace {

void tell(JsonLines& json, const bench::CaseOutput& output) {
  for (const std::string& line : output.lines) fmt::print(json.people(), "{}\n", people::wrapped(line));
  std::fflush(json.people());
  for (const auto& row : output.rows) json.write(row);
}

// Returns the rows of tilewright that an earlier run left in the file.
std::vector<nlohmann::json> measured_rows(const FamilyFlags& flags) {
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

void run_cases(const FamilyFlags& flags, const bench::Plan& plan) {
  const std::vector<nlohmann::json> known = measured_rows(flags);
  const double budget =
      flags.budget.empty() ? std::numeric_limits<double>::infinity() : parse_number("--budget", flags.budget);
  if (!(budget >= 0)) wrong_use("--budget", "--budget = {} is not a number of seconds", flags.budget);
  const double begin = wall_seconds();
  keep_files_apart({}, {{"--record", flags.record}, {"--json", flags.json}});
  require_place("record", flags.record);
  if (!flags.record.empty()) check_record(flags.record);
  JsonLines json(flags.json, flags.resume);
  json.head({{known.empty() ? "command" : "resumed", command_line()}});
  const auto family = flags.is.make(plan);
  tell(json, {family->head(), {}});
  Progress progress("bench", std::int64_t(plan.cases.size()));
  std::int64_t done = 0;
  std::string failure;
  for (const bench::Case& one : plan.cases) {
    progress.show(done++, problem_text(one));
    if (is_among(known, one)) continue;
    if (wall_seconds() - begin >= budget) {
      fmt::print(json.people(), "the budget of {:g} s is used up at {}{}\n", budget, problem_text(one),
                 flags.json.empty() || flags.json == "-" ? "" : "; continue with --resume");
      break;
    }
    const bench::CaseOutput output = family->measure(one);
    progress.clear();
    tell(json, output);
    if (failure.empty()) failure = output.failure;
    if (!flags.record.empty() && output.seconds) record_run(flags.record, one.problem, *output.seconds);
  }
  const bench::CaseOutput output = family->finish();
  tell(json, output);
  if (failure.empty()) failure = output.failure;
  if (!failure.empty()) throw JobFailed(failure);
}

void refuse_flags_without_use(const CLI::App& verb, const FamilyFlags& flags,
                              const ToolOperations& operations) {
  const auto refuse = [&](const std::string& what, const std::vector<const char*>& names) {
    for (const char* name : names)
      if (verb.get_option(name)->count() > 0) wrong_use(name, "{} does not apply to 'bench {}'", name, what);
  };
  if (flags.family != "layout" && flags.layout.find("block_interleaved") == std::string::npos)
    refuse(flags.family + " without --layout block_interleaved", {"--block"});
  if (flags.on_gpu() && flags.layout.find("variable") != std::string::npos)
    refuse(flags.family + " --layout variable", {"--configs", "--config"});
  refuse(flags.family, flags.is.unused);
  if (flags.on_gpu()) refuse(flags.family + " --location device", flags.is.unused_on_device);
  if (!flags.on_gpu())
    refuse(flags.family, {"--configs", "--megabytes", "--device", "--check-only", "--most-error-ratio",
                          "--once", "--races"});
  if (flags.family != "hybrid") refuse(flags.family, {"--split"});
  if (!flags.is.is_shared) refuse(flags.family, {"--gpus", "--gpu-memory", "--on-device-failure", "--ways"});
  for (const BenchFamily* other : bench_families(operations))
    if (other != &flags.is)
      for (const BenchFamily::Flag& flag : other->own)
        if (!flags.is.owns(flag.name)) refuse(flags.family, {flag.name});
  if (!(flags.on_gpu() && flags.family == "gemm"))
    refuse(flags.family, {"--energy-seconds", "--energy-rounds"});
  if (flags.resume && (flags.json.empty() || flags.json == "-"))
    wrong_use("--resume", "--resume needs --json with the file to continue");
}

// Explains, if there is no GPU, which argument asks for one and which would not.
[[noreturn]] void explain_missing_gpu(const FamilyFlags& flags, const Error& error) {
  const std::string argument =
      flags.is.both_locations
          ? fmt::format("--location = device{}",
                        flags.location.empty() ? fmt::format(" (the default of {})", flags.family) : "")
          : fmt::format("FAMILY = '{}' needs a GPU", flags.family);
  const std::string instead = flags.is.both_locations        ? "; --location host measures the CPU"
                              : flags.family == "gemm_small" ? "; gemm_small_cpu measures the CPU"
                                                             : "";
  throw Error(error.code(), "--location", fmt::format("{}: {}{}", argument, error.what(), instead));
}

void run_bench(const CLI::App& verb, const BenchFlags& given, const ToolOperations& operations) {
  FamilyFlags all(given, operations);
  refuse_flags_without_use(verb, all, operations);
  // The CPU's share is computed by the whole CPU.
  if (all.is.is_shared && verb.get_option("--threads")->count() == 0)
    all.threads = std::to_string(omp_get_max_threads());
  try {
    run_cases(all, plan_bench(all));
  } catch (const Error& error) {
    if (error.argument() != "driver" || !all.on_gpu()) throw;
    explain_missing_gpu(all, error);
  }
}

void add_case_flags(CLI::App& verb, BenchFlags& flags) {
  verb.add_option("--dtype", flags.dtype, "f32, f64, c64, c128");
  verb.add_option("--sizes", flags.sizes,
                  "n, first:last[:step] or MxNxK (lu: MxN), separated by commas (default: 4,8,13,16,32; "
                  "gemm: 1024,2048,4096; lu: 1000:10000:1000)");
  verb.add_option("--op", flags.op, "pairs of n, t, c: nn, nt, tc, ...");
  verb.add_option("--layout", flags.layout,
                  "single, strided, pointer, interleaved, block_interleaved, grouped, variable (default: "
                  "strided; gemm: single)");
  verb.add_option("--batch", flags.batch,
                  "problems per batch (default: as many as the residency needs, one for --arrival idle; l2 "
                  "and l1: at most that)");
  verb.add_option("--block", flags.block,
                  "problems per block of a block-interleaved batch, or of the result of layout (default: one "
                  "64-byte vector; layout on the GPU: all useful sizes)");
  verb.add_option("--alpha", flags.alpha, "one value");
  verb.add_option("--beta", flags.beta, "values");
  verb.add_option("--pad-ld", flags.pad_ld, "rows added to every leading dimension");
  verb.add_option("--pointer-order", flags.pointer_order, "sequential, random");
  verb.add_option("--residency", flags.residency,
                  "cold, l2, l1 (default: cold and l2; gemm and on the GPU: cold)");
  verb.add_option("--arrival", flags.arrival,
                  "back_to_back: calls in a loop; idle: single calls after random gaps");
  verb.add_option("--location", flags.location,
                  "host or device; device is for gemm_small, gemm, layout and transfer (default: device for "
                  "gemm_small and gemm, else host)");
  verb.add_option("--memory", flags.memory,
                  "pageable; hybrid, lu and transfer --location device also pinned (their default: both)");
  verb.add_option("--numa", flags.numa, "first_touch, interleave, per_node (default: one arena)");
  verb.add_option("--data", flags.data, "uniform, graded, ill_scaled, pow2");
}

void add_run_flags(CLI::App& verb, BenchFlags& flags) {
  verb.add_option("--threads", flags.threads, "N, a list, or 1:N");
  verb.add_option("--candidate", flags.candidate,
                  "run tilewright by this candidate only (see `tilewright explain` for names)");
  verb.add_option("--config", flags.config, "config of tilewright: JSON fields over the default config");
  add_learn_flag(verb, flags.learn);
  verb.add_option("--objective", flags.objective,
                  "objective of the wisdom: time, energy, edp, alpha=0.7 or energy_within=5%");
  verb.add_option("--target", flags.target,
                  "auto, cpu; on the GPU gpu (default: where the operands are); lu: a list, as --ways");
  verb.add_flag("--counters", flags.counters,
                "count instructions, loads, stores and multiply-adds per problem");
  verb.add_option("--peers", flags.peers,
                  "auto, none or a list of names (auto leaves out cublas_tuned, cuBLAS by its own search)");
  verb.add_option("--ways", flags.ways,
                  "hybrid: a list of automatic, gpu, model, guided, exhaustive; lu: of automatic, cpu, gpu, "
                  "hybrid, streamed (default: all)");
  verb.add_option("--repetitions", flags.repetitions, "samples of each implementation");
  verb.add_option("--record", flags.record, "add the problems to this log");
  verb.add_option("--json", flags.json, "write one JSON object per line to this file (- is stdout)");
  verb.add_option("--budget", flags.budget, "start no case after so many seconds");
  verb.add_flag("--resume", flags.resume, "continue the file of --json: do not measure its cases again");
}

void add_gpu_flags(CLI::App& verb, BenchFlags& flags) {
  verb.add_option("--configs", flags.configs,
                  "on the GPU: try so many promising configs beside that of the plan");
  verb.add_option("--megabytes", flags.megabytes,
                  "on the GPU: size of each operand, more if a large problem needs it");
  verb.add_option("--device", flags.device, "on the GPU: number of the GPU");
  verb.add_flag("--check-only", flags.check_only, "on the GPU: check all results and time nothing");
  verb.add_flag("--once", flags.once,
                "on the GPU: launch each once, in the order of the rows, for a profiler");
  verb.add_option("--races", flags.races,
                  "on the GPU: time nothing; exit with 1 if one of so many launches of tilewright differs "
                  "from the first");
  verb.add_option("--energy-seconds", flags.energy_seconds,
                  "on the GPU, gemm: seconds of a window of energy");
  verb.add_option(
      "--energy-rounds", flags.energy_rounds,
      "on the GPU, gemm: windows of energy of each; 0: none; two or more give a ratio of efficiency");
  verb.add_option("--most-error-ratio", flags.most_error_ratio,
                  "on the GPU: exit with 1 if an error of tilewright exceeds that of the best peer by more "
                  "than this factor");
}

}  // namespace

void add_bench(CLI::App& app, const ToolOperations& operations) {
  CLI::App* verb = app.add_subcommand("bench", "Compare tilewright with the libraries found on this machine");
  auto flags = std::make_shared<BenchFlags>();
  verb->option_defaults()->always_capture_default();
  verb->add_option("FAMILY", flags->family, family_names(operations));
  add_case_flags(*verb, *flags);
  add_run_flags(*verb, *flags);
  add_gpu_flags(*verb, *flags);
  verb->option_defaults()->always_capture_default(false);  // these flags say their defaults in words
  add_hybrid_flags(*verb, flags->hybrid);
  verb->option_defaults()->always_capture_default();
  for (const BenchFamily* family : bench_families(operations))
    for (const BenchFamily::Flag& flag : family->own) {
      if (flags->own.contains(flag.name)) continue;  // several families have it
      std::string& value = flags->own[flag.name] = flag.value;
      verb->add_option(flag.name, value, flag.help);
    }
  verb->footer(
      "cold uses distinct batches of 1 GiB in total; l2 and l1 repeat one of 512 or 24 KiB per thread.\n"
      "Example: tilewright bench --sizes 2:16,5x13x23 --residency cold,l2,l1 --json run.jsonl\n"
      "Example: tilewright bench gemm --dtype f64,f32 --sizes 1024,4096,64x64x65536 --op nn,tt\n"
      "Example: tilewright bench gemm --location host --dtype f64 --sizes 1024,2048 --threads 1,2\n"
      "Example: tilewright bench hybrid --sizes 768:11520:768 --memory pinned --gpus 1 --json run.jsonl\n"
      "Example: tilewright bench lu --sizes 1000:10000:1000 --memory pinned --nb auto,exhaustive\n"
      "Example: tilewright bench transfer --location device --dtype f64,f32 --sizes 4,8,16,32");
  verb->callback([verb, flags, operations] { run_bench(*verb, *flags, operations); });
}

}  // namespace tilewright::cli
