// gpu_converted: interleaved batches of large products on a GPU, whose kernels for interleaved data are made
// for small ones. Pieces of the batch are copied to strided matrices, multiplied as those are, and copied
// back.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include "core/quantity.hpp"
#include "gemm/candidate.hpp"
#include "gemm/context_impl.hpp"
#include "gemm/run/device.hpp"
#include "kernel/gemm_small/gemm_small.hpp"
#include "kernel/layout/layout.hpp"

namespace tilewright {
namespace {

// Copies of one piece stay within about a second-level cache, unless a sector holds elements of more
// problems. So many large products fill a device.
constexpr std::int64_t most_piece_bytes = std::int64_t(64) << 20;
constexpr std::int64_t copy_alignment = 256;

// Wide columns begin at multiples of a sector, from which kernels of large matrices gain.
std::int64_t copied_ld(std::int64_t rows, std::int64_t element_bytes) {
  constexpr std::int64_t wide_bytes = 8 * gpu_sector_bytes;
  const std::int64_t elements = gpu_sector_bytes / element_bytes;
  return rows * element_bytes < wide_bytes ? rows : (rows + elements - 1) / elements * elements;
}

// Returns the copies of `count` problems: one strided batch.
GemmProblem copied(const GemmProblem& p, std::int64_t count) {
  GemmProblem s = p;
  const std::int64_t size = size_bytes(p.dtype);
  s.layout = Layout::strided;
  s.block = 0;
  s.batch_count = count;
  s.lda = copied_ld(p.a_rows(), size), s.ldb = copied_ld(p.b_rows(), size), s.ldc = copied_ld(p.m, size);
  s.stride_a = s.lda * p.a_cols(), s.stride_b = s.ldb * p.b_cols(), s.stride_c = s.ldc * p.n;
  return s;
}

std::int64_t copies_bytes(const GemmProblem& s, std::int64_t stride) {
  const std::int64_t bytes = s.batch_count * stride * size_bytes(s.dtype);
  return (bytes + copy_alignment - 1) / copy_alignment * copy_alignment;
}

// Pieces are whole blocks, or lie within one block.
struct ConvertedPieces {
  std::int64_t batch = 0, block = 0, most = 0;  // problems

