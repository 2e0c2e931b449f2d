// Reads, factors, solves, verifies and writes, in this order.
#include "lu_job.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "arrays/gemm_arrays.hpp"
#include "bench/lu/keys.hpp"
#include "core/dispatch.hpp"
#include "device/team.hpp"
#include "lu/calls.hpp"
#include "measure/buffers.hpp"
#include "measure/clock.hpp"
#include "measure/observer.hpp"
#include "verbs.hpp"

namespace tilewright::cli {

namespace {

template <class F>
void timed_into(double& seconds, F&& f) {
  const double begin = wall_seconds();
  f();
  seconds += wall_seconds() - begin;
}

ArrayShape matrix_shape(const NpyInput& file, const std::string& argument) {
  if (file.header().shape.size() != 2)
    throw Error(ErrorCode::invalid_argument, argument,
                fmt::format("{} has shape {}: one matrix is factored at a time, of 2 dimensions", file.what(),
                            shape_text(file.header().shape)));
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

class LuJob {
 public:
  explicit LuJob(const LuJobRequest& request) : request_(request) {
    report_.threads =
        usable_threads(request.options.threads > 0 ? request.options.threads : omp_get_max_threads());
  }

  LuJobReport run() {
    const double begin = wall_seconds();
    timed_into(report_.read_s, [&] { read(); });
    timed_into(report_.write_s, [&] { create(); });
    dispatch(dtype(), [&]<class T>() { compute<T>(); });
    const double before_verify = wall_seconds();
    if (request_.verify) verify();
    report_.verify_s = wall_seconds() - before_verify;
    timed_into(report_.write_s, [&] { commit(); });
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
      throw Error(ErrorCode::invalid_argument, "solve",
                  fmt::format("{} holds {}, but {} holds {}", b_file_->what(),
                              to_string(b_file_->header().dtype), a_file_->what(), to_string(dtype())));
    if (a_shape_.rows != a_shape_.cols || b_shape_.rows != a_shape_.rows)
      throw Error(ErrorCode::invalid_argument, "solve",
                  fmt::format("{} has {} rows, but {} is {} x {}", b_file_->what(), b_shape_.rows,
                              a_file_->what(), a_shape_.rows, a_shape_.cols));
    report_.nrhs = b_shape_.cols;
  }

  void create() {
    const ArrayShape columns = by_columns(a_shape_);
    lu_.emplace(request_.files.output, dtype(), true, a_file_->header().shape);
    copy_array(dtype(), a_file_->data(), a_shape_, lu_->data(), columns, report_.threads);
    pivots_.emplace(request_.files.pivots, std::min(a_shape_.rows, a_shape_.cols), "pivots");
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
      timed_into(report_.kernel_s, [&] {
        report_.factors = lu_factor(context_, p.m, p.n, lu, p.lda, pivots, request_.options);
      });
    });
    report_.target = bench::lu_target(context_, p, request_.options, report_.factors);
    if (!solves()) return;
    if (report_.factors.info > 0)
      throw JobFailed(
          fmt::format("{} is singular, U({}, {}) being exactly zero, so that x = '{}' cannot be solved "
                      "for; nothing was written",
                      a_file_->what(), report_.factors.info, report_.factors.info, request_.files.x));
    timed_into(report_.solve_s, [&] {
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
            "verify cannot tell, output = '{}' was not written: {} holds NaN or infinite elements",
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

}  // namespace

LuJobReport run_lu(const LuJobRequest& request) { return LuJob(request).run(); }

}  // namespace tilewright::cli
