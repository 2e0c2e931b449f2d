// Runs the job of the verb gemm. Measured on 2 cores with 512 MiB arrays in the page cache (ext4): mapping an
// input and populating it from both threads takes 0.02 s, reading it into huge pages 0.09 s, and the kernel
// is as fast on either; a mapped output whose space was reserved takes 0.11 s in all, writing from a buffer
// 0.2 s. Hence the files are mapped.
#include "gemm_job.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>

#include "arrays/gemm_arrays.hpp"
#include "core/dispatch.hpp"
#include "device/team.hpp"
#include "gemm/plan.hpp"
#include "gemm/run/host.hpp"
#include "lists.hpp"
#include "measure/buffers.hpp"
#include "measure/check_sampled.hpp"
#include "measure/clock.hpp"
#include "measure/observer.hpp"
#include "output/progress.hpp"
#include "people/refusal.hpp"
#include "tune/calibrate/machine.hpp"

namespace tilewright::cli {
namespace {

// Adds the seconds of its lifetime to a phase.
class Phase {
 public:
  explicit Phase(double& sum) : sum_(sum), start_(wall_seconds()) {}
  ~Phase() { sum_ += wall_seconds() - start_; }
  Phase& operator=(Phase&&) = delete;

 private:
  double& sum_;
  double start_;
};

template <class T>
T scalar_as(std::complex<double> value) {
  if constexpr (is_complex(dtype_of<T>))
    return T(value);
  else
    return static_cast<T>(value.real());
}

class Job {
 public:
  explicit Job(const GemmRequest& request)
      : request_(request),
        threads_(
            usable_threads(request.options.threads > 0 ? request.options.threads : omp_get_max_threads())) {}

  GemmReport run() {
    {
      Phase total(report_.total_s);
      open();
      decide();
      read();
      create();
      multiply();
    }
    note_parts();
    if (request_.verify) check();
    if (!report_.verification || report_.verification->passed) {
      Phase total(report_.total_s);
      finish();
    }
    return std::move(report_);
  }

 private:
  void open() {
    Phase phase(report_.read_s);
    a_file_.emplace(request_.a, "A");
    b_file_.emplace(request_.b, "B");
    if (!request_.c0.empty()) c0_file_.emplace(request_.c0, "c");
  }

  static ArrayInfo info(const NpyInput& file, const std::string& argument) {
    return {array_shape(file.header(), argument, file.what()), file.header().dtype, file.what()};
  }

  void decide() {
    const ArrayInfo a = info(*a_file_, "A"), b = info(*b_file_, "B");
    a_shape_ = a.shape;
    b_shape_ = b.shape;
    std::optional<ArrayInfo> c0;
    if (c0_file_) {
      c0 = info(*c0_file_, "c");
      c0_shape_ = c0->shape;
    }
    arrangement_ = arrange(a, b, c0, request_.op_a, request_.op_b);
    GemmProblem& problem = arrangement_.problem;
    refuse_complex(request_.alpha, "alpha");
    refuse_complex(request_.beta, "beta");
    for (const auto& [value, name] : {std::pair{request_.alpha, "alpha"}, {request_.beta, "beta"}})
      for (const double part : {value.real(), value.imag()}) refuse_out_of_range(name, part, problem.dtype);
    problem.alpha = scalar_class(request_.alpha);
    problem.beta = scalar_class(request_.beta);
    report_.notes = arrangement_.notes;
    report_.problem = problem;
    // Options are checked even if there is nothing to multiply.
    Phase phase(report_.setup_s);
    report_.plan = plan(context_, problem, request_.options);
    if (streams()) prepare(context_, {&problem, 1}, request_.options);
    report_.problem = report_.plan->problem();
  }

  void refuse_complex(std::complex<double> value, const char* name) const {
    if (value.imag() == 0 || is_complex(arrangement_.problem.dtype)) return;
    wrong_use(name, "{} = {}{:+}j is complex, but {} holds {}", name, value.real(), value.imag(),
              a_file_->what(), to_string(arrangement_.problem.dtype));
  }

  bool reads_ab() const { return arrangement_.problem.alpha != Scalar::zero && arrangement_.problem.k > 0; }
  bool reads_c0() const { return arrangement_.problem.beta != Scalar::zero; }

  void read() {
    Phase phase(report_.read_s);
    if (reads_c0()) bring_in(*c0_file_);
    if (!reads_ab()) return;
    // The threads that fill the rings of pinned memory read streamed operands, concurrently with the
    // transfers.
    if (!streams()) {
      bring_in(*a_file_);
      bring_in(*b_file_);
    }
    if (arrangement_.copy_a) a_copy_ = copied(*a_file_, a_shape_, arrangement_.a);
    if (arrangement_.copy_b) b_copy_ = copied(*b_file_, b_shape_, arrangement_.b);
  }

