// The family factor: batched factorizations, systems and inverses in host memory, compared with loops over
// LAPACK's routines and over Eigen's decompositions. All run from the same matrices, which are renewed before
// each sample, and are checked once by the residuals of systems.
#include <fmt/format.h>

#include <algorithm>
#include <complex>
#include <cstring>
#include <map>

#include "bench/contender.hpp"
#include "bench/factor/cases.hpp"
#include "bench/machine.hpp"
#include "bench/provenance.hpp"
#include "bench/report.hpp"
#include "core/dispatch.hpp"
#include "core/quantity.hpp"
#include "factor/call.hpp"
#include "factor/candidates.hpp"
#include "gemm/context_impl.hpp"
#include "measure/buffers.hpp"
#include "measure/clock.hpp"
#include "measure/system_residual.hpp"
#include "peers/factor_loops.hpp"
#include "people/table.hpp"
#include "tilewright/factor.hpp"

namespace tilewright::bench {
namespace {

using nlohmann::json;
using peers::FactorBatch;
using peers::FactorLoop;

const people::Table& factor_table() {
  static const people::Table table("case 36< | who 12< | variant 9< | time 9 | GFLOP/s 9 | ratio 6");
  return table;
}

// Operations of the whole batch.
double factor_flops(const Case& c) {
  FactorWork work;
  work.shape.routine = routine_of(c);
  work.shape.m = work.shape.n = c.problem.m, work.shape.nrhs = c.problem.k;
  return (is_complex(c.problem.dtype) ? 8.0 : 2.0) * factor_operations(work) * double(c.problem.batch_count);
}

template <class T>
T* elements(const AlignedBuffer& buffer) {
  return static_cast<T*>(static_cast<void*>(buffer.data()));
}

template <class T>
StridedBatch<T> packed_batch(void* data, std::int64_t rows, std::int64_t cols, std::int64_t count) {
  return {{static_cast<T*>(data), rows, cols, std::max<std::int64_t>(1, rows)}, rows * cols, count};
}

template <class T>
void run_routine_of(Context& context, const FactorBatch& x, const FactorOptions& options) {
  const auto a = packed_batch<T>(x.a, x.n, x.n, x.count), b = packed_batch<T>(x.b, x.n, x.nrhs, x.count);
  switch (x.routine) {
    case Routine::potrf:
      return potrf_batched(context, Uplo::lower, a, {}, options);
    case Routine::getrf:
      return getrf_batched(context, a, std::span(x.pivots, std::size_t(x.n * x.count)), {}, options);
    case Routine::posv:
      return posv_batched(context, Uplo::lower, a, b, {}, options);
    case Routine::gesv:
      return gesv_batched(context, a, b, {}, options);
    default:
      return inv_batched(context, a, a, {}, options);
  }
}

// Matrices whose diagonal dominates and is real, so that the lower triangle is that of a definite matrix too;
// right sides for solves, and of systems by which factors and inverses are checked.
class FactorOperands {
 public:
  explicit FactorOperands(const Case& c)
      : batch_{routine_of(c), c.problem.dtype, c.problem.m, c.problem.k, c.problem.batch_count},
        sides_(std::max<std::int64_t>(1, c.problem.k)),
        a_before_(bytes_of(batch_.n)),
        b_before_(bytes_of(sides_)),
        a_(bytes_of(batch_.n)),
        b_(bytes_of(sides_)),
        pivots_(std::size_t(batch_.n * batch_.count)) {
    fill(a_before_.data(), batch_.n * batch_.n * batch_.count, batch_.dtype, Data::uniform, 1);
    fill(b_before_.data(), batch_.n * sides_ * batch_.count, batch_.dtype, Data::uniform, 2);
    dispatch(batch_.dtype, [&]<class T>() {
      T* const a = elements<T>(a_before_);
      for (std::int64_t p = 0; p < batch_.count; ++p)
        for (std::int64_t i = 0; i < batch_.n; ++i) a[(p * batch_.n + i) * batch_.n + i] = T(2 * batch_.n);
    });
    batch_.a = a_.data(), batch_.b = b_.data(), batch_.pivots = pivots_.data();
  }
  FactorOperands& operator=(FactorOperands&&) = delete;