  explicit ConvertedPieces(const GemmProblem& p) : batch(p.batch_count), block(p.block) {
    const GemmProblem one = copied(p, 1);
    const std::int64_t size = size_bytes(p.dtype);
    const std::int64_t bytes = (one.stride_a + one.stride_b + one.stride_c) * size;
    most = std::max(most_piece_bytes / bytes, std::max<std::int64_t>(1, gpu_sector_bytes / size));
    if (most > block) most -= most % block;
    most = std::min(most, batch);
  }
  // Calls f(first, count) for each piece.
  template <class F>
  void for_each(F&& f) const {
    for (std::int64_t first = 0, count = 0; first < batch; first += count) {
      count = problems_in_blocks(first, most, batch, block);
      f(first, count);
    }
  }
};

// Elements that are copied in all: A, B, C back, and C if it is read.
double copied_elements(const GemmProblem& p) {
  const double c = double(p.m) * double(p.n);
  return double(p.batch_count) *
         (double(p.m) * double(p.k) + double(p.k) * double(p.n) + (p.beta == Scalar::zero ? c : 2 * c));
}

double conversion_s(const GemmProblem& p, const GpuLimits& limits) {
  return gpu_layout_forecast_s(p.dtype, copied_elements(p), limits);
}

// Returns why gpu_small is expected to be no slower; "" if it is. It reads A and B where they lie, again for
// every tile of C of four rows or columns, at no more than the share of the memory's speed that it reached at
// sizes above its limit (0.03 to 0.42 on an H200, `bench_large_batches --times`). Copies are at least read
// once.
std::string why_no_gain(const GemmProblem& p, const GpuLimits& limits) {
  constexpr double tile = 4, share = 0.4;
  if (std::max({p.m, p.n, p.k}) > gemm_small_interleaved_limit) return "";
  const double m = double(p.m), n = double(p.n), k = double(p.k);
  const double again = m * k * std::ceil(n / tile) + k * n * std::ceil(m / tile);
  const double c = (p.beta == Scalar::zero ? 1 : 2) * m * n;
  const double element_s = double(size_bytes(p.dtype)) * double(p.batch_count) / limits.memory_bytes_per_s;
  const double small_s = (again + c) * element_s / share;
  const double copied_s = conversion_s(p, limits) + (m * k + k * n + c) * element_s;
  if (!(small_s <= copied_s)) return "";
  return fmt::format("converting takes {}, but gpu_small reads the matrices where they lie in about {}",
                     seconds_text(copied_s), seconds_text(small_s));
}

// Ranks what computes the copies of `count` problems, as for a strided batch of the caller's.
Ranking<GemmOperation> rank_copies(const PlanRequest& r, std::int64_t count) {
  const GemmProblem strided = copied(r.problem, count);
  GemmOptions options = r.options;
  options.candidate.clear();
  options.align_bytes = most_align_bytes;
  Ranking<GemmOperation> ranking = rank({r.context, strided, options, r.may_compile}, r.context.candidates);
  if (ranking.winner == nullptr)
    throw Error(ErrorCode::unsupported, "problem",
                fmt::format("no candidate multiplies the strided copies: {}", ranking.reasons()));
  return ranking;
}

class ConvertedRunner : public DeviceRunner {
 public:
  ConvertedRunner(const PlanRequest& r, const std::shared_ptr<const GpuMachine>& machine,
                  const Ranking<GemmOperation>& of_most)
      : DeviceRunner(r, machine, align_bytes(r)),
        pieces_(r.problem),
        copies_(copied(r.problem, pieces_.most)),
        name_(of_most.candidate),
        multiply_s_(of_most.cost.seconds) {
    runners_[pieces_.most] = of_most.made.runner;
    pieces_.for_each([&](std::int64_t, std::int64_t count) {
      ++piece_count_;
      if (auto& runner = runners_[count]; runner == nullptr) runner = rank_copies(r, count).made.runner;
    });
    const GemmProblem& p = problem();
    const auto kernel = [&](bool interleaves, std::int64_t rows, std::int64_t columns) {
      return machine->layout(p.dtype, interleaves, int(rows * columns), r.may_compile);
    };
    from_a_ = kernel(false, p.a_rows(), p.a_cols()), from_b_ = kernel(false, p.b_rows(), p.b_cols());
    from_c_ = kernel(false, p.m, p.n), to_c_ = kernel(true, p.m, p.n);
    b_at_ = copies_bytes(copies_, copies_.stride_a);
    c_at_ = b_at_ + copies_bytes(copies_, copies_.stride_b);
    bytes_ = std::size_t(c_at_ + copies_bytes(copies_, copies_.stride_c));
    machine->converted().reserve(bytes_, 0);
  }

  void run(const Operands& o) const override {
    const GemmProblem& p = problem();
    const Gpu::Current current(machine().gpu());
    const GpuWorkspace::Loan loan(machine().converted(), bytes_, 0, stream_of(o));
    Operands copies = o;
    copies.a = loan.scratch();
    copies.b = advanced(loan.scratch(), b_at_);
    copies.c = const_cast<void*>(advanced(loan.scratch(), c_at_));
    const bool reads_ab = !is_zero(p, p.alpha, o.alpha), reads_c = !is_zero(p, p.beta, o.beta);
    pieces_.for_each([&](std::int64_t first, std::int64_t count) {
      const GpuLayoutOperands c = side(layout_c(p), layout_c(copies_), o.c, copies.c, first, count);
      if (reads_ab) {
        from_a_->launch(side(layout_a(p), layout_a(copies_), o.a, copies.a, first, count), stream_of(o));
        from_b_->launch(side(layout_b(p), layout_b(copies_), o.b, copies.b, first, count), stream_of(o));
      }
      if (reads_c) from_c_->launch(c, stream_of(o));
      runners_.at(count)->run(copies);
      to_c_->launch(c, stream_of(o));
    });
  }

  nlohmann::json config() const override { return most().config(); }
  std::string config_text() const override { return most().config_text(); }
  nlohmann::json metrics() const override { return most().metrics(); }
  std::string kernel() const override {
    return fmt::format(
        "{} of at most {} in {} of workspace, converted, multiplied by {} and converted back; {}",
        counted(piece_count_, "piece"), counted(pieces_.most, "problem"), bytes_text(double(bytes_)), name_,
        most().kernel());
  }
  std::string prediction(double least_s) const override {
    const std::string conversion =
        fmt::format("{} to convert {} to strided matrices and back", seconds_text(converting_s()),
                    bytes_text(copied_elements(problem()) * double(size_bytes(problem().dtype))));
    const auto seconds = predicted_s(least_s);
    if (!seconds) return fmt::format("{}, and the time of {} (cost model)", conversion, name_);
    return fmt::format("{}: {}, {} by {} (cost model)", seconds_text(*seconds), conversion,
                       seconds_text(multiplying_s()), name_);
  }
  std::optional<double> predicted_s(double least_s) const override {
    if (!multiply_s_) return std::nullopt;
    return std::max(least_s, converting_s() + multiplying_s());
  }

