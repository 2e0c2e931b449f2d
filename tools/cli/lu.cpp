// The verb lu: its flags, its job, which reads a matrix from a file and writes its factors, its pivots and
// the solution of a system, and its reports for people and scripts. The outputs appear only if the whole job
// succeeds.
#include "tilewright/lu.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>
#include <string>

#include "arrays/gemm_arrays.hpp"
#include "bench/lu/ways.hpp"
#include "bench/provenance.hpp"
#include "core/dispatch.hpp"
#include "core/json.hpp"
#include "core/quantity.hpp"
#include "device/team.hpp"
#include "lists.hpp"
#include "lu/calls.hpp"
#include "lu/candidates.hpp"
#include "measure/buffers.hpp"
#include "measure/clock.hpp"
#include "measure/lu_residual.hpp"
#include "measure/observer.hpp"
#include "output/cpu_bound.hpp"
#include "output/json_lines.hpp"
#include "people/refusal.hpp"
#include "verbs.hpp"

namespace tilewright::cli {
namespace {

struct LuRequestFiles {
  std::string a, output, pivots;
  std::string b, x;  // "": no system is solved
};

struct LuJobRequest {
  LuRequestFiles files;
  LuOptions options;
  bool refine = false;
  bool verify = false;
};

struct LuJobReport {
  LuProblem problem;
  LuReport factors;
  std::string explanation;
  WisdomMatch match = WisdomMatch::none;
  std::string target = "cpu";  // where it computed
  nlohmann::json observed;     // energy, clock and temperature during the factorization
  std::int64_t nrhs = 0;
  std::optional<LuRefinement> refinement;
  std::optional<LuVerifyResult> verification;
  int threads = 1;
  double read_s = 0, kernel_s = 0, solve_s = 0, write_s = 0, verify_s = 0, total_s = 0;
};

ArrayShape matrix_shape(const NpyInput& file, const std::string& argument) {
  if (file.header().shape.size() != 2)
    wrong_use(argument, "{} has shape {}: it needs 2 dimensions (one matrix)", file.what(),
              shape_text(file.header().shape));
  return array_shape(file.header(), argument, file.what());
}

// Returns the shape of right sides: a matrix, or a vector as one column.
ArrayShape right_side_shape(const NpyInput& file) {
  if (file.header().shape.size() != 1) return matrix_shape(file, "solve");
  ArrayShape shape;
  shape.rows = file.header().shape[0];
  shape.cols = 1;
  shape.order = Order::column_major;
  return shape;
}

// Reads, factors, solves, verifies and writes, in this order. Throws JobFailed if a system is to be solved
// and a pivot is exactly zero, or if verification fails.
class LuJob {
 public:
  explicit LuJob(const LuJobRequest& request) : request_(request) {
    report_.threads =
        usable_threads(request.options.threads > 0 ? request.options.threads : omp_get_max_threads());
  }

  LuJobReport run() {
    const double begin = wall_seconds();
    add_wall_time(report_.read_s, [&] { read(); });
    add_wall_time(report_.write_s, [&] { create(); });
    dispatch(dtype(), [&]<class T>() { compute<T>(); });
    if (request_.verify) add_wall_time(report_.verify_s, [&] { verify(); });
    add_wall_time(report_.write_s, [&] { commit(); });
    report_.total_s = wall_seconds() - begin - report_.verify_s;
    return std::move(report_);
  }

 private:
  DType dtype() const { return a_file_->header().dtype; }
  bool solves() const { return b_file_.has_value(); }

  void read() {
    a_file_.emplace(request_.files.a, "A");
    a_shape_ = matrix_shape(*a_file_, "A");
    report_.problem = {dtype(), a_shape_.rows, a_shape_.cols, std::max<std::int64_t>(1, a_shape_.rows)};
    if (!request_.files.b.empty()) open_right_sides();
    const Explanation said = lu_explanation(context_, report_.problem, request_.options);
    report_.explanation = lu_text(said);
    report_.match = said.known.match;
    a_file_->populate(report_.threads);
  }

  void open_right_sides() {
    b_file_.emplace(request_.files.b, "solve");
    b_shape_ = right_side_shape(*b_file_);
    if (b_file_->header().dtype != dtype())
      wrong_use("solve", "{} holds {}, but {} holds {}", b_file_->what(), to_string(b_file_->header().dtype),
                a_file_->what(), to_string(dtype()));
    if (a_shape_.rows != a_shape_.cols || b_shape_.rows != a_shape_.rows)
      wrong_use("solve", "{} has {} rows, but {} is {} x {}", b_file_->what(), b_shape_.rows, a_file_->what(),
                a_shape_.rows, a_shape_.cols);
    report_.nrhs = b_shape_.cols;
  }