  const FactorBatch& batch() const { return batch_; }
  void renew() {
    std::memcpy(a_.data(), a_before_.data(), std::size_t(bytes_of(batch_.n)));
    std::memcpy(b_.data(), b_before_.data(), std::size_t(bytes_of(sides_)));
  }
  // Checks what a contender left behind. It solves systems with factors and inverses first.
  SystemVerifyResult check(Context& context, bool permutes, int threads) {
    dispatch(batch_.dtype, [&]<class T>() { solve<T>(context, permutes); });
    SystemVerifyInput in;
    in.dtype = batch_.dtype, in.count = batch_.count, in.n = batch_.n, in.nrhs = sides_;
    const std::int64_t n = batch_.n;
    in.a = {a_before_.data(), {n * n, 1, n}};
    in.b = {b_before_.data(), {n * sides_, 1, n}}, in.x = {b_.data(), {n * sides_, 1, n}};
    in.is_hermitian = batch_.routine == Routine::potrf || batch_.routine == Routine::posv;
    in.threads = threads;
    return verify_systems(in);
  }

 private:
  std::int64_t bytes_of(std::int64_t cols) const {
    return std::max<std::int64_t>(1, batch_.n * cols * batch_.count * size_bytes(batch_.dtype));
  }

  template <class T>
  void solve(Context& context, bool permutes) {
    const auto a = packed_batch<T>(a_.data(), batch_.n, batch_.n, batch_.count);
    const auto b = packed_batch<T>(b_.data(), batch_.n, sides_, batch_.count);
    if (batch_.routine == Routine::potrf) return potrs_batched(context, Uplo::lower, a, b);
    if (batch_.routine == Routine::inv) return multiply<T>();
    if (batch_.routine != Routine::getrf) return;
    if (permutes) move_rows<T>();
    getrs_batched(context, Op::none, a, std::span<const int>(pivots_), b);
  }
  // X = inverse * B.
  template <class T>
  void multiply() {
    const std::int64_t n = batch_.n;
    const T* const b = elements<const T>(b_before_);
    for (std::int64_t p = 0; p < batch_.count; ++p)
      for (std::int64_t j = 0; j < sides_; ++j)
        for (std::int64_t i = 0; i < n; ++i) {
          T sum(0);
          for (std::int64_t l = 0; l < n; ++l)
            sum += elements<const T>(a_)[(p * n + l) * n + i] * b[(p * sides_ + j) * n + l];
          elements<T>(b_)[(p * sides_ + j) * n + i] = sum;
        }
  }
  // Moves the right sides' rows as the factors' rows are, and leaves pivots that move none.
  template <class T>
  void move_rows() {
    const std::int64_t n = batch_.n;
    for (std::int64_t p = 0; p < batch_.count; ++p) {
      int* const rows = pivots_.data() + p * n;
      for (std::int64_t j = 0; j < sides_; ++j)
        for (std::int64_t i = 0; i < n; ++i)
          elements<T>(b_)[(p * sides_ + j) * n + rows[i]] =
              elements<const T>(b_before_)[(p * sides_ + j) * n + i];
      for (std::int64_t i = 0; i < n; ++i) rows[i] = int(i + 1);
    }
  }

  FactorBatch batch_;
  std::int64_t sides_;
  AlignedBuffer a_before_, b_before_, a_, b_;
  std::vector<int> pivots_;
};

class FactorFamily : public Family {
 public:
  explicit FactorFamily(const Plan& plan)
      : plan_(plan), context_(ContextOptions{.notices = false}), library_(Access::impl(context_).cblas()) {}

  std::vector<std::string> head() override { return {factor_table().head()}; }

