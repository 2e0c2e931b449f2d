// The verb lu: its flags, and its reports for people and scripts. lu_job does the job.
#include <fmt/format.h>

#include <memory>

#include "bench/lu/keys.hpp"
#include "bench/provenance.hpp"
#include "device/cpu.hpp"
#include "hybrid_flags.hpp"
#include "lists.hpp"
#include "lu/problem.hpp"
#include "lu_job.hpp"
#include "measure/observer.hpp"
#include "output/files_apart.hpp"
#include "output/json_lines.hpp"
#include "verbs.hpp"
#include "wisdom/kept.hpp"

namespace tilewright::cli {

namespace {

struct LuFlags {
  LuRequestFiles files;
  std::string target = "auto", select = "panel", candidate, gpus, gpu_memory, nb, json;
  int threads = 0;
  bool refine = false, verify = false, explain = false;
};

[[noreturn]] void refuse_flag(const std::string& flag, const std::string& message) {
  throw Error(ErrorCode::invalid_argument, flag, message);
}

LuJobRequest lu_request_from(const LuFlags& flags) {
  LuJobRequest request;
  request.files = flags.files;
  if (flags.files.b.empty() != flags.files.x.empty())
    refuse_flag(flags.files.b.empty() ? "x" : "solve",
                flags.files.b.empty()
                    ? fmt::format("x = '{}' needs --solve with the right sides", flags.files.x)
                    : fmt::format("solve = '{}' needs --x for the solution", flags.files.b));
  if (flags.refine && flags.files.b.empty())
    refuse_flag("refine", "refine needs --solve with the right sides");
  LuOptions& o = request.options;
  o.target = enum_from_string<Target>(flags.target, "target");
  o.select = enum_from_string<LuSelect>(flags.select, "select");
  o.candidate = flags.candidate;
  o.threads = flags.threads;
  if (!flags.nb.empty()) o.nb = parse_count("nb", flags.nb, 1);
  if (!flags.gpus.empty()) o.gpus = parse_gpus(flags.gpus);
  if (!flags.gpu_memory.empty()) o.gpu_memory_bytes = parse_bytes("gpu-memory", flags.gpu_memory);
  request.refine = flags.refine;
  request.verify = flags.verify;
  keep_files_apart({{"A", flags.files.a}, {"solve", flags.files.b}}, {{"output", flags.files.output},
                                                                      {"pivots", flags.files.pivots},
                                                                      {"x", flags.files.x},
                                                                      {"json", flags.json}});
  return request;
}

double lu_gflops(const LuJobReport& r) { return r.kernel_s > 0 ? flops(r.problem) / r.kernel_s * 1e-9 : 0; }

void print_lu(std::FILE* out, const LuJobReport& r) {
  fmt::print(out, "{}\n", to_string(r.problem));
  fmt::print(out, "read {:.4f} s, kernel {:.4f} s, write {:.4f} s, total {:.4f} s\n", r.read_s, r.kernel_s,
             r.write_s, r.total_s);
  const LuReport& f = r.factors;
  if (!f.candidate.empty())
    fmt::print(out, "{:.2f} GFLOP/s by {}{}{}\n", lu_gflops(r), f.candidate,
               f.nb > 0 ? fmt::format(", nb={}", f.nb) : "",
               bench::lu_breakdown(f).is_null()
                   ? ""
                   : fmt::format(": panels {:.4f} s, swaps {:.4f} s, solves {:.4f} s, updates {:.4f} s",
                                 f.panel_s, f.swap_s, f.solve_s, f.update_s));
  if (r.factors.info > 0)
    fmt::print(out, "singular: pivot {} is exactly zero; the factorization was completed\n", r.factors.info);
  if (r.nrhs > 0)
    fmt::print(out, "solved for {} right side{} in {:.4f} s\n", r.nrhs, r.nrhs == 1 ? "" : "s", r.solve_s);
  if (r.refinement) {
    const int steps = r.refinement->steps.empty() ? 0 : *std::ranges::max_element(r.refinement->steps);
    fmt::print(out, "refined by at most {} step{}: componentwise backward error {:.2e}\n", steps,
               steps == 1 ? "" : "s", r.refinement->backward_error);
  }
  if (r.verification)
    fmt::print(out, "verified {} ({:.2f} s): residual ratio {:.3g}{}, of {} allowed\n", r.verification->scope,
               r.verify_s, r.verification->ratio,
               r.nrhs > 0 ? fmt::format(", of the solution {:.3g}", r.verification->solve_ratio) : "",
               LuVerifyResult::bound);
}

// Adds the bound by the recorded ceilings of the CPU, if it alone computed: the matrix is read and written at
// least once.
void add_lu_bound(nlohmann::json& json, const LuJobReport& r) {
  if (r.target != "cpu" || !(r.kernel_s > 0)) return;
  const auto kept = load_ceilings(kept_path(Environment::read()), cpu_info().device, r.threads);
  if (!kept) return;
  const double moved = 2.0 * double(r.problem.m) * double(r.problem.n) * double(size_bytes(r.problem.dtype));
  const double compute = kept->compute_gflops(r.problem.dtype), memory = kept->memory_gbytes(true);
  const double compute_s = compute > 0 ? flops(r.problem) / (compute * 1e9) : 0;
  const double memory_s = memory > 0 ? moved / (memory * 1e9) : 0;
  const double least_s = std::max(compute_s, memory_s);
  if (!(least_s > 0)) return;
  json["bound_gflops"] = flops(r.problem) / least_s * 1e-9, json["bound_share"] = least_s / r.kernel_s;
  json["bound_kind"] = memory_s > compute_s ? "memory" : "compute";
  json["ceiling"] = memory_s > compute_s ? memory : compute;
}

nlohmann::json lu_row(const LuJobReport& r, const LuOptions& options) {
  nlohmann::json json{{"memory", "file"},
                      {"threads", r.threads},
                      {"target", r.target},
                      {"select", to_string(options.select)},
                      {"data", "file"},
                      {"impl", "tilewright"},
                      {"impl_version", TILEWRIGHT_VERSION},
                      {"candidate", r.factors.candidate},
                      {"info", r.factors.info},
                      {"samples", 1},
                      {"gflops", lu_gflops(r)},
                      {"config", bench::lu_config(r.factors)},
                      {"wisdom_match", to_string(r.match)},
                      {"read_s", r.read_s},
                      {"kernel_s", r.kernel_s},
                      {"write_s", r.write_s},
                      {"total_s", r.total_s}};
  json.update(bench::lu_problem_keys(r.problem));
  json["seconds"] = json["seconds_low"] = json["seconds_high"] = r.kernel_s;
  if (r.factors.nb > 0) json["nb"] = r.factors.nb;
  json["metrics"] = bench::lu_breakdown(r.factors);
  add_observed(json, r.observed, flops(r.problem), r.target != "cpu");
  add_lu_bound(json, r);
  if (r.nrhs > 0) json["nrhs"] = r.nrhs, json["solve_s"] = r.solve_s;
  if (r.refinement) json["backward_error"] = r.refinement->backward_error;
  if (r.verification) {
    json["error"] = std::max(r.verification->ratio, r.verification->solve_ratio);
    json["error_bound"] = LuVerifyResult::bound;
    json["verified"] = r.verification->scope;
  }
  add_provenance(json);
  add_missing_keys(json);
  return json;
}

void run_lu_verb(const LuFlags& flags) {
  const LuJobRequest request = lu_request_from(flags);
  JsonLines json(flags.json);
  const LuJobReport report = run_lu(request);
  if (flags.explain) fmt::print(json.people(), "{}", report.explanation);
  print_lu(json.people(), report);
  if (json) json.write(lu_row(report, request.options));
}

}  // namespace

void add_lu(CLI::App& app) {
  CLI::App* verb = app.add_subcommand("lu", "P A = L U of a matrix in a .npy file, with partial pivoting");
  auto flags = std::make_shared<LuFlags>();
  verb->add_option("A", flags->files.a, "array A, 2-D; f4, f8, c8 or c16")->required();
  verb->add_option("-o,--output", flags->files.output, "where L (below the diagonal) and U are written")
      ->required();
  verb->add_option("--pivots", flags->files.pivots,
                   "where the pivots are written as 64-bit integers: row i was swapped with row P[i - 1], "
                   "counted from 1 as in LAPACK")
      ->required();
  verb->add_option("--solve", flags->files.b, "array B, 1-D or 2-D: solves A X = B");
  verb->add_option("-x,--x", flags->files.x, "where X is written");
  verb->add_flag("--refine", flags->refine,
                 "improves X by iterative refinement and tells its backward error");
  verb->add_option("--target", flags->target, "who multiplies: auto, cpu, gpu or hybrid (default auto)");
  verb->add_option("--nb", flags->nb, "columns of a panel (default: as tuned, or by models or a rule)");
  verb->add_option("--select", flags->select,
                   "how the CPU's share beside GPUs is chosen: flops, square or panel (default panel)");
  verb->add_option("--candidate", flags->candidate,
                   "streamed, lapack, blocked or reference (default: as tuned, or the first that serves)");
  verb->add_option("--gpus", flags->gpus, "how many GPUs, or which: 2 or 0,2 (default: all)");
  verb->add_option("--gpu-memory", flags->gpu_memory, "of each GPU, at most: 8GiB (default: what is free)");
  verb->add_option("--threads", flags->threads, "threads (default: OpenMP's)")->check(CLI::Range(1, 4096));
  verb->add_flag("--verify", flags->verify, "checks LAPACK's residual ratios; exit code 1 when they fail");
  verb->add_flag("--explain", flags->explain, "prints what runs and why");
  verb->add_option("--json", flags->json, "writes the measurement as JSON; - is stdout");
  verb->footer(
      "Example: tilewright lu A.npy -o LU.npy --pivots P.npy --verify\n"
      "Example: tilewright lu A.npy -o LU.npy --pivots P.npy --solve B.npy --x X.npy --refine");
  verb->callback([flags] { run_lu_verb(*flags); });
}

}  // namespace tilewright::cli
