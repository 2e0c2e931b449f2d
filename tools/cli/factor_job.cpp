// Reads, computes, verifies and writes, in this order.
#include "factor_job.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <complex>
#include <functional>

#include "arrays/gemm_arrays.hpp"
#include "core/dispatch.hpp"
#include "device/team.hpp"
#include "factor/call.hpp"
#include "factor/candidates.hpp"
#include "measure/clock.hpp"
#include "measure/observer.hpp"
#include "people/refusal.hpp"
#include "verbs.hpp"

namespace tilewright::cli {

bool has_right_sides(Routine routine) {
  return routine == Routine::potrs || routine == Routine::posv || routine == Routine::getrs ||
         routine == Routine::gesv || routine == Routine::trsm || routine == Routine::gels;
}
bool has_infos(Routine routine) {
  return routine != Routine::potrs && routine != Routine::getrs && routine != Routine::trsm &&
         routine != Routine::det && routine != Routine::geqrf;
}
bool is_verifiable(Routine routine) { return routine == Routine::gesv || routine == Routine::posv; }
bool continues(Routine routine) {
  return routine == Routine::getrs || routine == Routine::getri || routine == Routine::ormqr;
}
bool has_triangle(Routine routine) {
  return routine == Routine::potrf || routine == Routine::potrs || routine == Routine::posv ||
         routine == Routine::potri || routine == Routine::trsm || routine == Routine::syev;
}

namespace {

bool overwrites_a(Routine routine) {
  return routine == Routine::potrf || routine == Routine::potri || routine == Routine::getrf ||
         routine == Routine::geqrf;
}
bool may_be_rectangular(Routine routine) {
  return routine == Routine::getrf || routine == Routine::geqrf || routine == Routine::gels ||
         routine == Routine::gesvd;
}
// The result is eigenvalues or singular values, which are real.
bool has_values(Routine routine) { return routine == Routine::syev || routine == Routine::gesvd; }

DType type_of_values(DType dtype) {
  return dtype == DType::f32 || dtype == DType::c64 ? DType::f32 : DType::f64;
}

// Matrices of an array; one stands for a whole batch.
template <class T>
MatrixBatch<T> batch_of(T* data, const ArrayShape& shape, std::int64_t count) {
  const auto strides = shape.strides();
  MatrixBatch<T> batch;
  batch.data = data, batch.rows = shape.rows, batch.cols = shape.cols;
  batch.row_stride = strides[1], batch.col_stride = strides[2];
  batch.level_count = 1, batch.levels[0] = {count, shape.batch == 1 ? 0 : strides[0]};
  return batch;
}

SystemVerifyInput::Matrices matrices_of(const void* data, const ArrayShape& shape) {
  auto strides = shape.strides();
  if (shape.batch == 1) strides[0] = 0;
  return {data, strides};
}

// Right sides may be one vector.
ArrayShape sides_shape(const NpyInput& file) {
  if (file.header().shape.size() != 1) return array_shape(file.header(), "B", file.what());
  ArrayShape shape;
  shape.rows = file.header().shape[0], shape.cols = 1;
  return shape;
}

class FactorJob {
 public:
  explicit FactorJob(const FactorJobRequest& request)
      : request_(request), routine_(request.routine), has_b_(has_right_sides(request.routine)) {
    report_.threads =
        usable_threads(request.options.threads > 0 ? request.options.threads : omp_get_max_threads());
  }

  FactorJobReport run() {
    const double begin = wall_seconds();
    add_wall_time(report_.read_s, [&] { read(); });
    choose();
    add_wall_time(report_.write_s, [&] { create(); });
    dispatch(dtype(), [&]<class T>() { compute<T>(); });
    note_infos();
    if (request_.verify) add_wall_time(report_.verify_s, [&] { verify(); });
    add_wall_time(report_.write_s, [&] { commit(); });
    report_.total_s = wall_seconds() - begin - report_.verify_s;
    return std::move(report_);
  }

 private:
  DType dtype() const { return a_file_->header().dtype; }
  bool is_batch() const { return a_shape_.is_batch || b_shape_.is_batch; }

