// The verbs factor and solve: their flags, and their reports for people and scripts. factor_job does the job.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/provenance.hpp"
#include "core/quantity.hpp"
#include "device/team.hpp"
#include "factor/call.hpp"
#include "factor_job.hpp"
#include "measure/observer.hpp"
#include "output/cpu_bound.hpp"
#include "output/json_lines.hpp"
#include "people/refusal.hpp"
#include "people/table.hpp"
#include "verbs.hpp"

namespace tilewright::cli {
namespace {

// "" stands for a flag that is not given.
struct FactorFlags {
  std::string routine, a, b, output, pivots, infos, tau, vectors, u, vh;
  std::string uplo, side, op, pivoting, candidate, json;
  int threads = 0;
  bool unit = false, definite = false, verify = false, explain = false;
  bool solves = false;  // by the verb solve
};

Routine routine_named(const std::string& text) {
  const auto named = enum_named<Routine>(text);
  if (!named) {
    std::vector<std::string> names;
    for (const auto& [one, name] : EnumNames<Routine>::value)
      if (!continues(one)) names.emplace_back(name);
    refuse_value("ROUTINE", text, fmt::format("is not one of {}", fmt::join(names, ", ")));
  }
  const Routine routine = *named;
  if (routine == Routine::getrs || routine == Routine::getri)
    wrong_use("ROUTINE", "ROUTINE = '{}' continues with pivots, which no file brings: {} does both steps",
              text, routine == Routine::getrs ? "gesv" : "inv");
  if (routine == Routine::ormqr)
    wrong_use("ROUTINE", "ROUTINE = 'ormqr' continues with tau, which no file brings: gels does both steps");
  return routine;
}

// A flag that a routine does not have is a mistake, not ignored.
void check_factor_flags(const FactorFlags& flags, Routine routine, const std::string& name) {
  const auto only_of = [&](const char* flag, bool is_given, bool has_it) {
    if (is_given && !has_it) wrong_use(flag, "--{} has no meaning for {}", flag, name);
  };
  const bool is_trsm = routine == Routine::trsm;
  const bool is_lu = routine == Routine::getrf || routine == Routine::gesv || routine == Routine::inv ||
                     routine == Routine::det;
  only_of("uplo", !flags.uplo.empty(), has_triangle(routine));
  only_of("side", !flags.side.empty(), is_trsm);
  only_of("op", !flags.op.empty(), is_trsm);
  only_of("unit", flags.unit, is_trsm);
  only_of("pivoting", !flags.pivoting.empty(), is_lu);
  only_of("pivots", !flags.pivots.empty(), routine == Routine::getrf);
  if (!flags.pivots.empty() && flags.pivoting == to_string(Pivoting::none))
    wrong_use("pivots", "--pivots = '{}' has nothing to write: with --pivoting none no rows are exchanged",
              flags.pivots);
  only_of("tau", !flags.tau.empty(), routine == Routine::geqrf);
  only_of("vectors", !flags.vectors.empty(), routine == Routine::syev);
  only_of("u", !flags.u.empty(), routine == Routine::gesvd);
  only_of("vh", !flags.vh.empty(), routine == Routine::gesvd);
  if (flags.u.empty() != flags.vh.empty())
    wrong_use(flags.u.empty() ? "u" : "vh", "--{} is missing: gesvd writes both U and V^H or neither",
              flags.u.empty() ? "u" : "vh");
  only_of("info", !flags.infos.empty(), has_infos(routine));
  if (flags.verify && !is_verifiable(routine))
    wrong_use("verify", "--verify checks the solutions of gesv and posv, not {}", name);
  if (has_right_sides(routine) && flags.b.empty())
    wrong_use("B", "B is missing: {} solves for right-hand sides", name);
  if (!has_right_sides(routine) && !flags.b.empty())
    refuse_value("B", flags.b, fmt::format("is one array too many: {} takes A alone", name));
}

FactorJobRequest factor_request_from(const FactorFlags& flags, Routine routine) {
  FactorJobRequest request;
  request.routine = routine, request.caller = flags.solves ? "solve" : to_string(routine);
  if (flags.definite) request.caller += " --definite";
  check_factor_flags(flags, routine, request.caller);
  request.a = flags.a, request.b = flags.b, request.output = flags.output;
  request.pivots = flags.pivots, request.infos = flags.infos, request.tau = flags.tau;
  request.vectors = routine == Routine::gesvd ? flags.u : flags.vectors, request.vh = flags.vh;
  if (!flags.uplo.empty()) request.uplo = enum_from_string<Uplo>(flags.uplo, "uplo");
  if (!flags.side.empty()) request.side = enum_from_string<Side>(flags.side, "side");
  if (!flags.op.empty()) request.op = enum_from_string<Op>(flags.op, "op");
  if (flags.unit) request.diag = Diag::unit;
  if (!flags.pivoting.empty())
    request.options.pivoting = enum_from_string<Pivoting>(flags.pivoting, "pivoting");
  request.options.candidate = flags.candidate, request.options.threads = flags.threads;
  request.verify = flags.verify;
  keep_files_apart({{"A", flags.a}, {"B", flags.b}}, {{"output", flags.output},
                                                      {"pivots", flags.pivots},
                                                      {"tau", flags.tau},
                                                      {"vectors", flags.vectors},
                                                      {"u", flags.u},
                                                      {"vh", flags.vh},
                                                      {"info", flags.infos},
                                                      {"json", flags.json}});
  return request;
}

double factor_gflops(const FactorJobReport& r) { return r.kernel_s > 0 ? r.flops / r.kernel_s * 1e-9 : 0; }

// The verdict: how long it took, how fast that is, and how near to the bound.
std::string factor_verdict(const FactorJobReport& r, Routine routine, const std::optional<Bound>& bound) {
  std::string text =
      fmt::format("{} of {} {}", to_string(routine),
                  r.count == 1 ? "1 matrix" : fmt::format("{} matrices", r.count), seconds_text(r.kernel_s));
  if (r.explanation.candidate.empty() || !(r.kernel_s > 0)) return text;
  text += fmt::format(": {} GFLOP/s with {} by {}", digits_text(factor_gflops(r)),
                      counted(r.threads, "thread"), r.explanation.candidate);
  if (!bound) return text;
  return text + fmt::format(", {:.0f} % of the {} bound of {} GFLOP/s", 100 * bound->seconds / r.kernel_s,
                            bound->kind, digits_text(bound->gflops));
}

void print_factor(std::FILE* out, const FactorJobReport& r, Routine routine,
                  const std::optional<Bound>& bound) {
  fmt::print(out, "{}\n{}\n", people::wrapped(r.problem),
             people::bold(out, people::wrapped(factor_verdict(r, routine, bound))));
  fmt::print(out, "read {}, kernel {}, write {}, total {}\n", seconds_text(r.read_s),
             seconds_text(r.kernel_s), seconds_text(r.write_s), seconds_text(r.total_s));
  if (!r.failure.empty())
    fmt::print(out, "{}\n",
               people::wrapped(r.failure + (routine == Routine::getrf ? "; the factors are complete" : "")));
  if (r.verification)
    fmt::print(out, "verified {} ({}): worst residual ratio {:.3g}, of {} allowed\n", r.verification->scope,
               seconds_text(r.verify_s), r.verification->ratio, SystemVerifyResult::bound);
}

nlohmann::json factor_row(const FactorJobReport& r, Routine routine, const std::optional<Bound>& bound) {
  nlohmann::json json{{"family", "factor"},
                      {"problem", r.problem},
                      {"routine", to_string(routine)},
                      {"dtype", to_string(r.dtype)},
                      {"m", r.m},
                      {"n", r.n},
                      {"nrhs", r.nrhs},
                      {"batch_count", r.count},
                      {"layout", r.layout},
                      {"location", "host"},
                      {"memory", "file"},
                      {"data", "file"},
                      {"threads", r.threads},
                      {"target", "cpu"},
                      {"impl", "tilewright"},
                      {"impl_version", TILEWRIGHT_VERSION},
                      {"candidate", r.explanation.candidate},
                      {"config", nullptr},
                      {"samples", 1},
                      {"gflops", factor_gflops(r)},
                      {"info", r.first_info},
                      {"failed", r.failed},
                      {"read_s", r.read_s},
                      {"kernel_s", r.kernel_s},
                      {"write_s", r.write_s},
                      {"total_s", r.total_s}};
  json["first_failed"] = r.failed > 0 ? nlohmann::json(r.first_failed) : nlohmann::json();
  json["seconds"] = json["seconds_low"] = json["seconds_high"] = r.kernel_s;
  json["metrics"] = nlohmann::json::object();
  add_observed(json, r.observed, r.flops, false);
  add_cpu_bound(json, bound, r.kernel_s);
  if (r.verification) {
    json["error"] = r.verification->ratio, json["error_bound"] = SystemVerifyResult::bound;
    json["verified"] = r.verification->scope;
  }
  add_provenance(json);
  add_missing_keys(json);
  return json;
}

void run_factor_verb(const FactorFlags& flags, Routine routine) {
  const FactorJobRequest request = factor_request_from(flags, routine);
  JsonLines json(flags.json);
  const FactorJobReport report = run_factor_job(request);
  const auto bound = cpu_bound(report.dtype, report.flops, report.moved, report.threads);
  if (flags.explain) fmt::print(json.people(), "{}", people::wrapped(report.explanation.decisions_text()));
  print_factor(json.people(), report, routine, bound);
  if (json) json.write(factor_row(report, routine, bound));
}

// The flags that both verbs have.
void add_factor_flags(CLI::App& verb, FactorFlags& flags) {
  verb.add_option("--info", flags.infos,
                  "output file of LAPACK's info of each problem, 64-bit integers; without it a problem that "
                  "has no result fails the job");
  verb.add_option("--pivoting", flags.pivoting,
                  "partial, or none for matrices that are diagonally dominant (default partial)");
  verb.add_option("--candidate", flags.candidate,
                  "force this candidate: lanes, a problem in each vector lane, or blocked, one after the "
                  "other (default: the faster one)");
  verb.add_option("--threads", flags.threads, "threads (default: OpenMP's)")
      ->check(whole_number(1, most_threads));
  verb.add_flag(
      "--verify", flags.verify,
      "check LAPACK's residual ratio of the solutions of gesv and posv; exit with 1 if it is too large");
  verb.add_flag("--explain", flags.explain, "print which candidate runs and why");
  verb.add_option("--json", flags.json, "write the measurement as JSON (- is stdout)");
}

// Adds the files that a routine writes beside its result.
void add_outputs(CLI::App& verb, FactorFlags& flags) {
  verb.add_option("--pivots", flags.pivots,
                  "getrf: output file of the pivots, 64-bit integers, counted from 1 as in LAPACK");
  verb.add_option("--tau", flags.tau, "geqrf: output file of the factors of the reflectors");
  verb.add_option("--vectors", flags.vectors, "syev: output file of the eigenvectors, as columns");
  verb.add_option("--u", flags.u, "gesvd: output file of U, with min(m, n) columns");
  verb.add_option("--vh", flags.vh, "gesvd: output file of V^H, with min(m, n) rows");
}

}  // namespace

void add_factor(CLI::App& app) {
  CLI::App* verb = app.add_subcommand(
      "factor",
      "Factor, invert, decompose or solve with a batch of small matrices in .npy files, as LAPACK does");
  auto flags = std::make_shared<FactorFlags>();
  verb->add_option(
          "ROUTINE", flags->routine,
          "potrf, getrf, geqrf: factors; potri, inv: inverses; det: determinants; syev: eigenvalues; "
          "gesvd: singular values; gesv, posv, potrs, trsm: solutions for B; gels: least squares")
      ->required();
  verb->add_option("A", flags->a, "array A: 2-D, or 3-D with the batch first; f4, f8, c8 or c16")->required();
  verb->add_option("B", flags->b, "array B of right-hand sides, of the same type; a 2-D array is shared");
  verb->add_option(
          "-o,--output", flags->output,
          "output file, in the shape of A or B (gels: X in the first rows); of syev and gesvd the values")
      ->required();
  add_outputs(*verb, *flags);
  verb->add_option("--uplo", flags->uplo, "triangle of A that is used: lower or upper (default lower)");
  verb->add_option("--side", flags->side, "trsm: side of X on which A stands, left or right (default left)");
  verb->add_option("--op", flags->op,
                   "trsm: A n as stored, t transposed, c conjugate transposed (default n)");
  verb->add_flag("--unit", flags->unit, "trsm: the diagonal of A is 1 and is not read");
  add_factor_flags(*verb, *flags);
  verb->footer(
      "Example: tilewright factor potrf A.npy -o L.npy --info INFO.npy\n"
      "Example: tilewright factor getrf A.npy -o LU.npy --pivots P.npy\n"
      "Example: tilewright factor inv A.npy -o INVERSE.npy\n"
      "Example: tilewright factor gesvd A.npy -o S.npy --u U.npy --vh VH.npy");
  verb->callback([flags] { run_factor_verb(*flags, routine_named(flags->routine)); });
}

void add_solve(CLI::App& app) {
  CLI::App* verb =
      app.add_subcommand("solve", "Solve A X = B of .npy files, one system or a batch of small ones");
  auto flags = std::make_shared<FactorFlags>();
  flags->solves = true;
  verb->add_option("A", flags->a, "array A: 2-D, or 3-D with the batch first; f4, f8, c8 or c16")->required();
  verb->add_option("B", flags->b,
                   "array B of right-hand sides, of the same type: 1-D or 2-D for all problems, or 3-D")
      ->required();
  verb->add_option("-x,--x,-o,--output", flags->output, "output file of X")->required();
  verb->add_flag("--definite", flags->definite,
                 "A is symmetric or Hermitian, and positive definite: its lower triangle is factored by "
                 "Cholesky's method, with half the operations");
  add_factor_flags(*verb, *flags);
  verb->footer(
      "Example: tilewright solve A.npy B.npy -x X.npy --verify\n"
      "Example: tilewright solve A.npy B.npy -x X.npy --definite --info INFO.npy");
  verb->callback([flags] { run_factor_verb(*flags, flags->definite ? Routine::posv : Routine::gesv); });
}

}  // namespace tilewright::cli
