// The verb gemm: its flags, and its reports for people and scripts. gemm_job does the job.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <omp.h>

#include <cctype>
#include <cmath>
#include <cstdlib>

#include "bench/case.hpp"
#include "bench/plans.hpp"
#include "bench/provenance.hpp"
#include "core/new_file.hpp"
#include "core/problem.hpp"
#include "core/quantity.hpp"
#include "core/record_log.hpp"
#include "device/team.hpp"
#include "gemm/kept.hpp"
#include "gemm/plan.hpp"
#include "gemm_job.hpp"
#include "lists.hpp"
#include "measure/observer.hpp"
#include "output/json_lines.hpp"
#include "people/refusal.hpp"
#include "people/table.hpp"
#include "verbs.hpp"

namespace tilewright::cli {

namespace {

struct GemmFlags {
  std::string a, b, output, c0;
  std::string alpha = "1", beta;
  std::string op_a = "n", op_b = "n";
  std::string target = "auto", objective = "time", candidate, learn = "auto";
  bool verify = false, explain = false;
  std::string record, json;
  int threads = 0;
  HybridFlags hybrid;
};

// Parses a real number that strtod reads, or one followed by another with j: "1.5", "-2j", "1e-3+2.5j".
std::complex<double> parse_scalar(const std::string& text, const char* argument) {
  // A number beyond the largest is a mistake, unlike an explicit inf.
  const auto limited = [&](double value) {
    if (std::isinf(value) && text.find_first_of("iI") == std::string::npos)
      wrong_use(argument, "{} = '{}' is out of range", argument, text);
    return value;
  };
  const auto refuse = [&]() {
    wrong_use(argument, "{} = '{}' is not a number such as 1.5, 2j or 1+2j", argument, text);
  };
  const char* at = text.c_str();
  char* end = nullptr;
  const double first = limited(std::strtod(at, &end));
  if (end == at || std::isspace(static_cast<unsigned char>(*at))) refuse();
  if (*end == '\0') return first;
  if (*end == 'j' && end[1] == '\0') return {0, first};
  if (*end != '+' && *end != '-') refuse();
  at = end;
  const double second = limited(std::strtod(at, &end));
  if (end == at || *end != 'j' || end[1] != '\0') refuse();
  return {first, second};
}

GemmRequest request_from(const GemmFlags& flags) {
  GemmRequest request;
  request.a = flags.a;
  request.b = flags.b;
  request.c0 = flags.c0;
  request.output = flags.output;
  request.op_a = enum_from_string<Op>(flags.op_a, "op-a");
  request.op_b = enum_from_string<Op>(flags.op_b, "op-b");
  request.alpha = parse_scalar(flags.alpha, "alpha");
  request.beta =
      flags.beta.empty() ? std::complex<double>(flags.c0.empty() ? 0 : 1) : parse_scalar(flags.beta, "beta");
  if (flags.c0.empty() && request.beta != std::complex<double>(0))
    wrong_use("beta", "beta = {} needs --c, the array that it scales", flags.beta);
  request.options.target = enum_from_string<Target>(flags.target, "target");
  set_objective("objective", flags.objective, request.options);
  request.options.candidate = candidate_named(flags.candidate);
  request.options.learn = enum_from_string<Learn>(flags.learn, "--learn");
  request.options.threads = flags.threads;
  set_hybrid(flags.hybrid, request.options);
  request.verify = flags.verify;
  return request;
}

nlohmann::json scalar_json(std::complex<double> value) {
  if (value.imag() == 0) return value.real();
  return fmt::format("{}{:+}j", value.real(), value.imag());
}

nlohmann::json case_json(const GemmReport& report, const GemmRequest& request) {
  const auto& plan = Access::impl(*report.plan);
  nlohmann::json keys = bench::product_keys(report.problem);
  keys["family"] = plan.runner->small_kernel() != nullptr ? "gemm_small_cpu" : "gemm";
  keys["problem"] = to_string(report.problem);
  keys["alpha"] = scalar_json(request.alpha), keys["beta"] = scalar_json(request.beta);
  keys["memory"] = keys["data"] = "file";
  keys["threads"] = report.threads;
  keys["target"] = report.last_run.is_null()                        ? "cpu"
                   : report.last_run["cpu_count"] > std::int64_t(0) ? "hybrid"
                                                                    : "gpu";
  keys["impl"] = "tilewright", keys["impl_version"] = TILEWRIGHT_VERSION;
  keys["candidate"] = plan.candidate;
  return keys;
}

void add_outcome(nlohmann::json& json, const GemmReport& report, const std::optional<Bound>& bound) {
  const auto& plan = Access::impl(*report.plan);
  json["config"] = plan.runner->config();  // null if a library chooses its own
  json["wisdom_match"] = to_string(plan.known.match);
  json["metrics"] = bench::metrics_of(*report.plan);
  if (json["metrics"].is_null()) json["metrics"] = nlohmann::json::object();
  add_observed(json, report.observed, flops(report.problem), plan.runner->uses_gpus());
  json["seconds"] = json["seconds_low"] = json["seconds_high"] = report.kernel_s;
  json["samples"] = 1;
  json["gflops"] = report.kernel_s > 0 ? flops(report.problem) / report.kernel_s * 1e-9 : 0.0;
  if (bound) {
    json["bound_gflops"] = bound->gflops;
    json["bound_share"] = bound->seconds / report.kernel_s;
    json["bound_kind"] = bound->kind;
    json["ceiling"] = bound->ceiling;
  }
  if (!report.last_run.is_null()) {
    const auto& run = report.last_run;
    for (const char* key : {"cpu_share", "predicted_s"}) json[key] = run[key];
    json["gpus"] = run["gpus"].size();
    json["metrics"].update(run);
  }
  if (report.hybrid_bound) {
    json["transfer_s"] = report.hybrid_bound->transfer_s;
    json["compute_s"] = report.hybrid_bound->compute_s;
  }
  if (report.verification) {
    json["error"] = report.verification->error;
    json["error_bound"] = report.verification->error_bound;
    json["verified"] = report.verification->scope;
    if (const auto count = report.verification->not_finite; count > 0) json["verified_not_finite"] = count;
    if (const auto count = report.verification->unbounded; count > 0) json["verified_unbounded"] = count;
  }
  json["setup_s"] = report.setup_s;
  json["read_s"] = report.read_s;
  json["kernel_s"] = report.kernel_s;
  json["write_s"] = report.write_s;
  json["total_s"] = report.total_s;
  add_provenance(json);
  add_missing_keys(json);
}

// Prints who computed which part.
void print_parts(std::FILE* out, const nlohmann::json& run) {
  const std::string side = run["side"];
  for (const auto& gpu : run["gpus"])
    fmt::print(out, "GPU {} ({}): {} {} in {}\n", gpu["gpu"].get<int>(), gpu["name"].get<std::string>(),
               gpu["count"].get<std::int64_t>(), side, seconds_text(gpu["seconds"].get<double>()));
  if (run["cpu_count"] > std::int64_t(0))
    fmt::print(out, "CPU: {} {}, {:.1f} %, in {}\n", run["cpu_count"].get<std::int64_t>(), side,
               100 * run["cpu_share"].get<double>(), seconds_text(run["cpu_s"].get<double>()));
  if (run["redone"] > std::int64_t(0))
    fmt::print(out, "recomputed by the CPU: {} {}: {}\n", run["redone"].get<std::int64_t>(), side,
               fmt::join(run["failures"].get<std::vector<std::string>>(), "; "));
}

// Returns max(transfer, compute), measured in this run if GPUs took part.
std::optional<Bound> streamed_bound(const GemmReport& report) {
  if (!report.hybrid_bound) return std::nullopt;
  const bench::HybridBound& measured = *report.hybrid_bound;
  Bound bound;
  bound.seconds = measured.seconds();
  bound.kind = std::max(measured.transfer_s, measured.copy_s) > measured.compute_s ? "transfer" : "compute";
  if (bound.seconds > 0) bound.gflops = bound.ceiling = flops(report.problem) / bound.seconds * 1e-9;
  return bound;
}

// The verdict: how long the product took, how fast that is, and how near to the bound.
std::string verdict_of(const GemmReport& report, const std::optional<Bound>& bound) {
  const double work = flops(report.problem);
  std::string text = fmt::format("product {}", seconds_text(report.kernel_s));
  if (!(work > 0 && report.kernel_s > 0)) return text;
  text += fmt::format(": {} GFLOP/s with {}", digits_text(work / report.kernel_s * 1e-9),
                      counted(report.threads, "thread"));
  if (!bound) return text;
  const bool copies = report.hybrid_bound && report.hybrid_bound->copy_s > 0;
  return text + fmt::format(", {:.0f} % of the {} bound{} of {} GFLOP/s",
                            100 * bound->seconds / report.kernel_s, bound->kind,
                            copies ? " of pageable memory" : "", digits_text(bound->gflops));
}

void print_verification(std::FILE* out, const GemmReport& report) {
  const VerifyResult& result = *report.verification;
  std::string text = fmt::format("{} {} ({})", result.passed ? "verified" : "NOT verified:", result.scope,
                                 seconds_text(report.verify_s));
  if (!result.where.empty())
    text += fmt::format(": worst element {}, error {:.2e} of {:.2e} allowed", result.where, result.error,
                        result.error_bound);
  if (result.not_finite > 0)
    text += fmt::format("; NaN or infinite, as they must be: {}", counted(result.not_finite, "element"));
  if (result.unbounded > 0)
    text += fmt::format("; not verified, since sums of that size overflow: {}",
                        counted(result.unbounded, "element"));
  fmt::print(out, "{}\n", people::wrapped(text));
}

void print_report(std::FILE* out, const GemmReport& report, const std::optional<Bound>& bound) {
  fmt::print(out, "{}\n{}\n", people::wrapped(to_string(report.problem)),
             people::bold(out, people::wrapped(verdict_of(report, bound))));
  if (report.pieces > 1) fmt::print(out, "{} of the same plan\n", counted(report.pieces, "problem"));
  fmt::print(out, "set-up {}, read {}, kernel {}, write {}, total {}\n", seconds_text(report.setup_s),
             seconds_text(report.read_s), seconds_text(report.kernel_s), seconds_text(report.write_s),
             seconds_text(report.total_s));
  if (!report.last_run.is_null()) print_parts(out, report.last_run);
  if (!bound && flops(report.problem) > 0)
    fmt::print(out, "share of the bound unknown: `tilewright info --measure{}` measures the ceilings\n",
               report.threads == omp_get_max_threads() ? "" : fmt::format(" --threads {}", report.threads));
  if (report.verification) print_verification(out, report);
}

void run(const GemmFlags& flags) {
  const GemmRequest request = request_from(flags);
  keep_files_apart({{"A", flags.a}, {"B", flags.b}, {"c", flags.c0}, {"output", flags.output}},
                   {{"json", flags.json}, {"record", flags.record}});
  require_place("record", flags.record);
  if (!flags.record.empty()) check_record(flags.record);
  JsonLines json(flags.json);
  const GemmReport report = run_gemm(request);
  std::optional<Bound> bound;
  if (report.hybrid_bound)
    bound = streamed_bound(report);
  else if (const auto kept = kept_bound(report.problem, "", report.threads); kept && report.kernel_s > 0)
    bound = kept->bound;
  if (bound && bound->seconds <= 0) bound.reset();
  if (flags.explain) {
    for (const auto& note : report.notes) fmt::print(json.people(), "{}\n", people::wrapped(note));
    fmt::print(json.people(), "{}\n", people::wrapped(report.plan->explain(), 11));
  }
  print_report(json.people(), report, bound);
  if (json) {
    auto object = case_json(report, request);
    add_outcome(object, report, bound);
    json.write(object);
  }
  if (report.verification && !report.verification->passed)
    throw JobFailed(fmt::format(
        "verify failed, output = '{}' was not written: {}, error {:.3e} is above the bound {:.3e}",
        flags.output, report.verification->where, report.verification->error,
        report.verification->error_bound));
  if (!flags.record.empty()) record_run(flags.record, report.problem, report.kernel_s);
}

}  // namespace

void add_gemm(CLI::App& app) {
  CLI::App* verb = app.add_subcommand(
      "gemm", "Compute C = alpha op(A) op(B) + beta C0 of .npy files, matrices or batches");
  auto flags = std::make_shared<GemmFlags>();
  verb->add_option("A", flags->a, "array A: 2-D, or 3-D with the batch first; f4, f8, c8 or c16")->required();
  verb->add_option("B", flags->b, "array B, of the same type; a 2-D array is shared by a whole batch")
      ->required();
  verb->add_option("-o,--output", flags->output, "output file of C, written if all went well")->required();
  verb->add_option("--c", flags->c0, "array C0 that beta scales");
  verb->add_option("--alpha", flags->alpha, "a number, complex as 1+2j (default 1)");
  verb->add_option("--beta", flags->beta, "a number, complex as 1+2j (default 1 with --c, else 0)");
  verb->add_option("--op-a", flags->op_a, "n as stored, t transposed, c conjugate transposed (default n)");
  verb->add_option("--op-b", flags->op_b, "the same for B (default n)");
  verb->add_option("--target", flags->target, "auto, cpu, gpu or hybrid (default auto)");
  add_hybrid_flags(*verb, flags->hybrid);
  verb->add_option("--objective", flags->objective,
                   "time, energy, edp, alpha=0.7 or energy_within=5% (default time)");
  verb->add_option("--candidate", flags->candidate, "force this candidate (names: see `tilewright explain`)");
  add_learn_flag(*verb, flags->learn);
  verb->add_option("--threads", flags->threads, "threads (default: OpenMP's)")
      ->check(whole_number(1, most_threads));
  verb->add_flag("--verify", flags->verify, "check C against the reference; exit with 1 if it is wrong");
  verb->add_flag("--explain", flags->explain, "print what runs and why");
  verb->add_option("--record", flags->record, "add the problem to this log");
  verb->add_option("--json", flags->json, "write the measurement as JSON (- is stdout)");
  verb->footer(
      "Example: tilewright gemm A.npy B.npy -o C.npy --op-b t --verify\n"
      "Example: tilewright gemm A.npy B.npy -o C.npy --target hybrid --gpus 0,1 --gpu-memory 8GiB");
  verb->callback([flags] { run(*flags); });
}

}  // namespace tilewright::cli
