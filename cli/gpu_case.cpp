// Carving batches out of the arena and looking at some of their problems.
#include "gpu_case.hpp"

#include <algorithm>
#include <complex>
#include <cstring>

#include "gemm/operand.hpp"

namespace tilewright::cli {
namespace {

constexpr std::int64_t most_checked = 48;
constexpr std::int64_t most_checked_interleaved = 6;  // whose elements are copied one by one

// Elements from one problem, or one block of an interleaved batch, to the next.
std::int64_t step_of(const GemmProblem& p, const OperandLayout& x) {
  return p.layout == Layout::pointer ? gpu_pointer_distance(x.ld * x.cols, size_bytes(p.dtype)) : x.step;
}

std::int64_t batch_bytes(const GemmProblem& p, const OperandLayout& x) {
  const std::int64_t in_step = problems_per_step(p), steps = (p.batch_count + in_step - 1) / in_step;
  return (step_of(p, x) * (steps - 1) + x.ld * x.cols * in_step) * size_bytes(p.dtype);
}

// Calls copy(bytes from the operand's begin, bytes from the matrix's begin, bytes) for what matrix q is made
// of.
template <class F>
void each_piece(const GemmProblem& p, const OperandLayout& x, std::int64_t q, F&& copy) {
  const std::int64_t size = size_bytes(p.dtype), elements = x.ld * x.cols, in_step = problems_per_step(p);
  const std::int64_t at = q / in_step * step_of(p, x) + q % in_step;
  if (in_step == 1) return copy(at * size, std::int64_t(0), std::size_t(elements * size));
  for (std::int64_t e = 0; e < elements; ++e) copy((at + e * in_step) * size, e * size, std::size_t(size));
}

std::complex<double> scalar(double value) { return value; }

}  // namespace

GpuCase::GpuCase(GpuArena& arena, const BenchCase& bench_case) : arena_(arena), case_(bench_case) {
  const GemmProblem& p = case_.problem;
  const auto bytes = [&](const OperandLayout& x) { return std::size_t(batch_bytes(p, x)); };
  const GpuOperandBytes batch{bytes(layout_a(p)), bytes(layout_b(p)), bytes(layout_c(p))};
  const bool is_large = case_.family == "gemm";
  if (is_large) {
    check_gpu_memory("--sizes", p, batch, arena.gpu().limits());
    arena.reserve(batch);
  }
  if (const std::size_t most = std::max({batch.a, batch.b, batch.c});
      most > arena.operand_bytes() && !is_large)
    throw Error(ErrorCode::invalid_argument, "--batch",
                fmt::format("--batch: {} needs operands of {} bytes, and {} are there", to_string(p), most,
                            arena.operand_bytes()));
  arena.fill(p.dtype, case_.data);
  ring_.emplace(arena, batch);
  if (is_large) {
    large_.emplace(arena, p, scalar(case_.alpha), scalar(case_.beta));
    return;
  }
  order_ = pointer_order(p.batch_count, case_.pointer_order == PointerOrder::random);
  if (p.layout == Layout::pointer) pointers_to(0);
  choose();
}

Operands GpuCase::pointers_to(std::int64_t index) {
  if (!pointers_)
    pointers_.emplace(
        arena_.gpu(), case_.problem, batches(), [&](std::int64_t i) { return in_place(i); }, order_);
  return pointers_->at(index);
}

// Some problems of the first batch, gathered on the host behind each other with their leading dimensions.
void GpuCase::choose() {
  const GemmProblem& p = case_.problem;
  const std::int64_t most = is_interleaved(p) ? most_checked_interleaved : most_checked;
  const std::int64_t count = std::min(p.batch_count, most), third = most / 3;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t q = p.batch_count <= most || i < third ? i
                           : i < 2 * third                    ? p.batch_count / 2 + i
                                                              : p.batch_count - count + i;
    chosen_.push_back(std::min(q, p.batch_count - 1));
  }
  sample_ = p;
  sample_.layout = Layout::strided;
  sample_.location = Location::host;
  sample_.block = 0;
  sample_.batch_count = count;
  sample_.stride_a = p.lda * p.a_cols(), sample_.stride_b = p.ldb * p.b_cols(),
  sample_.stride_c = p.ldc * p.n;
  const std::int64_t size = size_bytes(p.dtype);
  const auto gather = [&](std::vector<std::byte>& to, const void* base, const OperandLayout& x) {
    const std::int64_t bytes = x.ld * x.cols * size;
    to.resize(std::size_t(count * bytes));
    for (std::int64_t i = 0; i < count; ++i)
      each_piece(p, x, chosen_[std::size_t(i)], [&](std::int64_t from, std::int64_t at, std::size_t piece) {
        arena_.gpu().read(to.data() + i * bytes + at, static_cast<const char*>(base) + from, piece);
      });
  };
  gather(sample_a_, arena_.a(), layout_a(p));
  gather(sample_b_, arena_.b(), layout_b(p));
  gather(sample_c_, arena_.c(), layout_c(p));
  first_c_ = sample_c_;
  const Operands o{sample_a_.data(), sample_b_.data(), sample_c_.data()};
  accuracy_ = std::make_unique<AccuracyCheck>(sample_, o, scalar(case_.alpha), scalar(case_.beta));
}

void GpuCase::put_back() {
  sample_c_ = first_c_;
  accuracy_->restore();
  write_sample();
}

void GpuCase::write_sample() {
  const GemmProblem& p = case_.problem;
  const std::int64_t bytes = p.ldc * p.n * size_bytes(p.dtype);
  for (std::size_t i = 0; i < chosen_.size(); ++i)
    each_piece(p, layout_c(p), chosen_[i], [&](std::int64_t to, std::int64_t at, std::size_t piece) {
      arena_.gpu().write(static_cast<char*>(arena_.c()) + to, sample_c_.data() + std::int64_t(i) * bytes + at,
                         piece);
    });
}

Accuracy GpuCase::compare() {
  const GemmProblem& p = case_.problem;
  arena_.gpu().synchronize();
  const std::int64_t bytes = p.ldc * p.n * size_bytes(p.dtype);
  for (std::size_t i = 0; i < chosen_.size(); ++i)
    each_piece(p, layout_c(p), chosen_[i], [&](std::int64_t from, std::int64_t at, std::size_t piece) {
      arena_.gpu().read(sample_c_.data() + std::int64_t(i) * bytes + at,
                        static_cast<const char*>(arena_.c()) + from, piece);
    });
  const Accuracy accuracy = accuracy_->compare();
  accuracy_->finish();
  leave_first();
  return accuracy;
}

void GpuCase::leave_first() {
  sample_c_ = first_c_;
  write_sample();
}

}  // namespace tilewright::cli