  void read() {
    a_file_.emplace(request_.a, "A");
    a_shape_ = array_shape(a_file_->header(), "A", a_file_->what());
    const bool fits = routine_ == Routine::gels
                          ? a_shape_.rows >= a_shape_.cols
                          : a_shape_.rows == a_shape_.cols || may_be_rectangular(routine_);
    if (!fits)
      wrong_use("A", "{} has shape {}, but {} needs {}", a_file_->what(), shape_text(a_file_->header().shape),
                request_.caller,
                routine_ == Routine::gels ? "at least as many rows as columns" : "square matrices");
    report_.count = a_shape_.batch;
    if (has_b_) read_sides();
    describe();
    a_file_->populate(report_.threads);
    if (has_b_) b_file_->populate(report_.threads);
  }

  void read_sides() {
    b_file_.emplace(request_.b, "B");
    b_shape_ = sides_shape(*b_file_);
    if (b_file_->header().dtype != dtype())
      wrong_use("B", "{} holds {}, but {} holds {}", b_file_->what(), to_string(b_file_->header().dtype),
                a_file_->what(), to_string(dtype()));
    const bool right = request_.side == Side::right;
    if (const std::int64_t order = right ? b_shape_.cols : b_shape_.rows; order != a_shape_.rows)
      wrong_use("B", "{} has {} {}, but {} is {} x {}", b_file_->what(), order, right ? "columns" : "rows",
                a_file_->what(), a_shape_.rows, a_shape_.cols);
    if (a_shape_.batch != b_shape_.batch && a_shape_.batch != 1 && b_shape_.batch != 1)
      wrong_use("B", "{} is a batch of {}, but {} is one of {}", b_file_->what(), b_shape_.batch,
                a_file_->what(), a_shape_.batch);
    if (a_shape_.batch == 1) report_.count = b_shape_.batch;
  }

  void describe() {
    FactorJobReport& r = report_;
    r.dtype = dtype(), r.m = a_shape_.rows, r.n = a_shape_.cols;
    if (has_b_) r.nrhs = request_.side == Side::right ? b_shape_.rows : b_shape_.cols;
    r.layout = !is_batch() ? "single" : a_shape_.order == Order::interleaved ? "interleaved" : "strided";
    r.problem = fmt::format("{}:{}:{}n={}{},batch={}", to_string(routine_), to_string(r.dtype),
                            may_be_rectangular(routine_) ? fmt::format("m={},", r.m) : "", r.n,
                            has_b_ ? fmt::format(",nrhs={}", r.nrhs) : "", r.count);
    const std::int64_t written = overwrites_a(routine_) || routine_ == Routine::inv
                                     ? a_shape_.rows * a_shape_.cols
                                 : has_b_               ? 2 * b_shape_.rows * b_shape_.cols
                                 : has_values(routine_) ? values_written()
                                                        : 1;
    r.moved = (double(a_shape_.count()) + double(written) * double(r.count)) * double(size_bytes(r.dtype));
  }

  bool has_vectors() const { return !request_.vectors.empty(); }
  std::int64_t steps() const { return std::min(a_shape_.rows, a_shape_.cols); }
  std::int64_t values_written() const {
    const std::int64_t of_vectors = a_shape_.rows + (routine_ == Routine::gesvd ? a_shape_.cols : 0);
    return steps() * (1 + (has_vectors() ? of_vectors : 0));
  }

  // Asks the library for its choice, as the call will make it.
  void choose() {
    refuse_unknown_candidate(request_.options.candidate, factor_candidates());
    FactorWork work;
    work.shape = {.routine = routine_,
                  .dtype = dtype(),
                  .m = report_.m,
                  .n = report_.n,
                  .nrhs = report_.nrhs,
                  .uplo = request_.uplo,
                  .side = request_.side,
                  .op = request_.op,
                  .diag = request_.diag,
                  .pivoting = request_.options.pivoting,
                  .vectors = has_vectors()};
    work.count = report_.count, work.has_b = has_b_ || has_vectors();
    work.a.rows = report_.m, work.a.cols = report_.n, work.b.rows = b_shape_.rows,
    work.b.cols = b_shape_.cols;
    report_.flops = (is_complex(dtype()) ? 8.0 : 2.0) * factor_operations(work) * double(report_.count);
    if (report_.count == 0 || report_.m == 0 || report_.n == 0 || (has_b_ && report_.nrhs == 0)) return;
    const FactorRanking ranking = choose_factor({context_, work, request_.options});
    report_.explanation = ranking;
  }