  bool streams() const { return report_.plan->uses_gpus(); }

  static Watch watch(Progress& progress) {
    return [&progress](double share) { progress.show(static_cast<std::int64_t>(100 * share)); };
  }

  void bring_in(const NpyInput& file) const {
    Progress progress("reading " + file.what(), 100);
    file.populate(threads_, watch(progress));
  }

  AlignedBuffer copied(const NpyInput& file, const ArrayShape& from, const ArrayShape& to) const {
    AlignedBuffer buffer(to.count() * size_bytes(file.header().dtype));
    copy_array(file.header().dtype, file.data(), from, buffer.data(), to, threads_);
    return buffer;
  }

  void create() {
    {
      Phase phase(report_.write_s);
      output_.emplace(request_.output, arrangement_.problem.dtype, arrangement_.c.order != Order::row_major,
                      arrangement_.c_shape());
      Progress progress("reserving the output", 100);
      output_->populate(threads_, watch(progress));
    }
    if (!reads_c0()) return;
    Phase phase(report_.read_s);
    copy_array(arrangement_.problem.dtype, c0_file_->data(), c0_shape_, output_->data(), arrangement_.c,
               threads_);
  }

  void multiply() {
    const void* a = a_copy_.data() ? a_copy_.data() : a_file_->data();
    const void* b = b_copy_.data() ? b_copy_.data() : b_file_->data();
    const void* left = arrangement_.swapped ? b : a;
    const void* right = arrangement_.swapped ? a : b;
    // A product that streams keeps A on the GPUs from its first column to its last.
    const auto pieces = streams() ? std::vector<Piece>{{report_.problem}}
                                  : cut_into_pieces(report_.problem, estimate_s(report_.problem) / threads_);
    GemmOptions options = request_.options;
    if (!streams()) options.target = Target::cpu, options.split = SplitRule::model, options.cpu_share.reset();
    std::vector<GemmPlan> plans;
    report_.pieces = std::ssize(pieces);
    {
      Phase phase(report_.setup_s);
      for (const Piece& piece : pieces)
        plans.push_back(pieces.size() == 1 ? *report_.plan : plan(context_, piece.problem, options));
    }
    report_.threads = streams() ? threads_ : most_threads_of(plans);
    Progress progress("multiplying", static_cast<std::int64_t>(pieces.size()));
    report_.observed = watch_job([&](const std::function<void()>& now_and_then) {
      Phase phase(report_.kernel_s);
      for (std::size_t i = 0; i < pieces.size(); ++i) {
        progress.show(static_cast<std::int64_t>(i));
        if (i > 0) now_and_then();
        run_piece(plans[i], pieces[i], left, right);
      }
    });
  }

  // A plan uses fewer threads than allowed if there is little work.
  static int most_threads_of(const std::vector<GemmPlan>& plans) {
    int most = 1;
    for (const GemmPlan& one : plans)
      if (Access::impl(one).runner != nullptr)
        most = std::max(most, Access::impl(one).runner->thread_count());
    return most;
  }

  void run_piece(const GemmPlan& piece_plan, const Piece& piece, const void* left, const void* right) {
    dispatch(arrangement_.problem.dtype, [&]<class T>() {
      piece_plan.run<T>(scalar_as<T>(request_.alpha), static_cast<const T*>(left) + piece.a_offset,
                        static_cast<const T*>(right) + piece.b_offset, scalar_as<T>(request_.beta),
                        static_cast<T*>(output_->data()) + piece.c_offset);
    });
  }

  // Records who computed which part, and the bound of links and GPUs.
  void note_parts() {
    report_.last_run = Access::impl(*report_.plan).runner->last_run();
    if (report_.last_run.is_null() || report_.last_run["gpus"].empty()) return;
    std::vector<int> used;
    for (const auto& gpu : report_.last_run["gpus"]) used.push_back(gpu["ordinal"]);
    try {
      const auto machine = open_machine(context_, used);
      const bool copies = report_.last_run.value("memory", "") == "pageable";
      report_.hybrid_bound =
          bench::measure_hybrid_bound(*machine, report_.problem, int(used.size()), copies ? threads_ : 0);
    } catch (const Error& error) {
      // The product is complete; a failure to measure the bound is only reported.
      report_.notes.push_back(fmt::format("no bound was measured: {}", error.what()));
    }
  }

  void check() {
    Phase phase(report_.verify_s);
    VerifyInput input;
    input.dtype = arrangement_.problem.dtype;
    input.op_a = request_.op_a;
    input.op_b = request_.op_b;
    input.alpha = request_.alpha;
    input.beta = request_.beta;
    input.a = a_file_->data();
    input.a_shape = a_shape_;
    input.b = b_file_->data();
    input.b_shape = b_shape_;
    input.c0 = reads_c0() ? c0_file_->data() : nullptr;
    input.c0_shape = c0_shape_;
    input.c = output_->data();
    input.c_shape = arrangement_.c;
    input.threads = threads_;
    report_.verification = verify(input);
  }