 private:
  const Runner& most() const { return *runners_.at(pieces_.most); }
  double converting_s() const { return conversion_s(problem(), machine().gpu().limits()); }
  double multiplying_s() const { return *multiply_s_ * double(problem().batch_count); }

  // Describes an operand of a piece on both sides of a conversion; `copies` begin with the piece.
  GpuLayoutOperands side(const OperandLayout& at, const OperandLayout& copied_at, const void* data,
                         const void* copies, std::int64_t first, std::int64_t count) const {
    const std::int64_t block = problem().block;
    GpuLayoutOperands x;
    x.single = const_cast<void*>(copies);
    x.interleaved = const_cast<void*>(
        advanced(data, (at.offset(first / block) + first % block) * size_bytes(problem().dtype)));
    x.count = count;
    x.stride = copied_at.step, x.ld = copied_at.ld, x.interleaved_ld = at.ld;
    x.block = block;
    x.rows = int(at.rows), x.columns = int(at.cols);
    return x;
  }

  ConvertedPieces pieces_;
  GemmProblem copies_;  // of the largest piece
  std::string name_;    // of the candidate that multiplies
  std::optional<double> multiply_s_;
  std::map<std::int64_t, std::shared_ptr<const Runner>> runners_;  // by problems of a piece
  std::int64_t piece_count_ = 0;
  std::shared_ptr<const GpuLayoutKernel> from_a_, from_b_, from_c_, to_c_;
  std::int64_t b_at_ = 0, c_at_ = 0;  // bytes
  std::size_t bytes_ = 0;
};

// Kernels of conversions count the elements of a matrix in 32 bits.
std::string why_too_large(const GemmProblem& p) {
  constexpr double most = std::numeric_limits<int>::max();
  const double largest =
      std::max({double(p.m) * double(p.k), double(p.k) * double(p.n), double(p.m) * double(p.n)});
  return largest <= most ? "" : "matrices of more than 2147483647 elements are not converted";
}

std::string converted_declines(const PlanRequest& r) {
  if (auto reason = why_not_on_gpu(r); !reason.empty()) return reason;
  const GemmProblem& p = r.problem;
  if (!is_interleaved(p)) return "needs an interleaved batch";
  if (std::max({p.m, p.n, p.k}) <= gemm_small_limit)
    return fmt::format("gpu_small reads interleaved matrices of sizes up to {} where they lie",
                       gemm_small_limit);
  if (auto reason = why_no_product(r); !reason.empty()) return reason;
  if (auto reason = why_too_large(p); !reason.empty()) return reason;
  if (!r.options.config.empty()) return "takes no config, but one was given";
  if (auto reason = why_no_machine(r); !reason.empty() || !r.options.candidate.empty()) return reason;
  return why_no_gain(p, machine_of(r)->gpu().limits());
}

// Adds the conversion to what the strided batch is expected to take.
GemmOffers converted_offers(const PlanRequest& r) {
  const auto machine = machine_of(r);
  const auto ranking =
      std::make_shared<const Ranking<GemmOperation>>(rank_copies(r, ConvertedPieces(r.problem).most));
  GemmOffer offer;
  offer.known = no_record(fmt::format("of strided copies: {}{}", to_string(ranking->known.match),
                                      ranking->known.source.empty() ? "" : ", " + ranking->known.source));
  if (const CostEstimate& multiply = ranking->cost; multiply.seconds) {
    constexpr double conversion_error = 0.15;  // assumed
    const double converting_s =
        conversion_s(r.problem, machine->gpu().limits()) / double(r.problem.batch_count);
    offer.seconds = *multiply.seconds + converting_s;
    offer.error = (multiply.error * *multiply.seconds + conversion_error * converting_s) / *offer.seconds;
  }
  offer.make = [&r, machine, ranking] {
    return GemmMade{std::make_shared<const ConvertedRunner>(r, machine, *ranking)};
  };
  return one_offer(std::move(offer));
}

}  // namespace

constinit const GemmCandidate gpu_converted_candidate{"gpu_converted", Tier::small, converted_declines,
                                                      converted_offers};

}  // namespace tilewright