  // The output lies like the array whose place it takes, unless right sides stand for several problems.
  void create() {
    const NpyHeader& like = has_b_ ? b_file_->header() : a_file_->header();
    x_shape_ = has_b_ ? b_shape_ : a_shape_;
    std::vector<std::int64_t> shape = like.shape;
    bool is_fortran = like.fortran_order;
    if (has_b_ && is_batch() && (!b_shape_.is_batch || b_shape_.batch != report_.count)) {
      if (!b_shape_.is_batch) shape.insert(shape.begin(), report_.count);
      shape.front() = report_.count, is_fortran = false;
      x_shape_.is_batch = true, x_shape_.batch = report_.count, x_shape_.order = Order::row_major;
    }
    if (routine_ == Routine::det) shape = each();
    if (has_values(routine_)) shape = each(steps());
    const DType type = has_values(routine_) ? type_of_values(dtype()) : dtype();
    output_.emplace(request_.output, type, is_fortran && shape.size() == like.shape.size(), shape);
    if (has_b_) copy_array(dtype(), b_file_->data(), b_shape_, output_->data(), x_shape_, report_.threads);
    if (overwrites_a(routine_))
      copy_array(dtype(), a_file_->data(), a_shape_, output_->data(), x_shape_, report_.threads);
    create_integers();
    if (routine_ == Routine::geqrf)
      tau_.assign(std::size_t(report_.count * steps() * size_bytes(dtype())), '\0');
    if (!request_.tau.empty()) tau_file_.emplace(request_.tau, dtype(), false, each(steps()), "tau");
    if (has_vectors()) create_vectors();
  }

  // The shape of an array with these axes for each problem.
  template <class... Sizes>
  std::vector<std::int64_t> each(Sizes... sizes) const {
    if (is_batch()) return {report_.count, sizes...};
    return {sizes...};
  }

  void create_integers() {
    if (!request_.infos.empty()) infos_file_.emplace(request_.infos, each(), "info");
    if (has_infos(routine_)) infos_.assign(std::size_t(report_.count), 0);
    if (routine_ != Routine::getrf) return;
    pivots_.assign(std::size_t(report_.count * steps()), 0);
    if (!request_.pivots.empty()) pivots_file_.emplace(request_.pivots, each(steps()), "pivots");
  }

  // Eigenvectors, or U and V^H.
  void create_vectors() {
    const bool is_svd = routine_ == Routine::gesvd;
    const auto made = [&](std::int64_t rows, std::int64_t cols) {
      ArrayShape shape;
      shape.is_batch = is_batch(), shape.batch = report_.count, shape.rows = rows, shape.cols = cols;
      return shape;
    };
    vectors_shape_ = made(a_shape_.rows, steps());
    vectors_file_.emplace(request_.vectors, dtype(), false, each(a_shape_.rows, steps()),
                          is_svd ? "u" : "vectors");
    if (!is_svd) return;
    vh_shape_ = made(steps(), a_shape_.cols);
    vh_file_.emplace(request_.vh, dtype(), false, each(steps(), a_shape_.cols), "vh");
  }

  template <class T>
  void compute() {
    const T* const a = static_cast<const T*>(a_file_->data());
    detail::FactorCall<T, Location::host> call{.routine = routine_};
    call.uplo = request_.uplo, call.side = request_.side, call.op = request_.op, call.diag = request_.diag;
    if (!overwrites_a(routine_)) call.a = batch_of(a, a_shape_, report_.count);
    set_outputs(call);
    if (!infos_.empty()) call.info = {InfoMode::all, infos_.data()};
    call.pivots_out = pivots_.data(), call.pivot_places = pivots_.size();
    report_.observed = watch_job([&](const std::function<void()>&) {
      add_wall_time(report_.kernel_s, [&] { detail::factor(context_, call, request_.options); });
    });
  }

  template <class T>
  void set_outputs(detail::FactorCall<T, Location::host>& call) {
    const bool makes_values = has_values(routine_);
    if (makes_values || routine_ == Routine::det)
      call.values_out = output_->data(),
      call.value_places = std::size_t(report_.count * (makes_values ? steps() : 1));
    else
      call.b = batch_of(static_cast<T*>(output_->data()), x_shape_, report_.count);
    if (routine_ == Routine::geqrf)
      call.values_out = tau_.data(), call.value_places = tau_.size() / sizeof(T);
    call.vectors = has_vectors();
    if (vectors_file_)
      call.b = batch_of(static_cast<T*>(vectors_file_->data()), vectors_shape_, report_.count);
    if (vh_file_) call.c = batch_of(static_cast<T*>(vh_file_->data()), vh_shape_, report_.count);
  }