  void finish() {
    {
      Phase phase(report_.write_s);
      output_->commit();
    }
    Phase phase(report_.read_s);
    a_file_.reset();
    b_file_.reset();
    c0_file_.reset();
  }

  const GemmRequest& request_;
  const int threads_;  // allowed threads, and threads that copy and check
  GemmReport report_;
  Context context_;
  std::optional<NpyInput> a_file_, b_file_, c0_file_;
  ArrayShape a_shape_, b_shape_, c0_shape_;
  Arrangement arrangement_;
  AlignedBuffer a_copy_, b_copy_;  // copies of arrays that could not be used in place
  std::optional<NpyOutput> output_;
};

// Implements gemm's --verify: chooses a scope, and reads the arrays by their own strides.

// The scope of the check, all rows of some columns of some problems, and its name.
struct Scope {
  Sample sample;
  std::string text;
};

Scope choose_scope(const VerifyInput& in, std::int64_t k) {
  const double column_flops =
      (is_complex(in.dtype) ? 8.0 : 2.0) * double(in.c_shape.rows) * double(std::max<std::int64_t>(k, 1));
  const double problem_flops = column_flops * double(in.c_shape.cols);
  const std::int64_t batch = in.c_shape.batch, n = in.c_shape.cols;
  Scope scope;
  scope.sample.rows = places(in.c_shape.rows, in.c_shape.rows);
  const double problem_count = std::max(1.0, std::floor(in.flop_limit / std::max(problem_flops, 1.0)));
  scope.sample.problems = places(batch, std::int64_t(std::min(problem_count, double(batch))));
  const double share = in.flop_limit / double(std::max<std::size_t>(scope.sample.problems.size(), 1));
  const double column_count = std::max(1.0, std::floor(share / column_flops));
  scope.sample.columns = places(n, std::int64_t(std::min(column_count, double(n))));
  const auto chosen = static_cast<std::int64_t>(scope.sample.problems.size());
  scope.text = chosen == batch ? (batch == 1 ? "the whole product" : fmt::format("all {} problems", batch))
                               : fmt::format("a random {} of {} problems", chosen, batch);
  if (const auto columns = static_cast<std::int64_t>(scope.sample.columns.size()); columns < n)
    scope.text =
        fmt::format("a random {} of {} columns of {}", columns, n, batch == 1 ? "the product" : scope.text);
  return scope;
}

HostArray array_of(const void* data, const ArrayShape& shape) {
  const auto [batch, row, column] = shape.strides();
  return {{shape.rows, shape.cols, row, column, 1, shape.batch == 1 ? 0 : batch}, data};
}

std::string text(DType dtype, std::complex<double> value) {
  const auto number = [&](double x, const char* format) {
    const bool narrow = dtype == DType::f32 || dtype == DType::c64;
    return narrow ? fmt::format(fmt::runtime(format), float(x)) : fmt::format(fmt::runtime(format), x);
  };
  return number(value.real(), "{}") + (is_complex(dtype) ? number(value.imag(), "{:+}") + "j" : "");
}

}  // namespace

GemmReport run_gemm(const GemmRequest& request) { return Job(request).run(); }

VerifyResult verify(const VerifyInput& in) {
  GemmProblem p;
  p.dtype = in.dtype, p.op_a = in.op_a, p.op_b = in.op_b;
  p.m = in.c_shape.rows, p.n = in.c_shape.cols;
  p.k = in.op_a == Op::none ? in.a_shape.cols : in.a_shape.rows;
  const auto operands = host_operands(p.dtype, array_of(in.a, in.a_shape), array_of(in.b, in.b_shape),
                                      array_of(in.c0, in.c0_shape), array_of(in.c, in.c_shape));
  const Scope scope = choose_scope(in, p.k);
  const auto beta = in.c0 == nullptr ? 0 : in.beta;
  const Accuracy worst = check_once(p, *operands, scope.sample, in.alpha, beta, in.threads);
  VerifyResult result{worst.passed(),  worst.error, worst.bound, worst.not_finite,
                      worst.unbounded, "",          scope.text};
  if (worst.problem_index < 0) return result;
  const std::string problem = in.c_shape.is_batch ? fmt::format("{}, ", worst.problem_index) : "";
  result.where = fmt::format("C[{}{}, {}] = {}, reference {}", problem, worst.row, worst.column,
                             text(in.dtype, worst.got), text(in.dtype, worst.exact));
  return result;
}

}  // namespace tilewright::cli