  CaseOutput measure(const Case& c) override {
    CaseOutput output;
    FactorOperands operands(c);
    std::vector<Contender> all;
    std::vector<SystemVerifyResult> residuals;
    FactorOptions options;
    options.threads = c.threads, options.candidate = c.options.candidate;
    const auto enter = [&](Contender one, const FactorLoop& loop) {
      one.run = [&operands, &c, run = loop.run](std::int64_t) { run(operands.batch(), c.threads); };
      operands.renew();
      one.run(0);
      const SystemVerifyResult residual = operands.check(context_, loop.permutes, c.threads);
      if (!residual.passed()) {
        output.lines.push_back(fmt::format("{} {}: wrong results, residual ratio {:.3g} of {} allowed",
                                           problem_text(c), one.impl, residual.ratio,
                                           SystemVerifyResult::bound));
        if (one.role == Role::tested) throw Error(ErrorCode::internal, one.impl, output.lines.back());
        return;
      }
      residuals.push_back(residual);
      all.push_back(std::move(one));
    };
    FactorLoop tested;
    tested.run = [&](const FactorBatch& batch, int) {
      dispatch(batch.dtype, [&]<class T>() { run_routine_of<T>(context_, batch, options); });
    };
    enter({.role = Role::tested, .impl = "tilewright", .version = TILEWRIGHT_VERSION}, tested);
    for (const FactorLoop& loop : loops_of(c, operands.batch(), output.lines))
      enter({.role = Role::peer, .impl = loop.impl, .version = loop.version, .variant = loop.variant}, loop);
    hold_rounds(
        all, [&](Contender& one) { return turn(one, operands); }, rules_of_long_turns(plan_.repetitions));
    tell(c, all, residuals, output);
    return output;
  }

  CaseOutput finish() override {
    CaseOutput output;
    output.rows = summary_.objects();
    for (const json& summary : output.rows)
      if (summary["ratio_geomean"].is_number())
        output.lines.push_back(
            fmt::format("{} with {}: {:.2f} x the best peer on average, at least {:.2f} x, {}",
                        summary["dtype"].get<std::string>(), counted(summary["threads"].get<int>(), "thread"),
                        summary["ratio_geomean"].get<double>(), summary["ratio_min"].get<double>(),
                        summary["ratio_min_case"].get<std::string>()));
    return output;
  }

 private:
  std::vector<FactorLoop> loops_of(const Case& c, const FactorBatch& batch, std::vector<std::string>& lines) {
    std::vector<std::string> absent;
    std::vector<FactorLoop> loops = peers::factor_loops(*library_, batch, absent);
    std::erase_if(loops, [&](const FactorLoop& one) { return !plan_.wants(one.impl); });
    for (const std::string& line : absent)
      if (plan_.wants(line.substr(0, line.find(':'))) && (plan_.all_peers || !plan_.peers.empty()))
        lines.push_back(fmt::format("{} {}", problem_text(c), line));
    return loops;
  }

  static double turn(Contender& one, FactorOperands& operands) {
    operands.renew();
    const double begin = wall_seconds();
    one.run(0);
    return wall_seconds() - begin;
  }

  void tell(const Case& c, const std::vector<Contender>& all,
            const std::vector<SystemVerifyResult>& residuals, CaseOutput& output) {
    const Contender* peer = nullptr;
    for (const Contender& one : all)
      if (one.role == Role::peer && (peer == nullptr || one.seconds.centre < peer->seconds.centre))
        peer = &one;
    double ours_over_best = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const Contender& one = all[i];
      json row = measured_row(c, one.impl, one.seconds);
      row["impl_version"] = one.version;
      row["gflops"] = factor_flops(c) / one.seconds.centre * 1e-9;
      row["error"] = residuals[i].ratio, row["error_bound"] = SystemVerifyResult::bound;
      row["verified"] = residuals[i].scope;
      row["metrics"] = {{"variant", one.variant}};
      add_energy(row, one, factor_flops(c));
      std::string ratio;
      if (one.role == Role::tested && peer != nullptr)
        if (const auto paired = paired_ratio(peer->rounds, one.rounds, 1)) {
          row["ratio"] = ratio_keys(peer->impl, *paired);
          ours_over_best = paired->centre, ratio = fmt::format("{:.2f}", paired->centre);
        }
      output.lines.push_back(
          factor_table().row({problem_text(c), one.impl, one.variant, seconds_text(one.seconds.centre),
                              digits_text(row["gflops"].get<double>()), ratio}));
      output.rows.push_back(std::move(row));
    }
    summary_.add(c, ours_over_best, 0);
  }

  const Plan& plan_;
  Context context_;
  std::shared_ptr<const CblasLibrary> library_;
  Summary summary_;
};

}  // namespace

std::unique_ptr<Family> factor_family(const Plan& plan) { return std::make_unique<FactorFamily>(plan); }

}  // namespace tilewright::bench
