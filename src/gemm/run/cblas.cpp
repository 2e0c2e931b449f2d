// host_blas: large matrices on the host, one call each of a CBLAS that is opened at its first use.
// Interleaved ones are copied to matrices of their own, a few at a time, and C back.
#include <algorithm>
#include <memory>

#include "core/dispatch.hpp"
#include "gemm/candidate.hpp"
#include "gemm/context_impl.hpp"
#include "gemm/operand.hpp"
#include "gemm/run/host.hpp"
#include "gemm/run/reference.hpp"
#include "kernel/layout/layout.hpp"

namespace tilewright {
namespace {

// Copies of an operand of some neighbouring problems of an interleaved batch, one matrix after the other.
class CopiedOperand {
 public:
  CopiedOperand(const GemmProblem& p, const OperandLayout& layout, std::int64_t count)
      : layout_(layout),
        block_(p.block),
        size_(size_bytes(p.dtype)),
        memory_(std::make_unique_for_overwrite<std::byte[]>(std::size_t(count * matrix_bytes()))) {}

  void* data() const { return memory_.get(); }
  // Both copy problems first ... first + count - 1 of one block, at most as many as a group has.
  void read(const void* batch, std::int64_t first, std::int64_t count) const {
    deinterleave_group(group(count), slots(batch, first), addresses(count).data());
  }
  void write(void* batch, std::int64_t first, std::int64_t count) const {
    interleave_group(group(count), addresses(count).data(), const_cast<void*>(slots(batch, first)));
  }

  static constexpr std::int64_t most_problems = 64;

 private:
  std::int64_t matrix_bytes() const { return layout_.rows * layout_.cols * size_; }
  const void* slots(const void* batch, std::int64_t first) const {
    return advanced(batch, (layout_.offset(first / block_) + first % block_) * size_);
  }
  std::array<void*, most_problems> addresses(std::int64_t count) const {
    std::array<void*, most_problems> all{};
    for (std::int64_t i = 0; i < count; ++i) all[std::size_t(i)] = memory_.get() + i * matrix_bytes();
    return all;
  }
  GroupCopy group(std::int64_t count) const {
    GroupCopy copy;
    copy.element_bytes = int(size_);
    copy.rows = layout_.rows, copy.runs = layout_.cols;
    copy.matrix_step = layout_.rows * size_, copy.slots_step = layout_.ld * block_ * size_;
    copy.pitch = block_ * size_;
    copy.count = copy.slot_count = count;
    return copy;
  }

  OperandLayout layout_;
  std::int64_t block_, size_;
  std::unique_ptr<std::byte[]> memory_;
};

// True if alpha or beta of all these problems is zero.
bool are_zero(const GemmProblem& p, Scalar kind, const void* values, std::int64_t stride, std::int64_t first,
              std::int64_t count) {
  return dispatch(p.dtype, [&]<class T>() {
    for (std::int64_t i = first; i < first + count; ++i)
      if (scalar_of<T>(kind, values, stride, i) != T(0)) return false;
    return true;
  });
}

// Multiplies interleaved problems by copies of theirs, of a few at a time.
void multiply_copies(const CblasLibrary& library, const GemmProblem& p, const Operands& o, std::int64_t first,
                     std::int64_t count, int threads) {
  constexpr std::int64_t most_bytes = 8 << 20;
  GemmProblem copied = p;
  copied.layout = Layout::strided, copied.block = 0;
  copied.lda = p.a_rows(), copied.ldb = p.b_rows(), copied.ldc = p.m;
  copied.stride_a = p.m * p.k, copied.stride_b = p.k * p.n, copied.stride_c = p.m * p.n;
  const std::int64_t size = size_bytes(p.dtype);
  const std::int64_t bytes = (copied.stride_a + copied.stride_b + copied.stride_c) * size;
  const std::int64_t most = std::clamp<std::int64_t>(most_bytes / bytes, 1, CopiedOperand::most_problems);
  const CopiedOperand a(p, layout_a(p), most), b(p, layout_b(p), most), c(p, layout_c(p), most);
  for (std::int64_t end = first + count, part = 0; first < end; first += part) {
    part = std::min({most, end - first, p.block - first % p.block});
    if (!are_zero(p, p.alpha, o.alpha, o.alpha_stride, first, part))
      a.read(o.a, first, part), b.read(o.b, first, part);
    if (!are_zero(p, p.beta, o.beta, o.beta_stride, first, part)) c.read(o.c, first, part);
    Operands copies = o;
    copies.a = a.data(), copies.b = b.data(), copies.c = c.data();
    copies.alpha = advanced(o.alpha, first * o.alpha_stride * size);
    copies.beta = advanced(o.beta, first * o.beta_stride * size);
    multiply_by_cblas(library, copied, copies, 0, part, threads);
    c.write(o.c, first, part);
  }
}

class CblasRunner : public HostRunner {
 public:
  explicit CblasRunner(const PlanRequest& r) : HostRunner(r), library_(r.context.cblas()) {}