  void create() {
    const ArrayShape columns = by_columns(a_shape_);
    lu_.emplace(request_.files.output, dtype(), true, a_file_->header().shape);
    copy_array(dtype(), a_file_->data(), a_shape_, lu_->data(), columns, report_.threads);
    pivots_.emplace(request_.files.pivots, std::vector{std::min(a_shape_.rows, a_shape_.cols)}, "pivots");
    if (solves()) {
      x_.emplace(request_.files.x, dtype(), true, b_file_->header().shape, "x");
      copy_array(dtype(), b_file_->data(), b_shape_, x_->data(), by_columns(b_shape_), report_.threads);
    }
  }

  static ArrayShape by_columns(ArrayShape shape) {
    shape.order = Order::column_major;
    return shape;
  }

  template <class T>
  void compute() {
    const LuProblem& p = report_.problem;
    T* const lu = static_cast<T*>(lu_->data());
    auto* const pivots = static_cast<std::int64_t*>(pivots_->data());
    report_.observed = watch_job([&](const std::function<void()>&) {
      add_wall_time(report_.kernel_s, [&] {
        report_.factors = lu_factor(context_, p.m, p.n, lu, p.lda, pivots, request_.options);
      });
    });
    report_.target = bench::lu_target(context_, p, request_.options, report_.factors);
    if (!solves()) return;
    if (report_.factors.info > 0)
      throw JobFailed(fmt::format(
          "{} is singular: U({}, {}) is exactly zero, so x = '{}' cannot be computed; nothing was written",
          a_file_->what(), report_.factors.info, report_.factors.info, request_.files.x));
    add_wall_time(report_.solve_s, [&] {
      T* const x = static_cast<T*>(x_->data());
      lu_solve(context_, Op::none, p.n, report_.nrhs, lu, p.lda, pivots, x, p.lda, request_.options);
      if (request_.refine)
        report_.refinement = lu_refine(context_, Op::none, p.n, report_.nrhs, a_by_columns<T>(), p.lda, lu,
                                       p.lda, pivots, b_by_columns<T>(), p.lda, x, p.lda, request_.options);
    });
  }

  // The unchanged inputs, copied only if they lie by rows.
  template <class T>
  const T* a_by_columns() {
    return static_cast<const T*>(arranged(*a_file_, a_shape_, a_copy_));
  }
  template <class T>
  const T* b_by_columns() {
    return static_cast<const T*>(arranged(*b_file_, b_shape_, b_copy_));
  }
  const void* arranged(const NpyInput& file, const ArrayShape& shape, AlignedBuffer& copy) const {
    if (shape.order == Order::column_major) return file.data();
    if (copy.data() == nullptr) {
      copy = AlignedBuffer(std::max<std::int64_t>(1, shape.count() * size_bytes(dtype())));
      copy_array(dtype(), file.data(), shape, copy.data(), by_columns(shape), report_.threads);
    }
    return copy.data();
  }

  void verify() {
    LuVerifyInput in;
    in.dtype = dtype();
    in.m = a_shape_.rows, in.n = a_shape_.cols;
    in.a = arranged(*a_file_, a_shape_, a_copy_);
    in.lu = lu_->data();
    in.pivots = static_cast<const std::int64_t*>(pivots_->data());
    if (solves()) {
      in.nrhs = report_.nrhs;
      in.b = arranged(*b_file_, b_shape_, b_copy_);
      in.x = x_->data();
    }
    in.threads = report_.threads;
    report_.verification = verify_lu(in);
    const LuVerifyResult& v = *report_.verification;
    check_numbers_of("A", in.a, in.m * in.n);
    if (solves()) check_numbers_of("B", in.b, in.m * in.nrhs);
    if (!v.passed())
      throw JobFailed(
          fmt::format("verify failed, output = '{}' was not written: residual ratio {:.3g} of the "
                      "factors and {:.3g} of the solution, of {} allowed",
                      request_.files.output, v.ratio, v.solve_ratio, LuVerifyResult::bound));
  }

  // Refuses operands with NaN or infinities, whose residual would mean nothing.
  void check_numbers_of(const char* name, const void* data, std::int64_t count) const {
    if (report_.verification->passed()) return;
    dispatch(dtype(), [&]<class T>() {
      const T* const elements = static_cast<const T*>(data);
      const T* const end = elements + count;
      if (std::any_of(elements, end, [](const T& x) { return !std::isfinite(std::abs(x)); }))
        throw JobFailed(fmt::format(
            "verify is impossible, output = '{}' was not written: {} contains NaN or infinite elements",
            request_.files.output, name));
    });
  }

