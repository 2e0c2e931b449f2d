// The verb gemm: its flags, and its reports for people and scripts. gemm_job does the job.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <omp.h>

#include <cctype>
#include <cmath>
#include <cstdlib>

#include "bench/plans.hpp"
#include "bench/provenance.hpp"
#include "core/new_file.hpp"
#include "core/problem.hpp"
#include "core/record_log.hpp"
#include "gemm/kept.hpp"
#include "gemm/plan.hpp"
#include "gemm_job.hpp"
#include "hybrid_flags.hpp"
#include "lists.hpp"
#include "measure/observer.hpp"
#include "output/files_apart.hpp"
#include "output/json_lines.hpp"
#include "verbs.hpp"

namespace tilewright::cli {

namespace {

struct GemmFlags {
  std::string a, b, output, c0;
  std::string alpha = "1", beta;
  std::string op_a = "n", op_b = "n";
  std::string target = "auto", objective = "time", candidate;
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
      throw Error(ErrorCode::invalid_argument, argument,
                  fmt::format("{} = '{}' is out of range", argument, text));
    return value;
  };
  const auto refuse = [&]() {
    throw Error(ErrorCode::invalid_argument, argument,
                fmt::format("{} = '{}' is no number such as 1.5, 2j or 1+2j", argument, text));
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
    throw Error(ErrorCode::invalid_argument, "beta",
                fmt::format("beta = {} needs --c with the array that it scales", flags.beta));
  request.options.target = enum_from_string<Target>(flags.target, "target");
  set_objective("objective", flags.objective, request.options);
  request.options.candidate = candidate_named(flags.candidate);
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
  const GemmProblem& p = report.problem;
  const auto& plan = Access::impl(*report.plan);
  return {{"family", plan.runner->small_kernel() != nullptr ? "gemm_small_cpu" : "gemm"},
          {"problem", to_string(p)},
          {"dtype", to_string(p.dtype)},
          {"op", op_pair(p)},
          {"m", p.m},
          {"n", p.n},
          {"k", p.k},
          {"lda", p.lda},
          {"ldb", p.ldb},
          {"ldc", p.ldc},
          {"layout", to_string(p.layout)},
          {"batch_count", p.batch_count},
          {"alpha", scalar_json(request.alpha)},
          {"beta", scalar_json(request.beta)},
          {"residency", to_string(p.residency)},
          {"location", to_string(p.location)},
          {"memory", "file"},
          {"pointer_order", "sequential"},
          {"numa", nullptr},
          {"threads", report.threads},
          {"target", report.last_run.is_null()                        ? "cpu"
                     : report.last_run["cpu_count"] > std::int64_t(0) ? "hybrid"
                                                                      : "gpu"},
          {"data", "file"},
          {"impl", "tilewright"},
          {"impl_version", TILEWRIGHT_VERSION},
          {"candidate", plan.candidate}};
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
    fmt::print(out, "GPU {} ({}): {} {} in {:.4f} s\n", gpu["gpu"].get<int>(), gpu["name"].get<std::string>(),
               gpu["count"].get<std::int64_t>(), side, gpu["seconds"].get<double>());
  if (run["cpu_count"] > std::int64_t(0))
    fmt::print(out, "CPU: {} {}, {:.1f} %, in {:.4f} s\n", run["cpu_count"].get<std::int64_t>(), side,
               100 * run["cpu_share"].get<double>(), run["cpu_s"].get<double>());
  if (run["redone"] > std::int64_t(0))
    fmt::print(out, "redone by the CPU: {} {}: {}\n", run["redone"].get<std::int64_t>(), side,
               fmt::join(run["failures"].get<std::vector<std::string>>(), "; "));
}

// Returns max(transfer, compute), measured in this run if GPUs took part.
std::optional<Bound> streamed_bound(const GemmReport& report) {
  if (!report.hybrid_bound) return std::nullopt;
  const bench::HybridBound& measured = *report.hybrid_bound;
  Bound bound;
  bound.seconds = measured.seconds();
  bound.kind = measured.transfer_s > measured.compute_s ? "transfer" : "compute";
  if (bound.seconds > 0) bound.gflops = bound.ceiling = flops(report.problem) / bound.seconds * 1e-9;
  return bound;
}

void print_report(std::FILE* out, const GemmReport& report, const std::optional<Bound>& bound) {
  fmt::print(out, "{}\n", to_string(report.problem));
  fmt::print(out, "read {:.4f} s, kernel {:.4f} s, write {:.4f} s, total {:.4f} s\n", report.read_s,
             report.kernel_s, report.write_s, report.total_s);
  if (!report.last_run.is_null()) print_parts(out, report.last_run);
  const double work = flops(report.problem);
  if (work > 0 && report.kernel_s > 0) {
    fmt::print(out, "{:.2f} GFLOP/s with {} thread{}, ", work / report.kernel_s * 1e-9, report.threads,
               report.threads == 1 ? "" : "s");
    if (bound)
      fmt::print(out, "{:.0f} % of the {} bound of {:.2f} GFLOP/s\n", 100 * bound->seconds / report.kernel_s,
                 bound->kind, bound->gflops);
    else
      fmt::print(
          out,
          "share of the bound unknown: measure this machine's ceilings with `tilewright info --measure{}`\n",
          report.threads == omp_get_max_threads() ? "" : fmt::format(" --threads {}", report.threads));
  }
  if (!report.verification) return;
  const VerifyResult& result = *report.verification;
  fmt::print(out, "{} {} ({:.2f} s)", result.passed ? "verified" : "NOT verified:", result.scope,
             report.verify_s);
  if (!result.where.empty())
    fmt::print(out, ": worst element {}, error {:.2e} of {:.2e} allowed", result.where, result.error,
               result.error_bound);
  if (result.not_finite > 0)
    fmt::print(out, "; {} elements are NaN or infinite, as they must be", result.not_finite);
  if (result.unbounded > 0)
    fmt::print(out, "; nothing is said of {} elements: sums of their size overflow", result.unbounded);
  fmt::print(out, "\n");
}

void run(const GemmFlags& flags) {
  const GemmRequest request = request_from(flags);
  keep_files_apart({{"A", flags.a}, {"B", flags.b}, {"c", flags.c0}, {"output", flags.output}},
                   {{"json", flags.json}, {"record", flags.record}});
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
    for (const auto& note : report.notes) fmt::print(json.people(), "{}\n", note);
    fmt::print(json.people(), "{}\n", report.plan->explain());
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
  CLI::App* verb =
      app.add_subcommand("gemm", "C = alpha op(A) op(B) + beta C0 of .npy files, matrices or batches");
  auto flags = std::make_shared<GemmFlags>();
  verb->add_option("A", flags->a, "array A: 2-D, or 3-D with the batch first; f4, f8, c8 or c16")->required();
  verb->add_option("B", flags->b, "array B, of the same type; a 2-D array is shared by a whole batch")
      ->required();
  verb->add_option("-o,--output", flags->output, "where C is written when all went well")->required();
  verb->add_option("--c", flags->c0, "array C0 that beta scales");
  verb->add_option("--alpha", flags->alpha, "a number, complex as 1+2j (default 1)");
  verb->add_option("--beta", flags->beta, "a number, complex as 1+2j (default 1 with --c, else 0)");
  verb->add_option("--op-a", flags->op_a, "n as stored, t transposed, c conjugate transposed (default n)");
  verb->add_option("--op-b", flags->op_b, "likewise for B (default n)");
  verb->add_option("--target", flags->target, "auto, cpu, gpu or hybrid (default auto)");
  add_hybrid_flags(*verb, flags->hybrid);
  verb->add_option("--objective", flags->objective,
                   "time, energy, edp, alpha=0.7 or energy_within=5% (default time)");
  verb->add_option("--candidate", flags->candidate,
                   "the candidate that must run it, as explain names them; stencil is gemm");
  verb->add_option("--threads", flags->threads, "threads (default: OpenMP's)")->check(CLI::Range(1, 4096));
  verb->add_flag("--verify", flags->verify, "checks C against the reference; exit code 1 when it fails");
  verb->add_flag("--explain", flags->explain, "prints what runs and why");
  verb->add_option("--record", flags->record, "adds the problem to this log");
  verb->add_option("--json", flags->json, "writes the measurement as JSON; - is stdout");
  verb->footer(
      "Example: tilewright gemm A.npy B.npy -o C.npy --op-b t --verify\n"
      "Example: tilewright gemm A.npy B.npy -o C.npy --target hybrid --gpus 0,1 --gpu-memory 8GiB");
  verb->callback([flags] { run(*flags); });
}

}  // namespace tilewright::cli