  void run(const Operands& o) const override {
    run_by(o, 0, problem().batch_count, allowed_threads(asked_threads()), cblas_threads(asked_threads()));
  }
  void run_part(const Operands& o, std::int64_t first, std::int64_t count, int threads) const override {
    run_by(o, first, count, threads, threads);
  }
  bool cuts_batches() const override { return false; }

  void run_range(const Operands& o, std::int64_t first, std::int64_t count) const override {
    multiply(o, first, count, 0);
  }

  std::string library() const override {
    return library_->name() + (is_interleaved(problem()) ? ", with copies in its layout" : "");
  }
  std::string threads_text() const override {
    if (library_->has_local_threads()) return HostRunner::threads_text();
    return fmt::format("those of {}, which takes no count per call", library_->name());
  }

 private:
  // A library that takes a thread count runs a batch one problem per thread; any other runs problem after
  // problem with its own threads, because two layers of threads would compete. `own`: the threads of a
  // problem that gets all of them; 0: the library's default.
  void run_by(const Operands& o, std::int64_t first, std::int64_t count, int threads, int own) const {
    const bool one_each = library_->limits_threads() && count >= threads && threads > 1;
    const std::int64_t multiple = is_interleaved(problem()) ? border_multiple(problem(), threads) : 1;
    parallel_ranges(one_each ? threads : 1, count, multiple, [&](std::int64_t begin, std::int64_t part) {
      multiply(o, first + begin, part, one_each ? 1 : own);
    });
  }
  void multiply(const Operands& o, std::int64_t first, std::int64_t count, int threads) const {
    (is_interleaved(problem()) ? multiply_copies : multiply_by_cblas)(*library_, problem(), o, first, count,
                                                                      threads);
  }

  std::shared_ptr<const CblasLibrary> library_;
};

std::string cblas_declines(const PlanRequest& r) {
  if (auto reason = why_not_on_host(r); !reason.empty()) return reason;
  return why_not_by_cblas(*r.context.cblas(), r.problem);
}

}  // namespace

void multiply_by_cblas(const CblasLibrary& library, const GemmProblem& p, const Operands& o,
                       std::int64_t first, std::int64_t count, int threads) {
  const LocalThreads scope(library, threads);
  dispatch(p.dtype, [&]<class T>() {
    const OperandLayout la = layout_a(p), lb = layout_b(p), lc = layout_c(p);
    for (std::int64_t i = first; i < first + count; ++i) {
      const T alpha = scalar_of<T>(p.alpha, o.alpha, o.alpha_stride, i);
      const T beta = scalar_of<T>(p.beta, o.beta, o.beta_stride, i);
      if (alpha == T(0)) {
        scale_c(p, o, i, 1);
        continue;
      }
      library.gemm<T>(p.op_a, p.op_b, p.m, p.n, p.k, alpha, matrix_of<const T>(p, la, o.a, i).data, p.lda,
                      matrix_of<const T>(p, lb, o.b, i).data, p.ldb, beta, matrix_of<T>(p, lc, o.c, i).data,
                      p.ldc);
    }
  });
}

std::string why_not_by_cblas(const CblasLibrary& library, const GemmProblem& p) {
  if (!library.available()) return library.error();
  const std::int64_t largest = std::max({p.m, p.n, p.k, p.lda, p.ldb, p.ldc});
  if (largest > library.largest_integer())
    return fmt::format("{} does not fit the 32-bit integers of CBLAS", largest);
  return "";
}

constinit const GemmCandidate host_blas_candidate{"host_blas", Tier::large, cblas_declines,
                                                  one_runner<CblasRunner>};

}  // namespace tilewright