  void commit() {
    lu_->commit();
    pivots_->commit();
    if (x_) x_->commit();
  }

  const LuJobRequest& request_;
  LuJobReport report_;
  Context context_;
  std::optional<NpyInput> a_file_, b_file_;
  ArrayShape a_shape_, b_shape_;
  AlignedBuffer a_copy_, b_copy_;
  std::optional<NpyOutput> lu_, pivots_, x_;
};

struct LuFlags {
  LuRequestFiles files;
  std::string target = "auto", select = "panel", candidate, gpus, gpu_memory, nb, json;
  int threads = 0;
  bool refine = false, verify = false, explain = false;
};

LuJobRequest lu_request_from(const LuFlags& flags) {
  LuJobRequest request;
  request.files = flags.files;
  if (flags.files.b.empty() && !flags.files.x.empty())
    refuse_value("x", flags.files.x, "needs --solve, the right-hand sides");
  if (flags.files.x.empty() && !flags.files.b.empty())
    refuse_value("solve", flags.files.b, "needs --x, the output of the solution");
  if (flags.refine && flags.files.b.empty())
    wrong_use("refine", "--refine needs --solve, the right-hand sides");
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
  if (r.nrhs > 0) fmt::print(out, "solved for {} in {:.4f} s\n", counted(r.nrhs, "right side"), r.solve_s);
  if (r.refinement) {
    const int steps = r.refinement->steps.empty() ? 0 : *std::ranges::max_element(r.refinement->steps);
    fmt::print(out, "refined by at most {}: componentwise backward error {:.2e}\n", counted(steps, "step"),
               r.refinement->backward_error);
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
  if (r.target != "cpu") return;
  const double moved = 2.0 * double(r.problem.m) * double(r.problem.n) * double(size_bytes(r.problem.dtype));
  add_cpu_bound(json, cpu_bound(r.problem.dtype, flops(r.problem), moved, r.threads), r.kernel_s);
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
  const LuJobReport report = LuJob(request).run();
  if (flags.explain) fmt::print(json.people(), "{}", report.explanation);
  print_lu(json.people(), report);
  if (json) json.write(lu_row(report, request.options));
}

}  // namespace

void add_lu(CLI::App& app) {
  CLI::App* verb =
      app.add_subcommand("lu", "Factor a matrix in a .npy file: P A = L U with partial pivoting");
  auto flags = std::make_shared<LuFlags>();
  verb->add_option("A", flags->files.a, "array A, 2-D; f4, f8, c8 or c16")->required();
  verb->add_option("-o,--output", flags->files.output, "output file of L (below the diagonal) and U")
      ->required();
  verb->add_option("--pivots", flags->files.pivots,
                   "output file of the pivots, 64-bit integers: row i was swapped with row P[i - 1], counted "
                   "from 1 as in LAPACK")
      ->required();
  verb->add_option("--solve", flags->files.b, "array B, 1-D or 2-D: solve A X = B");
  verb->add_option("-x,--x", flags->files.x, "output file of X");
  verb->add_flag("--refine", flags->refine, "improve X by iterative refinement and print its backward error");
  verb->add_option("--target", flags->target, "auto, cpu, gpu or hybrid (default auto)");
  verb->add_option("--nb", flags->nb, "columns of a panel (default: as tuned, or by models or a rule)");
  verb->add_option("--select", flags->select,
                   "how to choose the CPU's share beside GPUs: flops, square or panel (default panel)");
  verb->add_option("--candidate", flags->candidate,
                   "force this candidate: streamed, lapack, blocked or reference (default: as tuned, or the "
                   "first that supports the problem)");
  verb->add_option("--gpus", flags->gpus, "a number of GPUs, or a list of them: 2 or 0,2 (default: all)");
  verb->add_option("--gpu-memory", flags->gpu_memory,
                   "most memory of each GPU: 8GiB (default: what is free)");
  verb->add_option("--threads", flags->threads, "threads (default: OpenMP's)")
      ->check(whole_number(1, most_threads));
  verb->add_flag("--verify", flags->verify,
                 "check LAPACK's residual ratios; exit with 1 if they are too large");
  verb->add_flag("--explain", flags->explain, "print what runs and why");
  verb->add_option("--json", flags->json, "write the measurement as JSON (- is stdout)");
  verb->footer(
      "Example: tilewright lu A.npy -o LU.npy --pivots P.npy --verify\n"
      "Example: tilewright lu A.npy -o LU.npy --pivots P.npy --solve B.npy --x X.npy --refine");
  verb->callback([flags] { run_lu_verb(*flags); });
}

}  // namespace tilewright::cli