  // Throws if problems have no result and nobody would know which.
  void note_infos() {
    for (std::size_t p = 0; p < infos_.size(); ++p) {
      if (infos_[p] == 0) continue;
      if (report_.failed++ == 0) report_.first_failed = std::int64_t(p), report_.first_info = infos_[p];
    }
    if (report_.failed == 0) return;
    report_.failure = failure_text();
    if (routine_ != Routine::getrf && request_.infos.empty())
      throw JobFailed(fmt::format("{}; output = '{}' was not written (--info FILE lets the others pass)",
                                  report_.failure, request_.output));
  }

  std::string failure_text() const {
    const bool definite = routine_ == Routine::potrf || routine_ == Routine::posv;
    const bool rotates = has_values(routine_), reflects = routine_ == Routine::gels;
    const std::string what = definite   ? "not positive definite"
                             : rotates  ? "without a result"
                             : reflects ? "not of full rank"
                                        : "singular";
    const int i = report_.first_info;
    const char* const factor = routine_ == Routine::potri ? "L" : reflects ? "R" : "U";
    const std::string why = definite ? fmt::format("leading minor of order {} is not positive", i)
                            : rotates
                                ? fmt::format("{} did not converge, or an element is NaN or infinite",
                                              routine_ == Routine::syev ? "eigenvalues" : "singular values")
                                : fmt::format("{}({}, {}) is exactly zero", factor, i, i);
    if (!is_batch()) return fmt::format("{} is {}: its {}", a_file_->what(), what, why);
    return fmt::format("{} of {} matrices of {} {} {}: the first is A[{}], whose {}", report_.failed,
                       report_.count, a_file_->what(), report_.failed == 1 ? "is" : "are", what,
                       a_shape_.batch == 1 ? 0 : report_.first_failed, why);
  }

  void verify() {
    SystemVerifyInput in;
    in.dtype = dtype(), in.count = report_.count, in.n = report_.n, in.nrhs = report_.nrhs;
    in.a = matrices_of(a_file_->data(), a_shape_), in.b = matrices_of(b_file_->data(), b_shape_);
    in.x = matrices_of(output_->data(), x_shape_);
    in.is_hermitian = routine_ == Routine::posv, in.uplo = request_.uplo, in.infos = infos_;
    in.threads = report_.threads;
    report_.verification = verify_systems(in);
    if (const SystemVerifyResult& v = *report_.verification; !v.passed())
      throw JobFailed(
          fmt::format("verify failed, output = '{}' was not written: residual ratio {:.3g} of problem {}, of "
                      "{} allowed",
                      request_.output, v.ratio, v.problem, SystemVerifyResult::bound));
  }

  void commit() {
    const auto copy = [](const std::vector<int>& from, NpyOutput& to) {
      std::ranges::copy(from, static_cast<std::int64_t*>(to.data()));
      to.commit();
    };
    output_->commit();
    if (vectors_file_) vectors_file_->commit();
    if (vh_file_) vh_file_->commit();
    if (tau_file_) std::ranges::copy(tau_, static_cast<char*>(tau_file_->data())), tau_file_->commit();
    if (pivots_file_) copy(pivots_, *pivots_file_);
    if (infos_file_) copy(infos_, *infos_file_);
  }

  const FactorJobRequest& request_;
  Routine routine_;
  bool has_b_;
  FactorJobReport report_;
  Context context_;
  std::optional<NpyInput> a_file_, b_file_;
  ArrayShape a_shape_, b_shape_, x_shape_, vectors_shape_, vh_shape_;
  std::vector<int> infos_, pivots_;
  std::vector<char> tau_;  // elements
  std::optional<NpyOutput> output_, pivots_file_, infos_file_, tau_file_, vectors_file_, vh_file_;
};

}  // namespace

FactorJobReport run_factor_job(const FactorJobRequest& request) { return FactorJob(request).run(); }

}  // namespace tilewright::cli
