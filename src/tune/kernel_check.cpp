// Small batches between guards, with their reference results.
#include "tune/kernel_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "measure/buffers.hpp"
#include "measure/operands.hpp"
#include "tune/kernel_call.hpp"

namespace tilewright {
namespace {

constexpr std::int64_t guard_bytes = 4096;
// All ones is NaN in every type: what is read beyond an operand and used shows in the result.
constexpr unsigned char guard_value = 0xff;

// One problem, an odd number, and for block-interleaved layouts counts that end at and within a block. The
// block of an interleaved batch is its count, and a kernel is made for that.
std::vector<std::int64_t> counts_for(const GemmProblem& problem) {
  if (problem.layout == Layout::single) return {1};
  if (problem.layout == Layout::interleaved) return {problem.batch_count};
  if (problem.layout == Layout::block_interleaved) return {1, problem.block, 2 * problem.block + 3};
  return {1, 2, 7};
}

std::int64_t matrix_elements(const GemmProblem& problem, std::int64_t ld, std::int64_t columns,
                             std::int64_t stride) {
  const std::int64_t count = problem.batch_count;
  if (problem.layout == Layout::strided) return stride * (count - 1) + ld * columns;
  const std::int64_t slots =
      problem.block > 0 ? (count + problem.block - 1) / problem.block * problem.block : count;
  return slots * ld * columns;
}

// An operand of exactly the bytes it needs, guards on both sides.
class Guarded {
 public:
  Guarded(std::int64_t elements, DType dtype, std::uint64_t seed)
      : bytes_(elements * size_bytes(dtype)), buffer_(bytes_ + 2 * guard_bytes) {
    std::memset(buffer_.data(), guard_value, std::size_t(buffer_.bytes()));
    fill(data(), elements, dtype, Data::uniform, seed);
  }
  std::byte* data() const { return buffer_.data() + guard_bytes; }

  // NaN below each column of the batch: an input's gap may be read, never used.
  void poison_gaps(std::int64_t rows, std::int64_t ld, DType dtype) const {
    const std::int64_t column = ld * size_bytes(dtype), used = rows * size_bytes(dtype);
    for (std::int64_t begin = 0; begin + column <= bytes_; begin += column)
      std::memset(data() + begin + used, guard_value, std::size_t(column - used));
  }
  bool intact() const {
    const auto untouched = [](const std::byte* begin) {
      return std::all_of(begin, begin + guard_bytes, [](std::byte b) { return b == std::byte{guard_value}; });
    };
    return untouched(buffer_.data()) && untouched(data() + bytes_);
  }

 private:
  std::int64_t bytes_;
  AlignedBuffer buffer_;
};

std::vector<void*> pointers_to(const Guarded& matrices, const GemmProblem& problem, std::int64_t elements) {
  std::vector<void*> pointers;
  for (std::int64_t p = 0; p < problem.batch_count; ++p)
    pointers.push_back(matrices.data() + p * elements * size_bytes(problem.dtype));
  return pointers;
}

// Columns follow each other at the leading dimension throughout the batch, so every gap is one of them.
bool gaps_lie_in_columns(const GemmProblem& problem) {
  if (problem.layout == Layout::single || problem.layout == Layout::pointer) return true;
  return problem.layout == Layout::strided && problem.stride_a % problem.lda == 0 &&
         problem.stride_b % problem.ldb == 0;
}

GemmProblem with_count(GemmProblem problem, std::int64_t count) {
  problem.batch_count = count;
  return problem;
}

}  // namespace

struct KernelCheck::Trial {
  explicit Trial(const GemmProblem& with_count)
      : problem(with_count),
        a(matrix_elements(problem, problem.lda, problem.a_cols(), problem.stride_a), problem.dtype, 1),
        b(matrix_elements(problem, problem.ldb, problem.b_cols(), problem.stride_b), problem.dtype, 2),
        c(matrix_elements(problem, problem.ldc, problem.n, problem.stride_c), problem.dtype, 3),
        call(problem) {
    if (gaps_lie_in_columns(problem)) {
      a.poison_gaps(problem.a_rows(), problem.lda, problem.dtype);
      b.poison_gaps(problem.b_rows(), problem.ldb, problem.dtype);
    }
    operands.a = a.data(), operands.b = b.data(), operands.c = c.data();
    if (problem.layout == Layout::pointer) {
      a_pointers = pointers_to(a, problem, problem.lda * problem.a_cols());
      b_pointers = pointers_to(b, problem, problem.ldb * problem.b_cols());
      c_pointers = pointers_to(c, problem, problem.ldc * problem.n);
      operands.a = a_pointers.data(), operands.b = b_pointers.data(), operands.c = c_pointers.data();
    }
    check = std::make_unique<AccuracyCheck>(problem, operands, representative(problem.alpha),
                                            representative(problem.beta));
  }

  GemmProblem problem;
  Guarded a, b, c;
  KernelCall call;
  std::vector<void*> a_pointers, b_pointers, c_pointers;
  Operands operands;
  std::unique_ptr<AccuracyCheck> check;
};

KernelCheck::KernelCheck(const GemmProblem& problem) {
  for (const std::int64_t count : counts_for(problem))
    trials_.push_back(std::make_unique<Trial>(with_count(problem, count)));
}
KernelCheck::~KernelCheck() = default;

std::string KernelCheck::run(const GemmSmallCpuKernel& kernel, Accuracy* worst) const {
  for (const auto& trial : trials_) {
    trial->check->restore();
    trial->call.run(kernel, trial->operands, trial->problem.batch_count);
    const Accuracy accuracy = trial->check->compare();
    trial->check->finish();
    if (worst != nullptr && accuracy.error * worst->bound >= worst->error * accuracy.bound) *worst = accuracy;
    if (!trial->c.intact() || !accuracy.gaps_intact)
      return fmt::format("it writes outside C with {} problems", trial->problem.batch_count);
    if (!accuracy.passed())
      return fmt::format("error {:.3g} above bound {:.3g} in problem {} of {}", accuracy.error,
                         accuracy.bound, accuracy.problem_index, trial->problem.batch_count);
  }
  return "";
}

}  // namespace tilewright
